"""Where a program's load limit cuts a text."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from memtui.stores.base import LoadedText, LoadLimit, count_units, find_cut

TEXTS = st.text(st.sampled_from("ab \n\r\té漢🙂\ud83d"), max_size=60)


def test_a_text_within_its_limit_is_not_cut() -> None:
    assert find_cut("a\nb\n", LoadLimit(lines=2, units=3)) == 4
    assert LoadedText("x", "a\nb").cut == 3


def test_the_first_limit_that_is_reached_counts() -> None:
    text = "one\ntwo\nthree\n"
    assert find_cut(text, LoadLimit(lines=2, units=100)) == len("one\ntwo\n")
    assert find_cut(text, LoadLimit(lines=3, units=5)) == len("one\n")
    assert find_cut(f"\n\n{text}", LoadLimit(lines=3)) == len("\n\none\n"), "empty lines count"


def test_units_of_utf_16_cut_at_a_line_unless_the_first_is_longer() -> None:
    assert find_cut("漢字\n漢字\n", LoadLimit(units=5)) == 6
    assert find_cut("漢字\n漢字\n", LoadLimit(units=4)) == 3
    assert find_cut("a🙂b", LoadLimit(units=2)) == 1
    assert find_cut("a🙂b", LoadLimit(units=3)) == 2


@given(TEXTS, st.integers(0, 30), st.integers(0, 40), st.integers(0, 20))
def test_what_is_loaded_is_within_every_limit_and_as_long_as_can_be(
    text: str, lines: int, size: int, characters: int
) -> None:
    cut = find_cut(text, LoadLimit(lines, size, characters))
    kept = text[:cut]
    assert kept.count("\n") <= lines
    assert count_units(kept.rstrip("\n")) <= size
    assert len(kept) <= characters
    if cut < len(text):
        more = text[: cut + 1]
        assert (
            (kept.count("\n") == lines)
            or count_units(f"{kept}{text[cut:].partition(chr(10))[0]}") > size
            or len(more) > characters
        )
