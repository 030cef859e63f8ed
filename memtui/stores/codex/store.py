"""Codex's memories as a store: every file is a shard."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from datetime import datetime
from pathlib import Path

from memtui.files.reading import file_stamp
from memtui.stores.base import LoadedText, Reading, StoreView, Unreadable
from memtui.stores.codex import MEMORY, SUMMARY, editing, is_note, memory_files
from memtui.stores.codex.editing import convert
from memtui.stores.codex.records import FIRST_LINE, file_memory, item_memories
from memtui.stores.file_store import TextFileStore
from memtui.stores.format import FormatSupport, TransferSupport
from memtui.stores.markdown.documents import parse_document, time_of_change
from memtui.stores.markdown.items import parse_item_file
from memtui.stores.plans import PlanContext
from memtui.stores.scanning import IS_EMPTY, FoundShard
from memtui.stores.sidecar import Sidecar


class CodexStore(TextFileStore[PlanContext]):
    """One folder of memories."""

    format = "codex"
    acts = editing.ACTS
    empty = IS_EMPTY
    rescans = True  # a note is pending until MEMORY.md is newer

    def find_shards(self) -> Iterator[FoundShard | Unreadable]:
        faults: list[Unreadable] = []
        for path in memory_files(self.root, faults):
            file = str(self.root / path)
            mark = file_stamp([file, self.root / MEMORY]) if is_note(path) else ""
            yield FoundShard(path, (file,), mark)
        yield from faults

    def read_text(self, key: str, path: Path, text: str, sidecar: Sidecar) -> Reading:
        if key in (SUMMARY, MEMORY):
            parsed = parse_item_file(key, path, text, sidecar)
            return Reading(tuple(item_memories(parsed, sidecar, self.label)))
        document = parse_document(key, str(path), text, time_of_change(path))
        pending = self._is_pending(path)
        return Reading((file_memory(document, sidecar, self.label, pending=pending),))

    def _is_pending(self, note: Path) -> bool:
        try:
            return os.stat(note).st_mtime >= os.stat(self.root / MEMORY).st_mtime
        except OSError:
            return True

    def session_start(self, view: StoreView, entity: str, now: datetime) -> Sequence[LoadedText]:  # noqa: ARG002
        """The summary, which every prompt holds."""
        text = self.text_of(SUMMARY)
        if text is None or text.partition("\n")[0].rstrip() != FIRST_LINE:
            return ()
        note = "in every prompt; the other files are looked up when a task needs them"
        return (LoadedText(SUMMARY, text, str(self.root / SUMMARY), note=note),)


SUPPORT = FormatSupport(
    CodexStore,
    transfer=TransferSupport(
        belongings=("raw_memories.md",),
        convert=convert,
    ),
)
