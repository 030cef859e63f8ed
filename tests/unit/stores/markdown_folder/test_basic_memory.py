"""What basic-memory read of memtui's changes, and what memtui reads when it writes a note anew.

`basic_memory_0_18_5.json` records a run of the released program beside memtui: the note that it
wrote, memtui's edit and new note, what the program's index held then, and the note it wrote again.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from memtui.changes import Act, Change
from memtui.errors import Conflict
from memtui.library import Library

RECORDED: dict[str, Any] = json.loads(
    Path(__file__).with_name("basic_memory_0_18_5.json").read_text(encoding="utf-8")
)
EDITED, ADDED = "hammers/Hammer 7.md", "towers/porto-candeias.md"
TEXT = (
    "# Hammer 7\n\n- [measure] Strikes 15 ms late — 鐘 #timing #frost (since frost)\n"
    "- [task] Weigh the head #todo\n- hangs_in [[Porto Candeias]]"
)
NEW = "The tower of hammer 7.\n\n- [rule] Rings at six #hours\n- has_hammer [[Hammer 7]]"


def write(root: Path, files: dict[str, str]) -> None:
    for name, text in files.items():
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_text(text, encoding="utf-8")


@pytest.fixture
def changed(tmp_path: Path) -> Library:
    """The folder after memtui's changes; its notes lie in folders only."""
    write(tmp_path / "notes", RECORDED["written_by_program"])
    library = Library.open([tmp_path / "notes"], state=tmp_path / "state")
    library.load()
    label = library.stores[0].label
    fields = {"content": NEW, "title": "Porto Candeias", "entity": "towers"}
    for change in (
        Change(Act.EDIT, label, f"{label}:{EDITED}", {"content": TEXT}),
        Change(Act.ADD, label, "", fields),
        Change(Act.PIN, label, f"{label}:{EDITED}", {"pinned": True}),
    ):
        library.apply(library.plan([change]))
        library.refresh()
    return library


def test_memtui_writes_what_the_program_was_given(changed: Library) -> None:
    root = changed.stores[0].root
    for name, text in RECORDED["written_by_memtui"].items():
        assert (root / name).read_text(encoding="utf-8") == text


@pytest.mark.parametrize("name", [EDITED, ADDED])
def test_both_read_the_same_observations_and_relations(changed: Library, name: str) -> None:
    label = changed.stores[0].label
    told = RECORDED["read_by_program"][name]
    facts = [m for m in changed.memories(label) if m.id.startswith(f"{name}#")]
    assert [[fact.type, fact.content] for fact in facts] == told["observations"]
    titles = {m.id: m.title for m in changed.memories(label) if m.kind == "document"}
    found = [
        [link.relation, titles[m.id], titles[link.target]]
        for m in changed.memories(label)
        if m.kind == "document"
        for link in m.links
    ]
    assert sorted(found) == told["relations"]


def test_a_write_of_the_program_is_read_and_loses_nothing_of_ours(changed: Library) -> None:
    root, label = changed.stores[0].root, changed.stores[0].label
    write(root, RECORDED["rewritten_by_program"])
    changed.refresh()
    note = changed.get(f"{label}:{EDITED}")
    assert note.pinned
    assert "9 ms late" in note.content
    (measure,) = [m for m in changed.memories(label) if m.type == "measure"]
    assert measure.content == "Strikes 9 ms late #timing"
    changed.undo()  # the pin
    changed.undo()  # the new note
    with pytest.raises(Conflict):
        changed.undo()  # the edit, which the program wrote over
    assert "9 ms late" in (root / EDITED).read_text(encoding="utf-8")
