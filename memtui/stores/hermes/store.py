"""Hermes's memory as a store: each of the two files is a shard."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Sequence
from datetime import datetime
from pathlib import Path

from memtui.changes import TEXTS, Edit
from memtui.files.locking import make_foreign_lock
from memtui.files.reading import IS_EMPTY, file_stamp
from memtui.files.text_items import DELIMITER
from memtui.stores.base import (
    LimitUse,
    LoadedEntry,
    LoadedText,
    Reading,
    StoreView,
    Unreadable,
    WriteRecorder,
)
from memtui.stores.file_store import ListedTextStore
from memtui.stores.hermes import CONFIG, NAMES, editing, memory_folder
from memtui.stores.hermes.records import (
    ENTITIES,
    RULE,
    entry_memories,
    parse_entries,
    parse_limits,
    size_of,
    usage,
    why_refused,
)
from memtui.stores.scanning import CachedFile, FoundShard, planned_text
from memtui.stores.sidecar import Sidecar, is_kept
from memtui.stores.values import utc_now

_HEADERS = {"memory": "MEMORY (your personal notes)", "user": "USER PROFILE (who the user is)"}


class HermesStore(ListedTextStore):
    """One home folder of Hermes."""

    format = "hermes"
    acts = editing.ACTS
    empty = IS_EMPTY
    rescans = True  # the limits are part of the stamp

    def __init__(self, root: Path, label: str, now: Callable[[], datetime] = utc_now) -> None:
        super().__init__(root, label, now)
        self._config = CachedFile(root / CONFIG, root, parse_limits, parse_limits(""))

    def limit(self, name: str) -> int:
        """Most characters of this file."""
        return self._config.current().value[name]

    def open_list(self, key: str, view: StoreView) -> editing.EntryFile:
        path = memory_folder(self.root) / key
        text = planned_text(path, self.root, view)
        return editing.EntryFile(path, text, self.limit(key), self.sidecar.current())

    def find_shards(self) -> Iterator[FoundShard | Unreadable]:
        folder = memory_folder(self.root)
        for name in NAMES:
            if os.path.lexists(folder / name):
                file = str(folder / name)
                yield FoundShard(name, (file,), file_stamp([file, self._config.path]))

    def read_text(self, key: str, path: Path, text: str, sidecar: Sidecar) -> Reading:
        limit = self.limit(key)
        entries = parse_entries(text)
        memories = entry_memories(entries, key, str(path), limit, sidecar, self.label)
        why = why_refused(text, limit)
        return Reading(tuple(memories), (Unreadable(str(path), why),) if why else ())

    def session_start(self, view: StoreView, entity: str, now: datetime) -> Sequence[LoadedText]:  # noqa: ARG002
        """The two blocks of the prompt; entries that Hermes holds for threats are not told apart
        here."""
        memories = [memory for memory in view.memories(self.label) if not is_kept(memory)]
        texts = []
        for name, target in ENTITIES.items():
            own = [m for m in memories if m.entity == target and m.extra.get("loaded_at_start")]
            if not own:
                continue
            limit, size = self.limit(name), size_of([memory.content for memory in own])
            text = f"{RULE}\n{_HEADERS[target]} [{usage(size, limit)}]\n{RULE}\n"
            entries: list[LoadedEntry] = []
            for memory in own:
                text += DELIMITER if entries else ""
                entries.append(LoadedEntry(memory.ref, len(text), len(text) + len(memory.content)))
                text += memory.content
            note = f"loaded whole at the start; {usage(size, limit)}, more is refused"
            file = own[0].origin.file
            texts.append(LoadedText(name, text, file, entries=tuple(entries), note=note))
        return tuple(texts)

    def limit_uses(self, view: StoreView, now: datetime) -> Sequence[LimitUse]:  # noqa: ARG002
        """How many characters of its limit each file uses; Hermes never writes more."""
        found = []
        memories = [memory for memory in view.memories(self.label) if not is_kept(memory)]
        for name, target in ENTITIES.items():
            own = [memory for memory in memories if memory.entity == target]
            if own:
                size = size_of([memory.content for memory in own])
                measure = ("characters", size, self.limit(name))
                found.append(LimitUse(self.label, name, own[0].origin.file, (measure,)))
        return found

    def check_written(self, path: Path, before: str | None, after: str | None) -> None:
        """Refuse a text beyond Hermes's limit, which it has filled since the change was planned."""
        if path.name in NAMES:
            editing.refuse_too_long(path, before, after, self.limit(path.name))

    def apply(self, edits: Sequence[Edit], recorder: WriteRecorder) -> None:
        """Make the edits under Hermes's lock, a lock file beside each file."""
        for file in {edit.path for edit in edits if edit.kind in TEXTS}:
            if os.path.basename(file) in NAMES:
                make_foreign_lock(Path(file))
        super().apply(edits, recorder)
