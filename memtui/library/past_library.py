"""The library as of a time: it reads and searches like the present one, and refuses to write."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from datetime import datetime
from threading import RLock
from typing import TYPE_CHECKING, NoReturn

from msgspec.structs import replace

from memtui.changes import Act, Change
from memtui.errors import Refused, StoreError
from memtui.insight import versions
from memtui.insight.link_statements import find_end
from memtui.insight.versions import FormerStates
from memtui.library.former_states import find_former_states
from memtui.library.held_stores import memories_at
from memtui.library.library import Library
from memtui.library.links import StoreLinks
from memtui.library.loaded_stores import LoadedStores
from memtui.library.queried_stores import QueriedStores
from memtui.library.snapshot import Rows, Snapshot
from memtui.model import Memory
from memtui.progress import IsCancelled, Report, never, silent
from memtui.search import columns as columns_of
from memtui.stores.base import LimitUse, StoreView
from memtui.text import date

if TYPE_CHECKING:
    from memtui.library.planning import Planned


def library_at(
    library: Library, at: datetime, cancelled: IsCancelled = never, *, with_asked: bool = True
) -> PastLibrary:
    """Return the library as it was at a time: what was believed then, in the texts of then.

    Former states come from memtui's journal, from the versions the stores keep, and from git. It
    reads all memories, and git takes up to some seconds per repository: call it from a background
    job.

    Args:
        library: The present.
        at: The time; aware.
        cancelled: Asked while git is read; what it knows is left out then.
        with_asked: Ask the stores that are asked, too.

    Raises:
        StoreError: All stores are asked, and none can say what it was then.
        Cancelled: An asked store was being read.
    """
    former = find_former_states(library, at, cancelled)
    memories, faults = dict(former.memories), dict[str, StoreError]()
    for label, store in library.queried.stores.items() if with_asked else ():
        try:
            memories.update(memories_at(store, at, cancelled))
        except StoreError as error:
            faults[label] = error
            if len(faults) == len(library.stores):
                raise
    former = replace(former, memories=memories)
    past = PastLibrary(library, _snapshot_at(library.snapshot, at, former), at)
    past.queried.faults = faults
    return past


def _snapshot_at(present: Snapshot, at: datetime, former: FormerStates) -> Snapshot:
    """The snapshot of a former time.

    Memories that had the text of today keep their slots; those that had another come behind them.
    """
    others = dict(former.memories)
    rows = Rows(present.rows)
    slot_of: dict[str, int] = {}
    for ref, slot in present.slot_of.items():
        memory = rows[slot]
        if ref in former.absent or ref in others or not versions.was_there(memory, at):
            continue
        then = versions.text_at(memory, at)
        end = find_end(memory, present.find)
        if then is not memory:
            others[ref] = versions.with_status_at(then, at, end)
            continue
        still = versions.with_status_at(memory, at, end)
        rows[slot] = versions.with_later_text(versions.with_times_at(still, at), memory.updated)
        slot_of[ref] = slot
    for ref, memory in others.items():
        slot_of[ref] = len(rows)
        rows.append(versions.with_times_at(memory, at))
    columns = columns_of.build(rows)
    columns = columns.without(sorted({*range(len(rows))}.difference(slot_of.values())))
    return Snapshot(rows, columns, slot_of, present.stores, present.revision)


class PastStores(LoadedStores):
    """The stores with the memories of a former time; nothing is loaded."""

    def __init__(self, present: LoadedStores, snapshot: Snapshot) -> None:
        self.lock = RLock()
        self.caches = present.caches
        self.snapshot = snapshot

    def limit_uses(self, view: StoreView, now: datetime) -> tuple[LimitUse, ...]:  # noqa: ARG002
        """Return (): how much was loaded at that time is not known."""
        return ()


class PastLibrary(Library):
    """The library as of a time; every method that would write raises Refused.

    Texts are searched by the index of the present and that of the former texts; the vectors are
    those of the present texts, so there is no search by meaning.
    """

    def __init__(self, library: Library, snapshot: Snapshot, at: datetime) -> None:
        super().__init__(library.stores, state=None, now=lambda: at, weights=library.weights)
        self.at = at
        self.queried = QueriedStores((), self.now)  # they answer of the present
        self.loaded = PastStores(library.loaded, snapshot)
        self._links = StoreLinks(self.loaded, library.state_folder, is_past=True)
        if library.index_state.is_ready:
            self._index.share(library.index_state)
            self._index.extend_to(snapshot.rows, snapshot.columns.alive)

    def load(self, report: Report = silent, cancelled: IsCancelled = never) -> None:
        """Do nothing: the past does not change."""

    def refresh(self, cancelled: IsCancelled = never) -> bool:  # noqa: ARG002
        return False

    def refresh_files(self, paths: Collection[str]) -> bool:  # noqa: ARG002
        return False

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
