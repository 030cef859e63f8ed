"""A scrollable diff with wrapped lines, +/- signs and changed words highlighted."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import groupby, zip_longest

from rich.segment import Segment
from rich.style import Style

from memtui import text
from memtui.tui.appearance import Palette
from memtui.tui.diff_lines import BOTH_SIDES, DiffLine, shown_pieces, wrap_pieces
from memtui.tui.widgets.text_window import WrappedLines

_SIGNS = {"same": " ", "gone": "-", "new": "+", "note": "·"}
_CHANGED = Style(bold=True, reverse=True)


class DiffView(WrappedLines):
    """Shows diff lines, wrapped to the width of the widget."""

    def __init__(self, diff: Sequence[DiffLine]) -> None:
        super().__init__()
        self._diff = diff
        self._began_at = 0

    def show(self, diff: Sequence[DiffLine]) -> None:
        self._diff, self.top, self._began_at = diff, 0, 0
        self.lay_out()

    def lay_out(self) -> None:
        """Begin at the top, or in a low window where the first change, or what is said above the
        files, is in view."""
        self._lines = self.laid_out(max(12, self.size.width - 1))
        first = 0
        if not self._diff or self._diff[0].kind != "said":
            first = next((at for at, line in enumerate(self._lines) if self._is_changed(line)), 0)
        if self.top == self._began_at:  # else it was scrolled
            is_below = self.size.height and first >= self.page
            self.reset(top=first - 1 if is_below else 0)
            self._began_at = self.top
        else:
            self.reset(top=self.top)

    def _is_changed(self, line: Sequence[Segment]) -> bool:
        marks = (self.palette.added, self.palette.removed, _gone(self.palette))
        styles = [segment.style for segment in line if segment.style]
        return any(style + mark == style for style in styles for mark in marks)

    def laid_out(self, width: int) -> list[list[Segment]]:
        return [line for one in self._diff for line in draw_diff(one, self.palette, width)]


def draw_diff(line: DiffLine, palette: Palette, width: int) -> list[list[Segment]]:
    """One line of a diff, wrapped to `width` cells."""
    if line.kind == "file":
        parts = text.wrap(line.words, width - 1)
        return [[Segment(f" {part}", palette.heading)] for part in parts]
    if line.kind == "hunk":
        return [[Segment(text.cut(f" {line.words}", width), palette.faint)]]
    style = {
        "gone": _gone(palette),
        "new": palette.added,
        "note": palette.warning,
    }.get(line.kind, palette.dim)
    sign = f" {_SIGNS.get(line.kind, ' ')} "
    lines = []
    inks = {True: style + _CHANGED, False: style}
    pieces = [(inks[is_changed], words) for is_changed, words in line.pieces]
    for number, row in enumerate(wrap_pieces(pieces or [(style, line.words)], width - 3)):
        lines.append([Segment(sign if not number else "   ", style), *row])
    return lines


def _gone(palette: Palette) -> Style:
    return palette.removed + Style(strike=False)


def draw_side_by_side(
    diff: Sequence[DiffLine], palette: Palette, width: int
) -> list[list[Segment]]:
    """A diff with the old lines at the left and the new ones at the right."""
    column = (width - 1) // 2
    lines: list[list[Segment]] = []
    for is_changed, run in groupby(diff, key=lambda line: line.kind in ("gone", "new")):
        if is_changed:
            changed = list(run)
            sides = [[line for line in changed if line.kind == kind] for kind in ("gone", "new")]
            for pair in zip_longest(*sides):
                drawn = [draw_diff(line, palette, column) if line else [] for line in pair]
                lines += join_columns(drawn, column, palette)
            continue
        for line in run:
            if line.kind == "same":
                lines += join_columns([draw_diff(line, palette, column)] * 2, column, palette)
            else:
                lines += draw_diff(line, palette, width)
    return lines


def join_columns(
    columns: Sequence[Sequence[list[Segment]]], width: int, palette: Palette
) -> list[list[Segment]]:
    """Columns of lines, each `width` cells wide, side by side with a rule between them."""
    lines = []
    for row in zip_longest(*columns, fillvalue=()):
        line: list[Segment] = []
        for cells in row:
            used = sum(text.width(segment.text) for segment in cells)
            line += [Segment("│", palette.rule)] if line else []
            line += [*cells, Segment(" " * max(0, width - used))]
        lines.append(line)
    return lines


def draw_text(content: str, palette: Palette, width: int) -> list[list[Segment]]:
    """A text as it is written, wrapped to `width` cells."""
    return [[Segment(line, palette.text)] for line in text.wrap(text.visible(content), width)]


def draw_text_diff(
    before: str, after: str, palette: Palette, width: int, shown: frozenset[str] = BOTH_SIDES
) -> list[list[Segment]]:
    """Draw two versions of a text as one, as they are written, with the words that differ marked.

    `shown`: of `gone` and `new`, what is shown beside the words that both have.
    """
    before, after = text.escaped(before), text.escaped(after)
    if before == after:
        return draw_text(after, palette, width)
    return wrap_pieces(shown_pieces(before, after, palette, shown), width)
