"""The grammar of the query language: groups, positions, faults, and that no line can harm it."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from msgspec.structs import replace

from memtui import query as queries
from memtui.model import Link, Memory
from memtui.query import (
    Condition,
    Group,
    Operator,
    Sort,
    Term,
    TermKind,
    format_query,
    parse_query,
)
from memtui.search import columns, filters

NOW = datetime(2026, 11, 21, 12, 0, tzinfo=UTC)
PIECES = st.sampled_from(
    [
        *("a", "lease", "(", ")", '"', " ", " ", "-", "NOT ", "OR", " OR ", " AND ", "~", "*", "?"),
        *("/", "/fo+/", "type:", "type:bug", "tag:x", "is:pinned,stale", "since:7d", "until:2026"),
        *("created:>2026", "importance:>=medium", "sort:new,-importance", "prefer:bug", "--x"),
        *("-p", "http://x", "f(x", "x)", '"a b"', 'entity:"a b"', "->", "&", ":", "\\", "é", "日"),
        *("confidence:0.5..0.8", "tpye:x", "has:links", 'tag:"a, b",c'),
    ]
)
LINES = st.one_of(
    st.text(),
    st.lists(PIECES, max_size=14).map("".join),
    st.lists(PIECES, max_size=14).map(" ".join),
)


@pytest.mark.slow
@settings(max_examples=300)
@given(LINES)
def test_a_query_is_formatted_as_a_line_that_parses_to_it(line: str) -> None:
    query = parse_query(line, NOW)
    again = parse_query(format_query(query), NOW)
    unsaid: dict[str, Any] = {"hint": "", "matches_nothing": False, "problems": ()}
    assert replace(again, **unsaid) == replace(query, **unsaid)


@pytest.mark.slow
@settings(max_examples=200)
@given(LINES)
def test_no_line_lists_everything_by_accident(line: str) -> None:
    table = columns.build([Memory(ref="s:1", id="1", store="s", kind="fact", content="x")])
    query = parse_query(line, NOW)
    passing = filters.evaluate(table, query).passing
    if line.strip() and query.is_empty and query.sort is None and not query.prefer:
        assert query.hint
        assert not passing.any()


@pytest.mark.slow
@settings(max_examples=200)
@given(LINES)
def test_each_part_knows_its_place_in_the_line(line: str) -> None:
    query = parse_query(line, NOW)
    parts: list[Any] = [*query.terms, *query.conditions, *query.groups, *query.problems]
    for part in parts:
        start, end = part.span
        assert (start, end) == (-1, -1) or 0 <= start < end <= len(line)
    for token in queries.tokenize(line):
        assert 0 <= token.start < token.end <= len(line)


@pytest.mark.parametrize(
    "piece",
    [
        "(",
        ")",
        "-",
        '"',
        "a:",
        "type:a ",
        "/",
        "/\\",
        "(a OR ",
        "NOT ",
        "~",
        "tyype:x ",
        "-(",
        "*a",
    ],
)
def test_a_long_line_of_one_piece_is_parsed(piece: str) -> None:
    parse_query(piece * 20_000, NOW, typing=True)


def test_groups_keep_their_structure() -> None:
    query = parse_query("(a OR b) -cat type:bug", NOW)
    assert query.groups == (Group(Operator.ANY, (Term("a"), Term("b"))),)
    assert query.terms == (Term("cat", negated=True),)
    assert query.conditions == (Condition("type", ("bug",)),)
    assert query.groups[0].span == (1, 7)


def test_and_binds_closer_than_or_and_a_blank_joins_words() -> None:
    [group] = parse_query("a AND b OR c d", NOW).groups
    assert group.operator is Operator.ANY
    assert [getattr(part, "operator", None) for part in group.parts] == [
        Operator.ALL,
        Operator.SEQUENCE,
    ]


@pytest.mark.parametrize("line", ["*", "~", '""', "-", "()", "* ?", "-()", "( )", "**", "--"])
def test_marks_alone_find_nothing_and_say_so(line: str) -> None:
    query = parse_query(line, NOW)
    assert query.matches_nothing
    assert query.hint


@pytest.mark.parametrize(
    ("line", "term"),
    [
        ("->", Term("->")),
        ("*word", Term("*word", TermKind.WILDCARD)),
        ("*part*", Term("*part*", TermKind.WILDCARD)),
        ('"src/a.py"', Term("src/a.py", TermKind.PHRASE)),
        ("NOT -x", Term("-x", negated=True)),
        ("NOT 7zip", Term("7zip", negated=True)),
        ("-~mood", Term("mood", TermKind.MEANING, negated=True)),
        ("what?", Term("what?")),
    ],
)
def test_terms(line: str, term: Term) -> None:
    assert parse_query(line, NOW).terms == (term,)


def test_keys_of_an_order_follow_each_other() -> None:
    query = parse_query("sort:importance,-new", NOW)
    assert (query.sort, query.then) == (Sort.IMPORTANCE, (Sort.OLD,))


def test_a_comparison_of_importance_is_its_values() -> None:
    assert parse_query("importance:>=medium", NOW).conditions == (
        Condition("importance", ("high", "medium")),
    )


def memory(**values: object) -> Memory:
    defaults: dict[str, object] = {"ref": "s:1", "id": "1", "store": "s", "kind": "fact"}
    return Memory(**{**defaults, **values})  # type: ignore[arg-type]


OLD = datetime(2026, 5, 15, tzinfo=UTC)


@pytest.mark.parametrize(
    ("line", "values", "passes"),
    [
        ("type:a OR tag:x", {"type": "a"}, True),
        ("type:a OR tag:x", {"tags": ("x",)}, True),
        ("type:a OR tag:x", {"type": "b"}, False),
        ("tag:a AND tag:b", {"tags": ("a",)}, False),
        ("tag:a AND tag:b", {"tags": ("a", "b")}, True),
        ("-(type:a OR tag:x)", {"type": "b"}, True),
        ("NOT (type:a OR tag:x)", {"tags": ("x",)}, False),
        ("-(-type:a)", {"type": "a"}, True),
        ("(type:a -tag:x) OR pinned:yes", {"type": "a", "tags": ("x",)}, False),
        ("status:retired OR type:b", {"status": "retired"}, True),
        ("type:d*", {"type": "decision"}, True),
        ("tag:in*", {"tags": ("infra",)}, True),
        ("has:tags", {"tags": ("infra",)}, True),
        ("is:untyped", {}, True),
        ("is:stale", {"created": OLD}, True),
        ("is:stale", {"created": OLD, "pinned": True}, False),
        ("is:pinned,stale", {"created": OLD, "pinned": True}, True),
        ("created:2026-05", {"created": OLD}, True),
        ("created:2026-04", {"created": OLD}, False),
        ("created:2026-05..2026-06", {"created": OLD}, True),
        ("created:<2026-05", {"created": OLD}, False),
        ("created:<=2026-05", {"created": OLD}, True),
        ("created:>2026-05", {"created": OLD}, False),
        ("since:2026-05", {"created": OLD}, True),
        ("until:2026-05", {"created": OLD}, True),
        ("until:2026-05-15", {"created": OLD.replace(hour=23)}, True),
        ("before:2026-05", {"created": OLD}, False),
        ("after:2026-05", {"created": OLD}, False),
        ("updated:2026-05", {"created": OLD, "updated": NOW}, False),
        ("since:yesterday", {"created": NOW.replace(day=20, hour=1)}, True),
        ("since:yesterday", {"created": NOW.replace(day=19)}, False),
        ("created:last-week", {"created": NOW.replace(day=15)}, True),
        ("created:this-month", {"created": NOW}, True),
        ("created:friday", {"created": NOW.replace(day=20)}, True),
    ],
)
def test_filters(line: str, values: dict[str, object], passes: bool) -> None:
    query = parse_query(line, NOW)
    assert not query.problems
    assert filters.evaluate(columns.build([memory(**values)]), query).passing.tolist() == [passes]


def test_unused_are_those_without_a_use_where_uses_are_counted() -> None:
    rows = columns.build(
        [
            memory(id="1", extra={"access_count": 2}),
            memory(id="2"),
            memory(id="3", status="retired"),
            memory(id="4", store="counts-nothing"),
        ]
    )
    for line, passes in (("is:unused", [0, 1, 0, 0]), ("-is:unused", [1, 0, 0, 1])):
        assert filters.evaluate(rows, parse_query(line, NOW)).passing.tolist() == passes


def test_a_comma_in_quotes_is_part_of_the_value() -> None:
    """`content:"quiet, hours"` found what had one of the words, and no line named `smith, j`."""
    for line, values in {
        'content:"quiet, hours"': ("quiet, hours",),
        'entity:"smith, j",alice': ("smith, j", "alice"),
        'entity:alice,"smith, j': ("alice", "smith, j"),
    }.items():
        query = parse_query(line, NOW)
        assert [part.values for part in query.conditions] == [values]
        assert parse_query(format_query(query), NOW) == query


def test_marked_memories_take_the_place_of_is_marked() -> None:
    query = parse_query("x -is:marked", NOW)
    resolved = queries.resolve_marked(query, lambda: ["s:1"])
    assert resolved.conditions == (Condition("ref", ("s:1",), negated=True),)


def test_an_unknown_type_names_the_nearest() -> None:
    table = columns.build([memory(type="decision", links=(Link("x", "y"),))])
    said = filters.describe_unknown_value(table, parse_query("type:decison", NOW))
    assert said == "no memory has type 'decison'; did you mean decision?"


def test_the_start_of_a_name_names_what_begins_so() -> None:
    table = columns.build([memory(store=name) for name in ("agent-notes", "agent-memory")])
    said = filters.describe_unknown_value(table, parse_query("store:agent", NOW))
    assert said == "no memory has store 'agent'; did you mean agent-notes?"


@pytest.mark.parametrize(
    ("line", "found"),
    [
        ("store:claude", ["claude-code"]),
        ("-store:claude", ["agent-memory", "agent-notes"]),
        ("store:agent-m", ["agent-memory"]),
        ("store:agent", []),  # two begin so
    ],
)
def test_the_start_of_a_label_stands_for_the_only_store_that_has_it(
    line: str, found: list[str]
) -> None:
    stores = ["agent-memory", "agent-notes", "claude-code"]
    table = columns.build([memory(store=name) for name in stores])
    passing = filters.evaluate(table, parse_query(line, NOW)).passing
    assert [name for name, passes in zip(stores, passing, strict=True) if passes] == found
    if found:
        assert not filters.describe_unknown_value(table, parse_query(line, NOW))
