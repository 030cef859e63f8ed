"""Any text can be written into a store and read back, and taking it back leaves the same bytes."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from memtui.changes import Act
from memtui.testing.fixtures import contents

from .opened import LABEL, Opened, open_agent_memory, open_ambient
from .programs import AgentMemoryPrograms, AmbientProgram

TEXTS = st.text(st.characters(), min_size=1, max_size=80).filter(str.strip) | st.sampled_from(
    [
        '"quoted" \\ and / and \u2028',
        "half \ud83d and \udcff",
        "\x1b[2J\x00\x7f",
        "[@click=app.quit]x[/]",
        "中文 é 👩‍👩‍👧",
        "a\r\nb\tc",
    ]
)
ACTS = st.sampled_from([Act.EDIT, Act.SUPERSEDE, Act.ADD])


def all_files(opened: Opened) -> dict[str, bytes]:
    return contents(opened.store.root)


def check(opened: Opened, id: str, act: Act, text: str, entity: str) -> None:
    before = all_files(opened)
    asked = {"content": text, "entity": entity} if act is Act.ADD else {"content": text}
    plan = opened.do(act, "" if act is Act.ADD else id, force=True, **asked)
    written = id if act is Act.EDIT else plan.refs[0].removeprefix(f"{LABEL}:")
    assert opened.by_id(written).content == text
    assert not opened.unreadable
    opened.undo(plan)
    assert all_files(opened) == before


@pytest.fixture(scope="module")
def facts(tmp_path_factory: pytest.TempPathFactory) -> tuple[Opened, str]:
    programs = AgentMemoryPrograms(tmp_path_factory.mktemp("am") / "work")
    id = programs.add_fact("a", "person", "A plays the viola, 中文")
    programs.add_edge("a", "person", "A works at NewCorp", "works_at", "newcorp")
    path: Path = programs.items("a")
    path.write_bytes(path.read_bytes().replace(b"\n", b"\r\n"))
    return open_agent_memory(programs.home), id


@pytest.mark.slow
@settings(max_examples=60)
@given(text=TEXTS, act=ACTS)
def test_agent_memory(facts: tuple[Opened, str], text: str, act: Act) -> None:
    check(*facts, act, text, "people/a")


@pytest.fixture(scope="module")
def events(tmp_path_factory: pytest.TempPathFactory) -> tuple[Opened, str]:
    ambient = AmbientProgram(tmp_path_factory.mktemp("amb") / "home")
    event = ambient.event("Postgres \ud83d", metadata={"file": "a.ts"})
    ambient.project("4d3a12e5f267cd60", "shop", event)
    ambient.branch("4d3a12e5f267cd60", "main", ambient.event("b"), event)
    return open_ambient(ambient.root), str(event["id"])


@pytest.mark.slow
@settings(max_examples=60)
@given(text=TEXTS, act=ACTS)
def test_ambient(events: tuple[Opened, str], text: str, act: Act) -> None:
    check(*events, act, text, "shop/main")
