"""Read the schema of an Engram database, and tell whether memtui may write to it.

Columns were added to Engram over time, so an older file may lack any of the later ones: what is
missing is read as NULL. Writing is another matter. A column, trigger or version that memtui has
never seen may have to be kept in step with a change, so its presence makes the store read-only,
with the reason. Sources of the constants: Engram 1.19 (July 2026) and the v3 development line.
"""

from __future__ import annotations

import re
import sqlite3
from collections.abc import Mapping
from typing import Any

from msgspec import Struct

from memtui.stores.sqlite.tables import columns_of, table_names

NEWEST_VERSION = 1
"""Highest `PRAGMA user_version` known: 0 is the July 2026 schema, 1 is v3."""


def column_names(text: str) -> tuple[str, ...]:
    """Names of columns, from one text."""
    return tuple(text.split())


OBSERVATION_COLUMNS = frozenset(
    column_names(
        """id sync_id session_id type title content tool_name project scope topic_key
        normalized_hash revision_count duplicate_count last_seen_at pinned created_at updated_at
        deleted_at review_after expires_at embedding embedding_model embedding_created_at"""
    )
)
VERSION_COLUMNS = frozenset(column_names("id observation_id title content version created_at"))

FTS_TRIGGERS = frozenset({"obs_fts_insert", "obs_fts_delete", "obs_fts_update"})
PROMPT_TRIGGERS = frozenset({"prompt_fts_insert", "prompt_fts_delete", "prompt_fts_update"})
UPDATE_INSERT_TRIGGERS = frozenset({"obs_fts_update_insert", "prompt_fts_update_insert"})
"""In v3 since September 2026 (Engram pull request 924) the `_update` triggers only take the former
text out of the index, and these put the new one in. Soft-deleted rows are not indexed."""
KNOWN_TRIGGERS = FTS_TRIGGERS | PROMPT_TRIGGERS | UPDATE_INSERT_TRIGGERS

_NEEDED = {
    "observations": """id sync_id session_id type title content project scope topic_key
        normalized_hash revision_count duplicate_count created_at updated_at deleted_at""",
    "sessions": "id project directory started_at",
    "sync_mutations": "seq target_key entity entity_key op payload source",
    "sync_state": "target_key lifecycle last_enqueued_seq updated_at",
}
"""Without these a change could not be recorded the way Engram records its own."""

_TABLES = column_names(
    """observations sessions user_prompts memory_relations observation_versions
    observation_save_operations sync_mutations sync_state sync_enrolled_projects
    sync_delete_tombstones sync_delete_tombstone_remote_floors prompt_tombstones"""
)
"""The tables memtui reads or writes; others are left alone."""


class Schema(Struct, frozen=True):
    """The columns that exist, and why nothing may be written ('' if it may)."""

    tables: Mapping[str, frozenset[str]]
    user_version: int
    refusal: str

    def has(self, table: str, column: str = "") -> bool:
        columns = self.tables.get(table)
        return columns is not None and (not column or column in columns)

    def known(self, table: str, row: Mapping[str, Any]) -> dict[str, Any]:
        """The columns of a row that the table has."""
        return {name: value for name, value in row.items() if self.has(table, name)}

    @property
    def keeps_versions(self) -> bool:
        """Whether Engram v3 keeps the former title and content of each observation here."""
        return self.tables.get("observation_versions", frozenset()) >= VERSION_COLUMNS

    @property
    def v3(self) -> bool:
        return self.user_version >= 1 or self.has("observation_versions")


def inspect(connection: sqlite3.Connection) -> Schema:
    """Read the schema of an open database. Raises sqlite3.Error."""
    names = table_names(connection)
    tables = columns_of(connection, filter(names.__contains__, _TABLES))
    version = int(connection.execute("PRAGMA user_version").fetchone()[0])
    newer = f"written by a newer Engram (schema version {version}, memtui knows {NEWEST_VERSION})"
    refusal = (
        newer * (version > NEWEST_VERSION)
        or _describe_older(tables)
        or _describe_unknown(connection, tables)
        or _search_index(connection, names)
    )
    return Schema(tables, version, refusal)


def _describe_older(tables: Mapping[str, frozenset[str]]) -> str:
    for table, needed in _NEEDED.items():
        missing = set(needed.split()) - tables.get(table, frozenset())
        if missing:
            return (
                f"an older Engram schema without {table}.{min(missing)}"
                " (run engram once to bring it up to date)"
            )
    return ""


def _describe_unknown(connection: sqlite3.Connection, tables: Mapping[str, frozenset[str]]) -> str:
    strange = tables["observations"] - OBSERVATION_COLUMNS
    if strange:
        return f"observations has a column memtui does not know: {min(strange)!r}"
    versions = tables.get("observation_versions")
    if versions is not None and versions != VERSION_COLUMNS:
        return "observation_versions has a shape memtui does not know how to keep"
    rows = connection.execute(
        f"SELECT name FROM sqlite_master WHERE type = 'trigger'"
        f" AND tbl_name IN ({', '.join('?' * len(tables))})",
        tuple(tables),
    ).fetchall()
    triggers = {str(name) for (name,) in rows}
    foreign = triggers - KNOWN_TRIGGERS
    if foreign:
        return f"it has a trigger memtui does not know: {min(foreign)!r}"
    computing = _computing_functions(connection, tables)
    if computing:
        return f"a constraint or an index of it computes {min(computing)}(), which Engram's do not"
    missing = FTS_TRIGGERS - triggers
    if missing:
        return (
            f"its full-text index is not kept up to date (trigger {min(missing)} is missing;"
            " run engram once)"
        )
    return ""


_KNOWN_FUNCTIONS = frozenset(column_names("coalesce datetime length lower trim"))
"""The functions in default values, indexes and constraints of Engram's tables."""
_COMMENT = re.compile(r"/\*.*?(?:\*/|\Z)|--[^\n]*", re.DOTALL)
_CALL = re.compile(r"\b(\w++)[\"`\]]?\s*+\(")


def _computing_functions(
    connection: sqlite3.Connection, tables: Mapping[str, frozenset[str]]
) -> set[str]:
    """Other functions there: SQLite would run them for every row that is written."""
    known = {str(row[0]) for row in connection.execute("SELECT name FROM pragma_function_list")}
    rows = connection.execute(
        f"SELECT sql FROM sqlite_master WHERE type IN ('table', 'index')"
        f" AND sql IS NOT NULL AND tbl_name IN ({', '.join('?' * len(tables))})",
        tuple(tables),
    )
    called = {name for (sql,) in rows for name in _CALL.findall(_COMMENT.sub(" ", sql.lower()))}
    return (called & known) - _KNOWN_FUNCTIONS


def _search_index(connection: sqlite3.Connection, names: set[str]) -> str:
    """Why the full-text index cannot be updated: missing, or this SQLite has no FTS5."""
    if "observations_fts" not in names:
        return "its full-text index is missing (run engram once)"
    question = "SELECT rowid FROM observations_fts WHERE observations_fts MATCH 'memtui' LIMIT 1"
    try:
        connection.execute(question).fetchall()
    except sqlite3.Error as error:
        return f"its full-text index cannot be used by this Python's SQLite ({error})"
    return ""
