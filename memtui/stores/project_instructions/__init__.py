"""Instructions of a project: the files that people write for coding agents, and who reads which.

One store holds those of one project, except for files that a store of a richer format at the same
place reads itself (`Format.claims`). When each program reads its files is said by its own pages:

* Codex: developers.openai.com/codex/guides/agents-md, "once per run"
* Cursor: cursor.com/docs/rules, "at the start of the model context"; also AGENTS.md
* Cline: docs.cline.bot/features/cline-rules/overview, "when Cline starts a task"; also AGENTS.md
* Roo Code: docs.roocode.com/features/custom-instructions, part of the system prompt, which goes
  with each request
* goose: block.github.io/goose/docs/category/guides, "loaded once at session start"
* Junie: jetbrains.com/help/junie/customize-guidelines.html, "to every task it works on"
* Qwen Code: QwenLM/qwen-code, docs/users/features/memory.md and rules.md, "at session start"
* Warp: docs.warp.dev/agents/capabilities/rules, AGENTS.md unless there is a WARP.md beside it
* Zed: zed.dev/docs/ai/rules, "inserted at the beginning of each agent interaction", the first that
  is there of .rules, .cursorrules, .windsurfrules, .clinerules, Copilot's, AGENTS.md
* Replit Agent: docs.replit.com/features/project-setup/replit-dot-md
* Augment: docs.augmentcode.com/cli/rules; Amazon Q: its page on project rules; Continue:
  docs.continue.dev/customize/deep-dives/rules; Antigravity: its page on rules (.agent, since
  version 2 .agents); Trae: agentconfig.ing/files/trae-rules, which cites Trae's; aider:
  aider.chat/docs/usage/conventions.html
* the others: Claude Code's page on memory; Gemini CLI's on GEMINI.md; docs.github.com, *Adding
  repository custom instructions*; docs.windsurf.com, *Memories & Rules*; kiro.dev, *Steering*;
  Spec Kit's templates/commands/plan.md; docs.openhands.dev, *Microagents*; agents.md

AGENTS.md is read by other programs depending on what lies beside it: Codex reads AGENTS.override.md
instead in the same folder (openai/codex), and Claude Code reads it in a project without a CLAUDE.md
(2.1.277 and later; agentsmd/agents.md#244). Files that are links to one file are that one file,
read by the programs of all its names.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping, Sequence
from fnmatch import fnmatchcase
from pathlib import Path
from typing import NamedTuple

from memtui.stores.base import ReadTime, Unreadable
from memtui.stores.format import Candidate, Detection, Format, Product
from memtui.stores.scanning import LEADS_OUTSIDE, is_link_into, list_folder

MAX_FILES = 500
"""Files of one folder of rules."""
_DEEPEST = 4
_DEPENDENCIES = "node_modules"
_NOT_IN_A_KEY = "#"
"""Divides the name of a file from that of a memory in it."""


class Source(NamedTuple):
    """A file, or a folder of files, that programs read as instructions."""

    path: str
    """Relative to the project; a folder ends in a slash."""
    readers: tuple[str, ...]
    """The programs."""
    reads: ReadTime = ReadTime.NEXT_SESSION
    suffixes: tuple[str, ...] = (".md",)
    """Of the files in a folder."""
    characters: int | None = None
    """Most characters of a file that are loaded."""
    without: tuple[str, ...] = ()
    """Folders in a folder whose files are something else."""


OF_CURSOR = ".cursor/rules/"
_REQUEST = ReadTime.AT_ONCE
"""Added to each request, in the state that the file then has."""
SOURCES = (
    # agents.md, "One AGENTS.md works across many agents"
    Source(
        "AGENTS.md",
        (
            *("Codex", "Cursor", "GitHub Copilot", "Windsurf", "Jules", "Junie", "Roo Code"),
            *("Cline", "Zed", "opencode", "Amp", "goose", "Qwen Code", "Augment", "Warp"),
        ),
    ),
    Source("AGENTS.override.md", ("Codex",)),
    Source("CLAUDE.md", ("Claude Code",)),
    Source(".claude/CLAUDE.md", ("Claude Code",)),
    Source("CLAUDE.local.md", ("Claude Code",)),
    Source(".claude/rules/", ("Claude Code",)),
    Source("GEMINI.md", ("Gemini CLI",)),
    # "available for use by Copilot as soon as you save the file"
    Source(".github/copilot-instructions.md", ("GitHub Copilot",), _REQUEST),
    Source(".github/instructions/", ("GitHub Copilot",), _REQUEST, (".instructions.md",)),
    Source(OF_CURSOR, ("Cursor",), _REQUEST, (".mdc",)),
    Source(".cursorrules", ("Cursor",), _REQUEST),
    # "limited to 12000 characters each"; the older file to 6,000, "any content above ... will be
    # truncated"
    Source(".windsurf/rules/", ("Windsurf",), _REQUEST, characters=12_000),
    Source(".windsurfrules", ("Windsurf",), _REQUEST, characters=6_000),
    Source(".kiro/steering/", ("Kiro",), _REQUEST),
    Source(".roo/rules/", ("Roo Code",), _REQUEST, (".md", ".txt")),
    Source(
        ".clinerules/",
        ("Cline",),
        suffixes=(".md", ".txt"),
        without=("workflows", "hooks", "skills"),  # cline/cline, its list of excluded folders
    ),
    Source(".clinerules", ("Cline",)),
    Source(".goosehints", ("goose",)),
    Source(".junie/guidelines.md", ("Junie",)),
    # plan and analyze of Spec Kit open it for each of their runs
    Source(".specify/memory/constitution.md", ("Spec Kit",), ReadTime.OPENED),
    Source(".openhands/microagents/", ("OpenHands",)),
    Source("QWEN.md", ("Qwen Code",)),
    Source(".qwen/QWEN.local.md", ("Qwen Code",)),
    Source(".qwen/rules/", ("Qwen Code",)),
    Source("WARP.md", ("Warp",), _REQUEST),
    Source(".rules", ("Zed",), _REQUEST),
    Source("replit.md", ("Replit Agent",), _REQUEST),
    Source(".trae/rules/", ("Trae",), _REQUEST),
    Source(".augment/rules/", ("Augment",), _REQUEST, (".md", ".mdx")),
    Source(".augment-guidelines", ("Augment",), _REQUEST),
    Source(".amazonq/rules/", ("Amazon Q",), _REQUEST),
    Source(".continue/rules/", ("Continue",), _REQUEST),
    Source(".agents/rules/", ("Antigravity",), _REQUEST),
    Source(".agent/rules/", ("Antigravity",), _REQUEST),
    # "aider --read CONVENTIONS.md", or `read` in .aider.conf.yml
    Source("CONVENTIONS.md", ("aider",)),
)


_OF_FOLDERS = frozenset(source.path for source in SOURCES if "/" in source.path)
"""Files that belong to the project above their folder, such as `.claude/CLAUDE.md`."""
IMPORTER = "Claude Code"
IMPORTED = Source("", (IMPORTER,))
"""What an instruction file of Claude Code imports."""


SHARED, OVERRIDE = "AGENTS.md", "AGENTS.override.md"
_OF_ZED = (
    *(".rules", ".cursorrules", ".windsurfrules", ".clinerules"),
    ".github/copilot-instructions.md",
)
INSTEAD = {OVERRIDE: "Codex", "WARP.md": "Warp"} | dict.fromkeys(_OF_ZED, "Zed")
"""File -> the program that reads it instead of AGENTS.md beside it."""
OF_CODEX = ".codex"
"""Name of the home folder of Codex, whose AGENTS.md is given to Codex alone."""
OF_CLAUDE = ("CLAUDE.md", ".claude/CLAUDE.md", "CLAUDE.local.md")


def claude_files(root: Path) -> Iterator[Path]:
    """The files of which each keeps Claude Code from reading AGENTS.md: in the folder or above.

    What the person wrote for all projects, in the folder of Claude Code's settings, is none of a
    project.
    """
    for folder in (root, *root.parents):
        own = folder / ".claude"
        is_config = os.path.isdir(own / "projects")
        yield from (folder / name for name in OF_CLAUDE if not (is_config and name == OF_CLAUDE[1]))


def readers_of(root: Path, path: str) -> tuple[str, ...]:
    """The programs that are given a file of a project, by what else lies there."""
    readers = source_of(path).readers
    if path in (SHARED, OVERRIDE) and is_home_of_codex(root):
        readers = ("Codex",)
    elif path == SHARED and not any(map(os.path.lexists, claude_files(root))):
        readers = (*readers, IMPORTER)
    if path == SHARED:
        taken = {program for name, program in INSTEAD.items() if os.path.isfile(root / name)}
        readers = tuple(name for name in readers if name not in taken)
    return readers


def is_home_of_codex(root: Path) -> bool:
    """Whether the instructions there are Codex's own, for all projects."""
    named = os.environ.get("CODEX_HOME")
    return root.name == OF_CODEX or bool(
        named and os.path.realpath(named) == os.path.realpath(root)
    )


def names_of_files(root: Path, paths: Sequence[str]) -> Mapping[str, list[str]]:
    """The files among these, each with all of its names here: links to one file are one file."""
    by_file: dict[str, list[str]] = {}
    for path in paths:
        by_file.setdefault(os.path.realpath(root / path), []).append(path)
    lists = by_file.values()
    return {min(each, key=lambda name: os.path.islink(root / name)): each for each in lists}


def source_of(path: str) -> Source:
    """Where a file belongs by its path."""
    for source in SOURCES:
        if path == source.path:
            return source
        is_below = source.path.endswith("/") and path.startswith(source.path)
        part = path.removeprefix(source.path).partition("/")[0]
        if is_below and path.endswith(source.suffixes) and part not in source.without:
            return source
    return IMPORTED


def instruction_files(
    root: Path, claims: tuple[str, ...], faults: list[Unreadable] | None = None
) -> list[str]:
    """The files of a project that exist and that no other store there reads, relative to it.

    Folders of them that cannot be listed are added to `faults`.
    """
    return [path for path in present_files(root, faults) if not is_claimed(path, claims)]


def present_files(root: Path, faults: list[Unreadable] | None = None) -> Iterator[str]:
    """The files of a project that exist, also those that cannot be read, relative to it.

    Never raises. A folder that leads out of the project is named in `faults`, and not read.
    """
    closed = [] if faults is None else faults
    for source in SOURCES:
        path = root / source.path
        is_folder = os.path.isdir(path)
        if not os.path.lexists(path) or is_folder != source.path.endswith("/"):
            continue
        folder = path if is_folder else path.parent
        if not is_link_into(folder, root):
            closed.append(Unreadable(str(folder), LEADS_OUTSIDE))
        elif is_folder:
            name = source.path.rstrip("/")
            found = _files_in(root, name, source.suffixes, _DEEPEST, closed)
            others = tuple(f"{source.path}{each}/" for each in source.without)
            yield from (path for path in found if not path.startswith(others))
        else:
            yield source.path


def _files_in(
    root: Path, folder: str, suffixes: tuple[str, ...], deepest: int, faults: list[Unreadable]
) -> Iterator[str]:
    entries, closed = list_folder(root / folder)
    faults += closed
    for entry in entries[:MAX_FILES]:
        path = f"{folder}/{entry.name}"
        if _NOT_IN_A_KEY in path:
            continue
        if not os.path.isdir(entry.path):
            if entry.name.endswith(suffixes):
                yield path
        elif not is_link_into(entry.path, root):
            faults.append(Unreadable(entry.path, LEADS_OUTSIDE))
        elif deepest and not is_link_into(root / folder, entry.path):  # it does not lead up again
            yield from _files_in(root, path, suffixes, deepest - 1, faults)


def claims_of(root: Path) -> tuple[str, ...]:
    """Patterns of the files that other stores at this place read."""
    from memtui.stores.registry import claims_at  # the registry imports the formats

    return claims_at(root)


def is_claimed(path: str, claims: tuple[str, ...]) -> bool:
    """Whether a file, relative to the project, is of another store by these patterns."""
    return any(fnmatchcase(path, pattern) for pattern in claims)


@Detection
def detect(path: Path) -> Iterator[Candidate]:
    """The project, if it has instructions that no other store at this place reads."""
    files = list(present_files(path))
    if not files:
        return
    claims = claims_of(path)
    own = [name for name in files if not is_claimed(name, claims)]
    named = ", ".join((own or files)[:4]) + f" and {len(own) - 4} more" * (len(own) > 4)
    if not own:
        yield Candidate(path, named, "files that no other store here reads already")
    elif all(f"{path.name}/{name}" in _OF_FOLDERS for name in own):
        missing = f"a project: {path.parent} reads it"
        yield Candidate(path, named, missing, opens_when_named=True)
    elif _DEPENDENCIES in path.parts:
        missing = f"a project: it lies in {_DEPENDENCIES}"
        yield Candidate(path, named, missing, opens_when_named=True)
    else:
        yield Candidate(path, named)


FORMAT = Format(
    name="project-instructions",
    title="Instructions: AGENTS.md, CLAUDE.md, rules of Cursor, Copilot, Windsurf and others",
    product=Product("Instructions", "IN", 7),
    places=("$CODEX_HOME", f"~/{OF_CODEX}", "~/.qwen"),
    detect=detect,
    is_whole=False,
)
