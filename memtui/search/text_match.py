"""Whether one text holds the terms of a query, for texts that no index of memories has.

Sessions are found without the positions of their words, and former versions are in no index, so
phrases, patterns and excluded words are looked for in the text itself.
"""

from __future__ import annotations

import fnmatch

from memtui.query import TermKind
from memtui.search import analysis, expansion
from memtui.search.literals import compile_literal
from memtui.search.query_terms import QueryTerm, QueryTerms


def holds_all(text: str, terms: QueryTerms) -> bool:
    """Whether a text has all words and phrases, in any form of a word, and none that is
    excluded."""
    words = _Words(text)
    return all(words.hold(term) for term in (*terms.optional, *terms.required)) and not any(
        words.hold(term) for term in terms.excluded
    )


def is_exact(terms: QueryTerms) -> bool:
    """Whether an index of words without positions answers these terms."""
    return not (terms.required or terms.excluded or any(t.literal for t in terms.optional))


class _Words:
    """The words of a text."""

    def __init__(self, text: str) -> None:
        self._folded = analysis.fold_text(text)
        chunks = list(map(analysis.cached_split_chunk, analysis.find_chunks(text)))
        self._words = {word for chunk in chunks for word in chunk.parts}
        self._compounds = {word for chunk in chunks for word in chunk.compounds}
        self._stems = set(map(analysis.stem, self._words))

    def hold(self, term: QueryTerm) -> bool:
        """Whether a term is in the text."""
        if term.literal:
            literal = compile_literal(term.literal, is_prefix=term.last_is_prefix)
            return literal.search(self._folded) is not None
        if term.kind is TermKind.WILDCARD:
            return bool(fnmatch.filter(self._words | self._compounds, term.parts[0]))
        if term.kind is TermKind.FUZZY:
            return self._hold_near(term.parts[0])
        if term.compound and term.compound in self._compounds | self._words:
            return True
        *before, last = term.parts
        if not all(analysis.stem(word) in self._stems for word in before):
            return False
        is_begun = term.last_is_prefix and any(word.startswith(last) for word in self._words)
        is_form = (term.has_forms or not term.last_is_prefix) and analysis.stem(last) in self._stems
        return is_begun or is_form

    def _hold_near(self, word: str) -> bool:
        from rapidfuzz.distance import OSA

        most = expansion.max_edit_distance(word)
        near = (each for each in self._words if each[:1] == word[:1])
        return any(OSA.distance(each, word, score_cutoff=most) <= most for each in near)
