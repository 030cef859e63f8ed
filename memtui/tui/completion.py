"""Completion at the end of the search text: a field, the value of a filter, or an operator.

Values come from the latest results, most frequent first, then from all known values, which are
sorted so that a prefix is found by bisection.
"""

from __future__ import annotations

import re
from bisect import bisect_left
from collections.abc import Iterable, Iterator, Mapping
from itertools import chain, islice
from typing import NamedTuple

from msgspec import Struct, field

from memtui.query import FIELDS, TokenKind, tokenize
from memtui.text import has_hidden

MAX_COMPLETIONS = 4
MAX_FREQUENT = 48
"""Most frequent values of the latest results that are compared."""
MAX_KNOWN = 24
"""Values taken from all known ones."""
LONGEST = 60
"""Longest value that is suggested, in characters."""
CLOSED: Mapping[str, tuple[str, ...]] = {
    name: entry.values or entry.examples for name, entry in FIELDS.items()
}
"""Values that do not depend on the stores; examples for times and numbers."""
VALUES_OF = {"prefer": "type"}
"""Fields that take the values of another one."""
OPERATORS = ("OR", "AND", "NOT")
_COMPARISON = re.compile(r"[<>]=?")

Counts = Mapping[str, Mapping[str, int]]
"""Field -> value -> count, the most frequent first."""


class Vocabulary(Struct, frozen=True):
    """All values per field, sorted by their folded forms."""

    values: Mapping[str, tuple[tuple[str, str], ...]] = field(default_factory=dict)

    @classmethod
    def of(cls, fields: Mapping[str, Iterable[str]]) -> Vocabulary:
        """Sort the values of fields; too slow for the event loop."""
        return cls(
            {
                name: tuple(sorted({(value.casefold(), value) for value in values}))
                for name, values in fields.items()
            }
        )

    def starting(self, name: str, beginning: str) -> Iterator[str]:
        """The values of a field that start with a folded prefix, in order."""
        values = self.values.get(name, ())
        for at in range(bisect_left(values, (beginning, "")), len(values)):
            if not values[at][0].startswith(beginning):
                return
            yield values[at][1]


class Offer(NamedTuple):
    """One completion."""

    words: str
    """Its label: `type:`, `decision`."""
    line: str
    """The whole search text when it is accepted."""


def offers(line: str, found: Counts, known: Vocabulary) -> tuple[Offer, ...]:
    """Completions at the end of a search text, the likeliest first."""
    token = next(reversed([*tokenize(line)]), None)
    if token is None or token.end != len(line):
        return ()
    if token.kind is TokenKind.FILTER and token.field in FIELDS:
        return _values(line, token.field, line[token.value_start :], found, known)
    typed = token.text
    if token.kind is not TokenKind.WORD or not (typed.isascii() and typed.isalpha()):
        return ()
    return (*_operators(line, typed), *_names(line, typed))[:MAX_COMPLETIONS]


def _operators(line: str, typed: str) -> Iterator[Offer]:
    """Operators, suggested from two upper-case letters on."""
    if len(typed) > 1:
        for name in OPERATORS:
            if name.startswith(typed):
                yield Offer(name, f"{line}{name[len(typed) :]} ")


def _names(line: str, typed: str) -> tuple[Offer, ...]:
    """Field names, suggested from two letters on."""
    beginning = typed.lower()
    if len(typed) < 2:
        return ()
    names = [name for name in FIELDS if name.startswith(beginning)]
    return tuple(Offer(f"{name}:", f"{line}{name[len(typed) :]}:") for name in names)


def _values(
    line: str, name: str, typed: str, found: Counts, known: Vocabulary
) -> tuple[Offer, ...]:
    quoted = typed.startswith('"')
    last = typed[1:] if quoted else typed.rpartition(",")[2]
    several = not quoted and last != typed
    if sign := _COMPARISON.match(last):
        last = last[sign.end() :]
    taken = {value.casefold() for value in typed.split(",")[:-1]} if several else set()
    beginning = last.casefold()
    before = line[: len(line) - len(last) - quoted]
    made: dict[str, Offer] = {}
    for value in _candidates(name, beginning, found, known):
        folded = value.casefold()
        if folded == beginning or folded in taken or folded in made or not _is_typable(value):
            continue
        if quoted or " " in value or "," in value:
            made[folded] = Offer(value, f'{before}"{value}"')
        else:
            # Keep the typed letters if the lengths match: filters ignore case.
            same = len(folded) == len(value) and len(beginning) == len(last)
            made[folded] = Offer(value, f"{before}{last + value[len(last) :] if same else value}")
        if len(made) == MAX_COMPLETIONS:
            break
    return tuple(made.values())


def _candidates(name: str, beginning: str, found: Counts, known: Vocabulary) -> Iterator[str]:
    closed = CLOSED[name]
    name = VALUES_OF.get(name, name)
    frequent = islice(found.get(name, {}), MAX_FREQUENT)
    near = chain(frequent, closed)
    yield from (value for value in near if value.casefold().startswith(beginning))
    if name == "entity" and beginning:
        for path in islice(found.get("entity", {}), MAX_FREQUENT):
            for part in path.split("/")[1:]:
                if part.casefold().startswith(beginning):
                    yield part
    yield from islice(known.starting(name, beginning), MAX_KNOWN)


def _is_typable(value: str) -> bool:
    """Whether the query language can express the value, and all of it is visible."""
    if not value or len(value) > LONGEST or '"' in value or has_hidden(value):
        return False
    return value.isprintable()
