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
from typing import Any

from msgspec import Struct

from memtui.errors import UnreadableFile
from memtui.model import Memory
from memtui.progress import Cancelled, IsCancelled, never
from memtui.sessions.message import Call, Kind, Message, Reading, Session
from memtui.sessions.programs import PROGRAMS

FILE_TOOLS = frozenset(
    {
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
    oldest_first = sorted(
        sessions, key=lambda each: each.started.timestamp() if each.started else 0.0
    )
    found = [find_recorded(memory, oldest_first) for memory in memories]
    texts = [(each.origin.file, plain_text(each.content or each.title)) for each in memories]
    seen: set[tuple[int, str]] = set()

    def written_by(message: Message) -> list[int]:
        call = message.call
        return [n for n, text in enumerate(texts) if call is not None and does_write(call, *text)]

    for session in oldest_first:
        written: set[int] = set()
        with suppress(UnreadableFile):
            for number, words, call in find_calls(session, written_by, cancelled):
                is_new = not call.id or (number, call.id) not in seen
                seen.add((number, call.id))
                if is_new and number not in written:
                    written.add(number)
                    found[number].append(Origin(OriginKind.WRITTEN, session, words, call))
    return found


FoundCall = tuple[int, Message | None, Message]
"""A number that is found in a call, what a person said last before the call, and the call."""


def find_calls(
    session: Session, find: Callable[[Message], Sequence[int]], cancelled: IsCancelled
) -> Iterator[FoundCall]:
    """The calls of a session in which `find` finds something, and which were not refused.

    Raises Cancelled, UnreadableFile.
    """
    words: Message | None = None
    waiting: dict[str, list[FoundCall]] = {}
    for message in PROGRAMS[session.program].messages(session, Reading()):
        if cancelled():
            raise Cancelled
        if message.is_from_person:
            words = message
        elif message.call is None:
            continue
        elif message.kind is Kind.CALL:
            if found := [(number, words, message) for number in find(message)]:
                waiting[message.call.id] = found
        elif message.kind is Kind.RESULT and message.call.id in waiting:
            written = waiting.pop(message.call.id)
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
    plain = [plain_text(each) for each in given]
    return any(each == text or (len(text) >= SHORTEST_PART and text in each) for each in plain)


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
