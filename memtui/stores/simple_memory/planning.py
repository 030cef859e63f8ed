"""Which act is done how, and which acts this format has no way to do."""

from __future__ import annotations

from collections.abc import Callable

from memtui.changes import Act, Change, Edit, Plan
from memtui.model import CURRENT, Memory
from memtui.stores.acts import Acts, Doing
from memtui.stores.carrying import is_carried
from memtui.stores.outcomes import done, left_dangling
from memtui.stores.sidecar_acts import plan_beside
from memtui.stores.simple_memory import adding, editing, pins
from memtui.stores.simple_memory.carried import plan_carried
from memtui.stores.simple_memory.merging import merge
from memtui.stores.simple_memory.reading import SHARD
from memtui.stores.simple_memory.records import EPISODES, FACTS, PART_OF_KIND, SCHEMA, tags_of
from memtui.stores.simple_memory.targets import RecordDesk, fixed

Editing = Callable[[Change, Memory, RecordDesk], tuple[Edit, ...]]


def _not_on(act: Act, memory: Memory) -> str:
    why = fixed(memory)
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
    return tags_of(PART_OF_KIND[memory.kind], memory.extra)


def _add(change: Change, desk: RecordDesk) -> Plan:
    return plan_carried(change, desk) if is_carried(change) else adding.add(change, desk)


def _one(editing: Editing, *, ends: bool = False) -> Doing[RecordDesk]:
    """An act whose edits are all of one record and its entry."""

    def plan(change: Change, memory: Memory, desk: RecordDesk) -> Plan:
        return done(change, memory, editing(change, memory, desk), ends=ends)

    return plan


def _link(change: Change, memory: Memory, desk: RecordDesk) -> Plan:
    native = pins.native_link(change, memory, desk)
    if native is None:
        return plan_beside(change, desk.beside(memory), desk.now)
    return done(change, memory, native)


def _delete(change: Change, memory: Memory, desk: RecordDesk) -> Plan:
    target = desk.target(memory)
    edits: tuple[Edit, ...] = (target.removed(), *target.beside.forget())
    return done(change, memory, edits, left_dangling(memory, desk.view.memories(desk.label)))


ACTS = Acts(
    editable=editing.EDITABLE,
    add=_add,
    doing={
        Act.EDIT: _one(editing.edit),
        Act.RETYPE: _one(editing.edit),
        Act.RETIRE: _one(editing.retire, ends=True),
        Act.RESTORE: _one(editing.restore),
        Act.ACCEPT: _one(editing.accept),
        Act.DECLINE: _one(editing.decline, ends=True),
        Act.PIN: _one(pins.pin),
        Act.UNPIN: _one(pins.pin),
        Act.LINK: _link,
        Act.UNLINK: _link,
        Act.SUPERSEDE: adding.supersede,
        Act.MERGE: merge,
        Act.DELETE: _delete,
    },
    no_way={},
    shard_of=lambda _: SHARD,
    not_on=_not_on,
    native_tags=_native_tags,
)
