"""The browse screen as its controllers see it; `BrowseScreen` implements it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from datetime import datetime
from typing import Any, Protocol

from memtui.library import SearchResult
from memtui.model import Memory
from memtui.tui.app_interface import AppInterface
from memtui.tui.layout import Pane
from memtui.tui.library_worker import LibraryWorker
from memtui.tui.view_state import ViewState
from memtui.tui.widgets.detail import Detail
from memtui.tui.widgets.entity_tree import EntityTree
from memtui.tui.widgets.memory_list import MemoryList
from memtui.tui.widgets.search_bar import SearchBar
from memtui.tui.widgets.statistics import StatisticsPane
from memtui.tui.widgets.status_lines import ChipLine
from memtui.tui.widgets.timeline import TimelinePane


class ScreenInterface(Protocol):
    """The panes, the search they show, and the library behind them."""

    worker: LibraryWorker
    view: ViewState
    """What is searched for."""
    found: SearchResult | None
    """What the list shows."""
    last_seen: datetime | None
    pane: Pane
    """The pane that has the keys."""
    zoomed: bool
    half: bool
    """The detail has half of a wide screen."""
    recent_commands: tuple[str, ...]
    """Ids of the actions that were run from the palette, the latest first."""
    wanted_sizes: dict[str, int]
    """Sizes of panes that the user set."""
    shown_panes: frozenset[Pane]
    search_bar: SearchBar
    chips: ChipLine
    entities: EntityTree
    statistics: StatisticsPane
    memories: MemoryList
    detail: Detail
    timeline: TimelinePane

    @property
    def app(self) -> AppInterface: ...

    @property
    def is_single(self) -> bool: ...

    @property
    def is_settled(self) -> bool: ...

    @property
    def has_halves(self) -> bool: ...

    def now(self) -> datetime: ...

    # Panes

    def resize_pane(self, step: int) -> None: ...

    def focus_pane(self, pane: Pane) -> None: ...

    def lay_out(self) -> None: ...

    def update_keys(self) -> None: ...

    def action_act(self, action_id: str) -> None: ...

    def refusal(self, action_id: str) -> str: ...

    # Search

    def set_view(self, view: ViewState) -> None: ...

    def set_text(self, words: str) -> None: ...

    def settle(self) -> None: ...

    def search_again(self, *, whole: bool = False) -> None: ...

    # As of a time

    def show_past(self, banner: Sequence[str]) -> None: ...

    def leave_past(self) -> None: ...

    def restore_text(
        self, memory: Memory, former: Memory, confirmed: Callable[[], object]
    ) -> None: ...

    def stop_planning(self) -> bool: ...

    # Memories

    def show_memory(self, memory: Memory | None) -> None: ...

    def go_to_memory(self, ref: str) -> None: ...

    def await_memory(self, ref: str) -> None: ...

    def marked_memories(self) -> list[Memory]: ...

    def chosen_entity(self) -> str: ...

    # Textual

    def call_after_refresh(self, callback: Callable[[], None]) -> Any: ...

    def set_timer(self, delay: float, callback: Callable[[], None]) -> Any: ...

    def set_interval(self, interval: float, callback: Callable[[], None]) -> Any: ...
