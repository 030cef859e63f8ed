"""What a letter finds is what looking at every memory would find, in the same order."""

from __future__ import annotations

import math
import random
from collections import Counter
from collections.abc import Sequence
from datetime import UTC, datetime, timedelta

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from memtui.model import IMPORTANCES, STATUSES, Memory
from memtui.query import Query, Term, TermKind, parse_query
from memtui.search import analysis, columns
from memtui.search.columns import Columns
from memtui.search.documents import FIELD_WEIGHTS, to_document
from memtui.search.index.segments import Segment
from memtui.search.matching import K1
from memtui.search.ordering import best_positions
from memtui.search.query_terms import analyze_terms
from tests.long_run import share
from tests.unit.search.finding_for_tests import cut_segments, find_in

NOW = datetime(2026, 11, 20, 12, tzinfo=UTC)
MANY = 900
"""Enough for beginnings that are added up beforehand, and for more hits than are put in order."""
WORDS = [f"{head}{tail}" for head in ("dep", "de", "con", "co", "rx") for tail in "abcdefgh"]
DAYS = [None, *range(0, 300, 7)]


def memories(draw: random.Random) -> list[Memory]:
    def text(most: int) -> str:
        return " ".join(draw.choices(WORDS, k=draw.randint(0, most)))

    def made(number: int) -> Memory:
        days = draw.choice(DAYS)
        return Memory(
            ref=f"s:{number}",
            id=str(number),
            store=draw.choice("st"),
            kind=draw.choice(("fact", "note", "event")),
            type=draw.choice(("goal", "bug", "")),
            title=text(3),
            content=text(9),
            entity=draw.choice(("one", "two/three", "")),
            created=None if days is None else NOW - timedelta(days=days),
            importance=draw.choice(IMPORTANCES),
            status=draw.choice(STATUSES),
            tags=tuple(draw.choices(("a", "b"), k=draw.randint(0, 2))),
            pinned=draw.random() < 0.1,
        )

    return [made(number) for number in range(MANY)]


def often(memory: Memory) -> Counter[str]:
    """How often each word is there, weighted by field, in quarters."""
    counts: Counter[str] = Counter()
    for text, weight in zip(to_document(memory).fields(), FIELD_WEIGHTS, strict=True):
        for word in analysis.list_tokens(text):
            counts[word] += round(4 * weight)
    return counts


def plain_text(held: Sequence[Counter[str]], typed: str) -> dict[int, tuple[float, bool]]:
    """Slot -> text score and whether all words are there, by looking at every memory."""
    *whole, last = typed.split(" ")
    ways = [[lambda w, word=word: w == word] for word in whole]
    if last:
        ways.append([lambda w: w == last, lambda w: w.startswith(last)])
    most = 0.0
    scores: list[dict[int, float]] = []
    for tiers in ways:
        best: dict[int, float] = {}
        ceiling = 0.0
        for test in tiers:
            times = {
                slot: min(255, sum(n for w, n in counts.items() if test(w))) / 4
                for slot, counts in enumerate(held)
            }
            times = {slot: n for slot, n in times.items() if n}
            if times:
                rarity = math.log1p((MANY - len(times) + 0.5) / (len(times) + 0.5)) * (K1 + 1)
                ceiling = max(ceiling, rarity)
                for slot, n in times.items():
                    best[slot] = max(best.get(slot, 0.0), rarity * n / (n + K1))
        most += ceiling or math.log1p(2.0 * MANY + 1.0) * (K1 + 1)
        scores.append(best)
    found = set().union(*scores)
    return {
        slot: (sum(best.get(slot, 0.0) for best in scores) / most, all(slot in b for b in scores))
        for slot in found
    }


def passes(memory: Memory, query: Query, lifted: str = "") -> bool:
    """The filters of the query, the status of a plain search included."""
    fields = {part.field: part for part in query.conditions if part.field != lifted}
    if (
        lifted != "status"
        and "status" not in fields
        and memory.status not in ("active", "proposed")
    ):
        return False
    if query.since and (memory.when is None or memory.when < query.since.time):
        return False
    for name, part in fields.items():
        has = {
            "type": memory.type in part.values,
            "importance": memory.importance in part.values,
            "status": memory.status in part.values,
            "tag": bool(set(memory.tags) & set(part.values)),
            "entity": memory.entity.split("/")[0] in part.values,
        }[name]
        if has == part.negated:
            return False
    return True


LINES = ["de", "d", "co", "con", "depa", "depa de", "depa con", "rx", "cob rxa d", "dea deb dec "]
FILTERS = [
    "",
    "type:goal",
    "type:goal,bug importance:high",
    "tag:a",
    "since:60d -importance:low",
    "entity:two",
    "status:retired type:bug",
]


Held = tuple[list[Memory], list[Counter[str]], Columns, list[Segment]]
"""Memories, how often each word is in them, and what they are searched by."""


@pytest.fixture(scope="module", params=[21, 22])
def stage(request: pytest.FixtureRequest) -> Held:
    made = memories(random.Random(request.param))
    documents = [to_document(memory) for memory in made]
    cut = MANY * 5 // 6
    parts = [columns.build(made[:cut]), columns.build(made[cut:])]
    segments = cut_segments(documents, cut)
    return made, [often(memory) for memory in made], columns.concat(parts), segments


@pytest.mark.parametrize(
    ("line", "filters"),
    [(line, filters) for at, line in enumerate(LINES) for filters in share(FILTERS, at, 2)],
)
def test_a_letter_finds_what_looking_at_every_memory_finds(
    line: str, filters: str, stage: Held
) -> None:
    made, held, table, segments = stage
    query = parse_query(f"{filters} {line}".lstrip(), NOW, typing=True)
    hits = find_in(query, table, segments, NOW)
    expected = plain_text(held, line)
    assert set(hits.slots) == {slot for slot in expected if passes(made[slot], query)}
    assert hits.scores is not None
    order = list(zip(hits.slots, hits.scores, strict=True))
    assert order[:300] == [(hits.slots[at], hits.scores[at]) for at in range(len(order))][:300]

    def place(slot: int, score: float) -> tuple[float, float, int]:
        when = made[slot].when
        return -score, -when.timestamp() if when else math.inf, slot

    assert order == sorted(order, key=lambda hit: place(*hit))
    for at, (slot, score) in enumerate(order):
        parts = {p.name: p.value for p in hits.explain(at)}
        text, all_words = expected[slot]
        assert parts.get("text", 0.0) == pytest.approx(text, abs=1e-5)
        assert ("all words" in parts) == all_words
        assert sum(parts.values()) == pytest.approx(score, abs=1e-5)
    assert hits.matching is not None
    found = {*expected, *hits.matching.tolist()}
    for name in ("type", "importance", "status", "kind", "entity", "store"):
        counts = Counter(
            getattr(made[slot], "shown_type" if name == "type" else name)
            for slot in found
            if passes(made[slot], query, name)
        )
        assert getattr(hits.facets, name) == dict(counts)


typed_words = st.tuples(st.sampled_from(["a", "dep", "the", "what", "x1"]), st.booleans())


@given(st.lists(typed_words, min_size=1, max_size=6))
def test_plain_words_are_analyzed_as_any_terms(drawn: list[tuple[str, bool]]) -> None:
    """The shorter way gives what the way for all terms gives."""
    terms = [Term(word, TermKind.PREFIX if is_open else TermKind.WORD) for word, is_open in drawn]
    other = Term("zz", TermKind.WORD, negated=True)  # which takes the way for all terms
    plain, whole = (analyze_terms(some) for some in (terms, [*terms, other]))
    assert plain == whole._replace(excluded=())


@given(st.integers(0, 5), st.lists(st.floats(0, 1, width=32), max_size=60), st.integers(1, 20))
def test_the_best_positions_are_those_of_a_sort(seed: int, drawn: list[float], count: int) -> None:
    draw = random.Random(seed)
    scores = np.array([round(score, 1) for score in drawn], np.float32)
    slots = np.array(draw.sample(range(100), len(drawn)), np.int64)
    when = np.array([draw.choice((1.0, 2.0, math.nan)) for _ in range(100)])
    at = np.array([place for place in range(len(drawn)) if draw.random() < 0.7], np.int64)

    def place(position: int) -> tuple[float, float]:
        time = when[slots[position]]
        return -scores[position], math.inf if math.isnan(time) else -time

    for chosen, among in ((None, range(len(drawn))), (at, at.tolist())):
        found = best_positions(scores, slots, when, count, chosen).tolist()
        assert found == sorted(among, key=place)[:count]
