"""Export, import, and copying to another store."""

from __future__ import annotations

from functools import partial
from pathlib import Path

from memtui import text
from memtui.tui.actions import ActionHandlers
from memtui.tui.controllers.changes import WritingController
from memtui.tui.library_worker import read_slots
from memtui.tui.view_state import Choice


class TransferActions(WritingController):
    """Exports, imports, and copies memories between stores."""

    def handlers(self) -> ActionHandlers:
        return {
            "export": self._export,
            "import": self._import,
            "copy.to": self._copy,
            "compare.stores": self._compare,
        }

    def refusal(self, action_id: str) -> str:
        """Return why the action is not possible now; empty if it is."""
        if action_id == "export":
            return "" if self._screen.worker.library else "the stores are still being opened"
        if action_id == "compare.stores":
            library = self._screen.worker.library
            is_possible = library is not None and len(library.stores) > 1
            return "" if is_possible else f"only one store is open. {self._to_open_more()}"
        if why := self._selection.can_write():
            return why
        if action_id == "copy.to":
            if self._selection.current() is None and not self._screen.memories.marked:
                return self._screen.memories.why_none
            if not self._targets():
                return f"no other store is open that could take it. {self._to_open_more()}"
        return ""

    def _to_open_more(self) -> str:
        return self._screen.app.press(("stores", "to open more"))

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
        screen.app.push_screen(ExportScreen(self._writer, groups, day, is_past=past is not None))

    def _import(self) -> None:
        from memtui.tui.dialogs.transfer import ImportScreen

        library = self._screen.worker.library
        if library is not None:
            stores = {store.label: store.root for store in library.stores if not store.read_only}
            self._screen.app.push_screen(ImportScreen(self._writer, stores))

    def _compare(self) -> None:
        """Compare the store of the selected memory with another one."""
        from memtui.library.store_catalog import path_from_home

        library, memory = self._screen.worker.library, self._selection.current()
        if library is None:
            return
        left = memory.store if memory else library.stores[0].label
        entity = memory.entity if memory else ""
        others = [store for store in library.stores if store.label != left]
        if len(others) == 1:
            self._show_comparison(left, others[0].label, entity)
            return
        counts = {state.label: state.count for state in library.snapshot.stores}
        choices = [
            Choice(
                store.label,
                library.names.of(store.label),
                counts.get(store.label),
                note=path_from_home(store.root),
            )
            for store in others
        ]
        self._screen.app.pick(
            f"Compare {text.one_line(library.names.of(left))} with",
            choices,
            lambda right: self._show_comparison(left, right, entity),
        )

    def _show_comparison(self, left: str, right: str, entity: str) -> None:
        from memtui.tui.dialogs.stores import StoreComparisonScreen

        dialog = StoreComparisonScreen((left, right), entity, self._writer)
        self._screen.app.ask(dialog, self._screen.go_to_memory)

    def _copy(self) -> None:
        from memtui.tui.dialogs.transfer import CopyScreen

        def copied(_: bool) -> None:
            if self._screen.memories.marked:
                self._screen.memories.unmark()

        read = self._selection.reader()
        self._screen.app.ask(CopyScreen(self._writer, read, self._targets()), copied)
