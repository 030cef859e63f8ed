"""Timeline pane: memories per day, week, month or year as bars, as a calendar, as growth per store.

Choosing a bar or a day filters by it; shift and an arrow, or the mouse, select a range.
"""

from __future__ import annotations

from bisect import bisect_right
from datetime import date, timedelta
from typing import TYPE_CHECKING

from rich.segment import Segment
from textual import events
from textual.content import Content
from textual.strip import Strip

from memtui import text
from memtui.insight import timeline as timelines
from memtui.insight.timeline import WEEKDAYS, HeatMap, Timeline, Unit, find_bar_range
from memtui.tui import key_bindings
from memtui.tui.layout import Pane
from memtui.tui.messages import SpanChosen
from memtui.tui.widgets import bar_chart
from memtui.tui.widgets.bar_chart import BarChart, span_words

if TYPE_CHECKING:
    from memtui.library.time_views import TimeData

BARS, CALENDAR, GROWTH = "bars", "calendar", "growth"
VIEWS = (BARS, CALENDAR, GROWTH)


class TimelinePane(BarChart):
    """A row of bars, the newest at the right."""

    BINDINGS = [*key_bindings.bindings(Pane.TIMELINE)]

    def __init__(self) -> None:
        super().__init__(id=Pane.TIMELINE)
        self.border_title = Content("4 Timeline")
        self.view = BARS
        self._day = date.min
        """The day under the cursor of the calendar."""
        self._anchor: date | None = None
        """Where a range began that is being selected."""
        self._head = date.min
        """Where it ends: the first day of a bar, or a day."""
        self._drag_from = -1
        self._heat: HeatMap | None = None
        self.chosen_unit: Unit | None = None
        """What memories are counted by; None: the finest unit that fits."""

    # Content

    def show_filter(self, since: str, until: str) -> None:
        """Show the ISO dates that are filtered by, or empty ones, from the moment they are: the
        next key may extend or remove them."""
        self._filter = since, until
        if self._filter == ("", ""):
            self._anchor = None
        self.refresh()

    def show(self, timeline: Timeline, times: TimeData | None = None) -> None:
        """Show a timeline, by the unit that was chosen if one was since its bars were counted.

        `times`: what calendar, growth and spans are drawn from.
        """
        before, unit = self.timeline, self.chosen_unit or timeline.unit
        if times is not None:
            self._times, self._heat = times, None
        if self._times is not None and unit != timeline.unit:
            timeline = timelines.build(self._times.days, self._times.undated, unit)
        at = None  # the cursor stays at its time, or at the newest bar
        if before is not None and before.unit == timeline.unit:
            at = before.bars[self.cursor].start if self.cursor < len(before.bars) - 1 else None
        if at is not None and self._times is not None and (timeline.earlier or timeline.later):
            days, undated = self._times.days, self._times.undated
            timeline = timelines.build(days, undated, unit, around=at)
        self.timeline = timeline
        count = len(timeline.bars)
        self.cursor = max(0, count - 1 if at is None else self._index_of(at))
        self._update_subtitle()
        self.refresh()

    def _index_of(self, day: date) -> int:
        """The bar with a day; the nearest before it, or the first, if there is none."""
        return max(0, bisect_right([bar.start for bar in self._bars], day) - 1)

    @property
    def unit(self) -> Unit | None:
        return self.timeline.unit if self.timeline else None

    def next_view(self) -> None:
        """Bars, calendar, growth."""
        self.view = VIEWS[(VIEWS.index(self.view) + 1) % len(VIEWS)]
        self._anchor = None
        if self.view == CALENDAR and self._bars and self.timeline:
            self._day = find_bar_range(self._bars[self.cursor].start, self.timeline.unit)[1]
            newest = self._newest_day()
            self._day = min(self._day, newest) if newest else self._day
        self._update_subtitle()
        self.refresh()

    def set_unit(self, unit: Unit) -> None:
        """Count the same memories by another unit; the cursor stays at its time, of a longer bar
        at the end of it."""
        if self._times is None or not self.timeline or not self._bars:
            return
        self.chosen_unit = unit
        last = find_bar_range(self._bars[-1].start, self.timeline.unit)[1]
        at = find_bar_range(self._bars[self.cursor].start, self.timeline.unit)[1]
        at = min(at, self._newest_day() or last, last)
        self.timeline = timelines.build(self._times.days, self._times.undated, unit, around=at)
        self.cursor = self._index_of(at)
        self._update_subtitle()
        self.refresh()

    def step(self, step: int) -> None:
        """The next bar, or the next week of the calendar."""
        self._anchor = None
        if self.view == CALENDAR:
            self.step_day(step * 7)
        else:
            self.go(self.cursor + step)

    def step_day(self, days: int) -> None:
        """Another day of the calendar."""
        heat = self._calendar()
        if self.view != CALENDAR or heat is None:
            return
        newest = self._newest_day()
        day = bar_chart.step_day(self._day, days)
        if heat.first <= day and (newest is None or day <= newest):
            self._day = day
            self._update_subtitle()
            self.refresh()

    def brush(self, step: int) -> None:
        """Extend the selected range by a bar, or by a day of the calendar."""
        if not self.timeline or not self._bars or self.view == GROWTH:
            return
        current_day = self._day if self.view == CALENDAR else self._bars[self.cursor].start
        anchor = self._anchor or current_day
        if self.view == CALENDAR:
            self.step_day(step)
            self._head = self._day
        else:
            self.go(self.cursor + step)
            self._head = self._bars[self.cursor].start
        self._anchor = anchor
        self._select(anchor, self._head)

    def _select(self, one: date, other: date) -> None:
        """Filter by the days of two bars, or two days, and all between."""
        unit: Unit = "day" if self.view == CALENDAR or not self.timeline else self.timeline.unit
        first, last = sorted((one, other))
        self._filter = first.isoformat(), find_bar_range(last, unit)[1].isoformat()
        self.refresh()
        self.post_message(SpanChosen(*self._filter))

    def _newest_day(self) -> date | None:
        """The last day with memories that a calendar can show."""
        days = [day for day in self._times.days if abs(day) < 700_000] if self._times else []
        return date(1970, 1, 1) + timedelta(days=max(days)) if days else None

    def _calendar(self) -> HeatMap | None:
        """The calendar in which the cursor's day lies, at its end if that is the newest."""
        newest = self._newest_day()
        if self._times is None or newest is None:
            return None
        weeks = min(timelines.MAX_WEEKS, max(1, self.size.width - bar_chart.LABEL_CELLS))
        heat = self._heat
        is_shown = heat is not None and heat.first <= self._day <= heat.last
        if heat is None or len(heat.weeks) != weeks or not is_shown:
            last = newest
            if self._day < newest - timedelta(weeks=weeks - 1):
                last = self._day + timedelta(weeks=weeks // 2)
            self._heat = timelines.heat_map(self._times.days, min(last, newest), weeks=weeks)
        return self._heat

    def go_to_end(self, *, last: bool) -> None:
        """The first or the last bar; in the calendar the first day of it that has memories, or the
        newest day of all."""
        self._anchor = None
        heat, newest = self._calendar(), self._newest_day()
        if self.view != CALENDAR or heat is None or newest is None:
            self.go(len(self._bars) - 1 if last else 0)
            return
        days = (heat.day(week, day) for week in range(len(heat.weeks)) for day in range(WEEKDAYS))
        counts = (count for week in heat.weeks for count in week)
        filled = (day for day, count in zip(days, counts, strict=True) if count > 0)
        self._day = newest if last else next(filled, heat.first)
        self._update_subtitle()
        self.refresh()

    def go(self, index: int) -> None:
        """Move the cursor to a bar."""
        count = len(self._bars)
        self.cursor = max(0, min(index, count - 1))
        self._update_subtitle()
        self.refresh()

    @property
    def is_dated(self) -> bool:
        """Whether there is a dated memory, or may be: nothing is counted yet."""
        return self.timeline is None or bool(self._bars)

    @property
    def choosable(self) -> bool:
        """Whether there are bars or days to filter by."""
        return bool(self.timeline and self._bars) and self.view != GROWTH

    def choose(self) -> None:
        """Filter by the bar under the cursor; remove the filter if it is that bar."""
        if not self.timeline or not self.choosable:
            return
        first = last = self._day
        if self.view == BARS:
            first, last = find_bar_range(self._bars[self.cursor].start, self.timeline.unit)
        chosen = first.isoformat(), last.isoformat()
        self.post_message(SpanChosen(*(("", "") if chosen == self._filter else chosen)))

    def _update_subtitle(self) -> None:
        if not self.timeline or not self._bars:
            self.say_below(Content(""))
            return
        undated = self.timeline.undated
        if self.view == GROWTH:
            self.border_title = Content("4 Growth per store")
            self.say_below(Content(f"{text.number(undated)} undated" if undated else ""))
            return
        if self.view == CALENDAR:
            self.border_title = Content("4 Calendar")
            count = bar_chart.count_on(self._times.days, self._day, self._day) if self._times else 0
            self.say_below(Content(f"{span_words(self._day, 'day')}: {text.number(count)}"))
            return
        bar = self._bars[self.cursor]
        parts = [f"{span_words(bar.start, self.timeline.unit)}: {text.number(bar.count)}"]
        parts += self._span_counts(bar)
        for count, words in (
            (undated, "undated"),
            (self.timeline.earlier, "earlier"),
            (self.timeline.later, "later"),
        ):
            parts += [f"{text.number(count)} {words}"] if count else []
        self.border_title = Content(f"4 Timeline by {self.timeline.unit}")
        while len(parts) > 1 and text.width(" · ".join(parts)) > self.size.width - 4:
            parts.pop()
        self.say_below(Content(" · ".join(parts)))

    # Drawing

    def render_line(self, y: int) -> Strip:
        width, height = self.size
        if not self.timeline or not self._bars:
            words = text.cut(" no dated memories" if self.timeline else "", width)
            strip = Strip([Segment(words, self.palette.faint)] if y == height // 2 else [])
        elif self.view == CALENDAR:
            strip = self._calendar_line(y)
        elif self.view == GROWTH:
            growth = self._times.growth if self._times else None
            strip = Strip([])
            if growth is not None:
                strip = bar_chart.draw_growth(growth, y, width, height, self.palette)
        elif y == height - 1 and height > 1:
            strip = self._labels(width)
        elif y == height - 2 and self._has_span_line(height):
            strip = self._span_line(width)
        else:
            rows = height - self._has_span_line(height)
            strip = self._bar_line(rows - (1 if rows > 1 else 0) - 1 - y, rows)
        return strip.adjust_cell_length(width).apply_style(self.ground)

    def _calendar_line(self, y: int) -> Strip:
        heat = self._calendar()
        if heat is None:
            return Strip([])
        cursor = self._day if self.has_focus else None
        cells = bar_chart.cells_of_day(heat, self.size.width)
        y += self._rows_above
        return bar_chart.draw_calendar(heat, y, self.palette, cursor, self._filter, cells)

    @property
    def _rows_above(self) -> int:
        """Rows of the calendar that are left out: the months, where they would hide Sunday."""
        return int(self.size.height <= len(bar_chart.DAY_NAMES))

    # Mouse

    def _bar_at(self, x: int) -> int:
        """Index of the bar in this column; -1 beside the bars."""
        first, edges = self._window()
        if not self._bars or not edges[0] <= x < edges[-1]:
            return -1
        return first + bisect_right(edges, x) - 1

    def on_mouse_down(self, event: events.MouseDown) -> None:
        offset = event.get_content_offset(self)
        if offset is not None and self.view == BARS:
            self._drag_from, self._anchor = self._bar_at(offset.x), None
            if self._drag_from >= 0:
                self.capture_mouse()

    def on_mouse_move(self, event: events.MouseMove) -> None:
        if self._drag_from < 0:
            return
        index = self._bar_at(event.screen_x - self.content_region.x)
        if index >= 0 and (index != self.cursor or self._anchor is not None):
            self.go(index)
            if index != self._drag_from or self._anchor is not None:
                self._anchor = self._bars[self._drag_from].start
                self._select(self._anchor, self._bars[index].start)

    def on_mouse_up(self) -> None:
        if self._drag_from >= 0:
            self._drag_from = -1
            self.release_mouse()

    def on_click(self, event: events.Click) -> None:
        offset = event.get_content_offset(self)
        if offset is None or not self._bars or self.view == GROWTH:
            return
        if self.view == CALENDAR:
            heat = self._calendar()
            cells = bar_chart.cells_of_day(heat, self.size.width) if heat else 1
            y = offset.y + self._rows_above
            day = bar_chart.day_at(heat, offset.x, y, cells) if heat else None
            if day is not None:
                self._day = day
                self._update_subtitle()
                self.choose()
            return
        index = self._bar_at(offset.x)
        if index >= 0 and self._anchor is None:  # else a range has just been selected
            self.go(index)
            self.choose()

    def on_mouse_scroll_down(self, event: events.MouseScrollDown) -> None:
        event.stop()
        self.step(-1)

    def on_mouse_scroll_up(self, event: events.MouseScrollUp) -> None:
        event.stop()
        self.step(1)
