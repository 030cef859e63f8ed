"""The memories that an action applies to, and whether it is possible for them."""

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
        """Return the memory in the detail: under the cursor, or reached by a reference."""
        return self.subject or self._screen.detail.memory

    def find(self, ref: str) -> Memory | None:
        """Return the memory with this ref; None if there is none."""
        try:
            return self.library.get(ref) if self.library is not None and ref else None
        except MemtuiError:
            return None

    def memories(self) -> list[Memory]:
        """Return the marked memories, else the current one."""
        marked = [] if self.subject else self._screen.marked_memories()
        current = self.current()
        return marked or ([current] if current is not None else [])

    def can_write(self) -> str:
        """Return why nothing at all can be changed; empty if something can."""
        if self.library is None:
            return "the stores are still being opened"
        if self._screen.app.launch.state is None:
            return "this session only reads"
        return ""

    def all_read_only(self) -> str:
        """Return why no store can be written; empty if one can."""
        stores = self.library.stores if self.library else []
        reasons = [store.read_only for store in stores]
        return reasons[0] if reasons and all(reasons) else ""

    def refusal(self, action_id: str) -> str:
        """Return why the action is possible for none of the memories; empty if it is for one."""
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
        """Return the first memories, for a quick check: 100,000 may be marked."""
        marked, library = self._screen.memories.marked, self.library
        if self.subject or not marked or library is None:
            return self.memories()
        return list(library.snapshot.rows.with_serials(islice(marked, LOOKED_AT)).values())

    def refused(self, action_id: str, memory: Memory) -> str:
        """Return why this action is not possible for this memory."""
        library = self.library
        if library is None:
            return "the stores are still being opened"
        act = self.act(action_id, memory)
        if action_id == "retire" and memory.status in appearance.INACTIVE_STATUSES:
            restore = key_bindings.hint("restore", self._screen.app.key_overrides)
            return f"it is {memory.status} already{restore}"
        return library.refusal(act, memory)

    def act(self, action_id: str, memory: Memory) -> Act:
        """Return the act that the action performs on this memory."""
        if action_id == "retire":
            return self._retiring_act(memory)
        if action_id == "pin" and memory.pinned:
            return Act.UNPIN
        act = actions.BY_ID[action_id].act
        assert act is not None, f"{action_id} makes no change"
        return act

    def _retiring_act(self, memory: Memory) -> Act:
        """Return the act that retires a memory, DELETE if the store cannot retire."""
        library = self.library
        if library is None or not library.refusal(Act.RETIRE, memory):
            return Act.RETIRE
        return Act.RETIRE if library.refusal(Act.DELETE, memory) else Act.DELETE

    def able(self, action_id: str) -> tuple[list[Memory], str]:
        """Return the memories that the action is possible for, and why not for the others."""
        able, reason = [], ""
        for memory in self.memories():
            why = self.refused(action_id, memory)
            if why:
                reason = reason or why
            else:
                able.append(memory)
        return able, reason
