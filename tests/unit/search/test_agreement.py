"""Arrays, Whoosh and a plain look at every memory find the same memories, whatever is asked."""

from __future__ import annotations

import random
from collections.abc import Sequence
from pathlib import Path

import pytest
from msgspec.structs import replace

from memtui.query import Term, TermKind
from memtui.search import postings
from memtui.search.documents import IndexedDocument
from memtui.search.matching import Match
from memtui.search.query_terms import analyze_terms
from memtui.search.whoosh_index import WhooshIndex
from tests.long_run import count as repetitions
from tests.unit.search.finding_for_tests import match
from tests.unit.search.plain_for_tests import scan

pytestmark = pytest.mark.slow

WORDS = """
    deploy deployed deploying deployment run running runs fly flies happy happily organization
    organize rolled back the of what retry re-try getUserById get_user_by_id getuserbyid GitHub
    github git hub docker-compose docker compose v2.7 2.7 2.7.4 Zürich zurich 東京都 東京 京都
    都 Python入門 don't dont Alice's src/store.ts C++ c C# 3.11 IDs ids a ab abc abd 2026-03-01
"""


def texts(draw: random.Random, count: int) -> list[IndexedDocument]:
    def text(most: int) -> str:
        return " ".join(draw.choices(WORDS.split(), k=draw.randint(0, most)))

    return [
        IndexedDocument(f"s:{n}", text(3), text(12), (text(1),), text(2), text(1), "")
        for n in range(count)
    ]


def query(draw: random.Random) -> list[Term]:
    terms = []
    for _ in range(draw.randint(1, 3)):
        kind = draw.choice(list(TermKind))
        word = draw.choice(WORDS.split())
        if kind is TermKind.PHRASE:
            word = " ".join(draw.choices(WORDS.split(), k=2))
        elif kind is TermKind.PREFIX:
            word = word[: draw.randint(1, len(word))]
        elif kind is TermKind.WILDCARD:
            at = draw.randint(0, len(word))
            word = word[:at] + draw.choice("*?") + word[at + draw.randint(0, 2) :]
        elif kind is TermKind.FUZZY:
            at = draw.randrange(len(word))
            word = word[:at] + draw.choice("xyz") + word[at + draw.randint(0, 1) :]
        is_open = kind is TermKind.PREFIX and len(word) % 2 == 0
        terms.append(Term(word, kind, negated=draw.random() < 0.15, is_open=is_open))
    return terms


def found(result: Match) -> tuple[set[int], set[int], set[int]]:
    return (
        set(result.found.nonzero()[0].tolist()),
        set(result.slots[result.all_words].tolist()),
        set(result.title.tolist()),
    )


def segments_of(
    documents: Sequence[IndexedDocument], cut: int, *, whole: bool = True
) -> list[postings.Segment]:
    return [
        postings.build(documents[:cut], is_complete=whole),
        postings.build(documents[cut:], cut, is_complete=whole),
    ]


def test_arrays_and_scan_agree() -> None:
    draw = random.Random(11)
    for _ in range(repetitions(20, 200)):
        documents = texts(draw, draw.randint(1, 60))
        whole = draw.random() < 0.5
        segments = segments_of(documents, draw.randint(0, len(documents)), whole=whole)
        for _ in range(25):
            terms = query(draw)
            by_arrays = match(segments, len(documents), terms)
            if by_arrays.substituted:
                continue  # only the arrays look for other words
            by_scan = scan(enumerate(documents), len(documents), terms)
            assert found(by_arrays) == found(by_scan), terms
            assert by_arrays.missing == by_scan.missing, terms


def test_arrays_and_whoosh_agree(tmp_path: Path) -> None:
    draw = random.Random(12)
    exact = (TermKind.PHRASE, TermKind.WILDCARD, TermKind.FUZZY)
    for round in range(15):
        documents = texts(draw, draw.randint(1, 60))
        segments = segments_of(documents, draw.randint(0, len(documents)))
        (tmp_path / str(round)).mkdir()
        index = WhooshIndex(tmp_path / str(round))
        for part in (documents[::2], documents[::3], documents):
            assert index.update(part)
        asked = [term for _ in range(40) for term in query(draw) if term.kind in exact]
        for term in asked:
            one = replace(term, negated=False)
            query_terms = analyze_terms([one])
            by_arrays = match(segments, len(documents), [one], as_written=True)
            for looked_up in (*query_terms.optional, *query_terms.required):
                refs = index.search(looked_up)
                assert refs is not None
                if not looked_up.literal or looked_up.literal.replace(" ", "").isalnum():
                    assert set(refs) == {documents[at].ref for at in by_arrays.slots}, term
                assert len(refs) == len(set(refs))
        index.close()
