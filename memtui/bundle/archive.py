"""Write and read bundle files: zip files whose bytes are determined by their contents.

Entries are stored uncompressed, in the order of their names, with fixed dates and modes, so the
same contents always give the same file. Reading takes the contents by their sizes in the manifest
and compares the file with what writing them would give. Flipped bits, duplicate names, overlaps,
links, wrong sizes, comments and trailing bytes all fail that comparison, and no zip library parses
an untrusted file. (Nor does one write it: its bytes may change with the release of Python.)

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
from dataclasses import dataclass
from pathlib import Path
from typing import Any, BinaryIO

from msgspec import Struct

from memtui.errors import BundleError
from memtui.text import visible

VERSION = 1
MANIFEST = "manifest.json"
MAX_ENTRIES = 200_000
MAX_BYTES = 1 << 30
"""Largest sum of entries; larger files are refused unread."""
MAX_MANIFEST_BYTES = 64 << 20
"""Bytes of a manifest: 200,000 entries of 300 bytes each."""
LONGEST_NAME = 4096
"""Most bytes of an entry's name; zip allows 65,535."""
_FORM = "memtui bundle"
_OTHER_FORM = "its manifest is not in the form memtui writes"


class Archive(Struct, frozen=True):
    """The contents of a bundle: the manifest's record of each store, and the entries by name."""

    stores: tuple[Mapping[str, Any], ...]
    entries: Mapping[str, bytes]


# ---- writing ------------------------------------------------------------------------------------

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


def encode_archive(archive: Archive) -> Iterator[bytes]:
    """Yield the bytes of the file of `archive` in order.

    Raises:
        BundleError: there are too many entries or bytes, or a name is unsafe.
    """
    entries = archive.entries
    if len(entries) > MAX_ENTRIES:
        raise BundleError(f"a bundle holds at most {MAX_ENTRIES} files, these are {len(entries)}")
    names = sorted(entries)
    _check_names(names)
    rows: list[dict[str, Any]] = []
    for name in names:
        data = entries[name]
        rows.append({"name": name, "size": len(data), "sha256": hashlib.sha256(data).hexdigest()})
    if sum(row["size"] for row in rows) > MAX_BYTES:
        raise BundleError(f"a bundle holds at most {MAX_BYTES >> 20} MiB", do="export a part")
    head = {_FORM: VERSION, "stores": [dict(store) for store in archive.stores], "entries": rows}
    manifest = json.dumps(head, indent=1, sort_keys=True).encode("ascii") + b"\n"
    central, at = bytearray(), 0
    for name in (MANIFEST, *names):
        data = entries[name] if name != MANIFEST else manifest
        written, size = name.encode("ascii"), len(data)
        common = (_DATE, zlib.crc32(data), size, size, len(written), 0)
        local = _LOCAL.pack(b"PK\3\4", 20, 0, 0, 0, *common) + written
        central += _CENTRAL.pack(
            b"PK\1\2", 20, 3, 20, 0, 0, 0, 0, *common, 0, 0, 0, _MODE, at
        )  # fmt: skip
        central += written
        at += len(local) + size
        yield local
        yield data
    yield bytes(central) + _end_records(len(central), at, len(names) + 1)


def _end_records(size: int, at: int, count: int) -> bytes:
    """What follows the central directory of this `size` and offset."""
    if count <= MAX_WITHOUT_ZIP64:
        return _END.pack(b"PK\5\6", 0, 0, count, count, size, at, 0)
    wide = _END_64.pack(b"PK\6\6", _END_64.size - 12, 45, 45, 0, 0, count, count, size, at)
    locator = _LOCATOR_64.pack(b"PK\6\7", 0, at + size, 1)
    return wide + locator + _END.pack(b"PK\5\6", 0, 0, 0xFFFF, 0xFFFF, size, at, 0)


def is_safe_name(name: str) -> bool:
    """Whether an entry's name stays inside the folder it is unpacked into."""
    parts = name.split("/")
    inside = all(component not in ("", ".", "..") and "\\" not in component for component in parts)
    return inside and name.isascii() and name.isprintable() and len(name) <= LONGEST_NAME


def _check_names(names: list[str]) -> None:
    if not all(is_safe_name(name) and name != MANIFEST for name in names):
        raise BundleError("an entry's name leads out of the bundle")
    if len({name.casefold() for name in names}) != len(names):
        raise BundleError("two entries have the same name")


# ---- reading ------------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class Entries(Mapping[str, bytes]):
    """The entries of a file; each is read, and checked by its SHA-256, on access."""

    path: str
    locations: Mapping[str, tuple[int, int, str]]
    """Offset, size and SHA-256 of an entry's bytes in the file."""
    file: BinaryIO

    def __getitem__(self, name: str) -> bytes:
        at, size, sha256 = self.locations[name]
        data = os.pread(self.file.fileno(), size, at)
        if hashlib.sha256(data).hexdigest() != sha256:
            raise _refusal(self.path, f"{visible(name)} does not match its SHA-256")
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
    file = open_file(path)
    try:
        return _read(file, str(path))
    except BundleError as error:
        file.close()
        raise _refusal(path, error.what.removeprefix(_INVALID)) from None
    except Exception as error:  # json fails in several ways on what a stranger made
        file.close()
        raise _refusal(path, f"it is damaged ({type(error).__name__})") from error


_INVALID = "invalid bundle: "


def _refusal(path: object, why: str) -> BundleError:
    do = "nothing was imported; export it again"
    return BundleError(f"{_INVALID}{why}", where=visible(str(path)), do=do)


def open_file(path: Path) -> BinaryIO:
    """Open a file to read it, without waiting for a pipe. Raises BundleError for one, OSError."""
    flags = os.O_RDONLY | os.O_NONBLOCK | os.O_NOCTTY | os.O_CLOEXEC
    file = os.fdopen(os.open(path, flags), "rb")
    if not stat.S_ISREG(os.fstat(file.fileno()).st_mode):
        file.close()
        raise BundleError("it is not a file", where=visible(str(path)))
    return file


def _read(file: BinaryIO, path: str) -> Archive:
    size = os.fstat(file.fileno()).st_size
    if size > MAX_BYTES + (MAX_BYTES >> 3):
        raise BundleError(f"it is larger than {MAX_BYTES >> 20} MiB")
    manifest, at = _read_manifest(file, size)
    locations: dict[str, tuple[int, int, str]] = {}
    for row in _checked_rows(manifest):
        at += _LOCAL.size + len(row["name"])
        locations[row["name"]] = at, row["size"], row["sha256"]
        at += row["size"]
    if at > size:
        raise BundleError("its entries are larger than the file")
    archive = Archive(tuple(manifest["stores"]), Entries(path, locations, file))
    file.seek(0)
    for piece in encode_archive(archive):
        if file.read(len(piece)) != piece:
            raise BundleError("its bytes differ from what its contents require")
    if file.read(1):
        raise BundleError("there are bytes after its end")
    return archive


def _read_manifest(file: BinaryIO, size: int) -> tuple[dict[str, Any], int]:
    """The manifest, which determines all bytes after it, and the offset behind it."""
    head = file.read(_LOCAL.size)
    if len(head) < _LOCAL.size or not head.startswith(b"PK\3\4"):
        raise BundleError("it does not start with a manifest")
    length = int(_LOCAL.unpack(head)[8])
    if length > min(MAX_MANIFEST_BYTES, size):
        raise BundleError("its manifest is too large")
    if file.read(len(MANIFEST)) != MANIFEST.encode():
        raise BundleError("its first entry is not a manifest")
    manifest = json.loads(file.read(length))
    if not isinstance(manifest, dict) or manifest.get(_FORM) != VERSION:
        raise BundleError("it was written by another version of memtui")
    return manifest, file.tell()


def _checked_rows(manifest: Mapping[str, Any]) -> list[dict[str, Any]]:
    """The manifest's record of each entry, in file order. Raises BundleError."""
    for name in ("stores", "entries"):
        listed = manifest.get(name)
        if not isinstance(listed, list) or not all(isinstance(item, dict) for item in listed):
            raise BundleError(f"its manifest lists no {name}")
    rows: list[dict[str, Any]] = manifest["entries"]
    if len(rows) > MAX_ENTRIES:
        raise BundleError("it holds too many entries")
    for row in rows:
        kinds = [type(row.get(key)) for key in ("name", "sha256", "size")]
        if kinds != [str, str, int] or row["size"] < 0:
            raise BundleError(_OTHER_FORM)
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
