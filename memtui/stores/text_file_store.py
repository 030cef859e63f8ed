"""Base classes of stores whose shards are text files, one each, read whole."""

from __future__ import annotations

from abc import abstractmethod
from pathlib import Path

from memtui.errors import UnreadableFile
from memtui.files.reading import decode, read_bytes, safe_join
from memtui.stores.base import Reading, Shard, StoreView, Unreadable
from memtui.stores.file_store import FileStore
from memtui.stores.listed_texts import ListContext, ListFile
from memtui.stores.plan_context import AnyContext
from memtui.stores.scanning import as_unreadable
from memtui.stores.sidecar import Sidecar


class TextFileStore(FileStore[AnyContext]):
    """Reads the file of a shard; a format makes memories of its text."""

    empty = ""
    """Why a file without text is listed as unreadable; empty: it is not."""

    @abstractmethod
    def read_text(self, key: str, path: Path, text: str, sidecar: Sidecar) -> Reading:
        """The memories in the text of a shard's file."""

    @property
    def folder(self) -> Path:
        """The root, or where it lies if it is a file; links must not lead out of it."""
        return self.root if self.root.is_dir() else self.root.parent

    def read_files(self, shard: Shard, sidecar: Sidecar) -> Reading:
        path = Path(shard.files[0])
        try:
            text = decode(read_bytes(path, self.folder))
        except UnreadableFile as error:
            return Reading((), (as_unreadable(error, path),))
        if self.empty and not text.strip():
            return Reading((), (Unreadable(str(path), self.empty),))
        return self.read_text(shard.key, path, text, sidecar)

    def text_of(self, path: str) -> str | None:
        """The text of a file, named relative to the root; None if it cannot be read."""
        try:
            return decode(read_bytes(self.root / path, self.root))
        except UnreadableFile:
            return None


class ListedTextStore(TextFileStore[ListContext]):
    """A store whose files are lists of texts; see `memtui.stores.listed_texts`."""

    @abstractmethod
    def open_list(self, key: str, view: StoreView) -> ListFile:
        """The file of a shard as planning changes it."""

    def plan_context(self, view: StoreView) -> ListContext:
        return ListContext(**self.context_fields(view), open_list=self.open_list)

    def file_of(self, path: str) -> Path:
        """The file that a path relative to the root names. Raises Refused if it leads outside."""
        file = self.root
        for name in path.split("/"):
            file = safe_join(file, name)
        return file
