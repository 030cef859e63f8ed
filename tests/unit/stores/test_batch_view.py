"""Changes that are planned as one action know of each other before any of them is made."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from memtui.changes import Act, Change, Outcome
from memtui.errors import Refused
from memtui.library import Library
from memtui.library.planning import Planned
from memtui.stores.workspace import MAP_PATH
from memtui.testing.fixtures import contents

from . import simple_memories, workspaces
from .json_stores.opened import files_below
from .json_stores.programs import AgentMemoryPrograms


def opened(root: Path, tmp_path: Path) -> Library:
    library = Library.open([root], state=tmp_path / "state")
    library.load()
    return library


def added(library: Library, *fields: dict[str, Any]) -> Planned:
    """New memories planned as one action."""
    label = library.stores[0].label
    return library.plan([Change(Act.ADD, label, "", said) for said in fields])


@pytest.fixture
def facts(tmp_path: Path) -> Path:
    return AgentMemoryPrograms(tmp_path / "work").home


def test_a_fact_that_is_asked_for_twice_is_added_once(facts: Path, tmp_path: Path) -> None:
    library = opened(facts, tmp_path)
    said = {"content": "Alice keeps bees on the roof", "entity": "people/alice"}
    like = {**said, "content": "Alice keeps bees on the roof now"}
    other = {**said, "content": "Alice sails a small boat"}
    found = added(library, said, said, like, other)
    outcomes = [plan.outcome for plan in found.plans]
    assert outcomes == [Outcome.ADDED, Outcome.DEDUPE, Outcome.DEDUPE, Outcome.ADDED]
    assert "0.86 similar" in found.plans[2].reason
    library.apply(found)
    texts = [memory.content for memory in library.memories(library.stores[0].label)]
    assert texts == [said["content"], other["content"]]


def test_facts_of_one_action_that_contradict_each_other_are_named(
    facts: Path, tmp_path: Path
) -> None:
    found = added(
        opened(facts, tmp_path),
        {"content": "Alice works at Acme as an engineer", "entity": "people/alice"},
        {"content": "Since May Alice works at NewCorp", "entity": "people/alice"},
    )
    assert found.warnings == (
        '"Alice works at Acme as an engineer", added along with it, says otherwise',
    )


def test_records_that_are_added_together_get_ids_of_their_own(tmp_path: Path) -> None:
    library = opened(simple_memories.make(tmp_path), tmp_path)
    said = {"content": "Noor | likes | the sea", "entity": "health"}
    found = added(library, said, {**said, "entity": "travel"})
    library.apply(found)
    assert len({*found.refs}) == 2
    assert set(found.refs) <= {m.ref for m in library.memories(library.stores[0].label)}


def test_two_new_documents_do_not_get_one_name(tmp_path: Path) -> None:
    library = opened(workspaces.make(tmp_path), tmp_path)
    said = {"content": "Trim the wick.", "title": "Wick", "entity": "knowledge"}
    with pytest.raises(Refused, match="another new document"):
        added(library, said, {**said, "content": "Never trim it."})


@pytest.mark.slow
def test_documents_are_typed_together_where_the_map_has_no_place_for_it(tmp_path: Path) -> None:
    root = workspaces.make(tmp_path)
    workspaces.put_map(root, {"task_rules": {"goal_states": ["active"]}})
    before = files_below(root)
    library = opened(root, tmp_path)
    label = library.stores[0].label
    types = {"README.md": "project", "GOALS.md": "goal", "ABOUT.md": "identity"}
    changes = [Change(Act.RETYPE, label, f"{label}:{p}", {"type": t}) for p, t in types.items()]
    library.apply(library.plan(changes))
    assert {path: library.get(f"{label}:{path}").type for path in types} == types
    assert json.loads((root / MAP_PATH).read_text()) == {
        "task_rules": {"goal_states": ["active"]},
        "exact_paths": types,
    }
    library.undo()
    assert contents(root) == before
