"""How memories become entries of a pack: which part each plays, and the line it is written as.

A recipe of one program speaks of goals, episodes or blocking facts. In every other store the part
is played by the kinds and types of `ROLES`; `docs/context.md` shows the same table.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence

from msgspec import Struct
from msgspec.structs import replace

from memtui.context.pack import COUNT_PLACEHOLDER, DroppedEntry, PackEntry, Section
from memtui.context.task import Task
from memtui.errors import RefError
from memtui.model import Memory
from memtui.search.array_types import Longs
from memtui.search.columns import Columns
from memtui.search.pack_ranking import RankedSlot, slots_of_types

_UUID = re.compile(r"([0-9a-f]{8})-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}", re.IGNORECASE)
MAX_DROPPED = 10
"""Candidates over a limit that are named."""
ENTRY_CHARACTERS = 400
"""Longest text of an entry that is not paged in; memtui's own."""


def cite(memory: Memory) -> str:
    """The id by which `memtui show` finds the memory: the first part of a uuid, else the whole."""
    found = _UUID.fullmatch(memory.id)
    return found[1] if found else memory.id


def one_line_text(memory: Memory) -> str:
    """Title and content on one line, cut after `ENTRY_CHARACTERS`."""
    body = memory.content.lstrip("# ")  # a note's heading is its title
    parts = [memory.title, memory.content]
    if memory.title and " ".join(body.split()).startswith(memory.title):
        parts = [body]
    text = ": ".join(" ".join(part.split()) for part in parts if part.strip())
    return text if len(text) <= ENTRY_CHARACTERS else f"{text[:ENTRY_CHARACTERS].rstrip()}..."


def is_paged_in(memory: Memory, task: Task) -> bool:
    """Whether the whole text of this memory was asked for, by ref, id or cited id."""
    return not task.page_in.isdisjoint((memory.ref, memory.id, cite(memory)))


def cited_line(memory: Memory, task: Task) -> str:
    """`- [id] text (date)`; of a memory that is paged in the whole text, indented.

    The time of a file is no date: a checkout makes it new.
    """
    time = None if memory.is_dated_by_file else memory.when
    day = f" ({time:%Y-%m-%d})" if time else ""
    if is_paged_in(memory, task):
        head = " ".join(memory.title.split())
        body = "\n".join(f"  {line}" for line in memory.content.split("\n"))
        return f"- [{cite(memory)}]{f' {head}' if head else ''}{day}\n{body}\n"
    return f"- [{cite(memory)}] {one_line_text(memory)}{day}\n"


def explain_parts(ranked: RankedSlot) -> str:
    """`score 0.82: text 0.50 + recency 0.32`."""
    shown = " + ".join(f"{score_part.name} {score_part.value:.2f}" for score_part in ranked.parts)
    return f"score {ranked.score:.2f}{f': {shown}' if shown else ''}"


def ranked_entry(hit: RankedSlot, memory: Memory, task: Task) -> PackEntry:
    """The entry of a ranked memory, with the parts of its score."""
    return PackEntry(memory.ref, cited_line(memory, task), hit.score, hit.parts, explain_parts(hit))


def limited_section(
    title: str, entries: Sequence[PackEntry], limit: int, rule: str, heading: str = ""
) -> Section:
    """A section of the first entries; those over the limit are named as dropped.

    Args:
        title: Of the section.
        entries: In order.
        limit: Most entries.
        rule: What the section takes.
        heading: Text before the entries; the title unless given.
    """
    return Section(
        title,
        tuple(entries[:limit]),
        heading or f"## {' '.join(title.split())}\n\n",
        "\n",
        rule,
        is_counted=COUNT_PLACEHOLDER in heading,
        dropped=over_limit(title, entries[limit : limit + MAX_DROPPED], limit),
    )


def over_limit(title: str, entries: Iterable[PackEntry], limit: int) -> tuple[DroppedEntry, ...]:
    """The entries behind a limit, as dropped."""
    return tuple(
        DroppedEntry(title, entry, f"number {limit + at} of at most {limit}")
        for at, entry in enumerate(entries, 1)
    )


def build_paged_in(task: Task, sections: Sequence[Section]) -> tuple[list[Section], list[str]]:
    """The memories that were asked for by id and whose whole text no section has.

    Returns:
        A section, or none; and what of the ids could not be found.
    """
    entries: list[PackEntry] = []
    notes: list[str] = []
    present = [entry for section in sections for entry in section.entries]
    for id in sorted(task.page_in):
        try:
            memory = task.source.resolve(id)
        except RefError as error:
            notes.append(str(error))
            continue
        body = " ".join(memory.content.split())
        own = (entry.text for entry in present if entry.ref == memory.ref)
        if not any(body in " ".join(text.split()) for text in own):
            own_task = replace(task, page_in=task.page_in | {memory.ref})
            line = cited_line(memory, own_task)
            entries.append(PackEntry(memory.ref, line, why="asked for by its id"))
    if not entries:
        return [], notes
    # A line of it may stand above too, so it is not taken for a repeat.
    rule = "whole texts that were asked for"
    section = Section("Paged in", tuple(entries), "\n## Paged in\n\n", "", rule, is_exact=True)
    return [section], notes


class Role(Struct, frozen=True):
    """The kinds and types that play a part; a memory needs one of them."""

    kinds: frozenset[str] = frozenset()
    types: frozenset[str] = frozenset()
    without: frozenset[str] = frozenset()
    """Types that do not, although their kind does."""


_GOALS = frozenset({"goal", "goals", "objective", "okr", "task"})
_POLICIES = frozenset(
    {"policy", "rule", "convention", "preference", "value", "feedback", "identity", "lesson"}
)
_PATTERNS = frozenset({"pattern", "learning", "architecture"})
_EPISODES = frozenset({"session-summary", "session_summary", "session", "daily", "journal"})
_DECISIONS = frozenset({"decision", "decisions", "architecture", "adr"})
_ERRORS = frozenset({"error-resolution", "bugfix", "bug", "incident", "blocker"})
_PROSE = frozenset({"prompt", "summary", "tacit"})

ROLES = {
    "goal": Role(types=_GOALS),
    "policy": Role(types=_POLICIES),
    "schema": Role(frozenset({"schema"}), _GOALS | _POLICIES | _PATTERNS),
    "episode": Role(frozenset({"episode"}), _EPISODES),
    "decision": Role(types=_DECISIONS),
    "error": Role(types=_ERRORS),
    "fact": Role(
        frozenset({"fact", "event", "observation", "document"}),
        without=_GOALS | _POLICIES | _EPISODES | _PROSE,
    ),
    "summary": Role(types=frozenset({"summary"})),
    "daily": Role(types=frozenset({"daily", "journal"})),
}
"""Part -> who plays it."""

BLOCKING = "blocked blocking blocker blocks waiting waits stuck depends missing failing cannot"
OUTCOMES = "result resulted outcome led caused fixed resolved worked failed regression reverted"
DECIDED = "decided decision chose chosen choice picked"
"""Words that mark a fact as blocking or as the outcome of a decision, and an episode as one in
which something was decided; in any form of them; memtui's own."""

_VALUE = re.compile(
    r"^(.*?\S)(?:\s*+[:=])?\s++(-?\d++(?:[.,]\d++)?)\s*+([%A-Za-z/]{0,8})\s*+\.?$", re.DOTALL
)


def slots_of_role(name: str, columns: Columns, slots: Sequence[int] | Longs) -> Longs:
    """Return the slots whose memories play this part, in their order."""
    role = ROLES[name]
    return slots_of_types(columns, slots, role.kinds, role.types, role.without)


class Measurement(Struct, frozen=True):
    """A fact that ends in a number: what is measured, and its value."""

    subject: str
    value: float
    unit: str


def read_measurement(memory: Memory) -> Measurement | None:
    """The measurement that a fact states at its end, such as `user sleep_hours 6.2`."""
    if len(memory.content) > 200:
        return None
    found = _VALUE.match(memory.content)
    if found is None:
        return None
    subject = " ".join(found[1].casefold().split())
    return Measurement(subject, float(found[2].replace(",", ".")), found[3])
