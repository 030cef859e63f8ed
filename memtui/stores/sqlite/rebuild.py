"""Dump a database as lines of JSON, and build a new database from such lines.

A copy of the file would miss what is in the `-wal` and would differ with every free page. The rows
say all: the schema as its SQL, then each table's rows in the order of their numbers. Equal contents
give equal lines. A full-text table whose text lies in another table is built anew from that.

The lines may come from a stranger. Nothing but CREATE statements of tables, indexes, views,
triggers and FTS5 tables is run, under an authorizer that refuses everything else.
"""

from __future__ import annotations

import base64
import contextlib
import json
import os
import re
import sqlite3
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from memtui.errors import BundleError, Refused, SaveError
from memtui.stores.sqlite.connection import exclusive_access, read_or_raise, result_code
from memtui.stores.sqlite.rows import encode, is_valid_text

_SETTINGS = ("application_id", "encoding", "page_size", "user_version")
_KINDS = ("table", "virtual", "view", "index", "trigger")
"""In the order in which they are made."""
_SEQUENCE = "sqlite_sequence"
_ENCODINGS = frozenset({"UTF-8", "UTF-16le", "UTF-16be"})
_LARGEST_PAGE = 65_536

_CREATED_FIRST = "_fts_update_insert"
"""End of the names of Engram's triggers that must run last, see `_build`."""

Row = dict[str, Any]


def dump(file: Path) -> list[str]:
    """Dump the whole database as lines. Raises StoreError."""
    return read_or_raise(file, lambda connection: list(lines_of(connection)))


@contextlib.contextmanager
def alone_with(file: Path, rows: Sequence[str]) -> Iterator[None]:
    """Hold an exclusive lock while the database is removed. Raises Refused if it holds other rows
    than these or another program has it open; SaveError."""
    try:
        with exclusive_access(file) as connection:
            if list(lines_of(connection)) != list(rows):
                raise Refused(
                    "it has been written into since it was made; nothing was removed",
                    where=str(file),
                    do="undo what came later first, or delete it yourself",
                )
            yield
    except sqlite3.Error as error:
        raise SaveError(f"SQLite: {error}", where=str(file)) from error


def lines_of(connection: sqlite3.Connection) -> Iterator[str]:
    """Dump the whole database as lines, by a connection that gives plain tuples."""
    settings = {name: connection.execute(f"PRAGMA {name}").fetchone()[0] for name in _SETTINGS}
    yield _json({"database": settings})
    parts = _schema(connection)
    for kind in _KINDS:
        for name, sql in parts[kind]:
            yield _json({"kind": kind, "name": name, "sql": sql})
    tables = [name for name, _ in parts["table"]]
    tables += [name for name, sql in parts["virtual"] if not _is_index_of_another(sql)]
    named = connection.execute("SELECT 1 FROM sqlite_master WHERE name = ?", (_SEQUENCE,))
    if named.fetchone() is not None:
        tables.append(_SEQUENCE)
    for table in tables:
        yield from _table(connection, table)


def _json(value: object) -> str:
    return json.dumps(value, ensure_ascii=True, separators=(",", ":"))


def _schema(connection: sqlite3.Connection) -> dict[str, list[tuple[str, str]]]:
    """Name and SQL of everything created in the database, by kind and name."""
    found: dict[str, list[tuple[str, str]]] = {kind: [] for kind in _KINDS}
    rows = connection.execute(
        "SELECT m.type, m.name, m.sql FROM sqlite_master m"
        " WHERE m.sql IS NOT NULL AND m.name NOT LIKE 'sqlite\\_%' ESCAPE '\\' ORDER BY m.name"
    ).fetchall()
    shadows = {
        str(row[0])
        for row in connection.execute("SELECT name FROM pragma_table_list WHERE type = 'shadow'")
    }
    for kind, name, sql in rows:
        if name in shadows:
            continue
        virtual = kind == "table" and sql.upper().startswith("CREATE VIRTUAL TABLE")
        found["virtual" if virtual else kind].append((name, sql))
    return found


def _is_index_of_another(sql: str) -> bool:
    return "content=" in "".join(sql.lower().split())


def _table(connection: sqlite3.Connection, table: str) -> Iterator[str]:
    """One line that names the columns, then one for each row."""
    columns = [
        str(row[1])
        for row in connection.execute(f"PRAGMA table_xinfo({_quoted(table)})")
        if row[6] == 0
    ]
    listed = ", ".join(map(_quoted, columns))
    try:
        rows = connection.execute(f"SELECT rowid, {listed} FROM {_quoted(table)} ORDER BY rowid")
        named = ["rowid", *columns]
    except sqlite3.OperationalError:  # a table WITHOUT ROWID is ordered by its key
        rows = connection.execute(f"SELECT {listed} FROM {_quoted(table)}")
        named = columns
    yield _json({"table": table, "columns": named})
    for row in rows:
        yield _json([_value(value) for value in row])


def _quoted(name: str) -> str:
    return '"' + name.replace('"', '""') + '"'


def _value(value: object) -> object:
    """A value as JSON; bytes, text that is not UTF-8 and infinite numbers as tagged objects."""
    if isinstance(value, bytes):
        return {"blob": base64.b64encode(value).decode("ascii")}
    if isinstance(value, str) and not is_valid_text(value):
        return {"text": base64.b64encode(encode(value)).decode("ascii")}
    if isinstance(value, float) and value - value != 0:
        return {"number": repr(value)}
    return value


# ---- building -----------------------------------------------------------------------------------


_OF_THE_DISK = frozenset(
    {sqlite3.SQLITE_FULL, sqlite3.SQLITE_IOERR, sqlite3.SQLITE_READONLY, sqlite3.SQLITE_CANTOPEN}
)
"""Errors that are no fault of the lines."""


def rebuild(lines: Iterable[str], file: Path) -> None:
    """Build the database that these lines describe; the file appears whole or not at all.

    Raises BundleError for lines that memtui did not write, SaveError when it cannot be written.
    """
    if os.path.lexists(file):
        raise SaveError("a database already exists", where=str(file))
    try:
        connection = sqlite3.connect(file, isolation_level=None)
    except sqlite3.Error as error:
        raise SaveError(f"SQLite: {error}", where=str(file)) from error
    try:
        with contextlib.closing(connection):
            os.chmod(file, 0o600)
            _build(connection, iter(lines))
    except BaseException as error:
        for suffix in ("", "-wal", "-shm", "-journal"):
            Path(f"{file}{suffix}").unlink(missing_ok=True)
        if result_code(error) in _OF_THE_DISK:
            raise SaveError(f"SQLite: {error}", where=str(file)) from error
        if isinstance(error, sqlite3.Error | ValueError | KeyError | TypeError | StopIteration):
            raise BundleError(f"its rows make no database ({error})", where=str(file)) from error
        raise


def _build(connection: sqlite3.Connection, lines: Iterator[str]) -> None:
    settings = json.loads(next(lines))["database"]
    _set(connection, settings)
    connection.execute("PRAGMA foreign_keys = OFF")
    connection.execute("BEGIN")
    later: list[Row] = []
    indexes: list[str] = []
    head = ""
    for line in lines:
        record = json.loads(line)
        if isinstance(record, list):
            if not head:
                raise ValueError("a row of no table")
            # Text that is not UTF-8 is passed as bytes and cast.
            casts = [isinstance(value, dict) and "text" in value for value in record]
            marks = ", ".join("CAST(? AS TEXT)" if cast else "?" for cast in casts)
            connection.execute(f"{head} VALUES ({marks})", [_native(value) for value in record])
        elif "sql" in record:
            if record["kind"] in ("table", "virtual"):
                _create(connection, record)
                if record["kind"] == "virtual" and _is_index_of_another(record["sql"]):
                    indexes.append(record["name"])
            else:
                later.append(record)
        else:
            table, columns = str(record["table"]), map(str, record["columns"])
            if table == _SEQUENCE:
                connection.execute(f"DELETE FROM {_SEQUENCE}")
            elif table.lower().startswith("sqlite_"):
                raise ValueError(f"{table} belongs to SQLite")
            head = f"INSERT INTO {_quoted(table)} ({', '.join(map(_quoted, columns))})"
    triggers = {str(each["name"]): str(each["sql"]) for each in later if each["kind"] == "trigger"}
    for table in indexes:
        _fill_index(connection, table, triggers)
    # SQLite runs the trigger that was created last first: of the pair on an update the one that
    # takes the former text out of the index. The other way round, words of both would be lost.
    for record in sorted(
        later, key=lambda r: (_KINDS.index(r["kind"]), not str(r["name"]).endswith(_CREATED_FIRST))
    ):
        _create(connection, record)
    connection.execute("COMMIT")
    connection.execute("PRAGMA journal_mode = WAL")
    if connection.execute("PRAGMA integrity_check").fetchone()[0] != "ok":
        raise BundleError("its rows make no sound database")


def _fill_index(connection: sqlite3.Connection, index: str, triggers: Mapping[str, str]) -> None:
    """Index the rows of the table behind a full-text index, as the database's own triggers do."""
    name = _quoted(index)
    if index != "observations_fts" or f"obs{_CREATED_FIRST}" not in triggers:
        try:
            connection.execute(f"INSERT INTO {name}({name}) VALUES ('rebuild')")
        except sqlite3.OperationalError:
            _fill_as_inserted(connection, index, triggers.values())
        return
    # These triggers index no deleted row: restoring one would index it a second time.
    columns = ", ".join(_quoted(row[1]) for row in connection.execute(f"PRAGMA table_info({name})"))
    connection.execute(
        f"INSERT INTO {name}(rowid, {columns})"
        f" SELECT id, {columns} FROM observations WHERE deleted_at IS NULL"
    )


_INSERTION = re.compile(
    r"AFTER\s+INSERT\s+ON\s+(\w+)\s+BEGIN\s+INSERT\s+INTO\s+(\w+)\s*\(([\w\s,]+)\)"
    r"\s*VALUES\s*\(((?:\s*new\.\w+\s*,?)+)\)\s*;\s*END",
    re.IGNORECASE,
)
"""A trigger that indexes a new row."""


def _fill_as_inserted(connection: sqlite3.Connection, index: str, triggers: Iterable[str]) -> None:
    """Index the rows by the columns that the trigger for new ones names: those of the index can
    have other names (ConPort's `custom_data_fts`), and then FTS5 cannot rebuild it."""
    for found in filter(None, map(_INSERTION.search, triggers)):
        table, filled, into, values = found.groups()
        if filled.lower() == index.lower():
            names = ", ".join(_quoted(each.strip()) for each in into.split(","))
            taken = ", ".join(map(_quoted, re.findall(r"new\.(\w+)", values, re.IGNORECASE)))
            sql = f"INSERT INTO {_quoted(index)} ({names}) SELECT {taken} FROM {_quoted(table)}"
            connection.execute(sql)
            return
    raise ValueError(f"the index {index} cannot be filled")


def _set(connection: sqlite3.Connection, settings: Row) -> None:
    size = settings["page_size"]
    if not isinstance(size, int) or not 512 <= size <= _LARGEST_PAGE:
        raise ValueError("page_size")
    if settings["encoding"] not in _ENCODINGS:
        raise ValueError("encoding")
    connection.execute(f"PRAGMA page_size = {size}")
    connection.execute(f"PRAGMA encoding = '{settings['encoding']}'")
    for name in ("application_id", "user_version"):
        connection.execute(f"PRAGMA {name} = {int(settings[name])}")


def _create(connection: sqlite3.Connection, record: Row) -> None:
    """Run one CREATE statement under an authorizer that allows nothing else."""
    sql, kind, name = str(record["sql"]), record["kind"], str(record["name"])
    words = sql.upper().split(None, 3)
    expected = {"virtual": ["CREATE", "VIRTUAL"], "index": ["CREATE"]}.get(
        kind, ["CREATE", str(kind).upper()]
    )
    if kind not in _KINDS or words[: len(expected)] != expected:
        raise ValueError(f"{name} is not made by a CREATE {kind}")
    connection.set_authorizer(_allowed)
    try:
        connection.execute(sql)
    finally:
        connection.set_authorizer(None)


_DENIED = frozenset(
    {
        sqlite3.SQLITE_ATTACH,
        sqlite3.SQLITE_DETACH,
        sqlite3.SQLITE_PRAGMA,
        sqlite3.SQLITE_DROP_TABLE,
        sqlite3.SQLITE_ALTER_TABLE,
    }
)


def _allowed(action: int, first: str | None, second: str | None, *_: object) -> int:
    """Deny what creating needs not: other modules than FTS5, loading of extensions, pragmas."""
    if action in _DENIED:
        # FTS5 asks for these while it makes its tables.
        is_query = first in ("data_version", "page_size")
        return sqlite3.SQLITE_OK if is_query else sqlite3.SQLITE_DENY
    if action == sqlite3.SQLITE_CREATE_VTABLE and (second or "").lower() != "fts5":
        return sqlite3.SQLITE_DENY
    if action == sqlite3.SQLITE_FUNCTION and (second or "").lower() == "load_extension":
        return sqlite3.SQLITE_DENY
    return sqlite3.SQLITE_OK


def _native(value: object) -> object:
    if not isinstance(value, dict):
        return value
    if "number" in value:
        return float(value["number"])
    return base64.b64decode(value["blob" if "blob" in value else "text"], validate=True)
