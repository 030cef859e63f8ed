"""Find the session that taught a memory: by an id that the memory keeps, or by the call that wrote
it.

Source: formats page of sessions, 7 (calls that write memory, and what of them must match), and the
links of each program in 1 to 5.
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from enum import StrEnum
from typing import Any, TypeVar

from msgspec import Struct

from memtui.errors import UnreadableFile
from memtui.model import Memory
from memtui.progress import Cancelled, IsCancelled, never
from memtui.sessions.message import Call, Kind, Message, Reading, Session
from memtui.sessions.programs import PROGRAMS

SHELLS = frozenset(
    {
        "shell",
        "bash",
        "terminal",
        "execute_command",
        "run_shell_command",
        "exec",
        "exec_command",
        "shell_command",
    }
)
"""Tools that are given a command."""
FILE_TOOLS = SHELLS | {
    "write",
    "edit",
    "multiedit",
    "write_file",
    "replace",
    "write_to_file",
    "replace_in_file",
    "apply_patch",
    "create",
    "str_replace",
    "insert",
    "save",
    "append",
    "patch",
}
"""Tools that write a file, which must be the memory's."""
MEMORY_TOOLS = frozenset(
    {
        "memory",
        "save_memory",
        "write_memory",
        "edit_memory",
        "create_entities",
        "add_observations",
        "write_note",
        "edit_note",
        "mem_save",
        "mem_update",
    }
)
"""Tools of memory servers and of Hermes: the text alone must match."""
SHORTEST_PART = 16
"""Characters from which a text counts as written when it is a part of what a call wrote."""
_ID_KEYS = ("originSessionId", "session_id", "sessionId", "thread_id", "rollout_path", "transcript")
_REFUSED = re.compile(
    r"\s*(?:error|<tool_use_error>|failed|refused|permission denied"
    r"|\{[^{}]*\"(?:success|ok)\"\s*:\s*false)",
    re.IGNORECASE,
)
"""How the result of a call begins that wrote nothing; Hermes' is JSON with `success`."""
_LEADS = ("session ", "thread ")


Found = TypeVar("Found")
Find = Callable[[Message, Call], Iterable[Found]]
"""Finds something in a call, which is that of the message."""
FoundCall = tuple[Found, Message | None, Message, Call]
"""What was found in a call, what a person said last before it, and the call."""


class OriginKind(StrEnum):
    """How sure an origin is."""

    RECORDED = "recorded"
    """The memory names the session."""
    WRITTEN = "written here"
    """A call in the session wrote the memory's text."""
    LOOKS_LIKE = "looks like"
    """The session mentions the memory's words (`memtui.search.mentions`)."""


class Strength(StrEnum):
    """How much of a memory a mention has."""

    STRONG = "strong"
    LIKELY = "likely"


class Origin(Struct, frozen=True):
    """One session that a memory came from."""

    kind: OriginKind
    session: Session
    words: Message | None = None
    """What a person said last before it was written; of a mention, the message itself."""
    call: Message | None = None
    """The call that wrote it."""
    strength: Strength | None = None
    """Of a mention."""
    share: float = 0.0
    """Of a mention: the part of the memory's words, weighed by their rarity, that it has."""


def recorded_ids(memory: Memory) -> tuple[str, ...]:
    """Ids of sessions that the memory keeps, without their paths."""
    named = memory.source.split(", ")
    nested = memory.extra.get("metadata")
    for values in (memory.extra, nested if isinstance(nested, Mapping) else {}):
        named += [value for key in _ID_KEYS if isinstance(value := values.get(key), str)]
    return tuple(dict.fromkeys(filter(None, map(_id_of, named))))


def _id_of(name: str) -> str:
    for lead in _LEADS:
        name = name.removeprefix(lead)
    return name.rpartition("/")[2].removesuffix(".zst").removesuffix(".jsonl").strip()


def find_recorded(memory: Memory, sessions: Iterable[Session]) -> list[Origin]:
    """The sessions that a memory names; none is read."""
    ids = set(recorded_ids(memory))
    named = (each for each in sessions if each.id in ids or each.path.stem in ids)
    return [Origin(OriginKind.RECORDED, each) for each in named]


def find_origins(
    memories: Sequence[Memory], sessions: Iterable[Session], cancelled: IsCancelled = never
) -> list[list[Origin]]:
    """For each memory the sessions that taught it: those it names, then those that wrote it, oldest
    first.

    A session is read once, whatever the number of memories. A copy of a call that a fork begins
    with is not told again. A session that cannot be read is passed over. Raises Cancelled.
    """
    sessions = _oldest_first(sessions)
    found = [find_recorded(memory, sessions) for memory in memories]
    texts = [(each.origin.file, plain_text(each.content or each.title)) for each in memories]

    def written_by(_: Message, call: Call) -> list[int]:
        return [number for number, text in enumerate(texts) if does_write(call, *text)]

    for number, origin in find_in_sessions(sessions, written_by, cancelled):
        if not any(each.call and each.session is origin.session for each in found[number]):
            found[number].append(origin)
    return found


def _oldest_first(sessions: Iterable[Session]) -> list[Session]:
    return sorted(sessions, key=lambda each: each.started.timestamp() if each.started else 0.0)


def find_in_sessions(
    sessions: Iterable[Session], find: Find[Found], cancelled: IsCancelled
) -> Iterator[tuple[Found, Origin]]:
    """What `find` finds in the calls of sessions, the oldest session first, each with its call.

    The copy of a call that a fork begins with is left out, and so is a session that cannot be read.
    Raises Cancelled.
    """
    seen: set[tuple[Found, str]] = set()
    for session in _oldest_first(sessions):
        with suppress(UnreadableFile):
            for found, words, message, call in find_calls(session, find, cancelled):
                if not call.id or (found, call.id) not in seen:
                    seen.add((found, call.id))
                    yield found, Origin(OriginKind.WRITTEN, session, words, message)


def find_calls(
    session: Session, find: Find[Found], cancelled: IsCancelled
) -> Iterator[FoundCall[Found]]:
    """What `find` finds in the calls of a session that were not refused.

    Raises Cancelled, UnreadableFile.
    """
    words: Message | None = None
    waiting: dict[str, list[FoundCall[Found]]] = {}
    for message in PROGRAMS[session.program].messages(session, Reading()):
        if cancelled():
            raise Cancelled
        if message.is_from_person:
            words = message
        elif message.call is None:
            continue
        elif message.kind is Kind.CALL:
            found = [(each, words, message, message.call) for each in find(message, message.call)]
            waiting.setdefault(message.call.id, []).extend(found)  # some calls have no id
        elif message.kind is Kind.RESULT:
            written = waiting.pop(message.call.id, [])
            if _REFUSED.match(message.text) is None:
                yield from written
    for written in waiting.values():
        yield from written


def does_write(call: Call, file: str, text: str) -> bool:
    """Whether a call writes the text, `plain_text`, to the memory at this file."""
    name = tool_name(call)
    if not text or name not in FILE_TOOLS | MEMORY_TOOLS:
        return False
    given = list(texts_in(call.arguments))
    if name in FILE_TOOLS and not any(
        bool(file) and (os.path.normpath(each) == file or file in each) for each in given
    ):
        return False
    return any(has_text(plain_text(each), text) for each in given)


def has_text(given: str, text: str) -> bool:
    """Whether what a call was given is a text or, if that is not short, has it as a part."""
    return given == text or (len(text) >= SHORTEST_PART and text in given)


def tool_name(call: Call) -> str:
    """The name of the tool, without that of its server."""
    return call.name.rpartition("__")[2].lower()


def texts_in(value: Any) -> Iterator[str]:
    """The texts in a JSON value, such as the arguments of a call."""
    if isinstance(value, str):
        yield value
    elif isinstance(value, Mapping | list):
        for each in value.values() if isinstance(value, Mapping) else value:
            yield from texts_in(each)


def plain_text(text: str) -> str:
    """A text with single blanks, to compare."""
    return " ".join(text.split())
