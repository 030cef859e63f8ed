"""The context that Engram gives a new session: recent sessions, prompts and observations.

As `FormatContext` builds it (internal/store/store.go:1192, called by the SessionStart hook of its
Claude Code plugin): five sessions, ten prompts and twenty observations of the project, newest
first, each text cut by bytes.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Sequence
from typing import Any

from memtui.stores.engram.records import PROMPT, text
from memtui.stores.engram.schema import Schema
from memtui.stores.session_start import LoadedEntry, LoadedText

SESSIONS, PROMPTS, OBSERVATIONS = 5, 10, 20
"""How many of each; `MaxContextResults` is 20 (store.go:167)."""
SHORT, LONG = 200, 300
"""Bytes of a session summary or prompt, and of an observation."""
LOADED = (
    f"{SESSIONS} sessions, {PROMPTS} prompts and {OBSERVATIONS} observations, newest first "
    "(FormatContext, internal/store/store.go:1192)"
)

_SESSIONS = """
SELECT s.id, s.project, s.started_at, s.summary, COUNT(o.id) AS observations
FROM sessions s LEFT JOIN observations o ON o.session_id = s.id AND o.deleted_at IS NULL
WHERE (? = '' OR s.project = ?)
GROUP BY s.id ORDER BY MAX(COALESCE(o.created_at, s.started_at)) DESC LIMIT ?
"""
_PROMPTS = """
SELECT id, content, created_at FROM user_prompts
WHERE (? = '' OR project = ?) ORDER BY created_at DESC LIMIT ?
"""
_OBSERVATIONS = """
SELECT id, type, title, content FROM observations
WHERE deleted_at IS NULL AND (? = '' OR project = ?) ORDER BY created_at DESC LIMIT ?
"""


def session_context(
    connection: sqlite3.Connection, schema: Schema, label: str, file: str, project: str
) -> LoadedText | None:
    """Build the context of a project's session; of all projects if it is empty.

    Returns:
        None if there is nothing to give. Raises sqlite3.Error.
    """

    def rows(statement: str, limit: int) -> Sequence[Any]:
        return connection.execute(statement, (project, project, limit)).fetchall()

    sessions = rows(_SESSIONS, SESSIONS)
    observations = rows(_OBSERVATIONS, OBSERVATIONS)
    prompts = rows(_PROMPTS, PROMPTS) if schema.has("user_prompts") else ()
    if not sessions and not observations and not prompts:
        return None
    parts: list[str] = ["## Memory from Previous Sessions\n\n"]
    entries: list[LoadedEntry] = []

    def add(line: str, id: str) -> None:
        start = sum(map(len, parts))
        parts.append(line)
        entries.append(LoadedEntry(f"{label}:{id}", start, start + len(line) - 1))

    if sessions:
        parts.append("### Recent Sessions\n")
        for own, name, started, summary, count in sessions:
            summary_text = "" if summary is None else f": {_cut(summary, SHORT)}"
            line = f"- **{text(name)}** ({text(started)}){summary_text} [{count} observations]\n"
            add(line, f"sessions/{text(own)}")
        parts.append("\n")
    if prompts:
        parts.append("### Recent User Prompts\n")
        for number, content, created in prompts:
            add(f"- {text(created)}: {_cut(content, SHORT)}\n", f"{PROMPT}{number}")
        parts.append("\n")
    if observations:
        parts.append("### Recent Observations\n")
        for number, kind, title, content in observations:
            line = f"- [{text(kind)}] **{text(title)}**: {_cut(content, LONG)}\n"
            add(line, str(number))
        parts.append("\n")
    name = project or "all projects"
    return LoadedText(name, "".join(parts), file, entries=tuple(entries), note=LOADED)


def _cut(value: object, most: int) -> str:
    """Cut by bytes, as the program does; half a character at the end is shown as U+FFFD."""
    data = text(value).encode("utf-8", "surrogatepass")
    if len(data) <= most:
        return text(value)
    return data[:most].decode("utf-8", "replace") + "..."
