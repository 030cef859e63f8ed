"""Folders of Markdown notes: Serena, memory banks, basic-memory, Letta memfs, vaults, plain.

Only folders with a mark of a program are recognised by themselves; any other folder with notes is
opened as plain notes when a person names it (`plain_folder`).
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, NamedTuple

from memtui.stores.format import Candidate, Detection, Format, Product, not_its_own
from memtui.stores.markdown_folder.profiles import (
    AGENT,
    BANK,
    BANK_NAMES,
    BASIC,
    KILO,
    KILO_NAMES,
    LEARNINGS,
    LOGS,
    MEMFS,
    PLAIN,
    PLANNING,
    PROFILES,
    SERENA,
    VAULT,
    Profile,
)
from memtui.stores.program_settings import named_path, read_settings
from memtui.stores.scanning import (
    SKIPPED,
    SUFFIX,
    Entry,
    has_entry,
    is_markdown,
    list_folder,
    read_place_facts,
    read_small,
)
from memtui.stores.values import members_of

MIN_OF_BANK = 2
"""Files of a memory bank that must be there."""
MAX_FOLDERS, MAX_LOOKED_INTO, LARGEST_LOOKED_INTO = 6, 12, 64 << 10
"""Folders, notes of each, and bytes of a note, that are read to recognise a program."""
MAX_AGENTS = 200
_NO_WORD = re.compile(r"[\W_]+")
_KILO_PLACE = ".kilocode/rules/memory-bank"
_PLACES = (
    *(".serena/memories", "memory-bank", "memory_bank"),
    *(_KILO_PLACE, ".planning", ".learnings", "memory"),
)
_OF_AGENT = ("topics", "logs", "daily")
"""Folders of notes that an agent keeps beside its MEMORY.md."""
AGENT_MARKS = (
    *("AGENTS.md", "CLAUDE.md", "GEMINI.md", "MEMORY.md", "SOUL.md", "memory"),
    *(".claude", ".codex", ".cursor", ".gemini", ".openclaw", ".github/copilot-instructions.md"),
)
"""Files and folders at the top of a vault by which an agent works in it."""
_EXAMPLES = ", ".join(("AGENTS.md", ".claude", "memory/"))
_TEMPLATES = {"template", "templates", "example", "examples"}
_DOCUMENTS = {
    *("docs", "doc", "documentation", "site", "_site", "website", "blog", "articles", "posts"),
}
"""Names of folders of documents, whatever these look like."""
_SITES = (
    *("_config.yml", "mkdocs.yml", "hugo.toml", "docusaurus.config.js", "docusaurus.config.ts"),
    *("astro.config.mjs", "astro.config.ts", ".eleventy.js", "eleventy.config.js", ".vitepress"),
    *("_layouts", "_posts", "book.toml", "gatsby-config.js", "quartz.config.ts"),
)
"""What generators of sites keep beside their pages, or above them."""
_VAULTS = {
    ".obsidian": VAULT.product,
    ".foam": Product("Foam", "FO", VAULT.product.colour),
    "logseq": Product("Logseq", "LS", VAULT.product.colour),
}
"""Folder in a vault -> the program that makes it."""
SETTINGS = Path("..", "project.yml")
"""Serena's settings of a project, from its memories."""


@Detection
def detect(path: Path) -> Iterator[Candidate]:
    """The folder of notes that this path is, or directly holds."""
    folders = [path, *(path / place for place in _PLACES)]
    if path.name == ".serena":
        folders.append(path / "memories")
    if path.parent.name == "agents":
        folders.append(path / "memory")
    for folder in folders:
        for mark in _marks(folder):
            is_whole = mark.profile in (VAULT, BASIC)
            yield Candidate(folder, mark.found, mark.missing, opens_when_named=is_whole)


def plain_folder(path: Path) -> Path | None:
    """The path itself, if it is a folder with notes in it or in one of its folders."""
    if not os.path.isdir(path):
        return None
    return path if _has_notes(path) or has_entry(path, _holds_notes) else None


def _holds_notes(entry: Entry) -> bool:
    return entry.name not in SKIPPED and entry.is_dir() and _has_notes(Path(entry.path))


def profile_of(folder: Path) -> Profile:
    """The profile whose mark the folder has; plain if it has none.

    A vault is one whether or not an agent works in it.
    """
    marks = (each for each in _marks(folder) if not each.missing or each.profile is VAULT)
    return next((each.profile for each in marks), PLAIN)


class _Mark(NamedTuple):
    profile: Profile
    found: str
    missing: str = ""
    """See `Candidate`."""


def _marks(folder: Path) -> Iterator[_Mark]:
    """What says which program keeps its notes in a folder, the surest first.

    A restored folder has the profile it had, because its mark may be the name of a folder above.
    """
    if not os.path.isdir(folder):
        return
    former = PROFILES.get(str(read_place_facts(folder).get("profile")))
    if former is not None:
        yield _Mark(former, "memtui restored it here")
        return
    if folder.name == "memories" and folder.parent.name == ".serena":
        has_notes = _has_notes(folder) or has_entry(folder, _holds_notes)
        yield _Mark(SERENA, ".serena/memories", "" if has_notes else "notes")
        return
    name = folder.name.lower()
    notes = [f"{each}{SUFFIX}" for each in BANK_NAMES]
    named = [note for note in notes if os.path.isfile(folder / note)]
    if named:
        lacks = "" if len(named) >= MIN_OF_BANK else "a second file of a memory bank"
        yield _Mark(BANK, ", ".join(named), lacks or _TEMPLATE * (name in _TEMPLATES))
    for profile, place, names in _NAMED_PLACES:
        if folder.as_posix().endswith(f"/{place}"):
            present = [name for name in names if os.path.isfile(folder / name)]
            yield _Mark(profile, ", ".join(present) or place, "" if present else " or ".join(names))
    if folder.name == "memory" and os.path.isfile(folder / "MEMORY.md"):
        beside = next((each for each in _OF_AGENT if _has_notes(folder / each)), "")
        vault = next((each for each in _VAULTS if os.path.isdir(folder.parent / each)), "")
        lies = not_its_own(f"it lies in a vault ({vault})")
        missing = lies if vault else f"notes in {' or '.join(_OF_AGENT)}"
        found = f"MEMORY.md and notes in {beside}" if beside else "MEMORY.md"
        yield _Mark(AGENT, found, "" if beside and not vault else missing)
    if _has_notes(folder / "system"):
        is_agents = folder.name == "memory" and folder.parent.parent.name == "agents"  # Letta's
        if is_agents:
            yield _Mark(MEMFS, "the memory of one of Letta's agents")
        elif _is_described(folder / "system"):
            yield _Mark(MEMFS, "system/ with descriptions")
    for vault in _VAULTS:
        if os.path.isdir(folder / vault):
            agent = next((name for name in AGENT_MARKS if os.path.lexists(folder / name)), "")
            found = f"{vault} and {agent}" if agent else vault
            yield _Mark(VAULT, found, "" if agent else f"a mark of an agent ({_EXAMPLES})")
    if link := _permalink_in(folder):
        kinds = {_TEMPLATE: name in _TEMPLATES, _DOCUMENT: name in _DOCUMENTS}
        other = next((kind for kind, is_one in kinds.items() if is_one), _site_of(folder))
        yield _Mark(BASIC, f"a note with the permalink {link}", other)


_NAMED_PLACES = (
    (KILO, _KILO_PLACE, [f"{each}{SUFFIX}" for each in KILO_NAMES]),
    (PLANNING, ".planning", ["STATE.md"]),
    (LEARNINGS, ".learnings", [*LOGS]),
)
"""Profile -> the folder by whose name it is known, and the files of which it has one."""

_TEMPLATE, _DOCUMENT = "it is a folder of templates", "it is a folder of documents"


def _site_of(folder: Path) -> str:
    """By what a folder is the source of a web site, or lies in one; "" for any other."""
    found = (n for n in _SITES for f in (folder, folder.parent) if os.path.exists(f / n))
    name = next(found, "")
    return f"it is a web site ({name})" if name else ""


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


def _permalink_in(folder: Path) -> str:
    """The permalink of one of the first notes; in basic-memory's own place also below.

    Elsewhere a folder whose folders hold notes may as well be a folder of several stores, unless
    the permalinks below begin with the folder: they are paths from the top of a project.
    """
    entries = [entry for entry in list_folder(folder)[0] if entry.name not in SKIPPED]
    if link := _permalink(entries):
        return link
    folders = [entry for entry in entries[:MAX_AGENTS] if _is_folder(entry)]
    found = (
        _permalink(list_folder(each.path)[0], "" if folder.name == BASIC.name else each.name)
        for each in folders[:MAX_FOLDERS]
    )
    return next(filter(None, found), "")


def _permalink(entries: list[Entry], folder: str = "") -> str:
    """The permalink of one of these notes, or one that names this folder.

    A permalink that begins with a slash or ends like a file of a page is an address of a web site,
    as Jekyll and Eleventy have it.
    """
    notes = [entry for entry in entries if entry.name.endswith(SUFFIX)]
    found = (
        str(_frontmatter(Path(e.path)).get("permalink") or "/") for e in notes[:MAX_LOOKED_INTO]
    )
    links = (link for link in found if link[0] != "/" and not link.endswith(("/", ".html")))
    if not folder:
        return next(links, "")
    name = _NO_WORD.sub("-", folder.lower()).strip("-")
    return next((link for link in links if link.split("/")[-2:-1] == [name]), "")


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
    projects = members_of(read_settings(settings).get("projects"))
    for place in projects.values():
        if path := named_path(place.get("path") if isinstance(place, dict) else place, home):
            yield path
    for entry in list_folder(home / ".letta" / "agents")[0][:MAX_AGENTS]:
        yield Path(entry.path, "memory")


FORMAT = Format(
    name="markdown-folder",
    title="Markdown notes: Serena, memory bank, basic-memory, memfs, vault",
    places=("~/.serena/memories", "$BASIC_MEMORY_HOME", "~/basic-memory"),
    detect=detect,
    claims=("[!.]*.md",),
    nearby=(".", *_PLACES),
    configured=configured_folders,
    fallback=plain_folder,
    product=product_of,
    profiles=tuple(PROFILES),
)
