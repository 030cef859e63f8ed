"""The words of memtui as frozen values: memory, place, link. No I/O."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from datetime import UTC, datetime
from operator import attrgetter
from typing import Any

KINDS = ("fact", "event", "episode", "schema", "observation", "document", "note")
IMPORTANCES = ("high", "medium", "low")
STATUSES = ("active", "proposed", "superseded", "retired", "deleted")
CURRENT = frozenset({"active", "proposed"})
"""The statuses every face shows unless asked for more."""

UNTYPED = "untyped"
"""How a person names the empty type in a filter or on screen."""


@dataclass(frozen=True, slots=True)
class Place:
    """Where a memory lies: a file and, where known, the line and the position in its structure."""

    file: str
    """Absolute path; bytes that are not UTF-8 are surrogate escapes, as `os.fsdecode` gives."""
    line: int | None = None
    """1-based line of the memory's first character."""
    key: str = ""
    """Position in the file's own terms: `[3]`, `events[12]`, `observations.id=7`."""


@dataclass(frozen=True, slots=True)
class Link:
    """A typed, directed relation to another memory, or to an entity."""

    relation: str
    target: str
    """Id of the other memory or name of the entity, as the store names it; may dangle."""
    valid_from: datetime | None = None
    valid_to: datetime | None = None
    note: str = ""
    """Verdict, reason or confidence in the store's own words."""


@dataclass(frozen=True, slots=True)
class Memory:
    """One thing remembered, whatever the store calls it.

    Text fields hold the store's text as it is: control characters, markup and lone surrogates
    included. Whatever shows one passes it through `memtui.text.visible` first.
    """

    ref: str
    """`store-label:native-id`, unique across the open stores."""
    id: str
    """The store's own id as text."""
    store: str
    """Label of the store."""
    kind: str
    """One of `KINDS`."""
    type: str = ""
    """The store's own word (decision, person, policy...); empty = untyped."""
    title: str = ""
    """The store's own title; empty where the format has none."""
    content: str = ""
    entity: str = ""
    """What it hangs on, as a path: `people/alice`, `shop-api/main`."""
    also_entities: tuple[str, ...] = ()
    """Further entities it hangs on, where more than one place holds it: a filter by any of them
    finds it, and it is counted under each, but once in every total."""
    created: datetime | None = None
    """Aware, UTC."""
    updated: datetime | None = None
    """Aware, UTC."""
    importance: str = "medium"
    """One of `IMPORTANCES`: native, or derived by the rule in the adapter's docstring."""
    confidence: float | None = None
    status: str = "active"
    """One of `STATUSES`."""
    pinned: bool = False
    supersedes: tuple[str, ...] = ()
    """Ids in the store's own terms; may dangle."""
    superseded_by: tuple[str, ...] = ()
    tags: tuple[str, ...] = ()
    links: tuple[Link, ...] = ()
    source: str = ""
    """Where the store says it came from."""
    origin: Place = field(default=Place(""))
    also: tuple[Place, ...] = ()
    """Further places that hold the same memory."""
    extra: Mapping[str, Any] = field(default_factory=dict)
    """Every native key that has no field here, raw time texts and unknown statuses included.
    JSON values only."""

    @property
    def headline(self) -> str:
        """The title, or the first line of the content that says something."""
        if self.title:
            return self.title
        text = self.content.lstrip()
        end = text.find("\n")
        return text if end < 0 else text[:end].rstrip()

    @property
    def when(self) -> datetime | None:
        """The time to sort by: last change, else creation."""
        return self.updated or self.created


def _format_time(value: datetime | None) -> str | None:
    return None if value is None else value.astimezone(UTC).isoformat().replace("+00:00", "Z")


def _parse_time(value: str | None) -> datetime | None:
    return None if value is None else datetime.fromisoformat(value)


def _place(place: Place) -> dict[str, Any]:
    return {"file": place.file, "line": place.line, "key": place.key}


def _link(link: Link) -> dict[str, Any]:
    return {
        "relation": link.relation,
        "target": link.target,
        "valid_from": _format_time(link.valid_from),
        "valid_to": _format_time(link.valid_to),
        "note": link.note,
    }


def to_record(memory: Memory) -> dict[str, Any]:
    """The memory as a JSON object: the one form for `--json`, export and the cache."""
    record = {f.name: getattr(memory, f.name) for f in fields(memory)}
    record["created"] = _format_time(memory.created)
    record["updated"] = _format_time(memory.updated)
    record["origin"] = _place(memory.origin)
    record["also"] = [_place(place) for place in memory.also]
    record["links"] = [_link(link) for link in memory.links]
    record["extra"] = dict(memory.extra)
    return record


def from_record(record: Mapping[str, Any]) -> Memory:
    """The inverse of `to_record`. Raises KeyError, TypeError or ValueError on a foreign record."""
    values = dict(record)
    values["created"] = _parse_time(values["created"])
    values["updated"] = _parse_time(values["updated"])
    values["origin"] = Place(**values["origin"])
    values["also"] = tuple(Place(**place) for place in values["also"])
    values["links"] = tuple(
        Link(
            relation=link["relation"],
            target=link["target"],
            valid_from=_parse_time(link["valid_from"]),
            valid_to=_parse_time(link["valid_to"]),
            note=link["note"],
        )
        for link in values["links"]
    )
    for name in ("supersedes", "superseded_by", "tags"):
        values[name] = tuple(values[name])
    values["also_entities"] = tuple(values.get("also_entities", ()))
    return Memory(**values)


# ---- what is no whole memory ----------------------------------------------------------------

MAX_NESTING = 200
"""Values inside values of `extra`: deeper ones exhaust the stack of whoever prints them."""

_TEXTS = ("ref", "id", "store", "type", "title", "content", "entity", "source")
_texts_of = attrgetter(*_TEXTS)
_PLAIN = (str, bool, float, type(None))
_MAX_BITS = 10_000
"""Of an integer: Python refuses to print one of more than 4,300 digits, 14,284 bits."""


def find_defect(memory: Memory) -> str:
    """Why this cannot be kept, sorted, printed and written as a record; empty when it can."""
    if not isinstance(memory, Memory):
        return "it is none"
    for name, text in zip(_TEXTS, _texts_of(memory), strict=True):
        if type(text) is not str:
            return f"its {name} is not text"
    if memory.kind not in KINDS or memory.status not in STATUSES:
        return "its kind or its status is none that there is"
    if memory.importance not in IMPORTANCES or not isinstance(memory.pinned, bool):
        return "its importance or its pin is none that there is"
    if not isinstance(memory.confidence, int | float | None):
        return "its confidence is not a number"
    for word in (
        *memory.tags,
        *memory.also_entities,
        *memory.supersedes,
        *memory.superseded_by,
    ):
        if not isinstance(word, str):
            return "one of its tags or references is not text"
    for link in memory.links:
        if not all(isinstance(text, str) for text in (link.relation, link.target, link.note)):
            return "one of its links is not text"
    for place in (memory.origin, *memory.also):
        if not isinstance(place.file, str):
            return "it does not say where it lies"
    for time in (memory.created, memory.updated):
        if time is not None and time.tzinfo is not UTC and not _is_in_time(time):
            return "one of its times names no zone, or is none that UTC has"
    return _defect_of_extra(memory.extra)


def _is_in_time(time: datetime) -> bool:
    try:
        return time.tzinfo is not None and _format_time(time) is not None
    except OverflowError:
        return False


def _defect_of_extra(extra: Mapping[str, Any]) -> str:
    if not isinstance(extra, Mapping):
        return "what else is known of it is not a table"
    for key, value in extra.items():
        if not isinstance(key, str):
            return "what else is known of it has a name that is not text"
        if isinstance(value, _PLAIN):
            continue
        if isinstance(value, int):
            if value.bit_length() > _MAX_BITS:
                return f"{key} is a number that is too long to print"
        elif fault := _defect_within(value):
            return f"{key} {fault}"
    return ""


def _defect_within(value: Any) -> str:
    try:
        text = json.dumps(value)
    except RecursionError:
        return "is nested too deeply"
    except (TypeError, ValueError):
        return "is no JSON value"
    if text.count("[") + text.count("{") <= MAX_NESTING:
        return ""
    waiting = [(value, 1)]
    while waiting:
        item, level = waiting.pop()
        if isinstance(item, dict):
            item = list(item.values())
        if isinstance(item, list | tuple):
            if level > MAX_NESTING:
                return "is nested too deeply"
            waiting += [(below, level + 1) for below in item]
    return ""
