"""The programs whose sessions can be read: what each keeps, and turning it on and off."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from msgspec import Struct
from rich.segment import Segment
from rich.style import Style
from textual import on
from textual.app import ComposeResult

from memtui import text
from memtui.sessions import PROGRAMS
from memtui.sessions.programs import Holdings, describe_holdings, describe_terms
from memtui.tui import appearance
from memtui.tui.appearance import Palette, marked_segments, wrapped
from memtui.tui.dialogs.dialog import FittingDialog, Key
from memtui.tui.dialogs.prompts import ConfirmDialog
from memtui.tui.session_search import Result, ResultKind
from memtui.tui.widgets.text_window import OutcomeLine, RowList, Tone


class ProgramRow(Struct, frozen=True):
    """A program that can be turned on or off."""

    name: str
    holdings: Holdings
    is_on: bool


def draw_program(row: ProgramRow, palette: Palette, width: int) -> list[tuple[str, Style]]:
    """A program with what it keeps."""
    program, kept = PROGRAMS[row.name], row.holdings
    size = f"{text.counted(kept.files, 'file')}, {text.size(kept.size)}"
    name = text.column(program.title, 12)
    room = max(0, width - 21 - len(size))
    where = text.cut(", ".join(text.file_name(str(root)) for root in kept.roots), room)
    return [
        ("[✓] ", palette.chosen) if row.is_on else ("[ ] ", palette.faint),
        (name, palette.text),
        (f"  {size}", palette.dim),
        (f"  {where}" if room > 6 else "", palette.faint),
    ]


def draw_terms(row: ProgramRow, palette: Palette, width: int) -> list[list[Segment]]:
    """What turning a program on means."""
    program = PROGRAMS[row.name]
    lines = wrapped(describe_holdings(program, row.holdings), palette.heading, width)
    for sentence in describe_terms(program):
        lines += [[], *wrapped(sentence, palette.text, width)]
    return lines


def turning_on_question(row: ProgramRow) -> ConfirmDialog:
    """Ask whether the sessions of a program may be read, saying what that means."""
    program = PROGRAMS[row.name]
    first, *others = describe_terms(program)
    body = [
        OutcomeLine(describe_holdings(program, row.holdings)),
        OutcomeLine(first),
        *(OutcomeLine(sentence, Tone.QUIET) for sentence in others),
    ]
    title = f"Read the sessions of {program.title}?"
    return ConfirmDialog(title, body, {"y": "read them"})


class ProgramList(RowList[ProgramRow]):
    """The programs, with what each keeps here."""

    empty = "No sessions of a known program are on this machine."

    def draw_row(self, row: ProgramRow, width: int) -> Sequence[tuple[str, Style]]:
        return draw_program(row, self.palette, width)


class ProgramsScreen(FittingDialog[str]):
    """The programs whose sessions can be read, turned on and off at once."""

    AUTO_FOCUS = "ProgramList"
    box_classes = "tall"
    heading = "Sessions are read of these programs"
    leave = "back"
    BINDINGS = [("escape,q,p", "dismiss")]

    def __init__(self, kept: Mapping[str, Holdings], turn: Callable[..., None]) -> None:
        super().__init__()
        self._kept, self._turn = kept, turn
        self._list = ProgramList()

    def content(self) -> ComposeResult:
        yield self._list

    def fill(self) -> None:
        on = self.app.settings.session_programs
        rows = [ProgramRow(n, k, n in on) for n, k in self._kept.items() if k.files or n in on]
        self._list.show_rows(rows, same=lambda row: row.name)
        self.fit(rows=max(1, len(rows)))
        self.update_keys()

    @on(ProgramList.Opened)
    def _opened(self) -> None:
        self.acts.start(self._toggle())

    async def _toggle(self) -> None:
        row = self._list.current
        if row and (row.is_on or await self.acts.show(turning_on_question(row)) is not None):
            self._turn(row.name, on=not row.is_on)
            self.fill()

    def _toggles(self) -> str:
        row = self._list.current
        return "" if row is None else "turn off" if row.is_on else "turn on"

    KEYS = (Key("enter,space", "toggle", _toggle, _toggles),)


# ---- the results of a search over everything -----------------------------------------------------


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

    def __init__(self) -> None:
        super().__init__(id="found")
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
            (f"{text.short_ago(row.time, self.app.now()):>{AGE_CELLS}} ", palette.dim),
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
