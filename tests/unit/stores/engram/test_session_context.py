"""The context that Engram gives a new session: how much of what, in which order, and cut where."""

from __future__ import annotations

from contextlib import closing
from pathlib import Path

import pytest

from memtui.stores.base import LoadedText

from .invented import NOW, Seen, build, connect, observation, open_store, put, sql


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A project `mill` with one more of everything than a session is given."""
    folder = build(tmp_path / ".engram", "july")
    with closing(connect(folder)) as connection:
        for n in range(1, 7):
            day = f"2026-11-{n:02d} 08:00:00"
            summary = None if n == 6 else "é" * 201 if n == 5 else f"day {n}"
            columns = {"id": f"mill-{n}", "project": "mill", "directory": ""}
            put(connection, "sessions", **columns, started_at=day, summary=summary)
        for n in range(1, 12):
            day = f"2026-11-{n:02d} 09:00:00"
            columns = {"session_id": "mill-1", "project": "mill", "content": f"asks {n}"}
            put(connection, "user_prompts", **columns, created_at=day)
        for n in range(101, 122):
            day = f"2026-11-05 10:{n - 100:02d}:00"
            content = "é" * 301 if n == 121 else "x" * 300 if n == 120 else f"saw {n}"
            columns = {"session_id": "mill-5", "project": "mill", "created_at": day}
            observation(connection, n, **columns, content=content)
        columns = {"session_id": "mill-5", "project": "mill", "created_at": "2026-11-01 10:00:00"}
        observation(connection, 122, **columns, content="the mill has two wheels", pinned=1)
        observation(connection, 150, project="mill", deleted_at="2026-11-06 10:00:00")
    return folder


def given(folder: Path, entity: str) -> LoadedText:
    """The context, of a store that was just opened: nothing has been read before."""
    (text,) = open_store(folder).session_start(Seen({}), entity, NOW)
    return text


def test_a_session_is_given_the_newest_of_its_project(folder: Path) -> None:
    text = given(folder, "mill/decision")
    assert text.title == "mill"
    assert text.file == str(folder / "engram.db")
    sessions = [
        "- **mill** (2026-11-06 08:00:00) [0 observations]",
        f"- **mill** (2026-11-05 08:00:00): {'é' * 200}... [22 observations]",
        *(f"- **mill** (2026-11-{n:02d} 08:00:00): day {n} [0 observations]" for n in (4, 3, 2)),
    ]
    prompts = [f"- 2026-11-{n:02d} 09:00:00: asks {n}" for n in range(11, 1, -1)]
    observations = [
        f"- [discovery] **Title 121**: {'é' * 300}...",
        f"- [discovery] **Title 120**: {'x' * 300}",
        *(f"- [discovery] **Title {n}**: saw {n}" for n in range(119, 101, -1)),
    ]
    assert text.text.split("\n") == [
        *("## Memory from Previous Sessions", ""),
        *("### Recent Sessions", *sessions, ""),
        *("### Recent User Prompts", *prompts, ""),
        *("### Pinned", "- [discovery] **Title 122**: the mill has two wheels", ""),
        *("### Recent Observations", *observations, "", ""),
    ]


def test_each_line_of_the_context_names_its_memory(folder: Path) -> None:
    text = given(folder, "mill")
    lines = {entry.ref: text.text[entry.start : entry.end] for entry in text.entries}
    assert list(lines)[:2] == ["bells:sessions/mill-6", "bells:sessions/mill-5"]
    assert list(lines)[5] == "bells:prompts/12"
    assert lines["bells:prompts/12"] == "- 2026-11-11 09:00:00: asks 11"
    assert lines["bells:119"] == "- [discovery] **Title 119**: saw 119"
    assert len(lines) == 36


def test_without_an_entity_there_is_a_context_for_each_project(folder: Path) -> None:
    sql(folder, "DELETE FROM observations WHERE project = 'mill'")
    texts = open_store(folder).session_start(Seen({}), "", NOW)
    assert "mill" in {text.entity for text in texts}
    assert [text.title for text in texts] == sorted(text.entity for text in texts)
    assert all(text == given(folder, text.entity) for text in texts)


@pytest.mark.parametrize("kind", ["sessions", "prompts", "observations"])
def test_one_kind_alone_is_a_context(folder: Path, kind: str) -> None:
    with closing(connect(folder)) as connection:
        connection.execute("PRAGMA foreign_keys = OFF")
        for other, table in (
            ("sessions", "sessions"),
            ("prompts", "user_prompts"),
            ("observations", "observations"),
        ):
            if other != kind:
                connection.execute(f"DELETE FROM {table}")
    text = given(folder, "mill").text
    assert text.count("### ") == (2 if kind == "observations" else 1)


def test_a_project_without_memories_has_no_context(folder: Path) -> None:
    assert open_store(folder).session_start(Seen({}), "unknown", NOW) == ()


def test_a_database_that_cannot_be_read_gives_no_context(folder: Path) -> None:
    store = open_store(folder)
    (folder / "engram.db").write_bytes(b"SQLite format 3\0" + b"\xff" * 9000)
    assert store.session_start(Seen({}), "mill", NOW) == ()
