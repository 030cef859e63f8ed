"""The recipe `tiers`: agent-memory's cascading retrieval, over any store.

As pipelines/retrieve-memory.sh does it: summaries of the entities that the query names, then, if
that is not enough, facts that hold one of its words, then lines of the last days' notes. Words
match as parts of words; the order is recency alone. On purpose different from the script: letters
beyond ASCII are folded to lower case too, `|` and backslashes stay as they are, entities come from
the memories instead of index.json, and nothing is written to access.json unless it is asked for.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from itertools import groupby, islice

from memtui.context.entries import MAX_DROPPED, over_limit
from memtui.context.pack import COUNT, PackEntry, Section
from memtui.context.roles import slots_of_role
from memtui.context.source import Found, Task
from memtui.model import Memory
from memtui.search.columns import Columns
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


@dataclass(frozen=True, slots=True)
class TiersQuery:
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

    def record_words(self) -> list[bytes]:
        """Words of which the ASCII JSON record of every text that matches has one; none: unknown.

        Of each term its longest run of letters that JSON writes as they are; and the escapes of the
        two letters whose lower case is an ASCII one (the Kelvin sign, I with a dot).
        """
        terms = [word for word in self.words if len(word) >= SHORTEST_TERM]
        runs = [max(re.findall("[a-z0-9]+", word), key=len, default="") for word in terms]
        if not all(runs):
            return []
        return [*(run.encode() for run in runs), rb"\u212a", rb"\u0130"]


def reduce_query(text: str) -> TiersQuery:
    """Drop stop words and single letters; if nothing is left, the whole text counts."""
    words = text.lower().split()
    kept = tuple(word for word in words if word not in STOP_WORDS and len(word) >= 2)
    return TiersQuery(kept or tuple(words))


def build_tiers(task: Task) -> tuple[list[Section], str, str]:
    """The sections, the head and the tail of the pack."""
    query = reduce_query(task.text)
    found = task.search()
    slots = list(found.slots)
    rows, columns = found.rows, found.columns
    fact_slots = slots_of_role("fact", columns, slots)
    written = [rows[slot] for slot in slots_of_role("summary", columns, slots)]
    summaries = _summaries(task, query, written, _entity_types(columns, fact_slots))
    total = len(summaries.entries)
    sections = [summaries]
    if total < 1 or total < task.constants["enough"]:
        words = query.record_words()
        near = found.slots_with_any(words) if words else set(slots)
        sections.append(_facts(task, query, found, [slot for slot in fact_slots if slot in near]))
        total += len(sections[-1].entries)
    if total < task.constants["enough"]:
        notes = [rows[slot] for slot in slots_of_role("daily", columns, slots)]
        sections.append(_notes(task, query, notes))
    head = f'=== MEMORY CONTEXT ===\n\nQuery: "{task.text}" → synthesized: "{query.text}"\n\n'
    tail = "=== END MEMORY CONTEXT ===\n"
    if not any(section.entries for section in sections):
        tail = f'(No matching memory found for query: "{task.text}")\n\n{tail}'
    return sections, head, tail


def _recency(task: Task, when: datetime | None) -> str:
    if when is None:
        return f"{task.constants.undated_recency:.3f}"
    return f"{halved(whole_days(when, task.now), task.constants.half_life_days):.3f}"


def _slug(memory: Memory) -> str:
    return memory.entity.rpartition("/")[2]


def _entity_types(columns: Columns, facts: list[int]) -> dict[str, str]:
    """Entity -> the type that all its facts share, as in agent-memory; else empty."""
    of_entity, of_type = columns.entity.tolist(), columns.type.tolist()
    types: dict[str, str] = {}
    for entity, type in {(of_entity[slot], of_type[slot]) for slot in facts}:
        name, shared = columns.entities[entity], columns.types[type]
        if types.setdefault(name, shared) != shared:
            types[name] = ""
    return types


def _summaries(
    task: Task, query: TiersQuery, summaries: Sequence[Memory], types: Mapping[str, str]
) -> Section:
    scored: list[tuple[str, str, Memory]] = []
    for memory in summaries:
        parent = memory.entity.rpartition("/")[0]
        if any(map(query.matches, (_slug(memory), types.get(memory.entity, ""), parent))):
            scored.append((_recency(task, memory.when), _slug(memory), memory))
    scored.sort(key=lambda one: one[:2], reverse=True)
    entries = [
        PackEntry(
            memory.ref,
            f"### {slug} (recency: {recency})\n{_first_lines(memory.content, task)}\n\n",
            float(recency),
            (ScorePart("recency", float(recency)),),
            "its entity or the entity's type is named in the query",
        )
        for recency, slug, memory in scored
    ]
    limit = task.constants["summaries"]
    return Section(
        "Entities",
        tuple(entries[:limit]),
        f"## Entities ({COUNT} matched)\n\n",
        "\n",
        f"summaries of up to {limit} entities that the query names, most recent first",
        is_counted=True,
        dropped=over_limit("Entities", entries[limit : limit + MAX_DROPPED], limit),
    )


def _first_lines(text: str, task: Task) -> str:
    return "\n".join(text.split("\n")[: task.constants["summary_lines"]]).rstrip("\n")


def _matching_facts(
    task: Task, query: TiersQuery, found: Found, slots: list[int]
) -> Iterator[tuple[str, Memory]]:
    """Recency and fact, by recency, entity and id, as `sort -rn` of the script's whole lines.

    Facts are decoded one entity of one day after the other, only as many as are asked for.
    """
    columns = found.columns
    slugs = [name.rpartition("/")[2] for name in columns.entities]
    entity = columns.entity.tolist()
    # None for unknown times: nan is no key that is found again.
    created = [None if math.isnan(time) else time for time in columns.created.tolist()]
    recency = {
        time: _recency(task, None if time is None else datetime.fromtimestamp(time, UTC))
        for time in {created[slot] for slot in slots}
    }
    keyed = sorted(((recency[created[s]], slugs[entity[s]], s) for s in slots), reverse=True)
    for (shown, _), group in groupby(keyed, key=lambda one: one[:2]):
        facts = [found.rows[slot] for _, _, slot in group]
        for memory in sorted(facts, key=lambda fact: fact.id, reverse=True):
            if query.matches(memory.content):
                yield shown, memory


def _facts(task: Task, query: TiersQuery, found: Found, slots: list[int]) -> Section:
    limit = task.count("facts")
    entries = [
        PackEntry(
            memory.ref,
            f"- [{_slug(memory)}] ({recency}) {memory.content}\n",
            float(recency),
            (ScorePart("recency", float(recency)),),
            "it has a word of the query",
        )
        for recency, memory in islice(
            _matching_facts(task, query, found, slots), limit + MAX_DROPPED
        )
    ]
    return Section(
        "Facts",
        tuple(entries[:limit]),
        f"## Facts ({COUNT} matched)\n\n",
        "\n",
        f"up to {limit} active facts with a word of the query, most recent first",
        is_counted=True,
        dropped=over_limit("Facts", entries[limit:], limit),
    )


def _notes(task: Task, query: TiersQuery, notes: Sequence[Memory]) -> Section:
    limit, days = task.constants["note_lines"], task.constants["note_days"]
    entries = list(_note_lines(task, query, notes, days))
    return Section(
        "Daily Notes",
        tuple(entries[:limit]),
        f"## Daily Notes ({COUNT} snippets)\n\n",
        "\n",
        f"up to {limit} lines with a word of the query from the notes of the last {days} days",
        is_counted=True,
        dropped=over_limit("Daily Notes", entries[limit : limit + MAX_DROPPED], limit),
    )


def _note_lines(
    task: Task, query: TiersQuery, notes: Sequence[Memory], days: int
) -> Iterator[PackEntry]:
    today = task.now.date()
    dated = [
        (note.created.date(), note)
        for note in notes
        if note.created and today - timedelta(days=days) < note.created.date() <= today
    ]
    for date, note in sorted(dated, key=lambda one: one[0], reverse=True):
        recency = _recency(task, note.created)
        for line in note.content.split("\n"):
            if line and not line.startswith("#") and query.matches(line):
                parts = (ScorePart("recency", float(recency)),)
                text = f"- [{date}] ({recency}) {line}\n"
                yield PackEntry(note.ref, text, float(recency), parts, "it has a word of the query")
