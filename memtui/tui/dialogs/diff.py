"""What will change, file by file, before it is done: read it, then say yes once."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, ClassVar

from textual.app import ComposeResult
from textual.binding import Binding
from textual.containers import Vertical
from textual.content import Content

from memtui import text
from memtui.tui.dialogs.dialog import FittingDialog
from memtui.tui.diff_lines import DiffLine, counted
from memtui.tui.widgets.diff_view import DiffView
from memtui.tui.widgets.footer import KeyLine
from memtui.tui.widgets.outcome import OutcomeLine, OutcomeLines

if TYPE_CHECKING:
    from textual.binding import BindingType


class DiffScreen(FittingDialog[bool]):
    """Dismissed with True for yes. Without `yes` it only shows."""

    AUTO_FOCUS = "DiffView"
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("escape,q,n", "dismiss", show=False),
        Binding("enter,y", "yes", show=False),
    ]

    def __init__(
        self, title: str, said: Sequence[OutcomeLine], diff: Sequence[DiffLine], *, yes: str = ""
    ) -> None:
        super().__init__()
        self._title, self._said, self._diff, self._yes = title, said, diff, yes

    def compose(self) -> ComposeResult:
        with Vertical(classes="box full") as box:
            box.border_title = Content(text.one_line(self._title))
            if self._said:
                yield OutcomeLines()
            yield DiffView(self._diff)
            yield KeyLine(id="diff-keys")

    def on_mount(self) -> None:
        files, new, gone = counted(self._diff)
        plural = "s" if files != 1 else ""
        places = f"{text.number(files)} place{plural}  +{text.number(new)} -{text.number(gone)}"
        self.query_one(".box").border_subtitle = Content(places)
        if self._said:
            self.query_one(OutcomeLines).say(*self._said)
        yes = [("enter", self._yes, "")] if self._yes else []
        leave = "leave it" if self._yes else "back"
        self.query_one(KeyLine).show([*yes, ("↑↓", "scroll", "")], [("esc", leave, "")])

    def action_yes(self) -> None:
        self.dismiss(bool(self._yes))
