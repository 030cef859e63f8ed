"""Graph screen: the links of a memory or an entity, drawn by distance and walked with keys."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from datetime import datetime
from typing import Any

from rich.segment import Segment
from textual import on
from textual.app import ComposeResult
from textual.content import Content

from memtui import text
from memtui.dataclass import replace
from memtui.errors import MemtuiError
from memtui.insight import graph_export, graph_layout
from memtui.insight.graph_layout import PlacedNode
from memtui.insight.link_graph import Edge, Node, NodeKind
from memtui.insight.traversal import Direction, Neighbourhood
from memtui.library import Library
from memtui.query import TimeCondition
from memtui.tui.app_interface import Choice
from memtui.tui.dialogs.dialog import PageDialog
from memtui.tui.dialogs.picker import Picker
from memtui.tui.dialogs.prompts import TimePrompt, ask_file
from memtui.tui.graph_nodes import ABOUT, FoundLinks, GraphFilter, NodeTexts, find_links
from memtui.tui.library_worker import LibraryWorker
from memtui.tui.widgets.detail import Detail
from memtui.tui.widgets.graph_view import GraphView
from memtui.tui.widgets.text_window import TextWindow

DEPTHS = range(1, 7)
_TURNS = {
    Direction.BOTH: Direction.OUT,
    Direction.OUT: Direction.IN,
    Direction.IN: Direction.BOTH,
}


class GraphScreen(PageDialog[str]):
    """Dismissed with the ref of the memory to open."""

    WIDE_FROM, STACKED_FROM = 120, 20
    AUTO_FOCUS = "GraphView"
    BINDINGS = [
        ("escape,q,O", "dismiss"),
        ("enter", "open"),
        ("space", "centre"),
        ("backspace", "centre_back"),
        ("+,=", "deepen(1)"),
        ("-", "deepen(-1)"),
        ("r", "relations"),
        ("d", "direction"),
        ("@", "as_of"),
        ("x", "export"),
        ("pagedown,ctrl+d", "scroll_detail(1)"),
        ("pageup,ctrl+u", "scroll_detail(-1)"),
    ]

    def __init__(
        self,
        start: Node,
        library: Library,
        worker: LibraryWorker,
        now: Callable[[], datetime],
        at: TimeCondition | None = None,
    ) -> None:
        """`start`: node in the middle; `at`: when links must hold, None for the present."""
        super().__init__()
        self._start, self._library, self._worker, self._now = start, library, worker, now
        self._filter = GraphFilter(at=at)
        self._fixed = at
        """The whole app is shown as of this time, which the screen does not change."""
        self._centres: list[Node] = []
        """Nodes that were in the middle before."""
        self._found: Neighbourhood | None = None
        self._relations: Mapping[str, int] = {}
        self._texts = NodeTexts(library, start)
        self.graph = GraphView(lambda placed: self._texts.style(placed, self.app.palette))
        self._detail = Detail(now)
        self._detail.can_focus = False
        self._about = TextWindow(id="about")
        self._about.can_focus = False
        self._about.display = False  # the drawing has its width before anything is selected
        self.working = False
        """Links are being followed; tests wait for it."""

    def panes(self) -> ComposeResult:
        yield self.graph
        yield self._detail
        yield self._about

    def on_mount(self) -> None:
        self.graph.border_title = Content("Links")
        self._detail.border_title = Content("Memory")
        self._detail.roots = {store.label: store.root for store in self._library.stores}
        self._detail.render_markdown()
        self._ask()

    # Asking

    def _ask(self, keep: Node | None = None) -> None:
        """Follow the links again; the cursor stays on `keep` if it is shown."""
        link_filter, start, now = self._filter, self._start, self._now()
        self.working = True

        def done(found: FoundLinks) -> None:
            self.working = False
            self._found, self._relations = found.neighbourhood, found.relations
            self.lay_out(keep)

        def failed(error: MemtuiError) -> None:
            self.working = False
            self.app.report_error(error)

        self._worker.run(
            "graph",
            lambda library, job: find_links(library, start, link_filter, now, job.is_cancelled),
            self.if_open(done),
            self.if_open(failed),
            present=self._fixed is None,
            holds_keys=True,
            only_reads=True,
        )

    @on(GraphView.Resized)
    def _resized(self) -> None:
        self.lay_out()

    def lay_out(self, keep: Node | None = None) -> None:
        if self._found is None:
            return
        keep = keep or self._node
        width, height = self.graph.room
        layout = graph_layout.lay_out(
            self._found,
            self._texts.label,
            width=width,
            height=height,
            most_per_layer=max(graph_layout.MAX_PER_LAYER, height - 1),
        )
        at = layout.find(keep) if keep is not None else -1
        self.graph.show(layout, max(0, at))
        self._say_head()
        self._moved()

    def _say_head(self) -> None:
        found = self._found
        assert found is not None, "only called with an answer"
        shown = len(found.reached) - 1
        counts = f"{text.number(shown)} linked" if shown else self._explain_no_links()
        layout = self.graph.layout_shown
        parts = [counts]
        if layout.hidden:
            parts.append(f"{text.number(layout.hidden)} not drawn")
        if layout.other_edges:
            count = len(layout.other_edges)
            parts.append(f"{text.counted(count, 'more link')} between them")
        self.say_head([*parts, *self._filter.words()])
        title = f"Links of {self._texts.name(self._start)}"
        self.graph.border_title = Content(text.cut(title, max(8, self.graph.size.width - 4)))

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
        """The selected node; None for a count of those that are not drawn."""
        return self.graph.selected.node if self.graph.selected else None

    @on(GraphView.Moved)
    def _moved(self) -> None:
        placed = self.graph.selected
        if placed is None:
            return
        memory = self._texts.memory(placed.node) if placed.node is not None else None
        self._detail.display = memory is not None
        self._about.display = memory is None
        if memory is not None and placed.node is not None:
            self._detail.show(memory, ())
            self._detail.show_references(
                [
                    self._texts.reference(each, placed.node)
                    for each in self._edges(placed.node)
                    if each.relation != ABOUT  # the fields name its entities
                ]
            )
        else:
            self._about.border_title = Content("Entity" if placed.node else "Not drawn")
            self._about.show(self._describe(placed))
        self.graph.say(self._describe_line(placed))
        self.update_keys()

    def _describe_line(self, placed: PlacedNode) -> str:
        """Describe the selected node in one line: how it is linked, and its whole name.

        Nothing about the one in the middle, whose name is the title.
        """
        if placed.node == self._start:
            return ""
        if placed.node is None:
            return f"{text.number(placed.hidden)} more that are not drawn"
        way = ""
        if placed.edge is not None:
            relation = text.one_line(placed.edge.relation)
            way = f"─{relation}▶ " if placed.is_forward else f"◀{relation}─ "
        ended = placed.edge.period(text.date)[1] if placed.edge is not None else ""
        until = f" · until {ended}" if ended not in ("", "now") else ""
        return f"{way}{self._texts.name(placed.node)}{until}"

    def _edges(self, node: Node) -> list[Edge]:
        edges = self._found.edges if self._found is not None else ()
        return [edge for edge in edges if node in (edge.source, edge.target)]

    def _describe(self, placed: PlacedNode) -> list[list[Segment]]:
        """Describe an entity, an unknown end, or the nodes that are not drawn."""
        width = max(20, self._about.size.width - 3)
        if placed.node is None:
            return self._texts.list_nodes(self._hidden_neighbours(placed), self.app.palette, width)
        edges = self._edges(placed.node)
        return self._texts.describe_node(placed.node, edges, self.app.palette, width)

    def _hidden_neighbours(self, placed: PlacedNode) -> list[Node]:
        """Return the neighbours of the parent that a count stands for."""
        assert self._found is not None, "there is a drawing"
        layout = self.graph.layout_shown
        parent = layout.nodes[placed.parent].node
        shown = {each.node for each in layout.nodes}
        return [
            each.node
            for each in self._found.reached
            if each.step is not None and each.step.start == parent and each.node not in shown
        ]

    # Keys

    def keys(self) -> list[tuple[str, str]]:
        placed, depth = self.graph.selected, self._filter.depth
        node = self._node
        is_memory = node is not None and self._texts.memory(node) is not None
        is_end = node is None or node == self._start or node.kind == NodeKind.UNKNOWN
        keys = {
            ("←→↑↓", "move"): len(self.graph.layout_shown.nodes) > 1,
            ("enter", "list"): placed is not None and node is None,
            ("enter", "open"): is_memory,
            ("space", "centre"): not is_end,
            ("⌫", "back"): self._centres,
            ("+", "deeper"): depth + 1 in DEPTHS and self._reaches(depth),
            ("-", "shallower"): depth - 1 in DEPTHS,
            ("r", "relations"): len(self._relations) > 1 or self._filter.relations,
            ("d", "direction"): True,
            ("@", "as of"): self._fixed is None,
            ("x", "export"): self._found is not None and len(self._found.reached) > 1,
        }
        return [key for key, is_possible in keys.items() if is_possible]

    def _reaches(self, depth: int) -> bool:
        """Whether something is so many links away, and more may be behind it."""
        return self._found is not None and any(e.distance == depth for e in self._found.reached)

    @on(GraphView.Opened)
    def action_open(self) -> None:
        placed = self.graph.selected
        if placed is None:
            return
        if placed.node is None:
            self._list_hidden(placed)
        elif self._texts.memory(placed.node) is not None:
            self.dismiss(placed.node.name)
        else:
            self.action_centre()

    def _list_hidden(self, placed: PlacedNode) -> None:
        nodes = {node.name: node for node in self._hidden_neighbours(placed)}
        choices = [Choice(name, self._texts.label(node)) for name, node in nodes.items()]
        centre = lambda name: self._go_to_centre(nodes[name])  # noqa: E731
        self.app.pick("Not drawn", choices, centre, accept="centre")

    def action_centre(self) -> None:
        node = self._node
        if node is not None and node != self._start and node.kind != NodeKind.UNKNOWN:
            self._go_to_centre(node)

    def _go_to_centre(self, node: Node) -> None:
        self._centres.append(self._start)
        self._start = self._texts.start = node
        self._ask(node)

    def action_centre_back(self) -> None:
        if self._centres:
            before = self._start
            self._start = self._texts.start = self._centres.pop()
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
        prompt = TimePrompt(
            "Links as of", self._now(), value=at.text if at else "", empty="empty: now"
        )
        self.app.ask(prompt, lambda time: self._follow(at=time if time.text else None))

    def _follow(self, **changes: Any) -> None:
        """Follow the links again with another filter."""
        self._filter = replace(self._filter, **changes)
        self._ask()

    def action_scroll_detail(self, step: int) -> None:
        pane = self._detail if self._detail.display else self._about
        pane.scroll_lines(step * max(1, pane.page - 1))

    def action_export(self) -> None:
        """Export the part of the neighbourhood that is drawn."""
        if self._found is None or len(self._found.reached) < 2:
            return
        shown: Collection[Node | None] = {each.node for each in self.graph.layout_shown.nodes}
        drawn = Neighbourhood(
            self._found.start,
            tuple(each for each in self._found.reached if each.node in shown),
            tuple(e for e in self._found.edges if e.source in shown and e.target in shown),
            self.graph.layout_shown.hidden,
        )
        writers = {
            ".svg": lambda: graph_export.to_svg(drawn, self._texts.name),
            ".mmd": lambda: graph_export.to_mermaid(drawn, self._texts.name),
            ".dot": lambda: graph_export.to_dot(drawn, self._texts.name),
        }
        hint = ".svg picture, .mmd Mermaid, .dot Graphviz"
        ask_file(self.app, self._worker.jobs, "Export links", "links.svg", writers, hint)
