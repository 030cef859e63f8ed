"""All open stores together: the one door through which every face reads and writes.

What only writing, judging or embedding needs is imported by the methods that do it: looking must
start fast.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Collection, Iterable, Sequence
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING

from memtui.changes import Act, Change
from memtui.config import Embedding
from memtui.errors import Refused
from memtui.insight import statistics
from memtui.insight import timeline as timelines
from memtui.insight.lineage import Lineage
from memtui.insight.statistics import Statistics
from memtui.insight.timeline import Timeline, Unit
from memtui.library import finding, opening
from memtui.library import finding as reference
from memtui.library.finding import Searchable
from memtui.library.guarded_store import guarded
from memtui.library.index_updates import IndexUpdates
from memtui.library.indexing import Index
from memtui.library.loaded_stores import LoadedStores
from memtui.library.results import SearchResult, Similar
from memtui.library.semantic import Embedded, Meaning
from memtui.library.snapshot import Present, Snapshot
from memtui.model import Memory
from memtui.progress import Cancelled, IsCancelled, Report, never, silent
from memtui.query import Query
from memtui.search import aggregates, numbering
from memtui.search.ranking import DEFAULTS, ScorePart, Weights
from memtui.stores.base import Store, WritableStore
from memtui.text import visible

if TYPE_CHECKING:
    from memtui.bundle.restoring import Restoration
    from memtui.journal import JournalAction
    from memtui.library.changing import Changing
    from memtui.library.planning import Planned
    from memtui.library.reverted_edits import RevertedEdit
    from memtui.upkeep.checks import Finding

log = logging.getLogger(__name__)

NO_EMBEDDING = Embedding(kind="off")


def utc_now() -> datetime:
    return datetime.now(UTC)


class Library:
    """Reads, finds and changes the memories of its stores; may be called from any thread."""

    def __init__(
        self,
        stores: Sequence[Store],
        *,
        cache: Path | None = None,
        state: Path | None = None,
        now: Callable[[], datetime] = utc_now,
        weights: Weights = DEFAULTS,
        embedding: Embedding = NO_EMBEDDING,
    ) -> None:
        self.stores: tuple[WritableStore, ...] = tuple(map(guarded, stores))
        self.now = now
        self._cache = cache
        self._state = state
        self._holdings = LoadedStores(self.stores, cache)
        self._index = Index()
        self._weights = weights
        self._meaning = Meaning(embedding)
        self._writer: Changing | None = None
        self._updates = IndexUpdates(self._holdings, self._index, self._meaning)

    @property
    def snapshot(self) -> Snapshot:
        """What is there at this moment; replaced whole when something changes."""
        return self._holdings.snapshot

    @classmethod
    def open(
        cls,
        roots: Sequence[Path],
        *,
        cache: Path | None = None,
        state: Path | None = None,
        now: Callable[[], datetime] = utc_now,
        labels: Sequence[str] = (),
        weights: Weights = DEFAULTS,
        rules: opening.Rules | None = None,
        embedding: Embedding = NO_EMBEDDING,
    ) -> Library:
        """Open the stores at these paths; reads nothing yet. Raises StoreError, ConfigError.

        `embedding`: what search by meaning is done with; unless told, nothing.
        """
        found = [opening.found_at(path) for path in roots]
        stores = opening.open_all(found, labels, rules)
        return cls(stores, cache=cache, state=state, now=now, weights=weights, embedding=embedding)

    def only(self, labels: Collection[str]) -> Library:
        """The library of these stores of this one; nothing read yet."""
        stores = [store for store in self.stores if store.label in labels]
        return Library(
            stores,
            cache=self._cache,
            state=self._state,
            now=self.now,
            weights=self._weights,
            embedding=self._meaning.choice,
        )

    # --- loading ---------------------------------------------------------------------------

    def load(self, report: Report = silent, cancelled: IsCancelled = never) -> None:
        """Fill the snapshot: cached rows at once, then every shard that is new or changed."""
        self._holdings.load(report, cancelled)

    def refresh(self) -> bool:
        """Look at the stores again, cheaply; True when the snapshot changed."""
        return self._covered(self._holdings.refresh())

    def refresh_files(self, paths: Collection[str]) -> bool:
        """Look at these files only, as far as they were read before; True when the snapshot
        changed. A look at all, which takes thousands of them longer, must follow: `refresh`."""
        return self._covered(self._holdings.refresh_files(paths))

    def _covered(self, changed: bool) -> bool:
        if changed and self._index.state.ready:
            self._updates.follow()
        return changed

    def index(self, report: Report = silent, cancelled: IsCancelled = never) -> None:
        """Make search ready: load the index of every store, or build what is missing of it."""
        for shelf in self._holdings.shelves:
            if cancelled():
                return
            self._index.add(shelf, self.snapshot.rows, report, cancelled)
        if not cancelled():
            self._updates.begin()

    def keep_index(self, report: Report = silent, cancelled: IsCancelled = never) -> None:
        """Write to the cache what changed since it was read, and update the index on disk.

        Search works without; it is for the next start, and for Whoosh to answer.
        """
        for shelf in self._holdings.shelves:
            self._holdings.save_changed(shelf)
            self._index.keep(shelf, report, cancelled)

    def keep_good_copies(self, cancelled: IsCancelled = never) -> None:
        """Copy what was read whole into the state folder, so that it can be offered again."""
        if self._state is not None:
            for shelf in self._holdings.shelves:
                shelf.keep_good(self._state, cancelled)

    def embed(self, report: Report = silent, cancelled: IsCancelled = never) -> list[Embedded]:
        """Make the vectors that memories still lack, one answer for each store that has a cache.

        What was made stays when it is called off. Nothing waits for it: search by text goes on.
        Raises EmbeddingError or OSError.
        """
        done: list[Embedded] = []
        try:
            for shelf in self._holdings.shelves:
                self._holdings.save_changed(shelf)
                if shelf.catalog is not None and not cancelled():
                    folder, label = shelf.catalog.folder, shelf.store.label
                    done.append(self._meaning.embed(folder, label, report, cancelled))
        except Cancelled:
            log.info("making vectors was called off")
        finally:
            self._updates.take_vectors()
        return done

    @property
    def embeds(self) -> bool:
        """Whether there is a model to make vectors with."""
        return self._meaning.embedder is not None

    # --- asking ----------------------------------------------------------------------------

    def find(self, query: Query, cancelled: IsCancelled = never) -> SearchResult:
        """What the query finds in the present snapshot. Raises Cancelled."""
        with self._updates.numbering.reading():
            where, revision = self._searchable()
            found = finding.find(query, where, self._holdings.slots, self.now(), cancelled)
        return replace(found, revision=revision)

    def explain(self, found: SearchResult, position: int) -> tuple[ScorePart, ...]:
        """Why a hit stands where it does: parts that add up to its score."""
        return finding.explain(found, found.slots[position], self._weights, self.now())

    def ponder(self, query: Query, cancelled: IsCancelled = never) -> bool:
        """Ask a server what the query means, where one was chosen; True when `find` would now
        find more. Returns after some seconds at most, early when cancelled.
        """
        return self._meaning.ponder(query, self._index.state.segments, cancelled)

    def similar(self, ref: str, limit: int = 20, cancelled: IsCancelled = never) -> Similar:
        """Memories that are like this one, the most alike first: by vectors where it has one,
        else by its rarest words. Raises RefError, Cancelled.
        """
        with self._updates.numbering.reading():
            slot = self._holdings.slot(ref)
            where, _ = self._searchable()
            near = self._meaning.near(slot, len(where.columns))
            return finding.similar(slot, where, near, limit, cancelled)

    def _searchable(self) -> tuple[Searchable, int]:
        state = self._index.state  # first: it may know fewer rows than there are, never more
        now = self._holdings.now
        where = Searchable(
            rows=now.snapshot.rows,
            columns=now.columns,
            segments=state.segments,
            indexed=state.ready,
            draft=self._index.draft,
            exact=self._index.exact(self._holdings.shelves, self._holdings.slots),
            weights=self._weights,
            meaning=self._meaning,
        )
        return where, now.snapshot.revision

    def get(self, ref: str) -> Memory:
        """The memory with exactly this ref. Raises RefError."""
        with self._holdings.lock:
            return self.snapshot.rows[self._holdings.slot(ref)]

    def resolve(self, text: str) -> Memory:
        """The memory that a full ref, an id or an unambiguous prefix names. Raises RefError."""
        return self._holdings.resolve(text)

    def link_target(self, memory: Memory, text: str) -> str:
        """What a link of this memory to `text` would lead to, as its store names it: the target
        of a link it has, a memory, an entity. Raises RefError, Refused."""
        among = self._holdings.of_store(memory.store)
        return reference.link_target(text, memory, among, self.resolve)

    def lineage(self, memory: Memory, *, backlinks: bool = False) -> Lineage:
        """What the memory replaced, what replaced it, what it links to.

        `backlinks` also looks through the whole store for links to it.
        """
        return self._holdings.lineage(memory, backlinks)

    def present(self) -> Present:
        """Which memories there are, for `turnover`."""
        now = self._holdings.now
        rows = now.snapshot.rows
        return Present(rows, numbering.filter_serials(rows.serials, now.columns.alive))

    def turnover(self, before: Present | None, now: Present) -> tuple[list[int], list[int]]:
        """The serials of the memories that went, and of those that came (all, without a `before`).

        `Rows.with_serials` has their memories.
        """
        known = numbering.NO_SERIALS if before is None else before.serials
        return numbering.diff_serials(known, now.serials)

    def statistics(self, found: SearchResult, *, counted: bool = True) -> Statistics:
        """Counts over what was found; disk use over all open stores.

        Not `counted`: without how many have each value, which the facets of a search tell too.
        """
        columns = found.columns
        said = aggregates.aggregate(columns, found.slots)
        return statistics.from_counts(
            aggregates.count_values(columns, found.slots) if counted else {},
            total=found.total,
            pinned=said.pinned,
            oldest=_moment(said.oldest),
            newest=_moment(said.newest),
            undated=said.undated,
            disk=self._holdings.bytes_on_disk(),
        )

    def timeline(
        self, found: SearchResult, unit: Unit | None = None, width: int = timelines.DEFAULT_WIDTH
    ) -> Timeline:
        """How what was found lies in time."""
        days, undated = aggregates.count_days(found.columns, found.slots)
        return timelines.build(days, undated, unit, width=width)

    @property
    def _changing(self) -> Changing:
        """Made when first needed: browsing makes no journal."""
        with self._holdings.lock:
            if self._writer is None:
                self._writer = self._open_journal()
            return self._writer

    def close(self) -> None:
        """Let go of the journal; it is opened again when it is needed."""
        with self._holdings.lock:
            if self._writer is not None:
                self._writer.close()

    def _open_journal(self) -> Changing:
        if self._state is None:
            raise Refused("this library was opened for reading only")
        from memtui.journal import Journal
        from memtui.library.changing import Changing
        from memtui.stores import registry

        journal = Journal(self._state)
        journal.recover(registry.row_digest)
        return Changing(journal, self.stores)

    # --- changing --------------------------------------------------------------------------

    def plan(self, changes: Sequence[Change], title: str = "") -> Planned:
        """What these changes would do, complete; nothing is written.

        Raises Refused, Conflict or RefError.
        """
        from memtui.library import planning

        stores = {store.label: store for store in self.stores}
        return planning.plan(changes, stores, self, title)

    def apply(self, planned: Planned) -> JournalAction:
        """Do what was planned, and read what changed. Raises Conflict or SaveError."""
        return self._changed(self._changing.apply(planned))

    def restore(self, restoration: Restoration, report: Report = silent) -> JournalAction:
        """Bring a document into an empty place. The stores it makes are not opened.

        Raises Refused, SaveError or BundleError.
        """
        return self._changing.restore(restoration, report)

    def accept_ownership(self, path: Path) -> None:
        """The person agrees that this file (see `ForeignOwner`) becomes their own by a save, for
        as long as this library is open."""
        self._changing.accept_ownership(path)

    def undo(self, number: int | None = None, *, anywhere: bool = False) -> JournalAction:
        """Take back the last change (or the numbered one). Raises Refused, Conflict, SaveError."""
        return self._changed(self._changing.undo(number, anywhere=anywhere))

    def redo(self, number: int | None = None, *, anywhere: bool = False) -> JournalAction:
        """Do the change again that was taken back last (or the numbered one). Raises the same."""
        return self._changed(self._changing.redo(number, anywhere=anywhere))

    def log(
        self, limit: int = 100, *, anywhere: bool = False, void: bool = True
    ) -> list[JournalAction]:
        """What memtui changed in the open stores (or in any), newest first; without `void` not
        what failed and left nothing on disk."""
        return self._changing.log(limit, anywhere=anywhere, void=void)

    def overwritten(self, since: float) -> list[RevertedEdit]:
        """What memtui wrote since then (Unix seconds) and another program has taken back."""
        return self._changing.overwritten(since)

    def reverted(self) -> list[RevertedEdit]:
        """What other programs have taken back in these stores in the last seven days; unlike
        `overwritten` it only looks: nothing is rescued or written."""
        from memtui.library import reverted_edits as overwritten

        return overwritten.look_only(self._state, self.stores)

    def refusal(self, act: Act, memory: Memory) -> str:
        """Why this act cannot be done on this memory; empty when it can."""
        store = self.store(memory.store)
        return store.read_only or store.refusal(act, memory)

    def store(self, label: str) -> WritableStore:
        """The open store with this label. Raises Refused."""
        for store in self.stores:
            if store.label == label:
                return store
        raise Refused(f"no open store is called {visible(label)!r}")

    def memories(self, store: str) -> Iterable[Memory]:
        """All memories of the store with this label, whatever their status."""
        return self._holdings.of_store(store)

    def memories_by_file(self) -> dict[str, dict[str, int]]:
        """Store label -> each file of it -> the memories that are read together with it."""
        return self._holdings.memories_by_file()

    def _changed(self, action: JournalAction) -> JournalAction:
        self.refresh()
        return action

    # --- judging ---------------------------------------------------------------------------

    def check(self) -> list[Finding]:
        """Everything a person should look at, over all memories whatever their status."""
        from memtui.library import reverted_edits as overwritten
        from memtui.upkeep import checks

        now = self._holdings.now
        memories = [now.snapshot.rows[slot] for slot in now.columns.alive.nonzero()[0].tolist()]
        unreadable = [item for state in now.snapshot.stores for item in state.unreadable]
        reverted = overwritten.findings(self.reverted())
        return [*reverted, *checks.check_all(memories, unreadable)]


def _moment(seconds: float | None) -> datetime | None:
    return None if seconds is None else datetime.fromtimestamp(seconds, UTC)
