"""Plan the acts on records that exist: edits, status changes, merges, pins, links, deletion.

Only the values that change are written; `rules` says what each field may hold.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from memtui.changes import Act, Change, Edit, Plan
from memtui.dataclass import replace
from memtui.errors import Refused
from memtui.files.json.editing import has_member
from memtui.model import CURRENT, Memory
from memtui.stores.plans import (
    ActHandler,
    ActionSupport,
    dangling_warnings,
    ended_link_edits,
    plan_merge,
    plan_one,
    plan_sidecar_act,
    requested_link,
)
from memtui.stores.sidecar import kept_value
from memtui.stores.simple_memory import adding
from memtui.stores.simple_memory.records import (
    CONFIRMED,
    EPISODES,
    FACTS,
    KEPT_STATUS,
    OUTDATED,
    RECORD_KIND_OF,
    SCHEMA,
    SHARD,
    RecordContext,
    RecordTarget,
    tags_of,
    why_fixed,
)
from memtui.stores.simple_memory.rules import EDITABLE, RecordDraft, fill_draft
from memtui.stores.values import is_number, list_of, whole_number


def edit(change: Change, memory: Memory, context: RecordContext) -> tuple[Edit, ...]:
    """The edits of an EDIT or RETYPE. Raises Refused or Conflict."""
    target = context.target(memory)
    draft = RecordDraft()
    fill_draft(draft, change, target, context)
    return draft.edits(target)


# ---- status ---------------------------------------------------------------------------------


def retire(_change: Change, memory: Memory, context: RecordContext) -> tuple[Edit, ...]:
    """A schema item becomes outdated; a fact or an episode is retired in the sidecar."""
    target = context.target(memory)
    if target.record_kind is SCHEMA:
        return target.with_members({"status": OUTDATED})
    return target.sidecar_entry.set(**{KEPT_STATUS: "retired"})


def restore(_change: Change, memory: Memory, context: RecordContext) -> tuple[Edit, ...]:
    """Make a schema item confirmed again, a fact or an episode as its file has it."""
    target = context.target(memory)
    lineage = target.sidecar_entry.set(**{KEPT_STATUS: None, "superseded_by": None})
    if target.record_kind is SCHEMA and target.memory.status not in ("active", "proposed"):
        return (*target.with_members({"status": CONFIRMED}), *lineage)
    return lineage


def accept(change: Change, memory: Memory, context: RecordContext) -> tuple[Edit, ...]:
    """Confirm a proposed schema item, with new text if given."""
    target = context.target(memory)
    draft = RecordDraft({"status": CONFIRMED})
    fill_draft(draft, change, target, context)
    return draft.edits(target)


def decline(_change: Change, memory: Memory, context: RecordContext) -> tuple[Edit, ...]:
    """Make a proposed schema item outdated."""
    return context.target(memory).with_members({"status": OUTDATED})


def merge(change: Change, memory: Memory, context: RecordContext) -> Plan:
    """Plan a MERGE. Raises Refused."""
    remaining = context.target(memory)
    others = [context.target(other) for other in context.others(change, memory)]
    if any(target.record_kind is not FACTS for target in (remaining, *others)):
        raise Refused("only facts can be merged", where=memory.ref)
    merged = [record.memory for record in others]
    values = _merged_values(remaining.value, [record.value for record in others])
    supersedes = dict.fromkeys([*remaining.memory.supersedes, *(other.id for other in merged)])
    edits: list[Edit] = [
        *remaining.with_members(values),
        *remaining.sidecar_entry.set(supersedes=list(supersedes)),
    ]
    for record in others:
        edits += [record.removal(), *_keep_merged(record, remaining)]
    return plan_merge(change, memory, merged, tuple(edits), _differences(remaining, others))


def _keep_merged(other: RecordTarget, into: RecordTarget) -> tuple[Edit, ...]:
    former = replace(
        other.memory, status="superseded", superseded_by=(into.memory.id,), pinned=False
    )
    place = {"file": other.record_kind.file, "raw": other.raw}
    return other.sidecar_entry.set(
        kept=kept_value(former, [place]), superseded_by=[into.memory.id], pinned=None
    )


def _merged_values(
    target: Mapping[str, Any], others: Sequence[Mapping[str, Any]]
) -> dict[str, Any]:
    """The keys of the remaining fact that change because the others add to them."""
    values: dict[str, Any] = {}
    every = [target, *others]
    for key in ("source_ids", "links"):
        items = [item for value in every for item in list_of(value.get(key))]
        distinct = [item for index, item in enumerate(items) if item not in items[:index]]
        if distinct and distinct != target.get(key):
            values[key] = distinct
    hits = [whole_number(value.get("hits")) for value in every]
    if sum(hits) != hits[0]:
        values["hits"] = sum(hits)
    known = [value["confidence"] for value in every if is_number(value.get("confidence"))]
    if known and max(known) != target.get("confidence"):
        values["confidence"] = max(known)
    if any(value.get("pinned") is True for value in others) and target.get("pinned") is not True:
        values["pinned"] = True
    return values


def _differences(target: RecordTarget, others: Sequence[RecordTarget]) -> tuple[str, ...]:
    """Warn of each merged fact whose text differs."""
    return tuple(
        f"{other.memory.id} does not say the same as {target.memory.id}: "
        "its text is only kept beside"
        for other in others
        if any(other.value.get(key) != target.value.get(key) for key in ("s", "p", "o"))
    )


def pin(change: Change, memory: Memory, context: RecordContext) -> tuple[Edit, ...]:
    """Plan PIN and UNPIN, in the record's own `pinned` where it has one."""
    target = context.target(memory)
    pinned = change.act is Act.PIN
    if has_member(target.raw, "pinned"):
        native = target.with_members({"pinned": pinned})
        return (*native, *target.sidecar_entry.set(pinned=None))
    return target.sidecar_entry.set(pinned=True if pinned else None)


def native_link(change: Change, memory: Memory, context: RecordContext) -> tuple[Edit, ...] | None:
    """LINK and UNLINK in the record's own lists; None if the link belongs to the sidecar."""
    target = context.target(memory)
    relation, other = requested_link(change, memory)
    if not relation or not other:
        raise Refused("a link needs a relation and a memory to lead to", where=change.ref)
    key, item = _place(target, relation, other)
    old = target.value.get(key)
    if not isinstance(old, list):
        return None
    if change.act is Act.LINK:
        exists = any(_same_link(known, item) for known in old)
        return () if exists else target.with_members({key: [*old, item]})
    left = [known for known in old if not _same_link(known, item)]
    return None if len(left) == len(old) else target.with_members({key: left})


def _place(target: RecordTarget, relation: str, other: str) -> tuple[str, Any]:
    """The key of the list for links of this relation, and the item for this one."""
    if relation == "evidence" and target.record_kind is SCHEMA:
        return "evidence", other
    if relation == "fact" and target.record_kind is EPISODES:
        return "facts", other
    return "links", {"rel": relation, "to": other}


def _same_link(known: object, item: object) -> bool:
    if isinstance(known, dict) and isinstance(item, dict):
        return (known.get("rel"), known.get("to")) == (item["rel"], item["to"])
    return known == item


MakeEdits = Callable[[Change, Memory, RecordContext], tuple[Edit, ...]]


def _not_on(act: Act, memory: Memory) -> str:
    why = why_fixed(memory)
    if why:
        return why
    if act in (Act.ACCEPT, Act.DECLINE) and memory.status != "proposed":
        return "it is not a proposal"
    if act is Act.RETIRE and memory.status == "retired":
        return "it is retired already"
    if act is Act.RESTORE and memory.status in CURRENT:
        return "it is current already"
    if act is Act.RETYPE and memory.kind != SCHEMA.kind:
        return "only a schema item has a type"
    if act is Act.SUPERSEDE and memory.kind == EPISODES.kind:
        return "an episode is what happened; it has no successor"
    if act is Act.MERGE and memory.kind != FACTS.kind:
        return "only facts can be merged"
    return ""


def _native_tags(memory: Memory) -> tuple[str, ...]:
    return tags_of(RECORD_KIND_OF[memory.kind], memory.extra)


def _act_on_record(make_edits: MakeEdits, *, ends: bool = False) -> ActHandler[RecordContext]:
    """Make an act's handler of a function that gives the edits of one record."""

    def plan(change: Change, memory: Memory, context: RecordContext) -> Plan:
        return plan_one(change, memory, make_edits(change, memory, context), ends=ends)

    return plan


def _link(change: Change, memory: Memory, context: RecordContext) -> Plan:
    native = native_link(change, memory, context)
    if native is None:
        return plan_sidecar_act(change, context.sidecar_entry(memory), context.now)
    if change.act is Act.UNLINK:
        ended = ended_link_edits(change, context.sidecar_entry(memory), context.now)
        native = (*native, *ended)
    return plan_one(change, memory, native)


def _delete(change: Change, memory: Memory, context: RecordContext) -> Plan:
    target = context.target(memory)
    edits: tuple[Edit, ...] = (target.removal(), *target.sidecar_entry.removal())
    return plan_one(
        change, memory, edits, dangling_warnings(memory, context.view.memories(context.label))
    )


ACTS = ActionSupport(
    editable=EDITABLE,
    add=adding.add,
    add_imported=adding.plan_import,
    handlers={
        Act.EDIT: _act_on_record(edit),
        Act.RETYPE: _act_on_record(edit),
        Act.RETIRE: _act_on_record(retire, ends=True),
        Act.RESTORE: _act_on_record(restore),
        Act.ACCEPT: _act_on_record(accept),
        Act.DECLINE: _act_on_record(decline, ends=True),
        Act.PIN: _act_on_record(pin),
        Act.UNPIN: _act_on_record(pin),
        Act.LINK: _link,
        Act.UNLINK: _link,
        Act.SUPERSEDE: adding.supersede,
        Act.MERGE: merge,
        Act.DELETE: _delete,
    },
    shard_of=lambda _: SHARD,
    not_on=_not_on,
    native_tags=_native_tags,
)
