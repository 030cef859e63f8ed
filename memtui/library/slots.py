"""The table of all loaded memories by slot, and resolving refs and ids to slots."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence

from memtui.dataclass import replace
from memtui.errors import RefError, did_you_mean
from memtui.library.snapshot import Rows
from memtui.model import Memory
from memtui.search import columns as columns_of
from memtui.search import numbering
from memtui.search.catalog import Catalog
from memtui.search.columns import Columns, Slots
from memtui.search.numbering import HashedRefs, RefSlots, Serials, hash_refs, with_hashed
from memtui.text import and_more, visible

SPILLED_FROM = 1 << 15
"""Rows in memory from which they are written to disk: 45 MB."""
MAX_RECENT = 1 << 14
"""Refs that are kept as texts: those of changed memories, and of a batch of new ones."""


class SlotTable:
    """Rows with their columns; not thread-safe, `LoadedStores` holds the lock.

    A memory that changed is appended and its former row marked dead; `compact` drops dead rows.
    """

    def __init__(self) -> None:
        self._parts: list[Sequence[Memory]] = []
        self._hashed: Sequence[HashedRefs] | None = ()
        """See `RefSlots`; None: not read yet."""
        self._recent: dict[str, int] = {}
        self._serials = numbering.NO_SERIALS
        self._given = 0
        """How many serials have been given out."""
        self.columns: Columns = columns_of.build(())

    def __len__(self) -> int:
        return len(self.columns)

    def rows(self) -> Rows:
        return Rows(self._parts, self._serials)

    def append(self, memories: Sequence[Memory], *, shard_of: Sequence[str]) -> list[int]:
        """Add memories, and make their refs unique.

        A ref that is taken already (the same id twice in one store) gets its shard appended.

        Args:
            memories: added in this order.
            shard_of: the key of the shard of each.

        Returns:
            The slots of memories whose ref was taken, and of those that had it.
        """
        first = len(self)
        used = self.slot_of.extended(len(memories))
        self._recent = used.recent
        unique = list(memories)
        shared: list[int] = []
        may_have = used.may_have([memory.ref for memory in unique])
        for at, (memory, is_hashed) in enumerate(zip(unique, may_have, strict=True)):
            ref = memory.ref
            if (is_hashed or ref in self._recent) and ref in used:
                shared += (used[ref], first + at)
                ref = _free_ref(f"{memory.ref}@{shard_of[at]}", used)
                unique[at] = replace(memory, ref=ref)
            self._recent[ref] = first + at
        self._parts = _joined([*self._parts, tuple(unique)])
        self._number(len(unique))
        self.columns = columns_of.concat([self.columns, columns_of.build(unique)])
        return shared

    def keep_places(self, former_slots: Mapping[int, int]) -> None:
        """Give slots (keys) the places of former ones, so that what was read again is not moved
        among memories of the same time, or without one."""
        if former_slots:
            place = self.columns.place.copy()
            place[[*former_slots]] = place[[*former_slots.values()]]
            self.columns = replace(self.columns, place=place)

    def append_cached(self, catalog: Catalog) -> int:
        """Add the rows of a cached store; return the first slot."""
        first = len(self)
        self._parts.append(catalog.rows)
        self._number(len(catalog.rows))
        self._hashed = None
        self.columns = columns_of.concat([self.columns, catalog.columns])
        return first

    def _number(self, count: int) -> None:
        self._serials = numbering.append_range(self._serials, self._given, count)
        self._given += count

    def compact(self, kept_slots: Slots) -> None:
        """Renumber the rows in these slots (ascending) and drop all others."""
        parts: list[Sequence[Memory]] = []
        first = 0
        for rows in self._parts:
            inside = numbering.find_kept_in_range(kept_slots, range(first, first + len(rows)))
            first += len(rows)
            parts.append(rows if len(inside) == len(rows) else tuple(rows[at] for at in inside))
        self._parts = _joined(parts)
        self._serials = self._serials[kept_slots]
        self._hashed = None
        self.columns = columns_of.take(self.columns, kept_slots)

    def shared(self, label: str) -> list[int]:
        """Slots of memories whose ref was made unique, and of those with the plain ref."""
        begin, rows, slot_of = f"{label}:", self.rows(), self.slot_of
        found: list[int] = []
        for ref, slot in slot_of.find("@"):
            if ref.startswith(begin) and ref != (plain := plain_ref(rows[slot])):
                found += (slot_of.get(plain, slot), slot)
        return found

    def mark_dead(self, slots: Iterable[int]) -> None:
        """Mark the rows in these slots dead."""
        if dead := list(slots):
            self.columns = self.columns.without(dead)

    def replace_all(
        self, parts: Sequence[Sequence[Memory]], serials: Serials, columns: Columns, slots: RefSlots
    ) -> None:
        """Take all of this instead of what the table has; see `memtui.library.past_library`."""
        self._parts = list(parts)
        self._serials = serials
        self.columns = columns
        self._hashed, self._recent = slots.hashed, {**slots.recent}

    def rows_in_memory(self) -> tuple[int, Sequence[Memory]] | None:
        """The first slot and the rows of a part with at least `SPILLED_FROM` rows that were read
        from files; None if there is none."""
        first = 0
        for rows in self._parts:
            if isinstance(rows, tuple) and len(rows) >= SPILLED_FROM:
                return first, rows
            first += len(rows)
        return None

    def replace_rows(self, first: int, rows: Sequence[Memory]) -> None:
        """Take these rows instead of the equal ones from slot `first` on."""
        parts: list[Sequence[Memory]] = []
        begin, stop = 0, first + len(rows)
        for old in self._parts:
            end = begin + len(old)
            if end <= first or stop <= begin:
                parts.append(old)
            else:
                parts += [old[: first - begin]] if begin < first else []
                parts += [rows] if begin <= first < end else []
                parts += [old[stop - begin :]] if stop < end else []
            begin = end
        self._parts = parts

    @property
    def slot_of(self) -> RefSlots:
        """The slot of each ref, for as long as the table is not changed."""
        rows, alive = self.rows(), self.columns.alive
        if self._hashed is None:
            live = ((slot, ref) for slot, ref in rows.find_refs() if alive[slot])
            self._hashed, self._recent = (hash_refs(live, self.alive_count()),), {}
        elif len(self._recent) > MAX_RECENT:
            new = hash_refs(((at, ref) for ref, at in self._recent.items()), len(self._recent))
            self._hashed, self._recent = with_hashed(self._hashed, new), {}
        return RefSlots(rows, alive, self._hashed, self._recent)

    def alive_count(self) -> int:
        return int(self.columns.alive.sum())


def _joined(parts: Iterable[Sequence[Memory]]) -> list[Sequence[Memory]]:
    """Merge parts in memory of similar length, so that their number grows with the logarithm of the
    rows and no row is copied often."""
    joined: list[Sequence[Memory]] = []
    for rows in parts:
        new = rows
        while joined and isinstance(new, tuple) and isinstance(joined[-1], tuple):
            if len(joined[-1]) > 2 * len(new):
                break
            new = (*joined.pop(), *new)
        if len(new):
            joined.append(new)
    return joined


def plain_ref(memory: Memory) -> str:
    """The ref of a memory whose id is unique in its store."""
    return f"{memory.store}:{memory.id}"


def _free_ref(ref: str, used: Mapping[str, int]) -> str:
    if ref not in used:
        return ref
    number = 2
    while f"{ref}~{number}" in used:
        number += 1
    return f"{ref}~{number}"


def _entities_called(name: str, paths: Collection[str]) -> list[str]:
    """The entities with this last part."""
    return [path for path in paths if path.rpartition("/")[2] == name] if name else []


SHORTEST_PREFIX = 4
"""Characters of an id that must be given at least."""


def exact_slot(ref: str, slots: RefSlots) -> int:
    """Return the slot of exactly this ref. Raises RefError."""
    try:
        return slots[ref]
    except KeyError:
        raise RefError(f"no memory has the ref {visible(ref)!r}") from None


def slot_of(text: str, slots: RefSlots) -> int:
    """Return the slot named by a ref, an id or an unambiguous id prefix. Raises RefError."""
    if text in slots:
        return slots[text]
    label, colon, rest = text.partition(":")
    exact: list[str] = []
    begins: list[str] = []
    for ref, _ in slots.find(rest if colon else text):
        store, _, id = ref.partition(":")
        for name in {text, rest if colon and store == label else text}:
            if id == name:
                exact.append(ref)
            elif id.startswith(name):
                begins.append(ref)
    if len(exact) == 1:
        return slots[exact[0]]
    if len(text if not colon else rest) < SHORTEST_PREFIX and not exact:
        raise RefError(
            f"{visible(text)!r} is too short to name a memory",
            do=f"give at least {SHORTEST_PREFIX} characters of its id",
        )
    found = exact or begins
    if not found:
        advice = visible(did_you_mean(text, slots, "memtui list shows the ids"))
        raise RefError(f"no memory has the id {visible(text)!r}", do=advice)
    if len(found) > 1:
        shown = ", ".join(visible(ref) for ref in found[:3])
        more = and_more(len(found) - 3)
        raise RefError(f"{visible(text)!r} names {shown}{more}", do="give more characters")
    return slots[found[0]]


def link_target(
    text: str,
    memory: Memory,
    candidates: Iterable[Memory],
    elsewhere: Collection[str],
    resolve: Callable[[str], Memory],
) -> str:
    """Return the id of the memory, or the path of the entity, that `text` names as a link's target;
    the ref of a memory of another store.

    Tried in this order: the target of a link that this memory has, whatever it names; the ref or
    id of a memory; the path of an entity; its last part, where only one of this store, or of all,
    has it; the beginning of a memory's id.

    Args:
        text: what the person typed.
        memory: where the link starts.
        candidates: all memories of its store.
        elsewhere: the paths of the entities of all stores.
        resolve: `Library.resolve`.

    Raises:
        RefError: nothing has that name.
    """
    name = text.removeprefix(f"{memory.store}:")
    others = list(candidates)
    if any(link.target == name for link in memory.links) or any(m.id == name for m in others):
        return name
    own = {other.entity for other in others if other.entity}
    if name in own or name in elsewhere:
        return name
    named = _entities_called(name, own) or _entities_called(name, elsewhere)
    if len(named) == 1:
        return named[0]
    try:
        other = resolve(text)
    except RefError as error:
        if named:
            paths = ", ".join(visible(path) for path in sorted(named)[:3])
            raise RefError(f"{visible(name)!r} names {paths}", do="give the whole path") from None
        raise RefError(f"{error.what}, and no entity has that name", do=error.do) from None
    return other.id if other.store == memory.store else other.ref
