"""Bases of widgets that draw their own lines (Textual's line API): theme colours, text selection.

Textual finds the offset of a cell through meta data in the style of every segment, which would make
equal cells of two frames differ. Here the screen asks the widget instead (`SelectingScreen`).
"""

from __future__ import annotations

import re
from typing import Protocol, TypeVar, runtime_checkable

from rich.segment import Segment
from rich.style import Style
from textual import events
from textual.content import Content
from textual.errors import NoWidget
from textual.geometry import Offset, Region, Size
from textual.screen import Screen
from textual.selection import Selection
from textual.strip import Strip
from textual.theme import Theme
from textual.timer import Timer
from textual.widget import Widget
from textual.widgets import Input

from memtui import text
from memtui.tui.app_base import AppBase
from memtui.tui.appearance import Palette


class ThemedWidget(Widget):
    """Has the palette of the theme, and redraws when the theme changes."""

    ALLOW_SELECT = False
    app: AppBase

    _ground: Style | None = None

    @property
    def palette(self) -> Palette:
        return self.app.palette

    @property
    def ground(self) -> Style:
        """The background style.

        Cached, because Textual computes `rich_style` from all ancestors at every access.
        """
        if self._ground is None:
            self._ground = self.rich_style
        return self._ground

    def on_mount(self) -> None:
        self.app.theme_changed_signal.subscribe(self, self._theme_changed)

    def on_unmount(self) -> None:
        self.app.theme_changed_signal.unsubscribe(self)

    def _theme_changed(self, _: Theme) -> None:
        self._ground = None
        self.recolour()

    def notify_style_update(self) -> None:
        self._ground = None
        super().notify_style_update()

    def say_below(self, words: Content) -> None:
        """Set the text in the lower border and redraw only that line.

        Textual's own setter redraws the whole widget: 13 KB for each step of the cursor.
        """
        if words == self._border_subtitle:
            return
        self._border_subtitle = words
        edge = self.gutter
        self.refresh(Region(-edge.left, self.size.height, self.outer_size.width, 1))

    def recolour(self) -> None:
        """Redraw with another palette."""
        self.refresh()


class FocusableWidget(ThemedWidget, can_focus=True):
    """Looks different with the focus, so it is redrawn when it gets or loses it."""

    def on_focus(self) -> None:
        self.refresh()

    def on_blur(self) -> None:
        self.refresh()


Result = TypeVar("Result")
SCROLL_EVERY = 0.05
"""Seconds between two lines while a selection is dragged past the edge."""
_WORD = re.compile(r"\w+(?:[-'’.@/:]\w+)*|\S")


@runtime_checkable
class SelectableText(Protocol):
    """A widget whose lines can be selected."""

    def text_offset(self, x: int, y: int) -> Offset | None:
        """Character and line at a cell of the content; None where there is no text."""
        ...

    def scroll_lines(self, lines: int) -> None:
        """Scroll by some lines, as far as there are any."""
        ...


class SelectingScreen(Screen[Result]):
    """A screen on which a selection begins in a `SelectableText` or in a plain text.

    A selection that begins in a `SelectableText` stays in it; dragged past its edge, it scrolls.
    """

    app: AppBase
    _begun_in: Widget | None = None
    """The `SelectableText` that the mouse button was pressed in, until it is let go."""
    _scrolling: Timer | None = None

    def keep_draft(self, *, last: bool = False) -> bool:
        """Save unsaved input as a draft; returns whether there is any. Raises SaveError.

        `last`: the app ends, so that another program may offer it.
        """
        return False

    def _screen_resized(self, size: Size) -> None:
        """Lay out for the present size.

        Each layout of Textual that changes the size sends the screen that size once more, so that
        two sizes in its queue (a terminal closed amid the start) would take turns for ever.
        """
        super()._screen_resized(self.app.size)

    def on_resize(self) -> None:
        self.call_after_refresh(self._show_input_cursor)

    def _show_input_cursor(self) -> None:
        """Scroll the focused input to its cursor, which Textual leaves outside a new width."""
        focused = self.focused
        if isinstance(focused, Input):
            cell = focused.cursor_screen_offset.x - focused.content_region.x
            region = Region(cell + round(focused.scroll_x), 0, 1, 1)
            focused.scroll_to_region(region, force=True, animate=False)
        elif show_cursor := getattr(focused, "scroll_cursor_visible", None):  # a TextArea
            show_cursor()

    def get_widget_and_offset_at(self, x: int, y: int) -> tuple[Widget | None, Offset | None]:
        if (begun := self._begun_in) is not None:
            region = begun.content_region
            cell = Offset(
                min(max(x - region.x, 0), region.width - 2),
                min(max(y - region.y, 0), region.height - 1),
            )
            assert isinstance(begun, SelectableText)
            return begun, begun.text_offset(cell.x, cell.y)
        try:
            widget: Widget | None = self.get_widget_at(x, y)[0]
        except NoWidget:
            return None, None
        if widget is not None and isinstance(widget, SelectableText):
            region = widget.content_region
            offset = widget.text_offset(x - region.x, y - region.y)
        else:
            widget, offset = super().get_widget_and_offset_at(x, y)
        return (widget, offset) if offset is not None else (None, None)

    def _forward_event(self, event: events.Event) -> None:
        # Textual has no public hook that sees the mouse before the selection does.
        if isinstance(event, events.MouseDown):
            self._begun_in = None
            self._selecting = False  # the button may have been let go outside of the terminal
            widget, _ = self.get_widget_and_offset_at(event.screen_x, event.screen_y)
            super()._forward_event(event)
            self._begun_in = widget if isinstance(widget, SelectableText) else None
        else:
            super()._forward_event(event)
            if isinstance(event, events.MouseUp):
                self._begun_in = None
            if isinstance(event, events.MouseMove | events.MouseUp):
                self._scroll_selection(event)

    def _scroll_selection(self, pointer: events.MouseEvent) -> None:
        """While the pointer is past the edge of the text, scroll and select on."""
        if self._scrolling is not None:
            self._scrolling.stop()
            self._scrolling = None
        if (begun := self._begun_in) is None:
            return
        region = begun.content_region
        step = -1 if pointer.screen_y < region.y else int(pointer.screen_y >= region.bottom)
        if step:

            def scroll() -> None:
                assert isinstance(begun, SelectableText)
                begun.scroll_lines(step)
                moved = events.MouseMove.from_event(begun, pointer)
                super(SelectingScreen, self)._forward_event(moved)

            scroll()
            self._scrolling = self.set_interval(SCROLL_EVERY, scroll)


def character_at(line: str, cell: int) -> int:
    """The character that covers a cell of a line; the length of the line behind its end."""
    used = 0
    for number, character in enumerate(line):
        used += text.width(character)
        if used > cell:
            return number
    return len(line)


def word_at(line: str, character: int) -> tuple[int, int]:
    """First and last character of the word at a character; empty between words."""
    for found in _WORD.finditer(line):
        if found.start() <= character < found.end():
            return found.start(), found.end()
    return character, character


def cut_selected(line: str, selection: Selection, number: int, margin: int) -> str:
    """The selected part of line `number`, without the margin that all lines begin with."""
    span = selection.get_span(number)
    if span is None:
        return ""
    start, end = span
    start = max(start, margin if line[:margin].isspace() else 0)
    return line[start : end if end >= 0 else len(line)].rstrip()


def mark_selected(strip: Strip, selection: Selection, number: int) -> Strip:
    """Line `number` with its selected part in reverse video."""
    span = selection.get_span(number)
    if span is None:
        return strip
    start, end = span
    line = strip.text
    first = text.width(line[:start])
    last = text.width(line[:end] if end >= 0 else line.rstrip())
    if last <= first:
        return strip
    before, chosen, after = strip.divide([first, last, strip.cell_length])
    turned = [
        Segment(words, (style or Style.null()) + Style(reverse=not (style and style.reverse)))
        for words, style, _ in chosen
    ]
    return Strip([*before, *turned, *after], strip.cell_length)
