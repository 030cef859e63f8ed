"""Find the searched words in a text, ignoring accents and case."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Sequence
from functools import lru_cache


class _FoldedCharacters(dict[int, str]):
    """What each character is without accents and case, computed when it first occurs."""

    def __missing__(self, code: int) -> str:
        apart = unicodedata.normalize("NFKD", chr(code))
        folded = "".join(c for c in apart if unicodedata.category(c) != "Mn").casefold()
        self[code] = folded
        return folded


_FOLDED = _FoldedCharacters()


def fold(text: str) -> str:
    """Return the text without accents and case, for comparing words."""
    return text.lower() if text.isascii() else text.translate(_FOLDED)


def _origins(text: str, folded: str) -> Sequence[int]:
    """For each character of the folded text the index of the character it comes from."""
    if len(folded) == len(text) and all(len(_FOLDED[ord(char)]) == 1 for char in set(text)):
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
        part = r"\s+".join(map(re.escape, word.split())).replace(r"\?", r"\w")
        parts.append(_starred(part.split(r"\*")))
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
    if not words or not text:
        return []
    pattern = _pattern(tuple(words))
    if pattern is None:
        return []
    folded = fold(text)
    origins: Sequence[int] | None = None
    spans: list[tuple[int, int]] = []
    at = 0
    while match := pattern.search(folded, at):
        if origins is None:
            origins = _origins(text, folded)
        start, end = origins[match.start()], origins[match.end() - 1] + 1
        while end < len(text) and not _FOLDED[ord(text[end])]:
            end += 1  # the accents of the last letter
        if _begins_word(text, start) and (not spans or start >= spans[-1][1]):
            spans.append((start, end))
            at = match.end()
        else:
            at = match.start() + 1
    return spans
