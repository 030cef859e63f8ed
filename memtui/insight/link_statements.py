"""The links that memories state, before their names are resolved."""

from __future__ import annotations

import re
from collections.abc import Callable
from datetime import UTC, datetime
from enum import StrEnum
from functools import lru_cache
from typing import NamedTuple

from memtui.model import CURRENT, ENDED_LINKS, Link, Memory
from memtui.stores.values import from_iso

FindMemory = Callable[[str, str], Memory | None]
"""Looks up a memory by store label and id; None if it does not exist."""

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
"""The end of a memory that was taken out of use at an unknown time: it counts as never in use."""

MAX_TEXT_LINKS = 200
"""Maximum number of links read from one text."""
_WIKILINK = re.compile(r"\[\[([^\[\]\n|#]{1,300})(?:[|#][^\[\]\n]{0,300})?\]\]")
_MARKDOWN_LINK = re.compile(r"\]\(<?([^()<>\s]{1,500}?)(?:#[^()<>\s]*)?>?\)")
_SCHEME = re.compile(r"[A-Za-z][A-Za-z0-9+.-]*://|mailto:")

MAX_STATEMENTS = 1 << 20
"""Maximum number of links kept for one memory."""


class EdgeOrigin(StrEnum):
    LINK = "link"
    SUPERSEDES = "supersedes"
    TEXT = "text"
    SOURCE = "source"


class LinkStatement(NamedTuple):
    """An edge as one memory states it; names are not resolved yet."""

    source: str | None
    """None for the memory itself."""
    relation: str
    target: str
    origin: EdgeOrigin
    valid_from: datetime | None = None
    valid_to: datetime | None = None
    note: str = ""


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


def find_end(
    memory: Memory,
    find: FindMemory,
    changed: Callable[[Memory], datetime | None] = lambda _: None,
) -> datetime | None:
    """When a memory was taken out of use; None if it is in use, or if that is not known.

    That was when its first successor came, or as its store says; else its last change may have
    done it, or that of memtui, which `changed` gives.
    """
    if memory.status in CURRENT:
        return None
    times = [
        time
        for id in memory.superseded_by
        if (newer := find(memory.store, id)) is not None
        and (time := _superseded_at(memory, newer)) is not None
    ]
    if stated := stated_end(memory):
        times.append(stated)
    if times:
        return min(times)
    known, own = last_change(memory), None if memory.superseded_by else changed(memory)
    return known if own is None else max(own, known or own)


def _superseded_at(memory: Memory, newer: Memory) -> datetime | None:
    begun = newer.created or newer.updated
    for link in newer.links:
        if link.relation == SUPERSEDES and link.target == memory.id and link.valid_from is not None:
            return max(link.valid_from, begun) if begun is not None else link.valid_from
    return begun


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
    return (*found[:MAX_STATEMENTS], *sources) if found else sources


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
