"""Archives made by hand to do harm, each of them refused whole (T15).

`ZIPS` and `TARS` are what other programs make of them; `SEALED` have every byte where memtui would
have put it, so that only what they say can betray them.
"""

from __future__ import annotations

import hashlib
import io
import json
import stat
import struct
import tarfile
import warnings
import zipfile
from collections.abc import Callable
from typing import Any

from memtui.bundle import archive
from memtui.bundle.archive import Archive
from memtui.model import Memory, to_record

Make = Callable[[], bytes]

# ---- zips -----------------------------------------------------------------------------------


def _zip(*entries: tuple[str, bytes], mode: int = 0, comment: bytes = b"", deep: int = 0) -> bytes:
    out = io.BytesIO()
    kind = zipfile.ZIP_DEFLATED if deep else zipfile.ZIP_STORED
    with zipfile.ZipFile(out, "w", kind) as file:
        for name, data in entries:
            info = zipfile.ZipInfo(name)
            info.external_attr, info.compress_type = mode << 16, kind
            file.writestr(info, data)
        file.comment = comment
    return out.getvalue()


MANIFEST = ("manifest.json", b"{}")


def good() -> bytes:
    """A bundle of one store, with nothing wrong about it."""
    return sealed(files={"entities/a/items.json": "[]\n"})


def _with_more(*entries: tuple[str, bytes]) -> bytes:
    """A good bundle that an ordinary zip program has added something to."""
    out = io.BytesIO(good())
    with zipfile.ZipFile(out, "a") as file, warnings.catch_warnings(action="ignore"):
        for name, data in entries:
            file.writestr(name, data)
    return out.getvalue()


def _with(at: bytes, old: bytes, new: bytes) -> bytes:
    """A good bundle with the first such bytes behind the mark written over."""
    data = good()
    place = data.index(old, data.index(at))
    return data[:place] + new + data[place + len(new) :]


def _overlapping() -> bytes:
    """Two entries of the directory, one place in the file."""
    data = bytearray(_zip(MANIFEST, ("a", b"1"), ("b", b"1")))
    first, second = data.index(b"PK\1\2"), data.rindex(b"PK\1\2")
    data[second + 42 : second + 46] = data[first + 42 : first + 46]
    return bytes(data)


ZIPS: dict[str, Make] = {
    "nothing": lambda: b"",
    "no zip": lambda: b"{}",
    "empty zip": _zip,
    "no manifest": lambda: _zip(("a", b"1")),
    "manifest alone": lambda: _zip(MANIFEST),
    "manifest is a list": lambda: _zip(("manifest.json", b"[]")),
    "path upwards": lambda: _zip(MANIFEST, ("../evil", b"1")),
    "absolute path": lambda: _zip(MANIFEST, ("/etc/evil", b"1")),
    "backslashes": lambda: _zip(MANIFEST, ("..\\evil", b"1")),
    "dot": lambda: _zip(MANIFEST, ("./a", b"1")),
    "one name twice": lambda: _with_more(("memories/agent-memory.jsonl", b"{}")),
    "names that differ in case": lambda: _with_more(("MEMORIES/agent-memory.jsonl", b"{}")),
    "symbolic link": lambda: _zip(MANIFEST, ("a", b"/etc/passwd"), mode=stat.S_IFLNK | 0o777),
    "set user id": lambda: _zip(MANIFEST, ("a", b"#!/bin/sh"), mode=stat.S_IFREG | 0o4755),
    "bomb": lambda: _zip(MANIFEST, ("a", b"\0" * (8 << 20)), deep=1),
    "comment": lambda: _zip(MANIFEST, comment=b"PK\5\6" * 9),
    "overlapping entries": _overlapping,
    "size that lies": lambda: _with(b"PK\1\2", struct.pack("<L", 3), struct.pack("<L", 2)),
    "other name in the directory": lambda: _with(b"PK\1\2", b"manifest", b"Manifest"),
    "encrypted": lambda: _with(b"PK\1\2", b"\x14\0\x08", b"\x14\0\x09"),
    "something before it": lambda: b"#!/bin/sh\n" + good(),
    "another zip behind it": lambda: good() + _zip(("a", b"1")),
    "cut short": lambda: good()[:-30],
}


# ---- tars -----------------------------------------------------------------------------------


def _tar(*entries: tuple[str, bytes, str], mode: str = "w") -> bytes:
    """Entries as (name, type, target of the link)."""
    out = io.BytesIO()
    with tarfile.open(fileobj=out, mode=mode) as file:  # type: ignore[call-overload]
        for name, kind, target in entries:
            info = tarfile.TarInfo(name)
            info.type, info.linkname, info.mode = kind, target, 0o4777
            info.size = 4 if kind == tarfile.REGTYPE else 0
            file.addfile(info, io.BytesIO(b"evil"))
    return out.getvalue()


TARS: dict[str, Make] = {
    "tar upwards": lambda: _tar(("../evil", tarfile.REGTYPE, "")),
    "tar, absolute": lambda: _tar(("/etc/evil", tarfile.REGTYPE, "")),
    "tar, symbolic link": lambda: _tar(("items.json", tarfile.SYMTYPE, "/etc/passwd")),
    "tar, through a link": lambda: _tar(
        ("a", tarfile.SYMTYPE, "/tmp"), ("a/evil", tarfile.REGTYPE, "")
    ),
    "tar, hard link": lambda: _tar(("items.json", tarfile.LNKTYPE, "/etc/passwd")),
    "tar, device": lambda: _tar(("items.json", tarfile.CHRTYPE, "")),
    "tar, pipe": lambda: _tar(("items.json", tarfile.FIFOTYPE, "")),
    "tar, compressed": lambda: _tar(("../evil", tarfile.REGTYPE, ""), mode="w:gz"),
}


# ---- sealed ---------------------------------------------------------------------------------


def sealed(
    label: str = "agent-memory",
    files: dict[str, str] | None = None,
    more: dict[str, bytes] | None = None,
    memories: tuple[Any, ...] = (),
    listed: dict[str, Any] | None = None,
    count: int = 0,
    **about: Any,
) -> bytes:
    """A bundle in the one true form that says this of its store."""
    files = {"a": "x"} if files is None else files
    store = {
        "label": label,
        "format": "agent-memory",
        "whole": True,
        "memories": len(memories) or count,
        "files": listed or {name: {"mtime_ns": 0} for name in files},
        "root": "",
        **about,
    }
    entries = {f"files/{label}/{name}": text.encode() for name, text in files.items()}
    lines = "".join(json.dumps(record) + "\n" for record in memories)
    entries |= {f"memories/{label}.jsonl": lines.encode(), **(more or {})}
    return b"".join(archive.encode_archive(Archive((store,), entries)))


def framed(manifest: bytes) -> bytes:
    """A zip whose first entry is this manifest, with the sum it asks for."""
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w") as file:
        info = zipfile.ZipInfo("manifest.json")
        info.external_attr = 0o100600 << 16
        file.writestr(info, manifest)
    return out.getvalue()


def _manifest(**row: Any) -> bytes:
    entry = {"name": "files/a/b", "size": 1, "sha256": hashlib.sha256(b"x").hexdigest(), **row}
    head = {"memtui bundle": 1, "stores": [], "entries": [entry]}
    return framed(json.dumps(head, indent=1, sort_keys=True).encode() + b"\n")


def _record(**fields: Any) -> dict[str, Any]:
    memory = Memory("agent-memory:1", "1", "agent-memory", "fact", content="x")
    return {**to_record(memory), **fields}


_ROWS = (
    b'{"database":{"application_id":0,"encoding":"UTF-8","page_size":4096,"user_version":0}}\n'
    b'{"kind":"table","name":"x","sql":"ATTACH \'/tmp/evil.db\' AS x"}\n'
)
_PART = {"label": "a", "format": "x", "whole": False, "memories": 0, "files": {}, "root": ""}

SEALED: dict[str, Make] = {
    "upwards": lambda: sealed(files={"%2E%2E/%2E%2E/evil": "x"}),
    "absolute": lambda: sealed(files={"%2Fetc/evil": "x"}),
    "NUL": lambda: sealed(files={"a%00b": "x"}),
    "dots as a file": lambda: sealed(files={"a/%2E%2E": "x"}),
    "name that is too long": lambda: sealed(files={"a" * 300: "x"}),
    "git hook": lambda: sealed(files={".git/hooks/post-checkout": "x"}),
    "git hook, capitals": lambda: sealed(files={"%2EGIT/config": "x"}),
    "git hook, unseen character": lambda: sealed(files={".g%E2%80%8Cit/config": "x"}),
    "keys": lambda: sealed(files={".ssh/authorized_keys": "x"}),
    "memtui's own folder": lambda: sealed(files={".memtui/journal.sqlite": "x"}),
    "file over folder": lambda: sealed(files={"a": "x", "a/b": "y"}),
    "root upwards": lambda: sealed(root=".."),
    "root away": lambda: sealed(root="/etc"),
    "root in two steps": lambda: sealed(root="a/../.."),
    "stray file": lambda: sealed(more={"files/other/a": b"x"}),
    "file that is not listed": lambda: sealed(more={"files/agent-memory/b": b"x"}),
    "time beyond all": lambda: sealed(listed={"a": {"mtime_ns": 10**40}}),
    "time of a float": lambda: sealed(listed={"a": {"mtime_ns": 1e9}}),
    "memories that are not there": lambda: sealed(count=5),
    "memory of another store": lambda: sealed(memories=(_record(store="other"),)),
    "memory of no kind": lambda: sealed(memories=(_record(kind="virus"),)),
    "memory with a nest of lists": lambda: sealed(
        more={"memories/agent-memory.jsonl": b"[" * 100_000}
    ),
    "number of five thousand digits": lambda: sealed(
        more={"memories/agent-memory.jsonl": b"9" * 5000}
    ),
    "size below nothing": lambda: _manifest(size=-1),
    "size that is no number": lambda: _manifest(size=True),
    "size larger than the file": lambda: _manifest(size=1 << 40),
    "another sum": lambda: _manifest(sha256="0" * 64),
    "nest in the manifest": lambda: framed(b"[" * 100_000),
    "no store": lambda: b"".join(archive.encode_archive(Archive((), {"files/other/a": b"x"}))),
    "label twice": lambda: b"".join(
        archive.encode_archive(Archive((_PART,) * 2, {"memories/a.jsonl": b""}))
    ),
    "store without entries": lambda: b"".join(archive.encode_archive(Archive((_PART,), {}))),
    "version of another day": lambda: framed(b'{"memtui bundle": 3}\n'),
}

ONLY_WHOLE: dict[str, Make] = {
    "unknown format": lambda: sealed(format="evil"),
    "rows that are none": lambda: sealed(
        format="engram", files={}, more={"rows/agent-memory.jsonl": b"[]\n"}
    ),
    "rows that run something": lambda: sealed(
        format="engram", files={}, more={"rows/agent-memory.jsonl": _ROWS}
    ),
}
"""Nothing of these goes into a store that exists; they would be a store of their own."""

HOSTILE = {**ZIPS, **TARS, **SEALED, **ONLY_WHOLE}
