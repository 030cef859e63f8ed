"""How far a long work is: a bar on one line, with what is being done."""

from __future__ import annotations

from rich.segment import Segment
from textual.strip import Strip

from memtui import text
from memtui.tui.widgets.themed_widget import ThemedWidget


class ProgressLine(ThemedWidget):
    """Empty while nothing goes on."""

    def __init__(self, *, id: str = "progress") -> None:
        super().__init__(id=id)
        self._what, self._done, self._total = "", 0, 0

    def show(self, what: str, done: int = 0, total: int = 0) -> None:
        if (what, done, total) != (self._what, self._done, self._total):
            self._what, self._done, self._total = what, done, total
            self.refresh()

    def render_line(self, y: int) -> Strip:
        width = self.size.width
        if not self._what:
            return Strip.blank(width, self.ground)
        share = f"{self._done * 100 // self._total:>3} %" if self._total else "  …  "
        words = text.cut(text.one_line(self._what), max(8, width // 3))
        room = max(4, width - text.width(words) - text.width(share) - 4)
        full = room * self._done // self._total if self._total else 0
        segments = [
            Segment(f" {words} ", self.palette.text),
            Segment("━" * full, self.palette.bar),
            Segment("─" * (room - full), self.palette.rule),
            Segment(f" {share} ", self.palette.dim),
        ]
        return Strip(segments).adjust_cell_length(width).apply_style(self.ground)
