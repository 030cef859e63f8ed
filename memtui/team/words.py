"""The words of a memory as the database keeps them, in a `tsvector` that memtui computes.

Its lexemes are those of `memtui.search.analysis`, so that a query finds the same as in a store that
is read. Beside them stand, behind signs that no word begins with:

    =deploy      the stem of a word that is not its own stem
    :decision    the type as it is shown; `:` alone where there is none
    /shop-api    an entity: each path above it, and each of its parts
    #release     a tag

so that one index answers words and filters together. Rows that other programs insert get theirs
from a trigger (`memtui.team.schema`), which splits words as Postgres does.
"""

from __future__ import annotations

import re
from collections.abc import Iterable

from memtui.model import Memory
from memtui.search import analysis
from memtui.search.documents import to_document

STEM, TYPE, ENTITY, TAG = "=:/#"
MAX_BYTES = 900_000
"""A `tsvector` holds a mebibyte; the words of a longer text are left out from there on."""
MAX_POSITION = 16_383
"""Postgres keeps no higher one; phrases behind it are not found."""
MAX_POSITIONS = 255
"""Of one word."""


def to_tsvector(memory: Memory) -> str:
    """The `tsvector` of a memory, as text for Postgres."""
    placed: dict[str, list[int]] = {}
    size = position = 0
    for field in to_document(memory).fields():
        for block in analysis.split_blocks(field):
            for chunk in analysis.find_chunks(block):
                parts, compounds = analysis.cached_split_chunk(chunk)
                for word in parts:
                    position += 1
                    at = placed.setdefault(word, [])
                    if position <= MAX_POSITION and len(at) < MAX_POSITIONS:
                        at.append(position)
                        size += 2
                for word in (*parts, *compounds):
                    placed.setdefault(word, [])
            size = size if size > MAX_BYTES else _size_of(placed)
            if size > MAX_BYTES:
                break
        position += 1  # phrases do not run on into the next field
    lexemes = {word: at for word, at in placed.items() if word}
    for word in placed:
        if (stem := analysis.stem(word)) != word:
            lexemes[STEM + stem] = []
    for mark in filters_of(memory):
        lexemes[mark] = []
    return " ".join(
        f"{quote(word)}:{','.join(map(str, at))}" if at else quote(word)
        for word, at in lexemes.items()
    )


def _size_of(placed: dict[str, list[int]]) -> int:
    return sum(2 * len(word.encode()) + 2 * len(at) + 8 for word, at in placed.items())


def filters_of(memory: Memory) -> Iterable[str]:
    """The lexemes by which filters find a memory."""
    yield TYPE + memory.shown_type.casefold()
    if not memory.type:
        yield TYPE
    path = memory.entity.casefold()
    parts = path.split("/")
    yield from (ENTITY + "/".join(parts[:end]) for end in range(1, len(parts) + 1))
    yield from (ENTITY + part for part in parts)
    yield from (TAG + tag.casefold() for tag in memory.tags)


_UNSTORABLE = re.compile("[\0\ud800-\udfff]")


def storable(text: str) -> str:
    """A text that Postgres takes; what it cannot hold becomes a sign that no memory has."""
    return _UNSTORABLE.sub("\uffff", text)


def quote(lexeme: str) -> str:
    """A lexeme as it is written in a `tsvector` or a `tsquery`."""
    return "'" + storable(lexeme).replace("\\", "\\\\").replace("'", "''") + "'"
