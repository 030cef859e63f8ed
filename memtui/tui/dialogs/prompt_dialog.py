"""Ask for one line of text."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

from textual import on
from textual.app import ComposeResult
from textual.binding import Binding
from textual.containers import Vertical
from textual.content import Content
from textual.widgets import Input, Static

from memtui import text
from memtui.tui.dialogs.dialog import Dialog
from memtui.tui.widgets.footer import KeyLine

if TYPE_CHECKING:
    from textual.binding import BindingType


class PromptDialog(Dialog[str]):
    """Dismissed with the text; None when it was left with escape."""

    CSS_PATH = "dialogs.tcss"
    AUTO_FOCUS = "Input"
    BINDINGS: ClassVar[list[BindingType]] = [Binding("escape", "dismiss", show=False)]

    def __init__(self, title: str, *, hint: str = "", value: str = "") -> None:
        super().__init__()
        self._title, self._hint, self._value = title, hint, value

    def compose(self) -> ComposeResult:
        with Vertical(classes="box") as box:
            box.border_title = Content(self._title)
            if self._hint:
                hint = Content(text.one_line(self._hint))
                yield Static(hint, classes="line", markup=False)
            yield Input(self._value, placeholder="a name", compact=True)
            yield KeyLine(id="asking-keys")

    def on_mount(self) -> None:
        self.query_one(KeyLine).show([("enter", "keep", ""), ("esc", "leave", "")])

    @on(Input.Submitted)
    def _submitted(self, event: Input.Submitted) -> None:
        self.dismiss(event.value.strip() or None)
