"""Find what memtui keeps of a store again after the store was moved.

The sidecar files in memtui's own folders are named after the path of their store (`sidecar_lines`).
Beside them `places.json` records that path and marks of the store's text, by which the store is
recognised at another path; the files are then copied for the new path. The old ones stay, because
the old path may be on a disk that is not mounted. What matches no open store stays where it is, and
is listed.
"""

from __future__ import annotations

import hashlib
import json
import os
import re
import time
from collections.abc import Iterable, Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any, NamedTuple

from memtui import paths
from memtui.errors import UnreadableFile
from memtui.files.reading import read_bytes
from memtui.files.sidecar_lines import ASKED_FOLDER, KEPT_FOLDER, read_entries, sidecar_files

PLACES = "places.json"
NOTED_EVERY = 3600.0
"""Seconds after which the marks of a store are noted anew by a change."""
MAX_MARKS = 200
"""Marks that are kept of a store."""
MAX_COMPARED = 5 * MAX_MARKS
"""Pieces of a store that are compared with them, also from its beginning. It takes up to 20 ms of
every start for each store without a sidecar, as long as a store that has one is gone."""
SAME_SHARE = 0.5
"""Share of the marks that must be found in a store at another path."""
TEXTS = frozenset({".md", ".json", ".jsonl", ".txt", ".yaml", ".yml", ".toml"})
"""Endings of files that are read. A database is none: to open and close it would take the locks
away that SQLite holds on it in this process."""
LONGEST_PIECE = 1 << 16
_PIECE = re.compile(rb"\n|(?<=\}),")
"""Between pieces of one file: lines, or the records of JSON on one line."""


class HomelessSidecar(NamedTuple):
    """What is kept of a store that is no longer at its path."""

    root: str
    files: tuple[Path, ...]
    entries: int
    """How many memories something is kept about."""


def note_store(root: Path, follows: str = "") -> None:
    """Note of which store its files in memtui's own folders are; a failure is ignored.

    `follows`: the name of the files that they are copies of.
    """
    with suppress(OSError):
        name, now = sidecar_files(root).kept.name, time.time()
        if not _own_files(name) or now - _read().get(name, {}).get("at", 0) < NOTED_EVERY:
            return
        with paths.sole_writer(_folder()):
            known = {key: place for key, place in _read().items() if _own_files(key)}
            if follows in known:
                known[follows] = {**known[follows], "is_followed": True}
            marks = list(_marks(root, MAX_MARKS))
            path = os.path.realpath(root)
            place = {"root": path, "is_folder": root.is_dir(), "marks": marks, "at": now}
            paths.write_private(
                _folder() / PLACES, json.dumps({**known, name: place}), durable=False
            )


def follow_moved(roots: Iterable[Path]) -> None:
    """Copy the files of a store that was moved for its path of now."""
    homeless = {name: place for name, place in _read().items() if _is_homeless(name, place)}
    for root in roots if homeless else ():
        with suppress(OSError):
            name = sidecar_files(root).kept.name
            found = None if _own_files(name) else _find(root, homeless)
            if found is not None:
                for file in _own_files(found):
                    paths.write_new(file.with_name(name), file.read_bytes())
                del homeless[found]
                note_store(root, follows=found)


def list_homeless() -> list[HomelessSidecar]:
    """Return what is kept of stores that are gone from their paths."""
    found = []
    for name, place in _read().items():
        if _is_homeless(name, place):
            files = _own_files(name)
            ids = {id for file in files for id, entry in _entries(file) if entry}
            found.append(HomelessSidecar(str(place["root"]), files, len(ids)))
    return [each for each in found if each.entries]


def _entries(file: Path) -> Iterable[tuple[str, Any]]:
    with suppress(OSError, UnicodeDecodeError):
        return read_entries(file.read_text("utf-8")).items()
    return ()


def _find(root: Path, homeless: dict[str, dict[str, Any]]) -> str | None:
    """The one that is of this store; None where none is, or two may be."""
    alike = {n: place for n, place in homeless.items() if place["is_folder"] == root.is_dir()}
    now = set(_marks(root, MAX_COMPARED)) if alike else set()
    shares = {
        name: sum(mark in now for mark in place["marks"]) / len(place["marks"])
        for name, place in alike.items()
        if place["marks"]
    }
    best = max(shares.values(), default=0.0)
    same = [name for name, share in shares.items() if share == best]
    return same[0] if best >= SAME_SHARE and len(same) == 1 else None


def _marks(root: Path, most: int) -> Iterator[str]:
    """Digests of the pieces of a file, or of the beginnings of a folder's files."""
    seen = 0
    for file in [root] if root.is_file() else _texts(root):
        if file.suffix not in TEXTS:
            continue
        with suppress(UnreadableFile, OSError):
            data = read_bytes(file)
            pieces = [data[:LONGEST_PIECE]] if file != root else _PIECE.split(data)
            for piece in filter(None, (each.strip() for each in pieces)):
                yield hashlib.blake2b(piece, digest_size=4).hexdigest()
                seen += 1
                if seen >= most:
                    return


def _texts(root: Path) -> Iterator[Path]:
    for folder, names, files in os.walk(root):
        names[:] = sorted(name for name in names if not name.startswith("."))
        yield from (Path(folder, name) for name in sorted(files))


def _folder() -> Path:
    return paths.state_folder() / KEPT_FOLDER


def _own_files(name: str) -> tuple[Path, ...]:
    """The files of this name in memtui's own folders."""
    folders = (_folder(), paths.data_folder() / ASKED_FOLDER)
    return tuple(file for folder in folders if (file := folder / name).is_file())


def _is_homeless(name: str, place: dict[str, Any]) -> bool:
    is_gone = not place.get("is_followed") and not os.path.lexists(place["root"])
    return is_gone and bool(_own_files(name))


def _read() -> dict[str, dict[str, Any]]:
    found = paths.read_private(_folder() / PLACES)
    return {name: place for name, place in found.items() if _is_place(place)}


def _is_place(place: Any) -> bool:
    return (
        isinstance(place, dict)
        and isinstance(place.get("root"), str)
        and isinstance(place.get("is_folder"), bool)
        and isinstance(place.get("at"), float)
        and isinstance(marks := place.get("marks"), list)
        and all(isinstance(mark, str) for mark in marks)
    )
