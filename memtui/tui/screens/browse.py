"""The main screen: five panes, a search line, and the memory under the cursor."""

from __future__ import annotations

import sys
from datetime import datetime
from typing import TYPE_CHECKING, ClassVar

from textual import on
from textual.app import ComposeResult
from textual.containers import Horizontal, Vertical
from textual.content import Content
from textual.events import DescendantFocus, Resize
from textual.timer import Timer
from textual.widget import Widget
from textual.widgets import Static

from memtui import query as queries
from memtui import text
from memtui.model import Memory
from memtui.tui import actions, messages
from memtui.tui.actions import Situation
from memtui.tui.controllers.explaining import ExplainActs
from memtui.tui.controllers.filtering import FilterActs
from memtui.tui.controllers.panes import PaneActs
from memtui.tui.controllers.reading import ReadingActs
from memtui.tui.controllers.showing import Showing
from memtui.tui.controllers.similar import SimilarActs
from memtui.tui.layout import Layout, Pane, Shape, arrange
from memtui.tui.screens.acting import ActingScreen, Acts
from memtui.tui.staying import place
from memtui.tui.telling import Telling
from memtui.tui.view import View, day
from memtui.tui.widgets.chips import ChipLine
from memtui.tui.widgets.detail import Detail
from memtui.tui.widgets.entity_tree import EntityTree
from memtui.tui.widgets.footer import KeyLine
from memtui.tui.widgets.memory_list import MemoryList
from memtui.tui.widgets.search_bar import SearchBar
from memtui.tui.widgets.statistics import StatisticsPane
from memtui.tui.widgets.timeline import TimelinePane
from memtui.tui.work import Workers

if TYPE_CHECKING:
    from textual.binding import BindingType

    from memtui.insight.timeline import Unit
    from memtui.library import Found
    from memtui.tui.controllers.hands import Hands

OPENING = "the stores are still being opened"
TINY = "memtui needs at least\n40 columns and 12 rows"
LOOK = 0.05
"""Seconds between two looks for rows while the stores load."""


class BrowseScreen(ActingScreen):
    """Wires values from the workers into the panes and the panes' wishes into queries."""

    BINDINGS: ClassVar[list[BindingType]] = [*actions.bindings(actions.ANYWHERE)]
    AUTO_FOCUS = ""  # the pane that the last session ended in

    def __init__(self, workers: Workers, view: View) -> None:
        super().__init__()
        self.work = workers
        workers.serve(self)
        self.view = view
        self.pane = Pane.MEMORIES
        self.zoomed = False
        self.is_ready = False
        """Everything has been read, and search answers from the index."""
        self.unit: Unit | None = None
        self.found: Found | None = None
        self.shown_panes: frozenset[Pane] = frozenset(Pane)
        self._layout: Layout | None = None
        self._number = 0
        self._answered: tuple[View, int] | None = None
        self.entities = EntityTree()
        self.statistics = StatisticsPane()
        self.memories = MemoryList(self.now)
        self.detail = Detail(self.now)
        self.timeline = TimelinePane()
        self.search_bar = SearchBar()
        self.chips = ChipLine()
        self.keys = KeyLine()
        self.telling = Telling(self)
        self.showing = Showing(self)
        self._reading: ReadingActs | None = None
        self._hands: Hands | None = None
        self._looking: Timer | None = None
        self._revision = -1
        self._whole_from = sys.maxsize
        """Number of the first search over all memories; before it, stores were being read."""
        self._is_whole = False
        """That search has been answered."""
        self._wanted = ""
        """Ref of a memory to stand on as soon as it is in the list."""
        self._acts: Acts = {}

    def compose(self) -> ComposeResult:
        yield self.search_bar
        yield self.chips
        with Horizontal(id="body"):
            with Vertical(id="side"):
                yield self.entities
                yield self.statistics
            with Vertical(id="main"):
                with Horizontal(id="centre"):
                    yield self.memories
                    yield self.detail
                yield self.timeline
        yield self.keys
        yield Static(Content(TINY), id="tiny", markup=False)

    def on_mount(self) -> None:
        self._reading = ReadingActs(self)
        asking = (FilterActs(self), ExplainActs(self), SimilarActs(self))
        for controller in (PaneActs(self), self._reading, *asking):
            self._acts = {**self._acts, **controller.acts()}
        self.search_bar.set_text(self.view.text)
        self.app.sessions.restore(self)
        self.lay_out()
        self.focus_pane(self.pane)
        self.telling.opening()

    def now(self) -> datetime:
        return self.app.now()

    # Acts

    def acts(self) -> Acts:
        return self._acts

    def situation(self) -> Situation:
        return Situation(
            focus=self.pane,
            has_memory=self.detail.memory is not None,
            marked=len(self.memories.marked),
            filtered=self.view.is_filtered or self.view.has_typed_filters(self.now()),
            searching=bool(self.view.text),
            ranked=self.memories.slot >= 0
            and self.found is not None
            and self.found.scores is not None,
            fresh=len(self.memories.fresh),
            targets=self.detail.targets,
            zoomed=self.zoomed,
            can_go_back=self._reading is not None and self._reading.can_go_back,
            refused=self._hands.refusal if self._hands else lambda _: OPENING,
        )

    def refusal(self, action_id: str) -> str:
        if self._layout is not None and self._layout.shape is Shape.TINY and action_id != "quit":
            return "the window is too small"
        return super().refusal(action_id)

    def action_act(self, action_id: str) -> None:
        if self._layout is not None and self._layout.shape is Shape.TINY and action_id != "quit":
            return
        super().action_act(action_id)
        self.update_keys()

    def update_keys(self) -> None:
        """Say which keys work here and now."""
        overrides = self.app.key_overrides
        if self.search_bar.line.has_focus:
            take = actions.first_key(actions.BY_ID["complete"], overrides)
            self.keys.show(self.search_bar.line.keys(take))
            return
        here = actions.for_footer(self.pane, self.situation())
        self.keys.show(
            [(actions.first_key(a, overrides), a.words, a.id) for a in here],
            [
                (actions.first_key(a, overrides), a.words, a.id)
                for a in (actions.BY_ID["help"], actions.BY_ID["quit"])
            ],
        )

    # Layout and focus

    @property
    def is_single(self) -> bool:
        """Only one pane fits, or one is zoomed."""
        return self._layout is not None and len(self._layout.panes) == 1

    def pane_widget(self, pane: Pane) -> Widget:
        return {
            Pane.ENTITIES: self.entities,
            Pane.MEMORIES: self.memories,
            Pane.DETAIL: self.detail,
            Pane.TIMELINE: self.timeline,
            Pane.STATISTICS: self.statistics,
        }[pane]

    def focus_pane(self, pane: Pane) -> None:
        """Give a pane the keys, bringing it on screen first."""
        self.pane = pane
        self.lay_out()
        self.pane_widget(pane).focus(scroll_visible=False)

    def lay_out(self) -> None:
        """Show the panes that the size and the focus ask for."""
        width, height = self.app.size
        layout = arrange(width, height, self.pane, zoomed=self.zoomed)
        if layout == self._layout:
            return
        self._layout, self.shown_panes = layout, layout.panes
        for shape in Shape:
            self.set_class(shape is layout.shape, f"-{shape}")
        self.set_class(len(layout.panes) == 1, "-alone")
        for pane in Pane:
            self.pane_widget(pane).display = pane in layout.panes
        self.query_one("#side").display = bool(layout.panes & {Pane.ENTITIES, Pane.STATISTICS})
        self.query_one("#centre").display = bool(layout.panes & {Pane.MEMORIES, Pane.DETAIL})
        self.query_one("#main").display = bool(
            layout.panes & {Pane.MEMORIES, Pane.DETAIL, Pane.TIMELINE}
        )
        focused = self.pane_widget(self.pane)
        if not self.search_bar.line.has_focus and focused.display and not focused.has_focus:
            focused.focus(scroll_visible=False)

    @on(Resize)
    def _resized(self) -> None:
        self.lay_out()

    @on(DescendantFocus)
    def _focused(self, event: DescendantFocus) -> None:
        if event.widget.id in list(Pane):
            self.pane = Pane(event.widget.id)
            if self.pane is Pane.DETAIL and self.memories.slot >= 0:
                self.memories.is_chosen = True  # it is being read
            self.lay_out()
            if event.widget is not self.search_bar.line:
                self.settle()
        self.update_keys()

    # Asking

    def set_view(self, view: View) -> None:
        """Ask for something else."""
        if view.text != self.view.text:
            self.search_bar.set_text(view.text)
        self.view = view
        self.search()

    def set_text(self, words: str) -> None:
        self.set_view(View(words, self.view.chips))

    def settle(self) -> None:
        """Filters that stand in the search line become chips; what is asked stays the same."""
        settled = self.view.settled(self.now())
        if settled != self.view:
            self.set_view(settled)

    def search(self, *, typing: bool = False) -> None:
        """Ask the library for what the view describes."""
        query = self.view.query(self.now(), typing=typing)
        self._number = self.work.find(query, self.unit)

    @on(messages.QueryTyped)
    def _typed(self, event: messages.QueryTyped) -> None:
        self.view = View(event.text, self.view.chips)
        self.search(typing=True)
        self.update_keys()

    @on(messages.Learned)
    def _learned(self, event: messages.Learned) -> None:
        self.search_bar.line.learn(event.vocabulary, event.tags)

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

    # Answers

    @on(messages.FoundMemories)
    def _found(self, event: messages.FoundMemories) -> None:
        if event.number != self._number or self.work.library is None:
            return
        found = event.found
        if self._answered is None or self._answered[0] != self.view:
            self.memories.is_chosen = False
        self.found, self._answered = found, (self.view, event.number)
        rows = self.work.library.snapshot.rows
        stays = self.memories.is_chosen
        cursor, top = place(self.memories.stand, found.slots, rows) if stays else (0, 0)
        self.memories.show(
            rows,
            found.slots,
            found.words,
            cursor=cursor,
            top=top,
            type_width=self._type_width(found),
        )
        chosen = queries.values_of(self.view.query(self.now()), "entity")
        self.entities.show(found.facets.entity, chosen)
        self.telling.found(found)
        self.search_bar.line.found(found.facets)
        if not (stays or self._is_whole):
            self.app.restore_selection()
        if self._wanted and self.memories.go_to(self._wanted):
            self._wanted = ""
        self._is_whole = self._is_whole or event.number >= self._whole_from
        if self._is_whole:
            self.memories.is_chosen = True  # nothing comes in by itself any more
        self.update_keys()

    def _type_width(self, found: Found) -> int:
        longest = max((text.width(text.one_line(name)) for name in found.facets.type), default=8)
        return max(6, min(14, longest))

    @on(messages.Overviewed)
    def _overviewed(self, event: messages.Overviewed) -> None:
        if event.number != self._number or self.found is None:
            return
        chips = self.view.query(self.now())
        since = chips.since.time.date().isoformat() if chips.since else ""
        until = chips.until.time.date().isoformat() if chips.until else ""
        self.timeline.show(event.overview.timeline, since, until)
        self.statistics.show(self.telling.statistics(event.overview.statistics, self.found))

    @on(messages.MemoryShown)
    def _memory_shown(self) -> None:
        if self._reading is not None:
            self._reading.forget_trail()
        memory = self.memories.memory
        if self.memories.slot in self.memories.fresh:
            self.memories.looked_at()
        self.show_memory(memory)

    def show_memory(self, memory: Memory | None) -> None:
        """Put a memory into the detail."""
        self.showing.show(memory)

    @on(messages.Related)
    def _related(self, event: messages.Related) -> None:
        self.showing.related(event)

    @on(messages.RefChosen)
    def _ref_chosen(self, event: messages.RefChosen) -> None:
        if self._reading is not None:
            self._reading.follow(event.ref)

    def marked_memories(self) -> list[Memory]:
        """The marked memories, in slot order."""
        library = self.work.library
        rows = library.snapshot.rows if library else ()
        return [rows[slot] for slot in sorted(self.memories.marked)]

    # Changes

    def chosen_entity(self) -> str:
        """The one entity that is filtered by; empty when there is none."""
        chosen = queries.values_of(self.view.query(self.now()), "entity")
        if len(chosen) != 1 or self.found is None:
            return ""
        paths = self.found.facets.entity
        return next((path for path in paths if path.casefold() == chosen[0]), "")

    def stand_on(self, ref: str, *, now: bool = False) -> None:
        """Stand on a memory once the list has it; `now`: show it at once, in the list or not."""
        self._wanted = ref
        if now:
            self._wanted = ""
            if not self.memories.go_to(ref) and self._reading is not None:
                self._reading.follow(ref)

    def own_rows_changed(self) -> None:
        """We changed something ourselves: show it, but not as new."""
        self.search(typing=self.search_bar.line.has_focus)

    @on(messages.Answered)
    def _answered_by_worker(self, event: messages.Answered) -> None:
        event.tell()

    # The library

    @property
    def hands(self) -> Hands:
        """What changes memories; there once the library is open."""
        if self._hands is None:
            raise RuntimeError(OPENING)
        return self._hands

    @on(messages.LibraryOpened)
    def _library_opened(self) -> None:
        self._looking = self.set_interval(LOOK, self._look_for_rows)

    def _look_for_rows(self) -> None:
        """Show rows from the cache at once, while the stores are still being scanned."""
        library = self.work.library
        if library is not None and library.snapshot.revision != self._revision:
            self._revision = library.snapshot.revision
            if library.snapshot.count:
                self.search(typing=self.search_bar.line.has_focus)

    @on(messages.WritingReady)
    def _writing_ready(self) -> None:
        # Writing needs most of memtui; a worker has loaded it meanwhile, after the first paint.
        from memtui.tui.controllers.hands import Hands

        self._hands = Hands(self)
        self._acts = {**self._acts, **self._hands.acts()}

    @on(messages.RowsChanged)
    def _rows_changed(self, event: messages.RowsChanged) -> None:
        if event.complete and self._looking is not None:
            self._looking.stop()
        self.telling.rows_changed(complete=event.complete)
        self.memories.fresh |= event.fresh
        self.search(typing=self.search_bar.line.has_focus)
        if event.complete:
            self._whole_from = min(self._whole_from, self._number)

    @on(messages.Progressed)
    def _progressed(self, event: messages.Progressed) -> None:
        self.telling.progressed(event.progress)

    @on(messages.FreshFound)
    def _fresh_found(self, event: messages.FreshFound) -> None:
        self.memories.fresh |= event.slots
        self.memories.redraw()
        self.update_keys()

    @on(messages.IndexReady)
    def _index_ready(self) -> None:
        self.is_ready = True
        if (seen := self.app.sessions.seen) is not None:
            since = queries.Moment(seen.isoformat(), seen)
            self.work.find_fresh(queries.Query(since=since))
        if self.view.text:
            self.search(typing=self.search_bar.line.has_focus)
        self.app.watch_stores()
        self.hands.begin()

    @on(messages.LibraryFailed)
    def _library_failed(self, event: messages.LibraryFailed) -> None:
        self.app.exit(return_code=1, message=text.visible(event.reason))

    @on(messages.Faulted)
    def _faulted(self, event: messages.Faulted) -> None:
        self.app.give_up(event.error)

    @on(messages.WorkFailed)
    def _work_failed(self, event: messages.WorkFailed) -> None:
        self.app.notify(event.reason, severity="error")
