"""A small invented store of each format: a part of what memtui ships."""

from __future__ import annotations

import json
import os
import shutil
from fnmatch import fnmatch
from pathlib import Path

from memtui.stores.format import Format
from memtui.testing.fixtures import sample
from tests.formats import FORMATS

KEPT: dict[str, tuple[str, ...]] = {
    "agent-memory": (
        "MEMORY.md",
        "memory/status.json",
        "memory/entities/index.json",
        "memory/entities/sundial/*",
        "memory/entities/porto-candeias/*",
        "memory/2026-11-20.md",
    ),
    "ambient": (
        "memory/projects/faa7fe0221bb3de3/*",
        "memory/projects/cebbc429061b2cd9/*",
    ),
    "simple-memory": ("*",),
    "workspace": (
        "ABOUT.md",
        "SOUL.md",
        "tasks/hammer-7.md",
        "lessons/tools/*",
        "journal/2026-11-*",
        "state/*",
    ),
}
"""Format -> patterns of the files that stay (`*` crosses folders)."""
RECORDS = 9
"""Records that stay of each list of simple-memory."""


def known(name: str) -> Format:
    return next(format for format in FORMATS if format.name == name)


def small_store(name: str, place: Path) -> Path:
    """A copy of a part of the format's sample at this place."""
    sample(known(name), place)
    for folder, _, files in os.walk(place, topdown=False):
        for file in files:
            path = Path(folder, file)
            if not any(fnmatch(str(path.relative_to(place)), kept) for kept in KEPT[name]):
                path.unlink()
        if not os.listdir(folder):
            shutil.rmtree(folder)
    if name == "simple-memory":
        for path in place.glob("*.json"):
            _cut(path)
    return place


def _cut(path: Path) -> None:
    text = path.read_text(encoding="utf-8")
    end = "\n" if text.endswith("\n") else ""
    cut = json.dumps(json.loads(text)[:RECORDS], indent=2, ensure_ascii=False)
    path.write_text(cut + end, encoding="utf-8")
