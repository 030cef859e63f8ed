"""Why a hit stands where it does: `w` on any hit of a search."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from memtui.library import Library, SearchResult
    from memtui.library.finding import SimilarMemories
    from memtui.model import Memory
    from memtui.tui.actions import ActionHandlers
    from memtui.tui.dialogs.picker import Picker
    from memtui.tui.score_comparison import Hit
    from memtui.tui.screen_interface import ScreenInterface


class RelevanceActions:
    """`w` where the order is by relevance."""

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
            lambda library: [_hit(library, found, at) for at in _both(found, position)],
            explained,
            None,
            "why",
            opens=True,
        )


def _both(found: SearchResult, position: int) -> range:
    return range(position, min(position + 2, len(found.slots)))


def _hit(library: Library, found: SearchResult, position: int) -> Hit:
    from memtui.tui.score_comparison import Hit

    memory = found.rows[found.slots[position]]
    parts, near = library.explain(found, position), library.near_words(found, position)
    return Hit(memory.headline, position + 1, dict(parts), near)


MOST = 20
"""Memories that are shown: below them likeness means little."""
_TITLES = {"vectors": "More like this", "words": "More like this, by its rarest words"}


class SimilarActions:
    """`M` on any memory."""

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
                lambda found: self._screen.app.push_screen(_picker(found), self._go),
                lambda error: self._screen.app.notify(str(error), severity="warning"),
                "similar",
                opens=True,
            )

    def _go(self, chosen: tuple[str, ...] | None) -> None:
        if chosen:
            self._screen.go_to_memory(chosen[0])


def _note(memory: Memory, found: SimilarMemories) -> str:
    """The entity, and the store where several have something similar."""
    several = len({found.rows[slot].store for slot in found.slots}) > 1
    return f"{memory.store} · {memory.entity}" if several else memory.entity


def _picker(found: SimilarMemories) -> Picker:
    from memtui.tui.dialogs.picker import Choice, Picker

    rows = found.rows
    choices = [
        Choice(
            rows[slot].ref, rows[slot].headline, round(100 * score), note=_note(rows[slot], found)
        )
        for slot, score in zip(found.slots, found.scores, strict=True)
    ]
    return Picker(_TITLES[found.how], choices, several=False, empty="nothing is like it")
