"""The data model: memory, place and link as frozen values, and their JSON records. No I/O."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from datetime import UTC, datetime
from operator import attrgetter
from typing import Any

from msgspec import Struct, convert, field

KINDS = ("fact", "event", "episode", "schema", "observation", "document", "note")
IMPORTANCES = ("high", "medium", "low")
STATUSES = ("active", "proposed", "superseded", "retired", "deleted")
FRONTMATTER_FAULT = "frontmatter_fault"
"""Key of `Memory.extra`: what is wrong with the YAML at the head of its file, with its line."""
LOCAL_TIMES = "times_without_zone"
"""Key of `Memory.extra`: the fields with a time that names no zone, which is taken as local."""
FILE_TIME_KEY = "updated_from"
"""Key of `extra`: `updated` is not the memory's own time; one of the two that follow."""
FILE_TIME = "file time"
"""The modification time of its file, which a checkout or a copy makes new."""
CREATED_FROM = "created_from"
"""Key of `extra`: where `created` is from; `FILE_TIME` if it is the file's time."""
CHANGE_KEYS = ("updated", "modified", "last_updated", "last_modified")
"""Keys of the frontmatter that programs give the time of a change under."""
GIT_TIME = "git"
"""The time of the last commit that changed its file."""
LATER_TEXT = "text_of"
"""Key of `extra` in a library as of a time: when its text was last changed, which is later."""
CURRENT = frozenset({"active", "proposed"})
"""The statuses that are shown and listed unless others are asked for."""
ENDED = tuple(status for status in STATUSES if status not in CURRENT)
"""Those of memories that are no longer current."""

PENDING_KEY = "pending"
"""Key of `Memory.extra`: what its program is asked for and has not done yet."""
ENDED_LINKS = "ended_links"
"""`Memory.extra` key that lists links the user has ended, as JSON objects."""
PROJECT_PATH = "project_path"
"""`Memory.extra` key: the absolute path of the project, where the entity is a short name of it."""
SCOPE, READ_BY = "scope", "read_by"
"""Keys of `Memory.extra`: when programs are given an instruction, and the names of the programs."""
HIDDEN = "hidden"
"""Key of `Memory.extra` of a memory that only memtui calls retired or superseded."""
UNTYPED = "untyped"
"""The name of the empty type in filters that were saved before memories without a type had their
kind there."""


class Place(Struct, frozen=True, gc=False, omit_defaults=True):
    """Where a memory is stored: a file and, where known, the line and the position in it."""

    file: str
    """Absolute path; bytes that are not UTF-8 are surrogate escapes, as `os.fsdecode` gives."""
    line: int | None = None
    """1-based line of the memory's first character."""
    key: str = ""
    """Position in the structure of the file: `[3]`, `events[12]`, `observations.id=7`."""


class Link(Struct, frozen=True, gc=False, omit_defaults=True):
    """A typed, directed relation to another memory, or to an entity."""

    relation: str
    target: str
    """The store's id of the other memory, or the name of the entity; may not exist."""
    valid_from: datetime | None = None
    valid_to: datetime | None = None
    note: str = ""
    """The store's text on the link: a verdict, a reason or a confidence."""


class Memory(Struct, frozen=True, gc=False, omit_defaults=True):
    """One memory of any store, whatever the store calls it.

    Text fields hold the store's text unchanged, with control characters, markup and lone
    surrogates. Pass it through `memtui.text.visible` before it is shown.
    """

    ref: str
    """`label:id`, unique across the open stores."""
    id: str
    """The store's own id as text."""
    store: str
    """Label of the store."""
    kind: str
    """One of `KINDS`."""
    type: str = ""
    """The store's own type (decision, person, policy...); empty: it has none, see `shown_type`."""
    title: str = ""
    """The store's own title; empty where the format has none."""
    content: str = ""
    entity: str = ""
    """What it is about, as a path: `people/alice`, `shop-api/main`."""
    also_entities: tuple[str, ...] = ()
    """Further entities, if it is stored in several places. It is found by a filter on any of them
    and counted under each, but only once in totals."""
    created: datetime | None = None
    """Aware, UTC."""
    updated: datetime | None = None
    """Aware, UTC."""
    importance: str = "medium"
    """One of `IMPORTANCES`: the store's own, or derived as the docstring of the store says."""
    confidence: int | float | None = None
    status: str = "active"
    """One of `STATUSES`."""
    pinned: bool = False
    supersedes: tuple[str, ...] = ()
    """Ids in the store; may not exist."""
    superseded_by: tuple[str, ...] = ()
    tags: tuple[str, ...] = ()
    links: tuple[Link, ...] = ()
    source: str = ""
    """What the store notes as its source."""
    origin: Place = Place("")
    also: tuple[Place, ...] = ()
    """Further places where the same memory is stored."""
    extra: Mapping[str, Any] = field(default_factory=dict)
    """Every native key that has no field here, raw time texts and unknown statuses included.
    JSON values only."""

    @property
    def shown_type(self) -> str:
        """The type, or the kind where the store has no type: what lists, filters and counts use."""
        return self.type or self.kind

    @property
    def shown_status(self) -> str:
        """The status in words; of a memory that its program is only asked to change, what it is
        asked for: `being replaced`."""
        asked = self.extra.get(PENDING_KEY)
        if self.status in CURRENT or not isinstance(asked, str) or not asked.startswith("being "):
            return self.status
        return asked.partition(",")[0]

    @property
    def headline(self) -> str:
        """The title, or the first line of the content that is not blank, without the marks of
        Markdown."""
        if self.title:
            return _without_marks(self.title)
        text = self.content.lstrip()
        end = text.find("\n")
        line = text if end < 0 else text[:end].rstrip()
        words = line.lstrip("#") if line.startswith("#") else line
        if words.startswith((" ", "\t")):
            line = words.strip() or line
        return _without_marks(line)

    @property
    def is_title_in_text(self) -> bool:
        """Whether the content begins with the title, as a heading or as it is."""
        text = self.content.lstrip("# \n")
        end = text.find("\n")  # a text of a megabyte is not copied
        return text[: None if end < 0 else end].strip() == self.title.strip()

    @property
    def full_text(self) -> str:
        """Title and content; a title that the content begins with is said once."""
        is_said = not self.title or self.is_title_in_text
        return self.content if is_said else f"{self.title}\n\n{self.content}"

    @property
    def when(self) -> datetime | None:
        """When it was last learned; memories are sorted by it.

        The record's own time of change, else of creation or the day that names its file; last the
        time of its file, which a checkout or a copy makes new.
        """
        if self.created is not None and self.updated is not None and self._updated_from:
            return self.created
        return self.updated or self.created

    @property
    def _updated_from(self) -> str:
        """`FILE_TIME` or `GIT_TIME` if `updated` is not the memory's own."""
        extra = self.extra
        if not extra:
            return ""
        if CREATED_FROM in extra and FILE_TIME_KEY not in extra:  # as typed workspaces note it
            return "" if any(key in extra for key in CHANGE_KEYS) else FILE_TIME
        return str(extra.get(FILE_TIME_KEY) or "")

    @property
    def _has_own_creation(self) -> bool:
        return self.created is not None and self.extra.get(CREATED_FROM) != FILE_TIME

    @property
    def is_dated_by_file(self) -> bool:
        """Whether `when` is the time of its file, for want of a better one."""
        return self._updated_from == FILE_TIME and not self._has_own_creation

    @property
    def later_text(self) -> str:
        """As of a time: what to say of a text that is later; "" if it is that of the time."""
        changed = self.extra.get(LATER_TEXT)
        if not isinstance(changed, str):
            return ""
        day = datetime.fromisoformat(changed)
        return f"text of {day.day} {day:%b %Y}, earlier text unknown"

    @property
    def dated_by(self) -> str:
        """What `when` was taken from, in words; "" if the memory has no time."""
        if self.when is None:
            return ""
        source = self._updated_from
        if source and not self._has_own_creation:
            return "git" if source == GIT_TIME else "the file's time"
        if source or self.updated is None:
            if known := self.extra.get(CREATED_FROM):
                return f"the {known}"
            if self.when.time() == datetime.min.time():
                return "the day that it names"
        return f"its own time{', local as it names no zone' * (LOCAL_TIMES in self.extra)}"


_MARKED = re.compile(
    r"\*\*(?=\S)([^*\n]{1,200}?)\*\*|`([^`\n]{1,200})`|(?<!\w)!?\[([^\]\[\n]{1,200})\]\([^()\s]{1,300}\)"
    r"|(?<![\w*])\*(?=[^\s*])([^*\n]{1,200}?)(?<=\S)\*(?![\w*])"
)
_LEADING = re.compile(r"(?:>\s+|[-+]\s+(?:\[[ xX]\]\s+)?|\*\s+)(?=\S)")
MAX_MARKED = 1000
"""Characters of a headline in which marks are looked for: more than a line can show."""


def _without_marks(line: str) -> str:
    """The line without the signs of emphasis, code, links, quotations and bullets."""
    found = _LEADING.match(line)
    words = line[found.end() :] if found else line
    head = words[:MAX_MARKED]
    if not any(sign in head for sign in "*`]"):
        return words
    return _MARKED.sub(lambda match: next(filter(None, match.groups())), head) + words[MAX_MARKED:]


def format_time(value: datetime | None) -> str | None:
    """Return a time as ISO 8601 in UTC, with `Z`; None for None."""
    return None if value is None else value.astimezone(UTC).isoformat().replace("+00:00", "Z")


def _place(place: Place) -> dict[str, Any]:
    return {"file": place.file, "line": place.line, "key": place.key}


_NAMES = Memory.__struct_fields__
_values_of = attrgetter(*_NAMES)


def to_record(memory: Memory) -> dict[str, Any]:
    """Return a memory as a JSON object, the format of `--json`, export and the cache."""
    record: dict[str, Any] = dict(zip(_NAMES, _values_of(memory), strict=True))
    record["created"] = format_time(memory.created)
    record["updated"] = format_time(memory.updated)
    record["origin"] = _place(memory.origin)
    record["also"] = [_place(place) for place in memory.also]
    record["links"] = [
        {
            "relation": link.relation,
            "target": link.target,
            "valid_from": format_time(link.valid_from),
            "valid_to": format_time(link.valid_to),
            "note": link.note,
        }
        for link in memory.links
    ]
    record["extra"] = dict(memory.extra)
    return record


def from_record(record: Mapping[str, Any]) -> Memory:
    """Return the memory of a JSON object that `to_record` made.

    Raises KeyError, TypeError or ValueError if it is not such an object.
    """
    record = dict(record)
    for name in _NAMES:
        if name not in record and name != "also_entities":
            raise KeyError(name)
    if set(record).difference(_NAMES):
        raise ValueError("it has other fields")
    return convert(record, Memory)


MAX_NESTING = 200
"""Levels of nesting in `extra`; deeper values exhaust the stack of code that prints them."""

_TEXTS = ("ref", "id", "store", "type", "title", "content", "entity", "source")
_texts_of = attrgetter(*_TEXTS)
_PLAIN = (str, bool, float, type(None))
_MAX_BITS = 10_000
"""Largest integer in bits; Python refuses to format more than 4,300 digits, 14,284 bits."""


def find_defect(memory: Memory) -> str:
    """Check that a value read from a store can be sorted, printed and written as a record.

    Returns:
        What is wrong with it, as words after the memory's name; '' if nothing is.
    """
    if not isinstance(memory, Memory):
        return "it is not a memory"
    for name, text in zip(_TEXTS, _texts_of(memory), strict=True):
        if type(text) is not str:
            return f"its {name} is not text"
    if memory.kind not in KINDS or memory.status not in STATUSES:
        return "its kind or status is unknown"
    if memory.importance not in IMPORTANCES or not isinstance(memory.pinned, bool):
        return "its importance or pin is not a known value"
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
            return "it does not name its file"
    for time in (memory.created, memory.updated):
        if time is not None and time.tzinfo is not UTC and not _is_in_range(time):
            return "one of its times has no time zone or is out of range"
    return _find_extra_defect(memory.extra)


def _is_in_range(time: datetime) -> bool:
    try:
        return time.tzinfo is not None and format_time(time) is not None
    except OverflowError:
        return False


def _find_extra_defect(extra: Mapping[str, Any]) -> str:
    if not isinstance(extra, Mapping):
        return "its extra fields are not a mapping"
    for key, value in extra.items():
        if not isinstance(key, str):
            return "one of its extra fields has a name that is not text"
        if isinstance(value, _PLAIN):
            continue
        if isinstance(value, int):
            if value.bit_length() > _MAX_BITS:
                return f"{key} is a number that is too long to print"
        elif fault := _find_json_defect(value):
            return f"{key} {fault}"
    return ""


def _find_json_defect(value: Any) -> str:
    try:
        text = json.dumps(value)
    except RecursionError:
        return "is nested too deeply"
    except (TypeError, ValueError):
        return "is not a JSON value"
    if text.count("[") + text.count("{") <= MAX_NESTING:
        return ""
    pending = [(value, 1)]
    while pending:
        item, level = pending.pop()
        if isinstance(item, dict):
            item = list(item.values())
        if isinstance(item, list | tuple):
            if level > MAX_NESTING:
                return "is nested too deeply"
            pending += [(below, level + 1) for below in item]
    return ""
