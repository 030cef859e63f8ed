"""Undo of an addition whose file somebody has moved says that the memory is still there."""

from __future__ import annotations

from pathlib import Path

import pytest

from memtui.changes import Act, Change
from memtui.errors import Conflict
from memtui.journal import ActionState
from memtui.library import Library
from memtui.stores.registry import format_of
from memtui.testing.fixtures import memories, open_library, sample

ADDED = "The quill is in the drawer"


def opened(tmp_path: Path, name: str, entity: str) -> tuple[Library, Path]:
    """A store with one memory added; the file it is in."""
    format = format_of(name)
    assert format is not None
    library = open_library(sample(format, tmp_path / "store"), tmp_path / "state")
    label = library.stores[0].label
    fields = {"content": ADDED, "title": "Quill", "entity": entity}
    library.apply(library.plan([Change(Act.ADD, label, "", fields, force=True)]))
    (memory,) = [m for m in library.memories(label) if ADDED in m.content]
    return library, Path(memory.origin.file)


def is_there(library: Library) -> bool:
    return any(ADDED in memory.content for memory in memories(library).values())


@pytest.mark.parametrize(
    ("name", "entity"),
    [("agent-memory", "new-place"), ("agent-memory", ""), ("workspace", "knowledge")],
)
def test_a_file_that_was_moved_is_named(tmp_path: Path, name: str, entity: str) -> None:
    library, file = opened(tmp_path, name, entity or _entity_with_facts(tmp_path))
    moved = file.parent.with_name(f"{file.parent.name}-moved")
    file.parent.rename(moved)
    with pytest.raises(Conflict, match=f"moved to .*{moved.name}"):
        library.undo()
    library.refresh()
    assert is_there(library)
    assert library.log(1)[0].state is ActionState.DONE
    moved.rename(file.parent)
    library.undo()
    library.refresh()
    assert not is_there(library)


def _entity_with_facts(tmp_path: Path) -> str:
    format = format_of("agent-memory")
    assert format is not None
    root = sample(format, tmp_path / "look")
    library = open_library(root)
    entity = next(m.entity for m in library.snapshot.rows if m and m.kind == "fact")
    return entity.rpartition("/")[2]


@pytest.mark.parametrize("name", ["agent-memory", "workspace"])
def test_a_file_that_is_gone_needs_no_undoing(tmp_path: Path, name: str) -> None:
    library, file = opened(tmp_path, name, {"workspace": "knowledge"}.get(name, "new-place"))
    file.unlink()
    library.undo()
    library.refresh()
    assert not is_there(library)
    assert library.log(1)[0].state is ActionState.UNDONE
