"""What another program wrote into a file just after memtui had replaced it.

A program that opens a file, waits, and then writes, writes into what is by then a kept copy. Lines
that it appended are appended to the file that has taken the place; anything else is reported, and
stays among the copies.
"""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from pathlib import Path

from memtui.changes import TextEdit
from memtui.errors import Conflict, UnreadableFile
from memtui.files import kept, save
from memtui.files.commit import commit
from memtui.files.reading import decode, digest
from memtui.files.recorder import Recorder


@dataclass(frozen=True, slots=True)
class Late:
    """A write that went into a copy."""

    copy: kept.Copy
    rescued: bool
    """Whether the file now holds it; if not, a person must look at the copy."""


def rescue(path: Path, recorder: Recorder) -> list[Late]:
    """Find late writes into copies of this file and bring back what can be.

    To be called a moment after a save, again after two seconds, and at start. Raises SaveError.
    """
    found = []
    for copy in reversed(kept.written_late(path, recorder.state)):
        data = copy.read()
        tail = _appended(data, copy.digest)
        rescued = tail is not None and _append(path.resolve(), decode(tail), recorder)
        if rescued:
            renamed = copy.file.name.rpartition("-")[0] + f"-{digest(data)}"
            copy.file.rename(copy.file.with_name(renamed))
        found.append(Late(copy, rescued))
    return found


def _appended(data: bytes, was: str) -> bytes | None:
    """What follows the first whole lines whose SHA-256 is `was`; None when they do not begin it."""
    seen, end = hashlib.sha256(), 0
    while seen.hexdigest() != was:
        next_end = data.find(b"\n", end) + 1
        if not next_end:
            return None
        seen.update(data[end:next_end])
        end = next_end
    return data[end:]


def _append(path: Path, tail: str, recorder: Recorder) -> bool:
    while True:
        try:
            now = decode(save.read_now(path) or b"")
            if not now.endswith("\n"):
                return False
            commit([TextEdit(str(path), now, now + tail)], recorder)
            return True
        except Conflict:
            continue
        except UnreadableFile:
            return False
