"""Transcripts of Cline and Roo Code, which rewrite one JSON file a task.

Source: formats page of sessions, 6; Cline's command line as version 3.0.65 writes it.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from msgspec.structs import replace

from memtui.errors import UnreadableFile
from memtui.files.reading import read_bytes, walk
from memtui.sessions.base import (
    TITLE_CHARS,
    Line,
    LineReader,
    Part,
    WholeTranscripts,
    decode_value,
    joined_texts,
    list_of,
    make_call,
    make_result,
    make_texts,
    object_of,
    text_of,
)
from memtui.sessions.message import Kind, Message, Reading, Role, Session, parse_time

_HISTORY = "api_conversation_history.json"
_MESSAGES = ".messages.json"
"""End of the name of a session of the command line; beside it lies a file that describes it."""
_EXTENSIONS = ("saoudrizwan.claude-dev", "rooveterinaryinc.roo-cline")
_EDITORS = ("Code", "Code - Insiders", "VSCodium", "Cursor", "Windsurf")
_TASK = re.compile(
    r"^\s*<(task|feedback|user_message|user_input)(?: [^>\n]{0,200})?>(.*?)</\1>", re.DOTALL
)
_RESULT = re.compile(r"^\[(\w+)[^\]\n]{0,500}\] Result:")
_FOLDER = re.compile(r"# Current Working Directory \(([^)\n]+)\)")


class Cline(WholeTranscripts):
    """`tasks/<id>/api_conversation_history.json` in the extension's folder of each editor, and
    `sessions/<id>/<id>.messages.json` of the command line."""

    name = "cline"
    title = "Cline"

    def roots(self, home: Path, variables: Mapping[str, str]) -> list[Path]:
        """The tasks of the extensions, in every editor, and of Cline's own folder."""
        configs = [
            Path(variables.get("XDG_CONFIG_HOME") or home / ".config"),
            home / "Library" / "Application Support",
            home / ".vscode-server" / "data",
        ]
        users = [config / editor / "User" for config in configs[:2] for editor in _EDITORS]
        storages = [user / "globalStorage" for user in (*users, configs[2] / "User")]
        own = Path(variables.get("CLINE_DIR") or home / ".cline") / "data"
        tasks = [each / name / "tasks" for each in storages for name in _EXTENSIONS]
        return [*tasks, own / "tasks", own / "sessions"]

    def files(self, root: Path) -> Iterator[Path]:
        """The histories of all tasks."""
        return (Path(entry.path) for entry in walk(root, (_HISTORY, _MESSAGES)))

    def read(self, session: Session, reading: Reading) -> tuple[Session, list[Message]]:
        """See `WholeTranscripts.read`."""
        value = decode_value(read_bytes(session.path))
        history = object_of(value).get("messages", value)
        if not isinstance(history, list):
            raise UnreadableFile("it is not a JSON list", where=str(session.path))
        head = _describe(session.path)
        reader = _Reader(
            replace(
                session,
                id=session.path.parent.name,
                cwd=text_of(head.get("cwd")),
                started=parse_time(head.get("started_at")),
                title=text_of(object_of(head.get("metadata")).get("title"))[:TITLE_CHARS],
            )
        )
        messages: list[Message] = []
        for number, value in enumerate(history, 1):
            if isinstance(value, dict):
                messages += reader.read(Line(value, number, 0), reading)
            else:
                reading.damaged += 1
        return reader.session, messages


def _describe(file: Path) -> Mapping[str, Any]:
    """What the file beside a session of the command line says of it."""
    if not file.name.endswith(_MESSAGES):
        return {}
    try:
        beside = file.with_name(file.name.replace(_MESSAGES, ".json"))
        return object_of(decode_value(read_bytes(beside)))
    except UnreadableFile:
        return {}


class _Reader(LineReader):
    def read(self, line: Line, reading: Reading) -> Iterator[Message]:
        if object_of(line.value.get("metadata")).get("displayRole"):  # an error, or a summary
            return
        role = text_of(line.value.get("role"))
        time = parse_time(line.value.get("ts"))
        if role not in ("user", "assistant"):
            reading.unknown[role or "without a role"] += 1
            return
        content = line.value.get("content")
        if found := _FOLDER.search(joined_texts(content)):
            self.note(cwd=found[1])
        self.note(started=time)
        blocks = (
            [{"type": "text", "text": content}] if isinstance(content, str) else list_of(content)
        )
        id = text_of(line.value.get("id"))
        parts = [part for block in map(object_of, blocks) for part in _parts(block, role)]
        for number, part in enumerate(parts):
            yield self.make(part, line, id=f"{id}#{number}" if id else "", time=time)


def _parts(block: Mapping[str, Any], role: str) -> Iterator[Part]:
    text = text_of(block.get("text")).strip()
    match block.get("type"):
        case "tool_use":
            yield make_call(block.get("name"), block.get("input"), block.get("id"))
        case "tool_result":
            is_error = block.get("is_error") is True
            text = joined_texts(block.get("content"))
            yield make_result(text, block.get("tool_use_id"), is_error=is_error)
        case "text" if role == "assistant" and text:
            yield from make_texts(role, text)
        case "text" if _RESULT.match(text):
            yield Part(Role.TOOL, Kind.RESULT, text)
        case "text":
            found = _TASK.match(text)
            yield from make_texts("user", found[2] if found else text)
