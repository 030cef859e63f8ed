"""Entity summaries, daily notes and MEMORY.md as memories.

The content is the whole file, without a byte order mark and, where every line ends in CRLF, with
plain line feeds (`extra` then says so, and writing puts both back).
"""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

from msgspec import Struct

from memtui.changes import Act, Change, Edit, Plan, text_edit
from memtui.files.json.locating import BYTE_ORDER_MARK
from memtui.files.reading import decode, read_bytes
from memtui.model import Memory, Place
from memtui.stores.plans import SIDECAR_ACTS, PlanContext, plan_one, tag_edits
from memtui.stores.scanning import read_text
from memtui.stores.values import changed_values, check_unchanged, content_of, from_iso, memory_name

NOTES = "notes"
"""The entity of daily notes and of MEMORY.md."""

_TYPE_LINE = re.compile(r"\*\*Type:\*\*\s*(\S.*)")
_UPDATED_LINE = re.compile(r"\*\*Last updated:\*\*\s*(\d{4}-\d{2}-\d{2})")
_HEAD_LINES = 20
"""Lines of a summary that may hold its **Type** and **Last updated**."""


class NoteText(Struct, frozen=True):
    """One markdown file, and how its bytes differ from its content."""

    path: Path
    content: str
    has_bom: bool
    """It begins with a byte order mark."""
    crlf: bool
    """All its lines end in CRLF."""

    @property
    def extra(self) -> dict[str, Any]:
        extra: dict[str, Any] = {}
        if self.has_bom:
            extra["byte_order_mark"] = True
        if self.crlf:
            extra["line_endings"] = "crlf"
        return extra


def parse_note(path: Path, text: str) -> NoteText:
    """Strip the byte order mark and CRLF line ends from the text of a file."""
    marked = text.startswith(BYTE_ORDER_MARK)
    body = text.removeprefix(BYTE_ORDER_MARK)
    pairs = body.count("\r\n")
    crlf = 0 < pairs == body.count("\n") == body.count("\r")
    return NoteText(path, body.replace("\r\n", "\n") if crlf else body, marked, crlf)


def note_to_text(content: str, like: NoteText) -> str:
    """The text of the file for new content, with the mark and line ends that the file has."""
    body = content.replace("\n", "\r\n") if like.crlf else content
    return BYTE_ORDER_MARK + body if like.has_bom else body


def read_note(path: Path, root: Path) -> NoteText:
    """Read a note. Raises UnreadableFile."""
    return parse_note(path, decode(read_bytes(path, root)))


def heading(content: str) -> str:
    """The text of the first `# heading`; empty without one."""
    for line in content.split("\n"):
        text = line.removesuffix("\r").lstrip("#")
        found = text.strip().rstrip("#").strip()
        if line.startswith("#") and text[:1] in (" ", "\t") and found:
            return found
    return ""


def stated_type(content: str) -> str:
    """The entity type that a summary states."""
    return _in_head(content, _TYPE_LINE).strip()


def _in_head(content: str, pattern: re.Pattern[str]) -> str:
    for line in content.split("\n", _HEAD_LINES)[:_HEAD_LINES]:
        if match := pattern.match(line.removesuffix("\r")):
            return match[1]
    return ""


def _note(prose: NoteText, label: str, id: str, **fields: Any) -> Memory:
    return Memory(
        **memory_name(label, id),
        kind="note",
        content=prose.content,
        origin=Place(str(prose.path), 1),
        extra=prose.extra,
        **fields,
    )


def summary(prose: NoteText, label: str, id: str, entity: str, slug: str) -> Memory:
    """An entity's summary.md; `updated` is its **Last updated** line."""
    title = heading(prose.content) or slug
    updated = from_iso(_in_head(prose.content, _UPDATED_LINE))
    return _note(prose, label, id, type="summary", title=title, entity=entity, updated=updated)


def daily(prose: NoteText, label: str, id: str) -> Memory:
    """A daily note; its date is its file name."""
    date = id.removesuffix(".md")
    title, created = heading(prose.content) or date, from_iso(date)
    return _note(prose, label, id, type="daily", title=title, entity=NOTES, created=created)


def tacit(prose: NoteText, label: str, id: str) -> Memory:
    """MEMORY.md: how the human works."""
    title = heading(prose.content) or id
    return _note(prose, label, id, type="tacit", title=title, entity=NOTES)


NOTE_FIELDS = frozenset({"content", "tags"})
NOTE_ACTS = frozenset({Act.EDIT, Act.DELETE}) | SIDECAR_ACTS


def _read_again(memory: Memory) -> tuple[str, NoteText]:
    """The current text of the note's file, and the note. Raises Refused."""
    path = Path(memory.origin.file)
    text = read_text(path, path.parent)
    return text, parse_note(path, text)


def edit_note(change: Change, memory: Memory, context: PlanContext) -> Plan:
    before, prose = _read_again(memory)
    changed = changed_values(change, memory, NOTE_FIELDS)
    edits: tuple[Edit, ...] = ()
    if "content" in changed:
        path = str(prose.path)
        check_unchanged(memory, prose.content, path, changed["content"])
        edits = (text_edit(path, before, note_to_text(content_of(change), prose)),)
    if "tags" in changed:
        edits += tag_edits(context.sidecar_entry(memory), changed["tags"])
    return plan_one(change, memory, edits)


def delete_note(change: Change, memory: Memory, context: PlanContext) -> Plan:
    before, prose = _read_again(memory)
    path = str(prose.path)
    check_unchanged(memory, prose.content, path, None)
    edits: tuple[Edit, ...] = (
        text_edit(path, before, None),
        *context.sidecar_entry(memory).removal(),
    )
    return plan_one(change, memory, edits)
