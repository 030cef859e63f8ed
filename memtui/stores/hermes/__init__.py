"""Hermes: the notes of the agent and the profile of its user, as lists of entries.

A store is a home folder with `memories/`, or a folder with the two files alone. (Source:
hermes-agent 0.19.0, tools/memory_tool.py and hermes_constants.py.)
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterator, Mapping
from pathlib import Path

from memtui.stores.format import Candidate, Detection, Format, Product, not_its_own
from memtui.stores.scanning import is_link_into, list_folder, read_small

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


@Detection
def detect(path: Path) -> Iterator[Candidate]:
    """The store that this path is, or directly holds."""
    is_linked = path in linked_folders(path.parent)
    homes = (*[path.parent][: path.name == FOLDER and not is_linked], path, path / ".hermes")
    for home in homes:
        yield from _judge(home / FOLDER, home, _mark_of(home))
    yield from _judge(path, path, _mark_of(path.parent) if is_linked else "")


def _mark_of(home: Path) -> str:
    """What says that a folder is a home of Hermes: its name, or what lies in it."""
    beside = next((name for name in _IN_HOME if os.path.isfile(home / name)), "")
    return home.name if home.name == ".hermes" else beside


def linked_folders(home: Path) -> Iterator[Path]:
    """The folder of the two files, where a link leads to it out of the home folder.

    People share memory so: it is a store of its own, whose root is the link.
    """
    folder = home / FOLDER
    is_outside = os.path.islink(folder) and not is_link_into(folder, home)
    if is_outside and _mark_of(home) and any(os.path.isfile(folder / name) for name in NAMES):
        yield folder


def home_of(root: Path) -> Path:
    """The home folder of a store: its root, or the folder above where the root is such a link."""
    return root.parent if root in linked_folders(root.parent) else root


def _judge(folder: Path, root: Path, named: str) -> Iterator[Candidate]:
    """Whether a folder holds one of the files, and what says that they are those of Hermes: the
    name of the home, what lies in it, or a mark of its own."""
    present = [name for name in NAMES if os.path.isfile(folder / name)]
    if not present:
        return
    found = ", ".join(f"{FOLDER}/{name}" if folder.name == FOLDER else name for name in present)
    other = next((name for name in _OTHER_PROGRAMS if os.path.exists(folder / name)), "")
    if other:
        yield Candidate(root, found, not_its_own(f"another program keeps {other} there"))
    elif named:
        yield Candidate(root, f"{found} and {named}")
    elif any(os.path.isfile(folder / f"{name}{LOCK}") for name in present):
        yield Candidate(root, f"{found} with a lock file")
    elif any(_DELIMITER.search(read_small(folder / name)) for name in present):
        yield Candidate(root, f"{found} with entries divided by §")
    else:
        yield Candidate(root, found, f"{' or '.join(_IN_HOME)}, a lock file, or a line §")


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
    nearby=(".", "hermes/*", "profiles/*", ".hermes/profiles/*"),
    configured=profile_folders,
    linked=linked_folders,
)
