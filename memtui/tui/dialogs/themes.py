"""Choose the colours; the whole screen shows each theme while the cursor stands on it."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

from textual import on
from textual.app import ComposeResult
from textual.binding import Binding
from textual.containers import Vertical
from textual.content import Content

from memtui.tui.dialogs.dialog import Dialog
from memtui.tui.widgets.choices import Choice, ChoiceList
from memtui.tui.widgets.footer import KeyLine

if TYPE_CHECKING:
    from textual.binding import BindingType


class Previewing(ChoiceList):
    """Tells where the cursor stands by changing the theme."""

    def cursor_moved(self) -> None:
        if self.current is not None:
            self.app.theme = self.current.value


class ThemePicker(Dialog[None]):
    """Enter keeps the theme and remembers it, escape goes back to the one before."""

    CSS_PATH = "dialogs.tcss"
    AUTO_FOCUS = "Previewing"
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("escape,q,T", "forget", show=False),
        Binding("enter", "keep", show=False),
    ]

    def compose(self) -> ComposeResult:
        self._before = self.app.theme
        choices = [
            Choice(name, name, note=about, chosen=name == self._before)
            for name, about in self.app.theme_choices()
        ]
        with Vertical(classes="box wide") as box:
            box.border_title = Content("Colours")
            yield Previewing(choices, several=False)
            yield KeyLine(id="theme-keys")

    def on_mount(self) -> None:
        self.query_one(KeyLine).show(
            [("↑↓", "look", ""), ("enter", "keep", ""), ("esc", "leave", "")]
        )

    def action_forget(self) -> None:
        self.app.theme = self._before
        self.dismiss(None)

    @on(ChoiceList.Accepted)
    def action_keep(self) -> None:
        current = self.query_one(Previewing).current
        if current is not None:
            self.app.keep_theme(current.value)
        self.dismiss(None)
