"""The recipe `tiers`: agent-memory's cascading retrieval, over any store.

As pipelines/retrieve-memory.sh does it: summaries of the entities that the query names, then, if
that is not enough, facts that hold one of its words, then lines of the last days' notes. Words
match as parts of words; the order is recency alone. On purpose different from the script: letters
beyond ASCII are folded to lower case too, `|` and backslashes stay as they are, entities come from
the memories instead of index.json, and nothing is written to access.json unless it is asked for.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from datetime import datetime, timedelta
from itertools import islice

from msgspec import Struct

from memtui.context.entries import MAX_DROPPED, limited_section, slots_of_role
from memtui.context.pack import COUNT_PLACEHOLDER, PackEntry, Section
from memtui.context.task import Found, Task
from memtui.model import Memory
from memtui.search import analysis
from memtui.search.array_types import Longs
from memtui.search.columns import to_array
from memtui.search.pack_ranking import group_by_recency, types_of_entities
from memtui.search.ranking import ScorePart
from memtui.search.salience import days_since, halved, whole_days

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
SHORTEST_RUN = 2
"""A single letter may be one that the index drops: the s of `Alice's`."""
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

    def index_parts(self) -> list[str]:
        """For each term a part of one word in the index of every text that it matches; none if
        that is not known of a term.

        Of a term the longest run of ASCII letters and digits: the index has such a run whole, but
        for camel case joined to a script without spaces. Of terms without one, their first word.
        """
        parts = []
        for term in (word for word in self.words if len(word) >= SHORTEST_TERM):
            longest = max(re.findall("[a-z0-9]+", term), key=len, default="")
            if not longest:
                longest = next(iter(analysis.list_words(term)), "")
            if len(longest) < SHORTEST_RUN and longest.isascii():
                return []
            # A version is indexed without its v.
            parts.append(longest[1:] if re.match(r"v\d", longest) else longest)
        return parts


def reduce_query(text: str) -> TiersQuery:
    """Drop stop words and single letters; if nothing is left, the whole text counts."""
    words = text.lower().split()
    significant = tuple(word for word in words if word not in STOP_WORDS and len(word) >= 2)
    return TiersQuery(significant or tuple(words))


def build_tiers(task: Task) -> tuple[list[Section], str, str]:
    """The sections, the head and the tail of the pack."""
    query = reduce_query(task.text)
    found = task.search()
    slots = to_array(found.slots)
    columns = found.columns
    fact_slots = slots_of_role("fact", columns, slots)
    summaries = _summaries(task, query, found, slots, fact_slots)
    total = len(summaries.entries)
    sections = [summaries]
    if total < 1 or total < task.constants["enough"]:
        parts = query.index_parts()
        matching = (
            fact_slots[found.mask_with_parts(parts).take(fact_slots)] if parts else fact_slots
        )
        sections.append(_facts(task, query, found, matching))
        total += len(sections[-1].entries)
    if total < task.constants["enough"]:
        notes = slots_of_role("daily", columns, slots)
        ages = days_since(columns.created.take(notes), task.now)
        recent = notes[ages < task.constants["note_days"] + 1]
        sections.append(_notes(task, query, [found.rows[slot] for slot in recent.tolist()]))
    head = f'=== MEMORY CONTEXT ===\n\nQuery: "{task.text}" → synthesized: "{query.text}"\n\n'
    tail = "=== END MEMORY CONTEXT ===\n"
    if not any(section.entries for section in sections):
        tail = f'(No matching memory found for query: "{task.text}")\n\n{tail}'
    return sections, head, tail


def _recency(task: Task, time: datetime | None) -> str:
    return _shown_recency(task, None if time is None else whole_days(time, task.now))


def _shown_recency(task: Task, days: int | None) -> str:
    """As the script prints it; None: the time is not known."""
    if days is None:
        return f"{task.constants.undated_recency:.3f}"
    return f"{halved(days, task.constants.half_life_days):.3f}"


def _slug(memory: Memory) -> str:
    return memory.entity.rpartition("/")[2]


def _summaries(task: Task, query: TiersQuery, found: Found, slots: Longs, facts: Longs) -> Section:
    columns = found.columns
    written = slots_of_role("summary", columns, slots)
    codes = sorted(set(columns.entity.take(written).tolist()))
    types = types_of_entities(columns, facts, codes)
    named = set()
    for code in codes:
        parent, _, slug = columns.entities[code].rpartition("/")
        if any(map(query.matches, (slug, types.get(code, ""), parent))):
            named.add(code)
    of = columns.entity.take(written).tolist()
    chosen = [slot for slot, code in zip(written.tolist(), of, strict=True) if code in named]
    memories = [found.rows[slot] for slot in chosen]
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


def _matching_facts(
    task: Task, query: TiersQuery, found: Found, slots: Longs
) -> Iterator[tuple[str, Memory]]:
    """Recency and fact, by recency, entity and id, as `sort -rn` of the script's whole lines.

    Facts are decoded one after the other, only as many as are asked for.
    """
    groups = group_by_recency(
        found.columns, slots, task.now, lambda days: float(_shown_recency(task, days))
    )
    for recency, group in groups:
        # The ref ends with the id, and is known without decoding the rest.
        for slot in sorted(group, key=found.ref_of, reverse=True):
            memory = found.rows[slot]
            if query.matches(memory.content):
                yield f"{recency:.3f}", memory


def _facts(task: Task, query: TiersQuery, found: Found, slots: Longs) -> Section:
    limit = task.count("facts")
    matching = islice(_matching_facts(task, query, found, slots), limit + MAX_DROPPED)
    entries = [
        _recent_entry(memory, recency, f"- [{_slug(memory)}] ({recency}) {memory.content}\n", _WHY)
        for recency, memory in matching
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
