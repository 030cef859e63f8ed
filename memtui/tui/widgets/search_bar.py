"""Search bar: searches while typing, with completion; on enter the filters become chips.

A completion of a field name or value is shown in grey behind the cursor; tab accepts it.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from textual import on
from textual.actions import SkipAction
from textual.app import ComposeResult
from textual.binding import Binding
from textual.containers import Horizontal
from textual.content import Content
from textual.suggester import Suggester
from textual.widgets import Input, Static

from memtui import text
from memtui.tui import actions
from memtui.tui.app_base import AppBase
from memtui.tui.messages import QueryEntered, QueryTyped

if TYPE_CHECKING:
    from memtui.search.aggregates import Facets
    from memtui.tui.completion import Counts, Offer, Vocabulary

PLACEHOLDER = 'words, "a phrase", -without, type:decision, since:7d, entity:alice'
COMPLETE = actions.BY_ID["complete"]
OFFER_WIDTH = 24
"""Cells of a completion in the footer."""


class _FirstOffer(Suggester):
    """Suggests the line that the first completion makes."""

    def __init__(self, line: CompletedInput) -> None:
        super().__init__(use_cache=False, case_sensitive=True)
        self._line = line

    async def get_suggestion(self, value: str) -> str | None:
        return self._line.first_offer


class CompletedInput(Input):
    """A line in the query language, with completion of fields and their values."""

    app: AppBase

    BINDINGS = [
        Binding(",".join(COMPLETE.keys), "accept_completion", show=False, id=COMPLETE.id),
    ]

    def __init__(self, value: str = "", placeholder: str = PLACEHOLDER) -> None:
        self.vocabulary: Vocabulary | None = None
        """The known values of fields."""
        self.counts: Counts = {}
        """The values of the latest results, which are suggested first."""
        self._offers: tuple[Offer, ...] = ()
        super().__init__(
            value,
            placeholder=placeholder,
            compact=True,
            select_on_focus=False,
            suggester=_FirstOffer(self),
        )

    def watch_value(self, value: str) -> None:
        """Compute the completions of the last word."""
        self._offers = self._find_offers(value) if value else ()

    @property
    def first_offer(self) -> str | None:
        """The line with the first completion, if that only adds to it."""
        line = self._offers[0].line if self._offers else ""
        return line if line.startswith(self.value) else None

    def _find_offers(self, value: str) -> tuple[Offer, ...]:
        # Imported once something is typed, after the first paint.
        from memtui.tui.completion import Vocabulary, offers

        return offers(value, self.counts, self.vocabulary or Vocabulary())

    def action_accept_completion(self) -> None:
        """Accept the first completion; without one the key keeps its other meaning."""
        if not (self._offers and self.cursor_at_end):
            raise SkipAction
        self.value = self._offers[0].line
        self.cursor_position = len(self.value)

    def offered(self, accept: str) -> tuple[list[tuple[str, str]], list[tuple[str, str]]]:
        """The first completion and the others, for the footer; `accept`: the key that accepts."""
        words = [text.cut_line(offer.words, OFFER_WIDTH) for offer in self._offers]
        others = [("or", ", ".join(words[1:]))] if words[1:] else []
        return [(accept, word) for word in words[:1]], others


class SearchInput(CompletedInput):
    """The input of the list; down moves to it, up recalls earlier searches."""

    BINDINGS = [
        Binding("down", "screen.act('pane.memories')", show=False),
        Binding("up", "previous_search", show=False),
        Binding("escape", "screen.act('escape')", show=False),
        Binding("ctrl+u", "delete_left_all", show=False),
    ]

    def __init__(self) -> None:
        super().__init__()
        self.history: list[str] = []
        """Earlier searches, the newest last."""
        self._tags: Mapping[str, int] = {}

    def learn(self, vocabulary: Vocabulary, tags: Mapping[str, int]) -> None:
        """Set the known filter values, and the tags, the most frequent first."""
        self.vocabulary, self._tags = vocabulary, tags

    def found(self, facets: Facets) -> None:
        """Set the values of the latest results."""
        self.counts = {
            "type": facets.type,
            "entity": facets.entity,
            "store": {self.app.store_name(each): n for each, n in facets.store.items()},
            "kind": facets.kind,
            "tag": self._tags,
        }

    def keys(self, accept: str) -> list[tuple[str, str, str]]:
        """Keys for the footer while typing; `accept`: the key that accepts a completion."""
        first, others = self.offered(accept)
        keys = [("enter", "done"), ("esc", "back")]
        keys += others if first else [("↓", "list"), ("↑", "history")]
        return [(key, words, "") for key, words in (*first, *keys)]

    def action_previous_search(self) -> None:
        """Recall the search before this one."""
        before = self.history
        if self.value in before:
            before = before[: before.index(self.value)]
        if before:
            self.value = before[-1]
            self.cursor_position = len(self.value)


class SearchBar(Horizontal):
    """Program name, search input, and current activity."""

    def __init__(self) -> None:
        super().__init__()
        self.line = SearchInput()

    def compose(self) -> ComposeResult:
        yield Static(Content("memtui"), id="name", markup=False)
        yield Static(Content("/"), id="prompt", markup=False)
        yield self.line
        yield Static(Content(""), id="activity", markup=False)

    def set_text(self, value: str) -> None:
        """Set the text without posting `QueryTyped`."""
        with self.prevent(Input.Changed):
            self.line.value = value
            self.line.cursor_position = len(value)

    def set_activity(self, words: str) -> None:
        """Show the current activity in a few words; empty for none."""
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
            self.line.history = [old for old in self.line.history if old != value] + [value]
        self.post_message(QueryEntered(value))
