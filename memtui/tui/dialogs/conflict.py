"""A file changed underneath: what was read, what is there now, what was written here.

Nothing is chosen by default, and nothing is lost by leaving.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, ClassVar

from rich.segment import Segment
from textual.app import ComposeResult
from textual.binding import Binding
from textual.containers import Vertical
from textual.content import Content

from memtui import text
from memtui.errors import Conflict
from memtui.tui.dialogs.dialog import FittingDialog
from memtui.tui.dialogs.history import difference, wrapped_pieces
from memtui.tui.widgets.footer import KeyLine
from memtui.tui.widgets.outcome import OutcomeLine, OutcomeLines, Tone
from memtui.tui.widgets.text_window import TextWindow

if TYPE_CHECKING:
    from textual.binding import BindingType

    from memtui.tui.colours import Palette

SIDE_BY_SIDE_FROM = 96
"""Columns from which the three texts stand beside each other."""
SHORT_BELOW = 70
"""Columns below which the keys are told in one word each."""
LONGEST = 20_000
"""Characters of each text that are compared."""
NOT_THERE = "it does not exist"

THEIRS, MINE, BOTH = "theirs", "mine", "both"


class ConflictScreen(FittingDialog[str]):
    """Dismissed with `theirs`, `mine` or `both`; None to decide later."""

    AUTO_FOCUS = "TextWindow"
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("escape,q", "dismiss", show=False),
        Binding("t", f"choose('{THEIRS}')", show=False),
        Binding("m", f"choose('{MINE}')", show=False),
        Binding("b", f"choose('{BOTH}')", show=False),
    ]

    def __init__(
        self,
        conflict: Conflict,
        *,
        choices: Sequence[tuple[str, str]] = (
            (THEIRS, "take theirs"),
            (MINE, "keep mine"),
            (BOTH, "edit both"),
        ),
    ) -> None:
        super().__init__()
        self._conflict = conflict
        self._choices = dict(choices)

    def compose(self) -> ComposeResult:
        with Vertical(classes="box full") as box:
            box.border_title = Content("Changed underneath")
            yield OutcomeLines()
            yield TextWindow()
            yield KeyLine(id="conflict-keys")

    def on_mount(self) -> None:
        where = text.file_name(self._conflict.where)
        self.query_one(OutcomeLines).say(
            OutcomeLine(self._conflict.what, Tone.WARNING),
            *([OutcomeLine(where, Tone.QUIET)] if where else []),
        )
        self.call_after_refresh(self._fill)

    def on_resize(self) -> None:
        short = self.app.size.width < SHORT_BELOW
        choices = self._choices.items()
        keys = [(value[0], value if short else words, "") for value, words in choices]
        self.query_one(KeyLine).show(keys, [("esc", "" if short else "later", "")])
        self.call_after_refresh(self._fill)

    def action_choose(self, value: str) -> None:
        if value in self._choices:
            self.dismiss(value)

    def _fill(self) -> None:
        sheet = self.query_one(TextWindow)
        width = max(20, sheet.size.width - 2)
        base = self._conflict.base
        texts = [
            ("Read before", base, None),
            ("There now: theirs", self._conflict.theirs, base),
            ("Written here: yours", self._conflict.yours, base),
        ]
        if width >= SIDE_BY_SIDE_FROM:
            column = (width - 4) // 3
            columns = [_column(*one, sheet.palette, column) for one in texts]
            sheet.show(_beside(columns, column, sheet.palette))
        else:
            sheet.show([line for one in texts for line in _column(*one, sheet.palette, width)])


def _column(
    heading: str, now: str | None, base: str | None, palette: Palette, width: int
) -> list[list[Segment]]:
    """One text under its heading, marked where it differs from the base."""
    lines = [[Segment(text.cut(f" {heading}", width), palette.heading)]]
    if now is None:
        return [*lines, [Segment(f" {NOT_THERE}", palette.faint)], []]
    shown = text.visible(now[:LONGEST])
    before = text.visible(base[:LONGEST]) if base is not None else shown
    pieces = difference(before, shown)
    styles = {"same": palette.text, "gone": palette.removed, "new": palette.added}
    for line in wrapped_pieces([(styles[kind], piece) for kind, piece in pieces], width - 2):
        lines.append([Segment(" "), *line])
    return [*lines, []]


def _beside(
    columns: Sequence[list[list[Segment]]], width: int, palette: Palette
) -> list[list[Segment]]:
    """Columns side by side, a rule between them."""
    lines: list[list[Segment]] = []
    for row in range(max(map(len, columns))):
        line: list[Segment] = []
        for number, column in enumerate(columns):
            cells = column[row] if row < len(column) else []
            used = sum(text.width(segment.text) for segment in cells)
            if number:
                line.append(Segment("│ ", palette.rule))
            line += [*cells, Segment(" " * max(0, width - used))]
        lines.append(line)
    return lines
