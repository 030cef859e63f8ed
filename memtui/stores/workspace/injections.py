"""What the agent was given: the append-only log of injections, added up for each document.

One JSON object a line. The last line may be cut off, because a session may be writing it now; any
other line that cannot be read is counted and named. The log is only ever read.
"""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Generic, TypeVar

from memtui.errors import UnreadableFile
from memtui.files.reading import decode, digest, read_bytes
from memtui.stores.scanning import LastRead

LOG_PATH = "state/ambient-memory/injections.jsonl"
"""Relative to the root of the workspace."""

MOST_NAMED_LINES = 5
"""Bad lines that are named; the others are only counted."""


@dataclass(frozen=True, slots=True)
class Usage:
    """How often a document came up in the agent's own retrieval."""

    found: int = 0
    """Times it was among the hits."""
    injected: int = 0
    """Times it was among those given to the agent: the first `num_injected` hits."""
    last: str = ""
    """Time of the last injection, as the log writes it."""
    query: str = ""
    """What was asked that time."""

    def record(self) -> dict[str, Any]:
        """As a JSON object."""
        return {
            "found": self.found,
            "injected": self.injected,
            "last": self.last,
            "query": self.query,
        }


@dataclass(frozen=True, slots=True)
class Log:
    """The usage of every document the log names, by path, and the numbers of the bad lines."""

    usage: Mapping[str, Usage]
    bad_lines: tuple[int, ...] = ()

    @property
    def fault(self) -> str:
        """What to tell a person; empty when every line but perhaps the last was read."""
        if not self.bad_lines:
            return ""
        named = ", ".join(str(number) for number in self.bad_lines[:MOST_NAMED_LINES])
        more = " and others" if len(self.bad_lines) > MOST_NAMED_LINES else ""
        count = len(self.bad_lines)
        return f"{count} line{'s' * (count > 1)} cannot be read and were left out: {named}{more}"


EMPTY = Log({})


def parse(text: str) -> Log:
    """Add up the log. Only a newline ends a line: the text may hold U+2028 and its like."""
    usage: dict[str, Usage] = {}
    bad: list[int] = []
    lines = text.removeprefix("\ufeff").split("\n")
    last = max((number for number, line in enumerate(lines, 1) if line.strip()), default=0)
    for number, line in enumerate(lines, 1):
        if not line.strip():
            continue
        try:
            entry = json.loads(line)
        except (ValueError, RecursionError):
            entry = None
        if isinstance(entry, dict):
            _add(usage, entry)
        elif number != last:
            bad.append(number)
    return Log(usage, tuple(bad))


def _add(usage: dict[str, Usage], entry: Mapping[str, Any]) -> None:
    hits = entry.get("hits")
    given = entry.get("num_injected")
    given = given if isinstance(given, int) else 0
    for position, hit in enumerate(hits if isinstance(hits, list) else ()):
        path = hit.get("path") if isinstance(hit, dict) else None
        if not isinstance(path, str):
            continue
        before = usage.get(path, Usage())
        if position >= given:
            usage[path] = Usage(before.found + 1, before.injected, before.last, before.query)
        else:
            usage[path] = Usage(
                before.found + 1,
                before.injected + 1,
                _text(entry.get("ts")),
                _text(entry.get("query")),
            )


def _text(value: object) -> str:
    return value if isinstance(value, str) else ""


Value = TypeVar("Value")


@dataclass(frozen=True, slots=True)
class Parsed(Generic[Value]):
    """What the file says, or why it says nothing."""

    value: Value
    digest: str = ""
    """SHA-256 of its bytes; empty when there is no file or it cannot be read."""
    fault: str = ""


class Remembered(Generic[Value]):
    """One file of a store. `parse` may raise UnreadableFile; `empty` stands in for no file."""

    def __init__(self, path: Path, root: Path, parse: Callable[[str], Value], empty: Value) -> None:
        self.path = path
        self._root = root
        self._parse = parse
        self._empty = empty
        self._last: LastRead[Parsed[Value]] = LastRead()

    def current(self) -> Parsed[Value]:
        """What the file says now. Never raises."""
        return self._last.get([self.path], self._read)

    def _read(self) -> Parsed[Value]:
        if not os.path.lexists(self.path):
            return Parsed(self._empty)
        try:
            data = read_bytes(self.path, self._root)
            return Parsed(self._parse(decode(data)), digest(data))
        except UnreadableFile as error:
            return Parsed(self._empty, fault=error.what)
