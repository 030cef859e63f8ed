"""Find the passage of a text that a search has found: the line or paragraph with most of the words.

A passage is one line if it has all the words that any paragraph has, else the paragraph (the lines
up to a blank one). Earlier and shorter passages win.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from memtui.text.cells import cut, width
from memtui.text.highlights import fold, highlights
from memtui.text.safe_text import one_line

MAX_PASSAGE_CHARS = 60_000
"""Characters of a text that are searched for a passage: as many as the detail shows."""
FORM_CHARS = 5
"""Matches that share as many letters count as one word: `deploy`, `deployed`."""
CONTEXT_CELLS = 12
"""Columns of an excerpt before its first match."""


@dataclass(frozen=True, slots=True)
class Passage:
    """A part of a text."""

    start: int
    end: int
    """Its characters: `text[start:end]`."""
    line: int
    """The line where it starts, from 0."""
    words: int
    """How many different words of the search it has."""


@dataclass(frozen=True, slots=True)
class _Line:
    number: int
    start: int
    end: int
    words: frozenset[str]


def find_passage(text: str, words: Sequence[str]) -> Passage | None:
    """The passage with most of the words.

    Args:
        text: The text of a memory; only its first `MAX_PASSAGE_CHARS` characters are searched.
        words: As `highlights` takes them.

    Returns:
        None if the text has none of the words.
    """
    best: Passage | None = None
    for paragraph in _paragraphs(text[:MAX_PASSAGE_CHARS], words):
        found = [line for line in paragraph if line.words]
        if not found:
            continue
        longest = max(found, key=lambda line: len(line.words))
        held = frozenset().union(*(line.words for line in found))
        if len(longest.words) == len(held):
            passage = Passage(longest.start, longest.end, longest.number, len(held))
        else:
            passage = Passage(found[0].start, found[-1].end, found[0].number, len(held))
        if best is None or passage.words > best.words:
            best = passage
    return best


def _paragraphs(text: str, words: Sequence[str]) -> Iterator[list[_Line]]:
    """The lines of each paragraph with the words that they have."""
    # A phrase may match across lines: this only says which lines are worth a search of their own.
    spans = deque(highlights(text, words))
    paragraph: list[_Line] = []
    start = 0
    for number, line in enumerate(text.split("\n")):
        if not spans:
            break
        end = start + len(line)
        if line and not line.isspace():
            held: frozenset[str] = frozenset()
            if spans[0][0] < end:
                found = highlights(line, words)
                held = frozenset(fold(line[first:last])[:FORM_CHARS] for first, last in found)
            paragraph.append(_Line(number, start, end, held))
        elif paragraph:
            yield paragraph
            paragraph = []
        while spans and spans[0][1] <= end:
            spans.popleft()
        start = end + 1
    if paragraph:
        yield paragraph


def count_words(text: str, words: Sequence[str]) -> int:
    """How many different words of the search the text has."""
    return len({fold(text[first:last])[:FORM_CHARS] for first, last in highlights(text, words)})


def excerpt(text: str, passage: Passage, words: Sequence[str], room: int) -> str:
    """The passage as one safe line of at most `room` columns, from just before its first match."""
    line = one_line(text[passage.start : passage.end]).strip()
    if width(line) <= room:
        return line
    spans = highlights(line, words)
    first = spans[0][0] if spans else 0
    last = spans[-1][1] if spans else 0
    if width(line[:last]) < room:
        return cut(line, room)
    start = line.rfind(" ", 0, max(0, first - CONTEXT_CELLS) + 1) + 1
    return cut(("…" if start else "") + line[start:], room)
