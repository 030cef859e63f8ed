"""Make planned edits: each file read again under its lock, edited, exchanged, looked at, recorded.

Several files are saved one after the other, each whole on its own. All are tried on paper first,
and when one fails on disk those before it are taken back.
"""

from __future__ import annotations

import contextlib
import time
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path

from memtui.changes import Edit, RecordEdit, RowEdit, SidecarEdit, ValueEdit, invert
from memtui.errors import Conflict, MemtuiError, Refused, SaveError, UnreadableFile
from memtui.files import json_spans as spans
from memtui.files import kept, save, sidecar_lines
from memtui.files.exchange import exchange
from memtui.files.faults import reached
from memtui.files.lock import locked
from memtui.files.reading import decode, digest, encode
from memtui.files.rebase import (
    FileEdit,
    Key,
    changes_between,
    key_of,
    put_again,
    rebase,
    records_by_id,
    same_value,
)
from memtui.files.recorder import Recorder

LINGER = 0.25
"""Seconds to watch a file after a merge (which needs two programs within a millisecond)."""
_PAUSE = 0.004
"""Seconds between looks meanwhile."""
MOST_ROUNDS = 200
"""Times a save starts again because another program wrote in between (each takes some ms)."""


@dataclass(frozen=True, slots=True)
class FileDiff:
    """One file as it is and as it would be; None where it does not exist."""

    path: str
    before: str | None
    after: str | None


@dataclass(frozen=True, slots=True)
class _Job:
    """All edits of one file."""

    path: Path
    """With every link resolved: a link is followed, never replaced."""
    edits: tuple[FileEdit | SidecarEdit, ...]

    @property
    def lists(self) -> list[tuple[tuple[str, ...], str]]:
        return [(e.array, e.id_key) for e in self.edits if isinstance(e, RecordEdit)]

    def read(self) -> bytes | None:
        expected = any(edit.before is not None for edit in self.edits)
        return save.read_settled(self.path, self.whole, expected=expected)

    def read_and_rewrite(self) -> tuple[bytes | None, bytes | None]:
        """What the file holds and what it shall hold."""
        try:
            old = save.read_now(self.path)
            return old, self.rewritten(old)
        except (UnreadableFile, Conflict):  # it may be caught just being emptied or made anew
            old = self.read()
            return old, self.rewritten(old)

    def rewritten(self, data: bytes | None) -> bytes | None:
        """The file's bytes with the edits made."""
        text = self.rewrite(None if data is None else decode(data))
        if text is None:
            return None
        new = encode(text)
        if decode(new) != text:
            raise Refused("stray bytes of the text would join to a character", where=str(self.path))
        return new

    def rewrite(self, text: str | None) -> str | None:
        notes = [edit for edit in self.edits if isinstance(edit, SidecarEdit)]
        if notes:
            text = sidecar_lines.added(text, notes, where=str(self.path))
        others = [edit for edit in self.edits if not isinstance(edit, SidecarEdit)]
        return rebase(text, others, where=str(self.path))

    def whole(self, data: bytes) -> bool:
        """Whether a program has finished writing this file."""
        if any(isinstance(edit, RecordEdit | ValueEdit) for edit in self.edits):
            try:
                spans.load(decode(data))
            except UnreadableFile:
                return False
        return True


def preview(edits: Sequence[Edit]) -> list[FileDiff]:
    """What `commit` would make of each file as it is now. Writes nothing, raises what it would."""
    diffs = []
    for job in _jobs(edits):
        before, after = (None if d is None else decode(d) for d in job.read_and_rewrite())
        diffs.append(FileDiff(str(job.path), before, after))
    return diffs


def commit(edits: Sequence[Edit], recorder: Recorder) -> None:
    """Make the edits on disk, files in the order they are first named.

    Raises Conflict or SaveError (also UnreadableFile or Refused, before anything is written), and
    then no file is changed: those already saved are taken back.
    """
    reached("begin")
    jobs = _jobs(edits)
    if len(jobs) > 1:
        preview(edits)
    finished: list[_Job] = []
    try:
        for job in jobs:
            _Saving(job, recorder).run()
            finished.append(job)
    except MemtuiError as error:
        stuck = _taken_back(finished, recorder)
        if stuck:
            raise SaveError(
                f"only a part was saved: {error}", where=", ".join(stuck), do="undo takes it back"
            ) from error
        raise


def _jobs(edits: Sequence[Edit]) -> list[_Job]:
    by_path: dict[Path, list[FileEdit | SidecarEdit]] = {}
    for edit in edits:
        if isinstance(edit, RowEdit):
            raise Refused("a table row is not saved as a file", where=edit.path)
        if isinstance(edit, SidecarEdit):
            path = sidecar_lines.sidecar_path(Path(edit.root))
        else:
            path = Path(edit.path)
        by_path.setdefault(path.resolve(), []).append(edit)
    return [_Job(path, tuple(found)) for path, found in by_path.items()]


def _taken_back(finished: list[_Job], recorder: Recorder) -> list[str]:
    """Undo these; returns the paths where that failed."""
    stuck = []
    for job in reversed(finished):
        try:
            for back in _jobs(invert(job.edits)):
                _Saving(back, recorder).run()
        except MemtuiError:
            stuck.append(str(job.path))
    return stuck


class _Theirs:
    """What another program has changed in a file since we read it, over all its versions."""

    def __init__(self, job: _Job) -> None:
        self._job = job
        self._ours = {key_of(edit) for edit in job.edits if isinstance(edit, RecordEdit)}
        self._records: dict[Key, RecordEdit] = {}
        self._tails: list[bytes] = []

    @property
    def found(self) -> bool:
        return bool(self._records or self._tails)

    def appended(self, disk: bytes, came: bytes) -> bytes | None:
        """The lines it only added to the end of a text; None if it did anything else."""
        if self._job.lists or not came.startswith(disk) or not disk.endswith(b"\n"):
            return None
        self._tails.append(came[len(disk) :])
        return self._tails[-1]

    def merged(self, disk: bytes, came: bytes) -> bytes:
        """Its newest version, with those of its earlier changes that this one does not know."""
        if not self._job.lists:
            return came + b"".join(tail for tail in self._tails if tail not in came)
        if not self._job.whole(came):
            return came
        for edit in changes_between(decode(disk), decode(came), self._job.lists):
            key = key_of(edit)
            # A record that is missing again was not deleted: that version was made without it.
            if key not in self._ours and (edit.after is not None or key not in self._records):
                self._records[key] = edit
        return encode(put_again(decode(came), list(self._records.values())))


class _Saving:
    """One file on its way to disk."""

    def __init__(self, job: _Job, recorder: Recorder) -> None:
        self._job = job
        self._path = job.path
        self._recorder = recorder

    def run(self) -> None:
        with locked(self._path, self._recorder.state):
            for _ in range(MOST_ROUNDS):
                with contextlib.suppress(save.Stale):
                    return self._once()
        raise SaveError(
            "another program keeps writing it", where=str(self._path), do="try again later"
        )

    def _once(self) -> None:
        old, new = self._job.read_and_rewrite()
        if new == old:
            return
        self._intend(old, new)
        if new is None:
            self._keep(save.remove(self._path, old or b""))
        elif old is None:
            save.create(self._path, new)
        else:
            self._replace(old, new)
        self._done()

    def _replace(self, disk: bytes, wanted: bytes) -> None:
        """Exchange; when something else came out than `disk` held, merge that in and go on.

        What came out is another program's version, made from what we read or from something older.
        Its changes are carried along, because its next version may again be made from an older one.
        """
        theirs = _Theirs(self._job)
        failure: Conflict | None = None
        copy: kept.Copy | None = None
        placed = False
        rounds = 0
        while wanted != disk and rounds < MOST_ROUNDS:
            rounds += 1
            try:
                out = save.replace(self._path, disk, wanted, self._job.whole)
            except save.Stale:
                if not placed:  # nothing of ours is there yet: begin anew
                    raise
                came = now = self._there()
            except SaveError:
                self._give_back(copy)
                raise
            else:
                placed, came, now = True, out.data, wanted
                copy = self._keep(out)
                if came == disk or not self._job.whole(came):
                    later = self._stale_writing(wanted) if theirs.found else None
                    if later is None:
                        break
                    disk, came, now = wanted, later, later
            grown = theirs.appended(disk, came)
            if grown is not None:
                wanted += grown
            else:
                base = theirs.merged(disk, came)
                try:
                    wanted = self._job.rewritten(base) or b""
                except Conflict as conflict:
                    wanted, failure = base, conflict
            disk = now
            self._intend(disk, wanted)
        if failure is not None:
            self._done()
            raise failure

    def _there(self) -> bytes:
        data = self._job.read()
        if data is None:
            raise Conflict("the file is gone", where=str(self._path))
        return data

    def _stale_writing(self, ours: bytes) -> bytes | None:
        """What a program writes shortly after a merge; None when it leaves the file alone.

        For a moment the file lacked what had just been displaced. A program that has read it in
        that moment writes back what it read, without its own former change.
        """
        until = time.monotonic() + LINGER
        while time.monotonic() < until:
            time.sleep(_PAUSE)
            with contextlib.suppress(UnreadableFile):
                now = save.read_now(self._path)
                if now is not None and now != ours and self._job.whole(now):
                    return now
        return None

    def _intend(self, pre: bytes | None, post: bytes | None) -> None:
        reached("intent")
        marks = ["" if data is None else digest(data) for data in (pre, post)]
        self._recorder.intend(str(self._path), *marks)

    def _done(self) -> None:
        reached("done")
        self._recorder.done(str(self._path))

    def _keep(self, out: save.Displaced) -> kept.Copy | None:
        """Move what came out among the copies. The save has succeeded: failing here is no fault."""
        try:
            return kept.take(self._path, out.file, digest(out.data), self._recorder.state)
        except OSError:
            save.discard(out)
            return None

    def _give_back(self, copy: kept.Copy | None) -> None:
        """Merging failed on disk: the other program's version gets its place again."""
        if copy is not None:
            with contextlib.suppress(OSError):
                copy.file.chmod(self._path.stat().st_mode & 0o7777)
                exchange(copy.file, self._path)


class Standing(StrEnum):
    """How a record edit fares on disk after it was made."""

    HELD = "held"
    UNDONE = "undone"
    """It is again what it was before the edit: a program wrote the file from an older reading."""
    CHANGED = "changed"
    """It says something else: somebody has changed it since."""


def standing(edits: Iterable[Edit]) -> list[tuple[RecordEdit, Standing]]:
    """How each record edit stands now; edits of files that cannot be read just now are left out."""
    found = []
    for job in _jobs([edit for edit in edits if isinstance(edit, RecordEdit)]):
        try:
            text = decode(save.read_now(job.path) or b"")
            known = {name: records_by_id(text, *name) for name in dict.fromkeys(job.lists)}
        except UnreadableFile:
            continue
        for edit in job.edits:
            if isinstance(edit, RecordEdit):
                now = known[edit.array, edit.id_key].get(edit.id)
                if same_value(now, edit.after):
                    found.append((edit, Standing.HELD))
                elif same_value(now, edit.before):
                    found.append((edit, Standing.UNDONE))
                else:
                    found.append((edit, Standing.CHANGED))
    return found
