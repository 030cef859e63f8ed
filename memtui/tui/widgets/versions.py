"""Blocks of lines, one a version; the cursor steps from block to block."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from dataclasses import dataclass

from rich.segment import Segment
from rich.style import Style
from textual.message import Message
from textual.strip import Strip

from memtui import text
from memtui.tui.widgets.list_window import ListWindow


@dataclass(frozen=True, slots=True)
class Version:
    """One version of a memory, drawn."""

    ref: str
    """Empty: it is not here and cannot be chosen."""
    lines: tuple[Sequence[Segment], ...]


class VersionList(ListWindow):
    """The first line of each block can have the cursor."""

    class Chosen(Message):
        """A version was clicked twice."""

    def __init__(self) -> None:
        super().__init__()
        self._lines: list[tuple[Sequence[Segment], str]] = []

    def show(self, versions: Sequence[Version], here: int) -> None:
        """Show the blocks; stand on the one with this number."""
        self._lines = []
        cursor = 0
        for number, version in enumerate(versions):
            if self._lines:
                self._lines.append(((), ""))
            cursor = len(self._lines) if number == here else cursor
            for index, line in enumerate(version.lines):
                self._lines.append((line, version.ref if not index else ""))
        self.reset(cursor=cursor)

    @property
    def ref(self) -> str:
        return self._lines[self.cursor][1] if self.cursor < len(self._lines) else ""

    def line_count(self) -> int:
        return len(self._lines)

    def selectable(self, index: int) -> bool:
        return bool(self._lines[index][1])

    def draw_key(self, index: int) -> Hashable:
        return index

    def clicked(self, index: int, *, again: bool, double: bool) -> None:
        if double:
            self.post_message(self.Chosen())

    def draw(self, index: int, width: int, *, selected: bool) -> Strip:
        segments, _ = self._lines[index]
        ground = self.palette.cursor(focused=True) if selected else Style.null()
        drawn = [Segment("▌" if selected else " ", self.palette.accent + ground)]
        drawn += [Segment(s.text, (s.style or Style.null()) + ground) for s in segments]
        used = sum(text.width(segment.text) for segment in drawn)
        return Strip([*drawn, Segment(" " * max(0, width - used), ground)])
