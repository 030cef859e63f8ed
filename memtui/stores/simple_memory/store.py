"""A Simple Memory as a store: plans of every act on its records, and the store itself.

Only the values that change are written. A fact is edited as the line a person sees, subject,
predicate and object; the first two must stay, because they say what the fact is about. A schema
item whose text changes gets the next version; the sidecar keeps the former text as
`<id>@v<version>`, which the item then supersedes.
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

from msgspec import Struct, field
from msgspec.structs import replace

from memtui.changes import Act, Change, Edit, Plan
from memtui.errors import Refused
from memtui.files.json.editing import has_member
from memtui.model import CURRENT, Memory
from memtui.stores import plans
from memtui.stores.base import Reading, ReadTime, Shard
from memtui.stores.file_store import FileStore
from memtui.stores.format import FormatSupport, TransferSupport, UpkeepRules
from memtui.stores.scanning import FoundShard, LastRead
from memtui.stores.sidecar import Sidecar, is_kept, kept_value
from memtui.stores.simple_memory import records
from memtui.stores.simple_memory.adding import convert, plan_add, plan_import, plan_supersede
from memtui.stores.simple_memory.records import (
    CONFIRMED,
    EPISODES,
    FACTS,
    KEPT_STATUS,
    LISTS,
    OUTDATED,
    RECORD_KIND_OF,
    RECORD_KINDS,
    SCHEMA,
    SHARD,
    RecordContext,
    RecordFile,
    RecordTarget,
    content_in,
    parse_schema_kind,
    tags_of,
    why_fixed,
)
from memtui.stores.values import (
    RATING_OF,
    changed_values,
    check_unchanged,
    checked_importance,
    content_of,
    is_number,
    list_of,
    memory_name,
    text_of,
    whole_number,
)

# ---- editing -------------------------------------------------------------------------------------

EDITABLE = frozenset({"content", "title", "type", "importance", "entity", "tags", "confidence"})
SHARE_OF = {"high": 0.9, "medium": 0.5, "low": 0.1}
"""What is written in a record whose `importance` is a share of 1."""


class _Draft(Struct):
    """The values that an edit writes, collected field by field."""

    target: RecordTarget
    context: RecordContext
    members: dict[str, Any] = field(default_factory=dict)
    """Keys of the record."""
    entry: dict[str, Any] = field(default_factory=dict)
    """Keys of the memory's sidecar entry."""
    more: tuple[Edit, ...] = ()

    def fill(self, change: Change) -> tuple[Edit, ...]:
        """The edits of all fields that change. Raises Refused or Conflict."""
        for name, value in changed_values(change, self.target.memory, EDITABLE).items():
            getattr(self, name)(content_of(change) if name == "content" else value)
        edits = (*self.target.put(**self.members), *self.target.entry.set(**self.entry))
        return (*edits, *self.more)

    def content(self, text: str) -> None:
        kind, value = self.target.record_kind, self.target.value
        now = content_in(kind, value)
        check_unchanged(self.target.memory, now, str(self.target.file.path), text)
        self.members[kind.text_key] = self._object(text) if kind is FACTS else text
        if kind is SCHEMA:
            version = whole_number(value.get("version"), 1)
            self.members["version"] = version + 1
            memory = self.target.memory
            name = memory_name(memory.store, f"{memory.id}@v{version}")
            ends: dict[str, Any] = {"status": "superseded", "superseded_by": (memory.id,)}
            former = replace(memory, **name, pinned=False, **ends)
            self.entry["supersedes"] = [former.id]
            self.more = self.context.record_entry_edits(former.id, kept=kept_value(former))

    def _object(self, text: str) -> object:
        """Take the object of a fact from its edited line; a number stays a number."""
        value = self.target.value
        head = f"{text_of(value.get('s'))} {text_of(value.get('p'))} "
        words = text.removeprefix(head).strip()
        if not text.startswith(head) or not words:
            raise Refused(
                "subject and predicate of a fact stay as they are",
                where=self.target.memory.ref,
                do="change only what follows them, or add another fact",
            )
        for number in (int, float) if is_number(value.get("o")) else ():
            try:
                return number(words)
            except ValueError:
                continue
        return words

    def title(self, value: object) -> None:
        if self.target.record_kind is not EPISODES:
            raise Refused("only an episode has a title", where=self.target.memory.ref)
        if not isinstance(value, str) or not value.strip():
            raise Refused("a title must say something", where=self.target.memory.ref)
        self.members["title"] = value

    def type(self, value: object) -> None:
        if self.target.record_kind is not SCHEMA:
            raise Refused("only a schema item has a type", where=self.target.memory.ref)
        self.members["kind"] = parse_schema_kind(value)

    def importance(self, value: object) -> None:
        word = checked_importance(value)
        if not has_member(self.target.raw, "importance"):
            self.entry["rating"] = RATING_OF[word]
            return
        old = self.target.value["importance"]
        is_share = isinstance(old, float) or (isinstance(old, int) and old in (0, 1))
        scale: Mapping[str, object] = SHARE_OF if is_share else RATING_OF
        self.members["importance"] = word if isinstance(old, str) else scale[word]
        self.entry["rating"] = None

    def entity(self, value: object) -> None:
        if not isinstance(value, str) or not value.strip("/ \n"):
            raise Refused("the entity is a domain and a topic", do="for example: health/sleep")
        domain, _, topic = value.strip("/").partition("/")
        for key, name in (("domain", domain), ("topic", topic)):
            if name or key in self.target.value:
                self.members[key] = name

    def tags(self, value: object) -> None:
        tags = [str(tag) for tag in value] if isinstance(value, list | tuple) else []
        native = tags_of(self.target.record_kind, self.target.value)
        if missing := [tag for tag in native if tag not in tags]:
            raise Refused(f"the record itself says {missing[0]!r}: that tag stays")
        self.entry["tags"] = [tag for tag in tags if tag.strip() and tag not in native]

    def confidence(self, value: object) -> None:
        if not is_number(value) or not 0 <= value <= 1:
            raise Refused("the confidence is a number from 0 to 1", where=self.target.memory.ref)
        self.members["confidence"] = value


def _edit(change: Change, memory: Memory, context: RecordContext) -> tuple[Edit, ...]:
    return _Draft(context.target(memory), context).fill(change)


def _accept(change: Change, memory: Memory, context: RecordContext) -> tuple[Edit, ...]:
    """Confirm a proposed schema item, with new text if given."""
    return _Draft(context.target(memory), context, {"status": CONFIRMED}).fill(change)


# ---- status, pins, links, merging ----------------------------------------------------------------


def _retire(_change: Change, memory: Memory, context: RecordContext) -> tuple[Edit, ...]:
    """A schema item becomes outdated; a fact or an episode is retired in the sidecar."""
    target = context.target(memory)
    if target.record_kind is SCHEMA:
        return target.put(status=OUTDATED)
    return target.entry.set(**{KEPT_STATUS: "retired"})


def _restore(_change: Change, memory: Memory, context: RecordContext) -> tuple[Edit, ...]:
    """Make a schema item confirmed again, a fact or an episode as its file has it."""
    target = context.target(memory)
    lineage = target.entry.set(**{KEPT_STATUS: None, "superseded_by": None})
    if target.record_kind is SCHEMA and memory.status not in ("active", "proposed"):
        return (*target.put(status=CONFIRMED), *lineage)
    return lineage


def _pin(change: Change, memory: Memory, context: RecordContext) -> tuple[Edit, ...]:
    """Plan PIN and UNPIN, in the record's own `pinned` where it has one."""
    target = context.target(memory)
    pinned = change.act is Act.PIN
    if has_member(target.raw, "pinned"):
        return (*target.put(pinned=pinned), *target.entry.set(pinned=None))
    return target.entry.set(pinned=True if pinned else None)


def _merge(change: Change, memory: Memory, context: RecordContext) -> Plan:
    remaining = context.target(memory)
    others = [context.target(other) for other in context.others(change, memory)]
    if any(target.record_kind is not FACTS for target in (remaining, *others)):
        raise Refused("only facts can be merged", where=memory.ref)
    merged = [record.memory for record in others]
    values = _merged_values(remaining.value, [record.value for record in others])
    supersedes = dict.fromkeys([*memory.supersedes, *(other.id for other in merged)])
    edits = [*remaining.put(**values), *remaining.entry.set(supersedes=list(supersedes))]
    warnings = []
    for record in others:
        former = replace(
            record.memory, status="superseded", superseded_by=(memory.id,), pinned=False
        )
        kept = kept_value(former, [{"file": record.record_kind.file, "raw": record.raw}])
        entry = record.entry.set(kept=kept, superseded_by=[memory.id], pinned=None)
        edits += [record.removal(), *entry]
        if any(record.value.get(key) != remaining.value.get(key) for key in ("s", "p", "o")):
            warnings.append(
                f"{record.memory.id} does not say the same as {memory.id}: "
                "its text is only kept beside"
            )
    edits += _moved_references({one.id for one in merged}, memory, context)
    return plans.plan_merge(change, memory, merged, tuple(edits), tuple(warnings))


def _moved_references(gone: set[str], memory: Memory, context: RecordContext) -> Iterator[Edit]:
    """The edits of records that name a fact which goes: they name this one instead."""

    def moved(item: object) -> object:
        if isinstance(item, dict) and item.get("to") in gone:
            return {**item, "to": memory.id}
        return memory.id if isinstance(item, str) and item in gone else item

    for other in context.view.memories(context.label):
        if other.id in gone or other.id == memory.id or is_kept(other):
            continue
        if any(link.target in gone for link in other.links):
            target = context.target(other)
            for key in (*LISTS.values(), "links"):
                items = list_of(target.value.get(key))
                new = list(map(moved, items))
                new = [item for index, item in enumerate(new) if item not in new[:index]]
                if new != items:
                    yield from target.put(**{key: new})


def _merged_values(
    target: Mapping[str, Any], others: Sequence[Mapping[str, Any]]
) -> dict[str, Any]:
    """The keys of the remaining fact that change because the others add to them."""
    values: dict[str, Any] = {}
    every = [target, *others]
    for key in ("source_ids", "links"):
        items = [item for value in every for item in list_of(value.get(key))]
        distinct = [item for index, item in enumerate(items) if item not in items[:index]]
        if distinct and distinct != target.get(key):
            values[key] = distinct
    hits = [whole_number(value.get("hits")) for value in every]
    if sum(hits) != hits[0]:
        values["hits"] = sum(hits)
    known = [value["confidence"] for value in every if is_number(value.get("confidence"))]
    if known and max(known) != target.get("confidence"):
        values["confidence"] = max(known)
    if any(value.get("pinned") is True for value in others) and target.get("pinned") is not True:
        values["pinned"] = True
    return values


def _link(change: Change, memory: Memory, context: RecordContext) -> Plan | None:
    """Plan LINK and UNLINK in the record's own lists, or beside it where it has no such list."""
    target = context.target(memory)
    relation, other = plans.requested_link(change, memory)
    if not relation or not other:
        raise Refused("a link needs a relation and a memory to lead to", where=change.ref)
    key, item = "links", {"rel": relation, "to": other}
    if (relation, target.record_kind) in (("evidence", SCHEMA), ("fact", EPISODES)):
        key, item = LISTS[relation], other  # type: ignore[assignment]
    old = target.value.get(key)
    left = [known for known in list_of(old) if not _is_same_link(known, item)]
    is_there = len(left) < len(list_of(old))
    if not isinstance(old, list) or (change.act is Act.UNLINK and not is_there):
        return None
    if change.act is Act.LINK:
        return plans.plan_one(change, memory, () if is_there else target.put(**{key: [*old, item]}))
    ended = plans.ended_link_edits(change, context.sidecar_entry(memory), context.now)
    return plans.plan_one(change, memory, (*target.put(**{key: left}), *ended))


def _is_same_link(known: object, item: object) -> bool:
    if isinstance(known, dict) and isinstance(item, dict):
        return (known.get("rel"), known.get("to")) == (item["rel"], item["to"])
    return known == item


def _delete(change: Change, memory: Memory, context: RecordContext) -> Plan:
    target = context.target(memory)
    warnings = plans.dangling_warnings(memory, context.view.memories(context.label))
    return plans.plan_one(change, memory, (target.removal(), *target.entry.removal()), warnings)


# ---- the store -----------------------------------------------------------------------------------


def _not_on(act: Act, memory: Memory) -> str:
    if why := why_fixed(memory):
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


def _act_on_record(
    make_edits: Callable[[Change, Memory, RecordContext], tuple[Edit, ...]], *, ends: bool = False
) -> plans.ActHandler:
    """Make an act's handler of a function that gives the edits of one record."""
    return lambda change, memory, context: plans.plan_one(
        change, memory, make_edits(change, memory, context), ends=ends
    )


ACTS = plans.ActionSupport(
    editable=EDITABLE,
    add=plan_add,
    add_imported=plan_import,
    handlers={
        Act.EDIT: _act_on_record(_edit),
        Act.RETYPE: _act_on_record(_edit),
        Act.RETIRE: _act_on_record(_retire, ends=True),
        Act.RESTORE: _act_on_record(_restore),
        Act.ACCEPT: _act_on_record(_accept),
        Act.DECLINE: _act_on_record(_retire, ends=True),
        Act.PIN: _act_on_record(_pin),
        Act.UNPIN: _act_on_record(_pin),
        Act.LINK: _link,
        Act.UNLINK: _link,
        Act.SUPERSEDE: plan_supersede,
        Act.MERGE: _merge,
        Act.DELETE: _delete,
    },
    shard_of=lambda _: SHARD,
    not_on=_not_on,
    native_tags=lambda memory: tags_of(RECORD_KIND_OF[memory.kind], memory.extra),
)


class SimpleMemoryStore(FileStore):
    """Facts, episodes and schema items in three JSON arrays of one folder."""

    format = "simple-memory"
    acts = ACTS
    reads = ReadTime.OPENED  # the white paper has no program
    context = RecordContext
    last: LastRead[RecordFile]

    def find_shards(self) -> list[FoundShard]:
        """All files together: the records refer to each other across them."""
        paths = (str(self.root / record_kind.file) for record_kind in RECORD_KINDS)
        return [FoundShard(SHARD, tuple(path for path in paths if os.path.lexists(path)))]

    def read_files(self, shard: Shard, sidecar: Sidecar) -> Reading:  # noqa: ARG002
        """All memories of the store: there is only the one shard."""
        return records.read(self.root, self.label, sidecar)


_NUMBER = re.compile(r"[-+]?\d+(?:[.,]\d+)?\s*(?:%|[^\W\d]{1,8}|°[CF])?")
"""A measured value, with its unit."""


def upkeep_rules() -> UpkeepRules:
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


SUPPORT = FormatSupport(
    SimpleMemoryStore, transfer=TransferSupport(convert=convert), upkeep=upkeep_rules()
)
