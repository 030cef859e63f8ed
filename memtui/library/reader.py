"""The reading half of the library: load, search and look up the memories of all open stores."""

from __future__ import annotations

import logging
from collections.abc import Callable, Collection, Iterable, Sequence
from datetime import datetime
from functools import cached_property
from itertools import islice
from pathlib import Path
from threading import Lock
from typing import TYPE_CHECKING

from memtui.config import Embedding
from memtui.errors import RefError, Refused
from memtui.insight.statistics import Statistics
from memtui.library import finding, slots
from memtui.library.finding import Searchable, SearchResult, SimilarMemories
from memtui.library.guarded_store import guarded, unguarded
from memtui.library.handles import Handles, find_named, sole, unknown
from memtui.library.indexing import Index
from memtui.library.loaded_stores import LoadedStores
from memtui.library.opening import StoreSource
from memtui.library.queried_result import FIRST_SLOT, QueriedResult
from memtui.library.queried_stores import MAX_MARKED, QueriedStores
from memtui.library.semantic import EmbeddingResult, SemanticSearch
from memtui.library.snapshot import Snapshot, StoreState, find_reworded
from memtui.library.store_names import StoreNames
from memtui.model import Memory
from memtui.paths import real_root
from memtui.progress import Cancelled, IsCancelled, Report, never, silent, stoppable
from memtui.query import Query, with_filter_values
from memtui.search import aggregates
from memtui.search.columns import NO_SLOTS, Slots, diff_slots
from memtui.search.documents import to_document
from memtui.search.embedding import embedded_text
from memtui.search.nearest_memories import NearWords, compare_to_slot
from memtui.search.ranking import DEFAULTS, ScorePart, Weights
from memtui.stores.base import Store, Unreadable
from memtui.stores.queryable import OTHERS, Count, Position, QueryableStore
from memtui.stores.values import utc_now
from memtui.text import Passage, find_passage, number, visible

if TYPE_CHECKING:
    from memtui.insight.lineage import Lineage
    from memtui.insight.links import Node
    from memtui.insight.timeline import Timeline, Unit
    from memtui.insight.traversal import Direction, Neighbourhood
    from memtui.library.links import StoreLinks
    from memtui.library.projects import Projects

log = logging.getLogger(__name__)

NO_EMBEDDING = Embedding(kind="off")
SAVED_FROM = 0.25
"""Share of a store's rows that changed since they were written from which commands and servers
write them anew, as the screen always does: to index 1,000 in memory takes them .1 s each time."""


class LibraryReader:
    """Reads and searches the memories of its stores; may be used from any thread."""

    sources: tuple[StoreSource, ...] = ()
    """How another process opens the same stores; empty if that is not known."""
    _kept_handles: tuple[Snapshot, Handles] | None = None

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
        """Make a library of open stores; nothing is read yet.

        Args:
            stores: each under a label of its own.
            cache: folder of index and vectors; None keeps them in memory only.
            state: folder of journal, backups and decisions; None makes the library read-only.
            now: the clock; aware, in UTC.
            weights: of the parts of a score.
            embedding: the model of semantic search; off unless given.
        """
        self.stores: tuple[Store, ...] = tuple(map(guarded, stores))
        plain = map(unguarded, stores)
        self.queried = QueriedStores((s for s in plain if isinstance(s, QueryableStore)), now)
        """Those of the stores that are asked instead of read."""
        self.places = {str(store.root): real_root(store.root) for store in self.stores}
        """Root of each store -> where it led when it was opened."""
        self.now, self.weights = now, weights
        self.cache_folder, self.state_folder = cache, state
        self.loaded = LoadedStores(self.stores, cache)
        """The rows with their columns, for views of this library."""
        self.semantic = SemanticSearch(embedding)
        """Semantic search over the embeddings of this library."""
        self._index = Index()
        self._updating = Lock()
        """Held while index and vectors are brought to the loaded rows."""
        self._links: StoreLinks | None = None
        self._levels: tuple[int, dict[tuple[str, str], tuple[str, ...]]] = (-1, {})
        """Of each entity, in the snapshot with this revision."""

    @cached_property
    def projects(self) -> Projects:
        """The projects that the memories are about; none is read yet."""
        from memtui.library.projects import Projects

        return Projects()

    @cached_property
    def names(self) -> StoreNames:
        """The names of the stores; made when first asked for, with a few stat calls for each."""
        formats = {source.label: source.format for source in self.sources}
        return StoreNames((s.label, formats.get(s.label, s.format), s.root) for s in self.stores)

    def entity_levels(self, label: str, entity: str) -> tuple[str, ...]:
        """An entity of a store as the levels of a tree, see `Store.entity_levels`."""
        revision, known = self._levels
        if revision != self.snapshot.revision:
            self._levels = revision, known = self.snapshot.revision, {}
        found = known.get((label, entity))
        if found is None:
            store = next((each for each in self.stores if each.label == label), None)
            found = tuple(entity.split("/")) if store is None else store.entity_levels(entity)
            known[label, entity] = found
        return found

    def entity_name(self, memory: Memory) -> str:
        """The entity of a memory in a line of a list."""
        return "/".join(self.entity_levels(memory.store, memory.entity))

    @property
    def snapshot(self) -> Snapshot:
        """The rows and store states as of now; immutable, replaced whole on every change."""
        return self.loaded.snapshot

    @property
    def searched(self) -> Snapshot:
        """What searches answer from: `snapshot`, or the one before until this one is indexed."""
        return self._index.state.snapshot or self.snapshot

    def store(self, label: str) -> Store:
        """Return the open store with this label. Raises Refused."""
        for store in self.stores:
            if store.label == label:
                return store
        raise Refused(f"no open store is called {visible(label)!r}")

    @property
    def no_past(self) -> str:
        """Why the past of no open store can be shown; "" if that of one can be."""
        queried = self.queried.stores.values()
        reasons = [store.no_past for store in queried if store.no_past]
        return reasons[0] if reasons and len(reasons) == len(self.stores) else ""

    def others(self, ref: str) -> str:
        """Who else can have changed a memory, for messages."""
        return OTHERS if self.queried.store_of(ref) is not None else "another program"

    def load(self, report: Report = silent, cancelled: IsCancelled = never) -> None:
        """Fill the snapshot: cached rows first, then every shard that is new or changed.

        Args:
            report: called with the shards read of each store.
            cancelled: asked between shards; what was loaded until then stays.
        """
        self.loaded.load(report, cancelled)
        self._update_index(changed=True)

    def refresh(self) -> bool:
        """Rescan the stores and read what changed; return whether any memory may have changed."""
        is_other = self._update_index(self.loaded.refresh())
        return self.queried.refresh() or is_other

    def refresh_files(self, paths: Collection[str]) -> bool:
        """Read again only the shards that were read from these files.

        Cheaper than `refresh`, which looks at every file, but it notices neither new files nor
        removed ones: call `refresh` afterwards.

        Args:
            paths: absolute paths of the files that changed.

        Returns:
            Whether the snapshot changed.
        """
        return self._update_index(self.loaded.refresh_files(paths))

    def _update_index(self, changed: bool) -> bool:
        # Another thread may have read what changed, and not indexed it yet; or `index` is about to
        # end, with the rows of before.
        indexed = self._index.state.snapshot
        if changed or (indexed is not None and indexed is not self.snapshot):
            with self._updating:
                if self._index.state.snapshot is not None:
                    self._cover_rows()
        return changed

    def _cover_rows(self) -> None:
        snapshot = self.snapshot
        self.semantic.extend_to(snapshot.rows)
        self._index.extend_to(snapshot)  # last: from then on these rows are searched

    def _load_vectors(self) -> None:
        """Load the cached vectors and compute those of a few new rows."""
        with self._updating:
            self.semantic.load(self.loaded.caches, self.snapshot.rows)

    def index(self, report: Report = silent, cancelled: IsCancelled = never) -> None:
        """Write the rows of new stores to the cache, load the search index of every store and build
        what is missing; until then `find` reads the loaded text itself.

        Args:
            report: called with the memories indexed of each store.
            cancelled: asked between stores and during a build.
        """
        self.loaded.save_new()
        for cache in self.loaded.caches:
            if cancelled():
                return
            self._index.add(cache, self.snapshot.rows, report, cancelled)
        if not cancelled():
            with self._updating:
                self._cover_rows()
            self._load_vectors()

    def save_index(self, cancelled: IsCancelled = never, share: float = 0.0) -> None:
        """Write changed rows to the cache and their index to disk, for the next start.

        Args:
            cancelled: asked between stores and during a build.
            share: of its rows that must have changed for a store to be written.
        """
        due = [cache for cache in self.loaded.caches if cache.unsaved_share >= share]
        for cache in due:
            if not cancelled():
                self.loaded.save_changed(cache)
        for cache in due:
            self._index.save(cache, self.snapshot.rows, cancelled)

    @property
    def can_embed(self) -> bool:
        """Whether an embedding model is configured and available."""
        return self.semantic.embedder is not None

    def embed(
        self, report: Report = silent, cancelled: IsCancelled = never
    ) -> list[EmbeddingResult]:
        """Compute the missing embeddings. Text search goes on meanwhile.

        Args:
            report: called with the texts embedded of each store.
            cancelled: asked between batches; finished batches are kept.

        Returns:
            One result for each store that has a cache.

        Raises:
            EmbeddingError: there is no model, or it failed.
            OSError: the cache cannot be written.
        """
        results: list[EmbeddingResult] = []
        try:
            for cache in self.loaded.caches:
                self.loaded.save_changed(cache)
                if cache.generation is not None and not cancelled():
                    folder, label = cache.generation, cache.store.label
                    results.append(self.semantic.embed(folder, label, report, cancelled))
        except Cancelled:
            log.info("embedding was cancelled")
        finally:
            self._load_vectors()
        return results

    def find(
        self,
        query: Query,
        cancelled: IsCancelled = never,
        near: tuple[Position, int] | None = None,
    ) -> SearchResult:
        """Return the hits of a query in the current snapshot and in the queried stores.

        Args:
            query: What to find.
            cancelled: Asked while it is looked for.
            near: A position and its line, where the list of queried stores begins to be held.

        Raises:
            Cancelled: `cancelled` returned True.
        """
        found = self.find_loaded(query, cancelled)
        if not self.queried.stores:
            return found

        def rank(query: Query, memories: Sequence[Memory]) -> SearchResult:
            return self.find_among(query, memories, cancelled)

        return self.queried.find(found, rank, cancelled, near)

    def find_among(
        self, query: Query, memories: Sequence[Memory], cancelled: IsCancelled = never
    ) -> SearchResult:
        """Return the hits of a query among these memories alone; raises Cancelled."""
        return finding.find_among(query, memories, self._searchable(), cancelled)

    def away(self, label: str) -> str:
        """Return why a store does not answer at present; "" if it does."""
        fault = self.queried.faults.get(label)
        return "" if fault is None else f"{self.names.of(label)} does not answer: {fault.what}"

    def count_in(self, state: StoreState) -> Count:
        """Return how many memories a store has; of a queried one, current ones at least."""
        if state.label not in self.queried.stores:
            return Count(state.count)
        return self.count(with_filter_values(Query(), "store", [state.label]))

    def find_loaded(self, query: Query, cancelled: IsCancelled = never) -> SearchResult:
        """Return the hits of a query in the current snapshot, without queried stores.

        Raises Cancelled.
        """
        if query.conditions or query.groups:
            query = self.names.resolve(query)
        return finding.find(query, self._searchable(), cancelled)

    def memories_of(self, found: SearchResult) -> list[Memory]:
        """Return all hits; raises Refused where a queried store has too many to hold."""
        slots: Iterable[int] = found.slots
        if isinstance(found, QueriedResult):
            slots = islice(found.slots, MAX_MARKED + 1)
        memories = [found.rows[slot] for slot in slots]
        if isinstance(found, QueriedResult) and len(memories) > MAX_MARKED:
            raise Refused(f"more than {number(MAX_MARKED)} memories", do="narrow the query")
        return memories

    def count(self, query: Query, cancelled: IsCancelled = never) -> Count:
        """Return how many memories a query finds. Raises Cancelled."""
        found = self.find_loaded(query, cancelled)
        count = Count(found.total)
        return self.queried.count(found.query, count, cancelled) if self.queried else count

    def slots_of(self, query: Query, most: int, cancelled: IsCancelled = never) -> list[int]:
        """Return the slots of all hits, asking for those of queried stores page by page.

        Raises Refused if there are more than `most`, Cancelled.
        """
        slots: list[int] = []
        for slot in stoppable(self.find(query, cancelled).slots, cancelled):
            if len(slots) == most:
                raise Refused(f"more than {number(most)} memories", do="narrow the list first")
            slots.append(int(slot))
        return slots

    def read(self, slots: Iterable[int]) -> list[Memory]:
        """Return the memories in these slots that still exist, the loaded ones first.

        Raises StoreError where a store must be asked and does not answer.
        """
        wanted = sorted(slots)
        rows = self.snapshot.rows
        loaded = [rows[slot] for slot in wanted if slot < FIRST_SLOT]
        return loaded + self.queried.read(slot for slot in wanted if slot >= FIRST_SLOT)

    def passage(self, found: SearchResult, position: int) -> Passage | None:
        """Return the passage of the hit of `found` at `position` with most of the words."""
        content = found.rows[found.slots[position]].content
        return find_passage(content, found.words) if found.words else None

    def explain(self, found: SearchResult, position: int) -> tuple[ScorePart, ...]:
        """Return the parts of the score of the hit of `found` at `position`."""
        return found.explain(position, self.weights)

    def near_words(self, found: SearchResult, position: int) -> NearWords:
        """Return the words that make the hit of `found` at `position` near in meaning, if any."""
        slot = found.slots[position]
        if found.hits.match is None or found.hits.match.meaning is None:
            return ()
        text = embedded_text(to_document(found.rows[slot]))
        return self.semantic.find_near_words(found.query, self._index.state.segments, text)

    def embed_query(self, query: Query, cancelled: IsCancelled = never) -> bool:
        """Get the embedding of a query from the embedding server, if one is configured.

        Blocks for some seconds at most.

        Returns:
            Whether the embedding is new, so that `find` would now find more.
        """
        return self.semantic.embed_query(query, self._index.state.segments, cancelled)

    def similar(self, ref: str, limit: int = 20, cancelled: IsCancelled = never) -> SimilarMemories:
        """Return the `limit` memories most similar to `ref`, by embedding, else by rare words.

        Raises:
            RefError: no memory has this ref.
            Cancelled: `cancelled` returned True.
        """
        if self.queried.store_of(ref) is not None:
            raise Refused("likeness needs all memories here, and this store is asked", where=ref)
        scope = self._searchable()
        slot = slots.exact_slot(ref, scope.slot_of)
        cosines = compare_to_slot(self.semantic.state, slot, len(scope.columns))
        return finding.similar(slot, scope, cosines, limit, cancelled)

    def _searchable(self) -> Searchable:
        index = self._index.state
        snapshot = index.snapshot or self.snapshot
        return Searchable(
            rows=snapshot.rows,
            columns=snapshot.columns,
            slot_of=snapshot.slot_of,
            segments=index.segments,
            is_indexed=index.snapshot is not None,
            weights=self.weights,
            semantic=self.semantic if self.semantic.state.parts else None,
            linked_to=lambda name: self.links.linked_to(name),
            outdated=self._outdated,
            now=self.now(),
            revision=snapshot.revision,
        )

    def _outdated(self, cancelled: IsCancelled) -> list[str]:
        memories = self.snapshot.take(self.snapshot.columns.live_slots()).values()
        self.projects.refresh()
        return [memory.ref for memory, _ in self.projects.outdated(memories, cancelled)]

    def statistics(self, found: SearchResult, *, counted: bool = True) -> Statistics:
        """Summarize a search result.

        Args:
            found: what to summarize.
            counted: count the values of each field too; the facets of `found` have these already.

        Returns:
            Counts over the result; the bytes on disk of the stores with a result, and load limits.
        """
        now = self.now()
        limits = self.loaded.limit_uses(self, now)
        disk = self.loaded.bytes_on_disk()
        if isinstance(found, QueriedResult):
            loaded = finding.statistics(found.loaded, disk, limits, counted, now)
            return found.summarize(loaded)
        return finding.statistics(found, disk, limits, counted, now)

    def timeline(self, found: SearchResult, unit: Unit | None = None) -> Timeline:
        """Return the counts of a search result by time.

        Args:
            found: what to count.
            unit: length of a bucket; None picks one that fits.
        """
        from memtui.insight import timeline

        if isinstance(found, QueriedResult):
            return timeline.build(found.days(), 0, unit)
        days, undated = aggregates.count_days(found.columns, found.slots)
        return timeline.build(days, undated, unit)

    def get(self, ref: str) -> Memory:
        """Return the memory with exactly this ref, of a queried store as it was last seen.

        Raises RefError; StoreError where its store must be asked and does not answer.
        """
        if found := self.queried.get(ref):
            return found
        snapshot = self.snapshot
        return snapshot.rows[slots.exact_slot(ref, snapshot.slot_of)]

    def seen(self, ref: str) -> Memory | None:
        """Return the memory with this ref if no store must be asked for it; never waits."""
        slot = self.snapshot.slot_of.get(ref)
        return self.queried.seen.get(ref) if slot is None else self.snapshot.rows[slot]

    def ref_of(self, slot: int) -> str:
        """Return the ref of the memory in a slot; "" if it is not known any more."""
        return self.queried.seen.ref(slot) or self.snapshot.rows[slot].ref

    def find_named(self, store: str, id: str) -> Memory | None:
        """Return the memory with this id in a store, or with this ref; None if there is none."""
        return self.snapshot.find(store, id) or self.queried.get(f"{store}:{id}")

    def follow(self, memory: Memory, before: Snapshot) -> Memory:
        """Return a memory of the snapshot `before` as it is now, also if its id came from its text
        and another program has changed that. Raises RefError."""
        try:
            return self.get(memory.ref)
        except RefError:
            if found := find_reworded(memory, before, self.snapshot):
                return found
            raise

    def resolve(self, text: str) -> Memory:
        """Return the memory that a text names: a ref, a handle, an id or its beginning, the name of
        a file, or words of a headline, where only one memory has them (see `handles.find_named`).

        Raises RefError, which names the candidates.
        """
        snapshot = self.snapshot
        rows, slot_of = snapshot.rows, snapshot.slot_of
        found = find_named(text, slot_of, lambda ref: rows[slot_of[ref]].headline)
        if not found and (asked := self.queried.find_named(text)):
            shown = self.handles(asked)
            ref = sole(text, [each.ref for each in asked], shown.__getitem__)
            return next(each for each in asked if each.ref == ref)
        if not found:
            raise unknown(text, slot_of)
        return rows[slot_of[sole(text, found, self._handles.of)]]

    def handles(self, memories: Iterable[Memory]) -> dict[str, str]:
        """Return the shortest text that names each memory for `resolve`, by its ref."""
        listed = list(memories)
        known, own = self.snapshot.slot_of, self._handles
        asked = self.queried.handles(each for each in listed if each.ref not in known)
        return {
            **{each.ref: own.of(each.ref) for each in listed if each.ref in known},
            **{ref: ref if own.has_beginning(name) else name for ref, name in asked.items()},
        }

    @property
    def _handles(self) -> Handles:
        """Those of the present snapshot; kept until it changes."""
        snapshot = self.snapshot
        if self._kept_handles is None or self._kept_handles[0] is not snapshot:
            self._kept_handles = snapshot, Handles(snapshot.slot_of)
        return self._kept_handles[1]

    def link_target(self, memory: Memory, text: str) -> str:
        """Return the native target of a link from `memory` to what `text` names: a target that it
        links to already, a memory or an entity.

        Raises:
            RefError: nothing has that name.
        """
        entities = aggregates.list_entities(self.snapshot.columns)
        return slots.link_target(text, memory, self.memories(memory.store), entities, self.resolve)

    def lineage(self, memory: Memory, *, backlinks: bool = False) -> Lineage:
        """Return what the memory replaced, what replaced it, and its links.

        Args:
            memory: where to start.
            backlinks: what only other memories say of it too, by the link index: call it in a
                background job then.
        """
        from memtui.insight.lineage import find_lineage

        if not backlinks:
            return find_lineage(memory, self.find_named)
        with self.links.reading() as index:
            return find_lineage(memory, self.find_named, index)

    @property
    def links(self) -> StoreLinks:
        """The links between all memories; built when first used, so call it in a background job."""
        with self.loaded.lock:
            if self._links is None:
                from memtui.library.links import StoreLinks

                self._links = StoreLinks(self.loaded, self.state_folder)
            return self._links

    def resolve_node(self, text: str) -> Node:
        """Return the memory or entity that a person names, as a node of the link index.

        Raises:
            RefError: nothing has that name, or several memories do.
        """
        with self.links.reading() as index:
            return self.links.resolve(text, self.resolve, index)

    def traverse(
        self,
        start: Node,
        *,
        depth: int = 1,
        direction: Direction | None = None,
        relations: Collection[str] = (),
        at: datetime | None = None,
        most: int | None = None,
    ) -> Neighbourhood:
        """Return what is reached from a node by following links breadth-first.

        Args:
            start: see `resolve_node`.
            depth, direction, relations, at, most: see `traversal.traverse`; else both directions.
        """
        from memtui.insight import traversal

        with self.links.reading() as index:
            return traversal.traverse(
                index,
                start,
                depth=depth,
                direction=direction or traversal.Direction.BOTH,
                relations=relations,
                at=at,
                most=most or traversal.MAX_NODES,
            )

    def memories(self, store: str) -> Iterable[Memory]:
        """All memories of the store with this label, of every status, in the order of reading."""
        snapshot = self.snapshot
        return [snapshot.rows[slot] for slot in snapshot.columns.slots_of_store(store)]

    def unreadable(self, store: str) -> Sequence[Unreadable]:
        """Return the files of the `store` with this label that could not be read."""
        return next((s.unreadable for s in self.snapshot.stores if s.label == store), ())

    @staticmethod
    def diff_memories(before: Snapshot | None, after: Snapshot) -> tuple[Slots, Slots]:
        """Return the slots of the memories that are only in `before`, and of those only in `after`
        (all, without `before`); `Snapshot.take` gives the memories."""
        known = NO_SLOTS if before is None else before.columns.live_slots()
        return diff_slots(known, after.columns.live_slots())
