"""The stores that are open, and the files in them that could not be read."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, ClassVar

from rich.segment import Segment
from textual.app import ComposeResult
from textual.binding import Binding
from textual.containers import Vertical
from textual.content import Content

from memtui import text
from memtui.tui.screens.acting import Dialog
from memtui.tui.widgets.footer import KeyLine
from memtui.tui.widgets.sheet import Sheet

if TYPE_CHECKING:
    from textual.binding import BindingType

    from memtui.library import StoreState


class UnreadableScreen(Dialog[None]):
    """One block a store."""

    CSS_PATH = "dialogs.tcss"
    AUTO_FOCUS = "Sheet"
    BINDINGS: ClassVar[list[BindingType]] = [Binding("escape,U,q,enter", "dismiss", show=False)]

    def __init__(self, stores: Sequence[StoreState]) -> None:
        super().__init__()
        self._stores = stores

    def compose(self) -> ComposeResult:
        with Vertical(classes="box tall") as box:
            box.border_title = Content("Stores and unreadable files")
            yield Sheet()
            yield KeyLine(id="unreadable-keys")

    def on_mount(self) -> None:
        self.query_one(KeyLine).show([("↑↓", "scroll", ""), ("esc", "leave", "")])
        self.call_after_refresh(self._fill)

    def on_resize(self) -> None:
        self.call_after_refresh(self._fill)

    def _fill(self) -> None:
        sheet = self.query_one(Sheet)
        lines: list[list[Segment]] = []
        for store in self._stores:
            lines.extend([[]] if lines else [])
            lines.extend(self._store(store, max(20, sheet.size.width - 3)))
        sheet.show(lines)

    def _store(self, store: StoreState, width: int) -> list[list[Segment]]:
        palette = self.query_one(Sheet).palette
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
