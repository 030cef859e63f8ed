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
from memtui.files.reading import decode, digest, encode, real_path
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
            displaced = _remove_leftovers(path, writes, now, outcome, state)
            if outcome is WriteOutcome.UNSURE:
                outcome = _outcome_by_edits(path, data, edits)
    except (SaveError, UnreadableFile):
        return RecoveryVerdict(WriteOutcome.UNSURE)
    was, recorder = writes[0].pre, NullRecorder(state)
    merged = [merge_displaced(path, edits, each.read(), was, recorder) for each in displaced]
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
            is_ours = content in known or leftover.name.endswith(atomic_replace.UNWRITTEN)
            if not is_ours and outcome is not WriteOutcome.NOT_WRITTEN:
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
    is_structured = path.suffix == RECORD_FILES or any(edit.kind in _STRUCTURED for edit in own)
    for backup in reversed(backups.find_late_writes(path, recorder.state)):
        data = backup.read()
        base = None if is_structured else _lines_with_digest(data, backup.digest)
        is_recovered = False
        with suppress(UnreadableFile):
            is_recovered = _merge_version(real_path(path), decode(data), base, own, recorder)
        if is_recovered:
            renamed = backup.file.name.rpartition("-")[0] + f"-{digest(data)}"
            backup.file.rename(backup.file.with_name(renamed))
        found.append(LateWrite(backup, is_recovered))
    return found


def merge_displaced(
    path: Path, edits: Sequence[Edit], displaced: bytes, was: str, recorder: WriteRecorder
) -> bool:
    """Merge a version of the file that a killed save had displaced; False where that fails.

    Args:
        edits: Of the save, which are on disk: without them the file is what that save had read,
            unless another program has written it since.
        displaced: What another program wrote while the file was saved.
        was: The digest of what the save had read.
    """
    now = atomic_replace.read_if_exists(path)
    ours = [e for e in edits if e.kind in _FILE_KINDS and real_path(Path(e.path)) == path]
    try:
        if now is None or not ours:
            return False
        base = rebase(decode(now), invert_edits(tuple(ours)))
        is_base = base is not None and digest(encode(base)) == was
        if not is_base and any(edit.kind in _STRUCTURED for edit in ours):
            base = None
        return _merge_version(path, decode(displaced), base, ours, recorder)
    except MemtuiError:
        return False


def _merge_version(
    path: Path, version: str, base: str | None, ours: Sequence[Edit], recorder: WriteRecorder
) -> bool:
    """Merge another program's version of a file; False where some of it is not in the file then.

    Args:
        version: Of the file.
        base: What it was made from. None: not known; only records and items that the version adds
            are taken, for what the file alone has is newer, and of a record that differs either
            may be.
        ours: memtui's edits of the file; what they change stays.

    Raises SaveError, UnreadableFile.
    """
    for _ in range(MAX_ATTEMPTS):
        now = atomic_replace.read_if_exists(path)
        if now is None:
            return False
        made, is_whole = _foreign_edits(str(path), decode(now), version, base, ours)
        with suppress(Conflict):  # another program has just written it
            commit(made, recorder)
            return is_whole
    return False


def _foreign_edits(
    path: str, now: str, version: str, base: str | None, ours: Sequence[Edit]
) -> tuple[list[Edit], bool]:
    """What another program changed in its version, as edits of the file as it is now, and whether
    that is all of it. Raises UnreadableFile."""
    kind = next((edit.kind for edit in ours if edit.kind in ITEM_TEXTS), None)
    if kind is not None:
        if not text_items.is_complete(version, kind):
            return [], False
        present = text_items.parse(now, kind)
        former = present if base is None else text_items.parse(base, kind)
        changes = text_items.diff(former, text_items.parse(version, kind))
        if base is None:
            own = {item for edit in ours for item in text_items.changed_items(edit)}
            changes = [replace(each, old=None) for each in changes if each.new not in own | {None}]
        merged, conflicts = text_items.merge(present, changes)
        return [text_edit(path, now, merged, kind)], not conflicts
    records = [edit for edit in ours if edit.kind is Kind.RECORD]
    if not records:
        if base is None or not version.startswith(base) or not _ends_a_line(base, now):
            return [], False
        return [text_edit(path, now, now + version[len(base) :])], True
    own_keys = {edit.key for edit in records}
    found = diff_records(now if base is None else base, version, [each.key[:2] for each in records])
    found = [replace(edit, path=path) for edit in found if edit.key not in own_keys]
    if base is not None:
        return found, True
    is_whole = all(
        None in (edit.before, edit.after) or is_same_value(edit.before, edit.after)
        for edit in found
    )
    return [edit for edit in found if edit.before is None], is_whole


def _ends_a_line(base: str, now: str) -> bool:
    """Whether lines below the base are lines below the text of now too."""
    return (not base or base.endswith("\n")) and now.endswith("\n")


def _lines_with_digest(data: bytes, was: str) -> str | None:
    """The lines with this SHA-256 that a file begins with; None if it begins with no such."""
    sha256, end = hashlib.sha256(), 0
    while sha256.hexdigest() != was:
        next_end = data.find(b"\n", end) + 1
        if not next_end:
            return None
        sha256.update(data[end:next_end])
        end = next_end
    return decode(data[:end])
