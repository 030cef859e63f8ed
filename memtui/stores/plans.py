"""What planning starts from (`PlanContext`), and the plans that every format has in common.

The acts whose result lies in the sidecar (pins, tags, links, ratings, reviews), the outcome of a
change once its edits are known, and the repeated additions of a batch: changes of one action that
are planned one after the other before any of them is applied. `ActionSupport` lists what a format
does for each act.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

from msgspec import Struct, field
from msgspec.structs import replace

from memtui.changes import Act, Change, Edit, Kind, Outcome, Plan, sidecar_edit
from memtui.errors import RefError, Refused
from memtui.model import ENDED_LINKS, Link, Memory
from memtui.stores.base import StoreView
from memtui.stores.sidecar import (
    Sidecar,
    changed_entry,
    entry_links,
    link_to_json,
    sidecar_edits,
)
from memtui.stores.values import from_iso, is_number, tag_words, texts_of, to_iso_seconds
from memtui.text import counted, one_line

if TYPE_CHECKING:
    from memtui.stores.file_store import FileStore

SIDECAR_ACTS = frozenset(
    {Act.PIN, Act.UNPIN, Act.TAG, Act.LINK, Act.UNLINK, Act.RATE, Act.REVIEW, Act.HIDE}
)
"""Acts that every store can do, whatever its format."""

RELATION = re.compile(r"[a-z][a-z0-9_]*")
"""The predicate rule of agent-memory (add-edge.sh:53), which the other formats' words fit too."""
RATINGS = (1, 5)


class SidecarEntry(Struct, frozen=True):
    """One memory and the sidecar that holds its entry."""

    memory: Memory
    root: Path
    sidecar: Sidecar
    shard: str
    """Key of the shard that holds the memory."""

    def set(self, **values: object) -> tuple[Edit, ...]:
        """The edit that sets these keys of the entry; () if it has these values already."""
        return sidecar_edits(self.root, self.sidecar, self.memory.id, self.shard, **values)

    def superseding(self, others: Iterable[Memory]) -> tuple[Edit, ...]:
        """The edit that adds these memories to those that this one supersedes."""
        known = texts_of(self.sidecar.entry(self.memory.id).get("supersedes"))
        return self.set(supersedes=list(dict.fromkeys([*known, *(o.id for o in others)])))

    def removal(self) -> tuple[Edit, ...]:
        """The edit that removes the entry, for a memory that is deleted."""
        before = self.sidecar.entries.get(self.memory.id)
        if before is None:
            return ()
        return (sidecar_edit(str(self.root), self.memory.id, before, None),)


def tag_edits(
    entry: SidecarEntry, new_tags: object, native: Iterable[str] = ()
) -> tuple[Edit, ...]:
    """The edit that sets the tags, without `native` ones, which the store's files give."""
    own = set(native)
    return entry.set(tags=[tag for tag in tag_words(new_tags) if tag not in own])


def requested_link(change: Change, memory: Memory) -> tuple[str, str]:
    """The relation and the target of a LINK or UNLINK, the target without the store's label."""
    relation = str(change.fields.get("relation") or "")
    target = str(change.fields.get("target") or "").removeprefix(f"{memory.store}:")
    return relation, target


def leads_to_other_store(change: Change, memory: Memory, view: StoreView) -> bool:
    """Whether a LINK or UNLINK names a memory of another store, by its ref."""
    target = str(change.fields.get("target") or "")
    label, colon, _ = target.partition(":")
    if change.act not in (Act.LINK, Act.UNLINK) or not colon or label == memory.store:
        return False
    if change.act is Act.UNLINK:
        return any(link.target == target for link in memory.links)
    try:
        return view.get(target).store != memory.store
    except RefError:
        return False


def _link(change: Change, entry: SidecarEntry) -> tuple[Edit, ...]:
    relation, target = requested_link(change, entry.memory)
    if not RELATION.fullmatch(relation):
        raise Refused(
            "a relation is a word of lower-case letters, digits and _",
            where=relation,
            do="for example: works_at, depends_on",
        )
    if not target:
        raise Refused("a link needs a memory or an entity to lead to")
    if any((link.relation, link.target) == (relation, target) for link in entry.memory.links):
        return ()
    link = Link(
        relation=relation,
        target=target,
        valid_from=_time_of(change.fields.get("valid_from")),
        valid_to=_time_of(change.fields.get("valid_to")),
        note=str(change.fields.get("note") or ""),
    )
    sidecar_links = entry_links(entry.sidecar.entry(entry.memory.id))
    return entry.set(links=[link_to_json(item) for item in (*sidecar_links, link)])


def _time_of(value: object) -> datetime | None:
    return value if isinstance(value, datetime) else from_iso(value)


def _unlink(change: Change, entry: SidecarEntry, now: datetime) -> tuple[Edit, ...]:
    """End a link now; the sidecar stores it as ended, so that former links can be shown."""
    relation, target = requested_link(change, entry.memory)
    known = entry.sidecar.entry(entry.memory.id)
    links = entry_links(known)
    left = [link for link in links if (link.relation, link.target) != (relation, target)]
    if len(left) == len(links):
        raise Refused(one_line(f"there is no link {relation} to {target} that memtui made"))
    ended = [link for link in links if link not in left]
    return entry.set(links=[link_to_json(link) for link in left], **_ended(entry, ended, now))


def _ended(entry: SidecarEntry, links: Iterable[Link], now: datetime) -> dict[str, object]:
    known = entry_links(entry.sidecar.entry(entry.memory.id), ENDED_LINKS)
    every = (*known, *(replace(link, valid_to=now) for link in links))
    return {ENDED_LINKS: [link_to_json(link) for link in every]}


def ended_link_edits(change: Change, entry: SidecarEntry, now: datetime) -> tuple[Edit, ...]:
    """The edit that stores a removed link as ended, where the format cannot record its end."""
    relation_and_target = requested_link(change, entry.memory)
    links = [
        link for link in entry.memory.links if (link.relation, link.target) == relation_and_target
    ]
    return entry.set(**_ended(entry, links, now))


def _rate(change: Change, entry: SidecarEntry) -> tuple[Edit, ...]:
    rating = change.fields.get("rating")
    if rating in (None, 0):
        return entry.set(rating=None)
    low, high = RATINGS
    if not is_number(rating) or not low <= rating <= high:
        raise Refused(f"a rating is a number from {low} to {high}")
    return entry.set(rating=rating)


def plan_sidecar_act(
    change: Change, entry: SidecarEntry, now: datetime, native_tags: Iterable[str] = ()
) -> Plan:
    """Plan an act of `SIDECAR_ACTS`, or RESTORE what only memtui hides. Raises Refused."""
    match change.act:
        case Act.PIN:
            edits = () if entry.memory.pinned else entry.set(pinned=True)
        case Act.UNPIN:
            edits = entry.set(pinned=None)
        case Act.TAG:
            edits = tag_edits(entry, change.fields.get("tags", ()), native_tags)
        case Act.LINK:
            edits = _link(change, entry)
        case Act.UNLINK:
            edits = _unlink(change, entry, now)
        case Act.RATE:
            edits = _rate(change, entry)
        case Act.REVIEW:
            edits = entry.set(reviewed=to_iso_seconds(now))
        case Act.HIDE:
            return plan_one(change, entry.memory, entry.set(status="retired"), ends=True)
        case Act.RESTORE:
            edits = entry.set(status=None, superseded_by=None)
        case _:
            raise Refused(f"{change.act} is not kept beside a store")
    return plan_one(change, entry.memory, edits)


def plan_one(
    change: Change,
    memory: Memory,
    edits: tuple[Edit, ...],
    warnings: tuple[str, ...] = (),
    *,
    ends: bool = False,
    others: Iterable[str] = (),
) -> Plan:
    """The plan of a change to this memory; outcome NOTHING without edits.

    `ends`: whether the memory would stop being current; `others`: refs of further memories that
    the change concerns.
    """
    return Plan(
        changes=(change,),
        edits=edits,
        outcome=Outcome.DONE if edits else Outcome.NOTHING,
        reason="" if edits else "it is so already",
        refs=(memory.ref, *others),
        supersedes=(memory.ref,) if ends and edits else (),
        warnings=warnings,
    )


def plan_duplicate(change: Change, subject: str, ref: str = "") -> Plan:
    """The plan of an import that repeats an existing memory: nothing is written.

    Args:
        change: The ADD.
        subject: What is repeated, for people: `the same text`.
        ref: Ref of the existing memory, if it is known.
    """
    reason = f"{subject} already exists"
    return Plan((change,), outcome=Outcome.DEDUPE, reason=reason, refs=(ref,) if ref else ())


def plan_successor(
    change: Change,
    memory: Memory,
    ref: str,
    edits: tuple[Edit, ...],
    reason: str,
    warnings: tuple[str, ...] = (),
) -> Plan:
    """The plan of a SUPERSEDE: the new memory `ref` takes the place of this one."""
    refs = (ref, memory.ref)
    return Plan((change,), edits, Outcome.SUPERSEDED, reason, refs, (memory.ref,), warnings)


def plan_merge(
    change: Change,
    memory: Memory,
    others: Sequence[Memory],
    edits: tuple[Edit, ...],
    warnings: tuple[str, ...] = (),
) -> Plan:
    """The plan of merging others into this memory, which stays."""
    refs = tuple(other.ref for other in others)
    return Plan(
        changes=(change,),
        edits=edits,
        refs=(memory.ref, *refs),
        supersedes=refs,
        reason=f"merged with {counted(len(others), 'memory')}",
        warnings=warnings,
    )


def with_moved_references(plan: Plan, memory: Memory, context: PlanContext) -> Plan:
    """The plan of a MERGE with the references to the memories that go, which lead to `memory` then.

    Links in the sidecar are rewritten here, those in records by the format. What can be neither is
    named in a warning.
    """
    gone = {ref.partition(":")[2] for ref in plan.supersedes}
    written = {edit.id for edit in plan.edits if edit.kind is Kind.RECORD and edit.after}
    edits = plan.edits
    moved: list[str] = []
    warnings: list[str] = []
    for other in context.view.memories(context.label):
        named = [link for link in other.links if link.target in gone]
        if not named or other.id in gone:
            continue
        links = entry_links(context.sidecar.entry(other.id))
        new = dict.fromkeys(
            replace(link, target=memory.id) if link.target in gone else link
            for link in links
            if link.target not in gone or other.id != memory.id  # none leads to itself
        )
        if list(new) != list(links):
            values = [link_to_json(link) for link in new]
            edits = with_entry(edits, context, other.id, context.shard_of(other), links=values)
        if other.id == memory.id:
            continue
        if set(named) <= set(links) or other.id in written:
            moved.append(other.ref)
        else:
            warnings.append(f"{other.id} still names {named[0].target}")
    reason = plan.reason
    if moved:
        reason += f"; {counted(len(moved), 'reference')} to what goes lead to {memory.id} now"
    return replace(
        plan,
        edits=edits,
        reason=reason,
        refs=(*plan.refs, *moved),
        warnings=(*plan.warnings, *warnings),
    )


def with_succession(plan: Plan, change: Change, context: PlanContext) -> Plan:
    """The plan of a change that supersedes memories, whose pin and tags go to the successor.

    What is superseded does not stay pinned. A merge keeps the tags of the memory that stays.
    """
    if change.act not in (Act.SUPERSEDE, Act.ADD, Act.MERGE) or not plan.edits:
        return plan
    olds = [context.view.get(ref) for ref in plan.supersedes]
    if not olds:
        return plan
    acts, edits = context.store.acts, plan.edits
    pinned = [old for old in olds if old.pinned]
    removed = {edit.id for edit in edits if edit.kind is Kind.RECORD and edit.after is None}
    for old in pinned:
        unpin = None if old.id in removed else acts.handlers.get(Act.UNPIN)
        given = unpin(Change(Act.UNPIN, change.store, old.ref), old, context) if unpin else None
        native = [edit for edit in given.edits if edit.kind is not Kind.SIDECAR] if given else []
        edits = with_entry((*edits, *native), context, old.id, context.shard_of(old), pinned=None)
    id = plan.refs[0].removeprefix(f"{context.label}:")
    values: dict[str, Any] = {"pinned": True} if pinned else {}
    if change.act is not Act.MERGE:
        known = [tag for old in olds for tag in old.tags]
        native_tags = {tag for old in olds for tag in acts.native_tags(old)}
        tags = tag_words(change.fields.get("tags", known))
        values["tags"] = [tag for tag in tags if tag not in native_tags]
    return replace(plan, edits=with_entry(edits, context, id, context.shard_of(olds[0]), **values))


def with_entry(
    edits: tuple[Edit, ...], context: PlanContext, id: str, shard: str, **values: Any
) -> tuple[Edit, ...]:
    """The edits, which also set these keys of an entry of the sidecar that they may change
    already."""
    for at, edit in enumerate(edits):
        if edit.kind is Kind.SIDECAR and edit.id == id and edit.after is not None:
            entry = changed_entry(edit.after, edit.after.get("shard", shard), values)
            changed = () if entry == edit.before else (replace(edit, after=entry),)
            return (*edits[:at], *changed, *edits[at + 1 :])
    return (*edits, *context.entry_edits(id, shard, **values))


def dangling_warnings(memory: Memory, among: Iterable[Memory]) -> tuple[str, ...]:
    """Warn of each of these memories that names one which is about to be deleted."""
    return tuple(
        f"{other.id} names it and will point nowhere"
        for other in among
        if memory.id in other.supersedes or any(link.target == memory.id for link in other.links)
    )


def successor_warnings(memory: Memory) -> tuple[str, ...]:
    """Warn that the successors of a restored memory stay current."""
    if not memory.superseded_by:
        return ()
    return (f"{', '.join(memory.superseded_by)} took its place and stays active too",)


_IDENTITY_FIELDS = ("kind", "title", "content", "type", "entity")
"""Fields by which two ADDs are recognised as equal."""


class BatchView(Struct, frozen=True):
    """The memories of a store, and the changes of this action that are planned so far."""

    view: StoreView
    planned: Sequence[Plan]

    def get(self, ref: str) -> Memory:
        """Raises RefError."""
        return self.view.get(ref)

    def memories(self, store: str) -> Iterable[Memory]:
        """All memories that exist; planned ones are not among them."""
        return self.view.memories(store)


def planned_before(view: StoreView) -> Sequence[Plan]:
    """The plans made so far for the action that this view belongs to."""
    return view.planned if isinstance(view, BatchView) else ()


def named_refs(change: Change) -> set[str]:
    """Refs of the memories that a change is of: the one it names, and those that it merges."""
    others = change.fields.get("others") if change.act is Act.MERGE else ()
    named = others if isinstance(others, list | tuple) else ()
    label = f"{change.store}:"
    refs = (f"{label}{str(each).removeprefix(label)}" for each in named)
    return {ref for ref in (change.ref, *refs) if ref}


def repeated_change(change: Change, planned: Iterable[Plan]) -> Plan | None:
    """The plan of a change that repeats one of these plans: nothing to do. None for any other.

    ADDs are equal by what they say, others by all that they ask for.
    """
    if change.act is Act.ADD and (change.force or change.fields.get("id")):
        return None
    for plan in planned:
        for known in plan.changes:
            if change.act is not Act.ADD:
                if known == change:
                    reason = "the same is planned already"
                    return Plan((change,), (), Outcome.NOTHING, reason, (change.ref,))
            elif known.act is Act.ADD and plan.edits and _identity(known) == _identity(change):
                reason = "the same is added already"
                return Plan((change,), outcome=Outcome.DEDUPE, reason=reason, refs=plan.refs[:1])
    return None


def _identity(change: Change) -> tuple[object, ...]:
    return (change.store, *(change.fields.get(name) or "" for name in _IDENTITY_FIELDS))


# ---- context of planning ------------------------------------------------------------------------


@dataclass(frozen=True)  # a subclass narrows the type of `store`
class PlanContext:
    """One store, while one change is planned. A format whose acts need more makes a subclass, and
    names it as `FileStore.context`."""

    store: FileStore
    view: StoreView
    sidecar: Sidecar
    now: datetime

    @property
    def root(self) -> Path:
        return self.store.root

    @property
    def label(self) -> str:
        return self.store.label

    def shard_of(self, memory: Memory) -> str:
        """Key of the shard that holds a memory."""
        return self.store.acts.shard_of(memory)

    def ref(self, named: object) -> str:
        """The ref of a memory of this store that is named by its id or its ref."""
        return f"{self.label}:{str(named).removeprefix(f'{self.label}:')}"

    def sidecar_entry(self, memory: Memory) -> SidecarEntry:
        """The memory and its entry in the sidecar."""
        return SidecarEntry(memory, self.root, self.sidecar, self.shard_of(memory))

    def entry_edits(self, id: str, shard: str, **values: Any) -> tuple[Edit, ...]:
        """The edit that sets these keys of a memory's entry; () if it has these values already.

        For a memory that does not exist yet, or whose shard is known.
        """
        return sidecar_edits(self.root, self.sidecar, id, shard, **values)

    @property
    def planned_refs(self) -> set[str]:
        """Refs of what the changes planned so far in this action concern."""
        return {ref for plan in planned_before(self.view) for ref in plan.refs}

    def others(self, change: Change, memory: Memory) -> tuple[Memory, ...]:
        """The memories that a MERGE would merge into this one. Raises Refused or RefError."""
        named = change.fields.get("others")
        refs = dict.fromkeys(map(self.ref, named if isinstance(named, list | tuple) else ()))
        others = tuple(self.view.get(ref) for ref in refs if ref != memory.ref)
        if not others:
            raise Refused("there is nothing to merge it with", where=memory.ref)
        return others


ActHandler = Callable[[Change, Memory, Any], Plan | None]
"""Plans one act on a memory that exists, in the context of its store. None: the format cannot hold
what is asked, so that the sidecar does. Raises Refused, Conflict or RefError."""


class ActionSupport(Struct, frozen=True):
    """How a format does what it can, and why it cannot do the rest.

    The acts that every store can do (`SIDECAR_ACTS`) need not be named here.
    """

    editable: frozenset[str]
    """The fields that EDIT can change."""
    add: Callable[[Change, Any], Plan]
    """Plans an ADD; of an import too, which has an id already, if `add_imported` is None. Raises
    Refused."""
    handlers: Mapping[Act, ActHandler]
    shard_of: Callable[[Memory], str]
    """Key of the shard that holds a memory."""
    unsupported: Mapping[Act, str] = field(default_factory=dict)
    """Why the format has no way to do an act, where there is more to say than that it has none."""
    add_imported: Callable[[Change, Any], Plan] | None = None
    """Plans the ADD of an import. Raises Refused."""
    not_on: Callable[[Act, Memory], str] = field(default=lambda _act, _memory: "")
    """Why an act that the format has cannot be done on this memory; empty when it can."""
    native_tags: Callable[[Memory], Iterable[str]] = field(default=lambda _memory: ())
    """Tags that the files themselves give, so that they are not kept twice."""
