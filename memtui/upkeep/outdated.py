"""What a memory names and its project no longer has: files, commands, packages, versions.

A claim counts as outdated only where the project shows it: a path that git knows and that is gone,
or, without a history, that lies elsewhere now; a command of a manifest that is there and lacks it;
a package that a former manifest had; a version that the present one excludes.
Paths of other machines, patterns and examples name nothing of the project; what a sentence tells of
the past, of a plan or of an absence is not outdated.
"""

from __future__ import annotations

import difflib
import os
import re
from collections.abc import Iterator

from msgspec import Struct

from memtui.files.project_index import ANY_COMMAND, ProjectIndex
from memtui.model import CURRENT, Memory
from memtui.stores.markdown.documents import numbered_lines
from memtui.upkeep.dated_memories import is_of_its_time

_NOT_NOW = re.compile(
    r"\b(?:was|were|had|used to|formerly|previously|earlier|old|legacy|until|ago"
    r"|remove[ds]?|removing|delete[ds]?|deleting|modified|rewritten|rewrote|deprecated?|retired"
    r"|renamed?|renaming|moved?|moving|migrat\w+|replac\w+|refactor\w*|unused|dropp?e?d?|upgrad\w+"
    r"|downgrad\w+|bump\w*|switch\w*|archived|gone|missing|lacks?"
    r"|not|never|no longer|without|instead of|avoid|fixed|created?|creating|added|adding|wrote"
    r"|will|would|should|could|plan\w*|todo|propos\w+|future|later|next|idea|e\.g\.|example"
    r"|for instance|template|committed|merged|PR|such as|like|or similar|output|generated?"
    r"|optional|if (?:configured|present|available)"
    r"|(?:other|another|separate|upstream|external|sister|sibling) (?:repo|repository|project)"
    r"|war|früher|nicht|wird|gelöscht|umbenannt)\b|~~|→|->|✅|❌|\[[ x]\]|n['’]t\b"
    r"|github\.com/|gitlab\.com/|\bvs\b",
    re.IGNORECASE,
)
"""In a line that tells of another time, of a plan, of what is absent, or gives an example."""
_MAY_CLAIM = re.compile(r"[`/\d]|npm |yarn |bun ")
"""In every line that names a path, a command or a version."""
_CODE_SPAN = re.compile(r"`([^`\n]{2,200})`")
_PATH = re.compile(
    r"(?<![\w/.~$@:\\<{%*-])(?:\./)?((?:[\w@.+-]+/)+[\w@.+()\[\]-]*\w)(?![\w/<>{}*$(-])"
)
_EXAMPLE = re.compile(
    r"path/to|foo|bar/|example|your[-_]|/x/|xxx|YYYY|NNN|\.\.\.|placeholder", re.IGNORECASE
)
_OTHERS = frozenset(
    {"node_modules", "dist", "build", "target", ".git", "venv", ".venv", "tmp", "temp", "logs"}
)
"""Folders whose files come and go, or are not the project's own."""
_COMMAND = re.compile(
    r"(?<![\w/-])(?:(?P<npm>(?:npm|pnpm|yarn|bun) run) (?:-s |--silent )?"
    r"(?P<script>\w(?:[\w:.-]*\w)?)"
    r"|(?P<bare>npm|pnpm|yarn|bun) (?P<name>[a-z](?:[\w:.-]*\w)?)"
    r"|(?P<make>make|just) (?P<target>[a-z][\w-]*)"
    r"|cargo (?:run|test|build|bench) (?:-[-\w]+ )*"
    r"(?:-p|--package|--bin|--example)[ =](?P<crate>[\w-]+)"
    r"|(?P<task>poe|pdm run|hatch run|uv run|poetry run) (?P<entry>[a-z][\w:-]*)"
    r")(?![\w/.]|[\w=.(-]*[=(])"
)
_CALL = re.compile(r"[\s$>]*(?:npm|pnpm|yarn|bun|make|just|cargo|poe|pdm|hatch|uv|poetry)\s")
_SCRIPT_NAMES = (
    "build dev lint format typecheck type-check check test start seed migrate e2e preview generate "
    "codegen serve watch clean"
)
_SCRIPTS = frozenset(_SCRIPT_NAMES.split())
"""What is run as `yarn build`; other words may be programs that a package brings."""
_OF_THE_TOOL = frozenset({("bun", "build"), ("bun", "test"), ("pnpm", "test"), ("yarn", "test")})
_PLAIN_COMMAND = re.compile(
    r"\b(?:npm|pnpm|yarn|bun) (?:run )?\w+:[\w:-]+"
    r"|\bnpm run (?!(?:is|to|and|or|in|the|a)\b)[a-z][\w:-]+"
)
"""A command that people write without marks, too."""
_ENTERS = re.compile(r"[\s$>]*cd\s+([\w./-]+)")
"""The commands that follow belong to that folder: of another repository if it is not there."""
_MANIFEST = {
    "npm": "package.json",
    "make": "Makefile",
    "just": "justfile",
    "task": "pyproject.toml",
    "cargo": "Cargo.toml",
}
_VERSION = re.compile(
    r"(?<![\w/@.-])(?P<name>@?[A-Za-z][\w./-]{1,60}?)(?:@|\s+[vV]?|\s*(?:==|>=)\s*)"
    r"(?P<version>\d{1,3}(?:\.\d{1,4}){0,2})(?![\w%/:-]|\.\d|\s?[×x]\b|×)"
)
OF_A_LONGER_NAME = re.compile(r"\w[^\S\n][A-Z]\w*\s$")
"""Before a word that is the end of a name: `the project uses Ant Design Vue 4.2`."""
_SPEC = re.compile(r"(\^|~=?|>=|==|=|<=?|>|!=)?\s*v?(\d+(?:\.\d+)*)")
_MADE = re.compile(r"\.local\.|(?:^|/)\.env|\.(?:log|db|sqlite3?|pid|tmp|cache|jsonl|csv)$")
"""Files that come and go while a program runs."""
_SERVICE_NAMES = (
    "redis postgres postgresql mysql mongodb elasticsearch kafka docker nginx uuid oauth http ip"
)
_SERVICES = frozenset(_SERVICE_NAMES.split())
"""Names that a service, or a standard, shares with the package for it."""
_CLOSE = 0.6
_MAX_FOUND = 8
"""Claims of one memory that are named."""
_DATED = re.compile(r"(?<!\d)\d{4}[-_]\d\d[-_]\d\d")
_ISSUES = frozenset({"bug", "feature", "task", "epic", "chore"})
"""Types of issues, which tell of what is to be done."""


_REMOVED = "git removed it"


class Outdated(Struct, frozen=True):
    """A claim of a memory that its project does not bear out."""

    name: str
    """What the memory names, verbatim."""
    now: str
    """What is there now; empty: nothing is known."""
    line: int
    """1-based line in the text."""
    text: str
    """That line."""
    rule: str
    """Which rule of `memtui.upkeep.proposals.MEASURED` says so."""

    @property
    def message(self) -> str:
        return f"{self.name}: {self.now or 'no longer there'}"


def find_outdated(memory: Memory, project: ProjectIndex) -> tuple[Outdated, ...]:
    """The claims of a memory that are outdated, each once.

    Memories that are not current, and accounts of their time such as events, logs of a day,
    reports and summaries of sessions, have none.
    """
    if memory.status not in CURRENT or memory.kind == "event" or memory.type in _ISSUES:
        return ()
    if is_of_its_time(memory):
        return ()
    found: dict[str, Outdated] = {}
    is_example = is_elsewhere = False
    for number, line, is_code in numbered_lines(memory.content):
        if len(found) >= _MAX_FOUND:
            break
        if not is_code:
            is_example = is_elsewhere = False
        if len(line) > 2000 or not (is_code or _MAY_CLAIM.search(line)):
            continue
        if is_code and (entered := _ENTERS.match(line)):
            folder = entered[1].strip("./")
            is_elsewhere = folder != "" and folder not in project.files
        code, _, comment = line.partition("#") if is_code else ("", "", line)
        if is_code and not code.strip():  # a comment on the lines below it
            is_example = bool(comment and _NOT_NOW.search(comment))
            continue
        claims = list(_claims(line, project, is_code=is_code))
        is_said_now = not (is_example or is_elsewhere or _NOT_NOW.search(comment))
        if claims and is_said_now and not _DATED.search(line):
            for name, now, rule in claims:
                found.setdefault(name, Outdated(name, now, number + 1, line.strip(), rule))
    return tuple(found.values())


_Claimed = tuple[str, str, str]
"""What is named, what is there now, the rule."""


def _claims(line: str, project: ProjectIndex, *, is_code: bool) -> Iterator[_Claimed]:
    spans = _CODE_SPAN.findall(line)
    if is_code:
        spans = [line] if _CALL.match(line) else []
    plain = [] if is_code else [each[0] for each in _PLAIN_COMMAND.finditer(line)]
    for span in dict.fromkeys((*spans, *plain)):
        yield from _commands(span, project)
    if is_code:  # listings and samples name what they like
        return
    if project.is_complete:
        for path in _paths(line):
            if (now := _missing(path, project)) is not None:
                yield path, now, "removed-file" if now == _REMOVED else "moved-file"
    versions = list(_VERSION.finditer(line)) if project.now.packages else []
    if len({found["name"].casefold() for found in versions}) == len(versions):
        for found in versions:  # a line with two versions of one package compares them
            if OF_A_LONGER_NAME.search(line[: found.start()]):
                continue
            if now := _other_version(found["name"], found["version"], project):
                is_least = line[found.end() : found.end() + 1] == "+"
                if not (is_least and _is_later(now, found["version"])):
                    yield found[0], now, "other-version"
    for span in spans:
        if span.lower() in project.removed_packages:
            yield span, "no manifest names this package any more", "former-package"


# ---- paths --------------------------------------------------------------------------------------


def _paths(line: str) -> Iterator[str]:
    """The paths that a line names; the name of a file alone is mostly an example."""
    for found in _PATH.finditer(line) if "/" in line else ():
        if "://" not in line[max(0, found.start() - 12) : found.start()]:
            yield found[1]


def _missing(path: str, project: ProjectIndex) -> str | None:
    """What is there instead of a path; None if it is there, or never was as far as is known."""
    parts = path.split("/")
    if project.ignored is not None and project.ignored.search(path):
        return None
    if _EXAMPLE.search(path) or not _OTHERS.isdisjoint(parts) or path.count("..") > path.count("."):
        return None
    if ".." in parts or _MADE.search(path) or path in project.files:
        return None
    name = parts[-1]
    here = project.by_name.get(name, ())
    if any(one.endswith(f"/{path}") for one in here):
        return None
    for former in project.moved_by_name.get(name, ()):
        if former == path or former.endswith(f"/{path}"):
            if os.path.exists(f"{project.root}/{former}"):  # through a linked folder
                return None
            now = (project.moved or {})[former] or (here[0] if len(here) == 1 else "")
            return f"now {now}" if now else _REMOVED
    is_beside = project.moved is None and "." in name and "/".join(parts[:-1]) in project.files
    return f"now {here[0]}" if is_beside and len(here) == 1 else None


# ---- commands, packages, versions ---------------------------------------------------------------


def _commands(span: str, project: ProjectIndex) -> Iterator[_Claimed]:
    for found in _COMMAND.finditer(span):
        name, kind, is_sure = _called(found)
        if not kind or "/" in name:
            continue
        known = project.now.commands.get(kind, frozenset())
        if name in known or ANY_COMMAND in known:
            continue
        is_removed = (kind, name) in project.removed_commands
        if not is_removed and not (known and is_sure):
            continue  # there is no such manifest, or it may be a program
        if kind == "Cargo.toml" and project.by_name.get(f"{name}.rs"):
            continue
        before = span[: found.start()].strip(" $#&|;")
        if found["make"] and before and "&&" not in span:
            continue  # `to make sure`
        close = difflib.get_close_matches(name, sorted(known), 1, _CLOSE)
        also = f"; it has {close[0]}" if close else ""
        yield found[0].strip(), f"not in {kind}{also}", "missing-command"


def _called(found: re.Match[str]) -> tuple[str, str, bool]:
    """The command that is called, its manifest, and whether only that can define it."""
    if found["npm"]:
        return found["script"], _MANIFEST["npm"], True
    if found["bare"]:
        name = found["name"]
        is_script = ":" in name or (name in _SCRIPTS and (found["bare"], name) not in _OF_THE_TOOL)
        if found["bare"] == "npm":  # has only these of its own
            is_script = name in ("test", "start")
            return (name, _MANIFEST["npm"], True) if is_script else ("", "", False)
        return name, _MANIFEST["npm"], is_script
    if found["crate"]:
        return found["crate"], _MANIFEST["cargo"], True
    if found["task"]:
        is_sure = found["task"] not in ("uv run", "poetry run", "hatch run")
        return found["entry"], _MANIFEST["task"], is_sure
    return found["target"], _MANIFEST[found["make"]], True


def _is_later(now: str, stated: str) -> bool:
    """Whether a present version is at least one that was stated."""
    found = re.search(r"\d+(?:\.\d+)*", now)
    numbers = [
        [int(part) for part in one.split(".")] for one in (found[0] if found else "0", stated)
    ]
    return numbers[0] >= numbers[1]


def _other_version(name: str, stated: str, project: ProjectIndex) -> str:
    """The present version of a package if it excludes the one stated; else ""."""
    package = name.lower().replace(".js", "")
    spec = "" if package in _SERVICES else project.now.packages.get(package, "")
    found = _SPEC.match(spec.strip()) if spec else None
    if found is None or "||" in spec or len(stated) > 8:
        return ""
    claimed = [int(part) for part in stated.split(".")]
    present = [int(part) for part in found[2].split(".")]
    sign = found[1] or "=="
    if sign == ">=" or sign == ">":
        size = min(len(claimed), len(present))
        is_out = claimed[:size] < present[:size]
    elif sign in ("^", "~", "~=", "==", "="):
        size = min(len(claimed), len(present), 1 if sign == "^" and present[0] else 2)
        is_out = claimed[:size] != present[:size]
    else:
        return ""
    return f"now {spec}" if is_out else ""
