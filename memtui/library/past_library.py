"""The library as of a time: it reads and searches like the present one, and refuses to write.

`PastViews` keeps what does not depend on the time (when each memory was taken out of use), so that
going to another time costs a few array operations.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Mapping, Sequence
from datetime import UTC, datetime
from threading import RLock
from typing import TYPE_CHECKING, Any, NamedTuple, NoReturn

from memtui.changes import Act, Change
from memtui.errors import Refused
from memtui.insight import versions
from memtui.insight.versions import VERSIONS_KEY, FormerStates
from memtui.library.former_states import find_former_states
from memtui.library.indexing import IndexState
from memtui.library.library import Library
from memtui.library.links import StoreLinks
from memtui.library.loaded_stores import LoadedState, LoadedStores
from memtui.library.semantic import SemanticSearch
from memtui.library.slots import SlotTable
from memtui.library.snapshot import Rows, Snapshot
from memtui.library.store_cache import StoreCache
from memtui.model import Memory
from memtui.progress import IsCancelled, Report, never, silent
from memtui.search import columns as columns_of
from memtui.search import numbering, past_columns
from memtui.search.numbering import RefSlots
from memtui.stores.base import LimitUse, StoreView
from memtui.text import date

if TYPE_CHECKING:
    from memtui.library.planning import Planned

_VERSIONS = re.compile(rf'"{VERSIONS_KEY}":\['.encode())


class _Present(NamedTuple):
    """What a view of the past is made from; all of it of the same rows."""

    state: LoadedState
    slots: RefSlots
    indexed: IndexState
    semantic: SemanticSearch
    """With vectors of its own: slots of the present are given to other rows later."""


class PastViews:
    """Makes libraries as of a time; may be used from any thread."""

    def __init__(self, library: Library) -> None:
        self.library = library
        """The present."""
        self._lock = RLock()
        self._revision = -1
        self._ends: Any = None
        """See `past_columns.make_ends`."""
        self._versioned: list[int] = []
        """Slots of memories whose store keeps former texts of them."""

    def at(self, at: datetime, cancelled: IsCancelled = never) -> PastLibrary:
        """Return the library as it was at a time: what was believed then, in the texts of then.

        Former states come from memtui's journal, from the versions the stores keep, and from git.
        The first call reads all memories that are not in use any more, and git takes up to some
        seconds per repository: call it from a background job.

        Args:
            at: The time; aware.
            cancelled: Asked while git is read; what it knows is left out then.
        """
        former = find_former_states(self.library, at, cancelled)
        with self._lock:
            present = self._read_present()
            stores = self._past_stores(present, at, former)
            return PastLibrary(self.library, stores, present, at)

    def prepare(self) -> None:
        """Read what `at` needs of the memories that are not in use any more."""
        with self._lock:
            self._read_present()

    def _read_present(self) -> _Present:
        library = self.library
        with library.keeping_slots():
            index = library.index_state  # first: it may know fewer rows than there are, never more
            with library.loaded.lock:
                state, slots = library.loaded.state, library.loaded.slots()
            semantic = library.semantic.copied(len(state.columns))
        present = _Present(state, slots, index, semantic)
        if state.snapshot.revision != self._revision:
            self._read_ends(present)
        return present

    def _read_ends(self, present: _Present) -> None:
        state = present.state
        rows, columns = state.snapshot.rows, state.columns
        self._ends = past_columns.make_ends(len(columns), _find_ends(state, present.slots))
        self._versioned = [
            slot
            for slot in rows.candidate_slots(_VERSIONS)
            if VERSIONS_KEY in rows[slot].extra and columns.alive[slot]
        ]
        self._revision = state.snapshot.revision

    def _past_stores(self, present: _Present, at: datetime, former: FormerStates) -> PastStores:
        state, slots = present.state, present.slots
        rows = state.snapshot.rows
        known = dict(former.memories)
        for slot in self._versioned:
            memory = rows[slot]
            earlier = versions.text_at(memory, at)
            if earlier is not memory and memory.ref not in known and versions.was_there(memory, at):
                ended = self._ends[slot]
                until = None if ended != ended else datetime.fromtimestamp(float(ended), UTC)
                known[memory.ref] = versions.with_status_at(earlier, at, until)
        hidden = [slots[ref] for ref in (*former.absent, *known) if ref in slots]
        columns, revived = past_columns.columns_at(
            state.columns, at.timestamp(), self._ends, hidden
        )
        former_rows = tuple(versions.with_times_at(memory, at) for memory in known.values())
        return PastStores(self.library.loaded, present, columns, revived, former_rows, at)


def _find_ends(state: LoadedState, slots: Mapping[str, int]) -> dict[int, float]:
    """Slot -> Unix seconds at which a row was taken out of use, as `versions.find_end` says."""
    rows, columns = state.snapshot.rows, state.columns

    def find(store: str, id: str) -> Memory | None:
        slot = slots.get(f"{store}:{id}")
        return None if slot is None else rows[slot]

    found = (
        (slot, versions.find_end(rows[slot], find)) for slot in past_columns.find_ended(columns)
    )
    return {slot: end.timestamp() for slot, end in found if end is not None}


class _RevivedRows(Sequence[Memory]):
    """The rows of the present; those that were still in use then are active again, and none has the
    time of a later change."""

    def __init__(self, rows: Rows, revived: Any, at: datetime) -> None:
        self._rows = rows
        self._revived = revived
        self._at = at

    def __len__(self) -> int:
        return len(self._rows)

    def find_refs(self, part: str = "") -> Iterator[tuple[int, str]]:
        """As `Rows.find_refs`."""
        return self._rows.find_refs(part)

    def __getitem__(self, index: Any) -> Any:
        if isinstance(index, slice):
            return [self[slot] for slot in range(*index.indices(len(self)))]
        memory = versions.with_times_at(self._rows[index], self._at)
        if not self._revived[index]:
            return memory
        return versions.with_status_at(memory, datetime.min.replace(tzinfo=UTC), _LATEST)


_FIRST_SERIAL = 1 << 40
"""Serial of the first row that only the past has, above all serials of the present."""
_LATEST = datetime.max.replace(tzinfo=UTC)


class PastStores(LoadedStores):
    """As `LoadedStores`, for the stores as of a former time; nothing is loaded or published.

    Memories that had another text get rows of their own, after those of the present.
    """

    def __init__(
        self,
        loaded: LoadedStores,
        present: _Present,
        columns: columns_of.Columns,
        revived: Any,
        known: Sequence[Memory],
        at: datetime,
    ) -> None:
        self.lock = RLock()
        self.caches = loaded.caches
        state = present.state
        rows = state.snapshot.rows
        self._table = SlotTable()
        parts: list[Sequence[Memory]] = [
            _RevivedRows(rows, revived, at),
            *((known,) if known else ()),
        ]
        serials = rows.serials
        if known:
            columns = columns_of.concat([columns, columns_of.build(known)])
            serials = numbering.append_range(serials, _FIRST_SERIAL, len(known))
        past_rows = Rows(parts, serials)
        new = {memory.ref: len(rows) + at for at, memory in enumerate(known)}
        slots = present.slots.copied(past_rows, columns.alive, new)
        self._table.replace_all(parts, serials, columns, slots)
        self._revision = state.snapshot.revision
        snapshot = Snapshot(
            rows=past_rows,
            count=self._table.alive_count(),
            stores=state.snapshot.stores,
            revision=state.snapshot.revision,
        )
        self.state = LoadedState(snapshot, columns)

    def memories_of(self, label: str) -> list[Memory]:
        """All memories that the store had then."""
        columns, rows = self.state.columns, self.state.snapshot.rows
        if label not in columns.stores:
            return []
        return [
            rows[slot] for slot in past_columns.live_slots(columns, columns.stores.index(label))
        ]

    def limit_uses(self, view: StoreView, now: datetime) -> tuple[LimitUse, ...]:  # noqa: ARG002
        """Return (): how much was loaded at that time is not known."""
        return ()

    def save_changed(self, cache: StoreCache) -> None:
        """Do nothing: the cache is that of the present."""

    def load(self, report: Report = silent, cancelled: IsCancelled = never) -> None:
        """Do nothing: the past does not change."""

    def refresh(self, cancelled: IsCancelled = never) -> bool:  # noqa: ARG002
        return False

    def refresh_files(self, paths: Collection[str]) -> bool:  # noqa: ARG002
        return False


class PastLibrary(Library):
    """The library as of a time; every method that would write raises Refused."""

    def __init__(
        self, library: Library, stores: PastStores, present: _Present, at: datetime
    ) -> None:
        super().__init__(library.stores, state=None, now=lambda: at, weights=library.weights)
        self.at = at
        self.loaded = stores
        self.semantic = present.semantic
        self._links = StoreLinks(stores, library.links)
        rows, columns = stores.state.snapshot.rows, stores.state.columns
        if present.indexed.is_ready:
            self._index.set(present.indexed.covering(rows.__getitem__, columns.alive))
        self.semantic.extend_to(rows)

    @property
    def refused(self) -> str:
        """Why nothing can be written."""
        return f"the library is shown as of {date(self.at)}; nothing can be changed there"

    def index(self, report: Report = silent, cancelled: IsCancelled = never) -> None:
        """Do nothing: the index of the present is used."""

    def save_index(self, cancelled: IsCancelled = never) -> None:
        """Do nothing: the caches are those of the present."""

    def embed(
        self,
        report: Report = silent,  # noqa: ARG002
        cancelled: IsCancelled = never,  # noqa: ARG002
    ) -> NoReturn:
        raise Refused(self.refused, do="go back to the present first")

    def refusal(self, act: Act, memory: Memory) -> str:  # noqa: ARG002
        return self.refused

    def plan(
        self,
        changes: Sequence[Change],  # noqa: ARG002
        title: str = "",  # noqa: ARG002
        report: Report = silent,  # noqa: ARG002
        cancelled: IsCancelled = never,  # noqa: ARG002
    ) -> Planned:
        raise Refused(self.refused, do="go back to the present first")

    @property
    def _change_writer(self) -> NoReturn:
        raise Refused(self.refused, do="go back to the present first")
