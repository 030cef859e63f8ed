"""Rank memories for a context pack: by text with type weights, by salience, by priority.

The **relevance** of a memory to a task is what its text, the texts around it and the vectors give
(`memtui.search.ranking`), without recency, importance and other factors, as a share of the best.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from datetime import datetime

import numpy as np
from msgspec import Struct
from msgspec.structs import replace

from memtui.model import IMPORTANCES, KINDS
from memtui.search import ranking
from memtui.search.array_types import Doubles, Longs, Mask, to_mask
from memtui.search.columns import Columns, to_array
from memtui.search.index.segments import NO_SLOTS
from memtui.search.ordering import priority_parts, salience_now
from memtui.search.ranking import RankedHits, ScorePart

_FACTORS = (
    *("recency", "importance_high", "importance_low", "type_wanted", "type_other", "proposed"),
    *("superseded", "retired", "deleted", "pinned", "salience"),
)
_TEXT_ONLY = ranking.read_weights(dict.fromkeys(_FACTORS, 0.0))
_OF_ALL_WORDS = frozenset({"length", "passage"})
"""Parts that order only the memories with all words among themselves."""


class RankedSlot(Struct, frozen=True):
    """A slot with its score, and the parts that make it."""

    slot: int
    score: float
    parts: tuple[ScorePart, ...]


def measure_relevance(hits: RankedHits, columns: Columns, now: datetime) -> tuple[Longs, Doubles]:
    """The slots that a text found, in no order, and the relevance of each, 0..1.

    Args:
        hits: What the text found.
    """
    match = hits.match
    if match is None or not len(match.slots):
        slots = to_array(hits.slots)
        return slots, np.zeros(len(slots))
    bare = replace(
        match,
        all_words=np.zeros(len(match.slots), np.bool_),
        title=NO_SLOTS,
    )
    added = [part for part in hits.added if part.name not in _OF_ALL_WORDS]
    scores = ranking.score_matches(bare, columns, now, _TEXT_ONLY, added=added)
    best = float(scores.max(initial=0.0))
    return match.slots, np.maximum(0.0, scores) / (best or 1.0)


def _rank(
    slots: Longs,
    scores: Doubles,
    columns: Columns,
    limit: int,
    parts: Mapping[str, Doubles],
) -> list[RankedSlot]:
    """The best slots by score; newest first if equal, then in slot order."""
    return [
        RankedSlot(
            int(slots[at]),
            float(scores[at]),
            tuple(ScorePart(name, float(each[at])) for name, each in parts.items() if each[at]),
        )
        for at in np.lexsort((slots, -columns.when.take(slots), -scores))[:limit].tolist()
    ]


def rank_by_type(
    hits: RankedHits,
    columns: Columns,
    boosted_types: Collection[str],
    now: datetime,
    limit: int,
    *,
    boost: float,
    penalty: float,
    floor: float,
) -> list[RankedSlot]:
    """The best by relevance times a weight of the type.

    Args:
        boosted_types: Types that are asked for; none: no type is weighted.
        boost: Factor of a wanted type; the product is at most 1.
        penalty: Factor of another type; untyped memories keep their score.
        floor: The least score, after weighting.
    """
    slots, relevance = measure_relevance(hits, columns, now)
    names = {name.casefold() for name in boosted_types}
    by_code = [
        1.0 if not names or not name else boost if name.casefold() in names else penalty
        for name in columns.types
    ]
    factor = np.array(by_code or [1.0])[columns.type.take(slots)]
    # The best of all is 1; with the boost capped at 1 as in the source, it could not be overtaken.
    scores = np.minimum(boost if names else 1.0, relevance * factor)
    above = (scores >= floor).nonzero()[0]
    text, scores = relevance.take(above), scores.take(above)
    return _rank(slots.take(above), scores, columns, limit, {"text": text, "type": scores - text})


def rank_by_salience(
    hits: RankedHits, columns: Columns, now: datetime, limit: int
) -> list[RankedSlot]:
    """The best by relevance times (0.5 + s / (1 + s)), where s is the salience.

    The factor lies between .5 and 1.5 and is 1 for a salience of 1, so that what is old and
    relevant is still found.
    """
    slots, relevance = measure_relevance(hits, columns, now)
    salience = salience_now(columns, slots, now)
    scores = relevance * (0.5 + salience / (1.0 + salience))
    parts = {"text": relevance, "salience": scores - relevance}
    return _rank(slots, scores, columns, limit, parts)


def rank_by_priority(
    slots: Longs, hits: RankedHits, columns: Columns, now: datetime, limit: int
) -> list[RankedSlot]:
    """The best of these slots by relevance to what the task found plus Simple Memory's priority."""
    relevance = np.zeros(len(columns))
    found_slots, values = measure_relevance(hits, columns, now)
    relevance[found_slots] = values
    text = relevance.take(slots)
    parts = priority_parts(columns, slots, now)
    return _rank(slots, text + parts.total, columns, limit, {"text": text, **parts._asdict()})


def slots_of_types(
    columns: Columns,
    slots: Sequence[int] | Longs,
    kinds: Collection[str],
    types: Collection[str],
    without: Collection[str] = (),
) -> Longs:
    """Return those of the slots whose kind is in `kinds` or whose type is in `types`, in order.

    Args:
        kinds: Kinds.
        types: Types, in lower case.
        without: Types that are left out, whatever the kind.
    """
    at = to_array(slots)
    kind = np.array([name in kinds for name in KINDS])
    names = [name.casefold() for name in columns.types] or [""]
    is_type = np.array([name in types for name in names])
    is_left_out = np.array([name in without for name in names])
    type = columns.type.take(at)
    found: Longs = at[(kind[columns.kind.take(at)] | is_type[type]) & ~is_left_out[type]]
    return found


def slots_in_entity(
    columns: Columns, slots: Longs, entity: str, *, below: bool = True, without_low: bool = False
) -> Longs:
    """Return those of the slots that belong to an entity, as their only one or as one of several.

    Args:
        below: Entities below it count too.
        without_low: Leave out memories of low importance.
    """
    known = [e == entity or (below and e.startswith(f"{entity}/")) for e in columns.entities]
    is_in_entity = np.array(known or [False])
    belongs = is_in_entity[columns.entity]
    belongs[columns.also[is_in_entity[columns.also[:, 1]], 0]] = True
    if without_low:
        belongs &= columns.importance != IMPORTANCES.index("low")
    found: Longs = slots[belongs.take(slots)]
    return found


def mask_of_slots(columns: Columns, slots: Sequence[int] | Longs) -> Mask:
    """Return for each slot of the `columns` whether it is one of the `slots`."""
    return to_mask(to_array(slots), len(columns))


def join_slots(*slots: Longs) -> Longs:
    """Return these slots one after the other, each once."""
    every = np.concatenate(slots)
    _, first = np.unique(every, return_index=True)
    joined: Longs = every[np.sort(first)]
    return joined


def newest_first(columns: Columns, slots: Longs) -> Longs:
    """Return the `slots` by their time in the `columns`, newest first and undated ones last."""
    newest: Longs = slots[np.lexsort((slots, -columns.when.take(slots)))]
    return newest


def oldest_first(columns: Columns, slots: Longs) -> Longs:
    """Return the `slots` by their time in the `columns`, undated ones first.

    Those of equal times stay in their order.
    """
    times = columns.when.take(slots)
    order = np.argsort(np.where(np.isnan(times), -np.inf, times), kind="stable")
    oldest: Longs = slots[order]
    return oldest
