"""Save edits to files as one transaction, and merge what other programs write meanwhile.

For each file: lock, read, apply the edits, exchange (`atomic_replace`), merge the displaced version
where another program has written it in between, record. When a later file cannot be saved, those
before it are rolled back.
"""

from __future__ import annotations

import contextlib
import functools
import time
from collections.abc import Callable, Sequence
from pathlib import Path

from memtui.changes import (
    Edit,
    FileDiff,
    RecordEdit,
    RowEdit,
    SidecarEdit,
    TextEdit,
    TreeEdit,
    ValueEdit,
    invert_edits,
)
from memtui.dataclass import dataclass, replace
from memtui.errors import Conflict, MemtuiError, Refused, SaveError, UnreadableFile
from memtui.files import atomic_replace, backups, sidecar_lines, text_items
from memtui.files.atomic_replace import PAUSE, SETTLING, read_if_exists
from memtui.files.json.locating import load
from memtui.files.locking import locked
from memtui.files.merging import FileEdit, Key, diff_records, reapply_edits, rebase, record_key
from memtui.files.reading import decode, digest, encode, real_path
from memtui.files.save_hooks import WriteRecorder, failpoint
from memtui.files.text_items import Item, ItemChange
from memtui.progress import IsCancelled, Progress, Report, never, silent, stoppable

MAX_CHECKS = 60
"""Times a file is read again after a merge (which needs two programs within a millisecond): a
quarter of a second. Counted, not timed: on a busy machine the other program waits for its turn."""
WATCH_SECONDS = 2.0
"""Time from the first merge in which these edits are made again where a program that never stops
writing drops them. What it reverts after that is found by `revert_detection`. What it wrote itself
and has dropped because of the merge is merged even then."""
_PAUSE = 0.004
"""Seconds between two checks."""
MAX_MERGES = 2000
"""Times that what another program writes meanwhile is merged; each takes some ms."""
MAX_ATTEMPTS = 200
"""Times a save starts again because another program wrote in between (each takes some ms)."""


CheckText = Callable[[Path, str | None, str | None], None]
"""Raises Refused for a text that must not be written, given the path, the old text and the new."""


class FileSave:
    """The save of one file."""

    def __init__(
        self, edits: FileEdits, recorder: WriteRecorder, check: CheckText | None = None
    ) -> None:
        self._edits = edits
        self._check = check
        self._path = edits.path
        self._recorder = recorder
        self._watch_until: float | None = None
        self._may_be_written = False
        """Whether the file may hold something of this save."""

    def run(self) -> None:
        with locked(self._path, self._recorder.state):
            try:
                self._save_with_retries()
            except MemtuiError:
                if not self._may_be_written:
                    self._recorder.failed(str(self._path))
                raise

    def _save_with_retries(self) -> None:
        for _ in range(MAX_ATTEMPTS):
            with contextlib.suppress(atomic_replace.Stale):
                return self._save()
        raise SaveError(
            "another program keeps writing to it", where=str(self._path), do="try again later"
        )

    def _save(self) -> None:
        self._may_be_written = False
        old, new = self._edits.read_and_rewrite()
        if new == old:
            return
        if self._check is not None:
            before, after = (None if data is None else decode(data) for data in (old, new))
            self._check(self._path, before, after)
        self._intend(old, new)
        if new is None:
            self._back_up(atomic_replace.remove(self._path, old or b""))
        elif old is None:
            atomic_replace.create(self._path, new)
        else:
            self._replace(old, new)
        self._done()

    def _replace(self, disk: bytes, new_bytes: bytes) -> None:
        """Exchange; when another version than `disk` was displaced, merge it and exchange again.

        The displaced version was made by another program from what was read here, or from
        something older. Its changes are remembered, because its next version may again be made
        from an older one.
        """
        foreign, backup, placed = ForeignChanges(self._edits), None, False
        failure: Conflict | None = None
        for _ in range(MAX_MERGES):
            displaced: atomic_replace.Displaced | None = None
            try:
                displaced = atomic_replace.replace(
                    self._path,
                    disk,
                    new_bytes,
                    self._edits.is_complete,
                    accept_owner=self._recorder.accepts_owner(self._path),
                )
                other, now = displaced.data, new_bytes
            except atomic_replace.Stale:
                if not placed:  # nothing was written yet: begin anew
                    raise
                other = now = self._read_present()
            except SaveError:
                self._restore_foreign(backup)
                raise
            placed = self._may_be_written = True
            if displaced is not None and (other == disk or not self._edits.is_complete(other)):
                self._back_up(displaced)
                later, displaced = (
                    self._wait_for_stale_write(new_bytes) if foreign.found else None,
                    None,
                )
                if later is None:
                    break
                disk, other, now = new_bytes, later, later
            if now == other and self._is_watch_over and foreign.is_whole(disk, other):
                break
            try:
                new_bytes, failure = self._merge(foreign, disk, other, new_bytes)
                disk = now
                if new_bytes != disk:
                    self._intend(disk, new_bytes)
            except MemtuiError:
                self._restore_foreign(self._back_up(displaced) if displaced else backup)
                raise
            if displaced is not None:  # not before the intent to merge it is written down
                backup = self._back_up(displaced)
            if new_bytes == disk:
                break
        else:
            raise SaveError("another program keeps writing to it", where=str(self._path))
        if failure is not None:  # and the other program's version is in its place again
            self._may_be_written = False
            raise failure

    def _merge(
        self, foreign: ForeignChanges, disk: bytes, other: bytes, written: bytes
    ) -> tuple[bytes, Conflict | None]:
        """The other version with these edits; without them, and why, when they conflict."""
        self._watch_until = self._watch_until or time.monotonic() + WATCH_SECONDS
        tail = foreign.appended_lines(disk, other)
        if tail is not None:
            return written + tail, None
        base = foreign.merge_version(disk, other)
        try:
            return self._edits.without_book_keeping.rewrite(base) or b"", None
        except Conflict as conflict:
            return base, conflict

    def _read_present(self) -> bytes:
        data = self._edits.read()
        if data is None:
            raise Conflict("the file is gone", where=str(self._path))
        return data

    def _wait_for_stale_write(self, written: bytes) -> bytes | None:
        """Return what a program writes shortly after a merge; None when it writes nothing.

        For a moment the file lacked what had just been displaced. A program that has read it in
        that moment writes back what it read, without its own former change.
        """
        checks = 0
        while checks < MAX_CHECKS:
            time.sleep(_PAUSE)
            with contextlib.suppress(UnreadableFile):
                now = atomic_replace.read_if_exists(self._path)
                if now is None or not self._edits.is_complete(now):
                    continue  # it is being written at this moment: not counted
                if now != written:
                    return now
            checks += 1
        return None

    @property
    def _is_watch_over(self) -> bool:
        return self._watch_until is not None and time.monotonic() > self._watch_until

    def _intend(self, pre: bytes | None, post: bytes | None) -> None:
        failpoint("intent")
        marks = ["" if data is None else digest(data) for data in (pre, post)]
        self._recorder.intend(str(self._path), *marks)

    def _done(self) -> None:
        failpoint("done")
        self._recorder.done(str(self._path))

    def _back_up(self, displaced: atomic_replace.Displaced) -> backups.Backup | None:
        """Move the displaced file to the backups. The save has succeeded: a failure is ignored."""
        try:
            return backups.move_in(
                self._path, displaced.file, digest(displaced.data), self._recorder.state
            )
        except OSError:
            atomic_replace.discard(displaced.file)
            return None

    def _restore_foreign(self, backup: backups.Backup | None) -> None:
        """After a merge that failed: put the other program's version in its place again."""
        if backup is not None:
            with contextlib.suppress(OSError):
                with contextlib.suppress(PermissionError):  # another's file has its mode still
                    backup.file.chmod(self._path.stat().st_mode & 0o7777)
                atomic_replace.exchange(backup.file, self._path)
                backup.file.unlink()


class ForeignChanges:
    """What another program has changed in a file since it was read, over all its versions."""

    def __init__(self, edits: FileEdits) -> None:
        self._edits = edits
        self._edited = {record_key(edit) for edit in edits.edits if isinstance(edit, RecordEdit)}
        self._records: dict[Key, RecordEdit] = {}
        self._items: dict[Item, ItemChange] = {}
        self._edited_items = {
            item
            for edit in edits.edits
            if isinstance(edit, TextEdit) and edit.items
            for item in text_items.changed_items(edit)
        }
        self._tails: list[bytes] = []

    @property
    def found(self) -> bool:
        return bool(self._records or self._items or self._tails)

    def appended_lines(self, disk: bytes, other: bytes) -> bytes | None:
        """Return the lines it appended to a text; None if it did anything else."""
        if self._edits.record_arrays or self._edits.items_form:
            return None
        if not other.startswith(disk) or not disk.endswith(b"\n"):
            return None
        self._tails.append(other[len(disk) :])
        return self._tails[-1]

    def merge_version(self, disk: bytes, other: bytes) -> bytes:
        """Return its newest version, with the earlier changes that this one lacks."""
        if self._edits.items_form:
            return self._merge_items(disk, other)
        if not self._edits.record_arrays:
            return other + b"".join(tail for tail in self._tails if tail not in other)
        if not self._edits.is_complete(other):
            return other
        for edit in diff_records(decode(disk), decode(other), self._edits.record_arrays):
            key = record_key(edit)
            # A record that is missing again was not deleted: that version was made without it.
            if key not in self._edited and (edit.after is not None or key not in self._records):
                self._records[key] = edit
        return encode(reapply_edits(decode(other), list(self._records.values())))

    def is_whole(self, disk: bytes, other: bytes) -> bool:
        """Whether a version has all that the program wrote before; it may lack these edits."""
        return self.merge_version(disk, other) == other

    def _merge_items(self, disk: bytes, other: bytes) -> bytes:
        form = self._edits.items_form
        if not self._edits.is_complete(other):
            return other
        with contextlib.suppress(UnreadableFile):
            now = text_items.parse(decode(other), form)
            for change in text_items.diff(text_items.parse(decode(disk), form), now):
                # An item that is missing again was not removed: see `merge_version`.
                is_own = change.old in self._edited_items or change.old in self._items
                old = None if is_own else change.old
                new = None if change.new in self._edited_items else change.new
                if item := new or old:
                    self._items[item] = replace(change, old=old, new=new)
            return encode(text_items.merge(now, self._items.values())[0])
        return other


_REPORT_EVERY = 32
"""Files compared between two reports: a twentieth of a second."""


def preview(
    edits: Sequence[Edit], report: Report = silent, cancelled: IsCancelled = never
) -> list[FileDiff]:
    """Return what `commit` would write to each file. Writes nothing; raises what it would raise.

    `report` is called with the files compared; Cancelled is raised when `cancelled` becomes true.
    """
    diffs: list[FileDiff] = []
    files = group_by_file(edits)
    for file in stoppable(files, cancelled, _REPORT_EVERY):
        if diffs and len(diffs) % _REPORT_EVERY == 0:
            report(Progress("comparing", len(diffs), len(files)))
        before, after = (None if d is None else decode(d) for d in file.read_and_rewrite())
        diffs.append(FileDiff(str(file.path), before, after))
    return diffs


def commit(edits: Sequence[Edit], recorder: WriteRecorder, check: CheckText | None = None) -> None:
    """Apply the edits on disk, file by file in the order the edits first name them.

    `check` is called under the locks with the text of each file before and after.

    Raises Conflict or SaveError (also UnreadableFile or Refused, before anything is written), and
    then no file is changed: those already saved are rolled back.
    """
    failpoint("begin")
    files = group_by_file(edits)
    if len(files) > 1:
        preview(edits)
    saved: list[FileEdits] = []
    try:
        for file in files:
            FileSave(file, recorder, check).run()
            saved.append(file)
    except MemtuiError as error:
        failed = _roll_back(saved, recorder)
        if failed:
            raise SaveError(
                f"only a part was saved: {error}", where=", ".join(failed), do="undo reverts it"
            ) from error
        raise


def _roll_back(saved: list[FileEdits], recorder: WriteRecorder) -> list[str]:
    """Undo these; returns the paths where that failed."""
    failed = []
    for file in reversed(saved):
        try:
            for inverted in group_by_file(invert_edits(file.edits)):
                FileSave(inverted, recorder).run()
        except MemtuiError:
            failed.append(str(file.path))
    return failed


@dataclass(frozen=True, slots=True)
class FileEdits:
    """All edits of one file."""

    path: Path
    """The file, with every link resolved: a link is followed, never replaced."""
    edits: tuple[FileEdit | SidecarEdit, ...]

    @property
    def record_arrays(self) -> list[tuple[tuple[str, ...], str]]:
        return [(e.array, e.id_key) for e in self.edits if isinstance(e, RecordEdit)]

    @property
    def items_form(self) -> str:
        """The form of a text that is merged by its items; "" for another file."""
        return next((e.items for e in self.edits if isinstance(e, TextEdit)), "")

    @property
    def without_book_keeping(self) -> FileEdits:
        """The edits to merge with another program's version, which has its own book-keeping."""
        lasting = (e for e in self.edits if not (isinstance(e, ValueEdit) and e.book_keeping))
        return replace(self, edits=tuple(lasting))

    def read(self) -> bytes | None:
        """Return the file's content, after a short wait for a program that is just writing it."""
        expected = any(edit.before is not None for edit in self.edits)
        until = time.monotonic() + SETTLING
        while True:
            data = read_if_exists(self.path)
            done = self.is_complete(data) if data is not None else not expected
            if done or time.monotonic() > until:
                return data
            time.sleep(PAUSE)

    def read_and_rewrite(self) -> tuple[bytes | None, bytes | None]:
        """Return the content of the file before and after the edits (None: no file)."""
        try:
            old = read_if_exists(self.path)
            return old, self.rewrite(old)
        except (UnreadableFile, Conflict):  # it may be caught just being emptied or made anew
            old = self.read()
            return old, self.rewrite(old)

    def rewrite(self, data: bytes | None) -> bytes | None:
        """Return the file's bytes with the edits made."""
        text = self._rewrite_text(None if data is None else decode(data))
        if text is None:
            return None
        new = encode(text)
        if decode(new) != text:
            raise Refused("stray bytes of the text would join to a character", where=str(self.path))
        return new

    def _rewrite_text(self, text: str | None) -> str | None:
        notes = [edit for edit in self.edits if isinstance(edit, SidecarEdit)]
        if notes:
            text = sidecar_lines.write_entries(text, notes, where=str(self.path))
        others = [edit for edit in self.edits if not isinstance(edit, SidecarEdit)]
        return rebase(text, others, where=str(self.path))

    def is_complete(self, data: bytes) -> bool:
        """Whether a program has finished writing this file."""
        if self.items_form:
            return text_items.is_complete(decode(data), self.items_form)
        if any(isinstance(edit, RecordEdit | ValueEdit) for edit in self.edits):
            try:
                load(decode(data))
            except UnreadableFile:
                return False
        return True


def group_by_file(edits: Sequence[Edit]) -> list[FileEdits]:
    """Group edits by the file they change. Raises Refused for edits of rows and folders."""
    by_path: dict[Path, list[FileEdit | SidecarEdit]] = {}
    resolve = functools.cache(lambda path: real_path(Path(path)))  # thousands may be of one file
    sidecar_of = functools.cache(lambda root: real_path(_sidecar_file(Path(root))))
    for edit in edits:
        if isinstance(edit, RowEdit | TreeEdit):
            raise Refused("a table row or a folder is not saved as a file", where=edit.path)
        path = sidecar_of(edit.root) if isinstance(edit, SidecarEdit) else resolve(edit.path)
        by_path.setdefault(path, []).append(edit)
    return [FileEdits(path, tuple(found)) for path, found in by_path.items()]


def _sidecar_file(root: Path) -> Path:
    """The store's sidecar file. Raises Refused when the store is gone, where folders would be made
    in its place, and when a link leads out of it."""
    if not root.exists():
        raise Refused("the store is gone", where=str(root))
    path = sidecar_lines.sidecar_path(root)
    home = root if root.is_dir() else root.parent
    if not real_path(path).is_relative_to(real_path(home)):
        raise Refused("it is a symbolic link to a place outside the store", where=str(path))
    return path
