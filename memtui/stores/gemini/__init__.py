"""Gemini CLI: GEMINI.md, the private notes of each project, and the inbox of proposed patches.

The files lie below its settings folder `~/.gemini`. `GEMINI.md` is given to every session,
`tmp/<project>/memory/*.md` to those of one project. Auto memory writes patches into
`.inbox/private/` and `.inbox/global/` of a project's memory folder, and waits for a person.
(Source: formats page of Gemini CLI.)
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

from memtui.stores.base import Unreadable
from memtui.stores.format import Candidate, Detection, Format, Product
from memtui.stores.scanning import (
    Entry,
    folders_in,
    has_entry,
    markdown_names,
    read_object,
    read_small,
)
from memtui.stores.values import members_of

GLOBAL = "GEMINI.md"
ADDED = "Gemini Added Memories"
PROJECTS, FOLDER = "tmp", "memory"
INBOX, PATCH = ".inbox", "extraction.patch"
SCOPES = ("private", "global")
SUFFIX = ".md"


@Detection
def detect(path: Path) -> Iterator[Candidate]:
    """The settings folder that this path is, or directly holds."""
    return filter(None, map(_judge, (path, path / ".gemini")))


def _judge(folder: Path) -> Candidate | None:
    if has_entry(folder / PROJECTS, _has_memory):
        return Candidate(folder, f"{PROJECTS}/ with the {FOLDER}/ of a project")
    file = folder / GLOBAL
    if not os.path.isfile(file):
        return None
    if folder.name == ".gemini":
        return Candidate(folder, f"{GLOBAL} in .gemini")
    if f"## {ADDED}" in read_small(file):
        return Candidate(folder, f"{GLOBAL} with the heading {ADDED}")
    return Candidate(folder, GLOBAL, f"the heading {ADDED}")


def _has_memory(project: Entry) -> bool:
    folder = Path(project.path, FOLDER)
    return has_entry(folder, lambda entry: entry.name.endswith(SUFFIX)) or any(
        os.path.isfile(folder / INBOX / scope / PATCH) for scope in SCOPES
    )


def memory_files(root: Path, faults: list[Unreadable]) -> Iterator[str]:
    """GEMINI.md, then notes and patches of each project, relative to the root."""
    if os.path.lexists(root / GLOBAL):
        yield GLOBAL
    if not os.path.isdir(root / PROJECTS):
        return
    for project in folders_in(root / PROJECTS, root):
        if isinstance(project, Unreadable):
            faults.append(project)
            continue
        folder = Path(project.path, FOLDER)
        if not os.path.isdir(folder):
            continue
        base = f"{PROJECTS}/{project.name}/{FOLDER}"
        yield from (f"{base}/{name}" for name in markdown_names(folder, faults))
        for scope in SCOPES:
            if os.path.lexists(folder / INBOX / scope / PATCH):
                yield f"{base}/{INBOX}/{scope}/{PATCH}"


def is_patch(path: str) -> bool:
    return path.endswith(f"/{PATCH}")


def is_note(path: str) -> bool:
    """Whether it is GEMINI.md or a private note."""
    parts = path.split("/")
    is_private = len(parts) == 4 and parts[0] == PROJECTS and parts[2] == FOLDER
    return path == GLOBAL or (is_private and path.endswith(SUFFIX) and parts[3][0] != ".")


def entity_of(path: str) -> str:
    """`global`, or the project's folder name."""
    return "global" if path == GLOBAL else path.split("/")[1]


MAX_PATH, MAX_REGISTRY = 4096, 1 << 20
"""Bytes of a `.project_root` and of `projects.json` that are read."""


def project_root(root: Path, entity: str) -> str:
    """The absolute path of a project by the name of its folder; "" where nothing tells it.

    Gemini writes it into `.project_root` of the folder, and the names of the folders by path into
    `projects.json` (formats page of Gemini CLI).
    """
    if "/" in entity or entity in ("", ".", ".."):
        return ""
    path = read_small(root / PROJECTS / entity / ".project_root", MAX_PATH).strip()
    if not path:
        known = read_object(root / "projects.json", MAX_REGISTRY, root)
        names = members_of(known.get("projects"))
        path = next((each for each, name in names.items() if name == entity), "")
    path = path.rstrip("/")
    return path if path.startswith("/") and path.isprintable() else ""


def target_of(named: str, patch: str, root: Path) -> str:
    """The note that a header of a patch names, relative to the root; "" if it may not be there.

    A private patch may change notes of its project, a global one GEMINI.md alone.
    """
    base, _, rest = patch.partition(f"/{INBOX}/")
    is_global = rest.startswith("global/")
    if named.startswith("/"):
        path = os.path.relpath(named, root)
    else:
        name = named[2:] if named[:2] in ("a/", "b/") else named
        path = name if is_global or name.startswith(f"{base}/") else f"{base}/{name}"
    path = os.path.normpath(path).replace(os.sep, "/")
    if is_global:
        return path if path == GLOBAL else ""
    return path if is_note(path) and path.startswith(f"{base}/") else ""


FORMAT = Format(
    name="gemini",
    title="Gemini CLI: GEMINI.md, private notes, proposed patches",
    product=Product("Gemini CLI", "GM", 5),
    places=("~/.gemini",),
    detect=detect,
    claims=(GLOBAL,),
)
