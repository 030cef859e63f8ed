"""Claude Code: auto memory of each project, memory of subagents, and CLAUDE.md files.

The package itself says where the files lie. A store is one of three kinds of folder:

* the folder of settings (`$CLAUDE_CONFIG_DIR`, else `~/.claude`): `projects/<slug>/memory/` of each
  project, `agent-memory/<agent>/` of each subagent, `CLAUDE.md`;
* a project: `.claude/memory/`, `.claude/agent-memory/<agent>/`, `.claude/agent-memory-local/`,
  `CLAUDE.md`, `AGENTS.md`;
* a single memory folder, as `autoMemoryDirectory` names one.

A slug is the project's path with every mark turned into a hyphen, so the path cannot be told from
it. It is taken from the `cwd` of the transcripts beside it or from the keys of `.claude.json`, and
only if it gives this slug; otherwise the slug itself is shown. (Source of the layout: formats page
of Claude Code, read off real folders.)
"""

from __future__ import annotations

import json
import os
import re
from collections.abc import Iterator, Mapping
from contextlib import suppress
from pathlib import Path
from typing import NamedTuple

from msgspec import Struct

from memtui.stores.base import Unreadable
from memtui.stores.format import Candidate, Detection, Format, Product
from memtui.stores.scanning import (
    Entry,
    folders_in,
    has_entry,
    is_markdown,
    list_folder,
    markdown_names,
    read_object,
    read_place_facts,
    read_small,
)
from memtui.stores.values import members_of

INDEX = "MEMORY.md"
SUFFIX = ".md"
AGENTS = ("agent-memory", "agent-memory-local")
INSTRUCTIONS = "instructions"
"""Key of the shard and entity of `CLAUDE.md` and the like."""

IN_CONFIG = ("CLAUDE.md",)
IN_PROJECT = ("CLAUDE.md", ".claude/CLAUDE.md", "CLAUDE.local.md", "AGENTS.md")
RULES = ("rules", ".claude/rules")
"""Folders of further instructions, of settings and of a project."""

_OTHER_PROGRAMS = ("SOUL.md", "IDENTITY.md", "memory", "entities")
"""What other programs keep beside a MEMORY.md of their own."""
_TOPIC_NAME = re.compile(r"(user|feedback|project|reference)_.*\.md")
_INDEX_LINE = re.compile(r"^[-*] +\**\[[^\]\n]*\]\(<?([^()\s/]+\.md)>?\)", re.MULTILINE)
_NOT_IN_SLUG = re.compile(r"[^A-Za-z0-9]")


# ---- recognising --------------------------------------------------------------------------------


@Detection
def detect(path: Path) -> Iterator[Candidate]:
    """The store that this path is, or directly holds."""
    yield from filter(None, map(judge_config, (path, path / ".claude")))
    yield from filter(None, map(judge_project, (*[path.parent][: path.name == ".claude"], path)))
    yield from filter(None, map(judge_memory_folder, (path, path / "memory")))


_RESTORED = "memtui restored it here"
CONFIG, PROJECT, MEMORY = "config", "project", "memory"
"""The kinds of folder, as the facts of a restored store have them."""


def kind_of(folder: Path) -> str:
    """Which kind of folder it is; "" if it is none."""
    kinds = ((CONFIG, judge_config), (PROJECT, judge_project), (MEMORY, judge_memory_folder))
    found = next((name for name, judge in kinds if _is_store(judge(folder))), "")
    return found or PROJECT * (judge_project(folder) is not None)


def _is_store(judged: Candidate | None) -> bool:
    return judged is not None and not judged.missing


def _is_restored_as(kind: str, folder: Path) -> bool:
    """Whether a bundle restored it from a folder of this kind, whatever its present name."""
    return read_place_facts(folder).get("kind") == kind


def judge_config(folder: Path) -> Candidate | None:
    """Whether it is a folder of settings that holds memories."""
    if _is_restored_as(CONFIG, folder):
        return Candidate(folder, _RESTORED)
    if has_entry(folder / "projects", lambda entry: _has_markdown(Path(entry.path, "memory"))):
        return Candidate(folder, "projects/ with the memory/ of a project")
    if folder.name != ".claude" or os.path.lexists(folder.parent / ".git"):
        return None
    found = "CLAUDE.md" if os.path.isfile(folder / "CLAUDE.md") else _agents_in(folder)
    if not found or not os.path.isdir(folder / "projects"):
        return None
    return Candidate(folder, f"{found} beside projects/")


def judge_project(folder: Path) -> Candidate | None:
    """Whether it is a project with memories; the instructions of others are read as rules, unless a
    person asks for this format."""
    own = folder / ".claude"
    if _is_restored_as(PROJECT, folder):
        return Candidate(folder, _RESTORED)
    if _is_store(judge_config(own)):
        return None
    found = "memory" if _has_markdown(own / "memory") else _agents_in(own)
    if found:
        return Candidate(folder, f".claude/{found} with notes")
    named = next((n for n in IN_PROJECT[:2] if os.path.isfile(folder / n)), "")
    if not named or not os.path.lexists(folder / ".git"):
        return None
    return Candidate(folder, named, "notes in .claude/memory or of a subagent")


def _agents_in(folder: Path) -> str:
    """The first folder of the memories of subagents; "" if there are none."""
    found = (
        each
        for each in AGENTS
        if has_entry(folder / each, lambda entry: _has_markdown(Path(entry.path)))
    )
    return next(found, "")


def _has_markdown(folder: Path) -> bool:
    return has_entry(folder, is_markdown)


def judge_memory_folder(folder: Path) -> Candidate | None:
    """Whether it is a memory folder: where one lies, or an index of files beside it."""
    index = folder / INDEX
    if _is_restored_as(MEMORY, folder):
        return Candidate(folder, _RESTORED)
    if folder.name == "memory" and folder.parent.parent.name == "projects":
        found = "notes where Claude Code keeps those of a project"
        return Candidate(folder, found) if _has_markdown(folder) else None
    if not os.path.isfile(index):
        return None
    other = next((name for name in _OTHER_PROGRAMS if os.path.exists(folder / name)), "")
    if other:
        return Candidate(folder, INDEX, f"{other} is of another program")
    if folder.parent.name in AGENTS:
        return Candidate(folder, f"{INDEX} of a subagent")
    if has_entry(folder, lambda entry: bool(_TOPIC_NAME.match(entry.name))):
        return Candidate(folder, f"{INDEX} and topic files")
    named = next(
        (n for n in _INDEX_LINE.findall(read_small(index))[:20] if os.path.isfile(folder / n)), ""
    )
    if named:
        return Candidate(folder, f"{INDEX} with a line that names {named}")
    return Candidate(folder, INDEX, "a line of it that names a file beside it, or a topic file")


def configured_folders(folder: Path, home: Path, variables: Mapping[str, str]) -> Iterator[Path]:
    """Memory folders that the setting `autoMemoryDirectory` names, for all or for this folder."""
    config = Path(variables.get("CLAUDE_CONFIG_DIR") or home / ".claude")
    layers = (config / "settings.json", config / "settings.local.json")
    own = (folder / ".claude" / "settings.json", folder / ".claude" / "settings.local.json")
    for file in (*layers, *own):
        named = read_object(file, MAX_SETTINGS_BYTES).get("autoMemoryDirectory")
        if isinstance(named, str) and named.startswith(("/", "~/")):
            yield home / named[2:] if named.startswith("~/") else Path(named)


MAX_SETTINGS_BYTES = 32 << 20
"""Bytes of a settings file that is read; `.claude.json` holds the history of every project."""


# ---- memory folders -----------------------------------------------------------------------------


class MemoryFolder(Struct, frozen=True):
    """One folder with a MEMORY.md and topic files."""

    key: str
    """Relative to the root, with slashes; `.` for the root itself."""
    path: Path
    kind: str
    """`project` (of a folder of settings), `agent`, `own` (of the project that is the store), or
    empty for a single folder."""
    name: str
    """The slug or the name of the agent."""

    @property
    def prefix(self) -> str:
        """Prefix of the ids of its files."""
        return "" if self.key == "." else f"{self.key}/"

    @property
    def transcripts(self) -> Path:
        """The folder of the transcripts of its project."""
        return self.path.parent


def memory_folders(root: Path, faults: list[Unreadable]) -> Iterator[MemoryFolder]:
    """The memory folders of a store, by name; folders that cannot be listed go to `faults`."""
    if _is_store(judge_memory_folder(root)) and not _is_store(judge_config(root)):
        yield MemoryFolder(".", root, "", root.parent.name)
        return
    projects = root / "projects"
    if os.path.isdir(projects):
        for name, path in _folders(projects, root, faults):
            if os.path.isdir(path / "memory"):
                yield MemoryFolder(f"projects/{name}/memory", path / "memory", "project", name)
    base = "" if _has_settings(root) else ".claude/"
    if base and os.path.isdir(root / ".claude" / "memory"):
        yield MemoryFolder(".claude/memory", root / ".claude" / "memory", "own", root.name)
    for agents in AGENTS:
        if os.path.isdir(root / base / agents):
            for name, path in _folders(root / base / agents, root, faults):
                yield MemoryFolder(f"{base}{agents}/{name}", path, "agent", name)


def _has_settings(root: Path) -> bool:
    return (
        root.name == ".claude" or os.path.isdir(root / "projects") or _is_restored_as(CONFIG, root)
    )


def _folders(folder: Path, root: Path, faults: list[Unreadable]) -> Iterator[tuple[str, Path]]:
    for found in folders_in(folder, root):
        if isinstance(found, Unreadable):
            faults.append(found)
        else:
            yield found.name, Path(found.path)


def markdown_files(folder: Path, faults: list[Unreadable]) -> list[str]:
    """The Markdown files directly in a folder: the index first, then by name."""
    names = markdown_names(folder, faults)
    return [str(folder / name) for name in sorted(names, key=lambda name: name != INDEX)]


def instruction_names(root: Path, folders: list[MemoryFolder]) -> list[str]:
    """The instruction files that are read at every start, relative to the root, if they exist."""
    if any(folder.key == "." for folder in folders):
        return []
    in_config = _has_settings(root)
    names = [n for n in (IN_CONFIG if in_config else IN_PROJECT) if os.path.lexists(root / n)]
    rules = RULES[0] if in_config else RULES[1]
    if os.path.isdir(root / rules):
        found = markdown_files(root / rules, [])
        names += [f"{rules}/{os.path.basename(file)}" for file in found]
    return names


# ---- the path of a project ----------------------------------------------------------------------

MAX_TRANSCRIPTS = 5
MAX_READ = 64 << 10
"""Transcripts that are looked into for the project's path, and bytes of each."""
_CWD = re.compile(rb'"cwd"\s*:\s*("(?:[^"\\]|\\.)*")')


class ProjectPaths:
    """The paths of projects by slug, each found once."""

    def __init__(self, root: Path) -> None:
        self._root = root
        self._found: dict[str, str] = {}
        self._known: dict[str, str] | None = None

    def of(self, slug: str) -> str:
        """The absolute path of the project with this slug; "" if nothing tells it."""
        if slug not in self._found:
            folder = self._from_transcripts(slug) or self._from_settings().get(slug, "")
            self._found[slug] = folder
        return self._found[slug]

    def recorded(self, slug: str) -> str:
        """The same, or the path that a restored store had where it was exported."""
        return self.of(slug) or self._former("paths", slug)

    def _former(self, fact: str, slug: str) -> str:
        former = members_of(read_place_facts(self._root).get(fact)).get(slug)
        return former if isinstance(former, str) and former.isprintable() else ""

    def entity(self, slug: str) -> str:
        """The path from the home folder, else from `/`; the slug itself if it is not known."""
        path = self.of(slug)
        if not path:
            return self._former("entities", slug) or slug
        home = f"{self._root.parent}/"
        return path.removeprefix(home).strip("/") or slug

    def short(self, entity: str) -> str:
        """The last part of a project's path; with the one before where two projects share it."""
        known = {self.entity(slug) for slug in self._found} | {entity}
        last = entity.rpartition("/")[2]
        alike = [each for each in known if each.rpartition("/")[2] == last]
        return last if len(alike) == 1 else "/".join(entity.split("/")[-2:])

    def _from_transcripts(self, slug: str) -> str:
        folder = self._root / "projects" / slug
        files = [e for e in list_folder(folder)[0] if e.name.endswith(".jsonl")]
        for entry in sorted(files, key=_time, reverse=True)[:MAX_TRANSCRIPTS]:
            for written in _CWD.findall(_beginning(entry.path)):
                with suppress(ValueError):
                    found = _project_of(json.loads(written), slug)
                    if found:
                        return found
        return ""

    def _from_settings(self) -> dict[str, str]:
        if self._known is None:
            files = [self._root / ".claude.json"]
            if self._root.name == ".claude":
                files.append(self._root.parent / ".claude.json")
            tables = [read_object(file, MAX_SETTINGS_BYTES).get("projects") for file in files]
            keys = [key for table in tables if isinstance(table, dict) for key in table]
            self._known = {_NOT_IN_SLUG.sub("-", key): key for key in keys}
        return self._known


def _time(entry: Entry) -> float:
    try:
        return entry.stat().st_mtime
    except OSError:
        return 0.0


def _beginning(path: str) -> bytes:
    """The first bytes of a regular file; nothing of anything else."""
    try:
        descriptor = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_NOFOLLOW | os.O_CLOEXEC)
    except OSError:
        return b""
    try:
        return os.read(descriptor, MAX_READ)
    except OSError:
        return b""
    finally:
        os.close(descriptor)


def _project_of(cwd: object, slug: str) -> str:
    """The folder above `cwd`, or itself, that gives this slug; "" if none does."""
    if not isinstance(cwd, str) or not cwd.startswith("/") or not cwd.isprintable():
        return ""
    path = cwd.rstrip("/")
    while path:
        if _NOT_IN_SLUG.sub("-", path) == slug:
            return path
        path = path.rpartition("/")[0]
    return ""


FORMAT = Format(
    name="claude-code",
    title="Claude Code: auto memory and CLAUDE.md",
    product=Product("Claude Code", "CC", 4),
    places=("$CLAUDE_CONFIG_DIR", "~/.claude"),
    detect=detect,
    claims=(*IN_PROJECT, f"{RULES[1]}/*"),
    load=f"{__name__}.store",
    configured=configured_folders,
    fallback=lambda path: path if judge_project(path) else None,
)
