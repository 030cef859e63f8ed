"""The results of a search over everything: a line for each, below the titles of their groups."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from datetime import datetime

from msgspec import Struct
from rich.style import Style

from memtui import text
from memtui.tui import appearance
from memtui.tui.appearance import Palette, marked_segments
from memtui.tui.dialogs.session_programs import ProgramRow, draw_program
from memtui.tui.session_search import Result, ResultKind
from memtui.tui.widgets.text_window import RowList

AGE_CELLS, WHO_CELLS, WHERE_MAX = 4, 5, 16
WHERE_FROM = 56
"""Columns of a row from which it names the project."""


class Heading(Struct, frozen=True):
    """The title of a group."""

    words: str
    note: str = ""


class Note(Struct, frozen=True):
    """A line of text among the rows."""

    words: str


Row = Heading | Note | ProgramRow | Result


class ResultList(RowList[Row]):
    """One line for each result, below the titles of their groups."""

    def __init__(self, now: Callable[[], datetime]) -> None:
        super().__init__(id="found")
        self._now = now
        self.words: tuple[str, ...] = ()
        self._where = 0

    def show(self, rows: Sequence[Row], words: tuple[str, ...], *, stays: bool) -> None:
        """Show rows; `stays`: the cursor stays on its row."""
        self.words = words
        results = [row for row in rows if isinstance(row, Result)]
        widest = max((text.width(text.one_line(_where(row))) for row in results), default=0)
        self._where = min(WHERE_MAX, widest)
        self.show_rows(rows, same=_identify if stays else None)
        if not stays:
            self.top = 0
            self.go(0)
        self.post_message(self.Moved())

    def selectable(self, index: int) -> bool:
        return isinstance(self.rows[index], Result | ProgramRow)

    def draw_row(self, row: Row, width: int) -> Sequence[tuple[str, Style]]:
        palette = self.palette
        if isinstance(row, Heading):
            return [(row.words, palette.heading), (f"  {row.note}", palette.faint)]
        if isinstance(row, Note):
            return [(text.cut(row.words, width - 1), palette.dim)]
        if isinstance(row, ProgramRow):
            return draw_program(row, palette, width)
        return self._draw_result(row, width)

    def _draw_result(self, row: Result, width: int) -> list[tuple[str, Style]]:
        palette = self.palette
        who, style = _who(row, palette)
        where = text.column(_where(row), self._where) if width >= WHERE_FROM and self._where else ""
        lead = [
            (f"{text.short_ago(row.time, self._now()):>{AGE_CELLS}} ", palette.dim),
            (text.column(who, WHO_CELLS), style),
            (f" {where}" if where else "", palette.faint),
            (" " + "  ↳ " * row.depth, palette.faint),
        ]
        room = max(4, width - 1 - sum(text.width(words) for words, _ in lead))
        if row.is_gone:
            return [
                *lead,
                (text.cut("the session has changed since it was indexed", room), palette.faint),
            ]
        passage = text.find_passage(row.passage, self.words) if self.words else None
        if passage is not None:
            line = text.excerpt(row.passage, passage, self.words, room)
        else:
            line = text.cut_line(row.passage, room)
        base = palette.dim if row.kind is ResultKind.FORMER else palette.text
        pieces = marked_segments(line, self.words, base, palette.match)
        return [*lead, *((piece.text, piece.style or base) for piece in pieces)]


def _where(row: Result) -> str:
    return row.project or row.where


def _who(row: Result, palette: Palette) -> tuple[str, Style]:
    if row.memory is not None:
        status = appearance.VISIBLE_STATUS_GLYPHS.get(row.memory.status, " ")
        glyph = appearance.IMPORTANCE_GLYPHS.get(row.memory.importance, " ")
        return f"{status} {glyph}", palette.status(row.memory.status)
    if row.message is None:
        return "", palette.dim
    if row.message.is_from_person:
        return "you", palette.accent
    return "agent", palette.dim


def _identify(row: Row) -> object:
    if isinstance(row, Result):
        message = row.message
        place = message.place.offset if message is not None else -1
        ref = row.memory.ref if row.memory is not None else ""
        session = (row.session.path, row.session.id) if row.session is not None else None
        return row.kind, ref, session, place
    return row
