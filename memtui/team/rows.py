"""A memory as a row of the table, and back."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from sys import intern
from typing import Any, NamedTuple

from memtui.model import Link, Memory, Place
from memtui.stores.queryable import FormerVersion
from memtui.stores.values import from_iso

TEXTS = (
    *("kind", "type", "title", "content", "entity", "importance", "status", "source"),
    *("author", "team"),
)
LISTS = ("tags", "supersedes", "superseded_by")
TIMES = ("created", "updated")
TIME_COLUMNS = (*TIMES, "valid_from", "valid_to", "created_at", "updated_at", "expires_at")
"""Of all tables that are written."""
COLUMNS = ("id", *TEXTS, *LISTS, *TIMES, "pinned", "confidence", "extra")
"""The columns of a memory that a person or a program sets."""
_READ = (*COLUMNS, "version", "links")
_REPEATED = ("kind", "type", "entity", "importance", "status", "source", "author", "team")
"""Texts that many rows share, and that memory holds once: 2 MB for 5,000 rows."""
_SPECIAL = {"importance": "m.importance::text", "extra": "nullif(m.extra, '{}')"}
_EXPRESSIONS = [_SPECIAL.get(name, f"m.{name}") for name in COLUMNS]


class Table(NamedTuple):
    """What a store asks: a table, or a query, that has the columns of a memory."""

    name: str = "memtui.memories"
    links: str = (
        "case when (select exists (select from memtui.links)) then"  # asked once
        " (select jsonb_agg(to_jsonb(l) - 'id') from memtui.links l where l.id = m.id) end"
    )
    importance: str = "memtui.importance"
    """The type of that column."""
    is_table: bool = True
    """Whether a part of its pages can be looked at."""

    @property
    def selected(self) -> str:
        """The rows that `to_memory` reads."""
        return f"select {', '.join(_EXPRESSIONS)}, m.version, {self.links} from {self.name} m"


TABLE = Table()


def split_words(content: str, path: str, type: str) -> str:
    """SQL for the words of another program's row, as `memtui.memories.words` has them.

    The arguments are SQL: its text, the parts of its entity in small letters, its type.
    """
    said = f"regexp_replace(left({content}, 100000), '[^[:alnum:]]+', ' ', 'g')"
    stems = f"tsvector_to_array(to_tsvector('english', {said}))"
    depths = f"generate_series(1, cardinality({path})) depth"
    return (
        f"to_tsvector('simple', {said}) || array_to_tsvector(array("
        f"select '=' || stem from unnest({stems}) stem union select '/' || unnest({path})"
        f" union select '/' || array_to_string(({path})[:depth], '/') from {depths}"
        f" union select ':' || {type}))"
    )


def from_memory(memory: Memory) -> dict[str, Any]:
    """The columns of a memory as JSON values, without author and team."""
    found: dict[str, Any] = {name: getattr(memory, name) for name in COLUMNS if name not in _OWN}
    found.update({name: list(found[name]) for name in LISTS})
    found.update({name: found[name] and found[name].astimezone(UTC).isoformat() for name in TIMES})
    found["extra"] = {key: value for key, value in memory.extra.items() if key not in _OWN}
    return found


_OWN = ("author", "team", "version")
"""Columns that a memory has as keys of `extra`."""


def to_columns(row: Sequence[Any]) -> dict[str, Any]:
    """The columns of a row of `Table.selected` as JSON values, which edits hold."""
    found = dict(zip(_READ, row, strict=True))
    found["extra"] = found["extra"] or {}
    for name in TIMES:
        found[name] = found[name].astimezone(UTC).isoformat()
    return found


def to_memory(row: Sequence[Any], label: str, root: str) -> Memory:
    """The memory of a row of `Table.selected`."""
    columns = dict(zip(_READ, row, strict=True))
    columns |= {name: intern(columns[name]) for name in _REPEATED}
    return of_columns(columns, label, root)


def of_columns(row: Mapping[str, Any], label: str, root: str) -> Memory:
    """The memory of a row's columns, also of a former row, which the versions keep as JSON."""
    extra = dict(row["extra"] or {})
    extra.update(author=row["author"], team=row["team"], version=row["version"])
    return Memory(
        ref=f"{label}:{row['id']}",
        id=row["id"],
        store=label,
        kind=row["kind"],
        type=row["type"],
        title=row["title"],
        content=row["content"],
        entity=row["entity"],
        created=_time(row["created"]),
        updated=_time(row["updated"]),
        importance=row["importance"],
        confidence=row["confidence"],
        status=row["status"],
        pinned=row["pinned"],
        supersedes=tuple(row["supersedes"]),
        superseded_by=tuple(row["superseded_by"]),
        tags=tuple(row["tags"]),
        links=tuple(map(_link, row["links"] or ())),
        source=row["source"],
        origin=Place(root, None, f"memories.id={row['id']}"),
        extra=extra,
    )


FORMER = "v.number, v.act, v.who, v.at, v.version, v.former"


def to_former(row: Sequence[Any], label: str, root: str) -> FormerVersion:
    """The version of a row of `FORMER`."""
    number, act, who, at, version, former = row
    found = {name: plain_value(name, value) for name, value in former.items()}
    memory = of_columns({**found, "version": version}, label, root)
    return FormerVersion(number, act, who, at.astimezone(UTC), memory, found)


def plain_value(name: str, value: Any) -> Any:
    """A value of a column as edits hold it: of the times as JSON, those that Python writes."""
    if name not in TIME_COLUMNS or value is None:
        return value
    return datetime.fromisoformat(value).astimezone(UTC).isoformat()


def _link(value: Mapping[str, Any]) -> Link:
    return Link(
        value["relation"],
        value["target"],
        _time(value["valid_from"]),
        _time(value["valid_to"]),
        value["note"],
    )


def _time(value: datetime | str | None) -> datetime | None:
    return value.astimezone(UTC) if isinstance(value, datetime) else from_iso(value)
