"""A word list answers as a list of strings does."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memtui.search.index.segments import WordList

letters = st.sampled_from("ab\0\x0b\x85é森👩\ud800") | st.characters(exclude_characters="\n")
words = st.text(letters, min_size=1, max_size=5)
vocabularies = st.sets(words, max_size=60).map(sorted)
numbers = st.none() | st.integers(-40, 40)


@pytest.mark.slow
@given(vocabularies, st.data())
def test_it_answers_as_a_list_of_strings(vocabulary: list[str], data: st.DataObject) -> None:
    held = WordList.of(vocabulary)
    part = data.draw(words)
    cut = data.draw(st.builds(slice, numbers, numbers, numbers.filter(lambda step: step != 0)))
    assert (list(held), len(held)) == (vocabulary, len(vocabulary))
    assert held[cut] == vocabulary[cut]
    assert [held[at] for at in range(-len(held), len(held))] == vocabulary * 2
    assert held.find(part) == (vocabulary.index(part) if part in vocabulary else None)
    assert vocabulary[slice(*held.prefix_range(part))] == [
        word for word in vocabulary if word.startswith(part)
    ]
    assert held.containing(part) == [at for at, word in enumerate(vocabulary) if part in word]
    first, last = sorted(data.draw(st.tuples(*[st.integers(0, len(vocabulary))] * 2)))
    assert list(held.numbered(first, last)) == [*enumerate(vocabulary)][first:last]


def test_long_lists_are_read_in_pieces() -> None:
    vocabulary = sorted(f"word{number}" for number in range(10_000))
    assert list(WordList.of(vocabulary)) == vocabulary


@pytest.mark.parametrize("at", [2, -3])
def test_there_is_nothing_beyond_its_ends(at: int) -> None:
    with pytest.raises(IndexError):
        WordList.of(["one", "two"])[at]
