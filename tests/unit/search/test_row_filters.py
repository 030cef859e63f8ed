"""Filters that read memories: texts, links, confidence, secrets, regular expressions."""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path

import pytest

from memtui.library import Library
from memtui.query import parse_query
from memtui.search import row_filters
from tests.bench.corpus import write_facts

NOW = datetime(2026, 11, 21, 12, tzinfo=UTC)
FACTS = [
    "the café opens at nine",
    "a lease is renewed twice, see INC-104",
    "key AKIAQ3EGRIT7WKDB5VNM of the bucket",
    "[x] (brackets) and 100 %",
]


@pytest.fixture(scope="module", params=["cold", "warm"])
def library(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> object:
    home, cache = tmp_path_factory.mktemp("home"), tmp_path_factory.mktemp("cache")
    write_facts(home, FACTS, each=1)
    return _open(home, cache, warm=request.param == "warm")


def _open(home: Path, cache: Path, *, warm: bool) -> Library:
    for _ in range(1 + warm):
        library = Library.open([home], cache=cache)
        library.load()
        library.index()
        library.save_index()
    return library


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        ("content:cafe", [0]),
        ("content:CAFÉ", [0]),
        ("content:caf*nine", [0]),
        ('content:"renewed twice"', [1]),
        ('content:"[x] (br"', [3]),
        ("-content:the", [1, 3]),
        ("/inc-\\d+/", [1]),
        ("/^the/", [0]),
        ("-/e/", []),
        ("has:secret", [2]),
        ("has:links", []),
        ("-has:links lease", [1]),
        ("lease OR bucket", [1, 2]),
        ("lease AND bucket", []),
        ("(lease OR bucket) -content:inc", [2]),
        ("NOT (lease OR bucket)", [0, 3]),
        ('"the bucket" OR "at nine"', [0, 2]),
        ("(lease OR bucket) twice", [1, 2]),
        ("type:none OR café", [0]),
        ("content:nothing OR -/a/", []),
    ],
)
def test_it_finds_exactly_these(library: Library, line: str, expected: list[int]) -> None:
    found = library.find(parse_query(line, NOW))
    texts = {found.rows[slot].content for slot in found.slots}
    assert texts == {FACTS[number] for number in expected}


def test_the_words_of_a_group_are_highlighted(library: Library) -> None:
    assert {"lease", "bucket"} <= set(library.find(parse_query("lease OR bucket", NOW)).words)


@pytest.mark.slow
def test_the_matches_before_the_limit_are_kept() -> None:
    hostile = "a" * 64 + "!"
    found = row_filters.scan("^(a|aa)+$", ["aa", hostile], time_limit=0.5)
    assert not found.is_complete
    assert set(found.numbers) <= {0}


def test_a_pattern_is_matched_in_all_texts() -> None:
    texts = ["lone \ud800", "two\nlines", "LINES"] * 1000
    found = row_filters.scan("^lines$", texts)
    assert found.is_complete
    assert found.numbers == tuple(number for number in range(3000) if number % 3)
