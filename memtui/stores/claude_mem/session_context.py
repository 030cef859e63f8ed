"""What claude-mem's hook puts before a session of Claude Code: what it last saw in the project.

The rules are those of claude-mem 13.15.3: `queryObservationsMulti` and `querySummariesMulti` in
src/services/context/ObservationCompiler.ts, TimelineRenderer.ts, `shouldShowSummary` in
SummaryRenderer.ts, the defaults in src/shared/SettingsDefaultsManager.ts, the concepts in
plugin/modes/code.json. An observation is one line; the last ones whole only by
`CLAUDE_MEM_CONTEXT_FULL_COUNT`. The heading, the legend and the statistics of tokens are left out.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from datetime import datetime
from typing import Any

from memtui.model import Memory
from memtui.stores.base import LoadedBlock, LoadedText

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
