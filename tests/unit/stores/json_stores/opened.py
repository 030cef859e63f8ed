"""A store opened for a test: all it says, and changes made the way the library makes them."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from memtui.changes import TEXTS, Act, Change, Edit, Plan, invert_edits
from memtui.errors import RefError
from memtui.files.save_hooks import NullRecorder
from memtui.model import Memory
from memtui.stores.agent_memory.store import AgentMemory
from memtui.stores.ambient.store import Ambient
from memtui.stores.base import Store, Unreadable

NOW = datetime(2026, 11, 20, 18, 30, tzinfo=UTC)
NOW_MS = 1_795_199_400_000
LABEL = "s"


@dataclass
class Opened:
    """One store and what was read of it last."""

    store: Store
    state: Path
    memories: list[Memory] = field(default_factory=list)
    unreadable: list[Unreadable] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.reload()

    def reload(self) -> None:
        scan = self.store.scan()
        self.memories, self.unreadable = [], list(scan.unreadable)
        for shard in scan.shards:
            reading = self.store.read(shard)
            self.memories += reading.memories
            self.unreadable += reading.unreadable

    def get(self, ref: str) -> Memory:
        for memory in self.memories:
            if memory.ref == ref:
                return memory
        raise RefError("no such memory", where=ref)

    def by_id(self, id: str) -> Memory:
        return self.get(f"{LABEL}:{id}")

    def of(self, store: str) -> Iterable[Memory]:
        return self.memories

    def in_state(self) -> dict[str, str]:
        """Status by id."""
        return {memory.id: memory.status for memory in self.memories}

    def plan(self, act: Act, id: str = "", /, *, force: bool = False, **fields: Any) -> Plan:
        ref = f"{LABEL}:{id}" if id else ""
        change = Change(act, LABEL, ref, fields, force)
        return self.store.plan(change, _View(self))

    def do(self, act: Act, id: str = "", /, *, force: bool = False, **fields: Any) -> Plan:
        plan = self.plan(act, id, force=force, **fields)
        self.store.apply(plan.edits, NullRecorder(self.state))
        self.reload()
        return plan

    def do_plan(self, plan: Plan) -> None:
        """Make a plan that was worked out before."""
        self.do_edits(plan.edits)

    def do_edits(self, edits: tuple[Edit, ...]) -> None:
        self.store.apply(edits, NullRecorder(self.state))
        self.reload()

    def do_all(self, changes: Sequence[Change]) -> Plan:
        """Several changes as one action, planned before any is made, a new file made once."""
        plans = [self.store.plan(change, _View(self)) for change in changes]
        edits: list[Edit] = []
        for plan in plans:
            edits += [e for e in plan.edits if not (e.kind in TEXTS and e in edits)]
        self.store.apply(edits, NullRecorder(self.state))
        self.reload()
        return Plan(tuple(changes), tuple(edits))

    def undo(self, plan: Plan) -> None:
        self.store.apply(invert_edits(plan.edits), NullRecorder(self.state))
        self.reload()


@dataclass
class _View:
    opened: Opened

    def get(self, ref: str) -> Memory:
        return self.opened.get(ref)

    def memories(self, store: str) -> Iterable[Memory]:
        return self.opened.memories


def open_agent_memory(root: Path) -> Opened:
    return Opened(AgentMemory(root, LABEL, lambda: NOW), root.parent.parent / "state")


def open_ambient(root: Path) -> Opened:
    return Opened(Ambient(root, LABEL, lambda: NOW), root.parent.parent.parent / "state")


def files_below(folder: Path) -> dict[str, bytes]:
    """Every file with its bytes: to see what a change, or looking, does to a store."""
    found = (path for path in folder.rglob("*") if path.is_file())
    return {str(path.relative_to(folder)): path.read_bytes() for path in found}
