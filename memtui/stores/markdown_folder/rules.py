"""Rules of the programs that keep Markdown folders: basic-memory's grammar, Letta's and Serena's.

Sources: Serena's project template (`read_only_memory_patterns`, `ignored_memory_patterns`) and its
page on memories; basic-memory's docs/NOTE-FORMAT.md (the format only; no code of it is used);
Letta's page on memory file systems.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from msgspec import Struct

from memtui.files.frontmatter import BadYaml, parse, read_yaml, split
from memtui.stores.format import UpkeepRules
from memtui.stores.listed_texts import text_key
from memtui.stores.values import texts_of

# ---- observations and relations -----------------------------------------------------------------


class Observation(Struct, frozen=True):
    """One line `- [category] text #tag (context)` of a note."""

    key: str
    """A digest of the line, unique in the note."""
    line: int
    """1-based, in the text."""
    category: str
    text: str
    """With its tags, as it is written; without category and context."""
    tags: tuple[str, ...]
    context: str


_LIST = re.compile(r"[ \t]*[-*+][ \t]+(.*)")
_CATEGORY = re.compile(r"\[([^\[\]\n(]{2,60}|[^\[\]\n xX-])\][ \t]+(\S.*)")
_CONTEXT = re.compile(r"(?<![ \t])[ \t]*+\(([^()\n]{1,300})\)[ \t]*+$")
_TAG = re.compile(r"(?<![\w#&/])#([^\s#,;.()\[\]]{1,60})")
_RELATION = re.compile(
    r'(?:"([^"\n]{1,100})"|([^"\[\]\n]{0,100}?))[ \t]*\[\[([^\[\]\n]{1,300})\]\]'
    r"[ \t]*+(?:\(([^()\n]{0,300})\))?[ \t]*+$"
)
LINKS_TO = "links_to"
"""The relation of a link that names none."""
_NO_CATEGORY = "Note"


def _list_lines(body: str) -> Iterator[tuple[int, str]]:
    is_code = False
    for number, line in enumerate(body.split("\n"), 1):
        if line.lstrip(" ").startswith(("```", "~~~")):
            is_code = not is_code
        found = None if is_code else _LIST.match(line)
        if found:
            yield number, found[1].rstrip()


def observations(body: str) -> list[Observation]:
    """The observations of a note, in order. Task boxes, links and relations are none."""
    found: list[Observation] = []
    repeats: dict[str, int] = {}
    for number, line in _list_lines(body):
        category, text = "", line
        named = _CATEGORY.match(line)
        if named:
            category, text = named[1].strip(), named[2]
        elif line.startswith("[") or "[[" in line or not _TAG.search(line):
            continue
        context = _CONTEXT.search(text)
        statement = text[: context.start()] if context else text
        if not category and not statement.strip():
            continue
        key = text_key(line)
        repeats[key] = repeats.get(key, 0) + 1
        tags = tuple(dict.fromkeys(_TAG.findall(statement)))
        found.append(
            Observation(
                key if repeats[key] == 1 else f"{key}~{repeats[key]}",
                number,
                category or _NO_CATEGORY,
                statement.strip() or text,
                tags,
                context[1] if context else "",
            )
        )
    return found


def relations(body: str) -> list[tuple[str, str, str]]:
    """Relation, target and context of each list line that is a relation."""
    found = []
    for _, line in _list_lines(body):
        match = None if _CATEGORY.match(line) else _RELATION.fullmatch(line)
        if match:
            kind = (match[1] or match[2] or "").strip().rstrip(":").strip()
            found.append((kind or LINKS_TO, match[3].partition("|")[0].strip(), match[4] or ""))
    return found


# ---- Letta's memfs ------------------------------------------------------------------------------

MEMFS_KEYS = ("description", "read_only", "limit")
"""Keys that Letta's pre-commit hook knows (PRE_COMMIT_HOOK_SCRIPT of letta-ai/letta-code)."""
_CHECKED = re.compile(r"(memory/)?(system|reference)/.*\.md", re.DOTALL)
"""Paths of the notes that the hook looks at."""


def memfs_fault(path: str, text: str) -> str:
    """Why Letta's hook refuses to commit a note with this text; "" if it does not."""
    if not _CHECKED.fullmatch(path):
        return ""
    try:
        front = parse(text)
    except BadYaml:
        front = {}
    if split(text).front is None or not front:
        return "Letta demands frontmatter with a description"
    unknown = [str(key) for key in front if key not in MEMFS_KEYS]
    if unknown:
        return f"Letta refuses the frontmatter key {unknown[0][:40]!r}"
    description = front.get("description")
    is_empty = description is None or not str(description).strip()
    return "Letta demands a description that is not empty" if is_empty else ""


# ---- Serena -------------------------------------------------------------------------------------

_REFERENCE = re.compile(r"`mem:([A-Za-z0-9_\-/]{1,300})`")
READ_ONLY, IGNORED = "read_only_memory_patterns", "ignored_memory_patterns"
"""Keys of Serena's settings of a project."""
MAX_PATTERNS, LONGEST_PATTERN, MAX_QUANTIFIERS = 50, 200, 3


def references(body: str) -> list[str]:
    """Names that are referred to as `mem:name`."""
    return list(dict.fromkeys(_REFERENCE.findall(body)))


class NamePatterns(Struct, frozen=True):
    """Which notes Serena does not change, and which it does not see."""

    read_only: tuple[re.Pattern[str], ...] = ()
    ignored: tuple[re.Pattern[str], ...] = ()
    fault: str = ""

    def settings(self) -> dict[str, list[str]]:
        """As `patterns_in` reads them; empty if there are none."""
        pairs = ((READ_ONLY, self.read_only), (IGNORED, self.ignored))
        return {key: [each.pattern for each in found] for key, found in pairs if found}

    def is_read_only(self, name: str) -> bool:
        return any(pattern.match(name) for pattern in self.read_only)

    def is_ignored(self, name: str) -> bool:
        return any(pattern.match(name) for pattern in self.ignored)


NO_PATTERNS = NamePatterns()


def parse_patterns(text: str) -> NamePatterns:
    """The patterns in Serena's project.yml."""
    try:
        value: Mapping[str, Any] = read_yaml(text)
    except BadYaml as error:
        return NamePatterns(fault=f"it is not valid YAML: {error}")
    return patterns_in(value)


def patterns_in(value: Mapping[str, Any]) -> NamePatterns:
    """The patterns in settings that have been read."""
    faults: list[str] = []
    read_only, ignored = (
        tuple(_compiled(texts_of(value.get(key)), faults)) for key in (READ_ONLY, IGNORED)
    )
    return NamePatterns(read_only, ignored, "; ".join(faults[:3]))


def _compiled(patterns: Iterable[str], faults: list[str]) -> Iterator[re.Pattern[str]]:
    """Only patterns that cannot take long on a name: few repetitions, and none inside another."""
    for pattern in list(patterns)[:MAX_PATTERNS]:
        repeated = len(re.findall(r"[*+{]", pattern))
        nested = re.search(r"\)[*+{]", pattern)
        if len(pattern) > LONGEST_PATTERN or repeated > MAX_QUANTIFIERS or nested:
            faults.append(f"the pattern {pattern[:40]!r} is too costly to try and is left out")
            continue
        try:
            yield re.compile(pattern)
        except re.error as error:
            faults.append(f"the pattern {pattern[:40]!r} is wrong: {error}")


def upkeep_rules() -> UpkeepRules:
    """The rules for tidying: a relation or `[[name]]` may name a note that is still to be written
    (basic-memory, docs/NOTE-FORMAT.md: forward references); the path of a file may not."""
    return UpkeepRules(is_forward=lambda link: not link.target.endswith(".md"))
