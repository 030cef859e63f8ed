"""The memories that a session wrote, found through its calls."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator, Mapping
from typing import Any

from msgspec import Struct

from memtui.library.reader import LibraryReader
from memtui.model import Memory
from memtui.progress import IsCancelled, never
from memtui.query import Condition, Query, Term, TermKind
from memtui.sessions import Call, Message, Session
from memtui.sessions.authorship import changed_paths
from memtui.sessions.origin import (
    FILE_TOOLS,
    MEMORY_TOOLS,
    does_write,
    find_calls,
    plain_text,
    texts_in,
    tool_name,
)

FIRST_WORDS = 8
"""Words of a text by which the memories that may have it are found."""
MOST_IN_FILE = 200
"""Memories of one file that are compared with a call."""
_PATH = re.compile(r"[^\s\"'`=:;,()<>|]*/[^\s\"'`=:;,()<>|]+")


class Written(Struct, frozen=True):
    """A memory that a session wrote."""

    memory: Memory
    call: Message
    """The last call that wrote it."""
    is_current: bool
    """It still says what the call wrote; else it was changed since."""


def find_written(
    library: LibraryReader, session: Session, cancelled: IsCancelled = never
) -> list[Written]:
    """The memories that calls of a session wrote, in the order of the last call for each.

    Of a file with one memory it counts that it was written to; of one with several, and of a
    memory server, what they say now must be what the call wrote. A call that was refused does not
    count. Raises Cancelled, UnreadableFile.
    """
    files = {path for counts in library.loaded.memories_by_file().values() for path in counts}
    in_file: dict[str, list[Memory]] = {}
    found: dict[str, Written] = {}

    def written_by(message: Message, call: Call) -> Iterator[tuple[Memory, bool]]:
        return _of_call(library, call, message.cwd, files, in_file)

    for (memory, is_current), _, message, _ in find_calls(session, written_by, cancelled):
        if is_current or memory.ref not in found:
            found.pop(memory.ref, None)
            found[memory.ref] = Written(memory, message, is_current)
    return list(found.values())


def _of_call(
    library: LibraryReader, call: Call, cwd: str, files: set[str], in_file: dict[str, list[Memory]]
) -> Iterator[tuple[Memory, bool]]:
    name = tool_name(call)
    if name in FILE_TOOLS:
        for path in dict.fromkeys(_paths(call.arguments)):
            if path not in files:
                continue
            if path not in in_file:
                in_file[path] = _memories_in(library, path)
            memories = in_file[path]
            for memory in memories:
                is_current = does_write(call, path, _plain(memory))
                if is_current or (len(memories) == 1 and path in changed_paths(call, cwd)):
                    yield memory, is_current
    elif name in MEMORY_TOOLS:
        for given in texts_in(call.arguments):
            for memory in _memories_with(library, given):
                if does_write(call, "", _plain(memory)):
                    yield memory, True


def _memories_in(library: LibraryReader, path: str) -> list[Memory]:
    asked = Query(conditions=(Condition("file", (path.casefold(),)),))
    answer = library.find(asked.with_status("all"))
    found = (answer.rows[int(slot)] for slot in answer.slots[:MOST_IN_FILE])
    return [memory for memory in found if memory.origin.file == path]


def _memories_with(library: LibraryReader, given: str) -> list[Memory]:
    words = " ".join(given.split()[:FIRST_WORDS])
    if not words:
        return []
    asked = Query(terms=(Term(words, TermKind.PHRASE),))
    answer = library.find(asked.with_status("all"))
    return [answer.rows[int(slot)] for slot in answer.slots[:MOST_IN_FILE]]


def _plain(memory: Memory) -> str:
    return plain_text(memory.content or memory.title)


def _paths(arguments: Mapping[str, Any]) -> Iterator[str]:
    """The paths among the arguments, and in commands and patches."""
    for value in texts_in(arguments):
        yield os.path.normpath(value) if "\n" not in value else ""
        yield from (os.path.normpath(found) for found in _PATH.findall(value[:4_000]))
