"""Completion of the last word of the search text: a field name, or the value of a filter.

Values come from the latest results, most frequent first, then from all known values, which are
sorted so that a prefix is found by bisection.
"""

from __future__ import annotations

import re
from bisect import bisect_left
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from itertools import chain, islice

from memtui.model import IMPORTANCES, KINDS, STATUSES, UNTYPED
from memtui.query import FIELDS, Sort
from memtui.text import has_hidden

MAX_COMPLETIONS = 4
MAX_FREQUENT = 48
"""Most frequent values of the latest results that are compared."""
MAX_KNOWN = 24
"""Values taken from all known ones."""
LONGEST = 60
"""Longest value that is suggested, in characters."""
NAMES = (*FIELDS, "since", "until", "sort")
CLOSED: Mapping[str, tuple[str, ...]] = {
    "importance": IMPORTANCES,
    "status": (*STATUSES, "all"),
    "kind": KINDS,
    "pinned": ("yes", "no"),
    "sort": tuple(sort.value for sort in Sort),
    "since": ("7d", "24h", "30d", "2w", "1y"),
    "until": ("7d", "24h", "30d", "2w", "1y"),
}
"""Values that do not depend on the stores; examples for times."""
_OPEN = re.compile(
    r'(?:^|(?<=\s))-?(?:(?P<field>[A-Za-z]+):(?P<value>"[^"]*|[^\s"]*)'
    r"|(?P<name>[A-Za-z]+))$"
)

Counts = Mapping[str, Mapping[str, int]]
"""Field -> value -> count, the most frequent first."""


@dataclass(frozen=True, slots=True)
class Vocabulary:
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


@dataclass(frozen=True, slots=True)
class Offer:
    """One completion."""

    words: str
    """Its label: `type:`, `decision`."""
    line: str
    """The whole search text when it is accepted."""


def offers(line: str, found: Counts, known: Vocabulary) -> tuple[Offer, ...]:
    """Completions at the end of a search text, the likeliest first."""
    token = _OPEN.search(line)
    if token is None:
        return ()
    if token["name"] is not None:
        return _names(line, token["name"])
    name = token["field"].lower()
    return _values(line, name, token["value"], found, known) if name in NAMES else ()


def _names(line: str, typed: str) -> tuple[Offer, ...]:
    """Field names, suggested from two letters on."""
    beginning = typed.lower()
    if len(typed) < 2:
        return ()
    names = [name for name in NAMES if name.startswith(beginning)]
    return tuple(
        Offer(f"{name}:", f"{line}{name[len(typed) :]}:") for name in names[:MAX_COMPLETIONS]
    )


def _values(
    line: str, name: str, typed: str, found: Counts, known: Vocabulary
) -> tuple[Offer, ...]:
    quoted = typed.startswith('"')
    last = typed[1:] if quoted else typed.rpartition(",")[2]
    several = not quoted and last != typed
    taken = {value.casefold() for value in typed.split(",")[:-1]} if several else set()
    beginning = last.casefold()
    before = line[: len(line) - len(last) - quoted]
    made: dict[str, Offer] = {}
    for value in _candidates(name, beginning, found, known):
        folded = value.casefold()
        if folded == beginning or folded in taken or folded in made or not _is_typable(value):
            continue
        if quoted or " " in value:
            if several:
                continue  # the query language has no list of quoted values
            made[folded] = Offer(value, f'{before}"{value}"')
        else:
            # Keep the typed letters if the lengths match: filters ignore case.
            same = len(folded) == len(value) and len(beginning) == len(last)
            made[folded] = Offer(value, f"{before}{last + value[len(last) :] if same else value}")
        if len(made) == MAX_COMPLETIONS:
            break
    return tuple(made.values())


def _candidates(name: str, beginning: str, found: Counts, known: Vocabulary) -> Iterator[str]:
    frequent = (value or UNTYPED for value in islice(found.get(name, {}), MAX_FREQUENT))
    near = chain(frequent, CLOSED.get(name, ()))
    yield from (value for value in near if value.casefold().startswith(beginning))
    if name == "entity" and beginning:
        yield from _parts(beginning, found)
    yield from islice(known.starting(name, beginning), MAX_KNOWN)


def _parts(beginning: str, found: Counts) -> Iterator[str]:
    """Parts of entity paths, which name them too: `alice` of `people/alice`."""
    for path in islice(found.get("entity", {}), MAX_FREQUENT):
        for part in path.split("/")[1:]:
            if part.casefold().startswith(beginning):
                yield part


def _is_typable(value: str) -> bool:
    """Whether the query language can express the value, and all of it is visible."""
    if not value or len(value) > LONGEST or '"' in value or "," in value or has_hidden(value):
        return False
    return value.isprintable()
