"""Stores of tables that are written too: rows are planned as edits and set in one transaction.

Every edit is compare-and-set: the columns in `before` must still hold what they held when the
person saw them, else `Conflict` and nothing is written. Triggers of the database keep its full-text
indexes; a schema with a trigger that memtui does not know, or with a column that
every row needs, is read only, because a change might have to be entered there too.
"""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from datetime import datetime
from pathlib import Path
from typing import Any, ClassVar, Protocol

from msgspec import Struct

from memtui.changes import Edit, Kind, row_edit
from memtui.errors import Conflict, MemtuiError, Refused, SaveError
from memtui.files.permissions import has_write_permission
from memtui.files.save_hooks import failpoint
from memtui.model import Memory
from memtui.stores.base import Reading, Shard, Unreadable, WriteRecorder, Written
from memtui.stores.file_store import FileStore, explain_read_only
from memtui.stores.plans import PlanContext, planned_before
from memtui.stores.scanning import FoundShard, LastRead
from memtui.stores.sidecar import Sidecar
from memtui.stores.sqlite.connection import (
    commit,
    database_error_text,
    read_or_raise,
    run_read,
    transaction,
)
from memtui.stores.sqlite.rows import (
    find_row,
    from_json_value,
    insert_row,
    is_valid_text,
    refuse_damaged,
    row_conflict,
    row_digest,
    row_name,
    saved_beside,
    to_json_value,
)
from memtui.stores.sqlite.tables import DatabaseStore, Table, TableStore, columns_of, table_names
from memtui.stores.values import check_unchanged, utc_now


class RowContext(PlanContext):
    """The context of planning a change of rows."""

    store: WritableTables

    def table(self, memory: Memory) -> Table:
        """The table of a memory."""
        name = memory.origin.key.partition(".")[0]
        return next(table for table in self.store.rows.tables if table.name == name)

    def query(self, sql: str, *values: object) -> list[dict[str, Any]]:
        """The rows of a query, as they are in the database. Raises StoreError."""
        return read_or_raise(
            self.store.file, lambda c: [dict(row) for row in c.execute(sql, values).fetchall()]
        )

    def row(self, table: str, number: object) -> dict[str, Any] | None:
        """A row after the changes planned so far."""
        found = self.query(f"SELECT * FROM {table} WHERE id = ?", number)
        row = found[0] if found else None
        for edit in self._planned(table):
            if edit.row == {"id": number}:
                row = None if edit.after is None else {**(row or {}), **edit.after}
        return row

    def _planned(self, table: str) -> Iterator[Edit]:
        for plan in planned_before(self.view):
            for edit in plan.edits:
                if edit.kind is Kind.ROW and edit.table == table:
                    yield edit

    def current(self, memory: Memory, new_text: str | None = None) -> dict[str, Any]:
        """The row of a memory, which still says what the person saw. Raises Conflict."""
        table, place = self.table(memory), str(self.store.file)
        row = self.row(table.name, number_of(memory))
        if row is None:
            raise Conflict("another program removed it", where=place, yours=new_text)
        shown = (table.memory(self.label, place, each) for each in table.expand(row))
        now = next((each for each in shown if each.id == memory.id), None)
        if now is None:
            raise Conflict("another program removed it", where=place, yours=new_text)
        check_unchanged(memory, now.content, place, new_text)
        return row

    def put(self, table: str, row: Mapping[str, Any], values: Mapping[str, Any]) -> list[Edit]:
        """The edit that sets these columns of a row; none if it has these values already."""
        changed = {name: value for name, value in values.items() if row[name] != value}
        if not changed:
            return []
        refuse_damaged(row)
        _check_texts(changed)
        before = {name: to_json_value(row[name]) for name in changed}
        return [row_edit(str(self.store.file), table, {"id": row["id"]}, before, changed)]

    def next_number(self, table: str) -> int:
        """The number of the next row, if no other program inserts one before it is written."""
        highest = self.query(f"SELECT coalesce(max(id), 0) AS n FROM {table}")[0]["n"]
        return int(highest) + 1 + sum(edit.before is None for edit in self._planned(table))

    def insert(self, table: str, number: int, values: Mapping[str, Any]) -> Edit:
        """The edit that inserts a row."""
        _check_texts(values)
        after = {"id": number, **values}
        return row_edit(str(self.store.file), table, {"id": number}, None, after)

    def removal(self, table: str, row: Mapping[str, Any]) -> Edit:
        """The edit that deletes a row."""
        refuse_damaged(row)
        before = {name: to_json_value(value) for name, value in row.items()}
        return row_edit(str(self.store.file), table, {"id": row["id"]}, before, None)


def _check_texts(values: Mapping[str, Any]) -> None:
    if any(isinstance(value, str) and not is_valid_text(value) for value in values.values()):
        raise Refused("the text holds half a character, which UTF-8 cannot hold")


def number_of(memory: Memory) -> int:
    """The number of a memory's row."""
    return int(memory.origin.key.rpartition("=")[2])


class WritableDatabase(FileStore):
    """One database whose rows are read by a `DatabaseStore`, below the entries of the sidecar."""

    rescans = True
    row_store: ClassVar[type[DatabaseStore]]

    def __init__(
        self, root: Path, label: str, file: Path, now: Callable[[], datetime] = utc_now
    ) -> None:
        super().__init__(root, label, now)
        self.file = file
        self.rows = self.row_store(root, label, file)

    def find_shards(self) -> Iterator[FoundShard | Unreadable]:
        scan = self.rows.scan()
        for shard in scan.shards:
            yield FoundShard(shard.key, shard.files, shard.stamp)
        yield from scan.unreadable

    def read_files(self, shard: Shard, sidecar: Sidecar) -> Reading:  # noqa: ARG002
        return self.rows.read(shard)

    def explain_closed(self) -> str:
        """Return why neither the database nor a log beside it can be written; empty if they can."""
        if closed := explain_read_only(self.file.parent):
            return closed
        is_open = has_write_permission(self.file)
        return "" if is_open else "the database has no write permission"


class WritableTables(WritableDatabase):
    """One database whose rows are read by a `TableStore` and written here."""

    context = RowContext
    rows: TableStore
    known: ClassVar[Mapping[str, frozenset[str]]]
    """The columns of each table that is written."""
    triggers: ClassVar[Mapping[str, frozenset[str]]]
    """Full-text table -> the triggers that keep it."""

    def __init__(self, root: Path, label: str, file: Path, **more: Any) -> None:
        super().__init__(root, label, file, **more)
        self._unknown = LastRead[str]()

    @property
    def read_only(self) -> str:
        """Why nothing can be written: permissions, or a schema that memtui does not know."""
        if closed := self.explain_closed():
            return closed
        files = (self.file, f"{self.file}-wal")
        try:
            return self._unknown.get(files, lambda: run_read(self.file, self.why_unknown))
        except sqlite3.Error as error:
            return f"the database cannot be read ({error})"

    def why_unknown(self, connection: sqlite3.Connection) -> str:
        """Why a change could not be recorded as the program would; "" if it could."""
        columns = columns_of(connection, list(self.known))
        for table, known in self.known.items():
            if missing := known - columns.get(table, frozenset()):
                return f"{table} lacks the column {min(missing)!r} of the versions memtui knows"
            rows = connection.execute(f"PRAGMA table_info({table})")
            needed = {str(row[1]) for row in rows if row[3] and row[4] is None}
            if strange := needed - known:
                return f"{table} needs a column that memtui does not know: {min(strange)!r}"
        marks = ", ".join("?" * len(self.known))
        found = connection.execute(
            f"SELECT name FROM sqlite_master WHERE type = 'trigger' AND tbl_name IN ({marks})",
            tuple(self.known),
        ).fetchall()
        names = {str(row[0]) for row in found}
        every = frozenset[str]().union(*self.triggers.values())
        if foreign := names - every:
            return f"it has a trigger memtui does not know: {min(foreign)!r}"
        existing = table_names(connection)
        for index, triggers in self.triggers.items():
            if index in existing and (missing := triggers - names):
                return f"its full-text index is not kept up to date: {min(missing)} is missing"
        return ""

    def texts_of_row(
        self, memory: Memory, table: str, columns: Mapping[str, Any]
    ) -> Mapping[str, str]:
        """As the row gives them that it is now with these columns."""
        declared = next((each for each in self.rows.tables if each.name == table), None)
        if declared is None:
            return {}
        sql = f"SELECT * FROM {table} WHERE id = ?"
        try:
            rows = run_read(
                self.file, lambda c: [dict(r) for r in c.execute(sql, (number_of(memory),))]
            )
        except sqlite3.Error:
            return {}
        former = {name: from_json_value(value) for name, value in columns.items()}
        row = {**dict.fromkeys(self.known[table]), **(rows[0] if rows else {}), **former}
        for each in declared.expand(row):
            found = declared.memory(self.label, str(self.file), each)
            if found.id == memory.id:
                return {"title": found.title, "content": found.content, "type": found.type}
        return {}

    def apply(self, edits: Sequence[Edit], recorder: WriteRecorder) -> Written | None:
        """Make the edits, of rows and of the sidecar, all or none.

        Raises Conflict, Refused or SaveError.
        """
        rows = [edit for edit in edits if edit.kind is Kind.ROW]
        beside = tuple(edit for edit in edits if edit.kind is not Kind.ROW)
        if not rows:
            return super().apply(beside, recorder)

        def writer(connection: sqlite3.Connection) -> RowWriter:
            if why := self.why_unknown(connection):
                raise Refused(why, where=str(self.file))
            return _Writer(connection)

        every = frozenset[str]().union(*self.triggers.values())
        write_rows(self.file, self.root, rows, beside, recorder, (self.known, every), writer)
        return None


class RowWriter(Protocol):
    """Writes row edits inside a transaction. Methods raise sqlite3.Error."""

    def row(self, edit: Edit) -> dict[str, Any] | None:
        """The row of an edit as it is now."""

    def write(self, edit: Edit, row: dict[str, Any] | None) -> Edit:
        """Make an edit of this row; returns it as it was made. Raises Conflict or Refused."""


def write_rows(
    file: Path,
    root: Path,
    edits: Sequence[Edit],
    beside: tuple[Edit, ...],
    recorder: WriteRecorder,
    known: tuple[Collection[str], frozenset[str]],
    writer_of: Callable[[sqlite3.Connection], RowWriter],
) -> list[Edit]:
    """Make edits of rows, all or none.

    One row is named to the recorder: the transaction is whole or not there, so the first row that
    differs tells after a crash what became of all. (A mark per row would hold the lock of the
    database while thousands of marks are synced to disk.)

    Args:
        root: of the store, whose folder the database must lie in, whatever links lead there.
        beside: edits of files, which are saved inside the transaction, before it is committed; they
            are taken back if it cannot be.
        recorder: is called before the commit and after it.
        known: the tables that may be written, and the triggers that may run.

    Returns:
        The edits as they were made.

    Raises Conflict, Refused or SaveError.
    """
    if not has_write_permission(file):
        what, do = "the database has no write permission", "chmod u+w gives it"
        raise Refused(what, where=str(file), do=do)
    tables, triggers = known
    for edit in edits:
        if edit.table not in tables or Path(edit.path) != file:
            raise Refused("this edit does not belong to this database", where=str(file))
        for columns in (edit.before, edit.after):
            _check_texts(columns or {})
    try:
        with transaction(file, root, triggers) as connection:
            writer, written = writer_of(connection), []
            mark: tuple[Edit, str] | None = None
            for edit in edits:
                row = writer.row(edit)
                before = row_digest(row)
                written.append(writer.write(edit, row))
                if mark is None and before != row_digest(writer.row(edit)):
                    mark = edit, before
            first, before = mark or (edits[0], row_digest(writer.row(edits[0])))
            name = row_name(first)
            recorder.intend(name, before, row_digest(writer.row(first)))
            with saved_beside(beside, recorder, root):
                commit(connection)
            failpoint("done")
            recorder.done(name)
    except sqlite3.Error as error:
        why = f"SQLite: {database_error_text(error, file)}"
        raise SaveError(why, where=str(file), do="nothing was changed") from error
    return written


class _Writer(Struct, frozen=True):
    connection: sqlite3.Connection

    def row(self, edit: Edit) -> dict[str, Any] | None:
        columns = columns_of(self.connection, [edit.table])[edit.table]
        return find_row(self.connection, columns, edit)

    def write(self, edit: Edit, row: dict[str, Any] | None) -> Edit:
        before = edit.before or {}
        is_same = row is not None and all(row[n] == from_json_value(before[n]) for n in before)
        if is_same if edit.before is None else not is_same:
            raise row_conflict(edit, row)
        values = {name: from_json_value(value) for name, value in (edit.after or {}).items()}
        where, key = " AND ".join(f'"{name}" = ?' for name in edit.row), tuple(edit.row.values())
        if edit.after is None:
            self.connection.execute(f"DELETE FROM {edit.table} WHERE {where}", key)
        elif edit.before is None:
            insert_row(self.connection, edit.table, values)
        else:
            names = ", ".join(f'"{name}" = ?' for name in values)
            sql = f"UPDATE {edit.table} SET {names} WHERE {where}"
            self.connection.execute(sql, (*values.values(), *key))
        return edit


def digest_of(name: str, tables: Collection[str]) -> str | None:
    """The digest of the row with this recorder name as it is now; None if it is of no table."""
    table = next((each for each in tables if f"#{each}{{" in name), "")
    path, found, key = name.partition(f"#{table}{{")
    if not table or not found:
        return None

    def digest(connection: sqlite3.Connection) -> str:
        edit = row_edit(path, table, json.loads("{" + key), None, None)
        return row_digest(find_row(connection, columns_of(connection, [table])[table], edit))

    try:
        return run_read(Path(path), digest)
    except (ValueError, KeyError, sqlite3.Error, MemtuiError):
        return None
