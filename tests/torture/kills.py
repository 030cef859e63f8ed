"""T1, T2, T8: killed at every named point and at random times, the files are old or new."""

from __future__ import annotations

import os
import random
import select
import signal
import time
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

from memtui.changes import Edit, Kind, StoreEdits
from memtui.files import save_hooks
from memtui.files.merging import rebase
from memtui.files.reading import decode, encode
from memtui.files.save_transaction import commit
from memtui.journal import ActionState, Journal, JournalAction
from memtui.paths import STATE_VARIABLE
from tests.torture.cases import AGENT, CASES, Case
from tests.torture.processes import KILLED, fork, wait


def do(journal: Journal, edits: tuple[Edit, ...], title: str = "edit") -> None:
    with journal.begin(title, [StoreEdits("store", edits)]) as recording:
        commit(edits, recording)


def take_back(journal: Journal, action: JournalAction) -> None:
    with journal.undoing(action.id) as recording:
        for part in action.inverted():
            commit(part.edits, recording)


def strangers(folder: Path, known: Iterable[str]) -> list[str]:
    """Files in the memory folder that nobody put there."""
    found = (
        os.path.relpath(Path(base) / name, folder)
        for base, _, names in os.walk(folder)
        for name in names
    )
    own = {".memtui/sidecar.jsonl", ".memtui/memory.jsonl.jsonl"}
    return sorted(set(found) - set(known) - own)


def at_every_point(
    folder: Path,
    rounds: int,
    seed: int,
    cases: Iterable[Case] = CASES,
    choose: Callable[[list[str]], Sequence[str]] = list,
) -> str:
    """T1. Kill the process every time a save passes a point, `rounds` times for each kind."""
    kills = new = 0
    points = set()
    for case in cases:
        for fault in choose(_passes(folder / f"{case.name}-passes", case)):
            points.add(fault.partition(":")[0])
            places = [folder / f"{case.name}-{fault}-{number}" for number in range(rounds)]
            begun = [_begun(place, case, fault, seed + n) for n, place in enumerate(places)]
            for one in begun:  # they all run by now: most of a save is waiting for the disk
                new += _judged(one)
                kills += 1
    return f"T1 fault points: {kills:,} kills at {len(points)} points, 0 torn ({new:,} new)"


def _passes(place: Path, case: Case) -> list[str]:
    """`point:1`, `point:2`...: each time that a save of this kind passes a named point."""
    store = _made(place, case)
    count: Counter[str] = Counter()
    save_hooks.install(lambda point: count.update([point]))
    try:
        do(Journal(place / "state"), case.plan(store, random.Random(1)))
    finally:
        save_hooks.install(None)
    return [
        f"{point}:{1 + number}" for point in save_hooks.FAILPOINTS for number in range(count[point])
    ]


def own_state(place: Path) -> Path:
    """The state folder of a store at this place, which is made the one of this process."""
    os.environ[STATE_VARIABLE] = str(place / "state")
    return place / "state"


def _made(place: Path, case: Case) -> Path:
    """A store of this kind, its files another's and marked where that is allowed."""
    own_state(place)
    store = place / "store"
    store.mkdir(parents=True)
    case.make(store)
    if os.geteuid() == 0:
        for name in case.files:
            if (store / name).exists():
                os.chown(store / name, 65534, 65534)
                os.setxattr(store / name, "user.memtui", b"kept")
    return store


@dataclass(frozen=True)
class _Begun:
    """A save in a child that is going to be killed at the fault."""

    case: Case
    fault: str
    store: Path
    state: Path
    old: dict[str, bytes | None]
    child: int


def _begun(place: Path, case: Case, fault: str, seed: int) -> _Begun:
    store, state = _made(place, case), place / "state"
    old = case.contents(store)
    edits = case.plan(store, random.Random(seed))

    def work() -> None:
        save_hooks.install(save_hooks.kill_at(fault))
        do(Journal(state), edits)

    return _Begun(case, fault, store, state, old, fork(work))


def _judged(begun: _Begun) -> bool:
    """Whether the save arrived before the kill; either way everything must be as it was or new."""
    case, fault, store, old = begun.case, begun.fault, begun.store, begun.old
    status = wait(begun.child)
    assert status == KILLED, f"{fault}: the child ended with {status}"
    now = case.contents(store)
    journal = Journal(own_state(store.parent))
    journal.recover()
    assert case.contents(store) == now, "recovering changed a memory file"
    assert not strangers(store, case.files), strangers(store, case.files)
    log = journal.log()
    arrived = [name for name in case.files if now[name] != old[name]]
    wanted = ActionState.DONE if arrived else ActionState.VOID
    assert [action.state for action in log] in ([wanted], [] if not arrived else [wanted]), log
    for action in log:
        if action.state is ActionState.DONE:
            _forward(action, old, now, store)
            take_back(journal, action)
    if case.name != "sidecar":
        assert case.contents(store) == old, f"{fault}: undo did not give the first bytes"
    assert not strangers(store, case.files)
    journal.close()
    return bool(arrived)


def _forward(
    action: JournalAction, old: dict[str, bytes | None], now: dict[str, bytes | None], store: Path
) -> None:
    """Each file is what it was, or exactly what the edits make of it."""
    for name, before in old.items():
        of_files = [edit for edit in action.edits if edit.kind is not Kind.SIDECAR]
        edits = [edit for edit in of_files if edit.path == str(store / name)]
        if not edits or now[name] == before:
            continue
        text = rebase(None if before is None else decode(before), edits)
        assert now[name] == (None if text is None else encode(text)), f"{name} is torn"


def at_random_times(folder: Path, kills: int, seed: int, case: Case = AGENT) -> str:
    """T2 and T8. Kill a busy process; afterwards the journal accounts for every byte."""
    rng = random.Random(seed)
    store, state = folder / "store", folder / "state"
    store.mkdir(parents=True)
    case.make(store)
    first = case.contents(store)
    for number in range(kills):
        _kill_busy(store, state, case, rng, number)
        journal = Journal(state)
        journal.recover()
        assert not strangers(store, case.files), strangers(store, case.files)
        journal.close()
    journal = Journal(state)
    actions = [action for action in reversed(journal.log(1_000_000)) if action.parts]
    assert all(a.state in (ActionState.DONE, ActionState.VOID, ActionState.UNDONE) for a in actions)
    done = [action for action in actions if action.state is ActionState.DONE]
    partly = sum("only a part" in action.note for action in done)
    if len(case.files) == 1:
        text = decode(first[case.files[0]] or b"")
        for action in done:
            text = rebase(text, action.edits) or ""  # type: ignore[arg-type]
        assert encode(text) == (store / case.files[0]).read_bytes(), "the file is not its journal"
        assert not partly
    for action in journal.undoable(1_000_000):
        take_back(journal, action)
    assert case.contents(store) == first, "undoing everything did not give the first bytes"
    journal.close()
    void = sum(action.state is ActionState.VOID for action in actions)
    return (
        f"T2/T8 random kills [{case.name}]: {kills:,} kills, {len(done):,} edits done"
        f" ({partly} in part), {void} void, 0 unsure, 0 torn, all undone to the first bytes"
    )


def _kill_busy(store: Path, state: Path, case: Case, rng: random.Random, number: int) -> None:
    reading, writing = os.pipe()
    seed = rng.getrandbits(32)

    def work() -> None:
        child_rng = random.Random(seed)
        journal = Journal(state)
        while True:
            do(journal, case.plan(store, child_rng), f"round {number}")
            os.write(writing, b"!")
            if child_rng.random() < 0.2:
                take_back(journal, journal.undoable()[0])

    child = fork(work)
    os.close(writing)
    ready, _, _ = select.select([reading], [], [], 10)
    assert ready
    assert os.read(reading, 1) == b"!", "the worker failed to start"
    time.sleep(rng.uniform(0, 0.02))  # the instant of the kill, not a synchronisation
    os.kill(child, signal.SIGKILL)
    os.close(reading)
    assert wait(child) == KILLED, "the worker failed by itself"
