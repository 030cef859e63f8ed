"""Where a program's load limit cuts a text."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from memtui.stores.base import LoadedText, LoadLimit, find_cut

TEXTS = st.text(st.sampled_from("ab \n\r\té漢🙂\ud83d"), max_size=60)


def test_a_text_within_its_limit_is_not_cut() -> None:
    assert find_cut("a\nb\n", LoadLimit(lines=2, bytes=4)) == 4
    assert LoadedText("x", "a\nb").cut == 3


def test_the_first_limit_that_is_reached_counts() -> None:
    text = "one\ntwo\nthree\n"
    assert find_cut(text, LoadLimit(lines=2, bytes=100)) == len("one\ntwo\n")
    assert find_cut(text, LoadLimit(lines=3, bytes=5)) == 5


def test_bytes_do_not_split_a_character() -> None:
    assert find_cut("aé漢", LoadLimit(bytes=2)) == 1
    assert find_cut("aé漢", LoadLimit(bytes=5)) == 2


@given(TEXTS, st.integers(0, 30), st.integers(0, 40), st.integers(0, 20))
def test_what_is_loaded_is_within_every_limit_and_as_long_as_can_be(
    text: str, lines: int, size: int, characters: int
) -> None:
    cut = find_cut(text, LoadLimit(lines, size, characters))
    kept = text[:cut]
    assert kept.count("\n") <= lines
    assert len(kept.encode("utf-8", "surrogatepass")) <= size
    assert len(kept) <= characters
    if cut < len(text):
        more = text[: cut + 1]
        assert (
            (kept.count("\n") == lines)
            or len(more.encode("utf-8", "surrogatepass")) > size
            or len(more) > characters
        )
