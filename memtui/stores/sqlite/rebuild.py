"""Build a database of the rows in a bundle of version 1: lines of JSON with the schema as its SQL,
then the rows of each table.

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
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

from memtui.errors import BundleError, SaveError
from memtui.stores.sqlite.connection import result_code

_KINDS = ("table", "virtual", "view", "index", "trigger")
"""In the order in which they are made."""
_SEQUENCE = "sqlite_sequence"
_ENCODINGS = frozenset({"UTF-8", "UTF-16le", "UTF-16be"})
_LARGEST_PAGE = 65_536

_CREATED_FIRST = "_fts_update_insert"
"""End of the names of Engram's triggers that must run last, see `_build`."""

Row = dict[str, Any]


def _is_index_of_another(sql: str) -> bool:
    return "content=" in "".join(sql.lower().split())


def _quoted(name: str) -> str:
    return '"' + name.replace('"', '""') + '"'


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
