"""Changes of many marked memories: planned one by one, made in one action, taken back in one."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from memtui.changes import Act, Change
from memtui.testing.fixtures import contents

from .opened import LABEL, NOW, Opened, open_agent_memory, open_ambient
from .programs import AgentMemoryPrograms, AmbientProgram


def ticking() -> Callable[[], datetime]:
    """A clock that never says the same time twice."""
    seconds: Iterator[int] = iter(range(10_000))
    return lambda: NOW + timedelta(milliseconds=next(seconds))


def changes(act: Act, ids: list[str], **fields: Any) -> list[Change]:
    return [Change(act, LABEL, f"{LABEL}:{id}", fields) for id in ids]


def native(opened: Opened) -> dict[str, bytes]:
    return contents(opened.store.root)


@pytest.fixture
def facts(tmp_path: Path) -> tuple[Opened, list[str]]:
    programs = AgentMemoryPrograms(tmp_path / "a" / "work")
    ids = [programs.add_fact("alice", "person", f"Alice has fact number {n}") for n in range(5)]
    return open_agent_memory(programs.home), ids


@pytest.fixture
def events(tmp_path: Path) -> tuple[Opened, list[str]]:
    ambient = AmbientProgram(tmp_path / "b" / "home")
    made = [ambient.event(f"event number {n}") for n in range(5)]
    ambient.project("4d3a12e5f267cd60", "shop", *made)
    ambient.branch("4d3a12e5f267cd60", "main", *made)
    opened = open_ambient(ambient.root)
    opened.store.now = ticking()  # type: ignore[attr-defined]
    return opened, [event["id"] for event in made]


@pytest.mark.parametrize("which", ["facts", "events"])
@pytest.mark.parametrize(
    ("act", "fields"),
    [
        (Act.RETIRE, {}),
        (Act.DELETE, {}),
        (Act.EDIT, {"type": "other"}),
        (Act.PIN, {}),
        (Act.TAG, {"tags": ["x"]}),
    ],
)
def test_one_action_and_one_undo(
    which: str, act: Act, fields: dict[str, Any], request: pytest.FixtureRequest
) -> None:
    opened, ids = request.getfixturevalue(which)
    before, said = native(opened), [(m.id, m.status, m.tags) for m in opened.memories]
    done = opened.do_all(changes(act, [ids[0], ids[2], ids[3]], **fields))
    if act is Act.DELETE:
        assert [memory.id for memory in opened.memories] == [ids[1], ids[4]]
    opened.undo(done)
    assert native(opened) == before
    assert [(m.id, m.status, m.tags) for m in opened.memories] == said


@pytest.mark.parametrize(
    ("which", "entity"), [("facts", "people/new"), ("events", "shop/feat/new")]
)
def test_a_new_file_is_made_once(which: str, entity: str, request: pytest.FixtureRequest) -> None:
    opened, _ = request.getfixturevalue(which)
    before = native(opened)
    texts = ["the first that is added", "another one comes along", "and then number three"]
    done = opened.do_all(
        [Change(Act.ADD, LABEL, "", {"content": text, "entity": entity}) for text in texts]
    )
    assert [m.content for m in opened.memories if m.content in texts] == texts
    opened.undo(done)
    assert native(opened) == before
