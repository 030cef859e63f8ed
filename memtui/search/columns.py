"""The fields that filters, orders and counts need of every memory, as arrays over slots.

A **slot** is the number of a memory's row in the table. A changed memory gets a new slot, and its
old one is no longer alive; no slot is used again. Columns are immutable; a change makes new ones
with `concat`, which copies the arrays and reads no memory.
"""

from __future__ import annotations

import math
import time
from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime
from functools import cached_property, lru_cache
from itertools import accumulate
from typing import Any, NamedTuple

import numpy as np
from msgspec import Struct, field
from msgspec.structs import replace
from numpy.typing import NDArray

from memtui.model import IMPORTANCES, KINDS, STATUSES, Memory
from memtui.search import salience
from memtui.search.array_types import Ints, Mask
from memtui.search.documents import find_context, find_position, find_speaker
from memtui.search.salience import DAY_SECONDS as DAY_SECONDS

Slots = NDArray[np.int64]

NO_SLOTS: Slots = np.empty(0, np.int64)

FIXED_VALUES: Mapping[str, Sequence[str]] = {
    "status": STATUSES,
    "importance": IMPORTANCES,
    "kind": KINDS,
    "pinned": ("no", "yes"),
}
"""Field of codes -> its values, whatever the memories are."""
VOCABULARY_OF = {
    "type": "types",
    "entity": "entities",
    "store": "stores",
    "context": "contexts",
    "speaker": "speakers",
}
"""Field of codes -> its vocabulary."""


class Columns(Struct, frozen=True, eq=False, dict=True):
    """Arrays with one value per slot; codes are indices into the vocabularies."""

    alive: Mask
    place: NDArray[np.float64]
    """The order of reading: what was read again has fractions after the place that it had."""
    when: NDArray[np.float64]
    """Seconds since 1970 of the last change, else of creation; nan if neither is known."""
    created: NDArray[np.float64]
    """Seconds since 1970 of creation; nan if it is not known."""
    position: NDArray[np.int32]
    """The place in the file or table (`documents.find_position`), to put a session in order."""
    context: NDArray[np.int32]
    """The session, or the entity, to which the memory belongs."""
    speaker: NDArray[np.int32]
    """The name before the first colon of the text: `Ada: I baked bread.`"""
    asks: Mask
    """The text ends with a question."""
    by_file: Mask
    """`when` is only the time of the file (`Memory.is_dated_by_file`)."""
    type: NDArray[np.int32]
    importance: NDArray[np.int8]
    status: NDArray[np.int8]
    kind: NDArray[np.int8]
    entity: NDArray[np.int32]
    store: NDArray[np.int32]
    pinned: Mask
    salience: NDArray[np.float32]
    """See `memtui.search.salience.measure_frequency`."""
    accesses: NDArray[np.float32]
    accessed: NDArray[np.float64]
    """Seconds since 1970 of the last access, else as `when`."""
    revisions: NDArray[np.float32]
    """See `memtui.search.salience`."""
    types: tuple[str, ...] = ()
    entities: tuple[str, ...] = ()
    stores: tuple[str, ...] = ()
    contexts: tuple[str, ...] = ()
    speakers: tuple[str, ...] = ()
    tags: Mapping[str, Slots] = field(default_factory=dict)
    """Folded tag -> slots that have it."""
    also: NDArray[np.int32] = field(default_factory=lambda: np.zeros((0, 3), np.int32))
    """Further entities of memories, one per row: the slot, the entity, and the deepest path that it
    shares with an earlier one. At that path and above, the memory would be counted twice."""

    def __len__(self) -> int:
        return len(self.alive)

    @cached_property
    def newest_first(self) -> Slots:
        """All slots, newest first, undated last, in the order of reading if equal."""
        return np.lexsort((self.place, -self.ordering_times))

    @cached_property
    def ordering_times(self) -> NDArray[np.float64]:
        """`when`, with approximate times behind all others of their day."""
        end = np.floor(self.when / DAY_SECONDS) * DAY_SECONDS - 1
        return np.where(self.approximate, end + self.when % DAY_SECONDS / DAY_SECONDS, self.when)

    @cached_property
    def approximate(self) -> Mask:
        """Which slots have only the time of their file."""
        return self.by_file & ~np.isnan(self.when)

    @cached_property
    def begun(self) -> NDArray[np.float64]:
        """The seconds since 1970 of creation, else of the last change; nan if neither is known."""
        return np.where(np.isnan(self.created), self.when, self.created)

    @cached_property
    def shown(self) -> NDArray[np.float64]:
        """`when`, for comparison with local days: see `place_days`."""
        return place_days(self.when)

    @cached_property
    def shown_created(self) -> NDArray[np.float64]:
        """`created`, for comparison with local days."""
        return place_days(self.created)

    @cached_property
    def days(self) -> DayCodes:
        """The local day of `when`."""
        is_known = ~np.isnan(self.when)
        known = day_numbers(self.when[is_known])
        days, codes = np.unique(known, return_inverse=True)
        of_slot = np.full(len(self.when), len(days), np.int32)
        of_slot[is_known] = codes
        return DayCodes(days, of_slot)

    @cached_property
    def _shown_types(self) -> tuple[NDArray[np.int32], Sequence[str]]:
        """The codes and names of types as people see them: a memory without one has its kind."""
        if "" not in self.types:
            return self.type, self.types
        known = {name: code for code, name in enumerate(filter(None, self.types))}
        kinds = np.array([known.setdefault(kind, len(known)) for kind in KINDS], np.int32)
        codes = np.array([known.get(name, -1) for name in self.types], np.int32).take(self.type)
        return np.where(codes < 0, kinds.take(self.kind), codes), tuple(known)

    def coded(self, name: str) -> tuple[NDArray[np.signedinteger[Any]], Sequence[str]]:
        """The code of each slot in a field, and the values that the codes stand for."""
        if name == "type":
            return self._shown_types
        fixed = FIXED_VALUES.get(name)
        values = getattr(self, VOCABULARY_OF[name]) if fixed is None else fixed
        return getattr(self, name), values

    def without(self, slots: Sequence[int]) -> Columns:
        """Return columns in which these slots are no longer alive."""
        alive = self.alive.copy()
        alive[np.asarray(slots, np.int64)] = False
        return replace(self, alive=alive)

    def with_positions(self, slots: Sequence[int], positions: Sequence[int]) -> Columns:
        """Return columns in which these slots have these positions."""
        position = self.position.copy()
        position[np.asarray(slots, np.int64)] = positions
        return replace(self, position=position)

    def with_times(self, slots: Sequence[int], times: Sequence[float]) -> Columns:
        """Return columns in which these slots, which had the time of their file, have these."""
        at = np.asarray(slots, np.int64)
        when, by_file, created = self.when.copy(), self.by_file.copy(), self.created.copy()
        created[at] = math.nan
        when[at], by_file[at] = times, False
        return replace(self, when=when, by_file=by_file, created=created)

    def with_places(self, shards: Iterable[tuple[Sequence[int], Sequence[int]]]) -> Columns:
        """Return columns in which the slots of each pair come, in their order, where its second
        slots were."""
        place = self.place.copy()
        for slots, former in shards:
            first = np.floor(place[np.asarray(former, np.int64)].min())
            place[np.asarray(slots, np.int64)] = first + np.arange(len(slots)) / len(slots)
        return replace(self, place=place)

    def slots_of_store(self, label: str) -> list[int]:
        """The live slots of the store with this label, in the order of reading."""
        if label not in self.stores:
            return []
        slots = np.flatnonzero(self.alive & (self.store == self.stores.index(label)))
        found: list[int] = slots[np.argsort(self.place[slots], kind="stable")].tolist()
        return found

    def live_slots(self) -> Slots:
        """The slots that are alive, ascending."""
        return np.flatnonzero(self.alive)


class DayCodes(NamedTuple):
    """Times by day. Divided once: for each letter that took 45 ms at a million memories."""

    days: Slots
    """The local days since 1970 that occur, ascending."""
    of_slot: Ints
    """The position of each slot's day in `days`; their number if it has no time."""


ARRAYS = Columns.__struct_fields__[: -len(Columns.__struct_defaults__)]
"""The arrays with one value per slot: the fields without a default."""


def build(memories: Sequence[Memory]) -> Columns:
    """Return the columns of these memories, in their order, all alive."""
    size = len(memories)
    when = [_seconds(memory.when) for memory in memories]
    accessed = np.array(when, np.float64)
    used = np.zeros(size, np.float32)
    accesses = np.zeros(size, np.float32)
    revisions = np.zeros(size, np.float32)
    for slot, memory in enumerate(memories):
        if memory.extra and salience.is_counted(memory):
            used[slot] = salience.measure_frequency(memory)
            accesses[slot] = salience.count_accesses(memory)
            revisions[slot] = salience.count_revisions(memory)
            if (last := salience.find_last_access(memory)) is not None:
                accessed[slot] = last.timestamp()
    entity, entities = _number(memory.entity for memory in memories)
    type_, types = _number(memory.type for memory in memories)
    store, stores = _number(memory.store for memory in memories)
    context, contexts = _number(map(find_context, memories))
    speaker, speakers = _number(find_speaker(memory.content) for memory in memories)
    tags: dict[str, list[int]] = {}
    also: list[tuple[int, int, int]] = []
    for slot, memory in enumerate(memories):
        for tag in memory.tags:
            tags.setdefault(tag.casefold(), []).append(slot)
        known = [memory.entity]
        for other in memory.also_entities:
            shared = entities.setdefault(_shared_path(other, known), len(entities))
            also.append((slot, entities.setdefault(other, len(entities)), shared))
            known.append(other)
    return Columns(
        alive=np.ones(size, np.bool_),
        place=np.arange(size, dtype=np.float64),
        when=np.array(when, np.float64),
        created=np.array([_seconds(memory.created) for memory in memories], np.float64),
        position=np.array([find_position(memory.origin) for memory in memories], np.int32),
        context=context,
        speaker=speaker,
        asks=np.array([memory.content.endswith("?") for memory in memories], np.bool_),
        by_file=np.array([bool(m.extra) and m.is_dated_by_file for m in memories], np.bool_),
        type=type_,
        importance=np.array([_IMPORTANCE_CODES[m.importance] for m in memories], np.int8),
        status=np.array([_STATUS_CODES[memory.status] for memory in memories], np.int8),
        kind=np.array([_KIND_CODES[memory.kind] for memory in memories], np.int8),
        entity=entity,
        store=store,
        pinned=np.array([memory.pinned for memory in memories], np.bool_),
        salience=used,
        accesses=accesses,
        accessed=accessed,
        revisions=revisions,
        types=tuple(types),
        entities=tuple(entities),
        stores=tuple(stores),
        contexts=tuple(contexts),
        speakers=tuple(speakers),
        tags={tag: np.array(slots, np.int64) for tag, slots in tags.items()},
        also=np.array(also, np.int32).reshape(-1, 3),
    )


_IMPORTANCE_CODES, _STATUS_CODES, _KIND_CODES = (
    {name: code for code, name in enumerate(names)} for names in (IMPORTANCES, STATUSES, KINDS)
)


def _seconds(time: datetime | None) -> float:
    return math.nan if time is None else time.timestamp()


def _number(values: Iterable[str]) -> tuple[NDArray[np.int32], dict[str, int]]:
    """Number values in the order in which they first occur."""
    known: dict[str, int] = {}
    codes = [known.setdefault(value, len(known)) for value in values]
    return np.array(codes, np.int32), known


def _shared_path(entity: str, others: Sequence[str]) -> str:
    """The longest path that the entity shares with one of the others."""
    parts = entity.split("/")
    for end in range(len(parts), 0, -1):
        path = "/".join(parts[:end])
        if any(other == path or other.startswith(f"{path}/") for other in others):
            return path
    return ""


def concat(parts: Sequence[Columns]) -> Columns:
    """Return these columns one after the other, with merged vocabularies."""
    parts = [part for part in parts if len(part)]
    if len(parts) == 1:
        return parts[0]
    if not parts:
        return build(())
    joined: dict[str, Any] = {}
    entity_codes: list[NDArray[np.int32]] = []
    for name in ARRAYS:
        if (vocabulary := VOCABULARY_OF.get(name)) is None:
            joined[name] = np.concatenate([getattr(part, name) for part in parts])
            continue
        known: dict[str, int] = {}
        arrays = []
        for part in parts:
            values = getattr(part, vocabulary)
            moved = np.array([known.setdefault(v, len(known)) for v in values] or [0], np.int32)
            arrays.append(moved[getattr(part, name)])
            if name == "entity":
                entity_codes.append(moved)
        joined[name] = np.concatenate(arrays)
        joined[vocabulary] = tuple(known)
    joined["place"] = np.concatenate(
        [
            part.place + first
            for part, first in zip(parts, accumulate(map(len, parts), initial=0), strict=False)
        ]
    )
    tags: dict[str, list[Slots]] = {}
    also: list[NDArray[np.int32]] = []
    first = 0
    for part, moved in zip(parts, entity_codes, strict=True):
        for tag, slots in part.tags.items():
            tags.setdefault(tag, []).append(slots + first)
        further = part.also
        also.append(np.column_stack([further[:, 0] + np.int32(first), moved[further[:, 1:]]]))
        first += len(part)
    return Columns(
        **joined,
        tags={tag: np.concatenate(s) for tag, s in tags.items()},
        also=np.concatenate(also),
    )


def diff_slots(before: Slots, after: Slots) -> tuple[Slots, Slots]:
    """The slots only in `before`, and those only in `after`; both ascend."""
    removed = np.setdiff1d(before, after, assume_unique=True)
    return removed, np.setdiff1d(after, before, assume_unique=True)


def without_slots(slots: Slots, removed: Slots) -> Slots:
    """Return the `slots` without the `removed` ones; all ascend."""
    return np.setdiff1d(slots, removed, assume_unique=True)


def with_slots(slots: Slots, added: Slots) -> Slots:
    """Return the `slots` and the `added` ones, ascending."""
    return np.union1d(slots, added)


def take(columns: Columns, selection: Sequence[int] | Slots) -> Columns:
    """Select and renumber slots; unused values leave the vocabularies.

    Args:
        columns: The columns to select from.
        selection: The slots to take, in their new order.

    Returns:
        Columns in which the first selected slot is 0.
    """
    slots = np.asarray(selection, np.int64)
    moved = np.full(len(columns), -1, np.int64)
    moved[slots] = np.arange(len(slots))
    tags = {tag: moved[tagged][moved[tagged] >= 0] for tag, tagged in columns.tags.items()}
    also = columns.also[moved[columns.also[:, 0]] >= 0]
    also[:, 0] = moved[also[:, 0]]
    taken: dict[str, Any] = {name: getattr(columns, name)[slots] for name in ARRAYS}
    for name, vocabulary in VOCABULARY_OF.items():
        used = taken[name]
        if vocabulary == "entities":
            used = np.concatenate([used, also[:, 1:].ravel()])
        codes, renumbered = np.unique(used, return_inverse=True)
        renumbered = renumbered.astype(np.int32)
        taken[name] = renumbered[: len(slots)]
        if vocabulary == "entities":
            also[:, 1:] = renumbered[len(slots) :].reshape(-1, 2)
        names = getattr(columns, vocabulary)
        taken[vocabulary] = tuple(names[code] for code in codes.tolist())
    used_tags = {tag: tagged for tag, tagged in tags.items() if len(tagged)}
    return replace(columns, **taken, tags=used_tags, also=also)


def further_entities(columns: Columns, slots: Slots) -> NDArray[np.int32]:
    """Those rows of `Columns.also` that are of these slots."""
    if not len(columns.also):
        return columns.also
    is_asked = np.zeros(len(columns.alive), np.bool_)
    is_asked[slots] = True
    return columns.also[is_asked.take(columns.also[:, 0])]


def to_array(slots: Sequence[int] | Slots) -> Slots:
    """Return slots as an array."""
    return np.asarray(slots, np.int64)


# ---- days in the zone of this machine ---------------------------------------------------------

Seconds = NDArray[np.float64]
_FIRST_YEAR, _LAST_YEAR = 1971, 2099
_YEAR_SECONDS = 365.25 * DAY_SECONDS


def place_days(times: Seconds) -> Seconds:
    """Move what is only a day to its midnight in this zone; other times stay, see
    `memtui.stores.values.as_moment`.

    Args:
        times: Seconds since 1970, nan where there is no time.
    """
    is_day = times % DAY_SECONDS == 0
    if not is_day.any():
        return times
    return np.where(is_day, times - offsets(times - offsets(times)), times)


def day_numbers(times: Seconds) -> NDArray[np.int64]:
    """The local days since 1970 of known times."""
    local = np.where(times % DAY_SECONDS == 0, times, times + offsets(times))
    return (local // DAY_SECONDS).astype(np.int64)


def offsets(times: Seconds) -> Seconds:
    """Seconds that this zone is ahead of UTC at each time."""
    known = times[np.isfinite(times)]
    if not len(known):
        return np.zeros(len(times))
    first, last = (int(1970 + bound // _YEAR_SECONDS) for bound in (known.min(), known.max()))
    starts, ahead = _steps(first - 1, last + 2, time.tzname, time.timezone)
    at = np.searchsorted(starts, np.nan_to_num(times, nan=0.0), side="right") - 1
    return ahead[np.maximum(at, 0)]


@lru_cache(maxsize=8)
def _steps(first: int, last: int, *_zone: object) -> tuple[Seconds, Seconds]:
    """The times at which the offset changes within these years, and the offset from each on."""
    at = int((max(first, _FIRST_YEAR) - 1970) * _YEAR_SECONDS)
    end = int((min(max(last, first + 1), _LAST_YEAR) - 1970) * _YEAR_SECONDS)
    starts, ahead = [float(at)], [float(_offset(at))]
    while at < end:
        before, at = at, at + int(DAY_SECONDS)
        if _offset(at) != ahead[-1]:
            while at - before > 1:
                middle = (before + at) // 2
                before, at = (middle, at) if _offset(middle) == ahead[-1] else (before, middle)
            starts.append(float(at))
            ahead.append(float(_offset(at)))
    return np.array(starts), np.array(ahead)


def _offset(at: int) -> int:
    return time.localtime(at).tm_gmtoff
