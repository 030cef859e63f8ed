"""What MCP's own server read of memtui's changes, and what memtui keeps when the server writes.

`server_memory_2026_8_31.json` records a run of the released server beside memtui: the file before,
memtui's changes, what the server's tools answered, and the file that the server wrote.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from memtui.changes import Act, Change
from memtui.errors import Conflict, Refused
from memtui.library import Library
from memtui.model import Memory

RECORDED: dict[str, Any] = json.loads(
    Path(__file__).with_name("server_memory_2026_8_31.json").read_text(encoding="utf-8")
)


def by_text(library: Library) -> dict[str, Memory]:
    label = library.stores[0].label
    return {memory.content: memory for memory in library.memories(label)}


@pytest.fixture
def file(tmp_path: Path) -> Path:
    file = tmp_path / "memory.jsonl"
    file.write_text(RECORDED["start"], encoding="utf-8")
    return file


@pytest.fixture
def changed(file: Path, tmp_path: Path) -> Library:
    """The library after the recorded changes."""
    library = Library.open([file], state=tmp_path / "state")
    library.load()
    label = library.stores[0].label
    for act, text, fields in RECORDED["changes"]:
        ref = by_text(library)[text].ref if text else ""
        library.apply(library.plan([Change(Act(act), label, ref, fields)]))
        library.refresh()
    return library


def test_memtui_writes_what_the_server_was_given(file: Path, changed: Library) -> None:
    assert file.read_text(encoding="utf-8") == RECORDED["written_by_memtui"]
    graph = RECORDED["read_graph"]
    current = [m for m in by_text(changed).values() if m.status == "active"]
    assert {m.entity for m in current} == {each["name"] for each in graph["entities"]}
    told = [text for each in graph["entities"] for text in each["observations"]]
    assert sorted(m.content for m in current) == sorted(told)


def test_a_write_of_the_server_loses_nothing_of_ours(file: Path, changed: Library) -> None:
    before = by_text(changed)
    file.write_text(RECORDED["after_add_observations"], encoding="utf-8")
    changed.refresh()
    after = by_text(changed)
    assert after.keys() - before.keys() == {"Bell 2 is locked"}
    for text, memory in before.items():
        same = (after[text].id, after[text].tags, after[text].status, after[text].links)
        assert same == (memory.id, memory.tags, memory.status, memory.links)
    assert after["Drives on Tuesdays"].tags == ("van",)
    assert after["Struck thirteen on 25 October"].status == "retired"


def test_the_server_drops_what_it_does_not_know_and_fails_for_one_bad_line() -> None:
    """Why memtui writes nothing of its own into the file, and names such a line."""
    assert RECORDED["unknown_key_after_a_write"] is False
    assert "JSON" in RECORDED["broken_line_answer"]


def test_changes_are_undone_around_what_the_server_wrote(file: Path, changed: Library) -> None:
    file.write_text(RECORDED["after_add_observations"], encoding="utf-8")
    changed.refresh()
    changed.undo()  # of the retired observation
    changed.undo()  # of the relation
    lines = RECORDED["after_add_observations"].split("\n")[:-1]
    lines[0] = lines[0].replace("[", '["Struck thirteen on 25 October",')
    assert file.read_text(encoding="utf-8").split("\n") == lines
    changed.undo()  # of the entity that memtui made, and that has an observation of the server now
    lines[2] = lines[2].replace('"Locked until December",', "")
    assert file.read_text(encoding="utf-8").split("\n") == lines


def test_the_type_is_changed_alone_and_for_an_entity_that_there_is(
    file: Path, changed: Library
) -> None:
    label = changed.stores[0].label
    memory = next(each for each in changed.memories(label) if each.type and each.kind == "fact")

    def edit(**fields: object) -> Change:
        return Change(Act.EDIT, label, memory.ref, fields)

    with pytest.raises(Refused, match="changed by itself"):
        changed.plan([edit(type="thing", content="something else")])
    with pytest.raises(Refused, match="an entity has a type"):
        changed.plan([edit(type="")])
    assert changed.stores[0].entity_levels("a/b") == ("a/b",)
    file.write_text('{"type":"entity","name":"Other","entityType":"x","observations":["y"]}\n')
    with pytest.raises(Conflict, match="removed the entity"):
        changed.plan([edit(type="thing")])
