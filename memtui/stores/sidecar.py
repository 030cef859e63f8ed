"""The sidecar: memtui's own data about memories, for what a store's format cannot hold.

Its entries are read here and combined with the memories of the store's files. Memories that the
store itself no longer holds are added from the sidecar, which stores them whole.

Where: see `memtui.files.sidecar_lines`. What a person asked for lies beside the store, what was
taken out of it in memtui's state folder; an entry is read from both as one. They are created by the
first write that needs them, never by reading.

Form: JSON lines in UTF-8. A change appends one, and undo takes it out again:

    {"id": "0f6fa27c-...", "set": {"pinned": true, "shard": "..."}, "at": "2026-11-21T09:00:00Z"}

`id` is the memory's id in its store; `set` is the whole entry (it replaces the one before it, the
latest line wins) and `null` removes the entry; `at` is the time of writing, for people. A line that
is not such an object is damaged: it is skipped, counted and left where it is.

An entry may hold these keys, all optional; others are carried along untouched:

    shard          key of the shard whose memories the entry is about, so that only it is read again
    pinned         true
    tags           list of words
    rating         number from 1 to 5
    reviewed       ISO time of the last review
    links          list of {relation, target, valid_from, valid_to, note}
    ended_links    the same of links that were removed, each with valid_to
    supersedes     list of ids: lineage that the store cannot write down
    superseded_by  list of ids
    status         retired or superseded, where the store's format has no word for it
    text           digest of the text that a memory without an id has since memtui edited it
    former_status  the store's own word that a retired memory had, which restoring gives back
    request        ids of notes that ask the store's own program for a change
    created        ISO time at which memtui added it, where the store's format has no times
    updated        ISO time of memtui's last edit, where the store's format has no times
    kept           {"memory": record of `model.to_record`, "places": [{"file", "index", "raw"}]}:
                   a memory that the store itself no longer holds, and where its text stood
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from datetime import datetime
from pathlib import Path
from types import MappingProxyType
from typing import Any

from msgspec import Struct, field
from msgspec.structs import replace

from memtui.changes import Edit, sidecar_edit
from memtui.errors import UnreadableFile
from memtui.files.sidecar_lines import parse_entry, read_sidecar_texts, sidecar_path
from memtui.model import (
    CURRENT,
    ENDED_LINKS,
    FILE_TIME_KEY,
    HIDDEN,
    PENDING_KEY,
    Link,
    Memory,
    from_record,
    to_record,
)
from memtui.stores.base import Reading, Shard, Store
from memtui.stores.values import list_of, texts_of

Entry = Mapping[str, Any]
_EMPTY: Entry = MappingProxyType({})


class ShardEntries(Struct, frozen=True):
    """The entries of one shard's memories."""

    ids: tuple[str, ...]
    """In the order they were first made."""
    mark: str
    """Changes whenever one of them does."""


_NO_ENTRIES = ShardEntries((), "")


class Sidecar(Struct, frozen=True):
    """The latest entry of every memory that has one."""

    entries: Mapping[str, Entry] = field(default_factory=dict)
    damaged: int = 0
    """Lines that could not be read."""
    fault: str = ""
    """Why the whole file could not be read; empty when it could, or when there is none."""
    _shards: Mapping[str, ShardEntries] = field(default_factory=dict)
    _wanderers: str = ""
    """Changes whenever an entry does that has named several shards."""

    def entry(self, id: str) -> Entry:
        """The entry of one memory; empty if there is none."""
        return self.entries.get(id, _EMPTY)

    def mark(self, shard: str) -> str:
        """A digest of the shard's entries, part of the shard's stamp.

        An entry is laid over whatever has its id. One that has named several shards may be laid
        over memories of each, as when another program has put back a fact that was moved.
        """
        if not self._shards:
            return self._wanderers
        own, of_any = (self._shards.get(key, _NO_ENTRIES).mark for key in (shard, ""))
        return own + of_any + self._wanderers

    def of_shard(self, shard: str) -> Iterator[tuple[str, Entry]]:
        """The entries that name this shard, oldest first."""
        for id in self._shards.get(shard, _NO_ENTRIES).ids:
            yield id, self.entries[id]


def _by_shard(entries: Mapping[str, Entry]) -> dict[str, ShardEntries]:
    """Group the entries by the shard they name; key "" for those that name none."""
    found: dict[str, dict[str, Entry]] = {}
    for id, entry in entries.items():
        shard = entry.get("shard")
        found.setdefault(shard if isinstance(shard, str) else "", {})[id] = entry
    return {
        shard: ShardEntries(tuple(shard_entries), _mark(shard_entries))
        for shard, shard_entries in found.items()
    }


def _mark(entries: Mapping[str, Entry]) -> str:
    mark = hashlib.blake2b(digest_size=8)
    for id, entry in entries.items():
        mark.update(json.dumps([id, dict(entry)], sort_keys=True).encode())
    return mark.hexdigest()


def parse_sidecar(*texts: str) -> Sidecar:
    """Parse the texts of a sidecar's files, each of which may hold a part of an entry; the later
    wins. Never raises."""
    entries: dict[str, Entry] = {}
    named: dict[str, set[str]] = {}
    damaged = 0
    for text in texts:
        own: dict[str, Entry] = {}
        for line in filter(str.strip, text.split("\n")):
            parsed = parse_entry(line)
            if parsed is None:
                damaged += 1
                continue
            id, entry = parsed
            if entry:
                own[id] = entry
                named.setdefault(id, set()).add(str(entry.get("shard")))
            else:
                own.pop(id, None)
        for id, part in own.items():
            entries[id] = {**entries.get(id, _EMPTY), **part}
    wandered = {id: entries.get(id, _EMPTY) for id, shards in named.items() if len(shards) > 1}
    return Sidecar(entries, damaged, "", _by_shard(entries), _mark(wandered) if wandered else "")


def read_sidecar(root: Path) -> Sidecar:
    """Read the sidecar of a store; an empty one if there is no file. Never raises."""
    try:
        return parse_sidecar(*read_sidecar_texts(root))
    except UnreadableFile as error:
        return Sidecar(fault=error.what)
    except OSError as error:
        return Sidecar(fault=error.strerror or "it cannot be read")


def _time(value: object) -> datetime | None:
    if not isinstance(value, str):
        return None
    try:
        time = datetime.fromisoformat(value)
    except ValueError:
        return None
    return time if time.tzinfo else None


def _link(value: object) -> Link | None:
    if not isinstance(value, dict):
        return None
    relation, target = value.get("relation"), value.get("target")
    if not isinstance(relation, str) or not isinstance(target, str):
        return None
    return Link(
        relation=relation,
        target=target,
        valid_from=_time(value.get("valid_from")),
        valid_to=_time(value.get("valid_to")),
        note=str(value.get("note") or ""),
    )


def entry_links(entry: Entry, key: str = "links") -> tuple[Link, ...]:
    """The links of an entry under `links` or `ended_links`, without malformed ones."""
    values = entry.get(key)
    found = (_link(value) for value in values) if isinstance(values, list) else ()
    return tuple(link for link in found if link is not None)


def link_to_json(link: Link) -> dict[str, Any]:
    """A link as a JSON object of an entry."""
    value: dict[str, Any] = {"relation": link.relation, "target": link.target}
    if link.valid_from:
        value["valid_from"] = link.valid_from.isoformat()
    if link.valid_to:
        value["valid_to"] = link.valid_to.isoformat()
    if link.note:
        value["note"] = link.note
    return value


def sidecar_edits(
    root: Path, sidecar: Sidecar, id: str, shard: str, **values: Any
) -> tuple[Edit, ...]:
    """The edit that sets these keys of one entry (None or empty removes a key).

    Returns () if the entry has these values already. An entry that names another shard gets the
    present one, even if it holds nothing else any more: the shard must be read again.
    """
    before = sidecar.entries.get(id)
    entry = changed_entry(before, shard, values)
    if entry is None and not (before or _EMPTY).keys() - {"shard"}:
        return ()
    if entry == (None if before is None else dict(before)):
        return ()
    return (sidecar_edit(str(root), id, before, entry),)


def changed_entry(
    before: Entry | None, shard: str, values: Mapping[str, Any]
) -> dict[str, Any] | None:
    """An entry with these keys set, as in `sidecar_edits`; None: it holds nothing any more."""
    after = dict(before or {})
    after.pop("shard", None)
    for key, value in values.items():
        if value is None or value is False or value in ([], (), {}):
            after.pop(key, None)
        else:
            after[key] = list(value) if isinstance(value, tuple) else value
    moved = before is not None and before.get("shard", shard) != shard
    return {**after, "shard": shard} if after or moved else None


def _joined(first: Iterable[str], second: Iterable[str]) -> tuple[str, ...]:
    return tuple(dict.fromkeys([*first, *second]))


def overlay(memory: Memory, entry: Entry) -> Memory:
    """Add to a memory what its sidecar entry holds.

    A retired memory whose successor only memtui knows is superseded.
    """
    if not entry:
        return memory
    extra = dict(memory.extra)
    for key in ("rating", "reviewed"):
        if key in entry:
            extra[key] = entry[key]
    if noted := _time(entry.get("updated")):
        extra.pop(FILE_TIME_KEY, None)
    if ended := entry_links(entry, ENDED_LINKS):
        extra[ENDED_LINKS] = [*list_of(extra.get(ENDED_LINKS)), *map(link_to_json, ended)]
    superseded_by = _joined(memory.superseded_by, texts_of(entry.get("superseded_by")))
    status = memory.status
    if status in CURRENT and entry.get("status") in ("retired", "superseded"):
        status = entry["status"]
        extra[HIDDEN] = "by memtui only"
    retired = status == "retired"
    return replace(
        memory,
        created=memory.created or _time(entry.get("created")),
        updated=_updated(memory, noted),
        status="superseded" if retired and superseded_by else status,
        pinned=memory.pinned or entry.get("pinned") is True,
        tags=_joined(memory.tags, texts_of(entry.get("tags"))),
        links=memory.links + entry_links(entry),
        supersedes=_joined(memory.supersedes, texts_of(entry.get("supersedes"))),
        superseded_by=superseded_by,
        extra=extra,
    )


def _updated(memory: Memory, noted: datetime | None) -> datetime | None:
    """The store's time of change, else the sidecar's; of a file of many memories the reverse."""
    is_of_file = FILE_TIME_KEY in memory.extra
    return (noted or memory.updated) if is_of_file else (memory.updated or noted)


def kept_value(memory: Memory, places: Iterable[Mapping[str, Any]] = ()) -> dict[str, Any]:
    """The value of the key `kept` for a memory that is removed from its store's files."""
    return {"memory": to_record(memory), "places": [dict(place) for place in places]}


def kept_memory(entry: Entry, label: str) -> Memory | None:
    """The memory that an entry stores, under the store's present label; None if malformed.

    It is marked `kept` in `extra`: the store's own files no longer hold it.
    """
    value = entry.get("kept")
    if not isinstance(value, dict) or not isinstance(value.get("memory"), dict):
        return None
    try:
        memory = from_record(value["memory"])
    except (KeyError, TypeError, ValueError, AttributeError):
        return None
    memory = replace(
        memory, ref=f"{label}:{memory.id}", store=label, extra={**memory.extra, "kept": True}
    )
    return overlay(memory, entry)


def is_kept(memory: Memory) -> bool:
    """Whether only the sidecar holds it."""
    return memory.extra.get("kept") is True


def is_read(memory: Memory, store: Store) -> bool:
    """Whether the program of its store still gives a memory to agents, whatever memtui shows."""
    if memory.status in CURRENT or HIDDEN in memory.extra or PENDING_KEY in memory.extra:
        return not is_kept(memory)
    reads = {"retired": store.reads_retired, "superseded": store.reads_superseded}
    return reads.get(memory.status, False) and not is_kept(memory)


def apply_overlay(
    memories: Iterable[Memory], sidecar: Sidecar, shard: str, label: str
) -> tuple[Memory, ...]:
    """Add the sidecar entries to the memories of a shard, then the memories only they keep."""
    if not sidecar.entries:
        return tuple(memories)
    shown = [overlay(memory, sidecar.entry(memory.id)) for memory in memories]
    present = {memory.id for memory in shown}
    for id, entry in sidecar.of_shard(shard):
        kept_copy = None if id in present else kept_memory(entry, label)
        if kept_copy is not None:
            shown.append(kept_copy)
    return tuple(shown)


KEPT_SHARD = ".memtui"
"""Key of the shard of memories that only memtui keeps and whose own shard is gone."""


def kept_shard(
    root: Path, sidecar: Sidecar, shards: Sequence[Shard], owns: Callable[[str], bool]
) -> tuple[Shard, ...]:
    """The shard of memories kept of shards that no longer exist, such as a deleted project.

    `owns`: whether a shard is of this store, as two formats may lie at one root.

    None as long as every entry's own shard is there.
    """
    missing = _missing_shards(sidecar, shards, owns)
    if not missing:
        return ()
    mark = "".join(sidecar.mark(key) for key in missing)
    return (Shard(KEPT_SHARD, (str(sidecar_path(root)),), "".join(missing) + mark),)


def _missing_shards(
    sidecar: Sidecar, shards: Sequence[Shard], owns: Callable[[str], bool]
) -> list[str]:
    named = (e.get("shard", "") for e in sidecar.entries.values() if "kept" in e)
    found = {key for key in named if isinstance(key, str) and owns(key)}
    return sorted(found.difference(shard.key for shard in shards)) if found else []


def read_kept_shard(
    sidecar: Sidecar, shards: Sequence[Shard], label: str, owns: Callable[[str], bool]
) -> Reading:
    """The memories of `kept_shard`."""
    missing = _missing_shards(sidecar, shards, owns)
    memories = (kept_memory(entry, label) for key in missing for _, entry in sidecar.of_shard(key))
    return Reading(tuple(memory for memory in memories if memory is not None))
