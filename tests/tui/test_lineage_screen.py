"""The history of a memory: edits, kept versions and git as word diffs, and a former text again."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import pytest

from memtui.changes import Act, Change
from memtui.tui.dialogs.diff import DiffScreen
from memtui.tui.dialogs.history import HistoryScreen
from tests.unit.stores.engram.invented import build

from .sample_stage import ChangingStage, changing
from .stage import compare, fact, stage, write_store

SIZES = ((80, 24), (40, 12))
CHAIN = {
    "people/alice": [
        fact(1, "Alice lives in Porto", "2026-05-10", status="historical"),
        fact(2, "Alice lives in Lisbon", "2026-06-12", status="historical", supersedes=1),
        fact(3, "Alice lives in Lisbon again", "2026-09-01", supersedes=2),
    ]
}


@pytest.mark.parametrize("size", SIZES, ids="{0[0]}x{0[1]}".format)
async def test_a_chain_of_three_is_a_diff_each(tmp_path: Path, size: tuple[int, int]) -> None:
    async with stage(write_store(tmp_path, CHAIN), size) as on:
        await on.press("H")
        compare(f"lineage-{size[0]}x{size[1]}", await on.still())


@pytest.mark.slow
async def test_a_version_longer_than_the_window_can_be_read_to_its_end(tmp_path: Path) -> None:
    words = "\n\n".join(f"line {number}" for number in range(60))
    old = fact(1, words, "2026-05-10", status="historical")
    new = fact(2, f"{words} at last", "2026-06-12", supersedes=1)
    async with stage(write_store(tmp_path, {"bo": [old, new]}), (120, 35)) as on:
        await on.press("H")
        assert "scroll text" in on.text()
        assert "line 59" not in on.text()
        for _ in range(8):
            await on.press("right")
        assert "line 59 at last" in on.text()
        await on.press("j")
        assert "line 0" in on.text(), "another version is shown from its top"
        await on.press("space", "G")
        assert "line 59" in on.text()
        assert "Versions" not in on.text(), "the text alone"
        await on.press("escape")
        assert "Versions" in on.text()


async def edit(on: ChangingStage, ref: str, words: str) -> None:
    memory = on.memory(ref)
    change = Change(Act.EDIT, memory.store, ref, {"content": words})
    on.library.apply(on.library.plan([change]))
    on.browse.worker.refresh()
    await on.rest()


@pytest.mark.slow
async def test_an_edit_is_shown_and_its_former_text_restored_after_a_preview(
    tmp_path: Path,
) -> None:
    async with changing(tmp_path, "agent-memory", state=tmp_path / "state") as on:
        memory = on.first("agent-memory", status="active")
        await edit(on, memory.ref, f"{memory.content} zebra")
        await on.stand(memory.ref)
        await on.keys("H")
        screen = on.app.screen
        assert isinstance(screen, HistoryScreen)
        assert "zebra" in on.text()
        assert "former text" in on.text()
        assert "restore this text" not in on.text(), "the present text needs no restoring"
        await on.keys("j")
        assert "restore this text" in on.text()
        await on.keys("r")
        assert isinstance(on.app.screen, DiffScreen)
        assert on.memory(memory.ref).content.endswith("zebra"), "nothing is written before a yes"
        await on.keys("escape")
        assert on.app.screen is screen, "back to where it was opened"
        await on.keys("r", "enter")
        assert on.app.screen is on.browse
        assert on.memory(memory.ref).content == memory.content
        await on.keys("u")
        assert on.memory(memory.ref).content.endswith("zebra")
        await on.keys("H", "j", "enter")
        assert "‹" not in on.text(), "a former text of the memory leads to no other"


@pytest.mark.slow
async def test_versions_of_git_are_shown_with_their_author(tmp_path: Path) -> None:
    async with changing(tmp_path, "agent-memory"):
        pass
    store = tmp_path / "stores" / "agent-memory"
    author = {"GIT_AUTHOR_NAME": "Rosa", "GIT_AUTHOR_EMAIL": "rosa@example.org"}
    committer = {"GIT_COMMITTER_NAME": "Rosa", "GIT_COMMITTER_EMAIL": "rosa@example.org"}
    for words in (["init", "-q"], ["add", "-A"], ["commit", "-q", "-m", "first"]):
        subprocess.run(
            ["git", *words], cwd=store, check=True, env={**os.environ, **author, **committer}
        )
    async with changing(tmp_path, "agent-memory") as on:
        memory = on.first("agent-memory", status="active")
        await edit(on, memory.ref, "quite another text")
        await on.stand(memory.ref)
        await on.keys("H")
        await on.keys("j")
        assert "Rosa  git" in on.text()


@pytest.mark.slow
async def test_a_version_that_engram_keeps_is_shown_and_restored(tmp_path: Path) -> None:
    store = tmp_path / "stores" / "engram"
    store.mkdir(parents=True)
    build(store, "v3")
    async with changing(tmp_path, "engram", state=tmp_path / "state") as on:
        await on.keys("x", "tab", "left")
        assert "1 former versions (Engram's export has no place for them)" in on.text()
        await on.keys("escape")
        await on.stand("engram:2")
        await on.keys("H")
        assert "Stays of ash" in on.text()
        assert "former text version 1" in on.text()
        await on.keys("j", "r", "enter")
        assert on.memory("engram:2").content == "Stays of ash"
        assert on.memory("engram:2").title == "Old title"
        await on.keys("u")
        assert on.memory("engram:2").content == "Stays are oak from now on"


@pytest.mark.slow
async def test_a_replacement_that_is_also_a_link_is_one_reference(tmp_path: Path) -> None:
    store = tmp_path / "stores" / "engram"
    store.mkdir(parents=True)
    build(store, "v3")
    async with changing(tmp_path, "engram", size=(160, 45), state=tmp_path / "state") as on:
        old = on.memory("engram:2")
        changes = [Change(Act.SUPERSEDE, "engram", old.ref, {"content": "Stays of steel"})]
        on.library.apply(on.library.plan(changes))
        await on.keys("f5")
        await on.stand(on.first("engram", content="Stays of steel").ref)
        references = [one for one in on.browse.detail._references if one.ref == old.ref]
        assert [(one.relation, bool(one.note)) for one in references] == [("supersedes", True)]


@pytest.mark.slow
async def test_history_and_preview_show_the_source_of_a_text(tmp_path: Path) -> None:
    async with changing(tmp_path, "agent-memory", state=tmp_path / "state") as on:
        memory = on.first("agent-memory", status="active")
        await edit(on, memory.ref, "# Tea\n\n- **green** in the morning\n- black at five\n")
        await edit(on, memory.ref, "# Tea\n\n- **white** in the morning\n- black at five\n")
        await on.stand(memory.ref)
        await on.keys("H")
        assert "- **green white** in the morning" in on.text()
        await on.keys("j", "r")
        assert isinstance(on.app.screen, DiffScreen)
        assert "items.json" in on.text(), "what is written to the file"
        assert "**green**" in on.text()
        await on.keys("escape", "escape")
