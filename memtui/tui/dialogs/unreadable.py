"""The open stores with their unreadable files; one broken file, read-only, at its error."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from pathlib import Path

from msgspec import Struct
from rich.segment import Segment
from rich.style import Style
from textual import on
from textual.app import ComposeResult

from memtui import text
from memtui.library import StoreState
from memtui.library.broken_files import BrokenFile, is_database
from memtui.stores.base import Unreadable
from memtui.tui.actions import works_here
from memtui.tui.appearance import Palette
from memtui.tui.dialogs.dialog import FittingDialog, TextDialog
from memtui.tui.widgets.text_window import OutcomeLine, RowList, TextWindow, Tone

LOOK_EVERY = 0.25
"""Seconds between two looks at what is unreadable, while the list is open."""


class Fault(Struct, frozen=True):
    """An unreadable file or folder of a store."""

    store: StoreState
    item: Unreadable

    @property
    def path(self) -> Path:
        return Path(self.item.file)


FaultRow = tuple[Sequence[tuple[str, Style]], Fault | None]
"""The pieces of a line, and the fault that it names."""


def _can_edit(file: Path) -> bool:
    return works_here("source") and not is_database(file)


class FaultList(RowList[FaultRow]):
    """Stores with unreadable files, over which the cursor moves, then the other open stores."""

    def show(self, stores: Sequence[StoreState], width: int) -> None:
        """List the stores; the cursor stays on its file."""
        longest = max(
            (text.width(text.one_line(self.app.store_name(store.label))) for store in stores),
            default=0,
        )
        lay_out = partial(
            _store_rows,
            width=width,
            palette=self.palette,
            labels=min(longest, width // 3),
            shown=self.app.store_name,
        )
        rows = list(lay_out([store for store in stores if store.unreadable]))
        without = list(lay_out([store for store in stores if not store.unreadable]))
        if rows and not without:
            del rows[-1]  # the blank line that separates the stores
        if without:
            words = "Without unreadable files" if rows else "No unreadable files"
            rows += [([(words, self.palette.text)], None), *without]
        self.show_rows(rows, same=lambda row: row[1].item.file if row[1] else None)

    @property
    def fault(self) -> Fault | None:
        """The fault under the cursor."""
        return self.current[1] if self.current else None

    def selectable(self, index: int) -> bool:
        return self.rows[index][1] is not None

    def draw_row(self, row: FaultRow, width: int) -> Sequence[tuple[str, Style]]:
        return row[0]


class UnreadableScreen(FittingDialog[None]):
    """Lists the open stores with their unreadable files, and the actions on these."""

    AUTO_FOCUS = "FaultList"
    box_classes = "tall"
    heading = "Stores and unreadable files"
    leave = "back"
    BINDINGS = [
        ("escape,q", "dismiss"),
        ("enter", "act_on('show')", "show"),
        ("e", "act_on('edit')", "$EDITOR at the error"),
        ("r", "act_on('restore')", "restore last good copy"),
        ("o", "act_on('reveal')", "open folder"),
    ]

    def __init__(
        self,
        stores: Callable[[], Sequence[StoreState]],
        acts: Mapping[str, Callable[[Fault], None]],
        has_copy: Callable[[Fault], bool],
    ) -> None:
        """`stores`: the stores as they are now; asked again while the list is open."""
        super().__init__()
        self._stores, self._acts, self._has_copy = stores, acts, has_copy
        self._shown: Sequence[StoreState] = ()

    def content(self) -> ComposeResult:
        yield FaultList()

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
        self.update_keys()

    def labels(self) -> Mapping[str, object]:
        fault, is_small = self.query_one(FaultList).fault, self.has_class("-small")
        is_file = fault is not None and fault.path.is_file()
        can_edit = fault is not None and is_file and _can_edit(fault.path)
        return {
            "act_on('show')": is_file,
            "act_on('edit')": can_edit and (not is_small or "edit"),
            "act_on('restore')": fault and self._has_copy(fault) and (not is_small or "restore"),
            "act_on('reveal')": fault,
        }

    @on(FaultList.Opened)
    def _opened(self) -> None:
        self.action_act_on("show")

    def action_act_on(self, act: str) -> None:
        """Run an action on the fault under the cursor, if it is possible."""
        fault = self.query_one(FaultList).fault
        if fault is not None and self.labels()[f"act_on('{act}')"]:
            self._acts[act](fault)


def _store_rows(
    stores: Sequence[StoreState],
    width: int,
    palette: Palette,
    *,
    labels: int,
    shown: Callable[[str], str],
) -> Iterator[FaultRow]:
    """A line for each store, with its name, its memories and where it lies, then its faults.

    Where that is too narrow for a path, it stands below. `labels`: columns for the names, which
    `shown` gives for their labels.
    """
    counts = max((len(store.size) for store in stores), default=0)
    paths = [text.file_name(str(store.root)) for store in stores]
    indent = labels + counts + 4
    is_below = any(text.width(path) >= width - indent for path in paths)
    indent = 2 if is_below else indent
    for store, root in zip(stores, paths, strict=True):
        label = text.pad(text.cut_line(shown(store.label), labels), labels)
        count = f"  {store.size:>{counts}}  "
        path = text.wrap(root, width - indent - 1)
        first = "" if is_below else path.pop(0)
        yield [(label, palette.heading), (count, palette.dim), (first, palette.dim)], None
        yield from (([(" " * indent + part, palette.dim)], None) for part in path)
        if store.read_only:
            words = f"  read-only: {text.one_line(store.read_only)}"
            yield from (([(part, palette.warning)], None) for part in text.wrap(words, width))
        for item in store.unreadable:
            name = os.path.relpath(item.file, store.root)
            name = item.file if name.startswith("..") or name == "." else name
            first, *rest = text.wrap("× " + text.file_name(name), width)
            yield [(first, palette.text)], Fault(store, item)
            yield from (([(part, palette.text)], None) for part in rest)
            for part in text.wrap(text.one_line(item.reason), width - 2):
                yield [(f"  {part}", palette.warning)], None
        if store.unreadable:
            yield (), None


LONGEST_LINE = 2_000
MAX_LINES = 5_000
"""Lines around the error that are shown."""
NUMBER_WIDTH = 6


class BrokenScreen(TextDialog[str]):
    """Shows a broken file at its error; dismissed with `edit` or `restore`."""

    BINDINGS = [
        ("escape,q", "dismiss"),
        ("e", "answer('edit')", "edit"),
        ("r", "answer('restore')", "restore"),
    ]

    def __init__(self, broken: BrokenFile) -> None:
        super().__init__()
        self.heading = f"{text.file_name(broken.path.name)} (read-only)"
        self._broken = broken
        copy = OutcomeLine("no good copy", Tone.QUIET)
        if broken.backup_time is not None:
            size, age = text.size(broken.backup_size), text.ago(broken.backup_time, self.app.now())
            copy = OutcomeLine(f"{size}, {age}", Tone.GOOD, "last good copy:")
        path = OutcomeLine(text.file_name(str(broken.path)), Tone.QUIET)
        self.summary = (OutcomeLine(broken.reason, Tone.BAD), path, copy)
        self._top = 0
        """Line of the error."""

    def labels(self) -> Mapping[str, object]:
        return {
            "answer('edit')": _can_edit(self._broken.path),
            "answer('restore')": self._broken.backup_time is not None,
        }

    def action_answer(self, act: str) -> None:
        if self.labels()[f"answer('{act}')"]:
            self.dismiss(act)

    def fill(self) -> None:
        super().fill()
        sheet = self.query_one(TextWindow)
        self.call_after_refresh(lambda: sheet.scroll_lines(max(0, self._top - sheet.page // 2)))

    def lines(self, width: int, palette: Palette) -> list[list[Segment]]:
        fault = self._broken.line
        every = text.mask_secrets(self._broken.text).split("\n")
        first = max(0, fault - MAX_LINES // 2)
        lines: list[list[Segment]] = []
        for number, line in enumerate(every[first : first + MAX_LINES], first + 1):
            is_fault = number == fault
            if is_fault:
                self._top = len(lines)
            style = palette.warning if is_fault else palette.text
            mark = "▶" if is_fault else " "
            shown = text.visible(line[:LONGEST_LINE])
            for row, part in enumerate(text.wrap(shown, max(10, width - NUMBER_WIDTH - 1))):
                head = f"{mark}{number:>{NUMBER_WIDTH}} " if not row else " " * (NUMBER_WIDTH + 2)
                lines.append([Segment(head, palette.faint), Segment(part, style)])
        return lines if self._broken.text else [[Segment(" (empty file)", palette.faint)]]
