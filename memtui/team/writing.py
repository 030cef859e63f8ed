"""Write planned edits in one transaction, and read what rows were before.

The former row goes into the table of versions by a trigger, in the same transaction, with the name
of whoever is connected: history and undo hold for everybody, whichever program wrote.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Any

import psycopg
from psycopg import sql
from psycopg.types.json import Jsonb

from memtui.changes import Edit, Kind
from memtui.errors import Refused, SaveError
from memtui.stores.base import WriteRecorder
from memtui.stores.sqlite.rows import row_conflict, row_digest, row_name
from memtui.team.connection import Connection, to_error
from memtui.team.planning import LINKS, MEMORIES
from memtui.team.rows import COLUMNS, TIME_COLUMNS, of_columns, plain_value
from memtui.team.words import to_tsvector

_CASTS = {
    "importance": "memtui.importance",
    **dict.fromkeys(("tags", "supersedes", "superseded_by"), "text[]"),
    **dict.fromkeys(TIME_COLUMNS, "timestamptz"),
}
_COLUMNS = {
    MEMORIES: COLUMNS,
    LINKS: ("id", "relation", "target", "valid_from", "valid_to", "note"),
    "store": ("prefix", "key", "value", "created_at", "updated_at", "expires_at", "ttl_minutes"),
}
"""Table -> the columns that are written; the last one is LangGraph's."""
_JSON = ("extra", "value")
_DATES = ("updated", "updated_at")
"""Columns that every change sets. Another value there is no conflict, since somebody else may have
changed another field; the later time is kept."""


def write(
    connection: Connection, root: str, edits: Sequence[Edit], recorder: WriteRecorder
) -> None:
    """Make the edits, all or none. Raises Conflict, Refused or SaveError."""
    for edit in edits:
        names = {*edit.row, *(edit.before or ()), *(edit.after or ())} if edit.key else set()
        if edit.kind is not Kind.ROW or edit.path != root or not names <= {*_COLUMNS[edit.table]}:
            raise Refused("this edit does not belong to this store", where=root)
    name, intended = row_name(edits[0]), ""
    try:
        with connection.transaction() as open_one:
            open_one.execute("select set_config('memtui.agent', %s, true)", (recorder.agent,))
            before = row_digest(_row(open_one, edits[0]))
            for edit in edits:
                _write(open_one, edit)
            intended = row_digest(_row(open_one, edits[0]))
            recorder.intend(name, before, intended)
    except psycopg.Error as error:
        said = to_error(error, connection.service)
        if not intended or not _is_written(connection, edits[0], intended):
            recorder.failed(name)
            do = said.do or "nothing was changed"
            raise SaveError(said.what, where=said.where, do=do) from None
    recorder.done(name)


def _is_written(connection: Connection, edit: Edit, intended: str) -> bool:
    """Whether the transaction was committed although the connection broke then. Raises
    NotConnected where that cannot be asked."""
    try:
        with connection.transaction() as open_one:
            return row_digest(_row(open_one, edit)) == intended
    except psycopg.Error as error:
        raise to_error(error, connection.service) from None


def _row(connection: psycopg.Connection[Any], edit: Edit) -> dict[str, Any] | None:
    """The row of an edit as JSON values, locked until the end of the transaction."""
    found = connection.execute(
        sql.SQL("select to_jsonb(r) - 'words' from {} r where {} for update").format(
            _table(edit), _where(edit)
        ),
        tuple(edit.row.values()),
    ).fetchone()
    if found is None:
        return None
    return {name: plain_value(name, found[0].get(name)) for name in _COLUMNS[edit.table]}


def _table(edit: Edit) -> sql.Composable:
    schema = ("memtui",) if edit.table in (MEMORIES, LINKS) else ()
    return sql.Identifier(*schema, edit.table)


def _where(edit: Edit) -> sql.Composable:
    return sql.SQL(" and ").join(
        sql.SQL("{} = %s").format(sql.Identifier(name)) for name in edit.row
    )


def _write(connection: psycopg.Connection[Any], edit: Edit) -> None:
    row = _row(connection, edit)
    before: Mapping[str, Any] = edit.before or {}
    compared = [name for name in before if edit.after is None or name not in _DATES]
    is_same = row is not None and all(row[name] == before[name] for name in compared)
    if is_same if edit.before is None else not is_same:
        raise row_conflict(edit, row)
    table = _table(edit)
    if edit.after is None:
        text = sql.SQL("delete from {} where {}").format(table, _where(edit))
        connection.execute(text, tuple(edit.row.values()))
        return
    after = dict(edit.after)
    for name in _DATES:
        if row is not None and name in before and row[name] != before[name]:
            after[name] = max(row[name], after[name], key=datetime.fromisoformat)
    values = {name: _bound(name, value) for name, value in after.items()}
    casts = {name: _CASTS.get(name, "") for name in values}
    if edit.table == MEMORIES:
        whole = {**_DEFAULTS, **(row or {}), **after}
        values["words"], casts["words"] = to_tsvector(of_columns(whole, "", "")), "tsvector"
    marks = [sql.SQL(f"%s::{casts[name]}" if casts[name] else "%s") for name in values]
    columns = [sql.Identifier(name) for name in values]
    if edit.before is None:
        text = sql.SQL("insert into {} ({}) values ({})").format(
            table, sql.SQL(", ").join(columns), sql.SQL(", ").join(marks)
        )
        connection.execute(text, tuple(values.values()))
        return
    pairs = (sql.SQL("{} = {}").format(*pair) for pair in zip(columns, marks, strict=True))
    text = sql.SQL("update {} set {} where {}").format(
        table, sql.SQL(", ").join(pairs), _where(edit)
    )
    if connection.execute(text, (*values.values(), *edit.row.values())).rowcount != 1:
        raise Refused("you have no right to change this memory", where=row_name(edit))


_DEFAULTS = {"author": "", "team": "", "version": 1, "links": ()}


def _bound(name: str, value: Any) -> Any:
    return Jsonb(value) if name in _JSON else value
