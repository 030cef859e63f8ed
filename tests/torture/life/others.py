"""What other programs do to a file, as functions from bytes to bytes, and how they write it."""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Collection
from pathlib import Path
from typing import Any

WORDS = ("content", "text", "summary", "o", "title")
"""Keys of a record that hold its words, in the formats there are."""


def _dumped(value: Any, like: bytes, indent: int = 2) -> bytes:
    text = json.dumps(value, indent=indent, ensure_ascii=False)
    return (text + ("\n" if like.endswith(b"\n") else "")).encode("utf-8", "surrogateescape")


def _list_of(value: Any) -> list[Any]:
    """The list of records in a document; an empty one where there is none."""
    if isinstance(value, dict):
        lists = [inner for inner in value.values() if isinstance(inner, list)]
        value = next((inner for inner in lists if inner and isinstance(inner[0], dict)), [])
    return value if isinstance(value, list) else []


def places(data: bytes, ids: Collection[str]) -> list[int]:
    """Where the records with these ids stand in the file's list."""
    return [
        place
        for place, record in enumerate(_list_of(_loaded(data)))
        if isinstance(record, dict) and record.get("id") in ids
    ]


def edit(data: bytes, which: int, word: str, new: str) -> bytes:
    """Change the words of one record, or the last line of a text."""
    value = _loaded(data)
    if value is None:
        head, _, _ = data.rstrip(b"\n").rpartition(b"\n")
        return head + b"\n" + _line(data, word)
    records = [r for r in _list_of(value) if isinstance(r, dict)]
    if not records:
        return data
    record = records[which % len(records)]
    key = next((name for name in WORDS if isinstance(record.get(name), str)), "theirs")
    record[key] = f"{word} of theirs"
    return _dumped(value, data)


def add(data: bytes, which: int, word: str, new: str) -> bytes:
    """Add a record like another, or a line."""
    value = _loaded(data)
    if value is None:
        return data + _line(data, word)
    records = _list_of(value)
    if not records or not isinstance(records[0], dict):
        return data
    records.append({**records[which % len(records)], "id": new})
    return _dumped(value, data)


def remove(data: bytes, which: int, word: str, new: str) -> bytes:
    """Take a record away."""
    value = _loaded(data)
    records = _list_of(value)
    if not records:
        return data
    del records[which % len(records)]
    return _dumped(value, data)


def respell(data: bytes, which: int, word: str, new: str) -> bytes:
    """Write the same out in another way."""
    value = _loaded(data)
    return data if value is None else _dumped(value, data, indent=1 + which % 4)


def _line(data: bytes, word: str) -> bytes:
    """A line of a text, or of JSON lines."""
    line = json.dumps({"theirs": word}) if data.startswith(b"{") else f"{word} of theirs"
    return f"{line}\n".encode()


def _loaded(data: bytes) -> Any:
    try:
        return json.loads(data)
    except ValueError:
        return None


Doing = Callable[[bytes, int, str, str], bytes]
"""The file, which record, a word, and an id that no record has."""

DOINGS: dict[str, Doing] = {
    "edits": edit,
    "adds": add,
    "removes": remove,
    "respells": respell,
}


def write_in_place(path: Path, data: bytes) -> None:
    path.write_bytes(data)


def write_by_rename(path: Path, data: bytes) -> None:
    temporary = path.with_name(f"{path.name}.tmp")
    temporary.write_bytes(data)
    os.replace(temporary, path)


WRITERS: dict[str, Callable[[Path, bytes], None]] = {
    "in place": write_in_place,
    "by rename": write_by_rename,
}
