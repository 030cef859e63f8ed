"""Find out after a crash, from the content of files, which writes of an action were made."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from enum import Enum, auto
from pathlib import Path

from memtui.changes import Edit
from memtui.errors import SaveError, UnreadableFile
from memtui.files import atomic_replace, backups
from memtui.files.late_writes import merge_displaced
from memtui.files.locking import locked
from memtui.files.reading import digest
from memtui.files.write_recorder import NullRecorder
from memtui.journal.action import Write

_KEPT = "another program wrote this file at the same moment; its version was kept"

RowDigest = Callable[[str], str | None]
"""Returns the digest of a table row by the name given to the recorder; None when unknown."""


class WriteOutcome(Enum):
    """Whether the write of a file is on disk."""

    WRITTEN = auto()
    NOT_WRITTEN = auto()
    """The file is as it was before."""
    UNSURE = auto()


@dataclass(frozen=True, slots=True)
class RecoveryVerdict:
    """The outcome for one file, and a message for the person."""

    outcome: WriteOutcome
    note: str = ""


def recover_write(
    name: str, writes: Sequence[Write], edits: Sequence[Edit], state: Path, row_digest: RowDigest
) -> RecoveryVerdict:
    """Recover one file or row after a crash, and return what became of it.

    Removes temporary files beside a file, and finishes a merge that was interrupted.

    Args:
        name: path of the file, or the recorder's name of a row.
        writes: all its writes in order.
        edits: the edits of the interrupted step.
        state: memtui's own folder.
        row_digest: returns the present digest of a row.
    """
    if name.partition("#")[0] != name and not Path(name).exists():
        return RecoveryVerdict(_outcome(writes, row_digest(name)))
    path = Path(name)
    try:
        with locked(path, state):
            data = atomic_replace.read_if_exists(path)
            now = "" if data is None else digest(data)
            outcome = _outcome(writes, now)
            displaced = _remove_leftovers(path, writes, now, outcome, state)
    except (SaveError, UnreadableFile):
        return RecoveryVerdict(WriteOutcome.UNSURE)
    merged = [
        merge_displaced(path, edits, backup.read(), NullRecorder(state)) for backup in displaced
    ]
    return RecoveryVerdict(outcome, "" if all(merged) else _KEPT)


def clean_up(path: Path, writes: Sequence[Write], state: Path) -> None:
    """Remove temporary files that a power cut has brought back beside a saved file."""
    if atomic_replace.find_leftovers(path):
        with suppress(SaveError, UnreadableFile), locked(path, state):
            _remove_leftovers(path, writes, writes[-1].post, WriteOutcome.WRITTEN, state)


def _outcome(writes: Sequence[Write], now: str | None) -> WriteOutcome:
    first, last = writes[0], writes[-1]
    if last.done or now == last.post:
        expected = last.post
    elif now == last.pre:
        expected = last.pre
    else:
        return WriteOutcome.UNSURE
    return WriteOutcome.NOT_WRITTEN if expected == first.pre else WriteOutcome.WRITTEN


def _remove_leftovers(
    path: Path, writes: Sequence[Write], now: str, outcome: WriteOutcome, state: Path
) -> list[backups.Backup]:
    """Remove temporary files beside the file; returns displaced versions of another program.

    Those are versions that were not merged before the process was killed.
    """
    known = {write.pre for write in writes} | {write.post for write in writes}
    found = []
    for leftover in atomic_replace.find_leftovers(path):
        with suppress(OSError, UnreadableFile):
            content = digest(atomic_replace.read_if_exists(leftover) or b"")
            if content not in known and outcome is not WriteOutcome.NOT_WRITTEN:
                found.append(backups.move_in(path, leftover, content, state))
            else:
                leftover.unlink()
    last = writes[-1]
    if len(writes) > 1 and not last.done and now == last.pre:  # the merge was not made
        found += [
            backup for backup in backups.list_backups(path, state)[:1] if backup.digest not in known
        ]
    return list({backup.digest: backup for backup in found}.values())
