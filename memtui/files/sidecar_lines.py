"""Read and append the lines of a sidecar file, memtui's own notes on memories.

It is JSON Lines that are only ever appended; the last line of an id counts. What the entries mean
is defined in `memtui.stores.sidecar`.
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

_SURROGATE = re.compile("[\ud800-\udfff]")

FOLDER = ".memtui"
FILE = "sidecar.jsonl"
PLACE_FILE = "place.json"
"""Beside the sidecar of a restored store: what its former place told about it."""


def sidecar_path(root: Path) -> Path:
    """Return the sidecar file of a store, which is a folder or a file; it need not exist."""
    if root.is_file():
        return root.parent / FOLDER / f"{root.name}.jsonl"
    return root / FOLDER / FILE


def append_entries(text: str | None, edits: Sequence[SidecarEdit], where: str = "") -> str | None:
    """Return the file's text with a line for each edit that is not made yet (None: no file).

    Raises Conflict when an entry is neither as before nor as after its edit. Damaged lines, such as
    a last line without its end, stay where they are.
    """
    entries = read_entries(text or "")
    lines = []
    for edit in edits:
        now = entries.get(edit.id)
        before, after = (_as_read(entry) for entry in (edit.before, edit.after))
        if now == after:
            continue
        if now != before:
            raise Conflict(
                "another memtui has changed the sidecar entry of this memory",
                where=where,
                base=_indented(before),
                theirs=_indented(now),
                yours=_indented(after),
            )
        entries[edit.id] = after
        time = datetime.now(UTC).isoformat(timespec="seconds").replace("+00:00", "Z")
        lines.append(_line({"id": edit.id, "set": after, "at": time}))
    if not lines:
        return text
    glue = "\n" if text and not text.endswith("\n") else ""
    return (text or "") + glue + "".join(line + "\n" for line in lines)


def _line(record: Mapping[str, Any]) -> str:
    """One record as JSON; in ASCII where it holds half a character (a lone surrogate)."""
    line = json.dumps(record, ensure_ascii=False)
    return json.dumps(record) if _SURROGATE.search(line) else line


def read_entries(text: str) -> dict[str, Any]:
    """Return the last entry of each id; None where it was removed."""
    entries = {}
    for line in text.split("\n"):
        try:
            record = json.loads(line)
        except (ValueError, RecursionError):
            continue
        if isinstance(record, dict) and isinstance(record.get("id"), str):
            entries[record["id"]] = record.get("set") or None
    return entries


def _as_read(entry: Mapping[str, Any] | None) -> Any:
    """The entry as it is when it is read from the file."""
    return json.loads(json.dumps(dict(entry))) if entry else None


def _indented(entry: Any) -> str | None:
    return None if entry is None else json.dumps(entry, ensure_ascii=False, indent=2)
