"""What was believed at a time: the memories that were there then, with their status and text.

A memory was there if it was created by then, or, if its creation has no date, changed by then; one
without any date is taken to have been there always. Of one that was changed since, the last change
by then is not known. It was in use if it was not yet superseded, retired or deleted: superseded at
the creation of its first successor (or at the start of the link that says so), retired or deleted
at the time that the store gives, else at its last change. If none of this is known, its present
status is taken. What the journal, the versions a store keeps, or git know of that time goes before
all this.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from datetime import datetime

from memtui.insight.link_statements import SUPERSEDES, last_change, stated_end
from memtui.insight.versions import VERSIONS_KEY, kept_versions
from memtui.model import CURRENT, Memory
from memtui.stores.values import from_iso

FindMemory = Callable[[str, str], Memory | None]
"""Looks up a memory by store label and id; None if it does not exist."""


@dataclass(frozen=True, slots=True)
class FormerStates:
    """What is known for certain of some memories at one time, from the journal and git."""

    memories: Mapping[str, Memory] = field(default_factory=dict)
    """Ref -> the memory as it was; also of memories that are no longer there."""
    absent: frozenset[str] = frozenset()
    """Refs of memories that were not there yet."""


def was_there(memory: Memory, at: datetime) -> bool:
    """Whether a memory had been created by this time."""
    begun = memory.created or memory.updated
    return begun is None or begun <= at


def with_times_at(memory: Memory, at: datetime) -> Memory:
    """The memory without the time of a change that came after this time."""
    is_later = memory.updated is not None and memory.updated > at
    return replace(memory, updated=None) if is_later else memory


def find_end(memory: Memory, find: FindMemory) -> datetime | None:
    """When a memory was taken out of use; None if it is in use, or if nobody knows."""
    if memory.status in CURRENT:
        return None
    times = [
        time
        for id in memory.superseded_by
        if (newer := find(memory.store, id)) is not None
        and (time := _superseded_at(memory, newer)) is not None
    ]
    if stated := stated_end(memory):
        times.append(stated)
    return min(times) if times else last_change(memory)


def _superseded_at(memory: Memory, newer: Memory) -> datetime | None:
    begun = newer.created or newer.updated
    for link in newer.links:
        if link.relation == SUPERSEDES and link.target == memory.id and link.valid_from is not None:
            return max(link.valid_from, begun) if begun is not None else link.valid_from
    return begun


def with_status_at(memory: Memory, at: datetime, ended: datetime | None) -> Memory:
    """The memory in use again, if it was taken out of use after this time."""
    if ended is None or ended <= at:
        return memory
    return replace(memory, status="active", superseded_by=())


def text_at(memory: Memory, at: datetime) -> Memory:
    """The memory with the text it had, as far as its store keeps former versions."""
    versions = kept_versions(memory)
    if not versions:
        return memory
    ends = [version.time for version in versions[1:]]
    listed = memory.extra[VERSIONS_KEY]
    ends.append(from_iso(listed[-1].get("created_at")) if isinstance(listed[-1], dict) else None)
    for version, end in zip(versions, ends, strict=True):
        if end is not None and at < end:
            return version.memory
    return memory
