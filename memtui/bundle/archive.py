"""The bundle as a file: a zip whose bytes follow from its contents alone.

Entries are stored, not compressed, in a fixed order, with fixed dates and modes, `manifest.json`
first. So one set of contents has exactly one form, and reading demands it: every byte of the file
is compared with what the contents ask for at that place. Any flipped bit, second entry under one
name, overlap, link, lying size, comment or trailing junk fails that, whatever trick it is; and no
zip library ever parses a stranger's file.

    manifest.json    {"memtui bundle": 1, "stores": [...], "entries": [{"name", "size", "sha256"}]}
    <entries in the order of their names>
"""

from __future__ import annotations

import hashlib
import json
import os
import stat
import struct
import zlib
from collections.abc import Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, BinaryIO

from memtui.errors import BundleError
from memtui.text import visible

VERSION = 1
MANIFEST = "manifest.json"
MOST_ENTRIES = 200_000
MOST_BYTES = 1 << 30
"""Larger files are refused unread (reliability: 1 GiB in all)."""
MOST_MANIFEST = 64 << 20
"""Bytes of a manifest: 200,000 entries of 300 bytes each."""
_FORM = "memtui bundle"
_PIECE = 1 << 20


@dataclass(frozen=True, slots=True)
class Archive:
    """The contents of a bundle: what the manifest says of each store, and the entries."""

    stores: tuple[Mapping[str, Any], ...]
    entries: Mapping[str, bytes]


def _refuse(path: object, why: str) -> BundleError:
    return BundleError(
        f"this bundle cannot be trusted: {why}",
        where=visible(str(path)),
        do="nothing was imported; export it again",
    )


def is_safe_name(name: str) -> bool:
    """Whether an entry's name stays inside the folder that it is unpacked into."""
    parts = name.split("/")
    inside = all(part not in ("", ".", "..") and "\\" not in part for part in parts)
    return inside and name.isascii() and name.isprintable() and len(name) <= LONGEST_NAME


# ---- writing ------------------------------------------------------------------------------------


def _manifest(stores: Iterator[Any] | Any, rows: list[dict[str, Any]]) -> bytes:
    head = {_FORM: VERSION, "stores": [dict(store) for store in stores], "entries": rows}
    return json.dumps(head, indent=1, sort_keys=True).encode("ascii") + b"\n"


def write(archive: Archive, out: BinaryIO) -> None:
    """Write the one form of these contents, from first byte to last. Raises BundleError."""
    for piece in encode_archive(archive):
        out.write(piece)


def encode_archive(archive: Archive) -> Iterator[bytes]:
    """The file's bytes in order. Raises BundleError when the contents fit in no bundle."""
    _refuse_unfit(archive.entries)
    rows: list[dict[str, Any]] = []
    for name in sorted(archive.entries):
        data = archive.entries[name]
        rows.append({"name": name, "size": len(data), "sha256": hashlib.sha256(data).hexdigest()})
    manifest = _manifest(archive.stores, rows)
    listing = ZipDirectory()
    yield listing.header(MANIFEST, len(manifest), zlib.crc32(manifest))
    yield manifest
    for row in rows:
        data = archive.entries[row["name"]]
        yield listing.header(row["name"], len(data), zlib.crc32(data))
        yield data
    yield listing.end()


def to_bytes(archive: Archive) -> bytes:
    return b"".join(encode_archive(archive))


def _refuse_unfit(entries: Mapping[str, bytes]) -> None:
    if len(entries) > MOST_ENTRIES:
        raise BundleError(f"a bundle holds at most {MOST_ENTRIES} files, these are {len(entries)}")
    if sum(len(data) for data in entries.values()) > MOST_BYTES:
        raise BundleError(f"a bundle holds at most {MOST_BYTES >> 20} MiB", do="export a part")
    _check_names([*entries])


def _check_names(names: list[str]) -> None:
    for name in names:
        if not is_safe_name(name) or name == MANIFEST:
            raise BundleError("an entry's name leads out of the bundle")
    if len({name.casefold() for name in names}) != len(names):
        raise BundleError("two entries have the same name")


# ---- reading ------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class _Place:
    """Where an entry's bytes lie in the file, and what they must be."""

    at: int
    size: int
    sha256: str


@dataclass(frozen=True, slots=True)
class Entries(Mapping[str, bytes]):
    """The entries of a checked file, each read, and checked again, when it is asked for."""

    path: str
    places: Mapping[str, _Place]
    file: BinaryIO = field(repr=False, compare=False)

    def __getitem__(self, name: str) -> bytes:
        place = self.places[name]
        data = os.pread(self.file.fileno(), place.size, place.at)
        if hashlib.sha256(data).hexdigest() != place.sha256:
            raise _refuse(self.path, "it was changed while it was read")
        return data

    def __iter__(self) -> Iterator[str]:
        return iter(self.places)

    def __len__(self) -> int:
        return len(self.places)


def read_archive(path: Path) -> Archive:
    """Check every byte of a bundle; its entries are then read as they are needed.

    Raises BundleError, or OSError when the file cannot be read.
    """
    flags = os.O_RDONLY | os.O_NONBLOCK | os.O_NOCTTY | os.O_CLOEXEC
    file = os.fdopen(os.open(path, flags), "rb")
    try:
        status = os.fstat(file.fileno())
        if not stat.S_ISREG(status.st_mode):
            raise BundleError("it is not a file")
        if status.st_size > MOST_BYTES + (MOST_BYTES >> 3):
            raise BundleError(f"it is larger than {MOST_BYTES >> 20} MiB")
        return _Reading(file, str(path), status.st_size).archive()
    except BundleError as error:
        file.close()
        raise _refuse(path, error.what) from None
    except Exception as error:  # json fails in several ways on what a stranger made
        file.close()
        raise _refuse(path, f"it is damaged ({type(error).__name__})") from error


class _Reading:
    """One pass over the file, from the first byte to the last."""

    def __init__(self, file: BinaryIO, path: str, size: int) -> None:
        self._file = file
        self._path = path
        self._size = size
        self._listing = ZipDirectory()

    def archive(self) -> Archive:
        manifest = self._head()
        rows = _rows(manifest)
        total = sum(row["size"] for row in rows)
        if total > self._size:
            raise BundleError("its entries are larger than the file")
        places = {row["name"]: self._entry(row) for row in rows}
        self._expect(self._listing.end())
        if self._file.read(1):
            raise BundleError("something follows its end")
        return Archive(tuple(manifest["stores"]), Entries(self._path, places, self._file))

    def _expect(self, wanted: bytes) -> None:
        if self._file.read(len(wanted)) != wanted:
            raise BundleError("its bytes are not those that its contents have")

    def _head(self) -> dict[str, Any]:
        """The manifest, which says what everything after it must be."""
        found = first_entry_size(self._file.read(FIRST))
        if found is None:
            raise BundleError("it does not begin as one")
        if found > min(MOST_MANIFEST, self._size):
            raise BundleError("its manifest is larger than any can be")
        self._file.seek(0)
        start = len(ZipDirectory().header(MANIFEST, 0, 0))
        header, data = self._file.read(start), self._file.read(found)
        if header != self._listing.header(MANIFEST, len(data), zlib.crc32(data)):
            raise BundleError("its first entry is not a manifest")
        manifest = json.loads(data)
        if not isinstance(manifest, dict) or manifest.get(_FORM) != VERSION:
            raise BundleError("it was written by another version of memtui")
        if not _is_list_of_objects(manifest.get("stores")):
            raise BundleError("its manifest names no stores")
        if _manifest(manifest["stores"], _rows(manifest)) != data:
            raise BundleError("its manifest is not as memtui writes it")
        return manifest

    def _entry(self, row: Mapping[str, Any]) -> _Place:
        name, size = row["name"], row["size"]
        header = self._file.read(len(ZipDirectory().header(name, 0, 0)))
        at = self._file.tell()
        crc, seen, left = 0, hashlib.sha256(), size
        while left:
            data = self._file.read(min(left, _PIECE))
            if not data:
                raise BundleError("it ends too early")
            crc, left = zlib.crc32(data, crc), left - len(data)
            seen.update(data)
        if seen.hexdigest() != row["sha256"]:
            raise BundleError(f"{visible(name)} is not what the manifest says")
        if header != self._listing.header(name, size, crc):
            raise BundleError("its bytes are not those that its contents have")
        return _Place(at, size, row["sha256"])


def _is_list_of_objects(value: object) -> bool:
    return isinstance(value, list) and all(isinstance(item, dict) for item in value)


def _rows(manifest: Mapping[str, Any]) -> list[dict[str, Any]]:
    """What the manifest says of each entry, in the order of the file."""
    rows = manifest.get("entries")
    if not isinstance(rows, list) or not _is_list_of_objects(rows):
        raise BundleError("its manifest names no entries")
    if len(rows) > MOST_ENTRIES:
        raise BundleError("it holds too many entries")
    for row in rows:
        sound = isinstance(row.get("name"), str) and isinstance(row.get("sha256"), str)
        if not sound or type(row.get("size")) is not int or row["size"] < 0:
            raise BundleError("its manifest is not as memtui writes it")
    names = [row["name"] for row in rows]
    _check_names(names)
    if names != sorted(names):
        raise BundleError("its entries are not in their order")
    return rows


def is_bundle(head: bytes) -> bool:
    """Whether a file that begins so claims to be a zip."""
    return head.startswith(b"PK")


def close_archive(archive: Archive) -> None:
    """Let go of the file behind an archive that was read."""
    if isinstance(archive.entries, Entries):
        with suppress(OSError):
            archive.entries.file.close()


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


def first_entry_size(data: bytes) -> int | None:
    """What the first local header says of its entry's size; None when it is no such header."""
    if len(data) < FIRST or not data.startswith(b"PK\3\4"):
        return None
    return int(_LOCAL.unpack(data)[8])


class ZipDirectory:
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
