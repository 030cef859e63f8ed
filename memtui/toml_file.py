"""Read TOML files that may be hostile, for settings and themes; every fault is a BadToml."""

from __future__ import annotations

import errno
import os
import re
import stat
from pathlib import Path
from typing import Any

LARGEST_FILE = 1 << 20
"""Bytes; no settings and no theme are larger."""
LONGEST_NUMBER = 10_000
"""Bits of an integer: Python refuses to print one of more than 4,300 digits, 14,284 bits."""


class BadToml(ValueError):
    """The text cannot be used; the message says why."""

    def __init__(self, why: str, line: int | None = None) -> None:
        super().__init__(why)
        self.line = line


def read_text(path: Path) -> str:
    """Return the text of a regular file, without a byte order mark. Raises OSError, BadToml."""
    descriptor = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_NOCTTY | os.O_CLOEXEC)
    with os.fdopen(descriptor, "rb") as file:
        if not stat.S_ISREG(os.fstat(descriptor).st_mode):
            raise OSError(errno.EINVAL, "it is not a file", str(path))
        data = file.read(LARGEST_FILE + 1)
    if len(data) > LARGEST_FILE:
        raise OSError(errno.EFBIG, f"it is larger than {LARGEST_FILE >> 10} KiB", str(path))
    try:
        return data.decode("utf-8-sig").replace("\r\n", "\n")
    except UnicodeDecodeError:
        raise BadToml("not UTF-8") from None


def parse(text: str) -> dict[str, Any]:
    """Return the tables of the text. Raises BadToml only."""
    import tomllib  # most people have no settings file

    try:
        values = tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        place = re.search(r" \(at line (\d+), column \d+\)$", str(error))
        why = str(error)[: place.start()] if place else str(error)
        raise BadToml(why, int(place[1]) if place else None) from None
    except RecursionError:
        raise BadToml("nested too deeply") from None
    except ValueError:  # of more digits than Python reads
        raise BadToml("it holds a number that is too long") from None
    waiting: list[Any] = [values]
    while waiting:
        value = waiting.pop()
        if isinstance(value, dict):
            waiting += value.values()
        elif isinstance(value, list):
            waiting += value
        elif isinstance(value, int) and value.bit_length() > LONGEST_NUMBER:
            raise BadToml("it holds a number that is too long")
    return values
