"""What the cached rows of a store state, kept beside them, so that no row is decoded for its links.

`links.jsonl` in the folder of a generation (see `memtui.search.catalog`), which is removed with it:
a line with the version and the number of rows, lines with up to `CHUNK` entries each, then `"end"`.
An entry is [row, own id, entities, time, statements], and of a memory that is not in use also end,
successors and whether the end is stated. Rows that state nothing, and that no other has as its
successor, have none.
"""

from __future__ import annotations

import json
import logging
import sys
from collections.abc import Iterator, Sequence
from datetime import datetime
from pathlib import Path
from typing import Any

from memtui import __version__
from memtui.insight.link_statements import EdgeOrigin, LinkEntry, LinkStatement
from memtui.library.loaded_stores import LoadedState
from memtui.library.store_cache import StoreCache
from memtui.search import cache_files

log = logging.getLogger(__name__)

FILE = "links.jsonl"
FORM = 4
"""Incremented when the lines or their meaning change."""
CHUNK = 256
"""Entries of a line: the parser holds up all other threads while it reads one."""
_END = "end"
_ORIGINS = {str(origin): origin for origin in EdgeOrigin}


class SavedLinks:
    """The saved entries of one store's cached rows; read when first asked for."""

    def __init__(self, cache: StoreCache) -> None:
        self._folder = cache.catalog.folder if cache.catalog is not None else None
        self._base = cache.base if cache.base is not None else range(0)
        self._entries: dict[int, LinkEntry] | None = None

    def entry(self, slot: int, state: LoadedState) -> LinkEntry | None:
        """What the row in this slot states; None if that is not saved."""
        if self._folder is None or slot not in self._base:
            return None
        if self._entries is None:
            self._entries = _read(self._folder, len(self._base), self._base.start, state)
            if self._entries is None:
                self._folder = None
                return None
        saved = self._entries.get(slot)
        if saved is not None:
            return saved
        path = state.columns.entities[int(state.columns.entity[slot])]
        return LinkEntry(state.snapshot.rows.ref_of(slot), "", (path,) if path else ())


def write(folder: Path, entries: Sequence[LinkEntry | None]) -> None:
    """Write the entries of all rows of a generation, in their order. Raises OSError."""
    path = folder / FILE
    new = path.with_suffix(".new")
    with cache_files.create(new) as stream:
        for values in _lines(entries):
            stream.write(json.dumps(values, separators=(",", ":")).encode("ascii") + b"\n")
    new.replace(path)


def _lines(entries: Sequence[LinkEntry | None]) -> Iterator[object]:
    yield [FORM, __version__, len(entries)]
    chunk: list[object] = []
    known = [entry for entry in entries if entry is not None]
    successors = {name for entry in known for name in entry.successors}
    for row, entry in enumerate(entries):
        if entry is None or not (
            entry.statements or entry.own_id or len(entry.entities) > 1 or entry.id in successors
        ):
            continue
        stated = [
            [
                statement.source,
                statement.relation,
                statement.target,
                str(statement.origin),
                _text(statement.valid_from),
                _text(statement.valid_to),
                statement.note,
            ]
            for statement in entry.statements
        ]
        saved = [row, entry.own_id, entry.entities, _text(entry.since), stated]
        if entry.ended is not None:
            saved += [_text(entry.ended), entry.successors, entry.is_end_stated]
        chunk.append(saved)
        if len(chunk) == CHUNK:
            yield chunk
            chunk = []
    yield chunk
    yield _END


def _read(folder: Path, count: int, first: int, state: LoadedState) -> dict[int, LinkEntry] | None:
    """Slot -> its entry; None if they are not saved, or damaged."""
    path = folder / FILE
    try:
        with path.open("rb") as stream:
            if json.loads(stream.readline()) != [FORM, __version__, count]:
                raise ValueError("of another version, or of other rows")
            rows = state.snapshot.rows
            found: dict[int, LinkEntry] = {}
            while (chunk := json.loads(stream.readline())) != _END:
                for entry in chunk:
                    slot = first + entry[0]
                    found[slot] = _decode(rows.ref_of(slot), entry)
            return found
    except FileNotFoundError:
        return None
    except (OSError, ValueError, TypeError, LookupError) as error:
        log.warning("%s is not used: %r", path, error)
        path.unlink(missing_ok=True)
        return None


def _decode(ref: str, saved: Sequence[Any]) -> LinkEntry:
    _, own_id, entities, since, stated, *end = saved
    statements = tuple(
        LinkStatement(
            source, sys.intern(relation), target, _ORIGINS[origin], _time(begin), _time(end), note
        )
        for source, relation, target, origin, begin, end, note in stated
    )
    entry = LinkEntry(ref, own_id, tuple(entities), _time(since), statements)
    if not end:
        return entry
    ended, successors, is_end_stated = end
    return entry._replace(
        ended=_time(ended), successors=tuple(successors), is_end_stated=is_end_stated
    )


def _text(time: datetime | None) -> str | None:
    return None if time is None else time.isoformat()


def _time(text: str | None) -> datetime | None:
    return None if text is None else datetime.fromisoformat(text)
