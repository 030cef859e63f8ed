"""Search without an index: look at every loaded memory, while the index is still being made.

Gives the same memories as the index would (a test compares them), from the loaded texts alone. The
text score is rougher: the share of what is looked for, a little more for the title.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Sequence

import numpy as np

from memtui.query import Term, TermKind
from memtui.search import analysis, expansion
from memtui.search.documents import Document
from memtui.search.matching import Match
from memtui.search.needles import Needle, needles
from memtui.search.postings import Cancelled, never

TITLE_SHARE = 0.5
"""What a hit in the title adds to a hit."""
_BATCH = 64
"""Memories between two looks at `cancelled`."""
_JOINERS = re.compile(r"[._'’\-‐‑]")


class Scan:
    """The folded texts of loaded memories."""

    def __init__(self) -> None:
        self._held: list[tuple[int, Document, str]] = []

    def __len__(self) -> int:
        return len(self._held)

    def add(self, slot: int, document: Document) -> None:
        """Look at this memory too."""
        folded = _JOINERS.sub("", analysis.fold("\n".join(document.fields())))
        self._held.append((slot, document, folded))

    def match(
        self, slots: int, terms: Sequence[Term], cancelled: Callable[[], bool] = never
    ) -> Match:
        """What the terms find among `slots` slots. Raises Cancelled."""
        asked = needles(terms)
        positive = (*asked.wanted, *asked.required)
        probes = {needle: _probe(needle) for needle in (*positive, *asked.excluded)}
        found = np.zeros(slots, np.bool_)
        all_words = np.zeros(slots, np.bool_)
        text = np.zeros(slots, np.float32)
        hit: set[Needle] = set()
        titles: list[int] = []
        for at, (slot, document, folded) in enumerate(self._held):
            if at % _BATCH == 0 and cancelled():
                raise Cancelled
            here = [needle for needle in positive if probes[needle] in folded]
            if positive and not here:
                continue
            words = _Words(document)
            here = [needle for needle in here if words.hold(needle)]
            hit.update(here)
            if (
                (positive and not here)
                or any(needle not in here for needle in asked.required)
                or any(probes[n] in folded and words.hold(n) for n in asked.excluded)
            ):
                continue
            found[slot] = True
            if positive:
                title = _Words(Document(document.ref, document.title))
                in_title = sum(TITLE_SHARE for needle in here if title.hold(needle))
                text[slot] = (len(here) + in_title) / (len(positive) * (1 + TITLE_SHARE))
                all_words[slot] = len(here) == len(positive)
                if document.title and title.are(asked.asked, asked.open_end):
                    titles.append(slot)
        return Match(
            found,
            text,
            all_words,
            np.array(titles, np.int64),
            tuple(dict.fromkeys(word for needle in positive for word in needle.words)),
            tuple(dict.fromkeys(n.term.text for n in positive if n not in hit)),
        )


def _probe(needle: Needle) -> str:
    """A piece of text that every memory with the needle holds, joiners left out."""
    if needle.kind is TermKind.WILDCARD:
        piece = max(re.split(r"[*?]", needle.spine[0]), key=len)
    elif needle.kind is TermKind.FUZZY:
        piece = needle.spine[0][:1]
    else:
        piece = analysis.stem_head(needle.spine[0])
    return _JOINERS.sub("", piece)


class _Words:
    """The words of one memory, to ask about."""

    def __init__(self, document: Document) -> None:
        fields = [text for text in document.fields() if text]
        self._spines = [analysis.spine(text) for text in fields]
        self._words = {word for text in fields for word in analysis.tokens(text)}
        self._stems: set[str] | None = None

    def hold(self, needle: Needle) -> bool:
        """Whether the needle is in the text."""
        match needle.kind:
            case TermKind.PHRASE:
                return any(_follow(spine, needle.spine, needle.open_end) for spine in self._spines)
            case TermKind.WILDCARD:
                return any(map(expansion.matcher(needle.spine[0]), self._words))
            case TermKind.FUZZY:
                return any(expansion.is_near(needle.spine[0], word) for word in self._words)
            case _:
                return self._hold_words(needle)

    def _hold_words(self, needle: Needle) -> bool:
        *before, last = needle.spine
        whole = needle.whole or ("" if before else last)
        if whole and (self._has(whole) or (needle.open_end and self._begins(whole))):
            return True
        return (
            bool(before)
            and all(map(self._has, before))
            and (self._has(last) or (needle.open_end and self._begins(last)))
        )

    def are(self, spine: Sequence[str], open_end: bool) -> bool:
        """Whether the text is these words and nothing else."""
        return any(len(own) == len(spine) and _follow(own, spine, open_end) for own in self._spines)

    def _has(self, word: str) -> bool:
        if word in self._words:
            return True
        if self._stems is None:
            self._stems = set(map(analysis.stem, self._words))
        return analysis.stem(word) in self._stems

    def _begins(self, start: str) -> bool:
        return any(word.startswith(start) for word in self._words)


def _follow(spine: Sequence[str], wanted: Sequence[str], open_end: bool) -> bool:
    """Whether the wanted words stand in the spine in this order, side by side."""
    *before, last = wanted
    size = len(wanted)
    return any(
        list(spine[at : at + size - 1]) == before
        and (spine[at + size - 1].startswith(last) if open_end else spine[at + size - 1] == last)
        for at in range(len(spine) - size + 1)
    )


def scan(
    documents: Iterable[tuple[int, Document]],
    slots: int,
    terms: Sequence[Term],
    cancelled: Callable[[], bool] = never,
) -> Match:
    """Look once, without keeping anything. Raises Cancelled."""
    looked_at = Scan()
    for slot, document in documents:
        looked_at.add(slot, document)
    return looked_at.match(slots, terms, cancelled)
