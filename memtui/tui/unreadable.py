"""The open stores with their unreadable files, each shown at its error, edited and restored."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path

from msgspec import Struct
from rich.segment import Segment
from rich.style import Style
from textual import on

from memtui import text
from memtui.files import backups
from memtui.library import Library, StoreState, broken_files
from memtui.library.broken_files import BrokenFile, is_database
from memtui.model import Place
from memtui.stores.base import Unreadable
from memtui.tui import terminal
from memtui.tui.actions import works_here
from memtui.tui.appearance import Palette, wrapped
from memtui.tui.dialogs.dialog import Key
from memtui.tui.dialogs.diff import DiffScreen
from memtui.tui.dialogs.list_page import ListPage, PageText
from memtui.tui.jobs import Job
from memtui.tui.previews import describe_effects, preview_of
from memtui.tui.widgets.text_window import RowList

LOOK_EVERY = 0.25
"""Seconds between two looks at what is unreadable, while the list is open."""
LONGEST_LINE = 2_000
MAX_LINES = 5_000
"""Lines around the error that are shown."""
NUMBER_WIDTH = 6
MAX_NAME = 40
"""Cells of a store's name in a row."""


class Fault(Struct, frozen=True):
    """An unreadable file or folder of a store."""

    store: StoreState
    item: Unreadable

    @property
    def path(self) -> Path:
        return Path(self.item.file)

    @property
    def name(self) -> str:
        """The path from the folder of the store."""
        name = os.path.relpath(self.item.file, self.store.root)
        return text.file_name(self.item.file if name.startswith("..") or name == "." else name)


def store_rows(stores: Sequence[StoreState]) -> list[StoreState | Fault]:
    """The stores with unreadable files, each before these, then the others."""
    rows: list[StoreState | Fault] = []
    for store in sorted(stores, key=lambda store: not store.unreadable):
        rows += [store, *(Fault(store, item) for item in store.unreadable)]
    return rows


def _key(row: StoreState | Fault) -> tuple[str, str]:
    return (row.label, "") if isinstance(row, StoreState) else (row.store.label, row.item.file)


class FaultList(RowList[StoreState | Fault]):
    """Stores, and below each its unreadable files."""

    is_lit = False

    def draw_row(self, row: StoreState | Fault, width: int) -> Sequence[tuple[str, Style]]:
        palette = self.palette
        if isinstance(row, Fault):
            name = text.cut_line(row.name, width - 4)
            room = width - 6 - text.width(name)
            reason = text.cut_line(row.item.reason, room) if room > MAX_NAME // 2 else ""
            return [(f"× {name}", palette.text), (f"  {reason}", palette.warning)]
        name = text.cut_line(self.app.store_name(row.label), min(MAX_NAME, width // 2))
        lock = "  read-only" if row.read_only else ""
        room = max(0, width - text.width(name + row.size + lock) - 5)
        path = text.cut(text.file_name(str(row.root)), room)
        return [
            (name, palette.heading),
            (f"  {row.size}", palette.dim),
            (lock, palette.warning),
            (f"  {path}", palette.faint),
        ]


class UnreadablePage(ListPage[StoreState | Fault, None]):
    """Lists the open stores with their unreadable files; the text is the file at its error."""

    AUTO_FOCUS = "FaultList"

    def __init__(self, stores: Callable[[], Sequence[StoreState]], state: Path | None) -> None:
        """`stores`: the stores as they are now; asked again while the list is open. `state`: the
        folder with the copies of files."""
        rows = FaultList(store_rows(stores()), title="Stores")
        super().__init__(rows)
        rows.cursor = next((at for at, row in enumerate(rows.rows) if isinstance(row, Fault)), 0)
        self._stores, self._state = stores, state
        self._shown = stores()

    def on_mount(self) -> None:
        self.set_interval(LOOK_EVERY, self.refill_if_changed)

    def refill_if_changed(self) -> None:
        """List the stores of now; the cursor stays on its file."""
        if (stores := self._stores()) != self._shown:
            self._shown = stores
            self.show_rows(store_rows(stores), same=_key)

    def head(self) -> Iterable[str]:
        count = sum(len(store.unreadable) for store in self._shown)
        yield "Stores and unreadable files"
        yield f"{text.number(count)} unreadable" if count else "No unreadable files"

    def look(self, row: StoreState | Fault) -> Callable[[Library, Job], BrokenFile] | None:
        if isinstance(row, StoreState) or not row.path.is_file():
            return None
        return lambda library, _: broken_files.inspect_file(
            library.store(row.store.label), row.item.file, row.item.reason, self._state
        )

    def text_of(
        self, row: StoreState | Fault, seen: BrokenFile, palette: Palette, width: int
    ) -> PageText:
        if isinstance(row, StoreState):
            lines = wrapped(self.app.store_name(row.label), palette.heading, width)
            for style, words in (
                (palette.text, row.size),
                (palette.dim, text.file_name(str(row.root))),
                (palette.warning, text.one_line(row.read_only)),
                (palette.dim, "" if row.unreadable else "without unreadable files"),
            ):
                lines += wrapped(words, style, width) if words else []
            return PageText(lines)
        lines = wrapped(text.one_line(row.item.reason), palette.warning, width)
        lines += wrapped(text.file_name(str(row.path)), palette.dim, width)
        if not seen:
            return PageText(lines)
        copy, style = "no good copy", palette.dim
        if seen.backup_time is not None:
            age = text.ago(seen.backup_time, self.app.now())
            copy = f"last good copy: {text.size(seen.backup_size)}, {age}"
            style = palette.status("active")
        lines += wrapped(copy, style, width)
        drawn, at = draw_broken(seen, palette, width)
        title = f"{row.path.name} (read-only) · {copy}"
        return PageText([*lines, [], *drawn], at + len(lines) + 1, title)

    # Keys

    @property
    def _fault(self) -> Fault | None:
        return self.rows.current if isinstance(self.rows.current, Fault) else None

    @on(FaultList.Opened)
    def _opened(self) -> None:
        self.action_whole()

    def _show_label(self) -> str:
        return ("list" if self.is_whole else "show") * (self.rows.current is not None)

    def _can_edit(self) -> bool:
        fault = self._fault
        if fault is None or is_database(fault.path):
            return False
        return fault.path.is_file() and works_here("source")

    def _edit(self) -> None:
        if (fault := self._fault) is not None:
            line = broken_files.fault_line(fault.item.reason)
            terminal.open_source(self.app, Place(str(fault.path), max(1, line)))
            self.worker.refresh()

    def _can_restore(self) -> bool:
        fault, state = self._fault, self._state
        if fault is None or state is None or fault.store.read_only or is_database(fault.path):
            return False
        return backups.last_good(fault.path, state) is not None

    async def _restore(self) -> None:
        """Show what restoring the last good copy of a file would write, then do it."""
        fault, state = self._fault, self._state
        if fault is None or state is None:
            return
        found = await self.acts.library(
            lambda library, _: preview_of(
                broken_files.plan_restore_copy(
                    library.store(fault.store.label), fault.item.file, state
                )
            ),
            present=True,
        )
        effects = describe_effects(found.planned.plans)
        dialog = DiffScreen(found.planned.title, effects, found.lines, yes="restore")
        if await self.acts.show(dialog) is not None:
            await self.acts.apply(found.planned)
            if self.is_whole:
                self.action_whole()
            undo = self.app.hint("undo")
            self.app.notify(f"Restored {fault.path.name}{undo}", timeout=4)
            self.worker.refresh()

    def _reveal(self) -> None:
        if (fault := self._fault) is not None:
            terminal.open_folder(self.app, fault.path)

    KEYS = (
        Key("enter", "show", lambda self: self.action_whole(), _show_label),
        Key("space", "", lambda self: self.action_whole()),
        Key("e", "edit", _edit, _can_edit),
        Key("r", "restore", _restore, _can_restore),
        Key("o", "open folder", _reveal, lambda self: self._fault),
    )


def draw_broken(
    broken: BrokenFile, palette: Palette, width: int
) -> tuple[list[list[Segment]], int]:
    """The lines of a broken file with their numbers, and the place of its error among them."""
    every = text.mask_secrets(broken.text).split("\n")
    first, at = max(0, broken.line - MAX_LINES // 2), 0
    lines: list[list[Segment]] = []
    for number, line in enumerate(every[first : first + MAX_LINES], first + 1):
        is_fault = number == broken.line
        if is_fault:
            at = len(lines)
        style = palette.warning if is_fault else palette.text
        mark = "▶" if is_fault else " "
        shown = text.visible(line[:LONGEST_LINE])
        for row, part in enumerate(text.wrap(shown, max(10, width - NUMBER_WIDTH - 1))):
            head = f"{mark}{number:>{NUMBER_WIDTH}} " if not row else " " * (NUMBER_WIDTH + 2)
            lines.append([Segment(head, palette.faint), Segment(part, style)])
    return (lines, at) if broken.text else ([[Segment(" (empty file)", palette.faint)]], 0)
