"""Tell whether a write-ahead log holds a transaction, by the rules of SQLite's recovery.

A crash, or a copy that is still going on, leaves a `-wal` of any length: nothing, part of a header,
a header alone, part of a frame, frames without a commit. SQLite (walIndexRecover) takes a log for
empty unless it is longer than its header, the header is sound, and the frames after it are a chain
of checksums up to a frame that commits. See https://www.sqlite.org/fileformat2.html#walformat.

Opening a `-wal` with Python is safe where opening the database or the `-shm` is not: SQLite holds
locks on those two only (unixOpen sets UNIXFILE_NOLOCK for everything but the main database).
"""

from __future__ import annotations

import struct
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO

HEADER_SIZE = 32
FRAME_HEADER_SIZE = 24
LONGEST_SEARCH = 2_000_000
"""Bytes in which a first commit is looked for, which takes about a tenth of a second."""
_MAGIC = 0x377F0682
"""Its lowest bit says that checksums are over big-endian words."""
_PAGE_SIZES = frozenset(1 << bit for bit in range(9, 17))
_WORD = 0xFFFFFFFF

Checksum = tuple[int, int]


@dataclass(frozen=True, slots=True)
class Header:
    """The header of a log, which its frames are checked against."""

    page_size: int
    words: struct.Struct
    """Two words of a checksum, in the order of bytes that the log uses."""
    salts: bytes
    checksum: Checksum


def has_frames(path: Path) -> bool:
    """Whether bytes follow a valid header. True if the file cannot be read: SQLite says why.

    Without that, SQLite with `readonly_shm=1` and a `-shm` that nobody holds never learns the salts
    of the log, compares them with what the log says, and tries again for ten seconds a read.
    """
    try:
        with open(path, "rb") as file:
            return _header(file) is not None and bool(file.read(1))
    except OSError:
        return True


def has_commit(path: Path) -> bool | None:
    """Whether the log holds a whole transaction; None if none ends within LONGEST_SEARCH bytes, or
    the log cannot be read."""
    try:
        with open(path, "rb") as file:
            header = _header(file)
            return header is not None and _commits(file, header)
    except OSError:
        return None


def _header(file: BinaryIO) -> Header | None:
    raw = file.read(HEADER_SIZE)
    if len(raw) < HEADER_SIZE:
        return None
    magic, _, page_size, _ = struct.unpack_from(">4I", raw)
    if magic & ~1 != _MAGIC or page_size not in _PAGE_SIZES:
        return None
    words = struct.Struct(">2I" if magic & 1 else "<2I")
    checksum = _add(words, (0, 0), raw[:24])
    if checksum != struct.unpack_from(">2I", raw, 24):
        return None
    return Header(page_size, words, raw[16:24], checksum)


def _commits(file: BinaryIO, header: Header) -> bool | None:
    """Follow the frames until one of them commits."""
    size = FRAME_HEADER_SIZE + header.page_size
    checksum = header.checksum
    for _ in range(LONGEST_SEARCH // size):
        frame = file.read(size)
        if len(frame) < size or frame[8:16] != header.salts:
            return False
        checksum = _add(header.words, checksum, frame[:8])
        checksum = _add(header.words, checksum, frame[FRAME_HEADER_SIZE:])
        page, pages_after_commit = struct.unpack_from(">2I", frame)
        if not page or checksum != struct.unpack_from(">2I", frame, 16):
            return False
        if pages_after_commit:
            return True
    return None


def _add(words: struct.Struct, checksum: Checksum, data: bytes) -> Checksum:
    """SQLite's walChecksumBytes; the length of the data is a multiple of eight."""
    first, second = checksum
    for one, other in words.iter_unpack(data):
        first = (first + one + second) & _WORD
        second = (second + other + first) & _WORD
    return first, second
