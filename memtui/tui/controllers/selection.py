"""Which memories an act is about, and whether it can be done to them."""

from __future__ import annotations

from itertools import islice
from typing import TYPE_CHECKING

from memtui.changes import Act
from memtui.errors import MemtuiError
from memtui.model import Memory
from memtui.tui import actions, appearance, key_bindings

if TYPE_CHECKING:
    from memtui.library import Library
    from memtui.tui.screen_interface import ScreenInterface

LOOKED_AT = 200
"""Marked memories that are asked about before a key is shown; planning asks about all."""


class Selection:
    """The marked memories, or the one that is shown."""

    def __init__(self, screen: ScreenInterface) -> None:
        self._screen = screen
        self.subject: Memory | None = None
        """What acts are about while a screen lies over the list; None: what the list says."""

    @property
    def library(self) -> Library | None:
        return self._screen.worker.library

    def current(self) -> Memory | None:
        """The memory in the detail: the one under the cursor, or the one a reference led to."""
        return self.subject or self._screen.detail.memory

    def find(self, ref: str) -> Memory | None:
        """The memory with this ref; None if there is none."""
        try:
            return self.library.get(ref) if self.library is not None and ref else None
        except MemtuiError:
            return None

    def memories(self) -> list[Memory]:
        """What acts are about: the marked memories, else the current one."""
        marked = [] if self.subject else self._screen.marked_memories()
        current = self.current()
        return marked or ([current] if current is not None else [])

    def can_write(self) -> str:
        """Why nothing at all can be changed; empty when something can."""
        if self.library is None:
            return "the stores are still being opened"
        if self._screen.app.launch.state is None:
            return "this session only reads"
        return ""

    def all_read_only(self) -> str:
        """Why no store can be written; empty when one can."""
        stores = self.library.stores if self.library else []
        reasons = [store.read_only for store in stores]
        return reasons[0] if reasons and all(reasons) else ""

    def refusal(self, action_id: str) -> str:
        """Why this action cannot be done now; empty when it can, to at least one memory."""
        if why := self.can_write():
            return why
        if action_id == "edit" and len(self._screen.memories.marked) > 1:
            return ""  # the form says what cannot be changed
        if actions.BY_ID[action_id].single:
            current = self.current()
            memories = [current] if current is not None else []
        else:
            memories = self.some()
        if not memories:
            return "no memory is selected"
        if action_id == "merge" and len(memories) < 2:
            return "mark two or more memories to merge them"
        first = ""
        for memory in memories:
            reason = self.refused(action_id, memory)
            if not reason:
                return ""
            first = first or reason
        return first

    def some(self) -> list[Memory]:
        """As many of the memories as are asked about: marks may be on all of 100,000."""
        marked, library = self._screen.memories.marked, self.library
        if self.subject or not marked or library is None:
            return self.memories()
        return list(library.snapshot.rows.with_serials(islice(marked, LOOKED_AT)).values())

    def refused(self, action_id: str, memory: Memory) -> str:
        """Why this action cannot be done to this memory."""
        library = self.library
        if library is None:
            return "the stores are still being opened"
        act = self.act(action_id, memory)
        if action_id == "retire" and memory.status in appearance.INACTIVE_STATUSES:
            restore = key_bindings.hint("restore", self._screen.app.key_overrides)
            return f"it is {memory.status} already{restore}"
        return library.refusal(act, memory)

    def act(self, action_id: str, memory: Memory) -> Act:
        """What the action does to this memory."""
        if action_id == "retire":
            return self._retiring(memory)
        if action_id == "pin" and memory.pinned:
            return Act.UNPIN
        act = actions.BY_ID[action_id].act
        assert act is not None, f"{action_id} makes no change"
        return act

    def _retiring(self, memory: Memory) -> Act:
        """Retire; delete where the store has no other way."""
        library = self.library
        if library is None or not library.refusal(Act.RETIRE, memory):
            return Act.RETIRE
        return Act.RETIRE if library.refusal(Act.DELETE, memory) else Act.DELETE

    def able(self, action_id: str) -> tuple[list[Memory], str]:
        """The memories it can be done to, and why not to the others."""
        able, reason = [], ""
        for memory in self.memories():
            why = self.refused(action_id, memory)
            if why:
                reason = reason or why
            else:
                able.append(memory)
        return able, reason
