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
from collections.abc import Iterator, Mapping
from pathlib import Path
from types import MappingProxyType
from typing import Any

from msgspec import Struct
from msgspec.structs import replace

from memtui.changes import Act, Change, Edit, Kind, Outcome, Plan, text_edit
from memtui.errors import Conflict, Refused, UnreadableFile
from memtui.files.json.editing import has_member, put_member, remove_member, splice
from memtui.files.json.lines import JsonLine, line_of, parse_lines, without_lines
from memtui.model import CURRENT, Link, Memory, Place
from memtui.stores import importing, plans
from memtui.stores.base import Reading, ReadTime
from memtui.stores.beads import issues_file
from memtui.stores.file_store import TextFileStore
from memtui.stores.format import ConvertedMemory, FormatSupport, TransferSupport
from memtui.stores.scanning import IS_EMPTY, FoundShard, as_refused, listed_faults, planned_text
from memtui.stores.sidecar import Sidecar
from memtui.stores.values import (
    UNADDRESSABLE,
    changed_values,
    check_unchanged,
    checked_importance,
    content_of,
    created_of,
    first_line,
    from_iso,
    importance_of,
    join_sections,
    list_of,
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
EDITABLE = frozenset({"content", "title", "type", "importance", "tags"})
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


class Issues(Struct, frozen=True):
    """The file as it is, after the changes planned so far."""

    path: Path
    text: str
    lines: list[JsonLine]
    faults: list[int]
    by_id: Mapping[str, JsonLine]

    @classmethod
    def parse(cls, path: Path, text: str) -> Issues:
        """Raises UnreadableFile if nothing of the text can be read."""
        lines, faults = parse_lines(text)
        if faults and not lines:
            raise UnreadableFile(f"no line of it is an issue (line {faults[0]})")
        lines = [each for each in lines if "_schema" not in each.value]
        faults += [each.line for each in lines if not id_of(each.value)]
        known = [each for each in lines if id_of(each.value)]
        return cls(path, text, known, sorted(faults), {id_of(each.value): each for each in known})

    def line(self, memory: Memory) -> JsonLine:
        """The line of a memory. Raises Conflict."""
        if memory.id not in self.by_id:
            raise Conflict("another program removed this issue", where=str(self.path))
        return self.by_id[memory.id]

    def edit(self, after: str) -> tuple[Edit, ...]:
        """The edit that gives the file this text; an empty one is removed, as bd does."""
        if after == self.text:
            return ()
        if not after.strip():
            return (text_edit(str(self.path), self.text, None),)
        return (text_edit(str(self.path), self.text or None, after, Kind.LINES),)

    def put(self, changed: Mapping[str, Mapping[str, Any]], new: str = "") -> tuple[Edit, ...]:
        """The edit that sets values of issues, by their ids (None: the key goes), and adds a line
        to the end of the file."""
        raws = [(self.by_id[id], with_values(self.by_id[id].raw, changed[id])) for id in changed]
        after = splice(self.text, [(each.start, each.end, raw) for each, raw in raws])
        if new:
            after += f"{new}\n" if not after or after.endswith("\n") else f"\n{new}\n"
        return self.edit(after)


def with_values(raw: str, values: Mapping[str, Any]) -> str:
    """The raw object with these values; None removes a key."""
    for key, value in values.items():
        if value is not None:
            raw = put_member(raw, key, value)
        elif has_member(raw, key):
            raw = remove_member(raw, key)
    return raw


def id_of(value: Mapping[str, Any]) -> str:
    """The id of the memory that a line holds; "" if there is none."""
    if value.get("_type") == MEMORY:
        return f"{MEMORY}/{text_of(value['key'])}" if value.get("key") else ""
    return text_of(value.get("id")) if value.get("title") else ""


def _dependencies(value: Mapping[str, Any]) -> list[dict[str, Any]]:
    found = (each for each in list_of(value.get("dependencies")) if isinstance(each, dict))
    return [each for each in found if each.get("depends_on_id") and each.get("type")]


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


def _entity(value: Mapping[str, Any], issues: Mapping[str, JsonLine]) -> str:
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


class IssueContext(plans.PlanContext):
    """The context of planning a change of issues."""

    store: BeadsStore

    def issues(self) -> Issues:
        """The file after the changes planned so far. Raises Refused."""
        path = self.store.file
        text = planned_text(path, self.root, self.view)
        try:
            if text is not None and self.store.is_cut_off(SHARD, text):
                raise UnreadableFile(IS_EMPTY)
            return Issues.parse(path, text or "")
        except UnreadableFile as error:
            raise as_refused(error, path) from None

    def below(self, memory: Memory) -> tuple[str, ...]:
        """Refs of the issues whose entity is this one's title."""
        every = self.view.memories(self.label)
        return tuple(m.ref for m in every if m.entity == memory.title and m.ref != memory.ref)

    @property
    def time(self) -> str:
        return to_iso_seconds(self.now)

    def closed(self, value: Mapping[str, Any], relation: str = "", to: str = "") -> dict[str, Any]:
        """The values of an issue that is closed, and depends on another by this relation."""
        found = {"status": "closed", "updated_at": self.time, "closed_at": self.time}
        known = list_of(value.get("dependencies"))
        edge = self.dependency(id_of(value), relation, to)
        return {**found, "dependencies": [*known, edge]} if relation else found

    def dependency(self, id: str, relation: str, to: str) -> dict[str, Any]:
        edge = {"issue_id": id, "depends_on_id": to, "type": relation, "created_at": self.time}
        return {**edge, "created_by": _ACTOR}


def _edit(change: Change, memory: Memory, context: IssueContext) -> Plan:
    asked = changed_values(change, memory, EDITABLE)
    issues = context.issues()
    value = issues.line(memory).value
    if memory.type == MEMORY:
        if others := asked.keys() - {"content"}:
            raise Refused(f"the {min(others)} of a memory of `bd remember` is not kept")
        check_unchanged(memory, text_of(value.get("value")), str(issues.path), content_of(change))
        return plans.plan_one(
            change, memory, issues.put({memory.id: {"value": content_of(change)}})
        )
    values: dict[str, Any] = {}
    if "content" in asked:
        text = content_of(change)
        check_unchanged(memory, join_sections(value, HEADINGS), str(issues.path), text)
        values |= split_sections(text, HEADINGS, value)
    if "title" in asked:
        values["title"] = _checked_title(asked["title"])
    if "type" in asked:
        values["issue_type"] = _checked_type(change)
    if "importance" in asked:
        values["priority"] = PRIORITIES[checked_importance(asked["importance"])]
    edits: tuple[Edit, ...] = ()
    if "tags" in asked:
        values["labels"] = tag_words(asked["tags"]) or None
        edits = context.sidecar_entry(memory).set(tags=None)
    if values:
        edits = (*issues.put({memory.id: {**values, "updated_at": context.time}}), *edits)
    is_renamed = {"title", "type"} & asked.keys()
    return plans.plan_one(change, memory, edits, others=context.below(memory) if is_renamed else ())


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
    if memory.type == MEMORY:
        return None
    return _edit(replace(change, fields={"tags": change.fields.get("tags", ())}), memory, context)


def _retire(change: Change, memory: Memory, context: IssueContext) -> Plan:
    issues = context.issues()
    value = issues.line(memory).value
    edits = issues.put({memory.id: {**context.closed(value), "close_reason": "Closed"}})
    return plans.plan_one(change, memory, edits, ends=True)


def _restore(change: Change, memory: Memory, context: IssueContext) -> Plan:
    """Reopen it (cmd/bd/reopen.go); what succeeded it stays."""
    issues = context.issues()
    value = issues.line(memory).value
    gone = dict.fromkeys(["closed_at", "close_reason", "closed_by_session"])
    if memory.status == "deleted":
        gone |= dict.fromkeys(["deleted_at", "deleted_by", "delete_reason", "original_type"])
        gone["issue_type"] = value.get("original_type") or value.get("issue_type")
    edits = issues.put({memory.id: {"status": "open", "updated_at": context.time, **gone}})
    return plans.plan_one(change, memory, edits, plans.successor_warnings(memory))


def _delete(change: Change, memory: Memory, context: IssueContext) -> Plan:
    issues = context.issues()
    line = issues.line(memory)
    after = without_lines(issues.text, [(line.start, line.end)])
    edits = (*issues.edit(after), *context.sidecar_entry(memory).removal())
    warnings = plans.dangling_warnings(memory, context.view.memories(context.label))
    return plans.plan_one(change, memory, edits, warnings, others=context.below(memory))


def _link(change: Change, memory: Memory, context: IssueContext) -> Plan | None:
    """A dependency if it leads to an issue of the file; else a link in the sidecar."""
    issues = context.issues()
    relation, target = plans.requested_link(change, memory)
    value = issues.line(memory).value
    every = list_of(value.get("dependencies"))
    same = [
        e for e in _dependencies(value) if (e["type"], e["depends_on_id"]) == (relation, target)
    ]
    other = issues.by_id.get(target)
    is_native = memory.type != MEMORY and other is not None and "title" in other.value
    if same if change.act is Act.UNLINK else is_native and _RELATION.fullmatch(relation):
        if relation in _ENDS:
            raise Refused(f"a link {relation} ends an issue", do=_SUCCEEDED)
        if target == memory.id:
            raise Refused("an issue does not depend on itself", where=memory.ref)
        beside: tuple[Edit, ...] = ()
        if change.act is Act.UNLINK:
            every = [each for each in every if each not in same]
            beside = plans.ended_link_edits(change, context.sidecar_entry(memory), context.now)
        elif not same:
            every = [*every, context.dependency(memory.id, relation, target)]
        elif same:
            return plans.plan_one(change, memory, ())
        values = {"updated_at": context.time, "dependencies": every or None}
        others = context.below(memory) if relation == "parent-child" else ()
        return plans.plan_one(
            change, memory, (*issues.put({memory.id: values}), *beside), others=others
        )
    return None


def _merge(change: Change, memory: Memory, context: IssueContext) -> Plan:
    issues = context.issues()
    others = context.others(change, memory)
    if any(each.type == MEMORY or each.status not in CURRENT for each in (memory, *others)):
        raise Refused("only open issues can be merged", where=memory.ref)
    changed = {
        each.id: context.closed(issues.line(each).value, "duplicates", memory.id) for each in others
    }
    return plans.plan_merge(change, memory, others, issues.put(changed))


def _supersede(change: Change, memory: Memory, context: IssueContext) -> Plan:
    issues = context.issues()
    old = issues.line(memory).value
    title = _checked_title(change.fields.get("title") or memory.title)
    id = _new_id(issues, context, title, content_of(change))
    kept = (*HEADINGS, "priority", "issue_type", "labels")
    value = {key: old[key] for key in kept if key in old}
    value |= split_sections(content_of(change), HEADINGS, old)
    edges = [context.dependency(id, "parent-child", e) for e in _targets(old, "parent-child")]
    value |= {"id": id, "title": title, "dependencies": edges}
    new = _line(value, issues, context)
    edits = issues.put({memory.id: context.closed(old, "supersedes", id)}, new)
    return plans.plan_successor(
        change, memory, context.ref(id), edits, f"{id} supersedes {memory.id}"
    )


def _new_id(issues: Issues, context: IssueContext, title: str, text: str) -> str:
    """An id as bd makes it: the prefix of the others, and a part of a hash in base 36
    (internal/idgen/hash.go)."""
    prefixes = [id.rpartition("-")[0] for id in issues.by_id if not id.startswith(MEMORY)]
    prefix = max(prefixes, key=prefixes.count, default="") or context.root.parent.name or "bd"
    for nonce in range(10_000):
        seed = f"{title}|{text}|{_ACTOR}|{context.now.isoformat()}|{nonce}"
        number = int.from_bytes(hashlib.sha256(seed.encode("utf-8", "replace")).digest()[:4])
        found = "".join(_DIGITS[number // 36**at % 36] for at in range(4 + nonce // 100))
        if f"{prefix}-{found}" not in issues.by_id:
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
    id = _new_id(issues, context, title, text)
    value: dict[str, Any] = {"id": id, "title": title, **_parts(text)}
    value["issue_type"] = _checked_type(change)
    value["priority"] = PRIORITIES[importance_of(change, "medium")]
    labels = tag_words(change.fields.get("tags", ()))
    entity = word_of(change, "entity", "")
    epics = (e for e in issues.lines if entity and entity in (e.value.get("title"), id_of(e.value)))
    if (epic := next(epics, None)) is not None:
        value["dependencies"] = [context.dependency(id, "parent-child", id_of(epic.value))]
    elif entity:
        labels = [*labels, entity]
    edits = issues.put({}, _line({**value, "labels": labels}, issues, context))
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
        edits = issues.put({}, line_of(value))
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
    edits = issues.put({}, _line(value, issues, context))
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


HANDLERS: Mapping[Act, plans.ActHandler] = MappingProxyType(
    {
        Act.EDIT: _edit,
        Act.RETYPE: _edit,
        Act.TAG: _tag,
        Act.RETIRE: _retire,
        Act.RESTORE: _restore,
        Act.DELETE: _delete,
        Act.LINK: _link,
        Act.UNLINK: _link,
        Act.MERGE: _merge,
        Act.SUPERSEDE: _supersede,
    }
)


# ---- the store -----------------------------------------------------------------------------------


def _as_link(edge: Mapping[str, Any]) -> Link:
    made = from_iso(edge.get("created_at"))
    return Link(text_of(edge["type"]), text_of(edge["depends_on_id"]), valid_from=made)


class BeadsStore(TextFileStore):
    """The issues of one folder."""

    format = "beads"
    acts = plans.ActionSupport(EDITABLE, _add, HANDLERS, lambda _: SHARD, {}, _import, _not_on)
    context = IssueContext
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
                ended.setdefault(successor, []).append(id_of(each.value))
        found = [self._memory(each, issues, ended) for each in issues.lines]
        reasons = [f"line {number} is no issue of Beads" for number in issues.faults]
        faults = listed_faults(path, reasons, "lines are no issues")
        return Reading(tuple(with_unique_ids(found)), tuple(faults))

    def _memory(self, line: JsonLine, issues: Issues, ended: Mapping[str, list[str]]) -> Memory:
        value, id = line.value, id_of(line.value)
        place = Place(str(issues.path), line.line)
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
