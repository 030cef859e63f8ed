"""The memories of Claude Code as a store: one shard for each memory folder, one for instructions.

The files of a folder are read together: the index says which topic files are found at all, and
topic files link to each other.

When a session starts, Claude Code loads instruction files and the head of MEMORY.md.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from datetime import datetime
from pathlib import Path
from typing import Any, ClassVar

from msgspec.structs import replace

from memtui.changes import Act, Change
from memtui.errors import AlreadyThere, RefError, UnreadableFile
from memtui.files.reading import (
    file_stamp,
    read_text_file,
)
from memtui.model import PROJECT_PATH, Memory
from memtui.stores.base import (
    NO_LIMIT,
    LoadedEntry,
    LoadedText,
    LoadLimit,
    MemorySwitch,
    OpenStores,
    Reading,
    ReadTime,
    Remark,
    Shard,
    StoreView,
    Unreadable,
    loaded_whole,
)
from memtui.stores.claude_code import (
    ALSO_READ,
    CONFIG,
    DIRECTORY,
    IN_CONFIG,
    INDEX,
    INSTRUCTIONS,
    PROJECT,
    MemoryFolder,
    ProjectPaths,
    auto_memory_switch,
    config_folder,
    directory_instead,
    editing,
    folder_key,
    instruction_names,
    kind_of,
    main_worktree,
    markdown_files,
    memory_folders,
    project_config,
    rules,
)
from memtui.stores.claude_code.records import (
    IMPORTS,
    INDEX_LINES,
    LOADED,
    ClaudeContext,
    IndexFile,
    folder_memories,
    instruction_memory,
    read_folder,
)
from memtui.stores.format import FormatSupport, TransferSupport
from memtui.stores.markdown.documents import parse_document
from memtui.stores.markdown.items import MarkdownListStore, parse_items, remove_item
from memtui.stores.rescoping import appended, find_open, move_to_entity
from memtui.stores.scanning import FoundShard, LastRead, read_texts, time_of_change
from memtui.stores.sidecar import Sidecar
from memtui.stores.values import utc_now

SHARED_BY, WORKTREE_OF = "shared_by", "worktree_of"
"""Keys of `extra`: the folders that share the store, the repository of a worktree."""
PART = " · "
"""In the entity of a folder with an index of its own, before its name."""


MEMORY_LIMIT = LoadLimit(
    lines=rules.LOADED_LINES,
    units=rules.LOADED_UNITS,
    source="Claude Code: 200 lines or 25,000 UTF-16 units of MEMORY.md, whichever comes first",
)


class ClaudeCodeStore(MarkdownListStore):
    """One folder of settings, one project, or one memory folder."""

    format = "claude-code"
    acts = editing.ACTS
    context = ClaudeContext
    rescans = True  # a file may have come to a folder, or an import to a file
    limit: ClassVar[LoadLimit | None] = MEMORY_LIMIT
    """How much of an index a session loads; None where that is not known."""
    chats: ClassVar[str] = ""
    """The folder of a project's transcripts, beside its memory folder."""
    has_older_topics: ClassVar[bool] = False
    """Whether new topic files have their type at the top, whatever the others have."""
    has_worktrees: ClassVar[bool] = False
    """Whether each worktree of a repository has a memory of its own."""
    is_index_generated: ClassVar[bool] = False
    """Whether the program writes the lines of the index again from name and description."""

    def __init__(self, root: Path, label: str, now: Callable[[], datetime] = utc_now) -> None:
        super().__init__(root, label, now)
        self._paths = ProjectPaths(project_config(root) or root, self.chats)
        self._folders: dict[str, MemoryFolder] = {}
        """The memory folders of the last scan by the key of their shard: to read one, the others
        are not listed again."""
        self._imports: dict[str, LastRead[list[str]]] = {}

    def take_rules(self, other: ClaudeCodeStore) -> None:
        """Copy the path and rule settings of `other` (used for partial copies)."""
        self._paths = other._paths

    def memory_folders(self, faults: list[Unreadable]) -> Iterator[MemoryFolder]:
        """The memory folders by name; folders that cannot be listed go to `faults`."""
        return memory_folders(self.root, faults)

    def instruction_names(self, folders: list[MemoryFolder]) -> list[str]:
        """The instruction files that are read at every start, relative to the root."""
        return instruction_names(self.root, folders)

    def folder_key(self, path: str, file: str) -> str:
        """The key of the memory folder of a file: its path from the root, and the absolute one."""
        return folder_key(path, file)

    def entity_folders(self) -> dict[str, MemoryFolder]:
        """The memory folder of each entity."""
        return {self.entity_of(each): each for each in self.memory_folders([])}

    def list_files(self, faults: list[Unreadable]) -> list[str]:
        return [folder.key for folder in self.memory_folders(faults)]

    def file_of(self, key: str) -> Path:
        return self.root / ("" if key == "." else key) / INDEX

    def owns_shard(self, key: str) -> bool:
        """Its shards are folders; files are instructions, which another store reads."""
        return (
            os.path.basename(key) in (INSTRUCTIONS, "memory", ".")
            or "agent-memory" in key
            or os.path.dirname(key).endswith("/memory")
        )

    def is_cut_off(self, key: str, text: str) -> bool:  # noqa: ARG002
        return False  # an index without a line is one that nothing was written to yet

    def parse(self, key: str, path: Path, text: str | None, sidecar: Sidecar) -> IndexFile:
        return IndexFile(key, path, text, sidecar, "# Memory")

    def find_shards(self) -> Iterator[FoundShard | Unreadable]:
        """A shard for the instructions, then one for each memory folder with files."""
        faults: list[Unreadable] = []
        folders = list(self.memory_folders(faults))
        self._folders = {folder.key: folder for folder in folders}
        if instructions := self._instructions(folders):
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
            folder = next((f for f in self.memory_folders([]) if f.key == shard.key), None)
        if folder is None or not os.path.isdir(folder.path):
            missing = (Unreadable(name, "its folder is gone", gone=True) for name in shard.files)
            return Reading((), tuple(missing))
        entity, is_limited = self.entity_of(folder), self.limit is not None
        records = read_folder(folder, shard.files, entity, self.root, sidecar, is_limited)
        memories = tuple(folder_memories(records, self.label))
        if folder.kind == "project" and (told := self._about(folder.name)):
            memories = tuple(replace(each, extra={**each.extra, **told}) for each in memories)
        return Reading(memories, tuple(records.unreadable))

    def _about(self, slug: str) -> dict[str, Any]:
        """What `extra` of every memory says of its project."""
        paths, path = self._paths.all_of(slug), self._paths.recorded(slug)
        told: dict[str, Any] = {PROJECT_PATH: path} if path.startswith("/") else {}
        told |= {SHARED_BY: list(paths)} if len(paths) > 1 else {}
        return told | ({WORKTREE_OF: main} if (main := self._main_worktree(slug)) else {})

    def _main_worktree(self, slug: str) -> str:
        """The repository whose store Claude Code loads instead of that of its worktree."""
        path = "" if self.has_worktrees else self._paths.of(slug)
        return main_worktree(path) if path else ""

    def _relocated(self, folder: MemoryFolder) -> tuple[Path, Path] | None:
        """The memory folder that Claude Code loads instead of this one, and the settings that name
        it; None if it loads this one."""
        config = project_config(folder.path)
        is_default = self.format == ClaudeCodeStore.format and folder.kind == "project"
        if config is None or not is_default:
            return None
        found = directory_instead(config, self._paths.of(folder.name))
        is_this = found and os.path.realpath(found[0]) == os.path.realpath(folder.path)
        return None if is_this else found

    def _is_loaded(self, folder: MemoryFolder) -> bool:
        """Whether any session loads the index of a folder."""
        is_project = folder.kind == "project"
        path = self._paths.of(folder.name) if is_project else ""
        if is_project and (self._main_worktree(folder.name) or self._relocated(folder)):
            return False
        own = self.root if kind_of(self.root) == PROJECT else None
        switch = self.switch_in(Path(path) if path else own)
        return switch is None or switch.is_on

    def switch_in(self, project: Path | None) -> MemorySwitch | None:
        """Whether auto memory is on in a project; None: where no project has a say."""
        is_config = kind_of(self.root) == CONFIG
        config = self.root if is_config else config_folder(Path.home(), os.environ)
        return auto_memory_switch(config, project, os.environ)

    def memory_switches(self) -> Sequence[MemorySwitch]:
        """Whether auto memory is on, and the projects in which that is otherwise."""
        folders = self.memory_folders([])
        paths = {self._paths.of(each.name) if each.kind == "project" else "" for each in folders}
        own = self.switch_in(self.root if kind_of(self.root) == PROJECT else None)
        projects = ((path, self.switch_in(Path(path))) for path in sorted(paths - {""}))
        others = [each._replace(name=f"{each.name} in {path}") for path, each in projects if each]
        differing = [each for each in others if own is not None and each.is_on != own.is_on]
        return [own, *differing] if own is not None and paths else []

    def parts_of(self, memory: Memory) -> Sequence[str]:
        """The items and paragraphs of a file of instructions."""
        is_page = memory.entity == INSTRUCTIONS
        return [each.text for each in parse_items(memory.content)] if is_page else ()

    def rescope(self, memory: Memory, project: str, library: OpenStores) -> Sequence[Change]:
        """To the CLAUDE.md of the user, which every session loads, or to another project."""
        taken = Change(Act.DELETE, memory.store, memory.ref)
        if memory.entity == INSTRUCTIONS:
            if not project:
                raise AlreadyThere("every session loads it already", where=memory.ref)
            whole = library.get(memory.ref).content
            item = next(each for each in parse_items(whole) if each.text == memory.content)
            rest = {"content": remove_item(whole, item)}
            taken = Change(Act.EDIT, memory.store, memory.ref, rest)
            memory = replace(memory, type="", tags=())  # those of the file
        if project:
            return (move_to_entity(memory, project)[0], taken)
        user = find_open(library, self.format, lambda root: kind_of(root) == CONFIG, "~/.claude")
        label, name = user.label, IN_CONFIG[0]
        try:
            page = library.get(f"{label}:{name}")
        except RefError:
            fields = {"id": name, "entity": INSTRUCTIONS, "document": appended("", memory.content)}
            change = Change(Act.ADD, label, "", fields)
        else:
            text = {"content": appended(page.content, memory.content)}
            change = Change(Act.EDIT, label, page.ref, text)
        return (change, taken)

    def remarks(self) -> Sequence[Remark]:
        """Stores that two folders share, and those that no session loads: of worktrees, and where
        the settings name another folder; and what is not imported for a mark behind its name."""
        folders = list(self.memory_folders([]))
        found = list(rules.missed_imports(self.root, self._instructions(folders)))
        for folder in folders:
            paths = self._paths.all_of(folder.name) if folder.kind == "project" else ()
            if folder.part:
                continue
            if instead := self._relocated(folder):
                why = f"no session loads it: {DIRECTORY} in {instead[1]} names {instead[0]}"
                found.append(Remark(str(folder.path), why))
            elif not paths:
                continue
            elif len(paths) > 1:
                listed = f"{len(paths)} folders share this store: {', '.join(paths)}"
                found.append(Remark(str(folder.path), listed))
            elif main := self._main_worktree(folder.name):
                why = f"no session loads it any more: {paths[0]} is a worktree of {main}, "
                why += "whose store is loaded; copy its memories there"
                found.append(Remark(str(folder.path), why))
        return found

    def read_time(self, path: str) -> ReadTime:
        """Instruction files and MEMORY.md are loaded when a session starts, and a running one keeps
        them; topic files are read on demand (formats page of Claude Code, layout and limit)."""
        key, name = self.folder_key(path, str(self.root / path)), path.rpartition("/")[2]
        in_folder = any(each.key == key for each in self.memory_folders([]))
        is_topic = in_folder and name != INDEX and path not in self.instruction_names([])
        return ReadTime.OPENED if is_topic else ReadTime.NEXT_SESSION

    def as_loaded(self, path: str, text: str) -> LoadedText | None:
        """The head of a MEMORY.md."""
        is_index = path.rpartition("/")[2] == INDEX
        return self._index_text("", path, text, ()) if is_index and self.limit else None

    def session_start(self, view: StoreView, entity: str, now: datetime) -> Sequence[LoadedText]:  # noqa: ARG002
        """The instruction files, and MEMORY.md of this entity or of every folder."""
        memories = list(view.memories(self.label))
        return tuple(self._loaded_texts(memories, entity)) if self.limit else ()

    def _loaded_texts(self, memories: Sequence[Memory], entity: str) -> Iterator[LoadedText]:
        """The texts in the order in which they are loaded.

        Args:
            memories: of the store, as they were last read.
            entity: of the session; empty: the index of every folder.
        """
        for memory in memories:
            if memory.entity == INSTRUCTIONS and memory.extra.get(LOADED):
                note = "instruction files and their imports are read whole at every start"
                yield loaded_whole(memory, note)
        for folder in self.memory_folders([]):
            name = self.loaded_by(folder)
            if (entity in ("", name) or not name) and self._is_loaded(folder):
                try:
                    text = read_text_file(folder.path / INDEX, self.root)
                except UnreadableFile:
                    continue
                yield self._index_text(name, str(folder.path / INDEX), text, memories)

    def loaded_by(self, folder: MemoryFolder) -> str:
        """The entity whose sessions load the index of a folder; "": every session."""
        return self.entity_of(folder)

    def _index_text(
        self, entity: str, file: str, text: str, memories: Sequence[Memory]
    ) -> LoadedText:
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
        title = f"{entity}: {INDEX}" if entity else INDEX
        note = "frontmatter and comments do not count; the rest is not loaded"
        return LoadedText(
            title,
            counted,
            file,
            limit=self.limit or NO_LIMIT,
            entries=tuple(entries),
            note=note,
            lines=tuple(offsets),
            entity=entity,
        )

    def place_facts(self) -> Mapping[str, Any]:
        """Which kind of folder it is, and the projects, which the transcripts beside them tell."""
        kind = kind_of(self.root)
        if not kind:
            return {}
        entities = self.entities()
        paths = {slug: path for slug in entities if (path := self._paths.recorded(slug))}
        return {"kind": kind, "entities": entities, **({"paths": paths} if paths else {})}

    @property
    def projects(self) -> Mapping[str, tuple[str, ...]]:
        return dict.fromkeys(self.entity_folders(), ())

    def entities(self) -> dict[str, str]:
        """The entity of each project by its slug."""
        folders = self.memory_folders([])
        own = (each for each in folders if each.kind == "project" and not each.part)
        return {each.name: self.entity_of(each) for each in own}

    def entity_levels(self, entity: str) -> tuple[str, ...]:
        """A project by the last part of its path; the path of an agent."""
        if entity.startswith(("agents/", "agents-local/")):
            return tuple(entity.split("/"))
        whole, divider, part = entity.partition(PART)
        return (self._paths.short(whole), part) if divider else (self._paths.short(entity),)

    def entity_of(self, folder: MemoryFolder) -> str:
        if folder.part:
            return f"{self.entity_of(replace(folder, part=''))}{PART}{folder.part}"
        if folder.kind == "project":
            return self._paths.entity(folder.name)
        if folder.kind == "agent":
            local = "-local" if "agent-memory-local/" in folder.key else ""
            return f"agents{local}/{folder.name}"
        return "memory"

    # ---- instruction files --------------------------------------------------------------------

    def _instructions(self, folders: list[MemoryFolder]) -> list[str]:
        """The instruction files and what they import inside the store, relative to the root."""
        names = self.instruction_names(folders)
        return rules.follow_imports(
            names, lambda name: self._split(name, self._imports_of(name))[0]
        )

    def _imports_of(self, name: str) -> list[str]:
        """The imports of a file, read again when it changed."""
        path = self.root / name

        def read() -> list[str]:
            try:
                return rules.imports_in(read_text_file(path, self.root))
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
            elif relative == ALSO_READ or (
                relative.startswith("..") or path.endswith((".jsonl", ".json"))
            ):
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


SUPPORT = FormatSupport(
    ClaudeCodeStore,
    transfer=TransferSupport(
        local_keys=("transcript",),
        convert=editing.convert,
    ),
    upkeep=rules.upkeep_rules(),
)
