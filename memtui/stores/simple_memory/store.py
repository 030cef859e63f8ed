"""A Simple Memory as a store: plans of every act on its records, and the store itself.

Only the values that change are written. A fact is edited as the line a person sees, subject,
predicate and object; the first two must stay, because they say what the fact is about. A schema
item whose text changes gets the next version; the sidecar keeps the former text as
`<id>@v<version>`, which the item then supersedes.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterator, Mapping, Sequence
from types import MappingProxyType
from typing import Any

from msgspec.structs import replace

from memtui.changes import Act, Change, Edit, Plan
from memtui.errors import Refused
from memtui.files.json.editing import has_member
from memtui.model import CURRENT, Memory
from memtui.stores import plans
from memtui.stores.base import Reading, ReadTime, Shard
from memtui.stores.file_store import FileStore
from memtui.stores.format import FormatSupport, TransferSupport, UpkeepRules
from memtui.stores.json_file import named_records, read_or_new
from memtui.stores.record_acts import (
    FieldMembers,
    Members,
    RecordTarget,
    Successor,
    member,
    plan_retire,
    record_acts,
)
from memtui.stores.scanning import FoundShard, LastRead
from memtui.stores.sidecar import Sidecar, is_kept, kept_value
from memtui.stores.simple_memory import records
from memtui.stores.simple_memory.adding import (
    INDENT,
    convert,
    plan_add,
    plan_import,
    rating_of,
    successor_value,
)
from memtui.stores.simple_memory.records import (
    CONFIRMED,
    EPISODES,
    FACTS,
    LISTS,
    OUTDATED,
    RECORD_KIND_OF,
    RECORD_KINDS,
    SCHEMA,
    SHARD,
    RecordFile,
    RecordKind,
    content_in,
    parse_schema_kind,
    tags_of,
    why_fixed,
)
from memtui.stores.values import (
    RATING_OF,
    changed_values,
    checked_importance,
    content_of,
    is_number,
    list_of,
    memory_name,
    tag_words,
    text_of,
    whole_number,
)

# ---- changing ------------------------------------------------------------------------------------

SHARE_OF = {"high": 0.9, "medium": 0.5, "low": 0.1}
"""What is written in a record whose `importance` is a share of 1."""


def _entity_members(record: RecordTarget, value: object) -> Members:
    if not isinstance(value, str) or not value.strip("/ \n"):
        raise Refused("the entity is a domain and a topic", do="for example: health/sleep")
    domain, _, topic = value.strip("/").partition("/")
    names = {"domain": domain, "topic": topic}
    return {key: name for key, name in names.items() if name or key in record.value}


def _confidence_member(_: object, value: object) -> Members:
    if not is_number(value) or not 0 <= value <= 1:
        raise Refused("the confidence is a number from 0 to 1")
    return {"confidence": value}


class Record(RecordTarget):
    """One record of a file."""

    gone = "another program removed this record"
    context: RecordContext

    def __init__(self, memory: Memory, change: Change, context: RecordContext) -> None:
        if why := why_fixed(memory):
            raise Refused(why, where=memory.ref)
        self.record_kind = RECORD_KIND_OF[memory.kind]
        opened = context.open(self.record_kind)
        super().__init__(memory, change, context, opened.file, opened.by_id.get(memory.id))
        self.native_tags = tags_of(self.record_kind, self.value)
        self.rating: int | None = None
        """What stands beside a record that has no importance of its own."""

    @property
    def text(self) -> str:
        return content_in(self.record_kind, self.value)

    def _importance(self, value: object) -> Members:
        word = checked_importance(value)
        if not has_member(self.named.record.raw, "importance"):
            self.rating = RATING_OF[word]
            return {}
        old = self.value["importance"]
        is_share = isinstance(old, float) or (isinstance(old, int) and old in (0, 1))
        scale: Mapping[str, object] = SHARE_OF if is_share else RATING_OF
        return {"importance": word if isinstance(old, str) else scale[word]}

    fields: Mapping[str, FieldMembers] = MappingProxyType(
        {
            "importance": _importance,
            "entity": _entity_members,
            "confidence": _confidence_member,
        }
    )

    def change_edits(
        self, changed: Mapping[str, Any], members: Members = MappingProxyType({})
    ) -> tuple[Edit, ...]:
        new = tag_words(changed.get("tags", self.native_tags))
        if missing := [tag for tag in self.native_tags if tag not in new]:
            raise Refused(f"the record itself says {missing[0]!r}: that tag stays")
        return super().change_edits(changed, members)

    def write(self, members: Members, beside: Mapping[str, Any]) -> tuple[Edit, ...]:
        is_rated = self.rating is not None or "importance" in members
        rating = {"rating": self.rating} if is_rated else {}
        return super().write(members, {**beside, **rating})

    def link(self, relation: str, id: str) -> Members | None:
        """In the record's own lists; None where it has no such list."""
        if not relation or not id:
            raise Refused("a link needs a relation and a memory to lead to", where=self.change.ref)
        key, item = self._listed(relation, id)
        old = self.value.get(key)
        if not isinstance(old, list):
            return None
        is_there = any(_is_same_link(known, item) for known in old)
        return {} if is_there else {key: [*old, item]}

    def unlink(self, relation: str, id: str) -> Members | None:
        key, item = self._listed(relation, id)
        old = list_of(self.value.get(key))
        left = [known for known in old if not _is_same_link(known, item)]
        return {key: left} if len(left) < len(old) else None

    def _listed(self, relation: str, id: str) -> tuple[str, object]:
        if (relation, self.record_kind) in (("evidence", SCHEMA), ("fact", EPISODES)):
            return LISTS[relation], id
        return "links", {"rel": relation, "to": id}

    def successor(self) -> Successor:
        kind, text = self.record_kind, content_of(self.change)
        value = successor_value(kind, self.value, text, self.change, self.context)
        edits = (
            *self.file.insert(value, INDENT),
            *self.context.record_entry_edits(
                value["id"],
                supersedes=[self.memory.id],
                rating=rating_of(kind, value, self.change),
            ),
        )
        reason = f"Added {kind.noun}, {value['id']}, in place of {self.memory.id}"
        return Successor(value["id"], edits, reason)


class Fact(Record):
    """A fact, which is edited as one line."""

    def _object(self, text: str) -> Members:
        """Take the object from the edited line; a number stays a number."""
        head = f"{text_of(self.value.get('s'))} {text_of(self.value.get('p'))} "
        words = text.removeprefix(head).strip()
        if not text.startswith(head) or not words:
            raise Refused(
                "subject and predicate of a fact stay as they are",
                where=self.memory.ref,
                do="change only what follows them, or add another fact",
            )
        for number in (int, float) if is_number(self.value.get("o")) else ():
            try:
                return {"o": number(words)}
            except ValueError:
                continue
        return {"o": words}

    fields = MappingProxyType({**Record.fields, "content": _object})

    def take_over(self, others: Sequence[Fact]) -> tuple[Edit, ...]:
        values = _merged_values(self.value, [other.value for other in others])
        ids = dict.fromkeys([*self.memory.supersedes, *(other.memory.id for other in others)])
        for other in others:
            if any(other.value.get(key) != self.value.get(key) for key in ("s", "p", "o")):
                self.warnings.append(
                    f"{other.memory.id} does not say the same as {self.memory.id}: "
                    "its text is only kept beside"
                )
        return (
            *self.put(values),
            *self.entry.set(supersedes=list(ids)),
            *_moved_references({other.memory.id for other in others}, self),
        )

    def end(self, status: str, by: str = "") -> tuple[Edit, ...]:
        """Keep it where it is, with its status beside it; one that is merged goes."""
        if self.change.act is not Act.MERGE:
            return super().end(status, by)
        former = replace(self.memory, status=status, superseded_by=(by,), pinned=False)
        kept = kept_value(former, [{"file": self.record_kind.file, "raw": self.named.record.raw}])
        entry = self.entry.set(kept=kept, superseded_by=[by], pinned=None)
        return (*self.remove(), *entry)


class Episode(Record):
    """What happened."""

    def _title(self, value: object) -> Members:
        if not isinstance(value, str) or not value.strip():
            raise Refused("a title must say something", where=self.memory.ref)
        return {"title": value}

    fields = MappingProxyType({**Record.fields, "content": member("summary"), "title": _title})


class SchemaItem(Record):
    """A rule, which has a status and a version."""

    fields = MappingProxyType(
        {
            **Record.fields,
            "content": lambda item, text: {"text": text, "version": item.version + 1},
            "type": lambda _, word: {"kind": parse_schema_kind(word)},
        }
    )

    @property
    def version(self) -> int:
        return whole_number(self.value.get("version"), 1)

    def write(self, members: Members, beside: Mapping[str, Any]) -> tuple[Edit, ...]:
        if "text" not in members:
            return super().write(members, beside)
        memory = self.memory
        name = memory_name(memory.store, f"{memory.id}@v{self.version}")
        ends: dict[str, Any] = {"status": "superseded", "superseded_by": (memory.id,)}
        former = replace(memory, **name, pinned=False, **ends)
        kept = self.context.record_entry_edits(former.id, kept=kept_value(former))
        return (*super().write(members, {**beside, "supersedes": [former.id]}), *kept)

    def end(self, status: str, by: str = "") -> tuple[Edit, ...]:  # noqa: ARG002
        return (*self.put({"status": OUTDATED}), *self.entry.set(**self.succeeded_by(by)))

    def resume(self) -> tuple[Edit, ...]:
        is_past = self.memory.status not in ("active", "proposed")
        return (*(self.put({"status": CONFIRMED}) if is_past else ()), *super().resume())


TARGETS = {FACTS: Fact, EPISODES: Episode, SCHEMA: SchemaItem}


class RecordContext(plans.PlanContext):
    """The context of planning a change in one Simple Memory."""

    store: SimpleMemoryStore

    def target(self, memory: Memory, change: Change) -> Record:
        return TARGETS[RECORD_KIND_OF[memory.kind]](memory, change, self)

    def open(self, record_kind: RecordKind) -> RecordFile:
        """Read one file as it is now. Raises Refused if it cannot be read."""
        path = self.root / record_kind.file

        def read() -> RecordFile:
            file = read_or_new(path, self.root)
            found, _ = named_records(file, record_kind.file)
            return RecordFile(file, {named.id: named for named in reversed(found)})

        return self.store.last.get([path], read)

    def record_entry_edits(self, id: str, **values: Any) -> tuple[Edit, ...]:
        """The edit that sets these keys of a record's sidecar entry; none if they are set."""
        return self.entry_edits(id, SHARD, **values)


def _accept(change: Change, memory: Memory, context: RecordContext) -> Plan:
    """Confirm a proposed schema item, with new text if given."""
    target = context.target(memory, change)
    changed = changed_values(change, memory, {*target.fields, "tags"})
    return plans.plan_one(change, memory, target.change_edits(changed, {"status": CONFIRMED}))


def _pin(change: Change, memory: Memory, context: RecordContext) -> Plan:
    """Plan PIN and UNPIN, in the record's own `pinned` where it has one."""
    target, pinned = context.target(memory, change), change.act is Act.PIN
    if has_member(target.named.record.raw, "pinned"):
        edits = target.write({"pinned": pinned}, {"pinned": None})
    else:
        edits = target.write({}, {"pinned": True if pinned else None})
    return plans.plan_one(change, memory, edits)


def _moved_references(gone: set[str], stays: Fact) -> Iterator[Edit]:
    """The edits of records that name a fact which goes: they name this one instead."""
    memory, context = stays.memory, stays.context

    def moved(item: object) -> object:
        if isinstance(item, dict) and item.get("to") in gone:
            return {**item, "to": memory.id}
        return memory.id if isinstance(item, str) and item in gone else item

    for other in context.view.memories(context.label):
        if other.id in gone or other.id == memory.id or is_kept(other):
            continue
        if any(link.target in gone for link in other.links):
            target, values = context.target(other, stays.change), dict[str, Any]()
            for key in (*LISTS.values(), "links"):
                items = list_of(target.value.get(key))
                new = list(map(moved, items))
                values[key] = [item for index, item in enumerate(new) if item not in new[:index]]
            yield from target.put({k: v for k, v in values.items() if v != target.value.get(k)})


def _merged_values(
    target: Mapping[str, Any], others: Sequence[Mapping[str, Any]]
) -> dict[str, Any]:
    """The keys of the remaining fact that change because the others add to them."""
    values: dict[str, Any] = {}
    every = [target, *others]
    own = {value.get("id") for value in every}
    for key in ("source_ids", "links"):
        items = [item for value in every for item in list_of(value.get(key))]
        distinct = [
            item
            for index, item in enumerate(items)
            if item not in items[:index] and not (isinstance(item, dict) and item.get("to") in own)
        ]
        if distinct != list_of(target.get(key)):
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


def _is_same_link(known: object, item: object) -> bool:
    if isinstance(known, dict) and isinstance(item, dict):
        return (known.get("rel"), known.get("to")) == (item["rel"], item["to"])
    return known == item


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


ACTS = record_acts(
    *TARGETS.values(),
    add=plan_add,
    add_imported=plan_import,
    handlers={
        Act.ACCEPT: _accept,
        Act.DECLINE: plan_retire,
        Act.PIN: _pin,
        Act.UNPIN: _pin,
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
