"""The stores that are open, and the files in them that could not be read."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, ClassVar

from rich.segment import Segment
from textual.binding import Binding

from memtui import text
from memtui.tui.dialogs.text_dialog import TextDialog

if TYPE_CHECKING:
    from textual.binding import BindingType

    from memtui.library import StoreState
    from memtui.tui.colours import Palette


class UnreadableScreen(TextDialog):
    """One block a store."""

    BINDINGS: ClassVar[list[BindingType]] = [Binding("escape,U,q,enter", "dismiss", show=False)]

    def __init__(self, stores: Sequence[StoreState]) -> None:
        super().__init__()
        self._stores = stores

    def box_title(self) -> str:
        return "Stores and unreadable files"

    def lines(self, width: int, palette: Palette) -> list[list[Segment]]:
        lines: list[list[Segment]] = []
        for store in self._stores:
            lines.extend([[]] if lines else [])
            lines.extend(_store(store, width - 1, palette))
        return lines


def _store(store: StoreState, width: int, palette: Palette) -> list[list[Segment]]:
    memories = f"{text.number(store.count)} memories, {store.format}"
    lines = [
        [
            Segment(" "),
            Segment(text.cut(text.one_line(store.label), width // 2), palette.heading),
            Segment(text.cut(f"  {text.one_line(memories)}", width // 2), palette.dim),
        ]
    ]
    lines += [
        [Segment(f" {part}", palette.dim)]
        for part in text.wrap(text.file_name(str(store.root)), width)
    ]
    if store.read_only:
        lines += [
            [Segment(f" {part}", palette.warning)]
            for part in text.wrap(f"read only: {text.one_line(store.read_only)}", width)
        ]
    if not store.unreadable:
        lines.append([Segment(" every file could be read", palette.dim)])
    for item in store.unreadable:
        lines += [
            [Segment(f" {part}", palette.text)]
            for part in text.wrap("× " + text.file_name(item.file), width)
        ]
        lines += [
            [Segment(f"   {part}", palette.warning)]
            for part in text.wrap(text.one_line(item.reason), width - 2)
        ]
    return lines
