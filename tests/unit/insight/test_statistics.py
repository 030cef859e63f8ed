"""The numbers beside the list are the numbers of the list."""

from __future__ import annotations

import json
from datetime import UTC, datetime
from pathlib import Path

import pytest

from memtui.insight.statistics import Statistics, order_counts
from memtui.library import Library
from memtui.query import parse_query
from tests.tui.stage import FACTS, NOW, write_store


@pytest.fixture
def library(tmp_path: Path) -> Library:
    """The small store of `FACTS`: ten facts, one of them superseded."""
    opened = Library.open([write_store(tmp_path)], cache=None, now=lambda: NOW)
    opened.load()
    opened.index()
    return opened


def count_found(library: Library, line: str) -> Statistics:
    return library.statistics(library.find(parse_query(line, NOW)))


def test_counts_and_their_order(library: Library) -> None:
    numbers = count_found(library, "status:all")
    facts = [fact for items in FACTS.values() for fact in items]
    assert numbers.total == len(facts)
    assert numbers.type["decision"] == 2
    assert list(numbers.type.values()) == sorted(numbers.type.values(), reverse=True)
    assert numbers.status == {"active": len(facts) - 1, "superseded": 1}
    assert numbers.kind == {"fact": len(facts)}
    assert sum(numbers.entity.values()) == len(facts)
    assert (numbers.pinned, numbers.undated) == (0, 0)
    assert numbers.bytes > 0


def test_they_count_what_the_query_finds(library: Library) -> None:
    numbers = count_found(library, "type:decision")
    assert (numbers.total, dict(numbers.type)) == (2, {"decision": 2})
    assert numbers.oldest == datetime(2026, 2, 14, 9, tzinfo=UTC)
    assert numbers.newest == datetime(2026, 11, 20, 9, tzinfo=UTC)


def test_nothing_counts_as_nothing(library: Library) -> None:
    numbers = count_found(library, "zebra")
    assert (numbers.total, numbers.oldest, dict(numbers.type)) == (0, None, {})


def test_values_are_ordered_by_meaning_or_count() -> None:
    counts = order_counts(
        {"importance": {"low": 1, "high": 2, "medium": 0}, "type": {"a": 1, "b": 3}}
    )
    assert list(counts["importance"]) == ["high", "low"]
    assert list(counts["type"]) == ["b", "a"]


def test_the_record_is_json(library: Library) -> None:
    record = json.loads(json.dumps(count_found(library, "type:decision").as_record()))
    assert record["oldest"] == "2026-02-14T09:00:00Z"
    assert record["type"] == {"decision": 2}
    assert set(record["disk"]) == {store.label for store in library.stores}
