"""Typed Markdown workspace (gptme, "Bob"): every document is a memory, typed by a map of paths.

The files are the documents, the type map, and the log of injections. The log is appended to by the
agent's program, one JSON object a line, each time documents are put into a prompt. It is only read,
and added up for each document. Its last line may be cut off, because a session may be writing it
now; other unreadable lines are counted and named.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from msgspec import Struct
from msgspec.structs import replace

from memtui import toml_file
from memtui.errors import UnreadableFile
from memtui.files.reading import (
    read_text_file,
)
from memtui.stores.format import Candidate, Detection, Format, Product
from memtui.stores.values import list_of, members_of, parse_json, texts_of

MAP_PATH = "state/ambient-memory/memory-type-map.json"
LOG_PATH = "state/ambient-memory/injections.jsonl"
"""Relative to the root of the workspace, like `MAP_PATH`."""

PROMPT_FILE = "gptme.toml"
"""Names the files of every prompt under `prompt.files` (gptme's project configuration)."""
CORE = ("ABOUT.md", "SOUL.md", "GOALS.md", "TASKS.md", "ARCHITECTURE.md", "WORKFLOW.md", "TOOLS.md")
"""Documents at the root that say who the agent is and how it works."""


def prompt_files(root: Path) -> tuple[str, ...]:
    """Paths of the documents that are put into every prompt; they need not exist."""
    try:
        values = toml_file.parse(read_text_file(root / PROMPT_FILE, root))
    except (UnreadableFile, toml_file.BadToml):
        return CORE
    files = texts_of(members_of(values.get("prompt")).get("files"))
    return tuple(name for name in files if name.endswith(".md")) or CORE


@Detection
def detect(path: Path) -> Iterator[Candidate]:
    """The root of the workspace that this path is, directly holds, or whose type map it is."""
    candidates = [path, path / "workspace"]
    inside = Path(MAP_PATH)
    for folder in (inside, inside.parent):
        if path.parts[-len(folder.parts) :] == folder.parts:
            candidates.append(path.parents[len(folder.parts) - 1])
    return filter(None, map(_judge, candidates))


def _judge(root: Path) -> Candidate | None:
    """Whether it has a type map, or the files of a gptme workspace."""
    if os.path.isfile(root / MAP_PATH):
        return Candidate(root, MAP_PATH)
    about, beside = os.path.isfile(root / "ABOUT.md"), os.path.isfile(root / PROMPT_FILE)
    if about and (beside or os.path.isdir(root / "journal")):
        return Candidate(root, f"ABOUT.md and {PROMPT_FILE if beside else 'journal/'}")
    if about:
        return Candidate(root, "ABOUT.md", f"{PROMPT_FILE} or journal/")
    return Candidate(root, PROMPT_FILE, "ABOUT.md") if beside else None


MAX_NAMED_LINES = 5
"""Bad lines that are named; the others are only counted."""


class DocumentUsage(Struct, frozen=True):
    """How often the agent's program found a document and put it into a prompt."""

    found: int = 0
    """Times it was among the hits."""
    injected: int = 0
    """Times it was put into the prompt: among the first `num_injected` hits."""
    last: str = ""
    """Time of the last injection, as the log writes it."""
    query: str = ""
    """The query of that injection."""


class InjectionLog(Struct, frozen=True):
    """The usage of every document the log names, by path, and the numbers of the bad lines."""

    usage: Mapping[str, DocumentUsage]
    bad_lines: tuple[int, ...] = ()

    @property
    def fault(self) -> str:
        """Message that names the bad lines; empty when there are none."""
        if not self.bad_lines:
            return ""
        named = ", ".join(str(number) for number in self.bad_lines[:MAX_NAMED_LINES])
        more = " and others" if len(self.bad_lines) > MAX_NAMED_LINES else ""
        count = len(self.bad_lines)
        return f"{count} line{'s' * (count > 1)} cannot be read and were left out: {named}{more}"


NO_LOG = InjectionLog({})


def parse_log(text: str) -> InjectionLog:
    """Add up the log per document. Only a newline ends a line: a text may hold U+2028."""
    usage: dict[str, DocumentUsage] = {}
    faulty_lines: list[int] = []
    lines = text.removeprefix("\ufeff").split("\n")
    last = max((number for number, line in enumerate(lines, 1) if line.strip()), default=0)
    for number, line in enumerate(lines, 1):
        if not line.strip():
            continue
        entry = parse_json(line)
        if isinstance(entry, dict):
            _add(usage, entry)
        elif number != last:
            faulty_lines.append(number)
    return InjectionLog(usage, tuple(faulty_lines))


def _add(usage: dict[str, DocumentUsage], entry: Mapping[str, Any]) -> None:
    hits = entry.get("hits")
    count = entry.get("num_injected")
    count = count if isinstance(count, int) else 0
    for position, hit in enumerate(list_of(hits)):
        path = members_of(hit).get("path")
        if not isinstance(path, str):
            continue
        before = usage.get(path, DocumentUsage())
        found = replace(before, found=before.found + 1)
        if position < count:
            last, query = _text(entry.get("ts")), _text(entry.get("query"))
            found = replace(found, injected=before.injected + 1, last=last, query=query)
        usage[path] = found


def _text(value: object) -> str:
    return value if isinstance(value, str) else ""


FORMAT = Format(
    name="workspace",
    title="gptme workspace: typed Markdown documents",
    product=Product("gptme", "WS", 6),
    places=(),
    detect=detect,
    claims=("[!.]*.md",),
    nearby=(".", "workspace"),
)
