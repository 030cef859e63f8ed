"""Who first said what a memory says: a person, the agent, or what a tool read for it.

A planted instruction comes from a page, a file or a mail that an agent has read; the session in
which the memory was learned shows which.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from datetime import datetime

from msgspec import Struct

from memtui.errors import UnreadableFile
from memtui.model import Memory
from memtui.progress import IsCancelled, never
from memtui.search.mentions import find_mentions, origins_of
from memtui.sessions import PROGRAMS, Call, Kind, Message, Reading, Role, Session
from memtui.sessions.origin import Origin, OriginKind
from memtui.text import cut_line, date

_SOURCES = (
    ("a web page", re.compile(r"fetch|web|brows|https?:|\bcurl\b|\bwget\b|crawl|scrape")),
    ("a mail", re.compile(r"mail|inbox|imap")),
    ("an issue or a pull request", re.compile(r"\bgh (?:issue|pr)\b|issue|pull_request")),
    ("a file", re.compile(r"^(?:.* )?(?:read|view|open|grep)|\n(?:cat|head|tail|sed|less) ")),
)
"""What was read, by the name of the tool and then the texts of its arguments, in small letters."""
DETAIL_CELLS = 80
LISTED_BYTES = 64 << 20
"""Bytes of sessions that are read for a whole list of findings."""


class Speaker(Struct, frozen=True):
    """Who said it first."""

    source: str
    """`you`, `the agent`, `a web page`, `the tool NAME`..."""
    detail: str
    """What the tool was asked for, such as the address; empty of a person and the agent."""
    role: Role
    origin: Origin
    """The mention."""

    @property
    def time(self) -> datetime | None:
        """When it was said."""
        said = self.origin.words
        return said.time if said is not None and said.time else self.origin.session.started

    def describe(self) -> str:
        """`a web page said this (https://…) in Codex, 2026-05-04 10:15`, on one line and masked."""
        about = f" ({cut_line(self.detail, DETAIL_CELLS)})" if self.detail else ""
        title = PROGRAMS[self.origin.session.program].title
        return f"{cut_line(self.source, 40)} said this{about} in {title}, {date(self.time)}"


def find_speakers(
    memories: Sequence[Memory], sessions: Sequence[Session], cancelled: IsCancelled = never
) -> dict[str, Speaker]:
    """Ref -> who said first what a memory says, of those that a session mentions.

    Raises Cancelled.
    """
    mentions: dict[str, Origin | None] = {}
    unmentioned = []
    for memory, origins in zip(memories, origins_of(memories, sessions, cancelled), strict=True):
        looks_like = [each for each in origins if each.kind is OriginKind.LOOKS_LIKE]
        mentions[memory.ref] = next(iter(looks_like), None)
        if origins and not looks_like:  # a call wrote it: what was said in that session before?
            unmentioned.append((memory, [each.session for each in origins]))
    found = find_mentions(unmentioned, cancelled)
    mentions |= {memory.ref: one for (memory, _), one in zip(unmentioned, found, strict=True)}
    return {
        ref: _speaker_of(mention, mention.words)
        for ref, mention in mentions.items()
        if mention is not None and mention.words is not None
    }


def _speaker_of(mention: Origin, words: Message) -> Speaker:
    if words.role is not Role.TOOL:
        source = "you" if words.role is Role.USER else "the agent"
        return Speaker(source, "", words.role, mention)
    call = _find_call(mention.session, words)
    if call is None:
        return Speaker("a tool", "", words.role, mention)
    asked = "\n".join(value for value in call.arguments.values() if isinstance(value, str))
    return Speaker(_name_source(call, asked), asked, words.role, mention)


def _name_source(call: Call, asked: str) -> str:
    text = f"{call.name.replace('__', ' ')}\n{asked}".lower()
    named = (source for source, pattern in _SOURCES if pattern.search(text))
    return next(named, f"the tool {call.name}")


def _find_call(session: Session, result: Message) -> Call | None:
    """The call that a result answers."""
    id = result.call.id if result.call is not None else ""
    try:
        for message in PROGRAMS[session.program].messages(session, Reading()):
            if message.kind is Kind.CALL and message.call is not None and message.call.id == id:
                return message.call
    except UnreadableFile:
        pass
    return None
