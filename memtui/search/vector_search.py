"""How near every memory is to a text: exact cosine over all slots, of all stores.

33,000 memories take 2 to 5 ms, a million some 100; no approximate index earns its place
below that. A store's vectors are rows, one for each different text; `rows` says which one a slot
has, so that a changed memory costs a number, not a copy.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from memtui.search.embedding import Embedder, Floats, PieceCounts
from memtui.search.vectors import Keys

Longs = NDArray[np.int64]


@dataclass(frozen=True, eq=False)
class StoreVectors:
    """The vectors of one store."""

    rows: Floats
    counts: PieceCounts | None
    """What a query for these rows is embedded with."""
    keys: Keys
    """The key of the text of each row."""


@dataclass(frozen=True, eq=False)
class VectorIndex:
    """The vectors of all slots at one moment. Never changed."""

    parts: tuple[StoreVectors, ...] = ()
    row_of: Longs = field(default_factory=lambda: np.empty(0, np.int64))
    """The row of each slot, counted through all parts; -1 where it has none."""

    def __len__(self) -> int:
        return int((self.row_of >= 0).sum())

    def vector_of(self, slot: int) -> Floats | None:
        """The vector of this slot."""
        row = int(self.row_of[slot]) if slot < len(self.row_of) else -1
        if row < 0:
            return None
        for part in self.parts:
            if row < len(part.rows):
                vector: Floats = part.rows[row]
                return vector
            row -= len(part.rows)
        return None

    def keep_slots(self, slots: Longs) -> VectorIndex:
        """The vectors of these slots (ascending), numbered anew; a part that is mostly of no slot
        any more lets go of those."""
        row_of = self.row_of[slots[slots < len(self.row_of)]]
        used = np.zeros(sum(len(part.rows) for part in self.parts), np.bool_)
        used[row_of[row_of >= 0]] = True
        parts: list[StoreVectors] = []
        first = 0
        for part in self.parts:
            last = first + len(part.rows)
            here = used[first:last]
            if 2 * np.count_nonzero(here) > len(here):
                here[:] = True
            else:
                part = StoreVectors(part.rows[here], part.counts, part.keys[here])
            parts.append(part)
            first = last
        moved = np.cumsum(used) - 1
        known = np.where(row_of >= 0, moved.take(row_of, mode="clip"), -1) if len(moved) else row_of
        return VectorIndex(tuple(parts), known)

    def append_part(self, part: StoreVectors) -> tuple[StoreVectors, ...]:
        """The parts and a further one, which is joined with those before it that are asked the same
        way unless they are far longer: each part costs a query a look."""
        parts = [*self.parts]
        while parts and parts[-1].counts is part.counts:
            if len(parts[-1].rows) > 2 * len(part.rows):
                break
            former = parts.pop()
            part = StoreVectors(
                np.concatenate([former.rows, part.rows]),
                part.counts,
                np.concatenate([former.keys, part.keys]),
            )
        return (*parts, part)

    def compute_cosines(self, asked: Sequence[Floats], slots: int) -> Floats:
        """The cosine of each of `slots` slots to the query, as each part has it; 0 where none."""
        near = np.zeros(slots, np.float32)
        if not self.parts:
            return near
        by_row = np.concatenate(
            [_products(part.rows, vector) for part, vector in zip(self.parts, asked, strict=True)]
        )
        rows = self.row_of[:slots]
        if len(by_row):
            np.multiply(by_row.take(rows, mode="clip"), rows >= 0, out=near[: len(rows)])
        return near


def _products(rows: Floats, vector: Floats) -> Floats:
    """`rows @ vector` on one thread: it waits for memory, not for processors, and the threads of
    OpenBLAS that spin meanwhile took 8 ms (p95 17) where one takes 1.5, on two busy cores.
    """
    return np.asarray(np.einsum("ij,j->i", rows, vector))


def find_nearest(cosines: Floats, among: NDArray[np.bool_], limit: int) -> Longs:
    """The slots nearest to the query, nearest first; none that is not near at all."""
    near = np.where(among, cosines, np.float32(0))
    least = np.partition(near, len(near) - limit)[len(near) - limit] if len(near) > limit else 0.0
    slots = ((near >= least) & (near > 0)).nonzero()[0]
    return slots[np.argsort(-near[slots], kind="stable")][:limit]


def embed_query(embedder: Embedder, state: VectorIndex, text: str) -> tuple[Floats, ...]:
    """The vector of a query for each part. Raises EmbeddingError, OSError, ValueError."""
    if embedder.remote:
        vector = embedder.embed([text], None)[0]
        return tuple(_fitting(vector, part) for part in state.parts)
    return tuple(_fitting(embedder.embed([text], part.counts)[0], part) for part in state.parts)


def _fitting(vector: Floats, part: StoreVectors) -> Floats:
    if len(vector) != part.rows.shape[1]:
        raise ValueError("the model's vectors have another length than those in the cache")
    return vector


def compare_to_slot(state: VectorIndex, slot: int, slots: int) -> Floats | None:
    """The cosine of each slot to this one; None where it has no vector."""
    vector = state.vector_of(slot)
    if vector is None:
        return None
    same_length = all(part.rows.shape[1] == len(vector) for part in state.parts)
    return state.compute_cosines([vector] * len(state.parts), slots) if same_length else None
