"""Libraries of invented memories, and packs of them, at a fixed time."""

from __future__ import annotations

import os
import shutil
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

from memtui.context import Pack, draft_pack, find_recipe, read_recipes
from memtui.library import Library
from memtui.model import Memory
from memtui.stores.base import Reading, Scan, Shard, Store
from tests.samples import SAMPLES

NOW = datetime(2026, 11, 21, 12, tzinfo=UTC)
FORMATS = ("agent-memory", "ambient", "engram", "simple-memory", "workspace")


@dataclass
class ListStore(Store):
    """A read-only store of memories that a test names."""

    held: Sequence[Memory]
    label: str = "s"
    root: Path = Path("/nowhere")
    format: str = "list"

    def scan(self) -> Scan:
        return Scan((Shard("all", (), "1"),))

    def read(self, shard: Shard) -> Reading:
        return Reading(tuple(self.held))


def memory(id: str, content: str, **fields: Any) -> Memory:
    fields.setdefault("kind", "fact")
    return Memory(ref=f"s:{id}", id=id, store="s", content=content, **fields)


def library_of(*memories: Memory) -> Library:
    library = Library([ListStore(memories)], now=lambda: NOW)
    library.load()
    library.index()
    return library


def sample_library(name: str, place: Path) -> Library:
    """A copy of a sample store, loaded and indexed."""
    shutil.copytree(SAMPLES / name, place / name)
    time = (NOW - timedelta(days=1)).timestamp()
    for file in (place / name).rglob("*"):
        os.utime(file, (time, time))  # a checkout gives files its own times
    library = Library.open([place / name], now=lambda: NOW)
    library.load()
    library.index()
    return library


def pack_of(
    library: Library,
    recipe: str,
    text: str = "",
    *,
    recipes: Mapping[str, Mapping[str, Any]] | None = None,
    budget: int | None = None,
    **options: Any,
) -> Pack:
    chosen = find_recipe(recipe, read_recipes(recipes or {}))
    return draft_pack(chosen, text, library, NOW, **options).pack(budget)
