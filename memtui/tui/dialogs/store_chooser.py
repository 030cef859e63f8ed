"""The stores that can be opened, by project and program: choose which are open."""

from __future__ import annotations

import os
from collections.abc import Collection, Hashable, Sequence
from datetime import datetime
from typing import ClassVar

from rich.segment import Segment
from rich.style import Style
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Vertical
from textual.content import Content
from textual.geometry import Size
from textual.strip import Strip
from textual.widgets import Static

from memtui import text
from memtui.library.store_catalog import StoreSummary, project_name
from memtui.tui.dialogs.dialog import FittingDialog
from memtui.tui.widgets.list_window import ListWindow, TextWindow
from memtui.tui.widgets.status_lines import KeyLine

PROGRAM_CELLS = 18
COUNT_CELLS = 9
AGE_CELLS = 6
DETAIL_ROWS = 2
"""Lines below the list: the path of a store, and what cannot be read."""
NEW = "new"
TITLE = "Stores"


class StoreList(ListWindow):
    """A line for each project, and below it one for each of its stores with a checkbox."""

    def __init__(self, now: datetime, fresh: Collection[str]) -> None:
        super().__init__()
        self._now, self._fresh = now, fresh
        self._lines: list[StoreSummary | str] = []
        self.chosen: set[str] = set()
        self.is_counted = False

    def set_stores(self, stores: Sequence[StoreSummary], *, counted: bool) -> None:
        """Show these stores; the cursor stays on its store, and what was toggled stays so."""
        before, current = {each.store.key for each in self._stores()}, self.current
        self.chosen |= {s.store.key for s in stores if s.is_open and s.store.key not in before}
        self._lines, self.is_counted = [], counted
        for summary in stores:
            heading = project_name(summary)
            if heading not in self._lines:
                self._lines.append(heading)
            self._lines.append(summary)
        cursor = next(
            (
                at
                for at, line in enumerate(self._lines)
                if not isinstance(line, str)
                and (current is None or line.store.key == current.store.key)
            ),
            0,
        )
        self.reset(cursor=cursor, top=self.top)
        self.refresh(layout=True)

    @property
    def lines(self) -> Sequence[StoreSummary | str]:
        """The stores below the headings of their projects."""
        return self._lines

    def _stores(self) -> list[StoreSummary]:
        return [line for line in self._lines if not isinstance(line, str)]

    def _is_chosen(self, summary: StoreSummary) -> bool:
        return summary.store.key in self.chosen

    @property
    def current(self) -> StoreSummary | None:
        line = self._lines[self.cursor] if self.cursor < len(self._lines) else ""
        return None if isinstance(line, str) else line

    def toggle(self) -> None:
        """Select or deselect the store under the cursor."""
        if self.current is not None:
            self.chosen ^= {self.current.store.key}
            self.redraw()

    def toggle_all(self) -> None:
        """Select all stores, or none if all are selected."""
        every = {summary.store.key for summary in self._stores()}
        self.chosen = set() if every <= self.chosen else every
        self.redraw()

    def line_count(self) -> int:
        return len(self._lines)

    def selectable(self, index: int) -> bool:
        return not isinstance(self._lines[index], str)

    def get_content_height(self, container: Size, viewport: Size, width: int) -> int:
        return max(1, len(self._lines))

    def draw_key(self, index: int) -> Hashable:
        line = self._lines[index]
        if isinstance(line, str):
            return line
        return line, line.store.key in self.chosen, self.is_counted

    def cursor_moved(self) -> None:
        if isinstance(self.screen, StoreChooser):
            self.screen.show_current()

    def clicked(self, index: int, *, again: bool, double: bool) -> None:
        self.toggle()

    def draw(self, index: int, width: int, *, selected: bool) -> Strip:
        line, palette = self._lines[index], self.palette
        if isinstance(line, str):
            return Strip([Segment(" " + text.cut(text.one_line(line), width - 1), palette.heading)])
        ground = palette.cursor(focused=True) if selected else Style.null()
        is_chosen = self._is_chosen(line)
        count = text.number(line.count) if self.is_counted else "…"
        age = text.short_ago(line.last_write, self._now) if self.is_counted else ""
        remarks = _remarks(line, is_new=line.store.key in self._fresh)
        room = max(0, width - 5 - PROGRAM_CELLS - COUNT_CELLS - AGE_CELLS - 2)
        label = text.cut(text.one_line(line.store.label), max(0, room - text.width(remarks) - 2))
        program = text.pad(text.cut(text.one_line(line.program), PROGRAM_CELLS), PROGRAM_CELLS)
        ink = palette.text if is_chosen else palette.dim
        return Strip(
            [
                Segment("▌" if selected else " ", palette.accent + ground),
                Segment(
                    "[✓] " if is_chosen else "[ ] ",
                    (palette.chosen if is_chosen else palette.faint) + ground,
                ),
                Segment(program, ink + ground),
                Segment(f"{count:>{COUNT_CELLS}}", palette.dim + ground),
                Segment(f"{age:>{AGE_CELLS}}  ", palette.faint + ground),
                Segment(label, palette.faint + ground),
                Segment(f"  {remarks}" if remarks else "", palette.warning + ground),
            ]
        )


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
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("escape,q", "dismiss", show=False),
        Binding("enter", "accept", show=False, priority=True),
        Binding("space", "toggle_store", show=False, priority=True),
        Binding("a", "toggle_all", show=False),
    ]

    def __init__(self, now: datetime, fresh: Collection[str] = ()) -> None:
        super().__init__()
        self._places: Sequence[tuple[str, Sequence[str]]] = ()
        self._list = StoreList(now, fresh)
        self._is_empty = False

    def compose(self) -> ComposeResult:
        with Vertical(classes="box full") as box:
            box.border_title = Content(TITLE)
            yield self._list
            searched = TextWindow(id="places")
            searched.display = False
            yield searched
            yield Static("", id="store-path", classes="line", markup=False)
            yield KeyLine(id="store-keys")

    def on_mount(self) -> None:
        self._show_keys()

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
        self._show_keys()
        self.show_current()

    def _show_keys(self) -> None:
        back = [("esc", "back", "")]
        if self._is_empty:
            self.query_one(KeyLine).show([("↑↓", "scroll", "")], back)
            return
        keys = [("space", "toggle", ""), ("a", "all", ""), ("enter", "open these", "")]
        self.query_one(KeyLine).show(keys, [("esc", "cancel", "")])

    def show_current(self) -> None:
        """Below the list: the path of the store under the cursor, and what cannot be read."""
        current = self._list.current
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
        lines += [[Segment(f" {part}", palette.text)] for part in text.wrap(explanation, width)]
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
        lines += [
            [],
            *([Segment(f" {part}", palette.text)] for part in text.wrap(explanation, width)),
        ]
        window.show(lines)
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
