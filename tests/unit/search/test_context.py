"""What stands around a memory counts as a second, plain way to compute it says."""

from __future__ import annotations

import math
from collections.abc import Sequence
from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from memtui.library.finding import SearchResult
from memtui.model import Memory, Place
from memtui.query import parse_query
from memtui.search import columns, context, matching
from memtui.search.documents import to_document
from memtui.search.ranking import DEFAULTS
from tests.unit.search.finding_for_tests import cut_segments, find_in

NOW = datetime(2026, 11, 20, 12, tzinfo=UTC)
WORDS = ("oak", "fir", "elm", "ash")
LINE = "oak fir elm"
Found = tuple[dict[str, dict[str, float]], dict[str, float]]


def turn(number: int, session: str, text: str, **fields: object) -> Memory:
    place = Place("log.json", None, f"events[{number}]")
    return Memory(f"s:{number}", str(number), "s", "event", content=text, entity=session,
                  origin=place, **fields)  # type: ignore[arg-type]  # fmt: skip


turns = st.lists(
    st.tuples(st.sampled_from("xyz"), st.lists(st.sampled_from(WORDS), max_size=4)),
    min_size=1,
    max_size=14,
).map(lambda drawn: [turn(n, f"q{s}", " ".join(words)) for n, (s, words) in enumerate(drawn)])


def search(memories: Sequence[Memory], line: str = LINE, cut: int = 0) -> SearchResult:
    documents = [to_document(memory) for memory in memories]
    segments = cut_segments(documents, cut)
    table = columns.concat([columns.build(memories[:cut]), columns.build(memories[cut:])])
    return find_in(parse_query(line, NOW), table, segments, NOW)


PARTS = ("session", "window", "neighbours", "question", "subject", "date", "time words")


def read(memories: Sequence[Memory], hits: SearchResult) -> Found:
    """Parts and scores by ref."""
    assert hits.hits.match is not None
    assert hits.scores is not None
    parts: dict[str, dict[str, float]] = {}
    for part in hits.hits.added:
        if part.name in PARTS:
            slots = hits.hits.match.slots[part.at].tolist()
            for slot, value in zip(slots, part.values.tolist(), strict=True):
                parts.setdefault(memories[slot].ref, {})[part.name] = value
    scores = {memories[s].ref: v for s, v in zip(hits.slots, hits.scores, strict=True)}
    return parts, scores


def bm25(counts: Sequence[float], weights: Sequence[float]) -> float:
    top = sum(weights)
    return sum(w * c / (c + matching.K1) for c, w in zip(counts, weights, strict=True)) / top


def rarity(count: int, held: int) -> float:
    return math.log1p((count - held + 0.5) / (held + 0.5)) * (matching.K1 + 1)


@pytest.mark.slow
@given(turns)
def test_session_and_window_are_scored_as_one_text(memories: list[Memory]) -> None:
    hits = search(memories)
    parts, _ = read(memories, hits)
    words = LINE.split()

    def often(memory: Memory, word: str) -> float:
        times = memory.content.split().count(word)
        return (matching.K1 + 1) * times / (times + matching.K1)

    texts = [memory.content.split() for memory in memories]
    assert hits.hits.match is not None
    text = {
        memories[s].ref: t for s, t in zip(hits.hits.match.slots, hits.hits.match.text, strict=True)
    }
    held_together = {m.entity: [o for o in memories if o.entity == m.entity] for m in memories}
    held = [sum(word in text for text in texts) for word in words]
    known = [rarity(len(texts), n) if n else math.log1p(2 * len(texts) + 1) * 2.2 for n in held]
    among = [
        sum(any(word in o.content.split() for o in group) for group in held_together.values())
        for word in words
    ]
    known_among = [rarity(len(held_together), n) for n in among]
    for memory in memories:
        group = held_together[memory.entity]
        at = group.index(memory)
        window = group[max(0, at - context.REACH) : at + context.REACH + 1]
        has_word = bool(set(words) & set(memory.content.split()))
        assert (memory.ref in parts) == has_word
        if has_word:
            session = bm25([sum(often(o, w) for o in group) for w in words], known_among)
            passage = bm25([sum(often(o, w) for o in window) for w in words], known)
            share = text[memory.ref] / max(text.values())
            expected = {"session": DEFAULTS.session * session, "window": DEFAULTS.window * passage}
            expected = {name: value * share for name, value in expected.items()}
            found = {name: parts[memory.ref][name] for name in expected}
            assert found == pytest.approx(expected, abs=1e-5)


@pytest.mark.slow
@given(turns, st.data())
def test_a_changed_memory_keeps_its_place(memories: list[Memory], data: st.DataObject) -> None:
    """A changed memory gets a new slot at the end; what is found is as after a rebuild."""
    at = data.draw(st.integers(0, len(memories) - 1))
    changed = replace(memories[at], content="oak ash", updated=NOW)
    rebuilt = [*memories[:at], changed, *memories[at + 1 :]]
    rows = [*memories, changed]
    documents = [to_document(memory) for memory in rows]
    cut = len(memories)
    segments = cut_segments(documents, cut)
    table = columns.concat([columns.build(memories), columns.build([changed])]).without([at])
    query = parse_query(LINE, NOW)
    parts, scores = read(rows, find_in(query, table, segments, NOW))
    again_parts, again_scores = read(rebuilt, search(rebuilt))
    assert scores == pytest.approx(again_scores, abs=1e-5)
    assert parts.keys() == again_parts.keys()
    for ref, values in parts.items():
        assert values == pytest.approx(again_parts[ref], abs=1e-5)


def test_worked_example_of_neighbours_subject_and_question() -> None:
    memories = [
        turn(0, "monday", "Ada: the oak is old"),
        turn(1, "monday", "Ben: how old is it?"),
        turn(2, "monday", "Ada: a fir is younger"),
        turn(3, "tuesday", "Ben: an oak again"),
    ]
    parts, _ = read(memories, search(memories, "what oak did ada plant"))
    assert parts["s:0"]["subject"] == pytest.approx(DEFAULTS.subject)
    assert parts["s:3"]["subject"] == 0
    asked, _ = read(memories, search(memories, "how old is the oak"))
    assert asked["s:1"]["question"] == pytest.approx(DEFAULTS.asks)
    assert asked["s:1"]["neighbours"] > 0
    assert asked["s:3"]["neighbours"] == 0


def test_a_date_of_the_query_is_compared_with_the_date_of_the_memory() -> None:
    days = [datetime(2025, 5, day, 9, tzinfo=UTC) for day in (8, 10, 7)] + [None]
    memories = [turn(n, f"s{n}", "we met about the oak", created=day) for n, day in enumerate(days)]
    parts, _ = read(memories, search(memories, "what about the oak on 8 May 2025"))
    near = [parts[f"s:{n}"]["date"] / DEFAULTS.date for n in range(4)]
    late = timedelta(days=1, hours=9) / timedelta(days=context.DATE_DECAY_DAYS)
    early = 4 * timedelta(hours=15) / timedelta(days=context.DATE_DECAY_DAYS)
    assert near == pytest.approx([1, math.exp(-late), math.exp(-early), 0])


def test_when_prefers_words_of_time() -> None:
    memories = [turn(0, "a", "the oak fell yesterday"), turn(1, "b", "the oak fell over there")]
    parts, _ = read(memories, search(memories, "when fell oak"))
    assert parts["s:0"]["time words"] == pytest.approx(DEFAULTS.time_words)
    assert parts["s:1"]["time words"] == 0
    parts, _ = read(memories, search(memories, "why fell oak"))
    assert "time words" not in parts["s:0"]


@pytest.mark.parametrize("line", ["oak", '"oak fir" elm', "oak fir elm -ash", LINE])
def test_no_memory_is_found_for_the_words_of_its_neighbours(line: str) -> None:
    memories = [turn(0, "a", "oak fir elm"), turn(1, "a", "nothing here")]
    assert list(search(memories, line).slots) == [0]


def test_a_short_fact_comes_before_long_files_that_mention_its_words() -> None:
    """A file has no session and window: they are its own words once more."""
    mentions = " ".join([*["oak"] * 8, *["fir"] * 8, *["and"] * 300])
    files = [turn(n, "files", mentions) for n in range(6)]
    fact = turn(6, "facts", "the oak: a fir beside it, for 7 days")
    hits = search([*files, fact], "which oak or fir")
    parts, _ = read([*files, fact], hits)
    assert hits.slots[0] == 6
    assert {(parts[one.ref]["session"], parts[one.ref]["window"]) for one in files} == {(0, 0)}
    assert parts[fact.ref]["window"] > 0
