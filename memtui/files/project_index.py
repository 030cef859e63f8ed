"""What a project holds: its files, the commands and packages that its manifests name, and what git
says was renamed or removed. Nothing of the project is run.

The walk is bounded in files and time; an index that is not complete says so, because nothing can be
said to be missing then.
"""

from __future__ import annotations

import json
import os
import re
import time
import tomllib
from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping
from functools import cached_property
from pathlib import Path
from typing import Any

from msgspec import Struct

from memtui.errors import MemtuiError
from memtui.files.git_history import GitHistory
from memtui.files.reading import (
    decode,
    read_text_file,
)
from memtui.progress import IsCancelled, never

MARKS = (".git", "package.json", "pyproject.toml", "Cargo.toml", "go.mod", "Makefile", "justfile")
"""A folder that holds one of these is a project."""
MAX_FILES = 60_000
MAX_SECONDS = 3.0
"""Bounds of one walk."""
_MADE = (
    ".git node_modules bower_components vendor venv .venv env __pycache__ .tox .mypy_cache "
    ".pytest_cache .ruff_cache dist build target .next .nuxt .cache .turbo coverage .gradle"
)
_SKIPPED = frozenset(_MADE.split())
"""Folders of what is made from the project, or of others."""
_MANIFESTS = 40
"""Manifests of one kind that are read; nearest to the root first."""
_FORMER = 12
"""Former versions of the root's manifests in which removed commands and packages are looked for."""


class Manifests(Struct, frozen=True):
    """What the manifests of a project define."""

    commands: Mapping[str, frozenset[str]]
    """Name of the manifest (`package.json`, `Makefile`) -> its commands."""
    packages: Mapping[str, str]
    """Package, in lower case -> its version as a manifest states it; "" if it states none."""


class ProjectIndex(Struct, frozen=True, dict=True):
    """The files, commands and packages of one project."""

    root: str
    files: frozenset[str]
    """Relative paths with `/`, of files and folders."""
    is_complete: bool
    """Whether the walk saw everything."""
    now: Manifests
    removed_commands: frozenset[tuple[str, str]] = frozenset()
    """(manifest, command) of former versions that the present ones lack."""
    removed_packages: frozenset[str] = frozenset()
    ignored: re.Pattern[str] | None = None
    """Paths that `.gitignore` at the root names: such files come and go."""
    moved: Mapping[str, str] | None = None
    """Path that git knows was removed -> where the file is now, "" if it is gone. None: there is no
    whole history."""

    @cached_property
    def by_name(self) -> Mapping[str, list[str]]:
        """Last part of a path -> paths."""
        found: defaultdict[str, list[str]] = defaultdict(list)
        for path in self.files:
            found[path.rpartition("/")[2]].append(path)
        return found

    @cached_property
    def moved_by_name(self) -> Mapping[str, list[str]]:
        """Last part of a path that was removed -> paths."""
        found: defaultdict[str, list[str]] = defaultdict(list)
        for path in self.moved or {}:
            found[path.rpartition("/")[2]].append(path)
        return found


def find_project(folder: Path, known: dict[str, Path | None] | None = None) -> Path | None:
    """The nearest folder, this one or above it, that is a project; never the home folder.

    `known`: those of folders that were looked at before; what is found is added.
    """
    known = {} if known is None else known
    each, passed, found = os.path.abspath(folder), list[str](), None
    try:
        if not known:  # the way up ends there
            home = Path.home()
            known.update(dict.fromkeys(map(str, (home, *home.parents, os.sep))))
        while each not in known:
            passed.append(each)
            if any(os.path.exists(f"{each}/{mark}") for mark in MARKS):
                found = Path(each)
                break
            each = os.path.dirname(each)
        else:
            found = known[each]
    except (OSError, RuntimeError):
        return None
    known.update(dict.fromkeys(passed, found))
    return found


def project_stamp(root: Path) -> tuple[int, ...]:
    """What changes with a commit, a checkout, or an edit of a manifest at the root."""
    names = (".git/index", ".git/logs/HEAD", *MARKS[1:])
    return tuple(_changed_at(root / name) for name in names)


def _changed_at(path: Path) -> int:
    try:
        return path.stat().st_mtime_ns
    except OSError:
        return 0


def read_project(root: Path, cancelled: IsCancelled = never) -> ProjectIndex:
    """Index a project. What cannot be read is left out."""
    files, is_complete = _walk(root, cancelled)
    paths: defaultdict[str, list[str]] = defaultdict(list)
    for path in files:
        if (name := path.rpartition("/")[2]) in _READERS:
            paths[name].append(path)
    texts: list[tuple[str, str]] = []
    for name, found in paths.items():
        for path in sorted(found, key=lambda one: (one.count("/"), one))[:_MANIFESTS]:
            try:
                texts.append((name, read_text_file(root / path)))
            except (MemtuiError, OSError):
                continue
    manifests = _parse(texts)
    git = GitHistory.of(root, cancelled)
    moved = git.removed_files() if git is not None and git.top == root else None
    if moved is not None:
        moved = {old: new for old, new in moved.items() if old not in files}
    former = (
        _former_manifests(root, git) if moved is not None and git is not None else Manifests({}, {})
    )
    return ProjectIndex(
        str(root),
        files,
        is_complete,
        manifests,
        frozenset(
            (kind, command)
            for kind, commands in former.commands.items()
            for command in commands - manifests.commands.get(kind, frozenset())
        ),
        frozenset(former.packages) - frozenset(manifests.packages),
        _ignored(root),
        moved,
    )


def _ignored(root: Path) -> re.Pattern[str] | None:
    """What `.gitignore` at the root leaves out, without its exceptions; None if there is none."""
    try:
        lines = read_text_file(root / ".gitignore").split("\n")
    except (MemtuiError, OSError):
        return None
    patterns = (line.strip() for line in lines if line.strip() and line[0] not in "#!")
    return re.compile("|".join(map(_path_pattern, patterns)) or r"(?!)")


def _path_pattern(line: str) -> str:
    """A regular expression for a line of `.gitignore`: `build/`, `/logs`, `*.log`, `a/**/b`."""
    names = line.strip("/")
    start = "^" if "/" in names or line.startswith("/") else r"(?:^|/)"
    parts = (
        re.escape(part).replace(r"\*", "[^/]*").replace(r"\?", "[^/]") for part in names.split("**")
    )
    return f"{start}{'.*'.join(parts)}(?:/|$)"


def _walk(root: Path, cancelled: IsCancelled) -> tuple[frozenset[str], bool]:
    found: set[str] = set()
    waiting, deadline = [""], time.monotonic() + MAX_SECONDS
    while waiting:
        below = waiting.pop()
        if len(found) > MAX_FILES or time.monotonic() > deadline or cancelled():
            return frozenset(found), False
        try:
            with os.scandir(root / below) as entries:
                for entry in entries:
                    path = f"{below}/{entry.name}" if below else entry.name
                    found.add(path)
                    if entry.is_dir(follow_symlinks=False) and entry.name not in _SKIPPED:
                        waiting.append(path)
        except OSError:
            continue
    return frozenset(found), True


# ---- manifests ----------------------------------------------------------------------------------

_TARGET = re.compile(
    r"^([A-Za-z0-9][\w./-]*(?:[ \t]+[A-Za-z0-9][\w./-]*)*)[ \t]*::?(?!=)", re.MULTILINE
)
_PATTERN_TARGET = re.compile(r"^[^\s#:=]*%[^\s:]*[ \t]*:|^include\b|^-include\b", re.MULTILINE)
_RECIPE = re.compile(
    r"^@?([A-Za-z_][\w-]*)(?:[ \t][^:=\n]*)?:(?!=)|^alias[ \t]+([\w-]+)", re.MULTILINE
)
_REQUIREMENT = re.compile(r"\s*([A-Za-z0-9][\w.-]*)\s*(?:\[[^\]]*\])?\s*([^;#]*)")
ANY_COMMAND = "*"
"""Among the commands of a manifest that may define more than can be read from it."""


def _package_json(text: str) -> tuple[set[str], dict[str, str]]:
    data = json.loads(text)
    packages = {
        name.lower(): str(version)
        for key in ("dependencies", "devDependencies", "peerDependencies", "optionalDependencies")
        for name, version in dict(data.get(key) or {}).items()
    }
    if node := dict(data.get("engines") or {}).get("node"):
        packages["node"] = str(node)
    return set(dict(data.get("scripts") or {})), packages


def _pyproject(text: str) -> tuple[set[str], dict[str, str]]:
    data = tomllib.loads(text)
    project, tool = data.get("project", {}), data.get("tool", {})
    poetry = tool.get("poetry", {})
    lists = [project.get("dependencies", []), *project.get("optional-dependencies", {}).values()]
    lists += data.get("dependency-groups", {}).values()
    packages = dict(_requirement(one) for each in lists for one in each if isinstance(one, str))
    groups = [poetry.get("dependencies", {}), poetry.get("dev-dependencies", {})]
    groups += [each.get("dependencies", {}) for each in poetry.get("group", {}).values()]
    for group in groups:
        packages |= {
            name.lower(): value if isinstance(value, str) else "" for name, value in group.items()
        }
    if python := project.get("requires-python"):
        packages["python"] = str(python)
    commands: set[str] = set()
    for table in (
        project.get("scripts", {}),
        poetry.get("scripts", {}),
        tool.get("poe", {}).get("tasks", {}),
        tool.get("pdm", {}).get("scripts", {}),
        *(env.get("scripts", {}) for env in tool.get("hatch", {}).get("envs", {}).values()),
    ):
        commands.update(table)
    return commands, packages


def _requirement(text: str) -> tuple[str, str]:
    found = _REQUIREMENT.match(text)
    return (found[1].lower(), found[2].strip()) if found else ("", "")


def _requirements(text: str) -> tuple[set[str], dict[str, str]]:
    lines = (line for line in text.split("\n") if line.strip() and line.lstrip()[0] not in "#-")
    return set(), dict(map(_requirement, lines))


def _cargo(text: str) -> tuple[set[str], dict[str, str]]:
    data = tomllib.loads(text)
    tables = [
        data.get(key, {}) for key in ("dependencies", "dev-dependencies", "build-dependencies")
    ]
    tables.append(data.get("workspace", {}).get("dependencies", {}))
    made = [data.get("package", {}), *data.get("bin", ()), *data.get("example", ())]
    return {str(each["name"]) for each in made if "name" in each}, {
        name.lower(): value if isinstance(value, str) else str(value.get("version", ""))
        for table in tables
        for name, value in table.items()
    }


def _makefile(text: str) -> tuple[set[str], dict[str, str]]:
    targets = {name for found in _TARGET.finditer(text) for name in found[1].split()}
    return targets | ({ANY_COMMAND} if _PATTERN_TARGET.search(text) else set()), {}


def _justfile(text: str) -> tuple[set[str], dict[str, str]]:
    recipes = {found[1] or found[2] for found in _RECIPE.finditer(text)}
    has_more = re.search(r"^(?:import|mod)\b", text, re.MULTILINE)
    return recipes | ({ANY_COMMAND} if has_more else set()), {}


_READERS: Mapping[str, tuple[str, Callable[[str], tuple[set[str], dict[str, str]]]]] = {
    "package.json": ("package.json", _package_json),
    "pyproject.toml": ("pyproject.toml", _pyproject),
    "requirements.txt": ("pyproject.toml", _requirements),
    "Cargo.toml": ("Cargo.toml", _cargo),
    "Makefile": ("Makefile", _makefile),
    "GNUmakefile": ("Makefile", _makefile),
    "justfile": ("justfile", _justfile),
    "Justfile": ("justfile", _justfile),
    ".justfile": ("justfile", _justfile),
}
"""Name of a file -> the manifest whose commands it has, and its reader."""


def _parse(texts: list[tuple[str, str]]) -> Manifests:
    commands: defaultdict[str, set[str]] = defaultdict(set)
    packages: dict[str, str] = {}
    for name, text in texts:
        kind, read = _READERS[name]
        try:
            own, listed = read(text)
        except (ValueError, TypeError, AttributeError):  # not what its name says
            continue
        commands[kind] |= own
        for package, version in listed.items():  # of several versions none is that of the project
            packages[package] = version if packages.get(package, version) == version else ""
    packages.pop("", None)
    return Manifests({kind: frozenset(own) for kind, own in commands.items() if own}, packages)


def _former_manifests(root: Path, git: GitHistory) -> Manifests:
    texts = []
    for name in _READERS:
        if (root / name).exists():
            for version in _newest(git.versions(root / name), _FORMER):
                texts.append((name, decode(version)))
    return _parse(texts)


def _newest(versions: Iterator[Any], most: int) -> list[bytes]:
    found = []
    for version in versions:
        found.append(version.text)
        if len(found) >= most:
            break
    return found
