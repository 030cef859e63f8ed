"""Creates the controllers that write; they share one `ChangeWorker`."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from memtui import text
from memtui.tui.change_worker import ChangeWorker
from memtui.tui.controllers.changes import ChangeActions
from memtui.tui.controllers.context import ContextActions
from memtui.tui.controllers.drafts import DraftActions
from memtui.tui.controllers.forms import FormActions
from memtui.tui.controllers.journal import JournalActions
from memtui.tui.controllers.repair import RepairActions
from memtui.tui.controllers.review import ReviewActions
from memtui.tui.controllers.selection import Selection
from memtui.tui.controllers.transfer import TransferActions
from memtui.tui.widgets.outcome import OutcomeLine, Tone

if TYPE_CHECKING:
    from memtui.errors import ForeignOwner
    from memtui.tui.actions import ActionHandlers
    from memtui.tui.screen_interface import ScreenInterface

_WITHOUT_MEMORY = frozenset({"new"})
"""Actions that are about no memory in particular."""
_TRANSFER = frozenset({"export", "import", "copy.to", "compare.stores"})
_JOURNAL = frozenset({"undo", "redo", "log", "again"})


class EditingControllers:
    """The controllers that write, as the browse screen sees them."""

    def __init__(self, screen: ScreenInterface) -> None:
        self.writer = ChangeWorker(
            screen.worker, screen.search_again, self._written, self._ask_owner
        )
        self._screen = screen
        self.selection = Selection(screen)
        self.changes = ChangeActions(screen, self.writer, self.selection)
        self.forms = FormActions(screen, self.writer, self.selection, self.changes)
        self.drafts = DraftActions(screen, self.writer, self.selection, self.forms)
        self.journal = JournalActions(screen, self.writer, self.selection, self.changes)
        self.repair = RepairActions(screen, self.writer, self.changes)
        self.context = ContextActions(screen, self.selection, self.refusal)
        self.transfer = TransferActions(screen, self.writer, self.selection, self.changes)
        self.review = ReviewActions(screen, self.writer, self.selection, self.changes, self.journal)

    def handlers(self) -> ActionHandlers:
        """Action id -> what does it."""
        return {
            **self.changes.handlers(),
            **self.forms.handlers(),
            **self.drafts.handlers(),
            **self.journal.handlers(),
            **self.transfer.handlers(),
            **self.repair.handlers(),
            **self.review.handlers(),
            **self.context.handlers(),
        }

    def refusal(self, action_id: str) -> str:
        """Why this action cannot be done now; empty when it can."""
        if action_id in _JOURNAL:
            return self.journal.refusal(action_id)
        if action_id in ("unreadable", "context", "queue"):
            return ""
        if action_id == "drafts":
            return self.drafts.refusal()
        if action_id in _TRANSFER:
            return self.transfer.refusal(action_id)
        if action_id in _WITHOUT_MEMORY:
            return self.selection.can_write() or self.selection.all_read_only()
        return self.selection.refusal(action_id)

    def begin(self) -> None:
        """Everything has been read."""
        self.journal.begin()
        self.drafts.begin()
        self.review.begin()

    def _written(self) -> None:
        self.journal.watch()
        self.review.note_change()

    def _ask_owner(self, error: ForeignOwner, answered: Callable[[bool], None]) -> None:
        """Ask whether a file may get another owner, which saving it would change."""
        from memtui.tui.dialogs.dialog import ConfirmDialog, Reply

        said = (
            OutcomeLine(text.file_name(str(error.path))),
            OutcomeLine(f"{error.what[:1].upper()}{error.what[1:]}.", Tone.WARNING),
        )
        replies = (Reply("y", "change it and save", "yes"),)
        self._screen.app.push_screen(
            ConfirmDialog("Change the owner of the file?", said, replies, "do not save"),
            lambda answer: answered(answer is not None),
        )
