"""Write a neighbourhood as Mermaid or DOT.

Labels come from stores: they are made visible and escaped as each format demands, so that no text
of a store becomes markup, a click handler or another node.
"""

from __future__ import annotations

from collections.abc import Callable

from memtui.insight.links import Node, NodeKind
from memtui.insight.traversal import Neighbourhood
from memtui.text import cut, one_line, without_lone_surrogates

LONGEST_LABEL = 60
"""Maximum width of a label in an export, in cells."""

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
