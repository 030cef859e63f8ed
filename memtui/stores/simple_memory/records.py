"""Read the three files, and convert their records (facts, episodes, schema items) to memories.

What the format has no word for is derived by these rules:

* content of a fact: subject, predicate and object with one blank between them; of an episode its
  summary; of a schema item its text.
* type: the kind of a schema item (value, preference, policy, goal). Facts and episodes have none.
* entity: `domain/topic`.
* created: a fact's time, an episode's start (written without a zone; taken as local, the raw text
  stays in `extra`). A schema item has no time at all.
* status of a schema item: proposed -> proposed, confirmed -> active, outdated -> retired; any
  other word is active and stays in `extra`. Facts and episodes have none: memtui's sidecar may
  retire one.
* importance: the user's rating where there is one, else the record's own `importance` (a word, a
  share of 1, or 1 to 5), else as the white paper infers it, from the impact on goals and from
  strong affect: a goal is high, an episode whose valence is `STRONG_AFFECT` or more from neutral
  is high, everything else medium.
* links: `links` as they are, `facts` of an episode, `evidence` of a schema item. Any may dangle.
* tags: a fact's predicate, so that all facts of one kind can be listed together.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from datetime import datetime
from pathlib import Path
from typing import Any

from msgspec import Struct
from msgspec.structs import replace

from memtui.errors import Refused, UnreadableFile
from memtui.model import IMPORTANCES, Link, Memory, Place
from memtui.stores.base import Reading, Unreadable
from memtui.stores.json_file import JsonFile, NamedRecord, named_records, read_json
from memtui.stores.scanning import as_unreadable
from memtui.stores.sidecar import Sidecar, is_kept
from memtui.stores.simple_memory import EPISODES_FILE, FACTS_FILE, SCHEMA_FILE
from memtui.stores.values import (
    UNADDRESSABLE,
    from_local_iso,
    importance_of_rating,
    is_number,
    list_of,
    lower_word,
    members_of,
    memory_name,
    text_of,
    texts_of,
    with_unique_ids,
)

SHARD = "memory"
"""Key of the only shard."""
KEPT_STATUS = "status"
"""Key of a sidecar entry: the status of a fact or an episode, which their files cannot say."""

STRONG_AFFECT = 0.7
"""Distance of valence from 0 on the scale of -1 to 1. The white paper says only "strong"."""

HIGH_SHARE, MEDIUM_SHARE = 2 / 3, 1 / 3
"""Limits of an `importance` between 0 and 1. The format leaves the scale open."""

LISTS = {"fact": "facts", "evidence": "evidence"}
"""Relations whose links stand in a list of their own."""
SCHEMA_KINDS = ("value", "preference", "policy", "goal")

PROPOSED, CONFIRMED, OUTDATED = "proposed", "confirmed", "outdated"
SCHEMA_STATUSES = {PROPOSED: "proposed", CONFIRMED: "active", OUTDATED: "retired"}


class RecordKind(Struct, frozen=True):
    """One of the three files and its records."""

    file: str
    kind: str
    prefix: str
    """How the ids of this kind begin, as the white paper writes them."""
    base: int
    """Numbers in ids are hexadecimal for facts, decimal for the others."""
    noun: str
    text_key: str
    """Key of the record's main text."""

    def id_of(self, number: int, digits: int) -> str:
        """The id of a large number, of which it has the first digits."""
        return self.prefix + format(number, "x" if self.base == 16 else "d")[:digits]


FACTS = RecordKind(FACTS_FILE, "fact", "fact_", 16, "a fact", "o")
EPISODES = RecordKind(EPISODES_FILE, "episode", "ep_", 10, "an episode", "summary")
SCHEMA = RecordKind(SCHEMA_FILE, "schema", "sch_", 10, "a schema item", "text")
RECORD_KINDS = (FACTS, EPISODES, SCHEMA)

RECORD_KIND_OF = {kind.kind: kind for kind in RECORD_KINDS}


def why_fixed(memory: Memory) -> str:
    """Why this memory's record cannot be changed; empty when it can."""
    if is_kept(memory):
        return "it is a former text that only memtui keeps"
    return str(memory.extra.get(UNADDRESSABLE) or "")


class RecordFile(Struct, frozen=True):
    """One of the three files, read to plan a change."""

    file: JsonFile
    by_id: Mapping[str, NamedRecord]
    """The first record of each id."""


# ---- reading -------------------------------------------------------------------------------------


def read(root: Path, label: str, sidecar: Sidecar) -> Reading:
    """Read the memories of all three files."""
    memories: list[Memory] = []
    faults: list[Unreadable] = []
    for kind in RECORD_KINDS:
        path = root / kind.file
        if not os.path.lexists(path):
            continue
        try:
            file = read_json(path, root)
        except UnreadableFile as error:
            faults.append(as_unreadable(error, path))
            continue
        named, file_faults = named_records(file, kind.file)
        faults += file_faults
        for record in named:
            memory = memory_of(kind, record.value, id=record.id, label=label)
            place = Place(str(file.path), record.record.line, file.key(record.index))
            extra = memory.extra
            if record.fault:
                extra = {**extra, UNADDRESSABLE: record.fault}
            entry, importance = sidecar.entry(record.id), memory.importance
            if "rating" in entry:
                importance = importance_of(kind, record.value, entry["rating"])
            memories.append(replace(memory, origin=place, extra=extra, importance=importance))
    return Reading(tuple(with_unique_ids(memories)), tuple(faults))


def memory_of(record_kind: RecordKind, value: Mapping[str, Any], *, id: str, label: str) -> Memory:
    """Convert a record to a memory, without its place and its sidecar entry."""
    status = text_of(value.get("status"))
    domain, topic = text_of(value.get("domain")), text_of(value.get("topic"))
    return Memory(
        **memory_name(label, id),
        kind=record_kind.kind,
        type=text_of(value.get("kind")) if record_kind is SCHEMA else "",
        title=text_of(value.get("title")),
        content=content_in(record_kind, value),
        entity="/".join(name for name in (domain, topic) if name),
        created=created(record_kind, value),
        importance=importance_of(record_kind, value, None),
        confidence=_number(value.get("confidence")),
        status=SCHEMA_STATUSES.get(status, "active") if record_kind is SCHEMA else "active",
        pinned=value.get("pinned") is True,
        tags=tags_of(record_kind, value),
        links=_links(value),
        source=", ".join(texts_of(value.get("source_ids"))),
        extra={key: item for key, item in value.items() if not _is_shown(key, item)},
    )


def content_in(record_kind: RecordKind, value: Mapping[str, Any]) -> str:
    """The text of a record; of a fact subject, predicate and object as one line."""
    if record_kind is not FACTS:
        return text_of(value.get(record_kind.text_key))
    words = (text_of(value.get(key)) for key in ("s", "p", "o"))
    return " ".join(word for word in words if word)


def created(record_kind: RecordKind, value: Mapping[str, Any]) -> datetime | None:
    return from_local_iso(value.get("start" if record_kind is EPISODES else "time"))


def importance_of(record_kind: RecordKind, value: Mapping[str, Any], rating: object) -> str:
    """High, medium or low; `rating` is the person's, from the sidecar."""
    for stated in (importance_of_rating(rating), _stated_importance(value.get("importance"))):
        if stated:
            return stated
    if record_kind is SCHEMA and value.get("kind") == "goal":
        return "high"
    valence = _number(members_of(value.get("affect")).get("valence"))
    return "high" if valence is not None and abs(valence) >= STRONG_AFFECT else "medium"


def _stated_importance(value: object) -> str:
    if isinstance(value, str):
        word = lower_word(value)
        return word if word in IMPORTANCES else ""
    number = _number(value)
    if number is None:
        return ""
    if number > 1:
        return importance_of_rating(number)
    return "high" if number >= HIGH_SHARE else "medium" if number >= MEDIUM_SHARE else "low"


def _number(value: object) -> float | None:
    if not is_number(value) or value != value:
        return None
    try:
        return float(value)
    except OverflowError:
        return None


def tags_of(record_kind: RecordKind, value: Mapping[str, Any]) -> tuple[str, ...]:
    predicate = text_of(value.get("p")) if record_kind is FACTS else ""
    own = texts_of(value.get("tags"))
    return tuple(dict.fromkeys([predicate, *own] if predicate else own))


def _links(value: Mapping[str, Any]) -> tuple[Link, ...]:
    links = [
        Link(text_of(link.get("rel")), text_of(link.get("to")))
        for link in list_of(value.get("links"))
        if isinstance(link, dict) and link.get("to")
    ]
    for relation, key in LISTS.items():
        links += [Link(relation, target) for target in texts_of(value.get(key))]
    return tuple(links)


_TEXT_FIELDS = frozenset({"id", "title", "summary", "text", "domain", "topic", "kind"})


def _is_shown(key: str, item: object) -> bool:
    """Whether a field shows the key unchanged; any other goes into `extra`."""
    if key in _TEXT_FIELDS:
        return isinstance(item, str)
    if key in ("facts", "evidence"):
        return isinstance(item, list) and len(texts_of(item)) == len(item)
    if key == "links":
        return isinstance(item, list) and all(_is_link(link) for link in item)
    if key == "confidence":
        return _number(item) is not None
    return key == "pinned" and isinstance(item, bool)


def _is_link(value: object) -> bool:
    if not isinstance(value, dict) or set(value) != {"rel", "to"}:
        return False
    return all(isinstance(word, str) and word for word in value.values())


def parse_schema_kind(value: object) -> str:
    """Check that a value is one of the four kinds. Raises Refused."""
    if value not in SCHEMA_KINDS:
        raise Refused(f"the type is one of {', '.join(SCHEMA_KINDS)}")
    return str(value)
