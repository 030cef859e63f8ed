"""Graph screen: the links of a memory or an entity as a tree, nearest first, filtered by keys."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Any

from msgspec import Struct
from msgspec.structs import replace
from rich.style import Style
from textual import on
from textual.app import ComposeResult
from textual.binding import Binding
from textual.content import Content

from memtui import text
from memtui.errors import MemtuiError, RefError
from memtui.insight import traversal
from memtui.insight.link_statements import EdgeOrigin
from memtui.insight.links import Edge, Node, NodeKind
from memtui.insight.traversal import Direction, Neighbourhood, TreeRow, traverse, tree_rows
from memtui.library import Library
from memtui.model import Memory
from memtui.progress import IsCancelled, never
from memtui.query import Condition, Query, TimeCondition
from memtui.tui import appearance
from memtui.tui.dialogs.dialog import PageDialog
from memtui.tui.dialogs.picker import Picker
from memtui.tui.dialogs.prompts import TimePrompt, ask_file
from memtui.tui.memory_detail import Reference
from memtui.tui.view_state import Choice
from memtui.tui.widgets.detail import Detail
from memtui.tui.widgets.text_window import RowList

DEPTHS = range(1, 7)
_TURNS = {
    Direction.BOTH: Direction.OUT,
    Direction.OUT: Direction.IN,
    Direction.IN: Direction.BOTH,
}
UNKNOWN_GLYPH, ENTITY_GLYPH = "∅", "□"
LONGEST_NAME = 400
"""Characters of a name."""
FACT_FROM = 60
"""Columns from which the fact that links an entity is named behind it."""
MEMBER = "holds"
"""Relation from an entity at the start to its memories. It is no link of a store."""
ABOUT = "about"
"""Relation from a memory at the start to its entity, likewise."""
MAX_MEMBERS = 300


class GraphFilter(Struct, frozen=True):
    """Which links the graph follows."""

    depth: int = 2
    direction: Direction = Direction.BOTH
    relations: tuple[str, ...] = ()
    """All if empty."""
    at: TimeCondition | None = None
    """None: now."""

    def words(self) -> list[str]:
        """Describe the filter, as parts of a heading."""
        phrases = [f"depth {self.depth}"]
        if self.direction is not Direction.BOTH:
            phrases.append(f"{self.direction} only")
        if self.relations:
            phrases.append(", ".join(map(text.one_line, self.relations)))
        if self.at is not None:
            phrases.append(f"as of {text.date(self.at.time)}")
        return phrases


class FoundLinks(Struct, frozen=True):
    """A neighbourhood, and the relations to choose from."""

    neighbourhood: Neighbourhood
    relations: Mapping[str, int]
    """Relation -> links of it, those that are filtered out included."""
    also: Mapping[Node, Sequence[str]]
    """Entity -> labels of the other stores that have one of this name."""


def find_links(
    library: Library,
    start: Node,
    link_filter: GraphFilter,
    now: datetime,
    cancelled: IsCancelled = never,
) -> FoundLinks:
    """Follow the links of a node; from an entity also to the memories that it holds.

    A note, such as the summary of an entity, leads to its entity and so to the links of that, and
    so does a memory without links of its own. A memory that is not in use any more has the links
    that it had to its end. The first question builds the index of the links.
    """
    time = link_filter.at.time if link_filter.at is not None else now
    members = _find_members(library, start, time)
    counts: Counter[str] = Counter()
    with library.links.reading(cancelled) as index:
        further: list[Edge] = []
        if link_filter.direction is not Direction.IN:
            further += [edge._replace(until=None) for edge in index.last_links(start, time)]
            further += members
        if link_filter.direction is not Direction.IN and not members:
            of_start = (*index.outgoing(start), *index.incoming(start))
            is_linked = bool(further) or any(edge.is_valid(time) for edge in of_start)
            further += _find_entities(library, start, is_linked=is_linked)

        def follow(relations: tuple[str, ...]) -> Neighbourhood:
            return traverse(
                index,
                start,
                depth=link_filter.depth,
                direction=link_filter.direction,
                relations=relations,
                at=time,
                further=further,
            )

        every = follow(())
        counts.update(edge.relation for edge in every.edges)
        found = follow(link_filter.relations) if link_filter.relations else every
        also = {
            each.node: list(dict.fromkeys(label for label, _ in index.also_in(each.node)))
            for each in found.reached
        }
    return FoundLinks(found, counts, also)


def _find_members(library: Library, start: Node, at: datetime) -> list[Edge]:
    """Edges from an entity to the memories in use that it holds, newest first."""
    if start.kind != NodeKind.ENTITY:
        return []
    in_entity = Condition("entity", (start.name.casefold(),))
    found = library.find(Query(conditions=(in_entity,)))
    edges = []
    for slot in found.slots[:MAX_MEMBERS]:
        memory = found.rows[slot]
        node = Node(NodeKind.MEMORY, memory.ref)
        since = memory.created or memory.updated
        if since is None or since <= at:
            edges.append(Edge(start, MEMBER, node, EdgeOrigin.LINK, memory.ref, since=since))
    return edges


def _find_entities(library: Library, start: Node, *, is_linked: bool) -> list[Edge]:
    """Edges from a memory to the entities it is about, if it is a note or has no links."""
    try:
        memory = library.get(start.name) if start.kind == NodeKind.MEMORY else None
    except RefError:
        return []
    if memory is None or (is_linked and memory.kind != "note"):
        return []
    return [
        Edge(start, ABOUT, Node(NodeKind.ENTITY, path), EdgeOrigin.LINK, memory.ref)
        for path in dict.fromkeys((memory.entity, *memory.also_entities))
        if path
    ]


class LinkTree(RowList[TreeRow]):
    """The start, and below each node those that were reached from it."""

    is_lit = False
    BINDINGS = [
        Binding("left,h", "go_to(-1)", show=False),
        Binding("right,l", "go_to(1)", show=False),
    ]

    def __init__(self, library: Library) -> None:
        super().__init__(title="Links")
        self._library = library
        self._memories: dict[str, Memory | None] = {}
        self.also: Mapping[Node, Sequence[str]] = {}
        """See `FoundLinks.also`."""

    def action_go_to(self, step: int) -> None:
        """Go to the node that this one was reached from, or to the first one reached from it."""
        at, rows = self.cursor, self.rows
        if step < 0 and rows and rows[at].parent >= 0:
            self.go(rows[at].parent)
        elif step > 0 and at + 1 < len(rows) and rows[at + 1].parent == at:
            self.go(at + 1)

    def memory_of(self, node: Node) -> Memory | None:
        """The memory that a node stands for; None for entities and unknown ends."""
        return self.find_memory(node.name) if node.kind == NodeKind.MEMORY else None

    def find_memory(self, ref: str) -> Memory | None:
        """The memory with this ref; None where it is not in the open stores."""
        if ref not in self._memories:
            try:
                self._memories[ref] = self._library.get(ref)
            except RefError:
                self._memories[ref] = None
        return self._memories[ref]

    def name_of(self, node: Node) -> str:
        """A headline, a path or an id in one line, safe to show."""
        memory = self.memory_of(node)
        words = text.one_line(memory.headline, LONGEST_NAME) if memory is not None else ""
        return words or text.one_line(node.name)

    def label_of(self, node: Node) -> str:
        """Kind or status and name, with the store of a memory that is not in the start's."""
        name, memory = self.name_of(node), self.memory_of(node)
        if memory is None:
            return f"{ENTITY_GLYPH if node.kind == NodeKind.ENTITY else UNKNOWN_GLYPH} {name}"
        glyph = appearance.VISIBLE_STATUS_GLYPHS.get(memory.status, "●")
        start = self.memory_of(self.rows[0].reached.node)
        elsewhere = start is not None and start.store != memory.store
        return (
            f"{glyph} {text.one_line(self.app.store_name(memory.store))}: {name}"
            if elsewhere
            else f"{glyph} {name}"
        )

    def draw_row(self, row: TreeRow, width: int) -> Sequence[tuple[str, Style]]:
        node, step, palette = row.reached.node, row.reached.step, self.palette
        memory = self.memory_of(node)
        style = palette.text + Style(bold=step is None)
        if node.kind == NodeKind.ENTITY:
            style = palette.heading
        elif memory is None or memory.status in appearance.INACTIVE_STATUSES:
            style = palette.faint
        pieces = [(row.guide, palette.faint), (row.relation, palette.accent)]
        pieces.append((self.label_of(node), style))
        if step is not None:
            ended = step.edge.period(text.date)[1]
            if ended not in ("", "now"):
                pieces.append((f" · until {ended}", palette.dim))
            fact = self.find_memory(step.edge.stated_by) if memory is None else None
            if fact is not None and width >= FACT_FROM and step.edge.relation != ABOUT:
                words = text.one_line(fact.headline, LONGEST_NAME)
                pieces.append((f" · {words}", palette.dim))
        if elsewhere := self.also.get(node):
            names = ", ".join(text.one_line(self.app.store_name(label)) for label in elsewhere)
            pieces.append((f" · also in {names}", palette.dim))
        drawn: list[tuple[str, Style]] = []
        room = width - 2
        for words, ink in pieces:
            drawn.append((text.cut(words, room), ink))
            room = max(0, room - text.width(words))
        return drawn


class GraphScreen(PageDialog[str]):
    """Dismissed with the ref of the memory to open."""

    WIDE_FROM, STACKED_FROM = 120, 20
    AUTO_FOCUS = "LinkTree"
    BINDINGS = [
        ("escape,q,O", "dismiss"),
        ("enter", "open", "open"),
        ("space", "centre", "centre"),
        Binding("backspace", "centre_back", "back", key_display="⌫"),
        Binding("+,=", "deepen(1)", "deeper", key_display="+"),
        ("-", "deepen(-1)", "shallower"),
        ("r", "relations", "relations"),
        ("d", "direction", "direction"),
        ("@", "as_of", "as of"),
        ("x", "export", "export"),
        ("pagedown,ctrl+d", "scroll_beside(1)"),
        ("pageup,ctrl+u", "scroll_beside(-1)"),
    ]

    def __init__(self, start: Node, library: Library, at: TimeCondition | None = None) -> None:
        """`start`: first node of the tree; `at`: when links must hold, None for the present."""
        super().__init__()
        self._start = start
        self._filter = GraphFilter(at=at)
        self._fixed = at
        """The whole app is shown as of this time, which the screen does not change."""
        self._centres: list[Node] = []
        """Nodes that were at the start before."""
        self._found: Neighbourhood | None = None
        self._relations: Mapping[str, int] = {}
        self.links = LinkTree(library)
        self._detail = Detail(self.app.now)
        self._detail.can_focus = False
        self._detail.roots = {store.label: store.root for store in library.stores}
        self.working = False
        """Links are being followed; tests wait for it."""

    def panes(self) -> ComposeResult:
        yield self.links
        yield self._detail

    def on_mount(self) -> None:
        self._detail.border_title = Content("Memory")
        self._detail.render_markdown()
        self._ask()

    # Asking

    def _ask(self, keep: Node | None = None) -> None:
        """Follow the links again; the cursor goes to `keep` if it is shown."""
        link_filter, start, now = self._filter, self._start, self.app.now()
        self.working = True

        def done(found: FoundLinks) -> None:
            self.working = False
            self._found, self._relations = found.neighbourhood, found.relations
            self.links.also = found.also
            rows = tree_rows(found.neighbourhood)
            nodes = [row.reached.node for row in rows]
            wanted = keep or self._node
            self.links.show_rows(rows, cursor=nodes.index(wanted) if wanted in nodes else 0)
            self.lay_out()

        def failed(error: MemtuiError) -> None:
            self.working = False
            self.app.report_error(error)

        self.worker.run(
            "graph",
            lambda library, job: find_links(library, start, link_filter, now, job.is_cancelled),
            self.if_open(done),
            self.if_open(failed),
            present=self._fixed is None,
            holds_keys=True,
            only_reads=True,
        )

    def lay_out(self) -> None:
        if self._found is not None:
            self._say_head(self._found)
            self._moved()

    def _say_head(self, found: Neighbourhood) -> None:
        linked = len(found.reached) - 1
        parts = [f"{text.number(linked)} linked" if linked else self._explain_no_links()]
        if found.left_out:
            parts.append(f"{text.number(found.left_out)} not shown")
        if more := len(found.edges) - linked:
            parts.append(f"{text.counted(more, 'more link')} between them")
        self.say_head([*parts, *self._filter.words()])
        title = f"Links of {self.links.name_of(self._start)}"
        self.links.border_title = Content(text.cut(title, max(8, self.links.size.width - 4)))

    def _explain_no_links(self) -> str:
        """Explain that there are no links, and how links are made."""
        if self._filter.direction is not Direction.BOTH:
            return "no links in this direction"
        if self._filter.relations:
            return "no links with these relations"
        keys = self.app.key_of("link")
        make = f"; {keys} in the list makes one, as does [[a name]] in a text" if keys else ""
        return f"no links{make}"

    # What is selected

    @property
    def _node(self) -> Node | None:
        return self.links.current.reached.node if self.links.current else None

    @on(LinkTree.Moved)
    def _moved(self) -> None:
        """Show the selected memory; of an entity or an unknown end, the fact that links it."""
        row = self.links.current
        if row is None or self._found is None:
            return
        node, step = row.reached.node, row.reached.step
        memory = self.links.memory_of(node)
        if memory is None and step is not None:
            memory = self.links.find_memory(step.edge.stated_by)
        self._detail.show(memory, ())
        edges = [edge for edge in self._found.edges if node in (edge.source, edge.target)]
        own = [edge for edge in edges if edge.relation != ABOUT]  # the fields name its entities
        self._detail.show_references([self._reference(edge, node) for edge in own])
        self.links.border_subtitle = Content(
            text.cut(self.links.name_of(node), max(1, self.links.size.width - 4))
        )
        self.update_keys()

    def _reference(self, edge: Edge, node: Node) -> Reference:
        """Convert an edge to a reference of the detail, seen from one of its ends."""
        forward = edge.source == node
        other = edge.target if forward else edge.source
        relation = edge.relation.replace("_", " ")
        backward = "superseded by" if relation == "supersedes" else f"linked from: {relation}"
        begun, ended = edge.period(lambda time: text.date(time)[:10])
        period = f"{begun} – {ended}" if begun else ""
        return Reference(
            relation if forward else backward,
            self.links.name_of(other),
            other.name if other.kind == NodeKind.MEMORY else "",
            " · ".join(filter(None, (period, edge.note))),
            is_missing=other.kind == NodeKind.UNKNOWN,
        )

    # Keys

    def labels(self) -> Mapping[str, object]:
        depth, node, found = self._filter.depth, self._node, self._found
        reached = found.reached if found is not None else ()
        return {
            "open": node is not None and self.links.memory_of(node) is not None,
            "centre": self._can_centre(node),
            "centre_back": bool(self._centres),
            "deepen(1)": depth + 1 in DEPTHS and any(each.distance == depth for each in reached),
            "deepen(-1)": depth - 1 in DEPTHS,
            "relations": len(self._relations) > 1 or bool(self._filter.relations),
            "as_of": self._fixed is None,
            "export": len(reached) > 1,
        }

    def _can_centre(self, node: Node | None) -> bool:
        return node is not None and node != self._start and node.kind != NodeKind.UNKNOWN

    @on(LinkTree.Opened)
    def action_open(self) -> None:
        node = self._node
        if node is not None and self.links.memory_of(node) is not None:
            self.dismiss(node.name)
        else:
            self.action_centre()

    def action_centre(self) -> None:
        node = self._node
        if node is not None and self._can_centre(node):
            self._centres.append(self._start)
            self._start = node
            self._ask(node)

    def action_centre_back(self) -> None:
        if self._centres:
            before, self._start = self._start, self._centres.pop()
            self._ask(before)

    def action_deepen(self, step: int) -> None:
        if self._filter.depth + step in DEPTHS:
            self._follow(depth=self._filter.depth + step)

    def action_direction(self) -> None:
        self._follow(direction=_TURNS[self._filter.direction])

    def action_relations(self) -> None:
        chosen = self._filter.relations
        counts = {**dict.fromkeys(chosen, 0), **self._relations}
        names = sorted(counts, key=lambda name: (-counts[name], name))
        if not names:
            return
        choices = [
            Choice(name, text.one_line(name), number=counts[name], chosen=name in chosen)
            for name in names
        ]

        picker = Picker("Relations to follow", choices)
        self.app.ask(picker, lambda relations: self._follow(relations=relations))

    def action_as_of(self) -> None:
        if self._fixed is not None:
            return
        at = self._filter.at
        prompt = TimePrompt("Links as of", value=at.text if at else "", empty="empty: now")
        self.app.ask(prompt, lambda time: self._follow(at=time if time.text else None))

    def _follow(self, **changes: Any) -> None:
        """Follow the links again with another filter."""
        self._filter = replace(self._filter, **changes)
        self._ask()

    def action_export(self) -> None:
        found, name = self._found, self.links.name_of
        if found is not None and len(found.reached) > 1:
            writers = {
                ".mmd": lambda: traversal.to_mermaid(found, name),
                ".dot": lambda: traversal.to_dot(found, name),
            }
            hint = ".mmd Mermaid, .dot Graphviz"
            ask_file(self.app, "Export links", "links.mmd", writers, hint)
