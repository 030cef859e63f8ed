"""Memories that come from elsewhere with an id: an import, a copy, a move between stores."""

from __future__ import annotations

import json
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
from msgspec import structs

from memtui.changes import Act, Change, Edit, Outcome, invert_edits
from memtui.errors import Refused
from memtui.model import CURRENT, Memory
from memtui.stores.engram.importing import convert
from memtui.stores.engram.store import EngramStore
from tests.unit.stores.engram.invented import export_of

from .invented import DDL, SCHEMAS, Seen, Told, build, connect, everything, open_store, sql


def empty(folder: Path, schema: str) -> EngramStore:
    folder.mkdir()
    with closing(connect(folder)) as connection:
        connection.executescript(DDL[schema])
    return open_store(folder)


def arriving(memory: Memory) -> Change:
    """As the library brings a memory from elsewhere: with all its fields."""
    held = structs.asdict(memory)
    return Change(Act.ADD, "bells", "", held)


def contents(store: EngramStore) -> dict[str, Any]:
    data: dict[str, Any] = json.loads(export_of(store))
    for name in ("observations", "prompts"):
        for row in data[name]:
            del row["id"]
    data["sessions"] = [row for row in data["sessions"] if row.get("summary")]
    for row in data["sessions"]:  # July does not say whose a session is, v3 takes it for shared
        row.pop("ownership_mode", None)
    return data


@pytest.mark.parametrize("into", SCHEMAS)
@pytest.mark.parametrize("schema", SCHEMAS)
def test_memories_arrive_with_all_that_their_rows_hold(
    tmp_path: Path, schema: str, into: str
) -> None:
    source = open_store(build(tmp_path / "from", schema))
    target = empty(tmp_path / "to", into)
    edits: list[Edit] = []
    for memory in everything(source).held.values():
        edits += target.plan(arriving(memory), Seen({})).edits
    target.apply(edits, Told())
    assert contents(target) == contents(source)
    assert sql(tmp_path / "to", "PRAGMA integrity_check") == [("ok",)]
    target.apply(invert_edits(tuple(edits)), Told())
    assert everything(target).held == {}


def test_what_is_there_is_left_alone(tmp_path: Path) -> None:
    folder = build(tmp_path / "from", "july")
    store = open_store(folder)
    for memory in everything(store).held.values():
        plan = store.plan(arriving(memory), Seen({}))
        assert plan.outcome is Outcome.DEDUPE
        assert plan.edits == ()


def test_no_rule_of_saving_is_asked(tmp_path: Path) -> None:
    """The same topic key, and the same text a minute later, are not merged on import."""
    store = empty(tmp_path / "to", "july")
    for number in (1, 2):
        extra = {"sync_id": f"obs-{number}", "project": "belfry", "topic_key": "decision/stays"}
        change = Change(
            Act.ADD, "bells", "", {"id": str(number), "content": "Same", "extra": extra}
        )
        store.apply(store.plan(change, Seen({})).edits, Told())
    assert sql(tmp_path / "to", "SELECT count(*) FROM observations") == [(2,)]


def test_a_memory_of_another_format_arrives_once_and_keeps_its_time(tmp_path: Path) -> None:
    store = empty(tmp_path / "to", "v3")
    change = Change(
        Act.ADD,
        "bells",
        "",
        {
            "id": "notes:0f6f",
            "content": "Likes tea\nstrong",
            "type": "person",
            "entity": "people/alice",
            "created": "2026-03-01T10:00:00Z",
        },
    )
    plan = store.plan(change, Seen({}))
    store.apply(plan.edits, Told())
    (memory,) = everything(store).held.values()
    assert memory.created is not None
    assert (memory.entity, memory.title, memory.created.isoformat()) == (
        "people/alice",
        "Likes tea",
        "2026-03-01T10:00:00+00:00",
    )
    assert store.plan(change, Seen({})).outcome is Outcome.DEDUPE


def test_half_a_character_does_not_arrive(tmp_path: Path) -> None:
    store = empty(tmp_path / "to", "july")
    with pytest.raises(Refused, match="half a character"):
        store.plan(
            Change(Act.ADD, "bells", "", {"id": "x", "content": "\ud83d", "entity": "belfry"}),
            Seen({}),
        )


@pytest.mark.parametrize("status", ["retired", "deleted", "superseded", "active", "proposed"])
def test_what_was_retired_elsewhere_does_not_become_current(tmp_path: Path, status: str) -> None:
    """Also where nothing says when: not every format keeps times."""
    memory = Memory(ref="x:1", id="1", store="x", kind="fact", content="rye", status=status)
    store = empty(tmp_path / "to", "july")
    change = Change(Act.ADD, "bells", "", dict(convert(memory).fields))
    store.apply(store.plan(change, Seen({})).edits, Told())
    (came,) = everything(store).held.values()
    assert came.status == ("active" if status in CURRENT else "deleted")


def test_former_versions_are_said_to_stay_behind(tmp_path: Path) -> None:
    source = everything(open_store(build(tmp_path / "from", "v3")))
    store = empty(tmp_path / "to", "v3")
    said = {id: store.plan(arriving(source.get(f"bells:{id}")), Seen({})).warnings for id in "12"}
    assert said == {"1": (), "2": ("former versions are not carried along",)}
