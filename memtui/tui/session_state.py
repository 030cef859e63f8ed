"""Session state: read before the first paint, saved when the app ends."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from datetime import datetime
from typing import TYPE_CHECKING

from memtui import query as queries
from memtui.config import session
from memtui.config.session import Session
from memtui.tui.layout import Pane, Sizes
from memtui.tui.view_state import ViewState

if TYPE_CHECKING:
    from memtui.tui.app_interface import Launch
    from memtui.tui.screen_interface import ScreenInterface


SIZE_NAMES = frozenset(Sizes._fields)


class SessionState:
    """Loads, restores and saves the session of a set of stores."""

    def __init__(self, launch: Launch) -> None:
        self._launch = launch
        self._key = session.key_for(launch.roots)
        self.last = Session()
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

    def restore(self, screen: ScreenInterface) -> None:
        """Restore focus, zoom and search history."""
        if self.last.focus in list(Pane):
            screen.pane = Pane(self.last.focus)
        screen.zoomed = bool(self.last.zoomed)
        screen.wanted_sizes = {n: s for n, s in self.last.panes.items() if n in SIZE_NAMES}
        screen.recent_commands = self.last.commands
        screen.bookmarks = dict(self.last.bookmarks)
        screen.search_bar.line.history = list(self.last.searches)

    def keep(self, screen: ScreenInterface, theme: str) -> None:
        """Save the state of the screen."""
        if self._launch.state is None:
            return
        now = screen.now()
        memory = screen.memories.memory
        view = screen.view.settled(now)
        # As typed: the next session makes the last word a prefix by itself.
        typed = queries.parse_query(view.text, now)
        groups = (*view.chips.groups, *typed.groups)
        query = replace(view.query(now), terms=typed.terms, groups=groups)
        saved = Session(
            query=queries.format_query(query),
            selected=memory.ref if memory else "",
            focus=screen.pane,
            panes=screen.wanted_sizes,
            zoomed=screen.pane if screen.zoomed else "",
            theme=theme,
            commands=screen.recent_commands,
            bookmarks=screen.bookmarks,
            searches=tuple(screen.search_bar.line.history),
            seen=now.isoformat(),
        )
        session.save(self._launch.state, self._key, saved)


def status_values(chosen: Sequence[str]) -> tuple[str, ...]:
    """Return the status filter of the setting `list.status`; empty for the default."""
    if tuple(chosen) == ("current",):
        return ()
    return tuple(status for name in chosen for status in _statuses(name))


def _statuses(name: str) -> tuple[str, ...]:
    return ("active", "proposed") if name == "current" else (name,)
