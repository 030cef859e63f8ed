"""Plan new facts by the program's rules: ADDED, DEDUPE, SUPERSEDED or REJECTED."""

from __future__ import annotations

import uuid
from datetime import datetime
from typing import Any

from memtui.changes import Change, Edit, Outcome, Plan
from memtui.errors import Refused
from memtui.model import Memory
from memtui.stores.agent_memory.importing import fact_sidecar_values, imported_fact, plan_add_note
from memtui.stores.agent_memory.notes import NOTES
from memtui.stores.agent_memory.records import (
    ACTIVE,
    HISTORICAL,
    INDENT,
    MANUAL,
    PLURALS,
    FactContext,
    FactFile,
)
from memtui.stores.agent_memory.rules import FactRules, broken_rule, contradicted, most_similar
from memtui.stores.change_validation import UNADDRESSABLE, content_of, created_of, word_of
from memtui.stores.importing import is_import, texts_in
from memtui.stores.plans import plan_duplicate, planned_before
from memtui.stores.values import to_iso_seconds

_SINGULARS = {plural: singular for singular, plural in PLURALS.items()}
UNTYPED_FACT = "person"
"""Type of a fact about a new entity of which nobody said a type: the commonest one."""
_SHOWN = 50
"""Characters of another fact that a reason quotes."""


def slug_and_type(entity: str) -> tuple[str, str]:
    """Split `people/alice` into (alice, person), and `alice` into (alice, ''). Raises Refused."""
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
    """Build the record of a new fact, keys in the program's order (add-fact.sh:43-52)."""
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


def _plan_import(change: Change, context: FactContext, file: FactFile, stated: str) -> Plan:
    value = imported_fact(change, _type(change, file, stated), context.now)
    id = value["id"]
    if any(named.id == id for named in file.records):
        return plan_duplicate(change, "a fact with this id")
    return Plan(
        changes=(change,),
        edits=(
            *file.items.insert(value, INDENT),
            *context.fact_entry_edits(file.slug, id, **fact_sidecar_values(change)),
        ),
        outcome=Outcome.ADDED,
        reason=_reason(id, file.slug, []),
        refs=(context.ref(id),),
        warnings=_no_importance(change),
    )


def _no_importance(change: Change) -> tuple[str, ...]:
    if change.fields.get("importance"):
        return ("agent-memory has no importance; it is derived from the fact",)
    return ()


def mark_historical(file: FactFile, id: str) -> tuple[Edit, ...]:
    return file.items.put(file.record(id), {"status": HISTORICAL})


def _quoted(memory: Memory) -> str:
    text = memory.content[:_SHOWN]
    return f'"{text}{"..." if len(memory.content) > _SHOWN else ""}"'


def _refused_by_rule(change: Change, content: str, active: list[Memory], rules: FactRules) -> Plan:
    """The plan of an add that the rules reject; a plan with outcome ADDED when they accept it."""
    broken = broken_rule(content, rules)
    if broken:
        return Plan((change,), outcome=Outcome.REJECTED, reason=broken)
    repeated = most_similar(content, active, rules)
    if repeated is not None:
        fact, score = repeated
        reason = f"New fact is {score:.2f} similar to existing: {_quoted(fact)}"
        return Plan((change,), outcome=Outcome.DEDUPE, reason=reason, refs=(fact.ref,))
    return Plan((change,), outcome=Outcome.ADDED)


def plan_add(change: Change, context: FactContext) -> Plan:
    """Plan the addition of a fact or a note. Raises Refused."""
    if change.fields.get("kind") == "note":
        return plan_add_note(change, context)
    slug, stated = slug_and_type(word_of(change, "entity", ""))
    file = context.open(slug)
    if slug == NOTES and not file.items.path.parent.exists():
        raise Refused("notes are files, not facts", do="add a note, or edit the one of that day")
    if is_import(change):
        return _plan_import(change, context, file, stated)
    content = content_of(change)
    active = file.active
    coming = file.planned_facts(planned_before(context.view), context.label)
    verdict = _refused_by_rule(change, content, [*active, *coming], context.rules)
    if verdict.outcome is not Outcome.ADDED and not change.force:
        return verdict
    value = new_fact(change, file, stated, context.now)
    replaced = contradicted(content, active, context.rules)
    blocked = [fact for fact, _ in replaced if UNADDRESSABLE in fact.extra]
    old = [fact for fact, _ in replaced if fact not in blocked]
    warnings = [f"forced: {verdict.reason}"] if verdict.reason else []
    warnings += [f"{_quoted(fact)} stays: {fact.extra[UNADDRESSABLE]}" for fact in blocked]
    warnings += [
        f"{_quoted(fact)}, added along with it, says otherwise"
        for fact, _ in contradicted(content, coming, context.rules)
    ]
    warnings += _no_importance(change)
    if old:
        value["supersedes"] = old[-1].id
    ref = context.ref(value["id"])
    return Plan(
        changes=(change,),
        edits=_edits(change, context, file, value, old),
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
    change: Change, context: FactContext, file: FactFile, value: dict[str, Any], old: list[Memory]
) -> tuple[Edit, ...]:
    """The edits of an add: old facts first, then the new one, then its sidecar entry.

    `supersedes` holds one id, the last; the others are kept in the sidecar.
    """
    edits = [edit for fact in old for edit in mark_historical(file, fact.id)]
    edits += file.items.insert(value, INDENT)
    earlier = [fact.id for fact in old[:-1]]
    edits += context.fact_entry_edits(
        file.slug,
        value["id"],
        supersedes=earlier,
        tags=texts_in(change, "tags"),
        pinned=change.fields.get("pinned") is True,
    )
    return tuple(edits)
