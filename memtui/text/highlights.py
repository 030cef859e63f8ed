"""Find the searched words in a text, ignoring accents and case, and the passage with most of them.

A passage is one line if it has all the words that any paragraph has, else the paragraph (the lines
up to a blank one). Earlier and shorter passages win.
"""

from __future__ import annotations

import re
import unicodedata
from bisect import bisect_right
from collections.abc import Callable, Iterator, Sequence
from functools import lru_cache
from itertools import accumulate
from typing import NamedTuple

from memtui.text.cells import cut, fits, width
from memtui.text.safe_text import escaped_line
from memtui.text.secrets import mask_secrets


class _FoldedCharacters(dict[int, str]):
    """What each character is without accents and case, computed when it first occurs."""

    def __missing__(self, code: int) -> str:
        apart = unicodedata.normalize("NFKD", chr(code))
        folded = "".join(c for c in apart if unicodedata.category(c) != "Mn").casefold()
        self[code] = folded
        return folded


_FOLDED = _FoldedCharacters()


class _FoldedText(NamedTuple):
    """A text without accents and case, and where its characters come from."""

    text: str
    begins: Sequence[int]
    """Where each character of the original begins in `text`; empty if each is one."""

    def origin(self, at: int) -> int:
        """The index in the original of the character that this one comes from."""
        return bisect_right(self.begins, at) - 1 if self.begins else at


@lru_cache(maxsize=128)
def _fold(text: str) -> _FoldedText:
    """Cached, as each letter of a search draws the same rows."""
    if all(len(_FOLDED[ord(char)]) == 1 for char in (() if text.isascii() else set(text))):
        return _FoldedText(fold(text), ())
    letters = list(map(_FOLDED.__getitem__, map(ord, text)))
    return _FoldedText("".join(letters), [0, *accumulate(map(len, letters))][:-1])


def fold(text: str) -> str:
    """Return the text without accents and case, for comparing words."""
    return text.lower() if text.isascii() else text.translate(_FOLDED)


LONGEST_RUN = 64
"""Maximum number of letters that a `*` matches; words in the index are no longer."""


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
def _literals(words: tuple[str, ...]) -> Sequence[str]:
    """The folded words, the longest first, if all stand for themselves."""
    folded = {fold(word).strip() for word in words} - {""}
    return () if any(map(_VARIABLE.search, folded)) else sorted(folded, key=_longest_first)


_VARIABLE = re.compile(r"[\s*?]")


def _longest_first(word: str) -> tuple[int, str]:
    return -len(word), word


@lru_cache(maxsize=64)
def _pattern(words: tuple[str, ...]) -> re.Pattern[str] | None:
    """Return one pattern for all words on folded text, the longest first; None for no words."""
    parts = []
    for word in sorted({fold(word).strip() for word in words} - {""}, key=_longest_first):
        if not re.search(r"\w", word):
            if signs := word.strip("*?"):
                parts.append(re.escape(signs))
            continue
        expression = r"\s+".join(map(re.escape, word.split())).replace(r"\?", r"\w")
        parts.append(_starred(expression.split(r"\*")))
    return re.compile("|".join(parts)) if parts else None


def _matcher(text: str, words: tuple[str, ...]) -> Callable[[int], tuple[int, int] | None]:
    """What finds the next match in a folded text: words are looked for without a pattern, which is
    ten times as fast."""
    if not (literals := _literals(words)):
        pattern = _pattern(words)

        def search(at: int) -> tuple[int, int] | None:
            match = pattern.search(text, at) if pattern is not None else None
            return match.span() if match is not None else None

        return search
    nearest = dict.fromkeys(literals, -1)

    def find(at: int) -> tuple[int, int] | None:
        found: tuple[int, int] | None = None
        for word, start in nearest.items():
            if start < at:
                start = text.find(word, at)
                nearest[word] = start = len(text) if start < 0 else start
            if start < (len(text) if found is None else found[0]):
                found = start, start + len(word)
        return found

    return find


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
    if not words or not text:
        return
    folded = _fold(text)
    search = _matcher(folded.text, tuple(words))
    at = before = 0
    while match := search(at):
        start, end = folded.origin(match[0]), folded.origin(match[1] - 1) + 1
        while end < len(text) and not _FOLDED[ord(text[end])]:
            end += 1  # the accents of the last letter
        if start >= before and _begins_word(text, start):
            yield start, end
            at, before = match[1], end
        else:
            at = match[0] + 1


MAX_PASSAGE_CHARS = 60_000
"""How much of a text is searched for a passage, in characters: as much as the detail shows."""
FORM_CHARS = 5
"""Matches that begin with this many equal letters count as one word: `deploy`, `deployed`."""
CONTEXT_CELLS = 12
"""Columns before the first match of an excerpt."""
SECRET_REACH = 600
"""Characters before and behind a part of a text that are searched for secrets with it: those of a
name and a value are shorter, and other secrets have no blanks."""
EXCERPT_REACH = 8
"""Characters before and behind the first match, for each column, from which an excerpt is made."""


class Passage(NamedTuple):
    """A part of a text."""

    start: int
    end: int
    """Its characters: `text[start:end]`."""
    line: int
    """The line where it starts, from 0."""
    words: int
    """Number of different search words that it contains."""


class _Line(NamedTuple):
    number: int
    start: int
    end: int
    words: frozenset[str]


def find_passage(text: str, words: Sequence[str]) -> Passage | None:
    """The passage with most of the words, which are as `highlights` takes them; None if there is
    none within the first `MAX_PASSAGE_CHARS` characters."""
    text = text[:MAX_PASSAGE_CHARS]
    # Where one character is several when folded, as ß is, half of it may match.
    most = 0 if _fold(text).begins else _count_forms(tuple(words))
    found: Passage | None = None
    paragraph: list[_Line] = []
    for line in _matched_lines(text, words, most):
        if paragraph and _BLANK_LINE.search(text, paragraph[-1].end, line.start):
            found = _better(found, paragraph)
            if found.words == most:
                return found
            paragraph = []
        paragraph.append(line)
    return _better(found, paragraph) if paragraph else found


_BLANK_LINE = re.compile(r"\n[^\S\n]*\n")


def _better(found: Passage | None, paragraph: Sequence[_Line]) -> Passage:
    """The passage with more words: the one that was found, or that of the next paragraph."""
    longest = max(paragraph, key=lambda line: len(line.words))
    count = len(frozenset().union(*(line.words for line in paragraph)))
    if found is not None and count <= found.words:
        return found
    first, last = paragraph[0], paragraph[-1]
    if len(longest.words) == count:
        first = last = longest
    return Passage(first.start, last.end, first.number, count)


def _matched_lines(text: str, words: Sequence[str], most: int) -> Iterator[_Line]:
    """The lines with words; with more than one way to be matched, up to one with all words."""
    number = start = 0
    end = -1
    matched: set[str] = set()
    is_crossed = False

    def line() -> Iterator[_Line]:
        # A phrase across lines takes the place of words that one of them has by itself.
        forms = _forms(text[start:end], words) if is_crossed else matched
        if forms:
            yield _Line(number, start, end, frozenset(forms))

    for span in _spans(text, words):
        if span[0] > end:
            yield from line()
            number += text.count("\n", start, span[0])
            start, end = text.rfind("\n", 0, span[0]) + 1, _line_end(text, span[0])
            matched, is_crossed = set(), False
        while span[1] > end:
            is_crossed = True
            yield from line()
            number, start, end = number + 1, end + 1, _line_end(text, end + 1)
        matched.add(_form(text, span))
        if len(matched) == most:
            break
    yield from line()


def _line_end(text: str, at: int) -> int:
    end = text.find("\n", at)
    return len(text) if end < 0 else end


def _form(text: str, span: tuple[int, int]) -> str:
    return fold(text[span[0] : span[1]])[:FORM_CHARS]


def _forms(text: str, words: Sequence[str]) -> set[str]:
    return {_form(text, span) for span in _spans(text, words)}


@lru_cache(maxsize=64)
def _count_forms(words: tuple[str, ...]) -> int:
    """How many forms a line can have at most; 0 where phrases or `*` make it uncertain."""
    return len({word[:FORM_CHARS] for word in _literals(words)})


def count_words(text: str, words: Sequence[str]) -> int:
    """How many different words of the search the text has."""
    return len(_forms(text, words))


def mask_part(text: str, begin: int, end: int) -> str:
    """A part of a text, in which secrets are masked that begin or end outside of it too."""
    reach = MAX_PASSAGE_CHARS if "-----BEGIN" in text else SECRET_REACH  # a private key is long
    start = max(0, begin - reach)
    while start and not text[start - 1].isspace():
        start -= 1
    return mask_secrets(text[start : end + reach])[begin - start : end - start]


def excerpt(text: str, passage: Passage, words: Sequence[str], room: int) -> str:
    """The passage as one safe line of at most `room` columns, from just before its first match.

    Where less than `room` follows, it begins earlier.
    """
    found = _spans(text[passage.start : passage.end], words)
    first = passage.start + next((start for start, _ in found), 0)
    begin = first - EXCERPT_REACH * room
    is_begin = begin <= passage.start
    begin = passage.start if is_begin else text.find(" ", begin, first) + 1 or first
    end = min(passage.end, first + EXCERPT_REACH * room)
    line = escaped_line(mask_part(text, begin, end)).strip()
    if is_begin and fits(line, room):
        return line
    first = first_end = -1
    for start, end in _spans(line, words):
        if first < 0:
            first, first_end = start, end
        if not (is_begin and fits(line[:end], room - 1)):
            break
    else:
        return cut(line, room)
    start = line.rfind(" ", 0, max(0, first - CONTEXT_CELLS) + 1) + 1
    if not fits(line[start:first_end], room - 2):
        start = first
    if fits(line[start:], room - 2):
        spare = room - 1 - width(line[start:])
        earlier = line.find(" ", max(0, start - spare), start) + 1
        if earlier and fits(line[earlier:], room - 1):
            start = earlier
    return cut(("…" if start or not is_begin else "") + line[start:], room)
