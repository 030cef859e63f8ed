"""OpenClaw (before: Clawdbot, Moltbot): the workspace of an agent.

`MEMORY.md` (or `memory.md`) is curated, `memory/YYYY-MM-DD[-slug].md` are daily logs, and some
files with fixed names tell the agent who it is. Hidden folders below `memory/` are the own state of
the program: they are neither read nor written. (Source: formats page of OpenClaw.)
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterator, Mapping
from pathlib import Path

from memtui.stores.base import Unreadable
from memtui.stores.format import Format
from memtui.stores.scanning import has_entry, list_folder, markdown_names

MEMORY_NAMES = ("MEMORY.md", "memory.md")
FOLDER = "memory"
SUFFIX = ".md"
NOTES = ("AGENTS.md", "SOUL.md", "IDENTITY.md", "USER.md", "TOOLS.md", "HEARTBEAT.md", "DREAMS.md")
"""Notes in the order in which a session is given them; the last is not given."""
NOT_GIVEN = ("DREAMS.md",)
_MARKS = ("SOUL.md", "IDENTITY.md", "HEARTBEAT.md")
_OTHER_PROGRAMS = ("ABOUT.md", "gptme.toml", "entities", "memory/entities")
_DAY = re.compile(r"(\d{4}-\d{2}-\d{2})(?:-.+)?\.md")
_MAX_AGENTS = 200


def detect(path: Path) -> Path | None:
    """The workspace that this path is, or directly holds."""
    for folder in (path, path / "workspace"):
        if _is_workspace(folder):
            return folder
    return path.parent if path.name == FOLDER and _is_workspace(path.parent) else None


def _is_workspace(folder: Path) -> bool:
    """Whether it holds who the agent is, and memory."""
    if not any(os.path.isfile(folder / name) for name in _MARKS):
        return False
    if any(os.path.exists(folder / name) for name in _OTHER_PROGRAMS):
        return False
    has_notes = sum(os.path.isfile(folder / name) for name in NOTES) > 1
    is_curated = any(os.path.isfile(folder / name) for name in MEMORY_NAMES)
    return has_notes and (
        is_curated or has_entry(folder / FOLDER, lambda entry: bool(_DAY.fullmatch(entry.name)))
    )


def agent_workspaces(_folder: Path, home: Path, variables: Mapping[str, str]) -> Iterator[Path]:
    """The workspaces of further agents and profiles, `workspace-<name>`."""
    state = variables.get("OPENCLAW_STATE_DIR")
    for entry in list_folder(Path(state) if state else home / ".openclaw")[0][:_MAX_AGENTS]:
        if entry.name.startswith("workspace-"):
            yield Path(entry.path)


def memory_name(root: Path) -> str:
    """The name of the curated file, which need not exist."""
    found = (name for name in MEMORY_NAMES if os.path.lexists(root / name))
    return next(found, MEMORY_NAMES[0])


def daily_files(root: Path, faults: list[Unreadable]) -> list[str]:
    """Paths of the Markdown files directly in `memory/`, relative to the root, by name."""
    folder = root / FOLDER
    if not os.path.lexists(folder):
        return []
    return [f"{FOLDER}/{name}" for name in markdown_names(folder, faults)]


def notes(root: Path) -> list[str]:
    return [name for name in NOTES if os.path.lexists(root / name)]


def day_of(path: str) -> str:
    """The date in the name of a daily log; "" for another file."""
    found = _DAY.fullmatch(path.removeprefix(f"{FOLDER}/"))
    return found[1] if found else ""


FORMAT = Format(
    name="openclaw",
    title="OpenClaw: MEMORY.md, daily logs and notes of a workspace",
    places=("$OPENCLAW_WORKSPACE_DIR", "~/.openclaw/workspace", "~/clawd"),
    detect=detect,
    load=f"{__name__}.store",
    configured=agent_workspaces,
)
