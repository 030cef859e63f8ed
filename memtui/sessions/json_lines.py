"""Read the lines of a JSON Lines file that another program may be writing to.

The file is read in pieces, so that one of gigabytes costs little memory. A line past `LONGEST_LINE`
is passed over. A last line without a line break may be torn and is left for the next reading.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

import msgspec

from memtui.errors import UnreadableFile
from memtui.files.reading import error_text, open_regular
from memtui.sessions.message import Reading

LONGEST_LINE = 16 << 20
"""Bytes. A longer line holds images or copies of a history, no words of a person."""
_PIECE = 1 << 20
_ESCAPE = re.compile(
    r"\\(?:u[dD][89abAB][0-9a-fA-F]{2}\\u[dD][c-fC-F][0-9a-fA-F]{2}"
    r"|(u[dD][89a-fA-F][0-9a-fA-F]{2})|.)",
    re.DOTALL,
)
"""An escape in a JSON string; the group is half of a character, as where a program cut a text."""


class Line(NamedTuple):
    """One line of a transcript."""

    value: dict[str, Any]
    offset: int
    length: int


def read_lines(path: Path, reading: Reading, start: int = 0) -> Iterator[Line]:
    """Yield the complete lines that are JSON objects, from the offset `start` on.

    What is passed over is counted in `reading`, whose `end` follows. Raises UnreadableFile.
    """
    descriptor, _ = open_regular(path)
    try:
        os.lseek(descriptor, start, os.SEEK_SET)
        reading.end = start
        for line in _split(descriptor):
            offset, reading.end = reading.end, reading.end + line.size + 1
            if line.data is None:
                reading.too_long += 1
            elif line.data and not line.data.isspace():
                value = decode_object(line.data)
                if value is None:
                    reading.damaged += 1
                else:
                    yield Line(value, offset, line.size)
    except OSError as error:
        raise UnreadableFile(error_text(error), where=str(path)) from None
    finally:
        os.close(descriptor)


class _Piece(NamedTuple):
    data: bytes | None
    """None: longer than `LONGEST_LINE`."""
    size: int


def _split(descriptor: int) -> Iterator[_Piece]:
    """The lines of an open file that end with a line break."""
    kept: list[bytes] = []
    size = 0
    while data := os.read(descriptor, _PIECE):
        *ended, rest = data.split(b"\n")
        for part in ended:
            size += len(part)
            is_whole = size <= LONGEST_LINE
            yield _Piece(b"".join((*kept, part)) if is_whole else None, size)
            kept, size = [], 0
        size += len(rest)
        kept = [*kept, rest] if size <= LONGEST_LINE else []


def read_line(path: Path, offset: int, length: int) -> bytes:
    """The bytes of one line, as `Line` gave its place. Raises UnreadableFile."""
    descriptor, _ = open_regular(path)
    try:
        return os.pread(descriptor, min(length, LONGEST_LINE), offset)
    except OSError as error:
        raise UnreadableFile(error_text(error), where=str(path)) from None
    finally:
        os.close(descriptor)


def decode_object(line: bytes) -> dict[str, Any] | None:
    """The JSON object of a line; None if it is none. Broken UTF-8 becomes U+FFFD."""
    value = decode_value(line)
    return value if isinstance(value, dict) else None


def decode_value(data: bytes) -> Any:
    """The JSON value; None if it is none. Broken UTF-8 and half characters become U+FFFD."""
    try:
        return msgspec.json.decode(data)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        text = data.decode("utf-8", "replace")
        try:
            return msgspec.json.decode(_ESCAPE.sub(_whole_escape, text))
        except (msgspec.DecodeError, RecursionError):
            return None


def _whole_escape(found: re.Match[str]) -> str:
    return "\ufffd" if found[1] else found[0]
