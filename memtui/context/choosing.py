"""How a section chooses its memories: what may be in it, and the order in which they are taken.

A section says what it looks for as a mask over all memories, made of roles, words, links and the
task (`Search`), and an order: priority, time, contrast, the change of a number, type, diversity.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from functools import cached_property

from msgspec import Struct
from msgspec.structs import replace

from memtui.context.entries import (
    MAX_DROPPED,
    Measurement,
    cite,
    is_paged_in,
    one_line_text,
    over_limit,
    ranked_entry,
    read_measurement,
    slots_of_role,
)
from memtui.context.pack import DroppedEntry, PackEntry, Section
from memtui.context.task import Found, Task
from memtui.model import Memory
from memtui.query import Sort
from memtui.search import analysis
from memtui.search.array_types import Longs, Mask
from memtui.search.columns import to_array
from memtui.search.pack_ranking import (
    RankedSlot,
    mask_of_slots,
    newest_first,
    rank_by_priority,
    rank_by_salience,
    rank_by_type,
)
from memtui.upkeep.similarity import jaccard


class Search:
    """The searches of one pack, each made once, and what its sections have so far."""

    def __init__(self, task: Task) -> None:
        self.task = task
        self.sections: list[Section] = []
        self.notes: list[str] = []
        """For people: what the recipe could not do, and where the text comes from."""

    @cached_property
    def all(self) -> Found:
        """Every current memory."""
        return self.task.search()

    @cached_property
    def best(self) -> Found:
        """What a search for the task finds, the best first."""
        return self.task.search(self.task.text, Sort.RELEVANCE)

    @property
    def is_asked(self) -> bool:
        """Whether the task has words to search for."""
        return self.best.hits.match is not None

    @cached_property
    def about(self) -> Mask:
        """What a search for the task finds; all memories if it has no words."""
        return self._mask((self.best if self.is_asked else self.all).slots)

    def role(self, *names: str) -> Mask:
        """The memories that play one of these parts."""
        found = self._mask(())
        for name in names:
            found |= self._mask(self.role_slots(name))
        return found

    def role_slots(self, name: str) -> Longs:
        """The slots that play this part, in the order of the list."""
        return slots_of_role(name, self.all.columns, self.all.slots)

    def words(self, words: str) -> Mask:
        """The memories with a form of one of these words, whatever the task."""
        # Not by relevance, which also finds what only stands near such a word.
        return self._mask(self.task.search(words, Sort.NEW, as_written=True).slots)

    @cached_property
    def proposed(self) -> Mask:
        """The proposals that wait."""
        return self._mask(self.task.search(status=("proposed",)).slots)

    @property
    def linked(self) -> Mask:
        """The current memories that the entries of the section before link to."""
        refs = {entry.ref for entry in self.sections[-1].entries}
        memories = [self.task.source.get(ref) for ref in refs]
        targets = {f"{m.store}:{link.target}" for m in memories for link in m.links if link.target}
        linked = self.all.slots_of_refs(targets) if targets else ()
        return self._mask(sorted(linked)) & self._mask(self.all.slots)

    def rank(self, found: Mask, limit: int) -> list[RankedSlot]:
        """Rank by the relevance to the task plus Simple Memory's priority; with the next ones."""
        columns, slots = self.all.columns, to_array(found.nonzero()[0])
        now, most = self.task.now, limit + MAX_DROPPED
        return rank_by_priority(slots, self.best.hits, columns, now, most)

    def entries(self, ranked: Sequence[RankedSlot], rows: Sequence[Memory]) -> list[PackEntry]:
        """The entries of ranked memories, with the parts of their scores."""
        return [ranked_entry(hit, rows[hit.slot], self.task) for hit in ranked]

    def _mask(self, slots: Sequence[int] | Longs) -> Mask:
        return mask_of_slots(self.all.columns, slots)


Candidates = Callable[[Search], Mask]
"""What a section looks for."""
Choose = Callable[[Search, int], Sequence[PackEntry]]
"""Gives the entries of a section in order, and those that would come next after the limit."""


# ---- by priority, by time -----------------------------------------------------------------------


def by_priority(candidates: Candidates) -> Choose:
    """Choose by relevance to the task plus priority."""

    def choose(search: Search, limit: int) -> Sequence[PackEntry]:
        return search.entries(search.rank(candidates(search), limit), search.all.rows)

    return choose


def newest(candidates: Candidates) -> Choose:
    """Choose the newest."""

    def choose(search: Search, limit: int) -> Sequence[PackEntry]:
        columns = search.all.columns
        slots = newest_first(columns, to_array(candidates(search).nonzero()[0]))
        slots = slots[: limit + MAX_DROPPED]
        ranked = search.rank(mask_of_slots(columns, slots), limit)
        place = {slot: at for at, slot in enumerate(slots.tolist())}
        return search.entries(sorted(ranked, key=lambda hit: place[hit.slot]), search.all.rows)

    return choose


# ---- two episodes that contrast, metrics that changed -------------------------------------------

POOL = 40
"""Episodes of which two are contrasted."""
MAX_MEASURED = 2000
"""Facts that are looked through for measurements: those with words of the task, else the newest."""


def contrast(search: Search, _: int) -> Sequence[PackEntry]:
    """Choose two episodes, before and after: the furthest apart in affect, else in time, on one
    subject."""
    rows = search.all.rows
    ranked = search.rank(search.role("episode") & search.about, POOL)[:POOL]
    pool = [hit for hit in ranked if rows[hit.slot].when is not None]
    pair = _furthest_in_affect(pool, rows) or _first_and_last(pool, search)
    pair.sort(key=lambda hit: rows[hit.slot].when or search.task.now)
    return [
        replace(entry, text=f"- {word}: {entry.text[2:]}")
        for word, entry in zip(("before", "after"), search.entries(pair, rows), strict=False)
    ]


def _valence(memory: Memory) -> float | None:
    affect = memory.extra.get("affect")
    value = affect.get("valence") if isinstance(affect, dict) else None
    # A file may hold an integer that no float can represent.
    return float(value) if isinstance(value, int | float) and -1e9 < value < 1e9 else None


def _furthest_in_affect(pool: Sequence[RankedSlot], rows: Sequence[Memory]) -> list[RankedSlot]:
    felt = [(value, hit) for hit in pool if (value := _valence(rows[hit.slot])) is not None]
    if len(felt) < 2:
        return []
    felt.sort(key=lambda hit: hit[0])
    return [felt[0][1], felt[-1][1]] if felt[0][0] < felt[-1][0] else []


def _first_and_last(pool: Sequence[RankedSlot], search: Search) -> list[RankedSlot]:
    if len(pool) < 2:
        return list(pool)
    columns = search.all.columns
    subject = columns.entity[pool[0].slot]
    same_subject = [hit for hit in pool if columns.entity[hit.slot] == subject]
    of_slot = {hit.slot: hit for hit in (same_subject if len(same_subject) > 1 else pool)}
    dated = newest_first(columns, to_array(list(of_slot))).tolist()
    return [of_slot[dated[-1]], of_slot[dated[0]]]


def largest_change(search: Search, limit: int) -> Sequence[PackEntry]:
    """Choose the metrics that changed most between their first and last value."""
    found = search.best if search.is_asked else search.all
    facts = slots_of_role("fact", search.all.columns, found.slots[:MAX_MEASURED])
    series: dict[tuple[str, str], list[tuple[Memory, Measurement]]] = {}
    for slot in facts.tolist():
        memory = search.all.rows[slot]
        measured = read_measurement(memory)
        if measured is not None and memory.when is not None:
            series.setdefault((memory.store, measured.subject), []).append((memory, measured))
    entries = []
    for (_, subject), values in series.items():
        values.sort(key=lambda item: (item[0].when or search.task.now, item[0].id))
        (first, old), (last, new) = values[0], values[-1]
        if first.when == last.when or old.value == new.value:
            continue
        change = new.value - old.value
        line = (
            f"- {subject} {old.value:g}{old.unit} -> {new.value:g}{new.unit} ({change:+g}, "
            f"{first.when:%Y-%m-%d} to {last.when:%Y-%m-%d}) [{cite(first)}, {cite(last)}]\n"
        )
        size = abs(change) / (abs(old.value) or 1.0)
        why = f"{len(values)} values, {size:.0%} change"
        entries.append(PackEntry(last.ref, line, size, (), why))
    entries.sort(key=lambda entry: (-entry.score, entry.ref))
    return entries[:limit]


# ---- by text: grouped by type, or diverse -------------------------------------------------------

TYPE_BOOST, TYPE_PENALTY, LEAST_SCORE = 1.35, 0.9, 0.05
"""Factors of a wanted and of another type, and the least score after weighting (typed workspace;
gptme_rag memory_type)."""
CANDIDATES = 60
"""The most relevant memories among which diverse ones are chosen; memtui's own."""
DIVERSITY = 0.7
"""Lambda of MMR, 1 is relevance alone; the proposal leaves it open."""
COMPARED_CHARS = 1000
"""Characters of a text that decide how similar it is to another; a long note begins with its
subject, and all of sixty long notes would take half a second."""


def group_by_type(search: Search, limit: int) -> list[Section]:
    """A section for each type of the best by text, wanted types raised and other types lowered."""
    task, found = search.task, search.best
    ranked = rank_by_type(
        found.hits,
        found.columns,
        task.types,
        task.now,
        limit + MAX_DROPPED,
        boost=TYPE_BOOST,
        penalty=TYPE_PENALTY,
        floor=LEAST_SCORE,
    )
    entries = [
        replace(entry, text=_typed_line(found.rows[hit.slot], entry, task))
        for hit, entry in zip(ranked, search.entries(ranked, found.rows), strict=True)
    ]
    groups: dict[str, list[int]] = {}
    for rank, hit in enumerate(ranked[:limit]):
        groups.setdefault(found.rows[hit.slot].type, []).append(rank)
    wanted = {name.casefold() for name in task.types}
    # Wanted types first, those without last, otherwise as the best of each type ranks.
    order = sorted(groups, key=lambda type: (type.casefold() not in wanted, not type, groups[type]))
    sections = [
        Section(
            type or "other",
            tuple(entries[rank] for rank in groups[type]),
            f"### {' '.join(type.split()).capitalize() or 'Other'}\n",
            "\n",
            f"the best {limit} by text; wanted types x{TYPE_BOOST:g}, "
            f"other types x{TYPE_PENALTY:g}, those without as they are",
            ranks=tuple(groups[type]),
        )
        for type in order
    ]
    if sections:
        dropped = over_limit("all types", entries[limit:], limit)
        sections[-1] = replace(sections[-1], dropped=dropped)
    return sections


def _typed_line(memory: Memory, entry: PackEntry, task: Task) -> str:
    if is_paged_in(memory, task):
        return entry.text
    return f"- {one_line_text(memory)} (from {cite(memory)})\n"


def choose_by_mmr(search: Search, limit: int) -> list[Section]:
    """A section of what is relevant and salient, chosen so that one topic does not fill it.

    By maximal marginal relevance (MMR; Carbonell and Goldstein 1998), which the proposal for Engram
    asks for (issue #168, Capability 5). Similarity is the Jaccard share of the words of two texts.
    """
    found = search.best
    ranked = rank_by_salience(found.hits, found.columns, search.task.now, max(limit, CANDIDATES))
    memories = [found.rows[hit.slot] for hit in ranked]
    entries = search.entries(ranked, found.rows)
    words = [text_words(f"{memory.title} {memory.content}"[:COMPARED_CHARS]) for memory in memories]
    top_score = (ranked[0].score if ranked else 1.0) or 1.0
    chosen = choose_diverse([hit.score / top_score for hit in ranked], words, limit, DIVERSITY)
    taken: list[PackEntry] = []
    for choice in chosen:
        entry = entries[choice.at]
        if choice.nearest >= 0 and choice.similarity:
            near = f"{choice.similarity:.0%} of its words as in {memories[choice.nearest].ref}"
            entry = replace(entry, why=f"{entry.why}; {near}")
        taken.append(entry)
    # Chosen by MMR, shown by relevance x salience, as the proposal asks.
    order = sorted(range(len(taken)), key=lambda at: (-taken[at].score, at))
    title = "Relevant knowledge"
    return [
        Section(
            title,
            tuple(taken[at] for at in order),
            f"## {title}\n\n",
            "\n",
            f"up to {limit} by relevance x salience, chosen for diversity (MMR)",
            ranks=tuple(order),
            dropped=_not_chosen(title, entries, {choice.at for choice in chosen}, limit),
        )
    ]


def _not_chosen(
    title: str, entries: Sequence[PackEntry], chosen: Collection[int], limit: int
) -> tuple[DroppedEntry, ...]:
    """The best that were not chosen: too similar to a chosen one, or not good enough."""
    last = min((entries[at].score for at in chosen), default=0.0)
    similar, worse = "too similar to what is in", f"not among the best {limit}"
    left = [entry for at, entry in enumerate(entries) if at not in chosen][:MAX_DROPPED]
    return tuple(
        DroppedEntry(title, entry, similar if entry.score > last else worse) for entry in left
    )


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
