"""Drawing and exporting a neighbourhood: tree, circle, hub of 200, two stores, hostile labels."""

from __future__ import annotations

import re
from datetime import UTC, datetime
from xml.etree import ElementTree

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memtui.insight import graph_export, graph_layout
from memtui.insight.graph_layout import GraphLayout, draw_text, lay_out
from memtui.insight.link_graph import Node
from memtui.insight.traversal import Direction, Neighbourhood
from memtui.model import Link
from memtui.testing import hostile_values
from memtui.text import width
from tests.unit.insight.test_links import index_of, mem, memory, walk


def label(node: Node) -> str:
    return node.name


def tree() -> Neighbourhood:
    index = index_of(
        memory("root", Link("has", "left"), Link("has", "right")),
        memory("left", Link("has", "leaf1"), Link("has", "leaf2")),
        memory("right"),
        *(memory(f"leaf{n}") for n in (1, 2)),
        memory("above", Link("made", "root")),
    )
    return walk(index, mem("a:root"), depth=2)


def hub(spokes: int = 200) -> Neighbourhood:
    links = [Link("to", f"n{number}") for number in range(spokes)]
    index = index_of(memory("hub", *links), *(memory(f"n{n}") for n in range(spokes)))
    return walk(index, mem("a:hub"), depth=2)


def check_no_overlap(layout: GraphLayout) -> None:
    lines = graph_layout.draw(layout)
    assert len(lines) == layout.height
    for placed in layout.nodes:
        at, found = 0, False
        for piece in lines[placed.row]:
            if piece.role in ("label", "more") and at == placed.x:
                assert piece.text == placed.label
                found = True
            at += width(piece.text)
        assert found, placed


def test_a_tree_is_drawn_in_layers_with_its_relations() -> None:
    layout = lay_out(tree(), label, width=80)
    check_no_overlap(layout)
    assert draw_text(layout) == (
        "a:root ┬─has──▶ a:left ─┬─has─▶ a:leaf1\n"
        "       │                └─has─▶ a:leaf2\n"
        "       ├─has──▶ a:right\n"
        "       └◀made── a:above"
    )
    assert [(n.layer, n.row) for n in layout.nodes] == [
        (0, 0),
        (1, 0),
        (2, 0),
        (2, 1),
        (1, 2),
        (1, 3),
    ]


def test_a_link_that_is_stated_twice_is_drawn_once() -> None:
    since = datetime(2026, 11, 1, tzinfo=UTC)
    new = memory("new", Link("supersedes", "old", since, note="judged"), supersedes=("old",))
    index = index_of(new, memory("old", superseded_by=("new",)))
    layout = lay_out(walk(index, mem("a:new"), depth=2), label, width=80)
    assert draw_text(layout) == "a:new ──supersedes─▶ a:old"
    assert not layout.other_edges


def test_children_stand_below_their_parent_where_labels_would_be_cut() -> None:
    layout = lay_out(tree(), lambda node: f"{node.name}, a headline", width=50)
    check_no_overlap(layout)
    assert draw_text(layout) == (
        "a:root, a headline\n"
        " ├─has──▶ a:left, a headline\n"
        " │         ├─has─▶ a:leaf1, a headline\n"
        " │         └─has─▶ a:leaf2, a headline\n"
        " ├─has──▶ a:right, a headline\n"
        " └◀made── a:above, a headline"
    )


def test_down_passes_every_node_of_a_layer_and_then_the_nearest_line() -> None:
    layout = lay_out(tree(), lambda node: f"{node.name}, a headline", width=50)
    names = {placed.label.partition(",")[0]: at for at, placed in enumerate(layout.nodes)}
    assert layout.neighbour(names["a:root"], "down") == names["a:left"]
    assert layout.neighbour(names["a:left"], "down") == names["a:right"]
    assert layout.neighbour(names["a:leaf2"], "down") == names["a:right"]
    assert layout.neighbour(names["a:above"], "down") == names["a:above"]
    assert layout.neighbour(names["a:above"], "up") == names["a:right"]


def test_a_circle_is_drawn_once_and_its_last_link_is_listed() -> None:
    index = index_of(
        memory("1", Link("to", "2")), memory("2", Link("to", "3")), memory("3", Link("to", "1"))
    )
    layout = lay_out(walk(index, mem("a:1"), depth=5, direction=Direction.OUT), label)
    assert [placed.label for placed in layout.nodes] == ["a:1", "a:2", "a:3"]
    assert [(e.source.name, e.target.name) for e in layout.other_edges] == [("a:3", "a:1")]


def test_a_hub_shows_what_fits_and_counts_the_rest() -> None:
    layout = lay_out(hub(), label, width=80, height=20)
    check_no_overlap(layout)
    assert layout.height <= 20
    shown = [placed for placed in layout.nodes if placed.layer == 1 and placed.node is not None]
    more = [placed for placed in layout.nodes if placed.node is None]
    assert [placed.label for placed in more] == [f"+{200 - len(shown)} more"]
    assert layout.hidden == 200 - len(shown)
    assert layout.width <= 80


def test_places_are_shared_between_parents() -> None:
    links = [Link("to", "a1"), Link("to", "b1")]
    below = {
        name: [Link("to", f"{name}-{number}") for number in range(count)]
        for name, count in (("a1", 100), ("b1", 3))
    }
    index = index_of(
        memory("0", *links),
        *(memory(name, *into) for name, into in below.items()),
        *(memory(link.target) for into in below.values() for link in into),
    )
    layout = lay_out(walk(index, mem("a:0"), depth=2), label, most_per_layer=6)
    labels = [placed.label for placed in layout.nodes if placed.layer == 2]
    assert labels == ["a:a1-0", "a:a1-1", "a:a1-2", "+97 more", "a:b1-0", "a:b1-1", "a:b1-2"]


def test_two_stores_stand_in_one_graph() -> None:
    index = index_of(memory("1", Link("relates_to", "b:1")), memory("1", store="b"))
    layout = lay_out(walk(index, mem("b:1")), label)
    assert draw_text(layout) == "b:1 ─◀relates_to── a:1"


def test_arrow_keys_follow_the_edges() -> None:
    layout = lay_out(tree(), label)
    left = layout.find(mem("a:left"))
    assert layout.neighbour(left, "left") == 0
    assert layout.neighbour(0, "right") == left
    assert layout.nodes[layout.neighbour(left, "down")].label == "a:right"
    assert layout.neighbour(0, "up") == layout.neighbour(0, "left") == 0


def unescaped(mermaid: str) -> str:
    return re.sub(r"#(\d+);", lambda code: chr(int(code[1])), mermaid)


@pytest.mark.slow
@given(st.text(max_size=80), st.text(max_size=80), st.text(min_size=1, max_size=30))
def test_every_label_is_read_back_from_every_export(one: str, other: str, relation: str) -> None:
    """By a parser of each format: the nodes, the edge between them, and nothing else."""
    index = index_of(memory("1", Link(relation, "2")), memory("2"))
    found = walk(index, mem("a:1"))
    names = {mem("a:1"): one, mem("a:2"): other}
    labels = [graph_export._clean(names[each.node]) for each in found.reached]
    relations = [graph_export._clean(edge.relation) for edge in found.edges]

    nodes = re.findall(
        r'^  n\d\["(.*)"\]$', graph_export.to_mermaid(found, names.__getitem__), re.M
    )
    arrows = re.findall(
        r'^  n0 -->\|"(.*)"\| n1$', graph_export.to_mermaid(found, names.__getitem__), re.M
    )
    assert [unescaped(label) for label in nodes] == labels
    assert [unescaped(label) for label in arrows] == [name or " " for name in relations]

    quoted = r'"((?:[^"\\]|\\.)*)"'
    statement = rf"  n\d(?: -> n\d)? \[(?:shape=box, )?label={quoted}\];\n"
    dot = graph_export.to_dot(found, names.__getitem__)
    head = 'digraph memories {\n  rankdir=LR;\n  node [fontname="sans-serif"];\n'
    assert re.fullmatch(re.escape(head) + rf"(?:{statement})*}}\n", dot)
    read = [re.sub(r"\\(.)", r"\1", text) for text in re.findall(statement, dot)]
    assert read == [*labels, *relations]

    texts = [
        "".join(element.itertext())
        for element in ElementTree.fromstring(graph_export.to_svg(found, names.__getitem__)).iter()
        if element.tag.endswith("text")
    ]
    assert texts[-2:] == labels
    assert texts[:-2] == [f"{name} ▸" for name in relations]


def test_the_lines_of_a_picture_end_at_the_boxes_they_join() -> None:
    """Beside each other and, with long labels, below each other."""
    for length in (5, 90):
        links = [Link("to", str(number)) for number in range(2, 5)]
        index = index_of(memory("1", *links), *(memory(str(number)) for number in range(2, 5)))
        found = walk(index, mem("a:1"))
        names = {node: node.name * length for node in (each.node for each in found.reached)}
        picture = graph_export.to_svg(found, names.__getitem__)
        root = ElementTree.fromstring(picture)
        boxes = [
            tuple(int(each.get(name, "0")) for name in ("x", "y", "width", "height"))
            for each in root
            if each.tag.endswith("rect")
        ][1:]
        paths = [each.get("d", "") for each in root if each.tag.endswith("path")]
        assert len(paths) == len(boxes) - 1
        for path, (x, y, _, height) in zip(paths, boxes[1:], strict=True):
            start_x, start_y, *_, end_x = map(int, re.findall(r"-?\d+", path))
            end_y = int(re.findall(r"V(-?\d+)", path)[0])
            assert end_x == x
            assert y < end_y < y + height
            left, top, wide, high = boxes[0]
            assert left <= start_x <= left + wide + 8
            assert top <= start_y <= top + high
            beyond = [int(value) for value in re.findall(r"H(-?\d+)", path)]
            assert max(start_x, *beyond) <= x


@pytest.mark.parametrize("hostile", hostile_values.ALL.values(), ids=hostile_values.ALL)
def test_hostile_labels_stay_text_in_every_export(hostile: str) -> None:
    index = index_of(memory("1", Link(hostile, "2")), memory("2"))
    found = walk(index, mem("a:1"))
    say = lambda _: hostile  # noqa: E731

    mermaid = graph_export.to_mermaid(found, say)
    assert len(mermaid.splitlines()) == 4
    for line in mermaid.splitlines()[1:3]:
        assert re.fullmatch(r'  n\d\["[^"\[\](){}<>&`\\;]*(#\d+;[^"\[\](){}<>&`\\;]*)*"\]', line), (
            line
        )

    dot = graph_export.to_dot(found, say)
    assert len(dot.splitlines()) == 7
    for line in dot.splitlines()[3:5]:
        assert re.fullmatch(r'  n\d \[shape=box, label="([^"\\]|\\\\|\\")*"\];', line), line

    root = ElementTree.fromstring(graph_export.to_svg(found, say))
    kinds = {element.tag.rpartition("}")[2] for element in root.iter()}
    assert kinds == {"svg", "rect", "path", "text"}


def test_a_drawing_that_would_be_too_wide_is_an_outline() -> None:
    """Links of a memory with ten neighbours showed one of them at 40 columns."""
    layout = lay_out(tree(), lambda node: f"{node.name}, a headline", width=40, height=5)
    check_no_overlap(layout)
    assert layout.width <= 40
    assert layout.height <= 5
    assert [node.row for node in layout.nodes] == list(range(len(layout.nodes)))
