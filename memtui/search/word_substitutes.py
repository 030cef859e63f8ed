"""Find index words to search for instead of a word of the query that no memory has.

In this order, the first that finds anything:

    part of words        verwaltung -> sitzungsverwaltung
    two words            leasequeue -> lease queue
    other letters        zuerich -> zurich (Zürich), zurich -> zuerich
    misspelt             quilfeather -> quillfeather; the words at the smallest edit distance

Measured over 260 known items (docs/search, classes "part of a word", "misspelt"): MRR .71 -> .82.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import product

from memtui.progress import Cancelled, IsCancelled, never
from memtui.search import expansion, hits
from memtui.search.array_types import Mask
from memtui.search.postings import Segment

MIN_PART_CHARS = 3
"""Characters of a word that is looked for as a part of others."""
MIN_PREFIX_CHARS = 5
"""Characters of the beginning of a word that is taken for misspelt while it is typed."""
MAX_WORDS = 64
"""Words that are looked for in place of one; the most frequent."""
MAX_FOLDED_PLACES = 4
"""Places of a word where an umlaut may be written in two ways."""
_BATCH = 512
_UMLAUTS = re.compile(r"ae|oe|ue|a|o|u")
_OTHER_WAY = {"ae": "a", "oe": "o", "ue": "u", "a": "ae", "o": "oe", "u": "ue"}

Held = dict[str, int]
"""Words and how many living memories hold each."""


def find_substitutes(
    word: str,
    segments: Sequence[Segment],
    alive: Mask | None = None,
    *,
    is_prefix: bool = False,
    cancelled: IsCancelled = never,
) -> tuple[str, ...]:
    """Words of the index to look for in place of one that no memory holds.

    Args:
        word: The folded word.
        segments: The index.
        alive: For each slot whether its words count; None: all.
        is_prefix: The word is still being typed.
        cancelled: Is asked now and then.

    Returns:
        The words, those in most memories first; () if there are none.

    Raises:
        Cancelled: `cancelled` became true.
    """
    ways: tuple[Callable[[], Held], ...] = (
        lambda: _containing(word, segments, alive, cancelled),
        lambda: _find_held_words(_folded_variants(word), segments, alive, is_prefix),
        lambda: _misspelt(word, segments, alive, cancelled),
        lambda: _misspelt_beginning(word, segments, alive, cancelled) if is_prefix else {},
    )
    for way in ways:
        if found := way():
            return tuple(sorted(found, key=lambda other: (-found[other], other))[:MAX_WORDS])
    return ()


def _find_held_words(
    words: Iterable[str], segments: Sequence[Segment], alive: Mask | None, is_prefix: bool = False
) -> Held:
    """Those of the words that living memories hold; with `is_prefix` also their completions."""
    found: Held = {}
    for word in words:
        for segment in segments:
            if is_prefix:
                first, last = segment.prefix_range(word)
            else:
                at = segment.find_word(word)
                first, last = (0, 0) if at is None else (at, at + 1)
            for at in range(first, min(last, first + MAX_WORDS)):
                _add(found, segment, at, alive)
    return found


def _add(found: Held, segment: Segment, at: int, alive: Mask | None) -> None:
    if count := hits.count_holders(segment, at, alive):
        found[segment.terms[at]] = found.get(segment.terms[at], 0) + count


def _containing(
    word: str, segments: Sequence[Segment], alive: Mask | None, cancelled: IsCancelled
) -> Held:
    """The words with this one inside; one scan of the words written one after the other."""
    found: Held = {}
    if len(word) < MIN_PART_CHARS:
        return found
    for segment in segments:
        if cancelled():
            raise Cancelled
        for at in segment.words_containing(word):
            _add(found, segment, at, alive)
    return found


def _folded_variants(word: str) -> Iterator[str]:
    """The word with umlauts written in the other way, in every combination."""
    places = list(_UMLAUTS.finditer(word))[:MAX_FOLDED_PLACES]
    for choice in product((False, True), repeat=len(places)):
        if not any(choice):
            continue
        pieces, at = [], 0
        for place, is_other in zip(places, choice, strict=True):
            pieces.append(word[at : place.start()])
            pieces.append(_OTHER_WAY[place[0]] if is_other else place[0])
            at = place.end()
        yield "".join([*pieces, word[at:]])


def _misspelt(
    word: str, segments: Sequence[Segment], alive: Mask | None, cancelled: IsCancelled
) -> Held:
    """The words at distance 1, else those at distance 2 with the same first letter."""
    if len(word) < MIN_PART_CHARS + 1 or word.isdigit():
        return {}
    near = _find_held_words(expansion.spelling_variants(word), segments, alive)
    if near:
        return near
    found: Held = {}
    for segment in segments:
        for at in expansion.expand_fuzzy(segment, word, cancelled).tolist():
            _add(found, segment, at, alive)
    return found


def _misspelt_beginning(
    word: str, segments: Sequence[Segment], alive: Mask | None, cancelled: IsCancelled
) -> Held:
    """The words that begin like this one with one wrong, missing or added letter."""
    found: Held = {}
    if len(word) < MIN_PREFIX_CHARS or word.isdigit():
        return found
    size = len(word)
    for segment in segments:
        first, last = segment.prefix_range(word[:2])
        for at in range(first, last):
            if (at - first) % _BATCH == 0 and cancelled():
                raise Cancelled
            other = segment.terms[at]
            if len(other) >= size - 1 and any(
                expansion.edit_distance(word, other[:length], 1) <= 1
                for length in (size, size + 1, size - 1)
            ):
                _add(found, segment, at, alive)
    return found


def split_word(word: str, segments: Sequence[Segment]) -> Iterator[tuple[str, str]]:
    """The ways to split a `word` into two words of the `segments`, the most even first."""
    cuts = sorted(range(2, len(word) - 1), key=lambda cut: abs(2 * cut - len(word)))
    for cut in cuts:
        parts = word[:cut], word[cut:]
        if all(any(s.find_word(part) is not None for s in segments) for part in parts):
            yield parts
