"""The links that cached rows state, saved beside them so that no row is decoded for its links.

`links.jsonl` in the folder of a generation (see `memtui.search.catalog`), which is removed with it,
has sealed lines (`memtui.sealed_lines`): one with the version and the number of rows, one with the
refs that the sources of rows without an entry would mean (`memtui.library.links`), some with up to
`ENTRIES_PER_LINE` entries each, then `"end"`. An entry is [row, ref, own id, entities, time,
statements], and of a memory that is not in use also end, successors and whether the end is stated.
Rows that state nothing, and that no other has as its successor, have none.
"""

from __future__ import annotations

import logging
import sys
from collections.abc import Collection, Hashable, Iterator, Mapping, Sequence
from contextlib import suppress
from datetime import datetime
from pathlib import Path
from typing import Any, NamedTuple

from memtui import __version__
from memtui.insight.link_statements import EdgeOrigin, LinkEntry, LinkStatement
from memtui.progress import Cancelled, IsCancelled
from memtui.sealed_lines import seal, unseal
from memtui.search import cache_files

log = logging.getLogger(__name__)

LINKS_FILE = "links.jsonl"
FORMAT_VERSION = 7
"""Incremented when the lines or their meaning change."""
ENTRIES_PER_LINE = 256
"""Entries of a line: the parser holds up all other threads while it reads one."""
_END = "end"
_FIELDS_IN_USE = LinkEntry._fields.index("ended")
"""Fields of an entry that are saved if the memory is in use; the others say how it ended."""
_ORIGINS = {str(origin): origin for origin in EdgeOrigin}


class SavedLinks(NamedTuple):
    """What was saved of some rows."""

    entries: Mapping[int, LinkEntry]
    """By slot."""
    missing: Collection[str]
    """Refs that the sources of the other rows would mean."""


def write_entries(
    folder: Path, count: int, entries: Sequence[tuple[int, LinkEntry]], missing: Collection[str]
) -> None:
    """Write the entries of a generation of `count` rows, given with their rows, and the refs that
    sources of the other rows would mean. Raises OSError."""
    path = folder / LINKS_FILE
    new = path.with_suffix(".new")
    with cache_files.create(new) as stream:
        for values in _lines(count, entries, missing):
            stream.write(seal(values, default=datetime.isoformat))
    new.replace(path)


def _lines(
    count: int, entries: Sequence[tuple[int, LinkEntry]], missing: Collection[str]
) -> Iterator[object]:
    yield [FORMAT_VERSION, __version__, count]
    yield sorted(missing)
    chunk: list[object] = []
    successors = {name for _, entry in entries for name in entry.successors}
    for row, entry in entries:
        if not entry.statements and entry.has_plain_name and entry.id not in successors:
            continue
        chunk.append([row, *(entry if entry.ended is not None else entry[:_FIELDS_IN_USE])])
        if len(chunk) == ENTRIES_PER_LINE:
            yield chunk
            chunk = []
    yield chunk
    yield _END


def read_entries(folder: Path, base: range, cancelled: IsCancelled) -> SavedLinks | None:
    """Return what is saved of the rows of a generation; None if it is missing or damaged.

    Args:
        folder: Of the generation.
        base: Slots of its rows.
        cancelled: Asked between two lines.

    Raises:
        Cancelled: `cancelled` became true.
    """
    path = folder / LINKS_FILE
    try:
        with path.open("rb") as stream:
            if unseal(stream.readline()) != [FORMAT_VERSION, __version__, len(base)]:
                raise ValueError("of another version, or of other rows")
            missing = [str(ref) for ref in unseal(stream.readline())]
            found: dict[int, LinkEntry] = {}
            shared: dict[Hashable, Any] = {}
            while (chunk := unseal(stream.readline())) != _END:
                if cancelled():
                    raise Cancelled
                for entry in chunk:
                    found[base.start + entry[0]] = _decode(entry, shared)
            return SavedLinks(found, missing)
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
