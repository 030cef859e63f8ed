"""Faults in pairs: another program writes at any point of a save, and the system refuses at any.

Each run makes one save. At one pass of a named point another program writes the file in one of
the ways that programs do; at another pass (before or after it) a call fails; and perhaps one more
fails while the first failure is put right. Then both texts must be somewhere: in the file, or in a
file that the error names.
"""

from __future__ import annotations

import errno
import json
import os
import random
import shutil
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from memtui.changes import Edit, Kind, record_edit, sidecar_edit, text_edit
from memtui.errors import MemtuiError, SaveError
from memtui.files import save_hooks
from memtui.files.json.editing import set_member
from memtui.files.json.locating import LINES, load_records
from memtui.files.save_hooks import NullRecorder
from memtui.files.sidecar_lines import FILE, FOLDER
from memtui.journal import Journal
from memtui.journal.recovery import recover_late_writes
from tests.long_run import share
from tests.torture.crowds import REWRITING, truncate
from tests.torture.kills import do, strangers

ERRORS = (
    errno.ENOSPC,
    errno.EIO,
    errno.EACCES,
    errno.EDQUOT,
    errno.EINTR,
    errno.EINVAL,
    errno.EXDEV,
)
"""EINVAL is that of a file system without exchange, EXDEV of backups on another one."""

OURS, THEIRS = "said by us", "said by them"


# ---- the saves -----------------------------------------------------------------------------------


@dataclass(frozen=True)
class Save:
    """One kind of save: the file that the other program writes too, and the edits."""

    name: str
    file: str
    make: Callable[[Path], None]
    edits: Callable[[Path], tuple[Edit, ...]]
    shown: str = OURS
    """What shows that the edit was made; empty where the file is removed."""

    def add(self, text: str, mark: str) -> str:
        """What another program makes of the file's text: one memory more."""
        if self.file.endswith(".json"):
            try:
                return json.dumps([*json.loads(text or "[]"), {"id": mark, "content": mark}])
            except ValueError:
                return json.dumps([{"id": mark, "content": mark}])
        if self.file.endswith(".jsonl"):
            return f'{text}{{"id": "{mark}", "set": {{"note": "{mark}"}}}}\n'
        return f"{text}- {mark}\n"

    def change(self, text: str, mark: str) -> str:
        """The same, of the memory that is being edited."""
        return text.replace("fact 1", mark) if "fact 1" in text else self.add(text, mark)


def _records(folder: Path, name: str = "items.json") -> None:
    facts = [{"id": f"r{i}", "content": f"fact {i}"} for i in range(4)]
    (folder / name).write_text(json.dumps(facts, indent=2) + "\n")


def _edit_record(folder: Path, name: str = "items.json") -> Edit:
    record = load_records((folder / name).read_text())[1]
    after = set_member(record.raw, "content", OURS)
    return record_edit(str(folder / name), (), "id", "r1", record.raw, after, 1)


def _lines(folder: Path) -> None:
    facts = [json.dumps({"id": f"r{i}", "content": f"fact {i}"}) for i in range(4)]
    (folder / "lines.jsonl").write_text("".join(f"{fact}\n" for fact in facts))


def _edit_line(folder: Path) -> tuple[Edit, ...]:
    record = load_records((folder / "lines.jsonl").read_text(), LINES)[1]
    after = set_member(record.raw, "content", OURS)
    return (record_edit(str(folder / "lines.jsonl"), LINES, "id", "r1", record.raw, after, 1),)


def _note(folder: Path) -> None:
    (folder / "note.md").write_text("# Facts\n\n- fact 0\n- fact 1\n- fact 2\n")


def _edit_note(folder: Path, kind: Kind) -> tuple[Edit, ...]:
    before = (folder / "note.md").read_text()
    after = before.replace("fact 1", OURS)
    return (text_edit(str(folder / "note.md"), before, after, kind),)


def _remove_note(folder: Path) -> tuple[Edit, ...]:
    return (text_edit(str(folder / "note.md"), (folder / "note.md").read_text(), None),)


def _make_new(folder: Path) -> tuple[Edit, ...]:
    return (text_edit(str(folder / "new" / "note.md"), None, f"- {OURS}\n"),)


def _broken(folder: Path) -> None:
    (folder / "items.json").write_text('[{"id": "r1", "cont')


def _restore(folder: Path) -> tuple[Edit, ...]:
    before = (folder / "items.json").read_text()
    good = json.dumps([{"id": "r1", "content": OURS}])
    return (text_edit(str(folder / "items.json"), before, good),)


def _two(folder: Path) -> None:
    _records(folder)
    _records(folder, "other.json")


def _edit_two(folder: Path, *, first: bool) -> tuple[Edit, ...]:
    edits = (_edit_record(folder), _edit_record(folder, "other.json"))
    return edits if first else edits[::-1]


def _sidecar(folder: Path) -> None:
    (folder / FOLDER).mkdir()
    (folder / FOLDER / FILE).write_text('{"id": "m", "set": {"rating": 1}}\n')


def _edit_sidecar(folder: Path) -> tuple[Edit, ...]:
    return (sidecar_edit(str(folder), "m", {"rating": 1}, {"rating": 2, "note": OURS}),)


SAVES = (
    Save("record", "items.json", _records, lambda folder: (_edit_record(folder),)),
    Save("record of lines", "lines.jsonl", _lines, _edit_line),
    Save("list", "note.md", _note, lambda folder: _edit_note(folder, Kind.LINES)),
    Save("text", "note.md", _note, lambda folder: _edit_note(folder, Kind.FILE)),
    Save("new file", "new/note.md", lambda folder: None, _make_new),
    Save("removed file", "note.md", _note, _remove_note, ""),
    Save("restored backup", "items.json", _broken, _restore),
    Save("sidecar", f"{FOLDER}/{FILE}", _sidecar, _edit_sidecar),
    Save("first of two", "items.json", _two, lambda folder: _edit_two(folder, first=True)),
    Save("last of two", "items.json", _two, lambda folder: _edit_two(folder, first=False)),
)


# ---- the other program ---------------------------------------------------------------------------


WHAT = ("adds", "changes", "adds to what it read before")
STYLES = (*((way, what) for way in REWRITING for what in WHAT), ("append", "adds"), ("delete", ""))


def _write(save: Save, path: Path, first: str, style: tuple[str, str], mark: str) -> None:
    way, what = style
    if way == "delete":
        path.unlink(missing_ok=True)
        return
    path.parent.mkdir(exist_ok=True)
    now = path.read_text() if path.exists() else ""
    if way == "append":
        text = save.add(now, mark)
        if text.startswith(now):
            with path.open("a") as file:
                file.write(text[len(now) :])
            return
    old = first if what.endswith("before") else now
    REWRITING.get(way, truncate)(
        path, save.change(old, mark) if what == "changes" else save.add(old, mark)
    )


# ---- one run -------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Faults:
    """When the other program writes and which calls fail: at which pass of all points, or at which
    point (`temp 2` is its second pass)."""

    save: Save
    style: tuple[str, str]
    written: tuple[int | str, ...] = ()
    refused: tuple[int | str, ...] = ()
    code: int = errno.ENOSPC

    def __str__(self) -> str:
        style, name = " ".join(self.style), errno.errorcode[self.code]
        return f"{self.save.name}: {style} at {self.written}, {name} at {self.refused}"


_NOT_REFUSED = {"begin", "lock", "done"}


class Runner:
    """Makes one save after the other in one folder; the journal stays open."""

    def __init__(self, folder: Path) -> None:
        self._store, self._state = folder / "store", folder / "state"
        self._journal = Journal(self._state)
        self.count = 0
        self.problems: list[str] = []

    def close(self) -> None:
        self._journal.close()

    def run(self, faults: Faults) -> list[str]:
        """Make the save, note what was lost or said wrongly, and return the points it passed."""
        save, passed = faults.save, list[str]()
        for folder in (self._store, self._state / "kept"):
            shutil.rmtree(folder, ignore_errors=True)
        self._store.mkdir(parents=True)
        save.make(self._store)
        path = self._store / save.file
        first = path.read_text() if path.exists() else ""
        files = [os.path.relpath(file, self._store) for file in self._store.rglob("*")]
        edits, marks = save.edits(self._store), list[str]()

        def hook(point: str) -> None:
            names = {len(passed), f"{point} {passed.count(point) + 1}"}
            passed.append(point)
            if names.intersection(faults.written):
                marks.append(f"{THEIRS} {len(marks) + 1}")
                _write(save, path, first, faults.style, marks[-1])
            if names.intersection(faults.refused) and point not in _NOT_REFUSED:
                if point == "intent":
                    raise SaveError("the journal cannot be written")
                raise OSError(faults.code, os.strerror(faults.code))

        said = ""
        save_hooks.install(hook)
        try:
            do(self._journal, edits)
        except MemtuiError as error:
            said = str(error)
        finally:
            save_hooks.install(None)
        if path.exists():
            recover_late_writes(path, NullRecorder(self._state))  # as the app does a moment later
        problem = self._problem(faults, said, marks, files)
        self.count += 1
        if problem:
            self.problems.append(f"{faults}: {problem}; it passed {passed} and said {said!r}")
        return passed

    def _problem(self, faults: Faults, said: str, marks: list[str], files: list[str]) -> str:
        save, (way, what) = faults.save, faults.style
        path = self._store / save.file
        text = path.read_text() if path.exists() else ""
        named = [file for file in self._store.parent.rglob("*-*") if _is_named(file, said)]
        places = [text, *(file.read_text() for file in named)]
        is_made = save.shown in text if save.shown else not path.exists()
        missing = [mark for mark in marks if not any(mark in place for place in places)]
        if missing and way != "delete":
            return f"the other program's text is lost: {missing}"
        if not said and save.shown and not is_made and what == "adds":
            return "our text is lost"
        is_told = "could not be taken back" in said or "another program" in said
        if said and is_made and not (is_told or "only a part" in said or way == "delete"):
            return "it is said not to be saved, but it is"
        if text and save.file.endswith(".json") and save.name != "restored backup":
            json.loads(text)
        allowed = [*files, save.file, *(os.path.relpath(file, self._store) for file in named)]
        found = strangers(self._store, allowed)
        return f"left behind: {found}" if found else ""


def _is_named(file: Path, said: str) -> bool:
    """Whether the message names this file; its digest changes when its lines are brought back."""
    return file.is_file() and str(file).rpartition("-")[0] in said


def all_kept(folder: Path, save: Save, seed: int, singles: int, doubles: int) -> str:
    """Make a save with every write of another program at every point, then with random faults.

    The usual run takes a third of the points for each kind of write, another one for each.

    `singles` is the number of random pairs of a write and an error; `doubles` that of one or two
    writes and two errors, where the second strikes what is done after the first.
    """
    rng, runner = random.Random(f"{save.name} {seed}"), Runner(folder)
    passes: dict[tuple[tuple[str, str], int], int] = {}
    plain = range(len(runner.run(Faults(save, STYLES[0]))))
    for number, style in enumerate(STYLES):
        for at in share(plain, number + seed, 3):
            passes[style, at] = len(runner.run(Faults(save, style, (at,))))
    pairs = [
        Faults(save, style, (at,), (refused,), code)
        for (style, at), length in passes.items()
        for refused in range(length)
        for code in ERRORS
    ]
    for faults in rng.sample(pairs, min(singles, len(pairs))):
        runner.run(faults)
    for faults in rng.choices([pair for pair in pairs if pair.style[0] != "delete"], k=doubles):
        second = faults.refused[0] + 1 + int(rng.expovariate(0.3))
        written = faults.written
        if not faults.style[1].endswith("before") and rng.random() < 0.5:
            written = (*written, faults.refused[0] + int(rng.expovariate(0.5)))
        refused = (*faults.refused, second)
        runner.run(Faults(save, faults.style, written, refused, faults.code))
    runner.close()
    assert not runner.problems, "\n".join(runner.problems[:10])
    return f"T3/T5 pairs of faults [{save.name}]: {runner.count:,} saves, 0 lost, all told"
