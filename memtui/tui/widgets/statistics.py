"""Statistics pane: counts of the shown memories as bars; choosing a row filters by it."""

from __future__ import annotations

from collections.abc import Sequence

from msgspec import Struct
from rich.style import Style

from memtui import text
from memtui.tui import key_bindings
from memtui.tui.layout import Pane
from memtui.tui.messages import FilterChosen
from memtui.tui.widgets.text_window import RowList

_EIGHTHS = " ▏▎▍▌▋▊▉█"
BAR_MIN = 3
"""Cells of a bar; one less beside counts past 999, which need the room of the names."""
LABEL_ROOM = 36
"""Columns for words and count; bars take the rest of a wide pane, a quarter of a narrow one."""


class Row(Struct, frozen=True):
    """One row: a heading (no field), a value with its count, or a fact (text without bar)."""

    words: str
    field: str = ""
    value: str = ""
    sign: str = ""
    count: int = 0
    share: float = 0.0
    """Length of the bar relative to the longest of its group, 0 to 1."""
    fact: str = ""
    chosen: bool = False
    accuracy: str = "exact"
    """Of the count, as `text.number` takes it."""

    @property
    def choosable(self) -> bool:
        return bool(self.field)


def bar(share: float, width: int) -> str:
    """Draw a horizontal bar in eighths of a cell, not empty unless `share` is 0."""
    eighths = max(1 if share > 0 else 0, round(share * width * 8))
    whole, rest = divmod(eighths, 8)
    return ("█" * whole + (_EIGHTHS[rest] if rest else "")).ljust(width)


def _count(row: Row) -> str:
    return text.number(row.count, row.accuracy)


class StatisticsPane(RowList[Row]):
    """Counts by type, importance, status and store; times and sizes."""

    BINDINGS = [*key_bindings.bindings(Pane.STATISTICS)]
    empty = ""
    is_lit = False

    def __init__(self) -> None:
        super().__init__(id=Pane.STATISTICS, title="5 Statistics")
        self._count_width = self._words_width = 1
        self._is_chosen = False
        """The user moved the cursor, so it stays on its value while the counts change."""

    def show(self, rows: Sequence[Row]) -> None:
        if list(rows) == list(self.rows):
            return
        current = self.current if self._is_chosen else None
        self.rows = rows
        self._count_width = max((len(_count(row)) for row in rows), default=1)
        self._words_width = max(
            (text.width(f"{row.sign} {row.words}".strip()) for row in rows if row.choosable),
            default=1,
        )
        cursor = next(
            (
                i
                for i, row in enumerate(rows)
                if current
                and (row.field, row.value) == (current.field, current.value)
                and row.choosable
            ),
            next((i for i, row in enumerate(rows) if row.choosable), 0),
        )
        self.reset(cursor=cursor, top=self.top)

    def cursor_moved(self) -> None:
        self._is_chosen = True

    def choose(self) -> None:
        if (row := self.current) is not None and row.choosable:
            self.post_message(FilterChosen(row.field, row.value))

    def selectable(self, index: int) -> bool:
        return self.rows[index].choosable

    def clicked(self, index: int, *, again: bool, double: bool) -> None:
        self.choose()

    def draw_row(self, row: Row, width: int) -> Sequence[tuple[str, Style]]:
        palette = self.palette
        if row.fact:
            words = text.cut(row.words, max(1, width - 3 - text.width(row.fact)))
            fact = text.cut(row.fact, max(1, width - 3 - text.width(words)))
            gap = " " * max(1, width - 2 - text.width(words) - text.width(fact))
            return [(words + gap, palette.dim), (fact + " ", palette.text)]
        if not row.choosable:
            return [(text.cut(row.words, width - 1), palette.heading)]
        count = _count(row)
        count_width = max(self._count_width, len(count))
        sign = f"{row.sign} " if row.sign else ""
        room = width - count_width - len(sign) - 4
        spare = width - count_width - 4 - self._words_width
        bar_min = BAR_MIN - (count_width > 3)
        bar_width = max(bar_min, min(max(width // 4, width - LABEL_ROOM), spare))
        room = max(1, room - bar_width)
        return [
            (sign, palette.glyph(row.field, row.value)),
            (
                text.pad(text.one_line(row.words), room),
                palette.chosen if row.chosen else palette.text,
            ),
            (" ", Style.null()),
            (bar(row.share, bar_width), palette.value_bar(row.field, row.value)),
            (f" {count:>{count_width}} ", palette.dim),
        ]
