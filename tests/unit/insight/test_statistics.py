"""The numbers beside the list are the numbers of the list."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from operator import attrgetter

from memtui.insight.statistics import COUNTED, Statistics, order_counts
from memtui.model import Memory


def memory(number: int, **fields: object) -> Memory:
    values = {"store": "tea", "kind": "fact", **fields}
    return Memory(ref=f"tea:{number}", id=str(number), **values)  # type: ignore[arg-type]


MEMORIES = [
    memory(1, type="policy", importance="low", entity="people/ann", pinned=True),
    memory(2, type="decision", importance="high", created=datetime(2026, 3, 1, tzinfo=UTC)),
    memory(3, type="decision", status="superseded", created=datetime(2026, 1, 1, tzinfo=UTC)),
    memory(
        4,
        store="coffee",
        kind="note",
        created=datetime(2025, 1, 1, tzinfo=UTC),
        updated=datetime(2026, 9, 1, tzinfo=UTC),
    ),
]


def count_memories(memories: Sequence[Memory], disk: Mapping[str, int] | None = None) -> Statistics:
    counts = {name: Counter(map(attrgetter(name), memories)) for name in COUNTED}
    times = [memory.when for memory in memories if memory.when is not None]
    return Statistics(
        **order_counts(counts),
        total=len(memories),
        pinned=sum(memory.pinned for memory in memories),
        oldest=min(times, default=None),
        newest=max(times, default=None),
        undated=len(memories) - len(times),
        disk=disk or {},
    )


def test_counts_and_their_order() -> None:
    numbers = count_memories(MEMORIES, {"tea": 100, "coffee": 50})
    assert numbers.total == 4
    assert list(numbers.type.items()) == [("decision", 2), ("", 1), ("policy", 1)]
    assert list(numbers.importance.items()) == [("high", 1), ("medium", 2), ("low", 1)]
    assert list(numbers.status.items()) == [("active", 3), ("superseded", 1)]
    assert numbers.kind == {"fact": 3, "note": 1}
    assert numbers.store == {"tea": 3, "coffee": 1}
    assert numbers.entity == {"": 3, "people/ann": 1}
    assert (numbers.pinned, numbers.undated, numbers.bytes) == (1, 1, 150)


def test_oldest_and_newest_go_by_the_last_change() -> None:
    numbers = count_memories(MEMORIES)
    assert numbers.oldest == datetime(2026, 1, 1, tzinfo=UTC)
    assert numbers.newest == datetime(2026, 9, 1, tzinfo=UTC)


def test_nothing_counts_as_nothing() -> None:
    assert count_memories([]) == Statistics()


def test_counts_made_elsewhere_are_put_in_the_same_order() -> None:
    counts = order_counts(
        {"importance": {"low": 1, "high": 2, "medium": 0}, "type": {"a": 1, "b": 3}}
    )
    assert list(counts["importance"]) == ["high", "low"]
    assert list(counts["type"]) == ["b", "a"]


def test_the_record_is_json() -> None:
    record = json.loads(json.dumps(count_memories(MEMORIES, {"tea": 1}).as_record()))
    assert record["oldest"] == "2026-01-01T00:00:00Z"
    assert record["type"]["decision"] == 2
    assert record["disk"] == {"tea": 1}
