"""A row measured by memtui ends where Textual thinks it ends."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from rich.cells import cell_len, split_graphemes

from memtui.testing import hostile_values as gallery
from memtui.text import cut, pad, visible, width, wrap
from tests.long_run import count

from .test_hidden import anything


@given(anything)
def test_width_agrees_with_textual(text: str) -> None:
    for line in visible(text).split("\n"):
        assert width(line) == cell_len(line)


@pytest.mark.parametrize("name", gallery.ALL)
def test_width_of_the_gallery_agrees_with_textual(name: str) -> None:
    for line in visible(gallery.ALL[name]).split("\n"):
        assert width(line) == cell_len(line)


@pytest.mark.slow
def test_width_of_every_character_agrees_with_textual() -> None:
    """In the usual run the common ones, the pictures, and some of all others."""
    odd = []
    for code in {*range(0x3100), *range(0x1F000, 0x1FB00), *range(0, 0x110000, count(11, 1))}:
        shown = visible(chr(code))
        if shown not in "\n" and width(shown) != cell_len(shown):
            odd.append(hex(code))
    assert odd == []


@given(anything, st.integers(-1, 20))
def test_cut_never_exceeds_its_cells_and_says_that_it_cut(text: str, cells: int) -> None:
    text = visible(text).replace("\n", " ")
    part = cut(text, cells)
    assert width(part) <= max(0, cells)
    assert part == text if width(text) <= cells else cells <= 0 or part.endswith("…")


@given(anything, st.integers(0, 20))
def test_pad_fills_exactly(text: str, cells: int) -> None:
    assert width(pad(visible(text).replace("\n", " "), cells)) == cells


@given(anything, st.integers(2, 20))
def test_wrap_fits_and_loses_nothing_but_blanks(text: str, cells: int) -> None:
    text = visible(text)
    lines = wrap(text, cells)
    assert all(width(line) <= cells for line in lines)
    assert "".join(lines).replace(" ", "").replace("\n", "") == text.replace(" ", "").replace(
        "\n", ""
    )


def test_wide_characters_are_never_split() -> None:
    assert cut("日本語", 6) == "日本語"
    assert cut("日本語", 5) == "日本…"
    assert cut("日本語", 4) == "日…"
    assert cut("日本語", 1) == "…"
    assert pad("日本語", 4) == "日… "


def test_an_emoji_family_is_cut_as_one() -> None:
    family = gallery.HONEST["family"]
    assert cut(family, 4) == family.split()[0] + " …"


def test_wrap_breaks_at_blanks_and_keeps_indentation() -> None:
    assert wrap("one two three", 7) == ["one two", "three"]
    assert wrap("  code here", 6) == ["  code", "here"]
    assert wrap("abcdefgh", 3) == ["abc", "def", "gh"]
    assert wrap("entities/alice/items.json:12  [1]", 18) == [
        "entities/alice/",
        "items.json:12  [1]",
    ]
    assert wrap("af7c30bf-5eb6-4333-8e6c", 16) == ["af7c30bf-5eb6-", "4333-8e6c"]
    assert wrap("/ho/abcdefghijklmnop", 10) == ["/ho/abcdef", "ghijklmnop"]
    assert wrap("a\n\nb", 5) == ["a", "", "b"]
    assert wrap("", 5) == [""]
    assert wrap("日本語 text", 5) == ["日本", "語", "text"]


@given(st.text("ab日é\u0301 東…", max_size=30).map(visible), st.integers(1, 40))
def test_a_text_without_sequences_is_cut_as_by_its_clusters(text: str, cells: int) -> None:
    end = used = 0
    for _, after, wide in split_graphemes(text)[0]:
        used += wide
        end = after if used < cells else end
    expected = text if width(text) <= cells else text[:end] + "…"
    assert cut(text, cells) == expected
