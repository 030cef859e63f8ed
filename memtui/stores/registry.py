"""Every store format that memtui knows, and which of them a folder holds.

A new format is one module and one line here.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from memtui.stores import agent_memory, ambient, engram, simple_memory, workspace
from memtui.stores.format import Format

if TYPE_CHECKING:
    from memtui.files.revert_detection import EditSequence, EditStatus

FORMATS: tuple[Format, ...] = (
    agent_memory.FORMAT,
    ambient.FORMAT,
    engram.FORMAT,
    simple_memory.FORMAT,
    workspace.FORMAT,
)
"""In the order in which they are tried: the ones that are hardest to mistake come first."""

MOST_FOLDERS = 200
"""Folders of one folder that are looked into."""

_VARIABLE = re.compile(r"\$(\w+)")


def format_of(name: str) -> Format | None:
    """The format with this name; None when this memtui does not know it."""
    return next((known for known in FORMATS if known.name == name), None)


def detect(path: Path) -> tuple[Format, Path] | None:
    """The format of the store that this path is or directly holds, and the store's root."""
    return next(iter(detect_all(path)), None)


def detect_all(path: Path) -> list[tuple[Format, Path]]:
    """Every store that this path is or directly holds: one folder may hold two formats."""
    found = []
    for known in FORMATS:
        root = known.detect(path)
        if root is not None:
            found.append((known, root))
    return found


def detect_within(path: Path) -> list[tuple[Format, Path]]:
    """The store that this path is; where it is none itself, all that it and its folders hold."""
    here = detect_all(path)
    if any(os.path.realpath(root) == os.path.realpath(path) for _, root in here):
        return here[:1]
    below = [store for folder in _folders(path) for store in detect_all(folder)[:1]]
    return _once([*below, *here[:1]])


def _folders(path: Path) -> list[Path]:
    try:
        with os.scandir(path) as entries:
            names = sorted(entry.name for entry in entries if entry.is_dir())
    except (OSError, ValueError):
        return []
    return [path / name for name in names[:MOST_FOLDERS]]


def _once(stores: Iterable[tuple[Format, Path]]) -> list[tuple[Format, Path]]:
    found: dict[str, tuple[Format, Path]] = {}
    for known, root in stores:
        found.setdefault(f"{known.name}\0{os.path.realpath(root)}", (known, root))
    return list(found.values())


def _expanded(place: str, home: Path, variables: Mapping[str, str]) -> Path | None:
    """A known place as a path; None when it names a variable that is not set."""
    for name in _VARIABLE.findall(place):
        if not variables.get(name):
            return None
    text = _VARIABLE.sub(lambda match: variables[match[1]], place)
    if text == "~" or text.startswith("~/"):
        return home / text[2:]
    return Path(text)


def _candidates(
    folder: Path, home: Path, variables: Mapping[str, str]
) -> Iterator[tuple[Format, Path]]:
    for known in FORMATS:
        for near in known.nearby:
            yield known, folder / near
    for known in FORMATS:
        for place in known.places:
            path = _expanded(place, home, variables)
            if path is not None:
                yield known, path


def discover(
    folder: Path, home: Path, variables: Mapping[str, str] = os.environ
) -> list[tuple[Format, Path]]:
    """The stores in a folder and in the places where their programs keep them, then those in its
    folders.

    Each store once, whichever way leads to it. Never raises.
    """
    near = ((known, known.detect(path)) for known, path in _candidates(folder, home, variables))
    found = [(known, root) for known, root in near if root is not None]
    return _once([*found, *detect_within(folder)])


def row_digest(name: str) -> str | None:
    """The digest of the table row of this name as it is now; None when no format knows it."""
    for known in FORMATS:
        if known.database is not None:
            found = known.database.row_digest(name)
            if found is not None:
                return found
    return None


def rows_standing(trails: Sequence[EditSequence]) -> list[tuple[EditSequence, EditStatus]]:
    """How these trails of row edits stand, as the format that owns the rows tells."""
    found = []
    for known in FORMATS:
        if known.database is not None and trails:
            found += known.database.standing(trails)
    return found
