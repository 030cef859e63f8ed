"""The tables of ConPort 0.3.13 (db/database.py: the schema of migration 20250617, and its writes).

| table | memory |
| --- | --- |
| `decisions` | a fact: its summary is the title; rationale and implementation are the text |
| `progress_entries` | an event; `DONE` is retired, any other status active |
| `system_patterns` | a fact; its name is the title |
| `custom_data` | a note of `custom/<category>`; its key is the title |
| `product_context`, `active_context` | a note for each key of the JSON object |

`context_links` are links, a parent of a progress entry is one too. A value of `custom_data` or a
context is JSON: a text is shown as it is, anything else as indented JSON, which stays JSON as long
as the edited text is. A change of a context keeps the former one in its history, as
`update_product_context` does (database.py:588). Triggers keep the indexes
`decisions_fts` and `custom_data_fts`. The vectors in `conport_vector_data` are written by the
server only.
"""

from __future__ import annotations

import json
import os
import sqlite3
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from msgspec.structs import replace

from memtui.changes import Act, Change, Edit, Outcome, Plan
from memtui.errors import Refused
from memtui.model import CURRENT, Link, Memory
from memtui.stores import importing, plans
from memtui.stores.base import ReadTime
from memtui.stores.conport import DATABASE
from memtui.stores.format import ConvertedMemory, FormatSupport, TransferSupport
from memtui.stores.sqlite.rows import text
from memtui.stores.sqlite.tables import (
    SPAN,
    Table,
    TableStore,
    database_support,
    existing_file,
    holds_tables,
    span_digest,
    span_key,
    span_marks,
)
from memtui.stores.sqlite.writing import RowContext, WritableTables, digest_of, number_of
from memtui.stores.values import (
    changed_values,
    content_of,
    created_of,
    first_line,
    from_iso,
    parse_json,
    split_sections,
    tag_words,
    to_iso_seconds,
    word_of,
)

DECISIONS, PROGRESS, PATTERNS, CUSTOM = (
    *("decisions", "progress_entries", "system_patterns", "custom_data"),
)
CONTEXTS = {"product_context": "product", "active_context": "active"}
LINKS = "context_links"
HISTORY = {name: f"{name}_history" for name in CONTEXTS}
DONE, OPEN = "DONE", "TODO"
"""Statuses of progress (models.py, `ProgressEntry`)."""
_FORMER = "former_status"
"""Key of a sidecar entry: the status that progress had before it was retired."""
EDITABLE = frozenset({"content", "title", "tags"})
_NAMES = {
    DECISIONS: "id timestamp summary rationale implementation_details tags",
    PROGRESS: "id timestamp status description parent_id",
    PATTERNS: "id timestamp name description tags",
    CUSTOM: "id timestamp category key value",
    **dict.fromkeys(CONTEXTS, "id content"),
    **dict.fromkeys(HISTORY.values(), "id timestamp version content change_source"),
    LINKS: "id workspace_id source_item_type source_item_id target_item_type target_item_id"
    " relationship_type description timestamp",
}
KNOWN = {table: frozenset(names.split()) for table, names in _NAMES.items()}
ITEMS = {DECISIONS: "decision", PROGRESS: "progress_entry", PATTERNS: "system_pattern"}
ITEMS |= {CUSTOM: "custom_data"}
"""What `context_links` calls a row of a table."""
ACTOR = "memtui"


def is_conport(file: Path) -> bool:
    """Whether the tables of ConPort are in this file."""
    needed = {DECISIONS: "id summary rationale", CUSTOM: "id category key value"}
    return holds_tables(file, needed, by_name=False)


# ---- reading -------------------------------------------------------------------------------------


def _shown(value: object) -> str:
    """A JSON value: a text as it is, anything else indented."""
    return value if isinstance(value, str) else json.dumps(value, indent=2, ensure_ascii=False)


def _custom(row: dict[str, Any]) -> Iterator[dict[str, Any]]:
    raw = text(row.get("value"))
    value = parse_json(raw)
    yield {**row, "value": raw if value is None and raw != "null" else _shown(value)}


def _keys(row: dict[str, Any]) -> Iterator[dict[str, Any]]:
    """A context as its keys."""
    found = parse_json(text(row.get("content")))
    for key, value in found.items() if isinstance(found, dict) else ():
        yield {"id": row["id"], "key": key, "value": _shown(value)}


def _context_table(name: str, entity: str) -> Table:
    return Table(
        name,
        f"{name}/",
        "note",
        {"title": "key"},
        {"value": ""},
        type="context",
        key="key",
        expand=_keys,
        more=lambda _: {"entity": f"context/{entity}", "importance": "high"},
    )


TABLES = (
    *(_context_table(name, entity) for name, entity in CONTEXTS.items()),
    Table(
        DECISIONS,
        f"{DECISIONS}/",
        "fact",
        {"title": "summary", "created": "timestamp"},
        {"rationale": "", "implementation_details": "Implementation details"},
        type="decision",
        tags="tags",
        more=lambda _: {"entity": "decisions", "importance": "high"},
    ),
    Table(
        PROGRESS,
        f"{PROGRESS}/",
        "event",
        {"created": "timestamp"},
        {"description": ""},
        type="progress",
        more=lambda row: {
            "entity": "progress",
            "status": "retired" if row.get("status") == DONE else "active",
        },
    ),
    Table(
        PATTERNS,
        f"{PATTERNS}/",
        "fact",
        {"title": "name", "created": "timestamp"},
        {"description": ""},
        type="pattern",
        tags="tags",
        more=lambda _: {"entity": "patterns"},
    ),
    Table(
        CUSTOM,
        f"{CUSTOM}/",
        "note",
        {"title": "key", "created": "timestamp"},
        {"value": ""},
        expand=_custom,
        more=lambda row: {"entity": f"custom/{text(row['category'])}"},
    ),
)
BY_NAME = {table.name: table for table in TABLES}


class Rows(TableStore):
    """The rows of one database, with the links that start from them."""

    format = "conport"
    tables = TABLES

    def depends_on(self, connection: sqlite3.Connection) -> str:
        try:
            return span_digest(span_marks(connection, LINKS, KNOWN[LINKS], "rowid"))
        except sqlite3.OperationalError:
            return ""  # no links, or of another version

    def memories(self, connection: sqlite3.Connection, key: str) -> tuple[Memory, ...]:
        found = super().memories(connection, key)
        table, links = key.partition("/")[0], self._links(connection)
        return tuple(
            self._place(replace(each, links=self._links_of(each, table, links))) for each in found
        )

    def _place(self, memory: Memory) -> Memory:
        """A key of a context names the row that it is in."""
        table = memory.origin.key.partition(".")[0]
        if table not in CONTEXTS:
            return memory
        return replace(memory, origin=replace(memory.origin, key=f"{table}.id=1"))

    def _links(self, connection: sqlite3.Connection) -> dict[tuple[str, str], list[Link]]:
        links: dict[tuple[str, str], list[Link]] = {}
        try:
            rows = connection.execute(f"SELECT * FROM {LINKS} ORDER BY id").fetchall()
        except sqlite3.OperationalError:
            return links
        for row in map(dict, rows):
            start = text(row["source_item_type"]), text(row["source_item_id"])
            end = text(row["target_item_type"]), text(row["target_item_id"])
            links.setdefault(start, []).append(
                Link(
                    text(row["relationship_type"]),
                    item_name(*end),
                    valid_from=from_iso(row["timestamp"]),
                    note=text(row["description"]),
                )
            )
        return links

    def _links_of(
        self, memory: Memory, table: str, links: Mapping[tuple[str, str], list[Link]]
    ) -> tuple[Link, ...]:
        own = memory.id.partition("/")[2]
        found = list(links.get((ITEMS.get(table, table), own), ()))
        parent = memory.extra.get("parent_id")
        if table == PROGRESS and parent is not None:
            found.append(Link("part_of", f"{PROGRESS}/{parent}"))
        return tuple(found)


def item_name(kind: str, id: str) -> str:
    """The id of the memory that an item of `context_links` is; as it stands there for another."""
    table = next((table for table, item in ITEMS.items() if item == kind), "")
    return f"{table}/{id}" if table else f"{kind}/{id}"


def _item(id: str) -> tuple[str, str] | None:
    """The item of `context_links` that a memory's id names; None for a key of a context."""
    table, _, number = id.partition("/")
    return (ITEMS[table], number) if table in ITEMS else None


# ---- acts ----------------------------------------------------------------------------------------


def _time(context: RowContext) -> str:
    """As `_adapt_datetime` writes it (database.py:23)."""
    return context.now.isoformat(timespec="seconds")


def _as_json(new_text: str, old: object) -> str:
    """An edited text as JSON: a text stays one, and what was JSON stays it where it can."""
    value = None if isinstance(old, str) else parse_json(new_text)
    return json.dumps(new_text if value is None else value)


def _context_edits(
    context: RowContext, table: str, row: Mapping[str, Any], values: Mapping[str, str | None]
) -> list[Edit]:
    """The edits that set keys of a context (None: the key goes), and keep the former one."""
    old = parse_json(text(row["content"]))
    if not isinstance(old, dict):
        raise Refused(f"{table} holds no JSON object", where=str(context.store.file))
    new = {**old, **{key: parse_json(value) for key, value in values.items() if value is not None}}
    new = {key: value for key, value in new.items() if values.get(key, "") is not None}
    edits = context.put(table, row, {"content": json.dumps(new)})
    if not edits:
        return []
    history = HISTORY[table]
    sql = f"SELECT coalesce(max(id), 0) AS id, coalesce(max(version), 0) AS version FROM {history}"
    last, number = context.query(sql)[0], context.next_number(history)
    former = {
        "timestamp": _time(context),
        "version": last["version"] + number - last["id"],
        "content": json.dumps(old),
        "change_source": ACTOR,
    }
    return [*edits, context.insert(history, number, former)]


def _edit(change: Change, memory: Memory, context: RowContext) -> Plan:
    asked = changed_values(change, memory, EDITABLE)
    if not asked:
        return plans.plan_one(change, memory, ())
    table = context.table(memory)
    row = context.current(memory, asked.get("content"))
    values: dict[str, Any] = {}
    beside: tuple[Edit, ...] = ()
    if "content" in asked:
        new_text = content_of(change)
        if table.name == CUSTOM:
            values["value"] = _as_json(new_text, parse_json(text(row["value"])))
        elif table.name in CONTEXTS:
            old = parse_json(text(row["content"]))[memory.title]
            changed = {memory.title: _as_json(new_text, old)}
            set_keys = _context_edits(context, table.name, row, changed)
            if asked.keys() - {"content"}:
                raise Refused("a key of a context keeps its name and has no tags")
            dated = _dated(set_keys, memory, context)
            return plans.plan_one(change, memory, (*set_keys, *dated))
        else:
            values |= split_sections(new_text, table.sections, row)
    if "title" in asked:
        values[_title_column(table)] = _unique(table, asked["title"], row, context)
    if "tags" in asked and table.tags:
        values[table.tags] = json.dumps(tag_words(asked["tags"]))
        beside = context.sidecar_entry(memory).set(tags=None)
    elif "tags" in asked:
        beside = context.sidecar_entry(memory).set(tags=tag_words(asked["tags"]))
    return plans.plan_one(
        change, memory, (*context.put(table.name, row, values), *beside), _stale(context)
    )


def _dated(edits: Sequence[Edit], memory: Memory, context: RowContext) -> tuple[Edit, ...]:
    """The edit that notes when memtui changed a row, which has the time of its making only."""
    return context.sidecar_entry(memory).set(updated=to_iso_seconds(context.now)) if edits else ()


def _title_column(table: Table) -> str:
    column = table.fields.get("title", "")
    if not column or table.name in CONTEXTS:
        raise Refused("this has no title that can be changed")
    return column


def _unique(table: Table, value: object, row: Mapping[str, Any], context: RowContext) -> str:
    if not isinstance(value, str) or not value.strip():
        raise Refused("a title must say something")
    column = _title_column(table)
    if table.name in (PATTERNS, CUSTOM):
        where, more = "", []
        if table.name == CUSTOM:
            where, more = " AND category = ?", [row["category"]]
        sql = f"SELECT 1 FROM {table.name} WHERE {column} = ? AND id IS NOT ?{where}"
        if context.query(sql, value, row.get("id"), *more):
            raise Refused("another one has this name already")
    return value


def _stale(context: RowContext) -> tuple[str, ...]:
    if os.path.isdir(context.root / "conport_vector_data"):
        return ("ConPort's search by meaning still knows the former text",)
    return ()


def _tag(change: Change, memory: Memory, context: RowContext) -> Plan | None:
    if not context.table(memory).tags:
        return None
    return _edit(replace(change, fields={"tags": change.fields.get("tags", ())}), memory, context)


def _set_status(change: Change, memory: Memory, context: RowContext) -> Plan:
    """Plan that progress is done, or has the status again that it had before."""
    row, is_end = context.current(memory), change.act is Act.RETIRE
    before = context.sidecar.entry(memory.id).get(_FORMER)
    status = DONE if is_end else before if isinstance(before, str) else OPEN
    former = row["status"] if is_end and row["status"] != OPEN else None
    beside = context.sidecar_entry(memory).set(
        **{_FORMER: former, "updated": to_iso_seconds(context.now)}
    )
    edits = context.put(PROGRESS, row, {"status": status})
    return plans.plan_one(change, memory, (*edits, *beside), ends=is_end)


def _delete(change: Change, memory: Memory, context: RowContext) -> Plan:
    table, row = context.table(memory), context.current(memory)
    beside = context.sidecar_entry(memory).removal()
    if table.name in CONTEXTS:
        edits = _context_edits(context, table.name, row, {memory.title: None})
        return plans.plan_one(change, memory, (*edits, *beside))
    edits, others = [], []
    if table.name == PROGRESS:  # its foreign key sets them to NULL: planned, so that undo knows
        for child in context.query(f"SELECT * FROM {PROGRESS} WHERE parent_id = ?", row["id"]):
            edits += context.put(PROGRESS, child, {"parent_id": None})
            others.append(context.ref(f"{PROGRESS}/{child['id']}"))
    edits.append(context.removal(table.name, row))
    warnings = plans.dangling_warnings(memory, context.view.memories(context.label))
    return plans.plan_one(
        change, memory, (*edits, *beside), (*warnings, *_stale(context)), others=others
    )


def _link(change: Change, memory: Memory, context: RowContext) -> Plan | None:
    """A row of `context_links` between two items; else a link in the sidecar."""
    relation, target = plans.requested_link(change, memory)
    start, end = _item(memory.id), _item(target)
    if not start or not end:
        return None
    where = """source_item_type = ? AND source_item_id = ? AND target_item_type = ?
        AND target_item_id = ? AND relationship_type = ?"""
    rows = context.query(f"SELECT * FROM {LINKS} WHERE {where}", *start, *end, relation)
    if change.act is Act.UNLINK:
        if not rows:
            return None
        ended = plans.ended_link_edits(change, context.sidecar_entry(memory), context.now)
        return plans.plan_one(
            change, memory, (*(context.removal(LINKS, row) for row in rows), *ended)
        )
    if rows:
        return plans.plan_one(change, memory, ())
    known = (each.id for each in context.view.memories(context.label))
    if not relation.strip() or "\n" in relation or target not in known:
        return None
    names = ("source_item_type", "source_item_id", "target_item_type", "target_item_id")
    values = dict(zip(names, (*start, *end), strict=True))
    workspace = context.query(f"SELECT workspace_id AS w FROM {LINKS} ORDER BY id DESC LIMIT 1")
    values["workspace_id"] = workspace[0]["w"] if workspace else str(context.root.parent)
    values |= {"relationship_type": relation, "timestamp": _time(context)}
    edit = context.insert(LINKS, context.next_number(LINKS), values)
    return plans.plan_one(change, memory, (edit,))


def _add(change: Change, context: RowContext) -> Plan:
    """Plan an ADD: the entity, else the type, says into which table; a decision by default."""
    content, type = content_of(change), word_of(change, "type", "")
    head, _, category = word_of(change, "entity", "").partition("/")
    title = str(change.fields.get("title") or "").strip() or first_line(content)
    tags = tag_words(change.fields.get("tags", ()))
    time = created_of(change, context.now).isoformat(timespec="seconds")
    values: dict[str, Any] = {"timestamp": time}
    if head == "context" and category in CONTEXTS.values():
        table = next(name for name, entity in CONTEXTS.items() if entity == category)
        row = context.row(table, 1)
        if row is None:
            raise Refused("ConPort has not made this context yet", where=str(context.store.file))
        if title in (parse_json(text(row["content"])) or {}):
            return plans.plan_duplicate(change, "this key", context.ref(f"{table}/{title}"))
        set_key = tuple(_context_edits(context, table, row, {title: json.dumps(content)}))
        return Plan((change,), set_key, Outcome.ADDED, refs=(context.ref(f"{table}/{title}"),))
    if head == "custom" and category:
        table = CUSTOM
        values |= {"category": category, "key": title, "value": json.dumps(content)}
    elif head == "progress" or type == "progress":
        table = PROGRESS
        is_done = change.fields.get("status") not in (None, "", *CURRENT)
        values |= {"status": DONE if is_done else OPEN, "description": content, "parent_id": None}
    elif head == "patterns" or type == "pattern":
        table = PATTERNS
        values |= {"name": title, "description": content}
    else:
        table = DECISIONS
        parts = split_sections(content, BY_NAME[table].sections, {})
        values |= {"summary": title, "rationale": None, "implementation_details": None, **parts}
    same = {name: value for name, value in values.items() if name in _identity(table)}
    where = " AND ".join(f'"{name}" = ?' for name in same)
    if found := context.query(f"SELECT id FROM {table} WHERE {where}", *same.values()):
        ref = context.ref(f"{table}/{found[0]['id']}")
        return plans.plan_duplicate(change, "the same" if table != CUSTOM else "this key", ref)
    if BY_NAME[table].tags:
        values["tags"] = json.dumps(tags) if tags else None
    number = context.next_number(table)
    edit = context.insert(table, number, values)
    id = f"{table}/{number}"
    entry: tuple[Edit, ...] = ()
    if importing.is_import(change):
        kept = importing.sidecar_values(change, tags if BY_NAME[table].tags else ())
        kept |= dict.fromkeys(("links", "supersedes", "superseded_by"))
        entry = context.entry_edits(id, _shard(table, number), **kept)
    elif tags and not BY_NAME[table].tags:
        entry = context.entry_edits(id, _shard(table, number), tags=tags)
    reason = f"Added to {table}"
    return Plan(
        (change,), (edit, *entry), Outcome.ADDED, reason, (context.ref(id),), (), _stale(context)
    )


def _identity(table: str) -> frozenset[str]:
    """Columns by which a row is known to be there already."""
    return {
        DECISIONS: frozenset({"summary", "rationale"}),
        PROGRESS: frozenset({"description", "status"}),
        PATTERNS: frozenset({"name"}),
        CUSTOM: frozenset({"category", "key"}),
    }[table]


def _shard(table: str, number: int) -> str:
    return span_key(table, number // SPAN)


def _shard_of(memory: Memory) -> str:
    return _shard(memory.origin.key.partition(".")[0], number_of(memory))


def _not_on(act: Act, memory: Memory) -> str:
    is_progress = memory.id.startswith(f"{PROGRESS}/")
    if act in (Act.RETIRE, Act.RESTORE) and not is_progress:
        return "ConPort has a status for progress only"
    if act is Act.RETIRE and memory.status != "active":
        return "it is done"
    if act is Act.RESTORE and memory.status == "active":
        return "it is not done"
    return ""


def convert(memory: Memory) -> ConvertedMemory:
    """A memory of another format as a decision, whose summary is its title."""
    content = memory.content or memory.title
    fields = {
        "id": memory.id,
        "title": memory.title or first_line(content),
        "content": content,
        "entity": "",
        "created": memory.created,
        "pinned": memory.pinned,
        "tags": memory.tags,
        "extra": {importing.CONVERTED: True},
    }
    changes = [
        (memory.type not in ("", "decision"), "type (becomes decision)"),
        (memory.entity, "entity (becomes decisions)"),
        (memory.status != "active", f"status {memory.status} (becomes active)"),
        importing.kind_change(memory, "fact"),
        (memory.importance != "high", "importance (decisions are high)"),
    ]
    return importing.converted(memory, fields, changes)


class ConPort(WritableTables):
    """One database of ConPort."""

    format = "conport"
    row_store = Rows
    known = KNOWN
    triggers = {
        f"{table}_fts": frozenset(f"{table}_after_{act}" for act in ("insert", "delete", "update"))
        for table in (DECISIONS, CUSTOM)
    }
    reads = ReadTime.AT_ONCE
    reads_retired = True
    acts = plans.ActionSupport(
        editable=EDITABLE,
        add=_add,
        handlers={
            Act.EDIT: _edit,
            Act.TAG: _tag,
            Act.RETIRE: _set_status,
            Act.RESTORE: _set_status,
            Act.DELETE: _delete,
            Act.LINK: _link,
            Act.UNLINK: _link,
        },
        shard_of=_shard_of,
        unsupported={
            Act.SUPERSEDE: "ConPort keeps no lineage: edit it, or add another and link the two",
            Act.MERGE: "ConPort cannot merge: edit one of them and delete the others",
            Act.RETYPE: "the type follows from the table that it is in",
        },
        not_on=_not_on,
    )


def open_store(root: Path, label: str) -> ConPort:
    """Open the database in this folder. Raises StoreError when there is none."""
    return ConPort(root, label, existing_file(root / DATABASE))


SUPPORT = FormatSupport(
    open_store,
    transfer=TransferSupport(convert=convert),
    database=database_support(
        DATABASE, lambda root: root / DATABASE, lambda name: digest_of(name, tuple(KNOWN))
    ),
)
