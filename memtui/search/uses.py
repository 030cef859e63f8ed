"""Where a memory was used: a session was given it, or cited it, after it was learned.

Codex ends an answer with the lines of its memory that it used; other programs read a memory with a
tool. What a store counts itself (`memtui.search.salience`) is told apart: one use may be in both.

Source: formats page of sessions, 2 (Codex's citations).
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from datetime import datetime
from enum import StrEnum

from msgspec import Struct

from memtui.errors import UnreadableFile
from memtui.model import Memory
from memtui.progress import Cancelled, IsCancelled, never
from memtui.search.salience import count_accesses, find_last_access
from memtui.sessions import PROGRAMS, Call, Kind, Message, Reading, Session
from memtui.sessions.origin import FILE_TOOLS, SHORTEST_PART, recorded_ids, tool_name

_CITATION = re.compile(r"<oai-mem-citation>(.*?)(?:</oai-mem-citation>|\Z)", re.DOTALL)
_ENTRY = re.compile(r"^\s*(?:\./)?(\S[^|\n]*?):(\d+)(?:-(\d+))?\|", re.MULTILINE)
_IDS = re.compile(r"<rollout_ids>(.*?)(?:</rollout_ids>|\Z)", re.DOTALL)
_SHELLS = frozenset({"shell", "bash", "terminal", "exec_command"})
_SESSION_FOLDERS = ("sessions", "archived_sessions")


class UseKind(StrEnum):
    """How a session used a memory."""

    CITED = "cited"
    READ = "read"


class Use(Struct, frozen=True):
    """A memory in a session, at the last message that used it."""

    memory: Memory
    kind: UseKind
    session: Session
    message: Message


class Used(Struct, frozen=True):
    """How often a memory was used, as far as that is recorded."""

    uses: tuple[Use, ...]
    """One for each session, the last first."""
    counted: int
    """What its store counts."""
    counted_last: datetime | None

    @property
    def last(self) -> datetime | None:
        """The last use that is known."""
        times = [use.message.time for use in self.uses] + [self.counted_last]
        return max((time for time in times if time is not None), default=None)


def find_uses(memory: Memory, sessions: Iterable[Session], cancelled: IsCancelled = never) -> Used:
    """The sessions that used a memory; one that cannot be read is passed over. Raises Cancelled."""
    found = [use for session in sessions for use in find_used([memory], session, cancelled)]
    found.sort(key=lambda use: use.message.time.timestamp() if use.message.time else 0.0)
    return Used(tuple(found[::-1]), int(count_accesses(memory)), find_last_access(memory))


def find_used(
    memories: Sequence[Memory], session: Session, cancelled: IsCancelled = never
) -> list[Use]:
    """Those of the memories that a session used, each at its last use. Raises Cancelled."""
    by_name: dict[str, list[Memory]] = {}
    for memory in memories:
        by_name.setdefault(os.path.basename(memory.origin.file), []).append(memory)
    found: dict[str, Use] = {}
    asked: dict[str, Sequence[Memory]] = {}
    try:
        for message in PROGRAMS[session.program].messages(session, Reading()):
            if cancelled():
                raise Cancelled
            if message.call is not None and message.kind is Kind.CALL:
                asked[message.call.id] = list(_asked_for(message.call, memories, by_name))
            elif message.call is not None:
                for memory in asked.pop(message.call.id, ()):
                    if (mark := _mark(memory)) and mark in message.text:
                        found[memory.ref] = Use(memory, UseKind.READ, session, message)
            elif "<oai-mem-citation>" in message.text:
                for memory in _cited(memories, session, message.text):
                    found[memory.ref] = Use(memory, UseKind.CITED, session, message)
    except UnreadableFile:
        pass
    return list(found.values())


def _asked_for(
    call: Call, memories: Sequence[Memory], by_name: Mapping[str, Sequence[Memory]]
) -> Iterator[Memory]:
    """The memories that a call may read: those of a file that it names, or of any memory server."""
    name = tool_name(call)
    if name in FILE_TOOLS - _SHELLS:
        return
    if "mem" in call.name.lower():
        yield from memories
        return
    given = "\n".join(value for value in call.arguments.values() if isinstance(value, str))
    for file, within in by_name.items():
        if file and file in given:
            yield from within


def _mark(memory: Memory) -> str:
    """The longest line, by which a text is known where its lines are numbered or cut."""
    longest = max(memory.full_text.split("\n"), key=len, default="").strip()
    return longest if len(longest) >= SHORTEST_PART else ""


def _cited(memories: Iterable[Memory], session: Session, text: str) -> Iterator[Memory]:
    """The memories that the citations of an answer name, by their lines or their sessions."""
    blocks = [found[1] for found in _CITATION.finditer(text)]
    ids = {id for block in blocks for found in _IDS.findall(block) for id in found.split()}
    # Where Codex keeps its memory, by the place of one of its transcripts.
    homes = (each.parent for each in session.path.parents if each.name in _SESSION_FOLDERS)
    folder = next(homes, session.path.parent) / "memories"
    lines = [
        (os.path.normpath(folder / path), int(first), int(last or first))
        for block in blocks
        for path, first, last in _ENTRY.findall(block)
    ]
    for memory in memories:
        place = memory.origin
        is_cited = any(
            place.file == path
            and (memory.kind != "fact" or place.line is None or first <= place.line <= last)
            for path, first, last in lines
        )
        if is_cited or (place.file.startswith(f"{folder}/") and ids & set(recorded_ids(memory))):
            yield memory
