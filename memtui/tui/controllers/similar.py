"""More like this: the memories nearest to the one on show, to go to."""

from __future__ import annotations

from typing import TYPE_CHECKING

from memtui.errors import MemtuiError
from memtui.tui.screens.picker import Choice, Picker

if TYPE_CHECKING:
    from memtui.library import Library
    from memtui.tui.screens.acting import Acts
    from memtui.tui.screens.browse import BrowseScreen

MOST = 20
"""Memories that are shown: below them likeness means little."""
_TITLES = {"vectors": "More like this", "words": "More like this, by its rarest words"}


class SimilarActs:
    """`M` on any memory."""

    def __init__(self, screen: BrowseScreen) -> None:
        self._screen = screen

    def acts(self) -> Acts:
        return {"similar": self._similar}

    def _similar(self) -> None:
        memory, library = self._screen.detail.memory, self._screen.work.library
        if memory is None or library is None:
            return
        try:
            picker = _picker(library, memory.ref)
        except MemtuiError as error:  # it has gone since it was shown
            self._screen.app.notify(str(error), severity="warning")
            return
        self._screen.app.push_screen(picker, self._go)

    def _go(self, chosen: tuple[str, ...] | None) -> None:
        if chosen:
            self._screen.stand_on(chosen[0], now=True)


def _picker(library: Library, ref: str) -> Picker:
    found = library.similar(ref, MOST)
    rows = found.rows
    choices = [
        Choice(rows[slot].ref, rows[slot].headline, round(100 * score), note=rows[slot].entity)
        for slot, score in zip(found.slots, found.scores, strict=True)
    ]
    return Picker(_TITLES[found.how], choices, several=False, empty="nothing is like it")
