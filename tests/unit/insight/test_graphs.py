"""A neighbourhood as a tree: what is below what, circles, two stores."""

from __future__ import annotations

from datetime import UTC, datetime

from memtui.insight.traversal import Direction, Neighbourhood, tree_rows
from memtui.model import Link
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
