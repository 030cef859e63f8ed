"""A neighbourhood of linked memories drawn with box characters; arrow keys walk along its edges."""

from __future__ import annotations

from collections.abc import Callable
from typing import Literal

from rich.segment import Segment
from rich.style import Style
from textual import events
from textual.binding import Binding
from textual.content import Content
from textual.message import Message
from textual.strip import Strip

from memtui import text
from memtui.insight.graph_layout import GraphLayout, GraphPiece, PlacedNode, draw
from memtui.tui.widgets.line_api import FocusableWidget

EMPTY = GraphLayout((), 0, 0)
MARGIN = 1
"""Cells left of the drawing, where the cursor of the first layer stands."""
COLUMNS_AROUND = 2
"""Cells that stay in view on both sides of the selected label."""

StyleOf = Callable[[PlacedNode], Style]


class GraphView(FocusableWidget):
    """Shows a layout that may be larger than the widget; the selected node stays in view."""

    BINDINGS = [
        Binding("left,h", "walk('left')", show=False),
        Binding("right,l", "walk('right')", show=False),
        Binding("up,k", "walk('up')", show=False),
        Binding("down,j", "walk('down')", show=False),
        Binding("home,g", "first", show=False),
    ]

    class Moved(Message):
        """Another node is selected."""

    class Opened(Message):
        """A node was double-clicked."""

    class Resized(Message):
        """There is another room for the drawing."""

    def __init__(self, style_of: StyleOf) -> None:
        super().__init__()
        self._style_of = style_of
        self.layout_shown = EMPTY
        self._lines: list[list[GraphPiece]] = []
        self.cursor = 0
        self.left = 0
        self.top = 0

    @property
    def selected(self) -> PlacedNode | None:
        nodes = self.layout_shown.nodes
        return nodes[self.cursor] if self.cursor < len(nodes) else None

    @property
    def room(self) -> tuple[int, int]:
        """Columns and rows for a drawing."""
        return max(1, self.size.width - MARGIN - 1), max(1, self.size.height)

    def show(self, layout: GraphLayout, cursor: int = 0) -> None:
        """Show a layout with the cursor on this node."""
        self.layout_shown, self._lines = layout, draw(layout)
        self.left = self.top = 0
        self.cursor = max(0, min(cursor, len(layout.nodes) - 1))
        self._keep_in_view()
        self.refresh()

    def go(self, index: int) -> None:
        """Select a node."""
        if index != self.cursor:
            self.cursor = index
            self._keep_in_view()
            self.refresh()
            self.post_message(self.Moved())

    def say(self, words: str) -> None:
        """Show a line about the selected node in the lower border."""
        self.say_below(Content(text.cut(words, max(1, self.size.width - 2))))

    def action_walk(self, move: Literal["left", "right", "up", "down"]) -> None:
        if self.layout_shown.nodes:
            self.go(self.layout_shown.neighbour(self.cursor, move))

    def action_first(self) -> None:
        self.go(0)

    def _keep_in_view(self) -> None:
        placed = self.selected
        if placed is None:
            return
        width, height = self.size.width - 1, self.size.height
        start, end = placed.x, placed.x + MARGIN + text.width(placed.label) + COLUMNS_AROUND
        end = min(end, self.layout_shown.width + MARGIN)
        if end > self.left + width:
            self.left = end - width
        self.left = max(0, min(self.left, start - COLUMNS_AROUND))
        self.top = max(0, min(self.top, placed.row), placed.row - height + 1)

    def on_resize(self) -> None:
        self._keep_in_view()
        self.post_message(self.Resized())

    # Drawing

    def render_line(self, y: int) -> Strip:
        width = self.size.width
        row = self.top + y
        if row >= len(self._lines):
            return Strip.blank(width, self.ground)
        on_path = self._path()
        segments = [Segment(" " * MARGIN)]
        segments += [
            Segment(piece.text, self._piece_style(piece, on_path)) for piece in self._lines[row]
        ]
        strip = Strip(segments)
        placed = self.selected
        if placed is not None and placed.row == row:
            at = placed.x + MARGIN - 1
            sign = Strip([Segment("▌", self.palette.accent)])
            strip = Strip.join([strip.crop(0, at), sign, strip.crop(at + 1)])
        cut = strip.cell_length > self.left + width
        strip = strip.crop(self.left, self.left + width).adjust_cell_length(width)
        if cut and width > 1:
            strip = Strip.join(
                [strip.crop(0, width - 1), Strip([Segment("›", self.palette.faint)])]
            )
        return strip.apply_style(self.ground)

    def _path(self) -> frozenset[int]:
        """Indices of the nodes from the start to the selected one."""
        path = []
        at = self.cursor
        while 0 <= at < len(self.layout_shown.nodes):
            path.append(at)
            at = self.layout_shown.nodes[at].parent
        return frozenset(path)

    def _piece_style(self, piece: GraphPiece, on_path: frozenset[int]) -> Style:
        palette = self.palette
        if piece.role in ("label", "more"):
            style = self._style_of(self.layout_shown.nodes[piece.index])
            if piece.index == self.cursor:
                style = style + palette.cursor(focused=self.has_focus)
            return style
        if piece.role == "relation":
            return palette.accent if piece.index in on_path else palette.dim
        return palette.faint

    # Mouse

    def on_click(self, event: events.Click) -> None:
        offset = event.get_content_offset(self)
        if offset is None:
            return
        column, row = offset.x + self.left - MARGIN, offset.y + self.top
        for index, placed in enumerate(self.layout_shown.nodes):
            if placed.row == row and placed.x <= column < placed.x + text.width(placed.label):
                self.go(index)
                if event.chain > 1:
                    self.post_message(self.Opened())
                return

    def on_mouse_scroll_down(self, event: events.MouseScrollDown) -> None:
        event.stop()
        self.action_walk("down")

    def on_mouse_scroll_up(self, event: events.MouseScrollUp) -> None:
        event.stop()
        self.action_walk("up")
