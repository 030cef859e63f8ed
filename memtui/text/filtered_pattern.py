"""Try many regular expressions quickly: skip those whose required words are not in the text.

Most texts hold none of these words. They are looked for in the words of a text, and what a word
holds is remembered.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import reduce
from itertools import takewhile
from operator import or_
from typing import Any

try:  # the parser of `re` is not documented; without it every text is tried
    from re import _parser  # type: ignore[attr-defined]
except ImportError:  # pragma: no cover
    _parser = None

_Words = frozenset[str]
_MIN_WEIGHT = 2
"""Weight of a word that is worth looking for."""
_TOKEN = re.compile(r"[^\W\d_]{2,}")
_KEY = 3
"""Letters by which the pieces of words are looked up; shorter pieces by two."""
_LISTS = 2
"""Lists of an expression that are looked for in the words of a text. One lets too many texts pass;
more have so many words that looking them up takes longer than trying."""
_LONGEST = 40
"""Longest token that is remembered, in characters: scripts without blanks have long ones."""
_MAX_CACHED = 150_000
"""Maximum number of remembered tokens."""


def fold(text: str) -> str:
    """The text with its letters folded as `re.IGNORECASE` takes them for the same."""
    if text.isascii():
        return text.lower()
    return text.casefold().replace("ı", "i").replace("i\u0307", "i")


class ExpressionFilter:
    """Names the expressions, which ignore case, that are worth trying on a text."""

    def __init__(self, expressions: Sequence[str]) -> None:
        self._expressions = tuple(expressions)
        self._compiled: dict[int, re.Pattern[str]] = {}
        self.words = tuple(map(words_needed, expressions))
        """Words that each expression needs: one of each of these lists, in lower case; none: every
        text is tried."""
        self._pieces: dict[str, list[tuple[str, int]]] = {}
        self._with: dict[int, list[tuple[int, int]]] = {}
        """Bit of the list that says most of an expression -> the bits of `_LISTS` of its lists, and
        its number; 0: those of which every text is tried."""
        bit_of: dict[tuple[str, ...], int] = {}
        for at, needed in enumerate(self.words):
            pieces_of = dict.fromkeys(map(_longest_pieces, needed))
            lists = sorted(filter(all, pieces_of), key=_rarity)[-_LISTS:]
            bits = [bit_of.setdefault(pieces, 1 << len(bit_of)) for pieces in lists] or [0]
            self._with.setdefault(bits[-1], []).append((sum(bits), at))
        for pieces, bit in bit_of.items():
            for piece in pieces:
                self._pieces.setdefault(piece[:_KEY], []).append((piece, bit))
        self._firsts = reduce(or_, self._with, 0)
        self._known = WordBits(self.bits_of)

    def bits_of(self, word: str) -> int:
        """Bits of the lists of which a word of a text holds the longest piece of one."""
        found = 0
        for at in range(len(word) - 1):
            for key in (word[at : at + 2], word[at : at + _KEY]):
                for piece, bit in self._pieces.get(key, ()):
                    if word.startswith(piece, at):
                        found |= bit
        return found

    def candidates(self, folded: str, bits: int | None = None) -> list[int]:
        """The numbers of the expressions that may match, ascending; all others do not.

        Args:
            folded: The text, as `fold` gives it.
            bits: What `bits_of` gives for its words, joined; None: they are looked for.
        """
        if bits is None:
            bits = self._known.join(set(_TOKEN.findall(folded)))
        possible = [at for _, at in self._with.get(0, ())]
        left = bits & self._firsts
        while left:
            first = left & -left
            left ^= first
            possible += [at for needed, at in self._with[first] if needed & bits == needed]
        return [at for at in sorted(possible) if may_match(self.words[at], folded)]

    def matches(self, at: int, text: str) -> bool:
        """Whether the expression of this number matches a text."""
        if at not in self._compiled:  # all expressions take 30 ms
            self._compiled[at] = re.compile(self._expressions[at], re.IGNORECASE)
        return self._compiled[at].search(text) is not None


class WordBits(dict[str, int]):
    """Word -> what a function says of it, in bits; texts repeat their words."""

    def __init__(self, look_up: Callable[[str], int]) -> None:
        super().__init__()
        self._look_up = look_up

    def join(self, words: Iterable[str]) -> int:
        """The bits of all these words."""
        return reduce(or_, filter(None, map(self.__getitem__, words)), 0)

    def __missing__(self, word: str) -> int:
        bits = self._look_up(word)
        if len(word) <= _LONGEST:
            if len(self) >= _MAX_CACHED:
                self.clear()
            self[word] = bits
        return bits


def _longest_pieces(words: Sequence[str]) -> tuple[str, ...]:
    """The longest piece of each word that is within one word of a text; `""` for signs."""
    return tuple(max(_TOKEN.findall(word), key=len, default="") for word in words)


def _rarity(pieces: Sequence[str]) -> tuple[int, int]:
    return min(map(len, pieces)), -len(pieces)


def find_all(text: str, word: str) -> Iterator[int]:
    """Where the word is in the text, from left to right."""
    at = text.find(word)
    while at >= 0:
        yield at
        at = text.find(word, at + len(word))


def may_match(needed: Iterable[Sequence[str]], folded: str) -> bool:
    """Whether a text has one word of each of the lists that `words_needed` gives."""
    return all(any(map(folded.__contains__, words)) for words in needed)


def min_chars(expression: str) -> int:
    """The length of the shortest match of an expression; 0 if that is unknown."""
    return _parser.parse(expression).getwidth()[0] if _parser is not None else 0


def words_needed(expression: str) -> tuple[tuple[str, ...], ...]:
    """Lists of words, of each of which every match of an expression holds at least one, those first
    that say most; none if that is unknown."""
    parsed = _parser.parse(expression, re.IGNORECASE) if _parser is not None else ()
    return tuple(
        tuple(sorted(words)) for words in sorted(_needed(parsed), key=_value, reverse=True)
    )


def _needed(parsed: Iterable[tuple[Any, Any]]) -> set[_Words]:
    """Sets of words, of each of which every match of a parsed expression holds at least one."""
    sets: set[_Words] = set()
    run = ""
    for operator, value in parsed:
        name = str(operator)
        if name == "LITERAL":
            run += chr(value)
            continue
        sets.add(frozenset({run.casefold()}))
        if name == "BRANCH":  # of which the parser puts the common beginning before it
            sets.add(frozenset((run + _beginning(one)).casefold() for one in value[1]))
        run = ""
        sets |= _within(name, value)
    sets.add(frozenset({run.casefold()}))
    return {words for words in sets if min(map(_weight, words)) >= _MIN_WEIGHT}


def _value(words: _Words) -> tuple[int, int, list[str]]:
    """How much it says that a text holds one of these words."""
    return min(map(_weight, words)), -len(words), sorted(words)


def _weight(word: str) -> int:
    """The length; a Chinese or Japanese character says as much as two letters."""
    return sum(2 if letter >= "\u2e80" else 1 for letter in word)


def _beginning(parsed: Iterable[tuple[Any, Any]]) -> str:
    letters = takewhile(lambda each: str(each[0]) == "LITERAL", parsed)
    return "".join(chr(value) for _, value in letters)


def _within(name: str, value: Any) -> set[_Words]:
    if name == "SUBPATTERN":
        return _needed(value[-1])
    if name == "BRANCH":
        branches = [max(_needed(branch), key=_value, default=None) for branch in value[1]]
        found = [words for words in branches if words is not None]
        return {frozenset().union(*found)} if len(found) == len(branches) else set()
    if name in ("MAX_REPEAT", "MIN_REPEAT", "POSSESSIVE_REPEAT") and value[0] > 0:
        return _needed(value[2])
    return set()
