"""What a session leaves to the next: its view and focus, and searches."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from typing import TYPE_CHECKING

from msgspec.structs import replace

from memtui import query as queries
from memtui.config import session
from memtui.config.session import Session
from memtui.tui.layout import Pane, Sizes
from memtui.tui.view_state import ViewState

if TYPE_CHECKING:
    from memtui.tui.app_base import Launch
    from memtui.tui.jobs import JobRunner
    from memtui.tui.screens.browse import BrowseScreen


SIZE_NAMES = frozenset(Sizes._fields)


class SessionState:
    """Loads, restores and saves the session of a set of stores."""

    def __init__(self, launch: Launch) -> None:
        self._launch = launch
        self._key = session.key_for(launch.roots)
        self.last = Session()
        self._unsaved: tuple[str, ...] = ()
        """Searches that are not on disk."""
        if launch.state is not None and launch.loaded.settings.restore:
            self.last = session.load(launch.state, self._key)

    def view(self, now: datetime) -> ViewState:
        """The view of the last session, or the default one of the settings."""
        if self.last.query:
            return ViewState(self.last.query).settled(now)
        settings = self._launch.loaded.settings
        view = ViewState()
        if settings.sort:
            view = view.ordered(queries.Sort(settings.sort))
        if settings.status != ("current",):
            view = view.with_values("status", status_values(settings.status))
        return view

    @property
    def seen(self) -> datetime | None:
        """When the last session ended; None if unknown."""
        try:
            return datetime.fromisoformat(self.last.seen)
        except ValueError:
            return None

    def restore(self, screen: BrowseScreen) -> None:
        """Restore focus, zoom and search history."""
        if self.last.focus in list(Pane):
            screen.pane = Pane(self.last.focus)
        screen.zoomed = bool(self.last.zoomed)
        screen.wanted_sizes = {n: s for n, s in self.last.panes.items() if n in SIZE_NAMES}
        screen.recent_commands = self.last.commands
        screen.search_bar.line.history = list(self.last.searches)

    def add_search(self, search: str, jobs: JobRunner) -> None:
        """Add a search to the history, and save it in a job."""
        unsaved = self._unsaved = (*self._unsaved, search)

        def ended(is_saved: bool) -> None:
            if is_saved and self._unsaved is unsaved:  # nothing was added meanwhile
                self._unsaved = ()

        jobs.start("session", lambda _: self._update(), ended, replaces=False)

    def _update(self, ended: Session | None = None) -> bool:
        """Save the searches since, into the session on disk or, at its end, into this one.

        False when it could not be written.
        """
        if self._launch.state is None:
            return True

        def merge(saved: Session) -> Session:
            unsaved = self._unsaved  # as it is now: of two jobs each writes what both have added
            older = (search for search in saved.searches if search not in unsaved)
            return (ended or saved)._replace(searches=(*older, *dict.fromkeys(unsaved)))

        return session.update(self._launch.state, self._key, merge)

    def keep(self, screen: BrowseScreen, theme: str) -> bool:
        """Save the state of the screen; False when it could not be written."""
        now = screen.now()
        memory = screen.memories.memory
        view = screen.view.settled(now)
        # As typed: the next session makes the last word a prefix by itself.
        typed = queries.parse_query(view.text, now)
        groups = (*view.chips.groups, *typed.groups)
        query = replace(view.query(now), terms=typed.terms, groups=groups)
        ended = Session(
            query=queries.format_query(query),
            selected=memory.ref if memory else "",
            focus=screen.pane,
            panes=screen.wanted_sizes,
            zoomed=screen.pane if screen.zoomed else "",
            theme=theme,
            commands=screen.recent_commands,
            seen=now.isoformat(),
        )
        is_saved = self._update(ended)
        self._unsaved = () if is_saved else self._unsaved
        return is_saved


def status_values(chosen: Sequence[str]) -> tuple[str, ...]:
    """Return the status filter of the setting `list.status`; empty for the default."""
    if tuple(chosen) == ("current",):
        return ()
    current = ("active", "proposed")
    return tuple(
        status for name in chosen for status in (current if name == "current" else (name,))
    )
