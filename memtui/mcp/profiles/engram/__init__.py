"""Engram's tools. Source: `internal/mcp/mcp.go`, commit be4b613 of July 2026.

Engram numbers its observations. A memory of another store is numbered by its ref, so it has the
same number in every session. Prompts and sessions are no memory: memtui writes none, and the tools
for them fail as Engram's do when its database cannot be written. The project is found as Engram
finds it, but a single repository below the folder is not looked for. Its server was run beside
these tools over copies of one database: the rows that both wrote were the same but for the session
and the name of the tool.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from memtui.mcp.profiles.engram import changing, reading
from memtui.mcp.tools import Tool

_READS: Sequence[tuple[Callable[..., Any], str]] = (
    (reading.mem_search, "Search Memory"),
    (reading.mem_context, "Get Memory Context"),
    (reading.mem_timeline, "Memory Timeline"),
    (reading.mem_get_observation, "Get Observation"),
    (reading.mem_stats, "Memory Stats"),
    (reading.mem_current_project, "Detect Current Project"),
    (reading.mem_suggest_topic_key, "Suggest Topic Key"),
    (reading.mem_doctor, "Run Engram Doctor"),
)
_STORES: Sequence[tuple[Callable[..., Any], str, str]] = (
    (changing.mem_save, "Save Memory", ""),
    (changing.mem_update, "Update Memory", ""),
    (changing.mem_review, "Review Memories", ""),
    (changing.mem_judge, "Judge Memory Conflict", ""),
    (changing.mem_save_prompt, "Save User Prompt", ""),
    (changing.mem_session_summary, "Save Session Summary", ""),
    (changing.mem_session_start, "Start Session", "repeatable"),
    (changing.mem_session_end, "End Session", "repeatable"),
    (changing.mem_capture_passive, "Capture Learnings", "repeatable"),
    (changing.mem_compare, "Compare Memory Pair (Persist Semantic Verdict)", "repeatable"),
    (changing.mem_pin, "Pin Memory", "repeatable"),
    (changing.mem_unpin, "Unpin Memory", "repeatable"),
    (changing.mem_delete, "Delete Memory", "replaces"),
    (changing.mem_merge_projects, "Merge Projects", "replaces repeatable"),
)
TOOLS = (
    *(Tool(function, title, reads=True) for function, title in _READS),
    *(
        Tool(
            function,
            title,
            writes=True,
            replaces="replaces" in hints,
            repeatable="repeatable" in hints,
        )
        for function, title, hints in _STORES
    ),
)
