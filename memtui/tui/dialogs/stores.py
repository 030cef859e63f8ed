"""Choose which stores are open."""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Collection, Sequence

from rich.segment import Segment
from rich.style import Style
from textual import on
from textual.app import ComposeResult
from textual.binding import Binding
from textual.content import Content
from textual.widgets import Input, Static

from memtui import text
from memtui.library.store_catalog import (
    StoreSummary,
    TypedPath,
    describe_switch,
    describe_sync,
    path_from_home,
    project_name,
)
from memtui.tui.appearance import wrapped
from memtui.tui.dialogs.dialog import FittingDialog
from memtui.tui.dialogs.prompts import QUESTION_CELLS, LineDialog
from memtui.tui.widgets.text_window import OutcomeLine, OutcomeLines, RowList, TextWindow, Tone

PROGRAM_FROM = 60
"""Columns of a row that says the program and the age; below, the label and its folder need them."""
PROGRAM_CELLS = 18
COUNT_CELLS = 9
AGE_CELLS = 6
DETAIL_ROWS = 2
"""Lines below the list: the path of a store, and what cannot be read, its synchronisation, or
whether its program keeps memory."""
NEW = "new"
WHAT_IT_IS = (
    "memtui shows what AI agents remember about you and your projects, and lets you correct it. It "
    "opens the files that the agents keep, and has found none yet."
)
DEMO = "the demo: a developer's laptop with eight agents"


class StoreList(RowList[StoreSummary | str]):
    """A line for each project, and below it one for each of its stores with a checkbox."""

    empty = "Looking for stores …"

    def __init__(self, fresh: Collection[str]) -> None:
        super().__init__()
        self._fresh = fresh
        self.chosen: set[str] = set()
        self.is_counted = False

    def set_stores(self, stores: Sequence[StoreSummary], *, counted: bool) -> None:
        """Show these stores; the cursor stays on its store, and what was toggled stays so."""
        before = {each.store.key for each in self._stores()}
        self.chosen |= {s.store.key for s in stores if s.is_open and s.store.key not in before}
        rows: list[StoreSummary | str] = []
        self.is_counted = counted
        for summary in stores:
            heading = project_name(summary)
            if heading not in rows:
                rows.append(heading)
            rows.append(summary)
        self.show_rows(rows, same=lambda row: row if isinstance(row, str) else row.store.key)

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
            end = text.cut(text.one_line(row)[::-1], width - 1)[::-1]  # folders differ in their end
            return [(end, palette.heading)]
        is_chosen = row.store.key in self.chosen
        count = text.number(row.count, row.accuracy) if self.is_counted else "…"
        age = text.short_ago(row.last_write, self.app.now()) if self.is_counted else ""
        program = text.column(row.program, PROGRAM_CELLS) if width >= PROGRAM_FROM else ""
        age = f"{age:>{AGE_CELLS}}" if program else ""
        room = max(0, width - 5 - len(age) - COUNT_CELLS - text.width(program) - 2)
        remarks = text.cut(_remarks(row, is_new=row.store.key in self._fresh), room)
        path = text.cut_line(_path_in(row), max(0, room - text.width(remarks) - 2 * bool(remarks)))
        return [
            ("[✓] ", palette.chosen) if is_chosen else ("[ ] ", palette.faint),
            (program, palette.text if is_chosen else palette.dim),
            (f"{count:>{COUNT_CELLS}}", palette.dim),
            (f"{age}  ", palette.faint),
            (path, palette.faint),
            (f"  {remarks}" if remarks else "", palette.warning),
        ]


def _path_in(summary: StoreSummary) -> str:
    """The folder of a store, from that of its project if it lies there; "" if it is that."""
    root, project = summary.store.root, summary.project
    path = root.relative_to(project) if project in root.parents else path_from_home(root)
    return text.file_name(str(path)) if root != project else ""


def _remarks(summary: StoreSummary, *, is_new: bool) -> str:
    """Return remarks on a store: new, unreadable, read-only, what its program does not keep, what
    stops its synchronisation."""
    faults, sync = len(summary.unreadable), summary.sync
    parts = (
        NEW if is_new else "",
        f"× {text.number(faults)} unreadable" if faults else "",
        "read-only" if summary.read_only else "",
        *(f"{text.one_line(each.name)} off" for each in summary.switches if not each.is_on),
        f"sync {sync.state}" if sync is not None and sync.reasons else "",
    )
    return ", ".join(part for part in parts if part)


class StoreChooser(FittingDialog[tuple[str, ...]]):
    """Dismissed with the keys of the stores that are to be open, None on escape.

    Where no store is found it shows the places that were searched, and what else can be opened.
    """

    AUTO_FOCUS = "ListWindow"
    box_classes = "full"
    heading = "Stores"
    BINDINGS = [
        ("escape", "dismiss"),
        ("q", "dismiss_or_quit"),
        Binding("enter", "accept", "open these", priority=True),
        Binding("space", "toggle_store", "toggle", priority=True),
        ("a", "toggle_all", "all"),
        ("d", "demo", "demo"),
        ("o", "open_path", "open a path"),
    ]

    def __init__(self, fresh: Collection[str], open_path: Callable[[], None]) -> None:
        """`fresh`: keys of the stores that are marked as new; `open_path`: asks for a path."""
        super().__init__()
        self.places: Sequence[tuple[str, Sequence[str]]] = ()
        """Those that are searched for stores, shown if none is found."""
        self._list, self._open_path = StoreList(fresh), open_path
        self._is_empty = False

    def content(self) -> ComposeResult:
        yield self._list
        searched = TextWindow(id="places")
        searched.display = False
        yield searched
        yield Static("", id="store-path", classes="line", markup=False)

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:
        if action == "demo":
            return self._is_empty
        return action not in ("accept", "toggle_store", "toggle_all") or not self._is_empty

    def keys(self) -> list[tuple[str, str]]:
        self.leave = "back" if self._is_empty else "cancel"
        return super().keys() + [("q", "quit")] * self._is_empty

    def fill(self) -> None:
        self.show_current()
        if self._is_empty:
            self._show_places()
        elif self._list.line_count():
            self.fit(rows=self._list.line_count() + DETAIL_ROWS)

    def set_stores(self, stores: Sequence[StoreSummary], *, counted: bool) -> None:
        """Show these stores; `counted`: they have been read."""
        self._is_empty = not stores
        self._list.display = bool(stores)
        self.query_one("#places").display = self._is_empty
        if stores:
            self._list.set_stores(stores, counted=counted)
        self.update_keys()
        self.fill()

    @on(StoreList.Moved)
    def show_current(self) -> None:
        """Below the list: the path of the store under the cursor, and what cannot be read."""
        current = self._list.store
        line, width = self.query_one("#store-path", Static), max(20, self.inner_width - 2)
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
            elif current.sync is not None:
                sync = describe_sync(current.sync, self.app.now())
                words.append(text.cut(f"sync: {sync}", width))
            elif current.switches:
                states = "; ".join(map(describe_switch, current.switches))
                words.append(text.cut(states, width))
        line.update(Content("\n".join([*words, ""][:DETAIL_ROWS])))

    def _show_places(self) -> None:
        window = self.query_one("#places", TextWindow)
        palette, width = window.palette, max(20, self.inner_width - 2)
        lines = [[Segment(" No memory stores were found.", palette.heading)], []]
        for key, words in (("d", DEMO), ("o", "open a folder or file that lies elsewhere")):
            cut = text.cut(words, width - 6)
            lines.append([Segment(f"   {key}  ", palette.key), Segment(cut, palette.text)])
        for explanation, style in (
            (WHAT_IT_IS, palette.text),
            ("These places are searched again every few seconds:", palette.dim),
        ):
            lines += [[], *wrapped(explanation, style, width)]
        for program, places in self.places:
            if places:
                name = text.pad(program, PROGRAM_CELLS)
                where = text.cut(", ".join(places), width - PROGRAM_CELLS - 4)
                lines.append([Segment(f"   {name} ", palette.dim), Segment(where, palette.text)])
        window.show(lines)
        self.fit(rows=len(lines))
        window.focus()

    def action_toggle_store(self) -> None:
        self._list.toggle()

    def action_toggle_all(self) -> None:
        self._list.toggle_all()

    def action_demo(self) -> None:
        self.app.restart("demo")

    def action_open_path(self) -> None:
        self._open_path()

    def action_dismiss_or_quit(self) -> None:
        if self._is_empty:
            self.app.leave()
        else:
            self.dismiss(None)

    def action_accept(self) -> None:
        if not self._list.chosen:
            self.app.notify("Choose at least one store.", severity="warning")
        elif self._list.is_counted or self._list.line_count():
            self.dismiss(tuple(sorted(self._list.chosen)))


SHOWN_COMPLETIONS = 8

_BEGUN_ANEW = re.compile(r".*/(?=~/|/)")
"""What stands before a path from the root or from home that is typed behind another, as find-file
of Emacs takes it: the line begins with `~/`."""


class PathDialog(LineDialog[str]):
    """Dismissed with a path at which there is a store, None on escape."""

    BINDINGS = [Binding("tab", "complete", "complete", priority=True)]

    def __init__(self, look: Callable[[str], None]) -> None:
        """`look`: looks up what is typed, and calls `show`."""
        super().__init__("Open a path", "", "", "open")
        self._look = look
        self._found: tuple[str, TypedPath] | None = None

    def content(self) -> ComposeResult:
        yield Input("~/", compact=True, select_on_focus=False)
        yield OutcomeLines()

    @on(Input.Changed)
    def typed(self, event: Input.Changed) -> None:
        if begun := _BEGUN_ANEW.match(event.value):
            event.input.value = event.value[begun.end() :]
            event.input.cursor_position = len(event.input.value)
        else:
            self._look(event.value)

    def show(self, typed: str, found: TypedPath) -> None:
        """Show what a path may become, and what it holds."""
        if typed != self.query_one(Input).value:
            return
        self._found = typed, found
        names = [text.file_name(name.rstrip("/").rpartition("/")[2]) for name in found.completions]
        more = len(names) - SHOWN_COMPLETIONS
        lines = [
            OutcomeLine(path_from_home(root), head=text.one_line(program))
            for program, root in found.stores[:SHOWN_COMPLETIONS]
        ]
        if not lines:
            lines = [OutcomeLine("no store here", tone=Tone.QUIET)]
        if names:
            shown = "  ".join(names[:SHOWN_COMPLETIONS]) + (
                f"  and {more} more" if more > 0 else ""
            )
            lines.append(OutcomeLine(shown, tone=Tone.QUIET))
        self.say(*lines)
        self.fit(columns=QUESTION_CELLS)

    def action_complete(self) -> None:
        """Write what all completions have in common."""
        line = self.query_one(Input)
        if self._found is not None and self._found[0] == line.value and self._found[1].completions:
            line.value = os.path.commonprefix(self._found[1].completions)  # noqa: RUF071
            line.cursor_position = len(line.value)

    def accept(self, words: str) -> None:
        typed, found = self._found or ("", None)
        if found is not None and typed.strip() == words and found.stores:
            self.dismiss(os.path.expanduser(words))
