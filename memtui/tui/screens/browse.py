"""The main screen: opens the stores, searches for what its view describes, shows the results."""

from __future__ import annotations

import gc
import sys
from collections.abc import Callable, Collection, Coroutine, Mapping, Sequence
from datetime import datetime
from math import inf
from typing import TYPE_CHECKING

from rich.segment import Segment
from textual import on
from textual.strip import Strip
from textual.timer import Timer

from memtui import query as queries
from memtui import text
from memtui.model import CURRENT, Memory
from memtui.paths import READ_ONLY, served_mode
from memtui.tui import messages
from memtui.tui.act_runner import ActRunner
from memtui.tui.actions import ActionContext
from memtui.tui.controllers.filtering import FilterActions
from memtui.tui.controllers.insight import InsightActions
from memtui.tui.controllers.navigation import NavigationActions
from memtui.tui.controllers.panes import DetailController, EntityController, PaneActions
from memtui.tui.controllers.queried import QueriedActions
from memtui.tui.controllers.session import SessionState, status_values
from memtui.tui.controllers.stores import StoreActions
from memtui.tui.controllers.transcripts import TranscriptActions
from memtui.tui.controllers.viewing import ViewingActions
from memtui.tui.key_queue import KeyHold
from memtui.tui.layout import ENTITY_MAX, Pane
from memtui.tui.library_worker import NO_ROWS, OPENING, REFRESH_EVERY, LibraryWorker
from memtui.tui.screens.panes import PaneScreen
from memtui.tui.status_text import StatusText, describe_losses
from memtui.tui.view_state import (
    ViewState,
    day,
    day_range,
    keep_selected,
    restore_cursor,
)

if TYPE_CHECKING:
    from memtui.config import Settings
    from memtui.errors import MemtuiError
    from memtui.insight.statistics import Statistics
    from memtui.insight.timeline import Timeline
    from memtui.library import Library, SearchResult
    from memtui.library.broken_files import StoreLosses
    from memtui.library.time_views import TimeData
    from memtui.query import Query
    from memtui.tui.controllers.editing import EditingControllers

GARBAGE = (5_000, 4, 250)
"""Thresholds of the collector once all memories have been read."""
CHECKING = "checking …"
"""Shown in the search line of a frame that the next start shows."""
LONGEST_WAIT = 5.0
"""Seconds for which keys wait behind an action that waits for what writing needs."""
LONGEST_SEARCH = 3.0
"""Seconds for which keys wait for the rows of a search; a regular expression may take two."""
LOOK_SECONDS = 0.05
"""Seconds between two looks for rows while the stores load."""


class BrowseScreen(PaneScreen):
    """Browse, search and edit the memories of the open stores."""

    def __init__(
        self,
        open_library: Callable[[], Library],
        sessions: SessionState,
        now: datetime,
    ) -> None:
        super().__init__()
        self._sessions = sessions
        self.status_text = StatusText(self)
        self.worker = LibraryWorker(
            self, open_library, self.status_text.show_progress, self.search_bar.line.learn
        )
        self.view = sessions.view(now)
        """What is searched for."""
        self.found: SearchResult | None = None
        """What the list shows."""
        self.counted: SearchResult | None = None
        """Whose values the panes around it count: `found`, or until that is counted the one before.
        """
        self.last_seen = sessions.seen
        """When the stores were last open on the screen; None if unknown."""
        self.is_ready = False
        """Everything has been read, and search answers from the index."""
        self.detail_controller = DetailController(self)
        self.entity_controller = EntityController(self)
        self.queried = QueriedActions(self)
        self._reading = NavigationActions(self)
        self.insight = InsightActions(self)
        self.stores = StoreActions(self)
        self.transcripts = TranscriptActions(self)
        self.acts = ActRunner(self, self.worker)
        self._editing: EditingControllers | None = None
        self._deferred: list[Callable[[], None]] = []
        """The action that waits until memories can be changed."""
        self._looking: Timer | None = None
        self._revision = -1
        self._number = self._shown_number = 0
        """Numbers of the last search and of the one whose rows are shown."""
        self._search_hold = KeyHold(self.app.key_queue)
        self._answered: ViewState | None = None
        """What was asked for when the list was last filled."""
        self._whole_from = sys.maxsize
        """Number of the first search over all memories; before it, stores were being read."""
        self._is_whole = False
        """That search has been answered."""
        self._selected_before = sessions.last.selected
        """Ref of the memory that the last session ended on, until the cursor is on it."""
        self._awaited_ref = ""
        """Ref of a memory to stand on as soon as it is in the list."""
        self._unlisted = ""
        """Ref of a memory that the detail shows though the list does not have it any more, until
        the list is moved in."""

    def on_mount(self) -> None:
        for controller in (
            PaneActions(self),
            self._reading,
            self.insight,
            self.stores,
            ViewingActions(self),
            FilterActions(self),
            self.transcripts,
        ):
            self.handlers = {**self.handlers, **controller.handlers()}
        self.search_bar.set_text(self.view.text)
        self._sessions.restore(self)
        self.lay_out()
        self.focus_pane(self.pane)
        self.memories.explain("Opening stores…")

    def on_unmount(self) -> None:
        self.worker.end_watching()
        self.acts.stop()

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

    def carry_out(self, handler: Callable[[], object]) -> None:
        if isinstance(act := handler(), Coroutine):
            self.acts.start(act)

    @property
    def editing(self) -> EditingControllers:
        """The controllers that change memories, created once the library is open."""
        if self._editing is None:
            raise RuntimeError(OPENING)
        return self._editing

    def action_context(self) -> ActionContext:
        past = self.worker.past
        refused = self._editing.refusal if self._editing else lambda _: OPENING
        if served_mode() == READ_ONLY:
            refused = lambda id: "" if id == "context" else "this page is read-only"  # noqa: E731
        elif past is not None:
            # An export and the context screen write no store.
            free = ("export", "context") if self._editing is not None else ()
            refused = lambda id: "" if id in free else past.refused  # noqa: E731
        library = self.worker.library
        return ActionContext(
            has_memories=library is None or library.snapshot.count > 0 or bool(library.queried),
            has_memory=self.detail.memory is not None,
            why_none=self.memories.why_none,
            openable={
                Pane.MEMORIES: self.memories.memory is not None or bool(self.status_text.offers),
                Pane.DETAIL: self.detail.memory is not None,
                Pane.TIMELINE: bool(self.timeline.bars),
            }.get(self.pane, True),
            marked=len(self.memories.marked),
            is_marking=self.memories.is_marking,
            filtered=bool(self.view.chip_list()) or self.view.has_typed_filters(self.now()),
            has_match=Pane.DETAIL in self.shown_panes and self.detail.has_match,
            ranked=self.memories.slot >= 0
            and self.found is not None
            and self.found.scores is not None,
            offers=len(self.status_text.offers),
            fresh=len(self.memories.fresh),
            has_written=self.acts.has_written,
            targets=self.detail.targets,
            has_learned=self.transcripts.has_learned,
            can_go_back=self._reading.jumps.can_go_back,
            can_go_forward=self._reading.jumps.can_go_forward,
            is_dated=self.timeline.is_dated,
            stores=1 if library is None else len(library.stores),
            no_past="" if library is None else library.no_past,
            past=past.refused if past else "",
            refused=refused,
        )

    # Searching

    def set_view(self, view: ViewState) -> None:
        """Search for another view."""
        if view.text != self.view.text:
            self.search_bar.set_text(view.text)
        self.view = view
        self.search()
        self._hold_keys()

    def set_text(self, words: str) -> None:
        self.set_view(ViewState(words, self.view.chips))

    def settle(self) -> None:
        """Turn the filters in the search line into chips; the query stays the same."""
        settled = self.view.settled(self.now())
        if settled != self.view:
            self.set_view(settled)

    def search(self, *, typing: bool = False) -> None:
        """Search for what the view describes."""
        query = self.query_of(self.view, typing=typing)
        self.timeline.show_filter(*day_range(query))
        near = (
            self.queried.near() if self.memories.is_chosen and self.view == self._answered else None
        )
        self._number = self.worker.find(query, self.timeline.chosen_unit, near)

    def query_of(self, view: ViewState, *, typing: bool = False) -> Query:
        """What a view asks now."""
        query = view.query(self.now(), typing=typing)
        return queries.resolve_marked(query, self._marked_refs)

    def _hold_keys(self, longest: float = LONGEST_SEARCH) -> None:
        """Keep the next keys back until the rows of the last search are shown, for which they are
        meant: `/tea`, enter and `d` may arrive at once."""
        self._search_hold.let_go()
        if self._number != self._shown_number and self.worker.library is not None:
            self._search_hold.take(longest)

    def show_written(self) -> None:
        """Search again after a write; the next keys are for the rows that it has made."""
        self.search_again()
        self._hold_keys(inf)

    def search_failed(self, error: MemtuiError) -> None:
        """Say why nothing was found, and let the keys act on the rows that are shown."""
        self._search_hold.let_go()
        self.app.report_error(error)

    def search_again(self, *, whole: bool = False) -> None:
        """Repeat the search over the present memories; `whole`: all stores have been read."""
        self.search(typing=self.is_typing)
        if whole:
            self._whole_from = min(self._whole_from, self._number)

    def start_over(self, marked: set[int]) -> None:
        """Search the library of another time, in which these rows are marked."""
        self.memories.marked = marked
        self.detail.show(None, ())
        self.search()
        self.update_keys()

    @on(messages.QueryTyped)
    def _typed(self, event: messages.QueryTyped) -> None:
        self.view = ViewState(event.text, self.view.chips)
        self.search(typing=True)
        self.update_keys()

    @on(messages.QueryEntered)
    def _entered(self, event: messages.QueryEntered) -> None:
        if event.text:
            self._sessions.add_search(event.text, self.worker)
        self.focus_pane(Pane.MEMORIES)

    @on(messages.FilterChosen)
    def _chosen(self, event: messages.FilterChosen) -> None:
        self.settle()
        self.set_view(self.view.toggled(event.field, event.value))

    @on(messages.BranchChosen)
    def _branch_chosen(self, event: messages.BranchChosen) -> None:
        self.settle()
        stores = (event.store,) if event.store else ()
        view = self.view.with_values("store", stores).with_values("entity", event.entities)
        if view != self.view:
            self.set_view(view)

    @on(messages.SpanChosen)
    def _span(self, event: messages.SpanChosen) -> None:
        self.settle()
        since = day(event.since) if event.since else None
        until = day(event.until, end=True) if event.until else None
        self.set_view(self.view.between(since, until))

    @on(messages.ChipRemoved)
    def _removed(self, event: messages.ChipRemoved) -> None:
        self.set_view(self.view.without(event.key))

    def entered(self, pane: Pane) -> None:
        if pane is Pane.DETAIL and self.memories.slot >= 0:
            self.memories.is_chosen = True  # it is being read
        self.settle()
        self._rank_all()
        self._hold_keys()

    def _rank_all(self) -> None:
        """Search again once nobody types: until then fewer candidates are put in order."""
        found = self.found
        is_typed = found is not None and found.query.is_typed and found.among
        if is_typed and not self.is_typing and self._shown_number == self._number:
            self.search()

    # Answers

    def show_found(self, number: int, found: SearchResult) -> None:
        """Show what the search with this number has found, if it is the last one."""
        library = self.worker.library
        if number != self._number or library is None:
            return
        self._shown_number = number
        self.call_later(self._search_hold.let_go)
        is_whole = self._is_whole or number >= self._whole_from
        rows, position, before = found.rows, self.memories.position, self.found
        stays = self.memories.is_chosen and self._answered == self.view
        self.found, self._answered = found, self.view
        if stays:
            cursor, top = restore_cursor(position, found.slots, rows)
        elif self._is_whole and before and not _has_other_words(before.query, found.query):
            cursor, top = keep_selected(position, found.slots)
        else:
            cursor, top = 0, 0
        self.memories.is_chosen = stays
        self.memories.show(
            rows,
            found.slots,
            found.words,
            cursor=cursor,
            top=top,
            types=_types_width(found),
            entities=0 if queries.filter_values(found.query, "entity") else ENTITY_MAX,
            names=library.names.by_label if len(library.stores) > 1 else None,
            entity_name=library.entity_name,
            approximate=found.is_approximate,
            total=text.number(found.total, found.accuracy),
        )
        self.queried.show(found)
        self.status_text.show_results(found)
        if found.are_facets_here:
            self._show_facets(found)
        is_first = not (stays or self._is_whole) and self._selected_before
        if is_first and self.go_to(self._selected_before):
            self._selected_before = ""
        self._end_start(found.total, is_whole=is_whole)
        self._is_whole = is_whole
        if not stays:
            self._unlisted = ""
        if self._awaited_ref and (self.go_to(self._awaited_ref) or self._stay_with_awaited()):
            self._awaited_ref = ""
        if self._is_whole:
            self.memories.is_chosen = True  # nothing comes in by itself any more
        self._rank_all()
        self.update_keys()

    def _show_facets(self, found: SearchResult) -> None:
        self.counted = found
        self.entity_controller.show(found)
        self.search_bar.line.found(found.facets)

    def show_counts(self, number: int) -> None:
        """Show the facets of the results, and how many these are: they have been asked for."""
        if number != self._number or (found := self.found) is None:
            return
        self._show_facets(found)
        if found.count != (found.total, found.accuracy):
            self.status_text.show_results(found)
            self.memories.stretch(found.count.value, text.number(*found.count))

    def _end_start(self, total: int, *, is_whole: bool) -> None:
        """Show the real screen, once it has rows and the cursor is where the last session ended.

        Keys that were typed meanwhile are for the memory that was under the cursor then.
        """
        if not self.app.is_starting:
            return
        if is_whole and self._selected_before and self.app.key_queue.drop_waiting():
            self.app.notify(
                "The memory under the cursor is no longer in the list. What you typed was dropped.",
                severity="warning",
            )
        if is_whole or (total and not self._selected_before):
            self.app.end_start()

    def show_overview(
        self, number: int, statistics: Statistics, timeline: Timeline, times: TimeData
    ) -> None:
        """Show counts, times and sizes of the results in the panes around the list.

        `timeline`, `times`: without the filter by time, so that another bar can be chosen.
        """
        if number != self._number:
            return
        self.call_later(self.worker.shown.set)
        if self.found is not None:
            self.timeline.show(timeline, times)
            self.statistics.show(self.status_text.statistics(statistics, self.found))

    def _stay_with_awaited(self) -> bool:
        """Show the memory that was changed, though it does not match the search any more: the next
        key is for it. False where it may still come in, or was taken out of use."""
        memory = self.worker.find_memory(self._awaited_ref) if self.is_settled else None
        if memory is None or memory.status not in CURRENT:
            return False
        self._unlisted, self.memories.is_elsewhere = self._awaited_ref, True
        self.app.notify("It no longer matches the search, so the list does not have it.")
        return True

    @property
    def is_settled(self) -> bool:
        """Whether the list shows the complete results of the current view."""
        return self._is_whole and self._answered == self.view

    def go_to_memory(self, ref: str) -> None:
        """Show this memory now; the list's cursor stays if the list does not contain it."""
        self._awaited_ref = ""
        if not self.go_to(ref):
            self.post_message(messages.RefChosen(ref))

    def go_to(self, ref: str) -> bool:
        """Move the list's cursor to this memory; False if the list does not contain it."""
        library = self.worker.library
        slot = library.snapshot.slot_of.get(ref, -1) if library is not None else -1
        return self.memories.go_to(ref, slot)

    def await_memory(self, ref: str) -> None:
        """Move to this memory as soon as it is in the list."""
        self._awaited_ref = ref

    # What is on show

    def marked_memories(self) -> list[Memory]:
        """The marked memories that are here, in slot order."""
        return self.worker.read_rows(self.memories.marked)

    def _marked_refs(self) -> list[str]:
        library = self.worker.library
        if library is None:
            return []
        return list(filter(None, map(library.ref_of, sorted(self.memories.marked))))

    # Going to memories

    @on(messages.MemoryShown)
    def _memory_shown(self) -> None:
        memory = self.memories.memory
        kept = self.worker.find_memory(self._unlisted) if self.memories.is_elsewhere else None
        if kept is not None:
            self.detail_controller.show(kept)
            return
        self._unlisted = ""
        self._reading.note_shown(memory)
        if self.memories.slot in self.memories.fresh:
            self.memories.looked_at()
            self.status_text.show_news()
        self.detail_controller.show(memory)

    @on(messages.RefChosen)
    def _ref_chosen(self, event: messages.RefChosen) -> None:
        self.acts.start(self._reading.follow(event.ref))

    def draw_for_next_start(self) -> list[Strip]:
        """Draw what the next start shows until it has rows, as the app ends; nothing where its
        first rows will be others."""
        found = self.found
        is_plain = not (found is None or found.words or text.are_secrets_revealed())
        if not (self.is_settled and is_plain) or self.worker.past is not None:
            return []
        self.memories.unmark()
        self.memories.fresh = set()
        self.detail.set_trail(())
        self.query("ToastRack").set(display=False)
        # Textual has no public way to the lines of a screen.
        compositor = self._compositor
        compositor.reflow(self, self.size)
        first, *others = compositor.render_strips()
        mark = Strip([Segment(f"{CHECKING} ", list(first)[-1].style)])
        return [Strip.join([first.crop(0, -mark.cell_length), mark]), *others]

    # The stores come in

    def stores_opened(self) -> None:
        """Look for rows: the stores are known, and nothing is read yet."""
        self._looking = self.set_interval(LOOK_SECONDS, self._look_for_rows)

    def _look_for_rows(self) -> None:
        """Show rows from the cache at once, while the stores are still being scanned."""
        library = self.worker.library
        if library is not None and library.snapshot.revision != self._revision:
            self._revision = library.snapshot.revision
            if library.snapshot.count or library.queried:
                self.search_again()

    def all_read(self) -> None:
        """Show the rows of all stores, which have been read."""
        self._keep_from_collection()
        self.status_text.complete = True
        self.rows_changed()

    def rows_changed(self, fresh: Collection[int] = (), again: Mapping[int, int] = NO_ROWS) -> None:
        """Show another snapshot of the library.

        Args:
            fresh: Serials of memories that were not there before, or said something else.
            again: Serial of each row that went -> of the row that has its memory now; -1 where none
                has.
        """
        if self.worker.library is not None:  # these rows need not be looked for
            self._revision = self.worker.library.snapshot.revision
        if self._looking is not None:
            self._looking.stop()  # from now on rows are told of, after they were written to disk
        self.memories.follow(again)
        self.memories.fresh |= {*fresh}
        self.search_again(whole=self.status_text.complete)
        if self._editing is not None:
            self._editing.review.note_change()
            self._editing.forms.note_change()

    def _keep_from_collection(self) -> None:
        """Keep what has been read out of garbage collection: to go through 300,000 memories takes
        90 ms, in which no key is answered. Not for each batch: what is garbage later is kept too.

        From then on garbage is looked for in small portions: Textual's strips, which refer to
        themselves, are 800 objects a step, and a hundred thousand take 35 ms within one key.
        """
        if not self.app.is_headless:  # a process with one app after another would keep every one
            gc.freeze()
            gc.set_threshold(*GARBAGE)

    def links_ready(self) -> None:
        """Show backlinks too, now that the links have been read."""
        self._keep_from_collection()
        self.detail_controller.relate()

    def show_losses(self, reports: Sequence[StoreLosses]) -> None:
        """Say in a toast what of the stores is lost or can no longer be read."""
        for report in reports:
            title, words = describe_losses(
                report, self.app.store_name(report.store), self.app.key_overrides
            )
            self.app.notify(
                words, title=title, severity="error" if report.is_listed else "warning", timeout=15
            )

    def writing_ready(self) -> None:
        """Make what changes memories: a worker has loaded it, after the first paint."""
        from memtui.tui.controllers.editing import EditingControllers

        self._editing = EditingControllers(self)
        self.handlers = {**self.handlers, **self._editing.handlers()}
        self.detail.render_markdown()
        self.update_keys()
        for act in self._deferred:
            act()
        self._deferred.clear()

    def index_ready(self) -> None:
        """Begin what needs all rows; searches use the index from now on."""
        self.is_ready = True
        self._keep_from_collection()
        if self.last_seen is not None:
            self._reading.find_fresh(self.last_seen)
        if self.view.text:
            self.search_again()
        self.worker.watch(self.queried.show_connections)
        self.set_interval(REFRESH_EVERY, self.worker.refresh_if_due)
        self.editing.begin()
        self.stores.begin()


def _has_other_words(before: Query, now: Query) -> bool:
    """Whether other words are searched for, whose best match the cursor goes to; leaving a search,
    a filter and another order leave it on its memory."""
    searched = (now.terms, now.groups)
    return any(searched) and searched != (before.terms, before.groups)


def _types_width(found: SearchResult) -> int:
    """Columns of the longest type; 0 in a list of one type."""
    types = queries.filter_values(found.query, "type")
    if len(types) == 1 and "*" not in types[0]:
        return 0
    return max((text.width(text.one_line(name)) for name in found.types), default=0)
