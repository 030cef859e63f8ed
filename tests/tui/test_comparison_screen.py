"""What changed between two times: since the last look, another span, kinds, a report."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest
from textual.widgets import Input

from memtui.changes import Act, Change
from memtui.tui.dialogs.comparison import ComparisonScreen

from .sample_stage import changing
from .stage import compare, stage, write_store

SIZES = ((80, 24), (40, 12))


@pytest.mark.slow
@pytest.mark.parametrize("size", SIZES, ids="{0[0]}x{0[1]}".format)
async def test_what_was_added_and_superseded(tmp_path: Path, size: tuple[int, int]) -> None:
    async with stage(write_store(tmp_path), size) as on:
        await on.press("R", "t")
        await on.type("2026-06-01")
        await on.press("enter", "down")
        compare(f"changes-{size[0]}x{size[1]}", await on.still())
        assert "↻" in on.text()


@pytest.mark.slow
async def test_since_i_last_looked_only_what_came_later(tmp_path: Path) -> None:
    root, state = write_store(tmp_path / "store"), tmp_path / "state"
    async with stage(root, state=state) as on:
        on.app.leave()
    path = root / "entities" / "people-bob" / "items.json"
    records = json.loads(path.read_text())
    new = {"id": "77777777-0000-4000-8000-000000000000", "createdAt": "2026-11-21T12:30:00Z"}
    path.write_text(json.dumps([*records, {**records[0], **new, "content": "Bob moved to Oslo"}]))
    async with stage(root, state=state) as on:
        await on.press("R")
        assert "since you last looked" in on.text()
        assert "Bob moved to Oslo" in on.text()
        assert "Alice" not in on.text()
        await on.press("enter")
        assert on.browse.detail.memory is not None
        assert on.browse.detail.memory.content == "Bob moved to Oslo"


@pytest.mark.slow
async def test_a_change_is_shown_and_saved_as_markdown(tmp_path: Path) -> None:
    async with changing(tmp_path, "agent-memory") as on:
        memory = on.first("agent-memory", status="active")
        words = f"{memory.content} zebra"
        edit = Change(Act.EDIT, memory.store, memory.ref, {"content": words})
        on.library.apply(on.library.plan([edit]))
        on.browse.worker.refresh()
        await on.rest()
        await on.keys("R", "f")
        await on.keys("enter")
        screen = on.app.screen
        assert isinstance(screen, ComparisonScreen)
        assert screen.found
        report = tmp_path / "report.md"
        await on.keys("x")
        on.app.screen.query_one(Input).value = str(report)
        await on.keys("enter")
        assert report.read_text().startswith("# Memories from")


@pytest.mark.slow
async def test_counts_that_do_not_fit_are_counted(tmp_path: Path) -> None:
    stores = ("agent-memory", "ambient", "engram", "simple-memory", "workspace", "codex")
    async with changing(tmp_path, *stores) as on:
        await on.keys("R")
        head = on.text().split("\n")[0].rstrip()
        assert re.search(r" · [A-Za-z-]+ \d+ · \d more stores?$", head), head


@pytest.mark.slow
async def test_nothing_changed_is_said(tmp_path: Path) -> None:
    async with stage(write_store(tmp_path)) as on:
        await on.press("R", "t")
        await on.type("1h")
        await on.press("enter")
        assert "nothing changed between these times" in on.text()


@pytest.mark.slow
async def test_what_an_agent_deleted_is_restored(tmp_path: Path) -> None:
    """With one key for all of it, after the difference was shown; what is there stays."""
    root, state = write_store(tmp_path / "store"), tmp_path / "state"
    async with stage(root, state=state) as on:
        await on.still()
        kept = set(on.headlines())
        on.app.leave()
    path = root / "entities" / "people-bob" / "items.json"
    before = path.read_bytes()
    path.write_text("[]\n")
    async with stage(root, state=state) as on:
        assert set(on.headlines()) < kept
        await on.press("R", "R")
        assert "restore 2 memories as of" in on.text().lower()
        await on.press("enter")
        await on.still()
        assert set(on.headlines()) == kept
        await on.press("u")
        assert path.read_bytes() != before


async def test_what_is_added_again_to_a_file_that_was_rewritten_counts_as_restored(
    tmp_path: Path,
) -> None:
    file = tmp_path / ".hermes" / "memories" / "MEMORY.md"
    file.parent.mkdir(parents=True)
    file.write_text("Ports are even.\n§\nTabs, no spaces.\n§\nAsk before a push.")
    state = tmp_path / "state"
    async with stage(tmp_path / ".hermes", state=state) as on:
        await on.still()
        on.app.leave()
    file.write_text("Ports are even, tabs and questions too.")
    async with stage(tmp_path / ".hermes", state=state, toasts=True) as on:
        await on.press("R", "R", "enter")
        await on.sees("Restored 3 memories as of")
        assert "§\nTabs, no spaces.\n" in file.read_text()
