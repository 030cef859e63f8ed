"""What the last word of the search line may become: a field name, or the value of a filter.

Values come from what was found last, most frequent first, then from everything that is known,
which is kept in order so that a beginning is looked up and not searched for.
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

OFFERS = 4
"""Completions that are shown at once."""
FREQUENT = 48
"""Values of what was found last that are compared, the most frequent ones."""
KNOWN = 24
"""Values looked up among all that are known."""
LONGEST = 60
"""Characters of a value that is still offered: a longer one is no name."""
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
"""Values that there are whatever the stores hold; of times, examples."""
_OPEN = re.compile(
    r'(?:^|(?<=\s))-?(?:(?P<field>[A-Za-z]+):(?P<value>"[^"]*|[^\s"]*)'
    r"|(?P<name>[A-Za-z]+))$"
)

Counts = Mapping[str, Mapping[str, int]]
"""Field -> value -> how often it was found, the most frequent first."""


@dataclass(frozen=True, slots=True)
class Vocabulary:
    """Every value there is of a field, in the order of their folded forms."""

    values: Mapping[str, tuple[tuple[str, str], ...]] = field(default_factory=dict)

    @classmethod
    def of(cls, fields: Mapping[str, Iterable[str]]) -> Vocabulary:
        """Costs what sorting costs; not for the event loop."""
        return cls(
            {
                name: tuple(sorted({(value.casefold(), value) for value in values}))
                for name, values in fields.items()
            }
        )

    def starting(self, name: str, beginning: str) -> Iterator[str]:
        """The values of a field that begin so (folded), in order."""
        values = self.values.get(name, ())
        for at in range(bisect_left(values, (beginning, "")), len(values)):
            if not values[at][0].startswith(beginning):
                return
            yield values[at][1]


@dataclass(frozen=True, slots=True)
class Offer:
    """One way to go on."""

    words: str
    """What it would add, as a name: `type:`, `decision`."""
    line: str
    """The whole search line once it is taken."""


def offers(line: str, found: Counts, known: Vocabulary) -> tuple[Offer, ...]:
    """Ways to go on from the end of the line, the likeliest first; empty where none is known."""
    token = _OPEN.search(line)
    if token is None:
        return ()
    if token["name"] is not None:
        return _names(line, token["name"])
    name = token["field"].lower()
    return _values(line, name, token["value"], found, known) if name in NAMES else ()


def _names(line: str, typed: str) -> tuple[Offer, ...]:
    """Fields are offered from two letters on: one letter begins every other word."""
    beginning = typed.lower()
    if len(typed) < 2:
        return ()
    names = [name for name in NAMES if name.startswith(beginning)]
    return tuple(Offer(f"{name}:", f"{line}{name[len(typed) :]}:") for name in names[:OFFERS])


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
        if folded == beginning or folded in taken or folded in made or not _can_be_typed(value):
            continue
        if quoted or " " in value:
            if several:
                continue  # the query language has no list of quoted values
            made[folded] = Offer(value, f'{before}"{value}"')
        else:
            # What was typed stays as it is where it is as long: case does not matter to a filter.
            same = len(folded) == len(value) and len(beginning) == len(last)
            made[folded] = Offer(value, f"{before}{last + value[len(last) :] if same else value}")
        if len(made) == OFFERS:
            break
    return tuple(made.values())


def _candidates(name: str, beginning: str, found: Counts, known: Vocabulary) -> Iterator[str]:
    frequent = (value or UNTYPED for value in islice(found.get(name, {}), FREQUENT))
    near = chain(frequent, CLOSED.get(name, ()))
    yield from (value for value in near if value.casefold().startswith(beginning))
    if name == "entity" and beginning:
        yield from _parts(beginning, found)
    yield from islice(known.starting(name, beginning), KNOWN)


def _parts(beginning: str, found: Counts) -> Iterator[str]:
    """A part of an entity's path names it too: `alice` of `people/alice`."""
    for path in islice(found.get("entity", {}), FREQUENT):
        for part in path.split("/")[1:]:
            if part.casefold().startswith(beginning):
                yield part


def _can_be_typed(value: str) -> bool:
    """Whether the query language can name it, and a person can see what it says."""
    if not value or len(value) > LONGEST or '"' in value or "," in value or has_hidden(value):
        return False
    return value.isprintable()
