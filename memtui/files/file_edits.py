"""All edits of one file together: how to read it, and what they make of it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from memtui.changes import Edit, RecordEdit, RowEdit, SidecarEdit, TreeEdit, ValueEdit
from memtui.errors import Conflict, Refused, UnreadableFile
from memtui.files import atomic_replace, sidecar_lines
from memtui.files.json import editing as spans
from memtui.files.merging import FileEdit, rebase
from memtui.files.reading import decode, encode, real


@dataclass(frozen=True, slots=True)
class FileEdits:
    """All edits of one file."""

    path: Path
    """With every link resolved: a link is followed, never replaced."""
    edits: tuple[FileEdit | SidecarEdit, ...]

    @property
    def lists(self) -> list[tuple[tuple[str, ...], str]]:
        return [(e.array, e.id_key) for e in self.edits if isinstance(e, RecordEdit)]

    @property
    def lasting(self) -> FileEdits:
        """Without the book-keeping: what another program has written of it meanwhile stands."""
        kept = (e for e in self.edits if not (isinstance(e, ValueEdit) and e.book_keeping))
        return replace(self, edits=tuple(kept))

    def read(self) -> bytes | None:
        expected = any(edit.before is not None for edit in self.edits)
        return atomic_replace.read_settled(self.path, self.whole, expected=expected)

    def read_and_rewrite(self) -> tuple[bytes | None, bytes | None]:
        """What the file holds and what it shall hold."""
        try:
            old = atomic_replace.read_now(self.path)
            return old, self.rewritten(old)
        except (UnreadableFile, Conflict):  # it may be caught just being emptied or made anew
            old = self.read()
            return old, self.rewritten(old)

    def rewritten(self, data: bytes | None) -> bytes | None:
        """The file's bytes with the edits made."""
        text = self.rewrite(None if data is None else decode(data))
        if text is None:
            return None
        new = encode(text)
        if decode(new) != text:
            raise Refused("stray bytes of the text would join to a character", where=str(self.path))
        return new

    def rewrite(self, text: str | None) -> str | None:
        notes = [edit for edit in self.edits if isinstance(edit, SidecarEdit)]
        if notes:
            text = sidecar_lines.added(text, notes, where=str(self.path))
        others = [edit for edit in self.edits if not isinstance(edit, SidecarEdit)]
        return rebase(text, others, where=str(self.path))

    def whole(self, data: bytes) -> bool:
        """Whether a program has finished writing this file."""
        if any(isinstance(edit, RecordEdit | ValueEdit) for edit in self.edits):
            try:
                spans.load(decode(data))
            except UnreadableFile:
                return False
        return True


def file_edits_of(edits: Sequence[Edit]) -> list[FileEdits]:
    by_path: dict[Path, list[FileEdit | SidecarEdit]] = {}
    for edit in edits:
        if isinstance(edit, RowEdit | TreeEdit):
            raise Refused("a table row or a folder is not saved as a file", where=edit.path)
        path = _sidecar(edit) if isinstance(edit, SidecarEdit) else Path(edit.path)
        by_path.setdefault(real(path), []).append(edit)
    return [FileEdits(path, tuple(found)) for path, found in by_path.items()]


def _sidecar(edit: SidecarEdit) -> Path:
    """The file of memtui's own notes. Raises Refused when a link takes it out of the store."""
    root = Path(edit.root)
    path = sidecar_lines.sidecar_path(root)
    home = root if root.is_dir() else root.parent
    if not real(path).is_relative_to(real(home)):
        raise Refused("it is a symbolic link to a place outside the store", where=str(path))
    return path
