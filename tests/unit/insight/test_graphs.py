"""Drawing and exporting a neighbourhood: tree, circle, two stores, hostile labels."""

from __future__ import annotations

import re
from datetime import UTC, datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memtui.insight import traversal
from memtui.insight.traversal import Direction, Neighbourhood, tree_rows
from memtui.model import Link
from memtui.testing import hostile_values
from tests.unit.insight.test_links import index_of, mem, memory, walk


def tree() -> Neighbourhood:
    index = index_of(
        memory("root", Link("has", "left"), Link("has", "right")),
        memory("left", Link("has", "leaf1"), Link("has", "leaf2")),
        memory("right"),
        *(memory(f"leaf{n}") for n in (1, 2)),
        memory("above", Link("made", "root")),
    )
    return walk(index, mem("a:root"), depth=2)


def drawn(found: Neighbourhood) -> list[str]:
    return [f"{row.guide}{row.relation}{row.reached.node.name}" for row in tree_rows(found)]


def test_a_tree_has_each_node_below_the_one_it_was_reached_from() -> None:
    assert drawn(tree()) == [
        "a:root",
        "├──has▶ a:left",
        "│ ├──has▶ a:leaf1",
        "│ └──has▶ a:leaf2",
        "├──has▶ a:right",
        "└─◀made─ a:above",
    ]
    assert [row.parent for row in tree_rows(tree())] == [-1, 0, 1, 1, 0, 0]


def test_a_link_that_is_stated_twice_is_drawn_once() -> None:
    since = datetime(2026, 11, 1, tzinfo=UTC)
    new = memory("new", Link("supersedes", "old", since, note="judged"), supersedes=("old",))
    index = index_of(new, memory("old", superseded_by=("new",)))
    found = walk(index, mem("a:new"), depth=2)
    assert drawn(found) == ["a:new", "└──supersedes▶ a:old"]
    assert len(found.edges) == 1


def test_a_circle_is_drawn_once_and_its_last_link_is_known() -> None:
    index = index_of(
        memory("1", Link("to", "2")), memory("2", Link("to", "3")), memory("3", Link("to", "1"))
    )
    found = walk(index, mem("a:1"), depth=5, direction=Direction.OUT)
    assert drawn(found) == ["a:1", "└──to▶ a:2", "  └──to▶ a:3"]
    assert len(found.edges) == 3


def test_two_stores_are_in_one_graph() -> None:
    index = index_of(memory("1", Link("relates_to", "b:1")), memory("1", store="b"))
    assert drawn(walk(index, mem("b:1"))) == ["b:1", "└─◀relates_to─ a:1"]


def unescaped(mermaid: str) -> str:
    return re.sub(r"#(\d+);", lambda code: chr(int(code[1])), mermaid)


@pytest.mark.slow
@given(st.text(max_size=80), st.text(max_size=80), st.text(min_size=1, max_size=30))
def test_every_label_is_read_back_from_every_export(one: str, other: str, relation: str) -> None:
    """By a parser of each format: the nodes, the edge between them, and nothing else."""
    index = index_of(memory("1", Link(relation, "2")), memory("2"))
    found = walk(index, mem("a:1"))
    names = {mem("a:1"): one, mem("a:2"): other}
    labels = [traversal._clean(names[each.node]) for each in found.reached]
    relations = [traversal._clean(edge.relation) for edge in found.edges]

    nodes = re.findall(r'^  n\d\["(.*)"\]$', traversal.to_mermaid(found, names.__getitem__), re.M)
    arrows = re.findall(
        r'^  n0 -->\|"(.*)"\| n1$', traversal.to_mermaid(found, names.__getitem__), re.M
    )
    assert [unescaped(label) for label in nodes] == labels
    assert [unescaped(label) for label in arrows] == [name or " " for name in relations]

    quoted = r'"((?:[^"\\]|\\.)*)"'
    statement = rf"  n\d(?: -> n\d)? \[(?:shape=box, )?label={quoted}\];\n"
    dot = traversal.to_dot(found, names.__getitem__)
    head = 'digraph memories {\n  rankdir=LR;\n  node [fontname="sans-serif"];\n'
    assert re.fullmatch(re.escape(head) + rf"(?:{statement})*}}\n", dot)
    read = [re.sub(r"\\(.)", r"\1", text) for text in re.findall(statement, dot)]
    assert read == [*labels, *relations]


@pytest.mark.parametrize("hostile", hostile_values.ALL.values(), ids=hostile_values.ALL)
def test_hostile_labels_stay_text_in_every_export(hostile: str) -> None:
    index = index_of(memory("1", Link(hostile, "2")), memory("2"))
    found = walk(index, mem("a:1"))
    say = lambda _: hostile  # noqa: E731

    mermaid = traversal.to_mermaid(found, say)
    assert len(mermaid.splitlines()) == 4
    for line in mermaid.splitlines()[1:3]:
        assert re.fullmatch(r'  n\d\["[^"\[\](){}<>&`\\;]*(#\d+;[^"\[\](){}<>&`\\;]*)*"\]', line), (
            line
        )

    dot = traversal.to_dot(found, say)
    assert len(dot.splitlines()) == 7
    for line in dot.splitlines()[3:5]:
        assert re.fullmatch(r'  n\d \[shape=box, label="([^"\\]|\\\\|\\")*"\];', line), line
