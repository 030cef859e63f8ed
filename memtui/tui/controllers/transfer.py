"""Export, import, and copying to another store."""

from __future__ import annotations

from functools import partial
from pathlib import Path

from memtui import text
from memtui.tui.actions import ActionHandlers
from memtui.tui.controllers.changes import WritingController
from memtui.tui.library_worker import read_slots


class TransferActions(WritingController):
    """Exports, imports, and copies memories between stores."""

    def handlers(self) -> ActionHandlers:
        return {
            "export": self._export,
            "import": self._import,
            "copy.to": self._copy,
        }

    def refusal(self, action_id: str) -> str:
        """Return why the action is not possible now; empty if it is."""
        if action_id == "export":
            return "" if self._screen.worker.library else "the stores are still being opened"
        if why := self._selection.can_write():
            return why
        if action_id == "copy.to":
            if self._selection.current() is None and not self._screen.memories.marked:
                return self._screen.memories.why_none
            if not self._targets():
                more = self._screen.app.press(("stores", "to open more"))
                return f"no other store is open that could take it. {more}"
        return ""

    def _targets(self) -> dict[str, Path]:
        """Writable stores, with folders, other than the one that all selected memories are in."""
        library = self._screen.worker.library
        source_stores = {memory.store for memory in self._selection.some()}
        stores = library.stores if library else ()
        return {s.label: s.root for s in stores if not s.read_only and source_stores != {s.label}}

    def _export(self) -> None:
        from memtui.tui.dialogs.transfer import ALL_STORES, ExportScreen, ReadMemories

        screen, library = self._screen, self._screen.worker.library
        if library is None:
            return
        groups: list[tuple[str, ReadMemories | None]] = []
        if marked := frozenset(screen.memories.marked):
            name = f"{text.number(len(marked))} marked"
            groups.append((name, screen.worker.reader(marked)))
        if (found := screen.found) is not None and found.slots:
            name = f"{text.number(len(found.slots))} shown"
            groups.append((name, partial(read_slots, found.rows, found.slots)))
        past = screen.worker.past
        if past is None:
            groups.append((ALL_STORES, None))
        elif not groups:
            screen.app.notify("Nothing is shown that could be exported.", severity="warning")
            return
        day = (past.at if past else screen.now()).astimezone().date().isoformat()
        screen.app.push_screen(ExportScreen(groups, day, is_past=past is not None))

    def _import(self) -> None:
        from memtui.tui.dialogs.transfer import ImportScreen

        library = self._screen.worker.library
        if library is not None:
            stores = {store.label: store.root for store in library.stores if not store.read_only}
            self._screen.app.push_screen(ImportScreen(stores))

    def _copy(self) -> None:
        from memtui.tui.dialogs.transfer import CopyScreen

        def copied(_: bool) -> None:
            if self._screen.memories.marked:
                self._screen.memories.unmark()

        read = self._selection.reader()
        self._screen.app.ask(CopyScreen(read, self._targets()), copied)
