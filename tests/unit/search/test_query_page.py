"""docs/search.md: each example finds what the page says, on the sample stores."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from memtui.library import Library
from memtui.query import parse_query
from tests.samples import NOW, open_samples

PAGE = Path(__file__).parents[3] / "docs" / "search.md"


def rows_of(heading: str) -> list[list[str]]:
    """The cells of the table rows below a heading that begin with an example."""
    section = PAGE.read_text(encoding="utf-8").partition(f"\n## {heading}\n")[2]
    lines = section.partition("\n## ")[0].splitlines()
    cells = [[c.strip() for c in re.split(r"(?<!\\)\|", line)[1:-1]] for line in lines]
    return [[row[0][1:-1], *row[1:]] for row in cells if row and row[0].startswith("`")]


SHOWN = [
    row for name in ("Words", "Operators", "Filters", "Times", "Order") for row in rows_of(name)
]


@pytest.fixture(scope="module")
def samples(tmp_path_factory: pytest.TempPathFactory) -> Library:
    return open_samples(tmp_path_factory.mktemp("samples") / "samples")


def test_the_page_has_its_examples() -> None:
    assert len(SHOWN) > 50
    assert len(rows_of("What is text")) >= 10
    assert len(rows_of("What is wrong")) >= 6


@pytest.mark.parametrize(("line", "count", "first"), [row[:3] for row in SHOWN])
def test_an_example_finds_what_the_page_says(
    samples: Library, line: str, count: str, first: str
) -> None:
    query = parse_query(line, NOW)
    assert not query.problems
    found = samples.find(query)
    assert found.total == int(count)
    assert found.rows[found.slots[0]].headline.startswith(first)


@pytest.mark.parametrize("line", [row[0] for row in rows_of("What is text")])
def test_pasted_text_filters_and_excludes_nothing(line: str) -> None:
    query = parse_query(line, NOW)
    assert not query.problems
    assert " ".join(term.text for term in query.terms) == line
    assert not any(term.negated for term in query.terms)
    assert (query.conditions, query.groups) == ((), ())


@pytest.mark.parametrize(("line", "says"), [row[:2] for row in rows_of("What is wrong")])
def test_a_fault_is_named_and_finds_nothing(samples: Library, line: str, says: str) -> None:
    query = parse_query(line, NOW)
    assert query.error is not None
    assert query.error.text.startswith(says)
    found = samples.find(query)
    assert found.total == 0
    assert found.hint == query.hint
