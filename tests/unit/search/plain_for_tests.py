"""The plain way to find, for tests: look at every memory, one by one, with no arrays.

The text score is rough: the share of what is looked for, a little more for the title.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence

import numpy as np

from memtui.progress import Cancelled, IsCancelled, never
from memtui.query import Term, TermKind
from memtui.search import analysis, expansion
from memtui.search.documents import IndexedDocument
from memtui.search.matching import Match
from memtui.search.query_terms import QueryTerm, QueryTerms, analyze_terms, join_neighbours

TITLE_SHARE = 0.5
"""What a hit in the title adds to a hit."""
_BATCH = 64
"""Memories between two looks at `cancelled`."""


class _Holds(dict[str, bool]):
    """Whether a chunk holds a word that passes a test, by chunk."""

    def __init__(self, test: Callable[[str], object]) -> None:
        super().__init__()
        self._test = test

    def __missing__(self, chunk: str) -> bool:
        parts, compounds = analysis.cached_split_chunk(chunk)
        verdict = any(map(self._test, parts)) or any(map(self._test, compounds))
        self[chunk] = verdict
        return verdict


class _Text:
    """The chunks of one memory, field by field."""

    def __init__(self, texts: Iterable[str]) -> None:
        self._fields = [analysis.find_chunks(text) for text in texts if text]
        self.chunks = [chunk for field in self._fields for chunk in field]

    def word_lists(self) -> list[list[str]]:
        """The words of each field in order."""
        words = analysis.cached_split_chunk
        return [[word for chunk in field for word in words(chunk).parts] for field in self._fields]


class _Sought:
    """One query_term, ready to be looked for in many texts."""

    def __init__(self, query_term: QueryTerm) -> None:
        self.query_term = query_term
        is_phrase = query_term.kind is TermKind.PHRASE
        self._ways = [] if is_phrase or not query_term.parts else list(_ways(query_term))

    def also(self, joined: Sequence[tuple[str, bool]]) -> None:
        """Words that the query_term forms with its neighbours do as well."""
        self._ways += [[_forms(word)] for word, _ in joined]
        self._ways += [[_begun(word)] for word, is_prefix in joined if is_prefix]

    def within(self, text: _Text) -> bool:
        """Whether the text has it."""
        if self.query_term.kind is TermKind.PHRASE:
            wanted, last_is_prefix = self.query_term.parts, self.query_term.last_is_prefix
            return any(_follow(parts, wanted, last_is_prefix) for parts in text.word_lists())
        chunks = text.chunks
        return any(all(any(map(holds.__getitem__, chunks)) for holds in way) for way in self._ways)


def _ways(query_term: QueryTerm) -> Iterable[list[_Holds]]:
    """Ways to hold a query_term: a word each of a text's must be held for one of them."""
    *before, last = query_term.parts
    match query_term.kind:
        case TermKind.WILDCARD:
            yield [_Holds(expansion.compile_pattern(last))]
        case TermKind.FUZZY:
            yield [_Holds(lambda word: _is_near(last, word))]
        case _:
            parts = [_forms(word) for word in before]
            if query_term.has_forms:
                yield [*parts, _forms(last)]
                if before:
                    yield [_forms(query_term.compound)]
            if query_term.last_is_prefix:
                yield [*parts, _begun(last)]
                if before:
                    yield [_begun(query_term.compound)]


def _is_near(word: str, other: str) -> bool:
    """Whether it begins with the same letter, and the Levenshtein distance is allowed."""
    row = list(range(len(other) + 1))
    for at, letter in enumerate(word, 1):
        before, row[0] = row[0], at
        for to, one in enumerate(other, 1):
            before, row[to] = row[to], min(before + (letter != one), row[to] + 1, row[to - 1] + 1)
    return word[:1] == other[:1] and row[-1] <= expansion.max_edit_distance(word)


def _forms(word: str) -> _Holds:
    stem = analysis.stem(word)
    head = analysis.prefix_of_stem(stem)
    return _Holds(
        lambda other: other == word or (other.startswith(head) and analysis.stem(other) == stem)
    )


def _begun(start: str) -> _Holds:
    return _Holds(lambda word: word.startswith(start))


def _follow(parts: Sequence[str], wanted: Sequence[str], last_is_prefix: bool) -> bool:
    """Whether the wanted words stand in the parts in this order, side by side."""
    *before, last = wanted
    size = len(wanted)
    return any(
        list(parts[at : at + size - 1]) == before
        and (
            parts[at + size - 1].startswith(last)
            if last_is_prefix
            else parts[at + size - 1] == last
        )
        for at in range(len(parts) - size + 1)
    )


def _titled(title: _Text, asked: QueryTerms) -> bool:
    """Whether the title is what was asked, all of it and nothing else."""
    return any(
        len(parts) == len(asked.title_words)
        and _follow(parts, asked.title_words, asked.last_is_prefix)
        for parts in title.word_lists()
    )


def scan(
    documents: Iterable[tuple[int, IndexedDocument]],
    slots: int,
    terms: Sequence[Term],
    cancelled: IsCancelled = never,
) -> Match:
    """What the terms find among these documents, each with its slot below `slots`.

    Raises Cancelled.
    """
    asked = analyze_terms(terms)
    required = [_Sought(query_term) for query_term in asked.required]
    positive = [*(_Sought(query_term) for query_term in asked.optional), *required]
    for number, joined in join_neighbours(asked.optional).items():
        positive[number].also(joined)
    excluded = [_Sought(query_term) for query_term in asked.excluded]
    is_asked = any(not term.negated for term in terms)
    found = np.zeros(slots, np.bool_)
    all_words = np.zeros(slots, np.bool_)
    text = np.zeros(slots, np.float32)
    somewhere: set[_Sought] = set()
    titles: list[int] = []
    for at, (slot, document) in enumerate(documents):
        if at % _BATCH == 0 and cancelled():
            raise Cancelled
        words = _Text(document.fields())
        here = [sought for sought in positive if sought.within(words)]
        somewhere.update(here)
        if (
            (is_asked and not here)
            or any(sought not in here for sought in required)
            or any(sought.within(words) for sought in excluded)
        ):
            continue
        found[slot] = True
        if positive:
            title = _Text((document.title,))
            in_title = sum(sought.within(title) for sought in here) if document.title else 0
            share = (len(here) + TITLE_SHARE * in_title) / (1 + TITLE_SHARE)
            text[slot] = share / len(positive)
            all_words[slot] = len(here) == len(positive)
            if all_words[slot] and _titled(title, asked):
                titles.append(slot)
    held = np.flatnonzero(found)
    return Match(
        slots,
        held,
        text.take(held),
        all_words.take(held),
        np.array(titles, np.int64),
        tuple(dict.fromkeys(word for sought in positive for word in sought.query_term.highlights)),
        tuple(dict.fromkeys(s.query_term.term.text for s in positive if s not in somewhere))
        if positive
        else tuple(dict.fromkeys(term.text for term in terms if not term.negated)),
    )
