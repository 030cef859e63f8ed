"""Memories that come from elsewhere with an id arrive whole, and never push out what is there."""

from __future__ import annotations

from pathlib import Path

import pytest
from msgspec import structs
from msgspec.structs import replace

from memtui.changes import Act, Outcome
from memtui.errors import Refused
from memtui.model import Link, Memory

from .opened import Opened, files_below, open_agent_memory, open_ambient
from .programs import AgentMemoryPrograms, AmbientProgram

SHOP = "4d3a12e5f267cd60"


def brought(memory: Memory, into: Opened, **other: object) -> Outcome:
    """Add a memory to another store with all it says."""
    said = structs.asdict(memory)
    return into.do(Act.ADD, **{**said, **other}).outcome


def bare(memory: Memory) -> Memory:
    """The memory without where it lies."""
    nowhere = replace(memory, origin=memory.origin.__class__(""), also=())
    return replace(nowhere, extra={k: v for k, v in memory.extra.items() if k != "expires"})


@pytest.fixture
def facts(tmp_path: Path) -> AgentMemoryPrograms:
    programs = AgentMemoryPrograms(tmp_path / "a" / "work")
    old = programs.add_fact(
        "alice", "person", "A works at Acme", sourceRef="s-1", status="historical"
    )
    programs.add_edge("alice", "person", "A works at NewCorp", "works_at", "newcorp")
    programs.add_fact("alice", "person", "A works at NewCorp as CTO", supersedes=old, mood="calm")
    summary = programs.items("alice").with_name("summary.md")
    summary.write_bytes(b"\xef\xbb\xbf# Alice\r\n\r\n**Type:** person\r\n")
    programs.daily("2026-11-18", "# Tuesday\n")
    (programs.workspace / "MEMORY.md").write_text("# How you work\n")
    return programs


def test_an_agent_memory_store_arrives_byte_for_byte(
    facts: AgentMemoryPrograms, tmp_path: Path
) -> None:
    source = open_agent_memory(facts.home)
    empty = AgentMemoryPrograms(tmp_path / "b" / "work")
    target = open_agent_memory(empty.home)
    for memory in source.memories:
        assert brought(memory, target) is Outcome.ADDED
    assert files_below(empty.workspace) == files_below(facts.workspace)
    for memory in source.memories:
        assert brought(memory, target) is Outcome.DEDUPE


def test_pins_tags_and_links_of_a_fact_come_along(
    facts: AgentMemoryPrograms, tmp_path: Path
) -> None:
    source = open_agent_memory(facts.home)
    fact = next(memory for memory in source.memories if memory.links)
    source.do(Act.PIN, fact.id)
    source.do(Act.TAG, fact.id, tags=["work"])
    source.do(Act.LINK, fact.id, relation="see", target="other")
    source.do(Act.RATE, fact.id, rating=5)
    target = open_agent_memory(AgentMemoryPrograms(tmp_path / "b" / "work").home)
    brought(source.by_id(fact.id), target)
    assert bare(target.by_id(fact.id)) == bare(source.by_id(fact.id))


def test_a_link_that_came_with_any_relation_can_be_removed(facts: AgentMemoryPrograms) -> None:
    target = open_agent_memory(facts.home)
    fact = next(memory for memory in target.memories if memory.kind == "fact")
    came = replace(fact, id="came", links=(Link("Is Part Of", "atlas"),))
    assert brought(came, target) is Outcome.ADDED
    assert target.by_id("came").links == came.links
    target.do(Act.UNLINK, "came", relation="Is Part Of", target="atlas")
    assert target.by_id("came").links == ()


def test_what_comes_supersedes_nothing(facts: AgentMemoryPrograms, tmp_path: Path) -> None:
    other = AgentMemoryPrograms(tmp_path / "b" / "work")
    there = other.add_fact("alice", "person", "A works at Somewhere Else", id="there")
    target = open_agent_memory(other.home)
    for memory in open_agent_memory(facts.home).memories:
        brought(memory, target)
    assert target.by_id(there).status == "active"


@pytest.mark.parametrize("id", ["../x.md", "notes.md", "entities/../summary.md", "a/b/c"])
def test_a_note_of_no_known_place_is_refused(facts: AgentMemoryPrograms, id: str) -> None:
    target = open_agent_memory(facts.home)
    with pytest.raises(Refused):
        target.plan(Act.ADD, kind="note", content="text", **{"id": id})


def test_an_ambient_store_arrives_with_every_copy(tmp_path: Path) -> None:
    ambient = AmbientProgram(tmp_path / "a" / "home")
    high = ambient.event("Postgres \ud83d for everything", metadata={"file": "a.ts"}, mood="calm")
    low = ambient.event("x was installed", importance="low", type="task-update")
    old = ambient.event("done long ago")
    ambient.project(SHOP, "shop", high)
    ambient.branch(SHOP, "feat/x", high, low)
    ambient.branch(SHOP, "gone", old, folder="archived")
    source = open_ambient(ambient.root)
    retired = ambient.event("to be retired")
    ambient.project("013b1d8a56ed1609", "notes", retired)
    source.reload()
    source.do(Act.RETIRE, retired["id"])
    empty = AmbientProgram(tmp_path / "b" / "home")
    target = open_ambient(empty.root)
    for memory in source.memories:
        assert brought(memory, target) is Outcome.ADDED
    for path in (ambient.root / "projects" / SHOP).rglob("*.json"):
        arrived = empty.root / path.relative_to(ambient.root)
        assert empty.load(arrived)["events"] == ambient.load(path)["events"]
        assert list(empty.load(arrived)) == list(ambient.load(path))
    assert {m.id: bare(m).content for m in target.memories} == {
        m.id: bare(m).content for m in source.memories
    }
    assert target.by_id(retired["id"]).status == "retired"
    for memory in source.memories:
        assert brought(memory, target) is Outcome.DEDUPE


def test_copies_that_differ_arrive_each_with_its_own_text(tmp_path: Path) -> None:
    ambient = AmbientProgram(tmp_path / "a" / "home")
    event = ambient.event("Use Postgres for everything", metadata={"file": "a.ts"})
    former = {key: value for key, value in event.items() if key != "metadata"}
    former["content"] = "Use SQLite for everything"
    ambient.project(SHOP, "shop", event)
    ambient.branch(SHOP, "main", event)
    ambient.branch(SHOP, "feat/x", former)
    source = open_ambient(ambient.root)
    empty = AmbientProgram(tmp_path / "b" / "home")
    target = open_ambient(empty.root)
    assert brought(source.by_id(event["id"]), target) is Outcome.ADDED
    for path in (ambient.root / "projects" / SHOP).rglob("*.json"):
        arrived = empty.root / path.relative_to(ambient.root)
        assert empty.load(arrived)["events"] == ambient.load(path)["events"]
    (said,) = target.by_id(event["id"]).extra["differs"]
    assert said["content"] == former["content"]
