"""Files without write permission, on the screen: asked about before one is replaced."""

from __future__ import annotations

import stat
from pathlib import Path

import pytest

from memtui.tui.dialogs.diff import DiffScreen
from memtui.tui.dialogs.edit_form import FormScreen
from memtui.tui.dialogs.prompts import ConfirmDialog
from memtui.tui.widgets.inputs import TextInput

from .sample_stage import ChangingStage, changing
from .stage import fact, stage, write_store
from .test_changing_elsewhere import lent, script

AGENT = "agent-memory"


async def stand_on_protected(on: ChangingStage) -> Path:
    """The cursor on a fact whose file nobody may write."""
    fact = await on.stand(on.first(AGENT, kind="fact", status="active").ref)
    file = Path(fact.origin.file)
    file.chmod(0o444)
    return file


def question(on: ChangingStage) -> str:
    """What the question on the screen says."""
    assert isinstance(on.app.screen, ConfirmDialog)
    return " ".join(line.words for line in on.app.screen.summary)


@pytest.mark.slow
async def test_a_form_keeps_its_text_until_the_question_is_answered_with_yes(
    tmp_path: Path,
) -> None:
    async with changing(tmp_path, AGENT) as on:
        file = await stand_on_protected(on)
        before, owner = file.read_bytes(), f"{file.owner()}:{file.group()}"
        await on.keys("e")
        on.app.screen.query_one(TextInput).set_raw("Set by a test.")
        await on.rest()
        await on.keys("ctrl+s")
        said = question(on)
        assert f"{file}: the file has no write permission" in said
        assert f"owner {owner} and mode 0444 stay" in said
        await on.keys("escape")
        assert isinstance(on.app.screen, FormScreen)
        assert on.app.screen.query_one(TextInput).raw == "Set by a test."
        assert file.read_bytes() == before
        await on.keys("ctrl+s", "y")
        assert on.app.screen is on.browse
        assert b"Set by a test." in file.read_bytes()
        assert stat.S_IMODE(file.stat().st_mode) == 0o444
        await on.keys("u")
        assert "no write permission" in question(on)
        await on.keys("y")
        assert file.read_bytes() == before
        assert stat.S_IMODE(file.stat().st_mode) == 0o444


@pytest.mark.slow
@pytest.mark.parametrize("key", ["d", "delete"])
async def test_an_act_without_a_form(tmp_path: Path, key: str) -> None:
    async with changing(tmp_path, AGENT) as on:
        file = await stand_on_protected(on)
        before = file.read_bytes()
        for answer in ("escape", "y"):
            await on.keys(key)
            if isinstance(on.app.screen, DiffScreen):  # what deletes is shown first
                await on.keys("y")
            assert "no write permission" in question(on)
            assert file.read_bytes() == before
            await on.keys(answer)
            assert on.app.screen is on.browse
        assert file.read_bytes() != before


@pytest.mark.slow
async def test_what_was_written_in_the_editor_is_in_a_form_after_a_no(tmp_path: Path) -> None:
    editor = script(tmp_path, "file.write_text('Written outside.')")
    async with changing(tmp_path, AGENT, editor=editor) as on:
        lent(on)
        file = await stand_on_protected(on)
        before = file.read_bytes()
        await on.keys("E")
        assert "no write permission" in question(on)
        await on.keys("escape")
        assert on.app.screen.query_one(TextInput).raw == "Written outside."
        assert file.read_bytes() == before
        assert not any("--force" in toast for toast in on.toasts)
        await on.keys("ctrl+s", "y")
        assert b"Written outside." in file.read_bytes()


@pytest.mark.slow
async def test_an_accepted_proposal(tmp_path: Path) -> None:
    facts = {"people/alice": [fact(1, "Alice works in Porto", "2026-01-02")]}
    facts["people/alice"].append(fact(2, "Alice works in Porto", "2026-03-02"))
    root = write_store(tmp_path / "home", facts)
    (file,) = root.rglob("items.json")
    file.chmod(0o444)
    before = file.read_bytes()
    async with stage(root, state=tmp_path / "state") as on:
        await on.press("V")
        await on.until(lambda: "Alice works" in on.text(), "the queue is shown")
        await on.press("a")
        await on.until(lambda: isinstance(on.app.screen, ConfirmDialog), "it asks")
        assert file.read_bytes() == before
        await on.press("y")
        await on.until(lambda: file.read_bytes() != before, "it is written")
        assert stat.S_IMODE(file.stat().st_mode) == 0o444


@pytest.mark.slow
async def test_a_folder_without_write_permission(tmp_path: Path) -> None:
    async with changing(tmp_path, AGENT) as on:
        file = await stand_on_protected(on)
        file.parent.chmod(0o555)
        before = file.read_bytes()
        try:
            for key in ("e", "d"):
                await on.keys(key)
                assert on.app.screen is on.browse
                assert "folder of its file has no write permission" in on.toasts[-1]
                on.app.clear_notifications()
        finally:
            file.parent.chmod(0o755)
        assert file.read_bytes() == before
