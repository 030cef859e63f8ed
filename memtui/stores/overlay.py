"""Combine the memories of a store's files with the entries of its sidecar.

Memories that the store itself no longer holds are added from the sidecar, which keeps them whole.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from memtui.files.sidecar_lines import sidecar_path
from memtui.model import Memory, from_record, to_record
from memtui.stores.base import Reading, Shard
from memtui.stores.sidecar import Entry, Sidecar, entry_links
from memtui.stores.values import texts_of


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
    superseded_by = _joined(memory.superseded_by, texts_of(entry.get("superseded_by")))
    retired = memory.status == "retired"
    return replace(
        memory,
        status="superseded" if retired and superseded_by else memory.status,
        pinned=memory.pinned or entry.get("pinned") is True,
        tags=_joined(memory.tags, texts_of(entry.get("tags"))),
        links=memory.links + entry_links(entry),
        supersedes=_joined(memory.supersedes, texts_of(entry.get("supersedes"))),
        superseded_by=superseded_by,
        extra=extra,
    )


def kept_value(memory: Memory, places: Iterable[Mapping[str, Any]] = ()) -> dict[str, Any]:
    """The value of the key `kept` for a memory that is removed from its store's files."""
    return {"memory": to_record(memory), "places": [dict(place) for place in places]}


def kept_memory(entry: Entry, label: str) -> Memory | None:
    """The memory that an entry keeps, under the store's present label; None if malformed.

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


def apply_overlay(
    memories: Iterable[Memory], sidecar: Sidecar, shard: str, label: str
) -> tuple[Memory, ...]:
    """Add the sidecar entries to the memories of a shard, then the memories only they keep."""
    if not sidecar.entries:
        return tuple(memories)
    shown = [overlay(memory, sidecar.entry(memory.id)) for memory in memories]
    present = {memory.id for memory in shown}
    for id, entry in sidecar.of_shard(shard):
        kept = None if id in present else kept_memory(entry, label)
        if kept is not None:
            shown.append(kept)
    return tuple(shown)


KEPT_SHARD = ".memtui"
"""Key of the shard of memories that only memtui keeps and whose own shard is gone."""


def kept_shard(root: Path, sidecar: Sidecar, shards: Sequence[Shard]) -> tuple[Shard, ...]:
    """The shard of memories kept of shards that no longer exist, such as a deleted project.

    None as long as every entry's own shard is there.
    """
    gone = _gone(sidecar, shards)
    if not gone:
        return ()
    mark = "".join(sidecar.mark(key) for key in gone)
    return (Shard(KEPT_SHARD, (str(sidecar_path(root)),), "".join(gone) + mark),)


def _gone(sidecar: Sidecar, shards: Sequence[Shard]) -> list[str]:
    named = (e.get("shard", "") for e in sidecar.entries.values() if "kept" in e)
    found = {key for key in named if isinstance(key, str)}
    return sorted(found.difference(shard.key for shard in shards)) if found else []


def read_kept_shard(sidecar: Sidecar, shards: Sequence[Shard], label: str) -> Reading:
    """The memories of `kept_shard`."""
    memories = []
    for key in _gone(sidecar, shards):
        for _, entry in sidecar.of_shard(key):
            memory = kept_memory(entry, label)
            if memory is not None:
                memories.append(memory)
    return Reading(tuple(memories))
