"""The signs that stand for importance, status and marks, so that colour never stands alone."""

from __future__ import annotations

IMPORTANCE = {"high": "◆", "medium": "◇", "low": "·"}
STATUS = {"active": " ", "proposed": "?", "superseded": "↻", "retired": "–", "deleted": "×"}
STATUS_SHOWN = {**STATUS, "active": "●"}
"""As in legends and counts, where a blank would say nothing."""
MARKED = "✓"
FRESH = "•"
PINNED = "★"
QUIET = frozenset({"superseded", "retired", "deleted"})
"""Statuses drawn faintly: they are not what agents are told."""
