"""The programs whose sessions can be read: what each keeps, and turning it on and off."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from msgspec import Struct
from rich.segment import Segment
from rich.style import Style
from textual import on
from textual.app import ComposeResult

from memtui import text
from memtui.sessions import PROGRAMS
from memtui.sessions.programs import Holdings, describe_holdings, describe_terms
from memtui.tui.appearance import Palette, wrapped
from memtui.tui.dialogs.dialog import Dialog, FittingDialog
from memtui.tui.dialogs.prompts import ConfirmDialog, Reply
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


def ask_to_turn_on(screen: Dialog[Any], row: ProgramRow, then: Callable[[], None]) -> None:
    """Ask whether the sessions of a program may be read, saying what that means."""
    program = PROGRAMS[row.name]
    first, *others = describe_terms(program)
    body = [
        OutcomeLine(describe_holdings(program, row.holdings)),
        OutcomeLine(first),
        *(OutcomeLine(sentence, Tone.QUIET) for sentence in others),
    ]
    question = ConfirmDialog(
        f"Read the sessions of {program.title}?", body, (Reply("y", "read them", "yes"),)
    )
    screen.app.ask(question, lambda _: then())


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
    BINDINGS = [("escape,q,p", "dismiss"), ("enter,space", "turn", "toggle")]

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

    def labels(self) -> Mapping[str, object]:
        row = self._list.current
        return {"turn": row is not None and ("turn off" if row.is_on else "turn on")}

    @on(ProgramList.Opened)
    def action_turn(self) -> None:
        row = self._list.current
        if row is None:
            return

        def turn() -> None:
            self._turn(row.name, on=not row.is_on)
            self.fill()

        if row.is_on:
            turn()
        else:
            ask_to_turn_on(self, row, turn)
