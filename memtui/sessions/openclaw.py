"""Transcripts of OpenClaw, and of pi, which it was built on.

Source: formats page of sessions, 4 (OpenClaw's documentation of session management) and 6 (pi).
Newer builds keep sessions in a database; its rows hold the same lines.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from memtui.files.reading import walk
from memtui.sessions.base import (
    JsonLineTranscripts,
    LineReader,
    Part,
    describe_call,
    failed,
    joined_texts,
    list_of,
    object_of,
    text_of,
)
from memtui.sessions.injected import without_injected
from memtui.sessions.json_lines import Line
from memtui.sessions.message import Call, Kind, Message, Reading, Role, Session, parse_time

_LEFT_OUT = (".checkpoint.", ".deleted", ".reset", ".bak")
"""Parts of the names of copies that the program keeps."""
_WITHOUT_MESSAGES = frozenset(
    {
        "custom",
        "custom_message",
        "model_change",
        "thinking_level_change",
        "reset",
        "label",
        "session_info",
        "leaf",
    }
)


class OpenClaw(JsonLineTranscripts):
    """`agents/<agent>/sessions/<id>.jsonl`."""

    name = "openclaw"
    title = "OpenClaw"
    retention = "OpenClaw deletes sessions after 30 days, and beyond 500 (session.maintenance)"
    retention_days = 30
    retention_setting = "session.maintenance.pruneAfter"
    retention_off = ("session.maintenance.mode", "warn")
    settings_file = "openclaw.json"

    def roots(self, home: Path, variables: Mapping[str, str]) -> list[Path]:
        """The agents of the state folder, and of its former name."""
        named = variables.get("OPENCLAW_STATE_DIR")
        folders = [Path(named)] if named else [home / ".openclaw", home / ".clawdbot"]
        return [folder / "agents" for folder in folders]

    def files(self, root: Path) -> Iterator[Path]:
        """All transcripts, without checkpoints and deleted ones."""
        for entry in walk(root, (".jsonl",)):
            path = Path(entry.path)
            if path.parent.name == "sessions" and not any(part in path.name for part in _LEFT_OUT):
                yield path

    def reader(self, session: Session) -> LineReader:
        """See `JsonLineTranscripts.reader`."""
        return _Reader(session)


class Pi(JsonLineTranscripts):
    """`sessions/--<path>--/<time>_<id>.jsonl` with the same lines."""

    name = "pi"
    title = "pi"

    def roots(self, home: Path, variables: Mapping[str, str]) -> list[Path]:
        """The sessions of all projects."""
        return [Path(variables.get("PI_CODING_AGENT_DIR") or home / ".pi" / "agent") / "sessions"]

    def files(self, root: Path) -> Iterator[Path]:
        """All transcripts."""
        return (Path(entry.path) for entry in walk(root, (".jsonl",)))

    def reader(self, session: Session) -> LineReader:
        """See `JsonLineTranscripts.reader`."""
        return _Reader(session)


class _Reader(LineReader):
    def read(self, line: Line, reading: Reading) -> Iterator[Message]:
        value = line.value
        kind = text_of(value.get("type"))
        time = parse_time(value.get("timestamp"))
        if kind == "session":
            above = text_of(value.get("parentSession")).rpartition("/")[2].removesuffix(".jsonl")
            self.note(cwd=text_of(value.get("cwd")), started=time, parent=above)
        elif kind in ("compaction", "branch_summary"):
            text = text_of(value.get("summary")).strip()
            if text:
                yield self._make(Part(Role.SYSTEM, Kind.SUMMARY, text), line, 0)
        elif kind == "message":
            for number, part in enumerate(_parts(object_of(value.get("message")))):
                yield self._make(part, line, number)
        elif kind not in _WITHOUT_MESSAGES:
            reading.unknown[kind or "without a type"] += 1

    def _make(self, part: Part, line: Line, number: int) -> Message:
        id = text_of(line.value.get("id"))
        return self.make(
            part,
            line,
            id=f"{id}#{number}" if number else id,
            parent=text_of(line.value.get("parentId")),
            time=parse_time(line.value.get("timestamp")),
        )


def _parts(message: Mapping[str, Any]) -> Iterator[Part]:
    role, content = text_of(message.get("role")), message.get("content")
    if role == "user":
        if text := without_injected(joined_texts(content)):
            yield Part(Role.USER, Kind.TEXT, text)
    elif role == "toolResult":
        call = Call("", {}, text_of(message.get("toolCallId")))
        text = joined_texts(content)
        text = failed(text) if message.get("isError") is True else text
        yield Part(Role.TOOL, Kind.RESULT, text, call)
    elif role == "assistant":
        if text := joined_texts(content, "text").strip():
            yield Part(Role.ASSISTANT, Kind.TEXT, text)
        for block in map(object_of, list_of(content)):
            if block.get("type") == "toolCall":
                arguments = object_of(block.get("arguments"))
                call = Call(text_of(block.get("name")), arguments, text_of(block.get("id")))
                yield Part(Role.ASSISTANT, Kind.CALL, describe_call(arguments), call)
