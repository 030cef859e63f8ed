"""Beads's issues as a store: each issue is a memory, and so is each memory of `bd remember`.

| memory | issue |
| --- | --- |
| content | `description`, then `design`, `acceptance_criteria` and `notes` below headings |
| type | `issue_type`; without one `task` (`SetDefaults`, types.go:303) |
| importance | `priority`: 0 and 1 are high, 2 is medium, 3 and 4 are low |
| status | `closed` is retired, `tombstone` deleted, any other active (types.go:326) |
| entity | the title of the epic that it belongs to (`parent-child`), or its own if it is one |
| tags, links | `labels`, `dependencies` |

A superseded issue is closed and depends on its successor by `supersedes`, a duplicate on what stays
by `duplicates` (cmd/bd/duplicate.go:88 and 153). `closed_at` is set if and only if an issue is
closed (types.go:249). Every change sets `updated_at`, without which `bd import` would take the
issue for an older one (import_shared.go:115).
"""

from __future__ import annotations

import hashlib
import os
import re
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from types import MappingProxyType
from typing import Any

from memtui.changes import Act, Change, Edit, Outcome, Plan
from memtui.errors import Refused, UnreadableFile
from memtui.files.json.editing import line_of
from memtui.files.json.locating import LINES, load_records
from memtui.model import CURRENT, Link, Memory, Place
from memtui.stores import importing, plans
from memtui.stores.base import Reading, ReadTime
from memtui.stores.beads import issues_file
from memtui.stores.file_store import TextFileStore
from memtui.stores.format import ConvertedMemory, FormatSupport, TransferSupport
from memtui.stores.json_file import JsonFile, NamedRecord
from memtui.stores.record_acts import (
    Members,
    RecordTarget,
    Successor,
    member,
    plan_edit,
    record_acts,
)
from memtui.stores.scanning import (
    IS_EMPTY,
    FoundShard,
    LastRead,
    as_refused,
    listed_faults,
    read_text,
)
from memtui.stores.sidecar import Sidecar
from memtui.stores.values import (
    UNADDRESSABLE,
    checked_importance,
    content_of,
    created_of,
    first_line,
    from_iso,
    importance_of,
    join_sections,
    list_of,
    members_of,
    memory_name,
    split_sections,
    tag_words,
    text_of,
    texts_of,
    to_iso_seconds,
    whole_number,
    with_unique_ids,
    word_of,
)

SHARD = "issues"
MEMORY = "memory"
"""Type of what `bd remember` keeps, and first part of its id."""
MAX_TITLE = 500
"""Characters (types.go:231)."""
HEADINGS = {
    "description": "",
    "design": "Design",
    "acceptance_criteria": "Acceptance criteria",
    "notes": "Notes",
}
PRIORITIES = {"high": 1, "medium": 2, "low": 3}
_IN_FIELDS = frozenset({"id", "title", "issue_type", "labels", *HEADINGS})
_ENDS = ("supersedes", "duplicates")
_SUCCEEDED = "supersede it, or merge it with the other"
_TYPE = re.compile(r"[a-z][a-z0-9_-]*")
_RELATION = re.compile(r"[a-z][a-z0-9_-]{0,49}")
_DIGITS = "0123456789abcdefghijklmnopqrstuvwxyz"
_ACTOR = "memtui"
_COUNTS = ("dependency_count", "dependent_count", "comment_count")


ID_KEY = f"id {MEMORY}/key"
"""What names a line: an issue by its id, a memory by its key."""


@dataclass(frozen=True)
class Issues:
    """The issues of a file, as it was read."""

    file: JsonFile

    @classmethod
    def parse(cls, path: Path, text: str) -> Issues:
        """Raises UnreadableFile if nothing of the text can be read."""
        found = cls(JsonFile(path, text, LINES, tuple(load_records(text, LINES)), {}, ID_KEY))
        if found.faults and not any(isinstance(each.value, dict) for each in found.file.records):
            raise UnreadableFile(f"no line of it is an issue (line {found.faults[0]})")
        return found

    @cached_property
    def lines(self) -> list[NamedRecord]:
        """The lines that are issues or memories."""
        return [
            NamedRecord(index, record, id)
            for index, record in enumerate(self.file.records)
            if isinstance(record.value, dict) and (id := id_of(record.value))
        ]

    @cached_property
    def by_id(self) -> Mapping[str, NamedRecord]:
        return {each.id: each for each in self.lines}

    @cached_property
    def faults(self) -> list[int]:
        """The numbers of the lines that are neither issues nor memories nor about the file."""
        known = {each.index for each in self.lines}
        return [
            each.line
            for index, each in enumerate(self.file.records)
            if each.raw and index not in known and "_schema" not in members_of(each.value)
        ]


def id_of(value: Mapping[str, Any]) -> str:
    """The id of the memory that a line holds; "" if there is none."""
    if "_schema" in value:
        return ""
    if value.get("_type") == MEMORY:
        return f"{MEMORY}/{text_of(value['key'])}" if value.get("key") else ""
    return text_of(value.get("id")) if value.get("title") else ""


def _dependencies(value: Mapping[str, Any]) -> list[dict[str, Any]]:
    found = (each for each in list_of(value.get("dependencies")) if isinstance(each, dict))
    return [each for each in found if each.get("depends_on_id") and each.get("type")]


def _edges(value: Mapping[str, Any], relation: str, target: str) -> list[dict[str, Any]]:
    every = _dependencies(value)
    return [each for each in every if (each["type"], each["depends_on_id"]) == (relation, target)]


def _targets(value: Mapping[str, Any], *relations: str) -> tuple[str, ...]:
    return tuple(
        text_of(each["depends_on_id"]) for each in _dependencies(value) if each["type"] in relations
    )


def _status(value: Mapping[str, Any]) -> str:
    if value.get("status") == "tombstone":
        return "deleted"
    if value.get("status") != "closed":
        return "active"
    return "superseded" if _targets(value, *_ENDS) else "retired"


def _importance(value: Mapping[str, Any]) -> str:
    priority = whole_number(value.get("priority"), PRIORITIES["medium"])
    return "high" if priority < PRIORITIES["medium"] else ("medium", "low")[priority > 2]


def _entity(value: Mapping[str, Any], issues: Mapping[str, NamedRecord]) -> str:
    """The title of the topmost epic above an issue."""
    title, seen = "", set()
    while id_of(value) not in seen:
        seen.add(id_of(value))
        parents = [id for id in _targets(value, "parent-child") if id in issues]
        title = text_of(value["title"]) if seen - {id_of(value)} or _is_epic(value) else title
        if not parents:
            break
        value = issues[parents[0]].value
    return title


def _is_epic(value: Mapping[str, Any]) -> bool:
    return value.get("issue_type") == "epic"


# ---- acts ----------------------------------------------------------------------------------------


class Line(RecordTarget):
    """One line of the file."""

    gone = "another program removed this issue"
    context: IssueContext

    def __init__(self, memory: Memory, change: Change, context: IssueContext) -> None:
        self.issues = context.issues()
        named = self.issues.by_id.get(memory.id)
        super().__init__(memory, change, context, self.issues.file, named)


class KeptMemory(Line):
    """What `bd remember` keeps: a text."""

    text_key = "value"
    fields = MappingProxyType({"content": member("value")})


class Issue(Line):
    """One issue."""

    fields = MappingProxyType(
        {
            "content": lambda issue, text: split_sections(text, HEADINGS, issue.value),
            "title": lambda _, value: {"title": _checked_title(value)},
            "type": lambda issue, _: {"issue_type": _checked_type(issue.change)},
            "importance": lambda _, word: {"priority": PRIORITIES[checked_importance(word)]},
            "tags": lambda _, value: {"labels": tag_words(value) or None},
        }
    )

    @property
    def text(self) -> str:
        return join_sections(self.value, HEADINGS)

    def put(self, members: Members) -> tuple[Edit, ...]:
        return super().put({**members, "updated_at": self.context.time})

    def end(self, status: str, by: str = "") -> tuple[Edit, ...]:  # noqa: ARG002
        """Close it; what takes its place is named as bd does it."""
        time = self.context.time
        closed: dict[str, Any] = {"status": "closed", "closed_at": time}
        if not by:
            return self.put({**closed, "close_reason": "Closed"})
        relation = "supersedes" if self.change.act is Act.SUPERSEDE else "duplicates"
        edge = self.context.dependency(self.memory.id, relation, by)
        known = list_of(self.value.get("dependencies"))
        return self.put({**closed, "dependencies": [*known, edge]})

    def resume(self) -> tuple[Edit, ...]:
        """Reopen it (cmd/bd/reopen.go); what succeeded it stays."""
        gone = ["closed_at", "close_reason", "closed_by_session"]
        type = self.value.get("issue_type")
        if self.memory.status == "deleted":
            gone += ["deleted_at", "deleted_by", "delete_reason", "original_type"]
            type = self.value.get("original_type") or type
        values = {"status": "open", "issue_type": type}
        return self.put({**values, **dict.fromkeys(gone)})

    def take_over(self, others: Sequence[Any]) -> tuple[Edit, ...]:  # noqa: ARG002
        return ()  # the others name it

    def successor(self) -> Successor:
        text, context = content_of(self.change), self.context
        title = _checked_title(self.change.fields.get("title") or self.memory.title)
        id = _new_id(self.issues, context, title, self.change)
        kept = (*HEADINGS, "priority", "issue_type", "labels")
        value = {key: self.value[key] for key in kept if key in self.value}
        value |= split_sections(text, HEADINGS, self.value)
        above = _targets(self.value, "parent-child")
        edges = [context.dependency(id, "parent-child", epic) for epic in above]
        value |= {"id": id, "title": title, "dependencies": edges}
        edits = self.file.insert_raw(id, _line(value, self.issues, context))
        return Successor(id, edits, f"{id} supersedes {self.memory.id}")

    def link(self, relation: str, id: str) -> Members | None:
        """A dependency, if it leads to an issue of the file."""
        other = self.issues.by_id.get(id)
        if other is None or "title" not in other.value or not _RELATION.fullmatch(relation):
            return None
        if relation in _ENDS:
            raise Refused(f"a link {relation} ends an issue", do=_SUCCEEDED)
        if id == self.memory.id:
            raise Refused("an issue does not depend on itself", where=self.memory.ref)
        known = list_of(self.value.get("dependencies"))
        new = self.context.dependency(self.memory.id, relation, id)
        return {} if _edges(self.value, relation, id) else {"dependencies": [*known, new]}

    def unlink(self, relation: str, id: str) -> Members | None:
        removed = _edges(self.value, relation, id)
        if removed and relation in _ENDS:
            raise Refused(f"a link {relation} ends an issue", do=_SUCCEEDED)
        known = list_of(self.value.get("dependencies"))
        left = [each for each in known if each not in removed]
        return {"dependencies": left or None} if removed else None

    def concerns(self, changed: Collection[str]) -> tuple[str, ...]:
        """The issues whose entity is the title of this one."""
        if not {"title", "type", "parent-child"} & set(changed):
            return ()
        every = self.context.view.memories(self.context.label)
        title, own = self.memory.title, self.memory.ref
        return tuple(each.ref for each in every if each.entity == title and each.ref != own)


class IssueContext(plans.PlanContext):
    """The context of planning a change of issues."""

    store: BeadsStore

    def target(self, memory: Memory, change: Change) -> Line:
        return (KeptMemory if memory.type == MEMORY else Issue)(memory, change, self)

    def issues(self) -> Issues:
        """The file as it is now. Raises Refused."""
        path = self.store.file

        def read() -> Issues:
            text = read_text(path, self.root) if os.path.lexists(path) else ""
            try:
                if os.path.lexists(path) and self.store.is_cut_off(SHARD, text):
                    raise UnreadableFile(IS_EMPTY)
                return Issues.parse(path, text)
            except UnreadableFile as error:
                raise as_refused(error, path) from None

        return self.store.last.get([path], read)

    @property
    def time(self) -> str:
        return to_iso_seconds(self.now)

    def dependency(self, id: str, relation: str, to: str) -> dict[str, Any]:
        edge = {"issue_id": id, "depends_on_id": to, "type": relation, "created_at": self.time}
        return {**edge, "created_by": _ACTOR}


def _checked_title(value: object) -> str:
    if not isinstance(value, str) or not value.strip() or "\n" in value:
        raise Refused("a title is one line of text")
    if len(value) > MAX_TITLE:
        raise Refused(f"a title has at most {MAX_TITLE} characters")
    return value


def _checked_type(change: Change) -> str:
    type = word_of(change, "type", "task")
    if not _TYPE.fullmatch(type):
        raise Refused("a type is a word of lower-case letters, such as bug, task or decision")
    return type


def _tag(change: Change, memory: Memory, context: IssueContext) -> Plan | None:
    return None if memory.type == MEMORY else plan_edit(change, memory, context)


def _new_id(issues: Issues, context: IssueContext, title: str, change: Change) -> str:
    """An id as bd makes it: the prefix of the others, and a part of a hash in base 36
    (internal/idgen/hash.go)."""
    if change.new_id and change.new_id not in issues.by_id:
        return change.new_id
    prefixes = [id.rpartition("-")[0] for id in issues.by_id if not id.startswith(MEMORY)]
    prefix = max(prefixes, key=prefixes.count, default="") or context.root.parent.name or "bd"
    for nonce in range(10_000):
        seed = f"{title}|{content_of(change)}|{_ACTOR}|{context.now.isoformat()}|{nonce}"
        number = int.from_bytes(hashlib.sha256(seed.encode("utf-8", "replace")).digest()[:4])
        found = "".join(_DIGITS[number // 36**at % 36] for at in range(4 + nonce // 100))
        id = f"{prefix}-{found}"
        if id not in issues.by_id and context.ref(id) not in context.planned_refs:
            break
    return f"{prefix}-{found}"


_ORDER = (
    *("_type", "id", "title", *HEADINGS, "status", "priority", "issue_type", "assignee", "owner"),
    *("created_at", "created_by", "updated_at", "closed_at", "close_reason"),
)
"""The keys of an issue that come first (types.go:15)."""


def _line(value: Mapping[str, Any], issues: Issues, context: IssueContext) -> str:
    """The line of a new issue, with the keys that the others have."""
    usual = {"status": "open", "priority": 2, "issue_type": "task", "created_at": context.time}
    usual |= {"created_by": _ACTOR, "updated_at": context.time}
    last = next((each.value for each in reversed(issues.lines) if "title" in each.value), {})
    if "_type" in last:
        usual["_type"] = "issue"
    usual |= {key: 0 for key in _COUNTS if key in last}
    every = {key: each for key, each in {**usual, **value}.items() if each not in (None, "", [])}
    return line_of({key: every[key] for key in [*(k for k in _ORDER if k in every), *every]})


def _add(change: Change, context: IssueContext) -> Plan:
    issues = context.issues()
    text = content_of(change)
    title = _checked_title(change.fields.get("title") or first_line(text))
    same = (each for each in issues.lines if each.value.get("title") == title)
    twin = next((each.value for each in same if _status(each.value) == "active"), None)
    if twin is not None and join_sections(twin, HEADINGS) == text.strip():
        return plans.plan_duplicate(change, "the same issue", context.ref(id_of(twin)))
    id = _new_id(issues, context, title, change)
    value: dict[str, Any] = {"id": id, "title": title, **_parts(text)}
    value["issue_type"] = _checked_type(change)
    value["priority"] = PRIORITIES[importance_of(change, "medium")]
    labels = tag_words(change.fields.get("tags", ()))
    entity = word_of(change, "entity", "")
    epics = (e for e in issues.lines if entity and entity in (e.value.get("title"), id_of(e.value)))
    if (epic := next(epics, None)) is not None:
        value["dependencies"] = [context.dependency(id, "parent-child", epic.id)]
    elif entity:
        labels = [*labels, entity]
    edits = issues.file.insert_raw(id, _line({**value, "labels": labels}, issues, context))
    reason = f"Added {id}" + (f", labelled {entity}" if entity and epic is None else "")
    return Plan((change,), edits, Outcome.ADDED, reason, (context.ref(id),))


def _parts(text: str) -> dict[str, str]:
    return {key: part for key, part in split_sections(text, HEADINGS, {}).items() if part}


def _import(change: Change, context: IssueContext) -> Plan:
    issues, extra, text = (
        context.issues(),
        importing.extra_in(change),
        str(change.fields.get("content") or ""),
    )
    id = str(change.fields["id"])
    if id in issues.by_id:
        return plans.plan_duplicate(change, "an issue with this id", context.ref(id))
    title = str(change.fields.get("title") or "")
    if id.startswith(f"{MEMORY}/") and importing.CONVERTED not in extra:
        value: dict[str, Any] = {"_type": MEMORY, "key": id.partition("/")[2], "value": text}
        edits = issues.file.insert_raw(id, line_of(value))
        return Plan((change,), edits, Outcome.ADDED, refs=(context.ref(id),))
    created = to_iso_seconds(created_of(change, context.now))
    value = {
        "created_at": created,
        "updated_at": created,
        "priority": PRIORITIES[importance_of(change, "medium")],
        **importing.native_keys(change, (importing.CONVERTED, "converted_from")),
        **_parts(text),
        "id": id,
        "title": _checked_title(title or first_line(text)),
        "issue_type": _checked_type(change),
        "labels": importing.texts_in(change, "tags"),
    }
    if change.fields.get("status", "active") not in CURRENT and "status" not in value:
        value |= {"status": "closed", "closed_at": value["updated_at"]}
    edits = issues.file.insert_raw(id, _line(value, issues, context))
    kept = importing.sidecar_values(
        change, value["labels"], [_as_link(e) for e in _dependencies(value)]
    )
    entry = context.entry_edits(id, SHARD, **(kept | {"supersedes": [], "superseded_by": []}))
    return Plan((change,), (*edits, *entry), Outcome.ADDED, refs=(context.ref(id),))


def _not_on(act: Act, memory: Memory) -> str:
    if fault := memory.extra.get(UNADDRESSABLE):
        return "" if act in plans.SIDECAR_ACTS - {Act.TAG} else str(fault)
    if memory.type == MEMORY and act in (
        Act.RETIRE,
        Act.RESTORE,
        Act.SUPERSEDE,
        Act.MERGE,
        Act.RETYPE,
    ):
        return "what `bd remember` keeps has no status or type: edit or delete it"
    if act is Act.RESTORE and memory.status in CURRENT:
        return "it is open"
    if act in (Act.RETIRE, Act.SUPERSEDE, Act.MERGE) and memory.status not in CURRENT:
        return "it is closed already"
    return ""


def convert(memory: Memory) -> ConvertedMemory:
    """A memory of another format as an issue, which is closed if it is not current."""
    type = memory.type.lower() if _TYPE.fullmatch(memory.type.lower()) else "task"
    fields = {
        "id": f"bd-{importing.short_hash(memory.ref, 8)}",
        "title": first_line(memory.title or memory.content),
        "content": memory.content or memory.title,
        "type": type,
        "importance": memory.importance,
        "created": memory.created,
        "status": memory.status,
        "pinned": memory.pinned,
        "tags": tuple(dict.fromkeys((*memory.tags, *filter(None, [memory.entity])))),
        "entity": "",
        "extra": {importing.CONVERTED: True},
    }
    is_other = memory.status not in ("active", "retired")
    changes = [
        (memory.entity, "entity (becomes a label)"),
        (memory.type and memory.type != type, f"type (becomes {type})"),
        (is_other, f"status {memory.status} (becomes {_becomes(memory.status)})"),
        importing.kind_change(memory, "fact"),
    ]
    return importing.converted(memory, fields, changes)


def _becomes(status: str) -> str:
    return "active" if status in CURRENT else "retired"


# ---- the store -----------------------------------------------------------------------------------


def _as_link(edge: Mapping[str, Any]) -> Link:
    made = from_iso(edge.get("created_at"))
    return Link(text_of(edge["type"]), text_of(edge["depends_on_id"]), valid_from=made)


class BeadsStore(TextFileStore):
    """The issues of one folder."""

    format = "beads"
    acts = record_acts(
        Issue,
        KeptMemory,
        add=_add,
        add_imported=_import,
        handlers={Act.TAG: _tag},
        shard_of=lambda _: SHARD,
        not_on=_not_on,
    )
    context = IssueContext
    last: LastRead[Issues]
    reads = ReadTime.IMPORTED
    reads_retired = True

    @property
    def file(self) -> Path:
        """The file of the issues."""
        return issues_file(self.root)

    def entity_levels(self, entity: str) -> tuple[str, ...]:
        """The title alone: it is no path."""
        return (entity,)

    def is_cut_off(self, key: str, text: str) -> bool:  # noqa: ARG002
        """Whether it is empty: bd removes a file that would be (export_auto.go:137)."""
        return not text.strip()

    def find_shards(self) -> Iterator[FoundShard]:
        if os.path.lexists(self.file):
            yield FoundShard(SHARD, (str(self.file),))

    def read_text(self, key: str, path: Path, text: str, sidecar: Sidecar) -> Reading:  # noqa: ARG002
        issues = Issues.parse(path, text)
        ended: dict[str, list[str]] = {}
        for each in issues.lines:
            for successor in (
                _targets(each.value, *_ENDS) if _status(each.value) == "superseded" else ()
            ):
                ended.setdefault(successor, []).append(each.id)
        found = [self._memory(each, issues, ended) for each in issues.lines]
        reasons = [f"line {number} is no issue of Beads" for number in issues.faults]
        faults = listed_faults(path, reasons, "lines are no issues")
        return Reading(tuple(with_unique_ids(found)), tuple(faults))

    def _memory(self, line: NamedRecord, issues: Issues, ended: Mapping[str, list[str]]) -> Memory:
        value, id = line.value, line.id
        place = Place(str(issues.file.path), line.record.line)
        if value.get("_type") == MEMORY:
            extra = {k: v for k, v in value.items() if k not in ("_type", "key", "value")}
            return Memory(
                **memory_name(self.label, id),
                kind="fact",
                type=MEMORY,
                title=text_of(value["key"]),
                content=text_of(value.get("value")),
                origin=place,
                extra=extra,
            )
        status = _status(value)
        return Memory(
            **memory_name(self.label, id),
            kind="fact",
            type=text_of(value.get("issue_type")) or "task",
            title=text_of(value["title"]),
            content=join_sections(value, HEADINGS),
            entity=_entity(value, issues.by_id),
            created=from_iso(value.get("created_at")),
            updated=from_iso(value.get("updated_at")),
            importance=_importance(value),
            status=status,
            supersedes=tuple(ended.get(id, ())),
            superseded_by=_targets(value, *_ENDS) if status == "superseded" else (),
            tags=texts_of(value.get("labels")),
            links=tuple(
                _as_link(each) for each in _dependencies(value) if each["type"] not in _ENDS
            ),
            source=text_of(value.get("created_by")),
            origin=place,
            extra={k: v for k, v in value.items() if k not in _IN_FIELDS},
        )


SUPPORT = FormatSupport(BeadsStore, transfer=TransferSupport(convert=convert))
