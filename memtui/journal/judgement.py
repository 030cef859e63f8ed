"""What became of an action that was cut short: the files themselves say it, by their content."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from enum import Enum, auto
from pathlib import Path

from memtui.errors import SaveError, UnreadableFile
from memtui.files import kept, save
from memtui.files.lock import locked
from memtui.files.reading import digest
from memtui.journal.action import Write

RowDigest = Callable[[str], str | None]
"""The digest of a table row by the name its store gave the recorder; None when nobody can say."""


class Fate(Enum):
    """What became of one file."""

    ARRIVED = auto()
    AWAY = auto()
    """As it was before."""
    UNSURE = auto()


@dataclass(frozen=True, slots=True)
class Verdict:
    """What became of one file, and what else a person should know."""

    fate: Fate
    note: str = ""


def judge(name: str, writes: Sequence[Write], state: Path, row_digest: RowDigest) -> Verdict:
    """What became of one file or row (all its writes, in order); cleans up beside a file."""
    if name.partition("#")[0] != name and not Path(name).exists():
        return Verdict(_fate(writes, row_digest(name)))
    path = Path(name)
    try:
        with locked(path, state):
            data = save.read_now(path)
            fate = _fate(writes, "" if data is None else digest(data))
            return Verdict(fate, _clean(path, writes, fate, state))
    except (SaveError, UnreadableFile):
        return Verdict(Fate.UNSURE)


def _fate(writes: Sequence[Write], now: str | None) -> Fate:
    first, last = writes[0], writes[-1]
    if last.done or now == last.post:
        there = last.post
    elif now == last.pre:
        there = last.pre
    else:
        return Fate.UNSURE
    return Fate.AWAY if there == first.pre else Fate.ARRIVED


def _clean(path: Path, writes: Sequence[Write], fate: Fate, state: Path) -> str:
    """Take away temporary files that were left beside the file; keep whatever is not ours."""
    known = {write.pre for write in writes} | {write.post for write in writes}
    note = ""
    for leftover in save.leftovers(path):
        with suppress(OSError, UnreadableFile):
            content = digest(save.read_now(leftover) or b"")
            if content not in known and fate is not Fate.AWAY:
                kept.take(path, leftover, content, state)
                note = "another program wrote this file at the same moment; its version was kept"
            else:
                leftover.unlink()
    return note
