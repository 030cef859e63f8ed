"""What planning a change of agent-memory starts from: its rules, and facts as they are now."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from memtui.changes import SidecarEdit
from memtui.files.reading import safe_join
from memtui.stores.agent_memory.fact_file import FactFile, open_facts
from memtui.stores.agent_memory.layout import ENTITIES, ITEMS, SUMMARY, shard_key
from memtui.stores.agent_memory.rules import Rules
from memtui.stores.desk import Desk
from memtui.stores.last_read import LastRead
from memtui.stores.sidecar import ids_in


@dataclass(frozen=True, slots=True)
class FactDesk(Desk):
    """One MEMORY_HOME, while one change is planned."""

    rules: Rules
    last: LastRead[FactFile] = field(repr=False)

    def open(self, slug: str) -> FactFile:
        """An entity's facts as they are now. Raises Refused."""
        folder = safe_join(self.root / ENTITIES, slug)
        files = (folder / ITEMS, folder / SUMMARY)
        return self.last.get(files, lambda: open_facts(self.root, slug, self.label), slug)

    def noted_fact(self, slug: str, id: str, **values: Any) -> tuple[SidecarEdit, ...]:
        """The edit that sets these keys of one fact's entry; none when it says so already."""
        return self.noted(id, shard_key(slug), **values)

    def succeeded(self, slug: str, id: str, by: str) -> tuple[SidecarEdit, ...]:
        """The edit that names one more successor of a fact."""
        known = ids_in(self.sidecar.entry(id), "superseded_by")
        return self.noted_fact(slug, id, superseded_by=list(dict.fromkeys([*known, by])))
