"""How many memories a filter on each value would leave, worked out with every keystroke."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from memtui.search.columns import NAMES, named_counts
from memtui.search.filters import Among


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


def facets(among: Among) -> Facets:
    """Counts per value over what passes the filters.

    Memories are counted by combination of values, and the combinations by each value.
    """
    wanted, columns = among.filters, among.filters.columns
    of, passed = among.combinations, among.single
    counts = np.bincount(of if passed is None else of[passed])
    there = np.flatnonzero(counts)
    found = {"entity": named_counts(np.bincount(among.entities()), columns.entities)}
    for name, names in NAMES.items():
        if name != "entity":
            passing = there[wanted.combinations(name).take(there)]
            codes = columns.joint.values[name].take(passing)
            sums = np.bincount(codes, counts.take(passing)).astype(np.int64)
            found[name] = named_counts(sums, names(columns))
    return Facets(**found)
