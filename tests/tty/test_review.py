"""The review queue on a real terminal: walk, decline, snooze, accept, undo."""

from __future__ import annotations

import json
from collections.abc import Callable
from contextlib import AbstractContextManager
from pathlib import Path
from typing import Any

import pytest

from tests.long_run import count

pytestmark = pytest.mark.slow

Start = Callable[..., AbstractContextManager[Any]]

CONTENTS = {
    "alice": ("Alice works at Lumen Systems in the Porto office",) * 2,
    "bob": ("Bob repairs the bells of the north tower in winter",) * 2,
    "carol": ("Carol lives in Braga with two cats", "Carol lives in Porto near the river"),
}


def write_store(folder: Path) -> Path:
    for slug, contents in CONTENTS.items():
        entity = folder / "memory" / "entities" / slug
        entity.mkdir(parents=True)
        items = [
            {
                "id": f"{number:08d}-0000-4000-8000-{ord(slug[0]):012d}",
                "content": content,
                "source": "conversation",
                "sourceRef": "",
                "entityType": "person",
                "createdAt": f"2026-0{number + 1}-20T10:00:00Z",
                "status": "active",
                "supersedes": None,
            }
            for number, content in enumerate(contents)
        ]
        (entity / "items.json").write_text(json.dumps(items, indent=2), encoding="utf-8")
    return folder / "memory"


def files(root: Path) -> dict[str, bytes]:
    return {str(path): path.read_bytes() for path in root.rglob("items.json")}


SIZES = [(80, 24), *[(160, 45)] * count(0, 1)]


@pytest.mark.parametrize("size", SIZES, ids=lambda size: f"{size[0]}x{size[1]}")
def test_a_walk_through_the_queue(memtui: Start, tmp_path: Path, size: tuple[int, int]) -> None:
    root = write_store(tmp_path)
    before = files(root)
    with memtui([str(root)], tmp_path, size=size) as on:
        on.wait_for("more to review")
        on.send("V")
        on.wait_for("Who says otherwise")
        on.wait_for("Duplicates")
        on.send("j")
        on.send("a")
        on.wait_for("2 to review")
        assert files(root) != before
        on.send("u")
        on.wait_for("3 to review ─")
        assert files(root) == before
        on.send("x")
        on.wait_for("1 declined")
        on.send("s")
        on.wait_for("1 snoozed")
        on.send("a")
        on.wait_for("Nothing to review")
        assert files(root) != before
        on.escape()
        on.wait_until_gone("Nothing to review")
        on.send("q")
        assert on.wait_for_end() == 0
        assert not on.modes_left_on()
