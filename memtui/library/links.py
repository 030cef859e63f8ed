"""The link index of the open stores: built when first asked for, then updated by what changed."""

from __future__ import annotations

import logging
from collections.abc import Callable, Collection, Iterator, KeysView
from contextlib import contextmanager
from datetime import datetime
from pathlib import Path
from threading import RLock

from memtui.errors import RefError
from memtui.insight.link_statements import (
    EdgeOrigin,
    LinkEntry,
    read_entry,
    source_refs,
)
from memtui.insight.links import LinkIndex, Names, Node, NodeKind
from memtui.library.loaded_stores import LoadedStores
from memtui.model import Memory
from memtui.progress import IsCancelled, never
from memtui.search import aggregates
from memtui.search.columns import NO_SLOTS, diff_slots, with_slots, without_slots
from memtui.text import visible

log = logging.getLogger(__name__)

CHECK_EVERY = 24
"""Rows between two questions whether to go on: a millisecond, which a key may have to wait."""
MAX_MISSING = 3000
"""Refs of missing sources that are noted. Sources that all memories share are few; the memories of
others keep their entries."""


class StoreLinks:
    """Holds the link index and its lock; may be used from any thread."""

    def __init__(
        self, loaded: LoadedStores, state: Path | None = None, *, is_past: bool = False
    ) -> None:
        """
        Args:
            loaded: The open stores.
            state: Folder of the journal; None if there is none.
            is_past: Whether the stores are those of a former time.
        """
        self._loaded = loaded
        self._is_past = is_past
        self._state = state
        self._lock = RLock()
        self._index = LinkIndex()
        self._successors: set[str] = set()
        """Refs of memories that replaced others: the others end when they came."""
        self._slots = NO_SLOTS
        """Slots of the memories that have been read."""
        self._revision = -1
        self._missing: frozenset[str] = frozenset()
        """Refs that sources of memories without an entry would mean. In many stores each memory
        says `conversation`, which is none: a million such entries take 700 MB."""

    @contextmanager
    def reading(self, cancelled: IsCancelled = never) -> Iterator[LinkIndex]:
        """Yield the index of the present snapshot; nobody else changes it meanwhile.

        A cancelled build is completed by the next one; the index then lacks some memories.

        """
        with self._lock:
            self._update(cancelled)
            yield self._index

    @property
    def is_current(self) -> bool:
        """Whether the index is up to date, so that a question is answered at once."""
        return self._revision == self._loaded.snapshot.revision

    def build(self, cancelled: IsCancelled = never) -> None:
        """Bring the index up to date now, so that the next question is answered at once."""
        with self.reading(cancelled):
            pass

    def linked_to(self, name: str) -> set[str] | None:
        """Return the refs of memories with a link to or from what a folded name means.

        Args:
            name: A ref, the beginning of an id, or the path of an entity or its last part.

        Returns:
            The refs, or None if nothing has that name.
        """
        with self.reading() as index:
            nodes = index.find_folded(name)
            if not nodes:
                return None
            ends = [
                end
                for node in nodes
                for edge in (*index.outgoing(node), *index.incoming(node))
                for end in (edge.source, edge.target, Node(NodeKind.MEMORY, edge.stated_by))
                if end not in nodes
            ]
        return {end.name for end in ends if end.kind == NodeKind.MEMORY}

    def _update(self, cancelled: IsCancelled) -> None:
        snapshot = self._loaded.snapshot
        if snapshot.revision == self._revision:
            return
        slot_of, rows = snapshot.slot_of, snapshot.rows
        refs = slot_of.keys()
        if not refs.isdisjoint(self._missing):
            self._index, self._slots = LinkIndex(), NO_SLOTS
            self._revision, self._missing = -1, frozenset()
        is_first = self._revision < 0 and not self._is_past
        self._index.is_past = self._is_past
        slots = snapshot.columns.live_slots()
        removed, added = diff_slots(self._slots, slots)
        for slot in removed.tolist():
            self._index.remove(slot)
        self._slots = without_slots(self._slots, removed)
        sources = _MissingSources(refs, self._missing)
        changes: dict[tuple[str, str], datetime] | None = None
        roots = {cache.store.label: str(cache.store.root) for cache in self._loaded.caches}
        for number, slot in enumerate(added.tolist()):
            if number % CHECK_EVERY == 0 and cancelled():
                self._slots = with_slots(self._slots, added[:number])
                self._missing = frozenset(sources.refs)
                return
            entry = read_entry(rows[slot])
            if entry.ended is not None and entry.statements:
                changes = self._last_changes() if changes is None else changes
                changed = changes.get((roots[entry.store], entry.id))
                if changed is not None:
                    entry = self._find_end(entry, changed)
            if not (is_first and sources.states_nothing(entry)):
                self._index.add_entry(slot, entry)
                self._successors.update(f"{entry.store}:{name}" for name in entry.successors)
        for ref in sorted(self._successors):
            if not self._index.has_entry(ref) and (at := slot_of.get(ref)) is not None:
                self._index.add_entry(at, read_entry(rows[at]))
        labels, entities = aggregates.list_stores(snapshot.columns)
        self._index.set_names(Names(slot_of, entities, labels))
        self._slots = slots
        self._missing = frozenset(sources.refs)
        self._revision = snapshot.revision

    def _last_changes(self) -> dict[tuple[str, str], datetime]:
        from memtui.library.former_versions import last_changes

        return last_changes(self._state)

    @staticmethod
    def _find_end(entry: LinkEntry, changed: datetime) -> LinkEntry:
        """The entry of a memory that memtui took out of use at a time, unless its store says when;
        the last change of its file may be an older one."""
        if entry.is_end_stated or entry.successors:
            return entry
        return entry._replace(ended=max(changed, entry.ended or changed))

    @staticmethod
    def resolve(text: str, find: Callable[[str], Memory], index: LinkIndex) -> Node:
        """Return the node that a person names: the path or the unique last part of an entity, else
        a memory.

        Args:
            text: what the person typed.
            find: see `Library.resolve`.
            index: of `reading`.

        Raises:
            RefError: nothing has that name, or several memories do.
        """
        node = index.resolve("", text)
        if node.kind != NodeKind.UNKNOWN:
            return node
        if named := index.entities_called(text):
            paths = ", ".join(map(visible, named[:3]))
            raise RefError(f"{visible(text)!r} names {paths}", do="give the whole path")
        try:
            return Node(NodeKind.MEMORY, find(text).ref)
        except RefError as error:
            raise RefError(f"{error.what}, and no entity has that name", do=error.do) from None


class _MissingSources:
    """Tells which memories have no links, as their sources are no memories, and notes the refs
    that these sources would mean: with such a memory the links are built anew."""

    def __init__(self, refs: KeysView[str], missing: Collection[str]) -> None:
        """`refs`: of all memories."""
        self._refs = refs
        self.refs = set(missing)
        self._is_missing: dict[tuple[str, str], bool] = {}
        """Store and source -> whether it is noted."""

    def states_nothing(self, entry: LinkEntry) -> bool:
        """Whether nothing but the ref and the entity of a memory counts; a link may name the stem
        of a document."""
        return entry.has_plain_name and all(
            stated.origin is EdgeOrigin.SOURCE and self._note(entry.store, stated.target)
            for stated in entry.statements
        )

    def _note(self, store: str, source: str) -> bool:
        known = self._is_missing.get((store, source))
        if known is None:
            refs = source_refs(store, source)
            known = len(self.refs) < MAX_MISSING and self._refs.isdisjoint(refs)
            if known:
                self.refs.update(refs)
            self._is_missing[store, source] = known
        return known
