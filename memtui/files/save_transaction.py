"""Save edits to files as one transaction, and merge what other programs write meanwhile.

For each file: lock, read, apply the edits, exchange (`atomic_replace`), merge the displaced version
where another program has written it in between, record. When a later file cannot be saved, those
before it are rolled back.
"""

from __future__ import annotations

import contextlib
import functools
import os
import time
from collections.abc import Callable, Sequence
from pathlib import Path

from msgspec import Struct
from msgspec.structs import replace

from memtui import paths
from memtui.changes import ITEM_TEXTS, JSON_PARTS, Edit, FileDiff, Kind, invert_edits, text_edit
from memtui.errors import Conflict, MemtuiError, Refused, SaveError, UnreadableFile
from memtui.files import atomic_replace, backups, sidecar_lines, text_items
from memtui.files.atomic_replace import PAUSE, SETTLING, read_if_exists
from memtui.files.json.locating import LINES, load
from memtui.files.locking import locked
from memtui.files.merging import Key, diff_records, reapply_edits, rebase
from memtui.files.moved_sidecars import note_store
from memtui.files.permissions import note_replaced, refuse_protected, replacing_protected
from memtui.files.reading import decode, digest, encode, path_within, real_path
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
MAX_UNFINISHED = 500
"""Further times that a file which is gone, or only half written, is read again: two seconds. What
another program has left so by then stays."""
MAX_MERGES = 2000
"""Times that what another program writes meanwhile is merged; each takes some ms."""
LONGEST_MERGING = 60.0
"""Seconds after that time in which it may still be merged."""
MAX_ATTEMPTS = 200
"""Times a save starts again because another program wrote in between (each takes some ms)."""


_BECAME_LINK = "it, or a folder of it, has just become a symbolic link"


CheckText = Callable[[Path, str | None, str | None], None]
"""Raises Refused for a text that must not be written, given the path, the old text and the new."""


class FileSave:
    """The save of one file.

    What it displaces stays beside the file until the save has succeeded, and is discarded only if
    it is what was read, what memtui wrote itself, or merged into the file.
    """

    def __init__(
        self, edits: FileEdits, recorder: WriteRecorder, check: CheckText | None = None
    ) -> None:
        self._edits = edits
        self._check = check
        self._path = edits.path
        self._recorder = recorder
        self._watch_until: float | None = None

    def _begin(self, read: bytes | None) -> None:
        self._read = read
        self._own: list[bytes | None] = []
        """What was put in place of the file; None where it was removed."""
        self._outs: list[Path] = []
        """Temporary names of what was displaced, oldest first."""
        self._displaced: list[tuple[Path, bytes]] = []
        """The same with their contents."""
        self._made_folders: list[Path] = []
        self._may_be_written = False
        """Whether the file may hold something of this save."""

    def run(self) -> None:
        with locked(self._path, self._recorder.state):
            try:
                for _ in range(MAX_ATTEMPTS):
                    with contextlib.suppress(atomic_replace.Stale):
                        return self._save()
                what, do = "another program keeps writing to it", "try again later"
                raise SaveError(what, where=str(self._path), do=do)
            except MemtuiError:
                if not self._may_be_written:
                    self._recorder.failed(str(self._path))
                raise

    def _save(self) -> None:
        if real_path(self._path) != self._path:
            raise Refused(_BECAME_LINK, where=str(self._path), do="nothing was saved")
        self._begin(None)
        old, new = self._edits.read_and_rewrite()
        if new == old:
            return
        protected = refuse_protected([self._path], deletes=new is None)
        if self._check is not None:
            before, after = (None if data is None else decode(data) for data in (old, new))
            self._check(self._path, before, after)
        self._begin(old)
        self._intend(old, new)
        try:
            with atomic_replace.save_errors(self._path):
                if old is None:
                    self._create(new or b"")
                elif new is None:
                    self._outs.append(atomic_replace.remove(self._path, old))
                    self._own.append(None)
                    if self._look(old, lambda _: True) != old:
                        raise atomic_replace.Stale
                else:
                    self._replace(old, new)
        except BaseException as error:
            self._put_back(error)
            raise
        self._back_up()
        if (written := self._own[-1]) is not None:
            backups.note_written(self._path, written, self._recorder.state)
        failpoint("done")
        self._note_time(self._own[-1])
        self._recorder.done(str(self._path))
        if protected is not None:
            note_replaced(protected)

    def _create(self, new: bytes) -> None:
        self._made_folders = atomic_replace.create(self._path, new, self._former_time(new))
        self._own.append(new)
        for folder in [self._path, *self._made_folders]:
            atomic_replace.sync_folder(folder.parent)

    def _replace(self, disk: bytes, new: bytes) -> None:
        """Exchange; when another version than `disk` was displaced, merge it and exchange again.

        The displaced version was made by another program from what was read here, or from
        something older. Its changes are remembered, because its next version may again be made
        from an older one.
        """
        foreign = ForeignChanges(self._edits)
        for _ in range(MAX_MERGES):
            if self._is_watch_over(LONGEST_MERGING):
                break
            try:
                other, now = self._exchange(disk, new), new
            except atomic_replace.Stale:
                if not self._own:  # nothing was written yet: begin anew
                    raise
                other = now = self._read_present()
            if now == new and (other == disk or not self._edits.is_complete(other)):
                later = self._wait_for_stale_write(new) if foreign.found else None
                if later is None:
                    return
                disk, other, now = new, later, later
            if now == other and self._is_watch_over() and foreign.is_whole(disk, other):
                return
            new, disk = self._merge(foreign, disk, other), now
            if new == disk:
                return
            self._intend(disk, new)
        raise SaveError("another program keeps writing to it", where=str(self._path))

    def _exchange(self, disk: bytes, new: bytes) -> bytes:
        """Give the file its new content; returns what it was at that instant."""
        changed = self._former_time(new)
        self._outs.append(atomic_replace.replace(self._path, disk, new, changed))
        self._own.append(new)
        return self._look(disk, self._edits.is_complete)

    def _look(self, expected: bytes, is_complete: Callable[[bytes], bool]) -> bytes:
        self._may_be_written = True
        data = atomic_replace.read_displaced(self._outs[-1], expected, is_complete)
        self._displaced.append((self._outs[-1], data))
        return data

    def _merge(self, foreign: ForeignChanges, disk: bytes, other: bytes) -> bytes:
        """The other version with these edits. Raises Conflict."""
        self._watch_until = self._watch_until or time.monotonic() + WATCH_SECONDS
        version = foreign.merge_version(disk, other)
        return self._edits.without_counters.rewrite(version) or b""

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
        checks = unfinished = 0
        while checks < MAX_CHECKS and unfinished < MAX_UNFINISHED:
            time.sleep(_PAUSE)
            with contextlib.suppress(UnreadableFile):
                now = atomic_replace.read_if_exists(self._path)
                if now is None or not self._edits.is_complete(now):
                    unfinished += 1  # it is being written at this moment
                    continue
                if now != written:
                    return now
            checks += 1
        return None

    def _is_watch_over(self, since: float = 0.0) -> bool:
        """Whether `WATCH_SECONDS` are over since the first merge, for so many seconds."""
        return self._watch_until is not None and time.monotonic() > self._watch_until + since

    def _intend(self, pre: bytes | None, post: bytes | None) -> None:
        failpoint("intent")
        self._note_time(pre)
        marks = ["" if data is None else digest(data) for data in (pre, post)]
        self._recorder.intend(str(self._path), *marks)

    def _note_time(self, content: bytes | None) -> None:
        if content is not None:
            with contextlib.suppress(OSError):  # another program has removed it
                changed = os.stat(self._path).st_mtime_ns
                self._recorder.note_time(str(self._path), digest(content), changed)

    def _former_time(self, content: bytes) -> int | None:
        """The time of the file when it last had this content, where this is undone or redone."""
        return self._recorder.noted_time(str(self._path), digest(content))

    def _back_up(self) -> None:
        """Move what was displaced to the backups. The save has succeeded, so what cannot be moved
        is discarded; but not what another program is still writing, which was not merged."""
        for file, data in self._displaced:
            if self._move_to_backups(file, data) is None and not (
                self._edits.is_complete(data) and atomic_replace.discard_known(file, [data])
            ):
                atomic_replace.keep_beside(self._path, file)

    def _put_back(self, error: BaseException) -> None:
        """After a failure: put the newest version of another program, or what was read, in place.

        If another program has written the file since, that stays. What has no place then is kept,
        and the error names it.
        """
        if not self._own:
            return
        left = [out for out in self._outs if not atomic_replace.discard_known(out, self._own)]
        newest = left.pop() if left else None
        is_back, homeless = atomic_replace.put_back(self._path, newest, self._own)
        kept = [str(self._keep(file)) for file in (*left, homeless) if file is not None]
        self._may_be_written = not is_back or bool(left)
        atomic_replace.remove_empty(self._made_folders)
        if not self._may_be_written:
            return
        advice = "the file is as another program wrote it" if is_back else self._explain_file()
        if kept:
            advice += f"; what it held before is kept in {', '.join(kept)}"
        if not isinstance(error, MemtuiError):
            what, where = "another program wrote at the same moment", str(self._path)
            raise SaveError(what, where=where, do=advice) from error
        error.do = advice

    def _explain_file(self) -> str:
        with contextlib.suppress(UnreadableFile):
            if read_if_exists(self._path) in self._own:
                return "the change could not be taken back"
        return "another program has written the file since"

    def _keep(self, file: Path) -> Path:
        """Keep a version that somebody may miss; returns where.

        Its backup is named as if it had the content that was read, so that it is found like any
        late write (`backups.find_late_writes`).
        """
        kept = self._move_to_backups(file, self._read or b"")
        return kept.file if kept else atomic_replace.keep_beside(self._path, file)

    def _move_to_backups(self, file: Path, data: bytes) -> backups.Backup | None:
        try:
            return backups.move_in(self._path, file, digest(data), self._recorder.state)
        except OSError:
            return None


class ForeignChanges:
    """What another program has changed in a file since it was read, over all its versions."""

    def __init__(self, edits: FileEdits) -> None:
        self._edits = edits
        own = edits.edits
        self._edited = {edit.key for edit in own if edit.kind is Kind.RECORD}
        self._records: dict[Key, Edit] = {}
        self._items: dict[Item, ItemChange] = {}
        self._edited_items = {
            item
            for edit in own
            if edit.kind in ITEM_TEXTS
            for item in text_items.changed_items(edit)
        }
        self._tails: list[bytes] = []

    @property
    def found(self) -> bool:
        return bool(self._records or self._items or self._tails)

    def merge_version(self, disk: bytes, other: bytes) -> bytes:
        """Return its newest version, with the earlier changes that this one lacks."""
        if self._edits.items_kind is None and not self._edits.record_arrays:
            missing = b"".join(tail for tail in self._tails if tail not in other)
            if disk.endswith(b"\n") and other.startswith(disk):
                self._tails.append(other[len(disk) :])
            return other + missing
        if not self._edits.is_complete(other):
            return other
        merge = self._merge_items if self._edits.items_kind else self._merge_records
        return encode(merge(decode(disk), decode(other)))

    def is_whole(self, disk: bytes, other: bytes) -> bool:
        """Whether a version has all that the program wrote before; it may lack these edits."""
        return self.merge_version(disk, other) == other

    def _merge_records(self, disk: str, other: str) -> str:
        for edit in diff_records(disk, other, self._edits.record_arrays):
            # A record that is missing again was not deleted: that version was made without it.
            is_missing_again = edit.after is None and edit.key in self._records
            if edit.key not in self._edited and not is_missing_again:
                self._records[edit.key] = edit
        return reapply_edits(other, list(self._records.values()))

    def _merge_items(self, disk: str, other: str) -> str:
        kind = self._edits.items_kind or Kind.ENTRIES
        with contextlib.suppress(UnreadableFile):
            now = text_items.parse(other, kind)
            for change in text_items.diff(text_items.parse(disk, kind), now):
                # An item that is missing again was not removed: see `_merge_records`.
                is_own = change.old in self._edited_items or change.old in self._items
                old = None if is_own else change.old
                new = None if change.new in self._edited_items else change.new
                if item := new or old:
                    self._items[item] = replace(change, old=old, new=new)
            return text_items.merge(now, self._items.values())[0]
        return other


_REPORT_EVERY = 32
"""Files compared between two reports: a twentieth of a second."""


def preview(
    edits: Sequence[Edit],
    report: Report = silent,
    cancelled: IsCancelled = never,
    *,
    root: Path | None = Path("/"),
) -> list[FileDiff]:
    """Return what `commit` would write to each file. Writes nothing; raises what it would raise,
    unless no `root` is given: then links out of the store are not looked for.

    `report` is called with the files compared; Cancelled is raised when `cancelled` becomes true.
    """
    diffs: list[FileDiff] = []
    files = group_by_file(edits, root)
    for file in stoppable(files, cancelled, _REPORT_EVERY):
        if diffs and len(diffs) % _REPORT_EVERY == 0:
            report(Progress("comparing", len(diffs), len(files)))
        before, after = (None if d is None else decode(d) for d in file.read_and_rewrite())
        diffs.append(FileDiff(str(file.path), before, after))
    return diffs


def commit(
    edits: Sequence[Edit],
    recorder: WriteRecorder,
    check: CheckText | None = None,
    *,
    root: Path | None = None,
) -> None:
    """Apply the edits on disk, file by file in the order the edits first name them.

    Args:
        edits: of files below the root.
        recorder: is told of each write.
        check: is called under the locks with the text of each file before and after.
        root: of the store. No file outside its folder is written, whatever links lead there; None:
            none outside the folder that the edit names.

    Raises Conflict or SaveError (also UnreadableFile or Refused, before anything is written), and
    then no file is changed: those already saved are rolled back.
    """
    failpoint("begin")
    files = group_by_file(edits, root)
    if len(files) > 1:
        diffs = preview(edits, root=root)
        changed = [diff for diff in diffs if diff.before != diff.after]
        for deletes in (False, True):
            some = [Path(diff.path) for diff in changed if (diff.after is None) == deletes]
            refuse_protected(some, deletes=deletes)
    saved: list[FileEdits] = []
    try:
        for file in files:
            FileSave(file, recorder, check).run()
            saved.append(file)
        for noted in {edit.path for edit in edits if edit.kind is Kind.SIDECAR}:
            note_store(Path(noted))
    except MemtuiError as error:
        failed = _roll_back(saved, recorder, root)
        if failed:
            raise SaveError(
                "; ".join(["only a part was saved", *map(str, [error, *failed.values()])]),
                where=", ".join(map(str, failed)),
                do="undo reverts it",
            ) from error
        raise


def _roll_back(
    saved: list[FileEdits], recorder: WriteRecorder, root: Path | None
) -> dict[Path, MemtuiError]:
    """Undo these; returns the files where that failed, and why."""
    failed = {}
    for file in reversed(saved):
        try:
            with replacing_protected():
                for inverted in group_by_file(invert_edits(file.edits), root):
                    FileSave(inverted, recorder).run()
        except MemtuiError as error:
            failed[file.path] = error
    return failed


class FileEdits(Struct, frozen=True):
    """All edits of one file."""

    path: Path
    """The file, with every link resolved: a link within the store is followed, never replaced."""
    edits: tuple[Edit, ...]
    lines: tuple[str, ...] = ()
    """Of a sidecar: lines of its form of version 1 that this file takes over."""
    taken_out: tuple[str, ...] = ()
    """Of a sidecar: lines of that form that are kept elsewhere now."""

    @property
    def record_arrays(self) -> list[tuple[tuple[str, ...], str]]:
        return [edit.key[:2] for edit in self.edits if edit.kind is Kind.RECORD]

    @property
    def items_kind(self) -> Kind | None:
        """The kind of a text that is merged by its items; None for another file."""
        return next((edit.kind for edit in self.edits if edit.kind in ITEM_TEXTS), None)

    @property
    def without_counters(self) -> FileEdits:
        """The edits to merge with another program's version, which has counters of its own."""
        lasting = (edit for edit in self.edits if edit.kind is not Kind.COUNTER)
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
        text = None if data is None else decode(data)
        if self.lines:
            text = sidecar_lines.with_lines(text or "", self.lines)
        if self.taken_out and text is not None:
            text = sidecar_lines.take_out_kept(text, self.taken_out)
        text = rebase(text, self.edits, str(self.path))
        if text is None:
            return None
        new = encode(text)
        if decode(new) != text:
            raise Refused("stray bytes of the text would join to a character", where=str(self.path))
        return new

    def is_complete(self, data: bytes) -> bool:
        """Whether a program has finished writing this file."""
        if self.items_kind:
            return text_items.is_complete(decode(data), self.items_kind)
        if any(edit.kind in JSON_PARTS for edit in self.edits):
            try:
                text = decode(data)
                whole = any(edit.key[0] != LINES for edit in self.edits)
                load(text if whole else text.rstrip().rpartition("\n")[2])
            except UnreadableFile:
                return False
        return True


def group_by_file(edits: Sequence[Edit], root: Path | None = None) -> list[FileEdits]:
    """Group edits by the file they change. Raises Refused for edits of rows and folders, and for a
    file outside the root (see `commit`)."""
    by_path: dict[Path, list[Edit]] = {}

    @functools.cache  # thousands may be of one file
    def resolve(name: str) -> Path:
        path, own = Path(name), paths.data_folder()
        return path_within(path, own if path.is_relative_to(own) else root or path.parent)

    sidecars: dict[str, tuple[FileEdits, ...]] = {}
    taken: dict[Path, FileEdits] = {}
    for edit in edits:
        if edit.kind in (Kind.ROW, Kind.FOLDER):
            raise Refused("a table row or a folder is not saved as a file", where=edit.path)
        if edit.kind is not Kind.SIDECAR:
            by_path.setdefault(resolve(edit.path), []).append(edit)
            continue
        if edit.path not in sidecars:
            sidecars[edit.path] = _open_sidecar(Path(edit.path))
            for file in sidecars[edit.path]:
                taken[file.path] = file
                if file.edits or file.lines or file.taken_out:
                    by_path[file.path] = list(file.edits)
        parts = sidecar_lines.split_edit(edit)
        for file, part in zip(sidecars[edit.path], parts, strict=False):
            if part is not None:
                by_path.setdefault(file.path, []).append(part)
    return [
        replace(taken.get(path, FileEdits(path, ())), edits=tuple(found))
        for path, found in by_path.items()
    ]


def _open_sidecar(root: Path) -> tuple[FileEdits, ...]:
    """The files of a store's sidecar, with what brings one of version 1 to its form of now.

    What is kept is written first, then what a person asked for, and the former file is removed
    last, so that nothing is lost when the power fails in between.
    """
    _check_sidecar(root)
    files = sidecar_lines.sidecar_files(root)
    old = {
        path: decode(read_if_exists(path) or b"")
        for path in (files.former, files.asked)
        if path is not None and path.exists()
    }
    taken = tuple(line for text in old.values() for line in sidecar_lines.lines_to_keep(text))
    kept = FileEdits(real_path(files.kept), (), taken)
    if files.former not in old:
        return kept, FileEdits(real_path(files.asked), (), taken_out=taken)
    former = old[files.former]
    lines = (sidecar_lines.take_out_kept(former, taken) or "").split("\n")
    removed = FileEdits(real_path(files.former), (text_edit(str(files.former), former, None),))
    return kept, FileEdits(real_path(files.asked), (), tuple(lines), taken), removed


def _check_sidecar(root: Path) -> None:
    """Raise Refused when the store is gone, where folders would be made in its place, and when its
    sidecar is a link that leads out of it."""
    if not root.exists():
        raise Refused("the store is gone", where=str(root))
    files = sidecar_lines.sidecar_files(root)
    path_within(files.former or files.asked, root)
