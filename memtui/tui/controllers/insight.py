"""Screens about links and time: graph, comparison of two times."""

from __future__ import annotations

from typing import TYPE_CHECKING

from memtui.tui.layout import Pane

if TYPE_CHECKING:
    from memtui.tui.actions import ActionHandlers
    from memtui.tui.screen_interface import ScreenInterface


class InsightActions:
    """Opens the screens that show how memories hang together and how they changed."""

    def __init__(self, screen: ScreenInterface) -> None:
        self._screen = screen

    def handlers(self) -> ActionHandlers:
        return {"graph": self._graph}

    def _graph(self) -> None:
        """The links of the memory under the cursor, or of the entity in the pane of entities."""
        from memtui.insight.links import Node, NodeKind
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
