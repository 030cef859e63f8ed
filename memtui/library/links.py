"""The link index of the open stores: built when first asked for, then updated by what changed."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import datetime
from threading import RLock

from memtui.errors import RefError
from memtui.insight.links import LinkIndex, Node, NodeKind
from memtui.library.loaded_stores import LoadedState, LoadedStores
from memtui.model import Memory
from memtui.progress import IsCancelled, never
from memtui.search import numbering
from memtui.text import visible

_SOURCE = re.compile(rb',"source":"([^"\\]*)"')
_CREATED = re.compile(rb',"created":"([^"\\]*)"')
_NO_LINKS = (b',"supersedes":[]', b',"superseded_by":[]', b',"links":[]', b',"also_entities":[]')
"""Fields of a cached row without links, as `search.catalog.encode_row` writes them. Inside texts
the quotes are escaped, so nothing else looks like this before the field `extra`, which is last."""
_TEXT_LINKS = (b"[[", b"](", b'"ended_links":')


class StoreLinks:
    """Holds the link index and its lock; may be used from any thread."""

    def __init__(self, loaded: LoadedStores) -> None:
        self._loaded = loaded
        self._lock = RLock()
        self._index = LinkIndex()
        self._serials = numbering.NO_SERIALS
        self._revision = -1

    @contextmanager
    def reading(self, cancelled: IsCancelled = never) -> Iterator[LinkIndex]:
        """Yield the index of the present snapshot; nobody else changes it meanwhile.

        A cancelled build is completed by the next one; the index then lacks some memories.
        """
        with self._lock:
            self._update(self._loaded.state, cancelled)
            yield self._index

    def build(self, cancelled: IsCancelled = never) -> None:
        """Bring the index up to date now, so that the next question is answered at once."""
        with self.reading(cancelled):
            pass

    def degree(self, ref: str) -> int:
        """How many links a memory has, in both directions."""
        with self.reading() as index:
            return index.degree(ref)

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

    def _update(self, state: LoadedState, cancelled: IsCancelled) -> None:
        if state.snapshot.revision == self._revision:
            return
        rows = state.snapshot.rows
        serials = numbering.filter_serials(rows.serials, state.columns.alive)
        gone, come = numbering.diff_serials(self._serials, serials)
        for serial in gone:
            self._index.remove(serial)
        self._serials = numbering.without_serials(self._serials, gone)
        for number, serial in enumerate(come):
            if number % 1024 == 0 and cancelled():
                self._serials = numbering.with_serials(self._serials, come[:number])
                return
            self._add(state, serial)
        self._serials = serials
        self._revision = state.snapshot.revision

    def _add(self, state: LoadedState, serial: int) -> None:
        rows, columns = state.snapshot.rows, state.columns
        slot = rows.slot(serial)
        line = rows.cached_line(slot)
        if line is not None and _has_plain_fields(line.record):
            source = _SOURCE.search(line.record)
            created = _CREATED.search(line.record)
            if source is not None:
                self._index.add_unlinked(
                    serial,
                    line.ref,
                    columns.entities[int(columns.entity[slot])],
                    source[1].decode(),
                    datetime.fromisoformat(created[1].decode()) if created else None,
                )
                return
        self._index.add(serial, rows[slot])

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


def _has_plain_fields(record: bytes) -> bool:
    """Whether the row has no links and no further entities, so that it need not be decoded."""
    return all(field in record for field in _NO_LINKS) and not any(
        mark in record for mark in _TEXT_LINKS
    )
