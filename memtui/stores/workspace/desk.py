"""A document as its file holds it now: what planning a change starts from."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import datetime
from pathlib import Path

from memtui.changes import TextEdit
from memtui.errors import Refused, UnreadableFile
from memtui.files.reading import decode, read_bytes
from memtui.model import Memory
from memtui.stores.sidecar import Sidecar
from memtui.stores.sidecar_acts import Beside
from memtui.stores.workspace.documents import Document, take_apart
from memtui.stores.workspace.remembered import Parsed
from memtui.stores.workspace.type_map import TypeMap


@dataclass(frozen=True, slots=True)
class Desk:
    """What planning needs of the workspace."""

    root: Path
    label: str
    sidecar: Sidecar
    types: Parsed[TypeMap]
    map_path: Path
    now: Callable[[], datetime]

    def beside(self, memory: Memory) -> Beside:
        """The document's entry in the sidecar."""
        return Beside(memory, self.root, self.sidecar, memory.id)

    def open(self, memory: Memory) -> Page:
        """The document's file. Raises Refused when it cannot be read: then it is not written."""
        path = Path(memory.origin.file)
        try:
            text = decode(read_bytes(path, self.root))
        except UnreadableFile as error:
            raise Refused(
                f"the file cannot be read, so it is not written: {error.what}", where=str(path)
            ) from None
        return Page(memory, text, take_apart(memory.id, str(path), text, None))


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
