"""Pickers: choose values from a list that filters as you type; themes; bookmarks."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, ClassVar

from textual import events, on
from textual.app import ComposeResult
from textual.binding import Binding
from textual.containers import Vertical
from textual.content import Content
from textual.widgets import Input, Static

from memtui import text
from memtui.tui.dialogs.dialog import FRAME_COLUMNS, WIDTH_SHARE, FittingDialog
from memtui.tui.widgets.choices import Choice, ChoiceList
from memtui.tui.widgets.outcome import OutcomeLine, OutcomeLines, Tone
from memtui.tui.widgets.status_lines import KeyLine

if TYPE_CHECKING:
    from textual.binding import BindingType


__all__ = ["Choice", "Picker", "SavedFilterPicker"]

NARROW_FROM = 8
"""Number of choices from which there is an input to filter them."""
BOX_SHARE = 0.9
"""Share of the screen's height that a dialog may take, as in dialogs.tcss."""
WHOLE_ROWS = 3
"""Rows for the choice under the cursor where its line cannot show all of it."""
KEYS_WIDTH = 40
"""Columns of the keys below the list."""
FRAME = 4
"""Lines around the list: two borders, a blank line, the keys."""


class PickerInput(Input):
    """An input whose up and down keys move the cursor of the list below it."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("down", "screen.move('move.down')", show=False),
        Binding("up", "screen.move('move.up')", show=False),
        Binding("pagedown", "screen.move('move.page_down')", show=False),
        Binding("pageup", "screen.move('move.page_up')", show=False),
    ]


class Picker(FittingDialog[tuple[str, ...]]):
    """Dismissed with the chosen values, None on escape.

    `accept` is the label of enter: `apply` by default, `choose` if only one can be chosen.
    """

    AUTO_FOCUS = "PickerInput, ChoiceList"
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("escape", "dismiss", show=False),
        Binding("enter", "accept", show=False, priority=True),
        Binding("space", "toggle_choice", show=False, priority=True),
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
        self._title = title
        self._several = several
        self._empty = empty if not choices else ""
        self._accept = accept or ("apply" if several else "choose")
        self._list = ChoiceList(choices, several=several)
        self._narrows = len(choices) >= NARROW_FROM

    def compose(self) -> ComposeResult:
        with Vertical(classes="box") as box:
            box.border_title = Content(self._title)
            if self._narrows:
                yield PickerInput(placeholder="type to filter", compact=True)
            if self._empty:
                yield Static(Content(self._empty), classes="line", markup=False)
            else:
                yield self._list
                whole = Static("", id="whole", classes="line", markup=False)
                whole.display = False
                yield whole
            yield KeyLine(id="picker-keys")

    def on_mount(self) -> None:
        self._show_keys()
        if not self._narrows and not self._empty:
            self._list.focus()

    def _show_keys(self) -> None:
        toggle = [("space", "toggle", "")] if self._several else []
        accept = [("enter", self._accept, "")] if not self._empty else []
        keys = [*accept, *toggle, *self.own_keys()]
        self.query_one(KeyLine).show(keys, [("esc", "cancel", "")])

    keys_width = KEYS_WIDTH
    """Columns that the line of keys needs, with those of a subclass."""

    def own_keys(self) -> list[tuple[str, str, str]]:
        """Keys that a subclass adds for the choice under the cursor."""
        return []

    def fill(self) -> None:
        # The list shrinks so that the keys below it stay visible.
        most = int(self.app.size.height * BOX_SHARE) - FRAME - self._narrows
        if self._list.widest > self.app.size.width * WIDTH_SHARE // 100 - FRAME_COLUMNS:
            most -= WHOLE_ROWS
        self._list.styles.max_height = max(1, most)
        widest = max(self._list.widest, text.width(self._title) + 4, text.width(self._empty) + 2)
        self.fit(columns=max(widest, self.keys_width))
        self._show_whole()

    @on(ChoiceList.Moved)
    def _show_whole(self) -> None:
        """Show a choice that is too long for its line in full below the list."""
        self._show_keys()
        for line in self.query("#whole").results(Static):
            words = self._list.cut_choice(self.inner_width)
            line.display = bool(words)
            width = max(1, self.inner_width - 2)
            line.update(Content("\n".join(text.wrap(words, width)[:WHOLE_ROWS])))

    def set_counts(self, counts: Mapping[str, int]) -> None:
        """Set counts that were computed after the picker was opened."""
        self._list.set_counts(counts)

    @on(Input.Changed)
    def _narrow(self, event: Input.Changed) -> None:
        self._list.narrow(event.value)
        self._show_whole()

    def action_move(self, action_id: str) -> None:
        self._list.action_move(action_id)

    def action_toggle_choice(self) -> None:
        if self._several:
            self._list.toggle()
        elif self._narrows:
            self.query_one(PickerInput).insert_text_at_cursor(" ")

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

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("f2", "change('rename')", show=False, priority=True),
        Binding("delete", "change('delete')", show=False, priority=True),
    ]

    def __init__(self, title: str, choices: Sequence[Choice], *, empty: str = "") -> None:
        super().__init__(title, choices, several=False, empty=empty)

    keys_width = KEYS_WIDTH + 12

    def own_keys(self) -> list[tuple[str, str, str]]:
        return [("f2", "rename", ""), ("del", "delete", "")] if self._is_saved else []

    @property
    def _is_saved(self) -> bool:
        current = self._list.current
        return current is not None and bool(current.value)

    def action_change(self, act: str) -> None:
        if self._list.current is not None and self._is_saved:
            self.dismiss((self._list.current.value, act))


class ThemePreviewList(ChoiceList):
    """Applies the theme under the cursor."""

    def cursor_moved(self) -> None:
        if self.current is not None:
            self.app.theme = self.current.value


class ThemePicker(FittingDialog[None]):
    """Previews themes on the whole screen; enter saves the choice, escape restores the old one."""

    AUTO_FOCUS = "ThemePreviewList"
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("escape,q,T", "cancel", show=False),
        Binding("enter", "apply", show=False),
    ]

    def compose(self) -> ComposeResult:
        self._before = self.app.theme
        choices = [
            Choice(name, name, note=about, chosen=name == self._before)
            for name, about in self.app.theme_choices()
        ]
        with Vertical(classes="box wide") as box:
            box.border_title = Content("Theme")
            yield ThemePreviewList(choices, several=False)
            yield KeyLine(id="theme-keys")

    def on_mount(self) -> None:
        self.query_one(KeyLine).show(
            [("↑↓", "preview", ""), ("enter", "apply", "")], [("esc", "cancel", "")]
        )

    def action_cancel(self) -> None:
        self.app.theme = self._before
        self.dismiss(None)

    @on(ChoiceList.Accepted)
    def action_apply(self) -> None:
        current = self.query_one(ThemePreviewList).current
        if current is not None:
            self.app.keep_theme(current.value)
        self.dismiss(None)


LEAST_COLUMNS, MOST_COLUMNS = 44, 90


class BookmarkScreen(FittingDialog[str]):
    """Dismissed with the letter that was pressed."""

    BINDINGS: ClassVar[list[BindingType]] = [Binding("escape", "dismiss", show=False)]

    def __init__(self, title: str, bookmarks: Mapping[str, str]) -> None:
        """`bookmarks`: letter -> headline of its memory."""
        super().__init__()
        self._title, self._bookmarks = title, bookmarks

    def compose(self) -> ComposeResult:
        with Vertical(classes="box") as box:
            box.border_title = Content(self._title)
            yield OutcomeLines()
            yield KeyLine(id="bookmark-keys")

    def on_mount(self) -> None:
        lines = [
            OutcomeLine(text.one_line(headline), Tone.PLAIN, letter)
            for letter, headline in sorted(self._bookmarks.items())
        ]
        self.query_one(OutcomeLines).say(
            *(lines or [OutcomeLine("no bookmarks yet", Tone.QUIET)]),
        )
        self.query_one(KeyLine).show([("a–z", "choose a letter", "")], [("esc", "cancel", "")])

    def fill(self) -> None:
        lines = self.query_one(OutcomeLines).outcome_lines
        widest = max((text.width(line.words) + 4 for line in lines), default=0)
        self.fit(columns=min(MOST_COLUMNS, max(LEAST_COLUMNS, widest)))

    def on_key(self, event: events.Key) -> None:
        letter = event.character or ""
        if len(letter) == 1 and letter.isalnum():
            event.stop()
            self.dismiss(letter)
