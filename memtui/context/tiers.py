"""The sections of the recipe `tiers`: agent-memory's cascading retrieval, over any store.

As pipelines/retrieve-memory.sh does it: summaries of the entities that the query names, then, if
that is not enough, facts that hold one of its words, then lines of the last days' notes. Words
match as parts of words; the order is recency alone. On purpose different from the script: letters
beyond ASCII are folded to lower case too, `|` and backslashes stay as they are, entities come from
the memories instead of index.json, and nothing is written to access.json unless it is asked for.
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime, timedelta

from msgspec import Struct

from memtui.context.choosing import Search
from memtui.context.entries import MAX_DROPPED
from memtui.context.pack import PackEntry, Section
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
SUMMARY_LINES = 50
"""First lines of a summary (stage 2)."""
NOTE_DAYS = 7
"""DAILY_NOTES_LOOKBACK_DAYS."""
UNDATED_RECENCY = 0.5
"""Recency of a fact without a time."""
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


def frame(task: Task, sections: Sequence[Section]) -> tuple[str, str]:
    """Return what the script prints above and below the sections."""
    query = reduce_query(task.text)
    head = f'=== MEMORY CONTEXT ===\n\nQuery: "{task.text}" → synthesized: "{query.text}"\n\n'
    tail = "=== END MEMORY CONTEXT ===\n"
    if not any(section.entries for section in sections):
        tail = f'(No matching memory found for query: "{task.text}")\n\n{tail}'
    return head, tail


def _recency(task: Task, time: datetime | None) -> str:
    """As the script prints it; None: the time is not known."""
    recency = UNDATED_RECENCY if time is None else halved(whole_days(time, task.now))
    return f"{recency:.3f}"


def _slug(memory: Memory) -> str:
    return memory.entity.rpartition("/")[2]


def _playing(search: Search, role: str) -> list[Memory]:
    return [search.all.rows[slot] for slot in search.role_slots(role).tolist()]


def summaries(search: Search, _: int) -> Sequence[PackEntry]:
    """Choose the summaries of the entities that the query names, the most recent first."""
    task, query = search.task, reduce_query(search.task.text)
    types: dict[str, str] = {}
    """Entity -> the type that all of its facts have; empty where they differ."""
    for fact in _playing(search, "fact"):
        if types.setdefault(fact.entity, fact.type) != fact.type:
            types[fact.entity] = ""

    def is_named(summary: Memory) -> bool:
        parent, _, slug = summary.entity.rpartition("/")
        return any(map(query.matches, (slug, types.get(summary.entity, ""), parent)))

    memories = filter(is_named, _playing(search, "summary"))
    scored = [(_recency(task, memory.when), _slug(memory), memory) for memory in memories]
    scored.sort(key=lambda item: item[:2], reverse=True)
    return [
        _recent_entry(
            memory,
            recency,
            f"### {slug} (recency: {recency})\n{_first_lines(memory.content, SUMMARY_LINES)}\n\n",
            "its entity or the entity's type is named in the query",
        )
        for recency, slug, memory in scored
    ]


def _first_lines(text: str, most: int) -> str:
    return "\n".join(text.split("\n")[:most]).rstrip("\n")


def _recent_entry(memory: Memory, recency: str, text: str, why: str) -> PackEntry:
    score = float(recency)
    return PackEntry(memory.ref, text, score, (ScorePart("recency", score),), why)


def facts(search: Search, limit: int) -> Sequence[PackEntry]:
    """Choose the facts with a word of the query, the most recent first."""
    query = reduce_query(search.task.text)
    matching = [
        (_recency(search.task, fact.created), _slug(fact), fact.ref, fact)
        for fact in _playing(search, "fact")
        if query.matches(fact.content)
    ]
    # By recency, entity and id, as `sort -rn` of the script's whole lines.
    matching.sort(key=lambda item: (float(item[0]), *item[1:3]), reverse=True)
    return [
        _recent_entry(fact, recency, f"- [{slug}] ({recency}) {fact.content}\n", _WHY)
        for recency, slug, _, fact in matching[: limit + MAX_DROPPED]
    ]


def note_lines(search: Search, _: int) -> Sequence[PackEntry]:
    """Choose lines with a word of the query from the last days' notes, the last day first."""
    task, query = search.task, reduce_query(search.task.text)
    first = task.now.date() - timedelta(days=NOTE_DAYS)
    dated = [
        (note.created.date(), note)
        for note in _playing(search, "daily")
        if note.created and first < note.created.date() <= task.now.date()
    ]
    dated.sort(key=lambda item: item[0], reverse=True)
    return [
        _recent_entry(note, recency, f"- [{date}] ({recency}) {line}\n", _WHY)
        for date, note in dated
        for recency in (_recency(task, note.created),)
        for line in note.content.split("\n")
        if line and not line.startswith("#") and query.matches(line)
    ]
