"""What the history of texts knows of a store: the versions of a memory, and all as of a time.

Of a store of files each file is kept as it was, and read by the store's own format. Of a database
each memory is kept, as JSON. `text_looks` keeps them.
"""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Iterable, Mapping
from contextlib import suppress
from datetime import datetime
from itertools import pairwise
from pathlib import Path

import msgspec
from msgspec import Struct

from memtui.files.git_history import FileVersion
from memtui.files.reading import decode
from memtui.files.text_history import KeptText, StoreKey, TextHistory
from memtui.model import Memory
from memtui.paths import real_root
from memtui.sessions.origin import plain_text
from memtui.stores import registry
from memtui.stores.base import Store

ROW = "memory:"
"""Begins the name of a memory of a database."""


def file_versions(memory: Memory, store: Store, state: Path | None) -> list[FileVersion]:
    """The different versions of the file of a memory that were seen, newest first."""
    if not memory.origin.file:
        return []
    kept = TextHistory(state).versions(key_of(store), _kept_name(store, memory))
    return [FileVersion("", each.began, "", each.text) for each in kept if each.text is not None]


class TextTimes:
    """When memories were seen to change, of which nothing is read twice."""

    def __init__(self, state: Path | None) -> None:
        self._history = TextHistory(state)
        self._texts: dict[tuple[StoreKey, str], list[tuple[datetime, str]]] = {}

    def of_change(
        self, store: Store, memory: Memory, before: str, after: str
    ) -> tuple[datetime, datetime] | None:
        """The last time at which the former text was seen to be there, and the first at which it
        was another or gone; None if that is not known.

        Args:
            store, memory: The memory, before or after.
            before, after: Its texts; empty: it was not there.
        """
        before, after = plain_text(before), plain_text(after)
        texts = self._texts_of(store, memory)
        for (since, old), (until, new) in reversed([*pairwise(texts)]):
            is_other = after in new and after not in old if after else before not in new
            if before in old and is_other:
                return since, until
        return None

    def _texts_of(self, store: Store, memory: Memory) -> list[tuple[datetime, str]]:
        """What the file, or the row, has held, oldest first."""
        key = key_of(store), _kept_name(store, memory)
        if key not in self._texts:
            read = _text_of_row if is_database(store) else decode
            self._texts[key] = [
                (each.began, plain_text(read(each.text or b"")))
                for each in reversed(self._history.versions(*key))
            ]
        return self._texts[key]


def _text_of_row(text: bytes) -> str:
    memory = read_row(text, "")
    return "" if memory is None else memory.full_text


def _kept_name(store: Store, memory: Memory) -> str:
    return ROW + memory.id if is_database(store) else name_of(store, memory.origin.file)


def memories_with(
    store: Store, state: Path | None, memories: Iterable[Memory], is_meant: Callable[[str], bool]
) -> list[Memory]:
    """The memories of a store whose file, or which themselves, have had a text that is meant."""
    names = TextHistory(state).names_with(key_of(store), is_meant)
    if is_database(store):
        return [memory for memory in memories if ROW + memory.id in names]
    return [memory for memory in memories if name_of(store, memory.origin.file) in names]


class KeptState(Struct, frozen=True):
    """What a store held at a time where it differs from now."""

    files: Mapping[str, KeptText] = msgspec.field(default_factory=dict)
    """Path of a file -> its text of then."""
    memories: Mapping[str, Memory] = msgspec.field(default_factory=dict)
    """Id -> the memory of then, of a database."""
    absent: frozenset[str] = frozenset()
    """Ids of memories of a database that were not there."""
    is_whole: bool = False
    """Whether memtui had looked at the store by then."""


def state_at(store: Store, state: Path | None, at: datetime) -> KeptState:
    """What is known of a store at a time."""
    past = TextHistory(state).changed_since(key_of(store), at.timestamp())
    if not is_database(store):
        folder = folder_of(store)
        files = {os.path.normpath(folder / name): text for name, text in past.files.items()}
        return KeptState(files, is_whole=past.is_whole)
    memories: dict[str, Memory] = {}
    absent: set[str] = set()
    for name, kept in past.files.items():
        id = name.removeprefix(ROW)
        memory = None if kept.text is None else read_row(kept.text, store.label)
        if memory is not None:
            memories[id] = memory
        elif kept.text is None:
            absent.add(id)
    return KeptState({}, memories, frozenset(absent), past.is_whole)


def read_row(text: bytes, label: str) -> Memory | None:
    """A memory of a database as it was kept; None if it cannot be read."""
    with suppress(ValueError, msgspec.ValidationError):
        value = json.loads(text.decode("utf-8", "surrogatepass"))
        memory = msgspec.convert(value, Memory)
        return msgspec.structs.replace(memory, store=label, ref=f"{label}:{memory.id}")
    return None


def is_database(store: Store) -> bool:
    known = registry.format_of(store.format)
    return known is not None and known.database is not None


def key_of(store: Store) -> StoreKey:
    return StoreKey(store.format, real_root(store.root))


def folder_of(store: Store) -> Path:
    return store.root.parent if store.root.is_file() else store.root


def name_of(store: Store, file: str) -> str:
    return os.path.relpath(file, folder_of(store))
