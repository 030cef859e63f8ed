"""The needles of a query as Whoosh's own queries."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from whoosh import query as wq

from memtui.query import Term, TermKind
from memtui.search import analysis, expansion
from memtui.search.needles import Needle, needles
from memtui.search.whoosh_fields import TEXT


def queries_for(terms: Sequence[Term], reader: Any, *, every: bool = False) -> tuple[Any, Any]:
    """What the terms look for (`every`: all of them) and what they leave out, as two queries.

    Two, because AndNot over several segments was seen to let through what it should leave out.
    """
    asked = needles(terms)
    wanted = [_needle(needle, reader) for needle in asked.wanted]
    required = [_needle(needle, reader) for needle in asked.required]
    excluded = [_needle(needle, reader) for needle in asked.excluded]
    if every:
        required, wanted = [*required, *wanted], []
    if required:
        found = wq.And(required)
    elif wanted:
        found = wq.Or(wanted)
    else:
        found = wq.NullQuery if every else wq.Every()
    return found, wq.Or(excluded) if excluded else wq.NullQuery


def _needle(needle: Needle, reader: Any) -> Any:
    match needle.kind:
        case TermKind.PHRASE:
            return _phrase(needle)
        case TermKind.WILDCARD:
            return wq.Wildcard(TEXT, needle.spine[0])
        case TermKind.FUZZY:
            return _fuzzy(needle.spine[0])
        case _:
            return _words(needle, reader)


def _phrase(needle: Needle) -> Any:
    if needle.open_end:
        *before, last = needle.spine
        parts = [wq.Term(TEXT, word) for word in before]
        prefix = wq.Prefix(TEXT, last)
        return wq.Sequence([*parts, prefix]) if parts else prefix
    if len(needle.spine) == 1:
        return wq.Term(TEXT, needle.spine[0])
    return wq.Phrase(TEXT, list(needle.spine))


def _fuzzy(word: str) -> Any:
    most = expansion.reach(word)
    return wq.FuzzyTerm(TEXT, word, maxdist=most, prefixlength=1) if most else wq.Term(TEXT, word)


def _words(needle: Needle, reader: Any) -> Any:
    *before, last = needle.spine
    if not before:
        ways = [_forms(last, reader)]
        ways += [wq.Prefix(TEXT, last)] if needle.open_end else []
        return wq.Or(ways)
    parts = [_forms(word, reader) for word in before]
    ways = [_forms(needle.whole, reader), wq.And([*parts, _forms(last, reader)])]
    if needle.open_end:
        ways += [wq.Prefix(TEXT, needle.whole), wq.And([*parts, wq.Prefix(TEXT, last)])]
    return wq.Or(ways)


def _forms(word: str, reader: Any) -> Any:
    """Every word in the index with the stem of this one."""
    stem = analysis.stem(word)
    if stem == word and not analysis.has_forms(word):
        return wq.Term(TEXT, word)
    words = (text.decode() for text in reader.expand_prefix(TEXT, analysis.stem_head(word)))
    found = [other for other in words if other == word or analysis.stem(other) == stem]
    return wq.Or([wq.Term(TEXT, other) for other in found]) if found else wq.NullQuery
