"""The index and a plain look at every memory find the same memories, whatever is asked."""

from __future__ import annotations

import random

import pytest

from memtui.query import Term, TermKind
from memtui.search.documents import IndexedDocument
from memtui.search.matching import Match
from tests.long_run import count as repetitions
from tests.unit.search.finding_for_tests import cut_segments, match
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


def test_index_and_scan_agree() -> None:
    draw = random.Random(11)
    for _ in range(repetitions(20, 200)):
        documents = texts(draw, draw.randint(1, 60))
        segments = cut_segments(documents, draw.randint(0, len(documents)))
        for _ in range(25):
            terms = query(draw)
            by_index = match(segments, len(documents), terms)
            if by_index.substituted:
                continue  # only the index looks for other words
            by_scan = scan(enumerate(documents), len(documents), terms)
            assert found(by_index) == found(by_scan), terms
            assert by_index.missing == by_scan.missing, terms
