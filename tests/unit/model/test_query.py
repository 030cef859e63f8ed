"""The query language: what is typed is understood, and nothing that is typed can break it."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memtui import query as queries
from memtui.errors import QueryError
from memtui.model import Memory
from memtui.query import Condition, Sort, Term, TermKind, format_query, parse_query
from memtui.search import columns, filters

NOW = datetime(2026, 11, 21, 12, 0, tzinfo=UTC)


def read(text: str, *, typing: bool = False) -> queries.Query:
    return parse_query(text, NOW, typing=typing)


def test_the_example_of_the_design_is_understood() -> None:
    query = read('auth type:decision importance:high since:7d -redis "exact words" entity:alice')
    assert query.terms == (
        Term("auth"),
        Term("redis", negated=True),
        Term("exact words", TermKind.PHRASE),
    )
    assert query.conditions == (
        Condition("type", ("decision",)),
        Condition("importance", ("high",)),
        Condition("entity", ("alice",)),
    )
    assert query.since is not None
    assert query.since.time == NOW - timedelta(days=7)
    assert query.hint == ""


def test_the_last_word_is_a_prefix_only_while_it_is_typed() -> None:
    begun = Term("jw", TermKind.PREFIX, is_open=True)
    assert read("use jw", typing=True).terms == (Term("use"), begun)
    assert read("use jw ", typing=True).terms == (Term("use"), Term("jw"))
    assert read("use jw").terms == (Term("use"), Term("jw"))
    assert read("use -jw", typing=True).terms == (Term("use"), Term("jw", negated=True))


@pytest.mark.parametrize(
    ("text", "term"),
    [
        ("auth*", Term("auth", TermKind.PREFIX)),
        ("3.*", Term("3.*", TermKind.WILDCARD)),
        ("w?rd", Term("w?rd", TermKind.WILDCARD)),
        ("a*b", Term("a*b", TermKind.WILDCARD)),
        ("colour~", Term("colour", TermKind.FUZZY)),
        ("colour~2", Term("colour", TermKind.FUZZY)),
        ("~mood", Term("mood", TermKind.MEANING)),
        ('"two words"', Term("two words", TermKind.PHRASE)),
        ('"one"', Term("one", TermKind.PHRASE)),
        ('-"two words"', Term("two words", TermKind.PHRASE, negated=True)),
        ("http://x.example/a", Term("http://x.example/a")),
        ("日本", Term("日本")),
    ],
)
def test_marks_of_a_word(text: str, term: Term) -> None:
    assert read(text).terms == (term,)


def test_values_of_one_field_add_up_and_fields_may_leave_out() -> None:
    query = read("type:decision type:Bug,untyped -store:ambient")
    assert query.conditions == (
        Condition("type", ("decision", "bug", "")),
        Condition("store", ("ambient",), negated=True),
    )


@pytest.mark.parametrize("text", ["importance:hgih", "since:yesterdayish", "sort:loudest", "type:"])
def test_a_filter_that_means_nothing_is_said_and_never_becomes_a_word(text: str) -> None:
    query = read(f"{text} auth")
    assert query.hint
    assert query.terms == (Term("auth"),)
    assert query.error is not None
    assert query.error.span == (0, len(text))
    assert query.conditions == ()


def test_a_filter_being_typed_is_neither_a_word_nor_an_error() -> None:
    query = read("auth importance:hi", typing=True)
    assert [term.text for term in query.terms] == ["auth"]
    assert query.conditions == ()


def test_an_open_quote_is_a_phrase_still_being_typed() -> None:
    assert read('"two wor', typing=True).terms == (Term("two wor", TermKind.PHRASE),)


def test_order_is_relevance_with_text_and_newest_without() -> None:
    assert read("auth").order is Sort.RELEVANCE
    assert read("type:decision").order is Sort.NEW
    assert read("-auth").order is Sort.NEW
    assert read("auth sort:old").order is Sort.OLD


@pytest.mark.parametrize(
    ("text", "time"),
    [
        ("30m", NOW - timedelta(minutes=30)),
        ("24h", NOW - timedelta(hours=24)),
        ("2w", NOW - timedelta(weeks=2)),
        ("9mo", NOW - timedelta(days=270)),  # as the list writes ages
        ("2026-03-01", datetime(2026, 3, 1, tzinfo=UTC)),
        ("2026-03-01T10:00:00+02:00", datetime(2026, 3, 1, 8, tzinfo=UTC)),
    ],
)
def test_times(text: str, time: datetime) -> None:
    assert queries.parse_time(text, NOW).time == time


@pytest.mark.parametrize("text", ["", "soon", "7", "d7", "2026-13-01", "999999y"])
def test_times_that_mean_nothing_are_refused_with_advice(text: str) -> None:
    with pytest.raises(QueryError):
        queries.parse_time(text, NOW)


def test_a_wrong_value_names_the_nearest_right_one() -> None:
    with pytest.raises(QueryError, match="did you mean high"):
        queries.parse_condition("importance", "hihg")


def memory(**values: object) -> Memory:
    defaults: dict[str, object] = {"ref": "s:1", "id": "1", "store": "s", "kind": "fact"}
    return Memory(**{**defaults, **values})  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("text", "values", "passes"),
    [
        ("", {"status": "superseded"}, False),
        ("", {"status": "proposed"}, True),
        ("status:all", {"status": "deleted"}, True),
        ("status:superseded", {"status": "superseded"}, True),
        ("type:untyped", {}, True),
        ("type:decision", {"type": "Decision"}, True),
        ("-type:decision", {"type": "decision"}, False),
        ("entity:alice", {"entity": "people/alice"}, True),
        ("entity:people", {"entity": "people/alice"}, True),
        ("entity:people/alice", {"entity": "people/alice"}, True),
        ("entity:ali", {"entity": "people/alice"}, True),
        ("entity:bob", {"entity": "people/alice"}, False),
        ("tag:Ops", {"tags": ("ops",)}, True),
        ("pinned:yes", {}, False),
        ("pinned:no", {}, True),
        ("since:7d", {"created": NOW - timedelta(days=8)}, False),
        ("since:7d", {"created": NOW - timedelta(days=8), "updated": NOW}, True),
        ("since:7d", {}, False),
        ("until:7d", {"created": NOW}, False),
    ],
)
def test_filters(text: str, values: dict[str, object], passes: bool) -> None:
    passing = filters.evaluate(columns.build([memory(**values)]), read(text)).passing
    assert passing.tolist() == [passes]


@given(st.text())
def test_no_text_breaks_the_parser(text: str) -> None:
    for typing in (False, True):
        query = parse_query(text, NOW, typing=typing)
        assert len(filters.evaluate(columns.build([memory(content=text)]), query).passing) == 1


_WORDS = st.text(alphabet="abcdefghijklmnopqrstuvwxyz0123456789äé日", min_size=1, max_size=8)
_TERMS = st.one_of(
    st.builds(Term, _WORDS, st.sampled_from([TermKind.WORD, TermKind.PREFIX, TermKind.MEANING])),
    st.builds(Term, _WORDS, st.just(TermKind.WORD), st.booleans()),
    st.builds(
        Term, st.tuples(_WORDS, _WORDS).map(" ".join), st.just(TermKind.PHRASE), st.booleans()
    ),
)
_VALUES = st.lists(
    st.one_of(_WORDS, st.tuples(_WORDS, _WORDS).map(" ".join)), min_size=1, max_size=2, unique=True
).map(tuple)
_CONDITIONS = st.lists(
    st.one_of(
        st.builds(Condition, st.sampled_from(["type", "entity", "store", "tag"]), _VALUES),
        st.builds(Condition, st.just("importance"), st.just(("high", "low")), st.booleans()),
        st.builds(Condition, st.just("status"), st.just(("all",))),
    ),
    unique_by=lambda part: (part.field, part.negated),
)


@pytest.mark.slow
@given(st.lists(_TERMS), _CONDITIONS, st.sampled_from([None, *Sort]))
def test_a_query_is_shown_as_the_line_that_gives_it_back(
    terms: list[Term], conditions: list[Condition], sort: Sort | None
) -> None:
    query = queries.Query(tuple(terms), tuple(conditions), sort=sort)
    assert parse_query(format_query(query), NOW) == query
