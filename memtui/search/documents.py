"""The text of a memory as it is indexed, field by field; its session, position and speaker."""

from __future__ import annotations

import re

from msgspec import Struct

from memtui.model import Memory, Place


class IndexedDocument(Struct, frozen=True):
    """The searchable text of one memory."""

    ref: str
    title: str = ""
    content: str = ""
    tags: tuple[str, ...] = ()
    entity: str = ""
    type: str = ""
    source: str = ""

    def fields(self) -> tuple[str, str, str, str, str, str]:
        """The texts in the order of `FIELD_WEIGHTS`."""
        return (self.title, self.content, "\n".join(self.tags), self.entity, self.type, self.source)


FIELD_WEIGHTS = (2.0, 1.0, 2.0, 1.0, 0.5, 0.25)
"""The weight of a word in title, content, tags, entity, type, source.

Multiples of a quarter, up to 63 in sum (see `memtui.search.index.postings`). Title and tags are
weighted because a person chose those words to find the memory by; type and source are the same for
many memories and say little.
"""


MAX_INDEXED = 1 << 20
"""Characters of a text that are searched: an index of 28 MB takes 5 s and half a gigabyte."""


def is_cut(memory: Memory) -> bool:
    """Whether only the beginning of its text is searched."""
    return len(memory.content) > MAX_INDEXED


def searched_text(memory: Memory) -> str:
    """The text of a memory, of a long one its beginning up to the last whole word."""
    if not is_cut(memory):
        return memory.content
    start = memory.content[:MAX_INDEXED]
    return start[: max(start.rfind(" "), start.rfind("\n"))] or start


def to_document(memory: Memory) -> IndexedDocument:
    """Return the searchable text of a memory."""
    return IndexedDocument(
        memory.ref,
        memory.title,
        searched_text(memory),
        memory.tags,
        "\n".join((memory.entity, *memory.also_entities)),
        memory.type,
        memory.source,
    )


_SESSION_KEYS = ("session_id", "originSessionId")
"""Native keys that name the session in which a memory was recorded: Engram, Claude Code."""
_MAX_POSITION = 999_999_999
_LAST_NUMBER = re.compile(r"(\d{1,9})\D*$")
_SPEAKER = re.compile(r"([^\W\d_][\w.'’ -]{0,30}):\s")
"""A name, a colon and a blank at the start of a turn."""


def find_context(memory: Memory) -> str:
    """The session that the memory names, else its entity: a branch, a day, a folder, a person."""
    for name in _SESSION_KEYS:
        session = memory.extra.get(name)
        if isinstance(session, str) and session:
            return f"session {session}"
    return memory.entity


def find_position(origin: Place) -> int:
    """The line in the file, else the last number of the key (`events[12]` is 12), else 0."""
    if origin.line is not None:
        return min(origin.line, _MAX_POSITION)
    found = _LAST_NUMBER.search(origin.key)
    return int(found[1]) if found else 0


def find_speaker(content: str) -> str:
    """The name before a colon at the start of the text, folded; empty if there is none."""
    found = _SPEAKER.match(content) if ":" in content[:33] else None
    return found[1].casefold() if found else ""
