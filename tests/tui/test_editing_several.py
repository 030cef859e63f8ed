"""`e` with marks: one form, one preview and one undo for all marked memories."""

from __future__ import annotations

import shutil
from contextlib import closing
from pathlib import Path

import pytest

from memtui.changes import Act, Change
from memtui.library import Library
from memtui.progress import Cancelled
from memtui.tui.dialogs.diff import DiffScreen
from memtui.tui.dialogs.edit_form import FormScreen
from memtui.tui.jobs import Job
from tests.samples import SAMPLES

from .sample_stage import changing
from .stage import NOW

STORES = ("agent-memory", "ambient", "simple-memory", "workspace", "engram", "vault")


@pytest.mark.slow
async def test_one_form_changes_all_marked_memories_of_two_stores(tmp_path: Path) -> None:
    async with changing(tmp_path, "ambient", "simple-memory", size=(80, 24)) as on:
        before = on.files()
        await on.show("importance:low,medium")
        await on.keys("space", "space", "G", "space")
        marked = [memory.ref for memory in on.browse.marked_memories()]
        assert {ref.split(":")[0] for ref in marked} == {"ambient", "simple-memory"}
        await on.keys("e")
        assert isinstance(on.app.screen, FormScreen)
        assert "Edit 3 memories" in on.text()
        await on.keys("right")
        assert on.app.screen.values()["importance"] == "high"
        await on.keys("tab", "tab")
        await on.type("autumn")
        await on.keys("tab", "tab", "right")
        await on.rest()
        assert "3 memories" in on.text()
        await on.keys("ctrl+s")
        assert isinstance(on.app.screen, DiffScreen)
        await on.keys("enter")
        assert on.toasts[-1].startswith("Changed 3 memories · u undo")
        for ref in marked:
            memory = on.memory(ref)
            assert (memory.importance, memory.pinned) == ("high", True)
            assert "autumn" in memory.tags
        assert not on.browse.memories.marked
        assert on.browse.memories.cursor == len(on.browse.memories.slots) - 1, "it stays"
        await on.keys("u")
        assert on.files() == before


@pytest.mark.slow
async def test_what_a_memory_cannot_have_is_left_out_and_counted(tmp_path: Path) -> None:
    async with changing(tmp_path, "agent-memory") as on:
        fact = on.first("agent-memory", kind="fact", status="active")
        note = on.first("agent-memory", kind="note", status="active")
        rows = on.library.snapshot.rows
        wanted = {fact.ref, note.ref}
        on.browse.memories.marked = {slot for slot in range(len(rows)) if rows[slot].ref in wanted}
        await on.keys("e")
        assert isinstance(on.app.screen, FormScreen)
        assert "importance" not in on.app.screen.values(), "agent-memory keeps none"
        assert " 1 of 2" in on.text(), "a note has no type of its own"
        await on.type("person")
        await on.keys("tab")
        await on.type("spring")
        await on.rest()
        assert "left out for 1 memory: the type cannot be changed here" in on.text()
        await on.keys("ctrl+s", "enter")
        assert "spring" in on.memory(note.ref).tags
        assert "spring" in on.memory(fact.ref).tags
        assert on.memory(note.ref).type == note.type


@pytest.mark.slow
async def test_a_memory_left_out_of_two_changes_is_counted_once(tmp_path: Path) -> None:
    async with changing(tmp_path, "engram") as on:
        await on.show("type:prompt,bugfix")
        rows = on.library.snapshot.rows
        wanted = {on.first("engram", type=name).ref for name in ("prompt", "bugfix")}
        on.browse.memories.marked = {slot for slot in range(len(rows)) if rows[slot].ref in wanted}
        await on.keys("e")
        await on.type("decision")
        await on.keys("tab", "tab", "right")
        await on.rest()
        assert "left out for 1 memory: Engram keeps prompts as they were typed" in on.text()


@pytest.mark.slow
async def test_only_what_can_be_changed_in_a_memory_is_offered(tmp_path: Path) -> None:
    """In the forms of one memory and of several; where only some can, it says how many."""
    async with changing(tmp_path, "engram", "simple-memory", size=(40, 12)) as on:
        await on.show("store:engram type:decision")
        await on.keys("*", "e")
        assert isinstance(on.app.screen, FormScreen)
        assert set(on.app.screen.values()) == {"type", "entity", "pin"}
        await on.keys("escape")
        on.browse.memories.marked |= {on.browse.memories.slot}
        await on.show("kind:schema")
        await on.keys("space", "e")
        count = len(on.browse.memories.marked)
        assert f" 1 of {count}" in next(
            line for line in on.text().splitlines() if "Importance" in line
        )
        await on.keys("escape")
        on.browse.memories.marked = set()
        await on.show("store:simple-memory kind:fact")
        await on.keys("e")
        lines = on.text().splitlines()
        assert not any("read-only" in line and "none" in line for line in lines), "no empty row"


@pytest.mark.parametrize("store", STORES)
def test_an_edit_and_a_pin_of_one_memory_are_one_action(tmp_path: Path, store: str) -> None:
    """Where both are in the sidecar or in one row, neither loses the other; also the second time,
    when the sidecar has an entry of the memory."""
    shutil.copytree(SAMPLES / store, tmp_path / store)
    root, state = tmp_path / store, tmp_path / "state"
    with closing(Library.open([root], cache=None, state=state, now=lambda: NOW)) as library:
        library.load()
        label = library.stores[0].label
        memory = next(
            each
            for each in library.memories(label)
            if each.status == "active" and not library.refusal(Act.PIN, each)
        )
        has_tags = "tags" in library.stores[0].editable
        for act, word in ((Act.PIN, "b"), (Act.UNPIN, "zebra")):
            fields = {"tags": (*memory.tags, word)} if has_tags else {"type": word}
            planned = library.plan(
                [
                    Change(Act.EDIT, label, memory.ref, fields),
                    Change(act, label, memory.ref),
                ]
            )
            assert planned.title.startswith("edit: ")
            library.apply(planned)
            library.refresh()
            changed = library.get(memory.ref)
            assert changed.pinned is (act is Act.PIN)
            assert all(getattr(changed, name) == value for name, value in fields.items())
        library.undo()
        library.undo()
        library.refresh()
        again = library.get(memory.ref)
        assert (again.pinned, again.tags, again.type) == (memory.pinned, memory.tags, memory.type)


@pytest.mark.slow
async def test_escape_stops_the_planning_of_a_change_and_keeps_the_marks(tmp_path: Path) -> None:
    async with changing(tmp_path, "ambient") as on:
        await on.keys("*")
        marked = set(on.browse.memories.marked)

        def plan_until_stopped(_: Library, job: Job) -> None:
            while not job.is_cancelled():
                job.ended.wait(0.01)
            raise Cancelled

        on.browse.acts.start(on.browse.acts.library(plan_until_stopped))
        await on.keys("escape")
        assert on.toasts[-1] == "No changes: stopped"
        assert set(on.browse.memories.marked) == marked
        await on.keys("escape")
        assert not on.browse.memories.marked
