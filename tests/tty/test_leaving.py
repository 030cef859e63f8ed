"""Leaving while the stores are read and indexed: at once, with status 0 and without remains."""

from __future__ import annotations

import json
import os
import random
import signal
import subprocess
import termios
import time
from collections.abc import Callable
from contextlib import AbstractContextManager
from pathlib import Path
from typing import Any

import pytest

from memtui.library.indexing import BUILT_IN_PROCESS
from tests.long_run import count
from tests.torture.processes import is_alive
from tests.tui.stage import write_store

pytestmark = pytest.mark.slow

Start = Callable[..., AbstractContextManager[Any]]
SCANNER = "memtui.library.review"
BUILDER = "memtui.search.index.index_worker"


def large_store(home: Path) -> Path:
    """A store whose index is built by a process of its own."""
    root = home / "memory"
    for entity in range(10):
        facts = [
            {
                "id": f"{entity:04}{number:04}-0000-4000-8000-000000000000",
                "content": f"Fact {number} of {entity} " + "and more words " * 40,
                "createdAt": "2026-01-01T00:00:00Z",
                "status": "active",
            }
            for number in range(BUILT_IN_PROCESS // 8)
        ]
        folder = root / "entities" / f"entity-{entity}"
        folder.mkdir(parents=True)
        (folder / "items.json").write_text(json.dumps(facts), encoding="utf-8")
    return root


def builders(home: Path) -> list[str]:
    """Processes that build an index below this folder."""
    listed = subprocess.run(
        ["ps", "-A", "-ww", "-o", "args="], capture_output=True, text=True, check=True
    )
    return [line for line in listed.stdout.split("\n") if BUILDER in line and str(home) in line]


def test_quitting_while_the_index_is_built_leaves_no_process(memtui: Start, tmp_path: Path) -> None:
    root = large_store(tmp_path)
    with memtui([str(root)], tmp_path) as on:
        on.wait_for("Memories")
        on.wait_until(lambda: builders(tmp_path))
        on.send("q")
        assert on.wait_for_end() == 0
        assert not on.modes_left_on()
        on.wait_until(lambda: not builders(tmp_path))
    with memtui([str(root)], tmp_path) as on:  # what was half made does no harm
        on.wait_for("of 3,750")
        on.wait_until_gone("checking")
        on.send("q")
        assert on.wait_for_end() == 0


def scanners(parent: int) -> list[int]:
    """Processes that scan for the review queue of this one."""
    listed = subprocess.run(
        ["ps", "-A", "-ww", "-o", "pid=,ppid=,args="], capture_output=True, text=True, check=True
    )
    found = (line.split(None, 2) for line in listed.stdout.splitlines())
    return [int(pid) for pid, by, args in found if int(by) == parent and SCANNER in args]


@pytest.mark.parametrize("end", ["q", "kill"])
def test_no_scan_outlives_the_program(memtui: Start, tmp_path: Path, end: str) -> None:
    with memtui([str(large_store(tmp_path))], tmp_path) as on:
        found: list[int] = []
        on.wait_until(lambda: found.extend(scanners(on._child)) or found)
        if end == "q":
            on.send("q")
        else:
            os.kill(on._child, signal.SIGKILL)
        on.wait_for_end()
        on.wait_until(lambda: not is_alive(found[0]))
    listed = [file.name for file in (tmp_path / "cache").rglob("reviews/*")]
    assert all(name.endswith(".json") for name in listed)


def test_quitting_before_anything_is_read(memtui: Start, tmp_path: Path) -> None:
    with memtui([str(large_store(tmp_path))], tmp_path) as on:
        on.wait_for("Memories")
        on.send("q")
        assert on.wait_for_end() == 0
        assert not on.modes_left_on()


MOMENTS = count(2, 60)
"""Of the first second at which the program is ended, for each way."""


@pytest.mark.parametrize("by", ["hang up", "SIGTERM", "SIGHUP"])
def test_it_ends_at_any_moment_of_the_start(memtui: Start, tmp_path: Path, by: str) -> None:
    """Also while modules are imported and while the screen is made: no fault, no mode left on."""
    root, chance = write_store(tmp_path / "store"), random.Random(by)
    for number in range(MOMENTS):
        with memtui([str(root)], tmp_path, size=(80, 24)) as on:
            end = time.monotonic() + (number + chance.random()) / MOMENTS
            while time.monotonic() < end:
                on.read(0.005)
            if by == "hang up":
                on.hang_up()
                assert on.wait_for_end() != 1
            else:
                os.kill(on._child, signal.Signals[by])
                # By the signal itself before there is a handler, and thus nothing to give back.
                assert on.wait_for_end() in (128 + signal.Signals[by], -signal.Signals[by])
                assert not on.modes_left_on()
                assert termios.tcgetattr(on._line) == on.attributes
    assert not (tmp_path / "state" / "memtui.log").exists()


def test_a_change_that_was_just_made_is_written(memtui: Start, tmp_path: Path) -> None:
    root = large_store(tmp_path)
    with memtui([str(root)], tmp_path) as on:
        on.wait_for("e edit")
        on.send("e")
        on.wait_for("Edit in")
        on.send("KINGFISHER \x13")
        on.wait_for("Saved")
        on.send("q")
        assert on.wait_for_end() == 0
    assert any("KINGFISHER" in file.read_text() for file in root.rglob("items.json"))
