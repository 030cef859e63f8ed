"""The recipe `tiers`: agent-memory's cascading retrieval, over any store.

As pipelines/retrieve-memory.sh does it: summaries of the entities that the query names, then, if
that is not enough, facts that hold one of its words, then lines of the last days' notes. Words
match as parts of words; the order is recency alone. On purpose different from the script: letters
beyond ASCII are folded to lower case too, `|` and backslashes stay as they are, entities come from
the memories instead of index.json, and nothing is written to access.json unless it is asked for.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from datetime import datetime, timedelta

from msgspec import Struct

from memtui.context.entries import MAX_DROPPED, limited_section, slots_of_role
from memtui.context.pack import COUNT_PLACEHOLDER, PackEntry, Section
from memtui.context.task import Task
from memtui.model import Memory
from memtui.search.ranking import ScorePart
from memtui.search.salience import halved, whole_days

_STOP_WORDS = """
    a an the and or but in on at to for of with by from as is was are were been be have has had do
    does did will would could should may might must shall can need it its this that these those i
    you he she we they what which who whom where when why how all each every both few more most
    other some such no not only same so than too very just also now here there then once any about
    me my your his her our their if because
"""
STOP_WORDS = frozenset(_STOP_WORDS.split())
"""retrieve-memory.sh:75-86."""
SHORTEST_TERM = 3
"""Letters of a term that is compared at all (retrieve-memory.sh, matches_query)."""
_WHY = "it has a word of the query"


class TiersQuery(Struct, frozen=True):
    """The words of a query that count."""

    words: tuple[str, ...]

    @property
    def text(self) -> str:
        """As the script prints it."""
        return " ".join(self.words)

    def matches(self, text: str) -> bool:
        """Whether the text has one of the terms, as a part of a word too."""
        lower = text.lower()
        return any(word in lower for word in self.words if len(word) >= SHORTEST_TERM)


def reduce_query(text: str) -> TiersQuery:
    """Drop stop words and single letters; if nothing is left, the whole text counts."""
    words = text.lower().split()
    significant = tuple(word for word in words if word not in STOP_WORDS and len(word) >= 2)
    return TiersQuery(significant or tuple(words))


def build_tiers(task: Task) -> tuple[list[Section], str, str]:
    """The sections, the head and the tail of the pack."""
    query = reduce_query(task.text)
    found = task.search()

    def playing(role: str) -> list[Memory]:
        slots = slots_of_role(role, found.columns, found.slots)
        return [found.rows[slot] for slot in slots.tolist()]

    facts = playing("fact")
    summaries = _summaries(task, query, playing("summary"), facts)
    total = len(summaries.entries)
    sections = [summaries]
    if total < 1 or total < task.constants["enough"]:
        sections.append(_facts(task, query, facts))
        total += len(sections[-1].entries)
    if total < task.constants["enough"]:
        sections.append(_notes(task, query, playing("daily")))
    head = f'=== MEMORY CONTEXT ===\n\nQuery: "{task.text}" → synthesized: "{query.text}"\n\n'
    tail = "=== END MEMORY CONTEXT ===\n"
    if not any(section.entries for section in sections):
        tail = f'(No matching memory found for query: "{task.text}")\n\n{tail}'
    return sections, head, tail


def _recency(task: Task, time: datetime | None) -> str:
    """As the script prints it; None: the time is not known."""
    if time is None:
        return f"{task.constants.undated_recency:.3f}"
    return f"{halved(whole_days(time, task.now), task.constants.half_life_days):.3f}"


def _slug(memory: Memory) -> str:
    return memory.entity.rpartition("/")[2]


def _summaries(
    task: Task, query: TiersQuery, summaries: Sequence[Memory], facts: Sequence[Memory]
) -> Section:
    types: dict[str, str] = {}
    """Entity -> the type that all of its facts have; empty where they differ."""
    for fact in facts:
        if types.setdefault(fact.entity, fact.type) != fact.type:
            types[fact.entity] = ""

    def is_named(summary: Memory) -> bool:
        parent, _, slug = summary.entity.rpartition("/")
        return any(map(query.matches, (slug, types.get(summary.entity, ""), parent)))

    memories = filter(is_named, summaries)
    scored = [(_recency(task, memory.when), _slug(memory), memory) for memory in memories]
    scored.sort(key=lambda item: item[:2], reverse=True)
    most = task.constants["summary_lines"]
    entries = [
        _recent_entry(
            memory,
            recency,
            f"### {slug} (recency: {recency})\n{_first_lines(memory.content, most)}\n\n",
            "its entity or the entity's type is named in the query",
        )
        for recency, slug, memory in scored
    ]
    limit = task.constants["summaries"]
    rule = f"summaries of up to {limit} entities that the query names, most recent first"
    heading = f"## Entities ({COUNT_PLACEHOLDER} matched)\n\n"
    return limited_section("Entities", entries, limit, rule, heading)


def _first_lines(text: str, most: int) -> str:
    return "\n".join(text.split("\n")[:most]).rstrip("\n")


def _recent_entry(memory: Memory, recency: str, text: str, why: str) -> PackEntry:
    score = float(recency)
    return PackEntry(memory.ref, text, score, (ScorePart("recency", score),), why)


def _facts(task: Task, query: TiersQuery, facts: Sequence[Memory]) -> Section:
    limit = task.count("facts")
    matching = [
        (_recency(task, fact.created), _slug(fact), fact.ref, fact)
        for fact in facts
        if query.matches(fact.content)
    ]
    # By recency, entity and id, as `sort -rn` of the script's whole lines.
    matching.sort(key=lambda item: (float(item[0]), *item[1:3]), reverse=True)
    entries = [
        _recent_entry(fact, recency, f"- [{slug}] ({recency}) {fact.content}\n", _WHY)
        for recency, slug, _, fact in matching[: limit + MAX_DROPPED]
    ]
    rule = f"up to {limit} active facts with a word of the query, most recent first"
    heading = f"## Facts ({COUNT_PLACEHOLDER} matched)\n\n"
    return limited_section("Facts", entries, limit, rule, heading)


def _notes(task: Task, query: TiersQuery, notes: Sequence[Memory]) -> Section:
    limit, days = task.constants["note_lines"], task.constants["note_days"]
    entries = list(_note_lines(task, query, notes, days))
    rule = f"up to {limit} lines with a word of the query from the notes of the last {days} days"
    heading = f"## Daily Notes ({COUNT_PLACEHOLDER} snippets)\n\n"
    return limited_section("Daily Notes", entries, limit, rule, heading)


def _note_lines(
    task: Task, query: TiersQuery, notes: Sequence[Memory], days: int
) -> Iterator[PackEntry]:
    today = task.now.date()
    dated = [
        (note.created.date(), note)
        for note in notes
        if note.created and today - timedelta(days=days) < note.created.date() <= today
    ]
    for date, note in sorted(dated, key=lambda item: item[0], reverse=True):
        recency = _recency(task, note.created)
        for line in note.content.split("\n"):
            if line and not line.startswith("#") and query.matches(line):
                yield _recent_entry(note, recency, f"- [{date}] ({recency}) {line}\n", _WHY)
