"""The words of memtui as frozen values: memory, place, link. No I/O."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from datetime import UTC, datetime
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


def _time(value: datetime | None) -> str | None:
    return None if value is None else value.astimezone(UTC).isoformat().replace("+00:00", "Z")


def _untime(value: str | None) -> datetime | None:
    return None if value is None else datetime.fromisoformat(value)


def _place(place: Place) -> dict[str, Any]:
    return {"file": place.file, "line": place.line, "key": place.key}


def _link(link: Link) -> dict[str, Any]:
    return {
        "relation": link.relation,
        "target": link.target,
        "valid_from": _time(link.valid_from),
        "valid_to": _time(link.valid_to),
        "note": link.note,
    }


def to_record(memory: Memory) -> dict[str, Any]:
    """The memory as a JSON object: the one form for `--json`, export and the cache."""
    record = {f.name: getattr(memory, f.name) for f in fields(memory)}
    record["created"] = _time(memory.created)
    record["updated"] = _time(memory.updated)
    record["origin"] = _place(memory.origin)
    record["also"] = [_place(place) for place in memory.also]
    record["links"] = [_link(link) for link in memory.links]
    record["extra"] = dict(memory.extra)
    return record


def from_record(record: Mapping[str, Any]) -> Memory:
    """The inverse of `to_record`. Raises KeyError, TypeError or ValueError on a foreign record."""
    values = dict(record)
    values["created"] = _untime(values["created"])
    values["updated"] = _untime(values["updated"])
    values["origin"] = Place(**values["origin"])
    values["also"] = tuple(Place(**place) for place in values["also"])
    values["links"] = tuple(
        Link(
            relation=link["relation"],
            target=link["target"],
            valid_from=_untime(link["valid_from"]),
            valid_to=_untime(link["valid_to"]),
            note=link["note"],
        )
        for link in values["links"]
    )
    for name in ("supersedes", "superseded_by", "tags"):
        values[name] = tuple(values[name])
    values["also_entities"] = tuple(values.get("also_entities", ()))
    return Memory(**values)
