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
from memtui.search.array_types import Doubles, Longs, to_mask
from memtui.search.columns import DAY_SECONDS, Columns
from memtui.search.hits import AddedScore, Match
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


def _each_factor(
    columns: Columns, at: Longs | slice, minute: int, weights: Weights, types: Collection[str]
) -> Iterator[tuple[str, Any]]:
    """The name of each factor, and its values for the slots `at`; one at a time, since those of a
    million memories take 8 MB each."""
    age = np.maximum(0.0, 60.0 * minute - columns.when[at]) / (DAY_SECONDS * weights.half_life_days)
    yield "recency", np.nan_to_num(weights.recency * np.exp2(-age))
    importance = np.array([weights.importance_high, 0.0, weights.importance_low])
    yield "importance", importance[columns.importance[at]]
    yield "type", _type_factors(columns, weights, types)[columns.type[at]]
    status = np.array([0.0, weights.proposed, weights.superseded, weights.retired, weights.deleted])
    yield "status", status[columns.status[at]]
    yield "pinned", weights.pinned * columns.pinned[at]
    yield "salience", weights.salience * columns.salience[at].astype(np.float64)


def _type_factors(columns: Columns, weights: Weights, types: Collection[str]) -> Doubles:
    """The factor of each type."""
    if not types:
        return np.zeros(max(1, len(columns.types)))
    by_code = [
        weights.type_wanted if name.casefold() in types else weights.type_other if name else 0.0
        for name in columns.types
    ]
    return np.array(by_code or [0.0])


@dataclass(frozen=True, slots=True)
class _Factors:
    """The factors of the text score for every slot; computed once a minute."""

    columns: Columns
    weights: Weights
    preferred_types: frozenset[str]
    minute: int
    whole: Doubles
    """One plus the sum of all."""
    tier: float
    """`Weights.tier`."""

    def of_slot(self, slot: int) -> Iterator[tuple[str, float]]:
        """The name and the value of each factor of one slot."""
        key = (self.minute, self.weights, self.preferred_types)
        for name, values in _each_factor(self.columns, np.array([slot]), *key):
            yield name, float(values[0])


_known: tuple[_Factors, ...] = ()
"""Of the last keystrokes, the newest first: with a filter by type and without, as people switch.
Assigned as a whole, so any thread may read it."""
_MAX_KNOWN = 2


def _factors(
    columns: Columns, now: datetime, weights: Weights, preferred_types: Collection[str]
) -> _Factors:
    global _known
    key = (int(now.timestamp() // 60), weights, frozenset(map(str.casefold, preferred_types)))
    alike = []
    for factors in _known:
        if factors.columns is columns and (factors.minute, factors.weights) == key[:2]:
            if factors.preferred_types == key[2]:
                return factors
            alike.append(factors)
    each = (values for _, values in _each_factor(columns, slice(None), *key))
    whole = next(each)
    for values in each:
        whole += values
    whole += 1.0
    made = _Factors(columns, weights, key[2], key[0], whole, weights.tier)
    _known = (made, *alike[: _MAX_KNOWN - 1])
    return made


def _tier(match: Match, factors: _Factors) -> float:
    """`Weights.tier` plus the most that vectors and added parts make a difference."""
    meaning = 0.0 if match.meaning is None else float(match.meaning.max(initial=0.0))
    return factors.tier + meaning + match.added_range


def score_matches(
    match: Match,
    columns: Columns,
    now: datetime,
    weights: Weights = DEFAULTS,
    preferred_types: Collection[str] = (),
    id_matches: Collection[int] = (),
) -> Doubles:
    """Compute the scores of matches.

    Args:
        match: The matches.
        columns: The columns of all slots.
        now: The time from which recency is counted.
        weights: The weights of the parts.
        preferred_types: Types that the query prefers, else those that it filters by.
        id_matches: Slots whose id is the text of the query.

    Returns:
        One score for each of `match.slots`.
    """
    factors = _factors(columns, now, weights, preferred_types)
    tier = _tier(match, factors)
    slots = match.slots
    score = factors.whole.take(slots, mode="clip")
    score *= match.text
    score += tier * match.all_words
    if match.meaning is not None:
        score += match.meaning
    for part in match.added:
        score[part.at] += part.values
    if match.context is not None:
        score[match.context.at] += match.context.total
    for special, worth in ((match.title, TITLE_TIERS), (list(id_matches), ID_TIERS)):
        if len(special):
            score += worth * tier * to_mask(special, match.size).take(slots)
    return score


def explain_score(
    match: Match,
    columns: Columns,
    slot: int,
    now: datetime,
    weights: Weights = DEFAULTS,
    preferred_types: Collection[str] = (),
    id_matches: Collection[int] = (),
) -> tuple[ScorePart, ...]:
    """The parts of a slot's score that are not 0; they add up to what `score_matches` gives.

    Args:
        match: The match; the slot is in it.
        columns: The columns of all slots.
        slot: The slot to explain.
        now: The time from which recency is counted.
        weights: The weights of the score.
        preferred_types: As in `score_matches`.
        id_matches: Slots whose id is the text of the query.
    """
    factors = _factors(columns, now, weights, preferred_types)
    tier = _tier(match, factors)
    at = int(np.flatnonzero(match.slots == slot)[0])
    text = float(match.text[at])
    around = {} if match.context is None else match.context.parts_of(slot)
    found = [
        ScorePart("exact id", ID_TIERS * tier * (slot in id_matches)),
        ScorePart("exact title", TITLE_TIERS * tier * (slot in match.title)),
        ScorePart("all words", tier * bool(match.all_words[at])),
        ScorePart("text", text),
        *(ScorePart(name, text * value) for name, value in factors.of_slot(slot)),
        *(ScorePart(name, value) for name, value in around.items()),
        ScorePart("meaning", 0.0 if match.meaning is None else float(match.meaning[at])),
        *(ScorePart(part.name, _value_at(part, at, len(match.slots))) for part in match.added),
    ]
    return tuple(part for part in found if part.value)


def _value_at(part: AddedScore, at: int, count: int) -> float:
    """What the part adds to the match at a position, of so many."""
    values = np.zeros(count)
    values[part.at] = part.values
    return float(values[at])
