"""Qwen Code's memory as a store: the engine of Claude Code's with Qwen's folders and rules.

What differs: the type of a topic file stands at the top of its frontmatter and is one of four, or
Qwen passes the file over (scan.ts); the lines of the index are written again from `name` and
`description` (indexer.ts), so a title is changed in both; there are no instruction files here, as
QWEN.md is read by the store of a project's instructions.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from msgspec.structs import replace

from memtui.changes import Change, Plan
from memtui.errors import Refused
from memtui.model import Memory
from memtui.stores.base import LoadLimit, MemorySwitch, OpenStores, Unreadable
from memtui.stores.claude_code import (
    AUTO_MEMORY,
    QWEN,
    MemoryFolder,
    editing,
    folder_key,
    project_folders,
    rules,
    single_folder,
    with_parts,
)
from memtui.stores.claude_code.records import ClaudeContext
from memtui.stores.claude_code.store import MEMORY_LIMIT, ClaudeCodeStore
from memtui.stores.format import FormatSupport, TransferSupport
from memtui.stores.program_settings import find_switch, layered_files, system_folder
from memtui.stores.qwen import FOLDER, HOME, TEAM, USER, is_home
from memtui.stores.rescoping import find_open, move_to_entity

SETTINGS = "settings.json"
ENABLED, TEAM_ENABLED = "memory.enableManagedAutoMemory", "memory.enableTeamMemory"
"""On, and off, by default (QwenLM/qwen-code, packages/cli/src/config/config.ts and
docs/users/features/memory.md)."""
ENTITIES = {USER: "user", TEAM: "team"}
"""Name of a folder -> the entity of its memories."""


def key_of(path: str, file: str) -> str:
    """As `ClaudeCodeStore.folder_key`; the folder of the user is one too."""
    inner = path.removeprefix(f"{USER}/")
    if inner == path:
        return folder_key(path, file)
    key = folder_key(inner, file)
    return USER if key == "." else f"{USER}/{key}"


def _add(change: Change, context: ClaudeContext) -> Plan:
    """Add a topic file of a type that Qwen reads. Raises Refused."""
    type = change.fields.get("type")
    if type and type not in rules.TYPES:
        raise Refused("Qwen Code passes over other types", do=f"use {', '.join(rules.TYPES)}")
    return editing.plan_topic(change, context)


class QwenStore(ClaudeCodeStore):
    """One folder of settings, or one memory folder."""

    format = "qwen"
    acts = replace(editing.ACTS, add=_add, shard_of=editing.shards_by(key_of))
    limit = LoadLimit(
        lines=MEMORY_LIMIT.lines,
        units=MEMORY_LIMIT.units,
        source="Qwen Code: 200 lines or 25,000 UTF-16 units of MEMORY.md",
    )
    chats = "chats"
    has_older_topics = True
    has_worktrees = True
    is_index_generated = True

    def __init__(self, root: Path, label: str, **more: Any) -> None:
        super().__init__(root, label, **more)
        self._kind, self._name = (HOME, "") if is_home(root) else (FOLDER, root.name)

    def switch_in(self, project: Path | None) -> MemorySwitch:
        """Whether auto memory, or that of a team, is on in a project."""
        named = os.environ.get("QWEN_CODE_SYSTEM_SETTINGS_PATH")
        system = Path(named) if named else system_folder("qwen-code", "QwenCode") / SETTINGS
        home = self.root if self._kind == HOME else Path.home() / QWEN
        is_team = self._kind == FOLDER and self._name == TEAM
        own = self.root.parent if is_team else project and project / QWEN
        files = layered_files(system, home / SETTINGS, *([own / SETTINGS] if own else []))
        name, key = ("team memory", TEAM_ENABLED) if is_team else (AUTO_MEMORY, ENABLED)
        return find_switch(name, key, files, is_on_by_default=not is_team)

    def entity_folders(self) -> dict[str, MemoryFolder]:
        """Those that exist, and that of the user, which is made for the first memory."""
        found = super().entity_folders()
        if self._kind == HOME:
            found.setdefault(ENTITIES[USER], MemoryFolder(USER, self.root / USER, "", USER))
        return found

    def rescope(self, memory: Memory, project: str, library: OpenStores) -> Sequence[Change]:
        """To the memories of the user, whose index every session loads, or to a project's."""
        is_team = self._kind == FOLDER
        store = find_open(library, self.format, is_home, "~/.qwen").label if is_team else ""
        return move_to_entity(memory, project or ENTITIES[USER], store)

    def take_rules(self, other: Any) -> None:
        super().take_rules(other)
        self._kind, self._name = other._kind, other._name

    def memory_folders(self, faults: list[Unreadable]) -> Iterator[MemoryFolder]:
        if self._kind == FOLDER:
            yield from with_parts([single_folder(self.root, self._name)])
            return
        user = self.root / USER
        own = [MemoryFolder(USER, user, "", USER)] if user.is_dir() else []
        yield from with_parts([*own, *project_folders(self.root, faults)])

    def instruction_names(self, folders: list[MemoryFolder]) -> list[str]:  # noqa: ARG002
        return []

    def folder_key(self, path: str, file: str) -> str:
        return key_of(path, file)

    def owns_shard(self, key: str) -> bool:
        return super().owns_shard(key) or key.partition("/")[0] == USER

    def entity_of(self, folder: MemoryFolder) -> str:
        named = not folder.part and not folder.kind and ENTITIES.get(folder.name)
        return named or super().entity_of(folder)

    def loaded_by(self, folder: MemoryFolder) -> str:
        """The index of the user's memories is loaded in every session."""
        return "" if folder.key == USER else self.entity_of(folder)

    def place_facts(self) -> Mapping[str, Any]:
        return {"kind": self._kind, "entities": self.entities()}


SUPPORT = FormatSupport(
    QwenStore,
    transfer=TransferSupport(convert=editing.convert),
    upkeep=rules.upkeep_rules(),
)
