"""What `d` does where a format cannot retire: hide in memtui, or delete in the store."""

from __future__ import annotations

from pathlib import Path

import pytest

from memtui.tui.dialogs.diff import DiffScreen

from .sample_stage import changing


@pytest.mark.slow
async def test_both_ways_are_offered_with_the_difference(tmp_path: Path) -> None:
    async with changing(tmp_path, "serena", size=(100, 30)) as on:
        memory = await on.stand(on.first("markdown-folder", status="active").ref)
        before = on.files()

        await on.keys("d")
        assert isinstance(on.app.screen, DiffScreen)
        shown = on.text()
        assert "Only memtui hides this; Serena still reads it" in shown
        assert "enter hide here" in shown
        assert "tab delete there" in shown
        await on.keys("tab")
        shown = on.text()
        assert "Serena no longer reads it" in shown
        assert "enter delete there" in shown
        await on.keys("tab", "enter")

        assert on.memory(memory.ref).status == "retired"
        assert on.files() == before
        assert on.toasts[-1].startswith("Hidden")
        await on.keys("D")
        assert on.memory(memory.ref).status == "active"


@pytest.mark.slow
async def test_the_way_that_was_chosen_comes_first_the_next_time(tmp_path: Path) -> None:
    async with changing(tmp_path, "serena", size=(100, 30)) as on:
        memory = await on.stand(on.first("markdown-folder", status="active").ref)
        before = on.files()

        await on.keys("d", "tab", "enter")
        assert on.toasts[-1].startswith("Deleted")
        assert on.app.settings.retire == "delete"
        await on.keys("u")
        assert on.files() == before

        await on.stand(memory.ref)
        await on.keys("d")
        assert "enter delete there" in on.text()


@pytest.mark.slow
async def test_what_the_format_can_retire_is_not_asked_about(tmp_path: Path) -> None:
    async with changing(tmp_path, "hermes", size=(100, 30)) as on:
        await on.stand(on.first("hermes", status="active").ref)

        await on.keys("d")

        shown = on.text()
        assert "Hermes no longer reads it from its next session" in shown
        assert "enter retire" in shown
        assert "tab" not in shown
