"""Contain the programming errors of a store: each costs one file, one memory or one act.

A store itself lists files that it cannot read. The guard handles exceptions in its code, and
memories with wrong fields, which would break sorting, printing or writing later. Both are listed as
unreadable with the reason; the traceback goes to the log.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterator, Sequence
from functools import cached_property
from pathlib import Path
from typing import Any, cast

from msgspec.structs import replace

from memtui.changes import Act, Change, Edit, Effect, Plan
from memtui.errors import MemtuiError, Refused
from memtui.files.reading import NO_MEMORY
from memtui.model import Memory, find_defect
from memtui.stores import registry
from memtui.stores.base import (
    Reading,
    Scan,
    Shard,
    Store,
    StoreView,
    Unreadable,
)
from memtui.stores.effects import describe_effect, plan_effect
from memtui.text import cut, cut_line, one_line

log = logging.getLogger(__name__)

MAX_NAMED = 20
"""Faulty memories of one shard that are listed by name; the rest are counted."""
_REASON_CELLS = 160


_OTHERWISE: dict[str, Any] = {
    "editable": frozenset(),
    "relations": (),
    "projects": {},
    "parts_of": (),
    "look_again": (),
    "limit_uses": (),
    "sync_state": None,
    "memory_switches": (),
    "remarks": (),
}
"""What a store that fails answers; that it fails is reported by `scan`."""
_REFUSED = frozenset({"plan", "rescope", "session_start"})
"""What raises Refused where a store fails: an empty answer would be wrong."""


class GuardedStore:
    """Wraps a store. What is not named here passes through, with its errors: the journal recovers
    failed writes."""

    def __init__(self, store: Store) -> None:
        self.format: str = store.format
        self.label: str = store.label
        self.root: Path = store.root
        self._store = store
        self._last: tuple[Shard, ...] = ()

    def __getattr__(self, name: str) -> Any:
        if name not in _OTHERWISE and name not in _REFUSED:
            return getattr(self._store, name)
        found = self._answer(name, lambda: getattr(self._store, name))
        if not callable(found):
            return found
        return lambda *given: self._answer(name, lambda: found(*given))

    def _answer(self, name: str, ask: Callable[[], Any]) -> Any:
        try:
            return ask()
        except MemtuiError:
            raise
        except Exception as error:
            why = self._reason(error)
            if name in _REFUSED:
                raise Refused(why, where=str(self.root)) from error
            return _OTHERWISE[name]

    @property
    def read_only(self) -> str:
        """Why nothing can be written; the error, where the store fails."""
        try:
            return self._store.read_only
        except Exception as error:
            return self._reason(error)

    def refusal(self, act: Act, memory: Memory | None) -> str:
        """Why this act is not possible; the error, where the store fails."""
        try:
            return self._store.refusal(act, memory)
        except Exception as error:
            return self._reason(error)

    def scan(self) -> Scan:
        """The store's scan; where it fails, its last shards and the reason."""
        try:
            found = self._store.scan()
        except Exception as error:
            return Scan(self._last, (Unreadable(str(self.root), self._reason(error)),))
        self._last = found.shards
        return found

    def read(self, shard: Shard) -> Reading:
        """The valid memories of a shard; the rest is listed as unreadable."""
        try:
            reading = self._store.read(shard)
            faults = {at: why for at, m in enumerate(reading.memories) if (why := _defect(m))}
        except Exception as error:
            why = self._reason(error)
            files = shard.files or (str(self.root),)
            return Reading((), tuple(Unreadable(file, why) for file in files))
        if not faults:
            return reading
        sound = tuple(m for at, m in enumerate(reading.memories) if at not in faults)
        listed = _list_faults(shard, [(reading.memories[at], why) for at, why in faults.items()])
        return Reading(sound, (*reading.unreadable, *listed))

    def entity_levels(self, entity: str) -> tuple[str, ...]:
        """The levels of an entity in a tree; the parts of its path, where the store fails."""
        try:
            return self._store.entity_levels(entity)
        except Exception as error:
            self._reason(error)
            return tuple(entity.split("/"))

    def plan(self, change: Change, view: StoreView) -> Plan:
        """The exact edits and their effect. Raises Refused, also where the store fails."""
        plan: Plan = self._answer("plan", lambda: self._store.plan(change, view))
        try:
            return replace(plan, effect=plan_effect(plan, self._store, self._program))
        except Exception as error:
            self._reason(error)
            return plan

    @cached_property
    def _program(self) -> str:
        """The program that writes the store; some formats read files to tell."""
        return registry.product_of(self.format, self.root).name

    def _reason(self, error: Exception) -> str:
        log.error("the store %s failed", self.label, exc_info=error)
        if isinstance(error, MemoryError):
            return NO_MEMORY
        detail = f": {one_line(str(error))}" if str(error) else ""
        return cut(f"memtui failed at it ({type(error).__name__}{detail})", _REASON_CELLS)


def guarded(store: Store) -> Store:
    """Wrap the store, unless it is wrapped already."""
    return store if isinstance(store, GuardedStore) else cast(Store, GuardedStore(store))


def unguarded(store: Store) -> Store:
    """The store itself."""
    return store._store if isinstance(store, GuardedStore) else store


def effect_of(
    act: Act | None, edits: Sequence[Edit], store: Store, *, is_undo: bool = False
) -> Effect | None:
    """What these edits mean for the store's program, see `describe_effect`; None where it fails."""
    program = registry.product_of(store.format, store.root).name
    try:
        return describe_effect(act, edits, store, program, is_undo=is_undo)
    except Exception as error:
        log.error("the effect in %s is not known", store.label, exc_info=error)
        return None


def _defect(memory: Memory) -> str:
    try:
        return find_defect(memory)
    except Exception:  # a field may hold any type
        return "it is not as a memory has to be"


def _list_faults(shard: Shard, faults: Sequence[tuple[Memory, str]]) -> Iterator[Unreadable]:
    file = shard.files[0] if shard.files else shard.key
    for memory, why in faults[:MAX_NAMED]:
        where = getattr(getattr(memory, "origin", None), "file", "")
        id = getattr(memory, "id", "of no id")
        named = cut_line(f"the memory {id}: {why}", _REASON_CELLS)
        yield Unreadable(where if isinstance(where, str) and where else file, named)
    if len(faults) > MAX_NAMED:
        yield Unreadable(file, f"{len(faults) - MAX_NAMED} more memories like these")
