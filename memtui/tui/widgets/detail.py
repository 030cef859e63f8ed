"""Detail pane: one whole memory, wrapped and scrollable, with references to follow."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Sequence
from datetime import datetime
from typing import TYPE_CHECKING, ClassVar

from rich.segment import Segment
from rich.style import Style
from textual.strip import Strip

from memtui import text
from memtui.model import Memory
from memtui.tui import key_bindings
from memtui.tui.layout import Pane
from memtui.tui.memory_detail import DetailLine, MemoryDetail, Reference
from memtui.tui.messages import RefChosen
from memtui.tui.widgets.list_window import ListWindow

if TYPE_CHECKING:
    from textual.binding import BindingType


class Detail(ListWindow):
    """Scrolls by line; at most a reference is selected."""

    BINDINGS: ClassVar[list[BindingType]] = [*key_bindings.bindings(Pane.DETAIL)]
    has_cursor = False

    def __init__(self, now: Callable[[], datetime]) -> None:
        super().__init__(id=Pane.DETAIL, title="3 Detail")
        self._now = now
        self._memory: Memory | None = None
        self._references: Sequence[Reference] = ()
        self._words: tuple[str, ...] = ()
        self._lines: list[DetailLine] = []
        self._laid_out_for = 0
        self._laid_out_ref = ""
        """Ref of the memory that the lines, scroll and selected reference belong to."""
        self._target = -1
        """Line of the selected reference; -1 = none."""
        self._is_behind = False
        """The lines are still those of the previous memory."""

    # Content

    def show(self, memory: Memory | None, words: tuple[str, ...], *, later: bool = False) -> None:
        """Show a memory; `show_references` adds its references later.

        Another memory starts at its top; a new version of the same one keeps scroll and references.

        Args:
            memory: The memory, or None.
            words: Search words to highlight.
            later: Draw it only when `catch_up` is called or its lines are needed.
        """
        if memory is self._memory and words == self._words:
            return
        if _ref(memory) != _ref(self._memory):
            self._references = ()
        self._memory, self._words = memory, words
        self._is_behind = True
        if not later:
            self.catch_up()

    def catch_up(self) -> None:
        """Lay out the memory set last, if that was deferred."""
        if self._is_behind:
            self._lay_out()

    def show_references(self, references: Sequence[Reference]) -> None:
        """Set the references of the shown memory."""
        if list(references) == list(self._references):
            return
        self._references = references
        self._lay_out()

    @property
    def memory(self) -> Memory | None:
        return self._memory

    @property
    def targets(self) -> int:
        self.catch_up()
        return sum(1 for line in self._lines if line.ref)

    def step_target(self, step: int) -> None:
        """Select the next reference (1) or the previous one (-1)."""
        self.catch_up()
        lines = [index for index, line in enumerate(self._lines) if line.ref]
        if not lines:
            return
        at = lines.index(self._target) + step if self._target in lines else (step < 0) * -1
        self._target = lines[at % len(lines)]
        if not self.top <= self._target < self.top + self.page:
            self.top = max(0, min(self._target - self.page // 2, len(self._lines) - self.page))
        self.redraw()

    def choose(self) -> None:
        """Follow the selected reference, or the only one."""
        self.catch_up()
        lines = [index for index, line in enumerate(self._lines) if line.ref]
        if self._target not in lines and len(lines) == 1:
            self._target = lines[0]
        if self._target in lines:
            self.post_message(RefChosen(self._lines[self._target].ref))
        elif lines:
            self.step_target(1)

    def _lay_out(self) -> None:
        width = self.size.width - 1
        chosen = self._lines[self._target].ref if self._target >= 0 else ""
        self._laid_out_for = width
        self._is_behind = False
        self._lines = []
        if self._memory is not None and width > 0:
            self._lines = MemoryDetail(
                self._memory,
                self._references,
                self._words,
                self.palette,
                self._now(),
                width,
                key_bindings.hint("source", self.app.key_overrides),
            ).lines()
        if _ref(self._memory) != self._laid_out_ref:
            self._laid_out_ref = _ref(self._memory)
            self.top, chosen = 0, ""
        same = [index for index, line in enumerate(self._lines) if chosen and line.ref == chosen]
        self._target = min(same, key=lambda index: abs(index - self._target), default=-1)
        self.top = max(0, min(self.top, len(self._lines) - self.page))
        self.redraw()

    # Drawing

    def line_count(self) -> int:
        return len(self._lines)

    def draw_key(self, index: int) -> Hashable:
        return index, index == self._target

    def draw(self, index: int, width: int, *, selected: bool) -> Strip:
        line = self._lines[index]
        if index != self._target:
            return Strip(line.segments)
        ground = self.palette.cursor(focused=self.has_focus)
        segments = [Segment(s.text, (s.style or Style.null()) + ground) for s in line.segments]
        segments[0] = Segment("▌", self.palette.accent + ground)
        used = sum(text.width(segment.text) for segment in segments)
        return Strip([*segments, Segment(" " * max(0, width - used), ground)])

    def draw_empty(self, y: int, width: int) -> Strip:
        if y:
            return Strip([])
        return Strip([Segment(text.cut(" no memory selected", width), self.palette.faint)])

    def clicked(self, index: int, *, again: bool, double: bool) -> None:
        if self._lines[index].ref:
            self._target = index
            self.redraw()
            self.choose()

    def recolour(self) -> None:
        self._lay_out()

    def on_resize(self) -> None:
        if self.size.width - 1 != self._laid_out_for:
            self._lay_out()


def _ref(memory: Memory | None) -> str:
    return memory.ref if memory is not None else ""
