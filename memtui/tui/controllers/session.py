"""What a session leaves to the next: its view and focus, and the screen as it was.

The cached screen is drawn at once and marked until it is checked. An action on a memory waits until
the stores have been read. Then it applies to the same memory, and is dropped if that is gone.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING

from memtui import query as queries
from memtui import text
from memtui.config import session
from memtui.config.session import Session
from memtui.dataclass import replace
from memtui.tui import actions, first_frame, screen_cache
from memtui.tui.actions import MOVING
from memtui.tui.key_queue import LONGEST_HOLD
from memtui.tui.layout import Pane, Sizes
from memtui.tui.screen_cache import CachedScreen
from memtui.tui.view_state import ViewState, day_range

if TYPE_CHECKING:
    from memtui.tui.app_interface import Launch
    from memtui.tui.jobs import JobRunner
    from memtui.tui.screen_interface import ScreenInterface


AT_ONCE = frozenset(
    {"search", "quit", "help", "theme", "redraw", "suspend", "palette", "zoom", "escape", "left"}
    | {"detail.size", "detail.raw", "detail.fields"}
    | {action.id for action in actions.ACTIONS if action.id.startswith("pane.")}
    | {action.id for action in actions.ACTIONS if MOVING in action.scopes}
)
"""Actions that are about no memory."""
LONGEST_WAIT = 5.0
"""Seconds for which keys wait behind an action: the rest may be text for the form it opens."""
CHECKING = "checking · "
"""What stands before the counts until they are checked."""


class CachedScreenController:
    """Shows the cached screen, defers actions until it is checked, and saves the screen."""

    def __init__(self, screen: ScreenInterface) -> None:
        self._screen = screen
        self._cached: CachedScreen | None = None
        self._view = screen.view
        """The view of the cached screen."""
        self._waiting: list[tuple[str | None, Callable[[], None]]] = []
        """Ref of the memory under the cursor, and what to do with it; None: whatever is under it
        after the moves that wait before it."""
        self._releases: list[Callable[[], None]] = []

    @property
    def is_unchecked(self) -> bool:
        """Whether the panes show the cached screen."""
        return self._cached is not None

    def show(self) -> None:
        """Show the cached screen of this view, if there is one."""
        launch = self._screen.app.launch
        if launch.cache is None:
            return
        cached = screen_cache.load(launch.cache, _key(launch), self._view_key())
        if cached is None or not (launch.loaded.settings.restore or cached.cursor == 0):
            return
        self._draw(cached)

    def _draw(self, cached: CachedScreen) -> None:
        screen = self._screen
        self._cached = cached
        screen.memories.show(
            cached.rows,
            range(cached.total),
            (),
            cursor=cached.cursor,
            top=cached.top,
            types=cached.types,
            entities=cached.entities,
            present=range(cached.first, cached.first + len(cached.memories)),
        )
        screen.entities.preview(
            cached.branches, cached.branch_count, cached.unfolded, cached.entity_label
        )
        screen.statistics.show(cached.statistics)
        if cached.timeline is not None:
            screen.timeline.show_filter(*day_range(screen.view.query(screen.now())))
            screen.timeline.show(cached.timeline)
        chips = screen.view.chip_list()
        counts = CHECKING + cached.counts
        screen.chips.show(chips, cached.quiet, "", counts, cached.alert, cached.order)
        screen.detail.roots = cached.roots
        screen.detail.show(cached.detail, ())

    def show_detail(self) -> None:
        """Show the memory under the cursor if the cache holds it whole."""
        memory, whole = self._screen.memories.memory, self._cached.detail if self._cached else None
        same = memory is not None and whole is not None and memory.ref == whole.ref
        self._screen.detail.show(whole if same else None, ())

    def is_shown(self, view: ViewState) -> bool:
        """Whether the cached screen of this view is shown."""
        return self._cached is not None and view == self._view

    def is_replaced_by(self, total: int, *, complete: bool) -> bool:
        """Whether results replace the cached screen; not if they lack rows of stores being read."""
        cached = self._cached
        return (
            cached is None or complete or total >= cached.total or self._view != self._screen.view
        )

    # Acts

    def waits(self, action_id: str) -> bool:
        """Whether an action is about a memory that is not checked yet."""
        return self.is_unchecked and action_id not in AT_ONCE

    def wait(self, act: Callable[[], None], longest: float = LONGEST_HOLD) -> None:
        """Run an action on the memory under the cursor at the next call of `do_waiting`.

        The keys typed next wait too, for `longest` seconds at most.
        """
        self._waiting.append((None if self._waiting else self._ref, act))
        self._releases.append(self._screen.app.key_queue.hold(longest))

    @property
    def _ref(self) -> str:
        memory = self._screen.memories.memory
        return memory.ref if memory is not None else ""

    def checked(self) -> None:
        """Run the deferred actions: the panes show the present memories."""
        self._cached = None
        self._screen.call_after_refresh(self.do_waiting)

    def do_waiting(self) -> None:
        """Run the deferred actions, each on the memory that it was meant for."""
        waiting, self._waiting = self._waiting, []
        screen = self._screen
        for ref, act in waiting:
            if ref is None or self._ref == ref or screen.memories.go_to(ref):
                screen.show_memory(screen.memories.memory)
                act()
            else:
                screen.app.notify("That memory is no longer in the list.", severity="warning")
        while self._releases and not self._waiting:
            self._releases.pop()()

    # Keeping

    def keep(self, *, last: bool) -> None:
        """Save what the panes show, unless it is about to change.

        Before the screen's end (`last`) they then show what the next start will, which is saved as
        its first frame.
        """
        app = self._screen.app
        launch, frame = app.launch, ""
        if launch.cache is None or self._cached is not None:
            return
        current = self._collect()
        stores = tuple(current.roots.values()) if current is not None else ()
        is_saved = current and screen_cache.save(launch.cache, _key(launch), current)
        if current is not None and is_saved and last and launch.loaded.settings.restore:
            text.reveal_secrets(False)
            if text.mask_secrets(current.view) == current.view:
                self._draw(current)
                frame = self._screen.draw_as_at_start()
        files = [folder / f"{app.theme}.toml" for folder in launch.themes]
        if launch.config_file is not None:
            files.append(launch.config_file)
        first_frame.save(launch.cache, launch.roots, frame, app.size, stores, files)

    def _collect(self) -> CachedScreen | None:
        screen, library = self._screen, self._screen.worker.library
        found, memories = screen.found, screen.memories
        if library is None or found is None or not screen.is_settled or found.words:
            return None
        first = 0 if memories.cursor < screen_cache.MAX_ROWS // 2 else memories.top
        slots = memories.slots[first : first + screen_cache.MAX_ROWS]
        branches, branch_count, unfolded, label = screen.entities.lines()
        under, whole = memories.memory, screen.detail.memory
        quiet, alert, order = screen.chips.words
        return CachedScreen(
            view=self._view_key(),
            memories=tuple(found.rows[int(slot)] for slot in slots),
            first=first,
            total=len(memories.slots),
            cursor=memories.cursor,
            top=memories.top,
            types=memories.widths[0],
            entities=memories.widths[1],
            order=order,
            quiet=quiet,
            counts=f"{text.number(found.total)} of {text.number(library.snapshot.count)}",
            alert=alert,
            branches=tuple(branches[: screen_cache.MAX_LINES]),
            unfolded=unfolded,
            branch_count=branch_count,
            entity_label=label,
            statistics=tuple(screen.statistics.rows),
            timeline=screen.timeline.timeline,
            detail=whole if whole is not None and whole is under else None,
            roots={store.label: store.root for store in library.snapshot.stores},
        )

    def _view_key(self) -> str:
        """Return the search of the view, as the next session will name it."""
        view = self._screen.view.settled(self._screen.now())
        parts = [view.text, *(f"{chip.label} {chip.value}" for chip in view.chip_list())]
        return "\n".join(parts)


def _key(launch: Launch) -> str:
    stores = launch.loaded.settings.stores
    listed = os.environ.get(first_frame.STORES_VARIABLE, "") or "\0".join(map(repr, stores))
    return first_frame.key_for(launch.roots, listed, Path.cwd())


SIZE_NAMES = frozenset(Sizes._fields)


class SessionState:
    """Loads, restores and saves the session of a set of stores."""

    def __init__(self, launch: Launch) -> None:
        self._launch = launch
        self._key = session.key_for(launch.roots)
        self.last = Session()
        self._unsaved = Session()
        """Bookmarks and searches that are not on disk."""
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
        screen.search_bar.line.history = list(self.last.searches)

    @property
    def bookmarks(self) -> Mapping[str, str]:
        """Letter -> ref of its memory; also those that another memtui has set since the start."""
        saved = session.load(self._launch.state, self._key) if self._launch.state else Session()
        return {**saved.bookmarks, **self._unsaved.bookmarks}

    def set_bookmark(
        self, letter: str, ref: str, jobs: JobRunner, done: Callable[[], object]
    ) -> None:
        """Set a bookmark, and save it in a job; `done` is called once it is on disk."""
        bookmarks = {**self._unsaved.bookmarks, letter: ref}
        self._unsaved = self._unsaved._replace(bookmarks=bookmarks)
        self._save(jobs, done)

    def add_search(self, search: str, jobs: JobRunner) -> None:
        """Add a search to the history, and save it in a job."""
        searches = (*self._unsaved.searches, search)
        self._unsaved = self._unsaved._replace(searches=searches)
        self._save(jobs, lambda: None)

    def _save(self, jobs: JobRunner, done: Callable[[], object]) -> None:
        unsaved = self._unsaved

        def ended(is_saved: bool) -> None:
            if is_saved and self._unsaved is unsaved:  # nothing was set meanwhile
                self._unsaved = Session()
            done()

        jobs.start("session", lambda _: self._update(), ended, replaces=False)

    def _update(self, ended: Session | None = None) -> bool:
        """Save what was set since, into the session on disk or, at its end, into this one.

        False when it could not be written.
        """
        if self._launch.state is None:
            return True

        def merge(saved: Session) -> Session:
            unsaved = self._unsaved  # as it is now: of two jobs each writes what both have set
            older = (search for search in saved.searches if search not in unsaved.searches)
            return (ended or saved)._replace(
                bookmarks={**saved.bookmarks, **unsaved.bookmarks},
                searches=(*older, *dict.fromkeys(unsaved.searches)),
            )

        return session.update(self._launch.state, self._key, merge)

    def keep(self, screen: ScreenInterface, theme: str) -> bool:
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
        self._unsaved = Session() if is_saved else self._unsaved
        return is_saved


def status_values(chosen: Sequence[str]) -> tuple[str, ...]:
    """Return the status filter of the setting `list.status`; empty for the default."""
    if tuple(chosen) == ("current",):
        return ()
    current = ("active", "proposed")
    return tuple(
        status for name in chosen for status in (current if name == "current" else (name,))
    )
