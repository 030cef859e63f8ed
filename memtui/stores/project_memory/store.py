"""Agents' memory in a project as a store: the engine of Claude Code's, without what that loads."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from memtui.stores.base import ReadTime, Store, Unreadable
from memtui.stores.claude_code import MemoryFolder, editing, rules, with_parts
from memtui.stores.claude_code.store import ClaudeCodeStore
from memtui.stores.format import FormatSupport, TransferSupport
from memtui.stores.project_memory import KIND


class ProjectMemoryStore(ClaudeCodeStore):
    """One folder of notes with its index."""

    format = "project-memory"
    limit = None
    rescope = Store.rescope

    def memory_folders(self, faults: list[Unreadable]) -> Iterator[MemoryFolder]:  # noqa: ARG002
        yield from with_parts([MemoryFolder(".", self.root, "", self.root.parents[1].name)])

    def switch_in(self, project: Path | None) -> None:  # noqa: ARG002
        """There is no setting for it: agents follow what their instructions say."""
        return

    def read_time(self, path: str) -> ReadTime:  # noqa: ARG002
        """The agents' own instructions say what they open, and when."""
        return ReadTime.OPENED

    def place_facts(self) -> Mapping[str, Any]:
        return {"kind": KIND}


SUPPORT = FormatSupport(
    ProjectMemoryStore,
    transfer=TransferSupport(convert=editing.convert),
    upkeep=rules.upkeep_rules(),
)
