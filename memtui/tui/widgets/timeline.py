"""Timeline pane: memories per day, week or month as bars; choosing a bar filters by it."""

from __future__ import annotations

from bisect import bisect_right
from datetime import date
from itertools import pairwise
from typing import TYPE_CHECKING, ClassVar

from rich.segment import Segment
from rich.style import Style
from textual import events
from textual.content import Content
from textual.strip import Strip

from memtui import text
from memtui.insight.timeline import find_bar_range
from memtui.tui import key_bindings
from memtui.tui.layout import Pane
from memtui.tui.messages import SpanChosen
from memtui.tui.widgets.themed_widget import ThemedWidget

if TYPE_CHECKING:
    from textual.binding import BindingType

    from memtui.insight.timeline import Bar, Timeline, Unit

_EIGHTHS = " ▁▂▃▄▅▆▇█"
_MONTHS = ["Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"]
AXIS_FROM = 40
"""Columns from which the count of the highest bar is written at the left."""
LABEL_ROOM = 2
"""Empty cells between two dates below the bars."""


def span_words(start: date, unit: Unit) -> str:
    """The dates of a bar: `21 Nov 2026`, `16 – 22 Nov 2026`, `Nov 2026`."""
    if unit == "year":
        return f"{start.year}"
    if unit == "month":
        return f"{_MONTHS[start.month - 1]} {start.year}"
    end = find_bar_range(start, unit)[1]
    tail = f"{end.day} {_MONTHS[end.month - 1]} {end.year}"
    if start == end:
        return tail
    head = f"{start.day}" if start.month == end.month else f"{start.day} {_MONTHS[start.month - 1]}"
    return f"{head} – {tail}"


class TimelinePane(ThemedWidget, can_focus=True):
    """A row of bars, the newest at the right."""

    BINDINGS: ClassVar[list[BindingType]] = [*key_bindings.bindings(Pane.TIMELINE)]

    def __init__(self) -> None:
        super().__init__(id=Pane.TIMELINE)
        self.border_title = Content("4 Timeline")
        self._timeline: Timeline | None = None
        self._since = ""
        self._until = ""
        self.cursor = 0

    # Content

    def show(self, timeline: Timeline, since: str, until: str) -> None:
        """Show a timeline; `since` and `until` (ISO dates or empty) are the current filter."""
        before = self._timeline
        self._timeline, self._since, self._until = timeline, since, until
        count = len(timeline.bars)
        if before is None or before.unit != timeline.unit or self.cursor >= len(before.bars) - 1:
            self.cursor = count - 1
        self.cursor = max(0, min(self.cursor, count - 1))
        self._update_subtitle()
        self.refresh()

    @property
    def timeline(self) -> Timeline | None:
        return self._timeline

    @property
    def unit(self) -> Unit | None:
        return self._timeline.unit if self._timeline else None

    def go(self, index: int) -> None:
        """Move the cursor to a bar."""
        count = len(self._bars)
        self.cursor = max(0, min(index, count - 1))
        self._update_subtitle()
        self.refresh()

    def choose(self) -> None:
        """Filter by the bar under the cursor; remove the filter if it is that bar."""
        if not self._timeline or not self._bars:
            return
        bar = self._bars[self.cursor]
        since, until = (end.isoformat() for end in find_bar_range(bar.start, self._timeline.unit))
        if (since, until) == (self._since, self._until):
            since = until = ""
        self.post_message(SpanChosen(since, until))

    @property
    def _bars(self) -> tuple[Bar, ...]:
        return self._timeline.bars if self._timeline else ()

    def _update_subtitle(self) -> None:
        if not self._timeline or not self._bars:
            self.say_below(Content(""))
            return
        bar = self._bars[self.cursor]
        undated = self._timeline.undated
        parts = [f"{span_words(bar.start, self._timeline.unit)}: {text.number(bar.count)}"]
        parts += [f"{text.number(undated)} undated"] if undated else []
        self.border_title = Content(f"4 Timeline by {self._timeline.unit}")
        self.say_below(Content(" · ".join(parts)))

    # Drawing

    def _view(self) -> tuple[int, list[int]]:
        """First visible bar, and the column where each one begins, with the end of the last."""
        left = len(self._top_words) + 1
        width, count = max(1, self.size.width - left - 1), len(self._bars)
        shown = min(count, width)
        first = max(0, min(count - shown, self.cursor - shown + 1))
        if self.cursor >= count - shown:
            first = max(0, count - shown)
        return first, [left + at * width // max(1, shown) for at in range(shown + 1)]

    @property
    def _top(self) -> int:
        return max((bar.count for bar in self._bars), default=1) or 1

    @property
    def _top_words(self) -> str:
        """The count of the highest bar, written beside it where there is room."""
        return text.number(self._top) if self.size.width >= AXIS_FROM else ""

    def render_line(self, y: int) -> Strip:
        width, height = self.size
        if not self._timeline or not self._bars:
            words = text.cut(" no dated memories" if self._timeline else "", width)
            strip = Strip([Segment(words, self.palette.faint)] if y == height // 2 else [])
        elif y == height - 1 and height > 1:
            strip = self._labels(width)
        else:
            strip = self._bar_line(height - (1 if height > 1 else 0) - 1 - y, height)
        return strip.adjust_cell_length(width).apply_style(self.ground)

    def _bar_line(self, level: int, height: int) -> Strip:
        """One line of the bars, level 0 at the bottom."""
        first, edges = self._view()
        levels = max(1, height - (1 if height > 1 else 0))
        axis = self._top_words if level == levels - 1 else ""
        segments = [Segment(axis.ljust(edges[0]), self.palette.faint)]
        for index, (start, end) in enumerate(pairwise(edges), first):
            bar = self._bars[index]
            eighths = round(bar.count / self._top * levels * 8)
            if bar.count:
                eighths = max(1, eighths)
            part = max(0, min(8, eighths - level * 8))
            gap = 1 if end - start > 1 else 0
            cells = end - start - gap
            style = self._style(index, bar)
            if not part and level == 0:
                here = index == self.cursor and self.has_focus
                segments.append(
                    Segment("·" * cells, self.palette.accent if here else self.palette.rule)
                )
            else:
                segments.append(Segment(_EIGHTHS[part] * cells, style))
            if gap:
                segments.append(Segment(" "))
        return Strip(segments)

    def _style(self, index: int, bar: Bar) -> Style:
        if index == self.cursor and self.has_focus:
            return self.palette.bar_cursor
        day = bar.start.isoformat()
        if self._since and not self._since <= day <= (self._until or "9999"):
            return self.palette.rule
        return self.palette.bar

    def _labels(self, width: int) -> Strip:
        first, edges = self._view()
        line, last_month = [" "] * width, 0
        free_from = 0
        for index, at in enumerate(edges[:-1]):
            bar = self._bars[first + index]
            if bar.start.month == last_month:
                continue
            last_month = bar.start.month
            label = _MONTHS[bar.start.month - 1]
            if bar.start.month == 1 or not index:
                label += f" {bar.start.year}"
            if at >= free_from and at + len(label) <= width:
                line[at : at + len(label)] = label
                free_from = at + len(label) + LABEL_ROOM
        segments = [Segment("".join(line), self.palette.faint)]
        return Strip(segments)

    def on_focus(self) -> None:
        self.refresh()

    def on_blur(self) -> None:
        self.refresh()

    def on_click(self, event: events.Click) -> None:
        offset = event.get_content_offset(self)
        if offset is None or not self._bars:
            return
        first, edges = self._view()
        index = first + bisect_right(edges, offset.x) - 1
        if edges[0] <= offset.x < edges[-1]:
            self.go(index)
            self.choose()

    def on_mouse_scroll_down(self, event: events.MouseScrollDown) -> None:
        event.stop()
        self.go(self.cursor - 1)

    def on_mouse_scroll_up(self, event: events.MouseScrollUp) -> None:
        event.stop()
        self.go(self.cursor + 1)
