"""Timeline pane: memories per day, week, month or year as bars, the newest at the right.

Choosing a bar filters by it; shift and an arrow, or the mouse, select a range.
"""

from __future__ import annotations

from bisect import bisect_right
from datetime import date
from itertools import groupby, pairwise
from operator import itemgetter
from typing import TYPE_CHECKING

from rich.segment import Segment
from rich.style import Style
from textual import events
from textual.content import Content
from textual.strip import Strip

from memtui import text
from memtui.insight import timeline as timelines
from memtui.insight.timeline import Bar, Timeline, TimeSpan, Unit, find_bar_range
from memtui.tui import key_bindings
from memtui.tui.appearance import Palette
from memtui.tui.layout import Pane
from memtui.tui.messages import SpanChosen
from memtui.tui.widgets.line_api import FocusableWidget

if TYPE_CHECKING:
    from memtui.library.time_views import TimeData

_EIGHTHS = " ▁▂▃▄▅▆▇█"
_MONTHS = ["Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"]
CLOSED_TITLE = " 4 Timeline"
AXIS_FROM = 30
"""Columns from which the count of the highest bar is written at the left."""
SPANS_FROM = 5
"""Rows from which sessions, episodes and daily notes have a line below the bars."""
NOTE_GLYPH, SPAN_GLYPH = "▪", "◆"
LABEL_ROOM = 2
"""Empty cells between two dates below the bars."""
LABEL_FROM = 5
"""Cells from which a month has a label."""
WIDEST_BAR = 12
"""Cells of a bar, however few there are."""
USUAL_SHARE, MAX_TIMES, MIN_TO_CUT = 0.9, 4, 8
"""A bar more than four times as high as nine of ten is cut, if there are as many bars: else a day
on which a store was imported would press all others flat."""
CUT_GLYPH = "▒"
"""The top of a bar that is cut."""


NOT_COUNTED = Timeline("day")


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


class TimelinePane(FocusableWidget):
    """A row of bars, the newest at the right."""

    BINDINGS = [*key_bindings.bindings(Pane.TIMELINE)]

    def __init__(self) -> None:
        super().__init__(id=Pane.TIMELINE)
        self.border_title = Content("4 Timeline")
        self.timeline = NOT_COUNTED
        self.cursor = 0
        self._top = 1
        """The count that a bar of full height stands for."""
        self._filter = ("", "")
        """First and last day that are filtered by, as ISO dates, or empty."""
        self._times: TimeData | None = None
        self._anchor: date | None = None
        """Where a range began that is being selected."""
        self._drag_from = self._clicked = -1
        """Bars that the button was pressed on: until it is let go, and the last time."""
        self.chosen_unit: Unit | None = None
        """What memories are counted by; None: the finest unit that fits."""

    # Content

    def show_filter(self, since: str, until: str) -> None:
        """Show the ISO dates that are filtered by, or empty ones, from the moment they are: the
        next key may extend or remove them."""
        if self._filter != (since, until):
            self._filter = since, until
            self.refresh()
        if not (since or until):
            self._anchor = None

    def show(self, timeline: Timeline, times: TimeData | None = None) -> None:
        """Show a timeline, by the unit that was chosen if one was since its bars were counted.

        `times`: what other units are counted from, and the spans.
        """
        before, unit = self.timeline, self.chosen_unit or timeline.unit
        if times is not None:
            self._times = times
        if self._times is not None and unit != timeline.unit:
            timeline = timelines.build(self._times.days, self._times.undated, unit)
        at = None  # the cursor stays at its time, or at the newest bar
        if before.unit == timeline.unit:
            at = before.bars[self.cursor].start if self.cursor < len(before.bars) - 1 else None
        if at is not None and self._times is not None and (timeline.earlier or timeline.later):
            days, undated = self._times.days, self._times.undated
            timeline = timelines.build(days, undated, unit, around=at)
        self._take(timeline, at)

    def _take(self, timeline: Timeline, at: date | None) -> None:
        """Show these bars, the cursor at the one with a day, or the nearest before it; None: at the
        newest."""
        self.timeline = timeline
        counts = sorted(bar.count for bar in timeline.bars if bar.count)
        self._top = counts[-1] if counts else 1
        if len(counts) >= MIN_TO_CUT:
            most = MAX_TIMES * counts[int((len(counts) - 1) * USUAL_SHARE)]
            self._top = next(count for count in reversed(counts) if count <= most)
        starts = [bar.start for bar in timeline.bars]
        self.go(len(starts) if at is None else bisect_right(starts, at) - 1)

    @property
    def unit(self) -> Unit:
        return self.timeline.unit

    def set_unit(self, unit: Unit) -> None:
        """Count the same memories by another unit; the cursor stays at its time, of a longer bar
        at the end of it."""
        if self._times is not None and self.bars:
            self.chosen_unit = unit
            at = find_bar_range(self.bars[self.cursor].start, self.unit)[1]
            days, undated = self._times.days, self._times.undated
            self._take(timelines.build(days, undated, unit, around=at), at)

    def step(self, step: int) -> None:
        self._anchor = None
        self.go(self.cursor + step)

    def go_to_end(self, *, last: bool) -> None:
        self._anchor = None
        self.go(len(self.bars) - 1 if last else 0)

    def go(self, index: int) -> None:
        """Move the cursor to a bar."""
        self.cursor = max(0, min(index, len(self.bars) - 1))
        self._update_subtitle()
        self.refresh()

    def brush(self, step: int) -> None:
        """Extend the selected range by a bar."""
        if self.bars:
            self._anchor = self._anchor or self.bars[self.cursor].start
            self.go(self.cursor + step)
            self._select(self._anchor, self.bars[self.cursor].start)

    def _select(self, one: date, other: date) -> None:
        """Filter by the days of two bars and all between."""
        first, last = sorted((one, other))
        self._filter = first.isoformat(), find_bar_range(last, self.unit)[1].isoformat()
        self.refresh()
        self.post_message(SpanChosen(*self._filter))

    @property
    def is_dated(self) -> bool:
        """Whether there is a dated memory, or may be: nothing is counted yet."""
        return self.timeline is NOT_COUNTED or bool(self.bars)

    def choose(self) -> None:
        """Filter by the bar under the cursor; remove the filter if it is that bar."""
        if self.bars:
            first, last = find_bar_range(self.bars[self.cursor].start, self.unit)
            chosen = first.isoformat(), last.isoformat()
            self.post_message(SpanChosen(*(("", "") if chosen == self._filter else chosen)))

    def _update_subtitle(self) -> None:
        if not self.bars:
            self.say_below(Content(""))
            return
        bar = self.bars[self.cursor]
        parts = [f"{span_words(bar.start, self.unit)}: {text.number(bar.count)}"]
        parts += self._span_counts(bar)
        for count, words in (
            (self.timeline.undated, "undated"),
            (self.timeline.earlier, "earlier"),
            (self.timeline.later, "later"),
        ):
            parts += [f"{text.number(count)} {words}"] if count else []
        self.border_title = Content(f"4 Timeline by {self.unit}")
        while len(parts) > 1 and text.width(" · ".join(parts)) > self.size.width - 4:
            parts.pop()
        self.say_below(Content(" · ".join(parts)))

    # Drawing

    def render_line(self, y: int) -> Strip:
        width, height = self.size
        if not self.bars:
            words = text.cut("" if self.timeline is NOT_COUNTED else " no dated memories", width)
            strip = Strip([Segment(words, self.palette.faint)] if y == height // 2 else [])
        elif y == height - 1 and height > 1:
            strip = self._labels(width)
        elif y == height - 2 and self._has_span_line(height):
            strip = self._span_line(width)
        else:
            rows = height - self._has_span_line(height)
            strip = self._bar_line(rows - (1 if rows > 1 else 0) - 1 - y, rows)
        return strip.adjust_cell_length(width).apply_style(self.ground)

    @property
    def _is_closed(self) -> bool:
        """It has two rows and no border."""
        return self.has_class("-closed")

    @property
    def bars(self) -> tuple[Bar, ...]:
        return self.timeline.bars

    def _spans_in(self, bar: Bar) -> list[TimeSpan]:
        """Sessions, episodes and daily notes that touch a bar."""
        if self._times is None:
            return []
        first, last = find_bar_range(bar.start, self.unit)
        return [
            span
            for span in self._times.spans
            if span.start.date() <= last and first <= span.end.date()
        ]

    def _span_counts(self, bar: Bar) -> list[str]:
        spans = self._spans_in(bar)
        episodes = sum(span.kind == "episode" for span in spans)
        notes = len(spans) - episodes
        counts = [f"{SPAN_GLYPH} {episodes} session{'s' * (episodes != 1)}"] if episodes else []
        return counts + ([f"{NOTE_GLYPH} {notes} daily note{'s' * (notes != 1)}"] if notes else [])

    def _window(self) -> tuple[int, list[int]]:
        """First visible bar, and the column where each one begins, with the end of the last."""
        left = len(self._top_words) + 1
        width, count = max(1, self.size.width - left - 1), len(self.bars)
        shown = min(count, width)
        first = max(0, min(count - shown, self.cursor - shown + 1))
        if self.cursor >= count - shown:
            first = max(0, count - shown)
        width = min(width, shown * WIDEST_BAR)
        return first, [left + at * width // max(1, shown) for at in range(shown + 1)]

    @property
    def _top_words(self) -> str:
        """The count of a bar of full height, and the highest of those cut: where there is room;
        the title where there is no border to have it."""
        if self._is_closed:
            return CLOSED_TITLE
        if self.size.width < AXIS_FROM:
            return ""
        top, most = self._top, max((bar.count for bar in self.bars), default=0)
        return text.number(top) + (f" {CUT_GLYPH}{text.number(most)}" if most > top else "")

    def _has_span_line(self, height: int) -> bool:
        return height >= SPANS_FROM and self._times is not None and bool(self._times.spans)

    def _span_line(self, width: int) -> Strip:
        """Below the bars, in which of them sessions, episodes and daily notes lie."""
        first, edges = self._window()
        line = [" "] * width
        for index, at in enumerate(edges[:-1]):
            spans = self._spans_in(self.bars[first + index])
            if spans and at < width:
                episode = any(span.kind == "episode" for span in spans)
                line[at] = SPAN_GLYPH if episode else NOTE_GLYPH
        return Strip([Segment("".join(line), self.palette.accent)])

    def _bar_line(self, level: int, height: int) -> Strip:
        """One line of the bars, level 0 at the bottom."""
        first, edges = self._window()
        levels = max(1, height - (1 if height > 1 else 0))
        axis = self._top_words if level == levels - 1 else ""
        top, palette = self._top, self.palette
        pieces = [(axis.ljust(edges[0]), palette.faint)]
        for index, (start, end) in enumerate(pairwise(edges), first):
            bar = self.bars[index]
            eighths = min(levels * 8, round(bar.count / top * levels * 8))
            if bar.count:
                eighths = max(1, eighths)
            part = max(0, min(8, eighths - level * 8))
            gap = 1 if end - start > 1 else 0
            sign, style = _EIGHTHS[part], self._style(index, bar, palette)
            if bar.count > top and level == levels - 1:
                sign = CUT_GLYPH
            if not part and level == 0:
                is_cursor = index == self.cursor and self.has_focus
                sign, style = "·", palette.accent if is_cursor else palette.faint
            pieces.append((sign * (end - start - gap) + " " * gap, style))
        return Strip(
            Segment("".join(words for words, _ in run), style)
            for style, run in groupby(pieces, key=itemgetter(1))
        )

    def _style(self, index: int, bar: Bar, palette: Palette) -> Style:
        if index == self.cursor and self.has_focus:
            return palette.bar_cursor
        if self._filter != ("", ""):
            since, until = self._filter
            first, last = find_bar_range(bar.start, self.unit)
            if last.isoformat() < since or first.isoformat() > (until or "9999"):
                return palette.faint
        return palette.bar

    def _labels(self, width: int) -> Strip:
        """The months below the bars, with the year where it is new.

        The first year is written where there is room for it. A later one takes the place of the
        months after it: months of two years could not be told apart.
        """
        marks: list[tuple[int, date]] = []
        first, edges = self._window()
        unit = f" by {self.unit}" if self._is_closed else ""
        for index, at in enumerate(edges[:-1], first):
            start = self.bars[index].start
            if not marks or (start.year, start.month) != (marks[-1][1].year, marks[-1][1].month):
                marks.append((at, start))
        line, free_from, year = [" "] * width, 0, 0
        if (
            self.unit in ("day", "week")
            and len(marks) > 1
            and marks[1][0] < marks[0][0] + LABEL_FROM
        ):
            del marks[0]  # the end of a month, in the way of the next one
        for (at, start), (following, _) in pairwise([*marks, (width + LABEL_ROOM, date.max)]):
            label, long = _MONTHS[start.month - 1], f"{_MONTHS[start.month - 1]} {start.year}"
            if self.unit == "year":
                label = f"{start.year}"
            elif start.year != year and at >= free_from:
                end = following if start.year == marks[0][1].year else width + LABEL_ROOM
                if at + len(long) + LABEL_ROOM <= end:
                    label, year = long, start.year
            if at >= free_from and at + len(label) <= width:
                line[at : at + len(label)] = label
                free_from = at + len(label) + LABEL_ROOM
        words = unit + "".join(line)[len(unit) :]
        return Strip([Segment(words, self.palette.faint)])

    # Mouse

    def _bar_at(self, x: int) -> int:
        """Index of the bar in this column; -1 beside the bars."""
        first, edges = self._window()
        if not self.bars or not edges[0] <= x < edges[-1]:
            return -1
        return first + bisect_right(edges, x) - 1

    def on_mouse_down(self, event: events.MouseDown) -> None:
        offset = event.get_content_offset(self)
        self._drag_from = self._clicked = self._bar_at(offset.x) if offset is not None else -1
        self._anchor = None
        if self._drag_from >= 0:
            self.capture_mouse()

    def on_mouse_move(self, event: events.MouseMove) -> None:
        if self._drag_from < 0:
            return
        index = self._bar_at(event.screen_x - self.content_region.x)
        if index >= 0 and (index != self.cursor or self._anchor is not None):
            self.go(index)
            if index != self._drag_from or self._anchor is not None:
                self._anchor = self.bars[self._drag_from].start
                self._select(self._anchor, self.bars[index].start)

    def on_mouse_up(self) -> None:
        if self._drag_from >= 0:
            self._drag_from = -1
            self.release_mouse()

    def on_click(self, event: events.Click) -> None:
        # Where the button was pressed: the pane has opened since, and the bars are elsewhere.
        if self._clicked >= 0 and self._anchor is None:  # else a range has just been selected
            self.go(self._clicked)
            self.choose()

    def on_mouse_scroll_down(self, event: events.MouseScrollDown) -> None:
        event.stop()
        self.step(-1)

    def on_mouse_scroll_up(self, event: events.MouseScrollUp) -> None:
        event.stop()
        self.step(1)
