"""The memories of Claude Code as a store: one shard for each memory folder, one for instructions.

The files of a folder are read together: the index says which topic files are found at all, and
topic files link to each other.

When a session starts, Claude Code loads instruction files and the head of MEMORY.md.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from datetime import datetime
from pathlib import Path
from typing import Any

from msgspec.structs import replace

from memtui.errors import UnreadableFile
from memtui.files.reading import decode, file_stamp, read_bytes
from memtui.model import PROJECT_PATH, Memory
from memtui.stores.base import (
    LoadedEntry,
    LoadedText,
    LoadLimit,
    Reading,
    ReadTime,
    Shard,
    StoreView,
    Unreadable,
    loaded_whole,
)
from memtui.stores.claude_code import (
    INDEX,
    INSTRUCTIONS,
    MemoryFolder,
    ProjectPaths,
    editing,
    instruction_names,
    kind_of,
    markdown_files,
    memory_folders,
    rules,
)
from memtui.stores.claude_code.records import (
    IMPORTS,
    INDEX_LINES,
    ClaudeContext,
    IndexFile,
    folder_memories,
    instruction_memory,
    read_folder,
)
from memtui.stores.format import FormatSupport, TransferSupport
from memtui.stores.markdown.documents import parse_document
from memtui.stores.markdown.items import MarkdownListStore
from memtui.stores.scanning import FoundShard, LastRead, read_texts, time_of_change
from memtui.stores.sidecar import Sidecar
from memtui.stores.values import utc_now


class ClaudeCodeStore(MarkdownListStore):
    """One folder of settings, one project, or one memory folder."""

    format = "claude-code"
    acts = editing.ACTS
    context = ClaudeContext
    rescans = True  # a file may have come to a folder, or an import to a file

    def __init__(self, root: Path, label: str, now: Callable[[], datetime] = utc_now) -> None:
        super().__init__(root, label, now)
        self._paths = ProjectPaths(root)
        self._folders: dict[str, MemoryFolder] = {}
        """The memory folders of the last scan by the key of their shard: to read one, the others
        are not listed again."""
        self._imports: dict[str, LastRead[list[str]]] = {}

    def take_rules(self, other: ClaudeCodeStore) -> None:
        """Copy the path and rule settings of `other` (used for partial copies)."""
        self._paths = other._paths

    def entity_folders(self) -> dict[str, MemoryFolder]:
        """The memory folder of each entity."""
        return {self._entity(each): each for each in memory_folders(self.root, [])}

    def list_files(self, faults: list[Unreadable]) -> list[str]:
        return [folder.key for folder in memory_folders(self.root, faults)]

    def file_of(self, key: str) -> Path:
        return self.root / ("" if key == "." else key) / INDEX

    def owns_shard(self, key: str) -> bool:
        """Its shards are folders; files are instructions, which another store reads."""
        return os.path.basename(key) in (INSTRUCTIONS, "memory", ".") or "agent-memory" in key

    def parse(self, key: str, path: Path, text: str | None, sidecar: Sidecar) -> IndexFile:
        return IndexFile(key, path, text, sidecar, "# Memory")

    def find_shards(self) -> Iterator[FoundShard | Unreadable]:
        """A shard for the instructions, then one for each memory folder with files."""
        faults: list[Unreadable] = []
        folders = list(memory_folders(self.root, faults))
        self._folders = {folder.key: folder for folder in folders}
        instructions = self._instructions(folders)
        if instructions:
            yield FoundShard(INSTRUCTIONS, tuple(str(self.root / name) for name in instructions))
        for folder in folders:
            files = markdown_files(folder.path, faults)
            if files:
                mark = file_stamp([*files, folder.transcripts])
                yield FoundShard(folder.key, tuple(files), mark)
        yield from faults

    def read_files(self, shard: Shard, sidecar: Sidecar) -> Reading:
        if shard.key == INSTRUCTIONS:
            return self._read_instructions(shard)
        folder = self._folders.get(shard.key)
        if folder is None:  # read without a scan, or found by one that ran since
            folder = next((f for f in memory_folders(self.root, []) if f.key == shard.key), None)
        if folder is None or not os.path.isdir(folder.path):
            missing = (Unreadable(name, "its folder is gone", gone=True) for name in shard.files)
            return Reading((), tuple(missing))
        records = read_folder(folder, shard.files, self._entity(folder), self.root, sidecar)
        memories = tuple(folder_memories(records, self.label))
        if folder.kind == "project" and (path := self._paths.recorded(folder.name)):
            told = {PROJECT_PATH: path}
            memories = tuple(replace(each, extra={**each.extra, **told}) for each in memories)
        return Reading(memories, tuple(records.unreadable))

    def read_time(self, path: str) -> ReadTime:
        """Instruction files and MEMORY.md are loaded when a session starts, and a running one keeps
        them; topic files are read on demand (formats page of Claude Code, layout and limit)."""
        folder, _, name = path.rpartition("/")
        in_folder = any(each.key == (folder or ".") for each in memory_folders(self.root, []))
        is_topic = in_folder and name != INDEX and path not in instruction_names(self.root, [])
        return ReadTime.OPENED if is_topic else ReadTime.NEXT_SESSION

    def as_loaded(self, path: str, text: str) -> LoadedText | None:
        """The head of a MEMORY.md."""
        is_index = path.rpartition("/")[2] == INDEX
        return _index_text("", path, text, ()) if is_index else None

    def session_start(self, view: StoreView, entity: str, now: datetime) -> Sequence[LoadedText]:  # noqa: ARG002
        """The instruction files, and MEMORY.md of this entity or of every folder."""
        folders = [(self._entity(each), each) for each in memory_folders(self.root, [])]
        memories = list(view.memories(self.label))
        return tuple(loaded_texts(self.root, folders, memories, entity))

    def place_facts(self) -> Mapping[str, Any]:
        """Which kind of folder it is, and the projects, which the transcripts beside them tell."""
        kind = kind_of(self.root)
        if not kind:
            return {}
        entities = self.entities()
        paths = {slug: path for slug in entities if (path := self._paths.recorded(slug))}
        return {"kind": kind, "entities": entities, **({"paths": paths} if paths else {})}

    def entities(self) -> dict[str, str]:
        """The entity of each project by its slug."""
        folders = memory_folders(self.root, [])
        return {each.name: self._entity(each) for each in folders if each.kind == "project"}

    def entity_levels(self, entity: str) -> tuple[str, ...]:
        """A project by the last part of its path; the path of an agent."""
        if entity.startswith(("agents/", "agents-local/")):
            return tuple(entity.split("/"))
        return (self._paths.short(entity),)

    def _entity(self, folder: MemoryFolder) -> str:
        if folder.kind == "project":
            return self._paths.entity(folder.name)
        if folder.kind == "agent":
            local = "-local" if folder.key.split("/")[-2].endswith("-local") else ""
            return f"agents{local}/{folder.name}"
        return "memory"

    # ---- instruction files --------------------------------------------------------------------

    def _instructions(self, folders: list[MemoryFolder]) -> list[str]:
        """The instruction files and what they import inside the store, relative to the root."""
        names = instruction_names(self.root, folders)
        return rules.follow_imports(
            names, lambda name: self._split(name, self._imports_of(name))[0]
        )

    def _imports_of(self, name: str) -> list[str]:
        """The imports of a file, read again when it changed."""
        path = self.root / name

        def read() -> list[str]:
            try:
                return rules.imports_in(decode(read_bytes(path, self.root)))
            except UnreadableFile:
                return []

        return self._imports.setdefault(name, LastRead()).get([path], read)

    def _split(self, name: str, imports: list[str]) -> tuple[list[str], list[str], list[str]]:
        """Imports as ids of files inside the store, and as written for those outside and those
        where no file is."""
        inside, outside, missing = [], [], []
        folder = os.path.dirname(self.root / name)
        for written in imports:
            path = os.path.normpath(os.path.join(folder, os.path.expanduser(written)))
            relative = os.path.relpath(path, self.root)
            if not os.path.isfile(path):
                missing.append(written)
            elif relative.startswith("..") or path.endswith((".jsonl", ".json")):
                outside.append(written)
            else:
                inside.append(relative.replace(os.sep, "/"))
        return inside, outside, missing

    def _read_instructions(self, shard: Shard) -> Reading:
        memories = []
        faults: list[Unreadable] = []
        for path, text in read_texts(shard.files, self.root, faults):
            name = os.path.relpath(path, self.root).replace(os.sep, "/")
            document = parse_document(name, str(path), text, time_of_change(path))
            inside, outside, missing = self._split(name, rules.imports_in(text))
            pairs = [(IMPORTS, id) for id in inside]
            memories.append(instruction_memory(document, pairs, self.label, outside, missing))
        return Reading(tuple(memories), tuple(faults))


MEMORY_LIMIT = LoadLimit(
    lines=rules.LOADED_LINES,
    bytes=rules.LOADED_BYTES,
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
            yield loaded_whole(memory, note)
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
    for number, line in rules.counted_lines(text):
        offsets[number] = size
        parts.append(f"{line}\n")
        size += len(line) + 1
    counted = "".join(parts)
    if not text.endswith("\n"):
        counted = counted.removesuffix("\n")
    entries = []
    for memory in memories:
        lines = zip(memory.also, memory.extra.get(INDEX_LINES, ()), strict=False)
        for place, written in ((memory.origin, memory.content), *lines):
            first = place.line or 0
            if place.file == file and first in offsets:
                end = offsets.get(first + written.count("\n") + 1, len(counted))
                entries.append(LoadedEntry(memory.ref, offsets[first], min(end, len(counted))))
    entries.sort(key=lambda entry: entry.start)
    title = f"{entity}: {INDEX}"
    note = "frontmatter and comments do not count; the rest is not loaded"
    return LoadedText(
        title,
        counted,
        file,
        limit=MEMORY_LIMIT,
        entries=tuple(entries),
        note=note,
        lines=tuple(offsets),
        entity=entity,
    )


SUPPORT = FormatSupport(
    ClaudeCodeStore,
    transfer=TransferSupport(
        local_keys=("transcript",),
        convert=editing.convert,
    ),
    upkeep=rules.upkeep_rules(),
)
