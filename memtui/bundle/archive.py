"""Write and read bundle files: zip files whose bytes are determined by their contents.

Entries are stored uncompressed, in a fixed order, with fixed dates and modes.
So the same contents always give the same file, and reading compares every byte of a file with what
its contents require. Flipped bits, duplicate names, overlaps, links, wrong sizes, comments and
trailing bytes all fail that check, and no zip library parses an untrusted file.

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
from collections.abc import Iterable, Iterator, Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any, BinaryIO

from memtui.dataclass import dataclass, field
from memtui.errors import BundleError
from memtui.text import visible

VERSION = 1
MANIFEST = "manifest.json"
MAX_ENTRIES = 200_000
MAX_BYTES = 1 << 30
"""Largest sum of entries; larger files are refused unread."""
MAX_MANIFEST_BYTES = 64 << 20
"""Bytes of a manifest: 200,000 entries of 300 bytes each."""
_FORM = "memtui bundle"
_PIECE = 1 << 20


@dataclass(frozen=True, slots=True)
class Archive:
    """The contents of a bundle: the manifest's record of each store, and the entries by name."""

    stores: tuple[Mapping[str, Any], ...]
    entries: Mapping[str, bytes]


def _refuse(path: object, why: str) -> BundleError:
    return BundleError(
        f"invalid bundle: {why}",
        where=visible(str(path)),
        do="nothing was imported; export it again",
    )


def is_safe_name(name: str) -> bool:
    """Whether an entry's name stays inside the folder it is unpacked into."""
    parts = name.split("/")
    inside = all(component not in ("", ".", "..") and "\\" not in component for component in parts)
    return inside and name.isascii() and name.isprintable() and len(name) <= LONGEST_NAME


# ---- writing ------------------------------------------------------------------------------------


def _manifest(stores: Iterable[Mapping[str, Any]], rows: list[dict[str, Any]]) -> bytes:
    head = {_FORM: VERSION, "stores": [dict(store) for store in stores], "entries": rows}
    return json.dumps(head, indent=1, sort_keys=True).encode("ascii") + b"\n"


def write(archive: Archive, out: BinaryIO) -> None:
    """Write the one form of `archive` to `out`, from first byte to last. Raises BundleError."""
    for piece in encode_archive(archive):
        out.write(piece)


def encode_archive(archive: Archive) -> Iterator[bytes]:
    """Yield the file's bytes in order.

    Raises:
        BundleError: there are too many entries or bytes, or a name is unsafe.
    """
    _check_contents(archive.entries)
    rows: list[dict[str, Any]] = []
    for name in sorted(archive.entries):
        data = archive.entries[name]
        rows.append({"name": name, "size": len(data), "sha256": hashlib.sha256(data).hexdigest()})
    manifest = _manifest(archive.stores, rows)
    directory = ZipDirectory()
    yield directory.header(MANIFEST, len(manifest), zlib.crc32(manifest))
    yield manifest
    for row in rows:
        data = archive.entries[row["name"]]
        yield directory.header(row["name"], len(data), zlib.crc32(data))
        yield data
    yield directory.end()


def _check_contents(entries: Mapping[str, bytes]) -> None:
    if len(entries) > MAX_ENTRIES:
        raise BundleError(f"a bundle holds at most {MAX_ENTRIES} files, these are {len(entries)}")
    if sum(len(data) for data in entries.values()) > MAX_BYTES:
        raise BundleError(f"a bundle holds at most {MAX_BYTES >> 20} MiB", do="export a part")
    _check_names([*entries])


def _check_names(names: list[str]) -> None:
    for name in names:
        if not is_safe_name(name) or name == MANIFEST:
            raise BundleError("an entry's name leads out of the bundle")
    if len({name.casefold() for name in names}) != len(names):
        raise BundleError("two entries have the same name")


# ---- reading ------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class _EntryLocation:
    """Offset, size and digest of an entry's bytes in the file."""

    at: int
    size: int
    sha256: str


@dataclass(frozen=True, slots=True)
class Entries(Mapping[str, bytes]):
    """The entries of a checked file; each is read, and checked again, on access."""

    path: str
    locations: Mapping[str, _EntryLocation]
    file: BinaryIO = field(repr=False, compare=False)

    def __getitem__(self, name: str) -> bytes:
        location = self.locations[name]
        data = os.pread(self.file.fileno(), location.size, location.at)
        if hashlib.sha256(data).hexdigest() != location.sha256:
            raise _refuse(self.path, "it was changed while it was read")
        return data

    def __iter__(self) -> Iterator[str]:
        return iter(self.locations)

    def __len__(self) -> int:
        return len(self.locations)


def read_archive(path: Path) -> Archive:
    """Check every byte of a bundle; its entries are read when accessed.

    Returns:
        The contents; `close_archive` closes the file behind them.

    Raises:
        BundleError: it is damaged, too large, or no bundle.
        OSError: the file cannot be read.
    """
    flags = os.O_RDONLY | os.O_NONBLOCK | os.O_NOCTTY | os.O_CLOEXEC
    file = os.fdopen(os.open(path, flags), "rb")
    try:
        status = os.fstat(file.fileno())
        if not stat.S_ISREG(status.st_mode):
            raise BundleError("it is not a file")
        if status.st_size > MAX_BYTES + (MAX_BYTES >> 3):
            raise BundleError(f"it is larger than {MAX_BYTES >> 20} MiB")
        return _ArchiveReader(file, str(path), status.st_size).archive()
    except BundleError as error:
        file.close()
        raise _refuse(path, error.what) from None
    except Exception as error:  # json fails in several ways on what a stranger made
        file.close()
        raise _refuse(path, f"it is damaged ({type(error).__name__})") from error


class _ArchiveReader:
    """One pass over the file, from the first byte to the last."""

    def __init__(self, file: BinaryIO, path: str, size: int) -> None:
        self._file = file
        self._path = path
        self._size = size
        self._directory = ZipDirectory()

    def archive(self) -> Archive:
        manifest = self._read_manifest()
        rows = _rows(manifest)
        total = sum(row["size"] for row in rows)
        if total > self._size:
            raise BundleError("its entries are larger than the file")
        locations = {row["name"]: self._check_entry(row) for row in rows}
        self._expect(self._directory.end())
        if self._file.read(1):
            raise BundleError("there are bytes after its end")
        return Archive(tuple(manifest["stores"]), Entries(self._path, locations, self._file))

    def _expect(self, expected: bytes) -> None:
        if self._file.read(len(expected)) != expected:
            raise BundleError("its bytes differ from what its contents require")

    def _read_manifest(self) -> dict[str, Any]:
        """Read the manifest, which determines all bytes after it."""
        found = first_entry_size(self._file.read(LOCAL_HEADER_BYTES))
        if found is None:
            raise BundleError("it does not start with a manifest")
        if found > min(MAX_MANIFEST_BYTES, self._size):
            raise BundleError("its manifest is too large")
        self._file.seek(0)
        start = len(ZipDirectory().header(MANIFEST, 0, 0))
        header, data = self._file.read(start), self._file.read(found)
        if header != self._directory.header(MANIFEST, len(data), zlib.crc32(data)):
            raise BundleError("its first entry is not a manifest")
        manifest = json.loads(data)
        if not isinstance(manifest, dict) or manifest.get(_FORM) != VERSION:
            raise BundleError("it was written by another version of memtui")
        if not _is_list_of_objects(manifest.get("stores")):
            raise BundleError("its manifest lists no stores")
        if _manifest(manifest["stores"], _rows(manifest)) != data:
            raise BundleError("its manifest is not in the form memtui writes")
        return manifest

    def _check_entry(self, row: Mapping[str, Any]) -> _EntryLocation:
        name, size = row["name"], row["size"]
        header = self._file.read(len(ZipDirectory().header(name, 0, 0)))
        at = self._file.tell()
        crc, sha256, left = 0, hashlib.sha256(), size
        while left:
            data = self._file.read(min(left, _PIECE))
            if not data:
                raise BundleError("it is truncated")
            crc, left = zlib.crc32(data, crc), left - len(data)
            sha256.update(data)
        if sha256.hexdigest() != row["sha256"]:
            raise BundleError(f"{visible(name)} does not match its SHA-256")
        if header != self._directory.header(name, size, crc):
            raise BundleError("its bytes differ from what its contents require")
        return _EntryLocation(at, size, row["sha256"])


def _is_list_of_objects(value: object) -> bool:
    return isinstance(value, list) and all(isinstance(item, dict) for item in value)


def _rows(manifest: Mapping[str, Any]) -> list[dict[str, Any]]:
    """The manifest's record of each entry, in file order."""
    rows = manifest.get("entries")
    if not isinstance(rows, list) or not _is_list_of_objects(rows):
        raise BundleError("its manifest lists no entries")
    if len(rows) > MAX_ENTRIES:
        raise BundleError("it holds too many entries")
    for row in rows:
        sound = isinstance(row.get("name"), str) and isinstance(row.get("sha256"), str)
        if not sound or type(row.get("size")) is not int or row["size"] < 0:
            raise BundleError("its manifest is not in the form memtui writes")
    names = [row["name"] for row in rows]
    _check_names(names)
    if names != sorted(names):
        raise BundleError("its entries are not sorted")
    return rows


def is_bundle(head: bytes) -> bool:
    """Whether these first bytes are those of a zip file."""
    return head.startswith(b"PK")


def close_archive(archive: Archive) -> None:
    """Close the file behind an archive that was read."""
    if isinstance(archive.entries, Entries):
        with suppress(OSError):
            archive.entries.file.close()


# ---- zip records --------------------------------------------------------------------------------

LONGEST_NAME = 4096
"""Most bytes of an entry's name; zip allows 65,535."""

_VERSION = 20
_VERSION_64 = 45
_UNIX = 3
_DATE = 0x21
"""1980-01-01 as an MS-DOS date, the earliest possible."""
_MODE = 0o100600 << 16
MAX_WITHOUT_ZIP64 = 0xFFFE
"""Entries up to which a plain end record suffices; more need zip64."""

_LOCAL = struct.Struct("<4s5H3L2H")
_CENTRAL = struct.Struct("<4s4B4H3L5H2L")
_END = struct.Struct("<4s4H2LH")
_END_64 = struct.Struct("<4sQ2H2L4Q")
_LOCATOR_64 = struct.Struct("<4sLQL")

LOCAL_HEADER_BYTES = _LOCAL.size
"""Bytes of a local header before the name."""


def first_entry_size(data: bytes) -> int | None:
    """The entry size in the first local header; None when it is no local header."""
    if len(data) < LOCAL_HEADER_BYTES or not data.startswith(b"PK\3\4"):
        return None
    return int(_LOCAL.unpack(data)[8])


class ZipDirectory:
    """Builds the local header of each entry, and the central directory at the end."""

    def __init__(self) -> None:
        self._offset = 0
        self._count = 0
        self._central = bytearray()

    def header(self, name: str, size: int, crc: int) -> bytes:
        """Return the local header before an entry of this `name`, `size` (bytes) and `crc`."""
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
        """Return the central directory and end records that follow the last entry."""
        size, at, count = len(self._central), self._offset, self._count
        if count <= MAX_WITHOUT_ZIP64:
            return bytes(self._central) + _END.pack(b"PK\5\6", 0, 0, count, count, size, at, 0)
        wide = _END_64.pack(
            b"PK\6\6", _END_64.size - 12, _VERSION_64, _VERSION_64, 0, 0, count, count, size, at
        )
        locator = _LOCATOR_64.pack(b"PK\6\7", 0, at + size, 1)
        end = _END.pack(b"PK\5\6", 0, 0, 0xFFFF, 0xFFFF, size, at, 0)
        return bytes(self._central) + wide + locator + end
