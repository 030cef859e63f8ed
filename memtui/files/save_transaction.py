"""One file on its way to disk: lock, read, edit, exchange, look, merge what came out, record.

The exchange itself is in `save`; here is what to write, and what to do about other programs.
"""

from __future__ import annotations

import contextlib
import time
from collections.abc import Sequence
from dataclasses import dataclass

from memtui.changes import Edit, RecordEdit, invert_edits
from memtui.errors import Conflict, MemtuiError, SaveError, UnreadableFile
from memtui.files import atomic_replace, backups
from memtui.files.failpoints import failpoint
from memtui.files.file_edits import FileEdits, file_edits_of
from memtui.files.locking import locked
from memtui.files.merging import Key, changes_between, key_of, put_again
from memtui.files.name_exchange import exchange
from memtui.files.reading import decode, digest, encode
from memtui.files.write_recorder import WriteRecorder

LOOKS = 60
"""Looks at a file after a merge (which needs two programs within a millisecond): a quarter of a
second. Counted, not timed, since on a busy machine the other program waits for its turn too."""
PATIENCE = 2.0
"""Seconds from the first merge to the end of all such watching: a program that never stops writing
must not hold us up. What it undoes later is noticed later (`standing`)."""
_PAUSE = 0.004
"""Seconds between looks meanwhile."""
MOST_ROUNDS = 200
"""Times a save starts again because another program wrote in between (each takes some ms)."""


class Saving:
    """One file on its way to disk."""

    def __init__(self, job: FileEdits, recorder: WriteRecorder) -> None:
        self._job = job
        self._path = job.path
        self._recorder = recorder
        self._patient_until: float | None = None
        self._ours = False
        """Whether the file may hold something of ours."""

    def run(self) -> None:
        with locked(self._path, self._recorder.state):
            try:
                self._until_done()
            except MemtuiError:
                if not self._ours:
                    self._recorder.failed(str(self._path))
                raise

    def _until_done(self) -> None:
        for _ in range(MOST_ROUNDS):
            with contextlib.suppress(atomic_replace.Stale):
                return self._once()
        raise SaveError(
            "another program keeps writing it", where=str(self._path), do="try again later"
        )

    def _once(self) -> None:
        self._ours = False
        old, new = self._job.read_and_rewrite()
        if new == old:
            return
        self._intend(old, new)
        if new is None:
            self._keep(atomic_replace.remove(self._path, old or b""))
        elif old is None:
            atomic_replace.create(self._path, new)
        else:
            self._replace(old, new)
        self._done()

    def _replace(self, disk: bytes, wanted: bytes) -> None:
        """Exchange; when something else came out than `disk` held, merge that in and go on.

        What came out is another program's version, made from what we read or from something older.
        Its changes are carried along, because its next version may again be made from an older one.
        """
        theirs, copy, placed = Theirs(self._job), None, False
        failure: Conflict | None = None
        for _ in range(MOST_ROUNDS):
            out: atomic_replace.Displaced | None = None
            try:
                may_own = self._recorder.may_own(self._path)
                out = atomic_replace.replace(
                    self._path, disk, wanted, self._job.whole, may_own=may_own
                )
                came, now = out.data, wanted
            except atomic_replace.Stale:
                if not placed:  # nothing of ours is there yet: begin anew
                    raise
                came = now = self._there()
            except SaveError:
                self._give_back(copy)
                raise
            placed = self._ours = True
            if out is not None and (came == disk or not self._job.whole(came)):
                self._keep(out)
                later, out = self._stale_writing(wanted) if theirs.found else None, None
                if later is None:
                    break
                disk, came, now = wanted, later, later
            try:
                wanted, failure = self._merge(theirs, disk, came, wanted)
                disk = now
                if wanted != disk:
                    self._intend(disk, wanted)
            except MemtuiError:
                self._give_back(self._keep(out) if out else copy)
                raise
            if out is not None:  # not before the intent to merge it is written down
                copy = self._keep(out)
            if wanted == disk:
                break
        else:
            raise SaveError("another program keeps writing it", where=str(self._path))
        if failure is not None:  # and theirs has its place again
            self._ours = False
            raise failure

    def _merge(
        self, theirs: Theirs, disk: bytes, came: bytes, ours: bytes
    ) -> tuple[bytes, Conflict | None]:
        """Their version with our edits; without them, and why, when they changed the same thing."""
        self._patient_until = self._patient_until or time.monotonic() + PATIENCE
        grown = theirs.appended(disk, came)
        if grown is not None:
            return ours + grown, None
        base = theirs.merged(disk, came)
        try:
            return self._job.lasting.rewritten(base) or b"", None
        except Conflict as conflict:
            return base, conflict

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
        looks = 0
        while looks < LOOKS and time.monotonic() < (self._patient_until or 0.0):
            time.sleep(_PAUSE)
            with contextlib.suppress(UnreadableFile):
                now = atomic_replace.read_now(self._path)
                if now is None or not self._job.whole(now):
                    continue  # it is being written at this moment: not counted
                if now != ours:
                    return now
            looks += 1
        return None

    def _intend(self, pre: bytes | None, post: bytes | None) -> None:
        failpoint("intent")
        marks = ["" if data is None else digest(data) for data in (pre, post)]
        self._recorder.intend(str(self._path), *marks)

    def _done(self) -> None:
        failpoint("done")
        self._recorder.done(str(self._path))

    def _keep(self, out: atomic_replace.Displaced) -> backups.Backup | None:
        """Move what came out among the copies. The save has succeeded: failing here is no fault."""
        try:
            return backups.take(self._path, out.file, digest(out.data), self._recorder.state)
        except OSError:
            atomic_replace.discard(out)
            return None

    def _give_back(self, copy: backups.Backup | None) -> None:
        """Merging failed on disk: the other program's version gets its place again."""
        if copy is not None:
            with contextlib.suppress(OSError):
                with contextlib.suppress(PermissionError):  # another's file has its mode still
                    copy.file.chmod(self._path.stat().st_mode & 0o7777)
                exchange(copy.file, self._path)
                copy.file.unlink()


class Theirs:
    """What another program has changed in a file since we read it, over all its versions."""

    def __init__(self, job: FileEdits) -> None:
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


@dataclass(frozen=True, slots=True)
class FileDiff:
    """One file as it is and as it would be; None where it does not exist."""

    path: str
    before: str | None
    after: str | None


def preview(edits: Sequence[Edit]) -> list[FileDiff]:
    """What `commit` would make of each file as it is now. Writes nothing, raises what it would."""
    diffs = []
    for job in file_edits_of(edits):
        before, after = (None if d is None else decode(d) for d in job.read_and_rewrite())
        diffs.append(FileDiff(str(job.path), before, after))
    return diffs


def commit(edits: Sequence[Edit], recorder: WriteRecorder) -> None:
    """Make the edits on disk, files in the order they are first named.

    Raises Conflict or SaveError (also UnreadableFile or Refused, before anything is written), and
    then no file is changed: those already saved are taken back.
    """
    failpoint("begin")
    jobs = file_edits_of(edits)
    if len(jobs) > 1:
        preview(edits)
    finished: list[FileEdits] = []
    try:
        for job in jobs:
            Saving(job, recorder).run()
            finished.append(job)
    except MemtuiError as error:
        stuck = _taken_back(finished, recorder)
        if stuck:
            raise SaveError(
                f"only a part was saved: {error}", where=", ".join(stuck), do="undo takes it back"
            ) from error
        raise


def _taken_back(finished: list[FileEdits], recorder: WriteRecorder) -> list[str]:
    """Undo these; returns the paths where that failed."""
    stuck = []
    for job in reversed(finished):
        try:
            for back in file_edits_of(invert_edits(job.edits)):
                Saving(back, recorder).run()
        except MemtuiError:
            stuck.append(str(job.path))
    return stuck
