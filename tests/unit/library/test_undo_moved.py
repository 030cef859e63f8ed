"""Undo of what lies elsewhere: a file that somebody has moved, a store that was not opened."""

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


@pytest.mark.parametrize(
    "beside",
    [
        ("memory-bank/projectbrief.md", "memory-bank/activeContext.md"),
        (".serena/memories/a.md",),
        (".claude/memory/MEMORY.md",),
    ],
)
def test_a_store_that_is_not_open_is_known_by_its_own_root(
    tmp_path: Path, beside: tuple[str, ...]
) -> None:
    """The store in a folder of the project was taken for it, and undo refused as outside of it."""
    project, state = tmp_path / "project", tmp_path / "state"
    for name in ("AGENTS.md", *beside):
        (project / name).parent.mkdir(parents=True, exist_ok=True)
        (project / name).write_text("- grind slowly\n")
    library = Library.open([project], formats=["project-instructions"], state=state)
    library.load()
    (rule,) = [row for row in library.snapshot.rows if row.entity == "AGENTS.md"]
    library.apply(library.plan([Change(Act.EDIT, rule.store, rule.ref, {"content": "twice"})]))
    assert (project / "AGENTS.md").read_text() == "- twice\n"
    Library.open([], state=state).undo(anywhere=True)
    assert (project / "AGENTS.md").read_text() == "- grind slowly\n"
