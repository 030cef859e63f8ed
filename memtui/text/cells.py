"""Measure, cut and wrap text by terminal cells.

The widths are those of Textual (Rich), from Python's own Unicode tables, so that a row measured
here ends where Textual ends it. All functions expect text from `visible`.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterator

from memtui.text.emoji import EMOJI_STYLE, SEQUENCE, ZWJ, has_glue, is_widened

ELLIPSIS = "…"

CACHED_BELOW = 0x20000
"""Code points below it are cached: a text of all characters must not fill the memory."""

_ZERO_WIDTH = frozenset({"Mn", "Me", "Mc", "Cc", "Cf"})
_TONE = range(0x1F3FB, 0x1F400)
_JAMO = (range(0x1160, 0x1200), range(0xD7B0, 0xD800))
"""Vowels and finals of Hangul written in parts: drawn inside the block of their initial."""
# Wide since Unicode 15 or 16, or reserved as wide: Python 3.11 has the tables of Unicode 14.
_WIDE_SINCE = re.compile(
    "[\u2630-\u2637\u268a-\u268f\u4dc0-\u4dff\U0001d300-\U0001d356\U0001d360-\U0001d376"
    "\U0001f6d8\U0001f6dc\U0001fa70-\U0001faff\U00020000-\U0003fffd]"
)
_SEQUENCE = re.compile(SEQUENCE)


class _Widths(dict[str, int]):
    """Cells of each character, computed once for each that occurs."""

    def __missing__(self, char: str) -> int:
        cells = _cells(char)
        if ord(char) < CACHED_BELOW:
            self[char] = cells
        return cells


def _cells(char: str) -> int:
    code = ord(char)
    if code in _TONE or any(code in part for part in _JAMO):
        return 0
    if _WIDE_SINCE.match(char) or unicodedata.east_asian_width(char) in "WF":
        return 0 if unicodedata.category(char) in _ZERO_WIDTH else 2
    return 0 if unicodedata.category(char) in _ZERO_WIDTH else 1


_WIDTHS = _Widths()


def width(text: str) -> int:
    """Return the terminal cells of a visible text without newlines."""
    if text.isascii():
        return len(text)
    if ZWJ not in text and EMOJI_STYLE not in text:
        return sum(map(_WIDTHS.__getitem__, text))
    return sum(cells for _, cells in _clusters(text))


def _clusters(text: str) -> Iterator[tuple[str, int]]:
    """Yield units that must not be split, with their cells: emoji sequences, letters with marks."""
    at, end = 0, len(text)
    glued = has_glue(text) is not None
    while at < end:
        start = at
        if glued and (sequence := _SEQUENCE.match(text, at)):
            at = sequence.end()
            cells = _WIDTHS[text[start]]
            if cells == 1 and EMOJI_STYLE in sequence[0] and is_widened(text[start]):
                cells = 2
        else:
            cells = _WIDTHS[text[at]]
            at += 1
        while at < end and text[at] != "\n" and not _WIDTHS[text[at]]:
            at += 1
        yield text[start:at], cells


def cut(text: str, cells: int) -> str:
    """Return the text if it fits in so many cells, else its beginning and an ellipsis.

    Never wider than `cells`; a wide character is left out rather than split.
    """
    if cells <= 0:
        return ""
    if text.isascii():
        return text if len(text) <= cells else text[: cells - 1] + ELLIPSIS
    at = used = kept = 0
    for cluster, wide in _clusters(text):
        if used + wide > cells:
            return text[:kept] + ELLIPSIS
        used += wide
        at += len(cluster)
        if used < cells:
            kept = at
    return text


def pad(text: str, cells: int) -> str:
    """Return the text cut or padded with blanks to exactly so many cells."""
    text = cut(text, cells)
    return text + " " * (cells - width(text))


def wrap(text: str, cells: int) -> list[str]:
    """Return lines of at most so many cells, broken at blanks, inside words only where necessary.

    Newlines are kept as breaks, indentation stays with its line; an empty text is one empty line.
    A single character wider than `cells` gets a line of its own.
    """
    cells = max(1, cells)
    lines: list[str] = []
    for paragraph in text.split("\n"):
        if len(paragraph) <= cells and paragraph.isascii():
            lines.append(paragraph.rstrip())
        else:
            lines.extend(_wrap_paragraph(paragraph, cells))
    return lines


_WORD = re.compile(r"[ ]+|[^ ]+")


def _wrap_paragraph(paragraph: str, cells: int) -> Iterator[str]:
    line, used = "", 0
    for word in _WORD.findall(paragraph):
        wide = width(word)
        if used + wide <= cells:
            line, used = line + word, used + wide
        elif word[0] == " ":
            if not line:  # an indentation as wide as the page is cut to all but one cell
                line, used = " " * (cells - 1), cells - 1
            else:
                yield line.rstrip(" ")
                line, used = "", 0
        else:
            if line.strip(" "):
                yield line.rstrip(" ")
                line, used = "", 0
            if word.isascii():  # a line without a blank may have a million characters
                whole = (len(word) - 1) // cells * cells
                yield from (word[at : at + cells] for at in range(0, whole, cells))
                line, used = word[whole:], len(word) - whole
                continue
            for cluster, room in _clusters(word):
                if line and used + room > cells:
                    yield line
                    line, used = "", 0
                line, used = line + cluster, used + room
    yield line.rstrip(" ")
