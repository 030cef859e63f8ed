"""Lists that are asked for by pages: rows on their way, what changes while they are looked at, and
stores that are not connected."""

from __future__ import annotations

from typing import TYPE_CHECKING

from memtui import text
from memtui.errors import MemtuiError, NotConnected
from memtui.tui.view_state import window_of

if TYPE_CHECKING:
    from memtui.library import SearchResult
    from memtui.library.result_window import ResultWindow, Run
    from memtui.stores.queryable import Position
    from memtui.tui.screens.browse import BrowseScreen

MAX_MARKED = 10_000
"""Memories of a queried store that an act can be about."""
RETRY_SECONDS = 1.0
"""After a page that was not answered, until it is asked for again."""


class QueriedActions:
    """Fills the list of the screen from stores that are asked."""

    def __init__(self, screen: BrowseScreen) -> None:
        self._screen = screen
        self._wanted = -1
        """The line that is needed next; -1: none."""
        self._is_asking = False

    @property
    def window(self) -> ResultWindow | None:
        """The list, if it is asked for by pages."""
        return self._screen.memories.window

    def show(self, found: SearchResult) -> None:
        """Ask for the pages of this list as they are needed, and say which stores are away."""
        self._wanted, self._is_asking = -1, False
        if (window := window_of(found.slots)) is not None:
            window.missing = self.want
        self.show_connections()

    def near(self) -> tuple[Position, int] | None:
        """Where the list is looked at, to ask for it anew there; None at its beginning."""
        window, top = self.window, self._screen.memories.top
        if window is None or not top or top not in window.here:
            return None
        return window.run.lines[top - window.run.first].position, top

    def want(self, number: int) -> None:
        """Ask for the page with this line; of several that are needed while one is asked for, only
        for the last."""
        self._wanted = number
        if not self._is_asking:
            self._is_asking = True
            self._screen.call_later(self._ask)

    def _ask(self) -> None:
        window, number = self.window, self._wanted
        self._wanted = -1
        if window is None or not 0 <= number < len(window):
            self._is_asking = False
            return

        def take(run: Run) -> None:
            if window is self.window:
                self._screen.memories.fill(run)
                self.show_connections()
                self._ask()

        def failed(_: MemtuiError) -> None:
            if self._wanted < 0 and window is self.window:
                self._wanted = number
            self.show_connections()
            self._screen.set_timer(RETRY_SECONDS, self._ask)

        if (
            self._screen.worker.run(
                "page", lambda *_: window.load(number), take, failed, only_reads=True
            )
            is None
        ):
            self._is_asking = False

    # Not connected

    def show_connections(self) -> None:
        """Say since when a store is not connected, or nothing."""
        screen, library = self._screen, self._screen.worker.library
        if library is None or screen.worker.past is not None:
            return
        faults, now = library.queried.faults, screen.now()
        parts: list[str] = []
        for label, error in faults.items():
            what = "IS NOT CONNECTED" if isinstance(error, NotConnected) else "DOES NOT ANSWER"
            parts += [f"{library.names.of(label)} {what}", text.one_line(error.what)]
            seen = text.counted(len(library.queried.seen.of(label)), "memory")
            parts += ["trying again", f"{seen} seen last", "read only"]
            if (answered := library.queried.answered.get(label)) is not None:
                parts[-1] += f", as of {text.date(answered)}, {text.ago(answered, now)}"
        if screen.banner.show(parts):
            screen.update_keys()

    # Marking

    async def mark_all(self) -> None:
        """Mark all memories of the list, or unmark all."""
        screen, window = self._screen, self.window
        if window is None or screen.memories.has_all_marked:
            screen.memories.mark_all()
            return
        query = screen.query_of(screen.view)

        slots = await screen.acts.library(
            lambda library, job: library.slots_of(query, MAX_MARKED, job.is_cancelled),
            group="mark",
            only_reads=True,
        )
        screen.memories.mark(slots)
