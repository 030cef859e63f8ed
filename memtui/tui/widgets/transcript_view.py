"""A window over the messages of a session, with a cursor that moves line by line."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Sequence

from rich.segment import Segment
from textual.message import Message as TextualMessage
from textual.strip import Strip

from memtui import text
from memtui.sessions import Message
from memtui.tui.transcript_lines import Entry, HeadLine, Transcript, TranscriptLines
from memtui.tui.widgets.list_window import ListWindow


class TranscriptView(ListWindow):
    """Messages with time and role; what tools did is folded to one line each."""

    ALLOW_SELECT = True

    class Moved(TextualMessage):
        """The cursor is on another line."""

    def __init__(self, agent: str) -> None:
        super().__init__(id="transcript")
        self.transcript = Transcript()
        self._agent = agent
        self._head: Sequence[HeadLine] = ()
        self._lines: TranscriptLines | None = None
        self._laid_out_for = 0
        self.empty = "reading …"
        """Shown while there are no messages."""
        self.is_held = False
        """Nothing is shown until `show_from` says where to begin."""

    # Content

    @property
    def lines(self) -> TranscriptLines:
        """The lines for the present width."""
        width = self.size.width - 1
        if self._lines is None or width != self._laid_out_for:
            before = self._lines
            place = before.place_of(self.cursor) if before is not None else (0, 0)
            self._laid_out_for = width
            self._lines = TranscriptLines(
                self.transcript, self._head, self._agent, self.palette, width
            )
            if before is not None:
                self._lines.words = before.words
                self._lines.all_unfolded = before.all_unfolded
                rows = self.cursor - self.top
                self._lines.lay_out_around(place[0], self.page)
                self.cursor = self._lines.line_at((place[0], place[1]))
                self.top = max(0, self.cursor - rows)
            self._strips.clear()
        return self._lines

    def set_head(self, head: Sequence[HeadLine]) -> None:
        """Show these lines above the messages; the view stays on its message."""
        if list(head) == list(self._head):
            return
        at_top = self.top == 0 and self.cursor <= len(self._head)
        self._head = head
        self._laid_out_for = 0
        _ = self.lines
        if at_top:
            self.top = self.cursor = 0
        self._settle()
        self.redraw()

    def add(self, messages: Iterable[Message]) -> None:
        """Add messages at the end."""
        self.transcript.add(messages)
        if self._lines is not None:
            self._lines.follow()
            if not self.is_held:
                self._settle()
        self.refresh()

    def show_from(self, number: int) -> None:
        """Show the messages, with the cursor on the entry with this number; -1: on the first."""
        self.is_held = False
        if number >= 0:
            self.go_to_entry(number)
        else:
            self._settle()
        self.redraw()
        self.post_message(self.Moved())

    def explain(self, words: str) -> None:
        """Show these words where there are no messages."""
        self.empty = words
        self.redraw()

    # What the cursor is on

    @property
    def at(self) -> int:
        """Number of the entry under the cursor; -1 in the head."""
        return self.lines.place_of(self.cursor)[0] - 1

    @property
    def entry(self) -> Entry | None:
        """The entry under the cursor."""
        at = self.at
        return self.transcript.entries[at] if 0 <= at < len(self.transcript.entries) else None

    @property
    def head_line(self) -> HeadLine | None:
        """The line of the head under the cursor."""
        block, offset = self.lines.place_of(self.cursor)
        return self._head[offset] if not block and offset < len(self._head) else None

    # Moving

    def go_to_entry(self, number: int, offset: int = -1) -> None:
        """Move the cursor to an entry, or to a line of it, with some lines above it in view."""
        block = number + 1
        self.lines.lay_out_around(block, 2 * self.page)
        at = self.lines.body_of(block) if offset < 0 else self.lines.line_at((block, offset))
        is_in_view = self.top <= at < self.top + self.page - 1
        self.cursor = at
        if not is_in_view:
            self.top = max(0, at - max(1, self.page // 4))
        self._settle()
        self.redraw()
        self.post_message(self.Moved())

    def step_person(self, step: int) -> bool:
        """Go to the next (1) or previous (-1) word of a person; whether there is one."""
        number = self.transcript.step_person(self.at, step)
        if number >= 0:
            self.go_to_entry(number)
        return number >= 0

    def toggle(self) -> bool:
        """Unfold or fold the tool under the cursor; whether there is one."""
        entry = self.entry
        if entry is None or not entry.is_tool:
            return False
        block, _ = self.lines.place_of(self.cursor)
        self.lines.toggle(block)
        self.cursor = self.lines.body_of(block)
        self._settle()
        self.redraw()
        return True

    def toggle_all(self) -> None:
        """Unfold or fold all tools."""
        number = self.at
        rows = self.cursor - self.top
        self.lines.toggle_all()
        self.lines.lay_out_around(number + 1, 2 * self.page)
        self.cursor = self.lines.body_of(number + 1) if number >= 0 else self.cursor
        self.top = max(0, self.cursor - rows)
        self._settle()
        self.redraw()

    def highlight(self, words: tuple[str, ...]) -> None:
        """Highlight these words."""
        self.lines.highlight(words)
        self._settle()
        self.redraw()

    def step_match(self, numbers: Sequence[int], step: int) -> int:
        """Go to the next (1) or previous (-1) highlighted line.

        `numbers`: the entries that have one. Returns the place in them that was gone to.
        """
        if not numbers:
            return -1
        lines = self.lines
        block, offset = lines.place_of(self.cursor)
        here = block - 1
        if here in numbers and (found := lines.find_highlight(block, offset, step)) >= 0:
            self.go_to_entry(here, found)
            return list(numbers).index(here)
        order = numbers if step > 0 else list(reversed(numbers))
        target = next((n for n in order if (n > here if step > 0 else n < here)), order[0])
        entry = self.transcript.entries[target]
        if entry.is_tool and not lines.is_unfolded(target + 1):
            lines.toggle(target + 1)
        lines.lay_out(target + 1)
        edge = -1 if step > 0 else 1 << 30
        self.go_to_entry(target, lines.find_highlight(target + 1, edge, step))
        return list(numbers).index(target)

    def _settle(self) -> None:
        """Lay out what is near the cursor; the cursor and what is in view stay."""
        lines = self.lines
        place, rows = lines.place_of(self.cursor), self.cursor - self.top
        if lines.lay_out_around(place[0], 2 * self.page):
            self.cursor = lines.line_at(place)
            self.top = max(0, self.cursor - rows)
            self.refresh()
        self.cursor = max(0, min(self.cursor, self.last))
        self._keep_in_view()

    def _step(self, lines: int) -> None:
        if lines >= self.line_count() - self.cursor:  # to the end, whose height may be a guess
            last = len(self.transcript.entries)
            self.lines.lay_out_around(last, 2 * self.page)
            self.cursor = self.line_count() - 1
            self._settle()
            self.cursor = self.line_count() - 1
            self._keep_in_view()
            self.redraw()
            self.post_message(self.Moved())
        else:
            self.go(self.cursor + lines)

    def cursor_moved(self) -> None:
        self._settle()
        self.post_message(self.Moved())

    def scroll_lines(self, lines: int) -> None:
        super().scroll_lines(lines)
        self._settle()

    # Drawing

    def line_count(self) -> int:
        if self.is_held or self.size.width < 2:
            return 0
        return len(self.lines)

    def draw_key(self, index: int) -> Hashable:
        return self.lines.place_of(index)

    def draw(self, index: int, width: int, *, selected: bool) -> Strip:
        segments = [Segment(each.text, each.style) for each in self.lines.line(index)]
        if not selected:
            return Strip(segments)
        ground = self.palette.cursor(focused=self.has_focus)
        first = segments[0].text if segments else " "
        rest = [Segment(first[1:], segments[0].style), *segments[1:]] if segments else []
        bar = Segment("▌", self.palette.accent + ground)
        return Strip([bar, *(Segment(s.text, (s.style or ground) + ground) for s in rest)])

    def draw_empty(self, y: int, width: int) -> Strip:
        return Strip([Segment(f" {text.cut(self.empty, width - 2)}" * (not y), self.palette.faint)])

    def recolour(self) -> None:
        self._laid_out_for = 0
        self.redraw()

    def on_resize(self) -> None:
        super().on_resize()
        if self._lines is not None and not self.is_held:
            self._settle()

    def clicked(self, index: int, *, again: bool, double: bool) -> None:
        if again or double:
            self.toggle()
