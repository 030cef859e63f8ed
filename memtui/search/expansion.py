"""Which words of a segment a pattern or a misspelt word may mean."""

from __future__ import annotations

import fnmatch
import re
from collections.abc import Callable, Iterable, Iterator, Sequence

import numpy as np

from memtui.progress import Cancelled, IsCancelled, never
from memtui.search import analysis, hits
from memtui.search.columns import Mask
from memtui.search.postings import Ints, Segment

_LETTERS = "abcdefghijklmnopqrstuvwxyz0123456789"
_LOOK = 512
"""Words between two looks at `cancelled`."""


def normalize_pattern(text: str) -> str:
    """A wildcard pattern as words are written in the index: `get_*_Id` is `get*id`."""
    folded = analysis.fold_text(text)
    return re.sub(r"(?<!\d)\.|[^\w*?.]|_", "", folded)


def compile_pattern(pattern: str) -> Callable[[str], object]:
    """A test of one word against such a pattern, in time linear in the word for each `*`."""
    return re.compile(fnmatch.translate(pattern)).match


def expand_wildcard(segment: Segment, pattern: str, cancelled: IsCancelled = never) -> Ints:
    """Numbers of the words that match a normalized pattern: `*` any letters, `?` one."""
    head = re.split(r"[*?]", pattern, maxsplit=1)[0]
    first, last = segment.prefix_range(head) if head else (0, len(segment.terms))
    matches = compile_pattern(pattern)
    found = [at for at in _watched(first, last, cancelled) if matches(segment.terms[at])]
    return np.array(found, np.int32)


def max_edit_distance(word: str) -> int:
    """How many wrong letters a word of this length may have: 0 to 2 letters none, to 5 one, two."""
    return 0 if len(word) < 3 else 1 if len(word) < 6 else 2


def expand_fuzzy(segment: Segment, word: str, cancelled: IsCancelled = never) -> Ints:
    """Numbers of the words within `max_edit_distance` that begin with the same letter."""
    first, last = segment.prefix_range(word[:1])
    is_near = near(word)
    found = [at for at in _watched(first, last, cancelled) if is_near(segment.terms[at])]
    return np.array(found, np.int32)


def near(word: str) -> Callable[[str], bool]:
    """A test of other words: within reach of this one, and begun with the same letter."""
    most, first, size = max_edit_distance(word), word[:1], len(word)
    letters = frozenset(word)

    def is_near(other: str) -> bool:
        return (
            -most <= len(other) - size <= most
            and other[:1] == first
            # Each wrong letter puts at most two letters into one word only; this is quick to see.
            and len(letters.symmetric_difference(other)) <= 2 * most
            and edit_distance(word, other, most) <= most
        )

    return is_near


def _watched(first: int, last: int, cancelled: IsCancelled) -> Iterator[int]:
    for at in range(first, last):
        if (at - first) % _LOOK == 0 and cancelled():
            raise Cancelled
        yield at


def edit_distance(one: str, other: str, most: int) -> int:
    """Levenshtein distance, or `most + 1` where it is larger than `most`."""
    row = list(range(len(other) + 1))
    for at, letter in enumerate(one, 1):
        low, high = max(1, at - most), min(len(other), at + most)
        diagonal, row[0] = row[0], at
        if low > 1:
            diagonal, row[low - 1] = row[low - 1], most + 1
        best = row[low - 1]
        for to in range(low, high + 1):
            diagonal, row[to] = (
                row[to],
                min(
                    diagonal + (letter != other[to - 1]),
                    row[to - 1] + 1,
                    (row[to] if to < at + most else most + 1) + 1,
                ),
            )
            best = min(best, row[to])
        if best > most:
            return most + 1
    return min(row[-1], most + 1)


def _one_off(word: str) -> Iterator[str]:
    """Every word one letter away, two neighbours exchanged included."""
    for at in range(len(word) + 1):
        left, right = word[:at], word[at:]
        yield from (left + letter + right for letter in _LETTERS)
        if right:
            yield left + right[1:]
            yield from (left + letter + right[1:] for letter in _LETTERS)
        if len(right) > 1:
            yield left + right[1] + right[0] + right[2:]


def suggest_word(word: str, segments: Sequence[Segment], alive: Mask | None = None) -> str:
    """The most frequent near word in the index, or '' (also where the word itself is there).

    One letter away is preferred to two; two only with the same first letter. `alive`: the slots
    whose words are there, unless told all.
    """
    folded = "".join(analysis.list_words(word))
    if len(folded) < 3:
        return ""
    own = [[(s, at)] for s in segments if (at := s.find_word(folded)) is not None]
    if _most_frequent(own, alive):
        return ""
    return _most_frequent(_near_in_each(folded, segments), alive) or _most_frequent(
        ([(segment, int(at)) for at in expand_fuzzy(segment, folded)] for segment in segments),
        alive,
    )


def _near_in_each(word: str, segments: Sequence[Segment]) -> Iterator[list[tuple[Segment, int]]]:
    near = set(_one_off(word))
    for segment in segments:
        found = ((segment, segment.find_word(other)) for other in near)
        yield [(s, at) for s, at in found if at is not None]


def _most_frequent(found: Iterable[list[tuple[Segment, int]]], alive: Mask | None) -> str:
    """The word that most memories hold; '' where none does."""
    counts: dict[str, int] = {}
    for pairs in found:
        for segment, at in pairs:
            word = segment.terms[at]
            if held := hits.count_holders(segment, at, alive):
                counts[word] = counts.get(word, 0) + held
    return max(counts, key=lambda word: (counts[word], word), default="")
