"""Plan the acts whose result lies in the sidecar, in every store: pins, tags, links, ratings.

A store asks here for what its own format cannot write down.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path

from memtui.changes import Act, Change, Plan, SidecarEdit
from memtui.errors import Refused
from memtui.model import Link, Memory
from memtui.stores.plans import plan_one
from memtui.stores.sidecar import Sidecar, entry_links, link_to_json, sidecar_edits
from memtui.stores.values import from_iso, is_number, to_iso_seconds

SIDECAR_ACTS = frozenset({Act.PIN, Act.UNPIN, Act.TAG, Act.LINK, Act.UNLINK, Act.RATE, Act.REVIEW})
"""Acts that every store can do, whatever its format."""

RELATION = re.compile(r"[a-z][a-z0-9_]*")
"""The predicate rule of agent-memory (add-edge.sh:53), which the other formats' words fit too."""
RATINGS = (1, 5)


@dataclass(frozen=True, slots=True)
class SidecarEntry:
    """One memory and the sidecar that holds its entry."""

    memory: Memory
    root: Path
    sidecar: Sidecar
    shard: str
    """Key of the shard that holds the memory."""

    def set(self, **values: object) -> tuple[SidecarEdit, ...]:
        """The edit that sets these keys of the entry; none if they are set."""
        return sidecar_edits(self.root, self.sidecar, self.memory.id, self.shard, **values)

    def removal(self) -> tuple[SidecarEdit, ...]:
        """The edit that removes the entry, for a memory that is deleted."""
        before = self.sidecar.entries.get(self.memory.id)
        if before is None:
            return ()
        return (SidecarEdit(str(self.root), self.memory.id, before, None),)


def tag_edits(
    entry: SidecarEntry, wanted: object, native: Iterable[str] = ()
) -> tuple[SidecarEdit, ...]:
    """The edit that sets the tags, without `native` ones, which the store's files give."""
    if not isinstance(wanted, Sequence) or isinstance(wanted, str):
        raise Refused("tags are a list of words")
    own = set(native)
    tags = [str(tag).strip() for tag in wanted]
    return entry.set(tags=list(dict.fromkeys(t for t in tags if t and t not in own)))


def requested_link(change: Change, memory: Memory) -> tuple[str, str]:
    """The relation and the target of a LINK or UNLINK, the target without the store's label."""
    relation = str(change.fields.get("relation") or "")
    target = str(change.fields.get("target") or "").removeprefix(f"{memory.store}:")
    return relation, target


def _link(change: Change, entry: SidecarEntry) -> tuple[SidecarEdit, ...]:
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
        valid_from=_when(change.fields.get("valid_from")),
        valid_to=_when(change.fields.get("valid_to")),
        note=str(change.fields.get("note") or ""),
    )
    kept = entry_links(entry.sidecar.entry(entry.memory.id))
    return entry.set(links=[link_to_json(item) for item in (*kept, link)])


def _when(value: object) -> datetime | None:
    return value if isinstance(value, datetime) else from_iso(value)


def _unlink(change: Change, entry: SidecarEntry) -> tuple[SidecarEdit, ...]:
    relation, target = requested_link(change, entry.memory)
    kept = entry_links(entry.sidecar.entry(entry.memory.id))
    left = [link for link in kept if (link.relation, link.target) != (relation, target)]
    if len(left) == len(kept):
        raise Refused(f"there is no link {relation} to {target} that memtui made")
    return entry.set(links=[link_to_json(link) for link in left])


def _rate(change: Change, entry: SidecarEntry) -> tuple[SidecarEdit, ...]:
    rating = change.fields.get("rating")
    if rating in (None, 0):
        return entry.set(rating=None)
    low, high = RATINGS
    if not is_number(rating) or not low <= rating <= high:
        raise Refused(f"a rating is a number from {low} to {high}")
    return entry.set(rating=rating)


def plan_sidecar_act(
    change: Change,
    entry: SidecarEntry,
    now: datetime,
    native_tags: Iterable[str] = (),
) -> Plan:
    """Plan an act of `SIDECAR_ACTS`. Raises Refused."""
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
            edits = _unlink(change, entry)
        case Act.RATE:
            edits = _rate(change, entry)
        case Act.REVIEW:
            edits = entry.set(reviewed=to_iso_seconds(now))
        case _:
            raise Refused(f"{change.act} is not kept beside a store")
    return plan_one(change, entry.memory, edits)
