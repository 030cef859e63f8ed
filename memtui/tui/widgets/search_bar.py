"""The search line: what is typed is told at once, filters become chips when it is left."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

from textual import on
from textual.app import ComposeResult
from textual.binding import Binding
from textual.containers import Horizontal
from textual.content import Content
from textual.widgets import Input, Static

from memtui.tui.messages import QueryEntered, QueryTyped

if TYPE_CHECKING:
    from textual.binding import BindingType

PLACEHOLDER = 'words, "a phrase", -without, type:decision, since:7d, entity:alice'


class SearchInput(Input):
    """An input that knows the way out: down to the list, up through former searches."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("down", "screen.act('pane.memories')", show=False),
        Binding("up", "former", show=False),
        Binding("escape", "screen.act('escape')", show=False),
        Binding("ctrl+u", "delete_left_all", show=False),
    ]

    def __init__(self) -> None:
        super().__init__(placeholder=PLACEHOLDER, compact=True, select_on_focus=False)
        self.former: list[str] = []
        """Searches that were used, the newest last."""

    def action_former(self) -> None:
        """The search before this one."""
        before = self.former
        if self.value in before:
            before = before[: before.index(self.value)]
        if before:
            self.value = before[-1]
            self.cursor_position = len(self.value)


class SearchBar(Horizontal):
    """Name, search line, and what the library is doing."""

    def compose(self) -> ComposeResult:
        yield Static(Content("memtui"), id="name", markup=False)
        yield Static(Content("/"), id="prompt", markup=False)
        yield SearchInput()
        yield Static(Content(""), id="activity", markup=False)

    @property
    def line(self) -> SearchInput:
        return self.query_one(SearchInput)

    def set_text(self, value: str) -> None:
        """Put a text into the line without telling it as typed."""
        with self.prevent(Input.Changed):
            self.line.value = value
            self.line.cursor_position = len(value)

    def set_activity(self, words: str) -> None:
        """What is going on, in a few words; empty when all is quiet."""
        self.query_one("#activity", Static).update(Content(words))

    @on(Input.Changed)
    def _typed(self, event: Input.Changed) -> None:
        event.stop()
        self.post_message(QueryTyped(event.value))

    @on(Input.Submitted)
    def _entered(self, event: Input.Submitted) -> None:
        event.stop()
        value = event.value.strip()
        if value:
            self.line.former = [old for old in self.line.former if old != value] + [value]
        self.post_message(QueryEntered(event.value))
