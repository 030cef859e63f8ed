"""The tables of claude-mem 13.15.3 (src/services/sqlite/SessionStore.ts; types.ts for the columns).

| table | memory |
| --- | --- |
| `observations` | an observation: subtitle, narrative, facts; `text` before schema 8 |
| `session_summaries` | an episode: what was asked, looked at, learned and done |
| `user_prompts` | a note; its project is that of its session |

The entity is the project. `concepts` are tags. Nothing is written: a change of a row must also be
entered into the queues of its synchronisation (`sync_content_outbox`, schema 42 and later), and the
worker keeps a vector index (Chroma) beside the database that only it can update.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from datetime import datetime
from pathlib import Path
from typing import Any

from memtui.model import Memory
from memtui.stores.base import LoadedBlock, LoadedText, StoreView
from memtui.stores.claude_mem import DATABASE, claude_mem_settings
from memtui.stores.format import FormatSupport, TransferSupport
from memtui.stores.sqlite.tables import (
    Table,
    TableStore,
    database_support,
    existing_file,
    holds_tables,
)
from memtui.stores.values import list_of, parse_json, text_of

IMPORTANT = frozenset({"decision", "bugfix"})
"""Types of observations that are of high importance: a rule of memtui's own."""
NEEDED = {
    "observations": "id memory_session_id project type created_at",
    "session_summaries": "id memory_session_id project request learned",
}


def is_claude_mem(file: Path) -> bool:
    """Whether the tables of claude-mem are in this file."""
    return holds_tables(file, NEEDED, by_name=True)


def _observation(row: dict[str, Any]) -> Iterator[dict[str, Any]]:
    """Facts, a JSON list of sentences, as bullets."""
    facts = list_of(parse_json(text_of(row.get("facts"))))
    yield {**row, "facts": "\n".join(f"- {text_of(each)}" for each in facts)}


_COMMON = {"entity": "project", "source": "memory_session_id", "created": "created_at"}

TABLES = (
    Table(
        "observations",
        "observations/",
        "observation",
        {**_COMMON, "title": "title", "type": "type"},
        {"text": "", "subtitle": "", "narrative": "", "facts": ""},
        tags="concepts",
        expand=_observation,
        more=lambda row: {"importance": "high" if row.get("type") in IMPORTANT else "medium"},
    ),
    Table(
        "session_summaries",
        "sessions/",
        "episode",
        {**_COMMON, "title": "request"},
        {
            "investigated": "Investigated",
            "learned": "Learned",
            "completed": "Completed",
            "next_steps": "Next steps",
            "notes": "Notes",
        },
        type="session",
    ),
    Table(
        "user_prompts",
        "prompts/",
        "note",
        {"entity": "project", "source": "content_session_id", "created": "created_at"},
        {"prompt_text": ""},
        type="prompt",
        lookups={
            "project": "(SELECT s.project FROM sdk_sessions s"
            " WHERE s.content_session_id = t.content_session_id LIMIT 1)"
        },
        more=lambda _: {"importance": "low"},
    ),
)


class ClaudeMem(TableStore):
    """One database of claude-mem."""

    format = "claude-mem"
    tables = TABLES
    why_read_only = "only claude-mem's worker can update its indexes and its sync queue"

    def session_start(self, view: StoreView, entity: str, now: datetime) -> Sequence[LoadedText]:  # noqa: ARG002
        """What its SessionStart hook adds to a session in each project."""
        by_project: defaultdict[str, list[Memory]] = defaultdict(list)
        for memory in view.memories(self.label):
            if entity in ("", memory.entity):
                by_project[memory.entity].append(memory)
        settings = claude_mem_settings(self.root)
        found = (project_context(*each, settings) for each in by_project.items())
        return [text for text in found if text is not None]


def open_store(root: Path, label: str) -> ClaudeMem:
    """Open the database in this folder. Raises StoreError when there is none."""
    return ClaudeMem(root, label, existing_file(root / DATABASE))


SUPPORT = FormatSupport(
    open_store,
    transfer=TransferSupport(),
    database=database_support(DATABASE, lambda root: root / DATABASE),
)


# ---- what a session is given ---------------------------------------------------------------------

# The rules are those of claude-mem 13.15.3: `queryObservationsMulti` and `querySummariesMulti` in
# src/services/context/ObservationCompiler.ts, TimelineRenderer.ts, `shouldShowSummary` in
# SummaryRenderer.ts, the defaults in src/shared/SettingsDefaultsManager.ts, the concepts in
# plugin/modes/code.json. An observation is one line; the last ones whole only by
# `CLAUDE_MEM_CONTEXT_FULL_COUNT`. The heading, the legend and the statistics of tokens are left
# out.


CONCEPTS = frozenset(
    [
        "how-it-works",
        "why-it-exists",
        "what-changed",
        "problem-solution",
        "gotcha",
        "pattern",
        "trade-off",
    ]
)
"""An observation that has none of them is left out, in the mode that is the default."""
DEFAULTS = {
    "CLAUDE_MEM_CONTEXT_OBSERVATIONS": 50,
    "CLAUDE_MEM_CONTEXT_SESSION_COUNT": 10,
    "CLAUDE_MEM_CONTEXT_FULL_COUNT": 0,
}
_SHOW_LAST = "CLAUDE_MEM_CONTEXT_SHOW_LAST_SUMMARY"


def project_context(
    project: str, memories: Iterable[Memory], settings: Mapping[str, Any]
) -> LoadedText | None:
    """The block of one project, from its observations and summaries; None if it has none.

    Args:
        project: Its name.
        memories: What is known of it.
        settings: `settings.json` of claude-mem.
    """
    dated = [(one.created, one) for one in memories if one.created is not None]
    dated.sort(key=lambda each: (each[0], each[1].id), reverse=True)
    observed = [each for each in dated if each[1].kind == "observation"]
    observed = [each for each in observed if not CONCEPTS.isdisjoint(each[1].tags)]
    observed = observed[: _number("CLAUDE_MEM_CONTEXT_OBSERVATIONS", settings)]
    sessions = [each for each in dated if each[1].kind == "episode"]
    if not observed and not sessions:
        return None
    whole = observed[: _number("CLAUDE_MEM_CONTEXT_FULL_COUNT", settings)]
    shown = sessions[: _number("CLAUDE_MEM_CONTEXT_SESSION_COUNT", settings)]
    block, day = LoadedBlock(f"# [{project}] recent context\n"), ""
    for time, memory in sorted((*observed, *shown), key=lambda each: (each[0], each[1].id)):
        if day != (day := f"{time.astimezone():%b} {time.astimezone().day}, {time.year}"):
            block.add(f"\n### {day}\n")
        block.add(_line(time, memory), memory.ref)
        block.add("\n")
        if (time, memory) in whole:
            block.add(memory.content, memory.ref)
            block.add("\n\n")
    is_last = sessions and (not observed or sessions[0][0] > observed[0][0])
    if is_last and str(settings.get(_SHOW_LAST, "true")) == "true":
        block.add("\n")
        block.add(sessions[0][1].content, sessions[0][1].ref)
    note = f"{len(observed)} observations and {len(shown)} sessions, the last of the project"
    return block.loaded(project, "", entity=project, is_of_entity=True, note=note)


def _line(time: datetime, memory: Memory) -> str:
    name = memory.id.rpartition("/")[2]
    if memory.kind == "episode":
        return f"S{name} {memory.title or 'Session started'} ({time.astimezone():%b %d, %H:%M})"
    return f"{name} {time.astimezone():%H:%M} {memory.type} {memory.title or 'Untitled'}"


def _number(name: str, settings: Mapping[str, Any]) -> int:
    given = str(settings.get(name, ""))
    return int(given) if given.isdecimal() else DEFAULTS[name]
