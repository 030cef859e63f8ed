"""T21: the power fails in the middle of a save; what was not synced is gone.

A save runs once, watched: at each of its system calls and named points the store is written down,
with what of it is surely on disk. Then the power fails at each of these instants. What the disk may
hold then is laid down again: of each folder, any state since it was last synced; of each file, what
was in it when it was last synced, or what had been written since. Whatever it is, the file must be
old or new, never anything else, new once the save has returned, and the journal must know which.
"""

from __future__ import annotations

import os
import random
import shutil
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from itertools import product
from pathlib import Path
from typing import Any

from memtui.changes import Edit, text_edit
from memtui.files import atomic_replace, save_hooks
from memtui.journal import ActionState, Journal
from tests.torture.cases import AGENT, AMBIENT, GONE, NEW, SIDECAR, Case, make_nothing
from tests.torture.kills import do, strangers, take_back

Names = dict[str, int]
"""What is in a folder: name -> number of the file; below zero for a folder."""
FOLDER = -1


def plan_deep(folder: Path, rng: random.Random) -> tuple[Edit, ...]:
    return (text_edit(str(folder / "a/b/c/new.md"), None, f"# {rng.random()}\n"),)


DEEP = Case("new folders", ("a/b/c/new.md",), make_nothing, plan_deep)
CASES = (AGENT, AMBIENT, NEW, GONE, SIDECAR, DEEP)


@dataclass(frozen=True)
class Instant:
    """The store and memtui's own folder at one moment of the save."""

    call: str
    folders: dict[str, Names]
    written: dict[int, bytes]
    """What each file holds, synced or not."""
    synced: dict[int, bytes]
    """What of each file is on disk."""
    synced_folders: dict[str, int]
    """Folder -> number of the instant when it was last synced."""
    state: dict[str, bytes]


@dataclass
class Watch:
    """Writes down every instant of a save."""

    store: Path
    state: Path
    instants: list[Instant] = field(default_factory=list)
    _numbers: dict[int, int] = field(default_factory=dict)
    """Inode -> number of the file: an inode is used again when a file is gone."""
    _synced: dict[int, bytes] = field(default_factory=dict)
    _synced_folders: dict[str, int] = field(default_factory=dict)

    def begin(self) -> None:
        """All that is there before is on disk."""
        self.note("before")
        first = self.instants[0]
        self._synced = dict(first.written)
        self._synced_folders = dict.fromkeys(first.folders, 0)
        self.instants.clear()
        self.note("before")

    def note(self, call: str) -> None:
        folders, written = {}, {}
        for place, names, files in os.walk(self.store):
            here: Names = dict.fromkeys(names, FOLDER)
            for name in files:
                path = Path(place, name)
                here[name] = self._number(path.stat().st_ino)
                written[here[name]] = path.read_bytes()
            folders[os.path.relpath(place, self.store)] = here
        synced = {number: self._synced.get(number, b"") for number in written}
        state = _bytes_in(self.state)
        self.instants.append(
            Instant(call, folders, written, synced, dict(self._synced_folders), state)
        )

    def _number(self, inode: int) -> int:
        return self._numbers.setdefault(inode, len(self._numbers))

    def opened(self, descriptor: int, path: Any, flags: int) -> None:
        if flags & os.O_CREAT and self._mine(path):
            self._numbers[os.fstat(descriptor).st_ino] = 1000 + len(self.instants)
            self.note(f"create {Path(path).name}")

    def fsynced(self, descriptor: int) -> None:
        path = Path(f"/proc/self/fd/{descriptor}").resolve()
        if not self._mine(path):
            return
        if path.is_dir():
            self._synced_folders[os.path.relpath(path, self.store)] = len(self.instants)
        else:
            self._synced[self._number(os.fstat(descriptor).st_ino)] = path.read_bytes()
        self.note(f"fsync {path.name}")

    def _mine(self, path: Any) -> bool:
        return not isinstance(path, int) and Path(path).is_relative_to(self.store)


@contextmanager
def watching(watch: Watch) -> Iterator[None]:
    """Every call of the save that changes something is an instant."""
    real = {name: getattr(os, name) for name in ("open", "write", "fsync", "rename", "link")}
    real |= {name: getattr(os, name) for name in ("unlink", "mkdir", "truncate", "ftruncate")}
    call = atomic_replace._call

    def opened(path: Any, flags: int, *rest: Any, **more: Any) -> int:
        descriptor = real["open"](path, flags, *rest, **more)
        watch.opened(descriptor, path, flags)
        return int(descriptor)

    def fsynced(descriptor: int) -> None:
        real["fsync"](descriptor)
        watch.fsynced(descriptor)

    def noted(name: str) -> Callable[..., Any]:
        def done(*values: Any, **more: Any) -> Any:
            result = real[name](*values, **more)
            watch.note(name)
            return result

        return done

    def exchanged(old: Path, new: Path, flags: int) -> None:
        call(old, new, flags)
        watch.note("exchange")

    for name in real:
        setattr(os, name, {"open": opened, "fsync": fsynced}.get(name) or noted(name))
    atomic_replace._call = exchanged
    save_hooks.install(watch.note)
    try:
        yield
    finally:
        for name, function in real.items():
            setattr(os, name, function)
        atomic_replace._call = call
        save_hooks.install(None)


def _bytes_in(folder: Path) -> dict[str, bytes]:
    return {
        os.path.relpath(Path(place, name), folder): Path(place, name).read_bytes()
        for place, _, names in os.walk(folder)
        for name in names
        if not name.endswith("-shm")
    }


# ---- what the disk may hold -----------------------------------------------------------------


def disks(instants: list[Instant], number: int) -> list[dict[str, bytes]]:
    """Every store that may be found after a power cut at this instant: each file's content."""
    now = instants[number]
    choices: dict[str, list[Names]] = {}
    for folder in {name for instant in instants[: number + 1] for name in instant.folders}:
        since = now.synced_folders.get(folder, 0)
        known: list[Names] = []
        for instant in instants[since : number + 1]:
            if instant.folders.get(folder, {}) not in known:
                known.append(instant.folders.get(folder, {}))
        choices[folder] = known
    held = {n: data for instant in instants[: number + 1] for n, data in instant.written.items()}
    found: list[dict[str, bytes]] = []
    for listing in product(*choices.values()):
        tree = dict(zip(choices, listing, strict=True))
        for of in (lambda n: now.synced.get(n, b""), lambda n: now.written.get(n, held[n])):
            disk = dict(_files(tree, ".", of))
            if disk not in found:
                found.append(disk)
    return found


def _files(
    tree: dict[str, Names], folder: str, content: Callable[[int], bytes]
) -> Iterator[tuple[str, bytes]]:
    """The files that can be reached from the top."""
    for name, number in tree.get(folder, {}).items():
        path = os.path.normpath(os.path.join(folder, name))
        if number == FOLDER:
            yield from _files(tree, path, content)
        else:
            yield path, content(number)


def _lay_down(folder: Path, files: dict[str, bytes]) -> None:
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir()
    for name, data in files.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_bytes(data)


# ---- the scenario ---------------------------------------------------------------------------


def cut(folder: Path, seed: int = 1) -> str:
    """Cut the power at every instant of a save of each kind."""
    cuts = found = 0
    for case in CASES:
        store, state = folder / case.name / "store", folder / case.name / "state"
        store.mkdir(parents=True)
        case.make(store)
        old = case.contents(store)
        edits = case.plan(store, random.Random(seed))
        journal = Journal(state)
        do(journal, ())  # the journal itself is on disk already
        watch = Watch(store, state)
        watch.begin()
        with watching(watch):
            do(journal, edits)
        journal.close()
        watch.note("returned")
        wanted = case.contents(store)
        assert wanted != old
        seen = set()
        for number, instant in enumerate(watch.instants):
            cuts += 1
            returned = number == len(watch.instants) - 1
            for disk in disks(watch.instants, number):
                found += 1
                key = returned, tuple(sorted(disk.items())), tuple(sorted(instant.state.items()))
                if key in seen:  # found before, with the same journal
                    continue
                seen.add(key)
                _lay_down(store, disk)
                _lay_down(state, instant.state)
                where = f"{instant.call} ({number})"
                _judged(case, store, state, old, wanted, where, returned)
    return (
        f"T21 power cuts: {cuts} instants of {len(CASES)} kinds of save, {found} disks that may"
        f" be left: each file old or new, 0 torn, the journal knows which, undone to the old one"
    )


def _judged(
    case: Case, store: Path, state: Path, old: Any, new: Any, where: str, returned: bool
) -> None:
    """Every file is as it was, or new, and the next start makes the best of it."""
    place = f"{case.name}: power cut at {where}"
    now = case.contents(store)
    for name in case.files:
        assert now[name] in (old[name], new[name]), f"{place}: {name} is torn"
    if returned:
        assert now == new, f"{place}: it was saved, and is not there"
    journal = Journal(state)
    journal.recover()
    assert case.contents(store) == now, f"{place}: recovering changed a file"
    assert not strangers(store, case.files), f"{place}: left over {strangers(store, case.files)}"
    actions = [action for action in journal.log() if action.edits]
    arrived = now != old
    states = [action.state for action in actions]
    if arrived:
        assert states == [ActionState.DONE], f"{place}: the journal says {states} of what is there"
        take_back(journal, actions[0])
        if case is not SIDECAR:
            assert case.contents(store) == old, f"{place}: undo did not give the first bytes"
    else:
        assert states in ([], [ActionState.VOID]), f"{place}: the journal says {states} of nothing"
    journal.close()
