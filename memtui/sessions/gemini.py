"""Transcripts of Gemini CLI.

Source: formats page of sessions, 5 (google-gemini/gemini-cli): lines replace, patch and take back
earlier ones, so a session is read as a whole. Older builds rewrote one JSON file.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from msgspec.structs import replace

from memtui.errors import UnreadableFile
from memtui.files.reading import (
    read_bytes,
    read_text_file,
    walk,
)
from memtui.sessions.base import (
    Line,
    LineReader,
    Part,
    WholeTranscripts,
    decode_object,
    joined_texts,
    list_of,
    make_call,
    make_result,
    make_texts,
    object_of,
    read_lines,
    text_of,
)
from memtui.sessions.message import Message, Reading, Session, parse_time

_WITHOUT_MESSAGES = frozenset({"info", "error", "warning"})
_FAILED = ("error", "cancelled")
_PROJECT_ROOT = ".project_root"


class Gemini(WholeTranscripts):
    """`tmp/<slug>/chats/session-*.jsonl`, subagents in a folder below, older ones `.json`."""

    name = "gemini"
    title = "Gemini CLI"
    retention = "Gemini CLI deletes sessions after 30 days (general.sessionRetention)"
    retention_days = 30
    retention_setting = "general.sessionRetention.maxAge"
    retention_off = ("general.sessionRetention.enabled", False)

    def roots(self, home: Path, variables: Mapping[str, str]) -> list[Path]:
        """The temporary folders of all projects."""
        return [Path(variables.get("GEMINI_CLI_HOME") or home) / ".gemini" / "tmp"]

    def files(self, root: Path) -> Iterator[Path]:
        """All chats; of one that was rewritten as `.jsonl` only that."""
        found = [Path(entry.path) for entry in walk(root, (".jsonl", ".json"))]
        chats = [path for path in found if "chats" in path.relative_to(root).parts[1:-1]]
        kept = set(chats)
        return (
            path
            for path in chats
            if path.suffix == ".jsonl" or path.with_suffix(".jsonl") not in kept
        )

    def read(self, session: Session, reading: Reading) -> tuple[Session, list[Message]]:
        """See `WholeTranscripts.read`."""
        head: dict[str, Any] = {}
        lines: dict[str, Line] = {}
        for line in _lines(session.path, reading):
            _apply(line, head, lines)
        chats = next(each for each in session.path.parents if each.name == "chats")
        is_sidechain = text_of(head.get("kind")) == "subagent" or session.path.parent != chats
        folders = list_of(head.get("directories"))
        reader = _Reader(
            replace(
                session,
                id=text_of(head.get("sessionId")) or session.id,
                cwd=_project_root(chats.parent) or text_of(folders[0] if folders else ""),
                started=parse_time(head.get("startTime")),
                title=text_of(head.get("summary")),
                parent=session.path.parent.name if session.path.parent != chats else "",
                is_sidechain=is_sidechain,
            )
        )
        messages = [each for line in lines.values() for each in reader.read(line, reading)]
        return reader.session, messages


def _lines(file: Path, reading: Reading) -> Iterator[Line]:
    if file.suffix == ".jsonl":
        yield from read_lines(file, reading)
        return
    whole = decode_object(read_bytes(file))
    if whole is None:
        raise UnreadableFile("it is not a JSON object", where=str(file))
    messages = list_of(whole.pop("messages", None))
    yield Line(whole, 0, 0)
    for number, message in enumerate(messages, 1):
        if isinstance(message, dict):
            yield Line(message, number, 0)
        else:
            reading.damaged += 1


def _apply(line: Line, head: dict[str, Any], lines: dict[str, Line]) -> None:
    value = line.value
    if isinstance(value.get("$set"), dict):
        head.update(value["$set"])
    elif isinstance(value.get("$rewindTo"), str):
        kept = list(lines)
        if value["$rewindTo"] in lines:
            for id in kept[kept.index(value["$rewindTo"]) :]:
                del lines[id]
    elif "type" in value:
        lines[text_of(value.get("id")) or f"line {line.offset}"] = line
    else:
        head.update(value)


def _project_root(folder: Path) -> str:
    try:
        return read_text_file(folder / _PROJECT_ROOT).strip()
    except UnreadableFile:
        return ""


class _Reader(LineReader):
    def read(self, line: Line, reading: Reading) -> Iterator[Message]:
        value = line.value
        kind, id = text_of(value.get("type")), text_of(value.get("id"))
        time = parse_time(value.get("timestamp"))
        if kind not in ("user", "gemini"):
            if kind not in _WITHOUT_MESSAGES:
                reading.unknown[kind or "without a type"] += 1
            return
        yield from self.make_all(_parts(value, kind), line, id, time=time)


def _parts(value: Mapping[str, Any], kind: str) -> Iterator[Part]:
    text = joined_texts(value.get("content")).strip()
    yield from make_texts("user" if kind == "user" else "assistant", text)
    for call in map(object_of, list_of(value.get("toolCalls")) if kind != "user" else ()):
        yield make_call(call.get("name"), call.get("args"), call.get("id"))
        if result := _result(call):
            yield make_result(result, call.get("id"), is_error=call.get("status") in _FAILED)


def _result(call: Mapping[str, Any]) -> str:
    """What a tool answered: `resultDisplay`, else the output in the parts of `result`."""
    if shown := text_of(call.get("resultDisplay")):
        return shown
    answers = (
        object_of(object_of(part).get("functionResponse")) for part in list_of(call.get("result"))
    )
    outputs = (object_of(answer.get("response")) for answer in answers)
    return "\n".join(filter(None, (text_of(output.get("output")) for output in outputs)))
