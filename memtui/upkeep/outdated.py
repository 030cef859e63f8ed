"""What a memory names and its project no longer has: files, commands, packages, versions.

A claim counts as outdated only where the project shows it: a path that git knows and that is
gone, or that lies below a folder of the project, and whose name no file has; a command of a
manifest that is there and lacks it; a package that a former manifest had; a version that the
present one excludes.
Paths of other machines, patterns and examples name nothing of the project; what a sentence tells of
the past, of a plan or of an absence is not outdated.
"""

from __future__ import annotations

import difflib
import re
from collections.abc import Iterator

from msgspec import Struct

from memtui.files.project_index import ANY_COMMAND, ProjectIndex
from memtui.model import CURRENT, Memory

_FENCE = re.compile(r"^\s{0,3}(?:```|~~~)")
_NOT_NOW = re.compile(
    r"\b(?:was|were|had|used to|formerly|previously|earlier|old|legacy|before|since|until|ago"
    r"|remove[ds]?|removing|delete[ds]?|deleting|modified|rewritten|rewrote|deprecated?|retired|renamed?|renaming|moved?|moving|migrat\w+"
    r"|replac\w+|refactor\w*|unused|dropp?e?d?|upgrad\w+|downgrad\w+|bump\w*|switch\w*|archived|gone|missing|lacks?"
    r"|not|never|no longer|without|instead of|avoid|fixed|created?|creating|add(?:ed|ing)?|wrote"
    r"|will|would|should|could|plan\w*|todo|propos\w+|future|later|next|idea|e\.g\.|example"
    r"|for instance|template|commits?|committed|merged|PR|from|if|such as|like|or similar|output"
    r"|generated?"
    r"|war|früher|nicht|wird|gelöscht|umbenannt)\b|~~|→|->|✅|❌|\[[ x]\]|n't\b",
    re.IGNORECASE,
)
"""In a line that tells of another time, of a plan, of what is absent, or gives an example."""
_MAY_CLAIM = re.compile(r"[`/\d]")
"""In every line that names a path, a command or a version."""
_CODE_SPAN = re.compile(r"`([^`\n]{2,200})`")
_PATH = re.compile(
    r"(?<![\w/.~$@:\\<{%*-])(?:\./)?((?:[\w@.+-]+/)+[\w@.+()\[\]-]*\w)(?![\w/<>{}*$(-])"
)
_FILE = re.compile(
    r"[\w.+-]+\.(?:py|pyi|ts|tsx|js|jsx|mjs|cjs|go|rs|java|kt|rb|php|c|h|cc|cpp|hpp"
    r"|cs|swift|sh|sql|vue|svelte|css|scss|html|toml|ya?ml|json|md|mdx|ini|cfg|proto|tf)"
)
_EXAMPLE = re.compile(
    r"path/to|foo|bar/|example|your[-_]|/x/|xxx|YYYY|NNN|\.\.\.|placeholder", re.IGNORECASE
)
_OTHERS = frozenset(
    {"node_modules", "dist", "build", "target", ".git", "venv", ".venv", "tmp", "temp", "logs"}
)
"""Folders whose files come and go, or are not the project's own."""
_COMMAND = re.compile(
    r"(?<![\w/-])(?:(?P<npm>(?:npm|pnpm|yarn|bun) run) (?:-s |--silent )?(?P<script>[\w:.-]+)"
    r"|(?P<make>make|just) (?P<target>[a-z][\w-]*)"
    r"|(?P<task>poe|pdm run|hatch run) (?P<name>[a-z][\w:-]*))(?![\w/=.(-]*[=(])"
)
_MANIFEST = {
    "npm": "package.json",
    "make": "Makefile",
    "just": "justfile",
    "task": "pyproject.toml",
}
_VERSION = re.compile(
    r"(?<![\w/@.-])(?P<name>@?[A-Za-z][\w./-]{1,60}?)(?:@|\s+[vV]?|\s*(?:==|>=)\s*)"
    r"(?P<version>\d{1,3}(?:\.\d{1,4}){0,2})(?![\w%/:-]|\.\d)"
)
_SPEC = re.compile(r"(\^|~=?|>=|==|=|<=?|>|!=)?\s*v?(\d+(?:\.\d+)*)")
_CLOSE = 0.6
_MAX_FOUND = 8
"""Claims of one memory that are named."""
_DATED = re.compile(r"(?<!\d)\d{4}[-_]\d\d[-_]\d\d")
_OF_ITS_TIME = re.compile(
    r"\b(?:session|report|progress|journal|changelog|retrospective|post-?mortem|archived?|prompt)"
    r"(?![a-z])|(?:^|/)(?:archive|logs?)/",
    re.IGNORECASE,
)
"""In a title, a type or the path of a document: it tells what was done then."""


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

    @property
    def message(self) -> str:
        return f"{self.name}: {self.now or 'no longer there'}"


def find_outdated(memory: Memory, project: ProjectIndex) -> tuple[Outdated, ...]:
    """The claims of a memory that are outdated, each once.

    Memories that are not current, and accounts of their time such as events, logs of a day,
    reports and summaries of sessions, have none.
    """
    file = memory.origin.file.rpartition("/")[2]
    if memory.status not in CURRENT or memory.kind in ("event", "episode") or _DATED.search(file):
        return ()
    path = memory.id if memory.kind == "document" else ""
    if _OF_ITS_TIME.search(f"{memory.title}\n{memory.type.replace('_', ' ')}\n{path}"):
        return ()
    found: dict[str, Outdated] = {}
    is_code = False
    for number, line in enumerate(memory.content.split("\n"), 1):
        if ("```" in line or "~~~" in line) and _FENCE.match(line):
            is_code = not is_code
            continue
        if len(found) >= _MAX_FOUND:
            break
        if len(line) > 2000 or not (is_code or _MAY_CLAIM.search(line)):
            continue
        claims = list(_claims(line, project, is_code=is_code))
        if claims and not (_NOT_NOW.search(line) and not is_code) and not _DATED.search(line):
            for name, now in claims:
                found.setdefault(name, Outdated(name, now, number, line.strip()))
    return tuple(found.values())


def _claims(line: str, project: ProjectIndex, *, is_code: bool) -> Iterator[tuple[str, str]]:
    spans = [line] if is_code else _CODE_SPAN.findall(line)
    for span in spans:
        yield from _commands(span, project)
    if is_code:  # listings and samples name what they like
        return
    if project.is_complete:
        for path in _paths(line, spans):
            if (now := _missing(path, project)) is not None:
                yield path, now
    for found in _VERSION.finditer(line) if project.now.packages else ():
        if now := _other_version(found["name"], found["version"], project):
            yield found[0], now
    for span in spans:
        if span.lower() in project.removed_packages:
            yield span, "no manifest names this package any more"


# ---- paths --------------------------------------------------------------------------------------


def _paths(line: str, spans: list[str]) -> Iterator[str]:
    """The paths that a line names: with a slash anywhere, names of files in code spans."""
    for found in _PATH.finditer(line) if "/" in line else ():
        if "://" not in line[max(0, found.start() - 12) : found.start()]:
            yield found[1]
    yield from (span for span in spans if _FILE.fullmatch(span))


def _missing(path: str, project: ProjectIndex) -> str | None:
    """What is there instead of a path; None if it is there, or is not the project's."""
    parts = path.split("/")
    if _EXAMPLE.search(path) or not _OTHERS.isdisjoint(parts) or path.count("..") > path.count("."):
        return None
    if ".." in parts or ".local." in path or path in project.files:
        return None
    name = parts[-1]
    here = project.by_name.get(name, ())
    if any(one.endswith(f"/{path}") or one == path for one in here):
        return None
    former = [
        one
        for one in project.moved_by_name.get(name, ())
        if one == path or one.endswith(f"/{path}")
    ]
    if former:
        now = (project.moved or {})[former[0]]
        if len(parts) == 1 and here:
            return None  # another file of this name
        return f"now {now}" if now else (_elsewhere(here) or "git removed it")
    if len(parts) < 2 or not _FILE.fullmatch(name) or project.moved is not None:
        return None  # never there, as far as git knows
    is_own = "/".join(parts[:-1]) in project.files
    return (_elsewhere(here) or "no such file") if is_own else None


def _elsewhere(here: list[str] | tuple[str, ...]) -> str:
    return f"now {here[0]}" if len(here) == 1 else ""


# ---- commands, packages, versions ---------------------------------------------------------------


def _commands(span: str, project: ProjectIndex) -> Iterator[tuple[str, str]]:
    for found in _COMMAND.finditer(span):
        name = found["script"] or found["target"] or found["name"]
        kind = _MANIFEST["npm" if found["npm"] else "task" if found["task"] else found["make"]]
        known = project.now.commands.get(kind, frozenset())
        if name in known or ANY_COMMAND in known:
            continue
        if not known and (kind, name) not in project.removed_commands:
            continue  # there is no such manifest: it may be another project's command
        if (
            found["make"]
            and found.start() > 0
            and span[: found.start()].strip(" $#&|;")
            and "&&" not in span
        ):
            continue  # `to make sure`
        close = difflib.get_close_matches(name, sorted(known), 1, _CLOSE)
        also = f"; it has {close[0]}" if close else ""
        yield found[0].strip(), f"not in {kind}{also}"


def _other_version(name: str, stated: str, project: ProjectIndex) -> str:
    """The present version of a package if it excludes the one stated; else ""."""
    spec = project.now.packages.get(name.lower().replace(".js", ""), "")
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
