"""The edits of one file: read the file and apply them to its content."""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from memtui.changes import Edit, RecordEdit, RowEdit, SidecarEdit, TreeEdit, ValueEdit
from memtui.errors import Conflict, Refused, UnreadableFile
from memtui.files import sidecar_lines
from memtui.files.atomic_replace import PAUSE, SETTLING, read_if_exists
from memtui.files.json import editing as spans
from memtui.files.merging import FileEdit, rebase
from memtui.files.reading import decode, encode, real_path


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
            text = sidecar_lines.append_entries(text, notes, where=str(self.path))
        others = [edit for edit in self.edits if not isinstance(edit, SidecarEdit)]
        return rebase(text, others, where=str(self.path))

    def is_complete(self, data: bytes) -> bool:
        """Whether a program has finished writing this file."""
        if any(isinstance(edit, RecordEdit | ValueEdit) for edit in self.edits):
            try:
                spans.load(decode(data))
            except UnreadableFile:
                return False
        return True


def group_by_file(edits: Sequence[Edit]) -> list[FileEdits]:
    """Group edits by the file they change. Raises Refused for edits of rows and folders."""
    by_path: dict[Path, list[FileEdit | SidecarEdit]] = {}
    for edit in edits:
        if isinstance(edit, RowEdit | TreeEdit):
            raise Refused("a table row or a folder is not saved as a file", where=edit.path)
        path = _sidecar_file(edit) if isinstance(edit, SidecarEdit) else Path(edit.path)
        by_path.setdefault(real_path(path), []).append(edit)
    return [FileEdits(path, tuple(found)) for path, found in by_path.items()]


def _sidecar_file(edit: SidecarEdit) -> Path:
    """The store's sidecar file. Raises Refused when a link leads out of the store."""
    root = Path(edit.root)
    path = sidecar_lines.sidecar_path(root)
    home = root if root.is_dir() else root.parent
    if not real_path(path).is_relative_to(real_path(home)):
        raise Refused("it is a symbolic link to a place outside the store", where=str(path))
    return path
