"""Gemini CLI's memory as a store: every file is a shard."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from datetime import datetime
from pathlib import Path

from memtui.errors import Refused
from memtui.files.reading import file_stamp
from memtui.stores.base import LoadedText, Reading, StoreView, Unreadable
from memtui.stores.file_store import ListedTextStore
from memtui.stores.format import FormatSupport, TransferSupport
from memtui.stores.gemini import GLOBAL, editing, entity_of, is_note, is_patch, memory_files
from memtui.stores.gemini.editing import convert
from memtui.stores.gemini.records import item_memories, patch_memory
from memtui.stores.markdown.items import MarkdownList, parse_item_file
from memtui.stores.scanning import IS_EMPTY, FoundShard, planned_text
from memtui.stores.sidecar import Sidecar


class GeminiStore(ListedTextStore):
    """One settings folder."""

    format = "gemini"
    acts = editing.ACTS
    empty = IS_EMPTY
    rescans = True  # the name of a patch depends on what is there already

    def open_list(self, key: str, view: StoreView) -> MarkdownList:
        file = self.file_of(key)
        text = planned_text(file, self.root, view)
        return MarkdownList(key, file, text, self.sidecar.current())

    def find_shards(self) -> Iterator[FoundShard | Unreadable]:
        faults: list[Unreadable] = []
        paths = list(memory_files(self.root, faults))
        known = [str(self.root / path) for path in paths if is_note(path)]
        for path in paths:
            file = str(self.root / path)
            yield FoundShard(path, (file,), file_stamp([file, *known]) if is_patch(path) else "")
        yield from faults

    def read_text(self, key: str, path: Path, text: str, sidecar: Sidecar) -> Reading:
        if is_patch(key):
            try:
                return Reading((patch_memory(key, path, text, self.root, self.label),))
            except Refused as error:
                return Reading((), (Unreadable(str(path), f"it cannot be offered: {error}"),))
        parsed = parse_item_file(key, path, text, sidecar)
        return Reading(tuple(item_memories(parsed, sidecar, self.label)))

    def session_start(self, view: StoreView, entity: str, now: datetime) -> Sequence[LoadedText]:  # noqa: ARG002
        """GEMINI.md, and the private notes of this project or of all."""
        texts = []
        for path in memory_files(self.root, []):
            if is_patch(path) or (path != GLOBAL and entity not in ("", entity_of(path))):
                continue
            text = self.text_of(path)
            if text is None:
                continue
            note = "every session" if path == GLOBAL else "sessions of this project"
            texts.append(LoadedText(path, text, str(self.root / path), note=f"given to {note}"))
        return tuple(texts)


SUPPORT = FormatSupport(
    GeminiStore,
    transfer=TransferSupport(convert=convert),
)
