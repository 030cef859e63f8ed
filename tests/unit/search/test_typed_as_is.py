"""Nothing a person types is dropped or misread: signs, missing words, quotes, dates, passages."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from datetime import UTC, datetime, timedelta

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from memtui.library.finding import Searchable, SearchResult, find
from memtui.library.snapshot import Rows
from memtui.model import Memory
from memtui.query import Query, Term, parse_query
from memtui.search import analysis, columns, literals
from memtui.search.documents import to_document
from memtui.search.index import memory_index
from memtui.search.literals import LiteralSearch
from memtui.testing.hostile_values import ALL
from tests.unit.search.finding_for_tests import match
from tests.unit.search.memories_for_tests import NOW, memory


def search(memories: Sequence[Memory], query: Query) -> SearchResult:
    table = columns.build(memories)
    segment = memory_index.make(map(to_document, memories))
    scope = Searchable(Rows(memories), table, (segment,), now=NOW)
    return find(query, scope)


def ask(memories: Sequence[Memory], line: str, *, typing: bool = False) -> SearchResult:
    return search(memories, parse_query(line, NOW, typing=typing))


def ask_terms(memories: Sequence[Memory], *words: str) -> SearchResult:
    """Ask for these words, whatever the search line makes of them."""
    return search(memories, Query(tuple(Term(word) for word in words)))


def texts(*contents: str) -> list[Memory]:
    return [memory(number, content) for number, content in enumerate(contents)]


SIGNS = ["->", "&", "[/]", "=>", "§", "€", "🔔", "👩‍🔧", "❤️", "…", "::", "#", "🏳️‍🌈", "+=", "%"]


@pytest.mark.parametrize("sign", SIGNS)
def test_a_term_without_letters_is_found_as_written(sign: str) -> None:
    memories = texts("plain words", f"left {sign} right", "other words", f"at the end {sign}")
    assert set(ask_terms(memories, sign).slots) == {1, 3}
    assert ask_terms(memories, sign, "right").slots[0] == 1


@pytest.mark.parametrize("sign", SIGNS)
def test_a_sign_that_stands_nowhere_lists_nothing(sign: str) -> None:
    found = ask_terms(texts("plain words", "more words"), sign)
    assert (list(found.slots), found.missing) == ([], (sign.rstrip("\ufe0f"),)) or (
        found.total == 0 and found.missing == (sign,)
    )


@pytest.mark.slow
@settings(max_examples=150, deadline=None)
@example(["\xad"])
@example(["\u200b", "\ufe0f"])
@given(st.lists(st.text(max_size=12), min_size=1, max_size=4))
def test_no_words_list_everything_by_accident(words: list[str]) -> None:
    found = ask_terms(texts("zzqx jjkw vvbq", "wwpf kkrt"), *words)
    held = re.compile("|".join(["zzqx", "jjkw", "vvbq", "wwpf", "kkrt"]))
    if found.total == 2:
        assert any(set(word.casefold()) & set("zqxjkwvbpfrt") for word in words), held


@pytest.mark.slow
@settings(max_examples=100, deadline=None)
@given(st.sampled_from(sorted(ALL.values())), st.booleans())
def test_no_line_raises(line: str, typing: bool) -> None:
    ask(texts("one", "two -> three", line[:50]), line[:400], typing=typing)


LONG = "reinitialisation sitzungsverwaltung quillfeather"


@pytest.mark.parametrize(
    ("typed", "content", "shown"),
    [
        ("initialisation", "a reinitialisation", "reinitialisation"),
        ("verwaltung", "die Sitzungsverwaltung", "sitzungsverwaltung"),
        ("quilfeather", "Quillfeather plc", "quillfeather"),
        ("deplyo", "we deploy", "deploy"),
        ("kuilfeather", "quillfeathers kuillfeather", "kuillfeather"),
        ("zuerich", "in Zürich", "zurich"),
        ("jurgen", "Juergen", "juergen"),
        ("leasequeue", "the lease queue", "lease queue"),
        ("sitzungen", "eine Sitzung", "sitzung"),
    ],
)
def test_a_word_that_occurs_nowhere_is_replaced_and_named(
    typed: str, content: str, shown: str
) -> None:
    found = ask(texts("nothing of it", content), typed)
    assert list(found.slots) == [1]
    assert found.hint == f'no "{typed}"; showing "{shown}"'


def test_a_word_that_occurs_is_not_replaced() -> None:
    found = ask(texts("deploy", "deploys redeploy deplox"), "deplox")
    assert list(found.slots) == [1]
    assert found.hits is not None
    assert found.hits.match is not None
    assert found.hits.match.substituted == ()


def test_a_misspelt_beginning_is_found_while_it_is_typed() -> None:
    memories = texts("other", "quillfeather")
    for end in range(5, len("quilfeather")):
        assert list(ask(memories, "quilfeather"[:end], typing=True).slots) == [1], end


def test_a_word_like_none_is_said_to_be_missing() -> None:
    found = ask(texts("deploy"), "zeppelin")
    assert (found.total, found.hint) == (0, 'no "zeppelin"')


@pytest.mark.parametrize("one", ["leaseQueue", "lease_queue", "lease-queue", "lease queue"])
@pytest.mark.parametrize(
    "other", ["leaseQueue", "lease_queue", "lease-queue", "lease queue", "leasequeue", "LeaseQueue"]
)
def test_identifiers_written_otherwise_find_each_other(one: str, other: str) -> None:
    for asked, written in ((one, other), (other, one)):
        found = ask(texts("something else", f"the {written} is full"), asked)
        assert list(found.slots) == [1], (asked, written)


def test_of_memories_with_all_words_the_short_one_is_first() -> None:
    long = "jonas has an email " + "and other things " * 40
    memories = [memory(0, long), memory(1, "jonas email")]
    found = ask(memories, "jonas email")
    assert list(found.slots) == [1, 0]


def test_a_short_fact_is_above_a_document_that_mentions_its_words() -> None:
    notes = "read the notes of the day and write down what was learned " * 60
    page = (
        f"the gateway and the gateway first. {notes} at last the address book, address by address"
    )
    memories = texts(page, "gateway address 100.64.0.7", "the harbour")
    found = list(ask(memories, "gateway address harbour").slots)
    assert found.index(1) < found.index(0)


def test_all_words_in_one_passage_beat_words_scattered_over_the_text() -> None:
    filler = "\n\n".join(f"paragraph {n} about the weather in the harbour" for n in range(60))
    together = f"{filler}\n\nthe winch turns left\n\n{filler}"
    scattered = f"winch\n\n{filler}\n\n{filler}\n\nturns left"
    found = ask(texts(scattered, together), "winch left")
    assert list(found.slots) == [1, 0]
    added = {part.name for part in found.hits.added}
    assert added & {"length", "passage", "as typed"} == {"length", "passage"}


@pytest.mark.parametrize(
    ("line", "content", "other"),
    [
        ('"src/queue/lease.ts"', "see src/queue/lease.ts", "src queue lease ts"),
        ('"a, b"', "choose a, b", "choose a b"),
        ('"v1.2.3"', "v1.2.3 is out", "v1.2.30 is out"),
        ('"rolled  back"', "it was rolled\nback", "rolled it back"),
        ('"ease.t"', "see src/queue/lease.ts", "ease t"),
    ],
)
def test_quoted_text_is_exact_with_its_punctuation(line: str, content: str, other: str) -> None:
    assert ask(texts(other, content), line).slots[0] == 1
    if "ease.t" not in line:
        assert list(ask(texts(other, content), line).slots) == [1]


def test_a_quoted_number_finds_the_version_with_a_v() -> None:
    memories = texts("gone since v2.6)", "as of 2.6", "12.6", "v2.60", "v2.6.1", "rev2.6", "2-6")
    assert set(ask(memories, '"2.6"').slots) == set(ask(memories, "2.6").slots) == {0, 1}
    assert set(ask(memories, '"v2.6"').slots) == {0}


@pytest.mark.parametrize(
    "typed",
    ["jonas@example.com", "v1.2.3", "cargo test -p lease", "+47 555 02 777", "src/queue/lease.ts"],
)
def test_what_stands_as_typed_is_first(typed: str) -> None:
    words = re.findall(r"\w+", typed)
    memories = texts(" ".join(reversed(words)) + " and so on", f"use {typed} for it", "nothing")
    found = ask_terms(memories, *typed.split())
    assert found.slots[0] == 1


@pytest.mark.parametrize(
    "line",
    [
        *("november 18", "18 november", "18.11.2026", "2026-11-18", "18. November", "Nov 18"),
        *("18 de noviembre", "18 novembre"),
    ],
)
def test_a_date_finds_its_note_in_any_form(line: str) -> None:
    memories = [
        memory(0, "some text", title="2026-11-17"),
        memory(1, "some text", title="2026-11-18"),
        memory(2, "18 pages in november, 2026 and 11 more"),
    ]
    assert ask(memories, line).slots[0] == 1


@pytest.mark.parametrize("line", ['"3 July"', '"weekend of 3 July"', '"yesterday"'])
def test_a_date_in_quotes_is_text(line: str) -> None:
    memories = [
        memory(0, "the weekend of 3 July, not yesterday"),
        memory(1, "of that day", created=datetime(2026, 7, 3, 9, tzinfo=UTC)),
        memory(2, "a day ago", created=NOW - timedelta(days=1)),
        memory(3, "some text", title="2026-07-03"),
    ]
    assert list(ask(memories, line).slots) == [0]


@pytest.mark.parametrize("line", ["yesterday", "gestern", "hier", "ayer"])
def test_a_relative_date_is_tried_against_times(line: str) -> None:
    memories = [
        memory(0, "an old one"),
        memory(1, "a new one", created=NOW - timedelta(days=1)),
        memory(2, "not that day", created=NOW - timedelta(days=3)),
    ]
    assert list(ask(memories, line).slots) == [1]
    assert set(ask(memories, f"{line} one").slots) >= {0, 1}
    assert ask(memories, f"{line} one").slots[0] == 1


def test_what_each_filter_hides_is_counted() -> None:
    memories = [
        memory(0, "the winch", status="retired", type="decision"),
        memory(1, "the winch", type="bug"),
        memory(2, "the winch", status="superseded", type="decision"),
        memory(3, "the winch is new", type="decision", created=NOW),
    ]
    hidden = ask(memories, "winch type:decision").hidden
    assert [(one.filter, one.count) for one in hidden] == [("status", 2), ("type:decision", 1)]
    assert hidden[0].advice == "2 more with status:all (superseded, retired)"
    assert not ask(memories, "winch status:all").hidden
    assert not ask(memories, "type:decision").hidden


def test_without_every_status_nothing_is_left() -> None:
    memories = [memory(0, "the winch", status="retired"), memory(1, "the winch")]
    assert ask(memories, "winch status:all").total == 2
    assert ask(memories, "winch -status:all").total == 0


def _lines() -> Iterator[str]:
    yield from ("winch", "win", "the winch", "wynch", '"the winch"')


@pytest.mark.parametrize("line", list(_lines()))
def test_hidden_memories_are_those_that_lifting_the_filter_shows(line: str) -> None:
    draw = np.random.default_rng(3)
    memories = [
        memory(n, "the winch", status=str(draw.choice(["active", "retired", "deleted"])))
        for n in range(40)
    ]
    found, every = ask(memories, line), ask(memories, f"{line} status:all")
    assert sum(one.count for one in found.hidden) == every.total - found.total


def test_literals_are_found() -> None:
    memories = texts("a -> b", "nothing", "→ there")
    literals = LiteralSearch(Rows(memories))
    assert literals.find("->").tolist() == [0]
    assert literals.find("→").tolist() == [2]


def test_a_match_of_marks_is_empty() -> None:
    segment = memory_index.make(map(to_document, texts("one", "two")))
    assert not match([segment], 2, (Term("*"), Term("?"))).found.any()


WORD = st.text("ab1_é-+ .", min_size=1, max_size=4)


@given(typed=st.lists(WORD, min_size=1, max_size=2).map(" ".join), text=st.text("ab1_é-+ .\n"))
def test_a_literal_is_found_where_it_stands_as_whole_words(typed: str, text: str) -> None:
    """Beside a pattern that looks at what is before the text first."""
    words, text = analysis.fold_text(typed).split(), analysis.fold_text(text)
    edges = [bool(re.match(r"\w", "".join(words)[at : at + 1 or None])) for at in (0, -1)]
    plain = r"\s+".join(map(re.escape, words))
    before, after = (r"(?<!\w)" if edges[0] else ""), (r"(?!\w)" if edges[1] else "")
    for is_prefix, end in ((False, after), (True, "")):
        found = literals.compile_literal(typed, is_prefix=is_prefix).search(text)
        expected = re.search(before + plain + end, text)
        assert (found and found.span()) == (expected and expected.span())
