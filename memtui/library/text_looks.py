"""Look at the open stores and keep the texts that have changed since the last look."""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Iterable, Mapping
from functools import partial
from pathlib import Path
from typing import NamedTuple

import msgspec
from msgspec import Struct, field

from memtui.config import HistorySettings
from memtui.errors import UnreadableFile
from memtui.files.reading import digest, file_stamp, read_bytes
from memtui.files.text_history import TextHistory
from memtui.library.kept_texts import ROW, folder_of, is_database, key_of, name_of
from memtui.library.reader import LibraryReader
from memtui.model import Memory
from memtui.progress import IsCancelled, never
from memtui.stores.base import Store

_COMPARED = ("title", "content", "entity", "type", "importance", "tags", "status", "kind")
"""Fields of a database's memory whose change makes a version; counts of uses make none."""


class Looked(Struct, frozen=True):
    """What a look found."""

    changed: Mapping[str, int] = field(default_factory=dict)
    """Label of each store that has changed -> how many of its texts were new, changed or gone."""
    fault: str = ""
    """What became of a damaged history, as one line for the person."""


def keep_texts(
    library: LibraryReader, settings: HistorySettings, cancelled: IsCancelled = never
) -> Looked:
    """Look at the loaded stores and keep what has changed since the last look.

    Call it in a background job, or at the end of a command. Nothing is read of a store in which no
    file has changed.
    """
    loaded = (
        _Seen(cache.store, cache.stamps, cache.files, partial(library.memories, cache.store.label))
        for cache in library.loaded.caches
        if not cache.loading
    )
    return _keep(library, loaded, settings, cancelled)


def scan_texts(
    library: LibraryReader, settings: HistorySettings, cancelled: IsCancelled = never
) -> Looked:
    """The same of stores that need not be loaded: only files that have changed are read, and the
    databases that have."""
    stores = (each for each in library.stores if each.label not in library.queried.stores)
    return _keep(library, map(_scanned, stores), settings, cancelled)


class _Seen(NamedTuple):
    """What a look sees of a store before it reads anything."""

    store: Store
    stamps: Mapping[str, str]
    """Key of each shard -> what differs after any change."""
    files: Iterable[str]
    memories: Callable[[], Iterable[Memory]]
    """Those of a database."""


def _scanned(store: Store) -> _Seen:
    shards = store.scan().shards
    files = [file for shard in shards for file in shard.files]
    stamps = {shard.key: shard.stamp for shard in shards}
    return _Seen(
        store, stamps, files, lambda: (m for each in shards for m in store.read(each).memories)
    )


def _keep(
    library: LibraryReader,
    every: Iterable[_Seen],
    settings: HistorySettings,
    cancelled: IsCancelled,
) -> Looked:
    if library.state_folder is None or not settings.days:
        return Looked()
    history = TextHistory(library.state_folder)
    found: dict[str, int] = {}
    now, marks = library.now().timestamp(), history.marks()
    for seen in every:
        store = seen.store
        if store.is_shared or not os.path.lexists(store.root):
            continue  # one that is away would seem to be emptied
        key, mark = key_of(store), _mark(seen.stamps)
        if marks.get(key) != mark:
            texts = _Rows(seen.memories()) if is_database(store) else _Files(store, seen.files)
            count = history.look(key, mark, texts.stamps, texts.read, settings, now, cancelled)
            if count:
                found[store.label] = count
    return Looked(found, history.fault)


def forget_texts(library: LibraryReader, stores: Iterable[Store]) -> bool:
    """Delete all that is kept of these stores; returns whether there was anything."""
    history = TextHistory(library.state_folder)
    forgotten = [history.forget(key_of(store)) for store in stores]
    return any(forgotten)


class _Files:
    """The files of a store of text, for a look."""

    def __init__(self, store: Store, files: Iterable[str]) -> None:
        self._store = store
        folder = f"{folder_of(self._store)}{os.sep}"
        self._paths = {
            name: file
            for file in files
            if not (
                name := file.removeprefix(folder)
                if file.startswith(folder)
                else name_of(self._store, file)
            ).startswith("../..")
        }
        # That of a shard would be that of a whole folder.
        self.stamps = {name: file_stamp([file]) for name, file in self._paths.items()}

    def read(self, name: str) -> tuple[bytes, float] | None:
        path = Path(self._paths[name])
        try:
            # Some stores have a file beside their folder.
            return read_bytes(path, self._store.root.parent), path.stat().st_mtime
        except (UnreadableFile, OSError):
            return None


class _Rows:
    """The memories of a database, for a look."""

    def __init__(self, memories: Iterable[Memory]) -> None:
        self._memories = {ROW + memory.id: memory for memory in memories}
        self.stamps = {name: _stamp(memory) for name, memory in self._memories.items()}

    def read(self, name: str) -> tuple[bytes, float] | None:
        memory = self._memories[name]
        changed = memory.updated or memory.created
        text = json.dumps(msgspec.to_builtins(memory), ensure_ascii=False)
        return text.encode("utf-8", "surrogatepass"), changed.timestamp() if changed else 0.0


def _mark(stamps: Mapping[str, str]) -> str:
    return digest("\0".join(sorted(map("\n".join, stamps.items()))).encode("utf-8", "replace"))


def _stamp(memory: Memory) -> str:
    values = repr([getattr(memory, name) for name in _COMPARED])
    return digest(values.encode("utf-8", "surrogatepass"))[:32]
