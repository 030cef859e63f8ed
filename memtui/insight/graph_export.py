"""Write a neighbourhood as Mermaid, DOT or SVG.

Labels come from stores: they are made visible and escaped as each format demands, so that no text
of a store becomes markup, a click handler or another node.
"""

from __future__ import annotations

from collections.abc import Callable
from xml.sax.saxutils import escape

from memtui.insight.graph_layout import GraphLayout, PlacedNode, lay_out
from memtui.insight.link_graph import Node, NodeKind
from memtui.insight.traversal import Neighbourhood
from memtui.text import cut, one_line, width, without_lone_surrogates

LONGEST_LABEL = 60
"""Cells of a label in an export."""

_CELL, _LINE, _MARGIN = 8, 28, 16
"""Pixels of a character cell, of a line and of the margin in an SVG."""
_FILLS = {NodeKind.MEMORY: "#eef3fa", NodeKind.ENTITY: "#f3ecdf", NodeKind.UNKNOWN: "#f4f4f4"}
_STROKES = {NodeKind.MEMORY: "#3b5f8a", NodeKind.ENTITY: "#8a6a2b", NodeKind.UNKNOWN: "#9a9a9a"}

LabelOf = Callable[[Node], str]


def to_mermaid(neighbourhood: Neighbourhood, label_of: LabelOf) -> str:
    """A Mermaid flowchart. Special characters become entity codes (Mermaid, Flowcharts, "Entity
    codes to escape characters"), which Mermaid takes for text in every place."""
    numbers = _numbers(neighbourhood)
    lines = ["flowchart LR"]
    for node, number in numbers.items():
        left, right = {
            NodeKind.MEMORY: ("[", "]"),
            NodeKind.ENTITY: ("([", "])"),
            NodeKind.UNKNOWN: ("{{", "}}"),
        }[node.kind]
        lines.append(f'  n{number}{left}"{_mermaid_text(label_of(node))}"{right}')
    for edge in neighbourhood.edges:
        relation = _mermaid_text(edge.relation) or " "
        lines.append(f'  n{numbers[edge.source]} -->|"{relation}"| n{numbers[edge.target]}')
    return "\n".join(lines) + "\n"


def to_dot(neighbourhood: Neighbourhood, label_of: LabelOf) -> str:
    """A directed graph for Graphviz; labels are quoted strings (DOT language, "ID")."""
    numbers = _numbers(neighbourhood)
    lines = ["digraph memories {", "  rankdir=LR;", '  node [fontname="sans-serif"];']
    shapes = {NodeKind.MEMORY: "box", NodeKind.ENTITY: "ellipse", NodeKind.UNKNOWN: "plaintext"}
    for node, number in numbers.items():
        label = _dot_text(label_of(node))
        lines.append(f'  n{number} [shape={shapes[node.kind]}, label="{label}"];')
    for edge in neighbourhood.edges:
        relation = _dot_text(edge.relation)
        lines.append(f'  n{numbers[edge.source]} -> n{numbers[edge.target]} [label="{relation}"];')
    return "\n".join([*lines, "}"]) + "\n"


def to_svg(neighbourhood: Neighbourhood, label_of: LabelOf) -> str:
    """A picture without scripts, links or outside references, laid out as on the screen."""
    layout = lay_out(
        neighbourhood,
        lambda node: _clean(label_of(node)),
        width=130,
        most_per_layer=60,
    )
    right = layout.width * _CELL + 2 * _MARGIN + 2 * _CELL
    bottom = layout.height * _LINE + 2 * _MARGIN
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{right}" height="{bottom}"'
        f' viewBox="0 0 {right} {bottom}" font-family="sans-serif" font-size="13">',
        f'<rect width="{right}" height="{bottom}" fill="#ffffff"/>',
    ]
    parts += _svg_edges(layout)
    for placed in layout.nodes:
        parts += _svg_node(placed)
    return "\n".join([*parts, "</svg>"]) + "\n"


def _svg_edges(layout: GraphLayout) -> list[str]:
    parts = []
    for placed in layout.nodes:
        if placed.parent < 0:
            continue
        parent = layout.nodes[placed.parent]
        x1 = _x(parent.x) + _label_pixels(parent)
        x2 = _x(placed.x) - 4
        y1, y2 = _y(parent.row), _y(placed.row)
        if x1 < x2:  # beside its parent
            way = f"M{x1} {y1} H{min(x1 + 10, x2)} V{y2} H{x2}"
        else:  # below it: the line leaves at the lower edge of its label
            way = f"M{_x(parent.x) + 4} {y1 + _LINE // 2 - 4} V{y2} H{x2}"
        parts.append(f'<path d="{way}" fill="none" stroke="#9a9a9a"/>')
        if placed.edge is not None:
            relation = escape(_clean(placed.edge.relation))
            arrow = f"{relation} ▸" if placed.is_forward else f"◂ {relation}"
            parts.append(
                f'<text x="{x2 - 4}" y="{y2 - 4}" text-anchor="end" font-size="10"'
                f' fill="#6a6a6a">{arrow}</text>'
            )
    return parts


def _svg_node(placed: PlacedNode) -> list[str]:
    kind = placed.node.kind if placed.node is not None else NodeKind.UNKNOWN
    x, y = _x(placed.x) - 4, _y(placed.row) - _LINE // 2 + 4
    radius = 9 if kind == NodeKind.ENTITY else 3
    return [
        f'<rect x="{x}" y="{y}" width="{_label_pixels(placed) + 4}" height="{_LINE - 8}"'
        f' rx="{radius}" fill="{_FILLS[kind]}" stroke="{_STROKES[kind]}"/>',
        f'<text x="{x + 5}" y="{_y(placed.row) + 4}" fill="#222222">{escape(placed.label)}</text>',
    ]


def _x(cell: int) -> int:
    return _MARGIN + cell * _CELL


def _y(row: int) -> int:
    return _MARGIN + row * _LINE + _LINE // 2


def _label_pixels(placed: PlacedNode) -> int:
    return (width(placed.label) + 1) * _CELL


def _numbers(neighbourhood: Neighbourhood) -> dict[Node, int]:
    nodes = dict.fromkeys(each.node for each in neighbourhood.reached)
    for edge in neighbourhood.edges:
        nodes.update({edge.source: None, edge.target: None})
    return {node: number for number, node in enumerate(nodes)}


def _clean(text: str) -> str:
    return cut(without_lone_surrogates(one_line(text)), LONGEST_LABEL)


def _mermaid_text(text: str) -> str:
    return "".join(
        letter if letter.isalnum() or letter in " .,:_-/+=…·" else f"#{ord(letter)};"
        for letter in _clean(text)
    )


def _dot_text(text: str) -> str:
    return _clean(text).replace("\\", "\\\\").replace('"', '\\"')
