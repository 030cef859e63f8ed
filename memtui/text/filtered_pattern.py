"""Try many regular expressions quickly: skip those whose required words are not in the text.

Most texts hold none of these words. They are looked for in the different words of a text, and what
a word holds is remembered: a language has few words, and texts repeat them.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from itertools import takewhile
from typing import Any

try:  # the parser of `re` is not documented; without it every text is tried
    from re import _parser  # type: ignore[attr-defined]
except ImportError:  # pragma: no cover
    _parser = None

_Words = frozenset[str]
_MIN_WEIGHT = 2
"""Weight of a word that is worth looking for."""
_TOKEN = re.compile(r"[^\W\d_]{2,}")
_LONGEST = 40
"""Longest token that is remembered, in characters: scripts without blanks have long ones."""
_MAX_CACHED = 50_000
"""Maximum number of remembered tokens."""
_NONE: frozenset[int] = frozenset()


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
        widths = map(_width, expressions)
        self._widths = [
            width if lists else 0 for width, lists in zip(widths, self.words, strict=True)
        ]
        """Characters of the longest match of each; 0 if it is not bounded, or needs no word."""
        self._with_blanks = {at for at, one in enumerate(expressions) if _bounded(one) != one}
        self._always = frozenset(at for at, lists in enumerate(self.words) if not lists)
        by_piece: dict[str, set[int]] = {}
        for at, lists in enumerate(self.words):
            for word in lists[0] if lists else ():
                pieces = _TOKEN.findall(word) or [""]
                by_piece.setdefault(max(pieces, key=len), set()).add(at)
        self._always |= by_piece.pop("", set())
        self._by_piece = {piece: frozenset(numbers) for piece, numbers in by_piece.items()}
        self._known: dict[str, frozenset[int]] = {}

    def candidates(self, folded: str) -> list[int]:
        """The numbers of the expressions that may match, ascending; all others do not. The text is
        as `fold` gives it."""
        known = self._known
        found = set(self._always)
        for token in set(_TOKEN.findall(folded)):
            numbers = known.get(token)
            if numbers is None:
                numbers = self._numbers_in(token)
            if numbers:
                found |= numbers
        return [at for at in sorted(found) if may_match(self.words[at], folded)]

    def matches(self, at: int, text: str, folded: str) -> bool:
        """Whether the expression of this number matches a text, which `fold` gives folded."""
        if at not in self._compiled:  # all expressions take 30 ms
            self._compiled[at] = re.compile(self._expressions[at], re.IGNORECASE)
        search = self._compiled[at].search
        is_bounded = self._widths[at] and len(folded) == len(text)
        if not is_bounded or (at in self._with_blanks and _LONG_BLANK.search(text)):
            return search(text) is not None
        return any(search(text, *place) for place in self._places(at, folded))

    def _places(self, at: int, folded: str) -> Iterator[tuple[int, int]]:
        """Where the expression may match: around the words that it needs, as far as it reaches."""
        first, *others = self.words[at]
        reach = self._widths[at] + _SLACK
        near: list[tuple[int, int]] = []
        for found in sorted(each for word in first for each in find_all(folded, word)):
            start = max(0, found - reach)
            if near and start <= near[-1][1]:
                start = near.pop()[0]
            near.append((start, found + reach))
        for start, end in near:
            if not others or may_match(others, folded[start:end]):
                yield start, end

    def _numbers_in(self, token: str) -> frozenset[int]:
        inside = [numbers for piece, numbers in self._by_piece.items() if piece in token]
        found = _NONE.union(*inside) if inside else _NONE
        if len(token) <= _LONGEST:
            if len(self._known) >= _MAX_CACHED:
                self._known.clear()
            self._known[token] = found
        return found


_WIDEST = 1_000
"""Characters of a match up to which only the places around the words that it needs are searched."""
_SLACK = 40
"""Characters around a match that a look ahead or the end of a word may ask for."""


_BLANKS = 40
"""Blanks in a row that a text may have for `\\s+` to be taken as bounded."""
_LONG_BLANK = re.compile(rf"\s{{{_BLANKS + 1}}}")


def _bounded(expression: str) -> str:
    """The expression with no more blanks in a row than `_BLANKS`."""
    few = expression.replace(r"\s+", rf"\s{{1,{_BLANKS}}}")
    return few.replace(r"\s*", rf"\s{{0,{_BLANKS}}}")


def _width(expression: str) -> int:
    """Characters of the longest match of an expression; 0 if it may be long."""
    if _parser is None:
        return 0
    most = _parser.parse(_bounded(expression), re.IGNORECASE).getwidth()[1]
    return int(most) if most <= _WIDEST else 0


def find_all(text: str, word: str) -> Iterator[int]:
    """Where the word is in the text, from left to right."""
    at = text.find(word)
    while at >= 0:
        yield at
        at = text.find(word, at + len(word))


def may_match(needed: Iterable[Sequence[str]], folded: str) -> bool:
    """Whether a text has one word of each of the lists that `words_needed` gives."""
    return all(any(map(folded.__contains__, words)) for words in needed)


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
