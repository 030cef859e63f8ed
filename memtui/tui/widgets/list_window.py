"""A scrollable list that draws only the lines in view, so its cost is independent of their number.

A subclass returns the number of lines and draws one. The window keeps its own top line, cursor
and scrollbar; Textual's scrolling is not used, since it lays out the whole screen at every step.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Hashable

from rich.segment import Segment
from textual import events
from textual.cache import FIFOCache
from textual.content import Content
from textual.geometry import Offset, Region, Size
from textual.selection import Selection
from textual.strip import Strip

from memtui.tui import actions, key_bindings
from memtui.tui.widgets.line_api import (
    ThemedWidget,
    character_at,
    cut_selected,
    mark_selected,
    word_at,
)

CACHED_STRIPS = 256
"""Drawn lines that are cached: enough to page back and forth. Not in an `LRUCache`, whose links
are cycles: what is cleared would stay in memory until the collector finds it."""
WHEEL_LINES = 3


class ListWindow(ThemedWidget, can_focus=True):
    """A focusable list of lines with cursor, scrollbar, keys and mouse."""

    BINDINGS = [*key_bindings.bindings(actions.MOVING)]
    has_cursor = True
    """False if the lines only scroll and there is no current one."""
    line_height = 1
    """Screen rows per line."""
    margin = 1
    """Blank cells that lines begin with, which are not copied."""

    def __init__(self, *, id: str | None = None, title: str = "") -> None:
        super().__init__(id=id)
        self.top = 0
        self.cursor = 0
        self._strips: FIFOCache[Hashable, Strip] = FIFOCache(CACHED_STRIPS)
        self._drawn_size = Size()
        """That of the lines being drawn: Textual's own takes 10 µs to find."""
        self._drag_from: int | None = None
        self._selection: Selection | None = None
        """The text selected with the mouse, by character and line."""
        if title:
            self.border_title = Content(title)

    # For subclasses

    @abstractmethod
    def line_count(self) -> int: ...

    @abstractmethod
    def draw(self, index: int, width: int, *, selected: bool) -> Strip:
        """Draw the first row of a line, at most `width` cells."""

    def draw_more(self, index: int, row: int, width: int, *, selected: bool) -> Strip | None:
        """Draw another row of a line, from 1; None for a blank one outside the cursor."""
        return None

    def draw_key(self, index: int) -> Hashable:
        """Cache key: what a drawn line depends on besides width, selection and colours."""
        return index

    def draw_empty(self, y: int, width: int) -> Strip:
        """Draw row `y` when there are no lines."""
        return Strip.blank(width)

    def clicked_empty(self, y: int) -> None:
        """Called when row `y` was clicked while there are no lines."""

    def selectable(self, index: int) -> bool:
        """Whether the cursor can be on a line."""
        return True

    def cursor_moved(self) -> None:
        """Called when the cursor moved to another line."""

    # Position

    @property
    def page(self) -> int:
        """Lines that fit the view."""
        return max(1, self.size.height // self.line_height)

    @property
    def last(self) -> int:
        return self.line_count() - 1

    def reset(self, *, cursor: int = 0, top: int = 0) -> None:
        """Redraw with other lines, with this cursor and top line."""
        self._strips.clear()
        self.drop_selection()
        self.cursor = max(0, min(cursor, self.last))
        self.top = top
        self._keep_in_view()
        self.refresh()

    def redraw(self) -> None:
        """Draw every line in view again."""
        self._strips.clear()
        self.refresh()

    def go(self, index: int) -> None:
        """Move the cursor to a line, or the nearest selectable one, scrolling if needed.

        Beyond the last selectable line the lines below it come into view.
        """
        target = max(0, min(index, self.last))
        index = self._nearest(target, up=index < self.cursor)
        if target > index >= 0:
            self.top = max(self.top, min(index, self.line_count() - self.page))
            self.refresh()
        if index == self.cursor or self.last < 0:
            self._keep_in_view()
            return
        before, top = self.cursor, self.top
        self.cursor = index
        self._keep_in_view()
        if self.top == top:
            width, rows = self.size.width, self.line_height
            self.refresh(
                Region(0, (before - top) * rows, width, rows),
                Region(0, (index - top) * rows, width, rows),
            )
        self.cursor_moved()

    def scroll_lines(self, lines: int) -> None:
        """Scroll; the cursor moves only if it would leave the view."""
        top = max(0, min(self.top + lines, self.line_count() - self.page))
        if top == self.top:
            return
        self.top = top
        if self.has_cursor:
            cursor = max(top, min(self.cursor, top + self.page - 1))
            if cursor != self.cursor:
                self.cursor = self._nearest(cursor, up=lines < 0)
                self.cursor_moved()
        self.refresh()

    def _nearest(self, index: int, *, up: bool) -> int:
        step = -1 if up else 1
        for start, move in ((index, step), (index, -step)):
            at = start
            while 0 <= at <= self.last:
                if self.selectable(at):
                    return at
                at += move
        return index

    def _keep_in_view(self) -> None:
        highest = max(0, self.line_count() - self.page)
        top = min(max(self.top, 0), highest)
        if self.has_cursor and self.size.height:
            if self.cursor < top:
                top = self.cursor
                while top and not self.selectable(top - 1):
                    top -= 1  # keep headings above the first choice in view
            elif self.cursor >= top + self.page:
                top = self.cursor - self.page + 1
        if top != self.top:
            self.top = top
            self.refresh()

    # Drawing

    def render_lines(self, crop: Region) -> list[Strip]:
        self._drawn_size = self.size
        return super().render_lines(crop)

    def render_line(self, y: int) -> Strip:
        width, height = self._drawn_size
        count = self.line_count()
        body = max(1, width - 1)
        line, row = divmod(y, self.line_height)
        index = self.top + line
        if not count:
            empty = self.draw_empty(y, width).adjust_cell_length(width, self.ground)
            return empty.apply_style(self.ground)  # without a ground, dim text ends the app
        if index >= count:
            return Strip(
                [Segment(" " * body, self.ground), self._scrollbar(y, height, count)], width
            )
        selected = self.has_cursor and index == self.cursor and self.selectable(index)
        key = (self.draw_key(index), row, body, selected, selected and self.has_focus)
        cached = self._strips.get(key)
        if cached is None:
            cached = self._strips[key] = self._line(index, row, body, selected)
        if self._selection is not None:
            cached = mark_selected(cached, self._selection, index)
        return Strip([*cached, self._scrollbar(y, height, count)], width)

    def _line(self, index: int, row: int, width: int, selected: bool) -> Strip:
        """One row of a line, filled to `width` with the background."""
        strip: Strip | None
        if row:
            strip = self.draw_more(index, row, width, selected=selected)
        else:
            strip = self.draw(index, width, selected=selected)
        if strip is None:
            strip, selected = Strip([]), False
        if selected:
            strip = _one_ground(strip)
        if (missing := width - strip.cell_length) < 0:
            strip = strip.crop(0, width)
        style = self.palette.cursor(focused=self.has_focus) if selected else None
        blank = [Segment(" " * missing, style)] if missing > 0 else []
        ground = self.ground
        return Strip([Segment(words, ground + own) for words, own, _ in (*strip, *blank)], width)

    def _scrollbar(self, y: int, height: int, count: int) -> Segment:
        if count <= max(1, height // self.line_height):
            return Segment(" ", self.ground)
        first, size = self._thumb(height, count)
        if first <= y < first + size:
            style = self.palette.thumb_focused if self.has_focus else self.palette.thumb
            return Segment("▐", self.ground + style)
        return Segment(" ", self.ground)

    def _thumb(self, height: int, count: int) -> tuple[int, int]:
        """First row and size of the scrollbar's thumb."""
        page = max(1, height // self.line_height)  # not `self.page`: Textual's size is slow to find
        size = max(1, round(height * page / count))
        room, steps = height - size, max(1, count - page)
        return round(room * min(self.top, steps) / steps), size

    def notify_style_update(self) -> None:
        self._strips.clear()
        super().notify_style_update()

    def recolour(self) -> None:
        self.redraw()

    def on_resize(self) -> None:
        self._strips.clear()
        self._keep_in_view()

    def on_focus(self) -> None:
        self.redraw()

    def on_blur(self) -> None:
        self.redraw()

    # Keys and mouse

    def action_move(self, action_id: str) -> None:
        page, count = self.page, self.line_count()
        moves = {
            "move.down": 1,
            "move.up": -1,
            "move.page_down": page,
            "move.page_up": -page,
            "move.half_down": max(1, page // 2),
            "move.half_up": -max(1, page // 2),
            "move.first": -count,
            "move.last": count,
        }
        self._step(moves[action_id])

    def _step(self, lines: int) -> None:
        if self.has_cursor:
            self.go(self.cursor + lines)
        else:
            self.scroll_lines(lines)

    def on_mouse_scroll_down(self, event: events.MouseScrollDown) -> None:
        event.stop()
        self.scroll_lines(WHEEL_LINES)

    def on_mouse_scroll_up(self, event: events.MouseScrollUp) -> None:
        event.stop()
        self.scroll_lines(-WHEEL_LINES)

    def on_mouse_down(self, event: events.MouseDown) -> None:
        offset = event.get_content_offset(self)
        if offset is None:
            return
        if offset.x == self.size.width - 1 and self.line_count() > self.page:
            self._drag_from = offset.y
            self.capture_mouse()
            self._drag_to(offset.y)

    def on_mouse_move(self, event: events.MouseMove) -> None:
        if self._drag_from is not None:
            self._drag_to(event.screen_y - self.content_region.y)

    def on_mouse_up(self) -> None:
        if self._drag_from is not None:
            self._drag_from = None
            self.release_mouse()

    def _drag_to(self, y: int) -> None:
        steps = self.line_count() - self.page
        height = self.size.height
        _, size = self._thumb(height, self.line_count())
        room = max(1, height - size)
        self.scroll_lines(round(max(0, min(y, room)) * steps / room) - self.top)

    def on_click(self, event: events.Click) -> None:
        offset = event.get_content_offset(self)
        if offset is None or offset.x >= self.size.width - 1 or self._selection is not None:
            return  # the scrollbar, or the end of a selection
        if not self.line_count():
            self.clicked_empty(offset.y)
        index = self.top + offset.y // self.line_height
        if not 0 <= index <= self.last or not self.selectable(index):
            return
        if self.ALLOW_SELECT and not self.has_cursor and event.chain > 1:
            self._select_word(offset, line=event.chain > 2)
        event.prevent_default()  # Textual would select everything
        again = index == self.cursor
        if self.has_cursor:
            self.go(index)
        self.clicked(index, again=again, double=event.chain > 1)

    # Selected text

    def text_offset(self, x: int, y: int) -> Offset | None:
        count = self.line_count()
        if not self.ALLOW_SELECT or not count or not 0 <= x < self.size.width - 1:
            return None
        index = min(self.top + max(0, y), count - 1)
        return Offset(character_at(self._line_text(index), x), index)

    def _line_text(self, index: int) -> str:
        return self.draw(index, max(1, self.size.width - 1), selected=False).text.rstrip()

    def _select_word(self, at: Offset, *, line: bool) -> None:
        found = self.text_offset(at.x, at.y)
        if found is None:
            return
        words = self._line_text(found.y)
        start, end = (0, len(words)) if line else word_at(words, found.x)
        if end > start:
            chosen = Selection(Offset(start, found.y), Offset(end, found.y))
            self.screen.selections = {self: chosen}

    def drop_selection(self) -> None:
        """Clear the text selection, as the lines have changed."""
        if self._selection is not None:
            self.screen.clear_selection()

    def selection_updated(self, selection: Selection | None) -> None:
        self._selection = selection
        self.refresh()

    def get_selection(self, selection: Selection) -> tuple[str, str] | None:
        first = selection.start.y if selection.start is not None else 0
        end = selection.end.y if selection.end is not None else self.last
        lines = [
            cut_selected(self._line_text(index), selection, index, self.margin)
            for index in range(max(0, first), min(end, self.last) + 1)
        ]
        return "\n".join(lines), "\n"

    def clicked(self, index: int, *, again: bool, double: bool) -> None:
        """Called when a line was clicked; `again`: the cursor was there already."""


def _one_ground(strip: Strip) -> Strip:
    """Remove the colours of a cursor line in reverse video.

    Otherwise each colour would become a block of another background.
    """
    if not any(style and style.reverse for _, style, _ in strip):
        return strip
    return Strip([Segment(words, style and style.without_color) for words, style, _ in strip])
