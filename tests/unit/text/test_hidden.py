"""No character of a memory acts on the terminal or hides from the reader."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memtui.testing import hostile_values as gallery
from memtui.text import file_name, has_hidden, hidden_count, one_line, visible

_NASTY = sorted(gallery.FORBIDDEN)
_EMOJI_PARTS = "\u200d\ufe0f\ufe0e\U0001f3fd\u20e3\u2764\U0001f468\U0001f575\U0001f1e91#a\u0301"
anything = st.text(
    st.one_of(
        st.characters(),
        st.characters(categories=["Cs", "Cc", "Cf", "Cn", "Co"]),
        st.sampled_from(_EMOJI_PARTS),
        st.sampled_from(_NASTY),
    )
)


@given(anything)
def test_nothing_forbidden_passes_and_a_second_pass_changes_nothing(text: str) -> None:
    shown = visible(text)
    assert not gallery.FORBIDDEN.intersection(shown)
    assert visible(shown) == shown
    assert not has_hidden(shown)
    shown.encode()


@given(anything)
def test_hidden_characters_are_counted_when_and_only_when_something_was_replaced(text: str) -> None:
    unfolded = text.replace("\r\n", "\n").replace("\t", "    ")
    assert has_hidden(text) == (visible(text) != unfolded)
    assert has_hidden(text) == (hidden_count(text) > 0)


@given(anything, st.none() | st.integers(0, 30))
def test_one_line_is_one_line_and_visible(text: str, most: int | None) -> None:
    line = one_line(text, most)
    assert "\n" not in line
    assert "  " not in line
    assert visible(line) == line
    assert one_line(line) == line


@pytest.mark.parametrize("name", gallery.HONEST)
def test_honest_text_is_left_alone(name: str) -> None:
    text = gallery.HONEST[name]
    assert visible(text) == text
    assert hidden_count(text) == 0


@pytest.mark.parametrize("name", gallery.MARKUP)
def test_markup_is_text_and_stays_as_it_is(name: str) -> None:
    assert visible(gallery.MARKUP[name]) == gallery.MARKUP[name]


@pytest.mark.parametrize("name", gallery.HIDDEN)
def test_each_hidden_value_gets_a_badge(name: str) -> None:
    assert has_hidden(gallery.HIDDEN[name])


@pytest.mark.parametrize(
    ("text", "shown", "count"),
    [
        ("a\x1b[2Jb", "a␛[2Jb", 1),
        ("a\x9b2J", "a�2J", 1),
        ("tab\there", "tab    here", 0),
        ("rm\rls", "rm␍ls", 1),
        ("one\r\ntwo\n", "one\ntwo\n", 0),
        ("del\x7f nul\x00", "del␡ nul␀", 2),
        ("gpj\u202eexe", "gpj·exe", 1),
        ("x\u200d\U0001f468", "x·\U0001f468", 1),
        ("\U0001f468\u200d\u200d\U0001f469", "\U0001f468··\U0001f469", 2),
        ("\ud800", "�", 1),
        ("Gr\udcf6\udcdfe", "Gr��e", 0),  # bytes of Latin-1: to remove them would lose text
    ],
)
def test_what_is_shown_and_counted(text: str, shown: str, count: int) -> None:
    assert (visible(text), hidden_count(text)) == (shown, count)


def test_lines_become_one_line_with_marks() -> None:
    assert one_line("  first \r\n\n  second\tword ") == "first ⏎ second word"


def test_bytes_of_a_file_name_that_are_not_utf8_can_be_told_apart() -> None:
    assert file_name("/s/bad\udcff.json") == "/s/bad\\xff.json"
    assert file_name("/s/a\nb\x1b") == "/s/a␊b␛"


def test_a_hundred_thousand_joiners_or_brackets_do_no_harm() -> None:
    assert visible("\u200d" * 100_000) == "·" * 100_000
    assert visible("[" * 100_000) == "[" * 100_000
