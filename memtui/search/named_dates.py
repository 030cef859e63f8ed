"""Find the dates that a query names, as spans of time: `8 May 2023`, `last week`, `2026-11-18`.

    2026-11-18, 18.11.2026          that day
    November 18, 18th of November   that day of each of the last `YEARS` years
    May 2023, 2026-11               that month
    in May                          that month of each of the last `YEARS` years
    2023                            that year
    yesterday, last week, 3 days ago

`may` and `march` are months only beside a number or after a word such as `in`. Days are those of
UTC, like the times of memories.
"""

from __future__ import annotations

import re
from datetime import UTC, date, datetime, timedelta
from typing import NamedTuple

YEARS = 10
"""Years that a date without a year may mean, the current one included."""
MAX_SPANS = 32

MONTHS = (
    *("january", "february", "march", "april", "may", "june", "july", "august"),
    *("september", "october", "november", "december"),
)
_NAMES = "|".join(f"{name[:3]}(?:{name[3:]})?" if name[3:] else name for name in MONTHS)
_MONTH = rf"(?P<month{{0}}>{_NAMES}|sept)\b\.?"
_YEAR = r"(?:\s*,?\s+(?P<year{0}>(?:19|20)\d\d)\b)?"
_NUMERIC = re.compile(
    r"\b(?P<y>(?:19|20)\d\d)-(?P<m>\d\d?)(?:-(?P<d>\d\d?))?\b"
    r"|\b(?P<d2>\d\d?)\.\s?(?P<m2>\d\d?)\.\s?(?P<y2>(?:19|20)\d\d)\b"
)
_WRITTEN = re.compile(
    rf"\b(?P<day1>\d\d?)(?:st|nd|rd|th|\.)?\s+(?:of\s+)?{_MONTH.format(1)}{_YEAR.format(1)}"
    rf"|\b{_MONTH.format(2)}\s+(?P<day2>\d\d?)(?:st|nd|rd|th)?\b{_YEAR.format(2)}"
    r"|(?P<lead>\b(?:in|of|since|during|until|by|from|last|this|early|late|mid)\s+)?"
    rf"\b{_MONTH.format(3)}{_YEAR.format(3)}",
    re.IGNORECASE,
)
_AMBIGUOUS = ("may", "mar", "march", "dec", "sep", "jan")
_YEAR_ALONE = re.compile(r"\b(?:19|20)\d\d\b")
_RELATIVE = re.compile(
    r"\b(?:(?P<word>today|yesterday)|(?P<which>last|this)\s+(?P<unit>week|month|year)"
    r"|(?P<count>\d{1,3})\s+(?P<units>day|week|month|year)s?\s+ago)\b",
    re.IGNORECASE,
)
_HINT = re.compile(rf"\d|{'|'.join(name[:3] for name in MONTHS)}|day\b|last|this", re.IGNORECASE)
"""What every text with a date has."""
_UNIT_DAYS = {"day": 1, "week": 7, "month": 30, "year": 365}


class Span(NamedTuple):
    """A span of time in seconds since 1970, the end excluded."""

    first: float
    end: float


def find_dates(text: str, now: datetime) -> tuple[Span, ...]:
    """The spans of time that a text names, at most `MAX_SPANS`.

    Args:
        text: A query, as it was typed.
        now: What `yesterday` and dates without a year are counted from.
    """
    if _HINT.search(text) is None:
        return ()
    found: list[Span] = []
    rest = _NUMERIC.sub(lambda match: _add(found, _numeric(match)), text)
    rest = _WRITTEN.sub(lambda match: _add(found, _written(match, now.year)) or match[0], rest)
    rest = _RELATIVE.sub(lambda match: _add(found, _relative(match, now.date())), rest)
    if not found:
        for match in _YEAR_ALONE.finditer(rest):
            _add(found, _span(int(match[0]), None, None))
    return tuple(dict.fromkeys(found))[:MAX_SPANS]


def _add(found: list[Span], spans: list[Span]) -> str:
    found += spans
    return ""


def _numeric(match: re.Match[str]) -> list[Span]:
    if match["y"] is not None:
        return _span(int(match["y"]), int(match["m"]), int(match["d"]) if match["d"] else None)
    return _span(int(match["y2"]), int(match["m2"]), int(match["d2"]))


def _written(match: re.Match[str], this_year: int) -> list[Span]:
    way = next(n for n in (1, 2, 3) if match[f"month{n}"])
    name, year = match[f"month{way}"], match[f"year{way}"]
    if way == 3 and not year and not match["lead"] and name.casefold() in _AMBIGUOUS:
        return []
    month = next(n for n, full in enumerate(MONTHS, 1) if full.startswith(name.casefold()[:3]))
    day = int(match[f"day{way}"]) if way < 3 else None
    years = [int(year)] if year else range(this_year, this_year - YEARS, -1)
    return [span for one in years for span in _span(one, month, day)]


def _relative(match: re.Match[str], today: date) -> list[Span]:
    if match["word"]:
        first = today - timedelta(days=match["word"].casefold() == "yesterday")
        return [_days(first, first + timedelta(days=1))]
    if match["count"]:
        days = _UNIT_DAYS[match["units"].casefold()]
        first = today - timedelta(days=int(match["count"]) * days)
        return [_days(first, first + timedelta(days=days))]
    unit, is_last = match["unit"].casefold(), match["which"].casefold() == "last"
    if unit == "week":
        first = today - timedelta(days=today.weekday() + 7 * is_last)
        return [_days(first, first + timedelta(days=7))]
    if unit == "year":
        return _span(today.year - is_last, None, None)
    before = today.replace(day=1) - timedelta(days=is_last)
    return _span(before.year, before.month, None)


def _span(year: int, month: int | None, day: int | None) -> list[Span]:
    """The span of a year, month or day; empty where there is no such date."""
    try:
        first = date(year, month or 1, day or 1)
        if day is not None:
            end = first + timedelta(days=1)
        elif month is not None:
            end = date(year + month // 12, month % 12 + 1, 1)
        else:
            end = date(year + 1, 1, 1)
    except (ValueError, OverflowError):
        return []
    return [_days(first, end)]


def _days(first: date, end: date) -> Span:
    def seconds(day: date) -> float:
        return datetime(day.year, day.month, day.day, tzinfo=UTC).timestamp()

    return Span(seconds(first), seconds(end))
