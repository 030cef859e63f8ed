"""Transcripts of gptme, and of Qwen Code, whose lines are simple.

Source: formats page of sessions, 6 (gptme) and 5 (Qwen Code).
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from pathlib import Path

from msgspec.structs import replace

from memtui.files.reading import walk
from memtui.sessions.base import (
    JsonLineTranscripts,
    Line,
    LineReader,
    Part,
    describe_call,
    failed,
    list_of,
    object_of,
    text_of,
)
from memtui.sessions.injected import without_injected
from memtui.sessions.message import Call, Kind, Message, Reading, Role, Session, parse_time

_CONVERSATION = "conversation.jsonl"


class Gptme(JsonLineTranscripts):
    """`logs/<name>/conversation.jsonl`; a message has no id and no tool calls of its own."""

    name = "gptme"
    title = "gptme"

    def roots(self, home: Path, variables: Mapping[str, str]) -> list[Path]:
        """The logs of all conversations."""
        data = Path(variables.get("XDG_DATA_HOME") or home / ".local" / "share")
        return [Path(variables.get("GPTME_LOGS_HOME") or data / "gptme" / "logs")]

    def files(self, root: Path) -> Iterator[Path]:
        """The conversations, without the branches beside them."""
        entries = walk(root, (_CONVERSATION,), skip=("branches",))
        return (Path(entry.path) for entry in entries if entry.name == _CONVERSATION)

    def reader(self, session: Session) -> LineReader:
        """See `JsonLineTranscripts.reader`."""
        folder = session.path.parent
        return _GptmeReader(replace(session, id=folder.name, cwd=_workspace(folder)))


def _workspace(folder: Path) -> str:
    """Where the agent worked: a link beside the conversation names it."""
    try:
        return os.readlink(folder / "workspace")
    except OSError:
        return ""


class _GptmeReader(LineReader):
    def read(self, line: Line, reading: Reading) -> Iterator[Message]:
        role, text = text_of(line.value.get("role")), text_of(line.value.get("content")).strip()
        time = parse_time(line.value.get("timestamp"))
        self.note(started=time)
        if role == "user" and (text := without_injected(text)):
            yield self.make(Part(Role.USER, Kind.TEXT, text), line, time=time)
        elif role == "assistant" and text:
            yield self.make(Part(Role.ASSISTANT, Kind.TEXT, text), line, time=time)
        elif role == "system" and line.value.get("hide") is not True and text:
            yield self.make(Part(Role.TOOL, Kind.RESULT, text), line, time=time)
        elif role not in ("user", "assistant", "system"):
            reading.unknown[role or "without a role"] += 1


class Qwen(JsonLineTranscripts):
    """`projects/<slug>/chats/<session>.jsonl`, of older builds `tmp/<hash>/chats/`."""

    name = "qwen"
    title = "Qwen Code"

    def roots(self, home: Path, variables: Mapping[str, str]) -> list[Path]:
        """The folders of all projects."""
        folder = Path(variables.get("QWEN_HOME") or home / ".qwen")
        return [folder / "projects", folder / "tmp"]

    def files(self, root: Path) -> Iterator[Path]:
        """All chats."""
        paths = (Path(entry.path) for entry in walk(root, (".jsonl",)))
        return (path for path in paths if path.parent.name == "chats")

    def reader(self, session: Session) -> LineReader:
        """See `JsonLineTranscripts.reader`."""
        return _QwenReader(session)


class _QwenReader(LineReader):
    def read(self, line: Line, reading: Reading) -> Iterator[Message]:
        value = line.value
        kind, time = text_of(value.get("type")), parse_time(value.get("timestamp"))
        self.note(started=time, cwd=text_of(value.get("cwd")))
        if kind not in ("user", "assistant", "tool_result"):
            if kind != "system":
                reading.unknown[kind or "without a type"] += 1
            return
        id, parent = text_of(value.get("uuid")), text_of(value.get("parentUuid"))
        parts = list_of(object_of(value.get("message")).get("parts"))
        for number, part in enumerate(filter(None, (_part(object_of(p), kind) for p in parts))):
            made = f"{id}#{number}" if number else id
            yield self.make(part, line, id=made, parent=parent, time=time)


def _part(part: Mapping[str, object], kind: str) -> Part | None:
    text = text_of(part.get("text")).strip()
    called, answer = object_of(part.get("functionCall")), object_of(part.get("functionResponse"))
    if part.get("thought") is True:
        return None
    if called:
        arguments = object_of(called.get("args"))
        call = Call(text_of(called.get("name")), arguments, text_of(called.get("id")))
        return Part(Role.ASSISTANT, Kind.CALL, describe_call(arguments), call)
    if answer:
        response = object_of(answer.get("response"))
        error = text_of(response.get("error"))
        result = failed(error) if error else text_of(response.get("output"))
        return Part(Role.TOOL, Kind.RESULT, result, Call("", {}, text_of(answer.get("id"))))
    if kind == "user":
        text = without_injected(text)
    role = Role.USER if kind == "user" else Role.ASSISTANT
    return Part(role, Kind.TEXT, text) if text else None
