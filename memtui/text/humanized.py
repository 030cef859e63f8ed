"""Format times, sizes and numbers for people; humanize is slow, so it is imported on first use."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime, timedelta
from datetime import time as clock_time
from typing import Any

from memtui.text.safe_text import one_line
from memtui.text.secrets import mask_record

NO_TIME = "–"
"""Shown for a memory without a time, and for an empty value."""
SHORT_CELLS = 4
"""Maximum width of `short_ago` within a century, in cells."""

_MIDNIGHT = clock_time()
_MINUTE, _HOUR, _DAY = 60, 3600, 86400
_MONTH, _YEAR = 30.44 * _DAY, 365 * _DAY
_SHORT = (
    (_MINUTE, 1, "s"),
    (_HOUR, _MINUTE, "m"),
    (_DAY, _HOUR, "h"),
    (14 * _DAY, _DAY, "d"),
    (63 * _DAY, 7 * _DAY, "w"),
    (700 * _DAY, _MONTH, "mo"),
)
"""(upper limit in seconds, seconds of the unit, its symbol); above the last: years."""
_UNITS = ((_DAY, "day"), (_HOUR, "hour"), (_MINUTE, "minute"), (1, "second"))


def ago(time: datetime | None, now: datetime) -> str:
    """ "3 days ago", "in 2 hours", "just now"."""
    if time is None:
        return NO_TIME
    seconds = (now - time).total_seconds()
    if seconds < 0 and _is_today(time, now):
        return "today"
    if abs(seconds) < 10:
        return "just now"
    weeks = int(seconds / (7 * _DAY))
    if 2 <= weeks < 9:  # humanize calls 20 days a month
        return f"{weeks} weeks ago"
    if 63 * _DAY <= seconds < _YEAR:  # humanize rounds months up too
        return f"{int(seconds / _MONTH)} months ago"
    if abs(seconds) < 14 * _DAY:  # humanize rounds up what `short_ago` rounds down
        size, name = next(unit for unit in _UNITS if abs(seconds) >= unit[0])
        count = int(abs(seconds) / size)
        single = "an hour" if name == "hour" else f"a {name}"
        span = single if count == 1 else f"{count} {name}s"
        return f"{span} from now" if seconds < 0 else f"{span} ago"
    import humanize

    return humanize.naturaltime(now.astimezone(UTC) - timedelta(seconds=seconds), when=now)


def short_ago(time: datetime | None, now: datetime) -> str:
    """As `ago` in at most four cells: "3d", "5mo", "now"; the future with a plus: "+2h", "+1y"."""
    if time is None:
        return NO_TIME
    seconds = (now - time).total_seconds()
    sign = "+" if seconds < 0 else ""
    if abs(seconds) < 10 or (sign and _is_today(time, now)):
        return "now"
    seconds = abs(seconds)
    for limit, unit, name in _SHORT:
        if seconds < limit and len(short := f"{sign}{int(seconds / unit)}{name}") <= SHORT_CELLS:
            return short
    return f"{sign}{round(seconds / (365.25 * _DAY))}y"


def _is_today(time: datetime, now: datetime) -> bool:
    """Whether it is the present day of this machine, kept as a day: see `date`. East of Greenwich
    that lies ahead until the morning."""
    try:
        utc = time.astimezone(UTC)
        return utc.time() == _MIDNIGHT and utc.date() == now.astimezone().date()
    except (OverflowError, ValueError, OSError):
        return False


def date(time: datetime | None, *, zoned: bool = False) -> str:
    """ "2026-11-21 14:03" in the zone of this machine; `zoned` adds the zone's name: "... CET".

    A store that keeps only a day gives midnight in UTC; this is shown as that day in every zone,
    without the name of one.
    """
    if time is None:
        return NO_TIME
    try:
        utc = time.astimezone(UTC)
        is_day = utc.time() == _MIDNIGHT
        local = utc if is_day else time.astimezone()
        name = local.tzname() if zoned and not is_day else ""
        shown = local.isoformat(sep=" ", timespec="minutes")[:16]
        return f"{shown} {one_line(name)}" if name else shown
    except (OverflowError, ValueError, OSError):  # year 1 or 9999 shifted over the edge
        return time.replace(tzinfo=None).isoformat(sep=" ", timespec="minutes")


_WEEK_DAYS = ("Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday")
_MONTHS = ("Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec")


def since(time: datetime, now: datetime) -> str:
    """When something began, for a sentence: "since 14:05", "since Tuesday", "since 21 Nov", in
    the zone of this machine."""
    then, today = time.astimezone(), now.astimezone().date()
    days = (today - then.date()).days
    if days <= 0:
        return f"since {then:%H:%M}"
    if days == 1:
        return "since yesterday"
    if days < 7:
        return f"since {_WEEK_DAYS[then.weekday()]}"
    year = f" {then.year}" if then.year != today.year else ""
    return f"since {then.day} {_MONTHS[then.month - 1]}{year}"


def size(count: int) -> str:
    """Bytes: "1.2 kB", "33 Bytes"."""
    import humanize

    return humanize.naturalsize(count)


def number(count: int, accuracy: str = "exact") -> str:
    """33000 as "33,000"; if it is `at least` that "33,000+", if it is `about` that "about 33,000",
    and as one of many `sampled` "~33,000", both with two digits that count."""
    if accuracy in ("about", "sampled"):
        rounded = f"{round(count, min(0, 2 - len(str(count)))):,}"
        return f"about {rounded}" if accuracy == "about" else f"~{rounded}"
    return f"{count:,}{'+' * (accuracy == 'at least')}"


def counted(count: int, noun: str) -> str:
    """A number and its noun: `1 memory`, `33,000 memories`, `0 matches`."""
    if count == 1:
        return f"1 {noun}"
    if noun.endswith(("s", "x", "ch", "sh")):
        return f"{number(count)} {noun}es"
    if noun.endswith("y") and noun[-2:-1] not in "aeiou":
        return f"{number(count)} {noun[:-1]}ies"
    return f"{number(count)} {noun}s"


def and_more(count: int) -> str:
    """What follows the items that are named: ` and 3 more`; empty if there are no others."""
    return f" and {number(count)} more" if count > 0 else ""


def scored_words(words: Sequence[tuple[str, float]]) -> str:
    """Words of a store with their scores on one line: `heat .61, coil .52`."""
    return ", ".join(f"{one_line(word)} {score:.2f}".replace(" 0.", " .") for word, score in words)


def value_text(value: Any) -> str:
    """A JSON value as readable text, its secrets masked."""
    value = mask_record(value)
    if isinstance(value, str):
        return value
    if value is None or value == {} or value == []:
        return NO_TIME
    if isinstance(value, list) and all(isinstance(item, str) for item in value):
        return ", ".join(value)
    if isinstance(value, Mapping | list):
        return json.dumps(value, ensure_ascii=False, indent=2, default=str)
    if isinstance(value, bool):  # by type, since 1 and 1.0 are equal to True
        return "yes" if value else "no"
    return f"{value}"
