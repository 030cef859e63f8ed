"""Expand a term of a query to words of the index: a pattern, a misspelt word, one that nobody has.

A word that no memory holds is replaced by others, by the first of these ways that finds any:

    part of words        verwaltung -> sitzungsverwaltung
    two words            leasequeue -> lease queue
    other letters        zuerich -> zurich (Zürich), zurich -> zuerich
    misspelt             quilfeather -> quillfeather; the words at the smallest edit distance

Measured over 260 known items (docs/search, classes "part of a word", "misspelt"): MRR .71 -> .82.
"""

from __future__ import annotations

import fnmatch
import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import product

import numpy as np

from memtui.progress import Cancelled, IsCancelled, never, stoppable
from memtui.search import analysis
from memtui.search.array_types import Ints, Mask
from memtui.search.index.segments import Segment


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
    words = segment.terms.numbered(*segment.terms.prefix_range(head))
    matches = compile_pattern(pattern)
    found = [at for at, word in stoppable(words, cancelled) if matches(word)]
    return np.array(found, np.int32)


def max_edit_distance(word: str) -> int:
    """The edit distance allowed: 0 for up to two letters, 1 for up to five, else 2."""
    return 0 if len(word) < 3 else 1 if len(word) < 6 else 2


def expand_fuzzy(segment: Segment, word: str, cancelled: IsCancelled = never) -> Ints:
    """Return the numbers of the words of a `segment` within `max_edit_distance` of a `word`.

    They begin with the same letter. Raises Cancelled.
    """
    first, last = segment.terms.prefix_range(word[:1])
    near = _find_near(segment.terms[first:last], word, max_edit_distance(word), cancelled)
    return np.array(sorted(first + at for at in near), np.int32)


_CHOICES = 1 << 14
"""Words that are compared between two checks of `cancelled`: a millisecond."""


def _find_near(
    words: Sequence[str], word: str, limit: int, cancelled: IsCancelled, *, swaps: bool = False
) -> list[int]:
    """The positions of the words within an edit distance; `swaps`: that of two letters is 1."""
    from rapidfuzz import process
    from rapidfuzz.distance import OSA, Levenshtein  # 20 ms, for those who misspell

    distance = OSA.distance if swaps else Levenshtein.distance
    found: list[int] = []
    for first in range(0, len(words), _CHOICES):
        if cancelled():
            raise Cancelled
        some = words[first : first + _CHOICES]
        near = process.extract(word, some, scorer=distance, score_cutoff=limit, limit=None)
        found += (first + at for _, _, at in near)
    return found


MIN_PART_CHARS = 3
"""Characters of a word that is looked for as a part of others."""
MIN_PREFIX_CHARS = 5
"""Characters of the beginning of a word that is taken for misspelt while it is typed."""
MAX_WORDS = 64
"""Words that are looked for in place of one; the most frequent."""
MAX_FOLDED_PLACES = 4
"""Places of a word where an umlaut may be written in two ways."""
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
        alive: For each slot whether its words count; None: all.
        is_prefix: The word is still being typed.

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
            first, last = segment.word_range(word, is_prefix)
            for at in range(first, min(last, first + MAX_WORDS)):
                _add(found, segment, at, alive)
    return found


def _add(found: Held, segment: Segment, at: int, alive: Mask | None) -> None:
    if count := segment.count_holders(at, alive):
        word = segment.terms[at]
        found[word] = found.get(word, 0) + count


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
        for at in segment.terms.containing(word):
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
    near: Held = {}
    for segment in segments:
        for at in _find_near(segment.terms[:], word, 1, cancelled, swaps=True):
            _add(near, segment, at, alive)
    if near:
        return near
    found: Held = {}
    for segment in segments:
        for at in expand_fuzzy(segment, word, cancelled).tolist():
            _add(found, segment, at, alive)
    return found


def _misspelt_beginning(
    word: str, segments: Sequence[Segment], alive: Mask | None, cancelled: IsCancelled
) -> Held:
    """The words that begin like this one with one wrong, missing or added letter."""
    found: Held = {}
    if len(word) < MIN_PREFIX_CHARS or word.isdigit():
        return found
    from rapidfuzz.distance import Levenshtein

    size = len(word)
    for segment in segments:
        words = segment.terms.numbered(*segment.terms.prefix_range(word[:2]))
        for at, other in stoppable(words, cancelled):
            if len(other) >= size - 1 and any(
                Levenshtein.distance(word, other[:length], score_cutoff=1) <= 1
                for length in (size, size + 1, size - 1)
            ):
                _add(found, segment, at, alive)
    return found


def split_word(word: str, segments: Sequence[Segment]) -> Iterator[tuple[str, str]]:
    """The ways to split a `word` into two words of the `segments`, the most even first."""
    cuts = sorted(range(2, len(word) - 1), key=lambda cut: abs(2 * cut - len(word)))
    for cut in cuts:
        parts = word[:cut], word[cut:]
        if all(any(s.terms.find(part) is not None for s in segments) for part in parts):
            yield parts
