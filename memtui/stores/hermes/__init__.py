"""Hermes: the notes of the agent and the profile of its user, as lists of entries.

A store is a home folder with `memories/`, or a folder with the two files alone. (Source:
hermes-agent 0.19.0, tools/memory_tool.py and hermes_constants.py.)
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterator, Mapping
from pathlib import Path

from memtui.stores.format import Format, Product
from memtui.stores.scanning import list_folder, read_small

MEMORY, USER = "MEMORY.md", "USER.md"
NAMES = (MEMORY, USER)
FOLDER = "memories"
CONFIG = "config.yaml"
_IN_HOME = (CONFIG, "SOUL.md")
"""What else lies in a home folder, also where people keep one under another name."""
LOCK = ".lock"
"""Suffix of the empty file beside each that is locked while it is written; it stays."""
_OTHER_PROGRAMS = ("memory_summary.md", "raw_memories.md")  # in a folder of this name
_DELIMITER = re.compile(r"[\r\n]§[\r\n]")
_MAX_PROFILES = 200


def detect(path: Path) -> Path | None:
    """The store that this path is, or directly holds."""
    homes = (*[path.parent][: path.name == FOLDER], path, path / ".hermes")
    found = next(filter(_is_home, homes), None)
    return found or (path if _is_memories(path, is_named=False) else None)


def _is_home(folder: Path) -> bool:
    is_named = folder.name == ".hermes" or any(os.path.isfile(folder / name) for name in _IN_HOME)
    return _is_memories(folder / FOLDER, is_named=is_named)


def _is_memories(folder: Path, *, is_named: bool) -> bool:
    """Whether it holds one of the files; without a name that says so, also a mark of Hermes."""
    files = [folder / name for name in NAMES if os.path.isfile(folder / name)]
    if not files or any(os.path.exists(folder / name) for name in _OTHER_PROGRAMS):
        return False
    return is_named or any(
        os.path.isfile(f"{file}{LOCK}") or _DELIMITER.search(read_small(file)) for file in files
    )


def profile_folders(_folder: Path, home: Path, variables: Mapping[str, str]) -> Iterator[Path]:
    """The home folders of Hermes's profiles."""
    own = variables.get("HERMES_HOME")
    root = Path(own) if own else home / ".hermes"
    if root.parent.name == "profiles":
        root = root.parent.parent
    for entry in list_folder(root / "profiles")[0][:_MAX_PROFILES]:
        yield Path(entry.path)


def memory_folder(root: Path) -> Path:
    """The folder of the two files."""
    return root / FOLDER if os.path.isdir(root / FOLDER) else root


FORMAT = Format(
    name="hermes",
    title="Hermes agent: MEMORY.md and USER.md",
    product=Product("Hermes", "HM", 3),
    places=("$HERMES_HOME", "~/.hermes"),
    detect=detect,
    load=f"{__name__}.store",
    configured=profile_folders,
)
