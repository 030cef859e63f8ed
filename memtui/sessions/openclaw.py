"""Transcripts of OpenClaw, and of pi, which it was built on.

Source: formats page of sessions, 4 (OpenClaw's documentation of session management) and 6 (pi);
OpenClaw 2026.9.6 (`docs/reference/database-schemas/layout.md`), which keeps sessions in a database
for each agent, whose rows hold the same lines.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Callable, Iterator, Mapping
from functools import cache
from importlib import import_module
from pathlib import Path
from typing import Any

from memtui.files.reading import walk
from memtui.sessions.base import (
    HEAD_LINES,
    LONGEST_LINE,
    JsonLineTranscripts,
    Line,
    LineReader,
    Part,
    decode_object,
    joined_texts,
    list_of,
    make_call,
    make_result,
    make_texts,
    object_of,
    text_of,
)
from memtui.sessions.databases import read_database, select, share_of
from memtui.sessions.message import Kind, Message, Reading, Role, Session, parse_time

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


_DATABASE = "openclaw-agent.sqlite"
_WINDOWS = (
    "session_id",
    "session_key",
    "previous_session_id",
    "created_at",
    "updated_at",
    "transcript_updated_at",
    "spawned_by",
)
_EVENTS = ("rowid", "event_json", "event_zstd")


class _Reader(LineReader):
    def read(self, line: Line, reading: Reading) -> Iterator[Message]:
        value = line.value
        kind, id = text_of(value.get("type")), text_of(value.get("id"))
        parent, time = text_of(value.get("parentId")), parse_time(value.get("timestamp"))
        parts = list[Part]()
        if kind == "session":
            above = text_of(value.get("parentSession")).rpartition("/")[2].removesuffix(".jsonl")
            self.note(cwd=text_of(value.get("cwd")), started=time, parent=above)
        elif kind in ("compaction", "branch_summary"):
            if text := text_of(value.get("summary")).strip():
                parts = [Part(Role.SYSTEM, Kind.SUMMARY, text)]
        elif kind == "message":
            parts = list(_parts(object_of(value.get("message"))))
        elif kind not in _WITHOUT_MESSAGES:
            reading.unknown[kind or "without a type"] += 1
        yield from self.make_all(parts, line, id, parent=parent, time=time)


class OpenClaw(JsonLineTranscripts):
    """`agents/<agent>/agent/openclaw-agent.sqlite`, of older builds
    `agents/<agent>/sessions/<id>.jsonl`."""

    name = "openclaw"
    title = "OpenClaw"
    line_reader = _Reader
    retention = "OpenClaw deletes or archives sessions after 30 days (session.maintenance)"
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
        """All databases, and the transcripts without checkpoints and deleted ones."""
        for entry in walk(root, (".jsonl", _DATABASE)):
            path = Path(entry.path)
            is_transcript = path.parent.name == "sessions" and path.suffix == ".jsonl"
            if path.name == _DATABASE or (
                is_transcript and not any(part in path.name for part in _LEFT_OUT)
            ):
                yield path

    def sessions(self, file: Path) -> Iterator[Session]:
        """The session of a transcript, or those of a database."""
        if file.name != _DATABASE:
            yield from super().sessions(file)
            return

        def read(connection: sqlite3.Connection) -> list[Session]:
            windows = select(connection, "session_windows", _WINDOWS)
            ids = {row["session_key"]: row["session_id"] for row in windows}
            return [
                self.describe(
                    Session(
                        self.name,
                        row["session_id"],
                        file,
                        started=parse_time(row["created_at"]),
                        changed=parse_time(row["transcript_updated_at"] or row["updated_at"]),
                        parent=ids.get(row["spawned_by"], "") or row["previous_session_id"] or "",
                        is_sidechain=row["spawned_by"] in ids,
                        size=share_of(file, len(windows)),
                        stamp=str(row["transcript_updated_at"] or ""),
                    ),
                    _events(connection, row["session_id"], Reading(), f"LIMIT {HEAD_LINES}"),
                )
                for row in windows
            ]

        yield from read_database(file, read)

    def lines(self, session: Session, reading: Reading, start: int) -> Iterator[Line]:
        """See `JsonLineTranscripts.lines`; of a database those in rows behind `start`."""
        if session.path.name != _DATABASE:
            yield from super().lines(session, reading, start)
            return
        read = read_database(session.path, lambda c: list(_events(c, session.id, reading)))
        yield from (line for line in read if line.offset > start)


def _events(
    connection: sqlite3.Connection, session: str, reading: Reading, limit: str = ""
) -> Iterator[Line]:
    """The lines of a session in a database."""
    where = f"WHERE session_id = ? ORDER BY seq {limit}"
    for row in select(connection, "transcript_events", _EVENTS, where, (session,), reading):
        data = text_of(row["event_json"]).encode("utf-8", "replace")
        if isinstance(row["event_zstd"], bytes):
            if (decompress := _find_decompressor()) is None:
                reading.unknown["compressed with zstd"] += 1
                continue
            data = decompress(row["event_zstd"])
        value = decode_object(data)
        if value is None:
            reading.damaged += 1
        else:
            yield Line(value, row["rowid"], 0)


@cache
def _find_decompressor() -> Callable[[bytes], bytes] | None:
    """What takes zstd apart: the standard library from Python 3.14 on, else `backports.zstd` if it
    is installed. It returns nothing for damaged data."""
    for name in ("compression.zstd", "backports.zstd"):
        try:
            zstd: Any = import_module(name)
        except ImportError:
            continue

        def decompress(data: bytes, zstd: Any = zstd) -> bytes:
            try:
                whole: bytes = zstd.ZstdDecompressor().decompress(data, LONGEST_LINE)
            except zstd.ZstdError:
                return b""
            return whole

        return decompress
    return None


class Pi(JsonLineTranscripts):
    """`sessions/--<path>--/<time>_<id>.jsonl` with the same lines."""

    name = "pi"
    title = "pi"
    line_reader = _Reader

    def roots(self, home: Path, variables: Mapping[str, str]) -> list[Path]:
        """The sessions of all projects."""
        return [Path(variables.get("PI_CODING_AGENT_DIR") or home / ".pi" / "agent") / "sessions"]


def _parts(message: Mapping[str, Any]) -> Iterator[Part]:
    role, content = text_of(message.get("role")), message.get("content")
    if role == "toolResult":
        is_error = message.get("isError") is True
        yield make_result(joined_texts(content), message.get("toolCallId"), is_error=is_error)
    elif role == "user":
        yield from make_texts(role, joined_texts(content))
    elif role == "assistant":
        yield from make_texts(role, joined_texts(content, "text"))
        for block in map(object_of, list_of(content)):
            if block.get("type") == "toolCall":
                yield make_call(block.get("name"), block.get("arguments"), block.get("id"))
