"""What nothing has used for ninety days is pointed out, only where uses are counted."""

from __future__ import annotations

from datetime import datetime, timedelta

import pytest

from memtui.model import Memory
from memtui.upkeep.proposals import Proposal, UpkeepContext
from memtui.upkeep.staleness import propose_unused

from .labelled_findings import NOW

LONG_AGO, LATELY = NOW - timedelta(days=120), NOW - timedelta(days=20)


def memory(id: str, **fields: object) -> Memory:
    values = {"ref": f"s:{id}", "id": id, "store": "s", "kind": "fact", "content": f"Fact {id}."}
    return Memory(**{**values, "created": LONG_AGO, **fields})  # type: ignore[arg-type]


def found(uses: dict[str, datetime | None], *memories: Memory) -> list[Proposal]:
    return list(propose_unused(memories, uses, UpkeepContext(NOW)))


def test_the_unused_of_a_store_are_one_hint() -> None:
    (one,) = found({"s:1": LONG_AGO}, *map(memory, "123"))
    assert one.refs == ("s:2", "s:3")
    assert one.title == "2 memories of s were never used in 90 days"
    assert one.is_housekeeping


@pytest.mark.parametrize(
    ("uses", "fields"),
    [
        ({}, {}),
        ({"s:1": LATELY}, {}),
        ({"s:1": None}, {}),
        ({"s:1": LONG_AGO, "s:2": LATELY}, {}),
        ({"s:1": LONG_AGO}, {"created": LATELY}),
        ({"s:1": LONG_AGO}, {"created": None}),
        ({"s:1": LONG_AGO}, {"pinned": True}),
        ({"s:1": LONG_AGO}, {"status": "retired"}),
        ({"s:1": LONG_AGO}, {"store": "other"}),
    ],
    ids=[
        "nothing is counted",
        "counted since lately",
        "counted since an unknown time",
        "used",
        "new",
        "without a date",
        "pinned",
        "retired",
        "another store",
    ],
)
def test_what_may_have_been_used_is_not_named(
    uses: dict[str, datetime | None], fields: dict[str, object]
) -> None:
    assert found(uses, memory("1"), memory("2", **fields)) == []
