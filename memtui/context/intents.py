"""Simple Memory's recipes by intent: plan, reflect, recall, decide, nudge.

The sections are those of the white paper (Retrieval: Intent-Based Context Packs). Which memories of
other stores play each part is said in `memtui.context.entries`. Within a section the order is the
relevance to the task plus Simple Memory's priority; ids are cited, and any can be paged in.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property

from msgspec.structs import replace

from memtui.context.entries import (
    BLOCKING,
    DECIDED,
    MAX_DROPPED,
    OUTCOMES,
    Measurement,
    cite,
    limited_section,
    ranked_section,
    read_measurement,
    slots_of_role,
)
from memtui.context.pack import PackEntry, Section
from memtui.context.task import Found, Task
from memtui.model import Memory
from memtui.query import Sort
from memtui.search.array_types import Longs, Mask
from memtui.search.columns import to_array
from memtui.search.hits import NO_SLOTS
from memtui.search.pack_ranking import (
    RankedSlot,
    join_slots,
    mask_of_slots,
    newest_first,
    rank_by_priority,
)

MAX_MEASURED = 2000
"""Facts that are looked through for measurements: those with words of the task, else the newest."""
POOL = 40
"""Episodes of which two are contrasted."""


class _Memories:
    """The searches of one pack, each made once."""

    def __init__(self, task: Task) -> None:
        self.task = task

    @cached_property
    def all(self) -> Found:
        return self.task.search()

    @cached_property
    def about(self) -> Found | None:
        """Return the results of a search for the task; None without words."""
        found = self.task.search(self.task.text, Sort.RELEVANCE)
        return found if found.hits is not None and found.hits.match is not None else None

    @cached_property
    def _slots(self) -> Longs:
        return to_array(self.all.slots)

    @cached_property
    def _about_mask(self) -> Mask | None:
        if self.about is None:
            return None
        return mask_of_slots(self.all.columns, self.about.slots)

    def those_about(self, slots: Longs) -> Longs:
        """Return the slots that a search for the task finds; all if it has no words."""
        mask = self._about_mask
        return slots if mask is None else slots[mask.take(slots)]

    def of_role(self, *names: str) -> Longs:
        """The slots that play one of these parts, each once."""
        found = [slots_of_role(name, self.all.columns, self._slots) for name in names]
        return join_slots(*found)

    def ranked(self, slots: Longs, limit: int, *, about: bool = False) -> list[RankedSlot]:
        """Rank these slots; `about`: only those that the task's text finds, where it has words."""
        hits = self.about.hits if self.about is not None else None
        if about:
            slots = self.those_about(slots)
        scores = self.task.constants.scores
        columns = self.all.columns
        more = limit + MAX_DROPPED
        return rank_by_priority(slots, hits, columns, self.task.now, more, scores)

    def section(
        self, title: str, slots: Longs, limit: int, rule: str, *, about: bool = False
    ) -> Section:
        ranked = self.ranked(slots, limit, about=about)
        return ranked_section(title, ranked, self.all, self.task, limit=limit, rule=rule)

    def facts_with(self, words: str) -> Longs:
        """The facts with a form of one of these words, and the errors."""
        errors = mask_of_slots(self.all.columns, self.of_role("error"))
        facts = self.of_role("fact")
        return facts[(self.with_words(words) | errors).take(facts)]

    def with_words(self, words: str) -> Mask:
        """For each slot whether it holds a form of one of these words, whatever the task."""
        # Not by relevance, which also finds what only stands near such a word.
        found = self.task.search(words, Sort.NEW, as_written=True)
        return mask_of_slots(self.all.columns, found.slots)

    def linked_from(self, section: Section) -> Longs:
        """Slots of memories that the entries of this section link to."""
        memories = [self.task.source.get(ref) for ref in {entry.ref for entry in section.entries}]
        refs = {f"{m.store}:{link.target}" for m in memories for link in m.links if link.target}
        if not refs:
            return NO_SLOTS
        linked = self.all.slots_of_refs(refs)
        return to_array([slot for slot in self._slots.tolist() if slot in linked])


def build_plan(task: Task) -> list[Section]:
    """Current goals and policies, recent episodes, blocking facts."""
    memories, constants = _Memories(task), task.constants
    episodes = newest_first(memories.all.columns, memories.of_role("episode"))
    limit = constants["recent_episodes"]
    recent = memories.ranked(episodes[: limit + MAX_DROPPED], limit)
    position = {slot: at for at, slot in enumerate(episodes.tolist())}
    recent.sort(key=lambda entry: position[entry.slot])
    return [
        memories.section(
            "Goals and policies",
            memories.of_role("goal", "policy"),
            task.count("goals"),
            "goals and policies by priority, those that the task names first",
        ),
        ranked_section(
            "Recent episodes",
            recent,
            memories.all,
            task,
            limit=limit,
            rule="the newest episodes and session summaries",
        ),
        memories.section(
            "Blocking facts",
            memories.facts_with(BLOCKING),
            constants["supporting_facts"],
            "facts with a word of blocking, and errors",
            about=True,
        ),
    ]


def build_reflect(task: Task) -> list[Section]:
    """Relevant schema, contrasting episodes, changes of metrics."""
    memories = _Memories(task)
    return [
        memories.section(
            "Schema",
            memories.of_role("schema"),
            task.count("goals"),
            "schema items, policies and patterns by relevance and priority",
        ),
        _contrast(memories),
        _metric_changes(memories, task.constants["metric_changes"], "Metric changes"),
    ]


def build_recall(task: Task) -> list[Section]:
    """The best-fit episodes and their supporting facts."""
    memories = _Memories(task)
    episodes = memories.section(
        "Episodes",
        memories.of_role("episode"),
        task.count("best_episodes"),
        "the episodes that fit the task best",
        about=True,
    )
    about = memories.those_about(memories.of_role("fact"))
    supporting = memories.section(
        "Supporting facts",
        join_slots(memories.linked_from(episodes), about),
        task.constants["supporting_facts"],
        "facts that fit the task, and those that the episodes name",
    )
    return [episodes, supporting]


def build_decide(task: Task) -> list[Section]:
    """Relevant policies and goals, similar past decisions, facts about outcomes."""
    memories = _Memories(task)
    episodes = memories.of_role("episode")
    decided = episodes[memories.with_words(DECIDED).take(episodes)]
    decisions = memories.section(
        "Past decisions",
        join_slots(memories.of_role("decision"), decided),
        task.count("past_decisions"),
        "decisions, and episodes that tell of one, by relevance and priority",
        about=True,
    )
    about = memories.those_about(memories.facts_with(OUTCOMES))
    return [
        memories.section(
            "Policies and goals",
            memories.of_role("policy", "goal"),
            task.constants["goals"],
            "policies and goals by relevance and priority",
        ),
        decisions,
        memories.section(
            "Outcome facts",
            join_slots(memories.linked_from(decisions), about),
            task.constants["supporting_facts"],
            "facts that the decisions name, and those with a word of outcome",
        ),
    ]


def build_nudge(task: Task) -> list[Section]:
    """One or two policies, one metric trend, one suggestion."""
    memories = _Memories(task)
    limit = task.count("nudge_policies")
    waiting = to_array(task.search(status=("proposed",)).slots)
    suggestions = waiting if len(waiting) else memories.of_role("goal")
    return [
        memories.section(
            "Policies", memories.of_role("policy"), limit, "the policies that fit best"
        ),
        _metric_changes(memories, 1, "Metric trend"),
        memories.section(
            "Suggestion", suggestions, 1, "the proposal that fits best, else the goal"
        ),
    ]


def _contrast(memories: _Memories) -> Section:
    """Two episodes before and after: the furthest apart in affect, else in time, on one subject."""
    rows = memories.all.rows
    ranked = memories.ranked(memories.of_role("episode"), POOL, about=True)[:POOL]
    pool = [hit for hit in ranked if rows[hit.slot].when is not None]
    pair = _furthest_in_affect(pool, rows) or _first_and_last(pool, memories)
    pair.sort(key=lambda hit: rows[hit.slot].when or memories.task.now)
    section = ranked_section(
        "Contrasting episodes",
        pair,
        memories.all,
        memories.task,
        limit=2,
        rule="two episodes on the subject, furthest apart in affect, else in time",
    )
    entries = tuple(
        replace(entry, text=f"- {word}: {entry.text[2:]}")
        for word, entry in zip(("before", "after"), section.entries, strict=False)
    )
    return replace(section, entries=entries)


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


def _first_and_last(pool: Sequence[RankedSlot], memories: _Memories) -> list[RankedSlot]:
    if len(pool) < 2:
        return list(pool)
    subject = memories.all.columns.entity[pool[0].slot]
    same_subject = [hit for hit in pool if memories.all.columns.entity[hit.slot] == subject]
    of_slot = {hit.slot: hit for hit in (same_subject if len(same_subject) > 1 else pool)}
    dated = newest_first(memories.all.columns, to_array(list(of_slot))).tolist()
    return [of_slot[dated[-1]], of_slot[dated[0]]]


def _metric_changes(memories: _Memories, limit: int, title: str) -> Section:
    """Metrics that were measured at least twice: their first and last value."""
    rows = memories.all.rows
    found = memories.about or memories.all
    facts = slots_of_role("fact", memories.all.columns, found.slots[:MAX_MEASURED])
    series: dict[tuple[str, str], list[tuple[Memory, Measurement]]] = {}
    for slot in facts.tolist():
        memory = rows[slot]
        measured = read_measurement(memory)
        if measured is not None and memory.when is not None:
            series.setdefault((memory.store, measured.subject), []).append((memory, measured))
    entries = []
    for (_, subject), values in series.items():
        values.sort(key=lambda item: (item[0].when or memories.task.now, item[0].id))
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
    rule = "facts that give a number for the same subject at two times, largest change first"
    return limited_section(title, entries[:limit], limit, rule)
