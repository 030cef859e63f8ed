"""The screen starts whatever is in the files of its state folder."""

from __future__ import annotations

import json
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.long_run import count, share

from .stage import stage

GARBAGE: tuple[Any, ...] = (None, 0, -1, 1e308, "", "\ud800", "x" * 5000, [], {}, [[[]]], True)
DAMAGED = (b"", b"{", b"[]", b"null", b"\x00" * 400, b'{"a": 1e999}', b"\xff\xfe\x00")


def with_garbage(value: Any) -> Iterator[Any]:
    """The value with each of its parts replaced in turn by values of other types."""
    yield from GARBAGE
    parts = value.items() if isinstance(value, dict) else ()
    for key, part in parts:
        for changed in with_garbage(part):
            yield {**value, key: changed}
    if isinstance(value, list) and value:
        for changed in with_garbage(value[0]):
            yield [changed, *value[1:]]


@pytest.mark.slow
async def test_the_screen_starts_with_any_file_of_its_state(root: Path, tmp_path: Path) -> None:
    state, good = tmp_path / "state", tmp_path / "good"
    async with stage(root, state=state) as on:
        await on.press("/")
        await on.type("tea")
        await on.press("enter", "j", "space", "m", "a", "e")
        await on.type("a draft")
        shutil.copytree(state, good)  # as a terminal that is closed leaves it
        await on.press("escape", "escape", "q")
        on.app.leave()
    for file in state.glob("*.json"):
        shutil.copy(file, good / file.name)
    files = sorted(path for path in good.rglob("*") if path.suffix == ".json")
    assert {"session.json"} <= {file.name for file in files}
    contents = [(file, bad) for at, file in enumerate(files) for bad in share(DAMAGED, at, 3)]
    for file in files:
        found = list(with_garbage(json.loads(file.read_text(encoding="utf-8"))))
        step = max(1, len(found) // count(4, 200))
        contents += [(file, json.dumps(value).encode()) for value in found[::step]]
    for file, bad in contents:
        shutil.rmtree(state)
        shutil.copytree(good, state)
        (state / file.relative_to(good)).write_bytes(bad)
        async with stage(root, state=state) as on:
            await on.press("escape", "escape")
            assert len(on.headlines()) > 1, (file.name, bad[:200])
            on.app.leave()
