"""Score the matches: named parts that add up. All weights are defined here.

    score = text x (1 + recency + importance + type + status + pinned + salience)
            + session + window + neighbours + subject + date + time words + question
            + meaning + length + passage + as typed
            + all words + exact title + exact id

`text` is 0..1 (see `memtui.search.matching`). The parts in brackets scale with it, so that nothing
is found only for being recent or important; each is shown as what it adds. `all words` is larger
than the highest score of a partial match, `exact title` and `exact id` than all scores below them.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from datetime import datetime
from typing import Any, NamedTuple

import numpy as np

from memtui.dataclass import dataclass, fields, replace
from memtui.search.array_types import Doubles, Floats, Longs, to_mask
from memtui.search.columns import DAY_SECONDS, Columns
from memtui.search.matching import Match
from memtui.search.salience import DEFAULTS as SCORE_DEFAULTS
from memtui.search.salience import ScoreConstants

TITLE_TIERS = 2
ID_TIERS = 4
"""How many times the worth of `all words` an exact title and an exact id are worth."""


@dataclass(frozen=True, slots=True)
class Weights:
    """The weight of each part, as a share of the text score unless noted."""

    recency: float = 0.25
    """For a memory of this minute; halves with every half-life. Small: old answers stay valid."""
    half_life_days: float = 30.0
    """agent-memory's decay of 30 days."""
    importance_high: float = 0.5
    """Ambient multiplies by 1.5."""
    importance_low: float = -0.1
    type_wanted: float = 0.35
    """Typed retrieval multiplies by 1.35 if the memory has the type of the query ..."""
    type_other: float = -0.1
    """... and by 0.9 if it has another; untyped memories are unchanged."""
    proposed: float = -0.05
    superseded: float = -0.3
    retired: float = -0.4
    deleted: float = -0.5
    pinned: float = 0.3
    salience: float = 0.1
    """For a salience of 1 (`memtui.search.columns`). Low: known items rank as well with .1 as
    without (MRR .785), and worse with .5 (.784)."""
    session: float = 0.7
    """This and the next six: `memtui.search.context`. Found by coordinate ascent on the tuning
    conversations of LoCoMo and the tuning half of the known items together; the decision page
    `docs/decisions/context.md` has the figures."""
    window: float = 0.7
    neighbours: float = 0.2
    subject: float = 0.05
    date: float = 0.4
    time_words: float = 0.1
    asks: float = -0.07
    """For a text that ends with a question."""
    meaning: float = 1.0
    """Of the cosine to the query, as a share of the best text score. It raises the MRR of known
    items (reported half) from .938 to .948."""
    scores: ScoreConstants = SCORE_DEFAULTS
    """Of `sort:salience`, `sort:priority` and `stats`; no part of a text's score."""

    @property
    def tier(self) -> float:
        """More than two scores without `all words` and the exact parts can differ."""
        statuses = (self.proposed, self.superseded, self.retired, self.deleted)
        factors = (
            (self.recency,),
            (self.importance_high, self.importance_low),
            (self.type_wanted, self.type_other),
            (*statuses, 0.0),
            (self.pinned,),
            (self.salience,),
        )
        around = (
            *(self.neighbours, self.session, self.window, self.subject),
            *(self.date, self.time_words, self.asks),
        )
        most = 1.0 + sum(max(0.0, *factor) for factor in factors)
        most += sum(max(0.0, part) for part in around)
        least = 1.0 + sum(min(0.0, *factor) for factor in factors)
        least += sum(min(0.0, part) for part in around)
        return most - min(0.0, least)


DEFAULTS = Weights()


def read_weights(settings: Mapping[str, Any], scores: ScoreConstants = SCORE_DEFAULTS) -> Weights:
    """Return the default weights with those of the settings in their place.

    Args:
        settings: Name -> weight; unknown names and values that are no numbers are ignored. Factors
            are clamped to -0.9..9, the half-life to a minute at least.
        scores: The constants of salience and priority.
    """
    known: dict[str, float] = {}
    for name in (field.name for field in fields(Weights) if field.name != "scores"):
        value = settings.get(name)
        if isinstance(value, (int, float)) and not isinstance(value, bool) and value == value:
            low, high = (1 / 1440, 1e6) if name == "half_life_days" else (-0.9, 9.0)
            known[name] = min(max(float(value), low), high)
    return replace(DEFAULTS, scores=scores, **known)


class ScorePart(NamedTuple):
    """One part of the score of a memory."""

    name: str
    value: float


class AddedScore(NamedTuple):
    """A named part of the scores of some matches."""

    name: str
    """As `--explain` shows it."""
    at: Longs | slice
    """The positions of these in `Match.slots`; a slice for all."""
    values: Floats | Doubles
    least: float = 0.0
    most: float = 0.0
    """Between which the values are, where `Weights.tier` does not count them; 0 is between them."""


@dataclass(frozen=True)
class RankedHits:
    """Slots in display order, with what is needed to explain the score of each."""

    slots: list[int]
    scores: list[float] | None
    """One per slot if the order is by relevance, else None."""
    match: Match | None
    """The matches of the text that pass the filters; None if the query has no text."""
    added: tuple[AddedScore, ...] = ()
    """The parts of the scores beside those of `_list_parts` itself."""
    id_matches: tuple[int, ...] = ()
    """Slots whose id is the text of the query."""


def _list_parts(
    match: Match,
    columns: Columns,
    now: datetime,
    weights: Weights,
    preferred_types: Collection[str],
    id_matches: Collection[int],
    added: Collection[AddedScore],
) -> Iterator[AddedScore]:
    """The parts of the scores; one at a time, since those of 200,000 memories take 1.6 MB each."""
    slots, every = match.slots, slice(None)
    if match.meaning is not None:
        most = float(match.meaning.max(initial=0.0))
        meaning = AddedScore("meaning", every, match.meaning, most=most)
        around = [part for part in added if not part.most - part.least]
        added = [*around, meaning, *(part for part in added if part.most - part.least)]
    tier = weights.tier + sum(part.most - part.least for part in added)
    for name, special, worth in (
        ("exact id", list(id_matches), ID_TIERS),
        ("exact title", match.title, TITLE_TIERS),
    ):
        if len(special):
            is_special = to_mask(special, match.size).take(slots)
            yield AddedScore(name, every, worth * tier * is_special)
    yield AddedScore("all words", every, tier * match.all_words)
    yield AddedScore("text", every, match.text)
    for name, factor in _each_factor(columns, slots, now, weights, preferred_types):
        yield AddedScore(name, every, match.text * factor)
    yield from added


def _each_factor(
    columns: Columns, slots: Longs, now: datetime, weights: Weights, types: Collection[str]
) -> Iterator[tuple[str, Floats | Doubles]]:
    """The name of each factor of the text score, and its values for these slots."""
    minute = 60.0 * (now.timestamp() // 60)
    age = np.maximum(0.0, minute - columns.when.take(slots)) / DAY_SECONDS
    yield "recency", np.nan_to_num(weights.recency * np.exp2(-age / weights.half_life_days))
    importance = np.array([weights.importance_high, 0.0, weights.importance_low])
    yield "importance", importance.take(columns.importance.take(slots))
    folded = frozenset(map(str.casefold, types))
    if folded:
        by_type = [
            weights.type_wanted
            if name.casefold() in folded
            else weights.type_other
            if name
            else 0.0
            for name in columns.types
        ]
        yield "type", np.array(by_type or [0.0]).take(columns.type.take(slots))
    status = np.array([0.0, weights.proposed, weights.superseded, weights.retired, weights.deleted])
    yield "status", status.take(columns.status.take(slots))
    yield "pinned", weights.pinned * columns.pinned.take(slots)
    yield "salience", weights.salience * columns.salience.take(slots).astype(np.float64)


def score_matches(
    match: Match,
    columns: Columns,
    now: datetime,
    weights: Weights = DEFAULTS,
    preferred_types: Collection[str] = (),
    id_matches: Collection[int] = (),
    added: Collection[AddedScore] = (),
) -> Doubles:
    """Compute the scores of matches.

    Args:
        preferred_types: Types that the query prefers, else those that it filters by.
        id_matches: Slots whose id is the text of the query.
        added: The parts from the context, then those that only matches with all words have.

    Returns:
        One score for each of `match.slots`.
    """
    score = np.zeros(len(match.slots))
    for part in _list_parts(match, columns, now, weights, preferred_types, id_matches, added):
        score[part.at] += part.values
    return score


def explain_score(
    match: Match,
    columns: Columns,
    slot: int,
    now: datetime,
    weights: Weights = DEFAULTS,
    preferred_types: Collection[str] = (),
    id_matches: Collection[int] = (),
    added: Collection[AddedScore] = (),
) -> tuple[ScorePart, ...]:
    """The parts of a slot's score that are not 0; they add up to what `score_matches` gives."""
    at = int(np.flatnonzero(match.slots == slot)[0])
    found: list[ScorePart] = []
    for part in _list_parts(match, columns, now, weights, preferred_types, id_matches, added):
        values = np.zeros(len(match.slots))
        values[part.at] = part.values
        found.append(ScorePart(part.name, float(values[at])))
    return tuple(part for part in found if part.value)
