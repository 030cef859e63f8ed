"""Files with one JSON object a line, whose lines are changed, added and removed."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import Any

from msgspec import Struct

from memtui.errors import UnreadableFile
from memtui.files.json.editing import JsonStyle, Spelling
from memtui.files.json.locating import BYTE_ORDER_MARK, load

TIGHT = JsonStyle("", ",", ":", "")
"""As JSON.stringify and Go's encoding/json write."""


class JsonLine(Struct, frozen=True):
    """One object, and where it stands."""

    value: Mapping[str, Any]
    raw: str
    start: int
    """Offset of its first character."""
    line: int
    """1-based."""

    @property
    def end(self) -> int:
        return self.start + len(self.raw)


def parse_lines(text: str) -> tuple[list[JsonLine], list[int]]:
    """The objects of a text in order, and the numbers of the lines that hold anything else."""
    found, faults, start = [], [], 0
    for number, line in enumerate(text.split("\n"), 1):
        if raw := line.strip():
            raw = raw.removeprefix(BYTE_ORDER_MARK)
            try:
                value = load(raw)
            except UnreadableFile:
                value = None
            if isinstance(value, dict):
                found.append(JsonLine(value, raw, start + line.index(raw), number))
            else:
                faults.append(number)
        start += len(line) + 1
    return found, faults


def without_lines(text: str, removed: Collection[tuple[int, int]]) -> str:
    """The text without the lines of the objects at these spans."""
    for first, last in sorted(removed, reverse=True):
        start, end = text.rfind("\n", 0, first) + 1, text.find("\n", last)
        head = text[:start] if end >= 0 else text[: max(start - 1, 0)]
        text = head + (text[end + 1 :] if end >= 0 else "")
    return text


def line_of(value: Mapping[str, Any]) -> str:
    """A new object on a line, without its line feed."""
    return TIGHT.write_object(value, Spelling())
