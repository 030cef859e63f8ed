"""The timeline's drawings: bars with dates and sessions, a calendar of days, growth per store."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import date, timedelta
from itertools import groupby, pairwise
from operator import itemgetter
from typing import TYPE_CHECKING

from rich.segment import Segment
from rich.style import Style
from textual.strip import Strip

from memtui import text
from memtui.insight.timeline import (
    Bar,
    Growth,
    HeatMap,
    Timeline,
    TimeSpan,
    Unit,
    find_bar_range,
)
from memtui.tui.appearance import Palette
from memtui.tui.widgets.line_api import FocusableWidget

if TYPE_CHECKING:
    from memtui.library.time_views import TimeData

_EIGHTHS = " ▁▂▃▄▅▆▇█"
_MONTHS = ["Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"]
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


class BarChart(FocusableWidget):
    """Draws a timeline as bars, the newest at the right."""

    def __init__(self, *, id: str) -> None:
        super().__init__(id=id)
        self.timeline: Timeline | None = None
        self._filter = ("", "")
        """First and last day that are filtered by, as ISO dates, or empty."""
        self.cursor = 0
        self._times: TimeData | None = None

    @property
    def _bars(self) -> tuple[Bar, ...]:
        return self.timeline.bars if self.timeline else ()

    def _spans_in(self, bar: Bar) -> list[TimeSpan]:
        """Sessions, episodes and daily notes that touch a bar."""
        if self._times is None or self.timeline is None:
            return []
        first, last = find_bar_range(bar.start, self.timeline.unit)
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
        width, count = max(1, self.size.width - left - 1), len(self._bars)
        shown = min(count, width)
        first = max(0, min(count - shown, self.cursor - shown + 1))
        if self.cursor >= count - shown:
            first = max(0, count - shown)
        width = min(width, shown * WIDEST_BAR)
        return first, [left + at * width // max(1, shown) for at in range(shown + 1)]

    @property
    def _top(self) -> int:
        """Return the count that a bar of full height stands for."""
        counts = sorted(bar.count for bar in self._bars if bar.count)
        if len(counts) < MIN_TO_CUT:
            return counts[-1] if counts else 1
        most = MAX_TIMES * counts[int((len(counts) - 1) * USUAL_SHARE)]
        return next(count for count in reversed(counts) if count <= most)

    @property
    def _top_words(self) -> str:
        """The count of a bar of full height, and the highest of those cut: where there is room."""
        if self.size.width < AXIS_FROM:
            return ""
        top, most = self._top, max((bar.count for bar in self._bars), default=0)
        return text.number(top) + (f" {CUT_GLYPH}{text.number(most)}" if most > top else "")

    def _has_span_line(self, height: int) -> bool:
        return height >= SPANS_FROM and self._times is not None and bool(self._times.spans)

    def _span_line(self, width: int) -> Strip:
        """Below the bars, in which of them sessions, episodes and daily notes lie."""
        first, edges = self._window()
        line = [" "] * width
        for index, at in enumerate(edges[:-1]):
            spans = self._spans_in(self._bars[first + index])
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
            bar = self._bars[index]
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
            unit = self.timeline.unit if self.timeline is not None else "day"
            first, last = find_bar_range(bar.start, unit)
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
        for index, at in enumerate(edges[:-1], first):
            start = self._bars[index].start
            if not marks or (start.year, start.month) != (marks[-1][1].year, marks[-1][1].month):
                marks.append((at, start))
        line, free_from, year = [" "] * width, 0, 0
        unit = self.timeline.unit if self.timeline is not None else "day"
        if unit in ("day", "week") and len(marks) > 1 and marks[1][0] < marks[0][0] + LABEL_FROM:
            del marks[0]  # the end of a month, in the way of the next one
        for (at, start), (following, _) in pairwise([*marks, (width + LABEL_ROOM, date.max)]):
            label, long = _MONTHS[start.month - 1], f"{_MONTHS[start.month - 1]} {start.year}"
            if unit == "year":
                label = f"{start.year}"
            elif start.year != year and at >= free_from:
                end = following if start.year == marks[0][1].year else width + LABEL_ROOM
                if at + len(long) + LABEL_ROOM <= end:
                    label, year = long, start.year
            if at >= free_from and at + len(label) <= width:
                line[at : at + len(label)] = label
                free_from = at + len(label) + LABEL_ROOM
        return Strip([Segment("".join(line), self.palette.faint)])


SHADES = "·░▒▓█"
"""No memories, and four levels: they differ without colours too."""
DAY_NAMES = ("Mon", "", "Wed", "", "Fri", "", "Sun")
LABEL_CELLS = 4
"""Cells for the names of weekdays."""
STORE_CELLS = 18


def cells_of_day(heat: HeatMap, width: int) -> int:
    """Cells of a day: two, which are about a square, where they fit."""
    return 2 if LABEL_CELLS + 2 * len(heat.weeks) <= width else 1


def day_at(heat: HeatMap, x: int, y: int, cells: int) -> date | None:
    """The day of a cell of the calendar; None beside it."""
    week, weekday = (x - LABEL_CELLS) // cells, y - 1
    if not (0 <= week < len(heat.weeks) and 0 <= weekday < len(DAY_NAMES)):
        return None
    return heat.day(week, weekday) if heat.weeks[week][weekday] >= 0 else None


def draw_calendar(
    heat: HeatMap,
    y: int,
    palette: Palette,
    cursor: date | None,
    chosen: tuple[str, str],
    cells: int = 1,
) -> Strip:
    """One line of a calendar: the months above, then a line for each weekday.

    `chosen`: first and last day of the filter as ISO dates, or empty. `cells`: see `cells_of_day`.
    """
    if y == 0:
        return Strip([Segment(_months(heat, cells), palette.faint)])
    weekday = y - 1
    if weekday >= len(DAY_NAMES):
        return Strip([])
    segments = [Segment(f"{DAY_NAMES[weekday]:<{LABEL_CELLS}}", palette.faint)]
    since, until = chosen
    for week, counts in enumerate(heat.weeks):
        count, day = counts[weekday], heat.day(week, weekday)
        if count < 0:
            segments.append(Segment(" " * cells))
            continue
        level = heat.level(count)
        style = palette.bar if level else palette.faint
        if since and not since <= day.isoformat() <= (until or "9999"):
            style = palette.faint
        if day == cursor:
            style = palette.bar_cursor + Style(reverse=not level)
        sign = SHADES[level] * cells if level or day == cursor else f"{SHADES[0]:<{cells}}"
        segments.append(Segment(sign, style))
    return Strip(segments)


def _months(heat: HeatMap, cells: int) -> str:
    line = ""
    for week, name in heat.months():
        at = LABEL_CELLS + week * cells
        if at >= len(line) + bool(line.strip()):
            line = f"{line:<{at}}{name}"
    return line[: LABEL_CELLS + len(heat.weeks) * cells]


def draw_growth(growth: Growth, y: int, width: int, height: int, palette: Palette) -> Strip:
    """One line of the growth per store: its name, a line that rises, the number at its end."""
    stores = list(growth.lines)
    if not stores:
        return Strip([])
    if len(stores) > height - 1 and y == height - 2:
        rest = len(stores) - y
        return Strip([Segment(f" +{rest} more stores", palette.faint)])
    if y >= min(len(stores), height - 1):
        return _growth_axis(growth, y, height, width, palette)
    store = stores[y]
    points = growth.lines[store]
    longest = max(text.width(text.one_line(name)) for name in stores)
    room = min(longest, STORE_CELLS, max(6, width // 4))
    name = text.cut_line(store, room)
    number = text.number(points[-1])
    cells = max(1, width - room - len(number) - 3)
    return Strip(
        [
            Segment(f" {text.pad(name, room)} ", palette.text),
            Segment(_line(points, cells), palette.bar),
            Segment(f" {number}", palette.dim),
        ]
    )


def _line(points: Sequence[int], cells: int) -> str:
    top = max(points) or 1
    line = ""
    for cell in range(cells):
        value = points[min(len(points) - 1, cell * len(points) // cells)]
        eighths = max(1, round(value / top * 8)) if value else 0
        line += _EIGHTHS[eighths]
    return line


def _growth_axis(growth: Growth, y: int, height: int, width: int, palette: Palette) -> Strip:
    if y != height - 1 or not growth.ends:
        return Strip([])
    first, last = growth.ends[0].isoformat(), growth.ends[-1].isoformat()
    gap = " " * max(1, width - len(first) - len(last) - 2)
    return Strip([Segment(f" {first}{gap}{last} ", palette.faint)])


def step_day(day: date, days: int) -> date:
    """The day so many days later; the same at an end of the calendar."""
    try:
        return day + timedelta(days=days)
    except OverflowError:
        return day


def count_on(days: Mapping[int, int], first: date, last: date) -> int:
    """Memories from the first day to the last one."""
    start = date(1970, 1, 1).toordinal()
    low, high = first.toordinal() - start, last.toordinal() - start
    return sum(count for day, count in days.items() if low <= day <= high)
