"""Screens about time, links and relevance: as of, comparison, graph, score, similar memories."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta
from typing import TYPE_CHECKING

from memtui import text
from memtui.tui import key_bindings
from memtui.tui.actions import BY_ID
from memtui.tui.layout import Pane

if TYPE_CHECKING:
    from collections.abc import Sequence
    from datetime import datetime

    from memtui.insight.comparison import Difference
    from memtui.library import Library, SearchResult
    from memtui.library.finding import SimilarMemories
    from memtui.model import Memory
    from memtui.progress import IsCancelled
    from memtui.query import TimeCondition
    from memtui.tui.actions import ActionHandlers
    from memtui.tui.dialogs.picker import Picker
    from memtui.tui.dialogs.why import Hit
    from memtui.tui.screen_interface import ScreenInterface


DEFAULT_DAYS = 7
"""Days that are looked back where it is not known when the stores were last looked at."""


class InsightActions:
    """Opens the graph screen and the comparison of two times."""

    def __init__(self, screen: ScreenInterface) -> None:
        self._screen = screen

    def handlers(self) -> ActionHandlers:
        return {"graph": self._graph, "changed": self._compare}

    def _graph(self) -> None:
        """Show the links of the memory under the cursor, or of the entity in the entity pane."""
        from memtui.insight.link_graph import Node, NodeKind
        from memtui.tui.dialogs.graph import GraphScreen

        screen, library = self._screen, self._screen.worker.library
        memory = screen.detail.memory
        if library is None or memory is None:
            return
        start = Node(NodeKind.MEMORY, memory.ref)
        if screen.pane is Pane.ENTITIES and screen.entities.path:
            start = Node(NodeKind.ENTITY, screen.entities.path)
        screen.app.push_screen(
            GraphScreen(start, library, screen.worker, screen.now, screen.worker.past_time),
            lambda ref: screen.go_to_memory(ref) if ref else None,
        )

    def _compare(self) -> None:
        """Show what changed since the last session, or in the last days."""
        from memtui.library.time_views import compare_times
        from memtui.tui.dialogs.comparison import ComparedTimes, ComparisonScreen

        screen, now = self._screen, self._screen.now()
        query = replace(screen.view.query(now), since=None, until=None)
        filter_query = None if query.is_empty else query

        def compare(
            library: Library, since: datetime, until: datetime | None, cancelled: IsCancelled
        ) -> Sequence[Difference]:
            views = screen.worker.past_views(library)
            return compare_times(views, since, until, filter_query, cancelled)

        last_seen = screen.last_seen
        span = (
            ComparedTimes(last_seen, name="since you last looked")
            if last_seen is not None
            else ComparedTimes(now - timedelta(days=DEFAULT_DAYS), name=f"last {DEFAULT_DAYS} days")
        )
        screen.app.push_screen(
            ComparisonScreen(span, screen.worker, compare, screen.now, filter_query is not None),
            lambda ref: screen.go_to_memory(ref) if ref else None,
        )


class AsOfActions:
    """Shows the stores as of a time, and returns to the present."""

    def __init__(self, screen: ScreenInterface) -> None:
        self._screen = screen

    def handlers(self) -> ActionHandlers:
        return {"as_of": self._toggle}

    def _toggle(self) -> None:
        if self._screen.worker.past is not None:
            self._screen.leave_past()
        else:
            self._ask()

    def _ask(self) -> None:
        from memtui.tui.dialogs.prompts import TimePrompt

        screen = self._screen
        screen.worker.prepare_past()

        def chosen(time: TimeCondition | None) -> None:
            if time is not None:
                screen.search_bar.set_activity("going back …")
                screen.worker.go_to(time, lambda _: self._arrived(time))

        screen.app.push_screen(TimePrompt("As of", screen.now()), chosen)

    def _arrived(self, time: TimeCondition) -> None:
        screen = self._screen
        screen.search_bar.set_activity("")
        overrides = screen.app.key_overrides
        key = key_bindings.first_key(BY_ID["as_of"], overrides)
        back = f"{key} leave" if key else ""
        words = (
            f"AS OF {text.date(time.time)}",
            text.ago(time.time, screen.now()),
            "read only",
            back,
        )
        screen.show_past([word for word in words if word])


class RelevanceActions:
    """Opens the score dialog where the order is by relevance."""

    def __init__(self, screen: ScreenInterface) -> None:
        self._screen = screen

    def handlers(self) -> ActionHandlers:
        return {"why": self._why}

    def _why(self) -> None:
        from memtui.tui.dialogs.why import WhyScreen

        screen, found = self._screen, self._screen.found
        position = screen.memories.cursor
        if found is None or not 0 <= position < len(found.slots):
            return

        def explained(hits: list[Hit]) -> None:
            after = hits[1] if len(hits) > 1 else None
            screen.app.push_screen(WhyScreen(hits[0], after, found.total))

        screen.worker.ask(
            lambda library: [
                _explain_hit(library, found, at) for at in _compared_positions(found, position)
            ],
            explained,
            None,
            "why",
            opens=True,
        )


def _compared_positions(found: SearchResult, position: int) -> range:
    return range(position, min(position + 2, len(found.slots)))


def _explain_hit(library: Library, found: SearchResult, position: int) -> Hit:
    from memtui.tui.dialogs.why import Hit

    memory = found.rows[found.slots[position]]
    parts, near = library.explain(found, position), library.near_words(found, position)
    return Hit(memory.headline, position + 1, dict(parts), near)


MOST = 20
"""Memories that are shown: below them likeness means little."""
_TITLES = {"vectors": "More like this", "words": "More like this, by its rarest words"}


class SimilarActions:
    """Opens the list of similar memories."""

    def __init__(self, screen: ScreenInterface) -> None:
        self._screen = screen

    def handlers(self) -> ActionHandlers:
        return {"similar": self._similar}

    def _similar(self) -> None:
        memory = self._screen.detail.memory
        if memory is not None:
            ref = memory.ref
            self._screen.worker.ask(
                lambda library: library.similar(ref, MOST),
                lambda found: self._screen.app.push_screen(_picker(found), self._go_to_chosen),
                lambda error: self._screen.app.notify(str(error), severity="warning"),
                "similar",
                opens=True,
            )

    def _go_to_chosen(self, chosen: tuple[str, ...] | None) -> None:
        if chosen:
            self._screen.go_to_memory(chosen[0])


def _describe_place(memory: Memory, found: SimilarMemories) -> str:
    """The entity, and the store where several have something similar."""
    several = len({found.rows[slot].store for slot in found.slots}) > 1
    return f"{memory.store} · {memory.entity}" if several else memory.entity


def _picker(found: SimilarMemories) -> Picker:
    from memtui.tui.dialogs.picker import Choice, Picker

    rows = found.rows
    choices = [
        Choice(
            rows[slot].ref,
            rows[slot].headline,
            round(100 * score),
            note=_describe_place(rows[slot], found),
        )
        for slot, score in zip(found.slots, found.scores, strict=True)
    ]
    return Picker(_TITLES[found.how], choices, several=False, empty="nothing is like it")
