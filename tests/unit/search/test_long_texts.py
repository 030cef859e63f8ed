"""Of a text beyond a mebibyte the beginning is searched, and whoever searches is told so."""

from __future__ import annotations

from pathlib import Path

import pytest

from memtui.library import Library
from memtui.query import parse_query
from memtui.search.documents import MAX_INDEXED

LINE = "The heron stands in the reeds.\n"


@pytest.fixture
def library(tmp_path: Path) -> Library:
    folder = tmp_path / "vault"
    (folder / ".obsidian").mkdir(parents=True)
    text = LINE * (MAX_INDEXED // len(LINE) + 1)
    (folder / "long.md").write_text(f"# Long\n\n{text}\nAt the end a bittern booms.\n")
    (folder / "short.md").write_text("# Short\n\nA bittern, brown and shy.\n")
    library = Library.open([folder], cache=tmp_path / "cache", state=tmp_path / "state")
    library.load()
    library.index()
    return library


@pytest.mark.slow
@pytest.mark.parametrize("query", ["bittern", '"a bittern"', "/bitter./", "bitt*", "bitern~"])
def test_only_the_beginning_is_searched_and_that_is_said(library: Library, query: str) -> None:
    found = library.find(parse_query(query, library.now()))
    assert [found.rows[slot].title for slot in found.slots] == ["Short"]
    assert found.limits == ("only the first 1,048,576 characters are searched of Long",)


@pytest.mark.slow
def test_its_beginning_is_found_and_all_of_it_is_there(library: Library) -> None:
    found = library.find(parse_query('"heron stands"', library.now()))
    (long,) = (found.rows[slot] for slot in found.slots)
    assert long.content.endswith("At the end a bittern booms.\n")


@pytest.mark.slow
def test_a_list_says_nothing_of_it(library: Library) -> None:
    assert library.find(parse_query("", library.now())).limits == ()
