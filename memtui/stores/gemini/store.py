"""Gemini CLI's memory as a store: every file is a shard."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from datetime import datetime
from pathlib import Path

from memtui.errors import Refused, UnreadableFile
from memtui.files.reading import decode, file_stamp, read_bytes, safe_join
from memtui.stores.base import Reading, Shard, StoreView, Unreadable
from memtui.stores.file_store import FileStore
from memtui.stores.gemini import editing
from memtui.stores.gemini.layout import GLOBAL, entity_of, is_note, is_patch, memory_files
from memtui.stores.gemini.records import as_unfit, item_memories, patch_memory
from memtui.stores.listed_texts import ListContext
from memtui.stores.markdown_documents import planned_text
from memtui.stores.markdown_lists import EMPTY, MarkdownList, parse_item_file
from memtui.stores.scanning import FoundShard, as_unreadable
from memtui.stores.session_start import LoadedText
from memtui.stores.sidecar import Sidecar


class GeminiStore(FileStore[ListContext]):
    """One settings folder."""

    format = "gemini"
    acts = editing.ACTS

    def plan_context(self, view: StoreView) -> ListContext:
        return ListContext(**self.context_fields(view), open_list=self._open)

    def _open(self, path: str, view: StoreView) -> MarkdownList:
        file = self.root
        for name in path.split("/"):
            file = safe_join(file, name)
        text = planned_text(file, self.root, view)
        return MarkdownList(path, file, text, self.sidecar.current())

    def found(self) -> Iterator[FoundShard | Unreadable]:
        faults: list[Unreadable] = []
        paths = list(memory_files(self.root, faults))
        known = [str(self.root / path) for path in paths if is_note(path)]
        for path in paths:
            file = str(self.root / path)
            yield FoundShard(path, (file,), file_stamp([file, *known]) if is_patch(path) else "")
        yield from faults

    def look_again(self, shards: Sequence[Shard]) -> Sequence[Shard]:
        """As a scan has them: the name of a patch depends on what is there already."""
        keys = {shard.key for shard in shards}
        return [shard for shard in self.scan().shards if shard.key in keys]

    def read_files(self, shard: Shard, sidecar: Sidecar) -> Reading:
        path = Path(shard.files[0])
        try:
            text = decode(read_bytes(path, self.root))
        except UnreadableFile as error:
            return Reading((), (as_unreadable(error, path),))
        if not text.strip():
            return Reading((), (Unreadable(str(path), EMPTY),))
        if is_patch(shard.key):
            try:
                return Reading((patch_memory(shard.key, path, text, self.root, self.label),))
            except Refused as error:
                return Reading((), (Unreadable(str(path), as_unfit(error)),))
        parsed = parse_item_file(shard.key, path, text, sidecar)
        return Reading(tuple(item_memories(parsed, sidecar, self.label)))

    def session_start(
        self,
        view: StoreView,  # noqa: ARG002
        entity: str,
        now: datetime,  # noqa: ARG002
    ) -> Sequence[LoadedText]:
        """GEMINI.md, and the private notes of this project or of all."""
        texts = []
        for path in memory_files(self.root, []):
            if is_patch(path) or (path != GLOBAL and entity not in ("", entity_of(path))):
                continue
            try:
                text = decode(read_bytes(self.root / path, self.root))
            except UnreadableFile:
                continue
            note = "every session" if path == GLOBAL else "sessions of this project"
            texts.append(LoadedText(path, text, str(self.root / path), note=f"given to {note}"))
        return tuple(texts)
