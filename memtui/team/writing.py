"""Write planned edits in one transaction, and read what rows were before.

The former row goes into the table of versions by a trigger, in the same transaction, with the name
of whoever is connected: history and undo hold for everybody, whichever program wrote.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
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
from memtui.team.rows import COLUMNS, of_columns, plain_value
from memtui.team.words import to_tsvector

_CASTS = {
    "importance": "memtui.importance",
    **dict.fromkeys(("tags", "supersedes", "superseded_by"), "text[]"),
    **dict.fromkeys(("created", "updated", "valid_from", "valid_to"), "timestamptz"),
}
_LINK_COLUMNS = ("id", "relation", "target", "valid_from", "valid_to", "note")
_KNOWN = {MEMORIES: frozenset(COLUMNS), LINKS: frozenset(_LINK_COLUMNS)}


def write(
    connection: Connection, root: str, edits: Sequence[Edit], recorder: WriteRecorder
) -> None:
    """Make the edits, all or none. Raises Conflict, Refused or SaveError."""
    for edit in edits:
        names = {*edit.row, *(edit.before or ()), *(edit.after or ())} if edit.key else set()
        if edit.kind is not Kind.ROW or edit.path != root or not names <= _KNOWN[edit.table]:
            raise Refused("this edit does not belong to this store", where=root)
    name = row_name(edits[0])
    try:
        with connection.transaction() as open_one:
            before = row_digest(_row(open_one, edits[0]))
            for edit in edits:
                _write(open_one, edit)
            after = row_digest(_row(open_one, edits[0]))
            recorder.intend(name, before, after)
    except psycopg.Error as error:
        said = to_error(error, connection.service)
        do = "nothing was changed, or all of it where the connection broke at the very end"
        raise SaveError(said.what, where=said.where, do=said.do or do) from None
    recorder.done(name)


def _row(connection: psycopg.Connection[Any], edit: Edit) -> dict[str, Any] | None:
    """The row of an edit as JSON values, locked until the end of the transaction."""
    names = COLUMNS if edit.table == MEMORIES else _LINK_COLUMNS
    found = connection.execute(
        sql.SQL("select to_jsonb(r) - 'words' from memtui.{} r where {} for update").format(
            sql.Identifier(edit.table), _where(edit)
        ),
        tuple(edit.row.values()),
    ).fetchone()
    return None if found is None else {name: plain_value(name, found[0][name]) for name in names}


def _where(edit: Edit) -> sql.Composable:
    return sql.SQL(" and ").join(
        sql.SQL("{} = %s").format(sql.Identifier(name)) for name in edit.row
    )


def _write(connection: psycopg.Connection[Any], edit: Edit) -> None:
    row = _row(connection, edit)
    before: Mapping[str, Any] = edit.before or {}
    is_same = row is not None and all(row[name] == before[name] for name in before)
    if is_same if edit.before is None else not is_same:
        raise row_conflict(edit, row)
    table = sql.Identifier(edit.table)
    if edit.after is None:
        text = sql.SQL("delete from memtui.{} where {}").format(table, _where(edit))
        connection.execute(text, tuple(edit.row.values()))
        return
    values = {name: _bound(name, value) for name, value in edit.after.items()}
    casts = {name: _CASTS.get(name, "") for name in values}
    if edit.table == MEMORIES:
        whole = {**_DEFAULTS, **(row or {}), **edit.after}
        values["words"], casts["words"] = to_tsvector(of_columns(whole, "", "")), "tsvector"
    marks = [sql.SQL(f"%s::{casts[name]}" if casts[name] else "%s") for name in values]
    columns = [sql.Identifier(name) for name in values]
    if edit.before is None:
        text = sql.SQL("insert into memtui.{} ({}) values ({})").format(
            table, sql.SQL(", ").join(columns), sql.SQL(", ").join(marks)
        )
        connection.execute(text, tuple(values.values()))
        return
    pairs = (sql.SQL("{} = {}").format(*pair) for pair in zip(columns, marks, strict=True))
    text = sql.SQL("update memtui.{} set {} where {}").format(
        table, sql.SQL(", ").join(pairs), _where(edit)
    )
    if connection.execute(text, (*values.values(), *edit.row.values())).rowcount != 1:
        raise Refused("you have no right to change this memory", where=row_name(edit))


_DEFAULTS = {"author": "", "team": "", "version": 1, "links": ()}


def _bound(name: str, value: Any) -> Any:
    return Jsonb(value) if name == "extra" else value
