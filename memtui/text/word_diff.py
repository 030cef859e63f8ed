"""Compare two texts word by word."""

from __future__ import annotations

import difflib
import re

_WORDS = re.compile(r"\s+|\w+|[^\w\s]")
MOST_WORDS = 4_000
"""Pieces of a text that are compared one by one; longer texts are compared by line, because the
time of difflib grows with the square."""
_LINES = re.compile(r"[^\n]*\n|[^\n]+")


def diff_words(before: str, after: str) -> list[tuple[str, str]]:
    """Diff two texts word by word, as (`unchanged` | `removed` | `new`, piece) pairs.

    A space between two changes counts as changed, so that a changed phrase stays in one piece.
    """
    old, new = _WORDS.findall(before), _WORDS.findall(after)
    if len(old) + len(new) > 2 * MOST_WORDS:
        old, new = _LINES.findall(before), _LINES.findall(after)
    steps = difflib.SequenceMatcher(None, old, new, autojunk=False).get_opcodes()
    pieces: list[tuple[str, str]] = []
    removed = added = ""
    for at, (kind, a, b, c, d) in enumerate(steps):
        unchanged = "".join(new[c:d])
        if kind == "equal" and not (unchanged == " " and 0 < at < len(steps) - 1):
            pieces += _removed_and_added(removed, added)
            pieces.append(("same", unchanged))
            removed = added = ""
            continue
        removed += "".join(old[a:b])
        added += unchanged
    return pieces + _removed_and_added(removed, added)


def _removed_and_added(removed: str, added: str) -> list[tuple[str, str]]:
    between = [("same", " ")] if removed and added and not removed[-1:].isspace() else []
    pieces = [("gone", removed), *between, ("new", added)]
    return [(kind, piece) for kind, piece in pieces if piece]


_MARKS = {"same": ("", ""), "gone": ("[-", "-]"), "new": ("{+", "+}")}


def mark_piece(kind: str, piece: str) -> str:
    """A piece of `diff_words` as `git diff --word-diff` writes it: [-gone-] or {+new+}."""
    left, right = _MARKS[kind]
    return f"{left}{piece}{right}"


def mark_words(before: str, after: str) -> str:
    """The difference of two texts as plain text with such marks."""
    return "".join(mark_piece(kind, piece) for kind, piece in diff_words(before, after))
