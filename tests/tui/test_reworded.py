"""A form about a memory whose id came from its text, which another program changes or deletes."""

from __future__ import annotations

import contextlib
import shutil
import sys
from pathlib import Path

import pytest

from memtui.errors import RefError
from memtui.model import Memory
from memtui.stores.sidecar import is_kept
from memtui.testing.fixtures import open_library
from memtui.tui.dialogs.diff import ConflictScreen
from memtui.tui.dialogs.edit_form import FormScreen
from memtui.tui.widgets.inputs import LineInput, TextInput
from tests.long_run import share
from tests.samples import SAMPLES

from .sample_stage import ChangingStage, changing

LISTS = (
    "hermes",
    "openclaw",
    "claude-code",
    "project-instructions",
    "gemini",
    "mcp-memory",
    "markdown-folder",
)
"""The samples whose texts have no ids in their files; the last by its observations."""


def in_the_middle(memories: list[Memory]) -> Memory:
    """A text of one line with one above and one below it in its list."""
    facts = [each for each in memories if each.kind in ("fact", "note") and not is_kept(each)]
    for above, memory, below in zip(facts, facts[1:], facts[2:], strict=False):
        lists = {(each.entity, each.kind, each.origin.file) for each in (above, memory, below)}
        text = Path(memory.origin.file).read_text(encoding="utf-8")
        is_plain = "\n" not in memory.content and text.count(memory.content) == 1
        if len(lists) == 1 and is_plain and memory.content.isascii() and not memory.title:
            return memory
    raise AssertionError("no list of three")


def rewrite(memory: Memory, new: str | None) -> None:
    """As an agent would: the whole file, with one text changed, or without it."""
    path = Path(memory.origin.file)
    text = path.read_text(encoding="utf-8")
    if new is not None:
        path.write_text(text.replace(memory.content, new), encoding="utf-8")
    elif path.suffix == ".jsonl":
        path.write_text(text.replace(f'"{memory.content}",', "", 1), encoding="utf-8")
    else:
        lines = [line for line in text.split("\n") if memory.content not in line]
        path.write_text("\n".join(lines).replace("\n§\n§\n", "\n§\n"), encoding="utf-8")
    assert path.read_text(encoding="utf-8") != text


@pytest.mark.parametrize("name", LISTS)
def test_a_changed_text_is_found_in_its_place_and_a_deleted_one_is_not(
    tmp_path: Path, name: str
) -> None:
    library = open_library(Path(shutil.copytree(SAMPLES / name, tmp_path / name)))
    label = library.snapshot.stores[0].label
    memory = in_the_middle(list(library.memories(label)))
    before, file = library.snapshot, Path(memory.origin.file)
    whole = file.read_bytes()

    rewrite(memory, "Something else entirely stands here.")
    library.refresh()
    now = library.follow(memory, before)
    assert "Something else entirely stands here." in now.content
    assert now.ref != memory.ref

    file.write_bytes(whole)
    rewrite(memory, None)
    library.refresh()
    with pytest.raises(RefError):
        library.follow(memory, before)


def test_a_new_text_at_the_end_is_no_other_wording_of_the_one_that_went(tmp_path: Path) -> None:
    file = tmp_path / "GEMINI.md"
    head = "## Gemini Added Memories\n- The api listens on port 8123\n"
    file.write_text(f"{head}- Tests run with make check\n")
    library = open_library(tmp_path)
    before = library.snapshot
    label = before.stores[0].label
    memory = next(each for each in library.memories(label) if "Tests" in each.content)
    for line, is_found in (("Deploy on Mondays only", False), ("Tests run with make test", True)):
        file.write_text(f"{head}- {line}\n")
        library.refresh()
        found = None
        try:
            found = library.follow(memory, before)
        except RefError:
            assert not is_found
        assert found is None or found.content == line


def test_of_two_texts_that_were_reworded_each_is_followed_to_its_own(tmp_path: Path) -> None:
    file = tmp_path / "GEMINI.md"
    lines = ["The api listens on port 8123", "The site listens on port 8200"]
    file.write_text("\n- ".join(["## Gemini Added Memories", *lines]) + "\n")
    library = open_library(tmp_path)
    before = library.snapshot
    memories = [each for each in library.memories(before.stores[0].label) if "port" in each.content]
    changed = [line.replace("port ", "port 1") for line in lines]
    file.write_text("\n- ".join(["## Gemini Added Memories", *changed]) + "\n")
    library.refresh()
    assert [library.follow(each, before).content for each in memories] == changed


def prose(on: ChangingStage) -> TextInput:
    return on.app.screen.query_one(TextInput)


async def opened(on: ChangingStage, name: str) -> Memory:
    label = on.library.snapshot.stores[0].label
    memory = await on.stand(in_the_middle(list(on.library.memories(label))).ref)
    await on.keys("e")
    assert isinstance(on.app.screen, FormScreen)
    return memory


@pytest.mark.slow
@pytest.mark.parametrize("name", share(LISTS, 0, 2))
async def test_a_text_that_changes_under_a_form_is_a_conflict_that_both_can_stay_in(
    tmp_path: Path, name: str
) -> None:
    async with changing(tmp_path, name) as on:
        memory = await opened(on, name)
        rewrite(memory, f"{memory.content} (checked)")
        on.browse.worker.refresh()
        await on.until(lambda: "changed meanwhile: text" in on.text(), "it is said")
        assert "deleted" not in on.text()
        prose(on).set_raw(f"Mine: {memory.content}")
        await on.rest()
        await on.keys("ctrl+s")
        assert isinstance(on.app.screen, ConflictScreen)
        await on.keys("b")
        assert f"<<<<<<< on disk\n{memory.content} (checked)\n=======\nMine: " in prose(on).raw
        prose(on).set_raw(f"Mine: {memory.content} (checked)")
        await on.rest()
        await on.keys("ctrl+s")
        assert on.app.screen is on.browse
        text = Path(memory.origin.file).read_text(encoding="utf-8")
        assert text.count(memory.content) == text.count(f"Mine: {memory.content} (checked)") == 1
        await on.keys("u")
        assert f"Mine: {memory.content}" not in Path(memory.origin.file).read_text("utf-8")
        assert f"{memory.content} (checked)" in Path(memory.origin.file).read_text("utf-8")


@pytest.mark.slow
async def test_another_field_is_saved_for_the_text_that_stands_there_now(tmp_path: Path) -> None:
    async with changing(tmp_path, "gemini") as on:
        memory = await opened(on, "gemini")
        rewrite(memory, "Something else entirely stands here.")
        tags = next(each for each in on.app.screen.query(LineInput) if each.name == "tags")
        tags.value = "seen"
        await on.rest()
        await on.keys("ctrl+s")
        assert on.app.screen is on.browse
        (now,) = [each for each in on.library.memories("gemini") if "seen" in each.tags]
        assert now.content == "Something else entirely stands here."


@pytest.mark.slow
@pytest.mark.parametrize("name", share(LISTS, 1, 2))
async def test_a_text_that_is_deleted_under_a_form_can_be_saved_as_a_new_memory(
    tmp_path: Path, name: str
) -> None:
    async with changing(tmp_path, name) as on:
        memory = await opened(on, name)
        prose(on).set_raw("KINGFISHER is what I meant")
        await on.rest()
        rewrite(memory, None)
        on.browse.worker.refresh()
        await on.until(lambda: "another program deleted this memory" in on.text(), "it is said")
        assert "^s save as a new memory" in on.text()
        await on.keys("ctrl+s")
        await on.until(lambda: "New memory" in on.text(), "the form of a new memory is open")
        assert prose(on).raw == "KINGFISHER is what I meant"
        await on.rest()
        await on.keys("ctrl+s")
        assert on.app.screen is on.browse, on.text()
        label = memory.store
        assert any("KINGFISHER" in each.content for each in on.library.memories(label))
        assert not list((tmp_path / "state" / "drafts").glob("*"))


@pytest.mark.slow
async def test_a_line_that_changed_while_an_editor_was_open_is_a_conflict(tmp_path: Path) -> None:
    editor, target = tmp_path / "editor.py", tmp_path / "stores" / "gemini" / "GEMINI.md"
    async with changing(tmp_path, "gemini", editor=f"{sys.executable} {editor}") as on:
        memory = await on.stand(in_the_middle(list(on.library.memories("gemini"))).ref)
        editor.write_text(
            "import sys\nfrom pathlib import Path\n"
            f"target, old = Path({str(target)!r}), {memory.content!r}\n"
            "target.write_text(target.read_text().replace(old, 'What they wrote.'))\n"
            "Path(sys.argv[-1]).write_text('What I wrote.')\n"
        )
        on.app.suspend = contextlib.nullcontext  # type: ignore[method-assign,assignment]
        await on.keys("E")
        assert prose(on).raw == "What I wrote."
        await on.keys("ctrl+s", "m")
        await on.until(lambda: on.app.screen is on.browse, "it is saved")
        text = target.read_text()
        assert "- What I wrote.\n" in text
        assert "What they wrote" not in text


@pytest.mark.slow
async def test_undo_and_redo_leave_the_cursor_on_the_memory_that_they_change(
    tmp_path: Path,
) -> None:
    file = tmp_path / "stores" / "gemini" / "GEMINI.md"
    file.parent.mkdir(parents=True)
    lines = [f"The shop has room {number}" for number in range(150)]
    file.write_text("\n- ".join(["## Gemini Added Memories", *lines]) + "\n")
    async with changing(tmp_path, "gemini") as on:
        await on.show("shop")
        await on.keys("G", "e")
        memory = on.browse.memories.memory
        assert memory is not None
        ranked_first = f"{memory.content}, shop, shop, shop"
        prose(on).set_raw(ranked_first)
        await on.rest()
        await on.keys("ctrl+s")
        for key, text in (("u", memory.content), ("ctrl+r", ranked_first)):
            await on.keys(key)
            await on.until(
                lambda text=text: getattr(on.browse.memories.memory, "content", "") == text,
                f"the cursor is on {text!r}",
            )
