"""How many memories a filter on each value would leave, worked out with every keystroke."""

from __future__ import annotations

from collections.abc import ItemsView, Iterator, Mapping, Sequence, ValuesView
from dataclasses import dataclass, field
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from memtui.search.columns import NAMES, named_counts
from memtui.search.filters import Among


class Counts(Mapping[str, int]):
    """Value -> how many, most frequent first; put in order and named when somebody looks.

    There may be thousands of entities, and most searches are not looked at that closely: the next
    letter comes before.
    """

    def __init__(self, counts: NDArray[np.int64], names: Sequence[str]) -> None:
        self._counts, self._names = counts, names

    @cached_property
    def _named(self) -> dict[str, int]:
        return named_counts(self._counts, self._names)

    def __getitem__(self, name: str) -> int:
        return self._named[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._named)

    def __len__(self) -> int:
        return len(self._named)

    def items(self) -> ItemsView[str, int]:
        return self._named.items()

    def values(self) -> ValuesView[int]:
        return self._named.values()

    def __eq__(self, other: object) -> bool:
        return self._named == (other._named if isinstance(other, Counts) else other)

    __hash__ = None  # type: ignore[assignment]  # equal to dicts, which have none

    def __repr__(self) -> str:
        return f"Counts({self._named})"


@dataclass(frozen=True, slots=True)
class Facets:
    """How many memories a filter on each value would leave, most frequent first.

    A field's own filter is lifted while its values are counted, so that a picker can show what
    else there is to choose.
    """

    type: Mapping[str, int]
    importance: Mapping[str, int]
    status: Mapping[str, int]
    kind: Mapping[str, int]
    entity: Mapping[str, int]
    store: Mapping[str, int]
    entity_repeats: Mapping[str, int] = field(default_factory=dict)
    """What adding up `entity` counts too much, at this path and at each above it."""


def facets(among: Among) -> Facets:
    """Counts per value over what passes the filters.

    Memories are counted by combination of values, and the combinations by each value.
    """
    wanted, columns = among.filters, among.filters.columns
    of, passed = among.combinations, among.single
    counts = np.bincount(of if passed is None else of[passed])
    there = counts.nonzero()[0]
    passing = there[wanted.combinations().take(there)]
    entities, repeats = among.entities()
    found = {"entity": Counts(np.bincount(entities), columns.entities)}
    for name, names in NAMES.items():
        if name != "entity":
            held = passing
            if name in wanted.few:
                held = there[wanted.combinations(lifted=name).take(there)]
            codes = columns.joint.values[name].take(held)
            sums = np.bincount(codes, counts.take(held)).astype(np.int64)
            found[name] = Counts(sums, names(columns))
    return Facets(**found, entity_repeats=Counts(np.bincount(repeats), columns.entities))
