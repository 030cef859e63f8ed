"""Measure, cut and wrap text by terminal cells.

The widths are those of Rich, which Textual uses too. All functions expect text from `visible`.

Emoji sequences are shown whole; their joiners elsewhere are shown as `·`. The tables follow
emoji-variation-sequences.txt and emoji-data.txt of Unicode 16.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator

ZWJ = "\u200d"
TEXT_STYLE = "\ufe0e"
EMOJI_STYLE = "\ufe0f"
KEYCAP = "\u20e3"
TONES = "\U0001f3fb-\U0001f3ff"
"""Skin tones, as a range inside a character class."""

GLUE = frozenset({ZWJ, TEXT_STYLE, EMOJI_STYLE, *map(chr, range(0x1F3FB, 0x1F400))})
"""Zero-width characters that have a meaning only within a sequence."""

_NARROW = (
    "\u00a9\u00ae\u203c\u2049\u2122\u2139\u2194-\u2199\u21a9\u21aa\u2328\u23cf\u23ed-\u23ef"
    "\u23f1\u23f2\u23f8-\u23fa\u24c2\u25aa\u25ab\u25b6\u25c0\u25fb\u25fc\u2600-\u2604\u260e\u2611"
    "\u2618\u261d\u2620\u2622\u2623\u2626\u262a\u262e\u262f\u2638-\u263a\u2640\u2642\u265f\u2660"
    "\u2663\u2665\u2666\u2668\u267b\u267e\u2692\u2694-\u2697\u2699\u269b\u269c\u26a0\u26a7\u26b0"
    "\u26b1\u26c8\u26cf\u26d1\u26d3\u26e9\u26f0\u26f1\u26f4\u26f7-\u26f9\u2702\u2708\u2709\u270c"
    "\u270d\u270f\u2712\u2714\u2716\u271d\u2721\u2733\u2734\u2744\u2747\u2763\u2764\u27a1\u2934"
    "\u2935\u2b05-\u2b07\U0001f170\U0001f171\U0001f17e\U0001f17f\U0001f321\U0001f324-\U0001f32c"
    "\U0001f336\U0001f37d\U0001f396\U0001f397\U0001f399-\U0001f39b\U0001f39e\U0001f39f"
    "\U0001f3cb-\U0001f3ce\U0001f3d4-\U0001f3df\U0001f3f3\U0001f3f5\U0001f3f7\U0001f43f\U0001f441"
    "\U0001f4fd\U0001f549\U0001f54a\U0001f56f\U0001f570\U0001f573-\U0001f579\U0001f587"
    "\U0001f58a-\U0001f58d\U0001f590\U0001f5a5\U0001f5a8\U0001f5b1\U0001f5b2\U0001f5bc"
    "\U0001f5c2-\U0001f5c4\U0001f5d1-\U0001f5d3\U0001f5dc-\U0001f5de\U0001f5e1\U0001f5e3\U0001f5e8"
    "\U0001f5ef\U0001f5f3\U0001f5fa\U0001f6cb\U0001f6cd-\U0001f6cf\U0001f6e0-\U0001f6e5\U0001f6e9"
    "\U0001f6f0\U0001f6f3"
)
"""Emoji that are shown as text unless `EMOJI_STYLE` follows (ranges inside a class)."""

_WIDE = (
    "\u231a\u231b\u23e9-\u23ec\u23f0\u23f3\u25fd\u25fe\u2614\u2615\u2648-\u2653\u267f\u2693\u26a1"
    "\u26aa\u26ab\u26bd\u26be\u26c4\u26c5\u26ce\u26d4\u26ea\u26f2\u26f3\u26f5\u26fa\u26fd\u2705"
    "\u270a\u270b\u2728\u274c\u274e\u2753-\u2755\u2757\u2795-\u2797\u27b0\u27bf\u2b1b\u2b1c\u2b50"
    "\u2b55\u3030\u303d\u3297\u3299\U0001f004\U0001f0cf\U0001f18e\U0001f191-\U0001f19a\U0001f201"
    "\U0001f202\U0001f21a\U0001f22f\U0001f232-\U0001f23a\U0001f250\U0001f251"
    "\U0001f300-\U0001f3fa\U0001f400-\U0001f64f\U0001f680-\U0001f6ff\U0001f7e0-\U0001f7eb"
    "\U0001f7f0\U0001f900-\U0001f9ff\U0001fa70-\U0001faff"
)

_ONE = f"[{_NARROW}{_WIDE}](?:{TEXT_STYLE}|{EMOJI_STYLE}?[{TONES}]|{EMOJI_STYLE})?"
SEQUENCE = f"(?:[0-9#*]{EMOJI_STYLE}{KEYCAP}|{_ONE}(?:{ZWJ}{_ONE})*)"
"""Pattern of one emoji with everything that belongs to it."""


def has_glue(text: str) -> bool:
    """Whether the text has a character that belongs to a sequence."""
    return any(char in text for char in GLUE)  # on a long text 50 times as fast as a pattern


ELLIPSIS = "…"
_SINGLE = re.compile("[ -~\u00a0-\u00ac\u00ae-\u02ff\u0370-\u0482\u2013-\u2026\u2500-\u25fc]*")
"""Characters that are one cell wide. Most texts hold no others, so clusters are not looked for."""


def width(text: str) -> int:
    """Return the terminal cells of a visible text without newlines."""
    if text.isascii() or _SINGLE.fullmatch(text):
        return len(text)
    from rich.cells import cell_len

    return cell_len(text)


def _clusters(text: str) -> Iterable[tuple[int, int, int]]:
    """Start, end and cells of what must not be split: emoji sequences, letters with marks."""
    from rich.cells import split_graphemes

    return split_graphemes(text)[0]


def cut(text: str, cells: int) -> str:
    """Return the text if it fits in so many cells, else its beginning and an ellipsis.

    Never wider than `cells`; a wide character is left out rather than split.
    """
    if cells <= 0:
        return ""
    if 2 * len(text) <= cells:  # a character has two cells at most
        return text
    if text.isascii() or _SINGLE.fullmatch(text, 0, cells + 1):
        return text if len(text) <= cells else text[: cells - 1] + ELLIPSIS
    # The beginning of a long text is mostly enough.
    for piece in dict.fromkeys((text[: cells + 8], text)):
        used = last = 0
        for _, end, wide in _clusters(piece):
            used += wide
            if used > cells:
                return text[:last] + ELLIPSIS
            if used < cells:
                last = end
    return text


def fits(text: str, cells: int) -> bool:
    """Whether the text needs no more than so many cells; fast for long ones that do not."""
    return cut(text, cells) == text


def pad(text: str, cells: int) -> str:
    """Return the text cut or padded with blanks to exactly so many cells."""
    text = cut(text, cells)
    return text + " " * (cells - width(text))


def wrap(text: str, cells: int) -> list[str]:
    """Return lines of at most so many cells, broken at blanks, inside words only where necessary.

    A path or an id is broken behind a slash or a hyphen where it has one. Newlines are kept as
    breaks, indentation stays with its line; an empty text is one empty line.
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


def _break_of(word: str, start: int, end: int) -> int:
    """Where a line that begins at `start` ends: behind a slash or a hyphen of a path or an id, if
    there is one in its second half, else at `end`."""
    middle = (start + end) // 2
    return max(word.rfind("/", middle, end), word.rfind("-", middle, end)) + 1 or end


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
                at = 0
                while len(word) - at > cells:
                    end = _break_of(word, at, at + cells)
                    yield word[at:end]
                    at = end
                line, used = word[at:], len(word) - at
                continue
            for start, end, room in _clusters(word):
                if line and used + room > cells:
                    yield line
                    line, used = "", 0
                line, used = line + word[start:end], used + room
    yield line.rstrip(" ")
