"""Entity pane: programs and entities as a tree with counts; moving in it filters.

With several stores the first level is the program, unless the tree is flat. A level that has `/` in
its name is one level: the slash is replaced in the path and put back where the name is shown.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, NamedTuple

from rich.style import Style
from textual.content import Content

from memtui import text
from memtui.insight.statistics import EntityBranch, list_branches
from memtui.tui import key_bindings
from memtui.tui.layout import Pane
from memtui.tui.messages import BranchChosen
from memtui.tui.widgets.text_window import RowList

if TYPE_CHECKING:
    from memtui.library.store_names import StoreName


SLASH = "\x1f"
"""Stands for a slash inside a level."""


class Target(NamedTuple):
    """What a branch filters by; empty values for all."""

    store: str = ""
    """Label of the store."""
    entities: tuple[str, ...] = ()


class EntityPaths(NamedTuple):
    """Counts by path, and the targets of the paths that are entities themselves."""

    counts: Mapping[str, int]
    repeats: Mapping[str, int]
    targets: Mapping[str, Target]
    roots: Mapping[str, str]
    """Path of a program -> the label of its store; none in a flat tree."""

    def target(self, path: str) -> Target:
        """What the branch with this path filters by."""
        if not path or path in self.targets:
            return self.targets.get(path, Target())
        root, _, rest = path.partition("/")
        label = self.roots.get(root, "")
        entity = shown(rest if self.roots else path)
        return Target(label, (entity,) if entity else ())


NO_PATHS = EntityPaths({}, {}, {}, {})


def shown(level: str) -> str:
    """A level as it is shown."""
    return level.replace(SLASH, "/")


class KnownPaths(NamedTuple):
    """The paths found so far for one state of the stores, which do not depend on the search."""

    paths: dict[tuple[str, str], str]
    """Label of the store and entity -> path."""
    targets: dict[str, Target]
    roots: dict[str, str]


def make_paths(
    counts: Mapping[tuple[str, str], int],
    repeats: Mapping[tuple[str, str], int],
    levels: Callable[[str, str], tuple[str, ...]],
    name: Callable[[str], str] | None,
    known: KnownPaths | None = None,
) -> EntityPaths:
    """Make the paths.

    Args:
        counts, repeats: by label of the store and entity, see `Facets.tree`.
        levels: of an entity of a store.
        name: gives the name of a store, for a tree of programs; None: a flat tree.
        known: kept from one letter to the next, with the same `levels` and `name`. To make
            thousands of targets anew takes 15 ms at 100,000 memories, and 60 where the collector
            of garbage runs.
    """
    sums: dict[str, int] = {}
    paths, targets, roots = known or KnownPaths({}, {}, {})

    def path_of(label: str, entity: str) -> str:
        parts = [part.replace("/", SLASH) for part in levels(label, entity)] if entity else []
        if name is not None:
            root = name(label).replace("/", SLASH)
            roots[root] = label
            parts.insert(0, root)
        return "/".join(parts)

    for pair, count in counts.items():
        if (path := paths.get(pair)) is None:
            label, entity = pair
            path = paths[pair] = path_of(label, entity)
            entities = targets.get(path, Target()).entities
            added = (entity,) if entity else ()
            targets[path] = Target(label if name is not None else "", entities + added)
        sums[path] = sums.get(path, 0) + count
    again: dict[str, int] = {}
    for (label, entity), count in repeats.items():
        path = path_of(label, entity)
        again[path] = again.get(path, 0) + count
    return EntityPaths(sums, again, targets, roots)


OPEN_UP_TO = 40
"""A tree with at most this many entities starts unfolded."""


class EntityTree(RowList[EntityBranch]):
    """A tree of entities, each with the number of shown memories that belong to it."""

    BINDINGS = [*key_bindings.bindings(Pane.ENTITIES)]
    empty = "no entities"
    is_lit = False

    def __init__(self) -> None:
        super().__init__(id=Pane.ENTITIES, title="1 Entities")
        self._paths = NO_PATHS
        self._names: Mapping[str, StoreName] = {}
        self._chosen = Target()
        self._unfolded: set[str] = set()
        self._accuracy = "exact"
        self._most = 0
        """The most entities there were so far, until a branch was folded or unfolded by hand."""

    def show(
        self,
        paths: EntityPaths,
        chosen: Target,
        names: Mapping[str, StoreName],
        accuracy: str = "exact",
    ) -> None:
        """Show entities; `chosen`: the filters on stores and entities, in lower case; `names`: of
        the stores by label; `accuracy`: of the counts.

        The cursor stands on what is filtered by, unless the user is moving it.
        """
        self._accuracy = accuracy
        counts = paths.counts
        if bool(paths.roots) != bool(self._paths.roots):
            self._most = 0
        if counts and 0 <= self._most < len(counts):  # more has been read
            self._most = len(counts)
            tops = {path.partition("/")[0] for path in counts}
            self._unfolded = tops if len(counts) <= OPEN_UP_TO else set()
        if paths == self._paths and chosen == self._chosen:
            return
        self._paths, self._chosen, self._names = paths, chosen, names
        self.border_title = Content("1 Agents" if paths.roots else "1 Entities")
        self._rebuild()
        if not self.has_focus:
            at = next((i for i, line in enumerate(self.rows) if self._is_chosen(line)), 0)
            self.reset(cursor=at, top=self.top)

    def _is_chosen(self, line: EntityBranch) -> bool:
        store, entities = self._paths.target(line.path)
        folded = Target(store.casefold(), tuple(entity.casefold() for entity in entities))
        return folded == self._chosen

    def _rebuild(self, select: str | None = None) -> None:
        path = select if select is not None else self.path
        counts, repeats = self._paths.counts, self._paths.repeats
        total = sum(counts.values()) - sum(repeats.values())
        named = {path: count for path, count in counts.items() if path}
        found = list_branches(named, self._unfolded, repeats)
        self.rows = [EntityBranch("", "everything", 0, total, True), *found] if found else []
        at = next((i for i, line in enumerate(self.rows) if line.path == path), self.cursor)
        self.reset(cursor=at, top=self.top)
        targets = self._paths.targets
        entities = sum(bool(targets[path].entities) for path in counts if path in targets)
        self.say_below(Content(text.counted(entities, "entity") if named else ""))

    @property
    def path(self) -> str:
        """The path under the cursor; empty on "everything"."""
        return self.current.path if self.current else ""

    @property
    def entity(self) -> str:
        """The entity under the cursor; empty on a program and on "everything"."""
        return next(iter(self._paths.target(self.path).entities), "")

    def cursor_moved(self) -> None:
        """Filter by what is under the cursor; "everything" removes the filters."""
        if self.rows:
            self.post_message(BranchChosen(*self._paths.target(self.path)))

    def unfold(self) -> None:
        """Unfold the branch, or move to its first child if it is unfolded."""
        if self.current is None or self.current.leaf:
            return
        if self.path in self._unfolded:
            self.go(self.cursor + 1)
        else:
            self._most = -1
            self._unfolded.add(self.path)
            self._rebuild()

    def fold(self) -> None:
        """Fold the branch, or move to the parent of a leaf or folded one."""
        if self.path in self._unfolded:
            self._most = -1
            self._unfolded.remove(self.path)
            self._rebuild()
        elif "/" in self.path:
            self._rebuild(select=self.path.rpartition("/")[0])
            self.cursor_moved()

    def clicked(self, index: int, *, again: bool, double: bool) -> None:
        self.cursor_moved()

    def draw_row(self, row: EntityBranch, width: int) -> Sequence[tuple[str, Style]]:
        palette = self.palette
        is_chosen = bool(row.path) and self._is_chosen(row)
        fold = " "
        if not row.leaf:
            fold = "▾" if row.path in self._unfolded else "▸"
        count = text.number(row.count, self._accuracy)
        lead = "  " * row.depth + fold + " "
        room = max(1, width - 3 - len(lead) - len(count))
        name = text.cut(text.one_line(shown(row.name)) or "–", room)
        style = palette.chosen if is_chosen else palette.text if row.path else palette.dim
        program = self._names.get(self._paths.roots.get(row.path, ""))
        if program is not None and not is_chosen:
            style = palette.product(program.product.colour)
        gap = " " * max(1, room - text.width(name) + 1)
        return [(lead, palette.faint), (name + gap, style), (count + " ", palette.dim)]
