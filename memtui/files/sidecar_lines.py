"""Read and write the lines of a sidecar file, memtui's own notes on memories.

It is JSON Lines; the last line of an id counts. A change appends a line, and undo takes that line
out again, so that the file is as it was. What the entries mean is defined in
`memtui.stores.sidecar`.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, NamedTuple

from memtui.changes import Edit
from memtui.errors import Conflict

_SURROGATE = re.compile("[\ud800-\udfff]")

FOLDER = ".memtui"
FILE = "sidecar.jsonl"
PLACE_FILE = "place.json"
"""Beside the sidecar of a restored store: what its former place told about it."""


def sidecar_path(root: Path) -> Path:
    """Return the sidecar file of a store, which is a folder or a file; it need not exist."""
    of_file, of_folder = sidecar_paths(root)
    return of_file if root.is_file() else of_folder


def sidecar_paths(root: Path) -> tuple[Path, Path]:
    """Return the sidecar file of a store that is a file, and of one that is a folder."""
    return root.parent / FOLDER / f"{root.name}.jsonl", root / FOLDER / FILE


def write_entries(text: str | None, edits: Sequence[Edit], where: str = "") -> str | None:
    """Return the file's text with each edit that is not made yet (None: no file).

    An edit that undoes takes out the newest line of its id, where the line before says what is
    wanted; any other appends a line. Other lines stay as and where they are, damaged ones too.
    Raises Conflict when an entry is neither as before nor as after its edit.
    """
    end = "\n" if not text or text.endswith("\n") else ""  # a torn last line stays without one
    known_lines = text.removesuffix("\n").split("\n") if text else []
    history, lines = _read_history(known_lines), list[str | None](known_lines)
    for edit in edits:
        known = history.setdefault(edit.id, [])
        now = known[-1].entry if known else None
        # each as it is when it is read from the file
        before, after = (
            json.loads(json.dumps(dict(entry))) if entry else None
            for entry in (edit.before, edit.after)
        )
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
        if edit.undoes and after == (known[-2].entry if len(known) > 1 else None):
            lines[known.pop().number] = None
            continue
        time = datetime.now(UTC).isoformat(timespec="seconds").replace("+00:00", "Z")
        known.append(_NumberedEntry(len(lines), after))
        lines.append(_line({"id": edit.id, "set": after, "at": time}))
    left = [line for line in lines if line is not None]
    return "\n".join(left) + end if left else text if not lines else None


class _NumberedEntry(NamedTuple):
    number: int
    """Line number, from 1."""
    entry: Any


def _read_history(lines: Sequence[str]) -> dict[str, list[_NumberedEntry]]:
    """Every entry of each id, oldest first."""
    history: dict[str, list[_NumberedEntry]] = {}
    for number, line in enumerate(lines):
        try:
            record = json.loads(line)
        except (ValueError, RecursionError):
            continue
        if isinstance(record, dict) and isinstance(record.get("id"), str):
            entry = _NumberedEntry(number, record.get("set") or None)
            history.setdefault(record["id"], []).append(entry)
    return history


def _line(record: Mapping[str, Any]) -> str:
    """One record as JSON; in ASCII where it holds half a character (a lone surrogate)."""
    line = json.dumps(record, ensure_ascii=False)
    return json.dumps(record) if _SURROGATE.search(line) else line


def read_entries(text: str) -> dict[str, Any]:
    """Return the last entry of each id; None where it was removed."""
    history = _read_history(text.split("\n"))
    return {id: entries[-1].entry for id, entries in history.items()}


def _indented(entry: Any) -> str | None:
    return None if entry is None else json.dumps(entry, ensure_ascii=False, indent=2)
