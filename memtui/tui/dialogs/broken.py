"""A file that could not be read: what it holds, read-only, at the place of the fault."""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime
from typing import TYPE_CHECKING, ClassVar

from rich.segment import Segment
from textual.app import ComposeResult
from textual.binding import Binding
from textual.containers import Vertical
from textual.content import Content

from memtui import text
from memtui.library.repair import BrokenFile
from memtui.tui.dialogs.dialog import FittingDialog
from memtui.tui.widgets.footer import KeyLine
from memtui.tui.widgets.outcome import OutcomeLine, OutcomeLines, Tone
from memtui.tui.widgets.text_window import TextWindow

if TYPE_CHECKING:
    from textual.binding import BindingType

LONGEST_LINE = 2_000
MOST_LINES = 5_000
"""Lines around the fault that are shown."""
NUMBER_WIDTH = 6


class BrokenScreen(FittingDialog[bool]):
    """Dismissed with True to restore the last good copy."""

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
            said.append(OutcomeLine(f"{size}, of {age}", Tone.GOOD, "the last good copy:"))
            restore = [("r", "restore it", "")]
        else:
            said.append(OutcomeLine("there is no good copy of it", Tone.QUIET))
        self.query_one(OutcomeLines).say(*said)
        self.query_one(KeyLine).show([*restore, ("↑↓", "scroll", "")], [("esc", "leave", "")])
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
            lines = [[Segment(" the file is empty", sheet.palette.faint)]]
        sheet.show(lines)
        sheet.scroll_lines(max(0, top - sheet.page // 2))
