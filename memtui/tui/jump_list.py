"""The jump list: the memories that were shown, to go back and forward among them."""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import dataclass

MOST_JUMPS = 200


@dataclass(frozen=True, slots=True)
class Jump:
    """A memory that was shown."""

    ref: str
    trail: tuple[str, ...] = ()
    """Headlines of the memories that references were followed from to reach it."""


class JumpList:
    """Steps from one row to the next make one entry; every other move makes a new one."""

    def __init__(self) -> None:
        self._jumps: list[Jump] = []
        self._at = -1
        self._where: Hashable = None
        self._index = -1

    @property
    def current(self) -> Jump | None:
        return self._jumps[self._at] if self._at >= 0 else None

    @property
    def can_go_back(self) -> bool:
        return self._at > 0

    @property
    def can_go_forward(self) -> bool:
        return self._at < len(self._jumps) - 1

    def visit(self, ref: str, where: Hashable, index: int, *, is_typing: bool = False) -> None:
        """Note the memory under the list's cursor.

        Args:
            ref: The memory.
            where: What the list shows; another list makes a new entry.
            index: The row.
            is_typing: The list changes with every letter: what it shows meanwhile is one entry.
        """
        if is_typing:
            where = True
        is_step = where == self._where and (is_typing or abs(index - self._index) <= 1)
        self._where, self._index = where, index
        if self.current is not None and self.current.ref == ref:
            return
        if is_step and self._jumps and not self._jumps[self._at].trail:
            self._jumps[self._at] = Jump(ref)
        else:
            self._add(Jump(ref))

    def follow(self, ref: str, headline: str) -> None:
        """Note that a reference was followed from the current memory, which has this headline."""
        trail = self.current.trail if self.current else ()
        self._add(Jump(ref, (*trail, headline)))

    def _add(self, jump: Jump) -> None:
        self._jumps = [*self._jumps[: self._at + 1], jump][-MOST_JUMPS:]
        self._at = len(self._jumps) - 1

    def go(self, step: int) -> Jump | None:
        """Go back (-1) or forward (1); None at the end of the list."""
        if not 0 <= self._at + step < len(self._jumps):
            return None
        self._at += step
        return self._jumps[self._at]
