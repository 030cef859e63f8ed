"""The query language in detail: what each form of a time, number, filter and group stands for."""

from __future__ import annotations

import math
from collections import Counter
from datetime import UTC, datetime, timedelta, timezone

import pytest

from memtui import query as queries
from memtui.errors import QueryError
from memtui.query import (
    Condition,
    Group,
    Operator,
    Query,
    Range,
    Sort,
    Term,
    TermKind,
    TimeCondition,
    parse_period,
    parse_query,
    parse_time,
    parse_time_end,
    parser,
    query_fields,
)
from memtui.query.parser import TokenKind
from memtui.query.periods import parse_time_range

NOW = datetime(2026, 11, 21, 12, 30, 15, tzinfo=UTC)
"""A Saturday."""
INF = math.inf


def day(text: str) -> datetime:
    return datetime.fromisoformat(text).replace(tzinfo=UTC)


# ---- times -----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "start", "end"),
    [
        ("2026", "2026-01-01", "2027-01-01"),
        ("2026-05", "2026-05-01", "2026-06-01"),
        ("2026-12", "2026-12-01", "2027-01-01"),
        ("2026-1", "2026-01-01", "2026-02-01"),
        ("2026-05-03", "2026-05-03", "2026-05-04"),
        ("2026-05-03T10:00", "2026-05-03T10:00", "2026-05-03T10:01"),
        ("2026-05-03 10:00", "2026-05-03T10:00", "2026-05-03T10:01"),
        ("2026-05-03T10:00:07", "2026-05-03T10:00:07", "2026-05-03T10:00:08"),
        ("2026-05-03t10:00+02:00", "2026-05-03T08:00", "2026-05-03T08:00:01"),
        ("today", "2026-11-21", "2026-11-22"),
        ("Yesterday ", "2026-11-20", "2026-11-21"),
        ("saturday", "2026-11-21", "2026-11-22"),
        ("sunday", "2026-11-15", "2026-11-16"),
        ("monday", "2026-11-16", "2026-11-17"),
        ("friday", "2026-11-20", "2026-11-21"),
        ("november", "2026-11-01", "2026-12-01"),
        ("december", "2025-12-01", "2026-01-01"),
        ("january", "2026-01-01", "2026-02-01"),
        ("this-week", "2026-11-16", "2026-11-23"),
        ("last week", "2026-11-09", "2026-11-16"),
        ("this-month", "2026-11-01", "2026-12-01"),
        ("last-month", "2026-10-01", "2026-11-01"),
        ("this-year", "2026-01-01", "2027-01-01"),
        ("last-year", "2025-01-01", "2026-01-01"),
    ],
)
def test_a_period_has_a_start_and_an_end(text: str, start: str, end: str) -> None:
    period = parse_period(text, NOW)
    assert (period.start, period.end) == (day(start), day(end))
    assert not period.is_moment
    assert parse_time(text, NOW) == (text, day(start))
    assert parse_time_end(text, NOW) == (text, day(end) - timedelta(microseconds=1))


def test_last_month_in_january_is_december() -> None:
    assert parse_period("last-month", day("2026-01-31")).start == day("2025-12-01")
    assert parse_period("this-month", day("2026-12-31")).end == day("2027-01-01")


@pytest.mark.parametrize(
    ("text", "seconds"),
    [
        ("now", 0),
        ("30m", 1800),
        ("24h", 86400),
        ("7d", 7 * 86400),
        ("2w", 14 * 86400),
        ("3mo", 90 * 86400),
        ("1y", 365 * 86400),
        ("3 days ago", 3 * 86400),
        ("1-month-ago", 30 * 86400),
        ("5 minutes ago", 300),
        ("1 hour ago", 3600),
        ("2 weeks ago", 14 * 86400),
        ("1 year ago", 365 * 86400),
    ],
)
def test_a_span_before_now_is_a_moment(text: str, seconds: int) -> None:
    moment = NOW - timedelta(seconds=seconds)
    period = parse_period(text, NOW)
    assert (period.start, period.end, period.is_moment) == (moment, moment, True)
    assert parse_time(text, NOW).time == parse_time_end(text, NOW).time == moment
    # From then on, with or without a sign for it.
    assert parse_time_range(text, NOW) == Range(moment.timestamp(), INF)


def test_days_are_those_of_utc() -> None:
    late = datetime(2026, 11, 21, 1, tzinfo=timezone(timedelta(hours=3)))
    assert parse_period("today", late).start == day("2026-11-20")


def test_the_end_of_time_is_a_time() -> None:
    last = datetime.max.replace(tzinfo=UTC)
    assert parse_period("9999", NOW).end == last
    assert parse_period("9999-12", NOW).end == last
    assert parse_period("9999-12-31", NOW).end == last
    assert parse_period("9999-11", NOW).end == day("9999-12-01")


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("999999y", "out of range"),
        ("0001-01-01T00:00+05:00", "out of range"),
        ("2026-13", "not a time"),
        ("2026-02-30", "not a time"),
        ("someday", "not a time"),
        ("", "not a time"),
    ],
)
def test_what_is_no_time_says_so(text: str, says: str) -> None:
    with pytest.raises(QueryError, match=says):
        parse_period(text, NOW)


MAY, JUNE, JULY = (day(f"2026-0{month}-01").timestamp() for month in (5, 6, 7))


@pytest.mark.parametrize(
    ("text", "low", "high"),
    [
        ("2026-05", MAY, JUNE),
        ("=2026-05", MAY, JUNE),
        (">2026-05", JUNE, INF),
        (">=2026-05", MAY, INF),
        ("<2026-05", -INF, MAY),
        ("<=2026-05", -INF, JUNE),
        ("2026-05..2026-06", MAY, JULY),
        ("2026-05..", MAY, INF),
        ("2026-05..*", MAY, INF),
        ("..2026-05", -INF, JUNE),
        ("*..2026-05", -INF, JUNE),
    ],
)
def test_ranges_of_time(text: str, low: float, high: float) -> None:
    assert parse_time_range(text, NOW) == (low, high)
    assert queries.parse_condition("created", text, now=NOW).ranges == (Range(low, high),)


@pytest.mark.parametrize("text", ["..", "*..*", " .. "])
def test_a_range_without_ends_is_refused(text: str) -> None:
    with pytest.raises(QueryError, match="not a time"):
        parse_time_range(text, NOW)


def test_a_doubled_sign_is_no_comparison() -> None:
    with pytest.raises(QueryError, match="'>>' is not a comparison"):
        parse_time_range(">>2026", NOW)


@pytest.mark.parametrize(
    ("name", "low", "high"),
    [("since", MAY, INF), ("after", JUNE, INF), ("before", -INF, MAY)],
)
def test_filters_of_one_time(name: str, low: float, high: float) -> None:
    assert queries.parse_condition(name, "2026-05", now=NOW).ranges == (Range(low, high),)
    for text in (">2026", "<2026", "=2026", "2025..2026"):
        with pytest.raises(QueryError, match=f"{name}: takes one time"):
            queries.parse_condition(name, text, now=NOW)


def test_until_holds_its_last_moment() -> None:
    [found] = queries.parse_condition("until", "2026-05", now=NOW).ranges
    last = (day("2026-06-01") - timedelta(microseconds=1)).timestamp()
    assert (found.low, found.high) == (-INF, math.nextafter(last, INF))


# ---- numbers and ordered values --------------------------------------------------------------


def above(number: float) -> float:
    return math.nextafter(number, INF)


@pytest.mark.parametrize(
    ("text", "low", "high"),
    [
        (">0.7", above(0.7), INF),
        (">=0.7", 0.7, INF),
        ("<0.7", -INF, 0.7),
        ("<=0.7", -INF, above(0.7)),
        ("0.7", 0.7, above(0.7)),
        ("=0.7", 0.7, above(0.7)),
        ("0.5..0.8", 0.5, above(0.8)),
        ("0.5..", 0.5, INF),
        ("*..0.8", -INF, above(0.8)),
        ("..0.8", -INF, above(0.8)),
    ],
)
def test_ranges_of_numbers(text: str, low: float, high: float) -> None:
    assert queries.parse_condition("confidence", text).ranges == (Range(low, high),)


@pytest.mark.parametrize("text", ["high", ">", "nan", "inf", "-inf", "0.5..much"])
def test_what_is_no_number_says_so(text: str) -> None:
    with pytest.raises(QueryError, match="not a number"):
        queries.parse_condition("confidence", text)


@pytest.mark.parametrize(
    ("text", "values"),
    [
        ("high", ("high",)),
        (">=medium", ("high", "medium")),
        (">medium", ("high",)),
        ("<=medium", ("medium", "low")),
        ("<medium", ("low",)),
        ("=medium", ("medium",)),
        ("medium..high", ("high", "medium")),
        ("high..medium", ("high", "medium")),
        ("..medium", ("medium", "low")),
        ("*..medium", ("medium", "low")),
        ("medium..", ("high", "medium")),
        ("high..high", ("high",)),
        ("medium,>=medium", ("medium", "high")),
    ],
)
def test_comparisons_of_importance(text: str, values: tuple[str, ...]) -> None:
    assert queries.parse_condition("importance", text).values == values


@pytest.mark.parametrize("text", [">high", "<low"])
def test_a_comparison_that_nothing_meets_is_refused(text: str) -> None:
    with pytest.raises(QueryError, match=f"no importance is {text}"):
        queries.parse_condition("importance", text)


# ---- filters ---------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("name", "text", "condition"),
    [
        ("type", 'Decision,"a, b",decision', Condition("type", ("decision", "a, b"))),
        ("type", "untyped,bug", Condition("type", ("", "bug"))),
        ("type", " bug ,, ", Condition("type", ("bug",))),
        ("pinned", "true", Condition("pinned", ("yes",))),
        ("pinned", "ON,0", Condition("pinned", ("yes", "no"))),
        ("pinned", "off", Condition("pinned", ("no",))),
        ("is", "pinned", Condition("pinned", ("yes",))),
        ("is", "superseded", Condition("status", ("superseded",))),
        ("is", "untyped", Condition("type", ("",))),
        ("is", "pinned,linked", Condition("is", ("pinned", "linked"))),
        ("is", "marked", Condition("is", ("marked",))),
        ("has", "links", Condition("has", ("links",))),
    ],
)
def test_conditions(name: str, text: str, condition: Condition) -> None:
    assert queries.parse_condition(name, text) == condition


def test_stale_is_half_a_year_without_a_change() -> None:
    limit = (NOW - timedelta(days=180)).timestamp()
    assert queries.parse_condition("is", "stale", now=NOW).ranges == (Range(high=limit),)
    excluded = queries.parse_condition("is", "stale", negated=True, now=NOW)
    assert (excluded.negated, excluded.ranges) == (True, (Range(high=limit),))


@pytest.mark.parametrize(
    ("name", "text", "says"),
    [
        ("type", "", "type: needs a value"),
        ("pinned", ",", "such as pinned:yes"),
        ("since", "", "such as since:7d"),
        ("title", '""', "such as title:..."),
        ("importance", "hihg", "did you mean high"),
        ("is", "pined", "did you mean pinned"),
        ("is", "secret", "has:secret"),
        ("has", "stale", "is:stale"),
        ("status", "x" * 5000, "status"),
        ("is", "tags", "has:tags"),
    ],
)
def test_a_value_that_a_field_cannot_have(name: str, text: str, says: str) -> None:
    with pytest.raises(QueryError) as raised:
        queries.parse_condition(name, text)
    assert says in str(raised.value)
    assert len(str(raised.value)) < 300


@pytest.mark.parametrize(
    ("name", "field"),
    [
        ("tpye", "type"),
        ("typ", "type"),
        ("imprtance", "importance"),
        ("importnce", "importance"),
        ("imprtnce", "importance"),  # two letters missing
        ("imptnce", ""),  # three
        ("staus", "status"),
        ("sttus", "status"),
        ("satsu", ""),  # two edits of a short name
        ("entiyt", "entity"),
        ("note", ""),
        ("todo", ""),
        ("std", ""),
        ("si", ""),
        ("a" * 40, ""),
    ],
)
def test_misspelt_fields(name: str, field: str) -> None:
    assert query_fields.suggest_field(name) == field


def test_a_misspelt_field_is_said_in_the_search_line() -> None:
    query = parse_query("tpye:bug lease", NOW)
    assert "did you mean type:?" in query.hint
    assert query.terms == (Term("lease"),)
    assert parse_query("note:bug", NOW).terms == (Term("note:bug"),)


def test_keys_of_an_order() -> None:
    assert queries.parse_sort("new,-importance,new") == (Sort.NEW, Sort.LEAST_IMPORTANT)
    assert queries.parse_sort("-new,-old") == (Sort.OLD, Sort.NEW)
    with pytest.raises(QueryError):
        queries.parse_sort("loud")


def test_regular_expressions() -> None:
    assert queries.query_fields.parse_regex("a+") == Condition("regex", ("a+",))
    assert query_fields.parse_regex("a+", negated=True).negated
    longest = query_fields.LONGEST_REGEX
    assert query_fields.parse_regex("a" * longest).values == ("a" * longest,)
    with pytest.raises(QueryError, match="longer than"):
        query_fields.parse_regex("a" * (longest + 1))
    with pytest.raises(QueryError, match="not a regular expression"):
        query_fields.parse_regex("a(")


# ---- the line --------------------------------------------------------------------------------


def negated(text: str, kind: TermKind = TermKind.WORD) -> Term:
    return Term(text, kind, negated=True)


A, B, C, D = (Term(letter) for letter in "abcd")


@pytest.mark.parametrize(
    ("line", "parts"),
    [
        ("a OR b", (Group(Operator.ANY, (A, B)),)),
        ("a OR b OR c", (Group(Operator.ANY, (A, B, C)),)),
        ("(a OR b) OR c", (Group(Operator.ANY, (A, B, C)),)),
        ("a AND b", (Group(Operator.ALL, (A, B)),)),
        ("a AND b c", (Group(Operator.ALL, (A, B, C)),)),
        ("a AND a", (A,)),
        ("a b", (A, B)),
        ("(a b)", (A, B)),
        ("(a)", (A,)),
        ("a (b OR c)", (A, Group(Operator.ANY, (B, C)))),
        ("a AND (b OR c)", (Group(Operator.ALL, (A, Group(Operator.ANY, (B, C)))),)),
        ("a AND (b c)", (Group(Operator.ALL, (A, Group(Operator.SEQUENCE, (B, C)))),)),
        ("a OR b c", (Group(Operator.ANY, (A, Group(Operator.SEQUENCE, (B, C)))),)),
        ("-(a OR b)", (Group(Operator.ANY, (A, B), negated=True),)),
        ("NOT (a OR b)", (Group(Operator.ANY, (A, B), negated=True),)),
        ("NOT NOT a", (A,)),
        ("NOT a", (negated("a"),)),
        ("NOT NOT NOT a", (negated("a"),)),
        ("NOT (bee)", (negated("bee"),)),
        ("-bee", (negated("bee"),)),
        ("NOT -bee", (Term("bee"),)),
        ("-(-bee)", (Term("bee"),)),
        ("a AND -bee", (negated("bee"), A)),
        ("a AND type:x", (A, Condition("type", ("x",)))),
        ("a AND b AND type:x", (Group(Operator.ALL, (A, B)), Condition("type", ("x",)))),
        ("(a b) AND type:x", (A, B, Condition("type", ("x",)))),
        ("a b) c", (A, Term("b)"), C)),
        ("(a b", (A, B)),
        ("main() a", (Term("main()"), A)),
        ("(main() OR a)", (Group(Operator.ANY, (Term("main()"), A)),)),
        (":)", (Term(":)"),)),
        ("type:x type:y", (Condition("type", ("x", "y")),)),
        ("type:x,y type:y,z", (Condition("type", ("x", "y", "z")),)),
        ("-type:x type:y", (Condition("type", ("x",), True), Condition("type", ("y",)))),
        (
            "type:x OR type:y",
            (Group(Operator.ANY, (Condition("type", ("x",)), Condition("type", ("y",)))),),
        ),
        (
            "is:linked is:marked",
            (Condition("is", ("linked",)), Condition("is", ("marked",))),
        ),
        (
            "is:linked,marked",
            (Group(Operator.ANY, (Condition("is", ("linked",)), Condition("is", ("marked",)))),),
        ),
        (
            "-has:tags,links",
            (
                Group(
                    Operator.ANY,
                    (Condition("has", ("tags",)), Condition("has", ("links",))),
                    negated=True,
                ),
            ),
        ),
        ("/a+/ b", (Condition("regex", ("a+",)), B)),
        ("-/a+/", (Condition("regex", ("a+",), True),)),
        ("NOT /a+/", (Condition("regex", ("a+",), True),)),
        ("/usr/bin", (Term("/usr/bin"),)),
        ("/a b/ c", (Condition("regex", ("a b",)), C)),
        ("rm -p --force -x", (Term("rm"), Term("-p"), Term("--force"), Term("-x"))),
        ("tar -cat -p", (Term("tar"), Term("-cat"), Term("-p"))),
        ("-7", (Term("-7"),)),
        ("--", ()),
        ("C:\\x a:b:c 12:30", (Term("C:\\x"), Term("a:b:c"), Term("12:30"))),
        ("std::vector http://x", (Term("std::vector"), Term("http://x"))),
        ('entity:"the shop"', (Condition("entity", ("the shop",)),)),
        ("(entity:a)", (Condition("entity", ("a",)),)),
        ("(entity:f(x) OR a)", (Group(Operator.ANY, (Condition("entity", ("f(x)",)), A)),)),
        ("AND a", (A,)),
        ("a AND", (A,)),
        ("a OR", (A,)),
        ("OR a", (A,)),
        ("a NOT", (A,)),
        ("(a NOT) b", (A, B)),
        ('"AND"', (Term("AND", TermKind.PHRASE),)),
        ("-NOT", (negated("NOT", TermKind.PHRASE),)),
        ('"a', (Term("a", TermKind.PHRASE),)),
        ("** a", (A,)),
        ("wo*", (Term("wo", TermKind.PREFIX),)),
        ("*wo", (Term("*wo", TermKind.WILDCARD),)),
        ("?wo", (Term("?wo", TermKind.WILDCARD),)),
        ("wo?", (Term("wo?"),)),
        ("w?o", (Term("w?o", TermKind.WILDCARD),)),
        ("v1.*", (Term("v1.*", TermKind.WILDCARD),)),
        ("wo~", (Term("wo", TermKind.FUZZY),)),
        ("wo~3", (Term("wo~3"),)),
        ("~wo", (Term("wo", TermKind.MEANING),)),
        ("~", ()),
        ("&& a", (Term("&&"), A)),
    ],
)
def test_parts_of_a_line(line: str, parts: tuple[object, ...]) -> None:
    query = parse_query(line, NOW)
    assert Counter([*query.terms, *query.groups, *query.conditions]) == Counter(parts)


@pytest.mark.parametrize(
    ("line", "word", "span"),
    [
        ("a OR", "OR", (2, 4)),
        ("OR a", "OR", (0, 2)),
        ("a AND", "AND", (2, 5)),
        ("a AND OR b", "AND", (2, 5)),
        ("a NOT", "NOT", (2, 5)),
        ("(a OR) b", "OR", (3, 5)),
    ],
)
def test_an_operator_that_joins_nothing_is_remarked(
    line: str, word: str, span: tuple[int, int]
) -> None:
    problem = parse_query(line, NOW).problems[0]
    assert problem.text.startswith(f"{word} needs a word on each side")
    assert (problem.span, problem.is_error) == (span, False)
    assert parse_query(line, NOW).error is None


def test_an_operator_at_the_end_waits_for_its_word_while_typing() -> None:
    for line in ("a OR", "a OR  ", "a AND", "a NOT"):
        assert parse_query(line, NOW, typing=True).hint == ""
    assert "OR needs" in parse_query("OR a", NOW, typing=True).hint
    assert parse_query("a OR b", NOW).hint == ""


def test_a_filter_at_the_end_waits_for_its_value_while_typing() -> None:
    query = parse_query("a importance:hi", NOW, typing=True)
    assert (query.hint, query.matches_nothing) == ("importance: …", False)
    assert query.problems[0].span == (2, 15)
    assert not query.problems[0].is_error
    alone = parse_query("importance:hi", NOW, typing=True)
    assert (alone.is_empty, alone.matches_nothing) == (True, False)
    before = parse_query("importance:hi a", NOW, typing=True)
    assert before.problems[0].is_error
    assert parse_query("importance:hi", NOW).matches_nothing


def test_words_being_typed() -> None:
    def last(line: str) -> Term:
        return parse_query(line, NOW, typing=True).terms[-1]

    for word in ("wo", "a_", "é", "x7"):
        assert last(f"type:x {word}") == Term(word, TermKind.PREFIX, is_open=True)
    for word in ("wo.", "w?o", "->", "wo-"):
        assert not last(word).is_open
    assert not parse_query("(wo)", NOW, typing=True).terms[0].is_open
    assert not parse_query("NOT wo", NOW, typing=True).terms[0].is_open
    [group] = parse_query("-(a OR wo", NOW, typing=True).groups
    assert group.parts == (A, Term("wo"))


def test_times_of_a_line() -> None:
    query = parse_query("since:2026-05 until:2026-06 a", NOW)
    assert query.since == TimeCondition("2026-05", day("2026-05-01"))
    assert query.until == ("2026-06", day("2026-07-01") - timedelta(microseconds=1))
    assert query.conditions == ()
    assert parse_query("since:2026 since:2025", NOW).since == ("2025", day("2025-01-01"))
    excluded = parse_query("-since:2026", NOW)
    assert excluded.since is None
    assert [part.field for part in excluded.conditions] == ["since"]
    later = NOW + timedelta(days=1)
    for now in (NOW, later):  # the filters of the last line are remembered, not their moment
        query = parse_query("since:7d lease", now)
        assert query.since == ("7d", now - timedelta(days=7))
    for now in (NOW, later):
        [condition] = parse_query("created:>7d lease", now).conditions
        assert condition.ranges == (Range(low=(now - timedelta(days=7)).timestamp()),)


def test_order_and_preference_of_a_line() -> None:
    query = parse_query("a sort:importance,new prefer:bug prefer:decision", NOW)
    assert (query.sort, query.then) == (Sort.IMPORTANCE, (Sort.NEW,))
    assert query.prefer == ("bug", "decision")
    assert query.hint == ""
    assert not parse_query("sort:old", NOW).matches_nothing
    assert not parse_query("prefer:bug", NOW).matches_nothing
    assert parse_query("", NOW) == Query()
    assert not parse_query("  ", NOW).matches_nothing


def test_plain_words_and_filters_before_them() -> None:
    for line in ("one two", "type:x one two", " one  two "):
        query = parse_query(line, NOW)
        assert query.terms == (Term("one"), Term("two"))
        assert [line[slice(*term.span)] for term in query.terms] == ["one", "two"]
    assert parse_query("type:x one", NOW).conditions == (Condition("type", ("x",)),)
    typed = parse_query("type:x one", NOW, typing=True)
    assert typed.terms == (Term("one", TermKind.PREFIX, is_open=True),)
    assert parse_query("tpye:x one", NOW).problems
    assert parse_query("is:pinned,stale one", NOW).groups


def test_groups_deeper_than_the_limit_are_flattened() -> None:
    depth = parser.MAX_DEPTH
    line = "(" * (depth + 2) + "a" + ")" * (depth + 2) + " b"
    found = [token.kind for token in parser.tokenize(line)]
    assert found == [
        *[TokenKind.OPEN] * depth,
        TokenKind.WORD,
        *[TokenKind.CLOSE] * depth,
        TokenKind.WORD,
    ]
    assert parse_query(line, NOW).terms == (A, B)


@pytest.mark.parametrize(
    ("line", "formatted"),
    [
        ('"x y" -"z" wo* wi~ ~me', '"x y" -"z" wo* wi~ ~me'),
        ("a -bee", "a -bee"),
        ("NOT x", "NOT x"),
        ("NOT -7", "NOT -7"),
        ("-bee --flag", "-bee --flag"),
        ("NOT bee --flag", "NOT bee --flag"),
        ("(a OR b) -(c AND dee)", "(a OR b) -(c AND dee)"),
        ("(a OR b c)", "(a OR (b c))"),
        ("(main() OR f(x) )", "(main() OR f(x) )"),
        ("type:untyped,bug", "type:untyped,bug"),
        ('-entity:"the shop",x', '-entity:"the shop",x'),
        ('content:":a","(b",c', 'content:":a","(b",c'),
        ("/a b/ -/c/", "/a b/ -/c/"),
        ('since:"3 days ago" until:2026', 'since:"3 days ago" until:2026'),
        ("sort:-new,importance prefer:bug", "sort:old,importance prefer:bug"),
    ],
)
def test_a_query_is_written_as_a_line(line: str, formatted: str) -> None:
    query = parse_query(line, NOW)
    assert queries.format_query(query) == formatted
    assert parse_query(formatted, NOW) == query


# ---- what is asked of a query ----------------------------------------------------------------


def test_terms_to_rank_by_and_to_highlight() -> None:
    query = parse_query('a -x7 (b OR "c d" OR -dee) -(eff OR -gee) a', NOW)
    assert query.wanted_terms == (
        A,
        negated("x7"),
        B,
        Term("c d", TermKind.PHRASE, optional=True),
        Term("gee"),
    )
    assert query.words == ("a", "b", "c d", "gee")
    assert query.order is Sort.RELEVANCE
    assert parse_query("(a OR b)", NOW).order is Sort.RELEVANCE
    assert parse_query("-(a OR b)", NOW).order is Sort.NEW


def test_conditions_of_a_query() -> None:
    query = parse_query("type:x (tag:a OR -(tag:b OR c)) -store:s", NOW)
    found = [(part.field, part.values) for part in query.all_conditions]
    assert found == [("type", ("x",)), ("store", ("s",)), ("tag", ("a",)), ("tag", ("b",))]
    assert queries.has_terms(query.groups[0])
    assert not queries.has_terms(parse_query("tag:a OR tag:b", NOW).groups[0])
    assert queries.filter_values(query, "type") == ("x",)
    assert queries.filter_values(query, "store") == ()
    assert queries.filter_values(query, "tag") == ()


def test_values_of_a_filter_are_replaced() -> None:
    query = parse_query("a type:x -type:z tag:t", NOW)
    changed = queries.with_filter_values(query, "type", ["Y", "y", "w"])
    assert queries.format_query(changed) == "a -type:z tag:t type:y,w"
    assert queries.format_query(queries.with_filter_values(query, "type", [])) == "a -type:z tag:t"


@pytest.mark.parametrize(
    ("line", "formatted"),
    [
        ("a type:x", "a type:x status:all"),
        ("a status:retired", "a status:retired"),
        ("a -status:retired", "a -status:retired"),
        ("(a OR (b status:retired))", "(a OR (b status:retired))"),
    ],
)
def test_a_status_is_added_unless_one_is_asked_for(line: str, formatted: str) -> None:
    assert queries.format_query(parse_query(line, NOW).with_status("all")) == formatted


def test_marked_memories_are_named() -> None:
    def marked(line: str) -> str:
        return queries.format_query(queries.resolve_marked(parse_query(line, NOW), lambda: "sr"))

    assert marked("a is:marked type:x") == "a ref:s,r type:x"
    assert marked("-is:marked") == "-ref:s,r"
    assert marked("(is:marked OR type:x) is:linked") == "(ref:s,r OR type:x) is:linked"

    def never() -> list[str]:
        raise AssertionError("asked for the marks of a query without them")

    for line in ("a is:linked tag:marked", "(is:linked OR tag:marked)"):
        query = parse_query(line, NOW)
        assert queries.resolve_marked(query, never) is query


def test_a_query_without_its_filters() -> None:
    query = parse_query("a type:x since:7d until:2026 (b OR tag:t) (tag:u OR tag:v) sort:old", NOW)
    bare = queries.without_filters(query)
    assert queries.format_query(bare) == "a (b OR tag:t) sort:old"


@pytest.mark.parametrize(
    ("entity", "name", "matches"),
    [
        ("People/Alice", "people/alice", True),
        ("people/alice/notes", "people/alice", True),
        ("people/alicia", "people/alice", False),
        ("people/alice", "alice", True),
        ("people/alice", "ali", False),
        ("a/people/alice", "people/alice", False),
    ],
)
def test_entities(entity: str, name: str, matches: bool) -> None:
    assert queries.entity_matches(entity, name) is matches


def test_a_name_that_the_language_does_not_have() -> None:
    with pytest.raises(AttributeError, match="no attribute 'nonsense'"):
        _ = queries.nonsense


def test_a_value_of_another_field_is_suggested_before_a_similar_one_of_its_own() -> None:
    (problem,) = parse_query("has:linked", NOW).problems
    assert problem.text == "has has no value 'linked' (did you mean is:linked?)"


def test_a_typed_value_that_ends_with_a_star_gets_no_second_one() -> None:
    (condition,) = parse_query("type:dec*", NOW, typing=True).conditions
    assert condition.values == ("dec*",)


def test_an_empty_value_ends_with_its_quotes() -> None:
    query = parse_query('(tag:"" bee)', NOW)
    assert [term.text for term in query.terms] == ["bee"]


def test_the_end_of_a_period_belongs_to_it() -> None:
    query = parse_query("until:2026-05-03", NOW)
    assert query.until is not None
    assert query.is_within(query.until.time)
    assert not query.is_within(query.until.time + timedelta(seconds=1))


def test_a_word_with_parentheses_ends_before_the_one_that_closes_its_group() -> None:
    query = parse_query("(tea OR f(a)) bee", NOW)
    assert [term.text for term in query.terms] == ["bee"]
    (group,) = query.groups
    assert [term.text for term in group.parts if isinstance(term, Term)] == ["tea", "f(a)"]
