"""Windows over a text, over outcome lines (what a change would do), over rows with a cursor."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Hashable, Sequence
from enum import StrEnum
from typing import Generic, TypeVar

from msgspec import Struct
from rich.segment import Segment
from rich.style import Style
from textual.geometry import Size
from textual.message import Message
from textual.strip import Strip

from memtui import text
from memtui.tui.appearance import Palette
from memtui.tui.widgets.list_window import ListWindow

Row = TypeVar("Row")


class Tone(StrEnum):
    """The meaning of a line, which gives its colour."""

    PLAIN = "plain"
    QUIET = "quiet"
    GOOD = "good"
    WARNING = "warning"
    BAD = "bad"


class OutcomeLine(Struct, frozen=True):
    """One line: a bold head, and the text after it."""

    words: str
    tone: Tone = Tone.PLAIN
    head: str = ""


def drawn(
    outcome_lines: Sequence[OutcomeLine], palette: Palette, width: int
) -> list[list[Segment]]:
    """Draw lines wrapped to `width`; makes their text visible."""
    lines: list[list[Segment]] = []
    for one in outcome_lines:
        style = {
            Tone.PLAIN: palette.text,
            Tone.QUIET: palette.dim,
            Tone.GOOD: palette.status("active"),
            Tone.WARNING: palette.warning,
            Tone.BAD: palette.status("deleted"),
        }[one.tone]
        head = text.one_line(one.head)
        indent = min(text.width(head) + 1 if head else 0, 10)
        first = f"{head} " if head else ""
        words = _hanging(first + text.one_line(one.words), max(8, width - 1), indent)
        for number, part in enumerate(words):
            if not number and head and part.startswith(head):
                bold = Style(bold=True) + style
                rest = palette.text if one.tone is not Tone.QUIET else style
                lines.append([Segment(" " + head, bold), Segment(part[len(head) :], rest)])
            else:
                pad = " " * (indent if number else 0)
                body = palette.text if head and one.tone is not Tone.QUIET else style
                lines.append([Segment(f" {pad}{part}", body)])
    return lines


def _hanging(words: str, width: int, indent: int) -> list[str]:
    """Wrap to `width`, all lines but the first to `indent` cells less."""
    first = text.wrap(words, width)[0]
    rest = words[len(first) :].lstrip(" ")
    return [first, *(text.wrap(rest, max(8, width - indent)) if rest else [])]


class PreparedLines(ListWindow):
    """A read-only window over lines that are laid out before they are drawn; where they do not fit
    it takes the focus, so that keys scroll it."""

    ALLOW_SELECT = True
    has_cursor = False

    def __init__(self, *, id: str | None = None) -> None:
        super().__init__(id=id)
        self._lines: Sequence[Sequence[Segment]] = ()

    def line_count(self) -> int:
        return len(self._lines)

    def get_content_height(self, container: Size, viewport: Size, width: int) -> int:
        return max(1, len(self._lines))

    def allow_focus(self) -> bool:
        return self.line_count() > self.size.height

    def draw_empty(self, y: int, width: int) -> Strip:
        return Strip([])

    def draw(self, index: int, width: int, *, selected: bool) -> Strip:
        return Strip(self._lines[index])


class TextWindow(PreparedLines):
    """Shows lines as they are."""

    def show(self, lines: Sequence[Sequence[Segment]]) -> None:
        """Show lines from the top; their text must be made visible before."""
        self._lines = lines
        self.reset()


class WrappedLines(PreparedLines):
    """Lays its lines out anew for another width or theme."""

    @abstractmethod
    def lay_out(self) -> None:
        """Set the lines for the width and the palette of now."""

    def on_resize(self) -> None:
        self.lay_out()

    def recolour(self) -> None:
        self.lay_out()


class OutcomeLines(WrappedLines):
    """Shows up to `MAX_HEIGHT` lines."""

    MAX_HEIGHT = 7

    def __init__(self) -> None:
        super().__init__()
        self.outcome_lines: tuple[OutcomeLine, ...] = ()

    def say(self, *lines: OutcomeLine) -> None:
        if lines != self.outcome_lines:
            self.outcome_lines = lines
            self.lay_out()
            self.refresh(layout=True)

    def lay_out(self) -> None:
        self._lines = drawn(self.outcome_lines, self.palette, max(12, self.size.width - 1))
        self.reset()

    def get_content_height(self, container: Size, viewport: Size, width: int) -> int:
        lines = (
            drawn(self.outcome_lines, self.palette, max(12, width - 1)) if width else self._lines
        )
        return max(1, min(self.MAX_HEIGHT, len(lines)))


class RowList(ListWindow, Generic[Row]):
    """One line per row, behind the bar of the cursor."""

    class Moved(Message):
        """Another row is under the cursor."""

    class Opened(Message):
        """A row was double-clicked."""

    empty = "no matches"
    """Lines in place of no rows."""
    is_lit = True
    """The cursor looks the same without the focus, which an input above the list may have."""

    def __init__(self, rows: Sequence[Row] = (), *, id: str | None = None, title: str = "") -> None:
        super().__init__(id=id, title=title)
        self.rows = rows

    def show_rows(
        self,
        rows: Sequence[Row],
        *,
        cursor: int = 0,
        same: Callable[[Row], Hashable] | None = None,
    ) -> None:
        """Show rows, with the cursor on the one with this number, or the nearest that it can be on.

        `same`: what identifies a row: the cursor stays on its row instead, or near its place.
        """
        if same is not None:
            cursor = self.cursor
            if (current := self.current) is not None:
                key = same(current)
                cursor = next((at for at, row in enumerate(rows) if same(row) == key), cursor)
        self.rows = rows
        self.reset(cursor=cursor, top=self.top)
        if rows:
            self.cursor = self._nearest(self.cursor, up=False)
            self._keep_in_view()
        self.refresh(layout=True)

    @property
    def current(self) -> Row | None:
        """The row under the cursor."""
        return self.rows[self.cursor] if self.cursor < len(self.rows) else None

    def line_count(self) -> int:
        return len(self.rows)

    def empty_lines(self, width: int) -> list[str]:
        """The lines in place of no rows, wrapped."""
        room = max(1, width - 2)
        return [part for line in self.empty.split("\n") for part in text.wrap(line, room)]

    def get_content_height(self, container: Size, viewport: Size, width: int) -> int:
        return len(self.rows) or len(self.empty_lines(width))

    def cursor_moved(self) -> None:
        self.post_message(self.Moved())

    def clicked(self, index: int, *, again: bool, double: bool) -> None:
        if double:
            self.post_message(self.Opened())

    def draw_empty(self, y: int, width: int) -> Strip:
        words = [*self.empty_lines(width), *[""] * y][y]
        return Strip([Segment(f" {words}", self.palette.faint)])

    def draw(self, index: int, width: int, *, selected: bool) -> Strip:
        palette, is_lit = self.palette, self.is_lit or self.has_focus
        ground = palette.cursor(focused=is_lit) if selected else Style.null()
        edge = palette.accent if is_lit else palette.faint
        bar = ("▌" if self.has_bar(index, selected=selected) else " ", edge)
        parts = [bar, *self.draw_row(self.rows[index], width)]
        return Strip([Segment(words, style + ground) for words, style in parts])

    def has_bar(self, index: int, *, selected: bool) -> bool:
        """Whether the bar stands before a row."""
        return selected

    @abstractmethod
    def draw_row(self, row: Row, width: int) -> Sequence[tuple[str, Style]]:
        """Text and style of each piece of a row, one cell less than `width` in all."""
