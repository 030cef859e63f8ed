"""Read an Engram database in shards, and the context that Engram gives a new session.

A shard is a run of `SPAN` row numbers of one table. Its stamp comes from a checksum over the
columns of those rows, so that one changed row makes one shard be read again, also where somebody
edits with the sqlite3 program and keeps no book (100,000 rows: 0.3 s, and only after the files
changed). Relations count into the shards of both their ends, with what decides the status there:
the verdict and whether the source is alive.

The context is what `FormatContext` builds (internal/store/store.go:1192, called by the SessionStart
hook of its Claude Code plugin): five sessions, ten prompts and twenty observations of the project,
newest first, each text cut by bytes.
"""

from __future__ import annotations

import hashlib
import sqlite3
import zlib
from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from typing import Any

from memtui.model import Memory
from memtui.stores.base import LoadedEntry, LoadedText
from memtui.stores.engram.records import (
    PROMPT,
    DatabasePlace,
    Relation,
    observation,
    prompt,
    relation_of,
    session,
    text,
    to_json_value,
)
from memtui.stores.engram.schema import Schema

SPAN = 256
"""Rows in a shard: about 1 ms to read, and few enough shards at 100,000 rows."""

MAX_SHARD_BYTES = 256 << 20
"""Rows of one shard that hold more are refused: pages that are part of several values can make a
small file hold any amount."""

FORM = "5"
"""Part of every stamp; raise it when rows are turned into memories differently."""

_NOT_SHOWN = frozenset({"embedding", "embedding_model", "embedding_created_at"})
"""Columns that no memory shows."""

Stamps = dict[str, str]


def stamps(connection: sqlite3.Connection, schema: Schema) -> Stamps:
    """The stamp of each shard by its key, in reading order. Raises sqlite3.Error."""
    connection.create_function("memtui_sum", -1, _sum, deterministic=True)
    found: Stamps = {}
    touching = _relation_marks(connection, schema)
    versions = _version_marks(connection, schema)
    for bucket, marks in _marks(connection, schema, "observations", "id"):
        joined = (marks, touching.get(bucket, 0), versions.get(bucket))
        found[_key("observations", bucket)] = _digest(joined)
    if schema.has("user_prompts"):
        for bucket, marks in _marks(connection, schema, "user_prompts", "id"):
            found[_key("prompts", bucket)] = _digest(marks)
    for bucket, marks in _marks(connection, schema, "sessions", "rowid"):
        found[_key("sessions", bucket)] = _digest(marks)
    return found


def memories(
    connection: sqlite3.Connection, schema: Schema, home: DatabasePlace, key: str
) -> tuple[Memory, ...]:
    """The memories of one shard, by row number. Raises sqlite3.Error, ValueError on a bad key."""
    table, _, bucket = key.partition("/")
    low, high = _bounds(int(bucket))
    if table == "observations":
        return _observations(connection, schema, home, low, high)
    if table == "prompts":
        found = _rows(connection, "user_prompts", "id", low, high)
        return tuple(prompt(home, row) for row in found)
    if table == "sessions":
        found = _rows(connection, "sessions", "rowid", low, high)
        return tuple(session(home, row) for row in found if text(row.get("summary")))
    raise ValueError(key)


def _observations(
    connection: sqlite3.Connection, schema: Schema, home: DatabasePlace, low: int, high: int
) -> tuple[Memory, ...]:
    found = list(_rows(connection, "observations", "id", low, high))
    touching: dict[str, list[Relation]] = defaultdict(list)
    if schema.has("memory_relations") and schema.has("observations", "sync_id"):
        own = "SELECT sync_id FROM observations WHERE id BETWEEN ? AND ?"
        where = f"WHERE r.source_id IN ({own}) OR r.target_id IN ({own})"
        for each in relations(connection, where, (low, high, low, high)):
            for end in {each.source, each.target}:
                touching[end].append(each)
    versions = _versions(connection, schema, low, high)
    return tuple(
        observation(
            home, row, touching.get(text(row.get("sync_id")), ()), versions.get(row["id"], ())
        )
        for row in found
    )


def relations(
    connection: sqlite3.Connection, where: str = "", values: Sequence[Any] = ()
) -> list[Relation]:
    """Rows of memory_relations (alias `r`) with their ends looked up, oldest first.

    Old exports can double a sync_id; like Engram, the newest row of a sync_id counts.
    """
    row_of = "(SELECT max(o.id) FROM observations o WHERE o.sync_id = r.{}_id)"
    alive = (
        "(SELECT o.deleted_at IS NULL FROM observations o WHERE o.sync_id = r.source_id"
        " ORDER BY o.id DESC LIMIT 1)"
    )
    cursor = connection.execute(
        f"SELECT {row_of.format('source')} AS source_row, {row_of.format('target')} AS target_row,"
        f" {alive} AS source_alive, r.* FROM memory_relations r {where} ORDER BY r.id",
        values,
    )
    found = []
    for row in map(dict, _bounded(cursor)):
        ends = row.pop("source_row"), row.pop("target_row")
        found.append(relation_of(row, ends, source_alive=bool(row.pop("source_alive"))))
    return found


def _versions(
    connection: sqlite3.Connection, schema: Schema, low: int, high: int
) -> dict[int, list[dict[str, Any]]]:
    """Former texts by observation number, oldest first, whatever the table's shape."""
    if not schema.has("observation_versions", "observation_id"):
        return {}
    order = "version" if schema.has("observation_versions", "version") else "rowid"
    cursor = connection.execute(
        f"SELECT * FROM observation_versions WHERE observation_id BETWEEN ? AND ?"
        f" ORDER BY observation_id, {order}",
        (low, high),
    )
    found: dict[int, list[dict[str, Any]]] = defaultdict(list)
    for row in _bounded(cursor):
        columns = {
            name: to_json_value(row[name])
            for name in row.keys()  # noqa: SIM118 - a sqlite3.Row iterates over its values
            if name not in ("id", "observation_id") and row[name] is not None
        }
        found[row["observation_id"]].append(columns)
    return found


def _rows(
    connection: sqlite3.Connection, table: str, number: str, low: int, high: int
) -> Iterable[dict[str, Any]]:
    cursor = connection.execute(
        f"SELECT * FROM {table} WHERE {number} BETWEEN ? AND ? ORDER BY {number}", (low, high)
    )
    return map(dict, _bounded(cursor))


def _bounded(rows: Iterable[sqlite3.Row]) -> Iterator[sqlite3.Row]:
    """The rows, as long as they hold no more than a shard can."""
    left = MAX_SHARD_BYTES
    for row in rows:
        left -= sum(len(value) for value in row if isinstance(value, str | bytes))
        if left < 0:
            raise sqlite3.DataError(f"{SPAN} rows hold more than {MAX_SHARD_BYTES >> 20} MiB")
        yield row


def _marks(
    connection: sqlite3.Connection, schema: Schema, table: str, number: str
) -> list[tuple[int, tuple[Any, ...]]]:
    """Count, highest number and checksum of the rows of each shard."""
    shown = sorted(schema.tables.get(table, frozenset()) - _NOT_SHOWN)
    columns = "".join(f', CAST("{name}" AS BLOB)' for name in shown)
    cursor = connection.execute(
        f"SELECT {number} / {SPAN} AS bucket, count(*), max({number}),"
        f" total(memtui_sum({number}{columns})) FROM {table} GROUP BY 1 ORDER BY 1"
    )
    return [(row[0], tuple(row)[1:]) for row in cursor]


def _relation_marks(connection: sqlite3.Connection, schema: Schema) -> dict[int, int]:
    """A checksum per observation shard over the relations that touch it."""
    if not (schema.has("memory_relations") and schema.has("observations", "sync_id")):
        return {}
    sums: dict[int, int] = defaultdict(int)
    for each in relations(connection):
        state = repr((sorted(each.columns.items()), each.source_alive, each.target_row)).encode(
            "utf-8", "surrogatepass"
        )
        for number in {each.source_row, each.target_row} - {None}:
            bucket = _bucket(number or 0)
            sums[bucket] = zlib.crc32(state, sums[bucket])
    return sums


def _version_marks(connection: sqlite3.Connection, schema: Schema) -> dict[int, tuple[Any, ...]]:
    if not schema.has("observation_versions", "observation_id"):
        return {}
    cursor = connection.execute(
        f"SELECT observation_id / {SPAN}, count(*), total(length(content))"
        " FROM observation_versions GROUP BY 1"
    )
    return {row[0]: tuple(row)[1:] for row in cursor}


def _sum(number: int, *values: bytes | None) -> int:
    """Checksum of a row; NULL differs from "", as in edits."""
    crc = number & 0xFFFFFFFF
    for value in values:
        crc = zlib.crc32(value or b"", zlib.crc32(b"\0" if value is None else b"\1", crc))
    return crc


def _bucket(number: int) -> int:
    """Integer division towards zero, as SQLite divides."""
    return number // SPAN if number >= 0 else -(-number // SPAN)


def shard_of_observation(number: int) -> str:
    """Key of the shard that holds the observation with this row number, above 0."""
    return _key("observations", number // SPAN)


def _bounds(bucket: int) -> tuple[int, int]:
    low, high = bucket * SPAN, bucket * SPAN
    return low - (SPAN - 1) * (bucket <= 0), high + (SPAN - 1) * (bucket >= 0)


def _key(table: str, bucket: int) -> str:
    return f"{table}/{bucket:06d}"


def _digest(value: object) -> str:
    state = repr((FORM, SPAN, value)).encode("utf-8", "surrogatepass")
    return hashlib.sha256(state).hexdigest()[:32]


# ---- the context of a session -------------------------------------------------------------------


SESSIONS, PROMPTS, OBSERVATIONS = 5, 10, 20
"""How many of each; `MaxContextResults` is 20 (store.go:167)."""
SHORT, LONG = 200, 300
"""Bytes of a session summary or prompt, and of an observation."""
LOADED = (
    f"{SESSIONS} sessions, {PROMPTS} prompts and {OBSERVATIONS} observations, newest first "
    "(FormatContext, internal/store/store.go:1192)"
)

_SESSIONS = """
SELECT s.id, s.project, s.started_at, s.summary, COUNT(o.id) AS observations
FROM sessions s LEFT JOIN observations o ON o.session_id = s.id AND o.deleted_at IS NULL
WHERE (? = '' OR s.project = ?)
GROUP BY s.id ORDER BY MAX(COALESCE(o.created_at, s.started_at)) DESC LIMIT ?
"""
_PROMPTS = """
SELECT id, content, created_at FROM user_prompts
WHERE (? = '' OR project = ?) ORDER BY created_at DESC LIMIT ?
"""
_OBSERVATIONS = """
SELECT id, type, title, content FROM observations
WHERE deleted_at IS NULL AND (? = '' OR project = ?) ORDER BY created_at DESC LIMIT ?
"""


def session_context(
    connection: sqlite3.Connection, schema: Schema, label: str, file: str, project: str
) -> LoadedText | None:
    """Build the context of a project's session; of all projects if it is empty.

    Returns:
        None if there is nothing to give. Raises sqlite3.Error.
    """

    def rows(statement: str, limit: int) -> Sequence[Any]:
        return connection.execute(statement, (project, project, limit)).fetchall()

    sessions = rows(_SESSIONS, SESSIONS)
    observations = rows(_OBSERVATIONS, OBSERVATIONS)
    prompts = rows(_PROMPTS, PROMPTS) if schema.has("user_prompts") else ()
    if not sessions and not observations and not prompts:
        return None
    parts: list[str] = ["## Memory from Previous Sessions\n\n"]
    entries: list[LoadedEntry] = []

    def add(heading: str, lines: Iterable[tuple[str, str]]) -> None:
        for at, (line, id) in enumerate(lines):
            if not at:
                parts.append(f"### {heading}\n")
            start = sum(map(len, parts))
            parts.append(line)
            entries.append(LoadedEntry(f"{label}:{id}", start, start + len(line) - 1))
        if parts[-1].startswith("- "):
            parts.append("\n")

    session_lines = []
    for own, name, started, summary, count in sessions:
        said = "" if summary is None else f": {_cut(summary, SHORT)}"
        line = f"- **{text(name)}** ({text(started)}){said} [{count} observations]\n"
        session_lines.append((line, f"sessions/{text(own)}"))
    add("Recent Sessions", session_lines)
    add(
        "Recent User Prompts",
        (
            (f"- {text(created)}: {_cut(content, SHORT)}\n", f"{PROMPT}{number}")
            for number, content, created in prompts
        ),
    )
    add(
        "Recent Observations",
        (
            (f"- [{text(kind)}] **{text(title)}**: {_cut(content, LONG)}\n", str(number))
            for number, kind, title, content in observations
        ),
    )
    name = project or "all projects"
    return LoadedText(name, "".join(parts), file, entries=tuple(entries), note=LOADED)


def _cut(value: object, most: int) -> str:
    """Cut by bytes, as the program does; half a character at the end is shown as U+FFFD."""
    data = text(value).encode("utf-8", "surrogatepass")
    if len(data) <= most:
        return text(value)
    return data[:most].decode("utf-8", "replace") + "..."
