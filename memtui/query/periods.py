"""Times as they are typed: a span before now, a date, a month, a year, or words.

    7d  24h  30m  2w  3mo  1y                  before now
    2026  2026-05  2026-05-03                  the whole year, month or day
    2026-05-03T10:00                           the minute (or the second)
    today  yesterday  monday  last-week  this-month  may  "3 days ago"

Days are those of this machine's zone, also where a clock change makes one 23 or 25 hours long, and
weeks begin on Monday (ISO 8601). A time with a zone of its own is in that zone.
"""

from __future__ import annotations

import re
from datetime import UTC, date, datetime, timedelta
from datetime import time as clock_time
from math import inf

from msgspec import Struct

from memtui.errors import QueryError
from memtui.query.parsed_query import Range, TimeCondition

_SECONDS = {
    **{"minute": 60, "hour": 3600, "day": 86400, "week": 7 * 86400},
    **{"month": 30 * 86400, "year": 365 * 86400},
}
_UNITS = {"mo" if name == "month" else name[0]: seconds for name, seconds in _SECONDS.items()}
_AGO = re.compile(rf"(\d{{1,6}})({'|'.join(_UNITS)})")
_WORDS_AGO = re.compile(rf"(\d{{1,6}})[ -]({'|'.join(_SECONDS)})s?[ -]ago")
_DATE = re.compile(r"(\d{4})(?:-(\d{1,2}))?")
_RELATIVE = re.compile(r"(this|last)[ -](week|month|year)")
WEEKDAYS = ("monday", "tuesday", "wednesday", "thursday", "friday", "saturday", "sunday")
MONTHS = (
    *("january", "february", "march", "april", "may", "june", "july", "august", "september"),
    *("october", "november", "december"),
)
TIME_EXAMPLES = ("7d", "24h", "30d", "2w", "1y", "today", "yesterday", "last-week")
_ADVICE = "use 30m, 24h, 7d, 2w, 3mo, yesterday, last-week, 2026-03 or a date such as 2026-03-01"
_DAY = timedelta(days=1)
_MIDNIGHT = clock_time()
_JUST_BEFORE = timedelta(microseconds=1)


class Period(Struct, frozen=True):
    """From `start` up to but not including `end`; a span before now is the moment it began."""

    start: datetime
    end: datetime
    is_moment: bool = False


def parse_period(text: str, now: datetime) -> Period:
    """Return the period that a time as it is typed stands for.

    Args:
        text: See the top of this module.
        now: What a relative time is counted from; aware.

    Raises:
        QueryError: The text is not a time, or no date can hold it.
    """
    typed = text.strip().lower()
    try:
        found = _parse_relative(typed, now) or parse_date(typed)
    except OverflowError as error:
        raise QueryError(f"{text!r} is out of range", do="use a date after year 1") from error
    except ValueError as error:
        raise QueryError(f"{text!r} is not a time", do=_ADVICE) from error
    return found


def _parse_relative(typed: str, now: datetime) -> Period | None:
    """A span before now or words. Raises OverflowError."""
    seconds = 0
    if ago := _AGO.fullmatch(typed):
        seconds = int(ago[1]) * _UNITS[ago[2]]
    elif ago := _WORDS_AGO.fullmatch(typed):
        seconds = int(ago[1]) * _SECONDS[ago[2]]
    if ago:
        moment = now - timedelta(seconds=seconds)
        return Period(moment, moment, is_moment=True)
    today = now.astimezone().date()
    if typed == "now":
        return Period(now, now, is_moment=True)
    if typed in ("today", "yesterday"):
        return _days(today - _DAY * (typed == "yesterday"))
    if typed in WEEKDAYS:
        return _days(today - _DAY * ((today.weekday() - WEEKDAYS.index(typed)) % 7))
    if typed in MONTHS:
        month = MONTHS.index(typed) + 1
        return _month(today.year - (month > today.month), month)
    if relative := _RELATIVE.fullmatch(typed):
        return _relative_period(relative[2], today, last=relative[1] == "last")
    return None


def _days(first: date, count: int = 1) -> Period:
    return Period(local_midnight(first), local_midnight(first + _DAY * count))


def local_midnight(day: date) -> datetime:
    """Return the first moment of a day in this machine's zone, in UTC."""
    try:
        return datetime(day.year, day.month, day.day).astimezone().astimezone(UTC)
    except (OverflowError, ValueError, OSError):  # at the edge of the years that can be held
        return datetime(day.year, day.month, day.day, tzinfo=UTC)


def first_moment(time: datetime) -> datetime:
    """The time itself; of midnight in UTC, which stores give for a day, that day's begin here."""
    utc = time.astimezone(UTC)
    return time if utc.time() != _MIDNIGHT else local_midnight(utc.date())


def _relative_period(unit: str, today: date, *, last: bool) -> Period:
    if unit == "week":
        return _days(today - _DAY * (today.weekday() + 7 * last), 7)
    if unit == "year":
        return _year(today.year - last)
    year, month = divmod(today.year * 12 + today.month - 1 - last, 12)
    return _month(year, month + 1)


def _month(year: int, month: int) -> Period:
    following = _first_of(year + month // 12, month % 12 + 1)
    return Period(local_midnight(date(year, month, 1)), following)


def _year(year: int) -> Period:
    return Period(local_midnight(date(year, 1, 1)), _first_of(year + 1, 1))


def _first_of(year: int, month: int) -> datetime:
    """The first of a month; the last moment there is where no date can hold it."""
    if year > datetime.max.year:
        return datetime.max.replace(tzinfo=UTC)
    return local_midnight(date(year, month, 1))


def parse_date(typed: str) -> Period:
    """Return the period of an ISO date or a part of one. Raises ValueError, OverflowError."""
    if part := _DATE.fullmatch(typed):
        year = int(part[1])
        return _month(year, int(part[2])) if part[2] else _year(year)
    time = datetime.fromisoformat(typed.upper())
    clock = typed.partition("t")[2] or typed.partition(" ")[2]
    if not clock:
        start = local_midnight(time)
    else:
        start = (time if time.tzinfo else time.astimezone()).astimezone(UTC)
    length = timedelta(seconds=1 if clock.count(":") > 1 else 60)
    try:
        return Period(start, start + length) if clock else _days(time.date())
    except OverflowError:
        return Period(start, datetime.max.replace(tzinfo=UTC))


def parse_time(text: str, now: datetime) -> TimeCondition:
    """Return the time of a text; of a day, month or year, its start.

    Args:
        text: `7d`, `24h`, `2026-03-01`, `yesterday`...: see the top of this module.
        now: What a relative time is counted from; aware.

    Raises:
        QueryError: The text is not a time, or no date can hold it.
    """
    return TimeCondition(text, parse_period(text, now).start)


def parse_time_end(text: str, now: datetime) -> TimeCondition:
    """Return the time of `text`; of a day, month or year, its end.

    `now` and errors as of `parse_time`.
    """
    period = parse_period(text, now)
    time = period.start if period.is_moment else period.end - _JUST_BEFORE
    return TimeCondition(text, time)


def parse_time_range(text: str, now: datetime) -> Range:
    """Return the range of a time with a comparison, or of two with `..`. Raises QueryError.

    Args:
        text: `2026-05` (all of May), `>2026-05` (after it), `>=2026-05`, `<`, `<=`,
            `2026-05..2026-06` (from May to the end of June), `2026-05..`, `7d` (the last 7 days).
        now: What a relative time is counted from; aware.
    """
    first, dots, last = text.partition("..")
    if dots:
        low = parse_period(first, now).start.timestamp() if first.strip(" *") else -inf
        high = inf
        if last.strip(" *"):
            high = parse_period(last, now).end.timestamp()
        if not (first.strip(" *") or last.strip(" *")):
            raise QueryError(f"{text!r} is not a time", do=_ADVICE)
        return Range(low, high)
    sign = text[: len(text) - len(text.lstrip("<>="))]
    period = parse_period(text[len(sign) :], now)
    start, end = period.start.timestamp(), period.end.timestamp()
    match sign:
        case ">":
            return Range(low=end)
        case ">=":
            return Range(low=start)
        case "<":
            return Range(high=start)
        case "<=":
            return Range(high=end)
        case "" | "=":
            return Range(start, inf if period.is_moment else end)
    raise QueryError(f"{sign!r} is not a comparison", do="use <, <=, > or >=")
