"""A file that is read and parsed again only when it may have changed."""

from __future__ import annotations

import os
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Generic, TypeVar

from memtui.errors import UnreadableFile
from memtui.files.reading import decode, digest, read_bytes
from memtui.stores.last_read import LastRead

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
