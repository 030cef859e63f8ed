"""A screen of panes: their layout and focus, and the footer."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable
from datetime import datetime

from textual import on
from textual.app import ComposeResult
from textual.containers import Horizontal, Vertical
from textual.content import Content
from textual.events import DescendantFocus, Resize
from textual.reactive import var
from textual.widget import Widget
from textual.widgets import Static

from memtui.tui import key_bindings
from memtui.tui.act_runner import ActApp
from memtui.tui.actions import (
    ANYWHERE,
    BY_ID,
    FOOTER_ROOM,
    ActionContext,
    ActionHandlers,
    refusal_of,
)
from memtui.tui.layout import (
    CLOSED_ROWS,
    Layout,
    Pane,
    Shape,
    Sizes,
    arrange,
    measure,
    resized,
    shape_of,
)
from memtui.tui.library_worker import LibraryScreen
from memtui.tui.widgets.detail import Detail
from memtui.tui.widgets.entity_tree import EntityTree
from memtui.tui.widgets.memory_list import MemoryList
from memtui.tui.widgets.search_bar import SearchBar
from memtui.tui.widgets.statistics import StatisticsPane
from memtui.tui.widgets.status_lines import Banner, ChipLine, KeyLine
from memtui.tui.widgets.timeline import TimelinePane

_SHAPE_CLASSES = frozenset(f"-{shape}" for shape in Shape)


CLOCK_SECONDS = 10.0
"""Seconds between two looks at the clock for the ages on the screen."""
TOO_SMALL = "memtui needs at least\n40 columns and 12 rows"


class PaneScreen(LibraryScreen):
    """The search line, five panes and the footer; a subclass fills them."""

    app: ActApp
    focused: var[Widget | None] = var(None)
    """As in Textual, but a change of focus does not draw the whole screen (50 KB) anew: the two
    widgets that it is about draw themselves."""
    BINDINGS = [*key_bindings.bindings(ANYWHERE)]
    AUTO_FOCUS = ""  # the pane that the last session ended in

    def __init__(self) -> None:
        super().__init__()
        self.handlers: ActionHandlers = {}
        """Action id -> what does it."""
        self.pane = Pane.MEMORIES
        self.zoomed = False
        self.half = False
        """The detail has half of a wide screen."""
        self.recent_commands: tuple[str, ...] = ()
        self.wanted_sizes: dict[str, int] = {}
        """Sizes that the user set, by the names of `layout.Sizes`."""
        self._sizes: Sizes | None = None
        self.shown_panes: frozenset[Pane] = frozenset(Pane)
        self._was_typing = False
        """The search line had the focus before the window was too small."""
        self._layout: Layout | None = None
        self.entities = EntityTree()
        self.statistics = StatisticsPane()
        self._clock: datetime | None = None
        self.memories = MemoryList(self.clock)
        self.detail = Detail(self.clock)
        self.timeline = TimelinePane()
        self.search_bar = SearchBar()
        self.chips = ChipLine()
        self.banner = Banner()
        self.keys = KeyLine()

    def compose(self) -> ComposeResult:
        # Before there are children, whose styles would all be computed again.
        self.add_class(f"-{shape_of(*self.app.size)}", update=False)
        yield self.banner
        yield self.search_bar
        yield self.chips
        with Horizontal(id="body"):
            with Vertical(id="side"):
                yield self.entities
                yield self.statistics
            with Vertical(id="main"):
                with Vertical(id="centre"):
                    yield self.memories
                    yield self.detail
                yield self.timeline
        yield self.keys
        yield Static(Content(TOO_SMALL), id="tiny", markup=False)

    def now(self) -> datetime:
        return self.app.now()

    def clock(self) -> datetime:
        """The time to which all ages on the screen are counted, some seconds behind `now`."""
        if self._clock is None:
            self._clock = self.now()
        return self._clock

    def on_mount(self) -> None:
        self.set_interval(CLOCK_SECONDS, self.advance_clock)

    def advance_clock(self) -> None:
        """Draw the ages that have changed."""
        before, self._clock = self.clock(), self.now()
        self.memories.clock_advanced(before)
        self.detail.clock_advanced(before)

    # Acts

    @abstractmethod
    def action_context(self) -> ActionContext: ...

    def carry_out(self, handler: Callable[[], object]) -> None:
        """Do what an action is for."""
        handler()

    def refusal(self, action_id: str) -> str:
        """Return why the action is not possible now; empty if it is."""
        if self.is_tiny and action_id != "quit":
            return "the window is too small"
        return refusal_of(BY_ID[action_id], self.action_context())

    def action_act(self, action_id: str) -> None:
        """Run the action, or show why it is not possible."""
        if self.is_tiny and action_id != "quit":
            return
        if reason := self.refusal(action_id):
            self.app.report_refusal(reason)
        elif action_id in self.handlers:
            self.carry_out(self.handlers[action_id])
        self.update_keys()

    def update_keys(self) -> None:
        """Show the keys that work now."""
        if self.is_typing:
            self.keys.show(self.search_bar.line.keys(self.app.key_of("complete")))
            return
        now = self.action_context()
        pane_actions = key_bindings.for_footer(self.pane, now)
        if self.zoomed or (self.is_single and self.pane is not Pane.MEMORIES):
            pane_actions = [BY_ID["escape"], *pane_actions[: FOOTER_ROOM - 1]]
        keys, always = (
            [(self.app.key_of(one.id), one.label, one.id) for one in some]
            for some in (pane_actions, (BY_ID["help"], BY_ID["quit"]))
        )
        self.keys.show(keys, always)

    # Layout

    @property
    def is_typing(self) -> bool:
        """Whether the search line has the focus."""
        return self.search_bar.line.has_focus

    @property
    def is_tiny(self) -> bool:
        """Whether the terminal is too small to show anything."""
        return self._layout is not None and self._layout.shape is Shape.TINY

    @property
    def is_single(self) -> bool:
        """Whether only one pane is shown: no more fit, or one is zoomed."""
        return self._layout is not None and len(self._layout.panes) == 1

    @property
    def has_halves(self) -> bool:
        """Whether the screen is wide enough for list and detail side by side."""
        return self._layout is not None and self._layout.shape is Shape.WIDE

    def pane_widget(self, pane: Pane) -> Widget:
        return {
            Pane.ENTITIES: self.entities,
            Pane.MEMORIES: self.memories,
            Pane.DETAIL: self.detail,
            Pane.TIMELINE: self.timeline,
            Pane.STATISTICS: self.statistics,
        }[pane]

    def lay_out(self) -> None:
        """Show the panes that the size and the focus ask for."""
        width, height = self.app.size
        layout = arrange(width, height, self.pane, zoomed=self.zoomed, half=self.half)
        sizes = measure(width, height, layout, self.wanted_sizes, half=self.half)
        if sizes != self._sizes or layout != self._layout:
            self._sizes = sizes
            self._set_sizes(layout, sizes)
        if layout == self._layout:
            return
        was_tiny = self.is_tiny
        self._layout, self.shown_panes = layout, layout.panes
        if self.is_tiny:  # which hides the search line, and takes its focus away
            self._was_typing = self.is_typing
        # All at once: each change of the classes styles all widgets anew.
        self.set_classes(self.classes - _SHAPE_CLASSES | {f"-{layout.shape}"})
        for pane in Pane:
            self.pane_widget(pane).display = pane in layout.panes
        self.query_one("#side").display = bool(layout.panes & {Pane.ENTITIES, Pane.STATISTICS})
        self.query_one("#centre").display = bool(layout.panes & {Pane.MEMORIES, Pane.DETAIL})
        self.query_one("#main").display = bool(
            layout.panes & {Pane.MEMORIES, Pane.DETAIL, Pane.TIMELINE}
        )
        self.call_after_refresh(self.update_keys)  # the detail may show a match now
        focused = self.pane_widget(self.pane)
        if was_tiny and self._was_typing:
            self.call_after_refresh(self.search_bar.line.focus)
        elif not self.is_typing and focused.display and not focused.has_focus:
            focused.focus(scroll_visible=False)

    def _set_sizes(self, layout: Layout, sizes: Sizes) -> None:
        """Set the columns and rows of the panes; a single pane takes everything."""
        alone = len(layout.panes) == 1
        side = self.query_one("#side")
        side.styles.width = "100%" if alone else sizes.side
        rows = sizes.timeline if layout.is_timeline_open else CLOSED_ROWS
        self.timeline.styles.height = "100%" if alone else rows
        self.timeline.set_class(not layout.is_timeline_open, "-closed")
        beside = layout.shape is Shape.WIDE and Pane.DETAIL in layout.panes and not alone
        stacked = layout.shape is Shape.MEDIUM and Pane.DETAIL in layout.panes and not alone
        self.memories.styles.width = sizes.list if beside else "100%"
        self.memories.styles.height = sizes.rows if stacked else "100%"

    def resize_pane(self, step: int) -> None:
        """Make the focused pane larger (1) or smaller (-1)."""
        if self._layout is None or self._sizes is None:
            return
        self.half = self.half and self._layout.shape is not Shape.WIDE
        self.wanted_sizes = resized(self._sizes, self._layout, self.pane, step, self.wanted_sizes)
        self.lay_out()
        self._keep_fitting()

    def _keep_fitting(self) -> None:
        """Limit the user's sizes to what fits, so that the next resize has an effect."""
        if self._sizes is not None:
            for name in self.wanted_sizes:
                self.wanted_sizes[name] = getattr(self._sizes, name)

    @on(Resize)
    def _resized(self) -> None:
        self.lay_out()
        self.update_keys()
        self.call_after_refresh(self.update_keys)  # the detail may show a match only now

    # Focus

    def focus_pane(self, pane: Pane) -> None:
        """Focus a pane, showing it first."""
        self.pane = pane
        self.lay_out()
        self.pane_widget(pane).focus(scroll_visible=False)

    @on(DescendantFocus)
    def _focused(self, event: DescendantFocus) -> None:
        if event.widget.id in list(Pane):
            self.pane = Pane(event.widget.id)
            self.lay_out()
            self.entered(self.pane)
        self.update_keys()

    def entered(self, pane: Pane) -> None:
        """Called when a pane got the focus."""
