"""Settings, state, data and cache of memtui in a folder of the test."""

from __future__ import annotations

from pathlib import Path


def own_folders(folder: Path) -> dict[str, str]:
    """The environment variables for `folder/config`, `folder/state` and the others."""
    names = ("config", "state", "data", "cache")
    return {f"MEMTUI_{name.upper()}": str(folder / name) for name in names}
