"""claude-mem: what it observed in sessions of Claude Code, in one SQLite database, read only.

`claude-mem.db` lies in `~/.claude-mem`, in `$CLAUDE_MEM_DATA_DIR`, or where `settings.json` there
says (`resolveDataDir` in src/shared/paths.ts, claude-mem 13.15.3).
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from memtui.stores.format import Candidate, Detection, Format, Product
from memtui.stores.program_settings import named_path, read_settings

DATABASE = "claude-mem.db"
FOLDER = ".claude-mem"


@Detection
def detect(path: Path) -> Iterator[Candidate]:
    """The folder of a `claude-mem.db`: this one, or that of the file itself."""
    folder = path.parent if path.name == DATABASE and os.path.isfile(path) else path
    if os.path.isfile(folder / DATABASE):
        from memtui.stores.claude_mem.store import is_claude_mem

        missing = "" if is_claude_mem(folder / DATABASE) else "the tables of claude-mem"
        yield Candidate(folder, DATABASE, missing)


def claude_mem_settings(folder: Path) -> Mapping[str, Any]:
    """The settings of claude-mem in its folder; older versions have them below `env`."""
    settings = read_settings(folder / "settings.json")
    env = settings.get("env")
    return env if isinstance(env, dict) else settings


def configured(_folder: Path, home: Path, _variables: Mapping[str, str]) -> Iterator[Path]:
    """The folder that claude-mem's settings name."""
    named = claude_mem_settings(home / FOLDER).get("CLAUDE_MEM_DATA_DIR")
    if path := named_path(named, home):
        yield path


FORMAT = Format(
    name="claude-mem",
    title="claude-mem: observations of Claude Code's sessions (SQLite)",
    product=Product("claude-mem", "CM", 1),
    places=("$CLAUDE_MEM_DATA_DIR", f"~/{FOLDER}"),
    detect=detect,
    configured=configured,
    is_database=True,
)
