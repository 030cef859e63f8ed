"""The recipes that rank by text: `typed` (typed workspace) and `prime` (proposal for Engram).

The second chooses relevant memories that differ from one another, by maximal marginal relevance
(MMR; Carbonell and Goldstein 1998), which the proposal (issue #168, Capability 5) asks for so that
one topic does not fill the pack. Similarity is the Jaccard share of the words of two texts.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence

from msgspec import Struct
from msgspec.structs import replace

from memtui.context.entries import (
    MAX_DROPPED,
    cite,
    cited_line,
    is_paged_in,
    one_line_text,
    over_limit,
    ranked_entry,
)
from memtui.context.pack import DroppedEntry, PackEntry, Section
from memtui.context.task import Task
from memtui.model import Memory
from memtui.query import Sort
from memtui.search import analysis
from memtui.search.pack_ranking import RankedSlot, rank_by_salience, rank_by_type
from memtui.upkeep.similarity import jaccard

COMPARED_CHARS = 1000
"""Characters of a text that decide how similar it is to another; a long note begins with its
subject, and all of sixty long notes would take half a second."""


def build_typed(task: Task) -> list[Section]:
    """The best by text, wanted types raised and other types lowered, grouped by type."""
    constants = task.constants
    found = task.search(task.text, Sort.RELEVANCE)
    limit = task.count("typed_limit")
    if found.hits is None:
        return []
    ranked = rank_by_type(
        found.hits,
        found.columns,
        task.types,
        task.now,
        limit + MAX_DROPPED,
        boost=constants.type_boost,
        penalty=constants.type_penalty,
        floor=constants.typed_floor,
    )
    groups: dict[str, list[tuple[int, PackEntry]]] = {}
    left: list[PackEntry] = []
    for rank, hit in enumerate(ranked):
        memory = found.rows[hit.slot]
        entry = replace(ranked_entry(hit, memory, task), text=_typed_line(memory, task))
        if rank < limit:
            groups.setdefault(memory.type, []).append((rank, entry))
        else:
            left.append(entry)
    preferred = {name.casefold() for name in task.types}
    # Wanted types first, those without last, otherwise as the best of each type ranks.
    order = sorted(groups, key=lambda t: (t.casefold() not in preferred, not t, groups[t][0][0]))
    sections = [
        Section(
            type or "other",
            tuple(entry for _, entry in groups[type]),
            f"### {' '.join(type.split()).capitalize() or 'Other'}\n",
            "\n",
            f"the best {limit} by text; wanted types x{constants.type_boost:g}, "
            f"other types x{constants.type_penalty:g}, those without as they are",
            ranks=tuple(rank for rank, _ in groups[type]),
        )
        for type in order
    ]
    if left and sections:
        dropped = over_limit("all types", left, limit)
        sections[-1] = replace(sections[-1], dropped=dropped)
    return sections


def _typed_line(memory: Memory, task: Task) -> str:
    if is_paged_in(memory, task):
        return cited_line(memory, task)
    text = one_line_text(memory, task.constants["entry_characters"])
    return f"- {text} (from {cite(memory)})\n"


def build_prime(task: Task) -> list[Section]:
    """What to know before a task: relevance x salience, then chosen for diversity by MMR."""
    found = task.search(task.text, Sort.RELEVANCE)
    limit = task.count("primed")
    if found.hits is None:
        return []
    candidates = max(limit, task.constants["primed_candidates"])
    ranked = rank_by_salience(
        found.hits, found.columns, task.now, candidates, task.constants.scores
    )
    top_score = ranked[0].score if ranked else 1.0
    memories = [found.rows[hit.slot] for hit in ranked]
    words = [text_words(f"{memory.title} {memory.content}"[:COMPARED_CHARS]) for memory in memories]
    shares = [hit.score / (top_score or 1.0) for hit in ranked]
    chosen = choose_diverse(shares, words, limit, task.constants.diversity)
    entries = []
    for choice in chosen:
        entry = ranked_entry(ranked[choice.at], memories[choice.at], task)
        if choice.nearest >= 0 and choice.similarity:
            near = f"{choice.similarity:.0%} of its words as in {memories[choice.nearest].ref}"
            entry = replace(entry, why=f"{entry.why}; {near}")
        entries.append(entry)
    # Chosen by MMR, shown by relevance x salience, as the proposal asks.
    order = sorted(range(len(chosen)), key=lambda at: (-entries[at].score, at))
    return [
        Section(
            "Relevant knowledge",
            tuple(entries[at] for at in order),
            "## Relevant knowledge\n\n",
            "\n",
            f"up to {limit} by relevance x salience, chosen for diversity (MMR)",
            ranks=tuple(order),
            dropped=_dropped(task, ranked, memories, {choice.at for choice in chosen}, limit),
        )
    ]


def _dropped(
    task: Task,
    ranked: Sequence[RankedSlot],
    memories: Sequence[Memory],
    chosen: Collection[int],
    limit: int,
) -> tuple[DroppedEntry, ...]:
    """The best that were not chosen: too similar to a chosen one, or not good enough."""
    last = min((ranked[at].score for at in chosen), default=0.0)
    dropped: list[DroppedEntry] = []
    for at, hit in enumerate(ranked):
        if at in chosen or len(dropped) == MAX_DROPPED:
            continue
        reason = "too similar to what is in" if hit.score > last else f"not among the best {limit}"
        entry = ranked_entry(hit, memories[at], task)
        dropped.append(DroppedEntry("Relevant knowledge", entry, reason))
    return tuple(dropped)


class DiverseChoice(Struct, frozen=True):
    """A chosen text."""

    at: int
    """Its position in what was given."""
    similarity: float
    """To the most similar text that was chosen before it, 0..1."""
    nearest: int
    """Position of that text; -1 for the first choice."""


def text_words(text: str) -> frozenset[str]:
    """The words of a text that similarity compares: stems, without function words."""
    found = analysis.list_words(text)
    return frozenset(analysis.stem(word) for word in found if word not in analysis.QUESTION_WORDS)


def choose_diverse(
    relevance: Sequence[float],
    words: Sequence[frozenset[str]],
    limit: int,
    share: float,
) -> list[DiverseChoice]:
    """Choose texts one after the other, each the best by MMR.

    Args:
        relevance: Of each text.
        words: Of each text.
        limit: Most texts.
        share: Lambda of MMR: 1 is relevance alone, 0 is novelty alone.
    """
    left = list(range(len(relevance)))
    nearest = [(-1, 0.0)] * len(relevance)
    chosen: list[DiverseChoice] = []
    while left and len(chosen) < limit:
        values = {at: share * relevance[at] - (1 - share) * nearest[at][1] for at in left}
        choice = max(left, key=lambda at: (values[at], -at))
        left.remove(choice)
        chosen.append(DiverseChoice(choice, nearest[choice][1], nearest[choice][0]))
        for at in left:
            similar = jaccard(words[at], words[choice])
            if similar > nearest[at][1]:
                nearest[at] = (choice, similar)
    return chosen
