"""What became of an action that was cut short: the files themselves say it, by their content."""

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
"""The digest of a table row by the name its store gave the recorder; None when nobody can say."""


class WriteOutcome(Enum):
    """What became of one file."""

    ARRIVED = auto()
    AWAY = auto()
    """As it was before."""
    UNSURE = auto()


@dataclass(frozen=True, slots=True)
class RecoveryVerdict:
    """What became of one file, and what else a person should know."""

    fate: WriteOutcome
    note: str = ""


def recover_write(
    name: str, writes: Sequence[Write], edits: Sequence[Edit], state: Path, row_digest: RowDigest
) -> RecoveryVerdict:
    """What became of one file or row, given all its writes in order.

    Cleans up beside a file, and finishes a merge that was cut short. `edits` are those of the step.
    """
    if name.partition("#")[0] != name and not Path(name).exists():
        return RecoveryVerdict(_fate(writes, row_digest(name)))
    path = Path(name)
    try:
        with locked(path, state):
            data = atomic_replace.read_if_exists(path)
            now = "" if data is None else digest(data)
            fate = _fate(writes, now)
            displaced = _clean(path, writes, now, fate, state)
    except (SaveError, UnreadableFile):
        return RecoveryVerdict(WriteOutcome.UNSURE)
    merged = [merge_displaced(path, edits, one.read(), NullRecorder(state)) for one in displaced]
    return RecoveryVerdict(fate, "" if all(merged) else _KEPT)


def clean_up(path: Path, writes: Sequence[Write], state: Path) -> None:
    """Take away what a power cut has brought back beside a file that was saved before it."""
    if atomic_replace.find_leftovers(path):
        with suppress(SaveError, UnreadableFile), locked(path, state):
            _clean(path, writes, writes[-1].post, WriteOutcome.ARRIVED, state)


def _fate(writes: Sequence[Write], now: str | None) -> WriteOutcome:
    first, last = writes[0], writes[-1]
    if last.done or now == last.post:
        there = last.post
    elif now == last.pre:
        there = last.pre
    else:
        return WriteOutcome.UNSURE
    return WriteOutcome.AWAY if there == first.pre else WriteOutcome.ARRIVED


def _clean(
    path: Path, writes: Sequence[Write], now: str, fate: WriteOutcome, state: Path
) -> list[backups.Backup]:
    """Take away temporary files left beside the file; returns versions of another program.

    Those came out of an exchange, and were not merged any more before the process was killed.
    """
    known = {write.pre for write in writes} | {write.post for write in writes}
    found = []
    for leftover in atomic_replace.find_leftovers(path):
        with suppress(OSError, UnreadableFile):
            content = digest(atomic_replace.read_if_exists(leftover) or b"")
            if content not in known and fate is not WriteOutcome.AWAY:
                found.append(backups.move_in(path, leftover, content, state))
            else:
                leftover.unlink()
    last = writes[-1]
    if len(writes) > 1 and not last.done and now == last.pre:  # the merge was not made any more
        found += [
            copy for copy in backups.list_backups(path, state)[:1] if copy.digest not in known
        ]
    return list({copy.digest: copy for copy in found}.values())
