"""Compare what two stores hold: near-equal memories side by side, and what only one of them has.

Only current memories are compared, by the Jaccard of words, so that the same fact is found whatever
program wrote it and whatever that program calls its entity. One program keeps a page where another
keeps a line, so each passage of a text (a line of it) is compared as well as the whole.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any

from memtui.dataclass import dataclass
from memtui.model import CURRENT, Memory, to_record
from memtui.upkeep.similarity import similar_pairs, words_of

THRESHOLD = 0.5
"""Jaccard from which two memories are taken for the same statement: half of all different words.
Lower than agent-memory's 0.7 for duplicates, because nothing is merged by it, only shown."""
FEWEST_WORDS = 3
"""Words that a memory needs; of two short texts too many are alike by chance."""

_BETWEEN_WORDS = re.compile(r"[\s_-]+")


@dataclass(frozen=True, slots=True)
class SharedMemory:
    """A memory of the left store and the memory of the right store that says nearly the same."""

    left: Memory
    right: Memory
    score: float
    """Jaccard of the words of the nearest passages; 1: the same words."""
    left_passage: str
    """What of the left memory is near, as it stands there."""
    right_passage: str


@dataclass(frozen=True, slots=True)
class StoreComparison:
    """What two stores have in common, and what each has alone."""

    left: str
    """Label of the store."""
    right: str
    shared: tuple[SharedMemory, ...]
    """Most similar first. A memory that is like several is listed with the nearest of them."""
    only_left: tuple[Memory, ...]
    only_right: tuple[Memory, ...]


def compare_stores(
    left: str, right: str, memories: Sequence[Memory], threshold: float = THRESHOLD
) -> StoreComparison:
    """Compare the current memories of two stores.

    Args:
        left: Label of one store.
        right: Label of the other.
        memories: Of any stores and statuses; the others are left out.
        threshold: Jaccard from which two memories are near-equal; more than 0, at most 1.
    """
    compared = [m for m in memories if m.store in (left, right) and m.status in CURRENT]
    passages = [(m, text) for m in compared for text in _passages(m)]
    nearest: dict[tuple[str, str], SharedMemory] = {}
    for pair in similar_pairs([words_of(text) for _, text in passages], threshold, FEWEST_WORDS):
        ends = sorted(
            (passages[pair.first], passages[pair.second]), key=lambda p: p[0].store == right
        )
        (one, left_text), (other, right_text) = ends
        if one.store != other.store:
            shared = SharedMemory(one, other, pair.score, left_text, right_text)
            key = one.ref, other.ref
            nearest[key] = min(nearest.get(key, shared), shared, key=_order)
    best: dict[str, SharedMemory] = {}
    for shared in sorted(nearest.values(), key=_order):
        best.setdefault(shared.left.ref, shared)
        best.setdefault(shared.right.ref, shared)
    listed = {(each.left.ref, each.right.ref): each for each in best.values()}
    alone = [one for one in compared if one.ref not in best]
    return StoreComparison(
        left,
        right,
        tuple(sorted(listed.values(), key=_order)),
        tuple(one for one in alone if one.store == left),
        tuple(one for one in alone if one.store == right),
    )


def _order(shared: SharedMemory) -> tuple[object, ...]:
    """Most similar first; of equals by what they are, not by the order in which stores are read."""
    passages = shared.left_passage, shared.right_passage
    return (-shared.score, shared.left.ref, shared.right.ref, *passages)


def _passages(memory: Memory) -> list[str]:
    """The whole of a memory, then its lines where it has several; headings state nothing."""
    whole = f"{memory.title}\n{memory.content}" if memory.title else memory.content
    lines = memory.content.split("\n")
    stated = [line for line in lines if line.strip() and not line.startswith("#")]
    return [whole, *stated] if len(lines) > 1 else [whole]


def is_about(memory: Memory, subject: str) -> bool:
    """Whether a memory belongs to an entity, whatever path its store gives that entity.

    `people/alice` is also `alice` of a store without folders, and `Alice` as a title or tag; what
    belongs to an entity below it counts too.
    """
    subject_parts, entity = _parts(subject), _parts(memory.entity)
    if not subject_parts:
        return True
    starts = range(len(entity) - len(subject_parts) + 1)
    if any(entity[at : at + len(subject_parts)] == subject_parts for at in starts):
        return True
    if entity and subject_parts[-len(entity) :] == entity:
        return True
    return any(_parts(name)[-1:] == subject_parts[-1:] for name in (memory.title, *memory.tags))


def _parts(path: str) -> list[str]:
    return [_BETWEEN_WORDS.sub("-", part.strip().casefold()) for part in path.split("/") if part]


def comparison_record(comparison: StoreComparison) -> dict[str, Any]:
    """The comparison as JSON: memories as `list --json` has them."""
    return {
        "left": comparison.left,
        "right": comparison.right,
        "shared": [
            {
                "score": round(each.score, 4),
                "left_passage": each.left_passage,
                "right_passage": each.right_passage,
                "left": to_record(each.left),
                "right": to_record(each.right),
            }
            for each in comparison.shared
        ],
        "only_left": [to_record(one) for one in comparison.only_left],
        "only_right": [to_record(one) for one in comparison.only_right],
    }
