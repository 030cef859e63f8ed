"""A screen of panes that searches for what its view describes, and shows the results."""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from datetime import datetime
from typing import TYPE_CHECKING

from rich.segment import Segment
from textual import on
from textual.strip import Strip

from memtui import query as queries
from memtui import text
from memtui.model import Memory
from memtui.tui import messages
from memtui.tui.controllers.panes import DetailController
from memtui.tui.jobs import JobRunner
from memtui.tui.layout import ENTITY_MAX, Pane
from memtui.tui.library_worker import LibraryWorker
from memtui.tui.screens.panes import PaneScreen
from memtui.tui.status_text import StatusText
from memtui.tui.view_state import ViewState, day, day_range, keep_selected, restore_cursor

if TYPE_CHECKING:
    from memtui.library import Library, SearchResult
    from memtui.query import Query

CHECKING = "checking …"
"""Stands in the search line of a frame that the next start shows."""
LONGEST_SEARCH = 3.0
"""Seconds for which keys wait for the rows of a search; a regular expression may take two."""


class SearchableScreen(PaneScreen):
    """Searches for what the panes ask for, and shows the results in them."""

    def __init__(self, open_library: Callable[[], Library], view: ViewState) -> None:
        super().__init__()
        self.worker = LibraryWorker(JobRunner(self), open_library)
        self.view = view
        self.found: SearchResult | None = None
        self.last_seen: datetime | None = None
        """When the stores were last open on the screen; None if unknown."""
        self.status_text = StatusText(self)
        self.detail_controller = DetailController(self, self.status_text)
        self._number = self._shown_number = 0
        """Of the last search, and of the one whose rows are shown."""
        self._release_keys: Callable[[], None] = lambda: None
        self._answered: ViewState | None = None
        """What was asked for when the list was last filled."""
        self._whole_from = sys.maxsize
        """Number of the first search over all memories; before it, stores were being read."""
        self._present_marks: set[int] = set()
        """What was marked when the past was gone to."""
        self._is_whole = False
        """That search has been answered."""
        self._selected_before = ""
        """Ref of the memory that the last session ended on, until the cursor is on it."""
        self._awaited_ref = ""
        """Ref of a memory to stand on as soon as it is in the list."""

    def restore_text(self, memory: Memory, former: Memory, confirmed: Callable[[], object]) -> None:
        """Restore an earlier text of a memory, after a preview; call `confirmed` before."""

    def stop_planning(self) -> bool:
        """Stop the planning of a change; False if none is planned."""
        return False

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

    # Asking

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
        query = self.view.query(self.now(), typing=typing)
        query = queries.resolve_marked(query, self._marked_refs)
        self.timeline.show_filter(*day_range(query))
        self._number = self.worker.find(query, self.timeline.chosen_unit)

    def _hold_keys(self) -> None:
        """Keep the next keys back until the rows of the last search are shown, for which they are
        meant: `/tea`, enter and `d` may arrive at once."""
        self._release_keys()
        if self._number != self._shown_number and self.worker.library is not None:
            self._release_keys = self.app.key_queue.hold(LONGEST_SEARCH)

    def search_again(self, *, whole: bool = False) -> None:
        """Repeat the search over the present memories; `whole`: all stores have been read."""
        self.search(typing=self.search_bar.line.has_focus)
        if whole:
            self._whole_from = min(self._whole_from, self._number)

    def show_past(self, banner: Sequence[str]) -> None:
        """Show the library as of a time, with a banner, and search it."""
        self.banner.show(banner)
        if not self.has_class("-past"):
            self._present_marks = self.memories.marked
        self.set_class(True, "-past")
        self._start_over(set())

    def leave_past(self) -> None:
        """Show the present again."""
        if self.worker.past is not None:
            self.worker.go_to_present()
            self.app.clear_notifications()  # one may say that nothing can be changed
            self.banner.show(())
            self.set_class(False, "-past")
            self._start_over(self._present_marks)

    def _start_over(self, marked: set[int]) -> None:
        self.memories.marked = marked
        self.chips.hides_review = self.worker.past is not None
        self.detail.show(None, ())
        self.search()
        self.update_keys()

    @on(messages.QueryTyped)
    def _typed(self, event: messages.QueryTyped) -> None:
        self.view = ViewState(event.text, self.view.chips)
        self.search(typing=True)
        self.update_keys()

    @on(messages.QueryEntered)
    def _entered(self) -> None:
        self.focus_pane(Pane.MEMORIES)

    @on(messages.FilterChosen)
    def _chosen(self, event: messages.FilterChosen) -> None:
        self.settle()
        self.set_view(self.view.toggled(event.field, event.value))

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
        self._hold_keys()

    # Answers

    @on(messages.FoundMemories)
    def _found(self, event: messages.FoundMemories) -> None:
        if event.number != self._number or self.worker.library is None:
            return
        self._shown_number = event.number
        self.call_later(self._release_keys)
        found = event.found
        is_whole = self._is_whole or event.number >= self._whole_from
        rows, position, before = found.rows, self.memories.position, self.found
        stays = self.memories.is_chosen and self._answered == self.view
        self.found, self._answered = found, self.view
        if stays:
            cursor, top = restore_cursor(position, found.slots, rows)
        elif self._is_whole and before and not _has_other_words(before.query, found.query):
            cursor, top = keep_selected(position, found.slots, rows)
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
            entities=_entities_width(found),
        )
        self.entities.show(
            found.facets.entity, self._chosen_entities(), found.facets.entity_repeats
        )
        self.status_text.show_results(found)
        self.search_bar.line.found(found.facets)
        is_first = not (stays or self._is_whole) and self._selected_before
        if is_first and self.memories.go_to(self._selected_before):
            self._selected_before = ""
        self._end_start(found.total, is_whole=is_whole)
        if self._awaited_ref and self.memories.go_to(self._awaited_ref):
            self._awaited_ref = ""
        self._is_whole = is_whole
        if self._is_whole:
            self.memories.is_chosen = True  # nothing comes in by itself any more
        self.update_keys()

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

    @on(messages.OverviewReady)
    def _overview_ready(self, event: messages.OverviewReady) -> None:
        if event.number != self._number:
            return
        self.call_later(self.worker.shown.set)
        if self.found is None:
            return
        self.timeline.show(event.timeline, event.times)
        self.statistics.show(self.status_text.statistics(event.statistics, self.found))

    @on(messages.VocabularyReady)
    def _vocabulary_ready(self, event: messages.VocabularyReady) -> None:
        self.search_bar.line.learn(event.vocabulary, event.tags)

    @property
    def is_settled(self) -> bool:
        """Whether the list shows the complete results of the current view."""
        return self._is_whole and self._answered == self.view

    def go_to_memory(self, ref: str) -> None:
        """Show this memory now; the list's cursor stays if the list does not contain it."""
        self._awaited_ref = ""
        if not self.memories.go_to(ref):
            self.post_message(messages.RefChosen(ref))

    def await_memory(self, ref: str) -> None:
        """Move to this memory as soon as it is in the list."""
        self._awaited_ref = ref

    # What is on show

    def show_memory(self, memory: Memory | None) -> None:
        """Show a memory in the detail."""
        self.detail_controller.show(memory)

    @on(messages.ReferencesFound)
    def _references_found(self, event: messages.ReferencesFound) -> None:
        self.detail_controller.related(event)

    @on(messages.LinksReady)
    def _links_ready(self) -> None:
        self.detail_controller.relate()

    def marked_memories(self) -> list[Memory]:
        """The marked memories, in slot order."""
        return self.worker.read_rows(self.memories.marked)

    def _marked_refs(self) -> list[str]:
        library = self.worker.library
        if library is None:
            return []
        rows = library.snapshot.rows
        slots = (rows.slot(serial) for serial in sorted(self.memories.marked))
        return [rows.ref_of(slot) for slot in slots if slot >= 0]

    def chosen_entity(self) -> str:
        """The one entity that is filtered by; empty when there is none."""
        chosen = self._chosen_entities()
        if len(chosen) != 1 or self.found is None:
            return ""
        paths = self.found.facets.entity
        return next((path for path in paths if path.casefold() == chosen[0]), "")

    def _chosen_entities(self) -> tuple[str, ...]:
        return queries.filter_values(self.view.query(self.now()), "entity")


def _has_other_words(before: Query, now: Query) -> bool:
    """Whether other words are searched for, whose best match the cursor goes to; leaving a search,
    a filter and another order leave it on its memory."""
    searched = (now.terms, now.groups)
    return any(searched) and searched != (before.terms, before.groups)


def _types_width(found: SearchResult) -> int:
    """Columns of the longest type, or kind where one is missing; 0 in a list of one type."""
    if len(queries.filter_values(found.query, "type")) == 1:
        return 0
    facets = found.facets
    names = [*facets.type, *(facets.kind if facets.type.get("") else ())]
    return max((text.width(text.one_line(name)) for name in names), default=0)


def _entities_width(found: SearchResult) -> int:
    """Columns that entities may take; 0 where the list stays inside one."""
    return 0 if queries.filter_values(found.query, "entity") else ENTITY_MAX
