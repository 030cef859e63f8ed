"""Creates the controllers that write, as the browse screen sees them.

Unsaved drafts of an earlier session are announced at the start and reopened in their forms.
"""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING

from memtui import text
from memtui.files import drafts
from memtui.tui.change_forms import UNCHANGED
from memtui.tui.change_log import JournalActions
from memtui.tui.context_page import ContextActions
from memtui.tui.controllers.changes import HEADLINE_CELLS, ChangeActions, WritingController
from memtui.tui.controllers.forms import FormActions
from memtui.tui.dialogs.prompts import replacing_question
from memtui.tui.review import ReviewScan
from memtui.tui.transfer import TransferActions
from memtui.tui.unreadable import UnreadablePage
from memtui.tui.view_state import Choice

if TYPE_CHECKING:
    from memtui.files.drafts import FormDraft
    from memtui.journal import JournalAction
    from memtui.tui.actions import ActionHandlers
    from memtui.tui.screens.browse import BrowseScreen


_TRANSFER = frozenset({"export", "import", "copy.to"})
_JOURNAL = frozenset({"undo", "redo", "log", "again"})


class EditingControllers:
    """The controllers that write, as the browse screen sees them."""

    def __init__(self, screen: BrowseScreen) -> None:
        self._screen = screen
        screen.acts.on_written = self._note_change
        screen.acts.question = replacing_question
        self.changes = ChangeActions(screen)
        screen.acts.failed = self.changes.failed
        self.selection = self.changes.selection
        self.forms = FormActions(self.changes)
        self.drafts = DraftActions(self.changes, self.forms)
        self.journal = JournalActions(self.changes, self._note_reversed)
        self.transfer = TransferActions(self.changes)
        self.review = ReviewScan(self.changes, self.journal)
        self._controllers = (
            self.changes,
            self.forms,
            self.drafts,
            self.journal,
            self.transfer,
            self.review,
            ContextActions(screen),
        )

    def handlers(self) -> ActionHandlers:
        """Action id -> what does it."""
        handlers: dict[str, Callable[[], object]] = {"unreadable": self._show_unreadable}
        for controller in self._controllers:
            handlers.update(controller.handlers())
        return handlers

    def refusal(self, action_id: str) -> str:
        """Return why the action is not possible now; empty if it is."""
        if action_id in _JOURNAL:
            return self.journal.refusal(action_id)
        if action_id in ("unreadable", "context", "queue"):
            return ""
        if action_id == "drafts":
            return self.drafts.refusal()
        if action_id in _TRANSFER:
            return self.transfer.refusal(action_id)
        if action_id == "new":
            return self.selection.can_write() or self.selection.all_read_only()
        return self.selection.refusal(action_id)

    def _show_unreadable(self) -> None:
        app, library = self._screen.app, self._screen.worker.library
        if library is not None:
            app.push_screen(UnreadablePage(lambda: library.snapshot.stores, app.launch.state))

    def begin(self) -> None:
        """Start what waits for all stores to be read."""
        self.journal.begin()
        self.drafts.begin()
        self.review.begin()

    def _note_change(self) -> None:
        self.journal.watch()
        self.review.note_change()

    def _note_reversed(self, action: JournalAction) -> None:
        from memtui.library.review import ACCEPTED

        if action.title.startswith(ACCEPTED):  # its count would be old until the next scan is due
            self.review.scan()


class DraftActions(WritingController):
    """Carries out the action that opens a draft."""

    def __init__(self, changes: ChangeActions, forms: FormActions) -> None:
        super().__init__(changes)
        self._forms = forms
        self._drafts: list[tuple[Path, FormDraft]] = []

    def handlers(self) -> ActionHandlers:
        return {"drafts": self._open}

    def refusal(self) -> str:
        """Return why no draft can be opened; empty if one can."""
        return self._selection.can_write() or ("" if self._drafts else "no unsaved drafts")

    def begin(self) -> None:
        """Announce unsaved drafts, once all stores have been read."""
        if self._find_drafts():
            newest, count = self._drafts[0][1], len(self._drafts)
            more = text.and_more(count - 1)
            keys = self._screen.app.press(("drafts", "to open it" if count == 1 else "to choose"))
            several = f"{text.number(count)} unsaved drafts"
            self._screen.app.notify(
                f"“{_describe_draft(newest)}”{more}: written {self._age(newest)}. {keys}".rstrip(),
                title="Unsaved draft" if count == 1 else several,
                severity="warning",
                timeout=15,
            )
            self._screen.update_keys()

    def _find_drafts(self) -> bool:
        state, library = self._screen.app.launch.state, self._screen.worker.library
        if state is None or library is None:
            return False
        roots = [store.root for store in library.stores if not store.read_only]
        self._drafts = drafts.find_drafts(state, roots)
        return bool(self._drafts)

    def _age(self, draft: FormDraft) -> str:
        return text.ago(datetime.fromtimestamp(draft.time, UTC), self._screen.now())

    async def _open(self) -> None:
        """Open a draft again; ask which where there are several."""
        self._find_drafts()
        number: str | None = "0" if self._drafts else None
        if len(self._drafts) > 1:
            choices = [
                Choice(str(number), _describe_draft(draft), note=self._age(draft))
                for number, (_, draft) in enumerate(self._drafts)
            ]
            number = await self._acts.pick("Unsaved drafts", choices, accept="open")
        if number is None:
            return
        path, draft = self._drafts.pop(int(number))
        if (file := drafts.claim(path)) is not None:
            await self._forms.resume(file, draft)


def _describe_draft(draft: FormDraft) -> str:
    """Describe a draft by its act and the beginning of its text."""
    typed = (value for value in draft.values.values() if value != UNCHANGED)
    words = draft.values.get("content") or " ".join(filter(None, typed))
    if len(draft.about) > 1:
        many = text.counted(len(draft.about), "memory")
        return text.cut_line(f"{draft.act} {many}: {words}", HEADLINE_CELLS)
    return text.cut_line(f"{draft.act}: {words}", HEADLINE_CELLS)
