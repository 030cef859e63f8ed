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
    list_of,
    make_call,
    make_result,
    make_texts,
    object_of,
    text_of,
)
from memtui.sessions.message import Kind, Message, Reading, Role, Session, parse_time

_CONVERSATION = "conversation.jsonl"


class _GptmeReader(LineReader):
    def read(self, line: Line, reading: Reading) -> Iterator[Message]:
        role, text = text_of(line.value.get("role")), text_of(line.value.get("content")).strip()
        time = parse_time(line.value.get("timestamp"))
        self.note(started=time)
        for part in make_texts(role, text):
            yield self.make(part, line, time=time)
        if role == "system" and line.value.get("hide") is not True and text:
            yield self.make(Part(Role.TOOL, Kind.RESULT, text), line, time=time)
        elif role not in ("user", "assistant", "system"):
            reading.unknown[role or "without a role"] += 1


class Gptme(JsonLineTranscripts):
    """`logs/<name>/conversation.jsonl`; a message has no id and no tool calls of its own."""

    name = "gptme"
    title = "gptme"
    line_reader = _GptmeReader

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
        return super().reader(replace(session, id=folder.name, cwd=_workspace(folder)))


def _workspace(folder: Path) -> str:
    """Where the agent worked: a link beside the conversation names it."""
    try:
        return os.readlink(folder / "workspace")
    except OSError:
        return ""


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
        given = list_of(object_of(value.get("message")).get("parts"))
        parts = (part for each in map(object_of, given) for part in _parts(each, kind))
        yield from self.make_all(parts, line, id, parent=parent, time=time)


class Qwen(JsonLineTranscripts):
    """`projects/<slug>/chats/<session>.jsonl`, of older builds `tmp/<hash>/chats/`."""

    name = "qwen"
    title = "Qwen Code"
    line_reader = _QwenReader

    def roots(self, home: Path, variables: Mapping[str, str]) -> list[Path]:
        """The folders of all projects."""
        folder = Path(variables.get("QWEN_HOME") or home / ".qwen")
        return [folder / "projects", folder / "tmp"]

    def files(self, root: Path) -> Iterator[Path]:
        """All chats."""
        paths = (Path(entry.path) for entry in walk(root, (".jsonl",)))
        return (path for path in paths if path.parent.name == "chats")


def _parts(part: Mapping[str, object], kind: str) -> Iterator[Part]:
    call, answer = object_of(part.get("functionCall")), object_of(part.get("functionResponse"))
    if part.get("thought") is True:
        return
    if call:
        yield make_call(call.get("name"), call.get("args"), call.get("id"))
    elif answer:
        response = object_of(answer.get("response"))
        error = text_of(response.get("error"))
        text = error or text_of(response.get("output"))
        yield make_result(text, answer.get("id"), is_error=bool(error))
    else:
        yield from make_texts("user" if kind == "user" else "assistant", text_of(part.get("text")))
