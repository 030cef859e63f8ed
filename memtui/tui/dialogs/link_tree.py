"""The links of a memory or an entity as a tree; a node is asked for its links when it is opened."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime

from msgspec import Struct
from rich.style import Style
from textual import on
from textual.content import Content

from memtui import text
from memtui.errors import MemtuiError, RefError
from memtui.insight.link_statements import EdgeOrigin
from memtui.insight.links import Edge, Node, NodeKind
from memtui.insight.traversal import MAX_GUIDE, MAX_NODES, Step, traverse
from memtui.library import Library
from memtui.model import Memory
from memtui.progress import IsCancelled, never
from memtui.query import Condition, Query, TimeCondition
from memtui.tui import appearance
from memtui.tui.dialogs.dialog import Key
from memtui.tui.dialogs.list_page import ListPage
from memtui.tui.widgets.detail import Detail
from memtui.tui.widgets.text_window import RowList

UNKNOWN_GLYPH, ENTITY_GLYPH = "∅", "□"
LONGEST_NAME = 400
"""Characters of a name."""
FACT_FROM = 50
"""Columns from which the fact that links an entity is named behind it."""
MEMBER = "holds"
"""Relation from an entity to its memories. It is no link of a store."""
ABOUT = "about"
"""Relation from a memory to its entity, likewise."""
MAX_LINKED = 300
"""Linked nodes below one node."""


class LinkEnd(Struct, frozen=True):
    """A node, and the link that led to it."""

    node: Node
    memory: Memory | None = None
    """The memory that the node stands for; None for entities and unknown ends."""
    step: Step | None = None
    """None at the start."""
    stated_by: Memory | None = None
    """The memory that states the link, where the node stands for none."""
    also: Sequence[str] = ()
    """Labels of the other stores that have an entity of this name."""


class Below(Struct, frozen=True):
    """What is below an opened node: its links, or why a store did not give them."""

    ends: Sequence[LinkEnd] = ()
    left_out: int = 0
    fault: str = ""


def find_links(
    library: Library,
    node: Node,
    at: datetime,
    came: Edge | None = None,
    cancelled: IsCancelled = never,
) -> Below:
    """Return the links of a node that hold at a time, but for `came`, which led to it.

    From an entity also to the memories that it holds. A note, such as the summary of an entity,
    leads to its entity, and so does a memory without links of its own. A memory that is not in use
    any more has the links that it had to its end. The first question builds the index of the links.

    Raises StoreError where a store that must be asked does not answer.
    """
    members = _find_members(library, node, at)
    with library.links.reading(cancelled) as index:
        further = [edge._replace(until=None) for edge in index.last_links(node, at)] + members
        if not members:
            of_node = (*index.outgoing(node), *index.incoming(node))
            is_linked = bool(further) or any(edge.is_valid(at) for edge in of_node)
            further += _find_entities(library, node, is_linked=is_linked)
        found = traverse(index, node, at=at, most=MAX_LINKED + 1, further=further)
        ends = []
        for each in found.reached[1:]:
            assert each.step is not None
            edge = each.step.edge
            if came is not None and _statement(edge) == _statement(came):
                continue
            memory = _find_memory(library, each.node.name, each.node.kind == NodeKind.MEMORY)
            stated_by = _find_memory(library, edge.stated_by, memory is None)
            also = tuple(dict.fromkeys(label for label, _ in index.also_in(each.node)))
            ends.append(LinkEnd(each.node, memory, each.step, stated_by, also))
    return Below(tuple(ends), found.left_out)


def _statement(edge: Edge) -> tuple[str, Node, str]:
    return edge.relation, edge.target, edge.stated_by


def _find_memory(library: Library, ref: str, is_wanted: bool) -> Memory | None:
    try:
        return library.get(ref) if is_wanted else None
    except RefError:
        return None


def _find_members(library: Library, node: Node, at: datetime) -> list[Edge]:
    """Edges from an entity to the memories in use that it holds, newest first."""
    if node.kind != NodeKind.ENTITY:
        return []
    in_entity = Condition("entity", (node.name.casefold(),))
    found = library.find(Query(conditions=(in_entity,)))
    edges = []
    for slot in found.slots[:MAX_NODES]:
        memory = found.rows[slot]
        since = memory.created or memory.updated
        if since is None or since <= at:
            end = Node(NodeKind.MEMORY, memory.ref)
            edges.append(Edge(node, MEMBER, end, EdgeOrigin.LINK, memory.ref, since=since))
    return edges


def _find_entities(library: Library, node: Node, *, is_linked: bool) -> list[Edge]:
    """Edges from a memory to the entities it is about, if it is a note or has no links."""
    memory = _find_memory(library, node.name, node.kind == NodeKind.MEMORY)
    if memory is None or (is_linked and memory.kind != "note"):
        return []
    return [
        Edge(node, ABOUT, Node(NodeKind.ENTITY, path), EdgeOrigin.LINK, memory.ref)
        for path in dict.fromkeys((memory.entity, *memory.also_entities))
        if path
    ]


Path = tuple[Node, ...]
"""The nodes from the start to a row, which identify it."""


class LinkRow(Struct, frozen=True):
    """A node of the tree, or a line about what is not below one."""

    path: Path
    end: LinkEnd
    guide: str = ""
    """The lines that lead to it."""
    is_open: bool = False
    can_open: bool = False
    words: str = ""
    """Shown in place of the node."""


def link_rows(start: LinkEnd, below: Mapping[Path, Below]) -> list[LinkRow]:
    """Return the start, and under each opened node what is below it.

    A node that leads to itself again is not opened there.
    """
    rows: list[LinkRow] = []
    waiting: list[tuple[Path, LinkEnd, str, str]] = [((start.node,), start, "", "")]
    while waiting:
        path, end, guide, lines = waiting.pop()
        found, is_known = below.get(path), end.node.kind != NodeKind.UNKNOWN
        can_open = is_known and end.node not in path[:-1] and found != Below()
        rows.append(LinkRow(path, end, guide, found is not None, can_open))
        if found is None:
            continue
        more = text.counted(found.left_out, "more link")
        words = found.fault or (f"{more}, see `memtui links`" if found.left_out else "")
        if words:
            rows.append(
                LinkRow(
                    (*path, end.node),
                    end,
                    f"{lines}├ " if found.ends else f"{lines}└ ",
                    words=words,
                )
            )
        for at, each in enumerate(reversed(found.ends)):  # the last one is drawn last
            corner, line = ("├─", "│ ") if at else ("└─", "  ")
            next_lines = (lines + line)[-MAX_GUIDE:]
            waiting.append(((*path, each.node), each, lines + corner, next_lines))
    return rows


class LinkTree(RowList[LinkRow]):
    """The start, and below each opened node those that it is linked to."""

    is_lit = False

    def label_of(self, end: LinkEnd) -> str:
        """Kind or status and name, with the store of a memory that is not in the start's."""
        name, memory, start = name_of(end), end.memory, self.rows[0].end.memory
        if memory is None:
            return f"{ENTITY_GLYPH if end.node.kind == NodeKind.ENTITY else UNKNOWN_GLYPH} {name}"
        glyph = appearance.VISIBLE_STATUS_GLYPHS.get(memory.status, "●")
        if start is not None and start.store != memory.store:
            return f"{glyph} {text.one_line(self.app.store_name(memory.store))}: {name}"
        return f"{glyph} {name}"

    def draw_row(self, row: LinkRow, width: int) -> Sequence[tuple[str, Style]]:
        end, palette, room = row.end, self.palette, width - 2
        pieces = [(row.guide, palette.faint)]
        if row.words:
            pieces.append((text.one_line(row.words), palette.warning))
        else:
            pieces += self._pieces(row, end, width)
        drawn: list[tuple[str, Style]] = []
        for words, ink in pieces:
            drawn.append((text.cut(words, room), ink))
            room = max(0, room - text.width(words))
        return drawn

    def _pieces(self, row: LinkRow, end: LinkEnd, width: int) -> list[tuple[str, Style]]:
        palette, step = self.palette, end.step
        style = palette.text + Style(bold=step is None)
        if end.node.kind == NodeKind.ENTITY:
            style = palette.heading
        elif end.memory is None or end.memory.status in appearance.INACTIVE_STATUSES:
            style = palette.faint
        pieces: list[tuple[str, Style]] = []
        if step is not None:
            relation = text.one_line(step.edge.relation)
            arrow = f"─{relation}▶ " if step.is_forward else f"◀{relation}─ "
            pieces.append((arrow, palette.accent))
        mark = ("▾ " if row.is_open else "▸ ") if row.can_open else "  "
        pieces += [(mark, palette.faint), (self.label_of(end), style)]
        if step is not None:
            ended = step.edge.period(text.date)[1]
            if ended not in ("", "now"):
                pieces.append((f" · until {ended}", palette.dim))
            if end.stated_by is not None and width >= FACT_FROM and step.edge.relation != ABOUT:
                words = text.one_line(end.stated_by.headline, LONGEST_NAME)
                pieces.append((f" · {words}", palette.dim))
        if end.also:
            names = ", ".join(text.one_line(self.app.store_name(label)) for label in end.also)
            pieces.append((f" · also in {names}", palette.dim))
        return pieces


def name_of(end: LinkEnd) -> str:
    """A headline, a path or an id in one line, safe to show."""
    words = text.one_line(end.memory.headline, LONGEST_NAME) if end.memory is not None else ""
    return words or text.one_line(end.node.name)


class LinkTreeScreen(ListPage[LinkRow, str]):
    """Dismissed with the ref of the memory to go to in the list."""

    AUTO_FOCUS = "LinkTree"
    rows: LinkTree
    BINDINGS = [("O", "dismiss")]

    def __init__(self, start: Node, memory: Memory | None, at: TimeCondition | None = None) -> None:
        """`start`, of a memory this one; `at`: when links must hold, None for the present."""
        self._detail = Detail(self.app.now)
        super().__init__(LinkTree(title="Links"), self._detail)
        self._start, self._at = LinkEnd(start, memory), at
        self.below: dict[Path, Below] = {}
        """What is below each node that is open."""

    def on_mount(self) -> None:
        library = self.worker.library
        stores = library.snapshot.stores if library is not None else ()
        self._detail.stores = {store.label: store for store in stores}
        self._detail.border_title = Content("Memory")
        self._detail.render_markdown()
        self._show()
        self.acts.start(self._ask((self._start.node,), self._start))

    async def _ask(self, path: Path, end: LinkEnd) -> None:
        """Ask for the links of a node, and show them below it."""
        came = end.step.edge if end.step is not None else None
        at = self._at.time if self._at is not None else self.app.now()
        try:
            found = await self.acts.library(
                lambda library, job: find_links(library, end.node, at, came, job.is_cancelled),
                group="links",
                present=self._at is None,
                only_reads=True,
            )
        except MemtuiError as error:
            found = Below(fault=str(error))
        if self.is_open:
            self.below[path] = found
            self._show()

    def _show(self) -> None:
        self.show_rows(link_rows(self._start, self.below), same=lambda row: row.path)

    def head(self) -> Iterable[str]:
        found = self.below.get((self._start.node,))
        parts = [f"Links of {name_of(self._start)}", "following links …"]
        if found is not None:
            linked = len(found.ends) + found.left_out
            parts[1] = f"{text.number(linked)} linked" if linked else self._explain_no_links()
        if self._at is not None:
            parts.append(f"as of {text.date(self._at.time)}")
        return parts

    def _explain_no_links(self) -> str:
        """Explain that there are no links, and how links are made."""
        keys = self.app.key_of("link")
        make = f"; {keys} in the list makes one, as does [[a name]] in a text" if keys else ""
        return f"no links{make}"

    def draw_text(self) -> None:
        """Show the selected memory; of an entity or an unknown end, the fact that links it."""
        if row := self.rows.current:
            self._detail.show(row.end.memory or row.end.stated_by, ())
        self.update_keys()

    # Keys

    def _open_node(self) -> None:
        """Show the links of the node; of an open one go to the first."""
        row, at = self.rows.current, self.rows.cursor
        if row is not None and row.can_open and not row.is_open:
            self.acts.start(self._ask(row.path, row.end))
        elif row is not None and row.is_open and self.below[row.path].ends:
            self.rows.go(at + 1)

    def _close_node(self) -> None:
        """Hide what is below the node; of a closed one go to the node above it."""
        row = self.rows.current
        if row is None:
            return
        if row.is_open and not row.words and self.below[row.path] != Below():
            del self.below[row.path]
            self._show()
        elif len(row.path) > 1:
            paths = [each.path for each in self.rows.rows]
            self.rows.go(paths.index(row.path[:-1]))

    @on(LinkTree.Opened)
    def _go(self) -> None:
        row = self.rows.current
        if row is not None and row.end.memory is not None:
            self.dismiss(row.end.memory.ref)
        elif row is not None and row.is_open:
            self._close_node()
        else:
            self._open_node()

    def _opens(self) -> str:
        row = self.rows.current
        if row is None or not row.can_open:
            return ""
        return "first link" if row.is_open else "links"

    def _closes(self) -> bool:
        row = self.rows.current
        return row is not None and (len(row.path) > 1 or (row.is_open and row.can_open))

    def _goes(self) -> str:
        row = self.rows.current
        if row is None or row.end.memory is not None:
            return "go to" * (row is not None)
        return "close" if row.is_open else "open"

    KEYS = (
        Key("right,l", "links", _open_node, _opens),
        Key("left,h", "close", _close_node, _closes),
        Key("enter", "go to", _go, _goes),
    )
