"""A collection of mem0 in Postgres, as a store that is asked and can only be read.

mem0 keeps each collection as a table of its own (`id uuid, vector vector, payload jsonb`;
mem0/vector_stores/pgvector.py at 8d5b786), and in the payload what a memory says (`data`), whose it
is and when it was made (mem0/memory/main.py). The vector is never read. There is no index over
words or times that a question of memtui could use, so that each reads the whole table.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from datetime import datetime
from pathlib import Path
from typing import Any, NoReturn

import psycopg

from memtui.changes import Act, Change
from memtui.errors import Refused, StoreError
from memtui.model import Memory
from memtui.stores.base import StoreView
from memtui.stores.format import FormatSupport
from memtui.stores.queryable import Changed, FormerVersion
from memtui.stores.values import utc_now
from memtui.team.compiler import Sql
from memtui.team.connection import Connection
from memtui.team.rows import Table, split_words
from memtui.team.store import TeamStore

WHY_READ_ONLY = "a memory here is a vector too, which only mem0 can compute"
DEFAULT = "mem0"
"""The collection of mem0's own settings."""
_NAME = re.compile(r"[\w-]+")
_OWNERS = (("user_id", "users"), ("agent_id", "agents"), ("run_id", "runs"))
_TIME = (
    r"^[12]\d{3}-(0[1-9]|1[0-2])-([0-2]\d|3[01])[T ]([01]\d|2[0-3]):[0-5]\d(:[0-5]\d(\.\d+)?)?"
    r"(Z|[+-](0\d|1[0-4]):[0-5]\d)?$"
)


def _time(name: str) -> str:
    """SQL for a time of the payload; null for anything else, on which Postgres would stop."""
    value = f"(p.payload ->> '{name}')"
    day = f"(substr({value}, 9, 2)::int - 1) * interval '1 day'"  # of 30 February 2 March
    moment = f"(left({value}, 8) || '01' || substr({value}, 11))::timestamptz + {day}"
    return f"case when {value} ~ '{_TIME}' then {moment} end"


def table_of(collection: str) -> Table:
    """What is asked of a collection."""
    owners = ", ".join(f"'{kind}/' || nullif(p.payload ->> '{key}', '')" for key, kind in _OWNERS)
    words = split_words("v.content", "string_to_array(lower(v.entity), '/')", "'fact'")
    return Table(
        "(select p.id::text collate \"C\" as id, 'fact' as kind, '' as type, '' as title,"
        " v.content, v.entity, 'medium' as importance, 'active' as status,"
        " coalesce(p.payload ->> 'run_id', '') as source,"
        " coalesce(p.payload ->> 'actor_id', '') as author, '' as team, '{}'::text[] as tags,"
        " '{}'::text[] as supersedes, '{}'::text[] as superseded_by,"
        " coalesce(v.created, 'epoch') as created,"
        " coalesce(v.updated, v.created, 'epoch') as updated, false as pinned,"
        " null::float8 as confidence,"
        " p.payload - array['data', 'text_lemmatized', 'created_at', 'updated_at'] as extra,"
        f" 1 as version, {words} as words"
        f' from "{collection}" p cross join lateral (select'
        " coalesce(p.payload ->> 'data', p.payload ->> 'memory', '') as content,"
        f" coalesce({owners}, '') as entity, {_time('created_at')} as created,"
        f" {_time('updated_at')} as updated) v where jsonb_typeof(p.payload) = 'object')",
        "null::jsonb",
        "text",
        is_table=False,
    )


class Collection(Connection):
    """A connection to a database with a collection."""

    collection = DEFAULT

    def _look(self, connection: psycopg.Connection[Any]) -> tuple[float, str]:
        found = connection.execute(
            "select c.reltuples from pg_class c where c.oid = to_regclass(%s) and 2 = (select"
            " count(*) from pg_attribute a join pg_type t on t.oid = a.atttypid"
            " where a.attrelid = c.oid and (a.attname, t.typname)"
            " in (('id', 'uuid'), ('payload', 'jsonb')))",
            (f'"{self.collection}"',),
        ).fetchall()
        if not found:
            what = f"there is no collection {self.collection} of mem0 in this database"
            do = "mem0:SERVICE/COLLECTION names another"
            raise StoreError(what, where=f"mem0:{self.service}", do=do)
        return found[0][0], WHY_READ_ONLY


class Mem0Store(TeamStore):
    """The memories in one collection."""

    format = "mem0-postgres"
    no_past = "its table keeps no former values"
    read_only = WHY_READ_ONLY
    editable: frozenset[str] = frozenset()

    def __init__(self, root: Path, label: str, now: Callable[[], datetime] = utc_now) -> None:
        """`root`: `mem0:SERVICE` or `mem0:SERVICE/COLLECTION`. Raises StoreError."""
        service, slash, name = str(root).partition(":")[2].partition("/")
        if slash and not _NAME.fullmatch(name):
            raise StoreError("this is no name of a collection", where=str(root))
        self.root, self.label, self.now = root, label, now
        self.connection = Collection(service)
        self.connection.collection = name or DEFAULT
        self.table = table_of(self.connection.collection)

    def refusal(self, act: Act, memory: Memory | None) -> str:  # noqa: ARG002
        return WHY_READ_ONLY

    def plan(self, change: Change, view: StoreView) -> NoReturn:  # noqa: ARG002
        raise Refused(WHY_READ_ONLY, where=change.ref or str(self.root))

    def former(self, id: str, limit: int = 100) -> tuple[FormerVersion, ...]:  # noqa: ARG002
        return ()

    def changed_since(self, mark: str) -> Changed:
        newest = f"select max(updated)::text, count(*)::text from {self.table.name} m"
        ((found,),) = self.connection.ask(Sql(newest))
        now = " ".join(filter(None, found))
        return Changed((), now, not mark or mark == now)


SUPPORT = FormatSupport(Mem0Store)
