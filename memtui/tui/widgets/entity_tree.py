"""Entity pane: the entities of all stores as a tree with counts; choosing one filters by it."""

from __future__ import annotations

from collections.abc import Hashable, Mapping

from rich.segment import Segment
from rich.style import Style
from textual.content import Content
from textual.strip import Strip

from memtui import text
from memtui.insight.statistics import NO_REPEATS, EntityBranch, list_branches
from memtui.tui import key_bindings
from memtui.tui.layout import Pane
from memtui.tui.messages import FilterChosen
from memtui.tui.widgets.list_window import ListWindow

OPEN_UP_TO = 40
"""A tree with at most this many entities starts unfolded."""


class EntityTree(ListWindow):
    """A tree of entities, each with the number of shown memories that belong to it."""

    BINDINGS = [*key_bindings.bindings(Pane.ENTITIES)]

    def __init__(self) -> None:
        super().__init__(id=Pane.ENTITIES, title="1 Entities")
        self._counts: Mapping[str, int] = {}
        self._repeats: Mapping[str, int] = NO_REPEATS
        self._lines: list[EntityBranch] = []
        self._chosen: frozenset[str] = frozenset()
        self._unfolded: set[str] = set()
        self._most = 0
        """The most entities there were so far, until a branch was folded or unfolded by hand."""

    def show(
        self,
        counts: Mapping[str, int],
        chosen: tuple[str, ...],
        repeats: Mapping[str, int] = NO_REPEATS,
    ) -> None:
        """Show entities; `chosen`: lower-case paths that are the current filter."""
        if counts and 0 <= self._most < len(counts):  # more has been read
            self._most = len(counts)
            tops = {path.partition("/")[0] for path in counts}
            self._unfolded = tops if len(counts) <= OPEN_UP_TO else set()
        same = counts == self._counts and repeats == self._repeats
        if same and frozenset(chosen) == self._chosen:
            return
        self._counts, self._repeats, self._chosen = counts, repeats, frozenset(chosen)
        self._rebuild()

    def _rebuild(self, select: str | None = None) -> None:
        path = select if select is not None else self.path
        total = sum(self._counts.values()) - sum(self._repeats.values())
        named = {path: count for path, count in self._counts.items() if path}
        found = list_branches(named, self._unfolded, self._repeats)
        self._lines = [EntityBranch("", "everything", 0, total, True), *found] if found else []
        at = next((i for i, line in enumerate(self._lines) if line.path == path), self.cursor)
        self.reset(cursor=at, top=self.top)
        self.say_below(Content(text.number(len(named)) if named else ""))

    @property
    def path(self) -> str:
        """The entity under the cursor; empty on "everything"."""
        return self._lines[self.cursor].path if self.cursor < len(self._lines) else ""

    def choose(self) -> None:
        """Filter by the entity under the cursor; "everything" removes the filter."""
        if self._lines:
            self.post_message(FilterChosen("entity", self.path))

    def unfold(self) -> None:
        """Unfold the branch, or move to its first child if it is unfolded."""
        if not self._lines or self._lines[self.cursor].leaf:
            return
        if self.path in self._unfolded:
            self.go(self.cursor + 1)
        else:
            self._most = -1
            self._unfolded.add(self.path)
            self._rebuild()

    def fold(self) -> None:
        """Fold the branch, or move to the parent of a leaf or folded one."""
        if not self._lines:
            return
        if self.path in self._unfolded:
            self._most = -1
            self._unfolded.remove(self.path)
            self._rebuild()
        elif "/" in self.path:
            self._rebuild(select=self.path.rpartition("/")[0])

    def line_count(self) -> int:
        return len(self._lines)

    def draw_key(self, index: int) -> Hashable:
        return self._lines[index]

    def clicked(self, index: int, *, again: bool, double: bool) -> None:
        self.choose()

    def draw(self, index: int, width: int, *, selected: bool) -> Strip:
        line, palette = self._lines[index], self.palette
        ground = palette.cursor(focused=self.has_focus) if selected else Style.null()
        is_chosen = bool(line.path) and line.path.casefold() in self._chosen
        bar = "▌" if selected else " "
        fold = " "
        if not line.leaf:
            fold = "▾" if line.path in self._unfolded else "▸"
        count = text.number(line.count)
        lead = "  " * line.depth + fold + " "
        room = max(1, width - 3 - len(lead) - len(count))
        name = text.cut(text.one_line(line.name) or "–", room)
        style = palette.chosen if is_chosen else palette.text if line.path else palette.dim
        gap = " " * max(1, room - text.width(name) + 1)
        return Strip(
            [
                Segment(bar, (palette.accent if self.has_focus else palette.faint) + ground),
                Segment(lead, palette.faint + ground),
                Segment(name + gap, style + ground),
                Segment(count + " ", palette.dim + ground),
            ]
        )

    def draw_empty(self, y: int, width: int) -> Strip:
        words = text.cut("no entities", width - 1)
        return Strip([Segment(" " + words, self.palette.faint)] if y == 0 else [])
