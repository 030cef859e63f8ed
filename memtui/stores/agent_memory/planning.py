"""Changes of facts and notes that exist, as exact edits.

Nothing is deleted unless `delete` is said: retiring and superseding make a fact historical, and
restoring makes it active again. A note is a file: its text can be changed, or the file deleted.
"""

from __future__ import annotations

import os
from dataclasses import replace
from pathlib import Path

from memtui.changes import Act, Change, Edit, Outcome, Plan
from memtui.errors import Refused
from memtui.files.json_spans import put_member
from memtui.model import Memory
from memtui.stores.agent_memory import rules as asking
from memtui.stores.agent_memory.adding import Desk, made_historical, new_fact, slug_and_type
from memtui.stores.agent_memory.fact_file import FactFile
from memtui.stores.agent_memory.facts import ACTIVE, HISTORICAL, edge_link
from memtui.stores.agent_memory.layout import ENTITIES
from memtui.stores.agent_memory.note_planning import NOTE_ACTS, plan_note
from memtui.stores.asked import asked_values, content_of, same_as_seen, word_of
from memtui.stores.base import View
from memtui.stores.json_file import Named, text_of
from memtui.stores.outcomes import done
from memtui.stores.sidecar import ids_in
from memtui.stores.sidecar_acts import BESIDE, Beside, plan_beside, tag_edits

FACT_FIELDS = frozenset({"content", "type", "entity", "tags"})
NATIVE = frozenset(
    {Act.EDIT, Act.RETYPE, Act.SUPERSEDE, Act.RETIRE, Act.RESTORE, Act.DELETE, Act.MERGE}
)


def refusal(act: Act, memory: Memory | None) -> str:
    """Why the format cannot do this act on this memory; empty when it can."""
    if act is Act.ADD:
        return ""
    if act not in NATIVE and act not in BESIDE:
        return "agent-memory has no proposals to decide on"
    if memory is None:
        return ""
    if memory.kind == "note" and act not in NOTE_ACTS:
        return "a note is a file without a status: edit its text, or delete it"
    fault = memory.extra.get("unaddressable")
    if fault:
        return f"it cannot be changed: {fault}"
    return _needless(act, memory)


def _needless(act: Act, memory: Memory) -> str:
    historical = memory.extra.get("status") == HISTORICAL
    if act is Act.RETIRE and historical:
        return "it is historical already"
    if act is Act.RESTORE and not historical:
        return "it is active already"
    return ""


def slug_of(memory: Memory) -> str:
    """The entity folder that a fact lies in."""
    return Path(memory.origin.file).parent.name


def shard_of(memory: Memory) -> str:
    """Key of the shard that holds the memory."""
    if memory.kind == "note" and memory.type != "summary":
        return memory.id
    return f"{ENTITIES}/{slug_of(memory)}"


def plan_existing(change: Change, desk: Desk, view: View) -> Plan:
    """The plan of any act on a memory that exists. Raises Refused, Conflict or RefError."""
    memory = view.get(change.ref)
    beside = Beside(memory, desk.root, desk.sidecar, shard_of(memory))
    if change.act is Act.UNLINK and _is_edge(change, memory):
        return _unlink_edge(change, memory, desk)
    if change.act in BESIDE:
        return plan_beside(change, beside, desk.now)
    if memory.kind == "note":
        return plan_note(change, memory, beside)
    match change.act:
        case Act.EDIT | Act.RETYPE:
            return _plan_edit(change, memory, beside, desk)
        case Act.SUPERSEDE:
            return _plan_supersede(change, memory, desk)
        case Act.RETIRE:
            return _plan_status(change, memory, desk, HISTORICAL)
        case Act.RESTORE:
            return _plan_status(change, memory, desk, ACTIVE)
        case Act.DELETE:
            return _plan_delete(change, memory, beside, desk)
        case Act.MERGE:
            return _plan_merge(change, memory, desk, view)
        case _:
            raise Refused(refusal(change.act, memory) or "this cannot be done here")


def _seen(memory: Memory, file: FactFile, wanted: str | None = None) -> Named:
    named = file.record(memory.id)
    now = text_of(named.value.get("content"))
    same_as_seen(memory, now, str(file.path), wanted)
    return named


def _plan_edit(change: Change, memory: Memory, beside: Beside, desk: Desk) -> Plan:
    asked = asked_values(change, memory, FACT_FIELDS)
    file = desk.open(slug_of(memory))
    wanted = content_of(change) if "content" in asked else None
    named = _seen(memory, file, wanted)
    raw = named.record.raw
    warnings = []
    if wanted is not None:
        raw = put_member(raw, "content", wanted)
        broken = asking.broken_rule(wanted, desk.rules)
        warnings += [f"agent-memory would reject this as new: {broken}"] if broken else []
    if "type" in asked:
        raw = put_member(raw, "entityType", word_of(change, "type", memory.type))
    edits = _moved(change, memory, desk, file, named, raw) if "entity" in asked else ()
    if edits:
        warnings += ["links between this fact and those it leaves now dangle"] * bool(
            memory.supersedes or memory.superseded_by
        )
    elif raw != named.record.raw:
        edits = (file.edit(named, raw),)
    if "tags" in asked:
        edits += tag_edits(beside, asked["tags"])
    return done(change, memory, edits, tuple(warnings))


def _moved(
    change: Change, memory: Memory, desk: Desk, file: FactFile, named: Named, raw: str
) -> tuple[Edit, ...]:
    """Take the fact out of one entity's file and put it into another's; none if it stays."""
    slug, stated = slug_and_type(word_of(change, "entity", memory.entity))
    if slug == file.slug:
        raise Refused(
            "the entity's first word follows from the type of its first fact",
            do="change the type instead",
        )
    target = desk.open(slug)
    if any(other.id == memory.id for other in target.records):
        raise Refused(f"{slug} holds a fact with this id already")
    if stated and not target.exists:
        raw = put_member(raw, "entityType", stated)
    entry = dict(desk.sidecar.entry(memory.id))
    entry.pop("shard", None)
    beside = desk.beside(slug, memory.id, **entry) if entry else ()
    return (file.edit(named, None), *target.insert_raw(memory.id, raw), *beside)


def _plan_status(change: Change, memory: Memory, desk: Desk, status: str) -> Plan:
    file = desk.open(slug_of(memory))
    named = _seen(memory, file) if status == HISTORICAL else file.record(memory.id)
    raw = put_member(named.record.raw, "status", status)
    edits = (file.edit(named, raw),) if raw != named.record.raw else ()
    plan = done(change, memory, edits, _successor_warning(memory, status))
    return replace(plan, supersedes=plan.refs) if edits and status == HISTORICAL else plan


def _successor_warning(memory: Memory, status: str) -> tuple[str, ...]:
    if status == ACTIVE and memory.superseded_by:
        return (f"{', '.join(memory.superseded_by)} took its place and stays active too",)
    return ()


def _plan_supersede(change: Change, memory: Memory, desk: Desk) -> Plan:
    file = desk.open(slug_of(memory))
    content = content_of(change)
    named = _seen(memory, file, content)
    broken = asking.broken_rule(content, desk.rules)
    if broken and not change.force:
        return Plan((change,), outcome=Outcome.REJECTED, reason=broken, refs=(memory.ref,))
    value = new_fact(change, file, text_of(named.value.get("entityType")), desk.now())
    value["supersedes"] = memory.id
    if not change.fields.get("type") and isinstance(named.value.get("entityType"), str):
        value["entityType"] = named.value["entityType"]
    others = [f for f in file.memories if f.id != memory.id and f.status == "active"]
    same = asking.most_similar(content, others, desk.rules)
    warnings = [f"forced: {broken}"] if broken else []
    if same is not None:
        warnings.append(f"it is {same[1]:.2f} similar to another active fact, {same[0].id}")
    tags = [str(tag) for tag in change.fields.get("tags") or ()]
    return Plan(
        changes=(change,),
        edits=(
            made_historical(file, memory.id),
            *file.insert(value),
            *desk.beside(file.slug, value["id"], tags=tags),
        ),
        outcome=Outcome.SUPERSEDED,
        reason=f"Added fact {value['id']} to {file.slug}, marked {memory.id} historical",
        refs=(f"{desk.label}:{value['id']}", memory.ref),
        supersedes=(memory.ref,),
        warnings=tuple(warnings),
    )


def _plan_delete(change: Change, memory: Memory, beside: Beside, desk: Desk) -> Plan:
    file = desk.open(slug_of(memory))
    named = _seen(memory, file)
    edits: tuple[Edit, ...] = (file.edit(named, None), *beside.forget())
    naming = [fact.id for fact in file.memories if memory.id in fact.supersedes]
    warnings = [f"{id} will name a fact that is no longer there" for id in naming]
    return done(change, memory, edits, tuple(warnings))


def _plan_merge(change: Change, memory: Memory, desk: Desk, view: View) -> Plan:
    """Keep this fact, with a new text if one is given; the others become historical."""
    others = [view.get(_ref(memory, other)) for other in change.fields.get("others", ())]
    if not others or memory in others:
        raise Refused("there is nothing to merge with")
    if any(other.store != memory.store or other.kind != "fact" for other in others):
        raise Refused("only facts of one store can be merged")
    file = desk.open(slug_of(memory))
    edits: tuple[Edit, ...] = ()
    if change.fields.get("content") not in (None, "", memory.content):
        named = _seen(memory, file, content_of(change))
        edits = (file.edit(named, put_member(named.record.raw, "content", content_of(change))),)
    known = ids_in(desk.sidecar.entry(memory.id), "supersedes")
    ids = list(dict.fromkeys([*known, *(other.id for other in others)]))
    edits += desk.beside(file.slug, memory.id, supersedes=ids)
    for other in others:
        edits += _merged_away(other, memory, desk)
    return Plan(
        changes=(change,),
        edits=edits,
        refs=(memory.ref, *(other.ref for other in others)),
        supersedes=tuple(other.ref for other in others),
        reason=f"merged {len(others)} into {memory.id}",
    )


def _ref(memory: Memory, other: str) -> str:
    return other if other.startswith(f"{memory.store}:") else f"{memory.store}:{other}"


def _merged_away(other: Memory, into: Memory, desk: Desk) -> tuple[Edit, ...]:
    why = refusal(Act.SUPERSEDE, other)
    if why:
        raise Refused(why, where=other.ref)
    file = desk.open(slug_of(other))
    _seen(other, file)
    edits: tuple[Edit, ...] = ()
    if other.extra.get("status") != HISTORICAL:
        edits = (made_historical(file, other.id),)
    return edits + desk.succeeded(file.slug, other.id, into.id)


def _is_edge(change: Change, memory: Memory) -> bool:
    edge = edge_link(memory.extra.get("edge"))
    asked = (change.fields.get("relation"), change.fields.get("target"))
    return edge is not None and asked == (edge.relation, edge.target)


def _unlink_edge(change: Change, memory: Memory, desk: Desk) -> Plan:
    """The edge becomes null, which the format reads as none."""
    file = desk.open(slug_of(memory))
    named = file.record(memory.id)
    raw = put_member(named.record.raw, "edge", None)
    return done(change, memory, (file.edit(named, raw),))


def writable(root: Path) -> str:
    """Why nothing can be written in this folder; empty when it can."""
    return "" if os.access(root, os.W_OK | os.X_OK) else "the folder is read-only for this user"
