"""The links that memories state, before their names are resolved."""

from __future__ import annotations

import re
from datetime import UTC, datetime
from enum import StrEnum
from functools import lru_cache
from typing import NamedTuple

from memtui.model import CURRENT, ENDED_LINKS, Link, Memory
from memtui.stores.values import from_iso

SUPERSEDES = "supersedes"
MENTIONS = "mentions"
"""The relation of a wikilink, as `memtui.stores.workspace` calls it in documents."""
LINKS_TO = "links_to"
FROM_SOURCE = "from"
"""The relation from a memory to the session or episode it comes from."""
SESSION = "sessions/"
"""How the id of a session's memory begins, before the name that other rows give as their source."""

END_KEYS = ("deleted_at", "superseded_at", "retired_at", "archived_at", "retiredAt", "deletedAt")
"""Keys of `Memory.extra` that say when a memory was taken out of use."""
UNKNOWN_END = datetime.min.replace(tzinfo=UTC)
"""The end of a memory that was taken out of use nobody knows when: it counts at no time."""

MAX_TEXT_LINKS = 200
"""Links of one text that are followed."""
_WIKILINK = re.compile(r"\[\[([^\[\]\n|#]{1,300})(?:[|#][^\[\]\n]{0,300})?\]\]")
_MARKDOWN_LINK = re.compile(r"\]\(<?([^()<>\s]{1,500}?)(?:#[^()<>\s]*)?>?\)")
_SCHEME = re.compile(r"[A-Za-z][A-Za-z0-9+.-]*://|mailto:")

MAX_STATEMENTS = 1 << 20
"""Links of one memory that are kept."""


class EdgeOrigin(StrEnum):
    LINK = "link"
    SUPERSEDES = "supersedes"
    TEXT = "text"
    SOURCE = "source"


class LinkStatement(NamedTuple):
    """An edge as one memory states it; names are not resolved yet."""

    source: str | None
    """None: the memory itself."""
    relation: str
    target: str
    origin: EdgeOrigin
    valid_from: datetime | None = None
    valid_to: datetime | None = None
    note: str = ""


class LinkEntry(NamedTuple):
    """One memory in the index: its names, times and the links that it states."""

    ref: str
    own_id: str
    """The id of the memory; empty if it is the end of the ref, as it mostly is."""
    entities: tuple[str, ...]
    since: datetime | None = None
    """The time of the memory."""
    statements: tuple[LinkStatement, ...] = ()
    ended: datetime | None = None
    """When the memory was taken out of use, as far as it says so itself, else `UNKNOWN_END`; None
    if it is in use."""
    successors: tuple[str, ...] = ()
    """Ids of the memories that replaced it, if it is not in use; the first of them ended it."""
    is_end_stated: bool = False
    """The store says when it ended; else `ended` is the time of its last change."""

    @property
    def id(self) -> str:
        return self.own_id or self.ref.partition(":")[2]

    @property
    def store(self) -> str:
        return self.ref.partition(":")[0]

    @property
    def has_plain_name(self) -> bool:
        """Whether its ref and its entity say all that a link could name it by; a document's stem
        and a further entity are more."""
        return not (self.own_id or len(self.entities) > 1 or self.ref.endswith(".md"))


def read_entry(memory: Memory) -> LinkEntry:
    """Return what a memory states."""
    entities = (memory.entity, *memory.also_entities)
    is_current = memory.status in CURRENT
    end = None if is_current else stated_end(memory)
    return LinkEntry(
        memory.ref,
        "" if memory.ref == f"{memory.store}:{memory.id}" else memory.id,
        tuple(path for path in entities if path),
        memory.created or memory.updated,
        stated_links(memory)[:MAX_STATEMENTS],
        None if is_current else end or last_change(memory) or UNKNOWN_END,
        () if is_current else memory.superseded_by,
        end is not None,
    )


def stated_end(memory: Memory) -> datetime | None:
    """When a memory was taken out of use, as its store says; None if it does not."""
    for key in END_KEYS:
        if time := from_iso(memory.extra.get(key)):
            return time
    return None


def last_change(memory: Memory) -> datetime | None:
    """The last change of a memory, which may have taken it out of use; None if there was none."""
    if memory.updated is not None and memory.created is not None:
        return memory.updated if memory.updated > memory.created else None
    return None


def stated_links(memory: Memory) -> tuple[LinkStatement, ...]:
    """List the links that a memory states, in the order of its fields."""
    own = memory.id
    found = [
        LinkStatement(
            None,
            link.relation,
            link.target,
            EdgeOrigin.SUPERSEDES if link.relation == SUPERSEDES else EdgeOrigin.LINK,
            link.valid_from,
            link.valid_to,
            link.note,
        )
        for link in (*memory.links, *_ended_links(memory))
    ]
    found += [
        LinkStatement(None, SUPERSEDES, old, EdgeOrigin.SUPERSEDES) for old in memory.supersedes
    ]
    found += [
        LinkStatement(new, SUPERSEDES, own, EdgeOrigin.SUPERSEDES) for new in memory.superseded_by
    ]
    if memory.kind != "document":  # a store of documents lists their links itself
        found += [
            LinkStatement(None, relation, name, EdgeOrigin.TEXT)
            for relation, name in find_text_links(memory.content)
        ]
    sources = source_links(memory.source)
    return (*found, *sources) if found else sources


def _ended_links(memory: Memory) -> list[Link]:
    """The links that a person has ended, each with its end."""
    values = memory.extra.get(ENDED_LINKS)
    found: list[Link] = []
    for value in values if isinstance(values, list) else ():
        end = value.get("valid_to") if isinstance(value, dict) else None
        if isinstance(value, dict) and (ended := from_iso(end)) is not None:
            begin = from_iso(value.get("valid_from"))
            found.append(Link(str(value.get("relation")), str(value.get("target")), begin, ended))
    return found


@lru_cache(maxsize=1024)
def source_links(source: str) -> tuple[LinkStatement, ...]:
    """The sources that can be ids: one or several, separated by commas; ids have no spaces."""
    return tuple(
        LinkStatement(None, FROM_SOURCE, name, EdgeOrigin.SOURCE)
        for name in (source.split(", ") if source else ())
        if name and " " not in name
    )


def source_refs(store: str, source: str) -> tuple[str, ...]:
    """The refs that a source may mean: of a memory of its store, of any, of a session there."""
    return f"{store}:{source}", source, f"{store}:{SESSION}{source}"


def find_text_links(text: str) -> list[tuple[str, str]]:
    """Find wikilinks and relative Markdown links in a text, as (relation, name) pairs."""
    pairs: dict[tuple[str, str], None] = {}
    if "[[" in text:
        for match in _WIKILINK.finditer(text):
            pairs[MENTIONS, match[1].strip()] = None
    if "](" in text:
        for match in _MARKDOWN_LINK.finditer(text):
            if not _SCHEME.match(match[1]):
                pairs[LINKS_TO, match[1].removeprefix("./")] = None
    return list(pairs)[:MAX_TEXT_LINKS]


def stem_of(name: str) -> str:
    """The folded file name without `.md`; empty for a name that is no path of a document."""
    last = name.rpartition("/")[2]
    return last.removesuffix(".md").casefold() if last.endswith(".md") else ""
