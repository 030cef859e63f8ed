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
from memtui.stores.sidecar import keep
from memtui.stores.simple_memory.records import FACTS
from memtui.stores.simple_memory.targets import Desk, Target


def merge(change: Change, desk: Desk) -> Plan:
    """The plan of a MERGE: `others` are ids or refs. Raises Refused."""
    named = change.fields.get("others")
    if isinstance(named, str) or not isinstance(named, Sequence) or not named:
        raise Refused("a merge needs at least two facts", where=change.ref)
    kept = desk.target(change.ref)
    ids = dict.fromkeys(desk.id_of(other) for other in named)
    others = [desk.target(f"{desk.label}:{id}") for id in ids if id != kept.memory.id]
    if not others or any(target.part is not FACTS for target in (kept, *others)):
        raise Refused("only facts can be merged, two or more of them", where=change.ref)
    lineage = dict.fromkeys([*kept.memory.supersedes, *(one.memory.id for one in others)])
    edits: list[Edit] = [
        *kept.with_members(_joined(kept.value, [one.value for one in others])),
        *kept.beside.set(supersedes=list(lineage)),
    ]
    for one in others:
        edits += [one.removed(), *_kept(one, kept)]
    refs = tuple(one.memory.ref for one in others)
    return Plan(
        changes=(change,),
        edits=tuple(edits),
        refs=(kept.memory.ref, *refs),
        supersedes=refs,
        warnings=_differences(kept, others),
    )


def _kept(one: Target, into: Target) -> tuple[Edit, ...]:
    former = replace(one.memory, status="superseded", superseded_by=(into.memory.id,), pinned=False)
    place = {"file": one.part.file, "raw": one.raw}
    return one.beside.set(kept=keep(former, [place]), superseded_by=[into.memory.id], pinned=None)


def _joined(kept: Mapping[str, Any], others: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    """The keys of the fact that stays which the others add to."""
    values: dict[str, Any] = {}
    every = [kept, *others]
    for key in ("source_ids", "links"):
        items = [item for value in every for item in _list(value.get(key))]
        distinct = [item for index, item in enumerate(items) if item not in items[:index]]
        if distinct and distinct != kept.get(key):
            values[key] = distinct
    hits = [_count(value.get("hits")) for value in every]
    if sum(hits) != hits[0]:
        values["hits"] = sum(hits)
    known = [value["confidence"] for value in every if _is_number(value.get("confidence"))]
    if known and max(known) != kept.get("confidence"):
        values["confidence"] = max(known)
    if any(value.get("pinned") is True for value in others) and kept.get("pinned") is not True:
        values["pinned"] = True
    return values


def _list(value: object) -> list[Any]:
    return value if isinstance(value, list) else []


def _is_number(value: object) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


def _count(value: object) -> int:
    return value if isinstance(value, int) and not isinstance(value, bool) else 0


def _differences(kept: Target, others: Sequence[Target]) -> tuple[str, ...]:
    """What would be lost from view because it differs."""
    return tuple(
        f"{one.memory.id} does not say the same as {kept.memory.id}: its text is only kept beside"
        for one in others
        if any(one.value.get(key) != kept.value.get(key) for key in ("s", "p", "o"))
    )
