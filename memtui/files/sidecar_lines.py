"""The file behind `SidecarEdit`: JSON lines that are only ever appended, the latest line wins.

What the lines mean is the business of `memtui.stores.sidecar`; here is only how one is added.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from memtui.changes import SidecarEdit
from memtui.errors import Conflict

_HALF = re.compile("[\ud800-\udfff]")

FOLDER = ".memtui"
FILE = "sidecar.jsonl"


def sidecar_path(root: Path) -> Path:
    """The sidecar of a store that is a folder, or a single file; it need not exist."""
    if root.is_file():
        return root.parent / FOLDER / f"{root.name}.jsonl"
    return root / FOLDER / FILE


def append_entries(text: str | None, edits: Sequence[SidecarEdit], where: str = "") -> str | None:
    """The file's text with one line more for each edit that is not there already (None: no file).

    Raises Conflict when an entry is neither what it was nor what it shall be. A damaged line, a
    last line without its end among them, stays where it is.
    """
    entries = read_entries(text or "")
    lines = []
    for edit in edits:
        now = entries.get(edit.id)
        before, after = (_plain(entry) for entry in (edit.before, edit.after))
        if now == after:
            continue
        if now != before:
            raise Conflict(
                "another memtui has changed what is kept about this memory",
                where=where,
                base=_written(before),
                theirs=_written(now),
                yours=_written(after),
            )
        entries[edit.id] = after
        time = datetime.now(UTC).isoformat(timespec="seconds").replace("+00:00", "Z")
        lines.append(_line({"id": edit.id, "set": after, "at": time}))
    if not lines:
        return text
    glue = "\n" if text and not text.endswith("\n") else ""
    return (text or "") + glue + "".join(line + "\n" for line in lines)


def _line(record: Mapping[str, Any]) -> str:
    """Readable where it can be, escaped where it holds half a character."""
    line = json.dumps(record, ensure_ascii=False)
    return json.dumps(record) if _HALF.search(line) else line


def read_entries(text: str) -> dict[str, Any]:
    """The latest entry by id; None where it was taken out."""
    entries = {}
    for line in text.split("\n"):
        try:
            record = json.loads(line)
        except (ValueError, RecursionError):
            continue
        if isinstance(record, dict) and isinstance(record.get("id"), str):
            entries[record["id"]] = record.get("set") or None
    return entries


def _plain(entry: Mapping[str, Any] | None) -> Any:
    """As it would be read back."""
    return json.loads(json.dumps(dict(entry))) if entry else None


def _written(entry: Any) -> str | None:
    return None if entry is None else json.dumps(entry, ensure_ascii=False, indent=2)
