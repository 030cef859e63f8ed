"""Find out what became of writes: after a crash, and where another process wrote during a save.

After a crash the content of files tells which writes of an action were made; a version of another
program that the killed save had displaced is merged. A program that opens a file, waits, and then
writes, writes into what is by then a backup: lines that it appended are appended to the file, and
records and items that it added are added; anything else is reported and stays in the backup.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Hashable, Mapping, Sequence
from contextlib import suppress
from enum import Enum, auto
from pathlib import Path

from msgspec import Struct
from msgspec.structs import replace

from memtui.changes import ITEM_TEXTS, JSON_PARTS, TEXTS, Edit, Kind, invert_edits, text_edit
from memtui.errors import Conflict, MemtuiError, SaveError, UnreadableFile
from memtui.files import atomic_replace, backups, text_items
from memtui.files.locking import locked
from memtui.files.merging import diff_records, is_same_value, rebase
from memtui.files.reading import decode, digest, real_path
from memtui.files.revert_detection import RECORD_FILES
from memtui.files.save_hooks import NullRecorder, WriteRecorder
from memtui.files.save_transaction import MAX_ATTEMPTS, commit, group_by_file
from memtui.files.sidecar_lines import sidecar_paths
from memtui.journal.action import Write

_FILE_KINDS = JSON_PARTS | TEXTS
_STRUCTURED = JSON_PARTS | ITEM_TEXTS
"""Kinds of edits of files that are merged by their parts."""

_KEPT_MESSAGE = "another program wrote this file at the same moment; its version was kept"

RowDigest = Callable[[str], str | None]
"""Returns the digest of a table row by the name given to the recorder; None when unknown."""


class WriteOutcome(Enum):
    """Whether the write of a file is on disk."""

    WRITTEN = auto()
    NOT_WRITTEN = auto()
    """The file is as it was before."""
    UNSURE = auto()


class RecoveryVerdict(Struct, frozen=True):
    """The outcome for one file, and a message for the person."""

    outcome: WriteOutcome
    note: str = ""


class Save(Struct, frozen=True):
    """What is written in one step: a file, all rows of a database, or a whole folder."""

    names: frozenset[str]
    """For a file, its path with every link resolved; for a database or folder, its path."""
    positions: tuple[int, ...]
    """Positions of its edits in the action."""
    edits: tuple[Edit, ...]

    def has_write(self, name: str) -> bool:
        """Whether a write of this name belongs to it."""
        mark = {Kind.ROW: "#", Kind.FOLDER: "/"}.get(self.edits[0].kind)
        if mark is None:
            return name in self.names
        return any(name.startswith(f"{path}{mark}") for path in self.names)

    @property
    def is_of_rows(self) -> bool:
        """Whether it writes rows; else it writes files, whose names may hold any character."""
        return self.edits[0].kind is Kind.ROW


def group_by_save(edits: Mapping[int, Edit]) -> list[Save]:
    """Group the edits of a step, by position, by what is written at once; edits that only require
    something are left out."""
    found: dict[frozenset[str], dict[int, Edit]] = {}
    for position, edit in edits.items():
        if edit.before != edit.after:
            found.setdefault(_names(edit), {})[position] = edit
    return [Save(names, tuple(made), tuple(made.values())) for names, made in found.items()]


def _names(edit: Edit) -> frozenset[str]:
    if edit.kind in (Kind.ROW, Kind.FOLDER):
        return frozenset({str(Path(edit.path))})
    path = Path(edit.path)
    paths = sidecar_paths(path) if edit.kind is Kind.SIDECAR else [path]
    return frozenset(str(real_path(path)) for path in paths)


_HALF = {WriteOutcome.WRITTEN, WriteOutcome.NOT_WRITTEN}


def recover_save(
    save: Save, writes: Sequence[Write], state: Path, row_digest: RowDigest
) -> RecoveryVerdict:
    """Recover one save after a crash, and return what became of it.

    Removes temporary files beside a file, and finishes a merge that was interrupted. `writes` are
    all writes of the interrupted step, in order.
    """
    by_name: dict[str, list[Write]] = {}
    for write in writes:
        if save.has_write(write.path):
            by_name.setdefault(write.path, []).append(write)
    verdicts = [
        RecoveryVerdict(_outcome(steps, row_digest(name)))
        if save.is_of_rows
        else _recover_file(Path(name), steps, save.edits, state)
        for name, steps in by_name.items()
    ]
    outcomes = {verdict.outcome for verdict in verdicts} or {WriteOutcome.NOT_WRITTEN}
    if outcomes == _HALF and save.edits[0].kind is Kind.SIDECAR:
        with suppress(MemtuiError):  # one of the two files of the entries: the other follows
            commit(save.edits, NullRecorder(state))
            outcomes = {WriteOutcome.WRITTEN}
    note = next((verdict.note for verdict in verdicts if verdict.note), "")
    return RecoveryVerdict(outcomes.pop() if len(outcomes) == 1 else WriteOutcome.UNSURE, note)


def _recover_file(
    path: Path, writes: Sequence[Write], edits: Sequence[Edit], state: Path
) -> RecoveryVerdict:
    try:
        with locked(path, state):
            data = atomic_replace.read_if_exists(path)
            now = "" if data is None else digest(data)
            outcome = _outcome(writes, now)
            if outcome is WriteOutcome.UNSURE:
                outcome = _outcome_by_edits(path, data, edits)
            displaced = _remove_leftovers(path, writes, now, outcome, state)
    except (SaveError, UnreadableFile):
        return RecoveryVerdict(WriteOutcome.UNSURE)
    merged = [
        merge_displaced(path, edits, backup.read(), NullRecorder(state)) for backup in displaced
    ]
    return RecoveryVerdict(outcome, "" if all(merged) else _KEPT_MESSAGE)


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


def _outcome_by_edits(path: Path, data: bytes | None, edits: Sequence[Edit]) -> WriteOutcome:
    """The outcome where another program has written the file since: what these edits change is
    either as they leave it, or as they found it, or also changed."""
    if any(edit.kind in (Kind.ROW, Kind.FOLDER) for edit in edits):
        return WriteOutcome.UNSURE
    combined: dict[Hashable, Edit] = {}
    for edit in edits:
        combined[edit.target] = replace(combined.get(edit.target, edit), after=edit.after)
    ours = tuple(combined.values())
    written = _is_fixed_point(path, data, ours)
    if written == _is_fixed_point(path, data, invert_edits(ours)):
        return WriteOutcome.UNSURE
    return WriteOutcome.WRITTEN if written else WriteOutcome.NOT_WRITTEN


def _is_fixed_point(path: Path, data: bytes | None, edits: Sequence[Edit]) -> bool:
    try:
        files = [file for file in group_by_file(edits) if file.path == path]
        return all(file.rewrite(data) == data for file in files)
    except MemtuiError:
        return False


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


# ---- writes of others during a save --------------------------------------------------------------


class LateWrite(Struct, frozen=True):
    """A write that went into a backup."""

    backup: backups.Backup
    is_recovered: bool
    """Whether the file now holds it; if not, a person must look at the backup."""


def recover_late_writes(
    path: Path, recorder: WriteRecorder, ours: Sequence[Edit] = ()
) -> list[LateWrite]:
    """Find late writes into backups of this file, and add to it what was added there: lines at the
    end of a text, records or items of which `ours`, memtui's recent edits, say nothing.

    To be called a moment after a save, again after two seconds, and at start. Raises SaveError.
    """
    found = []
    own = [edit for edit in ours if edit.kind in _FILE_KINDS]
    for backup in reversed(backups.find_late_writes(path, recorder.state)):
        data = backup.read()
        if path.suffix == RECORD_FILES or any(edit.kind in _STRUCTURED for edit in own):
            is_recovered = _add_late(real_path(path), decode(data), own, recorder)
        else:
            tail = _appended_part(data, backup.digest)
            is_recovered = tail is not None and _append(real_path(path), decode(tail), recorder)
        if is_recovered:
            renamed = backup.file.name.rpartition("-")[0] + f"-{digest(data)}"
            backup.file.rename(backup.file.with_name(renamed))
        found.append(LateWrite(backup, is_recovered))
    return found


def _add_late(path: Path, late: str, ours: Sequence[Edit], recorder: WriteRecorder) -> bool:
    """Add the records and items that only the late version has; False if more is different.

    What only the file has is newer. A record that differs may be either.
    """
    records = [edit for edit in ours if edit.kind is Kind.RECORD]
    text_kind = next((edit.kind for edit in ours if edit.kind in TEXTS), None)
    try:
        now = decode(atomic_replace.read_if_exists(path) or b"")
        if text_kind in ITEM_TEXTS:
            return _add_late_items(path, now, late, ours, recorder)
        own_keys = {edit.key for edit in records}
        found = diff_records(now, late, [edit.key[:2] for edit in records])
        found = [edit for edit in found if edit.after and edit.key not in own_keys]
        commit([replace(edit, path=str(path)) for edit in found if edit.before is None], recorder)
        return bool(records) and all(
            edit.before is None or is_same_value(edit.before, edit.after) for edit in found
        )
    except (Conflict, UnreadableFile):
        return False


def _add_late_items(
    path: Path, now: str, late: str, ours: Sequence[Edit], recorder: WriteRecorder
) -> bool:
    edits = [edit for edit in ours if edit.kind in ITEM_TEXTS]
    form = edits[0].kind
    if not text_items.is_complete(late, form):
        return False
    own = {item for edit in edits for item in text_items.changed_items(edit)}
    present = text_items.parse(now, form)
    changes = text_items.diff(present, text_items.parse(late, form))
    added = [replace(change, old=None) for change in changes if change.new not in own | {None}]
    merged = text_items.merge(present, added)[0]
    commit([text_edit(str(path), now, merged, form)], recorder)
    return True


def merge_displaced(
    path: Path, edits: Sequence[Edit], displaced: bytes, recorder: WriteRecorder
) -> bool:
    """Merge a version of the file that a killed save had displaced; False where that fails.

    `edits` are those of the save, which are on disk: without them the file is what that save had
    read, and the difference to `displaced` is what the other program did.
    """
    now = atomic_replace.read_if_exists(path)
    ours = [e for e in edits if e.kind in _FILE_KINDS and real_path(Path(e.path)) == path]
    try:
        if now is None or not ours:
            return False
        base = rebase(decode(now), invert_edits(tuple(ours)))
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
    records = [edit for edit in ours if edit.kind is Kind.RECORD]
    if not records:
        if not (base.endswith("\n") and displaced.startswith(base)):
            return None
        return [text_edit(str(path), now, now + displaced[len(base) :])]
    own_keys = {edit.key for edit in records}
    found = diff_records(base, displaced, [edit.key[:2] for edit in records])
    return [replace(edit, path=str(path)) for edit in found if edit.key not in own_keys]


def _appended_part(data: bytes, was: str) -> bytes | None:
    """Return the bytes after the lines whose SHA-256 is `was`; None if no such lines begin it."""
    sha256, end = hashlib.sha256(), 0
    while sha256.hexdigest() != was:
        next_end = data.find(b"\n", end) + 1
        if not next_end:
            return None
        sha256.update(data[end:next_end])
        end = next_end
    return data[end:]


def _append(path: Path, tail: str, recorder: WriteRecorder) -> bool:
    for _ in range(MAX_ATTEMPTS):
        try:
            now = decode(atomic_replace.read_if_exists(path) or b"")
            if not now.endswith("\n"):
                return False
            commit([text_edit(str(path), now, now + tail)], recorder)
            return True
        except Conflict:
            continue
        except UnreadableFile:
            return False
    return False  # another program keeps writing to it: the backup has it
