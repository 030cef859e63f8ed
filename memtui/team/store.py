"""The store: questions of the library as statements, rows as memories.

Lists, counts and filters are answered by the table; what many memories share is sampled, and said
to be so.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from datetime import date, datetime
from pathlib import Path
from typing import Any, Literal
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

from msgspec.structs import replace

from memtui.changes import Act, Change, Edit, Plan
from memtui.errors import QueryStopped, Refused
from memtui.files.save_hooks import NullRecorder
from memtui.model import CURRENT, Memory
from memtui.query import Query, Sort
from memtui.stores.base import StoreView, WriteRecorder, Written
from memtui.stores.format import FormatSupport
from memtui.stores.queryable import (
    MAX_RANKED,
    PUSHED_ORDERS,
    Accuracy,
    Answer,
    Changed,
    Count,
    FormerVersion,
    FoundFacets,
    Page,
    Position,
    QueryableStore,
    position_of,
    pushed_order,
    ranked_answer,
)
from memtui.stores.values import utc_now
from memtui.team.compiler import Compiled, Sql, compile_order, compile_query
from memtui.team.connection import Connection
from memtui.team.planning import ACTS, EDITABLE, UNSUPPORTED, Planner
from memtui.team.rows import FORMER, TABLE, to_columns, to_former, to_memory
from memtui.team.words import storable
from memtui.team.writing import write

COUNTED = {
    "type": "coalesce(nullif(m.type, ''), m.kind)",
    "importance": "m.importance::text",
    "status": "m.status",
    "kind": "m.kind",
    "entity": "m.entity",
}
"""Fields that are counted by the table, and their values."""
MAX_COUNTED = 10_000
"""Memories up to which facets are exact."""
SAMPLED = 20_000
"""Memories in the pages of the table that are looked at where there are more."""
SURELY_FEW = 1_000
"""Where there are not more, no part of the table is looked at."""
SURELY_MORE = 1.5
"""Where the sample says that there are so many times `MAX_COUNTED`, they are not counted. Of 10,000
in 5 million the sample has 40, and 60 in one case of a thousand."""
MAX_VALUES = 500
"""Values of a field that are named."""
MAX_CHANGED = 1_000
AFTER_TIMEOUT = 50
"""Hits that are asked for where a whole answer took too long."""


class TeamStore(QueryableStore):
    """The memories of a team."""

    format = "team"
    table = TABLE
    connection_class = Connection
    no_past = ""

    def __init__(self, root: Path, label: str, now: Callable[[], datetime] = utc_now) -> None:
        self.root, self.label, self.now = root, label, now
        self.connection = self.connection_class(str(root).partition(":")[2])

    # ---- asking ---------------------------------------------------------------------------------

    def understands(self, query: Query) -> tuple[str, ...]:
        orders = [each for each in (query.order, *query.then) if each not in PUSHED_ORDERS]
        unknown = [f"sort:{order}" for order in orders if order is not Sort.RELEVANCE]
        unknown += [f"sort:{order} as a second order" for order in query.then]
        return (*self._compile(query).ignored, *dict.fromkeys(unknown))

    def _compile(self, query: Query, lifted: Collection[str] = ()) -> Compiled:
        return compile_query(query, self.label, lifted, self.table)

    def find(
        self, query: Query, after: Position | None, limit: int, *, backwards: bool = False
    ) -> Page:
        (rows,) = self.connection.ask(self._page(query, after, limit, backwards))
        page = self._to_page(query, rows, limit)
        if not backwards:
            return page
        return Page(page.memories[::-1], page.positions[::-1], page.is_last)

    def _page(self, query: Query, after: Position | None, limit: int, backwards: bool) -> Sql:
        where = self._compile(query).where
        behind, by = compile_order(pushed_order(query), after, backwards, self.table)
        text = f"{self.table.selected} where {where.text} and {behind.text} order by {by} limit %s"
        return Sql(text, (*where.values, *behind.values, limit + 1))

    def _to_page(self, query: Query, rows: Sequence[tuple[Any, ...]], limit: int) -> Page:
        memories = tuple(self._memory(row) for row in rows[:limit])
        order = pushed_order(query)
        positions = tuple(position_of(memory, order) for memory in memories)
        return Page(memories, positions, len(rows) <= limit)

    def _memory(self, row: tuple[Any, ...]) -> Memory:
        return to_memory(row, self.label, str(self.root))

    def candidates(self, query: Query, limit: int = MAX_RANKED) -> tuple[Memory, ...]:
        (rows,) = self.connection.ask(self._candidates(query, limit))
        return tuple(map(self._memory, rows))

    def _candidates(self, query: Query, limit: int) -> Sql:
        where, every, _ = self._compile(query)
        order = f"order by m.updated desc, m.id limit {int(limit)}"
        if every is None:
            return Sql(f"{self.table.selected} where {where.text} {order}", where.values)
        first = f"{self.table.selected} where {every.text} {order}"
        others = f"{self.table.selected} where {where.text} and not {every.text} {order}"
        text = f"({first}) union all ({others}) limit {int(limit)}"
        return Sql(text, (*every.values, *where.values, *every.values))

    def position_at(self, query: Query, time: datetime) -> Position:
        keys: tuple[float, ...] = (-time.timestamp(),)
        return Position((1.0, *keys) if pushed_order(query) is Sort.IMPORTANCE else keys)

    def count(self, query: Query, at_most: int) -> Count:
        (rows,) = self.connection.ask(self._count(query, at_most))
        return _to_count(rows, at_most)

    def _count(self, query: Query, at_most: int) -> Sql:
        where = self._compile(query).where
        inner = f"select from {self.table.name} m where {where.text} limit %s"
        return Sql(f"select count(*) from ({inner}) found", (*where.values, at_most + 1))

    def facets(self, query: Query) -> FoundFacets:
        questions = self._facets(query)
        return self._to_facets(questions, self.connection.ask(*questions.values()))

    def _facets(self, query: Query) -> dict[tuple[str, ...], Sql]:
        """The questions that count values: one for all fields without a filter, one for each of the
        others, whose own filter is ignored."""
        filtered = {part.field for part in query.conditions}
        if not query.has_status:
            filtered.discard("status")  # the default is looked at in the rows
        plain = tuple(name for name in COUNTED if name not in filtered)
        groups = [plain, *((name,) for name in COUNTED if name in filtered)]
        return {names: self._counting(query, names) for names in groups if names}

    def _counting(self, query: Query, names: Sequence[str]) -> Sql:
        """Count values exactly where there are few memories, else in some pages of the table."""
        where = self._compile(query, names).where
        is_default = "status" in names and not query.has_status
        shown = "m.status in ('active', 'proposed')" if is_default else "true"
        fields = ", ".join(f"{COUNTED[name]} as {name}" for name in names)
        counts = f"{', '.join(names)}, count(*) as found, count(*) filter (where shown)"
        sets = f"group by grouping sets ({', '.join(f'({name})' for name in names)})"
        share = self._sampled_percent()
        chosen = f"select {fields}, {shown} as shown from {self.table.name} m"
        if share == 100:
            text = f"select 100, {counts} from ({chosen} where {where.text}) every {sets}"
            return Sql(f"{text} order by found desc", where.values)
        surely = int(MAX_COUNTED * SURELY_MORE)
        are_few = f"(select number from counted) <= {SURELY_FEW}"
        are_many = (
            f"((select about from seen) > {surely} or (select number from all_) > {MAX_COUNTED})"
        )
        text = (
            f"with first as materialized ({chosen} where {where.text} limit {SURELY_FEW + 1}),"
            f" counted as (select count(*) as number from first),"
            f" sample as materialized ({chosen} tablesample system ({share}) where {where.text}"
            f" and not {are_few}),"
            f" seen as (select count(*) * 100 / {share} as about from sample),"
            f" few as materialized ({chosen} where {where.text} and not {are_few}"
            f" and (select about from seen) <= {surely} limit {MAX_COUNTED + 1}),"
            f" all_ as (select count(*) as number from few)"
            f" select 100 as share, {counts} from first where {are_few} {sets}"
            f" union all select 100, {counts} from few where not {are_many} {sets}"
            f" union all select {share}, {counts} from sample where {are_many} {sets}"
            f" order by found desc limit {MAX_VALUES * len(names)}"
        )
        return Sql(text, where.values * 3)

    def _sampled_percent(self) -> float:
        """The share of the table's pages that has about `SAMPLED` memories."""
        self.connection.connect()
        if not self.table.is_table:
            return 100.0
        return min(100.0, 100 * SAMPLED / max(1.0, self.connection.rows))

    def _to_facets(
        self, questions: Iterable[tuple[str, ...]], answers: Iterable[Sequence[tuple[Any, ...]]]
    ) -> FoundFacets:
        counts: dict[str, dict[str, int]] = {name: {} for name in COUNTED}
        is_sampled = False
        for names, rows in zip(questions, answers, strict=True):
            for share, *values, every, shown in rows:
                is_sampled |= share < 100
                for name, value in zip(names, values, strict=True):
                    found = every if name == "status" else shown
                    if value is not None and found:
                        counts[name][value] = round(found * 100 / float(share))
        total = sum(counts["kind"].values())
        store = {self.label: total} if total else {}
        accuracy = Accuracy.ABOUT if is_sampled else Accuracy.EXACT
        return FoundFacets({**counts, "store": store}, accuracy)

    def buckets(self, query: Query, unit: Literal["day", "month"]) -> Mapping[date, int]:
        where = self._compile(query).where
        share = self._sampled_percent()
        day = f"date_trunc('{unit}', m.updated at time zone %s)::date"
        exact = f"select 100 as share, {day}, count(*) from {self.table.name} m where {where.text}"
        zone = local_zone()
        values: tuple[Any, ...] = (zone, *where.values)
        if share == 100:
            text = f"{exact} group by 2 order by 2"
        else:
            text = (
                f"with total as (select count(*) as few from (select from {self.table.name} m"
                f" where {where.text} limit {MAX_COUNTED + 1}) found)"
                f" {exact} and (select few from total) <= {MAX_COUNTED} group by 2"
                f" union all select {share}, {day}, count(*)"
                f" from {self.table.name} m tablesample system ({share})"
                f" where {where.text} and (select few from total) > {MAX_COUNTED} group by 2"
                " order by 2"
            )
            values = (*where.values, *values, *values)
        (rows,) = self.connection.ask(Sql(text, values))
        return {day: round(found * 100 / float(share)) for share, day, found in rows}

    def answer(self, query: Query, limit: int, at_most: int) -> Answer:
        try:
            if query.order not in PUSHED_ORDERS:
                return ranked_answer(self.candidates(query, limit), limit)
            first, counting = self._page(query, None, limit, False), self._count(query, at_most)
            page, count = self.connection.ask(first, counting)
            return Answer(self._to_page(query, page, limit), _to_count(count, at_most))
        except QueryStopped as stopped:
            if not stopped.do:  # cancelled
                raise
            return self._some(query, min(limit, AFTER_TIMEOUT))

    def _some(self, query: Query, limit: int) -> Answer:
        """The newest hits only, where everything took too long."""
        page = self.find(replace(query, sort=Sort.NEW, then=()), None, limit)
        accuracy = Accuracy.EXACT if page.is_last else Accuracy.AT_LEAST
        return Answer(replace(page, is_last=False), Count(len(page.memories), accuracy))

    # ---- changing -------------------------------------------------------------------------------

    @property
    def read_only(self) -> str:
        """Why nothing can be written, as it was when the server was last asked."""
        return self.connection.read_only

    @property
    def editable(self) -> frozenset[str]:
        return EDITABLE

    def refusal(self, act: Act, memory: Memory | None) -> str:
        if act not in ACTS:
            return UNSUPPORTED.get(act, "a team's memory has no way to do it")
        if memory is None or act is Act.ADD:
            return self.read_only
        is_ended = memory.status not in CURRENT
        if act in (Act.ACCEPT, Act.DECLINE) and memory.status != "proposed":
            return "it is not a proposal"
        if act is Act.RETIRE and is_ended:
            return f"it is {memory.status} already"
        if act is Act.RESTORE and not is_ended:
            return f"it is {memory.status}"
        return self.read_only

    def plan(self, change: Change, view: StoreView) -> Plan:
        self.connection.connect()
        memory = None if change.act is Act.ADD else view.get(change.ref)
        if why := self.refusal(change.act, memory):
            raise Refused(why, where=change.ref or str(self.root))
        planner = Planner(str(self.root), self.label, self._rows, view, self.now())
        return planner.plan(change, memory)

    def _rows(self, ids: Iterable[str]) -> dict[str, dict[str, Any]]:
        asked = Sql(
            f"{self.table.selected} where m.id = any (%s::text[])", (list(map(storable, ids)),)
        )
        (rows,) = self.connection.ask(asked)
        return {row["id"]: row for row in map(to_columns, rows)}

    def apply(self, edits: Sequence[Edit], recorder: WriteRecorder) -> Written | None:
        if edits:
            write(self.connection, str(self.root), edits, recorder)
        return None

    def write(self, edits: Sequence[Edit]) -> None:
        """Make edits that only the database keeps a record of. Raises as `apply`."""
        self.apply(edits, NullRecorder(self.root))

    # ---- history --------------------------------------------------------------------------------

    def former(self, id: str, limit: int = 100) -> tuple[FormerVersion, ...]:
        """What a memory was before each change, by whomever, the newest first."""
        return self._former("v.id = %s", "v.number desc", (storable(id), limit))

    def changes(self, limit: int, number: int = 0) -> tuple[FormerVersion, ...]:
        """The newest changes of the team, or the one with a number, each with what was before."""
        where = "v.number = %s" if number else "%s = 0"
        return self._former(where, "v.number desc", (number, limit))

    def _former(self, where: str, by: str, values: tuple[Any, ...]) -> tuple[FormerVersion, ...]:
        text = f"select {FORMER} from memtui.versions v where {where} order by {by} limit %s"
        (rows,) = self.connection.ask(Sql(text, values))
        return tuple(to_former(row, self.label, str(self.root)) for row in rows)

    def changes_since(self, time: datetime, limit: int) -> Sequence[FormerVersion]:
        return self._former("v.at > %s", "v.number desc", (time, limit))

    def plan_revert(self, former: FormerVersion) -> Plan:
        """The edits that take back a change, whoever made it. Raises Conflict."""
        self.connection.connect()
        if self.read_only:
            raise Refused(self.read_only, where=str(self.root))
        values = (former.memory.id, former.number, 1)
        following = self._former("v.id = %s and v.number > %s", "v.number", values)
        planner = Planner(str(self.root), self.label, self._rows, None, self.now())
        return planner.revert(former, following[0] if following else None)

    # ---- what others change ---------------------------------------------------------------------

    def get(self, refs: Collection[str]) -> tuple[Memory, ...]:
        prefix = f"{self.label}:"
        ids = [ref.removeprefix(prefix) for ref in refs if ref.startswith(prefix)]
        asked = Sql(
            f"{self.table.selected} where m.id = any (%s::text[])", (list(map(storable, ids)),)
        )
        (rows,) = self.connection.ask(asked)
        return tuple(map(self._memory, rows))

    def ids_beginning(self, names: Collection[str], most: int) -> tuple[str, ...]:
        begun = [*dict.fromkeys(map(storable, names))]
        text = (
            f"select m.id from unnest(%s::text[]) b join {self.table.name} m"
            ' on m.id >= b collate "C" and m.id < (b || chr(1114111)) collate "C" limit %s'
        )
        (rows,) = self.connection.ask(Sql(text, (begun, most)))
        return tuple(id for (id,) in rows)

    def changed_since(self, mark: str) -> Changed:
        marked = "select pg_snapshot_xmin(pg_current_snapshot())::text"
        if not mark:
            (rows,) = self.connection.ask(Sql(marked))
            return Changed((), rows[0][0])
        text = (
            f"select ({marked}), array(select id from memtui.memories where changed >= %s::xid8"
            " union select id from memtui.versions where changed >= %s::xid8 and act = 'delete'"
            f" limit {MAX_CHANGED + 1})"
        )
        (rows,) = self.connection.ask(Sql(text, (mark, mark)))
        ((new, ids),) = rows
        refs = tuple(f"{self.label}:{id}" for id in ids[:MAX_CHANGED])
        return Changed(refs, new, len(ids) <= MAX_CHANGED)

    def wait_for_change(self, timeout: float) -> bool:
        return self.connection.wait(timeout)

    def close(self) -> None:
        self.connection.close()

    def cancel(self) -> None:
        self.connection.cancel()


def _to_count(rows: Sequence[tuple[Any, ...]], at_most: int) -> Count:
    ((found,),) = rows
    return Count(min(found, at_most), Accuracy.AT_LEAST if found > at_most else Accuracy.EXACT)


def local_zone() -> str:
    """The name of this machine's zone, as Postgres knows it."""
    name = os.environ.get("TZ", "").removeprefix(":") or os.path.realpath("/etc/localtime")
    found = name.partition("zoneinfo/")[2] or name
    try:
        ZoneInfo(found)
    except (ValueError, ZoneInfoNotFoundError):
        return "UTC"
    return found


SUPPORT = FormatSupport(TeamStore)
