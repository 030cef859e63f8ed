"""A window over ready-made lines, for help and other texts of the program."""

from __future__ import annotations

from collections.abc import Sequence

from rich.segment import Segment
from textual.geometry import Size
from textual.strip import Strip

from memtui.tui.widgets.list_window import ListWindow


class TextWindow(ListWindow):
    """Scrolls by line."""

    has_cursor = False

    def __init__(self, *, id: str | None = None) -> None:
        super().__init__(id=id)
        self._lines: Sequence[Sequence[Segment]] = ()

    def show(self, lines: Sequence[Sequence[Segment]]) -> None:
        """Show these lines from the top; their text is visible already."""
        self._lines = lines
        self.reset()

    def line_count(self) -> int:
        return len(self._lines)

    def get_content_height(self, container: Size, viewport: Size, width: int) -> int:
        return max(1, len(self._lines))

    def draw(self, index: int, width: int, *, selected: bool) -> Strip:
        return Strip(self._lines[index])
