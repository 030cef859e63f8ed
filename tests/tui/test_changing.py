"""Acts that change memories, on real stores: files as expected, and undo gives them back."""

from __future__ import annotations

import json
import re
import threading
import time
from pathlib import Path

import pytest
from textual import events

from memtui.changes import Act, Change, Edit, FileDiff, edit_diffs
from memtui.library import Library
from memtui.tui.change_log import LogPage
from memtui.tui.dialogs.diff import ConflictScreen, DiffScreen, MergeScreen
from memtui.tui.dialogs.edit_form import FormScreen
from memtui.tui.dialogs.prompts import ConfirmDialog
from memtui.tui.widgets.inputs import ChoiceInput, LineInput, TextInput
from tests.unit.stores.workspaces import make, put

from .sample_stage import ChangingStage, changing, touched
from .stage import NOW, stage

AGENT = "agent-memory"


def form(on: ChangingStage) -> FormScreen:
    assert isinstance(on.app.screen, FormScreen)
    return on.app.screen


def prose(on: ChangingStage) -> TextInput:
    return form(on).query_one(TextInput)


def line(on: ChangingStage, name: str) -> LineInput:
    return next(widget for widget in form(on).query(LineInput) if widget.name == name)


async def write(on: ChangingStage, text: str) -> None:
    prose(on).set_raw(text)
    await on.rest()


@pytest.mark.slow
@pytest.mark.textual
async def test_a_memory_of_a_project_is_promoted_after_a_preview_and_undone(tmp_path: Path) -> None:
    async with changing(tmp_path, "gemini") as on:
        before = on.files()
        notes = (m for m in on.library.memories("gemini") if m.status == "active")
        note = next(m for m in notes if m.entity != "global" and m.kind == "fact")
        await on.stand(note.ref)
        await on.keys("B")
        assert isinstance(on.app.screen, DiffScreen)
        await on.sees("GEMINI.md")
        await on.keys("enter")
        assert on.app.screen is on.browse
        assert on.toasts[-1].startswith("Promoted: ")
        found = [m for m in on.library.memories("gemini") if m.content == note.content]
        assert [m.entity for m in found if m.status == "active"] == ["global"]
        await on.keys("u")
        assert on.files() == before


@pytest.mark.slow
async def test_a_part_of_a_file_of_instructions_goes_to_one_project(tmp_path: Path) -> None:
    home = tmp_path / ".claude"
    index = home / "projects" / "-srv-app" / "memory" / "MEMORY.md"
    index.parent.mkdir(parents=True)
    index.write_text("# Memory\n\n- Ports are even.\n")
    page = home / "CLAUDE.md"
    page.write_text("- Be brief.\n- Indent with tabs.\n")
    async with stage(home, state=tmp_path / "state", toasts=True) as on:
        await on.press("/")
        await on.type("brief")
        await on.press("enter", "B")
        await on.sees("Which part of its file")
        await on.press("down", "enter")
        await on.sees("Of which project is Indent with tabs.")
        await on.type("-srv-app")
        await on.press("enter")
        await on.sees("- Indent with tabs.")
        await on.press("enter")
        await on.sees("Promoted: ")
        assert page.read_text() == "- Be brief.\n"
        assert len(list(index.parent.iterdir())) == 2


@pytest.mark.slow
@pytest.mark.textual
async def test_an_edit_changes_only_its_value_and_undo_gives_the_same_bytes(
    tmp_path: Path,
) -> None:
    async with changing(tmp_path, AGENT) as on:
        before = on.files()
        fact = await on.stand(on.first(AGENT, kind="fact", status="active").ref)
        await on.keys("e")
        assert prose(on).raw == fact.content
        await write(on, fact.content + " And so it stays.")
        await on.keys("ctrl+s")
        assert on.app.screen is on.browse
        assert on.toasts[-1].startswith("Saved: ")
        assert on.toasts[-1].endswith(" · u undo")
        after = on.files()
        (name,) = touched(before, after)
        text = json.dumps(fact.content, ensure_ascii=False)[1:-1]
        assert after[name] == before[name].replace(
            text.encode(), f"{text} And so it stays.".encode(), 1
        )
        assert on.memory(fact.ref).content.endswith("so it stays.")
        assert on.browse.detail.memory == on.memory(fact.ref)
        await on.keys("u")
        assert on.files() == before
        assert re.fullmatch('Undone: edit "[^"]+"\n[^\n]+ · ctrl\\+r redo', on.toasts[-1])
        await on.keys("ctrl+r")
        assert on.files() == after


@pytest.mark.slow
async def test_the_ends_of_a_text_and_a_paste_as_one_step(tmp_path: Path) -> None:
    async with changing(tmp_path, AGENT) as on:
        await on.stand(on.first(AGENT, kind="fact", status="active").ref)
        await on.keys("e")
        await write(on, "one\ntwo\nthree")
        await on.keys("ctrl+end", "!", "ctrl+home", "?")
        assert prose(on).raw == "?one\ntwo\nthree!"
        await on.keys("ctrl+shift+end", "q")
        assert prose(on).raw == "?q"
        on.app.post_message(events.Paste("d\rd\r\x1bq"))
        await on.rest()
        assert prose(on).raw == "?qd\nd\n\x1bq"
        await on.keys("ctrl+z")
        assert prose(on).raw == "?q"


@pytest.mark.slow
async def test_the_form_asks_only_when_something_would_be_lost(tmp_path: Path) -> None:
    async with changing(tmp_path, AGENT) as on:
        before = on.files()
        await on.keys("e", "escape")
        assert on.app.screen is on.browse
        await on.keys("e")
        await on.type("x")
        await on.keys("escape")
        assert isinstance(on.app.screen, ConfirmDialog)
        await on.keys("escape")
        assert prose(on).raw.startswith("x")
        await on.keys("escape", "y")
        assert on.app.screen is on.browse
        assert on.files() == before


@pytest.mark.slow
async def test_a_new_fact_is_asked_by_the_rules_and_can_be_forced(tmp_path: Path) -> None:
    async with changing(tmp_path, AGENT) as on:
        before = on.files()
        await on.keys("m")
        line(on, "entity").value = "people/wilma"
        await write(on, "Too short")
        assert "REJECTED" in on.text()
        await on.keys("ctrl+s")
        assert prose(on).raw == "Too short"
        assert on.files() == before
        await on.keys("f4")
        assert on.app.screen is on.browse
        new = on.first(AGENT, content="Too short")
        assert new.entity == "people/wilma"
        assert on.browse.memories.memory == new
        assert new.ref not in {on.library.snapshot.rows[s].ref for s in on.browse.memories.fresh}
        await on.keys("u")
        assert on.files() == before


@pytest.mark.slow
async def test_a_contradiction_is_named_before_it_is_saved(tmp_path: Path) -> None:
    async with changing(tmp_path, AGENT) as on:
        await on.keys("m")
        line(on, "entity").value = "people/wilma"
        await write(on, "Wilma lives in Porto Candeias")
        await on.keys("ctrl+s")
        await on.keys("m")
        line(on, "entity").value = "people/wilma"
        await write(on, "Since May her house lives in Ostrava and she moved to it")
        assert "SUPERSEDED" in on.text()
        assert "supersedes: Wilma lives in Porto" in on.text()
        await on.keys("ctrl+s")
        assert isinstance(on.app.screen, DiffScreen)
        await on.keys("enter")
        old = on.first(AGENT, content="Wilma lives in Porto Candeias")
        assert old.status == "superseded"


@pytest.mark.slow
async def test_superseding_begins_with_the_old_text_and_shows_the_diff(tmp_path: Path) -> None:
    async with changing(tmp_path, AGENT) as on:
        before = on.files()
        fact = await on.stand(on.first(AGENT, kind="fact", status="active").ref)
        await on.keys("S")
        assert prose(on).raw == fact.content
        await write(on, fact.content + " Newly said.")
        await on.keys("ctrl+s")
        assert isinstance(on.app.screen, DiffScreen)
        assert on.files() == before
        await on.keys("escape")
        assert prose(on).raw.endswith("Newly said.")
        await on.keys("ctrl+s", "enter")
        assert on.memory(fact.ref).status == "superseded"
        successor = on.first(AGENT, content=fact.content + " Newly said.")
        assert fact.id in successor.supersedes
        await on.keys("u")
        assert on.files() == before


@pytest.mark.slow
async def test_a_successor_has_the_importance_that_the_form_shows(tmp_path: Path) -> None:
    async with changing(tmp_path, "simple-memory") as on:
        fact = on.first("simple-memory", kind="fact", importance="high", status="active")
        await on.stand(fact.ref)
        await on.keys("S")
        await write(on, fact.content + " Newly said.")
        await on.keys("ctrl+s", "enter")
        (ref,) = on.memory(fact.ref).superseded_by
        successor = on.first("simple-memory", id=ref)
        assert successor.importance == "high"


@pytest.mark.slow
async def test_retiring_shows_a_diff_and_restoring_brings_it_back(tmp_path: Path) -> None:
    async with changing(tmp_path, AGENT) as on:
        before = on.files()
        fact = await on.stand(on.first(AGENT, kind="fact", status="active").ref)
        await on.keys("d")
        assert isinstance(on.app.screen, DiffScreen)
        assert "historical" in on.text()
        await on.keys("escape")
        assert on.files() == before
        await on.keys("d", "enter")
        assert on.memory(fact.ref).status == "retired"
        await on.keys("d")
        assert on.toasts[-1].startswith("Already retired")
        await on.keys("D")
        assert on.files() == before


@pytest.mark.slow
async def test_marks_are_changed_with_one_question_and_one_undo(tmp_path: Path) -> None:
    async with changing(tmp_path, AGENT) as on:
        before = on.files()
        await on.show("kind:fact")
        await on.keys("v", "j", "j")
        refs = [memory.ref for memory in on.browse.marked_memories()]
        assert len(refs) == 3
        await on.keys("d")
        assert "Retire 3 memories" in on.text()
        assert on.browse.memories.is_marking
        await on.keys("enter")
        assert not on.browse.memories.is_marking
        assert {on.memory(ref).status for ref in refs} <= {"retired", "superseded"}
        assert not on.browse.memories.marked
        await on.keys("u")
        assert on.files() == before


@pytest.mark.slow
async def test_all_that_a_large_change_means_can_be_scrolled_to(tmp_path: Path) -> None:
    async with changing(tmp_path, AGENT, "gemini", "mcp-memory", "engram", size=(80, 24)) as on:
        await on.keys("*", "d")
        assert isinstance(on.app.screen, DiffScreen)
        screen = await on.still()
        assert "more lines below" in screen
        assert "↑↓ scroll" in screen
        said = screen
        for _ in range(3):
            await on.keys("pagedown")
            said += await on.still()
        for program in ("agent-memory", "Gemini CLI", "MCP memory", "Engram"):
            assert f"{program} " in said


@pytest.mark.slow
async def test_what_is_left_out_of_many_is_counted_by_its_reason(tmp_path: Path) -> None:
    async with changing(tmp_path, AGENT) as on:
        before = on.files()
        await on.show("status:all kind:fact,note sort:old")
        await on.keys("*")
        marked = on.browse.marked_memories()
        notes = sum(memory.kind == "note" for memory in marked)
        gone = sum(memory.status in ("retired", "superseded") for memory in marked)
        assert notes
        assert gone
        await on.keys("d")
        screen = await on.still()
        assert isinstance(on.app.screen, DiffScreen)
        words = " ".join(line.strip("│▐ ") for line in screen.split("\n"))
        assert "reads them" in words or "still reads these" in words
        assert " it " not in words.partition("left out")[0]
        said = re.findall(r"left out: (\d+) memor", words)
        assert sum(map(int, said)) == len(marked) - int(re.findall(r"Retire (\d+) mem", words)[0])
        await on.keys("enter")
        await on.keys("u")
        assert on.files() == before
        assert "them" in on.toasts[-1]


@pytest.mark.slow
async def test_one_memory_that_cannot_be_retired_does_not_keep_the_others(tmp_path: Path) -> None:
    """Only the frontmatter of a lesson says whether it can, and that is read while planning."""
    make(tmp_path / "stores")
    put(tmp_path / "stores" / "pip", "lessons/README.md", "# Lessons\n\nOne file each.\n")
    async with changing(tmp_path, "pip") as on:
        await on.keys("*", "d")
        screen = await on.still()
        assert "1 memory: only tasks and lessons with frontmatter" in screen
        assert "Retire 8 memories" in screen
        before = on.files()
        await on.keys("enter")
        assert touched(before, on.files()) == {"pip/lessons/ropes.md", "pip/tasks/paint.md"}


@pytest.mark.slow
async def test_what_cannot_be_done_says_why_and_leaves_out_the_rest(tmp_path: Path) -> None:
    async with changing(tmp_path, AGENT) as on:
        note = await on.stand(on.first(AGENT, kind="note").ref)
        await on.keys("S")
        assert "a note is a file" in on.toasts[-1].casefold()
        assert "supersede" not in on.text().rpartition("\n")[2]
        fact = on.first(AGENT, kind="fact", status="active")
        await on.keys("space")
        await on.stand(fact.ref)
        await on.keys("space", "D")
        assert on.memory(note.ref) == note
        assert on.toasts


@pytest.mark.slow
async def test_a_document_is_deleted_where_there_is_no_other_way(tmp_path: Path) -> None:
    async with changing(tmp_path, "workspace") as on:
        before = on.files()
        document = next(
            m for m in on.library.memories("workspace") if m.id.startswith("knowledge/")
        )
        await on.stand(document.ref)
        await on.keys("delete")
        assert "(removed)" in on.text()
        await on.keys("enter")
        assert touched(before, on.files()) == {f"workspace/{document.id}"}
        await on.keys("u")
        assert on.files() == before


@pytest.mark.slow
async def test_pin_tag_rate_and_review_leave_the_store_alone(tmp_path: Path) -> None:
    async with changing(tmp_path, AGENT) as on:
        before = on.files()
        fact = await on.stand(on.first(AGENT, kind="fact", status="active", pinned=False).ref)
        await on.keys("p")
        assert on.memory(fact.ref).pinned
        await on.keys("p")
        assert not on.memory(fact.ref).pinned
        await on.keys("#")
        line(on, "tags").value = "bells, towers"
        await on.keys("ctrl+s")
        assert on.memory(fact.ref).tags == ("bells", "towers")
        await on.act("rate")
        assert isinstance(form(on).focused, ChoiceInput)
        await on.keys("right", "right", "right", "ctrl+s")
        assert on.memory(fact.ref).extra["rating"] == 3
        await on.act("review")
        assert on.memory(fact.ref).extra["reviewed"]
        assert on.files() == before
        await on.keys("u", "u", "u", "u", "u")
        assert on.memory(fact.ref).tags == fact.tags
        assert not on.memory(fact.ref).pinned


@pytest.mark.slow
async def test_a_form_of_one_line_is_saved_with_enter_and_says_how(tmp_path: Path) -> None:
    async with changing(tmp_path, AGENT) as on:
        fact = await on.stand(on.first(AGENT, kind="fact", status="active").ref)
        await on.act("rate")
        assert "enter save" in on.text()
        assert "←→ choose" in on.text()
        await on.keys("4", "enter")
        assert on.app.screen is on.browse
        assert on.memory(fact.ref).extra["rating"] == 4
        await on.keys("#")
        line(on, "tags").value = "bells"
        await on.keys("enter")
        assert on.app.screen is on.browse
        assert on.memory(fact.ref).tags == ("bells",)


@pytest.mark.slow
async def test_tags_of_several_are_added_and_taken_away(tmp_path: Path) -> None:
    async with changing(tmp_path, AGENT) as on:
        await on.show("kind:fact")
        await on.keys("space", "space", "#")
        line(on, "tags").value = "winter"
        await on.keys("ctrl+s", "enter")
        tagged = [m for m in on.library.memories(AGENT) if "winter" in m.tags]
        assert len(tagged) == 2
        await on.keys("u")
        assert not [m for m in on.library.memories(AGENT) if "winter" in m.tags]


@pytest.mark.slow
async def test_a_link_is_made_by_search(tmp_path: Path) -> None:
    async with changing(tmp_path, AGENT) as on:
        fact = await on.stand(on.first(AGENT, kind="fact", status="active").ref)
        other = on.first(AGENT, kind="fact", status="active", entity="companies/quarterbell")
        await on.keys("L")
        await on.type(" ".join(other.content.split()[:6]))
        await on.rest()
        await on.keys("enter")
        assert on.app.screen is on.browse
        (link,) = on.memory(fact.ref).links[len(fact.links) :]
        assert link.relation == "related"
        assert on.memory(f"{AGENT}:{link.target}").entity == other.entity
        await on.keys("u")
        assert on.memory(fact.ref).links == fact.links


@pytest.mark.slow
async def test_a_type_by_pattern_names_every_document_first(tmp_path: Path) -> None:
    async with changing(tmp_path, "workspace") as on:
        before = on.files()
        untyped = next(
            m
            for m in on.library.memories("workspace")
            if not m.type and m.id.startswith("knowledge/")
        )
        await on.stand(untyped.ref)
        await on.keys("ctrl+t")
        line(on, "type").value = "project"
        line(on, "pattern").value = "knowledge/**/*.md"
        await on.rest()
        assert "would change the type of" in " ".join(on.text().split())
        await on.keys("ctrl+s")
        assert isinstance(on.app.screen, DiffScreen)
        assert untyped.id in on.text() or "more" in on.text()
        await on.keys("enter")
        assert on.memory(untyped.ref).type == "project"
        (name,) = touched(before, on.files())
        assert name.endswith("memory-type-map.json")
        await on.keys("u")
        assert on.files() == before


@pytest.mark.slow
async def test_proposals_are_accepted_as_edited_and_declined(tmp_path: Path) -> None:
    async with changing(tmp_path, "simple-memory") as on:
        before = on.files()
        proposed = [m for m in on.library.memories("simple-memory") if m.status == "proposed"]
        await on.stand(proposed[0].ref)
        await on.keys("a")
        await write(on, proposed[0].content + " Mostly.")
        await on.keys("ctrl+s")
        assert on.memory(proposed[0].ref).status == "active"
        assert on.memory(proposed[0].ref).content.endswith("Mostly.")
        await on.stand(proposed[1].ref)
        await on.keys("X")
        assert "supersedes" not in on.text(), "it names the declined memory only"
        await on.keys("enter")
        assert on.memory(proposed[1].ref).status == "retired"
        await on.keys("a")
        assert "not a proposal" in on.toasts[-1]
        await on.keys("u", "u")
        assert on.files() == before


async def test_a_merge_that_no_memory_can_be_kept_of_is_refused_with_its_reason(
    tmp_path: Path,
) -> None:
    folder = tmp_path / "stores" / "project"
    folder.mkdir(parents=True)
    for name in ("AGENTS.md", "CLAUDE.md"):
        rules = "\n".join(f"- Rule {number} of {name} for the shop" for number in range(4))
        (folder / name).write_text(f"# Shop\n\n{rules}\n", "utf-8")
    async with changing(tmp_path, "project") as on:
        before = on.files()
        await on.keys("*")
        assert len(on.browse.marked_memories()) > 5
        await on.keys("&")
        assert on.app.screen is on.browse
        assert "one file" in on.toasts[-1]
        assert on.files() == before


@pytest.mark.slow
async def test_marked_facts_are_merged_into_the_newest(tmp_path: Path) -> None:
    async with changing(tmp_path, AGENT) as on:
        before = on.files()
        await on.show("kind:fact entity:companies/quarterbell")
        await on.keys("space", "space", "k")
        marked = on.browse.marked_memories()
        keeper = max(marked, key=lambda one: one.when or NOW)
        await on.keys("&")
        assert isinstance(on.app.screen, MergeScreen)
        assert f"Stays: {keeper.headline}"[:30] in on.text()
        await on.keys("tab")
        assert f"Goes: {keeper.headline}"[:30] in on.text()
        await on.keys("tab", "e")
        await write(on, keeper.content + " Both of it.")
        await on.keys("ctrl+s")
        assert isinstance(on.app.screen, DiffScreen)
        await on.keys("enter")
        (gone,) = [m for m in marked if m.ref != keeper.ref]
        assert on.memory(gone.ref).status == "superseded"
        assert gone.id in on.memory(keeper.ref).supersedes
        await on.keys("u")
        assert on.files() == before


@pytest.mark.slow
async def test_the_other_memory_can_be_kept(tmp_path: Path) -> None:
    async with changing(tmp_path, AGENT, size=(120, 40)) as on:
        before = on.files()
        await on.show("kind:fact entity:companies/quarterbell")
        await on.keys("space", "space")
        marked = on.browse.marked_memories()
        newest = max(marked, key=lambda one: one.when or NOW)
        await on.keys("&")
        shown = on.text()
        assert "agent-memory reads one in place of all at its next search" in shown
        assert "word by word" in shown
        await on.keys("tab", "enter")
        assert on.memory(newest.ref).status == "superseded"
        await on.keys("u")
        assert on.files() == before


@pytest.mark.slow
async def test_a_note_among_the_marks_is_named_before_a_merged_text_is_written(
    tmp_path: Path,
) -> None:
    async with changing(tmp_path, AGENT) as on:
        await on.show("entity:companies/quarterbell")
        await on.keys("space", "space", "space", "&")
        assert {memory.kind for memory in on.browse.marked_memories()} == {"fact", "note"}
        assert on.app.screen is on.browse
        assert "note" in on.toasts[-1]


def _rewrite(on: ChangingStage, file: str, old: str, new: str) -> None:
    """As an agent would: the whole file, with one text changed."""
    path = Path(file)
    text = path.read_text(encoding="utf-8")
    assert old in text
    path.write_text(text.replace(old, new, 1), encoding="utf-8")


@pytest.mark.slow
@pytest.mark.parametrize(
    ("key", "left"), [("t", "Theirs now stands."), ("m", "Mine now stands."), ("b", "")]
)
async def test_a_conflict_lets_the_person_choose(tmp_path: Path, key: str, left: str) -> None:
    async with changing(tmp_path, AGENT) as on:
        fact = await on.stand(on.first(AGENT, content=_plain(on), kind="fact").ref)
        await on.keys("e")
        await write(on, "Mine now stands.")
        _rewrite(on, fact.origin.file, fact.content, "Theirs now stands.")
        await on.keys("ctrl+s")
        assert isinstance(on.app.screen, ConflictScreen)
        for words in (fact.content[:20], "Theirs", "Mine"):
            assert words.split()[0] in on.text()
        await on.keys("enter")
        assert isinstance(on.app.screen, ConflictScreen), "nothing is chosen by default"
        await on.keys(key)
        if key == "b":
            marked = "<<<<<<< on disk\nTheirs now stands.\n=======\nMine now stands.\n>>>>>>> yours"
            assert prose(on).raw == marked
            await on.keys("ctrl+s")
            assert "remove the marks" in on.text()
            assert on.memory(fact.ref).content == "Theirs now stands."
            await write(on, "Both of us stand here.")
            await on.keys("ctrl+s")
        assert on.memory(fact.ref).content == (left or "Both of us stand here.")


@pytest.mark.slow
async def test_a_change_on_disk_is_shown_while_the_form_is_open(tmp_path: Path) -> None:
    async with changing(tmp_path, "serena", size=(100, 30)) as on:
        note = on.first("markdown-folder", kind="document")
        path = Path(note.origin.file)
        path.write_text("# Ports\n\nThe api has 8123.\n\nThe site has 8200.\n")
        on.library.refresh()
        await on.stand(note.ref)
        await on.keys("e")

        path.write_text("# Ports\n\nThe api has 9000.\n\nThe site has 8200.\n")
        on.browse.worker.refresh()
        await on.until(lambda: "changed meanwhile: text" in on.text(), "it is said")

        await write(on, "# Ports\n\nThe api has 8123.\n\nThe site has 9100.\n")
        await on.until(lambda: "another program changed this memory" in on.text(), "it is said")
        await on.keys("ctrl+s", "b")
        merged = "# Ports\n\nThe api has 9000.\n\nThe site has 9100.\n"
        assert prose(on).raw.rstrip() == merged.rstrip()
        await on.keys("ctrl+s")
        assert path.read_text() == merged


def _plain(on: ChangingStage) -> str:
    """A content without anything that JSON writes in another way."""
    return next(
        m.content
        for m in on.library.memories(AGENT)
        if m.kind == "fact"
        and m.status == "active"
        and m.content.isascii()
        and '"' not in m.content
    )


@pytest.mark.slow
async def test_a_conflict_of_another_field_does_not_offer_to_edit_both_texts(
    tmp_path: Path,
) -> None:
    """The values would else be put into the text of the memory."""
    async with changing(tmp_path, "simple-memory") as on:
        episode = await on.stand(on.first("simple-memory", kind="episode").ref)
        await on.keys("e")
        title = on.app.screen.query(LineInput).first()
        assert title.raw == episode.title
        title.value = "Mine now stands"
        await on.rest()
        _rewrite(on, episode.origin.file, episode.title, "Theirs now stands")
        await on.keys("ctrl+s")
        assert isinstance(on.app.screen, ConflictScreen)
        assert "edit both" not in on.text()
        await on.keys("b")
        assert isinstance(on.app.screen, ConflictScreen)
        await on.keys("m")
        assert on.memory(episode.ref).title == "Mine now stands"


@pytest.mark.slow
async def test_a_conflict_can_be_decided_later(tmp_path: Path) -> None:
    async with changing(tmp_path, AGENT) as on:
        fact = await on.stand(on.first(AGENT, content=_plain(on), kind="fact").ref)
        await on.keys("e")
        await write(on, "Mine now stands.")
        _rewrite(on, fact.origin.file, fact.content, "Theirs now stands.")
        await on.keys("ctrl+s", "escape")
        assert prose(on).raw == "Mine now stands."
        await write(on, "Mine stands, later.")
        await on.rest()
        assert "^s show both texts" in on.text()
        assert "reload" not in on.text()
        await on.keys("ctrl+s")
        assert isinstance(on.app.screen, ConflictScreen)


@pytest.mark.slow
async def test_a_conflict_of_long_texts_has_the_width_and_says_what_scrolls(tmp_path: Path) -> None:
    async with changing(tmp_path, AGENT) as on:
        await on.resize(160, 45)
        fact = await on.stand(on.first(AGENT, content=_plain(on), kind="fact").ref)
        await on.keys("e")
        await write(on, "\n\n".join(f"Mine now stands {number}." for number in range(30)))
        _rewrite(on, fact.origin.file, fact.content, "Theirs now stands.")
        await on.keys("ctrl+s")
        assert isinstance(on.app.screen, ConflictScreen)
        assert on.app.screen.query_one(".box").outer_size.width > 150
        assert "↑↓ scroll" in on.text()


@pytest.mark.slow
@pytest.mark.parametrize("act", [Act.SUPERSEDE, Act.RETIRE])
async def test_an_edit_of_what_was_ended_meanwhile_says_so_and_asks(
    tmp_path: Path, act: Act
) -> None:
    async with changing(tmp_path, AGENT) as on:
        fact = await on.stand(on.first(AGENT, content=_plain(on), kind="fact").ref)
        await on.keys("e")
        await write(on, "Mine stands here.")
        other = Library.open([on.folder / AGENT], cache=None, state=tmp_path / "other")
        other.load()
        fields = {"content": "Theirs stands here now."} if act is Act.SUPERSEDE else {}
        other.apply(other.plan([Change(act, fact.store, fact.ref, fields)]))
        await on.keys("ctrl+s")
        assert isinstance(on.app.screen, DiffScreen)
        status = on.memory(fact.ref).status
        assert f"{status} meanwhile" in on.text()
        assert on.memory(fact.ref).content == fact.content
        await on.keys("escape")
        assert prose(on).raw == "Mine stands here."
        await write(on, "Mine stands here, later.")
        await on.rest()
        assert f"{status} meanwhile" in on.text(), "the preview too"
        await on.keys("ctrl+s", "enter")
        assert on.memory(fact.ref).content == "Mine stands here, later."


@pytest.mark.slow
async def test_what_was_changed_since_is_not_undone_but_shown(tmp_path: Path) -> None:
    async with changing(tmp_path, AGENT) as on:
        fact = await on.stand(on.first(AGENT, content=_plain(on), kind="fact").ref)
        await on.keys("e")
        await write(on, "Mine stood here for a while.")
        await on.keys("ctrl+s")
        _rewrite(on, fact.origin.file, "Mine stood here for a while.", "Theirs came afterwards.")
        await on.keys("u")
        assert isinstance(on.app.screen, ConflictScreen)
        assert "Theirs came" in on.text()
        await on.keys("m", "b")
        assert isinstance(on.app.screen, ConflictScreen), "an undo can only be left"
        await on.keys("t")
        assert on.memory(fact.ref).content == "Theirs came afterwards."


@pytest.mark.slow
async def test_a_failed_save_keeps_the_text(tmp_path: Path) -> None:
    state = tmp_path / "state"
    state.write_text("this is no folder")
    async with changing(tmp_path, AGENT, state=state) as on:
        before = on.files()
        await on.stand(on.first(AGENT, kind="fact", status="active").ref)
        await on.keys("e")
        await write(on, "A text that must not get lost.")
        await on.keys("ctrl+s")
        assert prose(on).raw == "A text that must not get lost."
        assert on.toasts[-1] == "Not saved; your text is still here.", "the form says why"
        assert on.files() == before


@pytest.mark.slow
async def test_a_field_that_is_refused_keeps_the_form(tmp_path: Path) -> None:
    async with changing(tmp_path, AGENT) as on:
        before = on.files()
        await on.stand(on.first(AGENT, kind="fact", status="active").ref)
        await on.keys("e")
        line(on, "entity").value = "one/two/three"
        await on.rest()
        assert "error:" in on.text()
        await on.keys("ctrl+s")
        assert line(on, "entity").raw == "one/two/three"
        assert on.files() == before


@pytest.mark.slow
async def test_undo_works_after_a_restart(tmp_path: Path) -> None:
    async with changing(tmp_path, AGENT) as on:
        before = on.files()
        await on.stand(on.first(AGENT, kind="fact", status="active").ref)
        await on.keys("d", "enter")
        assert on.files() != before
    async with changing(tmp_path, AGENT) as on:
        await on.keys("u")
        assert on.files() == before


@pytest.mark.slow
async def test_the_log_computes_a_diff_in_a_job(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    computed_in: list[threading.Thread] = []

    def diffs_of(edit: Edit) -> list[FileDiff]:
        computed_in.append(threading.current_thread())
        return list(edit_diffs(edit))

    monkeypatch.setattr("memtui.tui.change_log.edit_diffs", diffs_of)
    async with changing(tmp_path, AGENT) as on:
        fact = await on.stand(on.first(AGENT, kind="fact", status="active").ref)
        await on.keys("d", "enter", "C")
        assert fact.headline[:20] in on.text()
        assert "+ " in on.text(), "the diff is shown"
        await on.keys("space")
        assert isinstance(on.app.screen, LogPage)
        assert on.app.screen.is_whole
        assert computed_in
        assert threading.main_thread() not in computed_in


@pytest.mark.slow
async def test_the_log_goes_there_and_takes_back_from_there(tmp_path: Path) -> None:
    async with changing(tmp_path, AGENT) as on:
        before = on.files()
        fact = await on.stand(on.first(AGENT, kind="fact", status="active").ref)
        await on.keys("p")
        await on.keys("d", "enter", "G", "C")
        assert isinstance(on.app.screen, LogPage)
        assert on.text().index("retire:") < on.text().index("pin:")
        await on.keys("enter")
        assert on.browse.detail.memory is not None
        assert on.browse.detail.memory.ref == fact.ref
        await on.keys("C", "u")
        assert on.files() == before
        await on.keys("C", "j", "u")
        assert not on.memory(fact.ref).pinned
        await on.keys("C", "j", "ctrl+r")
        assert on.memory(fact.ref).pinned


@pytest.mark.slow
@pytest.mark.parametrize(
    ("store", "kind", "jump"),
    [
        (AGENT, "fact", 0),
        (AGENT, "note", 86_400),
        ("workspace", "document", -86_400),
        ("engram", "observation", 0),
    ],
)
async def test_a_change_that_an_agent_puts_back_is_told_and_done_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, store: str, kind: str, jump: float
) -> None:
    """Also when the machine's clock is put on or back by a day meanwhile."""
    async with changing(tmp_path, store) as on:
        before = on.files()
        memory = await on.stand(on.first(store, kind=kind, status="active").ref)
        await on.keys("e")
        await write(on, "This is what a person wrote.")
        await on.keys("ctrl+s")
        after = on.files()
        mine = on.memory(memory.ref).content
        await on.keys("W")
        assert "None of your changes" in on.toasts[-1]
        (name,) = touched(before, after)
        (on.folder / name).write_bytes(before[name])
        clock = time.time
        monkeypatch.setattr(time, "time", lambda: clock() + jump)
        on.browse.editing.journal.look()
        await on.rest()
        assert "another program has put back what was there before" in on.toasts[-1]
        await on.keys("C")
        assert "! overwritten" in on.text()
        await on.keys("escape", "W", "escape")
        assert on.files() == {**after, name: before[name]}, "it is shown first"
        await on.keys("W", "enter")
        assert on.memory(memory.ref).content == mine
        assert store == "engram" or on.files() == after  # Engram dates and counts each change
        await on.keys("u")
        assert on.memory(memory.ref).content == memory.content


async def put_back_by_an_agent(on: ChangingStage) -> tuple[dict[str, bytes], str]:
    """Edit a fact, then undo that in its file, as another program does, and look at the files.

    Returns the files as they were, and the name of the one that was written.
    """
    before = on.files()
    await on.stand(on.first(AGENT, kind="fact", status="active").ref)
    await on.keys("e")
    await write(on, "This is what a person wrote.")
    await on.keys("ctrl+s")
    (name,) = touched(before, on.files())
    (on.folder / name).write_bytes(before[name])
    on.browse.editing.journal.look()
    await on.rest()
    return before, name


@pytest.mark.slow
async def test_what_an_agent_put_back_can_be_left_so(tmp_path: Path) -> None:
    async with changing(tmp_path, AGENT) as on:
        before, _ = await put_back_by_an_agent(on)
        await on.keys("W")
        assert "another program has put back what was there before" in " ".join(on.text().split())
        assert '+     "content": "This is what a person wrote.",' in on.text()
        await on.keys("tab")
        assert "Nothing is written" in on.text()
        assert "enter leave it" in on.text()
        assert '"content": "This is what a person wrote.",' not in on.text(), "no diff is shown"
        await on.keys("tab", "tab", "enter")
        assert on.app.screen is on.browse
        assert "Left as it is" in on.toasts[-1]
        assert on.files() == before
        on.browse.editing.journal.look()
        await on.rest()
        await on.keys("W")
        assert "None of your changes" in on.toasts[-1]


@pytest.mark.slow
async def test_what_memtui_applied_again_is_not_blamed_on_another_program(tmp_path: Path) -> None:
    async with changing(tmp_path, AGENT) as on:
        before, name = await put_back_by_an_agent(on)
        await on.keys("W", "enter")
        assert b"what a person wrote" in on.files()[name]
        for _ in range(2):
            on.app.clear_notifications()
            on.browse.editing.journal.look()
            await on.rest()
            assert not any("another program" in toast for toast in on.toasts)
        await on.keys("W")
        assert "None of your changes" in on.toasts[-1]
        await on.keys("u")
        assert on.files() == before
        on.browse.editing.journal.look()
        await on.rest()
        await on.keys("W")
        assert "None of your changes" in on.toasts[-1], "an undo is no write of another program"


@pytest.mark.slow
async def test_a_check_for_reverted_edits_is_not_overtaken_by_the_next(tmp_path: Path) -> None:
    """After a change of thousands of files one takes longer than the time to the next."""
    async with changing(tmp_path, AGENT) as on:
        await on.stand(on.first(AGENT, kind="fact", status="active").ref)
        await on.keys("d", "enter")
        with on.library.loaded.lock:  # keeps the check from going on
            on.browse.editing.journal.look()
            on.browse.editing.journal.look()
            checks = [job for job in on.app.workers if job.group == "overwritten"]
            assert [job.is_cancelled for job in checks] == [False]


@pytest.mark.slow
async def test_hostile_text_is_edited_without_acting_or_changing(tmp_path: Path) -> None:
    async with changing(tmp_path, AGENT) as on:
        hostile = (
            "tea \x1b]52;c;WA==\x07 \u202e bidi \x9b2J \u2028 two\r\nlines [@click=app.quit]x[/]"
        )
        fact = await on.stand(on.first(AGENT, content=_plain(on), kind="fact").ref)
        await on.keys("e")
        await write(on, hostile)
        assert prose(on).raw == hostile
        await on.keys("ctrl+s")
        assert on.memory(fact.ref).content == hostile
        await on.keys("e")
        assert prose(on).raw == hostile
        await on.type("My ")
        await on.rest()
        await on.keys("f2", "escape", "ctrl+s")
        assert on.memory(fact.ref).content == "My " + hostile
        await on.keys("C", "space", "escape", "escape", "d", "escape", "u", "u")
        assert on.memory(fact.ref).content == fact.content


@pytest.mark.slow
async def test_on_a_small_screen_a_key_scrolls_what_saving_would_do(tmp_path: Path) -> None:
    async with changing(tmp_path, AGENT) as on:
        await on.show("kind:fact entity:companies/quarterbell")
        await on.resize(60, 16)
        await on.keys("S")
        await on.type("Now ")
        await on.rest()
        seen = on.text()
        assert "pgdn more" in seen
        await on.keys("pagedown")
        assert on.text() != seen
        await write(on, "A longer text. " * 40)
        assert "pgdn more" not in on.text(), "the text needs the key"
        await on.keys("tab")
        assert "pgdn more" in on.text()
        seen = on.text()
        await on.keys("pagedown")
        assert on.text() != seen
        await on.resize(120, 40)
        assert "pgdn more" not in on.text()
