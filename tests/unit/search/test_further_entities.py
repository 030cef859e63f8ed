"""A memory that stands under several entities is found under each, and counted once."""

from __future__ import annotations

import random
from collections import Counter
from datetime import UTC, datetime
from pathlib import Path

import pytest

from memtui.insight.statistics import list_branches
from memtui.library import Library
from memtui.model import Memory
from memtui.query import entity_matches, parse_query
from memtui.search import aggregates, columns, filters
from tests.unit.stores.json_stores.programs import AmbientProgram

NOW = datetime(2026, 11, 20, tzinfo=UTC)
PATHS = ("shop", "shop/main", "shop/feat/auth", "shop/feat/pay", "other/a", "other/b", "")
UNFOLDED = frozenset({"shop", "shop/feat", "other"})


def _entities(memory: Memory) -> tuple[str, ...]:
    return (memory.entity, *memory.also_entities)


def _memories(seed: int, count: int = 60) -> list[Memory]:
    draw = random.Random(seed)
    made = []
    for number in range(count):
        entity, *also = draw.sample(PATHS, k=draw.choice((1, 1, 2, 3)))
        status = draw.choice(("active", "active", "retired"))
        made.append(
            Memory(
                f"s:{number}",
                str(number),
                "s",
                "event",
                entity=entity,
                also_entities=tuple(also),
                status=status,
            )
        )
    return made


def _below(memory: Memory, path: str) -> bool:
    return any(e == path or e.startswith(f"{path}/") for e in _entities(memory))


@pytest.mark.parametrize("line", ["", "entity:shop", "entity:auth,other/a", "-entity:shop/main"])
@pytest.mark.parametrize("seed", range(6))
def test_it_is_found_under_each_and_each_line_of_the_tree_counts_it_once(
    line: str, seed: int
) -> None:
    made = _memories(seed)
    parts = [columns.build(made[:25]), columns.build(made[25:])]
    kept = [slot for slot in range(len(made)) if slot % 7]
    table = columns.take(columns.concat(parts), kept)
    made = [made[slot] for slot in kept]
    query = parse_query(line, NOW)
    active = [memory for memory in made if memory.status == "active"]
    found = [
        memory
        for memory in active
        if all(
            any(entity_matches(e, v) for e in _entities(memory) for v in part.values)
            != part.negated
            for part in query.conditions
        )
    ]
    among = filters.evaluate(table, query)
    slots = among.passing.nonzero()[0]
    assert [made[slot] for slot in slots.tolist()] == found
    counted = aggregates.count_facets(table, among, None)
    assert counted.entity == Counter(e for memory in active for e in _entities(memory))
    lines = list_branches(
        {path: count for path, count in counted.entity.items() if path},
        UNFOLDED,
        counted.entity_repeats,
    )
    assert {each.path: each.count for each in lines} == {
        each.path: sum(_below(memory, each.path) for memory in active) for each in lines
    }
    total = sum(counted.entity.values()) - sum(counted.entity_repeats.values())
    assert total == len(active)
    by_entity = aggregates.count_values(table, slots.tolist())["entity"]
    assert by_entity == Counter(e for memory in found for e in _entities(memory))


@pytest.mark.parametrize("start", ["cold", "warm"])
def test_a_branch_of_ambient_shows_its_high_events_too(tmp_path: Path, start: str) -> None:
    program = AmbientProgram(tmp_path / "home")
    both, low = program.event("Postgres for all"), program.event("try it", importance="low")
    program.project("a" * 16, "shop", both)
    program.branch("a" * 16, "main", both, low)
    program.branch("a" * 16, "feat/auth", both, folder="archived")

    def opened() -> Library:
        library = Library.open([program.root], cache=tmp_path / "cache", now=lambda: NOW)
        library.load()
        library.index()
        return library

    library = opened()
    if start == "warm":
        library = opened()

    def ids(line: str) -> set[str]:
        found = library.find(parse_query(line, NOW))
        return {library.snapshot.rows[slot].id for slot in found.slots}

    assert ids("entity:shop/main") == {both["id"], low["id"]}
    assert ids("entity:shop/feat/auth") == {both["id"]}
    assert ids("auth") == {both["id"]}
    assert ids("-entity:shop/main") == set()
    found = library.find(parse_query("", NOW))
    assert found.total == 2
    assert found.facets.entity == {"shop/main": 2, "shop": 1, "shop/feat/auth": 1}
    tree = list_branches(found.facets.entity, {"shop"}, found.facets.entity_repeats)
    assert [(line.path, line.count) for line in tree] == [
        ("shop", 2),
        ("shop/feat", 1),
        ("shop/main", 2),
    ]
    numbers = library.statistics(found)
    assert (numbers.total, numbers.entity["shop/main"]) == (2, 2)
    hidden = library.find(parse_query("entity:nothing", NOW))
    assert hidden.hint == "no memory has entity 'nothing'"
