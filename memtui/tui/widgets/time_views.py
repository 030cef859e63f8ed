"""The timeline pane's other views as lines: a calendar of days, and the growth of each store."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import date, timedelta
from typing import TYPE_CHECKING

from rich.segment import Segment
from rich.style import Style
from textual.strip import Strip

from memtui import text

if TYPE_CHECKING:
    from memtui.insight.activity import Growth, HeatMap
    from memtui.tui.appearance import Palette

SHADES = "·░▒▓█"
"""No memories, and four levels: they differ without colours too."""
DAY_NAMES = ("Mon", "", "Wed", "", "Fri", "", "Sun")
LABELS = 4
"""Cells for the names of weekdays."""
STORE_MAX = 18
_EIGHTHS = " ▁▂▃▄▅▆▇█"


def weeks_that_fit(width: int) -> int:
    """Weeks of a calendar that fit this many cells, one cell each."""
    return max(1, width - LABELS)


def day_at(heat: HeatMap, x: int, y: int) -> date | None:
    """The day of a cell of the calendar; None beside it."""
    week, weekday = x - LABELS, y - 1
    if not (0 <= week < len(heat.weeks) and 0 <= weekday < len(DAY_NAMES)):
        return None
    return heat.day(week, weekday) if heat.weeks[week][weekday] >= 0 else None


def draw_calendar(
    heat: HeatMap, y: int, palette: Palette, cursor: date | None, chosen: tuple[str, str]
) -> Strip:
    """One line of a calendar: the months above, then a line for each weekday.

    Args:
        heat: The days.
        y: Number of the line.
        palette: Styles.
        cursor: Day under the cursor, if the pane has the keys.
        chosen: First and last day of the filter as ISO dates, or empty.
    """
    if y == 0:
        return Strip([Segment(_months(heat), palette.faint)])
    weekday = y - 1
    if weekday >= len(DAY_NAMES):
        return Strip([])
    segments = [Segment(f"{DAY_NAMES[weekday]:<{LABELS}}", palette.faint)]
    since, until = chosen
    for week, counts in enumerate(heat.weeks):
        count, day = counts[weekday], heat.day(week, weekday)
        if count < 0:
            segments.append(Segment(" "))
            continue
        level = heat.level(count)
        style = palette.bar if level else palette.rule
        if since and not since <= day.isoformat() <= (until or "9999"):
            style = palette.faint
        if day == cursor:
            style = palette.bar_cursor + Style(reverse=not level)
        segments.append(Segment(SHADES[level], style))
    return Strip(segments)


def _months(heat: HeatMap) -> str:
    line = ""
    for week, name in heat.months():
        at = LABELS + week
        if at >= len(line) + bool(line.strip()):
            line = f"{line:<{at}}{name}"
    return line[: LABELS + len(heat.weeks)]


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
    name = text.cut(text.one_line(store), min(longest, STORE_MAX, max(6, width // 4)))
    room = min(longest, STORE_MAX, max(6, width // 4))
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
