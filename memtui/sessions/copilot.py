"""Transcripts of GitHub Copilot CLI.

Source: formats page of sessions, 6; the types of events and their `data` as in the session events
of the Copilot SDK's documentation.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from msgspec.structs import replace

from memtui.files.reading import walk
from memtui.sessions.base import (
    JsonLineTranscripts,
    Line,
    LineReader,
    Part,
    describe_call,
    failed,
    joined_texts,
    object_of,
    text_of,
)
from memtui.sessions.injected import without_injected
from memtui.sessions.message import Call, Kind, Message, Reading, Role, Session, parse_time

_EVENTS = "events.jsonl"
_WITHOUT_MESSAGES = ("session.", "assistant.", "tool.", "hook.", "subagent.", "skill.", "system.")
"""Beginnings of the types of events that hold no message and are passed over."""


class Copilot(JsonLineTranscripts):
    """`session-state/<id>/events.jsonl`, of older builds `session-state/<id>.jsonl`."""

    name = "copilot"
    title = "Copilot CLI"

    def roots(self, home: Path, variables: Mapping[str, str]) -> list[Path]:
        """The states of all sessions."""
        return [Path(variables.get("COPILOT_HOME") or home / ".copilot") / "session-state"]

    def files(self, root: Path) -> Iterator[Path]:
        """The events of all sessions."""
        for entry in walk(root, (".jsonl",)):
            path = Path(entry.path)
            if path.name == _EVENTS or path.parent == root:
                yield path

    def reader(self, session: Session) -> LineReader:
        """See `JsonLineTranscripts.reader`."""
        folder = session.path.parent.name
        return _Reader(replace(session, id=folder) if session.path.name == _EVENTS else session)


class _Reader(LineReader):
    def read(self, line: Line, reading: Reading) -> Iterator[Message]:
        kind, data = text_of(line.value.get("type")), object_of(line.value.get("data"))
        match kind:
            case "session.start" | "session.resume":
                context = object_of(data.get("context"))
                self.note(
                    cwd=text_of(context.get("cwd")), started=parse_time(data.get("startTime"))
                )
            case "user.message":
                if text := without_injected(text_of(data.get("content"))):
                    yield self._make(Part(Role.USER, Kind.TEXT, text), line)
            case "assistant.message":
                if text := text_of(data.get("content")).strip():
                    yield self._make(Part(Role.ASSISTANT, Kind.TEXT, text), line)
            case "tool.execution_start":
                yield self._make(_call(data), line)
            case "tool.execution_complete":
                yield self._make(_result(data), line)
            case _ if not kind.startswith(_WITHOUT_MESSAGES) and kind != "abort":
                reading.unknown[kind or "without a type"] += 1

    def _make(self, part: Part, line: Line) -> Message:
        value = line.value
        time = parse_time(value.get("timestamp"))
        self.note(started=time)
        id, parent = text_of(value.get("id")), text_of(value.get("parentId"))
        return self.make(part, line, id=id, parent=parent, time=time)


def _call(data: Mapping[str, Any]) -> Part:
    arguments = object_of(data.get("arguments"))
    call = Call(text_of(data.get("toolName")), arguments, text_of(data.get("toolCallId")))
    return Part(Role.ASSISTANT, Kind.CALL, describe_call(arguments), call)


def _result(data: Mapping[str, Any]) -> Part:
    result = data.get("result")
    text = text_of(object_of(result).get("content")) or joined_texts(result)
    if error := text_of(object_of(data.get("error")).get("message")):
        text = failed(error)
    return Part(Role.TOOL, Kind.RESULT, text, Call("", {}, text_of(data.get("toolCallId"))))
