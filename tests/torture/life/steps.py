"""One life of a store, and how each of its steps is made and checked against the model."""

from __future__ import annotations

import os
import shutil
import tempfile
from collections.abc import Callable, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

from hypothesis.stateful import RuleBasedStateMachine

from memtui.errors import Conflict, MemtuiError, RefError, Refused
from memtui.files import save_hooks
from memtui.files.reading import encode
from memtui.library import Library
from memtui.library.planning import Planned
from memtui.library.snapshot import Snapshot
from memtui.testing.fixtures import contents, root_of
from tests.torture.life import others
from tests.torture.life.acts import change_of
from tests.torture.life.model import Clash, Done, Expected, FileChange, Model
from tests.torture.life.small import known, small_store

Meddling = tuple[str, int, int, str]
"""What another program does, in which file, where, and a word."""
TRIES = 6
"""Memories on which an act is tried until it is not refused."""
MIN_FILES = 3
"""Files that other programs leave there."""
LATER = 10_000_000
"""Nanoseconds between two writes of another program: time passes between steps."""


class Living(RuleBasedStateMachine):
    """The life of one store; what is set on a class of its own says of which."""

    format: str
    folder: Path
    """Where it lives."""
    thorough: bool
    """Whether the index on disk is built too, which takes half a second in other processes."""
    steps: int
    """Steps of all machines of the class so far."""

    def __init__(self) -> None:
        super().__init__()
        self.base = Path(tempfile.mkdtemp(prefix="life-", dir=self.folder))
        self.place = self.made(self.base / self.format)
        self.root = root_of(known(self.format), self.place)
        self.state, self.cache = self.base / "state", self.base / "cache"
        self.library = self.opened()
        self.model = Model(self.on_disk())
        self.pending: tuple[Planned, tuple[FileChange, ...]] | None = None
        self.bundles: list[Path] = []
        self.exported: dict[str, bytes] = {}
        self.looked_at: tuple[dict[Path, int], Snapshot] | None = None
        self.ticks = 0

    def made(self, place: Path) -> Path:
        """The store at this place, as its life begins."""
        return small_store(self.format, place)

    def teardown(self) -> None:
        self.library.close()
        shutil.rmtree(self.base)

    def opened(self) -> Library:
        return self.seen(state=self.state, cache=self.cache)

    def seen(self, **kept: Path) -> Library:
        """The store as a new start sees it, also where so little is left that none would find it"""
        library = Library([known(self.format).open(self.root, self.format)], **kept)
        library.load()
        return library

    def on_disk(self) -> dict[str, bytes]:
        return contents(self.place, beside=True)

    # ---- how a step is made and checked --------------------------------------------------------

    def planned(
        self, wanted: Sequence[tuple[str, tuple[int, int]]], word: str
    ) -> tuple[Planned, tuple[FileChange, ...]] | None:
        """The plan and what it shows; None where the store refuses it or nothing would change."""
        for further in range(TRIES):
            tried = [(act, (one + further, other)) for act, (one, other) in wanted]
            changes = [change_of(self.library, act, which, word) for act, which in tried]
            with suppress(Refused, RefError, Conflict):
                planned = self.library.plan([change for change in changes if change is not None])
                if planned.has_edits:
                    return planned, self.changes_of(planned)
        return None

    def changes_of(self, planned: Planned) -> tuple[FileChange, ...]:
        found = []
        for diff in planned.diffs():
            before, after = (None if t is None else encode(t) for t in (diff.before, diff.after))
            name = str(Path(diff.path).relative_to(self.place))
            assert before == self.model.files.get(name), "the diff shows what is there"
            found.append(FileChange(name, before, after))
        return tuple(found)

    def turned(self, done: Done) -> tuple[FileChange, ...]:
        return tuple(change.turned for change in done.changes)

    def apply(self, plan: tuple[Planned, tuple[FileChange, ...]] | None) -> bool:
        """Whether it was done."""
        if plan is None:
            return False
        planned, changes = plan
        made = self.step(changes, lambda: self.library.apply(planned))
        self.model.add(self.library.log(1)[0].id, changes, "done" if made else "void")
        return made

    def take_back(self, done: Done | None, by_number: bool = False) -> None:
        if done is None:
            self.refused(self.library.undo)
        elif self.step(
            self.turned(done), lambda: self.library.undo(done.id if by_number else None)
        ):
            self.model.undone(done)

    def do_again(self, done: Done | None, by_number: bool = False) -> None:
        if done is None:
            self.refused(self.library.redo)
        elif self.step(done.changes, lambda: self.library.redo(done.id if by_number else None)):
            self.model.redone(done)

    def refused(self, doing: Callable[[], Any]) -> None:
        try:
            doing()
        except Refused:
            return
        raise AssertionError("there was nothing to do")

    def step(self, changes: tuple[FileChange, ...], doing: Callable[[], Any]) -> bool:
        """Do it and check every file; False when it was refused, as it had to be."""
        expected: dict[str, Expected] | None = None
        clash = refused = ""
        try:
            expected = self.model.expect(changes)
        except Clash as error:
            clash = str(error)
        try:
            doing()
        except MemtuiError as error:
            refused = str(error)
        if refused:
            right = expected is None or any(each.perhaps for each in expected.values())
            assert right, f"refused without a cause: {refused}"
            self.model.settle(self.on_disk(), {})
            return False
        assert expected is not None, f"it wrote over what somebody else has changed: {clash}"
        self.model.settle(self.on_disk(), expected)
        return True

    def killed_at(self, fault: str, doing: str, planned: Planned | None) -> Callable[[], None]:
        def work() -> None:
            save_hooks.install(save_hooks.kill_at(fault))
            library = self.seen(state=self.state)
            if planned is not None:
                library.apply(planned)
            else:
                library.undo() if doing == "undo" else library.redo()

        return work

    def find_out(
        self,
        doing: str,
        done: Done | None,
        changes: tuple[FileChange, ...],
        expected: dict[str, Expected],
        killed: bool,
    ) -> None:
        """Each file is old or new, and the log knows which."""
        log = self.library.log(1000)  # the first look at the log judges what was left unfinished
        disk = self.on_disk()
        arrived = {name for name, wanted in expected.items() if not wanted.fault(disk.get(name))}
        away = {name for name in expected if disk.get(name) == self.model.files.get(name)}
        torn = expected.keys() - arrived - away
        assert not torn, f"neither old nor new: {torn}"
        self.model.settle(disk, {name: expected[name] for name in arrived})
        wanted, former = {"undo": ("undone", "done"), "redo": ("done", "undone")}.get(
            doing, ("done", "void")
        )
        if not killed or not expected.keys() - arrived:
            right = {wanted}
        elif not expected.keys() - away:
            right = {former}
        else:
            right = {"done"}
        if killed and arrived & away:  # what was as wanted already tells nothing
            right |= {"done", former}
        if done is None:
            if len(log) == len(self.model.log):
                assert killed, "it was done and is not in the log"
                assert not arrived - away
                return
            assert log[0].state in right, f"{log[0].state}, not {right}"
            self.model.add(log[0].id, changes, str(log[0].state))
            return
        (state,) = (str(action.state) for action in log if action.id == done.id)
        assert state in right, f"{state}, not {right}"
        if state != done.state:
            self.model.undone(done) if state == "undone" else self.model.redone(done)

    def meddle(self, changes: Sequence[FileChange], meddling: Meddling) -> None:
        """Another program writes where these changes are."""
        doing, file, which, word = meddling
        there = [change for change in changes if change.name in self.of_others()]
        if there:
            change = there[file % len(there)]
            ours = others.places(self.model.files[change.name], change.records)
            place = ours[which % len(ours)] if ours else which
            data = self.done_by_others(doing, change.name, place, word)
            self.theirs(change.name, data, "by rename")

    # ---- choosing ------------------------------------------------------------------------------

    def of_state(self, state: str) -> list[Done]:
        return [done for done in self.model.log if done.state == state]

    def of_others(self) -> list[str]:
        return sorted(name for name in self.model.files if ".memtui/" not in name)

    def touched(self) -> list[str]:
        names = {change.name for done in self.model.log for change in done.changes}
        return sorted(names.intersection(self.of_others()))

    def beside_others(self) -> list[Done]:
        """What was done where other programs write."""
        names = set(self.of_others())
        return [done for done in self.model.log if any(c.name in names for c in done.changes)]

    def done_by_others(self, doing: str, name: str, which: int, word: str) -> bytes | None:
        return others.DOINGS[doing](self.model.files[name], which, word, f"theirs-{self.ticks}")

    def theirs(self, name: str, data: bytes | None, writer: str) -> None:
        assert data is not None
        path = self.place / name
        others.WRITERS[writer](path, data)
        self.ticks += 1
        at = path.stat().st_mtime_ns + self.ticks * LATER
        os.utime(path, ns=(at, at))
        self.model.files[name] = data
        self.library.refresh()

    def delete_by_others(self, name: str) -> None:
        path = self.place / name
        data = path.read_bytes()
        path.unlink()
        few = len(self.of_others()) < MIN_FILES
        if few or known(self.format).detect(self.place) is None:
            others.write_by_rename(path, data)  # without it this would be no store any more
        else:
            del self.model.files[name]
        self.library.refresh()

    def from_root(self, place: Path) -> dict[str, bytes]:
        """Every file's bytes by its path from the store's root."""
        inner = self.root.relative_to(self.place)
        root = place / inner if (place / inner).is_dir() else place
        found = contents(place, beside=True)
        return {os.path.relpath(place / name, root): data for name, data in found.items()}
