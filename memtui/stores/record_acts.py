"""Every act on a memory that is a part of a file by itself, written once.

A format says how a memory is opened: as a `Target`, which is the part as it is now and how it is
put and removed. It says what each field of a memory is in the part (`Target.fields`), how a memory
ends (`end`), what its successor is (`successor`) and which links the part holds (`link`). What all
acts have in common is here: that the memory is still what the person saw, that both sides of a
lineage name each other, that nothing is left of what is deleted.
"""

from __future__ import annotations

import uuid
from abc import ABC, abstractmethod
from collections.abc import Callable, Collection, Mapping, Sequence
from types import MappingProxyType
from typing import Any, ClassVar, NamedTuple

from msgspec.structs import replace

from memtui.changes import Act, Change, Edit, Plan
from memtui.errors import Conflict, Refused
from memtui.model import CURRENT, Memory
from memtui.stores import importing, plans
from memtui.stores.format import ConvertedMemory
from memtui.stores.json_file import JsonFile, NamedRecord
from memtui.stores.values import (
    changed_values,
    check_unchanged,
    content_of,
    tag_words,
    text_of,
    texts_of,
    word_of,
)

Members = Mapping[str, Any]
"""Keys of a part and their values; None takes a key away."""
FieldMembers = Callable[[Any, Any], Members]
"""The members of a part that hold a field: takes the target and the new value. Raises Refused."""


ALL_FIELDS = frozenset(Memory.__struct_fields__)


def member(key: str, named: str = "") -> FieldMembers:
    """A field that is one key of the part: the value as it is, or the field `named` of the change,
    which must be a word."""

    def members(target: Target, value: Any) -> Members:
        now = getattr(target.memory, named, "")
        return {key: word_of(target.change, named, now) if named else value}

    return members


class Successor(NamedTuple):
    """What takes a memory's place."""

    id: str
    edits: tuple[Edit, ...]
    reason: str
    """One line for the person."""


class Target(ABC):
    """One memory that is opened to be changed, and what a change of it writes.

    `Refused` and `Conflict` are raised by whatever opens it.
    """

    fields: Mapping[str, FieldMembers] = {}
    """Field of a memory -> what holds it. Tags that are not among them lie in the sidecar, and
    other fields cannot be edited."""
    native_tags: tuple[str, ...] = ()
    """Tags that the file gives, which the sidecar does not keep again."""
    gone: ClassVar[str] = "another program removed this memory"
    """Why nothing can be changed if the part is not in its file any more."""
    retired: ClassVar[str] = ""
    """The reason in the plan of a RETIRE; empty if the memory only changes its status."""

    def __init__(self, memory: Memory, change: Change, context: Any) -> None:
        self.memory, self.change, self.context = memory, change, context
        self.entry: plans.SidecarEntry = context.sidecar_entry(memory)
        self.warnings: list[str] = []

    # ---- the part -----------------------------------------------------------------------------

    @property
    @abstractmethod
    def where(self) -> str:
        """Path of the file."""

    @property
    @abstractmethod
    def text(self) -> str:
        """The memory's content as the file has it now."""

    @abstractmethod
    def put(self, members: Members) -> tuple[Edit, ...]:
        """The edits that set these members and change no other byte; none if they are set."""

    @abstractmethod
    def remove(self) -> tuple[Edit, ...]:
        """The edits that take the part out of its file."""

    # ---- what a format does in its own way ------------------------------------------------------

    def end(self, status: str, by: str = "") -> tuple[Edit, ...]:
        """The edits by which the memory is `retired`, or `superseded` by the memory of this id.

        Here the file has no word for it, and the sidecar holds the status.
        """
        return self.entry.set(status=status, **self.succeeded_by(by))

    def resume(self) -> tuple[Edit, ...]:
        """The edits by which a memory that has ended is in use again."""
        return self.entry.set(status=None, superseded_by=None)

    def successor(self) -> Successor:
        """The memory that takes its place, with the text of the change; this one still has to
        end. Raises Refused."""
        raise Refused("this format has no way to do it", where=self.memory.ref)

    def take_over(self, others: Sequence[Any]) -> tuple[Edit, ...]:
        """The edits by which this memory says that it has taken the place of these targets."""
        return self.entry.superseding(other.memory for other in others)

    def rejection(self) -> Plan | None:
        """The plan that says why the program would not take the text of a successor, if it would
        not and the person does not insist."""
        return None

    def link(self, relation: str, id: str) -> Members | None:  # noqa: ARG002
        """The members with one more link, none if it is there; None: the sidecar holds it."""
        return None

    def unlink(self, relation: str, id: str) -> Members | None:  # noqa: ARG002
        """The members without a link; None where the part has no such link."""
        return None

    def concerns(self, changed: Collection[str]) -> tuple[str, ...]:  # noqa: ARG002
        """Refs of other memories that are shown differently once these fields of it are not the
        same; all of them where it is deleted."""
        return ()

    # ---- for all of them ------------------------------------------------------------------------

    def check(self, new_text: str | None = None) -> None:
        """Raise Conflict if its text is not the one that the person saw."""
        check_unchanged(self.memory, self.text, self.where, new_text)

    def change_edits(
        self, changed: Mapping[str, Any], members: Members = MappingProxyType({})
    ) -> tuple[Edit, ...]:
        """The edits that set these fields, and these members. Raises Refused or Conflict."""
        members = dict(members)
        beside: dict[str, Any] = {}
        for name, value in changed.items():
            if name == "content":
                self.check(content_of(self.change))
            if name in self.fields:
                members |= self.fields[name](self, value)
            if name == "tags":
                own = [] if name in self.fields else tag_words(value)
                beside["tags"] = [tag for tag in own if tag not in self.native_tags]
        return self.write(members, beside)

    def write(self, members: Members, beside: Mapping[str, Any]) -> tuple[Edit, ...]:
        """The edits that set members of the part and keys of the sidecar entry."""
        return (*(self.put(members) if members else ()), *self.entry.set(**beside))

    def succeeded_by(self, id: str) -> dict[str, list[str]]:
        """The key of the sidecar entry that names one more successor; none without an id."""
        known = texts_of(self.entry.sidecar.entry(self.memory.id).get("superseded_by"))
        return {"superseded_by": list(dict.fromkeys([*known, id]))} if id else {}


class RecordTarget(Target):
    """A record of a JSON file."""

    text_key: ClassVar[str] = "content"

    def __init__(
        self,
        memory: Memory,
        change: Change,
        context: Any,
        file: JsonFile,
        named: NamedRecord | None,
    ) -> None:
        if named is None:
            raise Conflict(self.gone, where=str(file.path))
        super().__init__(memory, change, context)
        self.file, self.named = file, named

    @property
    def value(self) -> Mapping[str, Any]:
        """The record as the file has it now."""
        return self.named.value

    @property
    def where(self) -> str:
        return str(self.file.path)

    @property
    def text(self) -> str:
        return text_of(self.value.get(self.text_key))

    def put(self, members: Members) -> tuple[Edit, ...]:
        return self.file.put(self.named, members)

    def remove(self) -> tuple[Edit, ...]:
        return (self.file.edit(self.named, None),)

    def successor(self) -> Successor:
        """The same record with another id and text."""
        id = self.change.new_id or str(uuid.uuid4())
        value = {**self.value, self.file.id_key: id, self.text_key: content_of(self.change)}
        shard = self.context.shard_of(self.memory)
        beside = self.context.entry_edits(id, shard, supersedes=[self.memory.id])
        edits = (*self.file.insert(value, "  "), *beside)
        return Successor(id, edits, f"{id} supersedes {self.memory.id}")


# ---- imports -------------------------------------------------------------------------------------


def import_record(add: Callable[[Change, Any], Plan]) -> Callable[[Change, Any], Plan]:
    """The import of a record by the format's own `add`: what the record does not hold lies in the
    sidecar, its status too."""

    def planned(change: Change, context: Any) -> Plan:
        plan = add(change, context)
        if not plan.edits:
            return plan
        memory = importing.described_memory(change, plan.refs[0], "", content_of(change))
        values = importing.sidecar_values(change) | importing.sidecar_times(change)
        if memory.status not in CURRENT:
            values["status"] = memory.status
        shard = context.shard_of(memory)
        return replace(
            plan, edits=plans.with_entry(plan.edits, context, memory.id, shard, **values)
        )

    return planned


def convert_to_record(target: type[Target], kind: str) -> Callable[[Memory], ConvertedMemory]:
    """How a memory of another format becomes such a record, for `import_record`."""

    def convert(memory: Memory) -> ConvertedMemory:
        names = {"type", "title", "entity", "importance"}.intersection(target.fields)
        status = {"deleted": "retired", "proposed": "active"}.get(memory.status, memory.status)
        fields = {name: getattr(memory, name) for name in names} | {
            "id": importing.uuid_of(memory.store, memory.id),
            "content": memory.content if "title" in names else importing.text_with_title(memory),
            "created": memory.created,
            "updated": memory.updated,
            "status": status,
            "pinned": memory.pinned,
            "tags": memory.tags,
            "links": importing.converted_links(memory),
            "supersedes": importing.converted_ids(memory, memory.supersedes),
            "superseded_by": importing.converted_ids(memory, memory.superseded_by),
        }
        changes = (
            importing.kind_change(memory, kind),
            (memory.entity and "entity" not in names, "entity"),
            (status != memory.status, f"status {memory.status} (becomes {status})"),
        )
        return importing.converted(memory, fields, changes)

    return convert


# ---- acts ----------------------------------------------------------------------------------------


def plan_edit(change: Change, memory: Memory, context: Any) -> Plan:
    """Plan EDIT, RETYPE and, where the file holds tags, TAG."""
    target: Target = context.target(memory, change)
    changed = changed_values(change, memory, {*target.fields, "tags"})
    edits = target.change_edits(changed)
    others = target.concerns(changed) if edits else ()
    return plans.plan_one(change, memory, edits, tuple(target.warnings), others=others)


def plan_retire(change: Change, memory: Memory, context: Any) -> Plan:
    """Plan RETIRE, and DECLINE of a proposal."""
    target: Target = context.target(memory, change)
    target.check()
    edits = target.end("retired")
    plan = plans.plan_one(change, memory, edits, tuple(target.warnings), ends=True)
    return replace(plan, reason=target.retired) if edits else plan


def plan_restore(change: Change, memory: Memory, context: Any) -> Plan:
    target: Target = context.target(memory, change)
    warnings = plans.successor_warnings(memory)
    return plans.plan_one(change, memory, target.resume(), (*warnings, *target.warnings))


def plan_delete(change: Change, memory: Memory, context: Any) -> Plan:
    target: Target = context.target(memory, change)
    target.check()
    edits = (*target.remove(), *target.entry.removal())
    dangling = plans.dangling_warnings(memory, context.view.memories(context.label))
    warnings = (*dangling, *target.warnings)
    return plans.plan_one(change, memory, edits, warnings, others=target.concerns(ALL_FIELDS))


def plan_supersede(change: Change, memory: Memory, context: Any) -> Plan:
    target: Target = context.target(memory, change)
    target.check(content_of(change))
    if (rejected := target.rejection()) is not None:
        return rejected
    new = target.successor()
    edits = (*new.edits, *target.end("superseded", new.id))
    ref, warnings = context.ref(new.id), tuple(target.warnings)
    return plans.plan_successor(change, memory, ref, edits, new.reason, warnings)


def plan_merge(change: Change, memory: Memory, context: Any) -> Plan:
    """Keep this memory, with another text if one is given; the others are superseded by it."""
    target: Target = context.target(memory, change)
    others = context.others(change, memory)
    for other in others:
        if why := context.store.acts.not_on(change.act, other):
            raise Refused(why, where=other.ref)
    is_reworded = change.fields.get("content") not in (None, "", memory.content)
    text = {"content": change.fields["content"]} if is_reworded else {}
    gone: list[Target] = [context.target(other, change) for other in others]
    edits = (*target.change_edits(text), *target.take_over(gone))
    for other_target in gone:
        other_target.check()
        edits += other_target.end("superseded", memory.id)
        target.warnings += other_target.warnings
    return plans.plan_merge(change, memory, others, edits, tuple(target.warnings))


def plan_link(change: Change, memory: Memory, context: Any) -> Plan | None:
    """Plan a LINK that the part holds; None where the sidecar does."""
    target: Target = context.target(memory, change)
    relation, _ = ends = plans.requested_link(change, memory)
    members = target.link(*ends)
    if members is None:
        return None
    edits = target.put(members) if members else ()
    return plans.plan_one(change, memory, edits, others=target.concerns({relation}))


def plan_unlink(change: Change, memory: Memory, context: Any) -> Plan | None:
    """Plan an UNLINK of what the part holds, which the sidecar keeps as ended; None: it holds no
    such link."""
    target: Target = context.target(memory, change)
    relation, _ = ends = plans.requested_link(change, memory)
    members = target.unlink(*ends)
    if members is None:
        return None
    edits = (*target.put(members), *plans.ended_link_edits(change, target.entry, context.now))
    return plans.plan_one(change, memory, edits, others=target.concerns({relation}))


_HANDLERS: Mapping[Act, plans.ActHandler] = {
    Act.EDIT: plan_edit,
    Act.RETYPE: plan_edit,
    Act.RETIRE: plan_retire,
    Act.RESTORE: plan_restore,
    Act.DELETE: plan_delete,
    Act.SUPERSEDE: plan_supersede,
    Act.MERGE: plan_merge,
    Act.LINK: plan_link,
    Act.UNLINK: plan_unlink,
}


def record_acts(
    *targets: type[Target],
    handlers: Mapping[Act, plans.ActHandler] = MappingProxyType({}),
    **more: Any,
) -> plans.ActionSupport:
    """What a format can do whose memories are opened as one of these.

    Args:
        targets: What `target` of its context of planning gives.
        handlers: Of acts that it does in its own way, or that others have not.
        more: Other values of `ActionSupport`; `add` and `shard_of` are needed.
    """
    fields = frozenset({"tags"}.union(*(target.fields for target in targets)))
    usual = dict(_HANDLERS)
    if "type" not in fields:
        del usual[Act.RETYPE]
    return plans.ActionSupport(editable=fields, handlers={**usual, **handlers}, **more)
