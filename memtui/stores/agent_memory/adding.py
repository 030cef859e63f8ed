"""A new fact: the rules are asked, then ADDED, DEDUPE, SUPERSEDED or REJECTED, and why."""

from __future__ import annotations

import uuid
from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Any

from memtui.changes import Change, Edit, Outcome, Plan
from memtui.errors import Refused
from memtui.files.json_spans import set_member
from memtui.files.reading import safe_join
from memtui.model import Memory
from memtui.stores.agent_memory import rules as asking
from memtui.stores.agent_memory.carried import (
    beside_fact,
    carried_fact,
    is_carried,
    plan_add_note,
)
from memtui.stores.agent_memory.fact_file import FactFile, open_facts
from memtui.stores.agent_memory.facts import ACTIVE, HISTORICAL, MANUAL, PLURALS
from memtui.stores.agent_memory.layout import ENTITIES, ITEMS, SUMMARY
from memtui.stores.agent_memory.notes import NOTES
from memtui.stores.agent_memory.rules import Rules
from memtui.stores.asked import content_of, created_of, word_of
from memtui.stores.json_file import LastRead
from memtui.stores.sidecar import Sidecar, edit, ids_in
from memtui.stores.timestamps import to_iso_seconds

_SINGULARS = {plural: singular for singular, plural in PLURALS.items()}
UNTYPED_FACT = "person"
"""Type of a fact about a new entity of which nobody said a type: the commonest one."""
_KNOWN_ID = "a fact with this id is there already"
_SHOWN = 50
"""Characters of another fact that a reason quotes."""


@dataclass(frozen=True, slots=True)
class Desk:
    """What planning needs to know of the store."""

    root: Path
    label: str
    sidecar: Sidecar
    rules: Rules
    now: Callable[[], datetime]
    last: LastRead[FactFile]

    def open(self, slug: str) -> FactFile:
        """An entity's facts as they are now. Raises Refused."""
        folder = safe_join(self.root / ENTITIES, slug)
        files = (folder / ITEMS, folder / SUMMARY)
        return self.last.get(slug, files, lambda: open_facts(self.root, slug, self.label))

    def beside(self, slug: str, id: str, **values: Any) -> tuple[Edit, ...]:
        """The sidecar edit that sets these keys for one fact; none when it says so already."""
        made = edit(self.root, self.sidecar, id, f"{ENTITIES}/{slug}", **values)
        return () if made is None else (made,)

    def succeeded(self, slug: str, id: str, by: str) -> tuple[Edit, ...]:
        """The sidecar edit that names one more successor of a fact."""
        known = ids_in(self.sidecar.entry(id), "superseded_by")
        return self.beside(slug, id, superseded_by=list(dict.fromkeys([*known, by])))


def slug_and_type(entity: str) -> tuple[str, str]:
    """`people/alice` as (alice, person); `alice` as (alice, ''). Raises Refused."""
    parts = entity.strip().strip("/").split("/")
    if len(parts) > 2 or not all(parts):
        raise Refused(
            "an entity of agent-memory is a type and a name", do="for example: people/alice"
        )
    slug = parts[-1].strip()
    if not slug.isprintable():
        raise Refused("the entity's name holds a control character")
    return slug, _SINGULARS.get(parts[0], parts[0]) if len(parts) == 2 else ""


def new_fact(change: Change, file: FactFile, stated: str, now: datetime) -> dict[str, Any]:
    """The fact's keys in the order in which the program writes them (add-fact.sh:43-52)."""
    return {
        "id": str(uuid.uuid4()),
        "content": content_of(change),
        "source": word_of(change, "source", MANUAL),
        "sourceRef": "",
        "entityType": _type(change, file, stated),
        "createdAt": to_iso_seconds(created_of(change, now)),
        "status": ACTIVE,
        "supersedes": None,
    }


def _type(change: Change, file: FactFile, stated: str) -> str:
    return word_of(change, "type", "") or file.type or stated or UNTYPED_FACT


def _plan_carried(change: Change, desk: Desk, file: FactFile, stated: str) -> Plan:
    value = carried_fact(change, _type(change, file, stated), desk.now())
    if any(named.id == value["id"] for named in file.records):
        return Plan((change,), outcome=Outcome.DEDUPE, reason=_KNOWN_ID)
    beside = desk.beside(file.slug, value["id"], **beside_fact(change))
    return Plan(
        changes=(change,),
        edits=(*file.insert(value), *beside),
        outcome=Outcome.ADDED,
        reason=_reason(value["id"], file.slug, []),
        refs=(f"{desk.label}:{value['id']}",),
        warnings=_no_importance(change),
    )


def _no_importance(change: Change) -> tuple[str, ...]:
    if change.fields.get("importance"):
        return ("agent-memory has no importance; it is derived from the fact",)
    return ()


def made_historical(file: FactFile, id: str) -> Edit:
    named = file.record(id)
    return file.edit(named, set_member(named.record.raw, "status", HISTORICAL))


def _quoted(memory: Memory) -> str:
    text = memory.content[:_SHOWN]
    return f'"{text}{"..." if len(memory.content) > _SHOWN else ""}"'


def _refused_by_rule(change: Change, content: str, active: list[Memory], rules: Rules) -> Plan:
    """The plan of an add that the rules stop; one with outcome ADDED when they do not."""
    broken = asking.broken_rule(content, rules)
    if broken:
        return Plan((change,), outcome=Outcome.REJECTED, reason=broken)
    same = asking.most_similar(content, active, rules)
    if same is not None:
        fact, score = same
        reason = f"New fact is {score:.2f} similar to existing: {_quoted(fact)}"
        return Plan((change,), outcome=Outcome.DEDUPE, reason=reason, refs=(fact.ref,))
    return Plan((change,), outcome=Outcome.ADDED)


def plan_add(change: Change, desk: Desk) -> Plan:
    """What adding this fact would come to. Writes nothing."""
    if change.fields.get("kind") == "note":
        return plan_add_note(change, desk.root, desk.label, desk.now())
    slug, stated = slug_and_type(word_of(change, "entity", ""))
    file = desk.open(slug)
    if slug == NOTES and not file.path.parent.exists():
        raise Refused("notes are files, not facts", do="add a note, or edit the one of that day")
    if is_carried(change):
        return _plan_carried(change, desk, file, stated)
    content = content_of(change)
    active = [fact for fact in file.memories if fact.extra.get("status") != HISTORICAL]
    verdict = _refused_by_rule(change, content, active, desk.rules)
    if verdict.outcome is not Outcome.ADDED and not change.force:
        return verdict
    value = new_fact(change, file, stated, desk.now())
    replaced = asking.contradicted(content, active, desk.rules)
    blocked = [fact for fact, _ in replaced if "unaddressable" in fact.extra]
    old = [fact for fact, _ in replaced if fact not in blocked]
    warnings = [f"forced: {verdict.reason}"] if verdict.reason else []
    warnings += [f"{_quoted(fact)} stays: {fact.extra['unaddressable']}" for fact in blocked]
    warnings += _no_importance(change)
    if old:
        value["supersedes"] = old[-1].id
    ref = f"{desk.label}:{value['id']}"
    return Plan(
        changes=(change,),
        edits=_edits(change, desk, file, value, old),
        outcome=Outcome.SUPERSEDED if old else Outcome.ADDED,
        reason=_reason(value["id"], slug, old),
        refs=(ref, *(fact.ref for fact in old)),
        supersedes=tuple(fact.ref for fact in old),
        warnings=tuple(warnings),
    )


def _reason(id: str, slug: str, old: list[Memory]) -> str:
    added = f"Added fact {id} to {slug}"
    return f"{added}, marked {', '.join(fact.id for fact in old)} historical" if old else added


def _edits(
    change: Change, desk: Desk, file: FactFile, value: dict[str, Any], old: list[Memory]
) -> tuple[Edit, ...]:
    """Old facts first, then the new one; what the file cannot hold goes beside.

    `supersedes` holds one id, the last; the others are kept in the sidecar.
    """
    edits: list[Edit] = [made_historical(file, fact.id) for fact in old]
    edits += file.insert(value)
    earlier = [fact.id for fact in old[:-1]]
    edits += desk.beside(
        file.slug,
        value["id"],
        supersedes=earlier,
        tags=[str(tag) for tag in change.fields.get("tags") or ()],
        pinned=change.fields.get("pinned") is True,
    )
    return tuple(edits)
