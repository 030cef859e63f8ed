"""Files in which a program proposes a change of its memory, and waits for a person's answer.

Each is a memory with the status `proposed`. A declined one is removed, and the sidecar keeps it.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from msgspec import Struct
from msgspec.structs import replace

from memtui.changes import Act, Change, Edit, Plan, text_edit
from memtui.errors import Conflict
from memtui.model import Memory
from memtui.stores import listed_acts, listed_texts
from memtui.stores.listed_texts import ListContext
from memtui.stores.plans import SIDECAR_ACTS, plan_one
from memtui.stores.scanning import planned_text
from memtui.stores.sidecar import is_kept, kept_value
from memtui.stores.values import check_unchanged


class ProposedFiles(Struct, frozen=True):
    """How the acts of a store treat such memories."""

    key: str
    """Their type, and the key of `extra` that has the path of the file, relative to the root."""
    text_of: Callable[[Memory], str]
    """The text of the file as it was read."""

    def is_one(self, memory: Memory) -> bool:
        return memory.type == self.key and self.key in memory.extra

    def not_on(self, act: Act, memory: Memory) -> str:
        """Why an act cannot be done on a memory of the store; "" if it can."""
        if self.is_one(memory):
            if act in SIDECAR_ACTS:
                return ""
            if is_kept(memory):
                return (
                    "" if act in (Act.RESTORE, Act.DELETE) else "it is declined: restore it first"
                )
            decides = act in (Act.ACCEPT, Act.DECLINE)
            return "" if decides else f"it is a proposed {self.key}: accept or decline it"
        if act in (Act.ACCEPT, Act.DECLINE):
            return "it is no proposal"
        return listed_texts.not_on(act, memory)

    def shard_of(self, memory: Memory) -> str:
        path = str(memory.extra.get(self.key))
        return path if self.is_one(memory) else listed_texts.shard_of(memory)

    def read(self, memory: Memory, context: ListContext) -> str:
        """The text of the file now. Raises Conflict if it is gone or another one."""
        path = Path(memory.origin.file)
        text = planned_text(path, context.root, context.view)
        if text is None:
            raise Conflict(f"the {self.key} is gone", where=str(path))
        check_unchanged(replace(memory, content=self.text_of(memory)), text, str(path), None)
        return text

    def decline(self, change: Change, memory: Memory, context: ListContext) -> Plan:
        """Remove the file; the sidecar stores it."""
        text = self.read(memory, context)
        former = replace(memory, status="retired", pinned=False)
        edits: tuple[Edit, ...] = (text_edit(memory.origin.file, text, None),)
        edits += context.sidecar_entry(memory).set(kept=kept_value(former))
        plan = plan_one(change, memory, edits)
        reason = "removed from what waits, kept by memtui"
        return replace(plan, supersedes=(memory.ref,), reason=reason)

    def restore(self, change: Change, memory: Memory, context: ListContext) -> Plan:
        """Put a declined one back."""
        if not self.is_one(memory):
            return listed_acts.plan_restore(change, memory, context)
        edits: tuple[Edit, ...] = (text_edit(memory.origin.file, None, self.text_of(memory)),)
        return plan_one(change, memory, edits + context.sidecar_entry(memory).set(kept=None))
