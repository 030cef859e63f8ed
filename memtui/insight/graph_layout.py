"""Place the neighbourhood of a node for a terminal: layers by distance from left to right.

A node stands in the layer of its distance, the first child on its parent's line. Where that would
cut a label, the children stand below their parent instead, indented, so that labels have the rest
of the line. Only the edge by which a node was first reached is drawn, so lines never cross; the
other edges are listed in
`GraphLayout.other_edges`, for the screen to name when one of their ends is selected. A layer shows
at most so many nodes; the rest is counted below their parent (`+12 more`).
"""

from __future__ import annotations

import itertools
from collections.abc import Callable
from typing import Literal

from memtui.dataclass import dataclass, field
from memtui.insight.link_graph import Edge, Node
from memtui.insight.traversal import Neighbourhood, Reached
from memtui.text import cut, cut_line, pad, width

MAX_PER_LAYER = 20
"""Nodes of a layer that are shown unless another number is given."""
NARROWEST_LABEL = 14
"""Cells that every label has, however many layers there are."""
LONGEST_RELATION = 14
"""Cells of a relation's name."""

Role = Literal["label", "relation", "line", "more", "space"]
"""What a piece of a drawn line is, for its colour."""


@dataclass(frozen=True, slots=True)
class PlacedNode:
    """A node, or the count of nodes that are not shown, in the drawing."""

    node: Node | None
    """None: this stands for `hidden` nodes."""
    layer: int
    row: int
    """Line of the drawing, from 0."""
    x: int
    """First cell of its label."""
    label: str
    """Cut to the width of its layer."""
    parent: int
    """Index of the node it was reached from; -1 at the start."""
    edge: Edge | None = None
    is_forward: bool = True
    """The edge leads from the parent to this node."""
    hidden: int = 0


@dataclass(frozen=True, slots=True)
class GraphPiece:
    """A run of cells of one line."""

    text: str
    role: Role
    index: int = -1
    """Index of the placed node that a label or relation belongs to."""


@dataclass(frozen=True, slots=True)
class GraphLayout:
    """A drawing; indices are into `nodes`, parents before their children."""

    nodes: tuple[PlacedNode, ...]
    width: int
    height: int
    hidden: int = 0
    """Nodes that are counted, not shown."""
    other_edges: tuple[Edge, ...] = ()
    """Edges between shown nodes that are not drawn: circles, and second ways to a node."""

    def find(self, node: Node) -> int:
        """Index of a node; -1 if it is not shown."""
        for index, placed in enumerate(self.nodes):
            if placed.node == node:
                return index
        return -1

    def neighbour(self, index: int, move: Literal["left", "right", "up", "down"]) -> int:
        """Index of the node that a person means who goes this way along the edges.

        Left is the parent, right the first child; up and down stay in the layer as long as it has
        a node there, then take the nearest line. Returns `index` where there is none.
        """
        origin = self.nodes[index]
        if move == "left":
            return origin.parent if origin.parent >= 0 else index
        if move == "right":
            children = [at for at, each in enumerate(self.nodes) if each.parent == index]
            return children[0] if children else index
        step = 1 if move == "down" else -1
        further = [at for at, each in enumerate(self.nodes) if (each.row - origin.row) * step > 0]
        same = [at for at in further if self.nodes[at].layer == origin.layer]
        return min(
            same or further, key=lambda at: abs(self.nodes[at].row - origin.row), default=index
        )


@dataclass(slots=True)
class _Branch:
    """A node with the children that are shown."""

    reached: Reached | None
    hidden: int = 0
    children: list[_Branch] = field(default_factory=list)


def lay_out(
    neighbourhood: Neighbourhood,
    label_of: Callable[[Node], str],
    *,
    width: int = 80,
    height: int | None = None,
    most_per_layer: int = MAX_PER_LAYER,
) -> GraphLayout:
    """Place a neighbourhood.

    Args:
        neighbourhood: What to draw.
        label_of: Text of a node, one line, already safe to show.
        width: Cells to fill; many layers may need more.
        height: Lines to stay within, by showing fewer nodes; None for no limit.
        most_per_layer: Nodes of a layer that are shown.
    """
    beside = _place(neighbourhood, _fit(neighbourhood, most_per_layer, height), label_of, width)
    if not any(each.node and each.label != label_of(each.node) for each in beside.nodes):
        return beside
    root = _fit(neighbourhood, most_per_layer, height, outlined=True)
    below = _place(neighbourhood, root, label_of, width, outlined=True)
    return below if below.hidden <= beside.hidden or beside.width > width else beside


def draw(layout: GraphLayout) -> list[list[GraphPiece]]:
    """Draw a layout with box characters: for each line its pieces from left to right."""
    lines: list[list[tuple[int, GraphPiece]]] = [[] for _ in range(layout.height)]
    children: dict[int, list[int]] = {}
    for index, placed in enumerate(layout.nodes):
        role: Role = "label" if placed.node is not None else "more"
        lines[placed.row].append((placed.x, GraphPiece(placed.label, role, index)))
        if placed.parent >= 0:
            children.setdefault(placed.parent, []).append(index)
    for parent, below in children.items():
        _connect(layout, parent, below, lines)
    return [_joined(line) for line in lines]


def draw_text(layout: GraphLayout) -> str:
    """The drawing as plain text."""
    return "\n".join("".join(piece.text for piece in line).rstrip() for line in draw(layout))


def _fit(
    neighbourhood: Neighbourhood, most: int, height: int | None, *, outlined: bool = False
) -> _Branch:
    """The tree of nodes to show: at most so many in a layer, in at most `height` lines."""
    root = _grow(neighbourhood, most)
    while height is not None and _count_lines(root, outlined=outlined) > height and most > 1:
        most -= max(1, (most - 1) // 4)
        root = _grow(neighbourhood, most)
    return root


def _grow(neighbourhood: Neighbourhood, most: int) -> _Branch:
    """The tree with at most so many nodes in a layer."""
    below: dict[Node, list[Reached]] = {}
    for each in neighbourhood.reached[1:]:
        assert each.step is not None, "only the start has no step"
        below.setdefault(each.step.start, []).append(each)
    root = _Branch(neighbourhood.reached[0])
    layer = [root]
    while layer:
        queues = [below.get(branch.reached.node, []) if branch.reached else [] for branch in layer]
        shares = _share([len(queue) for queue in queues], most)
        following: list[_Branch] = []
        for branch, queue, share in zip(layer, queues, shares, strict=True):
            branch.children = [_Branch(each) for each in queue[:share]]
            following += branch.children
            if len(queue) > share:
                branch.children.append(_Branch(None, _size(queue[share:], below)))
        layer = following
    return root


def _share(sizes: list[int], most: int) -> list[int]:
    """Divide `most` places among parents, as evenly as they want them."""
    shares = [0] * len(sizes)
    left = min(most, sum(sizes))
    while left > 0:
        for at, want in enumerate(sizes):
            if shares[at] < want and left > 0:
                shares[at] += 1
                left -= 1
    return shares


def _size(nodes: list[Reached], below: dict[Node, list[Reached]]) -> int:
    """Nodes of these subtrees."""
    count = 0
    waiting = list(nodes)
    while waiting:
        count += 1
        waiting += below.get(waiting.pop().node, [])
    return count


def _count_lines(root: _Branch, *, outlined: bool) -> int:
    """Lines of the drawing: one for each node, or for each node without children."""
    count = 0
    waiting = [root]
    while waiting:
        branch = waiting.pop()
        waiting += branch.children
        count += outlined or not branch.children
    return count


def _place(
    neighbourhood: Neighbourhood,
    root: _Branch,
    label_of: Callable[[Node], str],
    most: int,
    *,
    outlined: bool = False,
) -> GraphLayout:
    order: list[tuple[_Branch, int, int, int]] = []
    """Branch, layer, row, index of the parent."""
    row = 0
    waiting = [(root, 0, -1)]
    while waiting:
        branch, layer, parent = waiting.pop()
        order.append((branch, layer, row, parent))
        if outlined or not branch.children:
            row += 1
        position = len(order) - 1
        waiting += [(child, layer + 1, position) for child in reversed(branch.children)]
    labels = [
        f"+{branch.hidden} more" if branch.reached is None else label_of(branch.reached.node)
        for branch, _, _, _ in order
    ]
    columns = _columns(order, labels, most, outlined=outlined)
    nodes: list[PlacedNode] = []
    for (branch, layer, at, parent), label in zip(order, labels, strict=True):
        x, cells = columns[layer]
        if branch.reached is None:
            nodes.append(PlacedNode(None, layer, at, x, label, parent, hidden=branch.hidden))
            continue
        step = branch.reached.step
        nodes.append(
            PlacedNode(
                branch.reached.node,
                layer,
                at,
                x,
                cut(label, cells),
                parent,
                step.edge if step else None,
                step.is_forward if step else True,
            )
        )
    shown = {placed.node for placed in nodes if placed.node is not None}
    drawn = {placed.edge[:3] for placed in nodes if placed.edge}  # however much each says
    others = tuple(
        edge
        for edge in neighbourhood.edges
        if edge[:3] not in drawn and edge.source in shown and edge.target in shown
    )
    end = max((placed.x + width(placed.label) for placed in nodes), default=0)
    hidden = sum(placed.hidden for placed in nodes) + neighbourhood.left_out
    return GraphLayout(tuple(nodes), end, row, hidden, others)


def _columns(
    order: list[tuple[_Branch, int, int, int]], labels: list[str], most: int, *, outlined: bool
) -> list[tuple[int, int]]:
    """First cell and width of the labels of each layer; none is wider than its longest label."""
    gaps = [0] * (max(layer for _, layer, _, _ in order) + 1)
    longest = [0] * len(gaps)
    for (branch, layer, _, _), label in zip(order, labels, strict=True):
        longest[layer] = max(longest[layer], width(label))
        if layer:
            relation = 0
            if branch.reached is not None and branch.reached.step is not None:
                relation = width(_relation(branch.reached.step.edge))
            gaps[layer] = max(gaps[layer], relation + 6)  # ` ├─` relation `─▶ `
    if outlined:
        starts = list(itertools.accumulate(gaps))
        return [(x, max(NARROWEST_LABEL, most - x)) for x in starts]
    left = most - sum(gaps)
    cells = [0] * len(gaps)
    by_need = sorted(range(len(gaps)), key=lambda layer: longest[layer])
    for number, layer in enumerate(by_need):
        share = max(NARROWEST_LABEL, left // (len(gaps) - number))
        cells[layer] = min(share, longest[layer])
        left -= cells[layer]
    columns: list[tuple[int, int]] = []
    x = 0
    for gap, room in zip(gaps, cells, strict=True):
        x += gap
        columns.append((x, room))
        x += room
    return columns


def _relation(edge: Edge) -> str:
    return cut_line(edge.relation, LONGEST_RELATION)


def _connect(
    layout: GraphLayout,
    parent: int,
    below: list[int],
    lines: list[list[tuple[int, GraphPiece]]],
) -> None:
    """Draw the lines from a parent to its children, the first on the parent's line or below it."""
    start = layout.nodes[parent]
    first, last = layout.nodes[below[0]].row, layout.nodes[below[-1]].row
    rows = {layout.nodes[index].row: index for index in below}
    label_end = start.x + width(start.label)
    trunk = _trunk(layout, below)
    for row in range(first if first == start.row else start.row + 1, last + 1):
        index = rows.get(row)
        if index is None:
            lines[row].append((trunk, GraphPiece("│", "line")))
            continue
        if row == start.row:
            corner = "┬" if last > first else "─"
            lines[row].append((label_end + 1, GraphPiece("─" * (trunk - label_end - 1), "line")))
        else:
            corner = "└" if row == last else "├"
        lines[row].append((trunk, GraphPiece(corner, "line")))
        child = layout.nodes[index]
        lines[row] += _arrow(child, index, trunk + 1)


def _trunk(layout: GraphLayout, below: list[int]) -> int:
    """The cell in which the lines to these children part: left of the layer's widest relation."""
    layer = layout.nodes[below[0]].layer
    gap = max(
        (
            width(_relation(each.edge)) + 6
            for each in layout.nodes
            if each.layer == layer and each.edge is not None
        ),
        default=6,
    )
    return layout.nodes[below[0]].x - gap + 1


def _arrow(child: PlacedNode, index: int, x: int) -> list[tuple[int, GraphPiece]]:
    room = child.x - 1 - x
    if child.edge is None:
        return [(x, GraphPiece("─" * room, "line"))]
    name = _relation(child.edge)
    rest = room - width(name) - 2
    left, right = ("─", "─" * rest + "▶") if child.is_forward else ("◀", "─" * (rest + 1))
    return [
        (x, GraphPiece(left, "line")),
        (x + 1, GraphPiece(name, "relation", index)),
        (x + 1 + width(name), GraphPiece(right, "line")),
    ]


def _joined(pieces: list[tuple[int, GraphPiece]]) -> list[GraphPiece]:
    """Fill the gaps between the pieces of a line."""
    line: list[GraphPiece] = []
    end = 0
    for x, piece in sorted(pieces, key=lambda each: each[0]):
        if not piece.text:
            continue
        if x > end:
            line.append(GraphPiece(pad("", x - end), "space"))
        line.append(piece)
        end = x + width(piece.text)
    return line
