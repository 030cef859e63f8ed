"""Build the JSON payloads of Engram's sync queue.

Sources: syncSessionPayload, syncObservationPayload, syncPromptPayload and syncRelationPayload in
store.go; normalizeMutationPayload in chunkcodec.go. Columns that a schema lacks are left out.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

Row = Mapping[str, Any]

_OBSERVATION_KEYS = (
    ("sync_id", False),
    ("session_id", False),
    ("type", False),
    ("title", False),
    ("content", False),
    ("tool_name", True),
    ("project", True),
    ("scope", False),
    ("topic_key", True),
    ("revision_count", False),
    ("duplicate_count", False),
    ("last_seen_at", True),
    ("created_at", True),
    ("updated_at", True),
)
"""Column and whether it is left out when it is NULL."""
_SESSION_KEYS = (
    ("id", False),
    ("project", False),
    ("ownership_mode", True),
    ("directory", True),
    ("started_at", True),
    ("ended_at", True),
    ("summary", True),
)
_PROMPT_KEYS = (
    ("source_inbox_id", True),
    ("sync_id", False),
    ("session_id", False),
    ("content", False),
    ("project", True),
    ("created_at", True),
)
_RELATION_KEYS = (
    ("sync_id", False),
    ("source_id", False),
    ("target_id", False),
    ("relation", False),
    ("reason", True),
    ("evidence", True),
    ("confidence", True),
    ("judgment_status", False),
    ("marked_by_actor", True),
    ("marked_by_kind", True),
    ("marked_by_model", True),
    ("session_id", True),
)
_REQUIRED = {
    "session": ("id", "directory"),
    "observation": ("sync_id", "session_id", "type", "title", "content", "scope"),
    "prompt": ("sync_id", "session_id", "content"),
    "relation": ("sync_id", "source_id", "target_id", "relation", "judgment_status"),
}
"""Values without which Engram refuses to deliver an upsert."""


def observation(row: Row) -> dict[str, Any]:
    """The upsert of a row of `observations`."""
    return _payload(row, _OBSERVATION_KEYS)


def session(row: Row) -> dict[str, Any]:
    """The upsert of a row of `sessions`."""
    return _payload(row, _SESSION_KEYS)


def prompt(row: Row) -> dict[str, Any]:
    """The upsert of a row of `user_prompts`."""
    return _payload(row, _PROMPT_KEYS)


def relation(row: Row) -> dict[str, Any]:
    """The upsert of a row of `memory_relations`, without its project and times."""
    return _payload(row, _RELATION_KEYS)


def is_complete(entity: str, payload: Mapping[str, Any]) -> bool:
    """Whether Engram would deliver this upsert."""
    return all(not is_blank(payload.get(name)) for name in _REQUIRED[entity])


def is_blank(value: object) -> bool:
    """Whether Engram regards a column as empty."""
    return value is None or not str(value).strip()


def _payload(row: Row, keys: tuple[tuple[str, bool], ...]) -> dict[str, Any]:
    found: dict[str, Any] = {}
    for name, optional in keys:
        value = row.get(name)
        if value is None and optional:
            continue
        found[name] = "" if value is None else value
    return found
