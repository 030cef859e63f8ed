"""Access counts: how often each memory was given to an agent or a person, where that is counted.

A JSON file with an entry for each memory, in the form that agent-memory's retrieve script keeps
(retrieve-memory.sh:32-59):

    {"facts": {"alice/5862...": {"count": 2, "lastAccessed": "2026-11-20T17:10:00Z"}}}

agent-memory has its own, `metrics/access.json`; for other stores memtui keeps `.memtui/access.json`
beside the store, made by the first access that is counted, with the group `memories` and the key
of the shard in each entry. Browsing never counts.

Counting goes through the stores' save path, with its locks and merging, but not through the
journal: an access is no change that a person would undo, and `memtui undo` must find the last edit.
"""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime
from pathlib import Path
from typing import Any

from msgspec import Struct, field
from msgspec.structs import replace

from memtui.changes import Edit, text_edit, value_edit
from memtui.errors import Conflict, MemtuiError, RefError, Refused
from memtui.files.json.editing import raw_value
from memtui.files.locking import locked
from memtui.files.reading import (
    read_text_file,
)
from memtui.files.save_hooks import NullRecorder
from memtui.files.sidecar_lines import FOLDER, sidecar_path
from memtui.model import Memory
from memtui.stores.base import Scan, Shard, Store, StoreView
from memtui.stores.scanning import CachedFile
from memtui.stores.values import (
    members_of,
    parse_json,
    parse_object,
    text_of,
    to_iso_seconds,
    whole_number,
)

FILE = "access.json"
MEMORIES = "memories"
"""The group of entries in memtui's own file; agent-memory has `entities` and `facts`."""
COUNT, LAST, SHARD = "count", "lastAccessed", "shard"


class AccessKey(Struct, frozen=True):
    """Key of one memory's count in the file."""

    group: str
    key: str
    shard: str
    """Key of the shard that holds the memory."""


class AccessCount(Struct, frozen=True):
    """How often a memory was given, and when last, as the file writes it."""

    count: int
    last: str


class AccessLog(Struct, frozen=True):
    """The counts of one file."""

    counts: Mapping[tuple[str, str], AccessCount] = field(default_factory=dict)
    marks: Mapping[str, str] = field(default_factory=dict)
    """Shard -> changes whenever one of its counts does."""


NO_ACCESSES = AccessLog()


class AccessFile:
    """The counts of one store, read again when their file changes."""

    def __init__(self, path: Path, root: Path) -> None:
        self.path = path
        self._root = root
        self._file = CachedFile(path, root, parse_accesses, NO_ACCESSES)

    def current(self) -> AccessLog:
        """The counts as of now; none where the file cannot be read. Never raises."""
        return self._file.current().value

    def plan(self, keys: Sequence[AccessKey], now: datetime) -> tuple[Edit, ...]:
        """The edits that add one to each count. Raises StoreError if the file cannot be changed."""
        log = self.current()
        entries = {key: self._entry(key, log, now) for key in dict.fromkeys(keys)}
        if not os.path.lexists(self.path):
            groups: dict[str, dict[str, Any]] = {}
            for key, entry in entries.items():
                groups.setdefault(key.group, {})[key.key] = entry
            return (text_edit(str(self.path), None, f"{_to_json(groups, 0)}\n"),)
        text = read_text_file(self.path, self._root)
        top = parse_json(text)
        if not isinstance(top, dict):
            problem = "accesses cannot be counted: the file does not hold a JSON object"
            raise Refused(problem, where=str(self.path), do="fix it or remove it")
        edits: list[Edit] = []
        for group in dict.fromkeys(key.group for key in entries):
            group_entries = {key.key: entry for key, entry in entries.items() if key.group == group}
            group_counts = top.get(group)
            if not isinstance(group_counts, dict):
                if group in top:
                    raise Refused(f"its {group!r} is not an object", where=str(self.path))
                edits.append(self._edit((group,), "", _to_json(group_entries, 1)))
                continue
            for name, entry in group_entries.items():
                before = raw_value(text, (group, name)) if name in group_counts else ""
                edits.append(self._edit((group, name), before, _to_json(entry, 2)))
        return tuple(edits)

    def _edit(self, pointer: tuple[str, ...], before: str, after: str) -> Edit:
        return value_edit(str(self.path), pointer, before, after)

    def _entry(self, key: AccessKey, log: AccessLog, now: datetime) -> dict[str, Any]:
        known = log.counts.get((key.group, key.key))
        entry: dict[str, Any] = {
            COUNT: (known.count if known else 0) + 1,
            LAST: to_iso_seconds(now),
        }
        return {**entry, SHARD: key.shard} if key.group == MEMORIES else entry


def sidecar_access_path(root: Path) -> Path:
    """Path of the access counts of a store (a folder or one file) whose format has none."""
    if not root.is_file():
        return root / FOLDER / FILE
    former = root.parent / FOLDER / f"{root.name}.{FILE}"
    return former if former.exists() else sidecar_path(root).with_suffix(f".{FILE}")


def sidecar_access_file(root: Path) -> AccessFile:
    """The file at `sidecar_access_path`."""
    path = sidecar_access_path(root)
    return AccessFile(path, path.parent.parent)


def parse_accesses(text: str) -> AccessLog:
    """Read the counts; entries of another form are skipped. Never raises."""
    counts: dict[tuple[str, str], AccessCount] = {}
    by_shard: dict[str, list[tuple[str, int, str]]] = {}
    for group, entries in parse_object(text).items():
        for key, entry in members_of(entries).items():
            if not isinstance(entry, dict):
                continue
            found = AccessCount(whole_number(entry.get(COUNT)), text_of(entry.get(LAST)))
            counts[group, key] = found
            # agent-memory's keys are `slug` and `slug/id`, whose shard is `entities/slug`.
            shard = text_of(entry.get(SHARD)) or f"entities/{key.partition('/')[0]}"
            by_shard.setdefault(shard, []).append((key, found.count, found.last))
    marks = {
        shard: hashlib.blake2b(repr(sorted(shard_counts)).encode(), digest_size=6).hexdigest()
        for shard, shard_counts in by_shard.items()
    }
    return AccessLog(counts, marks)


def mark_shards(shards: Iterable[Shard], log: AccessLog) -> list[Shard]:
    """Add the counts to the stamps of shards, so that a new count changes the stamp."""
    return [
        shard._replace(stamp=f"{shard.stamp}|{log.marks[shard.key]}")
        if shard.key in log.marks
        else shard
        for shard in shards
    ]


def mark_scan(scan: Scan, log: AccessLog) -> Scan:
    """Add the counts to the stamps of a scan."""
    return replace(scan, shards=tuple(mark_shards(scan.shards, log))) if log.marks else scan


def with_accesses(memory: Memory, log: AccessLog, group: str, key: str) -> Memory:
    """The memory with its count in `extra`: `access_count` and `last_accessed`."""
    found = log.counts.get((group, key))
    if found is None:
        return memory
    extra = {**memory.extra, "access_count": found.count, "last_accessed": found.last}
    return replace(memory, extra=extra)


def _to_json(value: Any, depth: int) -> str:
    """As jq writes it, indented for this depth."""
    text = json.dumps(value, ensure_ascii=False, indent=2)
    return text.replace("\n", "\n" + "  " * depth)


MAX_TRIES = 5
"""The store's own program may count at the same moment; each try reads the counts again."""
LOCK_NAME = "accesses"
"""Name of the lock file of a store's counts, which lies in the state folder."""


def count_accesses(
    refs: Iterable[str],
    stores: Sequence[Store],
    view: StoreView,
    now: datetime,
    state: Path,
) -> tuple[int, dict[str, MemtuiError]]:
    """Count one access of each memory.

    Returns:
        How many were counted; memories that are gone, and stores that count none, are left out. And
        why nothing was counted in a store, by its label: it may not be written, or other processes
        changed its counts at every try.
    """
    by_store: dict[str, list[Memory]] = {}
    for ref in dict.fromkeys(refs):
        try:
            memory = view.get(ref)
        except RefError:
            continue
        by_store.setdefault(memory.store, []).append(memory)
    counted, faults = 0, dict[str, MemtuiError]()
    for store in stores:
        memories = by_store.get(store.label)
        if memories:
            # Two that add one to the same count in the same second would write the same bytes, and
            # the second would be taken for written.
            try:
                with locked(store.root / LOCK_NAME, state):
                    counted += _count(store, memories, now, state)
            except MemtuiError as error:
                faults[store.label] = error
    return counted, faults


def _count(store: Store, memories: Sequence[Memory], now: datetime, state: Path) -> int:
    """How many memories were counted: all, or none if the store counts none."""
    tries = 0
    while True:
        tries += 1
        try:
            edits = store.plan_accesses(memories, now)
            if edits:
                store.apply(edits, NullRecorder(state))
            return len(memories) if edits else 0
        except Conflict:
            if tries == MAX_TRIES:
                raise
