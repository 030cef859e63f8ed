"""Change one record: its text, its fields, its status.

Only the values that change are written. A fact is edited as the line a person sees, subject,
predicate and object; the first two must stay, because they say what the fact is about. A schema
item whose text changes gets the next version, and the sidecar keeps the former text as
`<id>@v<version>`, which the item then supersedes.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from memtui.changes import Act, Change, Edit, Plan, SidecarEdit
from memtui.errors import Refused
from memtui.files.json.editing import has_member
from memtui.model import IMPORTANCES, Memory
from memtui.stores.change_validation import RATING_OF, asked_values, content_of, same_as_seen
from memtui.stores.overlay import keep
from memtui.stores.plans import plan_merge
from memtui.stores.simple_memory.record_files import KEPT_STATUS, RecordContext, RecordTarget
from memtui.stores.simple_memory.records import (
    CONFIRMED,
    EPISODES,
    FACTS,
    OUTDATED,
    SCHEMA,
    SCHEMA_KINDS,
    sentence,
    tags_of,
)
from memtui.stores.values import is_number, list_of, text_of, whole_number

EDITABLE = frozenset({"content", "title", "type", "importance", "entity", "tags", "confidence"})

SHARE_OF = {"high": 0.9, "medium": 0.5, "low": 0.1}
"""What is written in a record whose `importance` is a share of 1."""


@dataclass(slots=True)
class RecordDraft:
    """What an edit comes to, field by field."""

    members: dict[str, Any] = field(default_factory=dict)
    """Keys of the record."""
    beside: dict[str, Any] = field(default_factory=dict)
    """Keys of the memory's sidecar entry."""
    more: tuple[SidecarEdit, ...] = ()

    def edits(self, target: RecordTarget) -> tuple[Edit, ...]:
        return (
            *target.with_members(self.members),
            *target.beside.set(**self.beside),
            *self.more,
        )


def edit(change: Change, memory: Memory, context: RecordContext) -> tuple[Edit, ...]:
    """The edits of an EDIT or RETYPE. Raises Refused or Conflict."""
    target = context.target(memory)
    draft = RecordDraft()
    _fill(draft, change, target, context)
    return draft.edits(target)


def _fill(draft: RecordDraft, change: Change, target: RecordTarget, context: RecordContext) -> None:
    for name, value in asked_values(change, target.memory, EDITABLE).items():
        if name == "content":
            _content(change, target, draft, context)
        else:
            _FIELDS[name](value, target, draft)


def _content(
    change: Change, target: RecordTarget, draft: RecordDraft, context: RecordContext
) -> None:
    text = content_of(change)
    same_as_seen(target.memory, _content_now(target), target.path, text)
    if target.part is FACTS:
        draft.members["o"] = _object(text, target)
        return
    draft.members[target.part.text_key] = text
    if target.part is SCHEMA:
        _next_version(target, draft, context)


def _content_now(target: RecordTarget) -> str:
    if target.part is FACTS:
        return sentence(target.value)
    return text_of(target.value.get(target.part.text_key))


def _object(text: str, target: RecordTarget) -> object:
    """The object of a fact from its whole line; a number stays a number."""
    head = f"{text_of(target.value.get('s'))} {text_of(target.value.get('p'))} "
    if not text.startswith(head) or not text[len(head) :].strip():
        raise Refused(
            "subject and predicate of a fact stay as they are",
            where=target.memory.ref,
            do="change only what follows them, or add another fact",
        )
    words = text[len(head) :].strip()
    old = target.value.get("o")
    if is_number(old):
        for number in (int, float):
            try:
                return number(words)
            except ValueError:
                continue
    return words


def _next_version(target: RecordTarget, draft: RecordDraft, context: RecordContext) -> None:
    version = whole_number(target.value.get("version"), 1)
    draft.members["version"] = version + 1
    former = former_text(target.memory, f"{target.memory.id}@v{version}")
    draft.beside["supersedes"] = [former.id]
    draft.more = context.noted_record(former.id, kept=keep(former))


def former_text(memory: Memory, id: str) -> Memory:
    """The memory as it was, to be kept under another id."""
    return replace(
        memory,
        id=id,
        ref=f"{memory.store}:{id}",
        status="superseded",
        pinned=False,
        superseded_by=(memory.id,),
    )


def _title(value: object, target: RecordTarget, draft: RecordDraft) -> None:
    if target.part is not EPISODES:
        raise Refused("only an episode has a title", where=target.memory.ref)
    if not isinstance(value, str) or not value.strip():
        raise Refused("a title must say something", where=target.memory.ref)
    draft.members["title"] = value


def _type(value: object, target: RecordTarget, draft: RecordDraft) -> None:
    if target.part is not SCHEMA:
        raise Refused("only a schema item has a type", where=target.memory.ref)
    draft.members["kind"] = schema_kind(value)


def schema_kind(value: object) -> str:
    """One of the four kinds. Raises Refused."""
    if value not in SCHEMA_KINDS:
        raise Refused(f"the type is one of {', '.join(SCHEMA_KINDS)}")
    return str(value)


def _importance(value: object, target: RecordTarget, draft: RecordDraft) -> None:
    if value not in IMPORTANCES:
        raise Refused(f"the importance is one of {', '.join(IMPORTANCES)}")
    wanted = str(value)
    if not has_member(target.raw, "importance"):
        draft.beside["rating"] = RATING_OF[wanted]
        return
    old = target.value["importance"]
    is_share = isinstance(old, float) or (isinstance(old, int) and old in (0, 1))
    scale: Mapping[str, object] = SHARE_OF if is_share else RATING_OF
    draft.members["importance"] = wanted if isinstance(old, str) else scale[wanted]
    draft.beside["rating"] = None


def _entity(value: object, target: RecordTarget, draft: RecordDraft) -> None:
    if not isinstance(value, str) or not value.strip("/ \n"):
        raise Refused("the entity is a domain and a topic", do="for example: health/sleep")
    domain, _, topic = value.strip("/").partition("/")
    for key, name in (("domain", domain), ("topic", topic)):
        if name or key in target.value:
            draft.members[key] = name


def _tags(value: object, target: RecordTarget, draft: RecordDraft) -> None:
    wanted = [str(tag) for tag in value] if isinstance(value, list | tuple) else []
    native = tags_of(target.part, target.value)
    missing = [tag for tag in native if tag not in wanted]
    if missing:
        raise Refused(f"the record itself says {missing[0]!r}: that tag stays")
    draft.beside["tags"] = [tag for tag in wanted if tag.strip() and tag not in native]


def _confidence(value: object, target: RecordTarget, draft: RecordDraft) -> None:
    if not is_number(value) or not 0 <= value <= 1:
        raise Refused("the confidence is a number from 0 to 1", where=target.memory.ref)
    draft.members["confidence"] = value


_FIELDS: Mapping[str, Callable[[object, RecordTarget, RecordDraft], None]] = {
    "title": _title,
    "type": _type,
    "importance": _importance,
    "entity": _entity,
    "tags": _tags,
    "confidence": _confidence,
}


# ---- status ---------------------------------------------------------------------------------


def retire(_change: Change, memory: Memory, context: RecordContext) -> tuple[Edit, ...]:
    """A schema item becomes outdated; a fact or an episode is retired in the sidecar."""
    target = context.target(memory)
    if target.part is SCHEMA:
        return target.with_members({"status": OUTDATED})
    return target.beside.set(**{KEPT_STATUS: "retired"})


def restore(_change: Change, memory: Memory, context: RecordContext) -> tuple[Edit, ...]:
    """Current again: a schema item confirmed, a fact or an episode as its file has it."""
    target = context.target(memory)
    lineage = target.beside.set(**{KEPT_STATUS: None, "superseded_by": None})
    if target.part is SCHEMA and target.memory.status not in ("active", "proposed"):
        return (*target.with_members({"status": CONFIRMED}), *lineage)
    return lineage


def accept(change: Change, memory: Memory, context: RecordContext) -> tuple[Edit, ...]:
    """A proposed schema item becomes confirmed, with the text the person gives it, if any."""
    target = context.target(memory)
    draft = RecordDraft({"status": CONFIRMED})
    _fill(draft, change, target, context)
    return draft.edits(target)


def decline(_change: Change, memory: Memory, context: RecordContext) -> tuple[Edit, ...]:
    """A proposed schema item becomes outdated: kept, not shown by default."""
    return context.target(memory).with_members({"status": OUTDATED})


def merge(change: Change, memory: Memory, context: RecordContext) -> Plan:
    """The plan of a MERGE. Raises Refused."""
    kept = context.target(memory)
    others = [context.target(other) for other in context.others(change, memory)]
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
    return plan_merge(change, memory, gone, tuple(edits), _differences(kept, others))


def _kept(one: RecordTarget, into: RecordTarget) -> tuple[Edit, ...]:
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


def _differences(kept: RecordTarget, others: Sequence[RecordTarget]) -> tuple[str, ...]:
    """What would be lost from view because it differs."""
    return tuple(
        f"{one.memory.id} does not say the same as {kept.memory.id}: its text is only kept beside"
        for one in others
        if any(one.value.get(key) != kept.value.get(key) for key in ("s", "p", "o"))
    )


def pin(change: Change, memory: Memory, context: RecordContext) -> tuple[Edit, ...]:
    """PIN and UNPIN: the record's own `pinned` where it has one."""
    target = context.target(memory)
    wanted = change.act is Act.PIN
    if has_member(target.raw, "pinned"):
        native = target.with_members({"pinned": wanted})
        return (*native, *target.beside.set(pinned=None))
    return target.beside.set(pinned=True if wanted else None)


def native_link(change: Change, memory: Memory, context: RecordContext) -> tuple[Edit, ...] | None:
    """LINK and UNLINK in the record's own lists; None when the link belongs to the sidecar."""
    target = context.target(memory)
    relation = str(change.fields.get("relation") or "")
    other = str(change.fields.get("target") or "").removeprefix(f"{context.label}:")
    if not relation or not other:
        raise Refused("a link needs a relation and a memory to lead to", where=change.ref)
    key, item = _place(target, relation, other)
    old = target.value.get(key)
    if not isinstance(old, list):
        return None
    if change.act is Act.LINK:
        there = any(_same_link(known, item) for known in old)
        return () if there else target.with_members({key: [*old, item]})
    left = [known for known in old if not _same_link(known, item)]
    return None if len(left) == len(old) else target.with_members({key: left})


def _place(target: RecordTarget, relation: str, other: str) -> tuple[str, Any]:
    """The key of the list that holds links of this relation, and what stands there for one."""
    if relation == "evidence" and target.part is SCHEMA:
        return "evidence", other
    if relation == "fact" and target.part is EPISODES:
        return "facts", other
    return "links", {"rel": relation, "to": other}


def _same_link(known: object, item: object) -> bool:
    if isinstance(known, dict) and isinstance(item, dict):
        return (known.get("rel"), known.get("to")) == (item["rel"], item["to"])
    return known == item
