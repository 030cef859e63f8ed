"""Choose which stores are open."""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Collection, Iterable, Sequence
from functools import partial

from rich.segment import Segment
from rich.style import Style
from textual import on
from textual.app import ComposeResult
from textual.binding import Binding
from textual.widgets import Input

from memtui import text
from memtui.library.store_catalog import (
    StoreCatalog,
    StoreSummary,
    TypedPath,
    describe_switch,
    describe_sync,
    look_up_path,
    path_from_home,
    project_name,
)
from memtui.tui.appearance import Palette, wrapped
from memtui.tui.dialogs.dialog import Key
from memtui.tui.dialogs.list_page import ListPage, PageText
from memtui.tui.dialogs.prompts import QUESTION_CELLS, LineDialog
from memtui.tui.jobs import Job
from memtui.tui.widgets.text_window import OutcomeLine, OutcomeLines, RowList, Tone

PROGRAM_FROM = 54
"""Columns of a row that says the program and the age; below, the label and its folder need them."""
PROGRAM_CELLS = 18
COUNT_CELLS = 9
AGE_CELLS = 6
NEW = "new"
WHAT_IT_IS = (
    "memtui shows what AI agents remember about you and your projects, and lets you correct it. It "
    "opens the files that the agents keep, and has found none yet."
)
DEMO = "the demo: a developer's laptop with eight agents"


class StoreList(RowList[StoreSummary | str]):
    """A line for each project, and below it one for each of its stores with a checkbox."""

    empty = "Looking for stores …"
    is_lit = False

    def __init__(self, fresh: Collection[str]) -> None:
        super().__init__(title="Stores")
        self._fresh = fresh
        self.chosen: set[str] = set()
        self.is_counted = False

    def rows_of(self, stores: Sequence[StoreSummary], *, counted: bool) -> list[StoreSummary | str]:
        """The rows of these stores; what was toggled stays so."""
        before = {each.store.key for each in self.stores()}
        self.chosen |= {s.store.key for s in stores if s.is_open and s.store.key not in before}
        self.is_counted = counted
        projects: dict[str, list[StoreSummary | str]] = {}
        for summary in stores:
            heading = project_name(summary)
            projects.setdefault(heading, [heading]).append(summary)
        return [row for rows in projects.values() for row in rows]

    def stores(self) -> list[StoreSummary]:
        """The stores without their headings."""
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
        every = {summary.store.key for summary in self.stores()}
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


class StoreChooser(ListPage[StoreSummary | str, tuple[str, ...]]):
    """Dismissed with the keys of the stores that are to be open, None on escape.

    Where no store is found it shows the places that were searched, and what else can be opened.
    """

    AUTO_FOCUS = "StoreList"
    rows: StoreList
    leave = "cancel"

    def __init__(self, make_catalog: Callable[[], StoreCatalog], fresh: Collection[str]) -> None:
        """`make_catalog`: called in a job; `fresh`: keys of the stores that are marked as new."""
        super().__init__(StoreList(fresh))
        self._make_catalog = make_catalog
        self.catalog: StoreCatalog | None = None
        """As it was asked the last time."""
        self.has_none = False
        """No store was found."""

    def on_mount(self) -> None:
        self.find()

    def find(self) -> None:
        """Find the stores, then read what they hold."""

        def describe(_: Job) -> tuple[StoreCatalog, list[StoreSummary]]:
            catalog = self._make_catalog()
            return catalog, catalog.describe(catalog.known())

        def found(answer: tuple[StoreCatalog, list[StoreSummary]]) -> None:
            self.catalog, stores = catalog, _ = answer
            self._show(stores, counted=False)
            library = self.worker.library
            show = self.if_open(partial(self._show, counted=True))
            self.worker.start(
                "stores-read", lambda _: catalog.summarize(library), show, only_reads=True
            )

        self.worker.start("stores-find", describe, self.if_open(found), only_reads=True)

    def _show(self, stores: Sequence[StoreSummary], *, counted: bool) -> None:
        """Show these stores; `counted`: they have been read."""
        had_none, self.has_none = self.has_none, not stores
        rows = self.rows.rows_of(stores, counted=counted)
        self.show_rows(rows, same=lambda row: row if isinstance(row, str) else row.store.key)
        if self.has_none != had_none:
            self.leave = "back" if self.has_none else "cancel"
            self.show_whole(self.has_none)

    def head(self) -> Iterable[str]:
        count = len(self.rows.chosen)
        return ["Stores", *([f"{text.number(count)} to open"] if not self.has_none else ())]

    def text_of(
        self, row: StoreSummary | str, seen: object, palette: Palette, width: int
    ) -> PageText:
        if isinstance(row, str):
            return PageText(())
        root = str(row.store.root)
        parts = [
            (row.program, palette.heading),
            (text.file_name(root), palette.dim),
            (f"read-only: {row.read_only}" if row.read_only else "", palette.warning),
        ]
        if row.sync is not None:
            parts.append((f"sync: {describe_sync(row.sync, self.app.now())}", palette.text))
        parts += [(describe_switch(switch), palette.text) for switch in row.switches]
        for fault in row.unreadable:
            name = os.path.relpath(fault.file, root) if root in fault.file else fault.file
            parts.append((f"× {text.file_name(name)}: {fault.reason}", palette.warning))
        return PageText(
            [
                line
                for words, style in parts
                if words
                for line in wrapped(text.one_line(words), style, width)
            ]
        )

    def text_without_rows(self, palette: Palette, width: int) -> PageText:
        """Where stores were searched for, and what can be opened."""
        if not self.has_none:
            return PageText(())
        lines = [[Segment(" No memory stores were found.", palette.heading)], []]
        for key, words in (("d", DEMO), ("o", "open a folder or file that lies elsewhere")):
            cut = text.cut(words, width - 6)
            lines.append([Segment(f"   {key}  ", palette.key), Segment(cut, palette.text)])
        for explanation, style in (
            (WHAT_IT_IS, palette.text),
            ("These places are searched again every few seconds:", palette.dim),
        ):
            lines += [[], *wrapped(explanation, style, width)]
        for program, places in self.catalog.places() if self.catalog is not None else ():
            if places:
                name = text.pad(program, PROGRAM_CELLS)
                where = text.cut(", ".join(places), width - PROGRAM_CELLS - 4)
                lines.append([Segment(f"   {name} ", palette.dim), Segment(where, palette.text)])
        return PageText(lines)

    # Keys

    def action_leave(self) -> None:
        if self.has_none:
            self.dismiss(None)
        else:
            super().action_leave()

    def _toggle(self) -> None:
        self.rows.toggle()
        self.lay_out()

    def _toggle_all(self) -> None:
        self.rows.toggle_all()
        self.lay_out()

    async def _open_path(self) -> None:
        """Ask for a path, and open the stores there beside those that are open."""
        if path := await self.acts.show(PathDialog(look_up_path)):
            library = self.worker.library
            opened = [str(store.root) for store in library.stores] if library else []
            self.app.restart(*opened, path)

    def _accept(self) -> None:
        if not self.rows.chosen:
            self.app.notify("Choose at least one store.", severity="warning")
        elif self.rows.rows:
            self.dismiss(tuple(sorted(self.rows.chosen)))

    def _quit(self) -> None:
        if self.has_none:
            self.app.leave()
        else:
            self.dismiss(None)

    def keys(self) -> list[tuple[str, str]]:
        return super().keys() + [("q", "quit")] * self.has_none

    def _has_stores(self) -> bool:
        return not self.has_none

    # fmt: off
    KEYS = (
        Key("enter", "open these", _accept, _has_stores),
        Key("space", "toggle", _toggle, _has_stores),
        Key("a", "all", _toggle_all, _has_stores),
        Key("d", "demo", lambda self: self.app.restart("demo"), lambda self: self.has_none),
        Key("o", "open a path", _open_path),
        Key("q", "", _quit),
        Key("tab", "details", lambda self: self.action_whole(),
            lambda self: self.rows.current and ("list" if self.is_whole else "details")),
    )
    # fmt: on


SHOWN_COMPLETIONS = 8

_BEGUN_ANEW = re.compile(r".*/(?=~/|/)")
"""What stands before a path from the root or from home that is typed behind another, as find-file
of Emacs takes it: the line begins with `~/`."""


class PathDialog(LineDialog[str]):
    """Dismissed with a path at which there is a store, None on escape."""

    BINDINGS = [Binding("tab", "complete", "complete", priority=True)]

    def __init__(self, look: Callable[[str], TypedPath]) -> None:
        """`look`: looks up what is typed; called in a job."""
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
            typed, look = event.value, self._look
            show = self.if_open(partial(self._show, typed))
            self.worker.start("path", lambda _: look(typed), show, only_reads=True)

    def _show(self, typed: str, found: TypedPath) -> None:
        """Show what a path may become, and what it holds."""
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
