"""No clock decides what is kept: file times may lie, and the machine's own clock may jump (T20)."""

from __future__ import annotations

import json
import os
import sqlite3
import time
from collections.abc import Callable, Iterator
from contextlib import closing
from datetime import UTC, datetime
from pathlib import Path

import pytest

from memtui.changes import Act, Change
from memtui.errors import Conflict
from memtui.library import Library
from memtui.library.planning import Planned
from memtui.library.reverted_edits import plan_reapply
from memtui.model import Memory
from memtui.tui.change_log import LOOKBACK_SECONDS
from tests.unit.bundle import small_stores
from tests.unit.library.stores_for_tests import agent_memory

DAY = 86_400
FILE_TIMES_TRIED = "T20 clocks: {count} file times, in each format, no change lost"
FILE_TIMES: dict[str, Callable[[int], int]] = {
    "equal": lambda before: before,
    "in the future": lambda before: before + 3650 * DAY * 10**9,
    "put back": lambda before: before - 3650 * DAY * 10**9,
    "of 1970": lambda before: 0,
}
"""What a program makes of a file's time when it writes it (`cp -p`, `rsync -t`, a wrong clock)."""


# ---- times of files -------------------------------------------------------------------------


@pytest.mark.parametrize("times", FILE_TIMES)
@pytest.mark.parametrize("format", small_stores.FORMATS)
def test_a_change_is_seen_and_kept_whatever_time_the_file_has(
    tmp_path: Path, format: str, times: str, tally: Callable[[str], None]
) -> None:
    """Another letter, the same size, in place; our own change, planned before, must not win."""
    library, memory = _store_with_words(format, tmp_path)
    planned = library.plan([_change(memory, "What I would write about it.")])
    file = Path(memory.origin.file)
    before = file.stat().st_mtime_ns
    if format == "engram":
        _change_row(file, memory)
    else:
        _change_letter(file, memory)
    os.utime(file, ns=(before, FILE_TIMES[times](before)))
    held = _said(file)
    with pytest.raises(Conflict):
        library.apply(planned)
    assert _said(file) == held, "their change is lost"
    library.refresh()
    assert library.get(memory.ref).content == _otherwise(memory.content), "it is not seen"
    library.apply(library.plan([_change(memory, "Both of us have written this by now.")]))
    assert library.get(memory.ref).content.startswith("Both of us")
    tally(FILE_TIMES_TRIED)


def _store_with_words(format: str, folder: Path) -> tuple[Library, Memory]:
    """A store, and a memory of it whose text stands in its file just so, once."""
    for number in range(20):
        root = small_stores.make(format, folder / str(number), number)
        library = Library.open([root], state=folder / "state")
        library.load()
        for memory in library.memories(library.stores[0].label):
            text, file = memory.content, Path(memory.origin.file)
            if memory.status != "active" or not text.isascii() or text.swapcase() == text:
                continue
            if file.suffix == ".db" or file.read_bytes().count(text.encode()) == 1:
                return library, memory
    raise AssertionError(f"no {format} store has a memory that can be used")


def _change(memory: Memory, content: str) -> Change:
    return Change(Act.EDIT, memory.store, memory.ref, {"content": content}, force=True)


def _otherwise(content: str) -> str:
    return content.swapcase()


def _change_letter(file: Path, memory: Memory) -> None:
    old, new = memory.content.encode(), _otherwise(memory.content).encode()
    data = file.read_bytes()
    with file.open("r+b") as same:
        same.write(data.replace(old, new))


def _change_row(file: Path, memory: Memory) -> None:
    with closing(sqlite3.connect(file)) as db, db:
        db.execute("PRAGMA journal_mode = DELETE")
        words = _otherwise(memory.content), int(memory.id)
        db.execute("UPDATE observations SET content = ? WHERE id = ?", words)


def _said(file: Path) -> object:
    if file.suffix != ".db":
        return file.read_bytes()
    with closing(sqlite3.connect(file)) as db:
        return db.execute("SELECT id, content FROM observations").fetchall()


# ---- the machine's clock --------------------------------------------------------------------


class Clock:
    """The machine's clock, which can be put on and back."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self._real, self._real_ns, self.off = time.time, time.time_ns, 0.0
        monkeypatch.setattr(time, "time", lambda: self._real() + self.off)
        monkeypatch.setattr(time, "time_ns", lambda: self._real_ns() + int(self.off * 1e9))

    def now(self) -> datetime:
        return datetime.fromtimestamp(time.time(), UTC)


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Clock:
    return Clock(monkeypatch)


@pytest.fixture
def library(tmp_path: Path, clock: Clock) -> Iterator[Library]:
    home = agent_memory(tmp_path / "here", {"alice": ["Alice sails at dawn", "Alice reads maps"]})
    opened = Library.open([home], state=tmp_path / "state", now=clock.now)
    opened.load()
    yield opened
    opened.close()


JUMPS_TRIED = "T20 clocks: {count} sequences of jumps of a day, order by sequence, no change lost"
JUMPS = [(0, DAY, -DAY, 0), (0, -DAY, DAY, -DAY), (DAY, 0, 0, -DAY), (-DAY, -DAY, DAY, DAY)]
"""Days by which the clock is wrong at each of four changes."""


def edited(library: Library, content: str) -> Planned:
    (memory, _) = sorted(library.memories(library.stores[0].label), key=lambda m: m.id)
    return library.plan([_change(memory, content)])


@pytest.mark.parametrize("jumps", JUMPS)
def test_undo_and_redo_go_by_sequence(
    library: Library, clock: Clock, jumps: tuple[float, ...], tally: Callable[[str], None]
) -> None:
    file = Path(library.memories(library.stores[0].label)[0].origin.file)
    seen = [file.read_bytes()]
    for number, clock.off in enumerate(jumps):
        library.apply(edited(library, f"Alice has changed her mind {number} times"))
        seen.append(file.read_bytes())
    numbers = [action.id for action in library.log()]
    assert numbers == sorted(numbers, reverse=True)
    for before, clock.off in zip(reversed(seen[:-1]), jumps, strict=True):
        library.undo()
        assert file.read_bytes() == before
    for after, clock.off in zip(seen[1:], jumps, strict=True):
        library.redo()
        assert file.read_bytes() == after
    tally(JUMPS_TRIED)


@pytest.mark.parametrize("jumps", JUMPS)
def test_what_an_agent_takes_back_is_noticed_by_sequence(
    library: Library, clock: Clock, jumps: tuple[float, ...], tally: Callable[[str], None]
) -> None:
    file = Path(library.memories(library.stores[0].label)[0].origin.file)
    since = time.time() - LOOKBACK_SECONDS
    first = file.read_bytes()
    for number, clock.off in enumerate(jumps):
        library.apply(edited(library, f"Alice has changed her mind {number} times"))
    assert library.find_reverted(since) == []
    last = file.read_bytes()
    file.write_bytes(first)
    library.refresh()
    (found,) = library.find_reverted(since)
    assert found.action.id == library.log(1)[0].id
    library.apply(plan_reapply([found]))
    assert json.loads(file.read_bytes()) == json.loads(last)
    tally(JUMPS_TRIED)


@pytest.mark.parametrize("jump", [DAY, -DAY])
def test_the_last_word_about_a_memory_is_the_one_said_last(
    library: Library, clock: Clock, tmp_path: Path, jump: float, tally: Callable[[str], None]
) -> None:
    """The sidecar, the good copies, and what is told of a change underneath."""
    label = library.stores[0].label
    memory = library.memories(label)[0]
    for rating, clock.off in ((2, jump), (5, 0)):
        library.apply(library.plan([Change(Act.RATE, label, memory.ref, {"rating": rating})]))
    again = Library.open([library.stores[0].root], now=clock.now)
    again.load()
    assert again.get(memory.ref).extra["rating"] == 5
    tally(JUMPS_TRIED)
