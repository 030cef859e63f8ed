"""Similar texts among many, without comparing every pair.

Two sets of words with a Jaccard of at least t share a word among their first n - ceil(t * n) + 1
words, whatever the order of words is; with the rarest words first these prefixes meet seldom
(Chaudhuri, Ganti, Kaushik: A primitive operator for similarity joins, 2006). So only memories that
meet in a prefix are compared.
"""

from __future__ import annotations

import difflib
import math
import re
from collections import Counter, defaultdict
from collections.abc import Callable, Iterator, Sequence
from functools import lru_cache
from itertools import chain

from msgspec import Struct

Step = Callable[[int, int], None]
STEP = 512
"""Number of texts between two calls of a step."""


def no_step(_done: int, _total: int) -> None:
    """Neither reports nor stops."""


_EAST_ASIAN = r"\u3040-\u30ff\u3400-\u9fff"
_LETTER_OR_WORD = re.compile(rf"[{_EAST_ASIAN}\uac00-\ud7af]|[^\W{_EAST_ASIAN}\uac00-\ud7af]+")


@lru_cache(maxsize=2048)  # the same texts are looked at for duplicates and for clusters
def words_of(text: str) -> frozenset[str]:
    """The different words of a text in lower case; scripts without blanks give their letters."""
    return frozenset(_LETTER_OR_WORD.findall(text.casefold()))


_TOKEN = re.compile(
    rf"\d+(?:[.,:/-]\d+)*|[{_EAST_ASIAN}]|[^\W{_EAST_ASIAN}]+(?:['’][^\W{_EAST_ASIAN}]+)?"
)
_NEGATION = re.compile(
    r"not|no|never|none|neither|nor|cannot|without|\w+n['’]t|"
    r"nicht|kein\w{0,2}|nie|niemals|ohne|pas|jamais|sans|nunca|sin|não|sem"
)
_NON = re.compile(r"\bnon[- ](\w+)", re.IGNORECASE)
_NAME = re.compile(r"\w(?:[\w-]|[./:@](?=\w))*[._/@:](?:[\w-]|[./:@](?=\w))*\w")
"""Paths, addresses, files, identifiers: words with a sign within."""
_SMALL_WORDS = "a an the of in on at to for and or is are was were with by as it its"
_SMALL = frozenset(_SMALL_WORDS.split())
"""Words that can change without changing the statement."""
_ENDING = 3
"""Letters by which forms of one word may differ: `week` and `weekends` are two."""
_INFLECTED = 0.6
"""Minimum ratio of difflib for two forms of one word: `run` and `runs`."""


def is_same_statement(one: str, other: str) -> bool:
    """Whether two texts of much the same words also say the same.

    They do not if they differ in a number or a negation, if each names a file or an identifier that
    the other does not, if words of one are replaced by others in the other ("north tower", "south
    tower"), or if two words have changed places ("tea over coffee", "coffee over tea").
    """
    one, other = (_NON.sub(r"non\1", text) for text in (one, other))
    if not have_same_signs(one, other):
        return False
    first, second = _TOKEN.findall(one.casefold()), _TOKEN.findall(other.casefold())
    if len(first) == len(second):
        moved = [(a, b) for a, b in zip(first, second, strict=True) if a != b]
        if len(moved) == 2 and moved[0] == moved[1][::-1]:
            return False
    matcher = difflib.SequenceMatcher(None, first, second, autojunk=False)
    return not any(
        _are_other_words(first[start:end], second[begin:stop])
        for kind, start, end, begin, stop in matcher.get_opcodes()
        if kind == "replace"
    )


def have_same_signs(one: str, other: str) -> bool:
    """Whether two texts have the same numbers and as many negations, and do not name other files
    or identifiers."""
    names, other_names = (set(_NAME.findall(text.casefold())) for text in (one, other))
    if names - other_names and other_names - names:
        return False
    first, second = _TOKEN.findall(one.casefold()), _TOKEN.findall(other.casefold())
    if sorted(filter(_is_number, first)) != sorted(filter(_is_number, second)):
        return False
    return sum(map(_is_negation, first)) == sum(map(_is_negation, second))


def _are_other_words(gone: Sequence[str], new: Sequence[str]) -> bool:
    if len(gone) == len(new):
        return any(map(_is_other_word, gone, new))
    return all(_is_other_word(a, b) for a in gone for b in new)


def _is_number(token: str) -> bool:
    return any(char.isdigit() for char in token)


def _is_negation(token: str) -> bool:
    return _NEGATION.fullmatch(token) is not None


def _is_other_word(one: str, other: str) -> bool:
    if one in _SMALL and other in _SMALL:
        return False
    if one[:2] != other[:2] or abs(len(one) - len(other)) > _ENDING:
        return True
    return difflib.SequenceMatcher(None, one, other).ratio() < _INFLECTED


_LIGHT = (
    "be do have happen run take live host locat lie stand stay keep store prefer like want use "
    "allow need must should can every each all now always during while via using also so please "
    "just there here that this they we our you he she his her their when which who only"
)
"""Words that can change, come or go without changing the statement."""
FEWEST_STEMS = 3
"""Different heavy stems of a text that may be a paraphrase."""


@lru_cache(maxsize=4096)
def stem(word: str) -> str:
    """A word in lower case without its inflection: `messages`, `hosted`, `prefers`."""
    word = word.removesuffix("'s").removesuffix("’s")
    if word[-1:] not in ("s", "g", "d", "e"):
        return word
    for ending in ("ies", "ing", "ed", "es", "s", "e"):
        if word.endswith(ending) and len(word) - len(ending) >= 3 and not word.endswith("ss"):
            return word[: -len(ending)] + ("y" if ending == "ies" else "")
    return word


def heavy_stems(text: str) -> list[str]:
    """The stems of a text in their order, without words that can change, come or go."""
    stems = (stem(word) for word in _TOKEN.findall(text.casefold()) if word not in _SMALL)
    return [one for one in stems if one not in _LIGHT_STEMS]


def is_paraphrase(one: str, other: str) -> bool:
    """Whether two short texts say the same with a phrase moved and other light words.

    The words that both have stand in the same order, or one phrase of them has moved: "Deploys run
    on Tuesday", "On Tuesday the deploy runs", but not "Ann calls Bob", "Bob calls Ann".
    """
    first, second = heavy_stems(one), heavy_stems(other)
    if len(set(first)) < FEWEST_STEMS or sorted(first) != sorted(second):
        return False
    while first and first[0] == second[0]:
        first, second = first[1:], second[1:]
    while first and first[-1] == second[-1]:
        first, second = first[:-1], second[:-1]
    return not first or any(first[at:] + first[:at] == second for at in range(len(first)))


_LIGHT_STEMS = frozenset(map(stem, _LIGHT.split()))


def jaccard(one: frozenset[str], other: frozenset[str]) -> float:
    """The share of common words; 0 if either has none."""
    if not one or not other:
        return 0.0
    common = len(one & other)
    return common / (len(one) + len(other) - common)


class SimilarPair(Struct, frozen=True):
    """Two texts of a sequence, by their positions, and how similar they are."""

    first: int
    second: int
    score: float


def similar_pairs(
    texts: Sequence[frozenset[str]], threshold: float, fewest: int = 1, step: Step = no_step
) -> Iterator[SimilarPair]:
    """Every pair of word sets with a Jaccard of at least the threshold.

    Args:
        texts: The words of each text.
        threshold: More than 0, at most 1.
        fewest: Words that a text needs to be compared.
        step: Called now and then with the texts done and their number; what it raises ends it.
    """
    counts = Counter(chain.from_iterable(texts))
    by_word: defaultdict[str, list[int]] = defaultdict(list)
    for done, position in enumerate(sorted(range(len(texts)), key=lambda at: len(texts[at]))):
        if done % STEP == STEP - 1:
            step(done, len(texts))
        words, size = texts[position], len(texts[position])
        if size < fewest:
            continue
        rarest = sorted(sorted(words), key=counts.__getitem__)
        prefix = rarest[: size - math.ceil(threshold * size) + 1]
        candidates: dict[int, None] = {}
        for word in prefix:
            candidates.update(dict.fromkeys(by_word[word]))
            by_word[word].append(position)
        for other in candidates:
            if len(texts[other]) < threshold * size:
                continue
            score = jaccard(words, texts[other])
            if score >= threshold:
                first, second = sorted((other, position))
                yield SimilarPair(first, second, score)


def cosine(one: frozenset[str], other: frozenset[str]) -> float:
    """The cosine of two sets of words, each word counted once; 0 if either has none.

    It is c only where the Jaccard is at least c * c: that of a set and a part of it.
    """
    if not one or not other:
        return 0.0
    return len(one & other) / math.sqrt(len(one) * len(other))


def stars_of(pairs: Sequence[tuple[int, int]], order: Sequence[int]) -> list[list[int]]:
    """Groups in which each item is paired with the first: no chains of ever less similar ones.

    Args:
        pairs: Of similar items.
        order: The items, those first that are to be the first of a group.
    """
    near: defaultdict[int, set[int]] = defaultdict(set)
    for first, second in pairs:
        near[first].add(second)
        near[second].add(first)
    groups, taken = [], set[int]()
    for item in order:
        if item not in taken and (others := near[item] - taken):
            groups.append([item, *(other for other in order if other in others)])
            taken |= {item, *others}
    return groups
