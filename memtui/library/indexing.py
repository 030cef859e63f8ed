"""The search index of all open stores: loaded, built where missing, kept up with changes."""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from threading import Lock

from memtui.library.snapshot import Picked, Rows
from memtui.library.store_cache import StoreCache
from memtui.model import Memory
from memtui.progress import IsCancelled, Report
from memtui.query import Term
from memtui.search import builder, postings, segment_files
from memtui.search.columns import Mask, Slots, to_sorted_array
from memtui.search.documents import IndexedDocument, to_document
from memtui.search.matching import ExactLookup
from memtui.search.numbering import renumber_slot
from memtui.search.postings import ProvisionalIndex, Segment
from memtui.search.whoosh_index import WhooshIndex

log = logging.getLogger(__name__)

NOBODY = IndexedDocument("")
"""Stands in an overlay for a memory that changed or went."""
SlotsOf = Callable[[], Mapping[str, int]]

IN_PROCESS = 3_000
"""Memories up to which an index is made here: a third of a second, less than a process costs."""
MOST_OVERLAYS = 8
"""Small segments of changed memories before some are made one."""


@dataclass(frozen=True, slots=True)
class IndexState:
    """What can be searched by index at one moment."""

    bases: tuple[Segment, ...] = ()
    """One for each store, as its cache has it."""
    overlays: tuple[Segment, ...] = ()
    """What came since, in slot order."""
    ready: bool = False

    @property
    def segments(self) -> tuple[Segment, ...]:
        return self.bases + self.overlays

    @property
    def base_slots(self) -> list[range]:
        """The slots that the bases cover."""
        return [range(base.first, base.first + base.count) for base in self.bases]

    def covering(self, rows: Sequence[Memory], alive: Mask) -> IndexState:
        """The same with overlays for all rows; what is not alive costs nothing."""
        overlays = list(self.overlays)
        for slots in _gaps([*self.bases, *overlays], len(rows)):
            overlays.append(_overlay(rows, slots, alive))
        overlays.sort(key=lambda segment: segment.first)
        at = _joinable(overlays)
        if at < len(overlays):
            slots = range(overlays[at].first, overlays[-1].first + overlays[-1].count)
            parts = _gaps([*self.bases, *overlays[:at]], slots.stop)
            overlays[at:] = [_overlay(rows, part, alive) for part in parts]
        return replace(self, overlays=tuple(overlays), ready=True)

    def renumbered(self, rows: Rows, alive: Mask, kept: Slots) -> IndexState:
        """The index of the rows in these slots, in the table that has only them; the bases are
        among them. `rows` and `alive` are of the table as it is before."""
        bases = [replace(s, first=renumber_slot(kept, s.first), cached_hits={}) for s in self.bases]
        return IndexState(tuple(bases)).covering(Picked(rows, kept), alive[kept])


class Index:
    """Grows by whole states, so that a search in another thread always sees a sound one."""

    def __init__(self) -> None:
        self.state = IndexState()
        self.draft = ProvisionalIndex()
        """What is searched until the state is ready."""
        self._lock = Lock()
        self._asking = Lock()
        """Whoosh's searchers are not made for several threads."""
        self._kept: dict[str, tuple[int, WhooshIndex]] = {}

    def add(self, shelf: StoreCache, rows: Rows, report: Report, cancelled: IsCancelled) -> None:
        """Make one store's cached rows searchable."""
        if shelf.base is None or shelf.catalog is None or not len(shelf.base):
            return
        first = shelf.base.start
        if any(segment.first == first for segment in self.state.bases):
            return
        folder = shelf.catalog.folder
        segment = segment_files.load_segment(folder, folder.name, first)
        if segment is None:
            if len(shelf.base) > IN_PROCESS:
                _build_elsewhere(shelf, report, cancelled)
                segment = segment_files.load_segment(folder, folder.name, first)
            if segment is None and not cancelled():
                documents = map(to_document, rows[first : shelf.base.stop])
                segment = postings.build(documents, first, cancelled)
                _save(segment, shelf)
        if segment is not None and segment.count == len(shelf.base):
            with self._lock:
                self.state = replace(self.state, bases=(*self.state.bases, segment))

    def cover(self, rows: Rows, alive: Mask) -> None:
        """Make every row searchable that is not yet; what is not in a base must be little."""
        with self._lock:
            self.state = self.state.covering(rows, alive)
            self.draft = ProvisionalIndex()

    def set(self, state: IndexState) -> None:
        """Go on with this state; slots are given anew."""
        with self._lock:
            self.state = state

    def keep(self, shelf: StoreCache, report: Report, cancelled: IsCancelled) -> None:
        """Bring what lies on disk of one store's index up to date, for the next start.

        From then on, until the store changes, Whoosh answers its phrases, patterns and misspelt
        words.
        """
        if shelf.catalog is None or shelf.home is None or cancelled():
            return
        version = shelf.version
        if not segment_files.has_segment(shelf.catalog.folder):
            _build_elsewhere(shelf, report, cancelled)
        if builder.build_whoosh(shelf.catalog.folder, cancelled=cancelled):
            with self._lock:
                self._kept[shelf.store.label] = (version, WhooshIndex(shelf.home))

    def exact(self, shelves: Sequence[StoreCache], slots_of: SlotsOf) -> ExactLookup | None:
        """Whoosh as the authority for what is more than words; None unless it knows every row."""
        with self._lock:
            kept = [self._kept.get(shelf.store.label) for shelf in shelves]
        if not all(
            held is not None and held[0] == shelf.version
            for held, shelf in zip(kept, shelves, strict=True)
        ):
            return None
        indexes = [held[1] for held in kept if held is not None]

        def slots(term: Term) -> Slots | None:
            found: list[int] = []
            known = slots_of()
            for index in indexes:
                with self._asking:
                    refs = index.search([replace(term, negated=False)])
                if refs is None:
                    return None
                found.extend(known[ref] for ref in refs if ref in known)
            return to_sorted_array(found)

        return slots


def _overlay(rows: Sequence[Memory], slots: range, alive: Mask) -> Segment:
    documents = (to_document(rows[slot]) if alive[slot] else NOBODY for slot in slots)
    return postings.build(documents, slots.start)


def _joinable(overlays: Sequence[Segment]) -> int:
    """From which overlay on they are worth making one: there are many, and it is no larger than
    all after it, so that a row is indexed again only as often as their number doubles."""
    if len(overlays) <= MOST_OVERLAYS:
        return len(overlays)
    end = overlays[-1].first + overlays[-1].count
    sizes = ((at, segment.count, end - segment.first) for at, segment in enumerate(overlays[:-1]))
    return next((at for at, count, all_from in sizes if 2 * count <= all_from), len(overlays))


def _gaps(segments: Iterable[Segment], size: int) -> Iterator[range]:
    """The slots below `size` that no segment covers."""
    at = 0
    for segment in sorted(segments, key=lambda segment: segment.first):
        if segment.first > at:
            yield range(at, segment.first)
        at = max(at, segment.first + segment.count)
    if at < size:
        yield range(at, size)


def _build_elsewhere(shelf: StoreCache, report: Report, cancelled: IsCancelled) -> None:
    """Let another process build it, so that the screen does not feel it."""
    if shelf.catalog is None:
        return
    what = f"indexing {shelf.store.label}"
    builder.build_arrays(
        shelf.catalog.folder,
        lambda progress: report(replace(progress, what=what)),
        cancelled,
    )


def _save(segment: Segment, shelf: StoreCache) -> None:
    if shelf.catalog is None:
        return
    folder = shelf.catalog.folder
    try:
        segment_files.save_segment(segment, folder, folder.name)
    except OSError as error:
        log.warning("the index of %s cannot be kept: %s", shelf.store.label, error)
