"""Find the dates that a query names, and the memories that hold one, however it is written.

    2026-11-18, 18.11.2026          that day
    November 18, 18th of November   that day of each of the last `YEARS_TRIED` years
    May 2023, 2026-11               that month
    in May                          that month of each of the last `YEARS_TRIED` years
    2023                            that year
    yesterday, last week, 3 days ago

`may` and `march` are months only beside a number or after a word such as `in`. Days are those of
this machine's zone, like the times of memories on the screen.

A date (months also in German, French and Spanish) is looked for as `2026-11-18`, `18.11.2026`,
`November 18` and `18 November` in titles, entities, tags and texts, and among the times of
memories. A memory that has it counts as holding the words of the date, so that `november 18` finds
the note called `2026-11-18.md`. It is no filter: memories with the words alone are found too.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from datetime import date, datetime, timedelta
from typing import NamedTuple

import numpy as np
from msgspec import Struct

from memtui.query import Term, TermKind
from memtui.query.periods import MONTHS, Period, parse_date, parse_period
from memtui.search.array_types import Longs, sort_unique
from memtui.search.columns import DAY_SECONDS, Columns
from memtui.search.index.segments import NO_SLOTS, Segment

LONGEST_DAY = DAY_SECONDS + 3_600
"""Seconds of the day on which clocks go back."""
MAX_SPAN_DAYS = 31
"""A longer span, a year, says too little for the times of memories to count as a match."""

_FOREIGN = {
    "januar": 1, "jänner": 1, "februar": 2, "märz": 3, "maerz": 3, "mai": 5, "juni": 6, "juli": 7,
    "oktober": 10, "dezember": 12, "janvier": 1, "février": 2, "fevrier": 2, "mars": 3, "avril": 4,
    "juin": 6, "juillet": 7, "août": 8, "aout": 8, "septembre": 9, "octobre": 10, "novembre": 11,
    "décembre": 12, "decembre": 12, "enero": 1, "febrero": 2, "marzo": 3, "abril": 4, "mayo": 5,
    "junio": 6, "julio": 7, "agosto": 8, "septiembre": 9, "octubre": 10, "noviembre": 11,
    "diciembre": 12,
}  # fmt: skip
_FOREIGN_DAYS = {
    "gestern": "yesterday", "heute": "today", "hier": "yesterday", "ayer": "yesterday",
    "hoy": "today", "aujourd'hui": "today", "aujourd’hui": "today",
}  # fmt: skip
_OF = r"(?i)(?<=\d)\s+(?:de|del|du)\s+|(?<=[a-z])\s+(?:de|del)\s+(?=\d{4})"
"""This and three others are compiled with their first use, by `re`: that takes 4 ms."""
_WORD = re.compile(r"[^\W\d_]+(?:['’][^\W\d_]+)?")


class DateHits(Struct, frozen=True):
    """The memories with a date of the query."""

    terms: frozenset[str]
    """The texts of the terms that the date is made of."""
    written: Longs
    """The slots whose text has the date in any form, ascending."""
    titled: Longs
    """Those of them whose title is the date."""
    timed: Longs
    """The slots whose time is in it, ascending."""


def find_date_hits(
    terms: Sequence[Term], segments: Sequence[Segment], columns: Columns, now: datetime
) -> DateHits | None:
    """The memories with the dates that the terms name; None if they name none.

    Args:
        terms: The terms of the query; excluded ones and phrases, which are exact, name no date.
        segments: The index, in which written dates are looked up.
        columns: The columns of all slots, for the times of memories.
        now: What `yesterday` is counted from.
    """
    dateless = (TermKind.MEANING, TermKind.PHRASE)
    words = [term.text for term in terms if not term.negated and term.kind not in dateless]
    if _ANY_LANGUAGE.search(" ".join(words).casefold()) is None:
        return None
    spans = _find(words, now)
    if not spans:
        return None
    named = {
        word
        for at, word in enumerate(words)
        if _find([*words[:at], *words[at + 1 :]], now) != spans
    }
    changed = columns.shown
    begun = np.where(np.isnan(columns.created), changed, columns.shown_created)
    timed = np.zeros(len(columns), np.bool_)
    for span in spans:
        if span.end - span.first <= MAX_SPAN_DAYS * DAY_SECONDS:
            timed |= (begun >= span.first) & (begun < span.end)
            timed |= (changed >= span.first) & (changed < span.end)
    days = [
        datetime.fromtimestamp(span.first).date()
        for span in spans
        if span.end - span.first <= LONGEST_DAY
    ]
    written = sort_unique(np.concatenate([NO_SLOTS, *_find_written(days, segments)]))
    titled = [
        segment.find_titles((f"{day:%Y}", f"{day:%m}", f"{day:%d}"))
        for day in days
        for segment in segments
    ]
    alive = columns.alive
    return DateHits(
        frozenset(named),
        written[alive[written]].astype(np.int64),
        np.concatenate([NO_SLOTS, *titled]).astype(np.int64),
        np.flatnonzero(timed & alive),
    )


def _find(words: Sequence[str], now: datetime) -> tuple[Span, ...]:
    text = _WORD.sub(_translate, " ".join(words))
    return find_dates(re.sub(_OF, " ", text), now)


def _translate(match: re.Match[str]) -> str:
    word = match[0].casefold()
    month = _FOREIGN.get(word)
    return MONTHS[month - 1] if month else _FOREIGN_DAYS.get(word, match[0])


def _find_written(days: Iterable[date], segments: Sequence[Segment]) -> Iterable[Longs]:
    """The slots with one of these days in their text, by each way to write it."""
    days = tuple(days)
    for segment in segments:
        for day in days:
            forms = (f"{day:%Y%m%d}", f"{day.day}.{day.month}.{day.year}", f"{day:%d.%m.%Y}")
            yield segment.find_words(forms).slots
        for month, number in {(day.month, day.day) for day in days}:
            name = MONTHS[month - 1]
            for parts in ((name, str(number)), (str(number), name)):
                yield segment.find_phrase(parts).slots


YEARS_TRIED = 10
"""Years that a date without a year may mean, the current one included."""
MAX_SPANS = 32

_NAMES = "|".join(f"{name[:3]}(?:{name[3:]})?" if name[3:] else name for name in MONTHS)
_MONTH = rf"(?P<month{{0}}>{_NAMES}|sept)\b\.?"
_YEAR = r"(?:\s*,?\s+(?P<year{0}>(?:19|20)\d\d)\b)?"
_NUMERIC = (
    r"\b(?P<y>(?:19|20)\d\d)-(?P<m>\d\d?)(?:-(?P<d>\d\d?))?\b"
    r"|\b(?P<d2>\d\d?)\.\s?(?P<m2>\d\d?)\.\s?(?P<y2>(?:19|20)\d\d)\b"
)
_WRITTEN = (
    rf"(?i)\b(?P<day1>\d\d?)(?:st|nd|rd|th|\.)?\s+(?:of\s+)?{_MONTH.format(1)}{_YEAR.format(1)}"
    rf"|\b{_MONTH.format(2)}\s+(?P<day2>\d\d?)(?:st|nd|rd|th)?\b{_YEAR.format(2)}"
    r"|(?P<lead>\b(?:in|of|since|during|until|by|from|last|this|early|late|mid)\s+)?"
    rf"\b{_MONTH.format(3)}{_YEAR.format(3)}"
)
_AMBIGUOUS = ("may", "mar", "march", "dec", "sep", "jan")
_YEAR_ALONE = re.compile(r"\b(?:19|20)\d\d\b")
_RELATIVE = (
    r"(?i)\b(?:(?P<word>today|yesterday)|(?P<which>last|this)\s+(?P<unit>week|month|year)"
    r"|(?P<count>\d{1,3})\s+(?P<units>day|week|month|year)s?\s+ago)\b"
)
_BEGINNINGS = {word[:3] for word in (*MONTHS, *_FOREIGN, *_FOREIGN_DAYS)}
_ANY_LANGUAGE = re.compile("|".join([r"\d", "tod", "yes", "las", "thi", *sorted(_BEGINNINGS)]))
"""What every text with a date has, folded, before words are translated."""
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
    found: list[Span] = []
    rest = re.sub(
        _NUMERIC,
        lambda match: _add(found, _span(*(match[name] or match[f"{name}2"] for name in "ymd"))),
        text,
    )
    rest = re.sub(_WRITTEN, lambda match: _add(found, _written(match, now.year)) or match[0], rest)
    rest = re.sub(_RELATIVE, lambda match: _add(found, _relative(match, now)), rest)
    if not found:
        for match in _YEAR_ALONE.finditer(rest):
            _add(found, _span(match[0]))
    return tuple(dict.fromkeys(found))[:MAX_SPANS]


def _add(found: list[Span], spans: list[Span]) -> str:
    found += spans
    return ""


def _written(match: re.Match[str], this_year: int) -> list[Span]:
    way = next(n for n in (1, 2, 3) if match[f"month{n}"])
    name, year = match[f"month{way}"], match[f"year{way}"]
    if way == 3 and not year and not match["lead"] and name.casefold() in _AMBIGUOUS:
        return []
    month = next(n for n, full in enumerate(MONTHS, 1) if full.startswith(name.casefold()[:3]))
    day = match[f"day{way}"] if way < 3 else None
    years = [int(year)] if year else range(this_year, this_year - YEARS_TRIED, -1)
    return [span for one in years for span in _span(one, month, day)]


def _relative(match: re.Match[str], now: datetime) -> list[Span]:
    if not match["count"]:
        return [_to_span(parse_period(" ".join(match[0].split()), now))]
    days = _UNIT_DAYS[match["units"].casefold()]
    first = parse_period("today", now).start - timedelta(days=int(match["count"]) * days)
    return [Span(first.timestamp(), (first + timedelta(days=days)).timestamp())]


def _span(*parts: str | int | None) -> list[Span]:
    """The span of a year, month or day; empty where there is no such date."""
    typed = "-".join(f"{int(part):02}" for part in parts if part is not None)
    try:
        return [_to_span(parse_date(typed))]
    except (ValueError, OverflowError):
        return []


def _to_span(period: Period) -> Span:
    return Span(period.start.timestamp(), period.end.timestamp())
