"""The main screen: opens the stores and connects the actions to the panes."""

from __future__ import annotations

import gc
from collections.abc import Callable
from datetime import datetime
from typing import TYPE_CHECKING

from textual import on
from textual.timer import Timer

from memtui import query as queries
from memtui import text
from memtui.tui import messages
from memtui.tui.actions import ActionContext
from memtui.tui.controllers.filtering import FilterActions
from memtui.tui.controllers.insight import InsightActions
from memtui.tui.controllers.navigation import NavigationActions
from memtui.tui.controllers.panes import PaneActions
from memtui.tui.controllers.session import SessionState, status_values
from memtui.tui.controllers.stores import StoreActions
from memtui.tui.controllers.viewing import ViewingActions
from memtui.tui.jobs import Job
from memtui.tui.layout import Pane
from memtui.tui.library_worker import OPENING, REFRESH_EVERY
from memtui.tui.screens.searchable import SearchableScreen
from memtui.tui.status_text import describe_losses

if TYPE_CHECKING:
    from memtui.config import Settings
    from memtui.library import Library
    from memtui.model import Memory
    from memtui.tui.controllers.editing import EditingControllers

GARBAGE = (5_000, 4, 250)
"""Thresholds of the collector once all memories have been read."""
LONGEST_WAIT = 5.0
"""Seconds for which keys wait behind an action that waits for what writing needs."""
LOOK_SECONDS = 0.05
"""Seconds between two looks for rows while the stores load."""


class BrowseScreen(SearchableScreen):
    """Browse, search and edit the memories of the open stores."""

    def __init__(
        self,
        open_library: Callable[[], Library],
        sessions: SessionState,
        now: datetime,
    ) -> None:
        super().__init__(open_library, sessions.view(now))
        self._sessions = sessions
        self.last_seen = sessions.seen
        self._selected_before = sessions.last.selected
        self.is_ready = False
        """Everything has been read, and search answers from the index."""
        self._reading = NavigationActions(self)
        self.stores = StoreActions(self)
        self._editing: EditingControllers | None = None
        self._deferred: list[Callable[[], None]] = []
        """The action that waits until memories can be changed."""
        self._looking: Timer | None = None
        self._revision = -1

    def on_mount(self) -> None:
        for controller in (
            PaneActions(self),
            self._reading,
            InsightActions(self),
            self.stores,
            ViewingActions(self, self._sessions),
            FilterActions(self),
        ):
            self.handlers = {**self.handlers, **controller.handlers()}
        self.search_bar.set_text(self.view.text)
        self._sessions.restore(self)
        self.lay_out()
        self.focus_pane(self.pane)
        self.memories.explain("Opening stores…")

    def use_settings(self, before: Settings, now: Settings) -> None:
        """Use settings that were changed while the screen is open."""
        self.memories.use_settings(now)
        view = self.view
        if now.sort != before.sort:
            view = view.ordered(queries.Sort(now.sort) if now.sort else None)
        if now.status != before.status:
            view = view.with_values("status", status_values(now.status))
        if now.review != before.review and self._editing is not None:
            self._editing.review.use_settings()
        if view != self.view:
            self.set_view(view)
        self.update_keys()

    # Acts

    def action_act(self, action_id: str) -> None:
        if self.refusal(action_id) != OPENING:
            super().action_act(action_id)
        elif self.status_text.complete and not self._deferred:
            # The rows have been read, so what writing needs is there in a moment. The keys that are
            # typed next wait too: they may be text for the form that it opens.
            release = self.app.key_queue.hold(LONGEST_WAIT)

            def act() -> None:
                self.action_act(action_id)
                release()

            self._deferred.append(act)
        else:
            self.app.key_queue.drop_typed()
            super().action_act(action_id)

    @property
    def editing(self) -> EditingControllers:
        """The controllers that change memories, created once the library is open."""
        if self._editing is None:
            raise RuntimeError(OPENING)
        return self._editing

    def restore_text(self, memory: Memory, former: Memory, confirmed: Callable[[], object]) -> None:
        self.editing.changes.restore_text(memory, former, confirmed)

    def stop_planning(self) -> bool:
        """Stop the planning of a change; False if none is planned."""
        return self._editing is not None and self._editing.changes.writer.stop_planning()

    def action_context(self) -> ActionContext:
        past = self.worker.past
        refused = self._editing.refusal if self._editing else lambda _: OPENING
        if past is not None:
            # An export and the context screen write no store.
            free = ("export", "context") if self._editing is not None else ()
            refused = lambda id: "" if id in free else past.refused  # noqa: E731
        return ActionContext(
            has_memory=self.detail.memory is not None,
            openable={
                Pane.MEMORIES: self.memories.memory is not None,
                Pane.DETAIL: self.detail.memory is not None,
                Pane.TIMELINE: self.timeline.choosable,
            }.get(self.pane, True),
            marked=len(self.memories.marked),
            filtered=bool(self.view.chip_list()) or self.view.has_typed_filters(self.now()),
            searching=bool(self.view.text),
            ranked=self.memories.slot >= 0
            and self.found is not None
            and self.found.scores is not None,
            fresh=len(self.memories.fresh),
            targets=self.detail.targets,
            can_go_back=self._reading.jumps.can_go_back,
            can_go_forward=self._reading.jumps.can_go_forward,
            is_dated=self.timeline.is_dated,
            past=past.refused if past else "",
            refused=refused,
        )

    # Going to memories

    @on(messages.MemoryShown)
    def _memory_shown(self) -> None:
        memory = self.memories.memory
        self._reading.note_shown(memory)
        if self.memories.serial in self.memories.fresh:
            self.memories.looked_at()
        self.show_memory(memory)

    @on(messages.QueryEntered)
    def _keep_search(self, event: messages.QueryEntered) -> None:
        if event.text:
            self._sessions.add_search(event.text, self.worker.jobs)

    @on(messages.RefChosen)
    def _ref_chosen(self, event: messages.RefChosen) -> None:
        self._reading.follow(event.ref)

    # The stores come in

    @on(messages.LibraryOpened)
    def _library_opened(self) -> None:
        self._looking = self.set_interval(LOOK_SECONDS, self._look_for_rows)

    def _look_for_rows(self) -> None:
        """Show rows from the cache at once, while the stores are still being scanned."""
        library = self.worker.library
        if library is not None and library.snapshot.revision != self._revision:
            self._revision = library.snapshot.revision
            if library.snapshot.count:
                self.search_again()

    @on(messages.RowsChanged)
    def _rows_changed(self, event: messages.RowsChanged) -> None:
        if event.complete and not self.is_ready:
            self._keep_from_collection()
        if self.worker.library is not None:  # these rows need not be looked for
            self._revision = self.worker.library.snapshot.revision
        if self._looking is not None:
            self._looking.stop()  # from now on rows are told of, after they were written to disk
        self.status_text.complete |= event.complete
        self.memories.follow(event.again)
        self.memories.fresh |= event.fresh
        self.search_again(whole=event.complete)
        if self._editing is not None:
            self._editing.review.note_change()

    def _keep_from_collection(self) -> None:
        """Keep what has been read out of garbage collection: to go through 300,000 memories takes
        90 ms, in which no key is answered. Not for each batch: what is garbage later is kept too.

        From then on garbage is looked for in small portions: Textual's strips, which refer to
        themselves, are 800 objects a step, and a hundred thousand take 35 ms within one key.
        """
        if not self.app.is_headless:  # a process with one app after another would keep every one
            gc.freeze()
            gc.set_threshold(*GARBAGE)

    @on(messages.LinksReady)
    def _keep_links(self) -> None:
        self._keep_from_collection()

    @on(messages.LossesSeen)
    def _losses_seen(self, event: messages.LossesSeen) -> None:
        for report in event.reports:
            title, words = describe_losses(report, self.app.key_overrides)
            self.app.notify(words, title=title, severity="error", timeout=15)

    @on(messages.WritingReady)
    def _writing_ready(self) -> None:
        # Writing needs most of memtui; a worker has loaded it meanwhile, after the first paint.
        from memtui.tui.controllers.editing import EditingControllers

        self._editing = EditingControllers(self)
        self.handlers = {**self.handlers, **self._editing.handlers()}
        self.detail.render_markdown()
        self.update_keys()
        for act in self._deferred:
            act()
        self._deferred.clear()

    @on(messages.IndexReady)
    def _index_ready(self) -> None:
        self.is_ready = True
        self._keep_from_collection()
        if self.last_seen is not None:
            self._find_fresh(self.last_seen)
        if self.view.text:
            self.search_again()
        self.worker.watch()
        self.set_interval(REFRESH_EVERY, self.worker.refresh_if_due)
        self.editing.begin()
        self.stores.begin()

    def _find_fresh(self, last_seen: datetime) -> None:
        """Find the memories that are new since the last session."""
        since = queries.TimeCondition(last_seen.isoformat(), last_seen)

        def find(library: Library, _: Job) -> frozenset[int]:
            found = library.find(queries.Query(since=since))
            return frozenset(map(found.rows.serial, found.slots))

        def show(serials: frozenset[int]) -> None:
            self.memories.fresh |= serials
            self.memories.redraw()
            self.update_keys()

        self.worker.run("fresh", find, show, only_reads=True)

    # What else the workers tell

    @on(messages.Progressed)
    def _progressed(self, event: messages.Progressed) -> None:
        self.status_text.show_progress(event.progress)

    @on(messages.ScreenCall)
    def _called_by_job(self, event: messages.ScreenCall) -> None:
        if not self.app.is_ending:
            event.function()

    @on(messages.LibraryFailed)
    def _library_failed(self, event: messages.LibraryFailed) -> None:
        self.app.exit(return_code=1, message=text.visible(event.reason))

    @on(messages.Faulted)
    def _faulted(self, event: messages.Faulted) -> None:
        self.app.give_up(event.error)

    @on(messages.WorkFailed)
    def _work_failed(self, event: messages.WorkFailed) -> None:
        self.app.notify(event.reason, severity="error")
