"""What a query looks for, as the index knows it: words, words written together, phrases.

    deploys?           one needle, any form of the word
    deplo (typing)     one needle, every word that begins so
    getUserById        one needle: `getuserbyid`, or else get and user and by and id
    src/store.ts       two needles
    東京都              two needles: 東京, 京都
    "rolled back"      one needle, the words in this order

Question words (`what did we...`) are dropped as long as anything else is looked for.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace

from memtui.query import Term, TermKind
from memtui.search import analysis, expansion

MAX_TERMS = 200
"""Things that one query may look for; a pasted page is cut there."""


@dataclass(frozen=True, slots=True)
class QueryTerm:
    """One thing that a memory has or has not."""

    term: Term = field(compare=False)
    """What the person wrote it in."""
    kind: TermKind
    """WORD, PHRASE, WILDCARD or FUZZY."""
    parts: tuple[str, ...]
    """Words that must all be there (a phrase: in this order).
    WILDCARD: the pattern. FUZZY: the one word."""
    whole: str = ""
    """The spine written together, which is as good as all of them."""
    last_is_prefix: bool = False
    """The last word may go on."""

    @property
    def words(self) -> tuple[str, ...]:
        """What to point out on the screen."""
        if self.kind is TermKind.WILDCARD:
            return ()
        return (*self.parts, self.whole) if self.whole else self.parts


@dataclass(frozen=True, slots=True)
class QueryTerms:
    """All needles of a query."""

    wanted: tuple[QueryTerm, ...] = ()
    """One of them is enough; memories with all of them come first."""
    required: tuple[QueryTerm, ...] = ()
    """Phrases: whoever quotes wants just this."""
    excluded: tuple[QueryTerm, ...] = ()
    asked: tuple[str, ...] = ()
    """The spine of all that is looked for, question words included: to compare with titles."""
    last_is_prefix: bool = False
    """The last of `asked` is still being typed."""


def analyze_terms(terms: Sequence[Term]) -> QueryTerms:
    """Analyse the terms of a query. Terms without a letter or digit vanish."""
    wanted: list[QueryTerm] = []
    required: list[QueryTerm] = []
    excluded: list[QueryTerm] = []
    for term in terms:
        found = list(_of_term(term))
        if term.negated:
            excluded += found
        elif term.kind is TermKind.PHRASE:
            required += found
        else:
            wanted += found
    telling = [needle for needle in wanted if not _only_asks(needle)]
    positive = [term for term in terms if not term.negated]
    return QueryTerms(
        tuple(dict.fromkeys(telling if telling or required else wanted))[:MAX_TERMS],
        tuple(required)[:MAX_TERMS],
        tuple(excluded)[:MAX_TERMS],
        tuple(word for term in positive for word in analysis.list_words(term.text)),
        bool(positive) and positive[-1].kind is TermKind.PREFIX,
    )


def _only_asks(needle: QueryTerm) -> bool:
    return (
        needle.kind is TermKind.WORD
        and len(needle.parts) == 1
        and needle.parts[0] in analysis.QUESTION_WORDS
    )


def _of_term(term: Term) -> Iterable[QueryTerm]:
    if term.kind is TermKind.WILDCARD:
        pattern = expansion.normalize_pattern(term.text)
        return (QueryTerm(term, term.kind, (pattern,)),) if pattern.strip("*?") else ()
    spine = analysis.list_words(term.text)
    if not spine:
        return ()
    if term.kind is TermKind.FUZZY:
        return (QueryTerm(term, term.kind, ("".join(spine)[: analysis.MAX_WORD_CHARS],)),)
    if term.kind is TermKind.PHRASE:
        return (_sequence(term, spine),)
    return _of_words(term)


def _sequence(term: Term, spine: Sequence[str]) -> QueryTerm:
    """A phrase; a last single character of an unspaced script may begin a pair in the text."""
    kept = _without_last_single(spine)
    return QueryTerm(term, TermKind.PHRASE, tuple(kept), last_is_prefix=_is_single(kept[-1]))


def _is_single(word: str) -> bool:
    """One character of an unspaced script: it begins pairs in the index."""
    return len(word) == 1 and analysis.is_unspaced(word)


def _without_last_single(spine: Sequence[str]) -> Sequence[str]:
    """`東京 京` asks no more than `東京`: the single is how a run ends in the index."""
    repeats = (
        len(spine) > 1
        and len(spine[-2]) == 2
        and spine[-2][1] == spine[-1]
        and _is_single(spine[-1])
    )
    return spine[:-1] if repeats else spine


def _of_words(term: Term) -> Iterable[QueryTerm]:
    """One needle for each chunk, or for each pair of characters in an unspaced script."""
    found: list[QueryTerm] = []
    for chunk in analysis.find_chunks(term.text):
        spine, wholes = analysis.split_chunk(chunk)
        if any(analysis.is_unspaced(word) for word in spine):
            for word in _without_last_single(spine):
                found.append(
                    QueryTerm(term, TermKind.WORD, (word,), last_is_prefix=_is_single(word))
                )
        elif spine:
            found.append(QueryTerm(term, TermKind.WORD, spine, wholes[-1] if wholes else ""))
    typing = term.kind is TermKind.PREFIX and term.text[-1:].isalnum()
    if found and typing:
        found[-1] = replace(found[-1], last_is_prefix=True)
    return found
