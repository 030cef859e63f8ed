"""Memories that say the same: near-duplicates, clusters, and what two stores both hold.

Near-duplicates, within an entity: Jaccard of words (agent-memory: facts at least 70 % similar are
the same). Clusters: cosine of TF-IDF vectors within one project and scope, never across different
topic keys, never with a contradiction inside (Engram proposal, Automatic Consolidation).

Two stores: only current memories are compared, by the Jaccard of words, so that the same fact is
found whatever program wrote it and whatever that program calls its entity. One program keeps a page
where another keeps a line, so each passage of a text (a line of it) is compared as well as the
whole.
"""

from __future__ import annotations

import os
import re
from collections import defaultdict
from collections.abc import Iterator, Sequence
from typing import Any

from msgspec import Struct

from memtui.model import CURRENT, Memory, to_record
from memtui.stores.markdown.items import SECTION
from memtui.text import counted
from memtui.upkeep.disagreement import (
    Disagreement,
    differing_numbers,
    find_disagreements,
)
from memtui.upkeep.proposals import (
    NEVER,
    Proposal,
    ProposalKind,
    UpkeepContext,
    are_of_one_series,
    headline_of,
    merge_into,
    propose,
)
from memtui.upkeep.similarity import (
    SimilarPair,
    have_same_signs,
    is_paraphrase,
    is_same_statement,
    jaccard,
    similar_pairs,
    similar_vectors,
    stars_of,
    stems_of,
    tfidf_vectors,
    words_of,
)

_MERGED_KINDS = frozenset({"fact", "event", "observation", "schema"})
"""Kinds that hold one statement each; documents, notes and episodes are never merged."""
_CODE = ("```", "~~~")
"""Blocks of code state nothing by themselves."""
_IMPORTANCE = {"high": 2, "medium": 1, "low": 0}


def _statements(memories: Sequence[Memory]) -> list[Memory]:
    return [
        one
        for one in memories
        if one.kind in _MERGED_KINDS and one.status in CURRENT and not one.content.startswith(_CODE)
    ]


def _text(memory: Memory) -> str:
    return f"{memory.title}\n{memory.content}" if memory.title else memory.content


def _rank(memory: Memory) -> tuple[object, ...]:
    """What is kept of several: what is pinned, important, long, new; by ref if all is equal."""
    return (
        memory.pinned,
        _IMPORTANCE[memory.importance],
        len(memory.content),
        memory.created or NEVER,
        memory.ref,
    )


def find_duplicates(memories: Sequence[Memory], context: UpkeepContext) -> Iterator[Proposal]:
    """Near-duplicates among the memories of one entity."""
    found = _statements(memories)
    pairs = [
        (pair.first, pair.second)
        for pair in _find_similar(found, context)
        if _may_be_merged(found[pair.first], found[pair.second], context)
    ]
    known = {pair for one, other in pairs for pair in ((one, other), (other, one))}
    pairs += [
        (one, other)
        for one, other in _find_paraphrases(found, context)
        if (one, other) not in known and _may_be_merged(found[one], found[other], context)
    ]
    order = sorted(range(len(found)), key=lambda at: _rank(found[at]), reverse=True)
    by_file: defaultdict[str, list[list[Memory]]] = defaultdict(list)
    for group in stars_of(pairs, order):
        members = [found[at] for at in group]
        files = {one.origin.file for one in members}
        by_file[files.pop() if len(files) == 1 else ""].append(members)
    for file, groups in by_file.items():
        if file and len(groups) > _MAX_GROUPS:
            yield _propose_for_file(file, groups, context)
        else:
            for members in groups:
                yield _propose_merge(members, context)


_MAX_GROUPS = 3
"""Groups of near-duplicates in one file; more are one proposal, such as those of a log whose
program writes the same line every hour."""


def _propose_merge(members: Sequence[Memory], context: UpkeepContext) -> Proposal:
    target, *others = members
    lowest = min(jaccard(words_of(_text(target)), words_of(_text(one))) for one in others)
    return propose(
        ProposalKind.DUPLICATE,
        members,
        f"{len(members)} say: {headline_of(target)}",
        f"{lowest:.0%} of the words are the same; the first one stays",
        merge_into(target, others, context),
    )


def _propose_for_file(
    file: str, groups: Sequence[Sequence[Memory]], context: UpkeepContext
) -> Proposal:
    merges = [_propose_merge(members, context) for members in groups]
    count = sum(len(members) - 1 for members in groups)
    message = f"{os.path.basename(file)}: {counted(count, 'line')} repeat {len(groups)} others"
    return propose(
        ProposalKind.DUPLICATE,
        [one for members in groups for one in members],
        message,
        f"{merges[0].title}; the first of each group stays",
        [change for merge in merges for change in merge.changes],
        also=message,
    )


def find_across(memories: Sequence[Memory], context: UpkeepContext) -> Iterator[Proposal]:
    """Near-duplicates in different stores, as hints: nothing is ever merged across stores."""
    found = _statements(memories)
    for pair in _find_similar(found, context):
        one, other = found[pair.first], found[pair.second]
        if one.store != other.store:
            yield propose(
                ProposalKind.ACROSS,
                [one, other],
                f"{headline_of(one)} | {headline_of(other)}",
                f"{pair.score:.0%} of the words are the same in {one.store} and {other.store}",
            )


_PARAPHRASED = 0.5
"""Jaccard of stems from which two texts may be paraphrases."""


def propose_disagreements(memories: Sequence[Memory]) -> Iterator[Proposal]:
    """Statements of two stores that give one attribute two values, as hints."""
    for found in find_disagreements(memories):
        yield propose(
            ProposalKind.DISAGREE,
            [found.one, found.other],
            f"{found.message}: {headline_of(found.one)} | {headline_of(found.other)}",
            f"in {found.one.store} and {found.other.store}; correct the one that is wrong",
            also=found.message,
        )


def _find_paraphrases(found: Sequence[Memory], context: UpkeepContext) -> Iterator[tuple[int, int]]:
    """Pairs with other words and another order that say the same."""
    if context.settings.duplicate > _PLAIN:
        return
    texts = [_text(one) for one in found]
    short = [stems_of(text) if len(text) <= _SHORT else frozenset[str]() for text in texts]
    for pair in similar_pairs(short, _PARAPHRASED, context.settings.fewest_words - 1, context.step):
        one, other = texts[pair.first], texts[pair.second]
        if is_paraphrase(one, other) and have_same_signs(one, other):
            yield pair.first, pair.second


_PLAIN = 0.9
"""A setting above it asks for the same words only."""
_SHORT = 200
"""Characters of a text that may be a paraphrase of another."""


def _find_similar(found: Sequence[Memory], context: UpkeepContext) -> Iterator[SimilarPair]:
    """The pairs of near-equal words that also say the same."""
    texts, settings = [_text(one) for one in found], context.settings
    words = list(map(words_of, texts))
    for pair in similar_pairs(words, settings.duplicate, settings.fewest_words, context.step):
        if is_same_statement(texts[pair.first], texts[pair.second]):
            yield pair


def _may_be_merged(one: Memory, other: Memory, context: UpkeepContext) -> bool:
    rules = context.rules_of(one.store)
    if one.store != other.store or one.kind != other.kind or one.type != other.type:
        return False
    if one.extra.get(SECTION) != other.extra.get(SECTION) or are_of_one_series(one, other):
        return False  # the same field of two things, or one thing on two days
    if rules.scope(one) != rules.scope(other) or rules.merge_key(one) != rules.merge_key(other):
        return False
    if one.kind == "event" and jaccard(words_of(_text(one)), words_of(_text(other))) < _PLAIN:
        return False  # two things that happened alike
    older, newer = sorted((one, other), key=lambda memory: memory.created or NEVER)
    return not rules.contradicts(older, newer) and not rules.replaces(older, newer)


def find_clusters(memories: Sequence[Memory], context: UpkeepContext) -> Iterator[Proposal]:
    """Clusters among the memories of one scope, each with the combined text as proposal."""
    by_kind: defaultdict[str, list[Memory]] = defaultdict(list)
    for memory in _statements(memories):
        by_kind[memory.kind].append(memory)
    for group in by_kind.values():
        yield from _clusters_in(group, context)


def _clusters_in(memories: Sequence[Memory], context: UpkeepContext) -> Iterator[Proposal]:
    texts = [words_of(_text(one)) for one in memories]
    vectors = tfidf_vectors([_text(one) for one in memories])
    settings, rules_of = context.settings, context.rules_of
    pairs = []
    for pair in similar_vectors(vectors, settings.cluster, context.step):
        one, other = memories[pair.first], memories[pair.second]
        shared = texts[pair.first], texts[pair.second]
        if min(map(len, shared)) < settings.fewest_words:
            continue
        is_duplicate = one.entity == other.entity and jaccard(*shared) >= settings.duplicate
        if is_duplicate or not _may_be_merged(one, other, context):
            continue
        if is_same_statement(_text(one), _text(other)):
            pairs.append((pair.first, pair.second))
    order = sorted(range(len(memories)), key=lambda at: _rank(memories[at]), reverse=True)
    for group in stars_of(pairs, order):
        target, *others = (memories[at] for at in group)
        yield propose(
            ProposalKind.CLUSTER,
            [target, *others],
            f"merge {len(others) + 1}: {headline_of(target)}",
            f"cosine of at least {settings.cluster:.2f} in {rules_of(target.store).scope(target)}",
            merge_into(target, others, context, combined_text([target, *others])),
        )


def combined_text(memories: Sequence[Memory]) -> str:
    """The text of the first memory, and every line of the others that says something else."""
    lines = memories[0].content.split("\n")
    known = [words_of(line) for line in lines]
    for memory in memories[1:]:
        for line in memory.content.split("\n"):
            words = words_of(line)
            if words and not any(words <= other or jaccard(words, other) >= 0.8 for other in known):
                lines.append(line)
                known.append(words)
    return "\n".join(lines)


# ---- two stores ----------------------------------------------------------------------------------

SHARED_FROM = 0.5
"""Jaccard from which two memories are taken for the same statement: half of all different words.
Lower than agent-memory's 0.7 for duplicates, because nothing is merged by it, only shown."""
MIN_WORDS = 3
"""Minimum number of words; too many short texts are alike by chance."""

_BETWEEN_WORDS = re.compile(r"[\s_-]+")


class SharedMemory(Struct, frozen=True):
    """A memory of the left store and the memory of the right store that says nearly the same."""

    left: Memory
    right: Memory
    score: float
    """Jaccard of the words of the nearest passages; 1: the same words."""
    left_passage: str
    """The passage of the left memory that is near, verbatim."""
    right_passage: str


class StoreComparison(Struct, frozen=True):
    """What two stores have in common, and what each has alone."""

    left: str
    """Label of the store."""
    right: str
    disagreeing: tuple[Disagreement, ...]
    """What gives one attribute of one entity two values; the left memory first."""
    shared: tuple[SharedMemory, ...]
    """Most similar first. A memory that resembles several is listed with the most similar one."""
    only_left: tuple[Memory, ...]
    only_right: tuple[Memory, ...]


def compare_stores(
    left: str, right: str, memories: Sequence[Memory], threshold: float = SHARED_FROM
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
    for pair in similar_pairs([words_of(text) for _, text in passages], threshold, MIN_WORDS):
        ends = sorted(
            (passages[pair.first], passages[pair.second]), key=lambda p: p[0].store == right
        )
        (one, left_text), (other, right_text) = ends
        if one.store != other.store:
            shared = SharedMemory(one, other, pair.score, left_text, right_text)
            key = one.ref, other.ref
            nearest[key] = min(nearest.get(key, shared), shared, key=_order)
    ordered = sorted(compared, key=lambda one: one.store == right)
    opposed = {(each.one.ref, each.other.ref): each for each in find_disagreements(ordered)}
    best: dict[str, SharedMemory] = {}
    for shared in sorted(nearest.values(), key=_order):
        refs = shared.left.ref, shared.right.ref
        numbers = differing_numbers(shared.left_passage, shared.right_passage)
        if numbers is not None and best.keys().isdisjoint(refs):
            opposed.setdefault(refs, Disagreement(shared.left, shared.right, *numbers))
        if numbers is None and refs not in opposed:
            best.setdefault(refs[0], shared)
            best.setdefault(refs[1], shared)
    listed = {(each.left.ref, each.right.ref): each for each in best.values()}
    known = {*best, *(ref for pair in opposed for ref in pair)}
    alone = [one for one in compared if one.ref not in known]
    return StoreComparison(
        left,
        right,
        tuple(opposed.values()),
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
    whole = _text(memory)
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
        "disagreeing": [
            {
                "attribute": each.attribute,
                "values": list(each.values),
                "left": to_record(each.one),
                "right": to_record(each.other),
            }
            for each in comparison.disagreeing
        ],
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
