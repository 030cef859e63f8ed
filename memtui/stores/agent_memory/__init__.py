"""agent-memory (Martian-Engineering): facts per entity in JSON, daily notes, MEMORY.md.

The package itself says where the files lie. Below MEMORY_HOME are `entities/<slug>/items.json` and
`summary.md`, and one `<YYYY-MM-DD>.md` a day; `MEMORY.md` lies one level up (setup.sh:42).
`entities/index.json` is a cache that adding a fact leaves stale, so it is never read.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from pathlib import Path

from memtui.files.reading import existing_files
from memtui.stores.base import Unreadable
from memtui.stores.format import Candidate, Detection, Format, Product
from memtui.stores.scanning import FoundShard, check_folder, has_entry, list_folder

ENTITIES = "entities"
ITEMS = "items.json"
SUMMARY = "summary.md"
METRICS = "metrics"
TACIT = "MEMORY.md"
SET_UP = ("pipelines", "checkpoints", "metrics")
"""Folders that setup.sh makes beside `entities/` (setup.sh:25-72)."""
DAILY = re.compile(r"\d{4}-\d{2}-\d{2}\.md")


def _judge(path: Path) -> Candidate | None:
    folder = path / ENTITIES
    if not os.path.isdir(folder):
        return None
    if os.path.isfile(folder / "index.json"):
        return Candidate(path, f"{ENTITIES}/index.json")
    if all(os.path.isdir(path / name) for name in SET_UP):
        return Candidate(path, f"{ENTITIES}/ beside {', '.join(SET_UP)}")
    if has_entry(folder, lambda entry: os.path.lexists(os.path.join(entry.path, ITEMS))):
        return Candidate(path, f"{ENTITIES}/ with the {ITEMS} of an entity")
    return Candidate(path, f"{ENTITIES}/", f"the {ITEMS} of an entity")


@Detection
def detect(path: Path) -> Iterator[Candidate]:
    """The MEMORY_HOME that this path is, holds as `memory`, or is the `entities` folder of."""
    homes = (path, path / "memory", *[path.parent][: path.name == ENTITIES])
    return filter(None, map(_judge, homes))


def shard_key(slug: str) -> str:
    """Key of the shard of one entity's facts and its summary."""
    return f"{ENTITIES}/{slug}"


def find_entities(root: Path) -> Iterator[FoundShard | Unreadable]:
    """Find every entity folder that holds a file, by name."""
    entries, faults = list_folder(root / ENTITIES)
    yield from faults
    for entry in entries:
        if entry.name.startswith("."):
            continue
        files, mark = existing_files((f"{entry.path}/{ITEMS}", f"{entry.path}/{SUMMARY}"))
        # A folder in which a file is found needs no look of its own, unless a link leads to it.
        if not files or entry.is_symlink():
            found = check_folder(entry, root)
            if isinstance(found, Unreadable):
                yield found
                continue
        if files:
            yield FoundShard(shard_key(entry.name), files, mark)


def find_notes(root: Path) -> Iterator[FoundShard | Unreadable]:
    """Find the daily notes by date, then MEMORY.md of the folder above."""
    entries, faults = list_folder(root)
    yield from faults
    for entry in entries:
        if DAILY.fullmatch(entry.name):
            yield FoundShard(entry.name, (entry.path,))
    tacit = root.parent / TACIT
    if os.path.lexists(tacit):
        yield FoundShard(TACIT, (str(tacit),))


FORMAT = Format(
    name="agent-memory",
    title="agent-memory: facts, summaries and daily notes",
    product=Product("agent-memory", "AM", 1),
    places=("$MEMORY_HOME",),
    detect=detect,
)
