"""The list of memories: a window over slot numbers, whatever their number."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Mapping, Sequence
from datetime import datetime
from typing import TYPE_CHECKING, ClassVar

from rich.segment import Segment
from rich.style import Style
from textual.content import Content
from textual.strip import Strip

from memtui import text
from memtui.model import Memory
from memtui.tui import glyphs, key_bindings
from memtui.tui.colours import marked_segments
from memtui.tui.cursor_restore import CursorPosition, followed
from memtui.tui.layout import Pane
from memtui.tui.messages import MemoryShown
from memtui.tui.widgets.list_window import ListWindow

if TYPE_CHECKING:
    from textual.binding import BindingType

    from memtui.library.snapshot import Rows

TYPE_WIDTH = 12
TYPE_MIN = 8
ENTITY_FROM = 62
"""Columns from which a row has room for its entity."""
TYPE_FROM = 46
TIME_WIDTH = 4
LOOKED_THROUGH = 500
"""Rows that are decoded to find the one where the last session ended."""
HEADLINE_READ = 400
"""Characters of a headline that are looked at: more than any row can show."""


class MemoryList(ListWindow):
    """One row a memory: marks, age, type, headline, entity."""

    BINDINGS: ClassVar[list[BindingType]] = [*key_bindings.bindings(Pane.MEMORIES)]

    def __init__(self, now: Callable[[], datetime]) -> None:
        super().__init__(id=Pane.MEMORIES, title="2 Memories")
        self._now = now
        self._rows: Rows
        self._slots: Sequence[int] = ()
        self._words: tuple[str, ...] = ()
        self._type_width = TYPE_WIDTH
        self._empty: tuple[str, ...] = ()
        self.marked: set[int] = set()
        """Serials of rows, which later lists share; slots they may not."""
        self.fresh: set[int] = set()
        """Serials too."""
        self.is_chosen = False
        """The person wants the memory under the cursor: it stays there while the list changes."""

    # Values in

    def show(
        self,
        rows: Rows,
        slots: Sequence[int],
        words: tuple[str, ...],
        *,
        cursor: int = 0,
        top: int = 0,
        type_width: int = TYPE_WIDTH,
    ) -> None:
        """Show these memories; costs the same for ten and for a million."""
        self._rows, self._slots, self._words = rows, slots, words
        self._type_width = type_width
        self.reset(cursor=cursor, top=top)
        self._tell()

    def explain(self, *lines: str) -> None:
        """What to say where there is nothing to show."""
        self._empty = lines
        if not self.line_count():
            self.redraw()

    @property
    def slot(self) -> int:
        """Slot under the cursor; -1 where there is none."""
        return int(self._slots[self.cursor]) if 0 <= self.cursor < len(self._slots) else -1

    @property
    def serial(self) -> int:
        """Serial of the row under the cursor; -1 where there is none."""
        slot = self.slot
        return self._rows.serial(slot) if slot >= 0 else -1

    @property
    def memory(self) -> Memory | None:
        slot = self.slot
        return self._rows[slot] if slot >= 0 else None

    @property
    def stand(self) -> CursorPosition:
        """Where the cursor stands, to find it again in another list."""
        return CursorPosition(self.serial, self.memory, self.cursor, self.top)

    @property
    def slots(self) -> Sequence[int]:
        return self._slots

    def toggle_mark(self) -> None:
        """Mark the memory under the cursor, or unmark it, and go on to the next."""
        if self.slot >= 0:
            self.marked ^= {self.serial}
            self.is_chosen = True
            self.redraw()
            self.go(self.cursor + 1)
            self._tell_place()

    def mark_all(self) -> None:
        """Mark all that are shown; when they are, none."""
        shown = {self._rows.serial(slot) for slot in self._slots}
        self.marked = set() if shown <= self.marked else self.marked | shown
        self.redraw()
        self._tell_place()

    def follow(self, again: Mapping[int, int]) -> None:
        """Keep marks on memories that were read again; see `RowsChanged.again`."""
        self.marked = followed(self.marked, again)
        self.fresh = followed(self.fresh, again)

    def unmark(self) -> None:
        """Take all marks away."""
        self.marked = set()
        self.redraw()
        self._tell_place()

    def go_to(self, ref: str) -> bool:
        """Stand on the memory with this ref, if it is among the first; False when not."""
        for index in range(min(len(self._slots), LOOKED_THROUGH)):
            if self._rows[self._slots[index]].ref == ref:
                self.is_chosen = True
                self.go(index)
                return True
        return False

    def looked_at(self) -> None:
        """The memory under the cursor is no longer new."""
        self.fresh.discard(self.serial)
        self.redraw()

    def next_fresh(self) -> bool:
        """Go to the next memory that is new; False when the shown ones hold none."""
        count = len(self._slots)
        for step in range(1, count + 1):
            index = (self.cursor + step) % count
            if self._rows.serial(self._slots[index]) in self.fresh:
                self.go(index)
                return True
        return False

    # Window

    def line_count(self) -> int:
        return len(self._slots)

    def draw_key(self, index: int) -> Hashable:
        slot = int(self._slots[index])
        serial = self._rows.serial(slot)
        return slot, serial in self.marked, serial in self.fresh

    def cursor_moved(self) -> None:
        self.is_chosen = True
        self._tell()

    def clicked(self, index: int, *, again: bool, double: bool) -> None:
        if double:
            self.call_later(self.run_action, "screen.act('open')")

    def _tell(self) -> None:
        self._tell_place()
        # To the screen itself: through every pane around it, it would come a frame later.
        self.screen.post_message(MemoryShown(self.slot))

    def _tell_place(self) -> None:
        count = len(self._slots)
        marks = f"{text.number(len(self.marked))} marked · " if self.marked else ""
        place = f"{text.number(self.cursor + 1)} of {text.number(count)}" if count else ""
        self.say_below(Content(marks + place))

    def draw(self, index: int, width: int, *, selected: bool) -> Strip:
        slot = int(self._slots[index])
        memory = self._rows[slot]
        palette = self.palette
        ground = palette.cursor(focused=self.has_focus) if selected else Style.null()
        quiet = memory.status in glyphs.QUIET
        strong = palette.faint if quiet else palette.text
        cells: list[Segment] = []

        def put(words: str, style: Style) -> None:
            cells.append(Segment(words, style + ground))

        put("▌" if selected else " ", palette.accent if self.has_focus else palette.faint)
        serial = self._rows.serial(slot)
        if serial in self.marked:
            put(glyphs.MARKED, palette.marked)
        elif serial in self.fresh:
            put(glyphs.FRESH, palette.fresh)
        else:
            put(" ", palette.faint)
        plain = memory.importance != "high"  # what is usual stays in the background
        sign = palette.faint if plain or quiet else palette.importance(memory.importance)
        put(glyphs.IMPORTANCE.get(memory.importance, " "), sign)
        if memory.status == "active" and memory.pinned:
            put(glyphs.PINNED, palette.pin)
        else:
            put(glyphs.STATUS.get(memory.status, " "), palette.status(memory.status))
        age = text.cut(text.short_ago(memory.when, self._now()), TIME_WIDTH)
        put(f" {age:>{TIME_WIDTH}} ", palette.dim)
        room = width - 10
        if width >= TYPE_FROM:
            kind = text.one_line(memory.type or memory.kind)
            style = palette.type(memory.type) if memory.type else palette.faint
            type_width = min(self._type_width, max(TYPE_MIN, width // 6))
            put(text.pad(kind, type_width) + "  ", palette.faint if quiet else style)
            room -= type_width + 2
        entity = ""
        if width >= ENTITY_FROM and memory.entity:
            entity = text.cut(text.one_line(memory.entity), max(10, min(24, width // 4)))
            room -= text.width(entity) + 2
        headline = text.cut(text.one_line(memory.headline[:HEADLINE_READ]), max(1, room))
        cells.extend(
            marked_segments(headline, self._words, strong + ground, palette.match + ground)
        )
        gap = max(0, room - text.width(headline))
        if entity:
            put(" " * (gap + 2), ground)
            put(entity, palette.faint)
        elif selected:
            put(" " * gap, ground)
        return Strip(cells)

    def draw_empty(self, y: int, width: int) -> Strip:
        first = max(0, (self.size.height - len(self._empty)) // 2 - 1)
        if not first <= y < first + len(self._empty):
            return Strip.blank(width)
        line = text.cut(text.visible(self._empty[y - first]), width)
        style = self.palette.text if y == first else self.palette.dim
        left = max(0, (width - text.width(line)) // 2)
        return Strip([Segment(" " * left), Segment(line, style)])
