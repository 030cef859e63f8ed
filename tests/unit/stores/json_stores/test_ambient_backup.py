"""Ambient's own backup is read whole or refused, and other stores' memories become events of it."""

from __future__ import annotations

import json
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from msgspec.structs import replace

from memtui.errors import BundleError
from memtui.model import Memory
from memtui.stores.ambient.backup import backup, dumps, read
from memtui.stores.format import ExportRequest

from .opened import NOW, NOW_MS, open_agent_memory, open_ambient
from .programs import START, AgentMemoryPrograms, AmbientProgram

SHOP, OTHER = "4d3a12e5f267cd60", "a" * 16


@pytest.fixture
def ambient(tmp_path: Path) -> AmbientProgram:
    return AmbientProgram(tmp_path / "home")


def test_a_backup_of_projects_with_several_branches_comes_back_whole(
    ambient: AmbientProgram,
) -> None:
    both = ambient.event("Postgres for everything")
    ambient.project(SHOP, "shop", both)
    ambient.branch(SHOP, "main", both, ambient.event("half done", importance="low"))
    ambient.branch(SHOP, "feat/x", ambient.event("tried", importance="medium"))
    ambient.project(OTHER, "other")
    opened = open_ambient(ambient.root)
    made = backup(ExportRequest(opened.memories, [opened.store], NOW, whole=True))
    came = read(json.loads(dumps(made.document, pretty=True)))
    assert came.whole
    files = {
        path.relative_to(ambient.root).as_posix(): path.read_bytes()
        for path in ambient.root.rglob("*.json")
    }
    assert {name: json.loads(text()) for name, text in came.files.items()} == {
        name: json.loads(data) for name, data in files.items()
    }
    assert sorted((m.id, m.entity, m.content) for m in came.memories) == sorted(
        (m.id, m.entity, m.content) for m in opened.memories
    )
    assert {m.origin.file for m in came.memories} <= files.keys()


EVENTS: dict[str, Any] = {"events": []}
GOOD: dict[str, Any] = {"project": EVENTS, "tasks": {"main": EVENTS}}


@pytest.mark.parametrize(
    ("document", "fault"),
    [
        ({"projects": {}}, "known version"),
        ({"version": 2, "projects": {}}, "known version"),
        ({"version": 1, "projects": []}, "known version"),
        ({"version": 1, "projects": {"../x": GOOD}}, "16 hex digits"),
        ({"version": 1, "projects": {SHOP: []}}, "16 hex digits"),
        ({"version": 1, "projects": {SHOP: {"tasks": {"": EVENTS}}}}, "file name"),
        ({"version": 1, "projects": {SHOP: {"tasks": {"a/b": EVENTS}}}}, "file name"),
        ({"version": 1, "projects": {SHOP: {"tasks": {".": EVENTS}}}}, "file name"),
        ({"version": 1, "projects": {SHOP: {"tasks": {"..": EVENTS}}}}, "file name"),
        ({"version": 1, "projects": {SHOP: {"tasks": {"main": []}}}}, "no events"),
        ({"version": 1, "projects": {SHOP: {"tasks": {"main": {}}}}}, "no events"),
        ({"version": 1, "projects": {SHOP: {"project": {"events": {}}}}}, "no events"),
    ],
)
def test_a_document_that_is_no_backup_is_refused(document: dict[str, Any], fault: str) -> None:
    with pytest.raises(BundleError, match=fault):
        read(document)


def test_a_project_may_lack_its_head_or_its_branches() -> None:
    came = read(
        {"version": 1, "projects": {SHOP: {"project": None, "tasks": {}}, OTHER: {"tasks": None}}}
    )
    assert came.files == {}
    came = read({"version": 1, "projects": {SHOP: {"tasks": {"main": EVENTS, "b": EVENTS}}}})
    assert sorted(came.files) == [f"projects/{SHOP}/tasks/{name}.json" for name in ("b", "main")]


@pytest.fixture
def fact(tmp_path: Path) -> Memory:
    programs = AgentMemoryPrograms(tmp_path / "work")
    programs.add_fact("alice", "person", "Alice leads")
    (memory,) = (m for m in open_agent_memory(programs.home).memories if m.kind == "fact")
    return memory


def test_memories_of_another_store_become_events_of_one_project(fact: Memory) -> None:
    start = NOW - timedelta(days=2)
    memories = [
        replace(fact, id="1", entity="shop/x", title="T", type="policy", created=NOW, updated=NOW),
        replace(fact, id="2", entity="shop", title="", created=start, updated=NOW),
        replace(fact, id="3", entity="shop", title="", created=None, updated=start),
        replace(fact, id="4", entity="", created=None, updated=None),
    ]
    made = backup(ExportRequest(memories, [], NOW))
    shop, other = made.document["projects"].values()
    assert (made.cut, made.left_out) == (0, {})
    assert shop["project"]["projectName"] == "shop"
    assert other["project"]["projectName"] == fact.store
    two_days_before = NOW_MS - 2 * 86_400_000
    for holder in (shop["project"], shop["tasks"]["main"]):
        assert (holder["createdAt"], holder["lastActive"]) == (two_days_before, NOW_MS)
    assert shop["project"]["events"] == []
    events = shop["tasks"]["main"]["events"]
    assert [event["content"] for event in events] == ["T: Alice leads", *["Alice leads"] * 2]
    assert [event["timestamp"] for event in events] == [NOW_MS, two_days_before, two_days_before]
    assert events[0]["type"] == "decision"
    assert events[0]["metadata"] == {"source": fact.ref, "entity": "shop/x", "type": "policy"}
    assert [event["timestamp"] for event in other["tasks"]["main"]["events"]] == [0]


def test_texts_longer_than_ambient_keeps_are_counted(fact: Memory) -> None:
    long = replace(fact, content="word " * 5000)
    made = backup(ExportRequest([long, replace(long, id="other"), fact], [], NOW))
    assert made.cut == 2


def test_the_pretty_form_is_indented_and_ends_with_a_newline() -> None:
    assert dumps({"version": 1, "a": []}, pretty=False) == '{"version":1,"a":[]}\n'
    assert dumps({"version": 1}, pretty=True) == '{\n  "version": 1\n}\n'


def test_a_project_that_two_stores_hold_has_each_event_once(tmp_path: Path) -> None:
    stores = []
    memories: list[Memory] = []
    for name in ("one", "two"):
        program = AmbientProgram(tmp_path / name)
        shared = program.event("in both")
        own = program.event(f"of {name}", id=name)
        program.project(SHOP, "shop", shared, own)
        program.branch(SHOP, "main", shared, own)
        opened = open_ambient(program.root)
        stores.append(opened.store)
        memories += opened.memories
    stores[1].label = "second"
    memories = [replace(m, store="second") if m.id == "two" else m for m in memories]
    made = backup(ExportRequest(memories, stores, NOW, whole=True))
    project = made.document["projects"][SHOP]
    for holder in (project["project"], project["tasks"]["main"]):
        assert [event["content"] for event in holder["events"]] == ["in both", "of one", "of two"]


def test_a_project_without_its_head_gets_one_that_is_named_by_its_key(
    ambient: AmbientProgram,
) -> None:
    path = ambient.branch(SHOP, "main", ambient.event("alone"))
    opened = open_ambient(ambient.root)
    made = backup(ExportRequest(opened.memories, [opened.store], NOW, every=True))
    head = made.document["projects"][SHOP]["project"]
    active = ambient.load(path)["lastActive"]
    assert head["projectName"] == SHOP[:8]
    assert (head["createdAt"], head["lastActive"], head["events"]) == (START, active, [])
