"""Write memories as JSON lines, CSV and Markdown; only JSON lines can be imported again."""

from __future__ import annotations

import csv
import io
import json
import re
from collections.abc import Iterable, Iterator, Sequence

from memtui.model import UNTYPED, Memory, to_record
from memtui.text import date, one_line, visible

CSV_FIELDS = (
    "ref", "kind", "type", "title", "content", "entity", "created", "updated", "importance",
    "status", "pinned", "confidence", "supersedes", "superseded_by", "tags", "source",
)  # fmt: skip
_FORMULA = re.compile(
    r"[\t\r\n]|[\s\x00-\x1f\u200b-\u200f\u2060\ufeff]*[=+\-@\uff1d\uff0b\uff0d\uff20]"
)
"""Beginnings of a cell that a spreadsheet runs as a formula (OWASP, CSV Injection); some skip
blanks and invisible characters, some accept full-width signs."""


def encode_jsonl(memories: Iterable[Memory]) -> Iterator[str]:
    """Yield one JSON object per memory and line, ASCII, with every field."""
    for memory in memories:
        yield json.dumps(to_record(memory)) + "\n"


def _cell(value: object) -> str:
    if isinstance(value, list):
        value = " ".join(str(item) for item in value)
    text = "" if value is None else str(value)
    text = text.encode("utf-8", "replace").decode("utf-8")
    return f"'{text}" if _FORMULA.match(text) else text


def encode_csv(memories: Iterable[Memory]) -> Iterator[str]:
    """Yield a header and a row per memory; formulas get a leading `'`."""
    line = io.StringIO()
    rows = csv.writer(line)
    rows.writerow(CSV_FIELDS)
    for memory in memories:
        record = to_record(memory)
        rows.writerow([_cell(record[name]) for name in CSV_FIELDS])
        if line.tell() > 1 << 16:
            yield line.getvalue()
            line.seek(0)
            line.truncate()
    yield line.getvalue()


def encode_markdown(memories: Sequence[Memory]) -> Iterator[str]:
    """Yield a chapter per entity; control characters are made visible."""
    chapters: dict[str, list[Memory]] = {}
    for memory in memories:
        chapters.setdefault(memory.entity, []).append(memory)
    yield "# Memories\n"
    for entity in sorted(chapters):
        yield f"\n## {one_line(entity) or 'without entity'}\n"
        for memory in chapters[entity]:
            yield from _paragraph(memory)


def _paragraph(memory: Memory) -> Iterator[str]:
    status = "" if memory.status == "active" else f", {memory.status}"
    about = f"{memory.type or UNTYPED}, {memory.importance}{status}, {date(memory.when)}"
    yield f"\n### {one_line(memory.headline)}\n\n"
    yield f"*{one_line(about)}* `{one_line(memory.ref)}`\n"
    body = visible(memory.content).strip()
    if body and body != visible(memory.headline).strip():
        yield "\n" + "\n".join(f"> {line}".rstrip() for line in body.split("\n")) + "\n"
