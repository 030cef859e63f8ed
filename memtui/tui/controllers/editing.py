"""Everything on the screen that changes memories, put together: one `ChangeWorker`, many acts."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from memtui import text
from memtui.tui.change_worker import ChangeWorker
from memtui.tui.controllers.changes import ChangeActions
from memtui.tui.controllers.drafts import DraftActs
from memtui.tui.controllers.forms import FormActions
from memtui.tui.controllers.journal import JournalActions
from memtui.tui.controllers.repair import RepairActions
from memtui.tui.controllers.selection import Selection
from memtui.tui.controllers.transfer import TransferActions
from memtui.tui.widgets.outcome import OutcomeLine, Tone

if TYPE_CHECKING:
    from memtui.errors import ForeignOwner
    from memtui.tui.actions import ActionHandlers
    from memtui.tui.screen_interface import ScreenInterface

_OF_ANY = frozenset({"new"})
"""Actions that are about no memory in particular."""
_OF_CARRYING = frozenset({"export", "import", "copy.to"})
_OF_JOURNAL = frozenset({"undo", "redo", "log", "again"})


class EditingControllers:
    """What the browse screen needs to know of changing."""

    def __init__(self, screen: ScreenInterface) -> None:
        self.doing = ChangeWorker(
            screen.worker, screen.search_again, lambda: self.journalling.watch(), self._ask_owner
        )
        self._screen = screen
        self.selection = Selection(screen)
        self.changing = ChangeActions(screen, self.doing, self.selection)
        self.writing = FormActions(screen, self.doing, self.selection, self.changing)
        self.drafts = DraftActs(screen, self.doing, self.selection, self.writing)
        self.journalling = JournalActions(screen, self.doing, self.selection, self.changing)
        self.mending = RepairActions(screen, self.doing, self.changing)
        self.carrying = TransferActions(screen, self.doing, self.selection, self.changing)

    def acts(self) -> ActionHandlers:
        """Action id -> what does it."""
        return {
            **self.changing.acts(),
            **self.writing.acts(),
            **self.drafts.acts(),
            **self.journalling.acts(),
            **self.carrying.acts(),
            **self.mending.acts(),
        }

    def refusal(self, action_id: str) -> str:
        """Why this action cannot be done now; empty when it can."""
        if action_id in _OF_JOURNAL:
            return self.journalling.refusal(action_id)
        if action_id == "broken":
            return self.mending.refusal()
        if action_id == "drafts":
            return self.drafts.refusal()
        if action_id in _OF_CARRYING:
            return self.carrying.refusal(action_id)
        if action_id in _OF_ANY:
            return self.selection.can_write()
        return self.selection.refusal(action_id)

    def begin(self) -> None:
        """Everything has been read."""
        self.journalling.begin()
        self.drafts.begin()

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
