"""Facts of agent-memory as memories.

A fact's `type` is its `entityType`; its `entity` is a path such as `people/alice`, made of the
folder's slug and the first `entityType` in the file (what build-entity-index.sh:81 takes as the
entity's type). `active` stays active. `historical` is superseded when a fact of the same file names
it in `supersedes`, else retired: nothing took its place. Any other status is shown as active and
stands in `extra`.

Importance is not in the format. It is derived from the record alone: low when historical, else high
when it has an edge or a person wrote it (source `manual`), else medium.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any

from msgspec import Struct, field
from msgspec.structs import replace

from memtui.changes import Edit, Kind, Plan
from memtui.errors import Conflict, UnreadableFile
from memtui.files.json.locating import load
from memtui.files.reading import decode, read_bytes, safe_join
from memtui.model import UNTYPED, Link, Memory, Place
from memtui.stores import agent_memory
from memtui.stores.agent_memory import ENTITIES, ITEMS, SUMMARY, shard_key
from memtui.stores.agent_memory.notes import stated_type
from memtui.stores.json_file import JsonFile, NamedRecord, named_records, read_or_new
from memtui.stores.plans import PlanContext
from memtui.stores.values import (
    UNADDRESSABLE,
    from_iso,
    memory_name,
    text_of,
    texts_of,
    with_unique_ids,
)

if TYPE_CHECKING:
    from memtui.stores.agent_memory.store import AgentMemory

ACTIVE = "active"
HISTORICAL = "historical"
MANUAL = "manual"

PLURALS = {
    "person": "people",
    "company": "companies",
    "project": "projects",
    "organization": "organizations",
}
"""The four types that templates/entities/README.md names; any other word stays as it is."""

_SHOWN_IN_FIELDS = frozenset({"id", "content", "source", "entityType", "status", "supersedes"})


def entity_path(entity_type: str, slug: str) -> str:
    """The path shown for an entity folder, such as `people/alice`."""
    return f"{PLURALS.get(entity_type, entity_type) or UNTYPED}/{slug}"


def first_type(values: Iterable[Mapping[str, Any]]) -> str:
    """The type of an entity: the first `entityType` in its file."""
    for value in values:
        entity_type = value.get("entityType")
        if isinstance(entity_type, str) and entity_type:
            return entity_type
    return ""


def edge_link(edge: object) -> Link | None:
    """The link that an edge states; None when it is null or incomplete."""
    if not isinstance(edge, dict):
        return None
    predicate, target = edge.get("predicate"), edge.get("object")
    if isinstance(predicate, str) and isinstance(target, str) and predicate and target:
        return Link(relation=predicate, target=target)
    return None


def _extra(value: Mapping[str, Any]) -> dict[str, Any]:
    """Every key that no field shows unchanged, without null and empty values."""
    extra = {
        key: item
        for key, item in value.items()
        if key not in _SHOWN_IN_FIELDS and item is not None and item != ""
    }
    if value.get("status") != ACTIVE and "status" in value:
        extra["status"] = value["status"]
    for key in ("id", "content", "entityType", "supersedes"):
        if value.get(key) is not None and not isinstance(value[key], str):
            extra[key] = value[key]
    return extra


def _fact(
    named: NamedRecord, file: JsonFile, label: str, entity: str, successors: Iterable[str]
) -> Memory:
    value, superseded_by = named.value, tuple(dict.fromkeys(successors))
    supersedes, link = value.get("supersedes"), edge_link(value.get("edge"))
    status, importance = "active", "medium"
    if value.get("status") == HISTORICAL:
        status, importance = "superseded" if superseded_by else "retired", "low"
    elif value.get("edge") or value.get("source") == MANUAL:
        importance = "high"
    extra = _extra(value)
    if named.fault:
        extra[UNADDRESSABLE] = named.fault
    return Memory(
        **memory_name(label, named.id),
        kind="fact",
        type=text_of(value.get("entityType")),
        content=text_of(value.get("content")),
        entity=entity,
        created=from_iso(value.get("createdAt")),
        importance=importance,
        status=status,
        supersedes=(supersedes,) if isinstance(supersedes, str) and supersedes else (),
        superseded_by=superseded_by,
        links=(link,) if link else (),
        source=" ".join(filter(None, (text_of(value.get(k)) for k in ("source", "sourceRef")))),
        origin=Place(str(file.path), named.record.line, file.key(named.index)),
        extra=extra,
    )


def facts(file: JsonFile, records: list[NamedRecord], label: str, slug: str) -> list[Memory]:
    """The memories of one items.json, in its order.

    A second record with the same id goes by `<id>#2`: both are shown, neither can be changed.
    """
    entity = entity_path(first_type(named.value for named in records), slug)
    successors: dict[str, list[str]] = defaultdict(list)
    for named in records:
        old = named.value.get("supersedes")
        if isinstance(old, str) and old and old != named.id:
            successors[old].append(named.id)
    return with_unique_ids(
        [_fact(named, file, label, entity, successors.get(named.id, ())) for named in records]
    )


def with_successors(memories: Iterable[Memory]) -> tuple[Memory, ...]:
    """Complete lineage from the sidecar: `superseded_by` for each `supersedes`."""
    memories = tuple(memories)
    successors: dict[str, list[str]] = defaultdict(list)
    for memory in memories:
        for old in memory.supersedes:
            successors[old].append(memory.id)
    found = []
    for memory in memories:
        by = tuple(dict.fromkeys([*memory.superseded_by, *successors.get(memory.id, ())]))
        if by != memory.superseded_by:
            status = "superseded" if memory.status == "retired" else memory.status
            memory = replace(memory, superseded_by=by, status=status)
        found.append(memory)
    return tuple(found)


class FactContext(PlanContext):
    """The context of planning a change in one MEMORY_HOME."""

    store: AgentMemory

    def open(self, slug: str) -> FactFile:
        """Read an entity's facts as they are now. Raises Refused."""
        folder = safe_join(self.root / ENTITIES, slug)
        files = (folder / ITEMS, folder / SUMMARY)
        return self.store.last.get(files, lambda: read_fact_file(self.root, slug, self.label), slug)

    def fact_entry_edits(self, slug: str, id: str, **values: Any) -> tuple[Edit, ...]:
        """The edit that sets these keys of a fact's sidecar entry; none when they are set."""
        return self.entry_edits(id, shard_key(slug), **values)

    def successor_edits(self, slug: str, id: str, by: str) -> tuple[Edit, ...]:
        """The edit that adds a successor to a fact's sidecar entry."""
        known = texts_of(self.sidecar.entry(id).get("superseded_by"))
        return self.fact_entry_edits(slug, id, superseded_by=list(dict.fromkeys([*known, by])))


INDENT = "  "
"""What jq puts before each level."""


class FactFile(Struct, frozen=True):
    """The facts of one entity, read to plan a change."""

    items: JsonFile
    slug: str
    type: str
    """The entity's type: of its first fact, else of its summary, else empty."""
    records: tuple[NamedRecord, ...] = field(default=())
    memories: tuple[Memory, ...] = field(default=())

    def record(self, id: str) -> NamedRecord:
        """The record with this id. Raises Conflict when another program removed it."""
        for named in self.records:
            if named.id == id:
                return named
        raise Conflict("another program removed this fact", where=str(self.items.path))

    @property
    def active(self) -> list[Memory]:
        """The facts whose status is exactly `active`; the program compares with no others.

        It ignores those of any other status, also of none.
        """
        each = zip(self.records, self.memories, strict=True)
        return [memory for named, memory in each if named.value.get("status") == ACTIVE]

    def planned_facts(self, planned: Iterable[Plan], label: str) -> list[Memory]:
        """The active facts that these plans would add here, with id and content only."""
        path = str(self.items.path)
        raws = [
            edit.after
            for plan in planned
            for edit in plan.edits
            if edit.kind is Kind.RECORD and edit.path == path and edit.before is None
        ]
        values = [load(raw) for raw in raws if raw is not None]
        return [
            Memory(f"{label}:{value['id']}", value["id"], label, "fact", content=value["content"])
            for value in values
            if value.get("status") == ACTIVE
        ]


def read_fact_file(root: Path, slug: str, label: str) -> FactFile:
    """Read an entity's facts for a change; an entity that does not exist yet is an empty one.

    Raises Refused when the slug cannot be a folder, or the file cannot be read: what cannot be read
    must not be written.
    """
    folder = safe_join(root / agent_memory.ENTITIES, slug)
    file = read_or_new(folder / agent_memory.ITEMS, root)
    records, _ = named_records(file, slug)
    kind = first_type(named.value for named in records)
    if not kind:
        with suppress(UnreadableFile):
            kind = stated_type(decode(read_bytes(folder / agent_memory.SUMMARY, root)))
    memories = facts(file, records, label, slug)
    return FactFile(file, slug, kind, tuple(records), tuple(memories))
