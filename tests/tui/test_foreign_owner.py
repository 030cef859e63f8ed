"""A save that would change the owner of a file asks first, and goes on after a yes."""

from __future__ import annotations

from pathlib import Path

import pytest

from memtui.errors import ForeignOwner, MemtuiError
from memtui.library import Library
from memtui.progress import Report
from memtui.tui.dialogs.prompts import ConfirmDialog

from .sample_stage import ChangingStage, changing

AGENT = "agent-memory"


async def ask(on: ChangingStage, file: Path, key: str) -> list[object]:
    """Write into a file that stays another's until it is agreed that it does not."""
    told: list[object] = []
    agreed: list[Path] = []

    def write(_: Library, __: Report) -> str:
        if not agreed:
            agreed.append(file)
            raise ForeignOwner("it belongs to ann:team", where=str(file), do="ask", path=file)
        return "written"

    def failed(error: MemtuiError) -> None:
        told.append(error)

    on.browse.editing.changes.writer.write(write, told.append, failed)
    await on.rest()
    assert isinstance(on.app.screen, ConfirmDialog)
    assert "It belongs to ann:team." in on.text()
    assert not told
    await on.keys(key)
    return told


@pytest.mark.slow
async def test_a_file_of_another_owner_is_written_after_a_yes(tmp_path: Path) -> None:
    async with changing(tmp_path, AGENT) as on:
        assert await ask(on, tmp_path / "shared.json", "y") == ["written"]
        assert on.app.screen is on.browse


@pytest.mark.slow
async def test_a_no_leaves_the_file_and_tells_whoever_asked(tmp_path: Path) -> None:
    async with changing(tmp_path, AGENT) as on:
        (error,) = await ask(on, tmp_path / "shared.json", "escape")
        assert isinstance(error, ForeignOwner)
        await on.keys("p")
        memory = on.browse.memories.memory
        assert memory is not None
        assert memory.pinned, "other writes go on"
