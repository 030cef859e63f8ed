"""Read an Engram database in shards, convert its rows to memories, and build a session's context.

Ids are Engram's integers for observations (`42`), `prompts/7` and `sessions/<session id>` for the
other two tables, whose numbers would otherwise collide.

Rules of memtui's own, because Engram says nothing:

* **entity** is `project/family`, where the family is the topic key up to its last `/`
  (`architecture/tui` gives `architecture`), or else the scope: `shop-api/decision`,
  `shop-api/personal`. Without a project it is the scope alone. Prompts and sessions lie under
  `project/prompts` and `project/sessions`.
* **importance** is high for what is pinned and for decisions, architecture and policies (the types
  issue #168 wants to start higher), low for passive captures and prompts, else medium.
* **status** is deleted where `deleted_at` is set; superseded where a judged `supersedes` relation
  comes from an observation that is itself alive; else active. Engram hides no superseded row.

A link is a relation that is judged or pending, shown on its source. Judging sets nothing else in
the database. All relations that start here stand in `extra` too, orphaned and ignored ones as well.

A shard is a run of `SPAN` row numbers of one table. Its stamp comes from a checksum over the
columns of those rows, so that one changed row makes one shard be read again, also where somebody
edits with the sqlite3 program and keeps no book (100,000 rows: 0.3 s, and only after the files
changed). Relations count into the shards of both their ends, with what decides the status there:
the verdict and whether the source is alive.

The context is what `FormatContext` of internal/store/store.go builds (commit be4b613; the hook of
its Claude Code plugin and its tool mem_context give it): five sessions, ten prompts, what is pinned
and twenty other observations of the project, newest first. Compared with the program's own output.
"""

from __future__ import annotations

import sqlite3
import zlib
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from msgspec import Struct
from msgspec.structs import replace

from memtui.model import ENDED_LINKS, Link, Memory, Place
from memtui.stores.base import LoadedBlock, LoadedText
from memtui.stores.engram.schema import Schema
from memtui.stores.format import UpkeepRules
from memtui.stores.sidecar import link_to_json
from memtui.stores.sqlite import tables
from memtui.stores.sqlite.rows import (
    remaining_columns,
    text,
    to_json_value,
)
from memtui.stores.values import from_iso, memory_name

PROMPT = "prompts/"
SESSION = "sessions/"

HIGH_TYPES = frozenset({"decision", "architecture", "policy"})
LOW_TYPES = frozenset({"passive"})
OPEN_STATUSES = frozenset({"judged", "pending"})

_FIELDS = frozenset({"id", "type", "title", "content", "pinned"})
_PROMPT_FIELDS = frozenset({"id", "content"})
_SESSION_FIELDS = frozenset({"id", "summary"})

Row = Mapping[str, Any]


class Relation(Struct, frozen=True):
    """One row of memory_relations, its ends resolved to observation numbers where they exist."""

    sync_id: str
    source: str
    target: str
    source_row: int | None
    target_row: int | None
    source_alive: bool
    relation: str
    status: str
    columns: Mapping[str, Any]

    @property
    def source_name(self) -> str:
        return self.source if self.source_row is None else str(self.source_row)

    @property
    def target_name(self) -> str:
        return self.target if self.target_row is None else str(self.target_row)

    @property
    def supersedes(self) -> bool:
        return self.relation == "supersedes" and self.status == "judged"


def relation_of(row: Row, ends: tuple[int | None, int | None], *, source_alive: bool) -> Relation:
    """The relation in a row of its table; `ends`: the observations' numbers at its two ends."""
    names = ("sync_id", "source_id", "target_id", "relation", "judgment_status")
    sync_id, source, target, verb, status = (text(row.get(name)) for name in names)
    columns = {name: to_json_value(value) for name, value in row.items() if value is not None}
    return Relation(sync_id, source, target, *ends, source_alive, verb, status, columns)


class DatabasePlace(Struct, frozen=True):
    """The label and the file of the database that rows come from."""

    label: str
    file: str


def observation(
    home: DatabasePlace,
    row: Row,
    relations: Sequence[Relation],
    versions: Sequence[Mapping[str, Any]],
) -> Memory:
    """An observation with the relations that touch it and, in v3, its former texts."""
    number = str(row["id"])
    kind = text(row.get("type"))
    sync_id = text(row.get("sync_id"))
    outgoing = [each for each in relations if sync_id and each.source == sync_id]
    incoming = [each for each in relations if sync_id and each.target == sync_id]
    superseding = [each for each in incoming if each.supersedes]
    pinned = bool(row.get("pinned"))
    status = "superseded" if any(each.source_alive for each in superseding) else "active"
    if row.get("deleted_at") is not None:
        status = "deleted"
    extra = remaining_columns(row, _FIELDS)
    if versions:
        extra["versions"] = [dict(version) for version in versions]
    if outgoing:
        extra["relations"] = [dict(each.columns) for each in outgoing]
    ended = []
    for each in outgoing:
        if each.status == "orphaned":  # a relation that was taken back
            times = map(from_iso, map(each.columns.get, ("superseded_at", "updated_at")))
            ended.append(
                link_to_json(replace(_link(each), valid_to=next(filter(None, times), None)))
            )
    if ended:
        extra[ENDED_LINKS] = ended
    return Memory(
        **memory_name(home.label, number),
        kind="observation",
        type=kind,
        title=text(row.get("title")),
        content=text(row.get("content")),
        entity=entity_of(row),
        created=from_iso(row.get("created_at")),
        updated=from_iso(row.get("updated_at")),
        importance=importance(kind, pinned),
        status=status,
        pinned=pinned,
        supersedes=tuple(dict.fromkeys(e.target_name for e in outgoing if e.supersedes)),
        superseded_by=tuple(dict.fromkeys(each.source_name for each in superseding)),
        links=tuple(_link(each) for each in outgoing if each.status in OPEN_STATUSES),
        source=text(row.get("session_id")),
        origin=Place(home.file, key=f"observations.id={number}"),
        extra=extra,
    )


def prompt(home: DatabasePlace, row: Row) -> Memory:
    """Convert a prompt, which Engram keeps as context."""
    name = f"{PROMPT}{row['id']}"
    created = from_iso(row.get("created_at"))
    return Memory(
        **memory_name(home.label, name),
        kind="note",
        type="prompt",
        content=text(row.get("content")),
        entity=_entity_under(row, "prompts"),
        created=created,
        updated=created,
        importance="low",
        source=text(row.get("session_id")),
        origin=Place(home.file, key=f"user_prompts.id={row['id']}"),
        extra=remaining_columns(row, _PROMPT_FIELDS),
    )


def session(home: DatabasePlace, row: Row) -> Memory:
    """Convert a session that was closed with a summary."""
    own = text(row["id"])
    return Memory(
        **memory_name(home.label, f"{SESSION}{own}"),
        kind="episode",
        type="session",
        title=own,
        content=text(row.get("summary")),
        entity=_entity_under(row, "sessions"),
        created=from_iso(row.get("started_at")),
        updated=from_iso(row.get("ended_at")) or from_iso(row.get("started_at")),
        source=text(row.get("directory")),
        origin=Place(home.file, key=f"sessions.id={own}"),
        extra=remaining_columns(row, _SESSION_FIELDS),
    )


def importance(kind: str, pinned: bool) -> str:
    if pinned or kind in HIGH_TYPES:
        return "high"
    return "low" if kind in LOW_TYPES else "medium"


def entity_of(row: Row) -> str:
    """The entity `project/family` of an observation (rule in the module's docstring)."""
    project = text(row.get("project"))
    scope = text(row.get("scope")) or "project"
    family, slash, _ = text(row.get("topic_key")).rpartition("/")
    tail = family if slash and family else scope
    return f"{project}/{tail}" if project else tail


def is_blank(value: object) -> bool:
    """Whether Engram regards a column as empty."""
    return value is None or not str(value).strip()


def count_of(value: object) -> int:
    """A count column; 0 for a value of another type, which SQLite allows."""
    return value if isinstance(value, int) else 0


def row_key(row: Row) -> dict[str, Any]:
    """The key of a row: its number, and its sync_id if it has one, as a number may be reused."""
    sync_id = row.get("sync_id")
    return {"id": row["id"], **({"sync_id": sync_id} if sync_id else {})}


def _link(relation: Relation) -> Link:
    columns = relation.columns
    notes = [relation.status][: relation.status != relation.relation]  # both may be "pending"
    if columns.get("confidence") is not None:
        notes.append(f"confidence {columns['confidence']}")
    notes += [text(columns[name]) for name in ("marked_by_actor", "reason") if columns.get(name)]
    return Link(
        relation=relation.relation,
        target=relation.target_name,
        valid_from=from_iso(columns.get("created_at")),
        valid_to=from_iso(columns.get("superseded_at")),
        note="; ".join(notes),
    )


def _entity_under(row: Row, tail: str) -> str:
    project = text(row.get("project"))
    return f"{project}/{tail}" if project else tail


def upkeep_rules() -> UpkeepRules:
    """The rules for tidying observations: never across projects, scopes or topic keys."""
    return UpkeepRules(
        scope=lambda memory: f"{memory.extra.get('project', '')}/{memory.extra.get('scope', '')}",
        merge_key=lambda memory: text(memory.extra.get("topic_key")),
    )


FORM = "5"
"""Part of every stamp; raise it when rows are turned into memories differently."""

_NOT_SHOWN = frozenset({"embedding", "embedding_model", "embedding_created_at"})
"""Columns that no memory shows."""

Stamps = dict[str, str]


def stamps(connection: sqlite3.Connection, schema: Schema) -> Stamps:
    """The stamp of each shard by its key, in reading order. Raises sqlite3.Error."""
    found: Stamps = {}
    touching = _relation_marks(connection, schema)
    versions = _version_marks(connection, schema)
    for bucket, marks in _marks(connection, schema, "observations", "id"):
        joined = (marks, touching.get(bucket, 0), versions.get(bucket))
        found[tables.span_key("observations", bucket)] = tables.span_digest((FORM, joined))
    if schema.has("user_prompts"):
        for bucket, marks in _marks(connection, schema, "user_prompts", "id"):
            found[tables.span_key("prompts", bucket)] = tables.span_digest((FORM, marks))
    for bucket, marks in _marks(connection, schema, "sessions", "rowid"):
        found[tables.span_key("sessions", bucket)] = tables.span_digest((FORM, marks))
    return found


def memories(
    connection: sqlite3.Connection, schema: Schema, home: DatabasePlace, key: str
) -> tuple[Memory, ...]:
    """The memories of one shard, by row number. Raises sqlite3.Error, ValueError on a bad key."""
    table, _, bucket = key.partition("/")
    low, high = tables.span_bounds(int(bucket))
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
    for row in map(dict, tables.bounded(cursor)):
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
    for row in tables.bounded(cursor):
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
    return map(dict, tables.bounded(cursor))


def _marks(
    connection: sqlite3.Connection, schema: Schema, table: str, number: str
) -> list[tuple[int, tuple[Any, ...]]]:
    return tables.span_marks(
        connection, table, schema.tables.get(table, frozenset()) - _NOT_SHOWN, number
    )


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
            bucket = tables.bucket_of(number or 0)
            sums[bucket] = zlib.crc32(state, sums[bucket])
    return sums


def _version_marks(connection: sqlite3.Connection, schema: Schema) -> dict[int, tuple[Any, ...]]:
    if not schema.has("observation_versions", "observation_id"):
        return {}
    cursor = connection.execute(
        f"SELECT observation_id / {tables.SPAN}, count(*), total(length(content))"
        " FROM observation_versions GROUP BY 1"
    )
    return {row[0]: tuple(row)[1:] for row in cursor}


def shard_of_observation(number: int) -> str:
    """Key of the shard that holds the observation with this row number, above 0."""
    return tables.span_key("observations", number // tables.SPAN)


# ---- the context of a session -------------------------------------------------------------------


SESSIONS, PROMPTS, OBSERVATIONS = 5, 10, 20
"""How many of each; `MaxContextResults` is 20."""
SHORT, LONG = 200, 300
"""Characters of a session summary or prompt, and of an observation."""
LOADED = (
    f"{SESSIONS} sessions, {PROMPTS} prompts, what is pinned and {OBSERVATIONS} other observations,"
    " newest first (FormatContext of internal/store/store.go)"
)

_SESSIONS = """
SELECT s.id, s.project, s.started_at, s.summary, COUNT(o.id) AS observations
FROM sessions s LEFT JOIN observations o ON o.session_id = s.id AND o.deleted_at IS NULL
WHERE s.project = ?
GROUP BY s.id ORDER BY MAX(datetime(COALESCE(o.created_at, s.started_at))) DESC, s.id DESC LIMIT ?
"""
_PROMPTS = """
SELECT id, content, created_at FROM user_prompts
WHERE project = ? ORDER BY created_at DESC LIMIT ?
"""
_OBSERVATIONS = """
SELECT id, type, title, content FROM observations WHERE deleted_at IS NULL AND project = ? {}
ORDER BY datetime(created_at) DESC, id DESC LIMIT ?
"""


def session_context(
    connection: sqlite3.Connection, schema: Schema, label: str, file: str, project: str
) -> LoadedText | None:
    """Build the context of a project's session.

    Returns:
        None if there is nothing to give. Raises sqlite3.Error.
    """

    def rows(statement: str, limit: int) -> Sequence[Any]:
        return connection.execute(statement, (project, limit)).fetchall()

    sessions = rows(_SESSIONS, SESSIONS)
    can_pin = schema.has("observations", "pinned")
    pinned = rows(_OBSERVATIONS.format("AND pinned = 1"), -1) if can_pin else ()
    observations = rows(_OBSERVATIONS.format("AND pinned = 0" if can_pin else ""), OBSERVATIONS)
    prompts = rows(_PROMPTS, PROMPTS) if schema.has("user_prompts") else ()
    if not sessions and not pinned and not observations and not prompts:
        return None
    block = LoadedBlock("## Memory from Previous Sessions\n\n")

    def add(heading: str, lines: Sequence[tuple[str, str]]) -> None:
        block.add(f"### {heading}\n" if lines else "")
        for line, id in lines:
            block.add(line, f"{label}:{id}")
            block.add("\n")
        block.add("\n" if lines else "")

    session_lines = []
    for own, name, started, summary, count in sessions:
        said = "" if summary is None else f": {_cut(summary, SHORT)}"
        line = f"- **{text(name)}** ({text(started)}){said} [{count} observations]"
        session_lines.append((line, f"{SESSION}{text(own)}"))
    add("Recent Sessions", session_lines)
    prompt_lines = [
        (f"- {text(created)}: {_cut(content, SHORT)}", f"{PROMPT}{number}")
        for number, content, created in prompts
    ]
    add("Recent User Prompts", prompt_lines)
    for heading, found in (("Pinned", pinned), ("Recent Observations", observations)):
        lines = [
            (f"- [{text(kind)}] **{text(title)}**: {_cut(content, LONG)}", str(number))
            for number, kind, title, content in found
        ]
        add(heading, lines)
    return block.loaded(project, file, note=LOADED, entity=project)


def project_names(connection: sqlite3.Connection) -> list[str]:
    """The projects that have a session or an observation. Raises sqlite3.Error."""
    statement = "SELECT project FROM sessions UNION SELECT project FROM observations ORDER BY 1"
    return [text(name) for (name,) in connection.execute(statement) if text(name)]


def _cut(value: object, most: int) -> str:
    whole = text(value)
    return whole if len(whole) <= most else f"{whole[:most]}..."
