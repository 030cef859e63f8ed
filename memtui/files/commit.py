"""Make planned edits: each file read again under its lock, edited, exchanged, looked at, recorded.

Several files are saved one after the other, each whole on its own. All are tried on paper first,
and when one fails on disk those before it are taken back.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from memtui.changes import Edit, invert
from memtui.errors import MemtuiError, SaveError
from memtui.files.faults import reached
from memtui.files.job import Job, jobs_of
from memtui.files.reading import decode
from memtui.files.recorder import Recorder
from memtui.files.saving import Saving


@dataclass(frozen=True, slots=True)
class FileDiff:
    """One file as it is and as it would be; None where it does not exist."""

    path: str
    before: str | None
    after: str | None


def preview(edits: Sequence[Edit]) -> list[FileDiff]:
    """What `commit` would make of each file as it is now. Writes nothing, raises what it would."""
    diffs = []
    for job in jobs_of(edits):
        before, after = (None if d is None else decode(d) for d in job.read_and_rewrite())
        diffs.append(FileDiff(str(job.path), before, after))
    return diffs


def commit(edits: Sequence[Edit], recorder: Recorder) -> None:
    """Make the edits on disk, files in the order they are first named.

    Raises Conflict or SaveError (also UnreadableFile or Refused, before anything is written), and
    then no file is changed: those already saved are taken back.
    """
    reached("begin")
    jobs = jobs_of(edits)
    if len(jobs) > 1:
        preview(edits)
    finished: list[Job] = []
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


def _taken_back(finished: list[Job], recorder: Recorder) -> list[str]:
    """Undo these; returns the paths where that failed."""
    stuck = []
    for job in reversed(finished):
        try:
            for back in jobs_of(invert(job.edits)):
                Saving(back, recorder).run()
        except MemtuiError:
            stuck.append(str(job.path))
    return stuck
