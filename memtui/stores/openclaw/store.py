"""An OpenClaw workspace as a store: every file is a shard."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from datetime import datetime, timedelta
from pathlib import Path

from memtui.stores.base import (
    NO_LIMIT,
    LimitUse,
    LoadedEntry,
    LoadedText,
    LoadLimit,
    Reading,
    StoreView,
    Unreadable,
    limit_uses,
)
from memtui.stores.file_store import ListedTextStore
from memtui.stores.format import FormatSupport, TransferSupport
from memtui.stores.markdown.documents import parse_document, time_of_change
from memtui.stores.markdown.items import MarkdownList, parse_item_file
from memtui.stores.openclaw import (
    FOLDER,
    NOT_GIVEN,
    NOTES,
    daily_files,
    day_of,
    editing,
    memory_name,
    notes,
)
from memtui.stores.openclaw.editing import convert
from memtui.stores.openclaw.records import BOOTSTRAP_CHARACTERS, item_memories, note_memory
from memtui.stores.scanning import IS_EMPTY, FoundShard, planned_text
from memtui.stores.sidecar import Sidecar

LIMIT = LoadLimit(
    characters=BOOTSTRAP_CHARACTERS, source="OpenClaw: 12,000 characters of a bootstrap file"
)


class OpenClawStore(ListedTextStore):
    """One workspace."""

    format = "openclaw"
    acts = editing.ACTS

    def open_list(self, key: str, view: StoreView) -> MarkdownList:
        file = self.file_of(key)
        text = planned_text(file, self.root, view)
        title = f"# {day_of(key)}" if day_of(key) else "# Memory"
        return MarkdownList(key, file, text, self.sidecar.current(), title)

    def find_shards(self) -> Iterator[FoundShard | Unreadable]:
        faults: list[Unreadable] = []
        name = memory_name(self.root)
        curated = [name] if os.path.lexists(self.root / name) else []
        for path in (*curated, *daily_files(self.root, faults), *notes(self.root)):
            yield FoundShard(path, (str(self.root / path),))
        yield from faults

    def read_text(self, key: str, path: Path, text: str, sidecar: Sidecar) -> Reading:
        if key in NOTES:
            document = parse_document(key, str(path), text, time_of_change(path))
            return Reading((note_memory(document, self.label),) if text.strip() else ())
        if not text:
            return Reading((), (Unreadable(str(path), IS_EMPTY),))
        parsed = parse_item_file(key, path, text, sidecar)
        return Reading(tuple(item_memories(parsed, sidecar, self.label)))

    def session_start(self, view: StoreView, entity: str, now: datetime) -> Sequence[LoadedText]:  # noqa: ARG002
        """The bootstrap files up to their cap, then the logs of yesterday and today."""
        days = [(now - timedelta(days=back)).date().isoformat() for back in (1, 0)]
        logs = [path for path in daily_files(self.root, []) if day_of(path) in days]
        loaded_names = [name for name in notes(self.root) if name not in NOT_GIVEN]
        texts = []
        for path in (*loaded_names, memory_name(self.root), *logs):
            text = self.text_of(path)
            if text is None:
                continue
            is_log = path.startswith(f"{FOLDER}/")
            note = "today's and yesterday's logs are read" if is_log else "a bootstrap file"
            limit = NO_LIMIT if is_log else LIMIT
            entries = tuple(self._entries(path, text, view))
            texts.append(
                LoadedText(path, text, str(self.root / path), limit, entries=entries, note=note)
            )
        return texts

    def limit_uses(self, view: StoreView, now: datetime) -> Sequence[LimitUse]:
        """How much of its limit each bootstrap file uses."""
        return limit_uses(self.label, self.session_start(view, "", now))

    def _entries(self, path: str, text: str, view: StoreView) -> Iterator[LoadedEntry]:
        file = str(self.root / path)
        starts = [0]
        for line in text.split("\n"):
            starts.append(starts[-1] + len(line) + 1)
        for memory in view.memories(self.label):
            first = memory.origin.line
            if memory.origin.file == file and first and not memory.extra.get("kept"):
                end = starts[min(first + memory.content.count("\n"), len(starts) - 1)]
                yield LoadedEntry(memory.ref, starts[first - 1], min(end, len(text)))


SUPPORT = FormatSupport(
    OpenClawStore,
    transfer=TransferSupport(
        belongings=("memory/.dreams/*", "memory/audit/*"),
        convert=convert,
    ),
)
