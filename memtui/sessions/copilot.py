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
    joined_texts,
    make_call,
    make_result,
    make_texts,
    object_of,
    text_of,
)
from memtui.sessions.message import Message, Reading, Session, parse_time

_EVENTS = "events.jsonl"
_WITHOUT_MESSAGES = ("session.", "assistant.", "tool.", "hook.", "subagent.", "skill.", "system.")
"""Beginnings of the types of events that hold no message and are passed over."""


class _Reader(LineReader):
    def read(self, line: Line, reading: Reading) -> Iterator[Message]:
        kind, data = text_of(line.value.get("type")), object_of(line.value.get("data"))
        match kind:
            case "session.start" | "session.resume":
                context = object_of(data.get("context"))
                self.note(
                    cwd=text_of(context.get("cwd")), started=parse_time(data.get("startTime"))
                )
            case "user.message" | "assistant.message":
                for part in make_texts(kind.partition(".")[0], text_of(data.get("content"))):
                    yield self._make(part, line)
            case "tool.execution_start":
                names = ("toolName", "arguments", "toolCallId")
                yield self._make(make_call(*map(data.get, names)), line)
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


class Copilot(JsonLineTranscripts):
    """`session-state/<id>/events.jsonl`, of older builds `session-state/<id>.jsonl`."""

    name = "copilot"
    title = "Copilot CLI"
    line_reader = _Reader

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
        is_folder = session.path.name == _EVENTS
        return super().reader(replace(session, id=folder) if is_folder else session)


def _result(data: Mapping[str, Any]) -> Part:
    result = data.get("result")
    error = text_of(object_of(data.get("error")).get("message"))
    text = error or text_of(object_of(result).get("content")) or joined_texts(result)
    return make_result(text, data.get("toolCallId"), is_error=bool(error))
