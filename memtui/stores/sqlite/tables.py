"""The engine of stores in one SQLite file: a table of columns for each kind of memory.

A format declares its tables (`Table`) and names its database; rows become memories by the
declaration, and what no field holds stands in `extra`. The file is opened as `connection` says,
never without its program's locks. A shard is a run of `SPAN` row numbers, with a checksum of its
rows as its stamp, so that it is read again also where somebody edits with the sqlite3 program; or a
table that is read as a whole because its rows belong together.
"""

from __future__ import annotations

import hashlib
import os
import sqlite3
import zlib
from abc import abstractmethod
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from types import MappingProxyType
from typing import Any, ClassVar

from msgspec import Struct
from msgspec import field as option

from memtui.errors import StoreError
from memtui.model import Memory, Place
from memtui.stores.base import Reading, Scan, Shard, Store, Unreadable
from memtui.stores.format import DatabaseSupport, FindStatuses
from memtui.stores.sqlite.connection import (
    SMALLEST_DATABASE,
    FileStamps,
    copy_database,
    describe_error,
    file_stamps,
    is_over_limit,
    is_settled,
    read_compact,
    run_read,
)
from memtui.stores.sqlite.rebuild import rebuild
from memtui.stores.sqlite.rows import remaining_columns, text
from memtui.stores.values import from_iso, join_sections, memory_name, parse_json, texts_of

SPAN = 256
"""Rows in a shard: about 1 ms to read, and few enough shards at 100,000 rows."""

MAX_SHARD_BYTES = 256 << 20
"""Rows of one shard that hold more are refused: pages that are part of several values can make a
small file hold any amount."""


def bounded(rows: Iterable[sqlite3.Row]) -> Iterator[sqlite3.Row]:
    """The rows, as long as they hold no more than a shard can."""
    left = MAX_SHARD_BYTES
    for row in rows:
        left -= sum(len(value) for value in row if isinstance(value, str | bytes))
        if left < 0:
            raise sqlite3.DataError(f"{SPAN} rows hold more than {MAX_SHARD_BYTES >> 20} MiB")
        yield row


def span_marks(
    connection: sqlite3.Connection, table: str, columns: Collection[str], number: str
) -> list[tuple[int, tuple[Any, ...]]]:
    """Count, highest number and checksum of the rows of each span, over these columns."""
    connection.create_function("memtui_sum", -1, _sum, deterministic=True)
    summed = "".join(f', CAST("{name}" AS BLOB)' for name in sorted(columns))
    cursor = connection.execute(
        f"SELECT {number} / {SPAN} AS bucket, count(*), max({number}),"
        f" total(memtui_sum({number}{summed})) FROM {table} GROUP BY 1 ORDER BY 1"
    )
    return [(row[0], tuple(row)[1:]) for row in cursor]


def _sum(number: int, *values: bytes | None) -> int:
    """Checksum of a row; NULL differs from "", as in edits."""
    crc = number & 0xFFFFFFFF
    for value in values:
        crc = zlib.crc32(value or b"", zlib.crc32(b"\0" if value is None else b"\1", crc))
    return crc


def bucket_of(number: int) -> int:
    """Integer division towards zero, as SQLite divides."""
    return number // SPAN if number >= 0 else -(-number // SPAN)


def span_bounds(bucket: int) -> tuple[int, int]:
    """The lowest and the highest row number of a span."""
    low, high = bucket * SPAN, bucket * SPAN
    return low - (SPAN - 1) * (bucket <= 0), high + (SPAN - 1) * (bucket >= 0)


def span_key(table: str, bucket: int) -> str:
    """Key of the shard of a span."""
    return f"{table}/{bucket:06d}"


def span_digest(value: object) -> str:
    """The stamp of a shard; `value` holds its marks, and the form in which rows are read."""
    state = repr((SPAN, value)).encode("utf-8", "surrogatepass")
    return hashlib.sha256(state).hexdigest()[:32]


FORM = "1"
"""Part of every stamp; raise it when rows are turned into memories differently."""
COMMIT_NANOSECONDS = 1_000_000_000
"""Longer than a commit takes after its last write: it may wait for the disk."""
NOTHING: Mapping[str, Any] = MappingProxyType({})
_TIMES = frozenset({"created", "updated"})
_GENERATED = (2, 3)
"""`hidden` of a virtual and of a stored column in `PRAGMA table_xinfo`."""

Rows = list[dict[str, Any]]


class Table(Struct, frozen=True):
    """How the rows of one table become memories."""

    name: str
    prefix: str
    """Of the ids, before the row's key: `decisions/`."""
    kind: str
    fields: Mapping[str, str]
    """Field of `Memory` -> the column that gives it."""
    sections: Mapping[str, str]
    """Columns that make up the content, each with its heading; the first has none."""
    type: str = ""
    """The type of all rows, where no column gives one."""
    tags: str = ""
    """Column that holds a JSON list of words."""
    key: str = "id"
    lookups: Mapping[str, str] = NOTHING
    """Further values of a row: name -> SQL over the table `t`; left out where it cannot be run."""
    expand: Callable[[dict[str, Any]], Iterable[dict[str, Any]]] = option(
        default=lambda row: (row,)
    )
    """What a row holds as it is shown, such as a JSON list as lines; a memory for each."""
    more: Callable[[Mapping[str, Any]], Mapping[str, Any]] = option(default=lambda _: NOTHING)
    """Fields that are worked out from a row."""
    is_shown: Callable[[Mapping[str, Any]], bool] = option(default=lambda _: True)
    """Whether a row is a memory at all."""
    relate: Callable[[Rows], None] | None = None
    """Adds to the rows what they say together; the table is then one shard."""

    def memory(self, label: str, file: str, row: dict[str, Any]) -> Memory:
        """The memory of one row, as `expand` gives it."""
        id = text(row[self.key])
        values: dict[str, Any] = {
            name: from_iso(row.get(column)) if name in _TIMES else text(row.get(column))
            for name, column in self.fields.items()
        }
        in_fields = {column for name, column in self.fields.items() if name not in _TIMES}
        used = {self.key, self.tags, *in_fields, *self.sections, *self.lookups}
        return Memory(
            **memory_name(label, f"{self.prefix}{id}"),
            **{
                "kind": self.kind,
                "type": self.type,
                "content": join_sections(
                    {n: text(row.get(n)) for n in self.sections}, self.sections
                ),
                "tags": texts_of(parse_json(text(row.get(self.tags)))) if self.tags else (),
                "origin": Place(file, key=f"{self.name}.{self.key}={id}"),
                "extra": remaining_columns(row, used),
                **values,
                **self.more(row),
            },
        )


def table_names(connection: sqlite3.Connection) -> set[str]:
    """The tables of a database, without its views. Raises sqlite3.Error."""
    found = connection.execute("SELECT name FROM sqlite_master WHERE type = 'table'")
    return {str(name) for (name,) in found}


def columns_of(connection: sqlite3.Connection, tables: Iterable[str]) -> dict[str, frozenset[str]]:
    """The columns of those of these tables that exist. Raises sqlite3.Error."""
    found = {}
    for table in tables:
        rows = connection.execute(f"PRAGMA table_xinfo({table})").fetchall()
        for row in rows:
            if row[6] in _GENERATED:
                raise sqlite3.DatabaseError(
                    f"{table}.{row[1]} is a generated column: computing it may take any time"
                )
        if rows:
            found[table] = frozenset(str(row[1]) for row in rows)
    return found


@dataclass
class DatabaseStore(Store):
    """The rows of one database, in shards."""

    root: Path
    label: str
    file: Path
    _stamps: FileStamps = field(default=(), init=False)
    _scan: Scan = field(default=Scan(()), init=False)
    faults: ClassVar[tuple[type[Exception], ...]] = (sqlite3.Error, ValueError)
    """What is wrong with a database where one of these is raised as it is read."""

    @abstractmethod
    def marks(self, connection: sqlite3.Connection) -> Mapping[str, str]:
        """The key of each shard -> its stamp. Raises sqlite3.Error."""

    @abstractmethod
    def memories(self, connection: sqlite3.Connection, key: str) -> tuple[Memory, ...]:
        """The memories of one shard. Raises sqlite3.Error, ValueError on a bad key."""

    def scan(self) -> Scan:
        """Shards with stamps; no SQL while the files' stamps are the same.

        On an error the last shards that were seen are listed beside the reason.
        """
        stamps = file_stamps(self.file)[:3]
        if stamps == self._stamps:
            return self._scan
        try:
            found = run_read(self.file, self.marks)
        except sqlite3.Error as error:
            scan = Scan(self._scan.shards, (self._unreadable(error),))
            if is_over_limit(error) and is_settled(stamps):
                self._scan, self._stamps = scan, stamps
            return scan
        files = (str(self.file), f"{self.file}-wal")
        self._scan = Scan(tuple(Shard(key, files, mark) for key, mark in found.items()))
        # A commit that was under way when the files were written becomes visible later.
        self._stamps = stamps if is_settled(stamps, COMMIT_NANOSECONDS) else ()
        return self._scan

    def read(self, shard: Shard) -> Reading:
        """Read the rows of one shard in one short transaction."""
        try:
            return Reading(run_read(self.file, lambda c: self.memories(c, shard.key)))
        except self.faults as error:
            return Reading((), (self._unreadable(error),))

    def _unreadable(self, error: Exception) -> Unreadable:
        reason = describe_error(error) if isinstance(error, sqlite3.Error) else str(error)
        return Unreadable(str(self.file), f"SQLite: {reason}")


@dataclass
class TableStore(DatabaseStore):
    """One database, read only unless a format says more."""

    tables: ClassVar[Sequence[Table]]
    why_read_only: ClassVar[str] = ""

    @property
    def read_only(self) -> str:
        return self.why_read_only

    def memories(self, connection: sqlite3.Connection, key: str) -> tuple[Memory, ...]:
        name, _, bucket = key.partition("/")
        table = next((each for each in self.tables if each.name == name), None)
        if table is None:
            raise ValueError(key)
        rows = [each for row in self._rows(connection, table, bucket) for each in table.expand(row)]
        if table.relate is not None:
            table.relate(rows)
        return tuple(
            table.memory(self.label, str(self.file), row) for row in rows if table.is_shown(row)
        )

    def _rows(
        self, connection: sqlite3.Connection, table: Table, bucket: str
    ) -> Iterator[dict[str, Any]]:
        selected = ["t.*"]
        for name, sql in table.lookups.items():
            try:
                connection.execute(f"SELECT {sql} FROM {table.name} t LIMIT 0")
            except sqlite3.OperationalError:
                continue  # an older schema
            selected.append(f"{sql} AS {name}")
        where, values = "", ()
        if bucket:
            where, values = "WHERE t.rowid BETWEEN ? AND ?", span_bounds(int(bucket))  # type: ignore[assignment]
        sql = f"SELECT {', '.join(selected)} FROM {table.name} t {where} ORDER BY t.rowid"
        return map(dict, bounded(connection.execute(sql, values)))

    def marks(self, connection: sqlite3.Connection) -> dict[str, str]:
        columns = columns_of(connection, [table.name for table in self.tables])
        if not columns:
            raise sqlite3.DatabaseError("it holds none of its program's tables")
        also = self.depends_on(connection)
        found = {}
        for table in self.tables:
            if table.name not in columns:
                continue
            marks = span_marks(connection, table.name, columns[table.name], "rowid")
            if table.relate is not None:
                found[table.name] = span_digest((FORM, marks, also))
                continue
            for bucket, mark in marks:
                found[span_key(table.name, bucket)] = span_digest((FORM, mark, also))
        return found

    def depends_on(self, connection: sqlite3.Connection) -> Any:  # noqa: ARG002
        """A mark of what every memory depends on beside its own row."""
        return ""


def holds_tables(file: Path, needed: Mapping[str, str], *, by_name: bool) -> bool:
    """Whether a file is a database with these tables: name -> columns that it has at least.

    One that cannot be read, because it is locked or damaged, is taken for it `by_name`.
    """
    try:
        if not file.is_file() or file.stat().st_size < SMALLEST_DATABASE:
            return False
        found = run_read(file, lambda connection: columns_of(connection, list(needed)))
    except (OSError, ValueError):
        return False
    except sqlite3.Error:
        return by_name
    return all(set(columns.split()) <= found.get(n, set()) for n, columns in needed.items())


def database_support(
    name: str,
    find: Callable[[Path], Path],
    row_digest: Callable[[str], str | None] = lambda _: None,
    find_statuses: FindStatuses = lambda _: [],
) -> DatabaseSupport:
    """What bundles need of a database.

    Args:
        name: Of the file.
        find: Where it lies below a root.
        row_digest: As in `DatabaseSupport`.
        find_statuses: As in `DatabaseSupport`.
    """

    def read(root: Path) -> bytes:
        return read_compact(find(root))

    return DatabaseSupport(name, read, rebuild, row_digest, find_statuses, copy_database)


def existing_file(file: Path) -> Path:
    """The file, if it is there. Raises StoreError."""
    if not os.path.isfile(file):
        raise StoreError("there is no database", where=str(file))
    return file
