"""Analyze the terms of a query into the words, compounds and phrases of the index.

    deploys?           one term, any form of the word
    deplo (typing)     one term, every word with this prefix
    getUserById        one term: `getuserbyid`, or else get and user and by and id
    src/store.ts       two terms
    東京都              two terms: 東京, 京都
    "rolled back"      one term, the words in this order
    -> [/] 🚀           one term each, as written: there is no word in them

Question words (`what did we...`), and in a question some more (`what did the test find`), are
dropped if any other term remains.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from typing import NamedTuple

from memtui.query import Term, TermKind
from memtui.search import analysis, expansion

MAX_TERMS = 200
"""Terms of one query; a longer one, such as a pasted page, is cut."""
_VARIATION_SELECTORS = "\ufe0e\ufe0f"
"""Choose between the text and the emoji form of a sign; texts have it or not."""
MIN_CHARS_AROUND = 3
"""Letters of a word that is being typed from which its context and its passages count."""
MAX_JOINED = 4
"""Words in a row that are also looked for written together."""
_WORDS = (TermKind.WORD, TermKind.PREFIX)
MAX_TYPED = 8
"""Texts that are looked for as typed."""


class QueryTerm(NamedTuple):
    """A word, compound, phrase or pattern to look up in the index."""

    term: Term
    """The term of the query that it comes from."""
    kind: TermKind
    """WORD, PHRASE, WILDCARD or FUZZY."""
    parts: tuple[str, ...]
    """Words that must all be there (PHRASE: in this order).
    WILDCARD: the pattern. FUZZY: the one word."""
    compound: str = ""
    """The parts written together; a memory with it matches as one with all parts does."""
    last_is_prefix: bool = False
    """The last word is matched as a prefix."""
    literal: str = ""
    """What must stand in the text as written; for terms without a word, and for phrases, whose
    punctuation counts."""

    @property
    def has_forms(self) -> bool:
        """Whether other forms of its words match too: not those of `word*`."""
        is_prefix = self.term.kind is TermKind.PREFIX and not self.term.is_open
        return self.kind is TermKind.WORD and not is_prefix

    @property
    def highlights(self) -> tuple[str, ...]:
        """The words to highlight."""
        if self.kind is TermKind.WILDCARD:
            return ()
        if not self.parts:
            return (self.literal,)
        return (*self.parts, self.compound) if self.compound else self.parts


class QueryTerms(NamedTuple):
    """The analyzed terms of a query."""

    optional: tuple[QueryTerm, ...] = ()
    """At least one must match; memories with all of them rank first."""
    required: tuple[QueryTerm, ...] = ()
    """Phrases; all must match."""
    excluded: tuple[QueryTerm, ...] = ()
    title_words: tuple[str, ...] = ()
    """All words that are looked for, question words too, to compare with titles."""
    last_is_prefix: bool = False
    """The last of `title_words` is still being typed."""
    unusable: tuple[str, ...] = ()
    """The wanted terms, where there are some and none of them can be looked up."""
    typed: tuple[str, ...] = ()
    """What earns a bonus where it stands as typed: tokens with punctuation inside or around, and
    the whole text of several terms."""


def analyze_terms(terms: Sequence[Term]) -> QueryTerms:
    """Return what to look up for each term; only patterns without a letter or digit are dropped."""
    optional: list[QueryTerm] = []
    required: list[QueryTerm] = []
    excluded: list[QueryTerm] = []
    title: list[str] = []
    for term in terms:
        found = list(_analyze_term(term))
        if term.negated:
            excluded += found
            continue
        is_word = len(found) == 1 and found[0].kind is TermKind.WORD and len(found[0].parts) == 1
        title += found[0].parts if is_word else analysis.list_words(term.text)
        if term.kind is TermKind.PHRASE and not term.optional:
            required += found
        else:
            optional += found
    looked_up: Sequence[QueryTerm] = optional
    is_question = bool(title) and title[0] in analysis.ASKING_FIRST
    for words in (analysis.QUESTION_WORDS, analysis.ASKING_WORDS if is_question else ()):
        significant = [term for term in looked_up if not _is_one_of(term, words)]
        if significant or required:
            looked_up = significant
    unique: dict[tuple[object, ...], QueryTerm] = {}
    for query_term in looked_up:  # of those that look up the same, the first
        unique.setdefault(query_term[1:], query_term)
    positive = [term for term in terms if not term.negated]
    is_usable = bool(optional or required)
    plain = [term.text for term in positive if term.kind in _WORDS]
    marked = [text for text in plain if not text.isalnum() and analysis.find_chunks(text)]
    whole = [" ".join(plain)] if len(plain) > 1 and len(plain) == len(positive) else []
    return QueryTerms(
        tuple(unique.values())[:MAX_TERMS],
        tuple(required)[:MAX_TERMS],
        tuple(excluded)[:MAX_TERMS],
        tuple(title),
        bool(positive) and positive[-1].kind is TermKind.PREFIX,
        () if is_usable else tuple(term.text for term in positive),
        tuple(dict.fromkeys([*marked, *whole]))[:MAX_TYPED],
    )


def _is_one_of(term: QueryTerm, words: Collection[str]) -> bool:
    return term.kind is TermKind.WORD and len(term.parts) == 1 and term.parts[0] in words


def _analyze_term(term: Term) -> Iterable[QueryTerm]:
    if term.kind is TermKind.WILDCARD:
        pattern = expansion.normalize_pattern(term.text)
        if pattern.strip("*?"):
            return (QueryTerm(term, term.kind, (pattern,)),)
        return _make_literal(term, term.text.strip("*?"))
    if analysis.is_plain(term.text) and term.kind in _WORDS:
        word = (term.text[: analysis.MAX_WORD_CHARS],)
        return (QueryTerm(term, TermKind.WORD, word, last_is_prefix=term.kind is TermKind.PREFIX),)
    parts = analysis.list_words(term.text)
    if not parts:
        return _make_literal(term, term.text)
    if term.kind is TermKind.FUZZY:
        return (QueryTerm(term, term.kind, ("".join(parts)[: analysis.MAX_WORD_CHARS],)),)
    if term.kind is TermKind.PHRASE:
        return (_make_phrase(term, parts),)
    return _analyze_words(term)


def _make_literal(term: Term, text: str) -> Iterable[QueryTerm]:
    literal = text.strip().rstrip(_VARIATION_SELECTORS)
    if not analysis.fold_text(literal).strip():  # hidden characters only
        return ()
    return (QueryTerm(term, TermKind.WORD, (), literal=literal),) if literal else ()


def _make_phrase(term: Term, parts: Sequence[str]) -> QueryTerm:
    """A last single character of an unspaced script may be the first of a pair in the text."""
    phrase_parts = _without_last_single(parts)
    return QueryTerm(
        term,
        TermKind.PHRASE,
        tuple(phrase_parts),
        last_is_prefix=_is_single(phrase_parts[-1]),
        literal=term.text,
    )


def _is_single(word: str) -> bool:
    """Whether this is one character of an unspaced script, a prefix of indexed pairs."""
    return len(word) == 1 and analysis.is_unspaced(word)


def _without_last_single(parts: Sequence[str]) -> Sequence[str]:
    """Drop the single character that ends a run in the index: `東京 京` becomes `東京`."""
    repeats = (
        len(parts) > 1
        and len(parts[-2]) == 2
        and parts[-2][1] == parts[-1]
        and _is_single(parts[-1])
    )
    return parts[:-1] if repeats else parts


def _analyze_words(term: Term) -> Iterable[QueryTerm]:
    """One term for each chunk, or for each pair of characters in an unspaced script."""
    found: list[QueryTerm] = []
    for chunk in analysis.find_chunks(term.text):
        parts, compounds = analysis.split_chunk(chunk)
        if any(analysis.is_unspaced(word) for word in parts):
            for word in _without_last_single(parts):
                found.append(
                    QueryTerm(term, TermKind.WORD, (word,), last_is_prefix=_is_single(word))
                )
        elif parts:
            found.append(QueryTerm(term, TermKind.WORD, parts, compounds[-1] if compounds else ""))
    typing = term.kind is TermKind.PREFIX and term.text[-1:].isalnum()
    if found and typing:
        found[-1] = found[-1]._replace(last_is_prefix=True)
    return found


def has_just_begun(term: QueryTerm) -> bool:
    """Whether the word that is being typed is too short for its context to be scored.

    Most memories have a completion of so few letters.
    """
    word = term.parts[-1] if term.last_is_prefix else ""
    return 0 < len(word) < MIN_CHARS_AROUND and word.isascii()


def join_neighbours(terms: Sequence[QueryTerm]) -> dict[int, list[tuple[str, bool]]]:
    """Number of a term -> the words that it forms with its neighbours, such as `leasequeue`.

    The flag says that the last letter is still being typed.
    """
    joined: dict[int, list[tuple[str, bool]]] = {}
    if len(terms) < 2:
        return joined
    run: list[str] = []
    for end, term in enumerate([*terms, None]):
        if term is not None and _is_joined(term):
            run.append(term.parts[0])
            continue
        spans = [(at, at + 2) for at in range(len(run) - 1)]
        if 2 < len(run) <= MAX_JOINED:
            spans.insert(1, (0, len(run)))
        begin = end - len(run)
        for first, last in spans:
            together = "".join(run[first:last]), terms[begin + last - 1].last_is_prefix
            for number in range(begin + first, begin + last):
                joined.setdefault(number, []).append(together)
        run = []
    return joined


def _is_joined(term: QueryTerm) -> bool:
    if len(term.parts) != 1 or term.kind is not TermKind.WORD:
        return False
    word = term.parts[0]
    return word.isalnum() and word.isascii()
