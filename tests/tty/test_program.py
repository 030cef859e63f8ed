"""The program as a person meets it: started, searched, filtered, read, left."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from contextlib import AbstractContextManager
from pathlib import Path
from typing import Any

import pytest

Start = Callable[..., AbstractContextManager[Any]]

TITLE_OR_CLIPBOARD = re.compile(rb"\x1b\](0|1|2|8|52);")


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
        on.send("hammer")
        on.wait_for("best match first")
        on.wait_for("memtui / hammer")
        on.send("\r")
        on.wait_for("? help")
        on.send("t")
        on.wait_for("Filter by type")
        on.send(" \r")
        screen = on.wait_for("×")
        assert "type " in screen.splitlines()[1]
        on.send("\r")
        on.wait_for("Store ")
        on.send("z")
        on.wait_for("Id ")
        on.send("q")
        assert on.wait_for_end() == 0
        assert not on.modes_left_on()


def test_hostile_text_reaches_no_terminal(memtui: Start, tmp_path: Path) -> None:
    """The bytes on the wire hold no sequence that came from the store."""
    evil = (
        "\x1b]0;owned\x07 \x1b]52;c;ZXZpbA==\x1b\\ \x1b[6n \x9b2J \x1b]8;;http://e.example\x1b\\x"
    )
    root = store(tmp_path, *(f"{n} {evil}" for n in range(5)))
    with memtui([str(root)], tmp_path, size=(100, 30)) as on:
        on.wait_for("1 of 5")
        on.send("jj\rzz")
        for key, title in (("H", "History"), ("U", "Stores and"), ("t", "Filter by type")):
            on.send(key)
            on.wait_for(title)
            on.send("\x1b")
            on.wait_until_gone(title)
        on.send("q")
        assert on.wait_for_end() == 0
        assert not TITLE_OR_CLIPBOARD.search(on.raw)
        assert b"owned" in on.raw, "the text itself is shown"
        assert "\x9b".encode() not in on.raw
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
        on.send("N")
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
