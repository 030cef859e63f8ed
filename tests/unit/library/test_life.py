"""The library through random lives of a store, and the cases that such a life has shown (T9)."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest

from memtui.changes import Act, Change, invert_edits, record_edit, sidecar_edit, text_edit
from memtui.errors import Conflict, Refused
from memtui.files.merging import rebase
from memtui.files.sidecar_lines import write_entries
from memtui.library import Library
from memtui.model import Memory
from memtui.testing.fixtures import contents, memories, open_library
from tests.long_run import count
from tests.torture.life.living import ENGRAM, KINDS, live
from tests.torture.life.small import small_store
from tests.unit.stores.engram.invented import build

pytestmark = pytest.mark.slow

RUNS = count(1, 25)
"""Of 30 steps, for each format; in the long run the two schemas of Engram share them."""
MAP = "state/ambient-memory/memory-type-map.json"


@pytest.mark.parametrize("kind", KINDS)
def test_every_file_is_as_the_model_says(
    kind: str, tmp_path: Path, figures: Callable[[str], None]
) -> None:
    figures(live(tmp_path, kind, (RUNS + 1) // len(ENGRAM) if kind in ENGRAM else RUNS))


def opened(format: str, tmp_path: Path) -> Library:
    place = small_store(format, tmp_path / format)
    return open_library(place, tmp_path / "state")


def test_undo_of_several_that_left_one_file_puts_each_in_its_place(tmp_path: Path) -> None:
    """Each was put back on its own, at a place counted when the others were still there."""
    library = opened("ambient", tmp_path)
    before = contents(tmp_path / "ambient")
    shell = [m for m in memories(library).values() if "cebbc429061b2cd9" in m.origin.file]
    decisions = [m for m in shell if not library.refusal(Act.SUPERSEDE, m)][:4]
    library.apply(
        library.plan(
            [
                Change(Act.SUPERSEDE, m.store, m.ref, {"content": f"{m.content} quill"}, force=True)
                for m in decisions
            ]
        )
    )
    library.undo()
    assert contents(tmp_path / "ambient") == before


def test_undo_puts_an_entry_of_the_type_map_where_it_stood(tmp_path: Path) -> None:
    library = opened("workspace", tmp_path)
    before = contents(tmp_path / "workspace")
    library.apply(
        library.plan([Change(Act.RETYPE, "workspace", "workspace:SOUL.md", {"type": ""})])
    )
    assert b'"SOUL.md"' not in contents(tmp_path / "workspace")[MAP]
    library.undo()
    assert contents(tmp_path / "workspace") == before


def test_undo_asks_nothing_of_what_it_leaves_as_it_is(tmp_path: Path) -> None:
    """What supersedes a fact that is historical already goes with its file, if that goes."""
    library = opened("agent-memory", tmp_path)
    old = next(m for m in memories(library).values() if m.kind == "fact" and m.status != "active")
    change = Change(Act.SUPERSEDE, old.store, old.ref, {"content": "quill"}, force=True)
    library.apply(library.plan([change]))
    Path(old.origin.file).unlink()
    library.undo()
    assert not Path(old.origin.file).exists()


def test_what_is_noted_follows_a_fact_that_others_have_moved(tmp_path: Path) -> None:
    """A note lies over whatever has its id: an open session must see that it is gone."""
    library = opened("agent-memory", tmp_path)

    def do(act: Act, memory: Memory, **fields: str) -> None:
        library.apply(library.plan([Change(act, memory.store, memory.ref, fields, force=True)]))
        library.refresh()

    facts = [m for m in memories(library).values() if m.kind == "fact"]
    fact = facts[-1]
    home, away = Path(fact.origin.file), next(m for m in facts if m.entity != fact.entity)
    other = Path(away.origin.file)
    do(Act.PIN, fact)
    texts = home.read_bytes(), other.read_bytes()
    records = json.loads(texts[0])
    moved = next(record for record in records if record["id"] == fact.id)
    home.write_text(json.dumps([record for record in records if record is not moved]))
    other.write_text(json.dumps([*json.loads(texts[1]), moved]))
    library.refresh()
    assert library.get(fact.ref).pinned
    do(Act.UNPIN, library.get(fact.ref))
    assert not library.get(fact.ref).pinned
    home.write_bytes(texts[0])
    other.write_bytes(texts[1])
    library.refresh()
    do(Act.PIN, library.get(fact.ref))
    do(Act.EDIT, library.get(fact.ref), entity=away.entity)
    home.write_bytes(texts[0])
    library.refresh()
    do(Act.UNPIN, library.get(fact.ref))
    assert [m.pinned for m in memories(library).values() if m.id == fact.id] == [False, False]


def test_taking_back_a_note_that_was_never_written_makes_no_file() -> None:
    assert write_entries(None, [sidecar_edit("/nowhere", "a", {"pinned": True}, None)]) is None


def test_what_was_to_be_taken_out_went_with_its_file() -> None:
    """A new file and a record more in it, undone when somebody has deleted the file."""
    made = text_edit("f.json", None, '[{"id": "a"}]')
    more = record_edit("f.json", (), "id", "b", None, '{"id": "b"}')
    assert rebase(None, invert_edits((made, more))) is None  # type: ignore[arg-type]
    with pytest.raises(Conflict):
        rebase(None, [more])


def test_redo_of_an_add_whose_session_went_with_another_is_refused(tmp_path: Path) -> None:
    """Engram's session is made by the first of two and goes with it when both are undone."""
    library = open_library(build(tmp_path / ".engram", "july"), tmp_path / "state")
    label = library.stores[0].label
    for content in ("quill", "sundial"):
        fields = {"content": content, "title": content, "entity": "belfry"}
        library.apply(library.plan([Change(Act.ADD, label, "", fields)]))
        library.refresh()
    second = library.log(1)[0].id
    library.undo()
    library.undo()
    with pytest.raises(Refused, match="session manual-save-belfry is gone"):
        library.redo(second)
    library.redo()
    library.redo(second)
    library.refresh()
    assert {"quill", "sundial"} <= {m.content for m in memories(library).values()}
