"""Who first said what a memory says: a person, the agent, or what a tool read for it.

A planted instruction comes from a page, a file or a mail that an agent has read; the session in
which the memory was learned shows which.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from msgspec import Struct

from memtui.errors import UnreadableFile
from memtui.model import Memory
from memtui.progress import IsCancelled, never
from memtui.search.mentions import find_mention, origins_of
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


class Speaker(Struct, frozen=True):
    """Who said it first."""

    source: str
    """`you`, `the agent`, `a web page`, `the tool NAME`..."""
    detail: str
    """What the tool was asked for, such as the address; empty of a person and the agent."""
    role: Role
    origin: Origin
    """The mention."""

    def describe(self) -> str:
        """`a web page said this (https://…), 2026-05-04 10:15`, on one line and masked."""
        said = self.origin.words
        time = said.time if said is not None and said.time else self.origin.session.started
        about = f" ({cut_line(self.detail, DETAIL_CELLS)})" if self.detail else ""
        title = PROGRAMS[self.origin.session.program].title
        return f"{cut_line(self.source, 40)} said this{about} in {title}, {date(time)}"


def find_speaker(
    memory: Memory, sessions: Sequence[Session], cancelled: IsCancelled = never
) -> Speaker | None:
    """Who said first what a memory says; None if no session of it is known, or none mentions it.

    Raises Cancelled.
    """
    origins = origins_of(memory, sessions, cancelled)
    mention = next((each for each in origins if each.kind is OriginKind.LOOKS_LIKE), None)
    if mention is None and origins:
        mention = find_mention(memory, [each.session for each in origins], cancelled)
    if mention is None or mention.words is None:
        return None
    role = mention.words.role
    if role is not Role.TOOL:
        return Speaker("you" if role is Role.USER else "the agent", "", role, mention)
    call = _find_call(mention.session, mention.words)
    if call is None:
        return Speaker("a tool", "", role, mention)
    asked = "\n".join(value for value in call.arguments.values() if isinstance(value, str))
    return Speaker(_name_source(call, asked), asked, role, mention)


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
