"""Simple Memory's recipes by intent: plan, reflect, recall, decide, nudge.

The sections are those of the white paper (Retrieval: Intent-Based Context Packs). Who plays which
part in other stores is said in `memtui.context.roles`. Within a section the order is the relevance
to the task plus Simple Memory's priority; ids are cited, and any can be paged in.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from functools import cached_property

from memtui.context.entries import MAX_DROPPED, cite, ranked_section
from memtui.context.pack import PackEntry, Section
from memtui.context.roles import (
    BLOCKING,
    OUTCOMES,
    Measurement,
    read_measurement,
    slots_of_role,
)
from memtui.context.source import Found, Task
from memtui.model import Memory
from memtui.query import Sort
from memtui.search.pack_ranking import RankedSlot, rank_by_priority

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
        """What the text of the task finds; None without words."""
        found = self.task.search(self.task.text, Sort.RELEVANCE)
        return found if found.hits is not None and found.hits.match is not None else None

    def of_role(self, *names: str) -> list[int]:
        slots = list(self.all.slots)
        found = [slot for name in names for slot in slots_of_role(name, self.all.columns, slots)]
        return list(dict.fromkeys(found))

    def ranked(self, slots: Sequence[int], limit: int, *, about: bool = False) -> list[RankedSlot]:
        """Rank these slots; `about`: only those that the task's text finds, where it has words."""
        hits = self.about.hits if self.about is not None else None
        if about and self.about is not None:
            matching = set(self.about.slots)
            slots = [slot for slot in slots if slot in matching]
        tau = self.task.constants.tau_days
        columns = self.all.columns
        more = limit + MAX_DROPPED
        return rank_by_priority(slots, hits, columns, self.task.now, more, tau=tau)

    def section(
        self, title: str, slots: Sequence[int], limit: int, rule: str, *, about: bool = False
    ) -> Section:
        ranked = self.ranked(slots, limit, about=about)
        return ranked_section(title, ranked, self.all.rows, self.task, limit=limit, rule=rule)

    def with_words(self, words: str) -> list[int]:
        """Slots that hold one of these words, whatever the task."""
        # Not by relevance, which also finds what only stands near such a word.
        return list(self.task.search(words, Sort.NEW).slots)

    def linked_from(self, sections: Iterable[Section]) -> list[int]:
        """Slots of memories that the entries of these sections link to."""
        rows = self.all.rows
        by_ref = {entry.ref for section in sections for entry in section.entries}
        slots = list(self.all.slots)
        targets: set[tuple[str, str]] = set()
        for ref in by_ref:
            memory = self.task.source.get(ref)
            targets |= {(memory.store, link.target) for link in memory.links}
        if not targets:
            return []
        return [slot for slot in slots if (rows[slot].store, rows[slot].id) in targets]


def build_plan(task: Task) -> list[Section]:
    """Current goals and policies, recent episodes, blocking facts."""
    memories, constants = _Memories(task), task.constants
    episodes = sorted(memories.of_role("episode"), key=_newest_first(memories.all.rows))
    limit = constants["recent_episodes"]
    recent = memories.ranked(episodes[: limit + MAX_DROPPED], limit)
    position = {slot: at for at, slot in enumerate(episodes)}
    recent.sort(key=lambda one: position[one.slot])
    blocking = set(memories.with_words(BLOCKING)) | set(memories.of_role("error"))
    facts = [slot for slot in memories.of_role("fact") if slot in blocking]
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
            memories.all.rows,
            task,
            limit=limit,
            rule="the newest episodes and session summaries",
        ),
        memories.section(
            "Blocking facts",
            facts,
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
    linked = memories.linked_from([episodes])
    facts = memories.of_role("fact")
    about = set(memories.about.slots) if memories.about is not None else set(facts)
    kept = [slot for slot in facts if slot in about]
    supporting = memories.section(
        "Supporting facts",
        list(dict.fromkeys([*linked, *kept])),
        task.constants["supporting_facts"],
        "facts that fit the task, and those that the episodes name",
    )
    return [episodes, supporting]


def build_decide(task: Task) -> list[Section]:
    """Relevant policies and goals, similar past decisions, facts about outcomes."""
    memories = _Memories(task)
    decided = memories.of_role("decision")
    told = set(memories.with_words("decided decision chose chosen choice picked"))
    decided += [slot for slot in memories.of_role("episode") if slot in told]
    decisions = memories.section(
        "Past decisions",
        list(dict.fromkeys(decided)),
        task.count("past_decisions"),
        "decisions, and episodes that tell of one, by relevance and priority",
        about=True,
    )
    linked = memories.linked_from([decisions])
    outcomes = set(memories.with_words(OUTCOMES)) | set(memories.of_role("error"))
    facts = [slot for slot in memories.of_role("fact") if slot in outcomes]
    about = set(memories.about.slots) if memories.about is not None else set(facts)
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
            list(dict.fromkeys([*linked, *(slot for slot in facts if slot in about)])),
            task.constants["supporting_facts"],
            "facts that the decisions name, and those with a word of outcome",
        ),
    ]


def build_nudge(task: Task) -> list[Section]:
    """One or two policies, one metric trend, one suggestion."""
    memories = _Memories(task)
    policies = memories.section(
        "Policies",
        memories.of_role("policy"),
        task.count("nudge_policies"),
        "the policies that fit best",
    )
    waiting = list(task.search(status=("proposed",)).slots)
    suggestions = waiting or memories.of_role("goal")
    return [
        policies,
        _metric_changes(memories, 1, "Metric trend"),
        memories.section(
            "Suggestion",
            suggestions,
            1,
            "the proposal that fits best, else the goal",
        ),
    ]


def _newest_first(rows: Sequence[Memory]) -> Callable[[int], tuple[bool, float, int]]:
    def key(slot: int) -> tuple[bool, float, int]:
        when = rows[slot].when
        return (when is None, -when.timestamp() if when else 0.0, slot)

    return key


def _contrast(memories: _Memories) -> Section:
    """Two episodes before and after: the furthest apart in affect, else in time, on one subject."""
    rows = memories.all.rows
    ranked = memories.ranked(memories.of_role("episode"), POOL, about=True)[:POOL]
    pool = [one for one in ranked if rows[one.slot].when is not None]
    pair = _furthest_in_affect(pool, rows) or _first_and_last(pool, rows)
    pair.sort(key=lambda one: rows[one.slot].when or memories.task.now)
    section = ranked_section(
        "Contrasting episodes",
        pair,
        rows,
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
    return float(value) if isinstance(value, int | float) and value == value else None


def _furthest_in_affect(pool: Sequence[RankedSlot], rows: Sequence[Memory]) -> list[RankedSlot]:
    felt = [(value, one) for one in pool if (value := _valence(rows[one.slot])) is not None]
    if len(felt) < 2:
        return []
    felt.sort(key=lambda one: one[0])
    return [felt[0][1], felt[-1][1]] if felt[0][0] < felt[-1][0] else []


def _first_and_last(pool: Sequence[RankedSlot], rows: Sequence[Memory]) -> list[RankedSlot]:
    if len(pool) < 2:
        return list(pool)
    subject = rows[pool[0].slot].entity
    same = [one for one in pool if rows[one.slot].entity == subject]
    dated = sorted(same if len(same) > 1 else pool, key=lambda one: _newest_first(rows)(one.slot))
    return [dated[-1], dated[0]]


def _metric_changes(memories: _Memories, limit: int, title: str) -> Section:
    """What was measured twice or more: the first and the last value."""
    rows = memories.all.rows
    found = memories.about or memories.all
    facts = slots_of_role("fact", memories.all.columns, list(found.slots[:MAX_MEASURED]))
    series: dict[tuple[str, str], list[tuple[Memory, Measurement]]] = {}
    for slot in facts:
        memory = rows[slot]
        measured = read_measurement(memory)
        if measured is not None and memory.when is not None:
            series.setdefault((memory.store, measured.subject), []).append((memory, measured))
    entries = []
    for (_, subject), values in series.items():
        values.sort(key=lambda one: (one[0].when or memories.task.now, one[0].id))
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
    return Section(title, tuple(entries[:limit]), f"## {title}\n\n", "\n", rule)
