"""Count accesses: write into each store, or beside it, that memories were given to somebody.

It goes through the stores' save path, with its locks and merging, but not through the journal: an
access is no change that a person would undo, and `memtui undo` must find the last edit.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from datetime import datetime
from pathlib import Path

from memtui.errors import Conflict, RefError
from memtui.files.locking import locked
from memtui.files.write_recorder import NullRecorder
from memtui.model import Memory
from memtui.stores.accesses import CountsAccesses, counts_accesses
from memtui.stores.base import StoreView, WritableStore

TRIES = 5
"""The store's own program may count at the same moment; each try reads the counts again."""
LOCK = "accesses"
"""Name that the lock of a store's counts goes by; the lock lies in the state folder."""


def count_accesses(
    refs: Iterable[str],
    stores: Sequence[WritableStore],
    view: StoreView,
    now: datetime,
    state: Path,
) -> int:
    """Count one access of each memory.

    Returns:
        How many were counted; memories that are gone, and stores that cannot count, are left out.

    Raises:
        Conflict: other processes changed the counts at every try.
        Refused, SaveError: the counts cannot be written.
    """
    by_store: dict[str, list[Memory]] = {}
    for ref in dict.fromkeys(refs):
        try:
            memory = view.get(ref)
        except RefError:
            continue
        by_store.setdefault(memory.store, []).append(memory)
    counted = 0
    for store in stores:
        memories = by_store.get(store.label)
        if memories and counts_accesses(store):
            # Two that add one to the same count in the same second would write the same bytes, and
            # the second would be taken for written.
            with locked(store.root / LOCK, state):
                _count(store, memories, now, state)
            counted += len(memories)
    return counted


def _count(store: CountsAccesses, memories: Sequence[Memory], now: datetime, state: Path) -> None:
    for left in reversed(range(TRIES)):
        try:
            store.apply(store.plan_accesses(memories, now), NullRecorder(state))
            return
        except Conflict:
            if not left:
                raise
