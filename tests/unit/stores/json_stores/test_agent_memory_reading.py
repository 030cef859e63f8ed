"""Reading agent-memory: every fact and note once, with where it stands, whatever its neighbours."""

from __future__ import annotations

import os
from datetime import UTC, datetime
from pathlib import Path

import pytest

from memtui.model import Link
from memtui.stores.agent_memory import FORMAT

from .opened import open_agent_memory
from .programs import AgentMemoryPrograms


@pytest.fixture
def programs(tmp_path: Path) -> AgentMemoryPrograms:
    return AgentMemoryPrograms(tmp_path / "work")


@pytest.mark.parametrize("below", ["", "memory", "memory/entities"])
def test_the_store_is_found_from_the_workspace_and_from_within(
    programs: AgentMemoryPrograms, below: str
) -> None:
    assert FORMAT.detect(programs.workspace / below) == programs.home


def test_a_folder_that_only_has_entities_of_something_else_is_no_store(tmp_path: Path) -> None:
    (tmp_path / "src" / "entities").mkdir(parents=True)
    (tmp_path / "src" / "entities" / "user.py").write_text("class User: ...\n")
    assert FORMAT.detect(tmp_path / "src") is None


def test_a_fact_says_all_that_its_record_says(programs: AgentMemoryPrograms) -> None:
    id = programs.add_fact(
        "alice", "person", "Alice lives in Lisbon", "meeting", sourceRef="mtg-1", mood="happy"
    )
    fact = open_agent_memory(programs.home).by_id(id)
    assert (fact.kind, fact.type, fact.entity) == ("fact", "person", "people/alice")
    assert fact.content == "Alice lives in Lisbon"
    assert fact.created == datetime(2026, 3, 2, 9, 10, tzinfo=UTC)
    assert fact.source == "meeting mtg-1"
    assert fact.extra["mood"] == "happy"
    assert fact.extra["createdAt"] == "2026-03-02T09:10:00Z"
    assert (fact.origin.file, fact.origin.line) == (str(programs.items("alice")), 2)


@pytest.mark.parametrize(
    ("kind", "path"),
    [
        ("person", "people/x"),
        ("company", "companies/x"),
        ("project", "projects/x"),
        ("organization", "organizations/x"),
        ("boat", "boat/x"),
        ("", "untyped/x"),
    ],
)
def test_the_entity_is_the_plural_of_its_type(
    programs: AgentMemoryPrograms, kind: str, path: str
) -> None:
    id = programs.add_fact("x", kind, "a fact about x that is long enough")
    assert open_agent_memory(programs.home).by_id(id).entity == path


def test_one_folder_is_one_entity_though_its_facts_differ_in_type(
    programs: AgentMemoryPrograms,
) -> None:
    programs.add_fact("atlas", "project", "Atlas is a ledger of bells")
    programs.add_fact("atlas", "company", "Atlas was bought by somebody")
    found = open_agent_memory(programs.home).memories
    assert [(fact.type, fact.entity) for fact in found] == [
        ("project", "projects/atlas"),
        ("company", "projects/atlas"),
    ]


def test_historical_is_superseded_with_a_successor_and_retired_without(
    programs: AgentMemoryPrograms,
) -> None:
    old = programs.add_fact("a", "person", "A works at Acme Corp", status="historical")
    new = programs.add_fact("a", "person", "A works at NewCorp", supersedes=old)
    alone = programs.add_fact("a", "person", "A had a red bicycle", status="historical")
    odd = programs.add_fact("a", "person", "A has an odd status", status="frozen")
    opened = open_agent_memory(programs.home)
    assert opened.in_state() == {old: "superseded", new: "active", alone: "retired", odd: "active"}
    assert opened.by_id(old).superseded_by == (new,)
    assert opened.by_id(new).supersedes == (old,)
    assert opened.by_id(odd).extra["status"] == "frozen"


def test_importance_follows_the_stated_rule(programs: AgentMemoryPrograms) -> None:
    edge = programs.add_edge("a", "person", "A works at Acme", "works_at", "acme")
    manual = programs.add_fact("a", "person", "A was written by hand", "manual")
    plain = programs.add_fact("a", "person", "A was overheard somewhere")
    old = programs.add_fact("a", "person", "A was written long ago", "manual", status="historical")
    opened = open_agent_memory(programs.home)
    found = [opened.by_id(id).importance for id in (edge, manual, plain, old)]
    assert found == ["high", "high", "medium", "low"]


def test_an_edge_is_a_link_and_null_is_none(programs: AgentMemoryPrograms) -> None:
    edge = programs.add_edge("a", "person", "A works at Acme", "works_at", "no-such-folder")
    null = programs.add_fact("a", "person", "A has an edge that is null", edge=None)
    broken = programs.add_fact("a", "person", "A has an edge without end", edge={"subject": "a"})
    opened = open_agent_memory(programs.home)
    assert opened.by_id(edge).links == (Link("works_at", "no-such-folder"),)
    assert opened.by_id(edge).extra["edge"]["subject"] == "a"
    assert opened.by_id(null).links == ()
    assert "edge" not in opened.by_id(null).extra
    assert opened.by_id(broken).links == ()


def test_supersedes_may_name_nothing_there_is(programs: AgentMemoryPrograms) -> None:
    text = programs.add_fact("a", "person", "A has a cut line", supersedes="email is a@b.c")
    number = programs.add_fact("a", "person", "A has a number there", supersedes=7)
    opened = open_agent_memory(programs.home)
    assert opened.by_id(text).supersedes == ("email is a@b.c",)
    assert opened.by_id(number).supersedes == ()
    assert opened.by_id(number).extra["supersedes"] == 7


def test_notes_of_all_three_kinds(programs: AgentMemoryPrograms) -> None:
    programs.add_fact("alice", "person", "Alice speaks Portuguese")
    summary = programs.items("alice").with_name("summary.md")
    summary.write_text("# Alice\n\n**Type:** person\n**Last updated:** 2026-11-15\n\n## Current\n")
    programs.daily("2026-11-18", "# Tuesday\n\nrang the bells\n")
    programs.daily("2026-11-19", "no heading here\n")
    (programs.workspace / "MEMORY.md").write_text("# How you work\n")
    opened = open_agent_memory(programs.home)
    notes = {note.id: note for note in opened.memories if note.kind == "note"}
    alice = notes["entities/alice/summary.md"]
    assert (alice.type, alice.title, alice.entity) == ("summary", "Alice", "people/alice")
    assert alice.updated == datetime(2026, 11, 15, tzinfo=UTC)
    tuesday, plain = notes["2026-11-18.md"], notes["2026-11-19.md"]
    assert (tuesday.type, tuesday.title, tuesday.entity) == ("daily", "Tuesday", "notes")
    assert tuesday.created == datetime(2026, 11, 18, tzinfo=UTC)
    assert plain.title == "2026-11-19"
    assert (notes["MEMORY.md"].type, notes["MEMORY.md"].title) == ("tacit", "How you work")


def test_an_entity_with_a_summary_only_has_the_type_it_states(
    programs: AgentMemoryPrograms,
) -> None:
    folder = programs.home / "entities" / "acme"
    folder.mkdir()
    (folder / "summary.md").write_text("# Acme\n\n**Type:** company\n")
    assert open_agent_memory(programs.home).memories[0].entity == "companies/acme"


def test_the_stale_index_is_not_believed(programs: AgentMemoryPrograms) -> None:
    programs.add_fact("alice", "person", "Alice speaks Portuguese")
    index = programs.home / "entities" / "index.json"
    index.write_text('[{"slug": "ghost", "type": "person"}]')
    assert [m.entity for m in open_agent_memory(programs.home).memories] == ["people/alice"]


def test_a_byte_order_mark_crlf_and_stray_bytes_are_read(programs: AgentMemoryPrograms) -> None:
    id = programs.add_fact("alice", "person", "Alice has a café")
    path = programs.items("alice")
    data = path.read_bytes().replace("é".encode(), b"\xe9").replace(b"\n", b"\r\n")
    path.write_bytes(b"\xef\xbb\xbf" + data)
    programs.daily("2026-11-18", "").write_bytes(b"\xef\xbb\xbf# Day\r\n\r\ntext\r\n")
    opened = open_agent_memory(programs.home)
    assert opened.unreadable == []
    assert opened.by_id(id).content == "Alice has a caf\udce9"
    note = opened.by_id("2026-11-18.md")
    assert (note.title, note.content) == ("Day", "# Day\n\ntext\n")
    assert note.extra == {"byte_order_mark": True, "line_endings": "crlf"}


def _truncate(path: Path) -> None:
    path.write_bytes(path.read_bytes()[:-40])


def _fifo(path: Path) -> None:
    path.unlink()
    os.mkfifo(path)


def _folder(path: Path) -> None:
    path.unlink()
    path.mkdir()


def _link_out(path: Path) -> None:
    outside = path.parents[4] / "outside.json"
    outside.write_text("[]")
    path.unlink()
    path.symlink_to(outside)


@pytest.mark.parametrize(
    ("harm", "reason"),
    [
        (lambda path: path.write_bytes(b""), "the file is empty (0 bytes)"),
        (_truncate, "not valid JSON at line 9"),
        (lambda path: path.write_text('["a\n'), "column 4: Invalid control character"),
        (lambda path: path.write_text("{}"), "no list"),
        (lambda path: path.write_text("[] []"), "not valid JSON at line 1, column 4"),
        (lambda path: path.write_bytes(b"\0" * 50), "NUL"),
        (lambda path: path.write_text("[" * 99_999), "nested too deeply"),
        (_fifo, "pipe"),
        (_folder, "folder"),
        (_link_out, "outside"),
    ],
)
def test_a_file_that_cannot_be_read_is_named_and_stops_nothing(
    programs: AgentMemoryPrograms, harm: object, reason: str
) -> None:
    programs.add_fact("bad", "person", "this fact will be lost to harm")
    good = programs.add_fact("good", "person", "this fact stays as it is")
    harm(programs.items("bad"))  # type: ignore[operator]
    opened = open_agent_memory(programs.home)
    assert [memory.id for memory in opened.memories] == [good]
    assert [fault.file for fault in opened.unreadable] == [str(programs.items("bad"))]
    assert reason in opened.unreadable[0].reason
    assert not opened.unreadable[0].reason.endswith(" at")


def test_one_bad_record_of_many_is_named_and_the_others_shown(
    programs: AgentMemoryPrograms,
) -> None:
    good = programs.add_fact("a", "person", "a fact with an id of its own")
    other = {"content": "a fact without an id"}
    programs.write("a", [programs.facts("a")[0], "no object", other, None])  # type: ignore[list-item]
    opened = open_agent_memory(programs.home)
    assert len(opened.memories) == 2
    assert opened.by_id(good).content == "a fact with an id of its own"
    unnamed = opened.memories[1]
    assert unnamed.extra["unaddressable"] == "it has no id"
    assert [fault.reason.split(" at ")[0] for fault in opened.unreadable] == [
        "record [1]",
        "record [2]",
        "record [3]",
    ]
    assert open_agent_memory(programs.home).memories[1].id == unnamed.id


def test_two_facts_with_one_id_are_both_shown(programs: AgentMemoryPrograms) -> None:
    id = programs.add_fact("a", "person", "the first fact with this id")
    programs.add_fact("a", "person", "the second fact with this id", id=id)
    opened = open_agent_memory(programs.home)
    assert [memory.id for memory in opened.memories] == [id, f"{id}#2"]
    assert all("more than once" in m.extra["unaddressable"] for m in opened.memories)


def test_only_what_changed_is_worth_reading_again(programs: AgentMemoryPrograms) -> None:
    programs.add_fact("a", "person", "the first fact of an entity")
    programs.add_fact("b", "person", "the first fact of another")
    store = open_agent_memory(programs.home).store
    before = {shard.key: shard.stamp for shard in store.scan().shards}
    programs.add_fact("b", "person", "the second fact of another")
    after = {shard.key: shard.stamp for shard in store.scan().shards}
    assert before["entities/a"] == after["entities/a"]
    assert before["entities/b"] != after["entities/b"]


def test_hidden_folders_and_links_out_of_the_store_are_no_entities(
    programs: AgentMemoryPrograms, tmp_path: Path
) -> None:
    programs.add_fact("alice", "person", "Alice lives in Lisbon", "meeting")
    entities = programs.home / "entities"
    (entities / "alice").rename(tmp_path / "alice")
    programs.add_fact("bob", "person", "Bob lives in Porto, by the river", "meeting")
    programs.add_fact(".draft", "person", "Nobody lives in Porto, by the river", "meeting")
    (entities / "alice").symlink_to(tmp_path / "alice")
    opened = open_agent_memory(programs.home)
    assert [each.entity for each in opened.memories] == ["people/bob"]
    (fault,) = opened.unreadable
    assert fault.file == str(entities / "alice")
