"""What memtui itself keeps about memories, for everything a store's format cannot hold.

Where: a store whose root is a folder has `<root>/.memtui/sidecar.jsonl`; a store that is a single
file has `.memtui/<file name>.jsonl` in that file's folder. Made on the first write that needs it,
never by looking.

Form: JSON lines in UTF-8, each ending in a newline, appended, never rewritten:

    {"id": "0f6fa27c-...", "set": {"pinned": true, "shard": "..."}, "at": "2026-11-21T09:00:00Z"}

`id` is the memory's id in its store; `set` is the whole entry (it replaces the one before it, the
latest line wins) and `null` takes the entry away; `at` is when, for people. A line that is not such
an object is damaged: it is skipped, counted and left where it is.

An entry may hold these keys, all optional; others are carried along untouched:

    shard          key of the shard whose memories the entry is about, so that only it is read again
    pinned         true
    tags           list of words
    rating         number from 1 to 5
    reviewed       ISO time of the last review
    links          list of {relation, target, valid_from, valid_to, note}
    supersedes     list of ids: lineage that the store cannot write down
    superseded_by  list of ids
    status         retired or superseded, where the store's format has no word for it
    kept           {"memory": record of `model.to_record`, "places": [{"file", "index", "raw"}]}:
                   a memory that the store itself no longer holds, and where its text stood
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from pathlib import Path
from types import MappingProxyType
from typing import Any

from memtui.changes import SidecarEdit
from memtui.errors import UnreadableFile
from memtui.files.reading import decode, read_bytes, stamp
from memtui.files.sidecar_lines import sidecar_path
from memtui.model import Link, Memory, from_record, to_record
from memtui.stores.base import Reading, Shard

sidecar_file = sidecar_path

Entry = Mapping[str, Any]
_EMPTY: Entry = MappingProxyType({})


def _empty() -> Entry:
    return _EMPTY


@dataclass(frozen=True, slots=True)
class Sidecar:
    """The latest entry of every memory that has one."""

    entries: Mapping[str, Entry] = field(default_factory=_empty)
    damaged: int = 0
    """Lines that could not be read."""
    fault: str = ""
    """Why the whole file could not be read; empty when it could, or when there is none."""
    _marks: Mapping[str, str] = field(default_factory=_empty)

    def entry(self, id: str) -> Entry:
        """What is kept about one memory; empty when nothing is."""
        return self.entries.get(id, _EMPTY)

    def mark(self, shard: str) -> str:
        """Changes whenever an entry about this shard does; part of the shard's stamp."""
        return self._marks.get(shard, "") + self._marks.get("", "")

    def of_shard(self, shard: str) -> Iterator[tuple[str, Entry]]:
        """The entries that name this shard, in the order they were first made."""
        for id, entry in self.entries.items():
            if entry.get("shard", "") == shard:
                yield id, entry


def _lines(text: str) -> Iterator[str]:
    for line in text.split("\n"):
        if line.strip():
            yield line


def _parse(line: str) -> tuple[str, Entry | None] | None:
    """The id and what is set for it, or None for a damaged line."""
    try:
        record = json.loads(line)
    except (ValueError, RecursionError):
        return None
    if not isinstance(record, dict) or not isinstance(record.get("id"), str):
        return None
    value = record.get("set", _EMPTY)
    if value is None or isinstance(value, dict):
        return record["id"], value
    return None


def _marks(entries: Mapping[str, Entry]) -> dict[str, str]:
    sums: dict[str, Any] = {}
    for id, entry in entries.items():
        shard = entry.get("shard", "")
        mark = sums.setdefault(
            shard if isinstance(shard, str) else "", hashlib.blake2b(digest_size=8)
        )
        mark.update(json.dumps([id, dict(entry)], sort_keys=True).encode())
    return {shard: mark.hexdigest() for shard, mark in sums.items()}


def parse(text: str) -> Sidecar:
    """The sidecar that this text holds. Never raises."""
    entries: dict[str, Entry] = {}
    damaged = 0
    for line in _lines(text):
        parsed = _parse(line)
        if parsed is None:
            damaged += 1
        elif parsed[1]:
            entries[parsed[0]] = parsed[1]
        else:
            entries.pop(parsed[0], None)
    return Sidecar(entries, damaged, "", _marks(entries))


def load(root: Path) -> Sidecar:
    """Read the sidecar of the store at this root; an empty one without a file. Never raises."""
    path = sidecar_path(root)
    try:
        if not path.exists():
            return Sidecar()
        return parse(decode(read_bytes(path, root if root.is_dir() else root.parent)))
    except UnreadableFile as error:
        return Sidecar(fault=error.what)
    except OSError as error:
        return Sidecar(fault=error.strerror or "it cannot be read")


KEPT = ".memtui"
"""Key of the shard of memories that only memtui keeps and whose own shard is gone."""


def kept_shard(root: Path, sidecar: Sidecar, shards: Sequence[Shard]) -> tuple[Shard, ...]:
    """The shard of what is kept of shards that exist no more, such as a project that was deleted.

    None as long as every entry's own shard is there.
    """
    gone = _gone(sidecar, {shard.key for shard in shards})
    if not gone:
        return ()
    mark = "".join(sidecar.mark(key) for key in gone)
    return (Shard(KEPT, (str(sidecar_path(root)),), "".join(gone) + mark),)


def _gone(sidecar: Sidecar, keys: Collection[str]) -> list[str]:
    found = (e.get("shard", "") for e in sidecar.entries.values() if "kept" in e)
    return sorted({key for key in found if isinstance(key, str) and key not in keys})


def read_kept(sidecar: Sidecar, shards: Sequence[Shard], label: str) -> Reading:
    """The memories of `kept_shard`."""
    memories = []
    for key in _gone(sidecar, {shard.key for shard in shards}):
        for _, entry in sidecar.of_shard(key):
            memory = kept_memory(entry, label)
            if memory is not None:
                memories.append(memory)
    return Reading(tuple(memories))


class SidecarReader:
    """The sidecar of one store, read again only when its file changed."""

    def __init__(self, root: Path) -> None:
        self._root = root
        self._seen: tuple[str, Sidecar] | None = None

    def current(self) -> Sidecar:
        now = stamp([sidecar_path(self._root)])
        seen = self._seen
        if seen is None or seen[0] != now:
            seen = (now, load(self._root))
            self._seen = seen
        return seen[1]


def _texts(value: object) -> tuple[str, ...]:
    return tuple(item for item in value if isinstance(item, str)) if isinstance(value, list) else ()


def ids_in(entry: Entry, key: str) -> tuple[str, ...]:
    """The ids under `supersedes` or `superseded_by`; what is not one is left out."""
    return _texts(entry.get(key))


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


def links_of(entry: Entry) -> tuple[Link, ...]:
    """The links an entry holds; what is not one is left out."""
    values = entry.get("links")
    found = (_link(value) for value in values) if isinstance(values, list) else ()
    return tuple(link for link in found if link is not None)


def link_value(link: Link) -> dict[str, Any]:
    """A link as an entry holds it."""
    value: dict[str, Any] = {"relation": link.relation, "target": link.target}
    if link.valid_from:
        value["valid_from"] = link.valid_from.isoformat()
    if link.valid_to:
        value["valid_to"] = link.valid_to.isoformat()
    if link.note:
        value["note"] = link.note
    return value


def _joined(first: Iterable[str], second: Iterable[str]) -> tuple[str, ...]:
    return tuple(dict.fromkeys([*first, *second]))


def overlay(memory: Memory, entry: Entry) -> Memory:
    """The memory as its store has it, with what memtui keeps about it laid over it.

    A retired memory whose successor only memtui knows is superseded.
    """
    if not entry:
        return memory
    extra = dict(memory.extra)
    for key in ("rating", "reviewed"):
        if key in entry:
            extra[key] = entry[key]
    superseded_by = _joined(memory.superseded_by, _texts(entry.get("superseded_by")))
    retired = memory.status == "retired"
    return replace(
        memory,
        status="superseded" if retired and superseded_by else memory.status,
        pinned=memory.pinned or entry.get("pinned") is True,
        tags=_joined(memory.tags, _texts(entry.get("tags"))),
        links=memory.links + links_of(entry),
        supersedes=_joined(memory.supersedes, _texts(entry.get("supersedes"))),
        superseded_by=superseded_by,
        extra=extra,
    )


def keep(memory: Memory, places: Iterable[Mapping[str, Any]] = ()) -> dict[str, Any]:
    """The value of `kept` for a memory that is about to leave its store."""
    return {"memory": to_record(memory), "places": [dict(place) for place in places]}


def kept_memory(entry: Entry, label: str) -> Memory | None:
    """The memory that an entry keeps, under the label its store has now; None without a sound one.

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
        memory,
        ref=f"{label}:{memory.id}",
        store=label,
        extra={**memory.extra, "kept": True},
    )
    return overlay(memory, entry)


def laid_over(
    memories: Iterable[Memory], sidecar: Sidecar, shard: str, label: str
) -> tuple[Memory, ...]:
    """The memories of one shard with their entries laid over, then those that only memtui keeps."""
    shown = [overlay(memory, sidecar.entry(memory.id)) for memory in memories]
    present = {memory.id for memory in shown}
    for id, entry in sidecar.of_shard(shard):
        kept = None if id in present else kept_memory(entry, label)
        if kept is not None:
            shown.append(kept)
    return tuple(shown)


def edit(root: Path, sidecar: Sidecar, id: str, shard: str, **values: Any) -> SidecarEdit | None:
    """The edit that sets these keys of one entry (None or empty takes a key away).

    None when the entry already says so.
    """
    before = sidecar.entries.get(id)
    after = dict(before or {})
    after.pop("shard", None)
    for key, value in values.items():
        if value is None or value is False or value in ([], (), {}):
            after.pop(key, None)
        else:
            after[key] = list(value) if isinstance(value, tuple) else value
    wanted = {**after, "shard": shard} if after else None
    if wanted == (None if before is None else dict(before)):
        return None
    return SidecarEdit(str(root), id, before, wanted)
