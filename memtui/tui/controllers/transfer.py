"""Export, import, and copying to another store."""

from __future__ import annotations

from typing import TYPE_CHECKING

from memtui import text
from memtui.tui.controllers.changes import WritingController

if TYPE_CHECKING:
    from collections.abc import Sequence

    from memtui.model import Memory
    from memtui.tui.actions import ActionHandlers


class TransferActions(WritingController):
    """Memories on their way into and out of the open stores."""

    def handlers(self) -> ActionHandlers:
        return {"export": self._export, "import": self._import, "copy.to": self._copy}

    def refusal(self, action_id: str) -> str:
        """Why this cannot be done now; empty when it can."""
        if action_id == "export":
            return "" if self._writer.library else "the stores are still being opened"
        if why := self._selection.can_write():
            return why
        if action_id == "copy.to":
            if self._selection.current() is None and not self._screen.memories.marked:
                return "no memory is selected"
            if not self._targets():
                return "no other store is open that could take it"
        return ""

    def _targets(self) -> list[str]:
        """Stores that can be written and do not hold all of the memories themselves."""
        library = self._writer.library
        held = {memory.store for memory in self._selection.some()}
        stores = library.stores if library else ()
        return [s.label for s in stores if not s.read_only and held != {s.label}]

    def _export(self) -> None:
        from memtui.tui.dialogs.export import WHOLE, ExportScreen

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
        groups.append((WHOLE, None))
        day = screen.now().date().isoformat()
        screen.app.push_screen(ExportScreen(self._writer, groups, day))

    def _import(self) -> None:
        from memtui.tui.dialogs.import_ import ImportScreen

        library = self._writer.library
        if library is not None:
            labels = [store.label for store in library.stores if not store.read_only]
            self._screen.app.push_screen(ImportScreen(self._writer, labels))

    def _copy(self) -> None:
        from memtui.tui.dialogs.copy import CopyScreen

        def done(copied: bool | None) -> None:
            if copied and self._screen.memories.marked:
                self._screen.memories.unmark()

        memories = self._selection.memories()
        self._screen.app.push_screen(CopyScreen(self._writer, memories, self._targets()), done)
