"""What Claude Code loads when a session starts: instruction files, and the head of MEMORY.md."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path

from memtui.errors import UnreadableFile
from memtui.files.reading import decode, read_bytes
from memtui.model import Memory
from memtui.stores.claude_code.layout import INDEX, INSTRUCTIONS, MemoryFolder
from memtui.stores.claude_code.rules import LOADED_BYTES, LOADED_LINES, counted_lines
from memtui.stores.session_start import LoadedEntry, LoadedText, LoadLimit

LIMIT = LoadLimit(
    lines=LOADED_LINES,
    bytes=LOADED_BYTES,
    source="Claude Code: 200 lines or 25,000 bytes of MEMORY.md, whichever comes first",
)


def loaded_texts(
    root: Path, folders: Iterable[tuple[str, MemoryFolder]], memories: Sequence[Memory], entity: str
) -> Iterator[LoadedText]:
    """The texts in the order in which they are loaded.

    Args:
        root: of the store.
        folders: entity and memory folder.
        memories: of the store, as they were last read.
        entity: of the session; empty: the index of every folder.
    """
    for memory in memories:
        if memory.entity == INSTRUCTIONS:
            note = "instruction files and their imports are read whole at every start"
            entry = LoadedEntry(memory.ref, 0, len(memory.content))
            yield LoadedText(
                memory.id, memory.content, memory.origin.file, entries=(entry,), note=note
            )
    for name, folder in folders:
        if entity in ("", name):
            try:
                text = decode(read_bytes(folder.path / INDEX, root))
            except UnreadableFile:
                continue
            yield _index_text(name, str(folder.path / INDEX), text, memories)


def _index_text(entity: str, file: str, text: str, memories: Sequence[Memory]) -> LoadedText:
    """The index without frontmatter and comments, with the place of each item in it."""
    offsets: dict[int, int] = {}
    parts: list[str] = []
    size = 0
    for number, line in counted_lines(text):
        offsets[number] = size
        parts.append(f"{line}\n")
        size += len(line) + 1
    counted = "".join(parts)
    if not text.endswith("\n"):
        counted = counted.removesuffix("\n")
    entries = []
    for memory in memories:
        first = memory.origin.line or 0
        if memory.origin.file == file and first in offsets:
            after = first + memory.content.count("\n") + 1
            end = offsets.get(after, len(counted))
            entries.append(LoadedEntry(memory.ref, offsets[first], min(end, len(counted))))
    entries.sort(key=lambda entry: entry.start)
    title = f"{entity}: {INDEX}"
    note = "frontmatter and comments do not count; the rest is not loaded"
    return LoadedText(
        title,
        counted,
        file,
        limit=LIMIT,
        entries=tuple(entries),
        note=note,
        lines=tuple(offsets),
    )
