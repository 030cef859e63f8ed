"""Where a memory was used: a session was given it, or cited it, after it was learned.

Codex ends an answer with the lines of its memory that it used; other programs read a memory with a
tool. What a store counts itself (`memtui.search.salience`) is told apart: one use may be in both.

Source: formats page of sessions, 2 (Codex's citations).
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Iterator, Sequence
from datetime import datetime
from enum import StrEnum
from pathlib import Path

from msgspec import Struct

from memtui.errors import UnreadableFile
from memtui.model import Memory
from memtui.progress import Cancelled, IsCancelled, never
from memtui.search.salience import count_accesses, find_last_access
from memtui.sessions import PROGRAMS, Call, Kind, Message, Reading, Session
from memtui.sessions.origin import FILE_TOOLS, SHORTEST_PART, recorded_ids

_CITATION = re.compile(r"<oai-mem-citation>(.*?)(?:</oai-mem-citation>|\Z)", re.DOTALL)
_ENTRY = re.compile(r"^\s*(?:\./)?(\S[^|\n]*?):(\d+)(?:-(\d+))?\|", re.MULTILINE)
_IDS = re.compile(r"<rollout_ids>(.*?)(?:</rollout_ids>|\Z)", re.DOTALL)
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
    texts = {memory.ref: _mark(memory) for memory in memories}
    found: dict[str, Use] = {}
    calls: dict[str, Call] = {}
    try:
        for message in PROGRAMS[session.program].messages(session, Reading()):
            if cancelled():
                raise Cancelled
            if message.call is not None and message.kind is Kind.CALL:
                calls[message.call.id] = message.call
            elif message.call is not None:
                call = calls.get(message.call.id)
                for memory in memories if call is not None and _reads(call) else ():
                    text = texts[memory.ref]
                    if text and text in message.text and call and _is_about(call, memory):
                        found[memory.ref] = Use(memory, UseKind.READ, session, message)
            elif "<oai-mem-citation>" in message.text:
                for memory in _cited(memories, session, message.text):
                    found[memory.ref] = Use(memory, UseKind.CITED, session, message)
    except UnreadableFile:
        pass
    return list(found.values())


def _mark(memory: Memory) -> str:
    """The longest line, by which a text is known where its lines are numbered or cut."""
    longest = max(memory.full_text.split("\n"), key=len, default="").strip()
    return longest if len(longest) >= SHORTEST_PART else ""


def _reads(call: Call) -> bool:
    name = call.name.rpartition("__")[2].lower()
    return name not in FILE_TOOLS or name in ("shell", "bash", "terminal", "exec_command")


def _is_about(call: Call, memory: Memory) -> bool:
    """Whether a call reads the file of a memory, or asks a server of memories."""
    if "mem" in call.name.lower():
        return True
    name = os.path.basename(memory.origin.file)
    return bool(name) and any(
        name in value for value in call.arguments.values() if isinstance(value, str)
    )


def _cited(memories: Iterable[Memory], session: Session, text: str) -> Iterator[Memory]:
    """The memories that the citations of an answer name, by their lines or their sessions."""
    blocks = [found[1] for found in _CITATION.finditer(text)]
    ids = {id for block in blocks for found in _IDS.findall(block) for id in found.split()}
    folder = _memory_folder(session.path)
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


def _memory_folder(transcript: Path) -> Path:
    """Where Codex keeps its memory, by the place of one of its transcripts."""
    homes = (each.parent for each in transcript.parents if each.name in _SESSION_FOLDERS)
    return next(homes, transcript.parent) / "memories"
