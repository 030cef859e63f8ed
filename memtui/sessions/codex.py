"""Transcripts of Codex.

Source: formats page of sessions, 2 (openai/codex, `rollout/src`): one family of lines is read,
`response_item`, since `event_msg` repeats its texts; `compacted` holds copies of the history.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from msgspec.structs import replace

from memtui.sessions.base import (
    JsonLineTranscripts,
    Line,
    LineReader,
    Part,
    decode_value,
    joined_texts,
    make_call,
    make_result,
    make_texts,
    object_of,
    text_of,
)
from memtui.sessions.message import Kind, Message, Reading, Role, Session, parse_time

_CALLS = {
    "function_call": "arguments",
    "custom_tool_call": "input",
    "local_shell_call": "action",
}
"""Type of a call -> the field with its arguments."""
_WITHOUT_MESSAGES = frozenset(
    {
        "reasoning",
        "web_search_call",
        "ghost_snapshot",
        "other",
        "compaction",
        "image_generation_call",
        "tool_search_call",
        "tool_search_output",
    }
)
_OTHER_LINES = frozenset(
    {
        "event_msg",
        "token_usage_record",
        "inter_agent_communication",
        "inter_agent_communication_metadata",
        "world_state",
    }
)


class _Reader(LineReader):
    """A message is named by its turn and its number in it: a fork copies turns with their ids.

    An answer is held back until the next message: of a compaction it is the summary once more.
    """

    def __init__(self, session: Session) -> None:
        super().__init__(session)
        self._turn = self._cwd = ""
        self._number = 0
        self._has_meta = False

    def read(self, line: Line, reading: Reading) -> Iterator[Message]:
        kind, payload = text_of(line.value.get("type")), line.value.get("payload")
        if payload is None:  # rollouts of 2025 have the item itself as the line
            kind, payload = "response_item", line.value
        item = object_of(payload)
        match kind:
            case "session_meta":
                self._note_meta(item)
            case "turn_context":
                self._turn, self._number = text_of(item.get("turn_id")), 0
                self._cwd = text_of(item.get("cwd"))
                self.note(cwd=self._cwd)
            case "compacted":
                text = text_of(item.get("message")).strip()
                if self.held is not None and text.endswith(self.held.text):
                    self.held = None
                yield from self.rest()
                if text:
                    yield self._make(Part(Role.SYSTEM, Kind.SUMMARY, text), line)
            case "response_item":
                for message in self._item(item, line, reading):
                    yield from self.rest()
                    if message.role is Role.ASSISTANT and message.kind is Kind.TEXT:
                        self.held = message
                    else:
                        yield message
            case _ if kind not in _OTHER_LINES:
                reading.unknown[kind or "without a type"] += 1

    def _note_meta(self, meta: Mapping[str, Any]) -> None:
        if self._has_meta:  # a fork repeats the line of the session that it was copied from
            return
        self._has_meta = True
        above = text_of(meta.get("forked_from_id")) or text_of(meta.get("parent_thread_id"))
        id = text_of(meta.get("id")) or text_of(meta.get("session_id"))
        self.session = replace(self.session, id=id or self.session.id)
        self.note(
            cwd=text_of(meta.get("cwd")), started=parse_time(meta.get("timestamp")), parent=above
        )

    def _item(self, item: Mapping[str, Any], line: Line, reading: Reading) -> Iterator[Message]:
        kind = text_of(item.get("type"))
        if kind == "message":
            for part in make_texts(item.get("role"), joined_texts(item.get("content"))):
                yield self._make(part, line)
        elif kind in _CALLS:
            yield self._make(_call(item, _CALLS[kind]), line)
        elif kind in ("function_call_output", "custom_tool_call_output"):
            yield self._make(make_result(_output(item.get("output")), item.get("call_id")), line)
        elif kind and kind not in _WITHOUT_MESSAGES:
            reading.unknown[f"response_item {kind}"] += 1
        elif not kind:
            if "id" in item and "timestamp" in item:
                self._note_meta(item)
            elif "record_type" not in item:
                reading.unknown["without a type"] += 1

    def _make(self, part: Part, line: Line) -> Message:
        self._number += 1
        time = parse_time(line.value.get("timestamp"))
        self.note(started=time)
        id = f"{self._turn}#{self._number}" if self._turn else ""
        return self.make(part, line, id=id, time=time, cwd=self._cwd)


class Codex(JsonLineTranscripts):
    """`sessions/YYYY/MM/DD/rollout-<time>-<id>.jsonl` and `archived_sessions/`."""

    name = "codex"
    title = "Codex"
    line_reader = _Reader

    def roots(self, home: Path, variables: Mapping[str, str]) -> list[Path]:
        """Running and archived sessions."""
        folder = Path(variables.get("CODEX_HOME") or home / ".codex")
        return [folder / "sessions", folder / "archived_sessions"]


def _call(item: Mapping[str, Any], field: str) -> Part:
    given, arguments = item.get(field), {}
    if isinstance(given, str):
        arguments = dict(object_of(decode_value(given.encode("utf-8", "replace"))))
        arguments = arguments or {"input": given}
    else:
        arguments = dict(object_of(given))
    return make_call(text_of(item.get("name")) or "shell", arguments, item.get("call_id"))


def _output(value: object) -> str:
    """A result: a text, blocks of text, or an object with the text in `content` or `output`."""
    if isinstance(value, dict):
        return text_of(value.get("content")) or text_of(value.get("output"))
    text = joined_texts(value)
    if text.startswith('{"output":'):
        return (
            text_of(object_of(decode_value(text.encode("utf-8", "replace"))).get("output")) or text
        )
    return text
