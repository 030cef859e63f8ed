"""Write and read bundle files: zip files with a manifest that names every entry.

    manifest.json    {"memtui bundle": 2, "stores": [...], "entries": [{"name", "size", "sha256"}]}
    <entries in the order of their names>

Dates and modes are fixed, so that equal contents give equal files. Reading takes only what the
manifest names, by the size and the SHA-256 that it states, and refuses a file that holds anything
else. Bundles of version 1 hold a database as rows; those of version 2 hold it as a file.
"""

from __future__ import annotations

import hashlib
import io
import json
import os
import stat
import zipfile
import zlib
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any, BinaryIO

from msgspec import Struct

from memtui.errors import BundleError
from memtui.text import visible

VERSION = 2
READABLE = (1, 2)
"""Versions that are read."""
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

_DATE = (1980, 1, 1, 0, 0, 0)
"""The earliest that a zip file can state."""
_MODE = 0o100600 << 16
_METHODS = (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED)


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
    out = _Collected()
    with zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED) as packed:
        for name in (MANIFEST, *names):
            info = zipfile.ZipInfo(name, _DATE)
            info.compress_type, info.create_system = zipfile.ZIP_DEFLATED, 3
            info.external_attr = _MODE
            packed.writestr(info, manifest if name == MANIFEST else entries[name])
            yield out.take()
    yield out.take()


class _Collected(io.RawIOBase):
    """Keeps what is written until it is taken, so that a bundle is yielded while it is made."""

    def __init__(self) -> None:
        self._pieces: list[bytes] = []

    def writable(self) -> bool:
        return True

    def write(self, data: Any) -> int:
        self._pieces.append(bytes(data))
        return len(data)

    def take(self) -> bytes:
        """What was written since the last call."""
        data = b"".join(self._pieces)
        self._pieces.clear()
        return data


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
    rows: Mapping[str, tuple[int, str]]
    """Size and SHA-256 of each entry, as the manifest states them."""
    packed: zipfile.ZipFile

    def __getitem__(self, name: str) -> bytes:
        size, sha256 = self.rows[name]
        try:
            data = _read_entry(self.packed, name, size)
        except (OSError, ValueError, zipfile.BadZipFile, zlib.error, EOFError) as error:
            raise _refusal(self.path, f"{visible(name)} is damaged") from error
        if hashlib.sha256(data).hexdigest() != sha256:
            raise _refusal(self.path, f"{visible(name)} does not match its SHA-256")
        return data

    def __iter__(self) -> Iterator[str]:
        return iter(self.rows)

    def __len__(self) -> int:
        return len(self.rows)


def _read_entry(packed: zipfile.ZipFile, name: str, most: int) -> bytes:
    """The bytes of an entry, and one more than `most` at most."""
    with packed.open(name) as entry:
        return entry.read(most + 1)


def read_archive(path: Path) -> Archive:
    """Check every entry of a bundle; they are read again when accessed.

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
    if os.fstat(file.fileno()).st_size > MAX_BYTES + (MAX_BYTES >> 3):
        raise BundleError(f"it is larger than {MAX_BYTES >> 20} MiB")
    try:
        packed = zipfile.ZipFile(file)
    except zipfile.BadZipFile as error:
        raise BundleError("it is no whole zip file") from error
    infos = packed.infolist()
    if packed.comment or (infos and infos[0].header_offset):
        raise BundleError("it holds more than its entries")
    if len(infos) > MAX_ENTRIES + 1:
        raise BundleError("it holds too many entries")
    manifest = _read_manifest(packed, infos)
    rows = {row["name"]: row for row in _checked_rows(manifest)}
    for info in infos[1:]:
        row = rows.get(info.filename)
        if row is None:
            raise BundleError("it holds an entry that its manifest does not name")
        if info.flag_bits & 1 or info.compress_type not in _METHODS:
            raise BundleError(f"{visible(info.filename)} is encrypted, or packed in another way")
        if info.file_size != row["size"]:
            raise BundleError(f"{visible(info.filename)} has not the size that it states")
    if len(infos) != len(rows) + 1:
        raise BundleError("its entries are not those of its manifest")
    if sum(row["size"] for row in rows.values()) > MAX_BYTES:
        raise BundleError(f"it is larger than {MAX_BYTES >> 20} MiB")
    sizes = {name: (row["size"], row["sha256"]) for name, row in rows.items()}
    entries = Entries(path, sizes, packed)
    for name in entries:
        entries[name]
    return Archive(tuple(manifest["stores"]), entries)


def _read_manifest(packed: zipfile.ZipFile, infos: Sequence[zipfile.ZipInfo]) -> dict[str, Any]:
    """The manifest, which is the first entry."""
    if not infos or infos[0].filename != MANIFEST or infos[0].compress_type not in _METHODS:
        raise BundleError("its first entry is not a manifest")
    data = b""
    if infos[0].file_size <= MAX_MANIFEST_BYTES:
        data = _read_entry(packed, MANIFEST, MAX_MANIFEST_BYTES)
    if not data or len(data) > MAX_MANIFEST_BYTES:
        raise BundleError("its manifest is too large")
    manifest = json.loads(data)
    if not isinstance(manifest, dict) or manifest.get(_FORM) not in READABLE:
        raise BundleError("it was written by another version of memtui")
    return manifest


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
    return rows


def is_bundle(head: bytes) -> bool:
    """Whether these first bytes are those of a zip file."""
    return head.startswith(b"PK")


def close_archive(archive: Archive) -> None:
    """Close the file behind an archive that was read."""
    if isinstance(archive.entries, Entries):
        with suppress(OSError):
            file = archive.entries.packed.fp
            archive.entries.packed.close()
            if file is not None:
                file.close()
