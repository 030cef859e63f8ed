"""The links that one memory states, before their names are resolved."""

from __future__ import annotations

import re
from datetime import datetime
from enum import StrEnum
from typing import NamedTuple

from memtui.model import ENDED_LINKS, Link, Memory

SUPERSEDES = "supersedes"
MENTIONS = "mentions"
"""The relation of a wikilink, as `memtui.stores.workspace` calls it in documents."""
LINKS_TO = "links_to"
FROM_SOURCE = "from"
"""The relation from a memory to the session or episode it comes from."""
SESSION = "sessions/"
"""How the id of a session's memory begins, before the name that other rows give as their source."""

MOST_TEXT_LINKS = 200
"""Links of one text that are followed."""
_WIKILINK = re.compile(r"\[\[([^\[\]\n|#]{1,300})(?:[|#][^\[\]\n]{0,300})?\]\]")
_MARKDOWN_LINK = re.compile(r"\]\(<?([^()<>\s]{1,500}?)(?:#[^()<>\s]*)?>?\)")
_SCHEME = re.compile(r"[A-Za-z][A-Za-z0-9+.-]*://|mailto:")


class EdgeOrigin(StrEnum):
    LINK = "link"
    SUPERSEDES = "supersedes"
    TEXT = "text"
    SOURCE = "source"


class LinkStatement(NamedTuple):
    """An edge as one memory states it; names are not resolved yet."""

    source: str
    relation: str
    target: str
    origin: EdgeOrigin
    valid_from: datetime | None = None
    valid_to: datetime | None = None
    note: str = ""


def stated_links(memory: Memory) -> tuple[LinkStatement, ...]:
    """List the links that a memory states, in the order of its fields."""
    own = memory.id
    found = [
        LinkStatement(
            own,
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
        LinkStatement(own, SUPERSEDES, old, EdgeOrigin.SUPERSEDES) for old in memory.supersedes
    ]
    found += [
        LinkStatement(new, SUPERSEDES, own, EdgeOrigin.SUPERSEDES) for new in memory.superseded_by
    ]
    if memory.kind != "document":  # a store of documents lists their links itself
        found += [
            LinkStatement(own, relation, name, EdgeOrigin.TEXT)
            for relation, name in find_text_links(memory.content)
        ]
    return (*found, *source_links(own, memory.source))


def _ended_links(memory: Memory) -> list[Link]:
    """The links that a person has ended, each with its end."""
    values = memory.extra.get(ENDED_LINKS)
    found = []
    for value in values if isinstance(values, list) else ():
        end = value.get("valid_to") if isinstance(value, dict) else None
        try:
            begin = datetime.fromisoformat(value["valid_from"]) if "valid_from" in value else None
            ended = datetime.fromisoformat(str(end))
        except (TypeError, ValueError):
            continue
        found.append(Link(str(value.get("relation")), str(value.get("target")), begin, ended))
    return found


def source_links(id: str, source: str) -> tuple[LinkStatement, ...]:
    """The sources that can be ids: one or several, separated by commas; ids have no spaces."""
    return tuple(
        LinkStatement(id, FROM_SOURCE, name, EdgeOrigin.SOURCE)
        for name in (source.split(", ") if source else ())
        if name and " " not in name
    )


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
    return list(pairs)[:MOST_TEXT_LINKS]


def stem_of(name: str) -> str:
    """The folded file name without `.md`; empty for a name that is no path of a document."""
    last = name.rpartition("/")[2]
    return last.removesuffix(".md").casefold() if last.endswith(".md") else ""
