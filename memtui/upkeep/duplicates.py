"""Near-duplicates within an entity, and clusters of memories that say much the same.

Near-duplicates: Jaccard of words (agent-memory: facts at least 70 % similar are the same).
Clusters: cosine of TF-IDF vectors within one project and scope, never across different topic keys,
never with a contradiction inside (Engram proposal, Automatic Consolidation).
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Sequence
from datetime import UTC, datetime

from memtui.model import CURRENT, Memory
from memtui.upkeep.proposals import (
    Proposal,
    ProposalKind,
    UpkeepContext,
    headline_of,
    merge_into,
    propose,
)
from memtui.upkeep.similarity import (
    groups_of,
    is_same_statement,
    jaccard,
    similar_pairs,
    similar_vectors,
    tfidf_vectors,
    words_of,
)

_MERGED_KINDS = frozenset({"fact", "event", "observation", "schema"})
"""Kinds that are one statement each; documents, notes and episodes are never merged."""
_IMPORTANCE = {"high": 2, "medium": 1, "low": 0}
_NEVER = datetime.min.replace(tzinfo=UTC)


def _statements(memories: Sequence[Memory]) -> list[Memory]:
    return [one for one in memories if one.kind in _MERGED_KINDS and one.status in CURRENT]


def _text(memory: Memory) -> str:
    return f"{memory.title}\n{memory.content}" if memory.title else memory.content


def _rank(memory: Memory) -> tuple[object, ...]:
    """What is kept of several: what is pinned, important, long, new; by ref if all is equal."""
    return (
        memory.pinned,
        _IMPORTANCE[memory.importance],
        len(memory.content),
        memory.created or _NEVER,
        memory.ref,
    )


def find_duplicates(memories: Sequence[Memory], context: UpkeepContext) -> Iterator[Proposal]:
    """Near-duplicates among the memories of one entity."""
    found = _statements(memories)
    texts = [words_of(_text(one)) for one in found]
    settings = context.settings
    by_group: list[tuple[int, int]] = []
    for pair in similar_pairs(texts, settings.duplicate, settings.fewest_words, context.step):
        one, other = found[pair.first], found[pair.second]
        if _may_be_merged(one, other, context) and is_same_statement(_text(one), _text(other)):
            by_group.append((pair.first, pair.second))
    for group in groups_of(by_group):
        target, *others = sorted((found[at] for at in group), key=_rank, reverse=True)
        lowest = min(jaccard(words_of(_text(target)), words_of(_text(one))) for one in others)
        yield propose(
            ProposalKind.DUPLICATE,
            [target, *others],
            f"{len(others) + 1} say: {headline_of(target)}",
            f"{lowest:.0%} of the words are the same; the first one stays",
            merge_into(target, others, context),
        )


def find_across(memories: Sequence[Memory], context: UpkeepContext) -> Iterator[Proposal]:
    """Near-duplicates in different stores, as hints: nothing is ever merged across stores."""
    found = _statements(memories)
    texts = [words_of(_text(one)) for one in found]
    settings = context.settings
    pairs = similar_pairs(texts, settings.duplicate, settings.fewest_words, context.step)
    for pair in pairs:
        one, other = found[pair.first], found[pair.second]
        if one.store != other.store and is_same_statement(_text(one), _text(other)):
            yield propose(
                ProposalKind.ACROSS,
                [one, other],
                f"{headline_of(one)} | {headline_of(other)}",
                f"{pair.score:.0%} of the words are the same in {one.store} and {other.store}",
            )


def _may_be_merged(one: Memory, other: Memory, context: UpkeepContext) -> bool:
    rules = context.rules_of(one.store)
    if one.store != other.store or one.kind != other.kind or one.type != other.type:
        return False
    if rules.scope(one) != rules.scope(other) or rules.merge_key(one) != rules.merge_key(other):
        return False
    older, newer = sorted((one, other), key=lambda memory: memory.created or _NEVER)
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
    for group in groups_of(pairs):
        target, *others = sorted((memories[at] for at in group), key=_rank, reverse=True)
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
