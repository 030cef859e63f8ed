"""The program as a person meets it: started, searched, filtered, read, left."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable
from contextlib import AbstractContextManager
from pathlib import Path
from typing import Any

import pytest

pytestmark = pytest.mark.slow

Start = Callable[..., AbstractContextManager[Any]]


def store(folder: Path, *contents: str) -> Path:
    entity = folder / "memory" / "entities" / "alice"
    entity.mkdir(parents=True)
    items = [
        {
            "id": f"{number:08d}-0000-4000-8000-000000000000",
            "content": content,
            "source": "conversation",
            "sourceRef": "",
            "entityType": "decision" if number % 2 else "person",
            "createdAt": "2026-11-20T10:00:00Z",
            "status": "active",
            "supersedes": None,
        }
        for number, content in enumerate(contents)
    ]
    (entity / "items.json").write_text(json.dumps(items), encoding="utf-8")
    return folder / "memory"


def test_demo_search_filter_detail_quit(memtui: Start, tmp_path: Path) -> None:
    """`memtui demo`: search, filter by a picker, open a detail, quit; nothing is left on."""
    with memtui(["demo"], tmp_path) as on:
        on.wait_for("1 of ")
        on.wait_for("4 Timeline")
        on.send("/")
        on.wait_for("enter done")
        on.send("pnpm")
        on.wait_for("best match first")
        on.wait_for("memtui / pnpm")
        on.send("\r")
        on.wait_for("? help")
        on.send("t")
        on.wait_for("Filter by type")
        on.send(" \r")
        screen = on.wait_for("×")
        assert "type " in screen.splitlines()[1]
        on.send("\r")
        on.send("z")
        on.wait_until_gone("1 Entities")
        on.wait_for("File ")
        on.send("q")
        assert on.wait_for_end() == 0
        assert not on.modes_left_on()


def test_a_change_on_disk_is_seen_and_marked(memtui: Start, tmp_path: Path) -> None:
    """Another program adds a memory while memtui runs: it comes up within two seconds."""
    root = store(tmp_path, "Alice likes tea", "Alice decided on Postgres")
    items = root / "entities" / "alice" / "items.json"
    with memtui([str(root)], tmp_path) as on:
        on.wait_for("1 of 2")
        records = json.loads(items.read_text())
        records.append(
            {
                **records[0],
                "id": "99999999-0000-4000-8000-000000000000",
                "content": "Alice now likes coffee",
            }
        )
        items.write_text(json.dumps(records))
        on.wait_for("Alice now likes coffee")
        on.send("\x0e")
        on.send("q")
        assert on.wait_for_end() == 0


def test_a_path_without_a_store_is_said_plainly(memtui: Start, tmp_path: Path) -> None:
    empty = tmp_path / "empty"
    empty.mkdir()
    with memtui([str(empty)], tmp_path) as on:
        assert on.wait_for_end() == 1
        assert "Traceback" not in on.text()
        assert not on.modes_left_on()


@pytest.mark.parametrize("environ", [{"NO_COLOR": "1"}, {"COLORTERM": ""}])
def test_without_colours_and_with_fewer(
    memtui: Start, tmp_path: Path, environ: dict[str, str]
) -> None:
    root = store(tmp_path, "Alice likes tea")
    with memtui([str(root)], tmp_path, size=(80, 24), environ=environ) as on:
        on.wait_for("Alice likes tea")
        on.send("q")
        assert on.wait_for_end() == 0
        if "NO_COLOR" in environ:
            assert b"\x1b[38;2;" not in on.raw


def test_it_draws_on_the_terminal_when_its_errors_go_to_a_file(
    memtui: Start, tmp_path: Path
) -> None:
    root, log = store(tmp_path, "Alice likes tea"), tmp_path / "log"
    shell = ("sh", "-c", f'exec "$0" -m memtui "$@" 2>{log}', sys.executable)
    with memtui([str(root)], tmp_path, program=shell) as on:
        on.wait_for("1 of 1")
        on.send("q")
        assert on.wait_for_end() == 0
        assert not on.modes_left_on()
    assert log.read_text() == ""
