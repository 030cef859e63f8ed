"""Every act of several files, its undo and its redo, on every format, killed at every fault point.

After each kill the next start must say the true reason, nothing may be blamed on another program,
and `undo` must give back every byte that was there before the act.
"""

from __future__ import annotations

import json
import os
import shutil
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from datetime import datetime
from pathlib import Path
from typing import Any

from memtui.bundle.bundle_reader import ImportDocument, read_document
from memtui.bundle.import_plan import plan_import
from memtui.changes import Act, Change
from memtui.errors import MemtuiError
from memtui.files import save_hooks
from memtui.files.reading import TEMPORARY_MARK
from memtui.files.sidecar_lines import read_entries
from memtui.journal import ActionState
from memtui.library import Library
from memtui.library.planning import Planned, planned_import
from memtui.model import Memory, to_record
from memtui.paths import STATE_VARIABLE
from memtui.stores.format import Format, IncomingStore
from memtui.testing.act_tests import plain, uncounted
from memtui.testing.acting import MARK, allowed, first_plan
from memtui.testing.fixtures import contents, memories, sample
from tests.samples import SAMPLES
from tests.torture.processes import KILLED, in_child

SEVERAL = 4
"""Memories that an act changes, of as many files as there are."""
STEPS = ("do", "undo", "redo")
NOTES = (
    "",
    "only a part of it reached the disk; undo takes that part back",
    "only a part of it was taken back; undo takes back the rest",
)
OTHER = "simple-memory"
"""The store that memories are moved to; from it they go to another one."""


class Impossible(Exception):
    """The format has no such act, or the sample nothing to try it on."""


Make = Callable[[Library], "Planned"]


def of_several_files(among: Sequence[Memory]) -> list[Memory]:
    """A few of these memories, first one of each file."""
    by_file: dict[str, list[Memory]] = {}
    for memory in among:
        by_file.setdefault(memory.origin.file, []).append(memory)
    firsts = [found[0] for found in by_file.values()]
    rest = [memory for found in by_file.values() for memory in found[1:]]
    return [*firsts, *rest][:SEVERAL]


def _bulk(act: Act, fields: Callable[[Memory], dict[str, object]]) -> Make:
    def make(library: Library) -> Planned:
        label = library.stores[0].label
        among = [m for found in allowed(library, act).values() for m in found if m.store == label]
        changes: list[Change] = []
        for memory in of_several_files(among):
            change = Change(act, memory.store, memory.ref, fields(memory), force=True)
            try:
                planned = library.plan([*changes, change])
            except MemtuiError:
                continue
            if planned.has_edits:
                changes.append(change)
        if not changes:
            raise Impossible
        return library.plan(changes)

    return make


def _with_mark(memory: Memory) -> dict[str, object]:
    return {"content": f"{memory.content.rstrip()} {MARK}"}


def _merge(library: Library) -> Planned:
    for among in allowed(library, Act.MERGE).values():
        own = [memory for memory in among if memory.store == library.stores[0].label]
        try:
            return first_plan(library, Act.MERGE, own)[1]
        except LookupError:
            continue
    raise Impossible


def _import(library: Library) -> Planned:
    """Memories like some of the store, of several files."""
    label = library.stores[0].label
    own = [memory for memory in memories(library).values() if memory.store == label]
    file = library.stores[0].root.parent / "new.jsonl"
    lines = [
        {
            **to_record(memory),
            "id": f"new{number}",
            "ref": f"x:new{number}",
            "content": f"The {MARK} number {number} hangs in the attic",
            "title": f"A {MARK} {number}",
            "store": "x",
            "supersedes": [],
            "superseded_by": [],
            "links": [],
        }
        for number, memory in enumerate(of_several_files(own))
    ]
    file.write_text("".join(json.dumps(line, default=str) + "\n" for line in lines))
    planned = planned_import(plan_import(read_document(file), library, label))
    file.unlink()
    if not planned.has_edits:
        raise Impossible
    return planned


def _move(library: Library) -> Planned:
    """Memories into the other store, and out of this one."""
    store, other = library.stores[0], library.stores[1].label
    among = [
        memory
        for found in allowed(library, Act.DELETE).values()
        for memory in found
        if memory.store == store.label
    ]
    chosen = of_several_files(among)
    incoming = IncomingStore(store.label, store.format, chosen)
    plan = plan_import(ImportDocument(Path(), "copy", (incoming,)), library, other)
    into = planned_import(plan, "move")
    new = [item.memory for part in plan.imports for item in part.new]
    if not new:
        raise Impossible
    away = library.plan([Change(Act.DELETE, m.store, m.ref, force=True) for m in new])
    return Planned("move", (*into.plans, *away.plans), (*into.parts, *away.parts))


ACTS: dict[str, Make] = {
    "import": _import,
    "edit": _bulk(Act.EDIT, _with_mark),
    "delete": _bulk(Act.DELETE, lambda _: {}),
    "retire": _bulk(Act.RETIRE, lambda _: {}),
    "supersede": _bulk(Act.SUPERSEDE, _with_mark),
    "merge": _merge,
    "move": _move,
}


# ---- one act of one format -----------------------------------------------------------------------


Found = tuple[dict[str, bytes], list[str], dict[str, tuple[object, ...]] | None]
"""The files, the folders, and what a database says."""


class ActKills:
    """Kills one act of one format, its undo and its redo."""

    def __init__(self, known: Format, act: str, folder: Path) -> None:
        """Raises Impossible."""
        self._known = known
        self._top = folder / "work"
        self._state = self._top / "state"
        os.environ[STATE_VARIABLE] = str(self._state)  # it is restored with the stores
        self._stores = self._top / "stores"
        self._saved = folder / "saved"
        other = OTHER if known.name != OTHER else "agent-memory"
        self._other = self._stores / other
        sample(known, self._stores / known.name)
        shutil.copytree(sample_folder(other), self._other)
        with self._opened() as library:
            self._planned = ACTS[act](library)
        self.before = self._find()
        self._passes = {}
        self._after: Found | None = None
        for step in STEPS:
            shutil.copytree(self._top, self._saved / step, symlinks=True)
            self._passes[step] = self._count(step)
            if step == "do":
                self._after = self._find()
            self._require(self._after if step != "undo" else self.before, f"unkilled {step}")

    def faults(self) -> list[tuple[str, str]]:
        """Every step with each time that it passes a named point: `exchange:2`."""
        return [
            (step, f"{point}:{1 + number}")
            for step in STEPS
            for point, times in self._passes[step].items()
            for number in range(times)
        ]

    def kill(self, step: str, fault: str, *, again: bool = True) -> str:
        """Kill the step there, and check what the next start makes of it; returns its state.

        `again`: what was undone is also redone and undone once more.
        """
        shutil.rmtree(self._top)
        shutil.copytree(self._saved / step, self._top, symlinks=True)

        def work() -> None:
            save_hooks.install(save_hooks.kill_at(fault))
            self._run(step)

        assert in_child(work) == KILLED
        with self._opened() as library:
            log = library.log(anywhere=True)
            what = f"{step} killed at {fault}: {[(a.state, a.note) for a in log]}"
            assert len(log) <= 1, what
            state = log[0].state if log else ActionState.VOID
            note = log[0].note if log else ""
            assert state in (ActionState.VOID, ActionState.DONE, ActionState.UNDONE), what
            assert note in NOTES, what
            assert not library.find_reverted(0), f"{what}: another program is blamed"
            left = [path for path in self._stores.rglob("*") if TEMPORARY_MARK in path.name]
            assert not left, f"{what}: {left}"
            if state is ActionState.DONE:
                if not note:
                    self._require(self._after, what)
                library.undo(anywhere=True)
            self._require(self.before, f"{what}, and undone")
            if again and state is not ActionState.VOID:
                library.redo(anywhere=True)
                self._require(self._after, f"{what}, undone and redone")
                library.undo(anywhere=True)
                self._require(self.before, f"{what}, undone twice")
        return f"{state}{', in part' if note else ''}"

    @contextmanager
    def _opened(self) -> Iterator[Library]:
        library = Library.open([self._stores / self._known.name, self._other], state=self._state)
        library.load()
        try:
            yield library
        finally:
            library.close()

    def _run(self, step: str) -> None:
        with self._opened() as library:
            if step != "do":
                (library.undo if step == "undo" else library.redo)(anywhere=True)
            else:
                library.apply(self._planned)

    def _count(self, step: str) -> Counter[str]:
        passed: Counter[str] = Counter()
        save_hooks.install(lambda point: passed.update([point]))
        try:
            self._run(step)
        finally:
            save_hooks.install(None)
        return passed

    def _find(self) -> Found:
        files = contents(self._stores, beside=True)
        rows = None
        if self._known.database is not None:
            name = self._known.database.name
            files = {path: data for path, data in files.items() if name not in path}
            with self._opened() as library:
                found = plain(memories(library), self._known)
                rows = {ref: tuple(map(_without_time, each)) for ref, each in found.items()}
        folders = [str(path) for path in self._stores.rglob("*") if path.is_dir()]
        return files, sorted(folders), rows

    def _require(self, expected: Found | None, what: str) -> None:
        assert expected is not None
        now = self._find()
        if expected is self._after:  # a line of the sidecar has the time of the change
            expected, now = without_times(expected), without_times(now)
        assert now[0].keys() == expected[0].keys(), what
        for name, data in expected[0].items():
            assert now[0][name] == data, f"{what}: {name}"
        assert now[1:] == expected[1:], what


def sample_folder(name: str) -> Path:
    return SAMPLES / name


def without_times(found: Found) -> Found:
    files = dict(found[0])
    for name, data in files.items():
        if ".memtui/" in name and name.endswith(".jsonl"):
            entries = read_entries(data.decode())
            files[name] = json.dumps(entries, sort_keys=True).encode()
    return (files, *found[1:])


def _without_time(value: Any) -> Any:
    """A field of a memory without the second of its row's last write, which a killed one moves on
    before the journal knows of it."""
    if isinstance(value, Mapping):
        return uncounted(value, {"updated_at"})
    return None if isinstance(value, datetime) else value


def sample_of(faults: Sequence[tuple[str, str]]) -> list[tuple[str, str]]:
    """Of each step one early and one late pass of the points that matter most."""
    chosen = {}
    for step, fault in faults:
        point = fault.partition(":")[0]
        if point in ("exchange", "intent", "done", "move", "put"):
            chosen[step, point] = step, fault  # the last pass
    return list(chosen.values())


def run(
    known: Format,
    act: str,
    folder: Path,
    choose: Callable[[list[tuple[str, str]]], Sequence[tuple[str, str]]] = list,
) -> Counter[str]:
    """Kill an act of a format at the chosen faults; returns how often each state was found."""
    kills = ActKills(known, act, folder)
    return Counter(
        kills.kill(step, fault, again=number % 4 == 0)
        for number, (step, fault) in enumerate(choose(kills.faults()))
    )
