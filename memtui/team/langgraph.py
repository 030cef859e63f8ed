"""The `store` table of LangGraph (`langgraph-checkpoint-postgres`), as a store that is asked.

A row is a namespace, a key and a JSON value. There is no index over its words, so that a search
reads the rows that pass the filters. A text is written only where the row has no vectors, which
would no longer fit it; everything else is left to the programs that own the table.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from datetime import UTC
from typing import Any

import psycopg

from memtui.changes import Act, Change, Plan, row_edit
from memtui.errors import Conflict, Refused
from memtui.model import Memory
from memtui.stores.base import StoreView
from memtui.stores.format import FormatSupport
from memtui.stores.plans import plan_one
from memtui.stores.queryable import OTHERS, Changed, FormerVersion
from memtui.stores.values import changed_values, check_unchanged, content_of
from memtui.team.compiler import Sql
from memtui.team.connection import Connection
from memtui.team.rows import Table, plain_value, split_words
from memtui.team.store import TeamStore

STORE = "store"
PATHS = (("content", "content"), ("content",), ("text",), ("memory",), ("data",))
"""Where a value has its text, tried in this order: LangMem, then what programs usually write."""
_CONTENT = ", ".join(
    f"case when jsonb_typeof(s.value #> '{{{','.join(path)}}}') = 'string'"
    f" then s.value #>> '{{{','.join(path)}}}' end"
    for path in PATHS
)
_PATH = "string_to_array(lower(replace(s.prefix, '.', '/')), '/')"
TABLE = Table(
    "(select s.prefix || '/' || s.key collate \"C\" as id, 'note' as kind, v.type, '' as title,"
    " v.content, replace(s.prefix, '.', '/') as entity, 'medium' as importance,"
    " 'active' as status, '' as source, '' as author, '' as team, '{}'::text[] as tags,"
    " '{}'::text[] as supersedes, '{}'::text[] as superseded_by,"
    " coalesce(s.created_at, 'epoch') as created,"
    " coalesce(s.updated_at, s.created_at, 'epoch') as updated, false as pinned,"
    " null::float8 as confidence, jsonb_build_object('value', s.value, 'prefix', s.prefix, 'key',"
    f" s.key, 'expires_at', s.expires_at) as extra, 1 as version,"
    f" {split_words('v.content', _PATH, 'v.type')} as words"
    f" from {STORE} s cross join lateral (select coalesce({_CONTENT}, s.value::text) as content,"
    " lower(coalesce(s.value ->> 'kind', s.value ->> 'type', 'note')) as type) v)",
    "null::jsonb",
    "text",
    is_table=False,
)


class StoreTable(Connection):
    """A connection to a database with LangGraph's table."""

    def _look(self, connection: psycopg.Connection[Any]) -> tuple[float, str]:
        (found,) = connection.execute(
            "select reltuples, pg_is_in_recovery(), has_table_privilege(oid, 'update')"
            f" from pg_class where oid = '{STORE}'::regclass"
        ).fetchall()
        rows, is_replica, may_write = found
        if is_replica:
            return rows, "this server is a replica, which can only be read"
        return rows, "" if may_write else "you may only read this table"


class LangGraphStore(TeamStore):
    """The memories in one such table."""

    format = "langgraph"
    no_past = "its table keeps no former values"
    table = TABLE
    connection_class = StoreTable

    @property
    def editable(self) -> frozenset[str]:
        return frozenset({"content"})

    def refusal(self, act: Act, memory: Memory | None) -> str:
        if act not in (Act.EDIT, Act.DELETE):
            return "only the text of a row can be changed here, or the row deleted"
        if memory is None or self.read_only:
            return self.read_only
        if act is Act.EDIT and _path_of(memory.extra["value"]) is None:
            return "its value has no text that memtui knows"
        return ""

    def plan(self, change: Change, view: StoreView) -> Plan:
        self.connection.connect()
        memory = None if change.act is Act.ADD else view.get(change.ref)
        if (why := self.refusal(change.act, memory)) or memory is None:
            raise Refused(why, where=change.ref or str(self.root))
        key = {"prefix": memory.extra["prefix"], "key": memory.extra["key"]}
        row = self._stored(memory, key)
        if change.act is Act.DELETE:
            return plan_one(change, memory, (row_edit(str(self.root), STORE, key, row, None),))
        asked = changed_values(change, memory, self.editable)
        if not asked:
            return plan_one(change, memory, ())
        value = json.loads(json.dumps(row["value"]))
        *above, last = _path_of(value) or ("content",)
        inner = value
        for name in above:
            inner = inner[name]
        inner[last] = content_of(change)
        if "\0" in inner[last]:
            raise Refused("the text holds a character that Postgres cannot keep (NUL)")
        after = {"value": value, "updated_at": self.now().astimezone(UTC).isoformat()}
        before = {name: row[name] for name in after}
        return plan_one(change, memory, (row_edit(str(self.root), STORE, key, before, after),))

    def _stored(self, memory: Memory, key: Mapping[str, str]) -> dict[str, Any]:
        """The row as it is now. Raises Conflict, or Refused where it has vectors."""
        given = (key["prefix"], key["key"])
        rows, ((has_table,),) = self.connection.ask(
            Sql(f"select to_jsonb(s) from {STORE} s where prefix = %s and key = %s", given),
            Sql("select to_regclass('store_vectors') is not null"),
        )
        if not rows:
            raise Conflict("another program removed it", where=memory.ref)
        vectors = "select from store_vectors where prefix = %s and key = %s limit 1"
        if has_table and self.connection.ask(Sql(vectors, given))[0]:
            raise Refused(
                "the row has vectors, which would no longer fit its text",
                where=memory.ref,
                do="change it with the program that wrote it",
            )
        row = {name: plain_value(name, value) for name, value in rows[0][0].items()}
        same = f"select value = %s::jsonb from {STORE} where prefix = %s and key = %s"
        if self.connection.ask(Sql(same, (json.dumps(row["value"]), *given)))[0] != [(True,)]:
            raise Refused("its value holds numbers that would be rounded", where=memory.ref)
        if path := _path_of(row["value"]):
            text = row["value"]
            for name in path:
                text = text[name]
            check_unchanged(memory, text, memory.ref, None, OTHERS)
        return row

    def former(self, id: str, limit: int = 100) -> tuple[FormerVersion, ...]:  # noqa: ARG002
        return ()

    def changed_since(self, mark: str) -> Changed:
        newest = "select coalesce(max(updated_at), 'epoch')::text, count(*)::text from store"
        ((found,),) = self.connection.ask(Sql(newest))
        now = " ".join(found)
        return Changed((), now, not mark or mark == now)


def _path_of(value: Any) -> tuple[str, ...] | None:
    """The path of the text in a value; None if it has none that is known."""
    for path in PATHS:
        found = value
        for name in path:
            found = found.get(name) if isinstance(found, dict) else None
        if isinstance(found, str):
            return path
    return None


SUPPORT = FormatSupport(LangGraphStore)
