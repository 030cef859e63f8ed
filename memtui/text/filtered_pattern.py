"""Try many regular expressions quickly: skip those whose required words are not in the text.

Most texts hold none of these words. They are looked for in the different words of a text, and what
a word holds is remembered: a language has few words, and texts repeat them.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
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
        self.words = tuple(map(words_needed, expressions))
        """Words that each expression needs, in lower case; none: every text is tried."""
        self._always = frozenset(at for at, words in enumerate(self.words) if not words)
        by_piece: dict[str, set[int]] = {}
        for at, words in enumerate(self.words):
            for word in words:
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
        words = self.words
        return [
            at for at in sorted(found) if not words[at] or any(map(folded.__contains__, words[at]))
        ]

    def _numbers_in(self, token: str) -> frozenset[int]:
        inside = [numbers for piece, numbers in self._by_piece.items() if piece in token]
        found = _NONE.union(*inside) if inside else _NONE
        if len(token) <= _LONGEST:
            if len(self._known) >= _MAX_CACHED:
                self._known.clear()
            self._known[token] = found
        return found


def words_needed(expression: str) -> tuple[str, ...]:
    """Words of which every match of an expression holds at least one; none if that is unknown."""
    parsed = _parser.parse(expression, re.IGNORECASE) if _parser is not None else ()
    return tuple(sorted(_needed(parsed) or ()))


def _needed(parsed: Iterable[tuple[Any, Any]]) -> _Words | None:
    """Words of which every match of a parsed expression holds at least one; None: unknown."""
    choices: list[_Words] = []
    run = ""
    for operator, value in parsed:
        name = str(operator)
        if name == "LITERAL":
            run += chr(value)
            continue
        choices.append(frozenset({run.casefold()}))
        if name == "BRANCH":  # of which the parser puts the common beginning before it
            choices.append(frozenset((run + _beginning(one)).casefold() for one in value[1]))
        run = ""
        inner = _within(name, value)
        if inner:
            choices.append(inner)
    choices.append(frozenset({run.casefold()}))
    best = max(choices, key=lambda words: (min(map(_weight, words)), -len(words)))
    return best if min(map(_weight, best)) >= _MIN_WEIGHT else None


def _weight(word: str) -> int:
    """The length; a Chinese or Japanese character says as much as two letters."""
    return sum(2 if letter >= "\u2e80" else 1 for letter in word)


def _beginning(parsed: Iterable[tuple[Any, Any]]) -> str:
    letters = takewhile(lambda each: str(each[0]) == "LITERAL", parsed)
    return "".join(chr(value) for _, value in letters)


def _within(name: str, value: Any) -> _Words | None:
    if name == "SUBPATTERN":
        return _needed(value[-1])
    if name == "BRANCH":
        branches = [_needed(branch) for branch in value[1]]
        if None in branches:
            return None
        return frozenset(word for words in branches for word in words or ())
    if name in ("MAX_REPEAT", "MIN_REPEAT", "POSSESSIVE_REPEAT") and value[0] > 0:
        return _needed(value[2])
    return None
