"""Transcripts of Claude Code.

Source: formats page of sessions, 1 (layout and lines read by independent parsers; retention from
the vendor's documentation of `cleanupPeriodDays`).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path

from msgspec.structs import replace

from memtui.files.reading import walk
from memtui.sessions.base import (
    JsonLineTranscripts,
    Line,
    LineReader,
    Part,
    joined_texts,
    list_of,
    make_call,
    make_result,
    make_texts,
    object_of,
    text_of,
)
from memtui.sessions.message import Kind, Message, Reading, Role, Session, parse_time

_SUBAGENT = "agent-"
"""The file of a subagent is called so; its lines carry the id of the session above it."""
_NO_MODEL = "<synthetic>"
"""The model of an answer that the program made up, such as the report of an error."""
_WITHOUT_MESSAGES = frozenset(
    {
        "summary",
        "ai-title",
        "custom-title",
        "attachment",
        "queue-operation",
        "file-history-snapshot",
        "progress",
        "mode",
        "agent-name",
        "agent-color",
        "agent-setting",
        "last-prompt",
        "permission-mode",
        "pr-link",
        "tag",
    }
)


class _Reader(LineReader):
    """Holds back an assistant's text until the next line: while it streams, the same message is
    written again and again, each time longer."""

    _held_id = ""

    def read(self, line: Line, reading: Reading) -> Iterator[Message]:
        kind = text_of(line.value.get("type"))
        if kind in ("user", "assistant"):
            yield from self._message(line, kind)
        elif kind == "system":
            return
        elif kind in ("ai-title", "custom-title"):
            self.note(title=text_of(line.value.get("title") or line.value.get("customTitle")))
        elif kind not in _WITHOUT_MESSAGES:
            reading.unknown[kind or "without a type"] += 1

    def _message(self, line: Line, kind: str) -> Iterator[Message]:
        value = line.value
        message = object_of(value.get("message"))
        cwd, time = text_of(value.get("cwd")), parse_time(value.get("timestamp"))
        above = text_of(value.get("sessionId"))
        self.note(cwd=cwd, started=time, parent=above if self.session.is_sidechain else "")
        if value.get("isMeta") is True or message.get("model") == _NO_MODEL:
            return
        id, parent = text_of(value.get("uuid")), text_of(value.get("parentUuid"))
        streamed = text_of(message.get("id"))
        is_summary = value.get("isCompactSummary") is True
        parts = _parts(message.get("content"), kind, is_summary)
        for made in self.make_all(parts, line, id, parent=parent, time=time, cwd=cwd):
            if value.get("isSidechain") is True and not made.is_sidechain:
                made = replace(made, is_sidechain=True)
            yield from self._unless_streamed(made, streamed)

    def _unless_streamed(self, made: Message, streamed: str) -> Iterator[Message]:
        held = self.held
        is_same = held is not None and streamed == self._held_id and made.kind is held.kind
        if is_same and held is not None and made.text.startswith(held.text):
            self.held = replace(made, id=held.id)
            return
        yield from self.rest()
        if made.role is Role.ASSISTANT and made.kind is Kind.TEXT and streamed:
            self.held, self._held_id = made, streamed
        else:
            yield made


class ClaudeCode(JsonLineTranscripts):
    """`projects/<slug>/<session>.jsonl`, and subagents in a folder beside it."""

    name = "claude"
    title = "Claude Code"
    line_reader = _Reader
    retention = "Claude Code deletes sessions after 30 days (cleanupPeriodDays in settings.json)"
    retention_days = 30
    retention_setting = "cleanupPeriodDays"

    def roots(self, home: Path, variables: Mapping[str, str]) -> list[Path]:
        """The projects in the folder of settings."""
        return [Path(variables.get("CLAUDE_CONFIG_DIR") or home / ".claude") / "projects"]

    def files(self, root: Path) -> Iterator[Path]:
        """All transcripts of all projects."""
        return (Path(entry.path) for entry in walk(root, (".jsonl",), skip=("memory",)))

    def reader(self, session: Session) -> LineReader:
        """See `JsonLineTranscripts.reader`."""
        return super().reader(replace(session, is_sidechain=session.id.startswith(_SUBAGENT)))


def _parts(content: object, kind: str, is_summary: bool) -> Iterator[Part]:
    blocks = [{"type": "text", "text": content}] if isinstance(content, str) else list_of(content)
    for block in map(object_of, blocks):
        match block.get("type"):
            case "text":
                text = text_of(block.get("text"))
                if is_summary:
                    yield Part(Role.SYSTEM, Kind.SUMMARY, text)
                else:
                    yield from make_texts(kind, text)
            case "tool_use":
                yield make_call(block.get("name"), block.get("input"), block.get("id"))
            case "tool_result":
                text, is_error = joined_texts(block.get("content")), block.get("is_error") is True
                yield make_result(text, block.get("tool_use_id"), is_error=is_error)
