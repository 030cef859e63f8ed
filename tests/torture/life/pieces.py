"""What a file says, taken apart with the standard library alone: records, values, notes, text.

memtui's own reading is what is under test, so nothing of it is used here.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

Key = tuple[str, ...]
"""("record", array, id), ("value", *pointer) or ("note", id)."""

_DECODER = json.JSONDecoder()
_SPACE = re.compile(r"[ \t\r\n]*")


@dataclass(frozen=True)
class Record:
    """One record of a list: its text as it stands, and what it means."""

    raw: str
    value: Any


@dataclass(frozen=True)
class Pieces:
    """A file's records, values or notes; of a plain text nothing but that it is one."""

    kind: str
    """`json`, `notes` or `text`."""
    held: Mapping[Key, Any] = field(default_factory=dict)
    nameless: tuple[str, ...] = ()
    """What stands in the lists and has no id."""

    @property
    def order(self) -> list[Key]:
        return [key for key in self.held if key[0] == "record"]


def taken_apart(name: str, data: bytes | None) -> Pieces:
    """The pieces of the file of this name. Raises ValueError when it should parse and does not."""
    text = (data or b"").decode("utf-8", "surrogateescape")
    if ".memtui/" in name:
        return Pieces("notes", _notes(text))
    if name.endswith(".json"):
        return _json(text) if data is not None else Pieces("json")
    return Pieces("text")


def _notes(text: str) -> dict[Key, Any]:
    """The latest line of each id; every line must be whole."""
    found: dict[Key, Any] = {}
    for line in text.split("\n"):
        if line:
            entry = json.loads(line)
            found["note", entry["id"]] = entry["set"]
    return {key: value for key, value in found.items() if value}


def _json(text: str) -> Pieces:
    value = json.loads(text)
    held: dict[Key, Any] = {}
    nameless: list[str] = []
    if isinstance(value, list):
        nameless += _records(text, 0, "", held)
    else:
        for name, start, end in _members(text):
            inner = json.loads(text[start:end])
            if isinstance(inner, list) and all(isinstance(item, dict) for item in inner):
                nameless += _records(text, start, name, held)
            else:
                held.update(_leaves(("value", name), inner))
    return Pieces("json", held, tuple(nameless))


def _leaves(key: Key, value: Any) -> Iterator[tuple[Key, Any]]:
    if isinstance(value, dict):
        for name, inner in value.items():
            yield from _leaves((*key, name), inner)
    else:
        yield key, value


def _records(text: str, at: int, array: str, held: dict[Key, Any]) -> Iterator[str]:
    """Put the records of the array that begins here among the others; the rest is given back."""
    for start, end, value in _items(text, at):
        if isinstance(value, dict) and isinstance(value.get("id"), str):
            key = ("record", array, value["id"])
            if key in held:
                raise ValueError(f"the id {value['id']} occurs twice")
            held[key] = Record(text[start:end], value)
        else:
            yield text[start:end]


def _skip(text: str, at: int) -> int:
    found = _SPACE.match(text, at)
    return found.end() if found else at


def _items(text: str, at: int) -> Iterator[tuple[int, int, Any]]:
    at = _skip(text, _skip(text, at) + 1)
    while text[at] != "]":
        value, end = _DECODER.raw_decode(text, at)
        yield at, end, value
        at = _skip(text, end)
        at = _skip(text, at + 1) if text[at] == "," else at


def _members(text: str) -> Iterator[tuple[str, int, int]]:
    at = _skip(text, _skip(text, 0) + 1)
    while text[at] != "}":
        name, end = _DECODER.raw_decode(text, at)
        start = _skip(text, _skip(text, end) + 1)
        _, end = _DECODER.raw_decode(text, start)
        yield name, start, end
        at = _skip(text, end)
        at = _skip(text, at + 1) if text[at] == "," else at
