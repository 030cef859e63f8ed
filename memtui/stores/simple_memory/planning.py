"""Which act is done how, and which acts this format has no way to do."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace

from memtui.changes import Act, Change, Edit, Plan
from memtui.errors import Refused
from memtui.model import Memory
from memtui.stores.base import View
from memtui.stores.outcomes import done
from memtui.stores.sidecar_acts import BESIDE, plan_beside
from memtui.stores.simple_memory import adding, editing, merging, pins
from memtui.stores.simple_memory.carried import is_carried, plan_carried
from memtui.stores.simple_memory.records import SCHEMA, tags_of
from memtui.stores.simple_memory.targets import Desk, fixed

_ONE_RECORD: Mapping[Act, Callable[[Change, Desk], tuple[Edit, ...]]] = {
    Act.EDIT: editing.edit,
    Act.RETYPE: editing.edit,
    Act.RETIRE: editing.retire,
    Act.RESTORE: editing.restore,
    Act.ACCEPT: editing.accept,
    Act.DECLINE: editing.decline,
    Act.PIN: pins.pin,
    Act.UNPIN: pins.pin,
}


def refusal(act: Act, memory: Memory | None) -> str:
    """Why this act cannot be done on this memory; empty when it can."""
    if memory is None:
        return ""
    why = fixed(memory)
    if why:
        return why
    if act in (Act.ACCEPT, Act.DECLINE) and memory.status != "proposed":
        return "it is not a proposal"
    if act is Act.RETIRE and memory.status == "retired":
        return "it is retired already"
    if act is Act.RESTORE and memory.status in ("active", "proposed"):
        return "it is current already"
    if act is Act.RETYPE and memory.kind != SCHEMA.kind:
        return "only a schema item has a type"
    if act is Act.SUPERSEDE and memory.kind == "episode":
        return "an episode is what happened; it has no successor"
    if act is Act.MERGE and memory.kind != "fact":
        return "only facts can be merged"
    return ""


def plan(change: Change, desk: Desk) -> Plan:
    """The plan of any act. Raises Refused, RefError or Conflict."""
    if change.act is Act.ADD and is_carried(change):
        return plan_carried(change, desk)
    if change.act is Act.ADD:
        return adding.add(change, desk)
    memory = desk.view.get(change.ref)
    why = refusal(change.act, memory)
    if why:
        raise Refused(why, where=memory.ref)
    match change.act:
        case Act.SUPERSEDE:
            return adding.supersede(change, desk)
        case Act.MERGE:
            return merging.merge(change, desk)
        case Act.DELETE:
            return _delete(change, desk)
        case Act.LINK | Act.UNLINK:
            native = pins.native_link(change, desk)
            if native is not None:
                return done(change, memory, native)
    if change.act in _ONE_RECORD:
        made = done(change, memory, _ONE_RECORD[change.act](change, desk))
        ends = change.act in (Act.RETIRE, Act.DECLINE) and made.does_something
        return replace(made, supersedes=made.refs) if ends else made
    if change.act in BESIDE:
        return _beside(change, desk, memory)
    raise Refused("Simple Memory has no way to do this", where=memory.ref)


def _beside(change: Change, desk: Desk, memory: Memory) -> Plan:
    native: tuple[str, ...] = ()
    if change.act is Act.TAG:
        target = desk.target(change.ref)
        native = tags_of(target.part, target.value)
    return plan_beside(change, desk.beside(memory), desk.now, native)


def _delete(change: Change, desk: Desk) -> Plan:
    target = desk.target(change.ref)
    naming = _naming(target.memory, desk.view)
    plural = "memory names" if len(naming) == 1 else "memories name"
    warnings = (f"{len(naming)} {plural} it and will point nowhere",) if naming else ()
    edits: tuple[Edit, ...] = (target.removed(), *target.beside.forget())
    return done(change, target.memory, edits, warnings)


def _naming(memory: Memory, view: View) -> list[str]:
    return [
        other.id
        for other in view.memories(memory.store)
        if any(link.target == memory.id for link in other.links)
    ]
