"""A document as its file holds it now: what planning a change starts from."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path

from memtui.changes import TextEdit
from memtui.errors import UnreadableFile
from memtui.files.reading import decode, read_bytes
from memtui.model import Memory
from memtui.stores.desk import Desk
from memtui.stores.unread import as_refused
from memtui.stores.workspace.documents import Document, take_apart
from memtui.stores.workspace.remembered import Parsed
from memtui.stores.workspace.type_map import TypeMap


@dataclass(frozen=True, slots=True)
class PageDesk(Desk):
    """One workspace, while one change is planned."""

    types: Parsed[TypeMap] = field(repr=False)
    map_path: Path

    def text(self, path: Path) -> str:
        """A file's whole text. Raises Refused when it cannot be read: then it is not written."""
        try:
            return decode(read_bytes(path, self.root))
        except UnreadableFile as error:
            raise as_refused(error, path) from None

    def open(self, memory: Memory) -> Page:
        """The document's file. Raises Refused."""
        path = memory.origin.file
        text = self.text(Path(path))
        return Page(memory, text, take_apart(memory.id, path, text, None))


@dataclass(frozen=True, slots=True)
class Page:
    """One file, its text and what the text says."""

    memory: Memory
    text: str = field(repr=False)
    document: Document

    def written(self, text: str | None) -> tuple[TextEdit, ...]:
        """The edit that makes the file this text (None: no file); none when it is so already."""
        if text == self.text:
            return ()
        return (TextEdit(self.document.file, self.text, text),)

    def again(self, text: str) -> Page:
        """The same file with a text that is not written yet."""
        return Page(self.memory, text, take_apart(self.memory.id, self.document.file, text, None))
