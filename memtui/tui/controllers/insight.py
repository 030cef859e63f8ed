"""Screens about time, links and relevance: as of, comparison, graph, score, similar memories."""

from __future__ import annotations

from datetime import timedelta
from functools import partial
from typing import TYPE_CHECKING

from msgspec.structs import replace

from memtui import text
from memtui.tui.layout import Pane
from memtui.tui.view_state import Choice

if TYPE_CHECKING:
    from memtui.library import Library, SearchResult
    from memtui.query import TimeCondition
    from memtui.tui.actions import ActionHandlers
    from memtui.tui.dialogs.why import Hit
    from memtui.tui.screens.browse import BrowseScreen


DEFAULT_DAYS = 7
"""Days that are compared where the time of the last session is unknown."""
MAX_SIMILAR = 20
"""Similar memories that are shown: below them likeness means little."""
_SIMILAR_TITLES = {
    "vectors": "Similar memories",
    "words": "Similar memories, by rare words",
}


class InsightActions:
    """Opens the screens about time, links and relevance."""

    def __init__(self, screen: BrowseScreen) -> None:
        self._screen = screen
        self._present_marks: set[int] = set()
        """What was marked when the past was gone to."""

    def handlers(self) -> ActionHandlers:
        return {
            "graph": self._graph,
            "changed": self._compare,
            "as_of": self._toggle_past,
            "why": self._why,
            "similar": self._similar,
        }

    async def _graph(self) -> None:
        """Show the links of the memory under the cursor, or of the entity in the entity pane."""
        from memtui.insight.links import Node, NodeKind
        from memtui.tui.dialogs.link_tree import LinkTreeScreen

        screen, memory = self._screen, self._screen.detail.memory
        if memory is None:
            return
        start = Node(NodeKind.MEMORY, memory.ref)
        if screen.pane is Pane.ENTITIES and screen.entities.entity:
            start, memory = Node(NodeKind.ENTITY, screen.entities.entity), None
        tree = LinkTreeScreen(start, memory, screen.worker.past_time)
        if (ref := await screen.acts.show(tree)) is not None:
            screen.go_to_memory(ref)

    async def _compare(self) -> None:
        """Show what changed since the last session, or in the last days."""
        from memtui.tui.dialogs.comparison import ComparedTimes, ComparisonScreen

        screen, now = self._screen, self._screen.now()
        query = replace(screen.view.query(now), since=None, until=None)
        filter_query = None if query.is_empty else query

        if screen.last_seen is not None:
            span = ComparedTimes(screen.last_seen, name="since you last looked")
        else:
            since = now - timedelta(days=DEFAULT_DAYS)
            span = ComparedTimes(since, name=f"last {DEFAULT_DAYS} days")
        confirm = None if screen.refusal("log") else screen.editing.changes.confirm_past
        chosen = await screen.acts.show(
            ComparisonScreen(span, filter_query, confirm, screen.transcripts.sessions)
        )
        if isinstance(chosen, str):
            screen.go_to_memory(chosen)
        elif chosen is not None:
            await screen.editing.changes.apply(chosen)

    # As of a time

    async def _toggle_past(self) -> None:
        """Show the stores as of a time that is asked for, or the present again."""
        from memtui.tui.dialogs.prompts import TimePrompt

        screen = self._screen
        if screen.worker.past is not None:
            self.leave_past()
        elif (time := await screen.acts.show(TimePrompt("As of"))) is not None:
            await self.go_to(time)

    async def go_to(self, time: TimeCondition) -> None:
        """Show the stores as of a time."""
        screen = self._screen
        screen.search_bar.set_activity("going back …")
        try:
            past = await screen.acts.library(
                partial(screen.worker.read_past, time), group="past", present=True
            )
        finally:
            screen.search_bar.set_activity("")
        screen.worker.show_past(past, time)
        key, ago = screen.app.key_of("as_of"), text.ago(time.time, screen.now())
        faults = past.queried.faults.items()
        missing = [f"without {past.names.of(label)}: {fault.what}" for label, fault in faults]
        parts = (f"AS OF {text.date(time.time)}", *missing, ago, "read only")
        screen.banner.show([*parts, *([f"{key} leave"] if key else [])])
        if not screen.has_class("-past"):
            self._present_marks = screen.memories.marked
        screen.set_class(True, "-past")
        screen.start_over(set())

    def leave_past(self) -> None:
        """Show the present again."""
        screen = self._screen
        if screen.worker.past is not None:
            screen.worker.show_past(None, None)
            screen.app.clear_notifications()  # one may say that nothing can be changed
            screen.banner.show(())
            screen.set_class(False, "-past")
            screen.start_over(self._present_marks)

    # Relevance

    async def _why(self) -> None:
        """Explain the score of the hit under the cursor beside that of the next one."""
        from memtui.tui.dialogs.why import WhyScreen

        screen, found = self._screen, self._screen.found
        position = screen.memories.cursor
        if found is None or not 0 <= position < len(found.slots):
            return
        positions = range(position, min(position + 2, len(found.slots)))
        first, *others = await screen.acts.library(
            lambda library, _: [_explain_hit(library, found, at) for at in positions],
            group="why",
            only_reads=True,
        )
        screen.app.push_screen(WhyScreen(first, others[0] if others else None, found.total))

    async def _similar(self) -> None:
        """List the memories that are like the one that is shown."""
        screen, memory = self._screen, self._screen.detail.memory
        if memory is None:
            return
        found = await screen.acts.library(
            lambda library, _: library.similar(memory.ref, MAX_SIMILAR),
            group="similar",
            only_reads=True,
        )
        several = len({found.rows[slot].store for slot in found.slots}) > 1
        choices = []
        for slot, score in zip(found.slots, found.scores, strict=True):
            each = found.rows[slot]
            note = " · ".join(filter(None, (each.store if several else "", each.entity)))
            choices.append(Choice(each.ref, each.headline, round(100 * score), note=note))
        title, empty = _SIMILAR_TITLES[found.how], "No similar memories."
        ref = await screen.acts.pick(title, choices, empty=empty, accept="open")
        if ref is not None:
            screen.go_to_memory(ref)


def _explain_hit(library: Library, found: SearchResult, position: int) -> Hit:
    from memtui.tui.dialogs.why import Hit

    memory = found.rows[found.slots[position]]
    parts, near = library.explain(found, position), library.near_words(found, position)
    return Hit(memory.headline, position + 1, dict(parts), near)
