"""Two programs of ours on one store, each with its own journal: nothing is lost (P3)."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from memtui.changes import Act
from memtui.journal.action import ActionState
from memtui.library import Library
from memtui.model import Memory
from memtui.stores.format import Format

from .acting import allowed
from .neighbour import keep_editing
from .samples import memories, open_library

pytestmark = pytest.mark.slow

EDITS = 20


def two_neighbours(library: Library) -> tuple[Memory, Memory]:
    """Two memories that can be edited, out of one file where a file holds several."""
    kinds = allowed(library, Act.EDIT)
    among = max(kinds.values(), key=len)
    by_file: dict[str, list[Memory]] = {}
    for memory in among:
        by_file.setdefault(memory.origin.file, []).append(memory)
    together = max(by_file.values(), key=len)
    one, other = together[:2] if len(together) > 1 else among[:2]
    return one, other


def test_nothing_is_lost_on_either_side(
    known: Format, place: Path, state: Path, tmp_path: Path, figures: Callable[[str], None]
) -> None:
    library = open_library(place, state)
    before = memories(library)
    ours, theirs = two_neighbours(library)
    command = ["tests.conformance.neighbour", str(place), str(tmp_path / "theirs"), theirs.ref]
    with subprocess.Popen(
        [sys.executable, "-m", *command],
        cwd=Path(__file__).parents[2],
        env={**os.environ, "PYTHONDONTWRITEBYTECODE": "1"},
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    ) as neighbour:
        assert neighbour.stdin is not None
        assert neighbour.stdout is not None
        assert neighbour.stderr is not None
        assert neighbour.stdout.readline() == "ready\n", neighbour.stderr.read()
        for number in range(EDITS):
            keep_editing(library, ours.ref, f"{ours.content.rstrip()} ours {number}")
        neighbour.stdin.close()
        said = neighbour.stdout.readline()
        assert said, neighbour.stderr.read()
    now = memories(open_library(place))
    assert now[ours.ref].content.rstrip() == f"{ours.content.rstrip()} ours {EDITS - 1}"
    assert now[theirs.ref].content.rstrip() == f"{theirs.content.rstrip()} neighbour {int(said)}"
    others = before.keys() - {ours.ref, theirs.ref}
    assert {ref: now[ref].content for ref in others} == {ref: before[ref].content for ref in others}
    assert now.keys() >= before.keys()
    done = [action for action in library.log(EDITS * 3) if action.state is ActionState.DONE]
    assert len(done) == EDITS, "every edit of ours is in our log, once"
    figures(f"beside a neighbour: {known.name}, {EDITS} + {int(said) + 1} edits, 0 lost")
