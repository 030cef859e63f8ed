"""Actions on panes: focus, zoom, back, and the keys of a single pane."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

from memtui.insight.timeline import UNITS
from memtui.tui.layout import Pane

if TYPE_CHECKING:
    from memtui.tui.actions import ActionHandlers
    from memtui.tui.screen_interface import ScreenInterface

CALENDAR_ROWS = 10
"""Seven weekdays, the months, two borders."""


class PaneActions:
    """Focus, zoom, and movement inside the panes."""

    def __init__(self, screen: ScreenInterface) -> None:
        self._screen = screen
        self._rows_before: int | None = None
        """Rows of the timeline that the user set before a calendar was shown."""

    def handlers(self) -> ActionHandlers:
        screen = self._screen
        return {
            **{f"pane.{pane}": partial(screen.focus_pane, pane) for pane in Pane},
            "pane.next": partial(self._step_pane, 1),
            "pane.previous": partial(self._step_pane, -1),
            "zoom": self._zoom,
            "detail.size": self._step_detail,
            "pane.larger": partial(screen.resize_pane, 1),
            "pane.smaller": partial(screen.resize_pane, -1),
            "escape": self._escape,
            "open": self._open,
            "right": partial(screen.focus_pane, Pane.DETAIL),
            "left": partial(screen.focus_pane, Pane.MEMORIES),
            "collapse": screen.entities.fold,
            "expand": screen.entities.unfold,
            "bar.previous": lambda: screen.timeline.step(-1),
            "bar.next": lambda: screen.timeline.step(1),
            "bar.first": lambda: screen.timeline.go(0),
            "bar.last": lambda: screen.timeline.go(1 << 30),
            "bar.above": lambda: screen.timeline.step_day(-1),
            "bar.below": lambda: screen.timeline.step_day(1),
            "bar.brush_back": lambda: screen.timeline.brush(-1),
            "bar.brush_on": lambda: screen.timeline.brush(1),
            "bar.view": self._next_view,
            "bar.finer": partial(self._step_unit, -1),
            "bar.coarser": partial(self._step_unit, 1),
            "follow": partial(screen.detail.step_target, 1),
            "follow.back": partial(screen.detail.step_target, -1),
        }

    def _step_pane(self, step: int) -> None:
        """Focus the next pane; on a wide screen only visible ones."""
        screen = self._screen
        panes = [pane for pane in Pane if pane in screen.shown_panes or screen.is_single]
        at = panes.index(screen.pane) if screen.pane in panes else 0
        screen.focus_pane(panes[(at + step) % len(panes)])

    def _zoom(self) -> None:
        self._screen.zoomed = not self._screen.zoomed
        self._screen.lay_out()

    def _step_detail(self) -> None:
        """Enlarge the detail to half of a wide screen, then to all of it, then reset it."""
        screen = self._screen
        if screen.zoomed and screen.pane is Pane.DETAIL:
            screen.zoomed = screen.half = False
        elif screen.half or not screen.has_halves:
            screen.half, screen.zoomed = False, True
        else:
            screen.half, screen.zoomed = True, False
        screen.focus_pane(Pane.DETAIL)

    def _escape(self) -> None:
        screen = self._screen
        if screen.search_bar.line.has_focus:
            screen.focus_pane(screen.pane)
        elif screen.zoomed:
            self._zoom()
        elif screen.half:
            screen.half = False
            screen.lay_out()
        elif screen.is_single and screen.pane is not Pane.MEMORIES:
            screen.focus_pane(Pane.MEMORIES)
        elif screen.memories.marked:
            screen.memories.unmark()
        elif screen.view.text:
            screen.set_text("")
        else:
            screen.leave_past()

    def _open(self) -> None:
        screen = self._screen
        match screen.pane:
            case Pane.MEMORIES:
                if screen.memories.memory is not None:
                    screen.focus_pane(Pane.DETAIL)
            case Pane.ENTITIES:
                screen.entities.choose()
            case Pane.STATISTICS:
                screen.statistics.choose()
            case Pane.TIMELINE:
                screen.timeline.choose()
            case Pane.DETAIL:
                screen.detail.choose()

    def _step_unit(self, step: int) -> None:
        screen = self._screen
        unit = screen.timeline.unit
        if unit is None:
            return
        at = UNITS.index(unit) + step
        if 0 <= at < len(UNITS):
            screen.unit = UNITS[at]
            screen.timeline.set_unit(UNITS[at])

    def _next_view(self) -> None:
        """Switch between bars, calendar and growth; a calendar needs a row for each weekday."""
        screen = self._screen
        screen.timeline.next_view()
        if screen.timeline.shows_calendar:
            self._rows_before = screen.wanted_sizes.get("timeline")
            screen.wanted_sizes["timeline"] = CALENDAR_ROWS
        elif self._rows_before is not None:
            screen.wanted_sizes["timeline"] = self._rows_before
        else:
            screen.wanted_sizes.pop("timeline", None)
        screen.lay_out()
