"""Convert rows of Engram's tables to memories.

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
"""

from __future__ import annotations

import base64
from collections.abc import Mapping, Sequence
from typing import Any

from memtui.dataclass import dataclass, replace
from memtui.model import ENDED_LINKS, Link, Memory, Place
from memtui.stores.format import UpkeepRules
from memtui.stores.sidecar import link_to_json
from memtui.stores.values import from_iso, memory_name

PROMPT = "prompts/"
SESSION = "sessions/"

HIGH_TYPES = frozenset({"decision", "architecture", "policy"})
LOW_TYPES = frozenset({"passive"})
OPEN_STATUSES = frozenset({"judged", "pending"})

DAMAGED = "invalid_utf8"
"""Key in `extra` that names the columns whose bytes are not UTF-8."""

_FIELDS = frozenset({"id", "type", "title", "content", "pinned"})
_PROMPT_FIELDS = frozenset({"id", "content"})
_SESSION_FIELDS = frozenset({"id", "summary"})

Row = Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class Relation:
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


@dataclass(frozen=True, slots=True)
class DatabasePlace:
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


def text(value: object) -> str:
    """A text column for display: invalid UTF-8 replaced, NULL empty."""
    if value is None:
        return ""
    if isinstance(value, bytes):
        return value.decode("utf-8", "replace")
    if not isinstance(value, str):
        return str(value)
    if is_valid_text(value):
        return value
    try:
        return encode(value).decode("utf-8", "replace")
    except UnicodeEncodeError:  # half a character that stands for no byte: it is not from a column
        return value.encode("utf-8", "surrogatepass").decode("utf-8", "replace")


def is_blank(value: object) -> bool:
    """Whether Engram regards a column as empty."""
    return value is None or not str(value).strip()


def count_of(value: object) -> int:
    """A count column; 0 for a value of another type, which SQLite allows."""
    return value if isinstance(value, int) else 0


def is_valid_text(value: str) -> bool:
    """Whether the column's bytes were UTF-8 (invalid ones are read as lone surrogates)."""
    if value.isascii():
        return True
    try:
        value.encode("utf-8")
    except UnicodeEncodeError:
        return False
    return True


def encode(value: str) -> bytes:
    return value.encode("utf-8", "surrogateescape")


def to_json_value(value: object) -> object:
    """Convert a column value to JSON; bytes become {"base64": ...}."""
    if isinstance(value, bytes):
        return {"base64": base64.b64encode(value).decode("ascii")}
    if isinstance(value, str):
        return text(value)
    return value


def from_json_value(value: object) -> object:
    """The inverse of `to_json_value`."""
    if isinstance(value, Mapping) and set(value) == {"base64"}:
        return base64.b64decode(value["base64"])
    return value


def row_key(row: Row) -> dict[str, Any]:
    """The key of a row: its number, and its sync_id if it has one, as a number may be reused."""
    sync_id = row.get("sync_id")
    return {"id": row["id"], **({"sync_id": sync_id} if sync_id else {})}


def remaining_columns(row: Row, used: frozenset[str]) -> dict[str, Any]:
    """Every column without a field of its own, except NULLs."""
    extra = {
        name: to_json_value(row[name]) for name in row if name not in used and row[name] is not None
    }
    damaged = [
        name for name, value in row.items() if isinstance(value, str) and not is_valid_text(value)
    ]
    if damaged:
        extra[DAMAGED] = damaged
    return extra


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
