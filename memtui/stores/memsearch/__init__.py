"""memsearch: a journal of a project's sessions by day, which its index finds.

Plugins of Claude Code, Codex, OpenClaw and opencode write `.memsearch/memory/<day>.md`, and, where
that is turned on, `PROJECT.md` and `USER.md` beside it. The index in Milvus is derived from the
files, which are watched. (Source: zilliztech/memsearch@72c7c3ae, README,
docs/platforms/claude-code/how-it-works.md.)
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from memtui.stores.format import Candidate, Detection, Format, Product
from memtui.stores.scanning import has_entry, is_markdown, place_of

FOLDER = ".memsearch"
MARKS = ("PROJECT.md", "USER.md")


@Detection
def detect(path: Path) -> Iterator[Candidate]:
    """The folder that this path is, or directly holds."""
    for folder in (path, path / FOLDER, path.parent):
        if folder.name == FOLDER and has_entry(folder / "memory", is_markdown):
            yield Candidate(folder, f"notes in {FOLDER}/memory")
    yield from place_of(path, FOLDER, MARKS, "memsearch")


FORMAT = Format(
    name="memsearch",
    title="memsearch: a journal of sessions by day",
    product=Product("memsearch", "MS", 4),
    places=(),
    detect=detect,
)
