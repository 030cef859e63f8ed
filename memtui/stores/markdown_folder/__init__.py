"""Folders of Markdown notes: Serena, memory banks, basic-memory, Letta memfs, vaults, plain.

Only folders with a mark of a program are recognised by themselves; any other folder with notes is
opened as plain notes when a person names it (`plain_folder`).
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from memtui.stores.format import Format, Product
from memtui.stores.markdown_folder.profiles import (
    BANK,
    BANK_NAMES,
    BASIC,
    MEMFS,
    PLAIN,
    PROFILES,
    SERENA,
    VAULT,
    Profile,
)
from memtui.stores.scanning import (
    SKIPPED,
    SUFFIX,
    Entry,
    has_entry,
    is_markdown,
    list_folder,
    read_object,
    read_place_facts,
    read_small,
)

MIN_OF_BANK = 2
"""Files of a memory bank that must be there."""
MAX_FOLDERS, MAX_LOOKED_INTO, LARGEST_LOOKED_INTO = 6, 12, 64 << 10
"""Folders, notes of each, and bytes of a note, that are read to recognise a program."""
MAX_AGENTS = 200
LARGEST_SETTINGS = 1 << 20
_NO_WORD = re.compile(r"[\W_]+")
_VAULTS = {
    ".obsidian": VAULT.product,
    ".foam": Product("Foam", "FO", VAULT.product.colour),
    "logseq": Product("Logseq", "LS", VAULT.product.colour),
}
"""Folder in a vault -> the program that makes it."""
SETTINGS = Path("..", "project.yml")
"""Serena's settings of a project, from its memories."""


def detect(path: Path) -> Path | None:
    """The folder of notes that this path is, or directly holds."""
    folders = [path, path / ".serena" / "memories", path / "memory-bank"]
    if path.name == ".serena":
        folders.append(path / "memories")
    if path.parent.name == "agents":
        folders.append(path / "memory")
    return next((folder for folder in folders if profile_of(folder) is not PLAIN), None)


def plain_folder(path: Path) -> Path | None:
    """The path itself, if it is a folder with notes in it or in one of its folders."""
    if not os.path.isdir(path):
        return None
    return path if _has_notes(path) or has_entry(path, _holds_notes) else None


def _holds_notes(entry: Entry) -> bool:
    return entry.name not in SKIPPED and entry.is_dir() and _has_notes(Path(entry.path))


def profile_of(folder: Path) -> Profile:
    """The profile whose mark the folder has; plain if it has none.

    A restored folder has the profile it had, because its mark may be the name of a folder above.
    """
    if not os.path.isdir(folder):
        return PLAIN
    former = PROFILES.get(str(read_place_facts(folder).get("profile")))
    if former is not None:
        return former
    if folder.name == "memories" and folder.parent.name == ".serena":
        return SERENA if _has_notes(folder) or has_entry(folder, _holds_notes) else PLAIN
    if sum(os.path.isfile(folder / f"{n}{SUFFIX}") for n in BANK_NAMES) >= MIN_OF_BANK:
        return BANK
    is_agents = folder.name == "memory" and folder.parent.parent.name == "agents"  # Letta's place
    if _has_notes(folder / "system") and (is_agents or _is_described(folder / "system")):
        return MEMFS
    if any(os.path.isdir(folder / mark) for mark in _VAULTS):
        return VAULT
    if _has_permalinks(folder):
        return BASIC
    return PLAIN


def product_of(folder: Path, profile: str) -> Product:
    """The program that keeps its notes in a folder."""
    chosen = PROFILES.get(profile) or profile_of(folder)
    if chosen is VAULT:
        marks = (mark for mark in _VAULTS if os.path.isdir(folder / mark))
        return _VAULTS[next(marks, ".obsidian")]
    return chosen.product


def _is_described(folder: Path) -> bool:
    """Whether its first note has a `description` and no name, as Letta's hook demands."""
    notes = [e.path for e in list_folder(folder)[0] if e.name.endswith(SUFFIX)]
    front = _frontmatter(Path(notes[0])) if notes else {}
    return "description" in front and not front.keys() & {"name", "title", "permalink"}


def _has_notes(folder: Path) -> bool:
    return has_entry(folder, is_markdown)


def _has_permalinks(folder: Path) -> bool:
    """Whether one of the first notes has a permalink; in basic-memory's own place also below.

    Elsewhere a folder whose folders hold notes may as well be a folder of several stores, unless
    the permalinks below begin with the folder: they are paths from the top of a project.
    """
    entries = [entry for entry in list_folder(folder)[0] if entry.name not in SKIPPED]
    if _any_permalink(entries):
        return True
    folders = [entry for entry in entries[:MAX_AGENTS] if _is_folder(entry)]
    return any(
        _any_permalink(list_folder(each.path)[0], "" if folder.name == BASIC.name else each.name)
        for each in folders[:MAX_FOLDERS]
    )


def _any_permalink(entries: list[Entry], folder: str = "") -> bool:
    """Whether one of these notes has a permalink, or one that names this folder.

    A permalink that begins with a slash is an address of a web site, as Jekyll has it.
    """
    notes = [entry for entry in entries if entry.name.endswith(SUFFIX)]
    found = (str(_frontmatter(Path(e.path)).get("permalink", "/")) for e in notes[:MAX_LOOKED_INTO])
    links = (link for link in found if not link.startswith("/"))
    if not folder:
        return any(links)
    name = _NO_WORD.sub("-", folder.lower()).strip("-")
    return any(link.split("/")[-2:-1] == [name] for link in links)


def _is_folder(entry: Entry) -> bool:
    try:
        return entry.is_dir(follow_symlinks=False)
    except OSError:
        return False


def _frontmatter(note: Path) -> dict[str, Any]:
    text = read_small(note, LARGEST_LOOKED_INTO)
    if "---" not in text[:4]:
        return {}
    from memtui.files.frontmatter import parse  # here: most folders hold none

    return parse(text)


def configured_folders(folder: Path, home: Path, variables: Mapping[str, str]) -> Iterator[Path]:  # noqa: ARG001
    """basic-memory's projects by its own settings, and the memory of each of Letta's agents."""
    settings = home / ".basic-memory" / "config.json"
    projects = read_object(settings, LARGEST_SETTINGS).get("projects")
    for place in projects.values() if isinstance(projects, dict) else ():
        path = place.get("path") if isinstance(place, dict) else place
        if isinstance(path, str) and path.startswith(("/", "~/")) and "\0" not in path:
            yield home / path[2:] if path.startswith("~/") else Path(path)
    for entry in list_folder(home / ".letta" / "agents")[0][:MAX_AGENTS]:
        yield Path(entry.path, "memory")


FORMAT = Format(
    name="markdown-folder",
    title="Markdown notes: Serena, memory bank, basic-memory, memfs, vault",
    places=("~/.serena/memories", "$BASIC_MEMORY_HOME", "~/basic-memory"),
    detect=detect,
    load=f"{__name__}.store",
    nearby=(".", ".serena/memories", "memory-bank"),
    configured=configured_folders,
    fallback=plain_folder,
    product=product_of,
    profiles=tuple(PROFILES),
)
