"""Memories that say the same: near-duplicates and clusters.

Near-duplicates, within an entity: Jaccard of words (agent-memory: facts at least 70 % similar are
the same). Clusters: cosine of words within one project and scope, never across different topic
keys, never with a contradiction inside (Engram proposal, Automatic Consolidation).
"""

from __future__ import annotations

import os
from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from itertools import chain, combinations, islice

from memtui.changes import Act
from memtui.model import CURRENT, Memory
from memtui.stores.markdown.items import SECTION
from memtui.text import counted
from memtui.upkeep.dated_memories import are_of_one_series, is_dated_file
from memtui.upkeep.planted_text import is_of_rules
from memtui.upkeep.proposals import (
    NEVER,
    Proposal,
    ProposalKind,
    UpkeepContext,
    headline_of,
    merge_into,
    propose,
)
from memtui.upkeep.similarity import (
    FEWEST_STEMS,
    cosine,
    have_same_signs,
    heavy_stems,
    is_paraphrase,
    is_same_statement,
    jaccard,
    similar_pairs,
    stars_of,
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
        if one.kind in _MERGED_KINDS
        and one.status in CURRENT
        and not one.content.startswith(_CODE)
        and not one.content.rstrip("*_ \n").endswith((":", "："))
        and not is_dated_file(one)
    ]


def _text(memory: Memory) -> str:
    return f"{memory.title}\n{memory.content}" if memory.title else memory.content


def best_text_first(memories: Iterable[Memory]) -> list[Memory]:
    """The memories in the order in which their text is kept: the newest, else the longer one."""
    return sorted(
        memories,
        key=lambda one: (one.when or NEVER, len(one.content), one.ref),
        reverse=True,
    )


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
    """Near-duplicates among the memories of one entity.

    Compared are memories that may be merged at all; those with one text are compared with others as
    one, because a program may write one line ten thousand times.
    """
    parts: defaultdict[tuple[object, ...], dict[str, list[Memory]]] = defaultdict(dict)
    for memory in _statements(memories):
        parts[_matter(memory, context)].setdefault(_text(memory), []).append(memory)
    by_file: defaultdict[str, list[list[Memory]]] = defaultdict(list)
    for part in parts.values():
        for members in _groups_in(list(part.values()), context):
            files = {one.origin.file for one in members}
            by_file[files.pop() if len(files) == 1 else ""].append(members)
    for file, groups in by_file.items():
        if file and len(groups) > _MAX_GROUPS:
            yield _propose_for_file(file, groups, context)
        else:
            for members in groups:
                yield _propose_merge(members, context)


def _groups_in(texts: Sequence[list[Memory]], context: UpkeepContext) -> Iterator[list[Memory]]:
    """Groups of memories that say the same, of the memories with each text."""
    repeats = [sorted(group, key=_rank, reverse=True) for group in texts]
    found = [group[0] for group in repeats]
    likely = chain(_find_similar(found, context), _find_paraphrases(found, context))
    pairs = [
        (one, other)
        for one, other in (likely if len(found) > 1 else ())
        if _may_be_merged(found[one], found[other], context)
    ]
    order = sorted(range(len(found)), key=lambda at: _rank(found[at]), reverse=True)
    stars = stars_of(pairs, order)
    starred = {at for star in stars for at in star}
    stars += [[at] for at in order if at not in starred and _is_repeated(repeats[at], context)]
    for star in stars:
        yield [one for at in star for one in repeats[at]]


_MOST_PAIRS = 20_000
"""Similar texts of one kind that are looked at: more are lines that a program writes."""


def _is_repeated(group: Sequence[Memory], context: UpkeepContext) -> bool:
    """Whether one text comes several times, and is long enough to be compared."""
    first, *others = group
    fewest = _OF_RULE if is_of_rules(first) else context.settings.fewest_words
    return (
        bool(others)
        and len(words_of(_text(first))) >= fewest
        and _may_be_merged(first, others[0], context)
    )


_MAX_GROUPS = 3
"""Groups of near-duplicates in one file; more are one proposal, such as those of a log whose
program writes the same line every hour."""


def _propose_merge(members: Sequence[Memory], context: UpkeepContext) -> Proposal:
    """Propose to keep one memory of several that say the same, with the best of their texts.

    It is the memory with that text, or one that is pinned or more important, which gets it.
    """
    best, second, *_ = best_text_first(members)
    target = max(members, key=lambda one: (one.pinned, _IMPORTANCE[one.importance], one is best))
    if not (context.can(Act.MERGE, target) or context.can(Act.EDIT, target)):
        target = best
    others = [one for one in members if one is not target]
    lowest = min(jaccard(words_of(_text(target)), words_of(_text(one))) for one in others)
    is_line = is_of_rules(target) or target.origin.file.endswith((".md", ".mdc", ".txt"))
    is_same = lowest == 1 and not is_line  # a line of a page may well come again
    why = "the newest text stays" if best.when != second.when else "the longest text stays"
    return propose(
        ProposalKind.DUPLICATE,
        [target, *others],
        f"{len(members)} say: {headline_of(best)}",
        f"{lowest:.0%} of the words are the same; {why}: “{headline_of(best)}”",
        merge_into(target, others, context, best.content),
        rule="same-record" if is_same else "similar-text",
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
        f"{merges[0].title}; of each group the newest stays, else the longest",
        [change for merge in merges for change in merge.changes],
        rule="similar-text",
        also=message,
    )


def _find_paraphrases(found: Sequence[Memory], context: UpkeepContext) -> Iterator[tuple[int, int]]:
    """Pairs of the same words, but for light ones, in another order that say the same."""
    if context.settings.duplicate > _PLAIN:
        return
    texts = [_text(one) for one in found]
    by_words: defaultdict[tuple[str, ...], list[int]] = defaultdict(list)
    for at, text in enumerate(texts):
        if len(text) <= _SHORT and not is_of_rules(found[at]):
            by_words[tuple(sorted(heavy_stems(text)))].append(at)
    for words, members in by_words.items():
        if len(set(words)) >= FEWEST_STEMS:
            for one, other in islice(combinations(members, 2), _MOST_PAIRS):
                first, second = texts[one], texts[other]
                if is_paraphrase(first, second) and have_same_signs(first, second):
                    yield one, other


_OF_RULE = 6
"""Different words of a rule that is compared; a shorter one is a label or an example."""
_PLAIN = 0.9
"""A setting above it asks for the same words only."""
_SHORT = 200
"""Characters of a text that may be a paraphrase of another."""


def _find_similar(found: Sequence[Memory], context: UpkeepContext) -> Iterator[tuple[int, int]]:
    """Pairs of near-equal words that also say the same."""
    texts, settings = [_text(one) for one in found], context.settings
    words = list(map(words_of, texts))
    every = similar_pairs(words, settings.duplicate, settings.fewest_words, context.step)
    for pair in islice(every, _MOST_PAIRS):
        is_rule = is_of_rules(found[pair.first])
        if is_rule and (pair.score < _PLAIN or len(words[pair.first]) < _OF_RULE):
            continue  # rules are alike in form
        if is_same_statement(texts[pair.first], texts[pair.second]):
            yield pair.first, pair.second


def _matter(memory: Memory, context: UpkeepContext) -> tuple[object, ...]:
    """Equal for memories that may be merged: the same field of one thing."""
    rules = context.rules_of(memory.store)
    section, scope = memory.extra.get(SECTION), rules.scope(memory)
    return memory.store, memory.kind, memory.type, section, scope, rules.merge_key(memory)


def _may_be_merged(one: Memory, other: Memory, context: UpkeepContext) -> bool:
    if _matter(one, context) != _matter(other, context) or are_of_one_series(one, other):
        return False
    if one.kind == "event" and jaccard(words_of(_text(one)), words_of(_text(other))) < _PLAIN:
        return False  # two things that happened alike
    older, newer = sorted((one, other), key=lambda memory: memory.created or NEVER)
    rules = context.rules_of(one.store)
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
    settings, rules_of = context.settings, context.rules_of
    pairs = []
    for pair in similar_pairs(texts, settings.cluster**2, settings.fewest_words, context.step):
        one, other = memories[pair.first], memories[pair.second]
        if cosine(texts[pair.first], texts[pair.second]) < settings.cluster:
            continue
        is_duplicate = one.entity == other.entity and pair.score >= settings.duplicate
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
