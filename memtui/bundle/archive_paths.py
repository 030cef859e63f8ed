"""Convert between paths of a store's files and names of bundle entries.

An entry's name is the file's path relative to the store's base folder; bytes that are not plain
ASCII are written as `%XX`. Where two names differ only in case, the later one is written as `%XX`
throughout.
"""

from __future__ import annotations

import os
from collections.abc import Iterable
from pathlib import Path, PurePosixPath
from urllib.parse import quote, unquote_to_bytes

from memtui.dataclass import dataclass
from memtui.errors import BundleError
from memtui.files.reading import LONGEST_NAME
from memtui.files.sidecar_lines import FOLDER, PLACE_FILE, sidecar_path
from memtui.stores.accesses import sidecar_access_path

SIDECAR = ".memtui/sidecar.jsonl"
"""The sidecar's name in a bundle, also where the store is a single file."""
ACCESSES = ".memtui/access.json"
"""The same for the accesses that memtui counts beside a store."""
PLACE_FACTS = f"{FOLDER}/{PLACE_FILE}"
"""The same for what the place of a store tells about it, see `TransferSupport.place_facts`."""
_PLAIN = "/ !#$&'()+,;=@[]{}^~"
_NEVER = frozenset({".git", ".hg", ".svn", ".ssh", ".memtui"})
"""Names of folders that a bundle must not contain, except for memtui's own three files in them."""


def quote_name(name: str) -> str:
    """Return a file name or path as part of an entry's name."""
    text = quote(os.fsencode(name), safe=_PLAIN)
    return "/".join("%2E" * len(p) if p in (".", "..") else p for p in text.split("/"))


def unquote_name(name: str) -> str:
    """Return the file name that `quote_name` made this name of."""
    return os.fsdecode(unquote_to_bytes(name))


def quote_names(paths: Iterable[str]) -> dict[str, str]:
    """Return path -> name; no two names differ only in case."""
    found: dict[str, str] = {}
    used: set[str] = set()
    for path in sorted(paths):
        name = quote_name(path)
        if name.casefold() in used:
            name = "/".join(_escaped(part) for part in path.split("/"))
        used.add(name.casefold())
        found[path] = name
    return found


def _escaped(part: str) -> str:
    return "".join(f"%{byte:02X}" for byte in os.fsencode(part))


def parse_entry_name(name: str) -> str:
    """Return the relative path that an entry's name stands for.

    Raises:
        BundleError: it leads out of the store, is too long, or is a forbidden name.
    """
    path = unquote_name(name)
    parts = PurePosixPath(path).parts
    plain = path == "/".join(parts) and not path.startswith("/") and "\0" not in path
    if not parts or not plain or ".." in parts:
        raise BundleError("a file's name leads out of its store")
    if any(len(os.fsencode(part)) > LONGEST_NAME for part in parts):
        raise BundleError(f"a file's name is longer than {LONGEST_NAME} bytes")
    if any(
        _normalised(part) in _NEVER
        for part in (parts[:-2] if path.endswith((SIDECAR, ACCESSES, PLACE_FACTS)) else parts)
    ):
        raise BundleError("a file's name is not allowed in a bundle")
    return path


def _normalised(part: str) -> str:
    """The name as file systems see it that ignore case and invisible characters (CVE-2014-9390)."""
    return "".join(letter for letter in part.casefold() if letter.isprintable())


@dataclass(frozen=True, slots=True)
class StoreLayout:
    """The base folder of a store and the names of its files relative to it."""

    base: Path
    """The folder that contains every file of the store."""
    inner: str
    """Name of the root in `base`; empty when they are the same."""
    root: Path
    database: Path | None = None
    database_name: str = ""

    def name(self, file: str) -> str:
        """Return the path relative to the base; empty for a file outside it."""
        if self.database is not None and file == str(self.database):
            return self.database_name
        extra_files = {
            str(sidecar_path(self.root)): SIDECAR,
            str(sidecar_access_path(self.root)): ACCESSES,
        }
        if file in extra_files:
            return f"{self.inner}/{extra_files[file]}" if self.inner else extra_files[file]
        start = os.path.join(str(self.base), "")
        return file.removeprefix(start) if file.startswith(start) else ""


def layout_of_files(root: Path, files: Iterable[str]) -> StoreLayout:
    """The layout of the store at `root` whose memories lie in these text `files`."""
    start = os.path.join(str(root), "")
    if all(file.startswith(start) for file in files):
        return StoreLayout(root, "", root)
    return StoreLayout(root.parent, root.name, root)


def layout_of_database(root: Path, name: str) -> StoreLayout:
    """The layout of the store at `root` in one file; `name` is the usual name of such files."""
    if root.is_dir():
        return StoreLayout(root, "", root, root / name, name)
    return StoreLayout(root.parent, "", root, root, name)
