"""Choose one value or several from a list that narrows as you type."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, ClassVar

from textual import on
from textual.app import ComposeResult
from textual.binding import Binding
from textual.containers import Vertical
from textual.content import Content
from textual.widgets import Input, Static

from memtui.tui.dialogs.dialog import Dialog
from memtui.tui.widgets.choices import Choice, ChoiceList
from memtui.tui.widgets.footer import KeyLine

if TYPE_CHECKING:
    from textual.binding import BindingType

__all__ = ["Choice", "Picker"]

NARROW_FROM = 8
"""Choices from which a line to narrow them is worth its room."""

BOX_SHARE = 0.9
"""Of the screen's height, that a box may take: as in dialogs.tcss."""
FRAME = 4
"""Lines of a box around its list: two borders, a blank line, the keys."""


class PickerInput(Input):
    """Narrows; the keys of the list go to the list."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("down", "screen.move('move.down')", show=False),
        Binding("up", "screen.move('move.up')", show=False),
        Binding("pagedown", "screen.move('move.page_down')", show=False),
        Binding("pageup", "screen.move('move.page_up')", show=False),
    ]


class Picker(Dialog[tuple[str, ...]]):
    """Dismissed with the chosen values; None when it was left with escape."""

    CSS_PATH = "dialogs.tcss"
    AUTO_FOCUS = "PickerInput, ChoiceList"
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("escape", "dismiss", show=False),
        Binding("enter", "accept", show=False, priority=True),
        Binding("space", "tick", show=False, priority=True),
    ]

    def __init__(
        self, title: str, choices: Sequence[Choice], *, several: bool = True, empty: str = ""
    ) -> None:
        super().__init__()
        self._title = title
        self._several = several
        self._empty = empty if not choices else ""
        self._list = ChoiceList(choices, several=several)
        self._narrows = len(choices) >= NARROW_FROM

    def compose(self) -> ComposeResult:
        with Vertical(classes="box") as box:
            box.border_title = Content(self._title)
            if self._narrows:
                yield PickerInput(placeholder="type to narrow", compact=True)
            if self._empty:
                yield Static(Content(self._empty), classes="line", markup=False)
            else:
                yield self._list
            yield KeyLine(id="picker-keys")

    def on_mount(self) -> None:
        ticks = [("space", "tick", "")] if self._several else []
        self.query_one(KeyLine).show([*ticks, ("enter", "apply", ""), ("esc", "leave", "")])
        if not self._narrows and not self._empty:
            self._list.focus()

    def on_resize(self) -> None:
        # The list gives way, so that the keys below it stay in the box.
        most = int(self.app.size.height * BOX_SHARE) - FRAME - self._narrows
        self._list.styles.max_height = max(1, most)

    def set_counts(self, counts: Mapping[str, int]) -> None:
        """Counts that came after the picker was opened."""
        self._list.set_counts(counts)

    @on(Input.Changed)
    def _narrow(self, event: Input.Changed) -> None:
        self._list.narrow(event.value)

    def action_move(self, action_id: str) -> None:
        self._list.action_move(action_id)

    def action_tick(self) -> None:
        if self._several:
            self._list.toggle()

    @on(ChoiceList.Accepted)
    def action_accept(self) -> None:
        """The ticked values; the one under the cursor when none is ticked."""
        current = self._list.current
        ticked = self._list.ticked
        if not self._several:
            ticked = (current.value,) if current else ()
        elif not ticked and current and not self._had_ticks:
            ticked = (current.value,)
        self.dismiss(ticked)

    @property
    def _had_ticks(self) -> bool:
        return self._list.began_ticked
