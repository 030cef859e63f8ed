"""The container of the panes: its borders can be dragged with the mouse to resize them."""

from __future__ import annotations

from textual import events
from textual.containers import Horizontal
from textual.geometry import Region
from textual.message import Message


class BorderDragged(Message):
    """A border was dragged: the size that a pane is to have; None: double-clicked, its own."""

    def __init__(self, name: str, size: int | None) -> None:
        super().__init__()
        self.name = name
        """One of the names of `layout.Sizes`."""
        self.size = size


class PaneBody(Horizontal):
    """Finds the border under the mouse and posts the size that dragging it asks for."""

    _dragged = ""

    def on_mouse_down(self, event: events.MouseDown) -> None:
        self._dragged = self._border_at(event.screen_x, event.screen_y)
        if self._dragged:
            event.stop()
            self.capture_mouse()

    def on_mouse_move(self, event: events.MouseMove) -> None:
        if self._dragged:
            event.stop()
            size = self._size_at(self._dragged, event.screen_x, event.screen_y)
            self.post_message(BorderDragged(self._dragged, size))

    def on_mouse_up(self, event: events.MouseUp) -> None:
        if self._dragged:
            event.stop()
            self._dragged = ""
            self.release_mouse()

    def on_click(self, event: events.Click) -> None:
        if event.chain > 1 and (name := self._border_at(event.screen_x, event.screen_y)):
            self.post_message(BorderDragged(name, None))

    def _regions(self) -> tuple[Region, Region, Region, Region]:
        """Side, list, detail and timeline on the screen; empty regions where they are hidden."""
        hidden = Region()
        found = (self.query_one(f"#{name}") for name in ("side", "memories", "detail", "timeline"))
        side, rows, detail, timeline = (
            widget.region if widget.display else hidden for widget in found
        )
        return side, rows, detail, timeline

    def _border_at(self, x: int, y: int) -> str:
        """The size that the border at this cell sets; empty where there is none."""
        side, rows, detail, timeline = self._regions()
        if side and x in (side.right - 1, side.right) and side.right < self.region.right:
            return "side"
        if timeline and y in (timeline.y - 1, timeline.y) and x >= timeline.x and rows:
            return "timeline"
        if rows and detail and rows.y == detail.y and x in (rows.right - 1, rows.right):
            return "list"
        if rows and detail and rows.y != detail.y and y in (rows.bottom - 1, rows.bottom):
            return "rows"
        return ""

    def _size_at(self, name: str, x: int, y: int) -> int:
        side, rows, _, timeline = self._regions()
        return {
            "side": x - side.x + 1,
            "timeline": timeline.bottom - y,
            "list": x - rows.x + 1,
            "rows": y - rows.y + 1,
        }[name]
