"""What the fields of a record may hold, and how a new value of each is written.

A fact is edited as the line a person sees, subject, predicate and object; the first two must stay,
because they say what the fact is about. A schema item whose text changes gets the next version;
the sidecar keeps the former text as `<id>@v<version>`, which the item then supersedes.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from typing import Any

from memtui.changes import Change, Edit
from memtui.dataclass import dataclass, field, replace
from memtui.errors import Refused
from memtui.files.json.editing import has_member
from memtui.model import Memory
from memtui.stores.format import UpkeepRules
from memtui.stores.sidecar import kept_value
from memtui.stores.simple_memory.records import (
    EPISODES,
    FACTS,
    SCHEMA,
    RecordContext,
    RecordTarget,
    parse_schema_kind,
    sentence,
    tags_of,
)
from memtui.stores.values import (
    RATING_OF,
    changed_values,
    check_unchanged,
    checked_importance,
    content_of,
    is_number,
    memory_name,
    text_of,
    whole_number,
)

EDITABLE = frozenset({"content", "title", "type", "importance", "entity", "tags", "confidence"})


SHARE_OF = {"high": 0.9, "medium": 0.5, "low": 0.1}
"""What is written in a record whose `importance` is a share of 1."""


@dataclass(slots=True)
class RecordDraft:
    """The values that an edit writes, collected field by field."""

    members: dict[str, Any] = field(default_factory=dict)
    """Keys of the record."""
    sidecar_entry: dict[str, Any] = field(default_factory=dict)
    """Keys of the memory's sidecar entry."""
    more: tuple[Edit, ...] = ()

    def edits(self, target: RecordTarget) -> tuple[Edit, ...]:
        return (
            *target.with_members(self.members),
            *target.sidecar_entry.set(**self.sidecar_entry),
            *self.more,
        )


def fill_draft(
    draft: RecordDraft, change: Change, target: RecordTarget, context: RecordContext
) -> None:
    for name, value in changed_values(change, target.memory, EDITABLE).items():
        if name == "content":
            _content(change, target, draft, context)
        else:
            _FIELDS[name](value, target, draft)


def _content(
    change: Change, target: RecordTarget, draft: RecordDraft, context: RecordContext
) -> None:
    text = content_of(change)
    check_unchanged(target.memory, _content_now(target), target.path, text)
    if target.record_kind is FACTS:
        draft.members["o"] = _object(text, target)
        return
    draft.members[target.record_kind.text_key] = text
    if target.record_kind is SCHEMA:
        _next_version(target, draft, context)


def _content_now(target: RecordTarget) -> str:
    if target.record_kind is FACTS:
        return sentence(target.value)
    return text_of(target.value.get(target.record_kind.text_key))


def _object(text: str, target: RecordTarget) -> object:
    """Take the object of a fact from its edited line; a number stays a number."""
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
    name = memory_name(target.memory.store, f"{target.memory.id}@v{version}")
    successors = (target.memory.id,)
    former = replace(
        target.memory, **name, status="superseded", pinned=False, superseded_by=successors
    )
    draft.sidecar_entry["supersedes"] = [former.id]
    draft.more = context.record_entry_edits(former.id, kept=kept_value(former))


def _title(value: object, target: RecordTarget, draft: RecordDraft) -> None:
    if target.record_kind is not EPISODES:
        raise Refused("only an episode has a title", where=target.memory.ref)
    if not isinstance(value, str) or not value.strip():
        raise Refused("a title must say something", where=target.memory.ref)
    draft.members["title"] = value


def _type(value: object, target: RecordTarget, draft: RecordDraft) -> None:
    if target.record_kind is not SCHEMA:
        raise Refused("only a schema item has a type", where=target.memory.ref)
    draft.members["kind"] = parse_schema_kind(value)


def _importance(value: object, target: RecordTarget, draft: RecordDraft) -> None:
    word = checked_importance(value)
    if not has_member(target.raw, "importance"):
        draft.sidecar_entry["rating"] = RATING_OF[word]
        return
    old = target.value["importance"]
    is_share = isinstance(old, float) or (isinstance(old, int) and old in (0, 1))
    scale: Mapping[str, object] = SHARE_OF if is_share else RATING_OF
    draft.members["importance"] = word if isinstance(old, str) else scale[word]
    draft.sidecar_entry["rating"] = None


def _entity(value: object, target: RecordTarget, draft: RecordDraft) -> None:
    if not isinstance(value, str) or not value.strip("/ \n"):
        raise Refused("the entity is a domain and a topic", do="for example: health/sleep")
    domain, _, topic = value.strip("/").partition("/")
    for key, name in (("domain", domain), ("topic", topic)):
        if name or key in target.value:
            draft.members[key] = name


def _tags(value: object, target: RecordTarget, draft: RecordDraft) -> None:
    tags = [str(tag) for tag in value] if isinstance(value, list | tuple) else []
    native = tags_of(target.record_kind, target.value)
    missing = [tag for tag in native if tag not in tags]
    if missing:
        raise Refused(f"the record itself says {missing[0]!r}: that tag stays")
    draft.sidecar_entry["tags"] = [tag for tag in tags if tag.strip() and tag not in native]


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


_NUMBER = re.compile(r"[-+]?\d+(?:[.,]\d+)?\s*(?:%|[^\W\d]{1,8}|°[CF])?")
"""A measured value, with its unit."""


def upkeep_rules(_store: object) -> UpkeepRules:
    """The rules for tidying facts."""
    return UpkeepRules(
        merge_key=lambda memory: text_of(memory.extra.get("time")) if _is_measured(memory) else "",
        subjects=lambda memory: (f"{memory.extra.get('s')}\0{memory.extra.get('p')}",),
        contradicts=_contradicts,
    )


def _is_measured(memory: Memory) -> bool:
    return _NUMBER.fullmatch(text_of(memory.extra.get("o"))) is not None


def _contradicts(older: Memory, newer: Memory) -> str:
    old, new = older.extra, newer.extra
    if older.kind != FACTS.kind or newer.kind != FACTS.kind:
        return ""
    if not old.get("s") or (old.get("s"), old.get("p")) != (new.get("s"), new.get("p")):
        return ""
    if text_of(old.get("o")).strip().casefold() == text_of(new.get("o")).strip().casefold():
        return ""
    if _is_measured(older) and _is_measured(newer):
        return ""  # measurements of different days
    return f"both say what {text_of(new.get('s'))} {text_of(new.get('p'))}, and differ"
