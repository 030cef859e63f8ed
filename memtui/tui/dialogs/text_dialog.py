"""A dialog of lines to read: scrolls, and says nothing back."""

from __future__ import annotations

from rich.segment import Segment
from textual.app import ComposeResult
from textual.containers import Vertical
from textual.content import Content

from memtui.tui.colours import Palette
from memtui.tui.dialogs.dialog import Dialog
from memtui.tui.widgets.footer import KeyLine
from memtui.tui.widgets.text_window import TextWindow

LEAST = 20
"""Cells of a line that are filled even where they cannot be seen."""


class TextDialog(Dialog[None]):
    """A subclass says what its lines are at a width."""

    CSS_PATH = "dialogs.tcss"
    AUTO_FOCUS = "TextWindow"

    def compose(self) -> ComposeResult:
        with Vertical(classes="box tall") as box:
            box.border_title = Content(self.box_title())
            yield TextWindow()
            yield KeyLine()

    def on_mount(self) -> None:
        self.query_one(KeyLine).show([("↑↓", "scroll", ""), ("esc", "leave", "")])
        self.call_after_refresh(self._fill)

    def on_resize(self) -> None:
        self.call_after_refresh(self._fill)

    def _fill(self) -> None:
        sheet = self.query_one(TextWindow)
        sheet.show(self.lines(max(LEAST, sheet.size.width - 2), sheet.palette))

    def box_title(self) -> str:
        raise NotImplementedError

    def lines(self, width: int, palette: Palette) -> list[list[Segment]]:
        """What there is to read, in so many cells a line."""
        raise NotImplementedError
