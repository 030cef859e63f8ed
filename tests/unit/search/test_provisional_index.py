"""What is searched while the index is still being made."""

from __future__ import annotations

import pytest

from memtui.library.indexing import PROVISIONAL_BATCH as BATCH
from memtui.library.indexing import ProvisionalIndex
from memtui.model import Memory
from memtui.progress import Cancelled
from memtui.query import Term, TermKind
from tests.unit.search.finding_for_tests import match


def rows(count: int) -> list[Memory]:
    return [
        Memory(ref=f"s:{n}", id=str(n), store="s", kind="fact", content=f"deployed word{n}")
        for n in range(count)
    ]


def found(draft: ProvisionalIndex, held: list[Memory], word: str) -> list[int]:
    segments = draft.extend_to(held, len(held))
    return sorted(match(segments, len(held), [Term(word, TermKind.WORD)]).slots.tolist())


def test_rows_that_come_later_are_found_too() -> None:
    draft, held = ProvisionalIndex(), rows(BATCH + 3)
    assert found(draft, held[:10], "deploys") == list(range(10))
    assert found(draft, held, "deploys") == list(range(BATCH + 3))
    assert found(draft, held, f"word{BATCH + 2}") == [BATCH + 2]


def test_what_was_cut_before_a_letter_was_called_off_is_kept() -> None:
    draft, held = ProvisionalIndex(), rows(3 * BATCH)
    asked = iter([False] * (BATCH // 256 + 4))
    with pytest.raises(Cancelled):
        draft.extend_to(held, len(held), lambda: next(asked, True))
    first = draft.extend_to(held, BATCH, lambda: True)
    assert sum(segment.count for segment in first) >= BATCH
    assert found(draft, held, "word6000") == [6000]
