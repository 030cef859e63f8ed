"""Qwen Code's memory as a store: the engine of Claude Code's with Qwen's folders and rules.

What differs: the type of a topic file stands at the top of its frontmatter and is one of four, or
Qwen passes the file over (scan.ts); the lines of the index are written again from `name` and
`description` (indexer.ts), so a title is changed in both; there are no instruction files here, as
QWEN.md is read by the store of a project's instructions.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from msgspec.structs import replace

from memtui.changes import Change, Plan
from memtui.errors import Refused
from memtui.stores.base import LoadLimit, Unreadable
from memtui.stores.claude_code import (
    MemoryFolder,
    editing,
    folder_key,
    project_folders,
    rules,
    with_parts,
)
from memtui.stores.claude_code.records import ClaudeContext
from memtui.stores.claude_code.store import MEMORY_LIMIT, ClaudeCodeStore
from memtui.stores.format import FormatSupport, TransferSupport
from memtui.stores.qwen import FOLDER, HOME, TEAM, USER, is_home

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

    def take_rules(self, other: Any) -> None:
        super().take_rules(other)
        self._kind, self._name = other._kind, other._name

    def memory_folders(self, faults: list[Unreadable]) -> Iterator[MemoryFolder]:
        if self._kind == FOLDER:
            yield from with_parts([MemoryFolder(".", self.root, "", self._name)])
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
