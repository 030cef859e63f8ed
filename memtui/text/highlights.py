"""Find the searched words in a text, ignoring accents and case, and the passage with most of them.

A passage is one line if it has all the words that any paragraph has, else the paragraph (the lines
up to a blank one). Earlier and shorter passages win.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterator, Sequence
from functools import lru_cache
from typing import NamedTuple

from memtui.text.cells import cut, fits, width
from memtui.text.safe_text import one_line


class _FoldedCharacters(dict[int, str]):
    """What each character is without accents and case, computed when it first occurs."""

    def __missing__(self, code: int) -> str:
        apart = unicodedata.normalize("NFKD", chr(code))
        folded = "".join(c for c in apart if unicodedata.category(c) != "Mn").casefold()
        self[code] = folded
        return folded


_FOLDED = _FoldedCharacters()
_NOT_ASCII = re.compile(r"[^\x00-\x7f]+")


def fold(text: str) -> str:
    """Return the text without accents and case, for comparing words."""
    if text.isascii():
        return text.lower()
    return text.translate(_FOLDED) if len(text) < LONG_TEXT else _fold_long(text)


LONG_TEXT = 200
"""Characters from which the folded text is cached: each letter of a search draws the same rows."""


@lru_cache(maxsize=64)
def _fold_long(text: str) -> str:
    # By run: most letters of a long text are ASCII. What is folded stays so when folded again.
    return _NOT_ASCII.sub(lambda run: run[0].translate(_FOLDED), text).casefold()


@lru_cache(maxsize=64)
def _origins(text: str, folded: str) -> Sequence[int]:
    """For each character of the folded text the index of the character it comes from."""
    if text.isascii():
        return range(len(text))
    others = set("".join(_NOT_ASCII.findall(text)))
    if len(folded) == len(text) and all(len(_FOLDED[ord(char)]) == 1 for char in others):
        return range(len(text))
    return [at for at, char in enumerate(text) for _ in _FOLDED[ord(char)]]


LONGEST_RUN = 64
"""Letters that a `*` matches at most; words in the index are no longer."""


def _starred(pieces: Sequence[str]) -> str:
    """Return a pattern of these pieces with any letters between them.

    Each but the last is matched at its first place, without backtracking: with `*` as `\\w*`, the
    time would grow as the length of a word to the power of the number of stars.
    """
    head, *rest = pieces
    between = [rf"(?>\w{{0,{LONGEST_RUN}}}?{piece})" for piece in rest[:-1]]
    last = [rf"\w{{0,{LONGEST_RUN}}}{piece}" for piece in rest[-1:]]
    return "".join([head, *between, *last])


@lru_cache(maxsize=64)
def _pattern(words: tuple[str, ...]) -> re.Pattern[str] | None:
    """Return one pattern for all words on folded text, the longest first; None for no words."""
    folded = sorted({fold(word).strip() for word in words} - {""}, key=lambda w: (-len(w), w))
    parts = []
    for word in folded:
        if not re.search(r"\w", word):
            if signs := word.strip("*?"):
                parts.append(re.escape(signs))
            continue
        expression = r"\s+".join(map(re.escape, word.split())).replace(r"\?", r"\w")
        parts.append(_starred(expression.split(r"\*")))
    return re.compile("|".join(parts)) if parts else None


def _begins_word(text: str, at: int) -> bool:
    """Whether a word, or a part of one (`snake_case`, `camelCase`, Chinese), begins here."""
    if at == 0:
        return True
    before, char = text[at - 1], text[at]
    if not before.isalnum() or not char.isalnum():
        return True
    if char.isupper():
        return before.islower() or before.isdigit()
    return before.isdigit() != char.isdigit() or ord(char) >= 0x2E80


def highlights(text: str, words: Sequence[str]) -> list[tuple[int, int]]:
    """Return the spans (start, end) of the words in the text, in order, not overlapping.

    A word matches the beginning of a word in the text (`auth` in `authentication`, `token` in
    `auth_token` and `authToken`); a phrase matches with any white space; `*` and `?` match
    letters. CJK words match anywhere.
    """
    return list(_spans(text, words))


def _spans(text: str, words: Sequence[str]) -> Iterator[tuple[int, int]]:
    """Yield what `highlights` returns, one by one: a long text may have hundreds."""
    pattern = _pattern(tuple(words)) if words and text else None
    if pattern is None:
        return
    folded = fold(text)
    origins: Sequence[int] | None = None
    at = before = 0
    while match := pattern.search(folded, at):
        if origins is None:
            origins = _origins(text, folded)
        start, end = origins[match.start()], origins[match.end() - 1] + 1
        while end < len(text) and not _FOLDED[ord(text[end])]:
            end += 1  # the accents of the last letter
        if start >= before and _begins_word(text, start):
            yield start, end
            at, before = match.end(), end
        else:
            at = match.start() + 1


MAX_PASSAGE_CHARS = 60_000
"""Characters of a text that are searched for a passage: as many as the detail shows."""
FORM_CHARS = 5
"""Matches that share as many letters count as one word: `deploy`, `deployed`."""
CONTEXT_CELLS = 12
"""Columns of an excerpt before its first match."""


class Passage(NamedTuple):
    """A part of a text."""

    start: int
    end: int
    """Its characters: `text[start:end]`."""
    line: int
    """The line where it starts, from 0."""
    words: int
    """How many different words of the search it has."""


class _Line(NamedTuple):
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
    passage_found: Passage | None = None
    for paragraph in _paragraphs(text[:MAX_PASSAGE_CHARS], words):
        found = [line for line in paragraph if line.words]
        if not found:
            continue
        longest = max(found, key=lambda line: len(line.words))
        found_words = frozenset().union(*(line.words for line in found))
        if len(longest.words) == len(found_words):
            passage = Passage(longest.start, longest.end, longest.number, len(found_words))
        else:
            passage = Passage(found[0].start, found[-1].end, found[0].number, len(found_words))
        if passage_found is None or passage.words > passage_found.words:
            passage_found = passage
    return passage_found


def _paragraphs(text: str, words: Sequence[str]) -> Iterator[list[_Line]]:
    """The lines of each paragraph with the words that they have, up to a line with all words."""
    spans = _spans(text, words)
    span = next(spans, None)
    # Where one character is several when folded, as ß is, half of it may match.
    is_even = isinstance(_origins(text, fold(text)), range)
    most = _count_forms(tuple(words)) if is_even else 0
    paragraph: list[_Line] = []
    start = 0
    for number, line in enumerate(text.split("\n")):
        if span is None:
            break
        end = start + len(line)
        if line and not line.isspace():
            found = []
            matched: set[str] = set()
            while span is not None and span[1] <= end:
                found.append(span)
                matched.add(_form(text, span))
                if len(matched) == most:
                    paragraph.append(_Line(number, start, end, frozenset(matched)))
                    yield paragraph
                    return
                span = next(spans, None)
            if (span is not None and span[0] < end) or (found and found[0][0] < start):
                # A phrase across lines takes the place of words that one of them has by itself.
                matched = {_form(line, part) for part in _spans(line, words)}
            paragraph.append(_Line(number, start, end, frozenset(matched)))
        elif paragraph:
            yield paragraph
            paragraph = []
        while span is not None and span[1] <= end:
            span = next(spans, None)
        start = end + 1
    if paragraph:
        yield paragraph


def _form(text: str, span: tuple[int, int]) -> str:
    return fold(text[span[0] : span[1]])[:FORM_CHARS]


@lru_cache(maxsize=64)
def _count_forms(words: tuple[str, ...]) -> int:
    """How many forms a line can have at most; 0 where phrases or `*` make it uncertain."""
    forms = {fold(word).strip() for word in words} - {""}
    if any(re.search(r"[\s*?]", form) for form in forms):
        return 0
    return len({form[:FORM_CHARS] for form in forms})


def count_words(text: str, words: Sequence[str]) -> int:
    """How many different words of the search the text has."""
    return len({_form(text, span) for span in _spans(text, words)})


def excerpt(text: str, passage: Passage, words: Sequence[str], room: int) -> str:
    """The passage as one safe line of at most `room` columns, from just before its first match.

    Where less than `room` follows, it begins earlier.
    """
    line = one_line(text[passage.start : passage.end]).strip()
    if fits(line, room):
        return line
    first = -1
    for start, end in _spans(line, words):
        first = start if first < 0 else first
        if not fits(line[:end], room - 1):
            break
    else:
        return cut(line, room)
    start = line.rfind(" ", 0, max(0, first - CONTEXT_CELLS) + 1) + 1
    if fits(line[start:], room - 2):
        spare = room - 1 - width(line[start:])
        earlier = line.find(" ", max(0, start - spare), start) + 1
        if earlier and fits(line[earlier:], room - 1):
            start = earlier
    return cut(("…" if start else "") + line[start:], room)
