"""Find the memories that hold a date of the query, however it is written, or are of that time.

A date that a query names (`memtui.search.named_dates`, here also with German, French and Spanish
names of months) is looked for as `2026-11-18`, `18.11.2026`, `November 18` and `18 November` in
titles, entities, tags and texts, and among the times of memories. A memory that has it counts as
holding the words of the date, so that `november 18` finds the note called `2026-11-18.md`. It is no
filter: memories with the words alone are found too.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import UTC, date, datetime

import numpy as np

from memtui.query import Term, TermKind
from memtui.search import hits
from memtui.search.array_types import Longs
from memtui.search.columns import DAY_SECONDS, Columns
from memtui.search.named_dates import MONTHS, Span, find_dates
from memtui.search.phrases import find_phrase, find_titles
from memtui.search.postings import Segment
from memtui.search.query_terms import QueryTerm

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
_OF = re.compile(r"(?<=\d)\s+(?:de|del|du)\s+|(?<=[a-z])\s+(?:de|del)\s+(?=\d{4})", re.IGNORECASE)
_LINKS = frozenset({"de", "del", "du", "of", "am"})
"""Words within a date."""
_WORD = re.compile(r"[^\W\d_]+(?:['’][^\W\d_]+)?")


@dataclass(frozen=True, slots=True)
class DateHits:
    """The memories with a date of the query."""

    terms: frozenset[str]
    """The texts of the terms that the date is made of."""
    written: Longs
    """The slots whose text has the date in any form, ascending."""
    titled: Longs
    """Those of them whose title is the date."""
    timed: Longs
    """The slots whose time is in it, ascending."""

    @property
    def tiers(self) -> list[hits.TermHits]:
        return [
            hits.TermHits(slots, np.ones(len(slots), np.float32))
            for slots in (self.written, self.timed)
        ]


def find_date_hits(
    terms: Sequence[Term], segments: Sequence[Segment], columns: Columns, now: datetime
) -> DateHits | None:
    """The memories with the dates that the terms name; None if they name none."""
    words = [term.text for term in terms if not term.negated and term.kind is not TermKind.MEANING]
    spans = _find(words, now)
    if not spans:
        return None
    named = {
        word
        for at, word in enumerate(words)
        if _find([*words[:at], *words[at + 1 :]], now) != spans
    }
    when = np.where(np.isnan(columns.created), columns.when, columns.created)
    timed = np.zeros(len(columns), np.bool_)
    for span in spans:
        if span.end - span.first <= MAX_SPAN_DAYS * DAY_SECONDS:
            timed |= (when >= span.first) & (when < span.end)
            timed |= (columns.when >= span.first) & (columns.when < span.end)
    days = [
        datetime.fromtimestamp(span.first, UTC).date()
        for span in spans
        if span.end - span.first <= DAY_SECONDS
    ]
    written = np.unique(np.concatenate([hits.NO_SLOTS, *_find_written(days, segments)]))
    alive = columns.alive
    return DateHits(
        frozenset(named),
        written[alive[written]].astype(np.int64),
        np.concatenate([hits.NO_SLOTS, *_find_titled(days, segments)]).astype(np.int64),
        np.flatnonzero(timed & alive),
    )


def _find(words: Sequence[str], now: datetime) -> tuple[Span, ...]:
    text = _WORD.sub(_translate, " ".join(words))
    return find_dates(_OF.sub(" ", text), now)


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
            numbers = (segment.find_word(form) for form in forms)
            yield hits.read_terms(segment, [n for n in numbers if n is not None]).slots
        for month, number in {(day.month, day.day) for day in days}:
            name = MONTHS[month - 1]
            for parts in ((name, str(number)), (str(number), name)):
                yield find_phrase(segment, _phrase(parts)).slots


def _find_titled(days: Iterable[date], segments: Sequence[Segment]) -> Iterable[Longs]:
    for day in days:
        for segment in segments:
            yield find_titles(segment, (f"{day:%Y}", f"{day:%m}", f"{day:%d}"), False)


def _phrase(parts: tuple[str, ...]) -> QueryTerm:
    return QueryTerm(Term(" ".join(parts), TermKind.PHRASE), TermKind.PHRASE, parts)
