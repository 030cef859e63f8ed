"""Expand wildcard patterns and misspelt words to the words of a segment that they match."""

from __future__ import annotations

import fnmatch
import re
from collections.abc import Callable, Iterable, Iterator, Sequence

import numpy as np

from memtui.progress import Cancelled, IsCancelled, never
from memtui.search import analysis
from memtui.search.array_types import Ints, Mask
from memtui.search.postings import Segment

_LETTERS = "abcdefghijklmnopqrstuvwxyz0123456789"
_BATCH = 512
"""Words between two checks of `cancelled`."""


def normalize_pattern(text: str) -> str:
    """Return a wildcard pattern in the form of the indexed words: `get_*_Id` becomes `get*id`."""
    folded = analysis.fold_text(text)
    return re.sub(r"(?<!\d)\.|[^\w*?.]|_", "", folded)


def compile_pattern(pattern: str) -> Callable[[str], object]:
    """Return a predicate for a normalized pattern, linear in the word for each `*`."""
    return re.compile(fnmatch.translate(pattern)).match


def expand_wildcard(segment: Segment, pattern: str, cancelled: IsCancelled = never) -> Ints:
    """Return the numbers of the words of a `segment` that match a normalized `pattern`.

    `*` stands for any letters, `?` for one. Raises Cancelled.
    """
    head = re.split(r"[*?]", pattern, maxsplit=1)[0]
    first, last = segment.prefix_range(head) if head else (0, len(segment.terms))
    matches = compile_pattern(pattern)
    found = [at for at in _iterate(first, last, cancelled) if matches(segment.terms[at])]
    return np.array(found, np.int32)


def mask_with_parts(segments: Sequence[Segment], size: int, parts: Iterable[str]) -> Mask:
    """Find the slots with a word that contains one of these parts.

    Words that were cut when they were indexed count as containing all parts.

    Args:
        segments: The index; without any, all slots are found.
        size: How many slots there are.
        parts: Folded parts of words.

    Returns:
        For each slot whether it has such a word.
    """
    if not segments:
        return np.ones(size, np.bool_)
    found = np.zeros(size, np.bool_)
    parts = tuple(parts)
    for segment in segments:
        numbers = set(segment.cut_words().tolist())
        for part in parts:
            numbers.update(segment.words_containing(part))
        for at in numbers:
            found[segment.first + segment.ids[segment.indptr[at] : segment.indptr[at + 1]]] = True
    return found


def max_edit_distance(word: str) -> int:
    """The edit distance allowed: 0 for up to two letters, 1 for up to five, else 2."""
    return 0 if len(word) < 3 else 1 if len(word) < 6 else 2


def expand_fuzzy(segment: Segment, word: str, cancelled: IsCancelled = never) -> Ints:
    """Return the numbers of the words of a `segment` within `max_edit_distance` of a `word`.

    They begin with the same letter. Raises Cancelled.
    """
    first, last = segment.prefix_range(word[:1])
    is_near = compile_fuzzy(word)
    found = [at for at in _iterate(first, last, cancelled) if is_near(segment.terms[at])]
    return np.array(found, np.int32)


def compile_fuzzy(word: str) -> Callable[[str], bool]:
    """Return a predicate: within the allowed distance of this word, and with its first letter."""
    limit, first, size = max_edit_distance(word), word[:1], len(word)
    letters = frozenset(word)

    def is_near(other: str) -> bool:
        return (
            -limit <= len(other) - size <= limit
            and other[:1] == first
            # Cheap test first: each edit leaves at most two letters that are in one word only.
            and len(letters.symmetric_difference(other)) <= 2 * limit
            and edit_distance(word, other, limit) <= limit
        )

    return is_near


def _iterate(first: int, last: int, cancelled: IsCancelled) -> Iterator[int]:
    for at in range(first, last):
        if (at - first) % _BATCH == 0 and cancelled():
            raise Cancelled
        yield at


def edit_distance(one: str, other: str, limit: int) -> int:
    """Return the Levenshtein distance of `one` and `other`; `limit + 1` if it is above `limit`."""
    row = list(range(len(other) + 1))
    for at, letter in enumerate(one, 1):
        low, high = max(1, at - limit), min(len(other), at + limit)
        diagonal, row[0] = row[0], at
        if low > 1:
            diagonal, row[low - 1] = row[low - 1], limit + 1
        best = row[low - 1]
        for to in range(low, high + 1):
            diagonal, row[to] = (
                row[to],
                min(
                    diagonal + (letter != other[to - 1]),
                    row[to - 1] + 1,
                    (row[to] if to < at + limit else limit + 1) + 1,
                ),
            )
            best = min(best, row[to])
        if best > limit:
            return limit + 1
    return min(row[-1], limit + 1)


def spelling_variants(word: str) -> Iterator[str]:
    """Every word at distance 1, swaps of neighbouring letters included."""
    for at in range(len(word) + 1):
        left, right = word[:at], word[at:]
        yield from (left + letter + right for letter in _LETTERS)
        if right:
            yield left + right[1:]
            yield from (left + letter + right[1:] for letter in _LETTERS)
        if len(right) > 1:
            yield left + right[1] + right[0] + right[2:]
