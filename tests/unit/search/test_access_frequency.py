"""How much a memory was used: what its store counts, and what that does to the rank."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

import pytest

from memtui.model import Memory
from memtui.query import parse_query
from memtui.search import columns, ranking
from memtui.search.documents import to_document
from memtui.search.index import memory_index
from memtui.search.salience import MAX_USES, measure_frequency
from tests.unit.search.finding_for_tests import find_in

NOW = datetime(2026, 11, 20, 12, tzinfo=UTC)


def memory(number: int = 0, **extra: Any) -> Memory:
    return Memory(
        ref=f"s:{number}", id=str(number), store="s", kind="fact", content="tide table", extra=extra
    )


@pytest.mark.parametrize(
    ("extra", "expected"),
    [
        ({}, 0.0),
        ({"revision_count": 1, "duplicate_count": 1}, 0.0),
        ({"revision_count": MAX_USES + 1, "duplicate_count": 1}, 1.0),
        ({"hits": 10**400}, 1.0),
        ({"hits": -5, "access_count": "many", "injected": True}, 0.0),
        ({"hits": float("nan")}, 0.0),
        ({"injections": {"found": 9, "injected": MAX_USES}}, 1.0),
        ({"salience": 0.25, "hits": 99}, 0.25),
        ({"salience": 7}, 1.0),
    ],
)
def test_what_a_store_counts(extra: dict[str, Any], expected: float) -> None:
    assert measure_frequency(memory(**extra)) == pytest.approx(expected)


def test_more_use_is_more() -> None:
    values = [measure_frequency(memory(hits=count)) for count in range(MAX_USES + 1)]
    assert values == sorted(set(values))


def test_what_was_used_stands_above_its_like_and_says_why() -> None:
    held = [memory(0), memory(1, revision_count=9), memory(2, duplicate_count=3)]
    table = columns.build(held)
    segment = memory_index.make([to_document(one) for one in held])
    query = parse_query("tide", NOW)
    hits = find_in(query, table, [segment], NOW)
    assert list(hits.slots) == [1, 2, 0]
    assert hits.scores is not None
    for at, (slot, score) in enumerate(zip(hits.slots, hits.scores, strict=True)):
        parts = {p.name: p.value for p in hits.explain(at)}
        assert ("salience" in parts) == (slot > 0)
        assert sum(parts.values()) == pytest.approx(score)
    off = ranking.Weights(salience=0)
    assert list(find_in(query, table, [segment], NOW, off).slots) == [0, 1, 2]
