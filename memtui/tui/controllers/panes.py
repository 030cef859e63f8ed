"""Actions on panes: focus, zoom, back, and the keys of a single pane; what the detail pane shows.

The detail shows the memory under the cursor: at once, or when the cursor rests after a run. While
moves follow each other (a held key) only the list is drawn. What acts ask for, the memory itself,
is always the one under the cursor.
"""

from __future__ import annotations

from functools import partial
from time import monotonic
from typing import TYPE_CHECKING

from memtui import query as queries
from memtui.insight.timeline import UNITS
from memtui.model import Memory
from memtui.tui.layout import Pane
from memtui.tui.widgets.entity_tree import KnownPaths, Target, make_paths

if TYPE_CHECKING:
    from memtui.insight.lineage import Lineage
    from memtui.library import Library, SearchResult
    from memtui.tui.actions import ActionHandlers
    from memtui.tui.screens.browse import BrowseScreen


class PaneActions:
    """Focus, zoom, and movement inside the panes."""

    def __init__(self, screen: BrowseScreen) -> None:
        self._screen = screen

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
            "flatten": screen.entity_controller.flatten,
            "bar.previous": lambda: screen.timeline.step(-1),
            "bar.next": lambda: screen.timeline.step(1),
            "bar.first": lambda: screen.timeline.go_to_end(last=False),
            "bar.last": lambda: screen.timeline.go_to_end(last=True),
            "bar.brush_back": lambda: screen.timeline.brush(-1),
            "bar.brush_on": lambda: screen.timeline.brush(1),
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
        if screen.is_typing:
            screen.focus_pane(screen.pane)
        elif screen.memories.is_marking:
            screen.memories.toggle_range()
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
            screen.insight.leave_past()

    def _open(self) -> None:
        screen = self._screen
        match screen.pane:
            case Pane.MEMORIES:
                if screen.status_text.offers:
                    screen.set_view(screen.status_text.offers[screen.memories.offer])
                elif screen.memories.memory is not None:
                    screen.focus_pane(Pane.DETAIL)
            case Pane.ENTITIES:
                screen.focus_pane(Pane.MEMORIES)
            case Pane.STATISTICS:
                screen.statistics.choose()
            case Pane.TIMELINE:
                screen.timeline.choose()
            case Pane.DETAIL:
                screen.detail.choose()

    def _step_unit(self, step: int) -> None:
        timeline = self._screen.timeline
        at = UNITS.index(timeline.unit) + step
        if 0 <= at < len(UNITS):
            timeline.set_unit(UNITS[at])


REST_SECONDS = 0.06
"""Seconds the cursor must rest before a run of moves is over and references are asked for."""
RUN_SECONDS = 0.1
"""Seconds between two moves up to which they are a run; a held key sends one each 0.03 to 0.09."""


class DetailController:
    """Shows the memory under the cursor in the detail pane."""

    def __init__(self, screen: BrowseScreen) -> None:
        self._screen = screen
        self._moved = 0.0
        self.waits = False
        """It is still to be seen whether the cursor rests, and then to ask for references."""

    def show(self, memory: Memory | None) -> None:
        """Show a memory in the detail, and load its references once the cursor rests."""
        screen, now = self._screen, monotonic()
        screen.detail.why_none = screen.memories.why_none
        changed = memory is not screen.detail.memory
        words = screen.found.words if screen.found else ()
        has_other_keys = changed or words != screen.detail.words
        if memory is not None and memory.store not in screen.detail.stores:
            library = screen.worker.library
            stores = library.snapshot.stores if library else ()
            screen.detail.stores = {store.label: store for store in stores}
        is_run = now - self._moved < RUN_SECONDS
        screen.detail.show(memory, words, later=changed and is_run)
        if has_other_keys and not (is_run and changed):
            screen.update_keys()
        if not changed:
            return
        self._moved = now
        if not self.waits:
            self._check_after(REST_SECONDS)

    def _check_after(self, seconds: float) -> None:
        self.waits = True
        self._screen.set_timer(seconds, self._end_run_if_rested)

    def _end_run_if_rested(self) -> None:
        left = self._moved + REST_SECONDS - monotonic()
        if not self.waits:
            return
        if left > 0:
            self._check_after(left)
        else:
            self.end_run()

    def end_run(self) -> None:
        """Show the memory under the cursor completely, now that the cursor rests."""
        self.waits = False
        self._screen.detail.catch_up()
        self.relate()

    def relate(self) -> None:
        """Load the references of the memory, in both directions."""
        memory = self._screen.detail.memory
        if memory is not None:
            self._screen.worker.relate(memory, self._show_related)
            self._screen.transcripts.learn(memory)

    def _show_related(self, memory: Memory, lineage: Lineage) -> None:
        """Show the references that were found for a memory."""
        screen = self._screen
        if memory is screen.detail.memory:
            screen.detail.show_references(screen.status_text.references(lineage))
            screen.update_keys()


class EntityController:
    """Shows the entities of what was found in the entity pane."""

    def __init__(self, screen: BrowseScreen) -> None:
        self._screen = screen
        self._is_flat = False
        """The entities of all programs stand in one tree."""
        self._paths_of: tuple[Library | None, int, bool] = (None, -1, False)
        self._known_paths = KnownPaths({}, {}, {})
        """The paths of the tree for these stores, in this revision, flat or by program."""

    def flatten(self) -> None:
        """Show the entities of all programs as one tree, or by program again."""
        self._is_flat = not self._is_flat
        if self._screen.counted is not None:
            self.show(self._screen.counted)

    def show(self, found: SearchResult) -> None:
        """Show the entities of these results, with those that are filtered by."""
        library = self._screen.worker.library
        if library is None:
            return
        is_flat = self._is_flat or len(library.stores) < 2
        stores = queries.filter_values(found.query, "store")
        is_one = len(stores) == 1 and not is_flat
        chosen = Target(stores[0] if is_one else "", self._chosen_entities())
        counts = found.facets.tree
        if is_one or (is_flat and chosen.entities):  # a branch without matches keeps the cursor
            counts = {_find_pair(chosen, library, found): 0, **counts}
        state = (library, found.revision, is_flat)
        if state != self._paths_of:
            self._paths_of, self._known_paths = state, KnownPaths({}, {}, {})
        paths = make_paths(
            counts,
            found.facets.tree_repeats,
            library.entity_levels,
            None if is_flat else library.names.of,
            self._known_paths,
        )
        accuracy = "exact" if found.are_facets_exact else "sampled"
        self._screen.entities.show(paths, chosen, library.names.by_label, accuracy)

    def chosen_entity(self) -> str:
        """The one entity that is filtered by; empty when there is none."""
        chosen, counted = self._chosen_entities(), self._screen.counted
        if len(chosen) != 1 or counted is None:
            return ""
        return next((path for path in counted.facets.entity if path.casefold() == chosen[0]), "")

    def _chosen_entities(self) -> tuple[str, ...]:
        return queries.filter_values(self._screen.view.query(self._screen.now()), "entity")


def _find_pair(chosen: Target, library: Library, found: SearchResult) -> tuple[str, str]:
    """The store and the entity that a target, in lower case, filters by."""
    labels = [store.label for store in library.stores]
    label = next((each for each in labels if each.casefold() == chosen.store), labels[0])
    name = chosen.entities[0] if len(chosen.entities) == 1 else ""
    known = found.columns.entities if name else ()
    return label, next((each for each in known if each.casefold() == name), name)
