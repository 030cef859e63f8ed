"""The memory under the cursor in the detail: at once, or when the cursor rests after a run.

While moves follow each other (a held key) only the list is drawn. What acts ask for, the memory
itself, is always the one under the cursor.
"""

from __future__ import annotations

from time import monotonic
from typing import TYPE_CHECKING

from memtui.model import Memory

if TYPE_CHECKING:
    from memtui.tui.messages import Related
    from memtui.tui.screen_interface import ScreenInterface
    from memtui.tui.status_text import StatusText

REST = 0.06
"""Seconds the cursor must rest before a run of moves is over and references are asked for."""
RUN = 0.1
"""Seconds between two moves up to which they are a run; a held key sends one each 0.03 to 0.09."""


class DetailController:
    """Keeps the detail at the cursor's memory."""

    def __init__(self, screen: ScreenInterface, status_text: StatusText) -> None:
        self._screen = screen
        self._status_text = status_text
        self.resting = False
        """The references of the memory under the cursor are still to be asked for."""
        self._moved = 0.0
        self._waits = False

    def show(self, memory: Memory | None) -> None:
        """Put a memory into the detail, and ask for what it refers to once the cursor rests."""
        screen, now = self._screen, monotonic()
        changed = memory is not screen.detail.memory
        words = screen.found.words if screen.found else ()
        if memory is not None and memory.store not in screen.detail.roots:
            library = screen.worker.library
            stores = library.snapshot.stores if library else ()
            screen.detail.roots = {store.label: store.root for store in stores}
        screen.detail.show(memory, words, later=changed and now - self._moved < RUN)
        if not changed:
            return
        self._moved = now
        self.resting = memory is not None
        if not self._waits:
            self._wait(REST)

    def _wait(self, seconds: float) -> None:
        self._waits = True
        self._screen.set_timer(seconds, self._look)

    def _look(self) -> None:
        left = self._moved + REST - monotonic()
        if left > 0:
            self._wait(left)
            return
        self._waits = self.resting = False
        self._screen.detail.catch_up()
        self.relate()

    def relate(self) -> None:
        """Ask what the memory refers to, and what refers to it."""
        memory = self._screen.detail.memory
        if memory is not None:
            self._screen.worker.relate(memory)

    def related(self, event: Related) -> None:
        """What a memory refers to has been found."""
        screen = self._screen
        if event.memory is screen.detail.memory:
            screen.detail.show_references(self._status_text.references(event.lineage))
            screen.update_keys()
