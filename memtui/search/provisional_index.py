"""Search while the index is still being made: what is loaded is indexed as far as a letter needs.

Texts are cut in batches that are kept, so the first letter pays for what is loaded (a second and a
quarter of CPU at 33,000), the next ones only for what came since. A letter that is called off loses
at most one batch. The batches are segments like any other, without what only pays over a whole
session: stems are worked out for the words that are asked.
"""

from __future__ import annotations

from collections.abc import Sequence
from threading import Lock

from memtui.model import Memory
from memtui.progress import Cancelled, IsCancelled, never
from memtui.search import postings
from memtui.search.documents import document
from memtui.search.postings import Segment

BATCH = 2_048
"""Memories of one segment: a tenth of a second."""


class ProvisionalIndex:
    """Segments of the rows so far; may be asked from any thread."""

    def __init__(self) -> None:
        self._segments: list[Segment] = []
        self._lock = Lock()

    def cover(
        self, rows: Sequence[Memory], size: int, cancelled: IsCancelled = never
    ) -> tuple[Segment, ...]:
        """Segments of the first `size` rows. Rows may be added, never changed. Raises Cancelled."""
        with self._lock:
            held = self._segments
            while (covered := _end(held)) < size:
                if cancelled():
                    raise Cancelled
                if held and held[-1].count < BATCH:
                    covered = held.pop().first
                batch = rows[covered : min(covered + BATCH, size)]
                held.append(postings.build(map(document, batch), covered, cancelled, whole=False))
            return tuple(held)


def _end(segments: Sequence[Segment]) -> int:
    return segments[-1].first + segments[-1].count if segments else 0
