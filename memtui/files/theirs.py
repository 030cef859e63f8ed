"""What another program does to a file while memtui saves it, gathered so that nothing is lost."""

from __future__ import annotations

from memtui.changes import RecordEdit
from memtui.files.job import Job
from memtui.files.reading import decode, encode
from memtui.files.rebase import Key, changes_between, key_of, put_again


class Theirs:
    """What another program has changed in a file since we read it, over all its versions."""

    def __init__(self, job: Job) -> None:
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
