"""Recover writes that another process made during a save and that could not be merged.

A program that opens a file, waits, and then writes, writes into what is by then a backup. Lines
that it appended are appended to the file in its place; anything else is reported and stays in the
backup. And when memtui is killed between an exchange and the merge of the displaced version, the
next memtui merges it (`merge_displaced`).
"""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from memtui.changes import Edit, RecordEdit, TextEdit, ValueEdit, invert_edits
from memtui.errors import Conflict, MemtuiError, UnreadableFile
from memtui.files import atomic_replace, backups
from memtui.files.merging import FileEdit, diff_records, rebase, record_key
from memtui.files.reading import decode, digest, real_path
from memtui.files.save_transaction import commit
from memtui.files.write_recorder import WriteRecorder


@dataclass(frozen=True, slots=True)
class LateWrite:
    """A write that went into a backup."""

    backup: backups.Backup
    is_recovered: bool
    """Whether the file now holds it; if not, a person must look at the backup."""


def recover_late_writes(path: Path, recorder: WriteRecorder) -> list[LateWrite]:
    """Find late writes into backups of this file and append to it what was appended there.

    To be called a moment after a save, again after two seconds, and at start. Raises SaveError.
    """
    found = []
    for backup in reversed(backups.find_late_writes(path, recorder.state)):
        data = backup.read()
        tail = _appended_part(data, backup.digest)
        is_recovered = tail is not None and _append(real_path(path), decode(tail), recorder)
        if is_recovered:
            renamed = backup.file.name.rpartition("-")[0] + f"-{digest(data)}"
            backup.file.rename(backup.file.with_name(renamed))
        found.append(LateWrite(backup, is_recovered))
    return found


def merge_displaced(
    path: Path, edits: Sequence[Edit], displaced: bytes, recorder: WriteRecorder
) -> bool:
    """Merge a version of the file that a killed save had displaced; False where that fails.

    `edits` are those of the save, which are on disk: without them the file is what that save had
    read, and the difference to `displaced` is what the other program did.
    """
    now = atomic_replace.read_if_exists(path)
    ours = [e for e in edits if isinstance(e, RecordEdit | ValueEdit | TextEdit)]
    ours = [edit for edit in ours if real_path(Path(edit.path)) == path]
    try:
        if now is None or not ours:
            return False
        base = rebase(
            decode(now), [e for e in invert_edits(tuple(ours)) if isinstance(e, FileEdit)]
        )
        foreign = _foreign_edits(path, base or "", decode(displaced), decode(now), ours)
        if foreign is None:
            return False
        commit(foreign, recorder)
    except MemtuiError:
        return False
    return True


def _foreign_edits(
    path: Path, base: str, displaced: str, now: str, ours: Sequence[Edit]
) -> list[Edit] | None:
    """The other program's changes as edits of the file as it is now; None when undecidable."""
    records = [edit for edit in ours if isinstance(edit, RecordEdit)]
    if not records:
        if not (base.endswith("\n") and displaced.startswith(base)):
            return None
        return [TextEdit(str(path), now, now + displaced[len(base) :])]
    own_keys = {record_key(edit) for edit in records}
    lists = [(edit.array, edit.id_key) for edit in records]
    found = diff_records(base, displaced, lists)
    return [replace(edit, path=str(path)) for edit in found if record_key(edit) not in own_keys]


def _appended_part(data: bytes, was: str) -> bytes | None:
    """What follows the first whole lines whose SHA-256 is `was`; None when there are none."""
    hash, end = hashlib.sha256(), 0
    while hash.hexdigest() != was:
        next_end = data.find(b"\n", end) + 1
        if not next_end:
            return None
        hash.update(data[end:next_end])
        end = next_end
    return data[end:]


def _append(path: Path, tail: str, recorder: WriteRecorder) -> bool:
    while True:
        try:
            now = decode(atomic_replace.read_if_exists(path) or b"")
            if not now.endswith("\n"):
                return False
            commit([TextEdit(str(path), now, now + tail)], recorder)
            return True
        except Conflict:
            continue
        except UnreadableFile:
            return False
