"""The state machine: every step a person, another program, a crash or a move of house can take."""

from __future__ import annotations

import os
import shutil
import tempfile
from collections.abc import Callable, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule

from memtui.bundle import archive
from memtui.bundle.merging import plan_import
from memtui.bundle.packing import pack
from memtui.bundle.restoring import plan_restore, restore
from memtui.bundle.unpacking import read_document
from memtui.bundle.verifying import verified
from memtui.errors import Conflict, MemtuiError, RefError, Refused
from memtui.files import faults
from memtui.files.reading import encode
from memtui.library import Library
from memtui.library.planning import Planned
from memtui.library.snapshot import Snapshot
from memtui.query import parse
from tests.conformance.samples import memories, open_library, root_of
from tests.conformance.trees import contents, paths
from tests.torture.life import effects, others
from tests.torture.life.acts import ACTS, change_of
from tests.torture.life.model import Clash, Done, Expected, FileChange, Model
from tests.torture.life.pieces import taken_apart
from tests.torture.life.small import known, small_store
from tests.torture.processes import KILLED, in_child

NUMBER = st.integers(0, 30)
PAIR = st.tuples(NUMBER, NUMBER)
WORD = st.sampled_from(
    ["quill", "Größe", "a\nb", '"\\', "鐘\U0001f514", "\x1b[31m", "\u202eflip", "--- #", ""]
)
Meddling = tuple[str, int, int, str]
"""What another program does, in which file, where, and a word."""
MEDDLING = st.tuples(
    st.sampled_from(["edits", "edits", "removes", "respells", "adds"]), NUMBER, NUMBER, WORD
)
LEAST_FILES = 3
"""Files that other programs leave there."""
TRIES = 6
"""Memories on which an act is tried until it is not refused."""
LATER = 10_000_000
"""Nanoseconds between two writes of another program: time passes between steps."""


class Life(RuleBasedStateMachine):
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
        self.place = small_store(self.format, self.base / self.format)
        self.root = root_of(known(self.format), self.place)
        self.state, self.cache = self.base / "state", self.base / "cache"
        self.library = self.opened()
        self.model = Model(self.on_disk())
        self.pending: tuple[Planned, tuple[FileChange, ...]] | None = None
        self.bundles: list[Path] = []
        self.exported: dict[str, bytes] = {}
        self.looked_at: tuple[dict[Path, int], Snapshot] | None = None
        self.ticks = 0

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

    # ---- a person ------------------------------------------------------------------------------

    @initialize(act=st.sampled_from(ACTS), which=PAIR, word=WORD)
    def begin(self, act: str, which: tuple[int, int], word: str) -> None:
        """Most steps need a change before them."""
        self.change(act, which, word)

    @rule(act=st.sampled_from(ACTS), which=PAIR, word=WORD)
    def change(self, act: str, which: tuple[int, int], word: str) -> None:
        plan = self.planned([(act, which)], word)
        if self.apply(plan):
            self.library.refresh()
            fault = effects.fault(plan[0].plans[0], memories(self.library))
            assert not fault, fault

    @rule(act=st.sampled_from(ACTS), whiches=st.lists(PAIR, min_size=2, max_size=4), word=WORD)
    def change_several(self, act: str, whiches: list[tuple[int, int]], word: str) -> None:
        self.apply(self.planned([(act, which) for which in whiches], word))

    @rule(act=st.sampled_from(ACTS), which=PAIR, word=WORD)
    def open_a_form(self, act: str, which: tuple[int, int], word: str) -> None:
        """Plan now, and apply it when other things have happened."""
        self.pending = self.planned([(act, which)], word)

    @precondition(lambda self: self.pending is not None)
    @rule()
    def send_the_form(self) -> None:
        self.apply(self.pending)
        self.pending = None

    @precondition(lambda self: self.model.log)
    @rule()
    def undo(self) -> None:
        self.take_back(self.model.to_undo())

    @precondition(lambda self: self.of_state("undone"))
    @rule()
    def redo(self) -> None:
        self.do_again(self.model.to_redo())

    @precondition(lambda self: self.of_state("done"))
    @rule(which=NUMBER)
    def undo_any(self, which: int) -> None:
        among = self.of_state("done")
        self.take_back(among[which % len(among)], by_number=True)

    @precondition(lambda self: self.of_state("undone"))
    @rule(which=NUMBER)
    def redo_any(self, which: int) -> None:
        among = self.of_state("undone")
        self.do_again(among[which % len(among)], by_number=True)

    # ---- another program -----------------------------------------------------------------------

    @rule(
        doing=st.sampled_from(sorted(others.DOINGS)),
        file=NUMBER,
        which=NUMBER,
        word=WORD,
        writer=st.sampled_from(sorted(others.WRITERS)),
    )
    def another_program(self, doing: str, file: int, which: int, word: str, writer: str) -> None:
        names = self.of_others()
        name = names[file % len(names)]
        self.theirs(name, self.done_by_others(doing, name, which, word), writer)

    @rule(act=st.sampled_from(ACTS), which=PAIR, word=WORD, meddling=MEDDLING)
    def another_program_is_quicker(
        self, act: str, which: tuple[int, int], word: str, meddling: Meddling
    ) -> None:
        """It changes what we are about to change."""
        plan = self.planned([(act, which)], word)
        if plan is not None:
            self.meddle(plan[1], meddling)
            self.apply(plan)

    @precondition(lambda self: self.beside_others())
    @rule(which=NUMBER, meddling=MEDDLING)
    def another_program_changes_what_we_did(self, which: int, meddling: Meddling) -> None:
        """And then it is taken back, or done again."""
        among = self.beside_others()
        done = among[which % len(among)]
        self.meddle(done.changes, meddling)
        if done.state == "done":
            self.take_back(done, by_number=True)
        elif done.state == "undone":
            self.do_again(done, by_number=True)

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

    @precondition(lambda self: self.touched())
    @rule(file=NUMBER, which=NUMBER)
    def another_program_writes_what_it_had_read(self, file: int, which: int) -> None:
        """A program that read the file long ago writes it whole."""
        names = self.touched()
        name = names[file % len(names)]
        read = [c.before for d in self.model.log for c in d.changes if c.name == name and c.before]
        if read:
            self.theirs(name, read[which % len(read)], "in place")

    @rule(file=NUMBER)
    def another_program_deletes_a_file(self, file: int) -> None:
        names = self.of_others()
        name = names[file % len(names)]
        path = self.place / name
        data = path.read_bytes()
        path.unlink()
        if len(names) < LEAST_FILES or known(self.format).detect(self.place) is None:
            others.write_by_rename(path, data)  # without it this would be no store any more
        else:
            del self.model.files[name]
        self.library.refresh()

    # ---- the program's own fate ----------------------------------------------------------------

    @rule(cached=st.booleans())
    def restart(self, cached: bool) -> None:
        """With the rows and the index of the last start, or without."""
        self.library.close()
        if not cached:
            shutil.rmtree(self.cache)
        self.library = self.opened()

    @rule(
        doing=st.sampled_from(["apply", "apply", "undo", "redo"]),
        act=st.sampled_from(ACTS),
        which=PAIR,
        word=WORD,
        point=st.sampled_from(faults.POINTS),
        passing=st.integers(1, 3),
    )
    def crash(
        self, doing: str, act: str, which: tuple[int, int], word: str, point: str, passing: int
    ) -> None:
        """Be killed at a point of a save; the next start finds out what became of it."""
        done = {"undo": self.model.to_undo(), "redo": self.model.to_redo()}.get(doing)
        plan = self.planned([(act, which)], word) if doing == "apply" else None
        if done is None and plan is None:
            return
        changes = plan[1] if plan else self.turned(done) if doing == "undo" else done.changes
        try:
            expected = self.model.expect(changes)
        except Clash:
            return
        if any(each.perhaps for each in expected.values()):
            return
        self.library.close()
        work = self.killed_at(f"{point}:{passing}", doing, plan[0] if plan else None)
        status = in_child(work)
        assert status in (0, KILLED)
        self.library = self.opened()
        self.find_out(doing, done, changes, expected, status == KILLED)

    @rule(word=st.sampled_from(["bell", "sundial", "wrong", "theirs", "quill"]))
    def search(self, word: str) -> None:
        """The index, in whatever state, finds what looking at every memory finds."""
        self.library.index()
        if self.thorough:
            self.library.keep_index()
        asked = parse(f"{word} status:all", self.library.now())
        assert refs(self.library, asked) == refs(self.seen(), asked)

    # ---- moving house --------------------------------------------------------------------------

    @precondition(lambda self: self.exported != self.model.files)
    @rule()
    def export(self) -> None:
        """A bundle is whole: it makes the same store in an empty place, and the same bundle."""
        file = self.base / f"{len(self.bundles)}.zip"
        file.write_bytes(archive.to_bytes(pack(self.library, None).archive))
        self.bundles.append(file)
        document = read_document(file)
        assert verified(document)
        empty, state = self.base / "elsewhere", self.base / "their-state"
        restore(plan_restore(document, empty), state)
        assert self.from_root(empty) == self.from_root(self.place)
        again = archive.to_bytes(pack(open_library(empty), None).archive)
        assert again == file.read_bytes()
        shutil.rmtree(empty)
        self.exported = dict(self.model.files)

    @precondition(lambda self: self.bundles)
    @rule(which=NUMBER)
    def bring_a_bundle_in(self, which: int) -> None:
        """Only what is missing comes; what is there stays as it is."""
        document = read_document(self.bundles[which % len(self.bundles)])
        there = memories(self.library)
        plan = plan_import(document, self.library)
        incoming = {memory.ref for store in document.stores for memory in store.memories}
        assert plan.counts["new"] + plan.counts["refused"] <= len(incoming - there.keys())
        for change in self.changes_of(plan.planned):
            old = taken_apart(change.name, change.before).held
            new = taken_apart(change.name, change.after).held
            gone = {
                key for key in old if key[0] == "note" and f"{self.format}:{key[1]}" not in there
            }
            wrong = [key for key in old.keys() - gone if new.get(key) != old[key]]
            assert not wrong, f"{wrong[0]} becomes {new.get(wrong[0])}"
        if plan.planned.does_something:
            self.apply((plan.planned, self.changes_of(plan.planned)))

    # ---- what must hold after every step -------------------------------------------------------

    @invariant()
    def every_file_is_as_the_model_says(self) -> None:
        type(self).steps += 1
        self.model.settle(self.on_disk(), {})
        for name, data in self.model.files.items():
            taken_apart(name, data)

    @invariant()
    def the_log_is_settled(self) -> None:
        log = [(action.id, str(action.state)) for action in reversed(self.library.log(1000))]
        assert log == [(done.id, done.state) for done in self.model.log]

    @invariant()
    def what_is_shown_is_what_is_there(self) -> None:
        stamps = {path: path.stat().st_mtime_ns for path in paths(self.place)}
        if self.looked_at == (stamps, self.library.snapshot):
            return
        fresh = self.seen()
        shown, there = memories(self.library), memories(fresh)
        wrong = [ref for ref in shown.keys() | there.keys() if shown.get(ref) != there.get(ref)]
        assert not wrong, f"shown {shown.get(wrong[0])}, there {there.get(wrong[0])}"
        assert self.library.snapshot.count == fresh.snapshot.count
        self.looked_at = stamps, self.library.snapshot

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
                if planned.does_something:
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
            faults.install(faults.kill_at(fault))
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

    def done_by_others(self, doing: str, name: str, which: int, word: str) -> bytes:
        return others.DOINGS[doing](self.model.files[name], which, word, f"theirs-{self.ticks}")

    def theirs(self, name: str, data: bytes, writer: str) -> None:
        path = self.place / name
        others.WRITERS[writer](path, data)
        self.ticks += 1
        at = path.stat().st_mtime_ns + self.ticks * LATER
        os.utime(path, ns=(at, at))
        self.model.files[name] = data
        self.library.refresh()

    def from_root(self, place: Path) -> dict[str, bytes]:
        """Every file's bytes by its path from the store's root."""
        inner = self.root.relative_to(self.place)
        root = place / inner if (place / inner).is_dir() else place
        found = contents(place, beside=True)
        return {os.path.relpath(place / name, root): data for name, data in found.items()}


def refs(library: Library, asked: Any) -> set[str]:
    return {library.snapshot.rows[slot].ref for slot in library.find(asked).slots}
