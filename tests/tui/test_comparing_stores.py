"""`%`: what two stores both say, what only one knows, and copying it to the other."""

from __future__ import annotations

import os
import shutil
from pathlib import Path

import pytest

from memtui.library import Library
from memtui.testing.fixtures import contents
from memtui.tui.dialogs.stores import ComparisonList, StoreComparisonScreen
from tests.samples import SAMPLES

from .stage import NOW, Stage, compare, fact, stage, write_store

LEDGER = "Use Postgres for the ledger, because SQLite locked"
ONE = {"shop-api": [fact(1, LEDGER, "2026-03-02"), fact(2, "Deploys on Tuesdays", "2026-03-03")]}
OTHER = {"shop-api": [fact(3, LEDGER, "2026-03-05"), fact(4, "Tokens last a day", "2026-03-06")]}


def open_both(tmp_path: Path) -> Library:
    roots = [write_store(tmp_path / "one", ONE), write_store(tmp_path / "other", OTHER)]
    return Library.open(
        roots, state=tmp_path / "state", now=lambda: NOW, labels=["claude", "codex"]
    )


def lasting(folder: Path) -> dict[str, bytes]:
    """Every file but the stamps of what was last read, which looking for news writes."""
    return {
        name: data for name, data in contents(folder).items() if Path(name).parent.name != "kept"
    }


async def rest(on: Stage) -> None:
    await on.until(lambda: not getattr(on.app.screen, "working", False), "it comes to rest")


@pytest.mark.slow
async def test_what_one_store_lacks_is_copied_to_it(tmp_path: Path) -> None:
    library = open_both(tmp_path)
    async with stage(
        tmp_path, (80, 24), open_library=lambda: library, state=tmp_path / "state"
    ) as on:
        await on.ready()
        await on.press("%")
        assert isinstance(on.app.screen, StoreComparisonScreen)
        await on.sees("loses nothing")
        compare("comparing-stores-80x24", on.text())
        await on.press("c")
        await on.sees("in both (2)")
        found = library.compare("claude", "codex")
        lacked = [len(found.shared), len(found.only_left), len(found.only_right)]
        assert sum(lacked) == 3
        assert lacked[0] == 2
        await on.press("escape")
        await on.press("u")
        await on.still()
        again = library.compare("claude", "codex")
        assert [len(again.shared), len(again.only_left), len(again.only_right)] == [1, 1, 1]


@pytest.mark.slow
async def test_what_copying_loses_or_why_it_cannot_be_done_is_said_before(tmp_path: Path) -> None:
    one = write_store(tmp_path / "one", ONE)
    shutil.copytree(SAMPLES / "hermes", tmp_path / "hermes")
    for file in (tmp_path / "hermes" / "memories").iterdir():
        os.utime(file, (0, 0))  # older than the first row, whose store is compared

    def open_library() -> Library:
        roots = [one, tmp_path / "hermes"]
        return Library.open(roots, state=tmp_path / "state", now=lambda: NOW)

    async with stage(tmp_path, (80, 24), open_library=open_library) as on:
        await on.ready()
        await on.press("%")
        on.app.screen.query_one(ComparisonList).go(1)
        await on.sees("copy to Hermes: loses entity (becomes memory")
        await on.resize(40, 12)
        await on.settle()
        assert "copy to" not in on.text(), "the memories have the rows of a low screen"
        await on.resize(80, 24)
        files = contents(tmp_path / "hermes")
        await on.press("c")  # this session only reads
        await on.settle()
        assert contents(tmp_path / "hermes") == files
        (tmp_path / "hermes" / "config.yaml").write_text("memory:\n  memory_char_limit: 10\n")
        await on.press("j")
        await on.sees("copy to Hermes: not possible: MEMORY.md would hold")
        files = lasting(tmp_path)
        await on.press("c")
        await on.settle()
        assert lasting(tmp_path) == files


async def test_enter_goes_to_the_memory(tmp_path: Path) -> None:
    library = open_both(tmp_path)
    async with stage(tmp_path, open_library=lambda: library) as on:
        await on.ready()
        await on.press("%", "g", "enter")
        shown = on.browse.detail.memory
        assert shown is not None
        assert shown.content in ("Deploys on Tuesdays", "Tokens last a day")


async def test_with_one_store_there_is_nothing_to_compare(tmp_path: Path) -> None:
    async with stage(write_store(tmp_path / "one", ONE)) as on:
        await on.press("%")
        assert not isinstance(on.app.screen, StoreComparisonScreen)
