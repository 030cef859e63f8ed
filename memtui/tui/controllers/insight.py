"""Screens about links and time: graph, comparison of two times."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta
from typing import TYPE_CHECKING

from memtui.tui.layout import Pane

DEFAULT_DAYS = 7
"""Days that are looked back where it is not known when the stores were last looked at."""

if TYPE_CHECKING:
    from collections.abc import Sequence
    from datetime import datetime

    from memtui.insight.comparison import Difference
    from memtui.library import Library
    from memtui.progress import IsCancelled
    from memtui.tui.actions import ActionHandlers
    from memtui.tui.screen_interface import ScreenInterface


class InsightActions:
    """Opens the screens that show how memories hang together and how they changed."""

    def __init__(self, screen: ScreenInterface) -> None:
        self._screen = screen

    def handlers(self) -> ActionHandlers:
        return {"graph": self._graph, "changed": self._compare}

    def _graph(self) -> None:
        """The links of the memory under the cursor, or of the entity in the pane of entities."""
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
        """What changed since the stores were last looked at, or in the last days."""
        from memtui.library.time_comparison import compare_times
        from memtui.tui.dialogs.comparison import ComparisonScreen, Span

        screen, now = self._screen, self._screen.now()
        query = replace(screen.view.query(now), since=None, until=None)
        wanted = None if query.is_empty else query

        def compare(
            library: Library, since: datetime, until: datetime | None, cancelled: IsCancelled
        ) -> Sequence[Difference]:
            views = screen.worker.past_views(library)
            return compare_times(views, since, until, wanted, cancelled)

        seen = screen.last_seen
        span = (
            Span(seen, name="since you last looked")
            if seen is not None
            else Span(now - timedelta(days=DEFAULT_DAYS), name=f"last {DEFAULT_DAYS} days")
        )
        screen.app.push_screen(
            ComparisonScreen(span, screen.worker, compare, screen.now, wanted is not None),
            lambda ref: screen.go_to_memory(ref) if ref else None,
        )
