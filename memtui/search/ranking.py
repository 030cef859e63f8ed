"""Score the matches: named parts that add up. All weights are defined here.

    score = text x (1 + recency + importance + type + status + pinned + salience)
            + session + window + neighbours + subject + date + time words + question
            + document + meaning + length + passage + as typed
            + all words + exact title + exact id

`text` is 0..1 (see `memtui.search.matching`). The parts in brackets scale with it, so that nothing
is found only for being recent or important; each is shown as what it adds. `all words` is larger
than the highest score of a partial match, `exact title` and `exact id` than all scores below them.

`document` is -.2 log2(words / 200) x text for memories of more than 200 words, so that a note that
mentions the words comes after a short fact that states them.

Four parts only memories with all words have:

    length      -.2 log2(1 + words / 8) x text: among these memories a long one loses a little
    passage     where all words stand within one passage of a long memory, it loses no more than one
                as long as the passage may be
    as typed    for what stands in the text as it was typed, with its punctuation
    date written  for a date of the query that stands in the text, in any form

`length` raises the known items "name and attribute" and "e-mail addresses" to MRR 1.0 and costs
LoCoMo .001 of recall@10; on every hit, not only those with all words, it does harm among short
texts.

A document has all words of a longer query only where they stand within one passage. Elsewhere it
came before every fact that lacks one word, because a long text has most words somewhere.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from datetime import datetime
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
from msgspec import Struct
from msgspec.structs import replace

from memtui.search import analysis
from memtui.search.array_types import Doubles, Floats, Ints, Longs, Mask, to_mask
from memtui.search.columns import DAY_SECONDS, Columns
from memtui.search.date_matches import DateHits
from memtui.search.index.segments import LENGTH_WORDS, NO_SLOTS, Segment
from memtui.search.literals import LiteralSearch
from memtui.search.matching import Match
from memtui.search.ordering import best_positions
from memtui.search.query_terms import QueryTerm, QueryTerms, has_just_begun

TITLE_FACTOR = 2
ID_FACTOR = 4
"""How many times the worth of `all words` an exact title and an exact id are worth."""


class Weights(Struct, frozen=True, dict=True):
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
    `docs/decisions.md` has the figures."""
    window: float = 0.7
    neighbours: float = 0.2
    subject: float = 0.05
    date: float = 0.4
    time_words: float = 0.1
    asks: float = -0.07
    """For a text that ends with a question."""
    meaning: float = 1.0
    """Weight of the cosine to the query, as a share of the best text score. Raises the MRR of known
    items (reported half) from .938 to .948."""

    @cached_property
    def spread(self) -> float:
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


def read_weights(settings: Mapping[str, Any]) -> Weights:
    """Return the default weights with those of the settings in their place.

    Args:
        settings: Name -> weight; unknown names and values that are no numbers are ignored. Factors
            are clamped to -0.9..9, the half-life to a minute at least.
    """
    known: dict[str, float] = {}
    for name in Weights.__struct_fields__:
        value = settings.get(name)
        if isinstance(value, (int, float)) and not isinstance(value, bool) and value == value:
            low, high = (1 / 1440, 1e6) if name == "half_life_days" else (-0.9, 9.0)
            known[name] = min(max(float(value), low), high)
    return replace(DEFAULTS, **known)


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
    """Between which the values are, 0 among them, where `Weights.spread` does not count them."""


class RankedHits(Struct, frozen=True):
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
    types: tuple[str, ...] = ()
    """The types that rank higher: those that the query prefers, else those that it filters by."""


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
    spread = weights.spread + sum(part.most - part.least for part in added)
    for name, special, worth in (
        ("exact id", list(id_matches), ID_FACTOR),
        ("exact title", match.title, TITLE_FACTOR),
    ):
        if len(special):
            is_special = to_mask(special, match.size).take(slots)
            yield AddedScore(name, every, worth * spread * is_special)
    yield AddedScore("all words", every, spread * match.all_words)
    yield AddedScore("text", every, match.text)
    minute = 60.0 * (now.timestamp() // 60)
    age = np.maximum(0.0, minute - columns.when.take(slots)) / DAY_SECONDS
    recency = np.nan_to_num(weights.recency * np.exp2(-age / weights.half_life_days))
    yield AddedScore("recency", every, match.text * recency)
    importance = np.array([weights.importance_high, 0.0, weights.importance_low])
    important = importance.take(columns.importance.take(slots))
    yield AddedScore("importance", every, match.text * important)
    if folded := frozenset(map(str.casefold, preferred_types)):
        other = weights.type_other
        by_type = [
            weights.type_wanted if name.casefold() in folded else other if name else 0.0
            for name in columns.types
        ]
        typed = np.array(by_type or [0.0]).take(columns.type.take(slots))
        yield AddedScore("type", every, match.text * typed)
    status = np.array([0.0, weights.proposed, weights.superseded, weights.retired, weights.deleted])
    yield AddedScore("status", every, match.text * status.take(columns.status.take(slots)))
    yield AddedScore("pinned", every, match.text * (weights.pinned * columns.pinned.take(slots)))
    salience = weights.salience * columns.salience.take(slots).astype(np.float64)
    yield AddedScore("salience", every, match.text * salience)
    yield from added


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


def order_by_score(columns: Columns, slots: Longs, scores: Doubles) -> tuple[Longs, Doubles]:
    """Return slots and their scores, the highest first; of equal ones the newest first.

    Args:
        slots: Unique slots, in any order.
    """
    by_slot = np.full(len(columns.alive), np.nan)
    by_slot[slots] = scores
    found = np.zeros(len(columns.alive), np.bool_)
    found[slots] = True
    newest = columns.newest_first
    slots = newest[found.take(newest)]
    slots = slots[np.argsort(-by_slot.take(slots), kind="stable")]
    return slots, by_slot.take(slots)


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


LENGTH_WEIGHT = 0.2
"""The weight of `length`, as measured (with `segments.LENGTH_WORDS`)."""
DOCUMENT_WORDS = 200
"""Words above which every hit loses for its length, and has no score for its session and window
(`memtui.search.context`): a long document mentions many words that it is not about. On 60 questions
about ten real stores, 36 answers come first and 50 among the first three without the second rule;
38 and 52 with it (the half it was chosen by: 16 and 26, then 18 and 27; the other half: 20 and 24,
then 20 and 25)."""
PASSAGE_WORDS = 40
"""Words from the first to the last of the query's words that are one passage: a paragraph."""
MAX_PASSAGES = 8
MAX_PASSAGE_TOKENS = 30_000
"""Upper bounds for the passage search: number of memories, total tokens (about .2 ms). With 6 or 16
memories and 10,000 or 100,000 tokens the labelled questions rank the same."""
MIN_SCATTERED = 3
"""Words of a query from which a document that has them in several places does not have them all."""
AS_TYPED_WEIGHT = 1.5
"""Factor of the text score: outweighs the length penalty plus session and subject bonuses."""
WRITTEN_DATE_WEIGHT = 0.3
"""For a date of the query that stands in the text: a little more than for one that is only the time
of the memory (`Weights.date`, .2); twice as much where it is the title, as of a daily note."""
MAX_READ = 16
"""Memories whose texts are read for what stands as typed; the best ones."""


def score_texts(
    match: Match,
    query_terms: QueryTerms,
    segments: Sequence[Segment],
    when: Doubles,
    literals: LiteralSearch,
    passages: Longs | None,
    dates: DateHits | None = None,
) -> list[AddedScore]:
    """The part that long memories lose, and those that only matches with all words have.

    Only the best are read; of equal ones the newest, as they are shown.

    Args:
        match: The matches; if only one has all words, it is first whatever else it has.
        literals: Reads texts.
        passages: What `find_passages` gives.
        dates: The memories with the dates of the query.
    """
    found: list[AddedScore] = []
    losses = _losses(segments, match.slots)
    beyond = losses - _DOCUMENT_LOSS
    documents = (beyond > 0).nonzero()[0]
    if len(documents):
        lost = match.text.take(documents) * np.minimum(beyond.take(documents), np.float32(1.0))
        found.append(AddedScore("document", documents, -lost, -1.0, 0.0))
    complete = match.all_words.nonzero()[0]
    if len(complete) < 2:
        return found
    slots, text = match.slots.take(complete), match.text.take(complete)
    losses = losses.take(complete)
    lost = text * losses
    most = LENGTH_WEIGHT * max((segment.longest for segment in segments), default=0.0)
    found.append(AddedScore("length", complete, -lost, -most, 0.0))
    if passages is not None and len(passages):
        won = _losses(segments, match.slots.take(passages)) - _PASSAGE_LOSS
        won *= match.text.take(passages)
        found.append(AddedScore("passage", passages, won, 0.0, float(won.max())))
    if typed := query_terms.typed:
        best = np.arange(len(slots))
        if len(slots) > MAX_READ:
            best = best_positions(text - lost, slots, when, MAX_READ)
        shares = literals.has_begun(slots.take(best), typed).sum(axis=0) / np.float32(len(typed))
        if len(positive := shares.nonzero()[0]):
            at = best.take(positive)
            worth = AS_TYPED_WEIGHT * shares.take(positive) * text.take(at)
            found.append(AddedScore("as typed", complete[at], worth, 0.0, AS_TYPED_WEIGHT))
    if dates is not None:
        at = np.isin(slots, dates.written).nonzero()[0]
        worth = np.full(len(at), WRITTEN_DATE_WEIGHT, np.float32)
        worth[np.isin(slots.take(at), dates.titled)] *= 2
        most = 2 * WRITTEN_DATE_WEIGHT
        found.append(AddedScore("date written", complete[at], worth, 0.0, most))
    return found


def are_documents(segments: Sequence[Segment], slots: Longs) -> Mask:
    """Whether each of these memories has more than `DOCUMENT_WORDS` words."""
    is_long: Mask = _losses(segments, slots) > _DOCUMENT_LOSS
    return is_long


def _losses(segments: Sequence[Segment], slots: Longs) -> Floats:
    """The share of its text score that each memory loses for its length."""
    lost = np.zeros(len(slots), np.float32)
    for segment in segments:
        memories = segment.memories_of(slots)
        inside = (memories >= 0).nonzero()[0]
        lost[inside] = segment.lengths.take(memories.take(inside))
    return lost * np.float32(LENGTH_WEIGHT)


def _loss(words: Floats | np.float32) -> Floats:
    """The share of the text score that a memory of this many words loses."""
    lost: Floats = np.float32(LENGTH_WEIGHT) * np.log2(1 + words / np.float32(LENGTH_WORDS))
    return lost


APART = 1 << 32
"""Words between two places that are not in one text."""
_BEFORE = np.array([-APART])
"""The place of a word that does not stand before another."""
_PASSAGE_LOSS = _loss(np.float32(PASSAGE_WORDS))
_DOCUMENT_LOSS = _loss(np.float32(DOCUMENT_WORDS))


def find_passages(
    match: Match, query_terms: QueryTerms, segments: Sequence[Segment], when: Doubles
) -> Longs | None:
    """Find the long memories with all words that have them in one passage; the best are read.

    Returns:
        Their positions in `match.slots`; None for a single word, and while a word has just begun.
    """
    terms = [term for term in (*query_terms.optional, *query_terms.required) if term.parts]
    if sum(len(term.parts) for term in terms) < 2 or any(map(has_just_begun, terms)):
        return None
    complete = match.all_words.nonzero()[0]
    long = complete[_losses(segments, match.slots.take(complete)) > _PASSAGE_LOSS]
    if not len(long):
        return NO_SLOTS
    long = best_positions(match.text, match.slots, when, MAX_PASSAGES, long)
    widths = _passage_widths(segments, match.slots.take(long), terms)
    return long[widths <= PASSAGE_WORDS]


def without_scattered(match: Match, segments: Sequence[Segment], passages: Longs) -> Match:
    """Of a query of three words or more, let a document have all words only in one passage.

    Args:
        passages: What `find_passages` gives.
    """
    if len(match.terms) < MIN_SCATTERED:
        return match
    complete = match.all_words.nonzero()[0]
    all_words = match.all_words.copy()
    all_words[complete[are_documents(segments, match.slots.take(complete))]] = False
    all_words[passages] = True
    return replace(match, all_words=all_words)


def _passage_widths(segments: Sequence[Segment], slots: Longs, terms: Sequence[QueryTerm]) -> Longs:
    """For each slot the words from first to last of the narrowest place with all terms."""
    widths = np.full(len(slots), APART)
    left = MAX_PASSAGE_TOKENS
    for segment in segments:
        memories = segment.memories_of(slots)
        texts, numbers = [], []
        for number in (memories >= 0).nonzero()[0].tolist():
            memory = memories[number]
            tokens = segment.stream[segment.starts[memory] : segment.starts[memory + 1]]
            if 0 < len(tokens) <= left:
                left -= len(tokens)
                texts.append(tokens)
                numbers.append(number)
        if texts:
            widths[numbers] = _narrowest(texts, _number_parts(segment, terms))
    return widths


def _number_parts(segment: Segment, terms: Sequence[QueryTerm]) -> Ints:
    """For each word of the segment which part of the query it is, from 1, and 0 for the others.

    A last 0 is for `FIELD_END`, which is -1.
    """
    numbers = np.zeros(len(segment.terms) + 1, np.int32)
    parts = [(term, part) for term in terms for part in term.parts]
    for number, (term, part) in enumerate(parts, 1):
        if term.last_is_prefix and part == term.parts[-1]:
            numbers[slice(*segment.terms.prefix_range(part))] = number
        numbers[[*segment.forms_of(analysis.stem(part)).values()]] = number
    return numbers


def _narrowest(texts: Sequence[Ints], parts: Ints) -> Longs:
    """For each text the words from first to last of the narrowest place with all parts.

    A part that is in none of them was looked for in another way, as a misspelt word is.
    """
    found = parts.take(np.concatenate(texts))
    places = found.nonzero()[0]
    found = found.take(places)
    text = np.cumsum([len(tokens) for tokens in texts]).searchsorted(places, side="right")
    places += APART * text  # so that no place is in two texts
    earliest = places.copy()
    for number in set(found.tolist()):
        these = places[found == number]
        before = np.concatenate([_BEFORE, these]).take(these.searchsorted(places, side="right"))
        np.minimum(earliest, before, out=earliest)
    widths = np.full(len(texts), APART)
    np.minimum.at(widths, text, places - earliest + 1)
    return widths
