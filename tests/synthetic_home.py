"""A home folder with a store of every format in its program's place, made of the sample stores.

For tests of what is found at the start, and for the bench, which adds files that are no memories.
"""

from __future__ import annotations

import json
import shutil
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from tests.samples import SAMPLES

PROJECT = "code/towerd"
"""The project that memtui is started in, below the home folder."""
PLACES = {
    "ambient": (".ambient",),
    "engram": (".engram",),
    "claude-code": (".claude",),
    "claude-mem": (".claude-mem",),
    "mem0": (".mem0",),
    "beads": (f"{PROJECT}/.beads",),
    "conport": (f"{PROJECT}/context_portal",),
    "engram-export": (f"{PROJECT}/.engram",),
    "codex": (".codex",),
    "gemini": (".gemini",),
    "hermes": (".hermes",),
    "openclaw": (".openclaw/workspace", ".openclaw/workspace-night"),
    "qwen": ("",),
    "goose": (PROJECT,),
    "openwolf": (PROJECT,),
    "claude-remember": (PROJECT,),
    "memsearch": (PROJECT,),
    "vscode-copilot": (".config/Code",),
    "project-memory": (PROJECT,),
    "mcp-memory": ("graphs/towers",),
    "markdown-folder": ("notes/bells",),
    "memfs": (".letta/agents/agent-7/memory",),
    "workspace": (f"{PROJECT}/workspace",),
    "simple-memory": (f"{PROJECT}/simple-memory",),
    "serena": (PROJECT, "code/chime-control"),
    "memory-bank": (PROJECT,),
}
"""Folder of the sample stores -> where its program keeps it, below the home folder."""
ELSEWHERE = ("code/chime-control",)
"""Projects whose own stores are not looked for from another folder: no known place names them."""
AGENT_MEMORY = "agents/pip"
"""The one place that a variable of the environment names, `MEMORY_HOME`."""
FILES_IN_FOLDER = 100


@dataclass(frozen=True)
class SyntheticHome:
    """A home folder, and the stores in known places."""

    home: Path
    project: Path

    @property
    def stores(self) -> int:
        """How many are found from the project."""
        found = [place for places in PLACES.values() for place in places if place not in ELSEWHERE]
        return len(found) + 1

    @property
    def variables(self) -> dict[str, str]:
        """The variables of the environment that name a place."""
        return {"HOME": str(self.home), "MEMORY_HOME": str(self.home / AGENT_MEMORY)}


def build_home(home: Path) -> SyntheticHome:
    """Make the home folder; settings name the places of basic-memory and of the MCP server."""
    ignored = shutil.ignore_patterns("*-wal", "*-shm")
    for name, places in {**PLACES, "agent-memory": (AGENT_MEMORY,)}.items():
        for place in places:
            shutil.copytree(SAMPLES / name, home / place, ignore=ignored, dirs_exist_ok=True)
    _write(
        home / ".basic-memory" / "config.json",
        {"projects": {"bells": {"path": str(home / "notes" / "bells")}}},
    )
    graph = str(home / "graphs" / "towers" / "memory.jsonl")
    server = {"command": "npx", "env": {"MEMORY_FILE_PATH": graph}}
    _write(home / ".claude.json", {"mcpServers": {"memory": server}, "projects": {}})
    return SyntheticHome(home, home / PROJECT)


def _write(file: Path, settings: object) -> None:
    file.parent.mkdir(exist_ok=True)
    file.write_text(json.dumps(settings), "utf-8")


def add_files(home: Path, count: int) -> Iterator[Path]:
    """Empty files that are no memories, in nested folders as projects have them."""
    for number in range(count):
        folder_number, name = divmod(number, FILES_IN_FOLDER)
        top, below = divmod(folder_number, 20)
        folder = home / "code" / f"project-{top}" / "src" / f"part-{below}"
        if not name:
            folder.mkdir(parents=True, exist_ok=True)
        file = folder / f"module_{name}.md"
        file.touch()
        yield file
