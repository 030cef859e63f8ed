"""The bundle as a file: a zip whose bytes follow from its contents alone.

Entries are stored, not compressed, in a fixed order, with fixed dates and modes, `manifest.json`
first. So one set of contents has exactly one form, and reading can demand it: what was read is
written again and must give the file's own bytes. Any flipped bit, second entry under one name,
overlap, link, lying size, comment or trailing junk fails that, whatever trick it is; the limits
below only keep a hostile file from costing memory before it is refused.

    manifest.json    {"memtui bundle": 1, "stores": [...], "entries": [{"name", "size", "sha256"}]}
    <entries in the order of their names>
"""

from __future__ import annotations

import hashlib
import io
import json
import zipfile
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, BinaryIO

from memtui.errors import BundleError
from memtui.text import visible

VERSION = 1
MANIFEST = "manifest.json"
MOST_ENTRIES = 200_000
MOST_BYTES = 1 << 30
"""Larger files are refused unread (reliability: 1 GiB in all)."""
_DATE = (1980, 1, 1, 0, 0, 0)
_FORM = "memtui bundle"


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


def _manifest(archive: Archive) -> bytes:
    entries = [
        {"name": name, "size": len(data), "sha256": hashlib.sha256(data).hexdigest()}
        for name, data in sorted(archive.entries.items())
    ]
    head = {_FORM: VERSION, "stores": [dict(store) for store in archive.stores], "entries": entries}
    return json.dumps(head, indent=1, sort_keys=True).encode("ascii") + b"\n"


def write(archive: Archive, out: BinaryIO) -> None:
    """Write the one form of these contents."""
    with zipfile.ZipFile(out, "w", zipfile.ZIP_STORED) as file:
        for name, data in [(MANIFEST, _manifest(archive)), *sorted(archive.entries.items())]:
            info = zipfile.ZipInfo(name, _DATE)
            info.create_system = 3
            info.external_attr = 0o600 << 16
            file.writestr(info, data)


def to_bytes(archive: Archive) -> bytes:
    out = io.BytesIO()
    write(archive, out)
    return out.getvalue()


def safe_name(name: str) -> bool:
    """Whether an entry's name stays inside the folder that it is unpacked into."""
    parts = name.split("/")
    return bool(name) and all(
        part not in ("", ".", "..") and "\\" not in part and "\0" not in part for part in parts
    )


def read(path: Path) -> Archive:
    """Read and check a bundle whole. Raises BundleError, or OSError when it cannot be read."""
    if path.stat().st_size > MOST_BYTES:
        raise _refuse(path, f"it is larger than {MOST_BYTES >> 20} MiB")
    data = path.read_bytes()
    try:
        archive = _parse(data)
        same = to_bytes(archive) == data
    except BundleError as error:
        raise _refuse(path, error.what) from None
    except Exception as error:  # zipfile and json fail in many ways on damaged input
        raise _refuse(path, f"it is damaged ({type(error).__name__})") from error
    if not same:
        raise _refuse(path, "its bytes are not those that its contents have")
    return archive


def _parse(data: bytes) -> Archive:
    with zipfile.ZipFile(io.BytesIO(data)) as file:
        infos = file.infolist()
        if len(infos) > MOST_ENTRIES:
            raise BundleError("it holds too many entries")
        if not infos or infos[0].filename != MANIFEST:
            raise BundleError("its first entry is not a manifest")
        for info in infos:
            if info.compress_type != zipfile.ZIP_STORED or info.file_size != info.compress_size:
                raise BundleError("an entry is compressed")
            if not safe_name(info.filename):
                raise BundleError("an entry's name leads out of the bundle")
        if sum(info.file_size for info in infos) > len(data):
            raise BundleError("its entries overlap")
        if len({info.filename.casefold() for info in infos}) != len(infos):
            raise BundleError("two entries have the same name")
        manifest = json.loads(file.read(infos[0]))
        if manifest.get(_FORM) != VERSION:
            raise BundleError("it was written by another version of memtui")
        entries = {info.filename: file.read(info) for info in infos[1:]}
    for entry in manifest["entries"]:
        if hashlib.sha256(entries[entry["name"]]).hexdigest() != entry["sha256"]:
            raise BundleError(f"{visible(entry['name'])} is not what the manifest says")
    return Archive(tuple(manifest["stores"]), entries)
