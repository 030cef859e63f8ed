"""Two or more facts that say the same become one: the first stays, the sidecar keeps the others.

The fact that stays takes over every source, the sum of the hits, the highest confidence, the links
and the pin. What it says does not change.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from memtui.changes import Change, Edit, Plan
from memtui.errors import Refused
from memtui.model import Memory
from memtui.stores.native import is_number, list_of, whole_number
from memtui.stores.outcomes import merged
from memtui.stores.overlay import keep
from memtui.stores.simple_memory.records import FACTS
from memtui.stores.simple_memory.targets import RecordDesk, Target


def merge(change: Change, memory: Memory, desk: RecordDesk) -> Plan:
    """The plan of a MERGE. Raises Refused."""
    kept = desk.target(memory)
    others = [desk.target(other) for other in desk.others(change, memory)]
    if any(target.part is not FACTS for target in (kept, *others)):
        raise Refused("only facts can be merged", where=memory.ref)
    lineage = dict.fromkeys([*kept.memory.supersedes, *(one.memory.id for one in others)])
    edits: list[Edit] = [
        *kept.with_members(_joined(kept.value, [one.value for one in others])),
        *kept.beside.set(supersedes=list(lineage)),
    ]
    for one in others:
        edits += [one.removed(), *_kept(one, kept)]
    gone = [one.memory for one in others]
    return merged(change, memory, gone, tuple(edits), _differences(kept, others))


def _kept(one: Target, into: Target) -> tuple[Edit, ...]:
    former = replace(one.memory, status="superseded", superseded_by=(into.memory.id,), pinned=False)
    place = {"file": one.part.file, "raw": one.raw}
    return one.beside.set(kept=keep(former, [place]), superseded_by=[into.memory.id], pinned=None)


def _joined(kept: Mapping[str, Any], others: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    """The keys of the fact that stays which the others add to."""
    values: dict[str, Any] = {}
    every = [kept, *others]
    for key in ("source_ids", "links"):
        items = [item for value in every for item in list_of(value.get(key))]
        distinct = [item for index, item in enumerate(items) if item not in items[:index]]
        if distinct and distinct != kept.get(key):
            values[key] = distinct
    hits = [whole_number(value.get("hits")) for value in every]
    if sum(hits) != hits[0]:
        values["hits"] = sum(hits)
    known = [value["confidence"] for value in every if is_number(value.get("confidence"))]
    if known and max(known) != kept.get("confidence"):
        values["confidence"] = max(known)
    if any(value.get("pinned") is True for value in others) and kept.get("pinned") is not True:
        values["pinned"] = True
    return values


def _differences(kept: Target, others: Sequence[Target]) -> tuple[str, ...]:
    """What would be lost from view because it differs."""
    return tuple(
        f"{one.memory.id} does not say the same as {kept.memory.id}: its text is only kept beside"
        for one in others
        if any(one.value.get(key) != kept.value.get(key) for key in ("s", "p", "o"))
    )
