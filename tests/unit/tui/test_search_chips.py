"""What becomes of the filters of a search line when enter makes chips of them."""

from __future__ import annotations

import pytest
from hypothesis import example, given
from msgspec.structs import replace

from memtui import query as queries
from memtui.query import Group, Node, Operator, Query, Term, TermKind
from memtui.tui.view_state import ViewState
from tests.unit.model.test_query_grammar import LINES, NOW


def finished(node: Node) -> Node:
    """The node with its words ended, as the parentheses around a group end the last one."""
    if isinstance(node, Group):
        return replace(node, parts=tuple(map(finished, node.parts)))
    if isinstance(node, Term) and node.kind is TermKind.PREFIX:
        return replace(node, kind=TermKind.WORD, is_open=False)
    return node


def asked_nodes(query: Query) -> set[Node]:
    """All that is asked; a group of which every part must hold is its parts."""
    nodes: set[Node] = set()
    for node in map(finished, (*query.conditions, *query.terms, *query.groups)):
        is_flat = isinstance(node, Group) and node.operator is Operator.ALL and not node.negated
        nodes |= set(node.parts) if is_flat else {node}
    return nodes


@given(LINES)
@example("0 AND /0/ PREFER:0 1")
@example("0 /0/")
@example("(0 AND since:2d) since:1d")
@example("type:a (0 AND type:b)")
@example("/0/ (0 AND SINCE:0D")
def test_chips_ask_what_the_line_asked_and_can_all_be_removed(line: str) -> None:
    settled = ViewState(line).settled(NOW)
    asked, now_asked = ViewState(line).query(NOW), settled.query(NOW)
    assert asked_nodes(now_asked) == asked_nodes(asked)
    assert (now_asked.since, now_asked.until) == (asked.since, asked.until)
    left = settled
    for chip in settled.chip_list():
        left = left.without(chip.key)
    assert not left.is_filtered
    assert not left.chip_list()


@pytest.mark.parametrize(
    ("line", "text", "values"),
    [
        ("(type:decision OR is:linked) lease", "lease", ["(type:decision OR is:linked)"]),
        ("-(type:decision has:tags)", "", ["-(type:decision has:tags)"]),
        ("(lease OR queue) type:decision", "(lease OR queue)", ["decision"]),
        ("(lease OR type:decision)", "(lease OR type:decision)", []),
        ("lease OR sort:new que", "lease OR que", ["newest first"]),
    ],
)
def test_a_group_of_filters_is_one_chip_and_one_with_words_stays(
    line: str, text: str, values: list[str]
) -> None:
    settled = ViewState(line).settled(NOW)
    assert settled.text == text
    assert [chip.value for chip in settled.chip_list()] == values


@pytest.mark.parametrize(
    ("line", "advice"),
    [
        ("is:secret", "has:secret"),
        ("is:secrets", "has:secret"),
        ("has:linked", "is:linked"),
        ("has:pinned", "is:pinned"),
        ("is:stael", "stale"),
    ],
)
def test_a_property_asked_with_the_other_word_names_the_right_one(line: str, advice: str) -> None:
    error = queries.parse_query(line, NOW).error
    assert error is not None
    assert f"did you mean {advice}?" in error.text


@pytest.mark.parametrize(
    ("line", "words"),
    [
        ("since:7d", "last 7d"),
        ("since:24h", "last 24h"),
        ("since:yesterday", "since yesterday"),
        ("since:today", "since today"),
        ('since:"last month"', "since last month"),
        ("since:2026-11-01", "since 2026-11-01"),
    ],
)
def test_only_a_length_of_time_is_called_the_last(line: str, words: str) -> None:
    (chip,) = ViewState(line).settled(NOW).chip_list()
    assert chip.value == words
