"""T5, Ambient: a program that never stops writing the file, each time with its own `lastActive`."""

from __future__ import annotations

import json
import os
import random
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from memtui.changes import Edit, Kind
from memtui.files import save_hooks
from memtui.files.json.locating import load_records
from memtui.files.save_hooks import NullRecorder
from memtui.files.save_transaction import commit
from memtui.journal import ActionState, Journal
from tests.torture.cases import AMBIENT
from tests.torture.kills import do
from tests.torture.processes import fork, wait

OFTEN = (0.01, 0.02)
"""Seconds between two of its writes."""
THEIRS = "e11"
"""The event that it changes; ours are others."""
MOST = 60
"""Times that one edit of ours may write its two files beside a program that reads them afresh; it
takes four or five. When the two programs outbid each other, it takes hundreds."""


def beside_a_busy_program(folder: Path, edits: int, seed: int, *, forgetful: bool) -> str:
    """Our edits of an event in two files, while a program changes another event all the time.

    It reads the file afresh before each write; a forgetful one writes what it has in memory, so
    that it puts ours back each time, and all that can be done is to see it.
    """
    store, state = folder / "store", folder / "state"
    store.mkdir(parents=True)
    AMBIENT.make(store)
    rng, journal, made = random.Random(seed), Journal(state), []
    with _busy(store, folder / "stop", forgetful=forgetful) as written:
        for _ in range(edits):
            mine = _ours(store, rng)
            if forgetful:  # each file takes all our patience: one is enough
                mine = tuple(edit for edit in mine if edit.path == mine[0].path)
            with _in_between(store) as exchanges:
                do(journal, mine)
            made.append(mine)
            assert forgetful or len(exchanges) < MOST, "the two outbid each other"
            assert [(a.state, a.note) for a in journal.log(1)] == [(ActionState.DONE, "")]
    journal.close()
    undone = _made_again(made[-1], state)
    theirs = json.loads(written.read_text())
    for name in AMBIENT.files:
        last = _events(store / name)[THEIRS]["content"]
        assert last == theirs[name], f"{name}: a write of theirs is lost"
    kind = "from memory" if forgetful else "reads afresh"
    count = sum(int(content.split()[1]) for content in theirs.values())
    return (
        f"T5 a program that never stops ({kind}): {count} of its writes and {edits} of our actions,"
        f" all done, 0 lost, {undone} undone and made again"
    )


def _events(path: Path) -> dict[str, dict[str, Any]]:
    return {r.value["id"]: r.value for r in load_records(path.read_text(), ("events",))}


def _ours(store: Path, rng: random.Random) -> tuple[Edit, ...]:
    """An edit of one event, never of theirs."""
    while True:
        edits = AMBIENT.plan(store, rng)
        if not any(edit.kind is Kind.RECORD and edit.id == THEIRS for edit in edits):
            return edits


def _made_again(edits: tuple[Edit, ...], state: Path) -> int:
    """Make those of our edits again that the other program has undone; each is there, or was."""
    undone = []
    for edit in edits:
        if edit.kind is Kind.RECORD:
            now = _events(Path(edit.path))[edit.id]
            if now != json.loads(edit.after or ""):
                assert now == json.loads(edit.before or ""), "it is neither old nor new"
                undone.append(edit)
    commit(undone, NullRecorder(state))
    return len(undone)


@contextmanager
def _busy(store: Path, stop: Path, *, forgetful: bool) -> Iterator[Path]:
    """The program, in a process of its own; what it wrote last is in the file this gives."""
    written = stop.with_name("written")

    def program() -> None:
        rng, number, said = random.Random(7), 0, {}
        memory = {name: (store / name).read_text() for name in AMBIENT.files}
        while not stop.exists():
            number += 1
            time.sleep(rng.uniform(*OFTEN))
            for name in AMBIENT.files:
                said[name] = f"theirs {number}"
                text = memory[name] if forgetful else (store / name).read_text()
                memory[name] = _replace(store / name, text, said[name])
        written.write_text(json.dumps(said))

    child = fork(program)
    try:
        yield written
    finally:
        stop.touch()
        assert wait(child) == 0


@contextmanager
def _in_between(store: Path) -> Iterator[list[str]]:
    """Hold up the save of each file once, before its exchange, until the program has written.

    Gives a list that grows with each exchange.
    """
    armed, exchanges = False, list[str]()

    def hook(point: str) -> None:
        nonlocal armed
        if point == "lock":
            armed = True
        if point == "exchange":
            exchanges.append(point)
        if point == "exchange" and armed:
            armed, before = False, AMBIENT.contents(store)
            while any(now == before[name] for name, now in AMBIENT.contents(store).items()):
                time.sleep(0.001)

    save_hooks.install(hook)
    try:
        yield exchanges
    finally:
        save_hooks.install(None)


def _replace(path: Path, text: str, content: str) -> str:
    whole = json.loads(text)
    whole["lastActive"] += 1
    next(event for event in whole["events"] if event["id"] == THEIRS)["content"] = content
    temporary = path.with_name(f"{path.name}.{os.getpid()}.tmp")
    text = json.dumps(whole, indent=2)
    temporary.write_text(text)
    os.replace(temporary, path)
    return text
