"""Path patterns of the type map: `*`, `?`, `**/` and `**`, matched against a whole path.

`*` is any run of characters without a slash, `?` one character that is no slash, `**/` zero or
more folders, `**` anything at all; everything else, brackets included, stands for itself.

A pattern comes from a file a stranger may have written, so matching must not run away. Between two
double stars the leftmost place that fits is as good as any later one, and so it is between two
single stars inside one piece: each such piece becomes an atomic group, which never backtracks.
Only the last piece, tied to the end of the path, tries several places.
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


def _piece(text: str, last: bool) -> str:
    """A part of the pattern without double stars; `last`: it must reach the end of the path."""
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
    """The pattern as a regular expression to be used with `match`."""
    if len(pattern) > LONGEST_PATTERN:
        return re.compile(r"(?!)")
    pieces = _DOUBLE_STAR.split(pattern)
    stars = _DOUBLE_STAR.findall(pattern)
    expression = _piece(pieces[0], last=not stars)
    for index, (star, text) in enumerate(zip(stars, pieces[1:], strict=True)):
        last = index == len(stars) - 1
        run = (_FOLDERS if star == "**/" else _ANYTHING) + _piece(text, last)
        expression += run if last else f"(?>{run})"
    return re.compile(expression, re.DOTALL)


def matches(pattern: str, path: str) -> bool:
    """Does the whole path, written with slashes and relative to the workspace, fit the pattern?"""
    return compiled(pattern).match(path) is not None
