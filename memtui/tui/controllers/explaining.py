"""Why a hit stands where it does: `w` on any hit of a search."""

from __future__ import annotations

from typing import TYPE_CHECKING

from memtui.tui.screens.why import WhyScreen
from memtui.tui.weighing import Hit

if TYPE_CHECKING:
    from memtui.library import Library, SearchResult
    from memtui.tui.screens.acting import Acts
    from memtui.tui.screens.browse import BrowseScreen


class ExplainActs:
    """`w` where the order is by relevance."""

    def __init__(self, screen: BrowseScreen) -> None:
        self._screen = screen

    def acts(self) -> Acts:
        return {"why": self._why}

    def _why(self) -> None:
        screen, found = self._screen, self._screen.found
        position = screen.memories.cursor
        if found is None or not 0 <= position < len(found.slots):
            return
        dialog = WhyScreen()

        def weighed(hits: list[Hit]) -> None:
            dialog.show(hits[0], hits[1] if len(hits) > 1 else None, found.total)

        screen.app.push_screen(dialog)
        screen.work.ask(
            "why",
            lambda library: [_hit(library, found, at) for at in _both(found, position)],
            dialog.if_open(weighed),
        )


def _both(found: SearchResult, position: int) -> range:
    return range(position, min(position + 2, len(found.slots)))


def _hit(library: Library, found: SearchResult, position: int) -> Hit:
    memory = found.rows[found.slots[position]]
    return Hit(memory.headline, position + 1, dict(library.explain(found, position)))
