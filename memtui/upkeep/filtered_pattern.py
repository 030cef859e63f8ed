"""A regular expression that is only tried on texts which hold a word that every match needs.

Most texts hold none of these words, and looking for a word costs a hundredth of trying an
expression with many alternatives at every place.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from itertools import takewhile
from typing import Any

try:  # the parser of `re` is not documented; without it every text is tried
    from re import _parser  # type: ignore[attr-defined]
except ImportError:  # pragma: no cover
    _parser = None

_Words = frozenset[str]
_LEAST = 2
"""Weight of a word that is worth looking for."""


class FilteredPattern:
    """An expression without regard to case, with the words of which a match holds at least one."""

    def __init__(self, expression: str) -> None:
        self._pattern = re.compile(expression, re.IGNORECASE)
        parsed = _parser.parse(expression, re.IGNORECASE) if _parser is not None else ()
        words = _needed(parsed)
        self.words = tuple(sorted(words)) if words else ()
        """In lower case; none: every text is tried."""

    def is_in(self, text: str, folded: str) -> bool:
        """Whether it matches anywhere.

        Args:
            text: The text.
            folded: The same, case-folded.
        """
        if self.words and not any(word in folded for word in self.words):
            return False
        return self._pattern.search(text) is not None


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
    return best if min(map(_weight, best)) >= _LEAST else None


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
