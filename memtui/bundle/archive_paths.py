"""Names inside a bundle: a store's files as they lie to each other, wherever the store lies.

A file's name is its path from the store's base, with every byte that is no plain ASCII written as
`%XX`. Where two names would be one to a program that ignores case, the later one is written so in
all its letters.
"""

from __future__ import annotations

import os
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path, PurePosixPath
from urllib.parse import quote, unquote_to_bytes

from memtui.errors import BundleError
from memtui.files.reading import LONGEST_NAME
from memtui.files.sidecar_lines import sidecar_path

SIDECAR = ".memtui/sidecar.jsonl"
"""The sidecar's name in a bundle, also where the store is a single file."""
_PLAIN = "/ !#$&'()+,;=@[]{}^~"
_NEVER = frozenset({".git", ".hg", ".svn", ".ssh", ".memtui"})
"""Folders that no bundle may bring along; `SIDECAR` is the one exception."""


def quote_name(name: str) -> str:
    """A file name or path as part of an entry's name."""
    text = quote(os.fsencode(name), safe=_PLAIN)
    return "/".join("%2E" * len(p) if p in (".", "..") else p for p in text.split("/"))


def unquote_name(name: str) -> str:
    return os.fsdecode(unquote_to_bytes(name))


def quote_names(paths: Iterable[str]) -> dict[str, str]:
    """Each path and its name, no two of which are the same but for case."""
    found: dict[str, str] = {}
    taken: set[str] = set()
    for path in sorted(paths):
        name = quote_name(path)
        if name.casefold() in taken:
            name = "/".join(_escaped(part) for part in path.split("/"))
        taken.add(name.casefold())
        found[path] = name
    return found


def _escaped(part: str) -> str:
    return "".join(f"%{byte:02X}" for byte in os.fsencode(part))


def parse_entry_name(name: str) -> str:
    """The relative path that an entry's name stands for. Raises BundleError if it leads away."""
    path = unquote_name(name)
    parts = PurePosixPath(path).parts
    plain = path == "/".join(parts) and not path.startswith("/") and "\0" not in path
    if not parts or not plain or ".." in parts:
        raise BundleError("a file's name leads out of its store")
    if any(len(os.fsencode(part)) > LONGEST_NAME for part in parts):
        raise BundleError(f"a file's name is longer than {LONGEST_NAME} bytes")
    if any(_seen(part) in _NEVER for part in (parts[:-2] if path.endswith(SIDECAR) else parts)):
        raise BundleError("a file's name is one that no bundle may bring along")
    return path


def _seen(part: str) -> str:
    """A name as a file system takes it that ignores case and unseen characters (CVE-2014-9390)."""
    return "".join(letter for letter in part.casefold() if letter.isprintable())


@dataclass(frozen=True, slots=True)
class StoreLayout:
    """Where a store lies, and how its files are called from there."""

    base: Path
    """The folder that every file of the store lies in."""
    inner: str
    """Name of the root in `base`; empty when they are the same."""
    root: Path
    database: Path | None = None
    database_name: str = ""

    def name(self, file: str) -> str:
        """The path from the base; empty for a file that lies elsewhere."""
        if self.database is not None and file == str(self.database):
            return self.database_name
        if file == str(sidecar_path(self.root)):
            return f"{self.inner}/{SIDECAR}" if self.inner else SIDECAR
        start = os.path.join(str(self.base), "")
        return file.removeprefix(start) if file.startswith(start) else ""


def layout_of_files(root: Path, files: Iterable[str]) -> StoreLayout:
    """The home of a store of text files."""
    start = os.path.join(str(root), "")
    if all(file.startswith(start) for file in files):
        return StoreLayout(root, "", root)
    return StoreLayout(root.parent, root.name, root)


def layout_of_database(root: Path, name: str) -> StoreLayout:
    """The home of a store in one file, which may be called otherwise than usual."""
    if root.is_dir():
        return StoreLayout(root, "", root, root / name, name)
    return StoreLayout(root.parent, "", root, root, name)
