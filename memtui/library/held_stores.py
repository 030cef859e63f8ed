"""Asked stores, read for what needs all memories at once: as far as they are small enough to hold.

A check, a review, a context pack, a comparison, and the stores as of a time look at every memory.
Of an asked store they look at `MAX_HELD`, and say so where it has more.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime
from typing import Any, NamedTuple, cast
from uuid import uuid4

from msgspec.structs import replace

from memtui.errors import MemtuiError, Refused
from memtui.library.queried_stores import EVERYTHING, size_of
from memtui.model import Memory
from memtui.progress import Cancelled, IsCancelled, never
from memtui.query import Query, Sort, TimeCondition
from memtui.stores.base import Reading, Scan, Shard, Store, Unreadable
from memtui.stores.queryable import FormerVersion, Page, QueryableStore
from memtui.text import number

MAX_HELD = 10_000
_PAGE = 2_000
"""Memories of one question: the answer comes well within the time-out of a statement."""


class HeldStore:
    """An asked store as one that is read: everything but `scan` and `read` is that store's own."""

    def __init__(self, store: QueryableStore, wanted: Query) -> None:
        """`wanted`: where the store has too many memories, half of those that are read have its
        words, as far as there are so many; the others are the most important ones."""
        self.format, self.label, self.root = store.format, store.label, store.root
        self._store, self._wanted = store, wanted

    def __getattr__(self, name: str) -> Any:
        return getattr(self._store, name)

    def scan(self) -> Scan:
        """One shard, which is read again after each scan."""
        where = str(self.root)
        try:
            size = size_of(self._store)
        except MemtuiError as error:
            return Scan((), (Unreadable(where, error.what),))
        shard = Shard("memories", (), uuid4().hex)
        if size.value <= MAX_HELD:
            return Scan((shard,))
        of_all = number(size.value, size.accuracy)
        chosen = "the newest" if not self._wanted.terms else "those of this task"
        why = f"only {number(MAX_HELD)} of its {of_all} memories were looked at, {chosen} first"
        return Scan((shard,), (Unreadable(where, why),))

    def read(self, shard: Shard) -> Reading:  # noqa: ARG002
        try:
            wanted = replace(EVERYTHING, terms=self._wanted.terms)
            candidates = self._store.candidates(wanted, MAX_HELD // 2) if wanted.terms else ()
            memories = {memory.ref: memory for memory in candidates}
            order = Sort.IMPORTANCE if self._wanted.terms else Sort.NEW
            rest, _ = read_memories(self._store, replace(EVERYTHING, sort=order))
        except MemtuiError as error:
            return Reading((), (Unreadable(str(self.root), error.what),))
        memories.update((memory.ref, memory) for memory in rest)
        return Reading(tuple(memories.values())[:MAX_HELD])


def held(store: Store, wanted: Query) -> Store:
    """The store itself, unless it is asked."""
    if not isinstance(store, QueryableStore):
        return store
    return cast(Store, HeldStore(store, wanted))


def read_memories(
    store: QueryableStore, query: Query, cancelled: IsCancelled = never
) -> tuple[list[Memory], bool]:
    """The first `MAX_HELD` memories that a query finds, and whether these are all.

    Raises StoreError, Cancelled.
    """
    found: list[Memory] = []
    page = Page(is_last=False)
    while not page.is_last and len(found) < MAX_HELD:
        if cancelled():
            raise Cancelled
        after = page.positions[-1] if page.positions else None
        page = store.find(query, after, min(_PAGE, MAX_HELD - len(found)))
        found += page.memories
    return found, page.is_last


# ---- the past ------------------------------------------------------------------------------------


class Past(NamedTuple):
    """An asked store at two times, as far as it differs between them."""

    before: Mapping[str, Memory]
    """Ref -> memory."""
    after: Mapping[str, Memory]
    by: Mapping[str, str]
    """Ref -> who changed it last until the second time."""


def memories_at(
    store: QueryableStore, at: datetime, cancelled: IsCancelled = never
) -> Mapping[str, Memory]:
    """The memories of an asked store as they were at a time, by ref.

    Raises Refused where it keeps no former values or has too many memories, StoreError, Cancelled.
    """
    later = _changes_since(store, at)
    present, is_all = read_memories(store, EVERYTHING, cancelled)
    if not is_all:
        what = f"it has more than {number(MAX_HELD)} memories, too many to show its past"
        raise Refused(what, where=str(store.root))
    return _as_of(present, later, at)


def compare_times(
    store: QueryableStore, since: datetime, until: datetime, cancelled: IsCancelled = never
) -> Past:
    """What an asked store was at two times, as far as it changed after the first.

    Raises Refused where it keeps no former values or too much changed, StoreError, Cancelled.
    """
    changes = _changes_since(store, since)
    query = replace(EVERYTHING, since=TimeCondition("", since))
    present, is_all = read_memories(store, query, cancelled)
    if not is_all:
        raise _too_many(store)
    # What a program changed without noting the time is not among these.
    known = {memory.ref for memory in present}
    present += store.get({each.memory.ref for each in changes} - known)
    by: dict[str, str] = {m.ref: str(m.extra.get("author") or "") for m in present}
    for each in reversed(changes):
        if each.until <= until:
            by[each.memory.ref] = each.who
    before, after = (_as_of(present, changes, at) for at in (since, until))
    for ref in after.keys() - before.keys():  # whoever changed it later did not add it
        by[ref] = str(after[ref].extra.get("author") or by[ref])
    return Past(before, after, by)


def _changes_since(store: QueryableStore, time: datetime) -> Sequence[FormerVersion]:
    if store.no_past:
        raise Refused(store.no_past, where=str(store.root))
    found = store.changes_since(time, MAX_HELD + 1)
    if len(found) > MAX_HELD:
        raise _too_many(store)
    return found


def _too_many(store: QueryableStore) -> Refused:
    return Refused(f"more than {number(MAX_HELD)} changes since then", where=str(store.root))


def _as_of(
    present: Iterable[Memory], changes: Iterable[FormerVersion], at: datetime
) -> Mapping[str, Memory]:
    """The memories of a time; `changes` are the newest first, so that the first after it counts."""
    found = {memory.ref: memory for memory in present}
    found.update((each.memory.ref, each.memory) for each in changes if each.until > at)
    return {ref: m for ref, m in found.items() if m.created is None or m.created <= at}
