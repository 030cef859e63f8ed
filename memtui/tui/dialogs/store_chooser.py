"""The stores that can be opened, by project and program: choose which are open."""

from __future__ import annotations

import os
from collections.abc import Collection, Sequence
from datetime import datetime

from rich.segment import Segment
from rich.style import Style
from textual import on
from textual.app import ComposeResult
from textual.binding import Binding
from textual.content import Content
from textual.widgets import Static

from memtui import text
from memtui.library.store_catalog import StoreSummary, project_name
from memtui.tui.appearance import wrapped
from memtui.tui.dialogs.dialog import FittingDialog, RowList
from memtui.tui.widgets.list_window import TextWindow

PROGRAM_CELLS = 18
COUNT_CELLS = 9
AGE_CELLS = 6
DETAIL_ROWS = 2
"""Lines below the list: the path of a store, and what cannot be read."""
NEW = "new"


class StoreList(RowList[StoreSummary | str]):
    """A line for each project, and below it one for each of its stores with a checkbox."""

    def __init__(self, now: datetime, fresh: Collection[str]) -> None:
        super().__init__()
        self._now, self._fresh = now, fresh
        self.chosen: set[str] = set()
        self.is_counted = False

    def set_stores(self, stores: Sequence[StoreSummary], *, counted: bool) -> None:
        """Show these stores; the cursor stays on its store, and what was toggled stays so."""
        before, current = {each.store.key for each in self._stores()}, self.store
        self.chosen |= {s.store.key for s in stores if s.is_open and s.store.key not in before}
        rows: list[StoreSummary | str] = []
        self.is_counted = counted
        for summary in stores:
            heading = project_name(summary)
            if heading not in rows:
                rows.append(heading)
            rows.append(summary)
        places = [at for at, row in enumerate(rows) if not isinstance(row, str)]
        keys = {at: row.store.key for at, row in enumerate(rows) if not isinstance(row, str)}
        same = [at for at in places if current is not None and keys[at] == current.store.key]
        self.show_rows(rows, cursor=([*same, *places, 0])[0], top=self.top)

    def _stores(self) -> list[StoreSummary]:
        return [row for row in self.rows if not isinstance(row, str)]

    @property
    def store(self) -> StoreSummary | None:
        """The store under the cursor."""
        return None if isinstance(self.current, str) else self.current

    def toggle(self) -> None:
        """Select or deselect the store under the cursor."""
        if self.store is not None:
            self.chosen ^= {self.store.store.key}
            self.redraw()

    def toggle_all(self) -> None:
        """Select all stores, or none if all are selected."""
        every = {summary.store.key for summary in self._stores()}
        self.chosen = set() if every <= self.chosen else every
        self.redraw()

    def selectable(self, index: int) -> bool:
        return not isinstance(self.rows[index], str)

    def clicked(self, index: int, *, again: bool, double: bool) -> None:
        self.toggle()

    def draw_row(self, row: StoreSummary | str, width: int) -> Sequence[tuple[str, Style]]:
        palette = self.palette
        if isinstance(row, str):
            return [(text.cut(text.one_line(row), width - 1), palette.heading)]
        is_chosen = row.store.key in self.chosen
        count = text.number(row.count) if self.is_counted else "…"
        age = text.short_ago(row.last_write, self._now) if self.is_counted else ""
        remarks = _remarks(row, is_new=row.store.key in self._fresh)
        room = max(0, width - 5 - PROGRAM_CELLS - COUNT_CELLS - AGE_CELLS - 2)
        label = text.cut(text.one_line(row.store.label), max(0, room - text.width(remarks) - 2))
        program = text.pad(text.cut(text.one_line(row.program), PROGRAM_CELLS), PROGRAM_CELLS)
        return [
            ("[✓] ", palette.chosen) if is_chosen else ("[ ] ", palette.faint),
            (program, palette.text if is_chosen else palette.dim),
            (f"{count:>{COUNT_CELLS}}", palette.dim),
            (f"{age:>{AGE_CELLS}}  ", palette.faint),
            (label, palette.faint),
            (f"  {remarks}" if remarks else "", palette.warning),
        ]


def _remarks(summary: StoreSummary, *, is_new: bool) -> str:
    """Return remarks on a store: new, unreadable, read-only."""
    faults = len(summary.unreadable)
    parts = (
        NEW if is_new else "",
        f"× {text.number(faults)} unreadable" if faults else "",
        "read-only" if summary.read_only else "",
    )
    return ", ".join(part for part in parts if part)


class StoreChooser(FittingDialog[tuple[str, ...]]):
    """Dismissed with the keys of the stores that are to be open, None on escape."""

    AUTO_FOCUS = "ListWindow"
    box_classes = "full"
    heading = "Stores"
    BINDINGS = [
        ("escape,q", "dismiss"),
        Binding("enter", "accept", priority=True),
        Binding("space", "toggle_store", priority=True),
        ("a", "toggle_all"),
    ]

    def __init__(self, now: datetime, fresh: Collection[str] = ()) -> None:
        super().__init__()
        self._places: Sequence[tuple[str, Sequence[str]]] = ()
        self._list = StoreList(now, fresh)
        self._is_empty = False
        """No store was found: the places that were searched are shown."""

    def content(self) -> ComposeResult:
        yield self._list
        searched = TextWindow(id="places")
        searched.display = False
        yield searched
        yield Static("", id="store-path", classes="line", markup=False)

    def keys(self) -> list[tuple[str, str]]:
        self.leave = "back" if self._is_empty else "cancel"
        if self._is_empty:
            return [("↑↓", "scroll")]
        return [("space", "toggle"), ("a", "all"), ("enter", "open these")]

    def fill(self) -> None:
        self.show_current()
        if self._is_empty:
            self._show_places()

    def set_places(self, places: Sequence[tuple[str, Sequence[str]]]) -> None:
        """Set the places that are searched for stores, shown if none is found."""
        self._places = places

    def set_stores(self, stores: Sequence[StoreSummary], *, counted: bool) -> None:
        """Show these stores; `counted`: they have been read."""
        self._is_empty = not stores
        self._list.display = bool(stores)
        self.query_one("#places").display = self._is_empty
        if self._is_empty:
            self._show_places()
        else:
            self._list.set_stores(stores, counted=counted)
            self.fit(rows=self._list.line_count() + DETAIL_ROWS)
        self.update_keys()
        self.show_current()

    @on(StoreList.Moved)
    def show_current(self) -> None:
        """Below the list: the path of the store under the cursor, and what cannot be read."""
        current = self._list.store
        line = self.query_one("#store-path", Static)
        width = max(20, self.inner_width - 2)
        words: list[str] = []
        if current is not None:
            words = [text.cut(text.file_name(str(current.store.root)), width)]
            if current.read_only:
                words.append(text.cut(f"read-only: {text.one_line(current.read_only)}", width))
            elif current.unreadable:
                first = current.unreadable[0]
                root = str(current.store.root)
                name = os.path.relpath(first.file, root) if root in first.file else first.file
                fault = f"{text.file_name(name)}: {text.one_line(first.reason)}"
                words.append(text.cut(f"× {fault}", width))
        line.update(Content("\n".join([*words, ""][:DETAIL_ROWS])))

    def _show_places(self) -> None:
        window = self.query_one("#places", TextWindow)
        palette, width = window.palette, max(20, self.inner_width - 2)
        lines = [[Segment(" No memory stores were found.", palette.heading)], []]
        explanation = "memtui opens what your agents keep by themselves. It looked in these places:"
        lines += wrapped(explanation, palette.text, width)
        for program, places in self._places:
            if places:
                name = text.pad(text.cut(program, PROGRAM_CELLS), PROGRAM_CELLS)
                where = text.cut(", ".join(places), width - PROGRAM_CELLS - 4)
                lines.append(
                    [Segment(f"   {name} ", palette.dim), Segment(where, palette.text)],
                )
        explanation = (
            "They appear here as soon as an agent writes one. `memtui PATH` opens a store that "
            "lies elsewhere, `memtui demo` the sample data."
        )
        window.show([*lines, [], *wrapped(explanation, palette.text, width)])
        window.focus()

    def action_toggle_store(self) -> None:
        self._list.toggle()

    def action_toggle_all(self) -> None:
        self._list.toggle_all()

    def action_accept(self) -> None:
        if self._is_empty:
            self.dismiss(None)
        elif not self._list.chosen:
            self.app.notify("Choose at least one store.", severity="warning")
        elif self._list.is_counted or self._list.line_count():
            self.dismiss(tuple(sorted(self._list.chosen)))
