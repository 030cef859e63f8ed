"""The link index of the open stores: built when first asked for, then updated by what changed.

What the cached rows state is kept beside them, so that no row is decoded for its links:
`links.jsonl` in the folder of a generation (see `memtui.search.catalog`), which is removed with it,
has a line with the version and the number of rows, lines with up to `ENTRIES_PER_LINE` entries
each, then `"end"`. An entry is [row, ref, own id, entities, time, statements], and of a memory that
is not in use also end, successors and whether the end is stated. Rows that state nothing, and that
no other has as its successor, have none (`_is_plain`); the index knows their names only.
"""

from __future__ import annotations

import json
import logging
import re
import sys
from bisect import bisect_left
from collections.abc import Callable, Hashable, Iterator, Sequence
from contextlib import contextmanager, suppress
from datetime import datetime
from pathlib import Path
from threading import RLock
from typing import Any

from memtui import __version__
from memtui.errors import RefError
from memtui.insight.link_graph import Node, NodeKind
from memtui.insight.link_statements import (
    EdgeOrigin,
    LinkEntry,
    LinkStatement,
    read_entry,
    source_links,
)
from memtui.insight.links import LinkIndex, Names
from memtui.library.loaded_stores import LoadedState, LoadedStores
from memtui.model import Memory, from_record
from memtui.progress import Cancelled, IsCancelled, never
from memtui.search import aggregates, cache_files, numbering
from memtui.text import visible

log = logging.getLogger(__name__)

CHECK_EVERY = 128
"""Rows between two questions whether to go on: some milliseconds."""
SAVED_FROM = 512
"""Rows that had to be read for their links from which these are saved at once."""
_SOURCE = re.compile(rb',"source":"([^"\\]*)"')
_CREATED = re.compile(rb',"created":"([^"\\]*)"')
_NO_LINKS = (b',"supersedes":[]', b',"superseded_by":[]', b',"links":[]', b',"also_entities":[]')
"""Fields of a cached row without links, as `search.catalog.encode_row` writes them. Inside texts
the quotes are escaped, so nothing else looks like this before the field `extra`, which is last."""
_TEXT_LINKS = (b"[[", b"](", b'"ended_links":')


class StoreLinks:
    """Holds the link index and its lock; may be used from any thread."""

    def __init__(
        self,
        loaded: LoadedStores,
        present: StoreLinks | None = None,
        state: Path | None = None,
    ) -> None:
        """
        Args:
            loaded: The open stores.
            present: If `loaded` are the stores as of a time, the links as they are now.
            state: Folder of the journal; None if there is none.
        """
        self._loaded = loaded
        self._present = present
        self._state = state
        self._lock = RLock()
        self._index = LinkIndex()
        self._successors: set[str] = set()
        """Refs of memories that replaced others: the others end when they came."""
        self._serials = numbering.NO_SERIALS
        self._revision = -1

    @contextmanager
    def reading(self, cancelled: IsCancelled = never) -> Iterator[LinkIndex]:
        """Yield the index of the present snapshot; nobody else changes it meanwhile.

        A cancelled build is completed by the next one; the index then lacks some memories.

        Raises:
            Cancelled: `cancelled` became true while what is saved was read.
        """
        with self._lock:
            self._update(cancelled)
            yield self._index

    @property
    def is_current(self) -> bool:
        """Whether the index is up to date, so that a question is answered at once."""
        return self._revision == self._loaded.state.snapshot.revision

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
        with self._loaded.lock:
            state = self._loaded.state
            if state.snapshot.revision == self._revision:
                return
            caches = self._loaded.caches if self._present is None else ()
            bases = {cache.catalog.folder: cache.base for cache in caches if cache.catalog}
            slot_of = self._loaded.slots()
        is_first = self._revision < 0 and self._present is None
        if self._present is not None and self._revision < 0:
            with self._present.reading(cancelled) as index:
                self._index, self._serials = index.copy(), self._present._serials
            self._index.is_past = True
        rows = state.snapshot.rows
        serials = rows.serials[state.columns.alive]
        removed, added = numbering.diff_serials(self._serials, serials)
        for serial in removed:
            self._index.remove(serial)
        self._serials = numbering.without_serials(self._serials, removed)
        saved: dict[int, LinkEntry] = {}
        read_bases = []
        for folder, base in bases.items() if is_first or len(added) >= SAVED_FROM else ():
            if base and (found := _read_entries(folder, base, cancelled)) is not None:
                saved.update(found)
                read_bases.append(base)
        read = 0
        changes: dict[tuple[str, str], datetime] | None = None
        roots = {cache.store.label: str(cache.store.root) for cache in self._loaded.caches}
        slots = numbering.choose_slots(rows.serials, added, read_bases, saved)
        for number, slot in enumerate(slots):
            serial = rows.serial(slot)
            if number % CHECK_EVERY == 0 and cancelled():
                done = added[: bisect_left(added, serial)]
                self._serials = numbering.with_serials(self._serials, done)
                return
            entry = saved.get(slot)
            if entry is None:
                entry = _read_row(state, slot)
                read += 1
            if entry.ended is not None and entry.statements:
                changes = self._last_changes() if changes is None else changes
                changed = changes.get((roots[entry.store], entry.id))
                if changed is not None:
                    entry = self._find_end(entry, changed)
            if not (is_first and _is_plain(entry)):
                self._index.add_entry(serial, entry)
                self._successors.update(f"{entry.store}:{name}" for name in entry.successors)
        for ref in sorted(self._successors):
            if not self._index.has_entry(ref) and (at := slot_of.get(ref)) is not None:
                self._index.add_entry(rows.serial(at), _read_row(state, at))
        labels, entities = aggregates.list_stores(state.columns)
        self._index.set_names(Names(slot_of, entities, labels))
        self._serials = serials
        self._revision = state.snapshot.revision
        if read >= SAVED_FROM:
            self.save()

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

    def save(self) -> None:
        """Write what the cached rows state beside them, where that is missing, if the index has
        been built; a failure is logged only."""
        if self._present is not None:
            return
        with self._lock, self._loaded.lock:
            state = self._loaded.state
            if self._revision != state.snapshot.revision:
                return
            for cache in self._loaded.caches:
                if cache.catalog is None or (cache.catalog.folder / LINKS_FILE).exists():
                    continue
                slots = cache.slots_of_catalog()
                if -1 in slots:  # the next generation will have them
                    continue
                found = map(self._index.entry, state.snapshot.rows.serials[slots])
                entries = [(row, entry) for row, entry in enumerate(found) if entry is not None]
                try:
                    write_entries(cache.catalog.folder, len(slots), entries)
                except OSError as error:
                    log.warning("links of %s are not cached: %s", cache.store.label, error)

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


def _read_row(state: LoadedState, slot: int) -> LinkEntry:
    """Return the links that a row states; a cached row is decoded only if it has some."""
    rows, columns = state.snapshot.rows, state.columns
    line = rows.cached_line(slot)
    if line is None:
        return read_entry(rows[slot])
    if _has_plain_fields(line.record):
        source = _SOURCE.search(line.record)
        created = _CREATED.search(line.record)
        path = columns.entities[int(columns.entity[slot])]
        if source is not None:
            return LinkEntry(
                line.ref,
                "",
                (path,) if path else (),
                datetime.fromisoformat(created[1].decode()) if created else None,
                source_links(source[1].decode()),
            )
    return read_entry(from_record(json.loads(line.record)))


def _has_plain_fields(record: bytes) -> bool:
    """Whether the row has no links and no further entities, so that it need not be decoded."""
    return all(field in record for field in _NO_LINKS) and not any(
        mark in record for mark in _TEXT_LINKS
    )


LINKS_FILE = "links.jsonl"
FORMAT_VERSION = 5
"""Incremented when the lines or their meaning change."""
ENTRIES_PER_LINE = 256
"""Entries of a line: the parser holds up all other threads while it reads one."""
_END = "end"
_FIELDS_IN_USE = LinkEntry._fields.index("ended")
"""Fields of an entry that are saved if the memory is in use; the others say how it ended."""
_ORIGINS = {str(origin): origin for origin in EdgeOrigin}


def write_entries(folder: Path, count: int, entries: Sequence[tuple[int, LinkEntry]]) -> None:
    """Write the entries of a generation of `count` rows, given with their rows. Raises OSError."""
    path = folder / LINKS_FILE
    new = path.with_suffix(".new")
    with cache_files.create(new) as stream:
        for values in _lines(count, entries):
            line = json.dumps(values, separators=(",", ":"), default=datetime.isoformat)
            stream.write(line.encode("ascii") + b"\n")
    new.replace(path)


def _is_plain(entry: LinkEntry) -> bool:
    """Whether nothing but the ref and the entity of a memory counts; a link may name the stem of a
    document."""
    is_document = entry.ref.endswith(".md")
    return not (entry.statements or entry.own_id or len(entry.entities) > 1 or is_document)


def _lines(count: int, entries: Sequence[tuple[int, LinkEntry]]) -> Iterator[object]:
    yield [FORMAT_VERSION, __version__, count]
    chunk: list[object] = []
    successors = {name for _, entry in entries for name in entry.successors}
    for row, entry in entries:
        if _is_plain(entry) and entry.id not in successors:
            continue
        chunk.append([row, *(entry if entry.ended is not None else entry[:_FIELDS_IN_USE])])
        if len(chunk) == ENTRIES_PER_LINE:
            yield chunk
            chunk = []
    yield chunk
    yield _END


def _read_entries(folder: Path, base: range, cancelled: IsCancelled) -> dict[int, LinkEntry] | None:
    """Slot -> its entry; None if they are not saved, or damaged. Raises Cancelled."""
    path = folder / LINKS_FILE
    try:
        with path.open("rb") as stream:
            if json.loads(stream.readline()) != [FORMAT_VERSION, __version__, len(base)]:
                raise ValueError("of another version, or of other rows")
            found: dict[int, LinkEntry] = {}
            shared: dict[Hashable, Any] = {}
            while (chunk := json.loads(stream.readline())) != _END:
                if cancelled():
                    raise Cancelled
                for entry in chunk:
                    found[base.start + entry[0]] = _decode(entry, shared)
            return found
    except FileNotFoundError:
        return None
    except (OSError, ValueError, TypeError, LookupError) as error:
        log.warning("%s is not used: %r", path, error)
        with suppress(OSError):
            path.unlink()
        return None


def _decode(saved: Sequence[Any], shared: dict[Hashable, Any]) -> LinkEntry:
    """The entry of a row; values that many rows have are the same objects in all (`shared`)."""
    _, ref, own_id, entities, since, stated, *end = saved
    share = shared.setdefault
    statements = tuple(
        LinkStatement(
            share(source, source),
            sys.intern(relation),
            share(target, target),
            _ORIGINS[origin],
            _time(begin),
            _time(end),
            note,
        )
        for source, relation, target, origin, begin, end, note in stated
    )
    names = tuple(share(name, name) for name in entities)
    stated_once = share(statements, statements)
    entry = LinkEntry(ref, own_id, share(names, names), _time(since), stated_once)
    if not end:
        return entry
    ended, successors, is_end_stated = end
    return entry._replace(
        ended=_time(ended), successors=tuple(successors), is_end_stated=is_end_stated
    )


def _time(text: str | None) -> datetime | None:
    return None if text is None else datetime.fromisoformat(text)
