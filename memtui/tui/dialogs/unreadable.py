"""The open stores with their unreadable files; one broken file, read-only, at its error."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from datetime import datetime
from typing import TYPE_CHECKING, ClassVar

from rich.segment import Segment
from textual.app import ComposeResult
from textual.binding import Binding
from textual.containers import Vertical
from textual.content import Content

from memtui import text
from memtui.library.repair import BrokenFile
from memtui.tui.dialogs.dialog import FittingDialog, TextDialog
from memtui.tui.widgets.list_window import TextWindow
from memtui.tui.widgets.outcome import OutcomeLine, OutcomeLines, Tone
from memtui.tui.widgets.status_lines import KeyLine

if TYPE_CHECKING:
    from textual.binding import BindingType

    from memtui.library import StoreState
    from memtui.tui.appearance import Palette


class UnreadableScreen(TextDialog):
    """Lists the open stores and their unreadable files, with reasons."""

    BINDINGS: ClassVar[list[BindingType]] = [Binding("escape,U,q,enter", "dismiss", show=False)]

    def __init__(self, stores: Sequence[StoreState]) -> None:
        super().__init__()
        self._stores = stores

    def box_title(self) -> str:
        return "Stores and unreadable files"

    def lines(self, width: int, palette: Palette) -> list[list[Segment]]:
        lines: list[list[Segment]] = []
        for store in self._stores:
            lines.extend([[]] if lines else [])
            lines.extend(_store(store, width - 1, palette))
        return lines


def _store(store: StoreState, width: int, palette: Palette) -> list[list[Segment]]:
    memories = f"{text.number(store.count)} memories, {store.format}"
    lines = [
        [
            Segment(" "),
            Segment(text.cut(text.one_line(store.label), width // 2), palette.heading),
            Segment(text.cut(f"  {text.one_line(memories)}", width // 2), palette.dim),
        ]
    ]
    lines += [
        [Segment(f" {part}", palette.dim)]
        for part in text.wrap(text.file_name(str(store.root)), width)
    ]
    if store.read_only:
        lines += [
            [Segment(f" {part}", palette.warning)]
            for part in text.wrap(f"read-only: {text.one_line(store.read_only)}", width)
        ]
    if not store.unreadable:
        lines.append([Segment(" no unreadable files", palette.dim)])
    for item in store.unreadable:
        lines += [
            [Segment(f" {part}", palette.text)]
            for part in text.wrap("× " + text.file_name(item.file), width)
        ]
        lines += [
            [Segment(f"   {part}", palette.warning)]
            for part in text.wrap(text.one_line(item.reason), width - 2)
        ]
    return lines


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
        said = [
            OutcomeLine(broken.reason, Tone.BAD),
            OutcomeLine(text.file_name(str(broken.path)), Tone.QUIET),
        ]
        restore = []
        if broken.backup_time is not None:
            size, age = text.size(broken.backup_size), text.ago(broken.backup_time, self._now())
            said.append(OutcomeLine(f"{size}, {age}", Tone.GOOD, "last good copy:"))
            restore = [("r", "restore", "")]
        else:
            said.append(OutcomeLine("no good copy", Tone.QUIET))
        self.query_one(OutcomeLines).say(*said)
        self.query_one(KeyLine).show([*restore, ("↑↓", "scroll", "")], [("esc", "back", "")])
        self.call_after_refresh(self._fill)

    def on_resize(self) -> None:
        self.call_after_refresh(self._fill)

    def action_restore(self) -> None:
        if self._broken.backup_time is not None:
            self.dismiss(True)

    def _fill(self) -> None:
        sheet, fault = self.query_one(TextWindow), self._broken.line
        every = self._broken.text.split("\n")
        first = max(0, fault - MOST_LINES // 2)
        width = max(10, sheet.size.width - NUMBER_WIDTH - 3)
        lines: list[list[Segment]] = []
        top = 0
        for number, line in enumerate(every[first : first + MOST_LINES], first + 1):
            here = number == fault
            if here:
                top = len(lines)
            style = sheet.palette.warning if here else sheet.palette.text
            mark = "▶" if here else " "
            for row, part in enumerate(text.wrap(text.visible(line[:LONGEST_LINE]), width)):
                head = f"{mark}{number:>{NUMBER_WIDTH}} " if not row else " " * (NUMBER_WIDTH + 2)
                lines.append([Segment(head, sheet.palette.faint), Segment(part, style)])
        if not self._broken.text:
            lines = [[Segment(" (empty file)", sheet.palette.faint)]]
        sheet.show(lines)
        sheet.scroll_lines(max(0, top - sheet.page // 2))
