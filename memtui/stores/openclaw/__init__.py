"""OpenClaw (before: Clawdbot, Moltbot): the workspace of an agent.

`MEMORY.md` (or `memory.md`) is curated, `memory/YYYY-MM-DD[-slug].md` are daily logs, and some
files tell the agent who it is; hidden folders are the program's own. (Source: formats page.)
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterator, Mapping
from pathlib import Path

from memtui.stores.base import Unreadable
from memtui.stores.format import Candidate, Detection, Format, Product
from memtui.stores.scanning import has_entry, list_folder, markdown_names

MEMORY_NAMES = ("MEMORY.md", "memory.md")
FOLDER = "memory"
NOTES = ("AGENTS.md", "SOUL.md", "IDENTITY.md", "USER.md", "TOOLS.md", "HEARTBEAT.md", "DREAMS.md")
"""Files that tell the agent who it is, in the order of a session, which is not given the last."""
_MARKS = {"SOUL.md", "IDENTITY.md", "HEARTBEAT.md"}
_OTHER_PROGRAMS = ("ABOUT.md", "gptme.toml", "entities", "memory/entities")
_DAY = re.compile(r"(\d{4}-\d{2}-\d{2})(?:-.+)?\.md")


@Detection
def detect(path: Path) -> Iterator[Candidate]:
    """The workspace that this path is, or directly holds."""
    folders = (path, path / "workspace", *[path.parent][: path.name == FOLDER])
    return filter(None, map(_judge, folders))


def _judge(folder: Path) -> Candidate | None:
    """Whether it holds who the agent is, and memory."""
    notes = [name for name in NOTES if os.path.isfile(folder / name)]
    if not _MARKS.intersection(notes):
        return None
    other = next((name for name in _OTHER_PROGRAMS if os.path.exists(folder / name)), "")
    memory = next((name for name in MEMORY_NAMES if os.path.isfile(folder / name)), "")
    if not memory and has_entry(folder / FOLDER, lambda entry: bool(_DAY.fullmatch(entry.name))):
        memory = f"the logs in {FOLDER}/"
    found = ", ".join([*notes, memory] if memory else notes)
    if other:
        return Candidate(folder, found, f"{other} is of another program")
    if len(notes) == 1:
        return Candidate(folder, found, "a second file that tells the agent who it is")
    missing = "" if memory else f"{MEMORY_NAMES[0]}, or daily logs in {FOLDER}/"
    return Candidate(folder, found, missing)


def agent_workspaces(_folder: Path, home: Path, variables: Mapping[str, str]) -> Iterator[Path]:
    """The workspaces of further agents and profiles, `workspace-<name>`."""
    state = variables.get("OPENCLAW_STATE_DIR")
    for entry in list_folder(Path(state) if state else home / ".openclaw")[0][:200]:
        if entry.name.startswith("workspace-"):
            yield Path(entry.path)


def memory_name(root: Path) -> str:
    """The name of the curated file, which need not exist."""
    return next((n for n in MEMORY_NAMES if os.path.lexists(root / n)), MEMORY_NAMES[0])


def daily_files(root: Path, faults: list[Unreadable]) -> list[str]:
    """Paths of the Markdown files directly in `memory/`, relative to the root, by name."""
    names = markdown_names(root / FOLDER, faults) if os.path.lexists(root / FOLDER) else ()
    return [f"{FOLDER}/{name}" for name in names]


def day_of(path: str) -> str:
    """The date in the name of a daily log; "" for another file."""
    found = _DAY.fullmatch(path.removeprefix(f"{FOLDER}/"))
    return found[1] if found else ""


FORMAT = Format(
    name="openclaw",
    title="OpenClaw: MEMORY.md, daily logs and notes of a workspace",
    product=Product("OpenClaw", "OC", 1),
    places=("$OPENCLAW_WORKSPACE_DIR", "~/.openclaw/workspace", "~/clawd"),
    detect=detect,
    claims=NOTES,
    load=f"{__name__}.store",
    configured=agent_workspaces,
)
