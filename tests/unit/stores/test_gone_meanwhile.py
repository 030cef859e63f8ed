"""A memory that another program has removed since it was read is not changed, and nothing breaks.

Each act on memories of every kind is planned after all files of the store are gone, or empty.
"""

from __future__ import annotations

import json
import shutil
from collections import Counter
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

import pytest

from memtui.changes import Act, Change, Kind
from memtui.errors import Conflict, RefError, Refused
from memtui.library import Library
from memtui.model import Memory
from tests.samples import SAMPLES

NAMES = (
    *("agent-memory", "ambient", "simple-memory", "workspace", "claude-code", "codex", "gemini"),
    *("hermes", "mcp-memory", "openclaw", "beads", "markdown-folder", "serena"),
)
FIELDS: dict[str, Any] = {
    "content": "Said in another way altogether",
    "title": "Another title",
    "type": "reference",
    "tags": ["new"],
    "importance": "low",
    "entity": "people/bob",
    "confidence": 0.4,
}
NEEDS_NO_FILE = {
    "codex": {Act.SUPERSEDE, Act.RETIRE},  # a note tells Codex what to forget
    "mcp-memory": {Act.DELETE},
    "markdown-folder": {Act.EDIT},  # an empty file can be given frontmatter
}


class AsRead:
    """What was read before the files went."""

    def __init__(self, store: str, memories: Iterable[Memory]) -> None:
        self._store = store
        self._memories = {memory.ref: memory for memory in memories}

    def get(self, ref: str) -> Memory:
        if ref not in self._memories:
            raise RefError("no such memory", where=ref)
        return self._memories[ref]

    def memories(self, store: str) -> list[Memory]:
        return list(self._memories.values()) if store == self._store else []


def without_records(path: Path) -> str:
    """The text of the file when all its lists are empty."""
    if path.suffix != ".json":
        return ""
    value = json.loads(path.read_text())
    if isinstance(value, list):
        return "[]"
    return json.dumps({k: [] if isinstance(each, list) else each for k, each in value.items()})


def some_of_each(memories: Iterable[Memory]) -> list[Memory]:
    alike: Counter[tuple[str, ...]] = Counter()
    chosen = []
    for memory in memories:
        alike[like := (memory.kind, memory.type, memory.status)] += 1
        if alike[like] <= 2:
            chosen.append(memory)
    return chosen


def changes(memories: list[Memory]) -> Iterator[Change]:
    for memory in memories:
        other = next((m.ref for m in memories if m.kind == memory.kind and m != memory), memory.ref)
        named = {"relation": "mentions", "target": other, "others": [other], "refs": [other]}
        for act in set(Act) - {Act.ADD, Act.EDIT}:
            yield Change(act, memory.store, memory.ref, {**FIELDS, **named})
        for name, value in FIELDS.items():
            yield Change(Act.EDIT, memory.store, memory.ref, {name: value})


@pytest.mark.parametrize("way", ["removed", "emptied"])
@pytest.mark.parametrize("name", NAMES)
def test_what_is_gone_is_not_changed(tmp_path: Path, name: str, way: str) -> None:
    root = Path(shutil.copytree(SAMPLES / name, tmp_path / "store"))
    library = Library.open([root], state=tmp_path / "state")
    library.load()
    (store,) = library.stores
    memories = list(library.memories(store.label))
    view, refused = AsRead(store.label, memories), 0
    for path in [path for path in root.rglob("*") if path.is_file()]:
        if ".memtui" not in path.parts and way == "removed":
            path.unlink()
        elif ".memtui" not in path.parts:
            path.write_text(without_records(path))
    for change in changes(some_of_each(memories)):
        try:
            plan = store.plan(change, view)
        except (Conflict, Refused):
            refused += 1
            continue
        if change.act not in NEEDS_NO_FILE.get(name, ()):
            assert {edit.kind for edit in plan.edits} <= {Kind.SIDECAR}, change
    assert refused > len(memories) / 10
