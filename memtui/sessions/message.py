"""What all programs' transcripts are read as: sessions, and messages in their order."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from datetime import UTC, datetime
from enum import StrEnum
from pathlib import Path
from typing import Any

from msgspec import Struct, field

LONGEST_TEXT = 1 << 16
"""Characters of one message that are kept; the rest is read from the file where it is needed."""


class Role(StrEnum):
    """Who a message is from."""

    USER = "user"
    ASSISTANT = "assistant"
    TOOL = "tool"
    SYSTEM = "system"


class Kind(StrEnum):
    """What a message is."""

    TEXT = "text"
    CALL = "call"
    """The agent calls a tool."""
    RESULT = "result"
    """What a tool answered."""
    SUMMARY = "summary"
    """A compaction: the program's own words about what was said before, nobody's in the session."""


class Place(Struct, frozen=True, gc=False):
    """Where a message lies."""

    path: str
    offset: int
    """Of the first byte of its line; of a database the id of its row."""
    length: int = 0
    """Bytes of its line without the line break; 0 in a database."""


class Call(Struct, frozen=True, gc=False):
    """A call of a tool."""

    name: str
    arguments: Mapping[str, Any]
    id: str = ""
    """What the result names the call by."""


class Message(Struct, frozen=True, gc=False):
    """One message of a session.

    Texts are the program's, with whatever control characters and secrets they hold. Pass them
    through `memtui.text.visible` before they are shown.
    """

    session: str
    role: Role
    kind: Kind
    text: str
    place: Place
    id: str = ""
    """The program's id of it. A fork copies messages with their ids."""
    parent: str = ""
    """Id of the message that it answers, where the program has branches."""
    time: datetime | None = None
    cwd: str = ""
    """Working folder of the agent at this point; empty if the program does not say."""
    is_sidechain: bool = False
    """It belongs to a subagent: its user is the agent above it, not a person."""
    call: Call | None = None
    """Of a call: what was called. Of a result: an empty name and the id of its call."""
    is_cut: bool = False
    """The text is only the first `LONGEST_TEXT` characters."""

    @property
    def is_from_person(self) -> bool:
        """Whether a person wrote it."""
        return self.role is Role.USER and self.kind is Kind.TEXT and not self.is_sidechain


class Session(Struct, frozen=True):
    """A session: what its first lines say of it."""

    program: str
    id: str
    path: Path
    cwd: str = ""
    title: str = ""
    """The program's title, else the first words of a person."""
    started: datetime | None = None
    changed: datetime | None = None
    """When the file was last written to; of a database the time of the last message."""
    said: datetime | None = None
    """The time of its last message, if the file says it."""
    parent: str = ""
    """Id of the session that this one was forked from or belongs to."""
    is_sidechain: bool = False
    size: int = 0
    """Bytes of the file; of a database a share of them."""
    stamp: str = ""
    """Of a database: what differs once the session has changed. Empty: reading it tells."""

    @property
    def last(self) -> datetime | None:
        """When something was last said in it, as far as that is known."""
        return self.said or self.changed or self.started

    @property
    def project(self) -> str:
        """The last part of the working folder's path."""
        return self.cwd.rstrip("/").rpartition("/")[2]


class Reading(Struct):
    """What was passed over while a session was read."""

    unknown: Counter[str] = field(default_factory=Counter)
    """Type of a line -> lines of a type that the reader does not know."""
    damaged: int = 0
    """Lines that are not JSON objects."""
    too_long: int = 0
    """Lines past the limit of one line."""
    end: int = 0
    """Offset after the last complete line: where reading goes on when the file has grown. 0 if it
    is always read from its beginning."""

    @property
    def skipped(self) -> int:
        """Lines that were not understood."""
        return self.unknown.total() + self.damaged + self.too_long


def parse_time(value: object) -> datetime | None:
    """A time of a transcript: ISO 8601, or seconds or milliseconds since 1970; None if neither."""
    try:
        if isinstance(value, str):
            time = datetime.fromisoformat(value)
            return time.replace(tzinfo=UTC) if time.tzinfo is None else time.astimezone(UTC)
        if isinstance(value, int | float) and not isinstance(value, bool):
            return datetime.fromtimestamp(value / 1000 if value > 1e11 else value, UTC)
    except (ValueError, OverflowError, OSError):
        pass
    return None
