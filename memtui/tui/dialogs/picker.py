"""Pickers: choose values from a list that filters as you type; themes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from textual import on
from textual.app import ComposeResult
from textual.binding import Binding
from textual.content import Content
from textual.widgets import Input, Static

from memtui import text
from memtui.tui.dialogs.dialog import FRAME_COLUMNS, WIDTH_SHARE, FittingDialog
from memtui.tui.themes import Theme
from memtui.tui.view_state import Choice
from memtui.tui.widgets.inputs import ChoiceList, FilterInput

NARROW_FROM = 8
"""Number of choices from which there is an input to filter them."""
BOX_SHARE = 0.9
"""Share of the screen's height that a dialog may take, as in dialogs.tcss."""
WHOLE_ROWS = 3
"""Rows for the choice under the cursor where its line cannot show all of it."""
KEYS_WIDTH = 40
"""Columns of the keys below the list."""
FRAME_LINES = 4
"""Lines around the list: two borders, a blank line, the keys."""


class WholeChoice(Static):
    """The choice under the cursor in full, where its line is too short for it."""

    def __init__(self) -> None:
        super().__init__("", classes="line", markup=False)
        self.display = False

    def show(self, choices: ChoiceList, width: int) -> None:
        """Show the current one of these, which are `width` columns wide."""
        words = choices.cut_choice(width)
        self.display = bool(words)
        self.update(Content("\n".join(text.wrap(words, max(1, width - 2))[:WHOLE_ROWS])))


class Picker(FittingDialog[tuple[str, ...]]):
    """Dismissed with the chosen values, None on escape.

    `accept` is the label of enter: `apply` by default, `choose` if only one can be chosen.
    """

    AUTO_FOCUS = "FilterInput, ChoiceList"
    BINDINGS = [
        Binding("enter", "accept", "apply", priority=True),
        Binding("space", "toggle_choice", "toggle", priority=True),
    ]

    def __init__(
        self,
        title: str,
        choices: Sequence[Choice],
        *,
        several: bool = True,
        empty: str = "",
        accept: str = "",
    ) -> None:
        super().__init__()
        self.heading = title
        self._several = several
        self._empty = empty if not choices else ""
        self._accept = accept or ("apply" if several else "choose")
        self._list = ChoiceList(choices, several=several)
        self._narrows = len(choices) >= NARROW_FROM

    def content(self) -> ComposeResult:
        if self._narrows:
            yield FilterInput(placeholder="type to filter", compact=True)
        if self._empty:
            yield Static(Content(self._empty), classes="line", markup=False)
        else:
            yield self._list
            yield WholeChoice()

    def on_mount(self) -> None:
        if not self._narrows and not self._empty:
            self._list.focus()

    def labels(self) -> Mapping[str, object]:
        has_choice = self._list.current is not None
        return {
            "accept": has_choice and self._accept,
            "toggle_choice": has_choice and self._several,
        }

    keys_width = KEYS_WIDTH
    """Columns that the line of keys needs, with those of a subclass."""

    def fill(self) -> None:
        # The list shrinks so that the keys below it stay visible.
        small, height = self.has_class("-small"), self.app.size.height
        most = height + 1 if small else int(height * BOX_SHARE)
        most -= FRAME_LINES + self._narrows
        if self._list.widest > self.app.size.width * WIDTH_SHARE // 100 - FRAME_COLUMNS:
            most -= WHOLE_ROWS
        self._list.styles.max_height = max(1, most)
        widest = max(self._list.widest, text.width(self.heading) + 4, text.width(self._empty) + 2)
        self.fit(columns=max(widest, self.keys_width))
        self._show_whole()

    @on(ChoiceList.Moved)
    def _show_whole(self) -> None:
        """Show a choice that is too long for its line in full below the list."""
        self.update_keys()
        for line in self.query(WholeChoice):
            line.show(self._list, self.inner_width)

    def set_counts(self, counts: Mapping[str, int]) -> None:
        """Set counts that were computed after the picker was opened."""
        self._list.set_counts(counts)

    @on(Input.Changed)
    def _narrow(self, event: Input.Changed) -> None:
        self._list.narrow(event.value)
        self._show_whole()

    def action_toggle_choice(self) -> None:
        if self._several:
            self._list.toggle()
        elif self._narrows:
            self.query_one(FilterInput).insert_text_at_cursor(" ")

    @on(ChoiceList.Accepted)
    def action_accept(self) -> None:
        """Dismiss with the selected values, or the one under the cursor if none was selected."""
        current = self._list.current
        selected = self._list.selected
        if not self._several:
            selected = (current.value,) if current else ()
        elif not selected and current and not self._list.began_selected:
            selected = (current.value,)
        self.dismiss(selected)


class SavedFilterPicker(Picker):
    """Dismissed with the name of a filter; with ("name", "rename") or ("name", "delete") too."""

    BINDINGS = [
        Binding("f2", "change('rename')", "rename", priority=True),
        Binding("delete", "change('delete')", "delete", key_display="del", priority=True),
    ]

    def __init__(
        self, title: str, choices: Sequence[Choice], *, empty: str = "", at: int = 0
    ) -> None:
        super().__init__(title, choices, several=False, empty=empty)
        if at and choices:
            self._list.cursor = min(at, len(choices) - 1)

    keys_width = KEYS_WIDTH + 12

    def labels(self) -> Mapping[str, object]:
        changes = ("change('rename')", "change('delete')")
        return {**super().labels(), **dict.fromkeys(changes, self._is_saved)}

    @property
    def _is_saved(self) -> bool:
        current = self._list.current
        return current is not None and bool(current.value)

    def action_change(self, act: str) -> None:
        if self._list.current is not None and self._is_saved:
            self.dismiss((self._list.current.value, act))


class ThemePicker(Picker):
    """Previews themes on the whole screen; dismissed with the chosen one, escape restores."""

    BINDINGS = [("escape,q,T", "cancel")]

    def __init__(self, before: str, themes: Mapping[str, Theme]) -> None:
        choices = [
            Choice(name, name, note=theme.about, chosen=name == before)
            for name, theme in themes.items()
        ]
        super().__init__("Theme", choices, several=False, accept="apply")
        self._before = before

    @on(ChoiceList.Moved)
    def _preview(self) -> None:
        if self._list.current is not None:
            self.app.theme = self._list.current.value

    def action_cancel(self) -> None:
        self.app.theme = self._before
        self.dismiss(None)
