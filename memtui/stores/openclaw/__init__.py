"""OpenClaw (before: Clawdbot, Moltbot): the workspace of an agent.

`MEMORY.md` and `memory.md` are curated, `memory/YYYY-MM-DD[-slug].md` are daily logs, everything
else in `memory/` and its folders are notes, and some files tell the agent who it is; hidden folders
are the program's own. (Source: formats page; docs/concepts/memory.md of OpenClaw.)
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterator, Mapping
from pathlib import Path

from memtui.stores.base import Unreadable
from memtui.stores.format import Candidate, Detection, Format, Product, not_its_own
from memtui.stores.program_settings import named_path, read_settings
from memtui.stores.scanning import has_entry, list_folder, notes_below
from memtui.stores.values import members_of

MEMORY_NAMES = ("MEMORY.md", "memory.md")
FOLDER = "memory"
NOTES = ("AGENTS.md", "SOUL.md", "IDENTITY.md", "USER.md", "TOOLS.md", "HEARTBEAT.md", "DREAMS.md")
"""Files that tell the agent who it is, in the order of a session, which is not given the last."""
STATE = ".openclaw"
"""The folder in which OpenClaw keeps its settings and, by default, its workspaces."""
MAX_WORKSPACES = 200
_MARKS = {"SOUL.md", "IDENTITY.md", "HEARTBEAT.md"}
_OTHER_PROGRAMS = ("ABOUT.md", "gptme.toml", "entities", "memory/entities")
_DAY = re.compile(r"(\d{4}-\d{2}-\d{2})(?:[-_].+)?\.md")


@Detection
def detect(path: Path) -> Iterator[Candidate]:
    """The workspace that this path is, or directly holds."""
    folders = (path, path / "workspace", *[path.parent][: path.name == FOLDER])
    return filter(None, map(_judge, folders))


def _judge(folder: Path) -> Candidate | None:
    """Whether it holds who the agent is, and memory; in OpenClaw's own folder memory is enough."""
    notes = [name for name in NOTES if os.path.isfile(folder / name)]
    is_placed = folder.parent.name == STATE and folder.name.startswith("workspace")
    if not _MARKS.intersection(notes) and not is_placed:
        return None
    other = next((name for name in _OTHER_PROGRAMS if os.path.exists(folder / name)), "")
    memory = next((name for name in MEMORY_NAMES if os.path.isfile(folder / name)), "")
    if not memory and has_entry(folder / FOLDER, lambda entry: bool(_DAY.fullmatch(entry.name))):
        memory = f"the logs in {FOLDER}/"
    found = ", ".join([*notes, memory] if memory else notes)
    if not found:
        return None
    if other:
        return Candidate(folder, found, not_its_own(f"another program keeps {other} there"))
    if len(notes) == 1 and not is_placed:
        return Candidate(folder, found, "a second file that tells the agent who it is")
    missing = "" if memory else f"{MEMORY_NAMES[0]}, or daily logs in {FOLDER}/"
    return Candidate(folder, found, missing)


def agent_workspaces(_folder: Path, home: Path, variables: Mapping[str, str]) -> Iterator[Path]:
    """The workspaces of further agents and profiles, `workspace-<name>`, and those that the
    settings name (`agents.defaults.workspace`, `agents.list[].workspace`)."""
    state = Path(variables.get("OPENCLAW_STATE_DIR") or home / STATE)
    for entry in list_folder(state)[0][:MAX_WORKSPACES]:
        if entry.name.startswith("workspace-"):
            yield Path(entry.path)
    config = variables.get("OPENCLAW_CONFIG_PATH") or state / "openclaw.json"
    agents = members_of(read_settings(Path(config)).get("agents"))
    listed = agents.get("list")
    for agent in (agents.get("defaults"), *(listed if isinstance(listed, list) else ())):
        if path := named_path(members_of(agent).get("workspace"), home):
            yield path


def memory_names(root: Path) -> list[str]:
    """The names of the curated files that exist; of the first where there is none.

    Both are read, and are one file where the disk does not tell the case of letters.
    """
    names = [name for name in MEMORY_NAMES if os.path.lexists(root / name)]
    files = {_file_id(root / name): name for name in reversed(names or MEMORY_NAMES[:1])}
    return [*reversed(files.values())]


def _file_id(path: Path) -> object:
    try:
        status = path.stat()
    except OSError:
        return path
    return status.st_dev, status.st_ino


def daily_files(root: Path, faults: list[Unreadable]) -> list[str]:
    """Paths of the Markdown files in `memory/` and its folders, relative to the root."""
    names = notes_below(root / FOLDER, faults) if os.path.lexists(root / FOLDER) else ()
    return [f"{FOLDER}/{name}" for name in names]


def day_of(path: str) -> str:
    """The date in the name of a daily log; "" for another file."""
    found = _DAY.fullmatch(path.rpartition("/")[2])
    return found[1] if found else ""


FORMAT = Format(
    name="openclaw",
    title="OpenClaw: MEMORY.md, daily logs and notes of a workspace",
    product=Product("OpenClaw", "OC", 1),
    places=("$OPENCLAW_WORKSPACE_DIR", f"~/{STATE}/workspace", "~/clawd"),
    detect=detect,
    claims=NOTES,
    configured=agent_workspaces,
)
