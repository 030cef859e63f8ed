"""Export, import, and copying to another store."""

from __future__ import annotations

from collections.abc import Sequence

from memtui import text
from memtui.model import Memory
from memtui.tui.actions import ActionHandlers
from memtui.tui.app_interface import Choice
from memtui.tui.controllers.changes import WritingController


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
            return "" if self._writer.library else "the stores are still being opened"
        if action_id == "compare.stores":
            library = self._writer.library
            return "" if library and len(library.stores) > 1 else "only one store is open"
        if why := self._selection.can_write():
            return why
        if action_id == "copy.to":
            if self._selection.current() is None and not self._screen.memories.marked:
                return "no memory is selected"
            if not self._targets():
                return "no other store is open that could take it"
        return ""

    def _targets(self) -> list[str]:
        """Return the writable stores other than the one that all selected memories are in."""
        library = self._writer.library
        source_stores = {memory.store for memory in self._selection.some()}
        stores = library.stores if library else ()
        return [s.label for s in stores if not s.read_only and source_stores != {s.label}]

    def _export(self) -> None:
        from memtui.tui.dialogs.transfer import ALL_STORES, ExportScreen

        screen, library = self._screen, self._writer.library
        if library is None:
            return
        groups: list[tuple[str, Sequence[Memory] | None]] = []
        if marked := screen.marked_memories():
            groups.append((f"{text.number(len(marked))} marked", marked))
        if screen.found is not None and screen.found.slots:
            rows = screen.found.rows
            shown = [rows[slot] for slot in screen.found.slots]
            groups.append((f"{text.number(len(shown))} shown", shown))
        past = screen.worker.past
        if past is None:
            groups.append((ALL_STORES, None))
        elif not groups:
            screen.app.notify("Nothing is shown that could be exported.", severity="warning")
            return
        day = (past.at if past else screen.now()).date().isoformat()
        screen.app.push_screen(ExportScreen(self._writer, groups, day, is_past=past is not None))

    def _import(self) -> None:
        from memtui.tui.dialogs.import_ import ImportScreen

        library = self._writer.library
        if library is not None:
            labels = [store.label for store in library.stores if not store.read_only]
            self._screen.app.push_screen(ImportScreen(self._writer, labels))

    def _compare(self) -> None:
        """Compare the store of the selected memory with another one."""
        library, memory = self._writer.library, self._selection.current()
        if library is None:
            return
        labels = [store.label for store in library.stores]
        left = memory.store if memory else labels[0]
        entity = memory.entity if memory else ""
        others = [label for label in labels if label != left]
        if len(others) == 1:
            self._show_comparison(left, others[0], entity)
            return
        counts = {state.label: state.count for state in library.snapshot.stores}
        choices = [Choice(label, label, counts.get(label)) for label in others]
        self._screen.app.pick(
            f"Compare {text.one_line(left)} with",
            choices,
            lambda right: self._show_comparison(left, right, entity),
        )

    def _show_comparison(self, left: str, right: str, entity: str) -> None:
        from memtui.tui.dialogs.stores import StoreComparisonScreen

        dialog = StoreComparisonScreen((left, right), entity, self._writer)
        self._screen.app.ask(dialog, self._screen.go_to_memory)

    def _copy(self) -> None:
        from memtui.tui.dialogs.import_ import CopyScreen

        def copied(_: bool) -> None:
            if self._screen.memories.marked:
                self._screen.memories.unmark()

        memories = self._selection.memories()
        self._screen.app.ask(CopyScreen(self._writer, memories, self._targets()), copied)
