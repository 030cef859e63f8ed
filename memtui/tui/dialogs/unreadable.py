"""The open stores with their unreadable files; one broken file, read-only, at its error."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING, ClassVar

from rich.segment import Segment
from rich.style import Style
from textual.app import ComposeResult
from textual.binding import Binding
from textual.containers import Vertical
from textual.content import Content
from textual.strip import Strip

from memtui import text
from memtui.library.broken_files import BrokenFile, is_database
from memtui.tui.dialogs.dialog import FittingDialog
from memtui.tui.widgets.list_window import ListWindow, TextWindow
from memtui.tui.widgets.outcome import OutcomeLine, OutcomeLines, Tone
from memtui.tui.widgets.status_lines import KeyLine

if TYPE_CHECKING:
    from textual.binding import BindingType

    from memtui.library import StoreState
    from memtui.stores.base import Unreadable
    from memtui.tui.appearance import Palette


LOOK_EVERY = 0.25
"""Seconds between two looks at what is unreadable, while the list is open."""


@dataclass(frozen=True, slots=True)
class Fault:
    """An unreadable file or folder of a store."""

    store: StoreState
    item: Unreadable

    @property
    def path(self) -> Path:
        return Path(self.item.file)


@dataclass(frozen=True, slots=True)
class FaultActs:
    """Actions on a fault, implemented by the caller."""

    edit: Callable[[Fault], None]
    """Open the file in the editor, at the line of the fault."""
    show: Callable[[Fault], None]
    """Show the file as it is."""
    restore: Callable[[Fault], None]
    """Replace the file by its last good copy."""
    reveal: Callable[[Fault], None]
    """Show the file in its folder."""
    has_copy: Callable[[Fault], bool]
    """Whether there is a good copy that may be restored."""


class FaultList(ListWindow):
    """The open stores, and below each its unreadable files, over which the cursor moves."""

    def __init__(self) -> None:
        super().__init__()
        self._lines: list[tuple[list[Segment], Fault | None]] = []

    def show(self, stores: Sequence[StoreState], width: int) -> None:
        """List the stores; the cursor stays on its file."""
        selected = self.fault
        self._lines = []
        for store in stores:
            self._lines += [([], None)] if self._lines else []
            self._lines += _store(store, width, self.palette)
        at = [index for index, (_, fault) in enumerate(self._lines) if fault is not None]
        same = [
            index
            for index in at
            if selected and self._fault_at(index).item.file == selected.item.file
        ]
        self.reset(cursor=(same or at or [0])[0])
        self.refresh(layout=True)

    def _fault_at(self, index: int) -> Fault:
        fault = self._lines[index][1]
        assert fault is not None, "the cursor stands on faults only"
        return fault

    @property
    def fault(self) -> Fault | None:
        """The fault under the cursor."""
        return self._lines[self.cursor][1] if self.cursor < len(self._lines) else None

    def line_count(self) -> int:
        return len(self._lines)

    def selectable(self, index: int) -> bool:
        return self._lines[index][1] is not None

    def clicked(self, index: int, *, again: bool, double: bool) -> None:
        if double:
            self.call_later(self.run_action, "screen.act_on('show')")

    def cursor_moved(self) -> None:
        self.call_later(self.run_action, "screen.update_keys")

    def draw(self, index: int, width: int, *, selected: bool) -> Strip:
        segments, fault = self._lines[index]
        if not selected or fault is None:
            return Strip([Segment(" "), *segments])
        ground = self.palette.cursor(focused=True)
        words = [Segment(each.text, (each.style or Style.null()) + ground) for each in segments]
        return Strip([Segment("▌", self.palette.accent + ground), *words]).adjust_cell_length(
            width, ground
        )


class UnreadableScreen(FittingDialog[None]):
    """Lists the open stores with their unreadable files, and the actions on these."""

    AUTO_FOCUS = "FaultList"
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("escape,q", "dismiss", show=False),
        Binding("enter", "act_on('show')", show=False),
        Binding("e", "act_on('edit')", show=False),
        Binding("r", "act_on('restore')", show=False),
        Binding("o", "act_on('reveal')", show=False),
    ]

    def __init__(self, stores: Callable[[], Sequence[StoreState]], acts: FaultActs) -> None:
        """`stores`: the stores as they are now; asked again while the list is open."""
        super().__init__()
        self._stores, self._acts = stores, acts
        self._shown: Sequence[StoreState] = ()

    def compose(self) -> ComposeResult:
        with Vertical(classes="box tall") as box:
            box.border_title = Content("Stores and unreadable files")
            yield FaultList()
            yield KeyLine(id="unreadable-keys")

    def on_mount(self) -> None:
        self.set_interval(LOOK_EVERY, self._refill_if_changed)

    def _refill_if_changed(self) -> None:
        if tuple(self._stores()) != tuple(self._shown):
            self.fill()

    def fill(self) -> None:
        self._shown = self._stores()
        faults = self.query_one(FaultList)
        faults.show(self._shown, max(20, self.inner_width - 2))
        self.fit(rows=max(1, faults.line_count()))
        self.action_update_keys()

    def action_update_keys(self) -> None:
        """Show the keys of the actions that are possible for the fault under the cursor."""
        self.query_one(KeyLine).show(
            [(key, words, "") for key, words, _ in self._possible_acts()], [("esc", "back", "")]
        )

    def _possible_acts(self) -> list[tuple[str, str, str]]:
        """Key, words and act."""
        fault = self.query_one(FaultList).fault
        if fault is None:
            return []
        found = []
        if fault.path.is_file():
            found = [("enter", "show", "show")]
            if not is_database(fault.path):
                found.append(("e", "$EDITOR at the error", "edit"))
        if self._acts.has_copy(fault):
            found.append(("r", "restore last good copy", "restore"))
        return [*found, ("o", "open folder", "reveal")]

    def action_act_on(self, act: str) -> None:
        """Run an action on the fault under the cursor, if it is possible."""
        fault = self.query_one(FaultList).fault
        if fault is not None and act in {act for _, _, act in self._possible_acts()}:
            getattr(self._acts, act)(fault)


def _store(
    store: StoreState, width: int, palette: Palette
) -> list[tuple[list[Segment], Fault | None]]:
    memories = f"{text.counted(store.count, 'memory')}, {store.format}"
    lines = [
        [
            Segment(text.cut(text.one_line(store.label), width // 2), palette.heading),
            Segment(text.cut(f"  {text.one_line(memories)}", width // 2), palette.dim),
        ]
    ]
    lines += [
        [Segment(part, palette.dim)] for part in text.wrap(text.file_name(str(store.root)), width)
    ]
    if store.read_only:
        lines += [
            [Segment(part, palette.warning)]
            for part in text.wrap(f"read-only: {text.one_line(store.read_only)}", width)
        ]
    if not store.unreadable:
        lines.append([Segment("no unreadable files", palette.dim)])
    found: list[tuple[list[Segment], Fault | None]] = [(line, None) for line in lines]
    for item in store.unreadable:
        name = os.path.relpath(item.file, store.root)
        name = item.file if name.startswith("..") or name == "." else name
        first, *rest = text.wrap("× " + text.file_name(name), width)
        found.append(([Segment(first, palette.text)], Fault(store, item)))
        found += [([Segment(part, palette.text)], None) for part in rest]
        found += [
            ([Segment(f"  {part}", palette.warning)], None)
            for part in text.wrap(text.one_line(item.reason), width - 2)
        ]
    return found


LONGEST_LINE = 2_000
MOST_LINES = 5_000
"""Lines around the error that are shown."""
NUMBER_WIDTH = 6


class BrokenScreen(FittingDialog[bool]):
    """Shows a broken file; dismissed with True to restore its last good copy."""

    AUTO_FOCUS = "TextWindow"
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("escape,q", "dismiss", show=False),
        Binding("r", "restore", show=False),
    ]

    def __init__(self, broken: BrokenFile, now: Callable[[], datetime]) -> None:
        super().__init__()
        self._broken = broken
        self._now = now

    def compose(self) -> ComposeResult:
        with Vertical(classes="box full") as box:
            box.border_title = Content(f"{text.file_name(self._broken.path.name)} (read-only)")
            yield OutcomeLines()
            yield TextWindow()
            yield KeyLine(id="broken-keys")

    def on_mount(self) -> None:
        broken = self._broken
        lines = [
            OutcomeLine(broken.reason, Tone.BAD),
            OutcomeLine(text.file_name(str(broken.path)), Tone.QUIET),
        ]
        restore = []
        if broken.backup_time is not None:
            size, age = text.size(broken.backup_size), text.ago(broken.backup_time, self._now())
            lines.append(OutcomeLine(f"{size}, {age}", Tone.GOOD, "last good copy:"))
            restore = [("r", "restore", "")]
        else:
            lines.append(OutcomeLine("no good copy", Tone.QUIET))
        self.query_one(OutcomeLines).say(*lines)
        self.query_one(KeyLine).show([*restore, ("↑↓", "scroll", "")], [("esc", "back", "")])

    def action_restore(self) -> None:
        if self._broken.backup_time is not None:
            self.dismiss(True)

    def fill(self) -> None:
        sheet, fault = self.query_one(TextWindow), self._broken.line
        every = self._broken.text.split("\n")
        first = max(0, fault - MOST_LINES // 2)
        width = max(10, self.inner_width - NUMBER_WIDTH - 3)
        lines: list[list[Segment]] = []
        top = 0
        for number, line in enumerate(every[first : first + MOST_LINES], first + 1):
            is_fault = number == fault
            if is_fault:
                top = len(lines)
            style = sheet.palette.warning if is_fault else sheet.palette.text
            mark = "▶" if is_fault else " "
            for row, part in enumerate(text.wrap(text.visible(line[:LONGEST_LINE]), width)):
                head = f"{mark}{number:>{NUMBER_WIDTH}} " if not row else " " * (NUMBER_WIDTH + 2)
                lines.append([Segment(head, sheet.palette.faint), Segment(part, style)])
        if not self._broken.text:
            lines = [[Segment(" (empty file)", sheet.palette.faint)]]
        sheet.show(lines)
        self.fit_lines(len(lines))
        self.call_after_refresh(lambda: sheet.scroll_lines(max(0, top - sheet.page // 2)))
