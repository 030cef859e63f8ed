"""Glob patterns of paths, as several programs write them: `*` and `?` within a name, `**` across
folders. A pattern comes from a file that anyone may have written, so that none takes long to match.
"""

from __future__ import annotations

import re
from functools import lru_cache

LONGEST_PATTERN = 1_000
"""Characters. A longer pattern matches nothing: no path needs it."""

_DOUBLE_STAR = re.compile(r"(?<![^/])\*\*/|\*\*")
"""`**/` means folders only where a name may begin; inside a name it is `**` and a slash."""

_ANYTHING = r".*?"
_FOLDERS = r"(?:[^/]*/)*?"
_IN_NAME = r"[^/]*?"


def _literal(text: str) -> str:
    return "".join("[^/]" if char == "?" else re.escape(char) for char in text)


def _segment_pattern(text: str, last: bool) -> str:
    """Translate a part without double stars; `last`: it must match the end of the path."""
    head, *rest = text.split("*")
    parts = [_literal(head)]
    for index, chunk in enumerate(rest):
        run = _IN_NAME + _literal(chunk)
        ends = last and index == len(rest) - 1
        parts.append(run + r"\Z" if ends else f"(?>{run})")
    if last and not rest:
        parts.append(r"\Z")
    return "".join(parts)


@lru_cache(maxsize=4_096)
def compiled(pattern: str) -> re.Pattern[str]:
    """Compile the pattern to a regular expression for `match`."""
    if len(pattern) > LONGEST_PATTERN:
        return re.compile(r"(?!)")
    pieces = _DOUBLE_STAR.split(pattern)
    stars = _DOUBLE_STAR.findall(pattern)
    expression = _segment_pattern(pieces[0], last=not stars)
    for index, (star, text) in enumerate(zip(stars, pieces[1:], strict=True)):
        last = index == len(stars) - 1
        run = (_FOLDERS if star == "**/" else _ANYTHING) + _segment_pattern(text, last)
        expression += run if last else f"(?>{run})"
    return re.compile(expression, re.DOTALL)


def matches(pattern: str, path: str) -> bool:
    """Whether the path, relative and with slashes, matches the pattern."""
    return compiled(pattern).match(path) is not None
