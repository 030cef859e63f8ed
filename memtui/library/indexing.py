"""The search index of all open stores: load it, build what is missing, cover changed rows."""

from __future__ import annotations

import logging
from collections.abc import Mapping, Sequence
from threading import Lock
from typing import TYPE_CHECKING, NamedTuple

from msgspec import Struct
from msgspec.structs import replace

from memtui.library.snapshot import Rows, Snapshot
from memtui.library.store_cache import StoreCache
from memtui.model import Memory
from memtui.progress import Cancelled, IsCancelled, Report, never
from memtui.search import postings, segment_files
from memtui.search.array_types import Mask, to_mask
from memtui.search.documents import to_document
from memtui.search.index_worker import build_index, whoosh_rows
from memtui.search.matching import ExactAnswer
from memtui.search.postings import Segment
from memtui.search.query_terms import QueryTerm
from memtui.search.saved_rows import has_secret

if TYPE_CHECKING:
    from pathlib import Path

    from memtui.search.whoosh_index import WhooshIndex

log = logging.getLogger(__name__)

BUILT_IN_PROCESS = 3_000
"""Memories up to which an index is built in this process: a third of a second, less than starting
another one costs."""
MAX_OVERLAYS = 8
"""Overlays before they are made anew as one."""


class IndexState(Struct, frozen=True):
    """The segments that can be searched; immutable."""

    bases: tuple[Segment, ...] = ()
    """The cached segment of each store."""
    overlays: tuple[Segment, ...] = ()
    """Segments of rows that are newer than the cache."""
    snapshot: Snapshot | None = None
    """The newest whose rows are all indexed; None until one is."""

    @property
    def segments(self) -> tuple[Segment, ...]:
        return self.bases + self.overlays

    def covering(self, snapshot: Snapshot) -> IndexState:
        """Return this state with an overlay of the rows it lacks; dead rows are not indexed."""
        overlays = list(self.overlays) if len(self.overlays) < MAX_OVERLAYS else []
        missing = snapshot.columns.alive.copy()
        for segment in (*self.bases, *overlays):
            covered = missing[segment.first : segment.first + segment.count]
            covered &= ~segment.holds[: len(covered)]
        slots = missing.nonzero()[0]
        if len(slots):
            built = postings.build(map(to_document, snapshot.take(slots).values()))
            overlays.append(postings.spread(built, slots))
        return replace(self, overlays=tuple(overlays), snapshot=snapshot)


PROVISIONAL_BATCH = 2_048
"""Memories of one provisional segment: a tenth of a second."""


class ProvisionalIndex:
    """Segments of the rows loaded so far, to search while the index is still being built.

    Rows are indexed in batches that are kept: the first keystroke pays for what is loaded (1.25 s
    of CPU at 33,000), later ones for what was loaded since, and a cancelled one loses at most
    one batch. Stems, which pay off only over a session, are left out. Any
    thread may use it.
    """

    def __init__(self) -> None:
        self._segments: list[Segment] = []
        self._lock = Lock()

    def extend_to(
        self, rows: Sequence[Memory], size: int, cancelled: IsCancelled = never
    ) -> tuple[Segment, ...]:
        """Return segments of the first `size` of these `rows`. Raises Cancelled.

        Rows may be added since the last call, never changed.
        """
        with self._lock:
            segments = self._segments
            while (covered := (segments[-1].first + segments[-1].count if segments else 0)) < size:
                if cancelled():
                    raise Cancelled
                if segments and segments[-1].count < PROVISIONAL_BATCH:
                    covered = segments.pop().first
                batch = rows[covered : min(covered + PROVISIONAL_BATCH, size)]
                documents = map(to_document, batch)
                segments.append(postings.build(documents, covered, cancelled, is_complete=False))
            return tuple(segments)


class Index:
    """The index of all stores; its state is replaced whole, so that searches in other threads
    always see a consistent one."""

    def __init__(self) -> None:
        self.state = IndexState()
        self.provisional = ProvisionalIndex()
        """Searched until the state has a snapshot."""
        self._lock = Lock()
        self.exact = ExactIndex()

    def add(self, cache: StoreCache, rows: Rows, report: Report, cancelled: IsCancelled) -> None:
        """Load or build the segment of one store's cached rows."""
        slots, folder = list(cache.saved_slots), cache.generation
        if not slots or folder is None:
            return
        self.exact.use(cache)
        if any(segment.first == slots[0] for segment in self.state.bases):
            return
        if slots != sorted(slots):  # rows that were read again lie behind later ones
            return
        segment = segment_files.load_segment(folder)
        if segment is None:
            if len(slots) > BUILT_IN_PROCESS:
                what = f"indexing {cache.store.label}"
                build_index(
                    "arrays",
                    folder,
                    lambda progress: report(progress._replace(what=what)),
                    cancelled,
                )
                segment = segment_files.load_segment(folder)
            if segment is None and not cancelled():
                documents = map(to_document, map(rows.__getitem__, slots))
                segment = postings.build(documents, cancelled=cancelled)
                try:
                    segment_files.save_segment(segment, folder)
                except OSError as error:
                    log.warning("the index in %s cannot be saved: %s", folder, error)
        if segment is not None and segment.count == len(slots):
            base = postings.spread(segment, slots)
            with self._lock:
                self.state = replace(self.state, bases=(*self.state.bases, base))

    def extend_to(self, snapshot: Snapshot) -> None:
        """Index the rows that no segment covers; meant for few rows beside the bases."""
        with self._lock:
            self.state = self.state.covering(snapshot)
            self.provisional = ProvisionalIndex()

    def share(self, state: IndexState) -> None:
        """Take the index of another library, whose first rows have the same texts."""
        self.state = state

    def save(self, cache: StoreCache, cancelled: IsCancelled) -> None:
        """Bring one store's index on disk up to date, for the next start, and Whoosh's for phrases,
        patterns and fuzzy terms."""
        folder = cache.generation
        if folder is None or cancelled():
            return
        if not segment_files.has_segment(folder):
            build_index("arrays", folder, cancelled=cancelled)
        is_old = whoosh_rows(folder.parent) != folder.name
        if is_old and build_index("whoosh", folder, cancelled=cancelled):
            self.exact.use(cache)


class _Covered(NamedTuple):
    """The memories that the Whoosh index of one store knows."""

    rows: str
    """What the index on disk is called by."""
    slots: set[int]


MAX_FOLLOWED = 500
"""Changed memories of a store that are written into its Whoosh index at once: 2 ms each."""


class ExactIndex:
    """The Whoosh indexes of all stores; any thread may use them, one at a time."""

    def __init__(self) -> None:
        self._lock = Lock()
        """Whoosh's searchers are not thread-safe."""
        self._covered: dict[Path, _Covered] = {}
        """By cache folder of the store."""
        self._opened: dict[Path, WhooshIndex] = {}
        """Those that were used: Whoosh takes 5 MiB, and few searches need it."""

    def use(self, cache: StoreCache) -> None:
        """Use the index of a store if it is of exactly the rows that are saved."""
        folder, slots = cache.generation, set(cache.saved_slots)
        if folder is not None and whoosh_rows(folder.parent) == folder.name:
            with self._lock:
                if folder is cache.generation:  # no newer rows were saved meanwhile
                    self._covered[folder.parent] = _Covered(folder.name, slots)

    def search(
        self, term: QueryTerm, slot_of: Mapping[str, int], alive: Mask
    ) -> ExactAnswer | None:
        """Look up a phrase, a pattern or a fuzzy word; None where no memory is covered."""
        found: list[int] = []
        covered: list[int] = []
        with self._lock:
            for home, known in list(self._covered.items()):
                refs = self._open(home).search(term, known.rows)
                if refs is None:  # damaged, or replaced by another process
                    del self._covered[home]
                    continue
                covered += (slot for slot in known.slots if slot < len(alive))
                slots = (slot_of.get(ref, len(alive)) for ref in refs)
                found += (slot for slot in slots if slot < len(alive))
        if not covered:
            return None
        return ExactAnswer(to_mask(found, len(alive)), to_mask(covered, len(alive)) & alive)

    def follow(self, cache: StoreCache, rows: Rows) -> None:
        """Write the changes of a store into its index, unless they are many.

        A memory with a secret is in no file of the cache; the arrays answer for it.
        """
        with self._lock:
            home = cache.home
            known = self._covered.get(home) if home is not None else None
            if home is None or known is None:
                return
            # A refresh may go on meanwhile; what is not in these rows yet comes after it.
            slots = (slot for shard in list(cache.shards.values()) for slot in shard.slots)
            now = {slot for slot in slots if slot < len(rows)}
            fresh = [slot for slot in sorted(now - known.slots) if not has_secret(rows[slot])]
            gone = known.slots - now
            if not (fresh or gone) or len(fresh) + len(gone) > MAX_FOLLOWED:
                return
            added, removed = (
                [to_document(rows[slot]) for slot in fresh],
                [rows[s].ref for s in gone],
            )
            if name := self._open(home).change(added, removed, known.rows):
                self._covered[home] = _Covered(name, known.slots - gone | set(fresh))
            else:
                del self._covered[home]

    def _open(self, home: Path) -> WhooshIndex:
        from memtui.search.whoosh_index import WhooshIndex

        return self._opened.setdefault(home, WhooshIndex(home))
