"""The link index of the open stores: built when first asked for, then updated by what changed."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from datetime import datetime
from pathlib import Path
from threading import RLock

from memtui.errors import RefError
from memtui.insight.link_statements import LinkStatement, stated_links
from memtui.insight.links import LinkIndex, Node, NodeKind
from memtui.library.loaded_stores import LoadedStores
from memtui.model import Memory
from memtui.progress import IsCancelled, never
from memtui.search.columns import NO_SLOTS, diff_slots, with_slots, without_slots
from memtui.text import visible

CHECK_EVERY = 24
"""Rows between two questions whether to go on: a millisecond, which a key may have to wait."""


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
        self._index = LinkIndex({}, ())
        self._slots = NO_SLOTS
        """Slots of the memories that have been read."""
        self._stated: dict[int, Sequence[LinkStatement]] = {}
        """What those of them state that state something."""
        self._revision = -1

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
        slots, rows = snapshot.columns.live_slots(), snapshot.rows
        removed, added = diff_slots(self._slots, slots)
        for slot in removed.tolist():
            self._stated.pop(slot, None)
        self._slots = without_slots(self._slots, removed)
        for number, slot in enumerate(added.tolist()):
            if number % CHECK_EVERY == 0 and cancelled():
                self._slots = with_slots(self._slots, added[:number])
                return
            if found := stated_links(rows[slot]):
                self._stated[slot] = found
        self._slots = slots
        self._revision = snapshot.revision
        changed = self._changes_of_memtui(
            {cache.store.label: str(cache.store.root) for cache in self._loaded.caches}
        )
        self._index = LinkIndex(
            snapshot.slot_of, rows, dict(self._stated), changed=changed, is_past=self._is_past
        )

    def _changes_of_memtui(self, roots: Mapping[str, str]) -> Callable[[Memory], datetime | None]:
        """A function that gives when memtui last changed a memory; it reads the journal when it is
        first called."""
        changes: dict[tuple[str, str], datetime] | None = None

        def last_change(memory: Memory) -> datetime | None:
            nonlocal changes
            if changes is None:
                from memtui.library.former_versions import last_changes

                changes = last_changes(self._state)
            return changes.get((roots[memory.store], memory.id))

        return last_change

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
