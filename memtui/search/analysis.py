"""Split text into words, in the same way for what is indexed and for what is searched.

A text is split into **chunks** (what stands between spaces and punctuation), a chunk into words:

    Deploying            deploying
    getUserById          get user by id    + getuserbyid
    snake_case           snake case        + snakecase
    docker-compose.yml   docker compose yml + composeyml, dockercomposeyml
    v2.7.4               2.7.4             (numbers keep their dots)
    don't, Alice's       dont, alice
    Zürich, ﬁne          zurich, fine      (accents and compatibility forms folded)
    東京都                東京 京都 都        (scripts without spaces: pairs, and the last alone)

The first column of words are the **parts**: they keep their order, and phrases are found in them.
After the plus come the **compounds**, several parts written together, so that `getUserById`,
`get_user_by_id` and `getuserbyid` find each other. Words are surface forms; `stem` says which are
forms of the same English word. Chunks are found by a regular expression, and each different chunk
is split once, which makes indexing fast.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterator
from functools import lru_cache
from typing import NamedTuple

VERSION = 1
"""Incremented when the same text would give other words; older indexes are then rebuilt."""

MAX_WORD_CHARS = 64
"""Longer words are cut: they are encoded data that nobody searches for."""

_MARKS = (
    "\u0300-\u036f\u0483-\u0487\u0591-\u05bd\u05bf-\u05c7\u0610-\u061a\u064b-\u065f\u0670"
    "\u06d6-\u06ed\u0900-\u0963\u0966-\u0dff\u0e31-\u0e4e\u0f71-\u0f84\u102b-\u103e\u17b4-\u17d3"
    "\u1ab0-\u1aff\u1dc0-\u1dff\u20d0-\u20ff\u3099\u309a\ufe20-\ufe2f"
)
"""Combining marks: letters to a reader, but not to Python's `\\w`."""
_HIDDEN = "\u00ad\u200b-\u200d\u2060\ufeff"
"""Soft hyphen and zero-width characters: they do not end a word."""
_UNSPACED = (
    "\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u3005\u3040-\u312f\u31f0-\u31ff"
    "\u3400-\u4dbf\u4e00-\u9fff\uac00-\ud7af\uf900-\ufaff\U00020000-\U0003ffff"
)
"""Thai, Lao, Burmese, Khmer, Kana, Bopomofo, Han and Hangul: no spaces, or particles glued on."""

_LANGUAGE_NAME = r"(?<![A-Za-z0-9])[A-Za-z](?:\+\+|#(?![A-Za-z0-9]))"
"""C++, g++, C#, F#."""
_ASCII_CHUNK = re.compile(rf"{_LANGUAGE_NAME}|[A-Za-z0-9]+(?:(?:[.'-]|_+)[A-Za-z0-9]+)*")
_INNER = rf"[\w{_MARKS}{_HIDDEN}]"
_CHUNK = rf"{_LANGUAGE_NAME}|\w{_INNER}*(?:[.'’\-‐‑]{_INNER}+)*"
"""This and two others are compiled with their first use, by `re`: that takes 2 ms."""

_JOINER = re.compile(r"[_'’\-‐‑]+")
_NEGATION = re.compile(r"n['’]t$", re.IGNORECASE)
_POSSESSIVE = re.compile(r"['’]s$", re.IGNORECASE)
_NUMBER = re.compile(r"[vV]?(\d++(?:\.\d++)+(?:[A-Za-z]++\d*+)?)")
_HUMP = re.compile(r"(?<=[a-z0-9])(?=[A-Z][a-z])|(?<=[a-z])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])")
_PLURAL_ACRONYM = re.compile(r"[A-Z]{2,}s")
_UNSPACED_RUN = f"([{_UNSPACED}]+)"
_FOLDED_MARK = "[\u0300-\u036f\u0483-\u0487\u1ab0-\u1aff\u1dc0-\u1dff\ufe20-\ufe2f]"
_BLANK = re.compile(r"[ \t\n]")
BLOCK_CHARS = 1 << 16
"""Characters of a block of a huge text."""
_LETTERS = str.maketrans(
    {
        "ø": "o", "Ø": "O", "ł": "l", "Ł": "L", "đ": "d", "Đ": "D", "ð": "d", "Ð": "D",
        "þ": "th", "Þ": "Th", "æ": "ae", "Æ": "Ae", "œ": "oe", "Œ": "Oe", "ı": "i", "ħ": "h",
        "Ħ": "H", "\u00ad": "", "\u200b": "", "\u200c": "", "\u200d": "", "\u2060": "",
        "\ufeff": "",
    }
)  # fmt: skip
"""Letters that Unicode does not decompose, and hidden characters, which are removed."""

_QUESTION_WORDS = """
    a about an and any are as at be been but by can could did do does for from had has have he her
    his how i if in into is it its many me much my of on or our she should so than that the their
    them then there these they this those to us was we were what when where which who whom whose
    why will with would you your
"""
QUESTION_WORDS = frozenset(_QUESTION_WORDS.split())
"""Function words of questions, dropped from queries but not from texts: on LoCoMo questions this
raised recall@10 from .497 to .548."""
_ASKING_FIRST = """
    are can could did do does had has have how is should was were what when where which who whom
    whose why will would
"""
ASKING_FIRST = frozenset(_ASKING_FIRST.split())
"""First words of a question."""
ASKING_WORDS = frozenset(
    ("find", "finds", "happen", "happens", "happened", "happening", "mean", "means")
)
"""Words dropped from questions too: the answer to `what did the test find` states the finding, and
seldom has the word."""


class ChunkWords(NamedTuple):
    """The words of one chunk."""

    parts: tuple[str, ...]
    """In the order of the text."""
    compounds: tuple[str, ...]
    """Several parts written together."""


def find_chunks(text: str) -> list[str]:
    """The chunks of a text in order, not folded."""
    return re.findall(_ASCII_CHUNK if text.isascii() else _CHUNK, text)


def split_blocks(text: str) -> Iterator[str]:
    """Yield a huge text in blocks, split at blanks, that take some milliseconds each to analyze.

    One regular expression over 50 MB would block all other threads for seconds.
    """
    at = 0
    while len(text) - at > BLOCK_CHARS:
        blank = _BLANK.search(text, at + BLOCK_CHARS)
        if blank is None:
            break
        yield text[at : blank.start()]
        at = blank.start()
    yield text[at:]


def fold_text(text: str) -> str:
    """Return a text casefolded, without accents, compatibility forms and hidden characters."""
    return (text if text.isascii() else _fold_characters(text)).casefold()


_NOT_ASCII = re.compile(r"[^\x00-\x7f]+(?:[\x00-\x40]{1,2}[^\x00-\x7f]+)*")
"""A run of other characters, and of such runs with one or two signs between them."""


def _fold_characters(text: str) -> str:
    # By run: a long English text with one accent takes .02 ms instead of 1.5.
    return text if text.isascii() else _NOT_ASCII.sub(_fold_run, text)


def _fold_run(run: re.Match[str]) -> str:
    text = unicodedata.normalize("NFKD", run[0].translate(_LETTERS))
    return unicodedata.normalize("NFC", re.sub(_FOLDED_MARK, "", text))


def is_plain(text: str) -> bool:
    """Whether this is one word in small ASCII letters and digits."""
    return text.isascii() and text.isalnum() and text.islower()


def split_chunk(chunk: str) -> ChunkWords:
    """Return the words of one chunk of `find_chunks`."""
    if chunk.isalnum() and chunk.islower() and chunk.isascii():
        return ChunkWords((chunk[:MAX_WORD_CHARS],), ())
    if chunk.endswith(("+", "#")):
        return ChunkWords((chunk.lower(),), ())
    parts: list[str] = []
    compounds: list[str] = []
    unspaced = False
    chunk = _NEGATION.sub("nt", _POSSESSIVE.sub("", _fold_characters(chunk)))
    for section in _JOINER.split(chunk):
        if number := _NUMBER.fullmatch(section):
            parts.append(number[1].lower()[:MAX_WORD_CHARS])
            continue
        section_start = len(parts)
        for name in section.split("."):
            name_start = len(parts)
            for run in re.split(_UNSPACED_RUN, name) if not name.isascii() else (name,):
                if run and re.match(_UNSPACED_RUN, run):
                    parts += (run[at : at + 2] for at in range(len(run)))
                    unspaced = True
                elif run:
                    parts += _split_camel_case(run)
            if len(parts) - name_start > 1:
                compounds.append("".join(parts[name_start:])[:MAX_WORD_CHARS])
        if len(parts) - section_start > 1:
            compounds.append("".join(parts[section_start:])[:MAX_WORD_CHARS])
    if unspaced:
        return ChunkWords(tuple(parts), ())
    if len(parts) > 1:
        compounds.append("".join(parts)[:MAX_WORD_CHARS])
    return ChunkWords(tuple(parts), tuple(dict.fromkeys(compounds)))


def _split_camel_case(run: str) -> Iterator[str]:
    """Split camel case where a word begins, and fold the words."""
    words = [run] if _PLURAL_ACRONYM.fullmatch(run) else _HUMP.split(run)
    return (word.casefold()[:MAX_WORD_CHARS] for word in words if word)


CACHE_SIZE = 32_768
"""Chunks and stems that are cached: ten megabytes at most."""
cached_split_chunk = lru_cache(maxsize=CACHE_SIZE)(split_chunk)


def list_words(text: str) -> list[str]:
    """The words of a text in order, without compounds."""
    if is_plain(text.replace("-", "")) and len(text) <= MAX_WORD_CHARS:
        return [piece for piece in text.split("-") if piece]  # as most names are written
    return [word for chunk in find_chunks(text) for word in cached_split_chunk(chunk).parts]


def list_tokens(text: str) -> list[str]:
    """All words of a text, the compounds of a chunk after its parts."""
    return [
        word for chunk in find_chunks(text) for words in cached_split_chunk(chunk) for word in words
    ]


def is_unspaced(word: str) -> bool:
    """Whether the word is from a script without spaces (one or two characters of it)."""
    return not word.isascii() and re.fullmatch(_UNSPACED_RUN, word) is not None


_ENDINGS = (
    *("s", "ed", "ing", "y", "e", "al", "ful", "ll", "er", "or", "ic", "ant", "ent", "ism", "ion"),
    *("li", "i"),
)
"""Endings that Porter2 may change; words without one are their own stem."""


@lru_cache(maxsize=CACHE_SIZE)
def stem(word: str) -> str:
    """The stem of an English word; any other word is its own stem.

    Porter2: Whoosh's first Porter leaves doubled letters (`running` would be `runn`).
    """
    if not (3 < len(word) <= MAX_WORD_CHARS and word.isascii() and word.isalpha()):
        return word
    if not word.endswith(_ENDINGS):
        return word
    from whoosh.lang.porter2 import stem as porter2

    return str(porter2(word))


_VOWEL_CHANGES = frozenset({"die", "lie", "tie"})
"""Stems with a form in `-ying`."""


def prefix_of_stem(stem: str) -> str:
    """Return a prefix that all words with this stem have."""
    return stem[0] if stem in _VOWEL_CHANGES else stem[: max(2, len(stem) - 1)]
