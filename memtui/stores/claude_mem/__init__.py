"""claude-mem: what it observed in sessions of Claude Code, in one SQLite database, read only.

`claude-mem.db` lies in `~/.claude-mem`, in `$CLAUDE_MEM_DATA_DIR`, or where `settings.json` there
says (`resolveDataDir` in src/shared/paths.ts, claude-mem 13.15.3).
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from pathlib import Path

from memtui.stores.format import Format, Product
from memtui.stores.scanning import read_object

DATABASE = "claude-mem.db"
FOLDER = ".claude-mem"


def detect(path: Path) -> Path | None:
    """The folder of a `claude-mem.db`, if this is it, or the file."""
    try:
        is_file = path.name == DATABASE and os.path.isfile(path)
        folder = path.parent if is_file else path
        if not os.path.isfile(folder / DATABASE):
            return None
    except ValueError:
        return None
    from memtui.stores.claude_mem.store import is_claude_mem

    return folder if is_claude_mem(folder / DATABASE) else None


def configured(_folder: Path, home: Path, _variables: Mapping[str, str]) -> Iterator[Path]:
    """The folder that claude-mem's settings name."""
    settings = read_object(home / FOLDER / "settings.json", 1 << 20)
    env = settings.get("env")
    named = (env if isinstance(env, dict) else settings).get("CLAUDE_MEM_DATA_DIR")
    if isinstance(named, str) and "\0" not in named and named.startswith(("/", "~/")):
        yield home / named[2:] if named.startswith("~/") else Path(named)


FORMAT = Format(
    name="claude-mem",
    title="claude-mem: observations of Claude Code's sessions (SQLite)",
    product=Product("claude-mem", "CM", 1),
    places=("$CLAUDE_MEM_DATA_DIR", f"~/{FOLDER}"),
    detect=detect,
    load=f"{__name__}.store",
    configured=configured,
    is_database=True,
)
