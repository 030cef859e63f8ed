"""The frame of a zip file with stored entries, written in the one way that memtui writes it.

Layout by APPNOTE.TXT 6.3.10 (PKWARE): 4.3.7 local header, 4.3.12 central directory, 4.3.14 and
4.3.15 zip64 end records (only past 65,534 entries), 4.3.16 end record. No flags, no extra fields,
no comments; every date is 1980-01-01, every mode a regular file's 0600.
"""

from __future__ import annotations

import struct

LONGEST_NAME = 4096
"""Bytes of an entry's name; the format itself allows 65,535."""

_VERSION = 20
_VERSION_64 = 45
_UNIX = 3
_DATE = 0x21
"""1980-01-01 in MS-DOS form, the earliest there is."""
_MODE = 0o100600 << 16
MOST_IN_END = 0xFFFE
"""Entries up to which the end record of old counts them."""

_LOCAL = struct.Struct("<4s5H3L2H")
_CENTRAL = struct.Struct("<4s4B4H3L5H2L")
_END = struct.Struct("<4s4H2LH")
_END_64 = struct.Struct("<4sQ2H2L4Q")
_LOCATOR_64 = struct.Struct("<4sLQL")

FIRST = _LOCAL.size
"""Bytes of a local header before the name."""


def size_of_first(data: bytes) -> int | None:
    """What the first local header says of its entry's size; None when it is no such header."""
    if len(data) < FIRST or not data.startswith(b"PK\3\4"):
        return None
    return int(_LOCAL.unpack(data)[8])


class Listing:
    """Gives each entry's header in turn, and at the end the directory of them all."""

    def __init__(self) -> None:
        self._offset = 0
        self._count = 0
        self._central = bytearray()

    def header(self, name: str, size: int, crc: int) -> bytes:
        """What stands before an entry's bytes."""
        written = name.encode("ascii")
        common = (_VERSION, 0, 0, 0, _DATE, crc, size, size, len(written), 0)
        local = _LOCAL.pack(b"PK\3\4", *common) + written
        self._central += _CENTRAL.pack(
            b"PK\1\2", _VERSION, _UNIX, _VERSION, 0, 0, 0, 0, _DATE,
            crc, size, size, len(written), 0, 0, 0, 0, _MODE, self._offset,
        )  # fmt: skip
        self._central += written
        self._offset += len(local) + size
        self._count += 1
        return local

    def end(self) -> bytes:
        """What stands after the last entry's bytes."""
        size, at, count = len(self._central), self._offset, self._count
        if count <= MOST_IN_END:
            return bytes(self._central) + _END.pack(b"PK\5\6", 0, 0, count, count, size, at, 0)
        wide = _END_64.pack(
            b"PK\6\6", _END_64.size - 12, _VERSION_64, _VERSION_64, 0, 0, count, count, size, at
        )
        locator = _LOCATOR_64.pack(b"PK\6\7", 0, at + size, 1)
        end = _END.pack(b"PK\5\6", 0, 0, 0xFFFF, 0xFFFF, size, at, 0)
        return bytes(self._central) + wide + locator + end
