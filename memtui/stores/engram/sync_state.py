"""How Engram's synchronisation gets on, as far as its database says.

Engram sends the changes of the projects that a person has enrolled to a server, and takes what
others changed from there. What it did, and what stops it, is in `sync_state`: a row `cloud`, and a
row `cloud:<project>` for each project. Sources: `ListPendingSyncMutations`, `MarkSyncBlocked` and
`ApplyPulledMutation` in internal/store/store.go, the reason codes in
internal/cloud/constants/constants.go (smavodev/engram be4b613).
"""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Any

from memtui.stores.base import SyncState
from memtui.stores.engram.sync_log import DEFAULT_TARGET, UPSERT, is_complete
from memtui.stores.sqlite.columns import text
from memtui.stores.sqlite.tables import columns_of
from memtui.stores.values import from_iso
from memtui.text import counted

_DEGRADED = "degraded"
_STOPPED = {
    "paused": "paused",
    "auth_required": "refused",
    "policy_forbidden": "refused",
    "blocked_unenrolled": "blocked",
    "non_enrolled_pending_mutations": "blocked",
    "cloud_config_error": "blocked",
}
"""Reason code -> state. Any other is that of a transport that fails and is tried again."""
_STATES = ("paused", "refused", "blocked", "failing")
"""What stops the synchronisation; the first that holds names the state."""
_TABLES = (
    "sync_state",
    "sync_mutations",
    "sync_enrolled_projects",
    "sync_apply_deferred",
    "sync_chunks",
)
MAX_TARGETS = 1_000
MAX_PAYLOADS = 200
"""Queued changes that are looked at for values without which Engram delivers nothing."""

Row = Mapping[str, Any]


def read_sync_state(connection: sqlite3.Connection) -> SyncState | None:
    """The state of the synchronisation; None where this database was never synchronised.

    Raises sqlite3.Error.
    """
    tables = columns_of(connection, _TABLES)
    if "sync_state" not in tables:
        return None
    found = connection.execute("SELECT * FROM sync_state LIMIT ?", (MAX_TARGETS,))
    targets = [
        row
        for row in map(dict, found)
        if text(row.get("target_key")).partition(":")[0] == DEFAULT_TARGET
    ]
    enrolled = "SELECT count(*) FROM sync_enrolled_projects"
    is_enrolled = "sync_enrolled_projects" in tables and connection.execute(enrolled).fetchone()[0]
    if not is_enrolled and not any(map(_was_tried, targets)):
        return None
    stopped = [row for row in targets if row.get("lifecycle") == _DEGRADED]
    states = {_STOPPED.get(text(row.get("reason_code")), "failing") for row in stopped}
    reasons = [_reason(row) for row in stopped]
    queued, refused, lacking = _queued(connection, tables)
    if lacking:
        states.add("blocked")
        reasons.append(f"{counted(lacking, 'queued change')} without what Engram needs to send it")
    if "sync_apply_deferred" in tables:
        given_up = "SELECT count(*) FROM sync_apply_deferred WHERE apply_status = 'dead'"
        refused += connection.execute(given_up).fetchone()[0]
    moving = "queued" if queued else "up to date"
    return SyncState(
        next((state for state in _STATES if state in states), moving),
        queued,
        refused,
        tuple(dict.fromkeys(reasons)),
        _last_pull(connection, tables, targets),
        max((_number(row.get("last_pulled_seq")) for row in targets), default=0),
    )


def _was_tried(row: Row) -> bool:
    """Whether Engram ever tried to synchronise this target; changes are queued before, too."""
    numbers = ("last_acked_seq", "last_pulled_seq", "consecutive_failures")
    is_waiting = row.get("lifecycle") in ("idle", "pending")
    return not is_waiting or any(_number(row.get(name)) for name in numbers)


def _number(value: object) -> int:
    return value if isinstance(value, int) else 0


def _reason(row: Row) -> str:
    """Why this target is stopped, in the words that Engram noted."""
    code = text(row.get("reason_code")).replace("_", " ")
    noted = text(row.get("reason_message")) or text(row.get("last_error")) or code or "no reason"
    project = text(row.get("target_key")).partition(":")[2]
    retry = from_iso(row.get("backoff_until"))
    again = f", tried again at {retry:%Y-%m-%d %H:%M} UTC" if retry else ""
    return f"{project}: {noted}{again}" if project else f"{noted}{again}"


def _queued(connection: sqlite3.Connection, tables: Mapping[str, frozenset[str]]) -> Sequence[int]:
    """How many changes wait to be sent, how many were set aside, and how many of the first that
    wait cannot be sent."""
    columns = tables.get("sync_mutations", frozenset())
    if not columns >= {"target_key", "entity", "op", "payload", "acked_at"}:
        return 0, 0, 0
    ours = f"FROM sync_mutations WHERE target_key = '{DEFAULT_TARGET}' AND acked_at IS NULL"
    if "project" in columns and "sync_enrolled_projects" in tables:
        # Changes of other projects stay here for ever, which is no fault.
        ours += " AND (project = '' OR project IN (SELECT project FROM sync_enrolled_projects))"
    waiting, aside = ours, 0
    if "disposition" in columns:  # v3; `superseded` are changes that later ones made needless
        waiting += " AND disposition = 'pending'"
        other = f"{ours} AND disposition NOT IN ('pending', 'superseded')"
        aside = connection.execute(f"SELECT count(*) {other}").fetchone()[0]
    queued = connection.execute(f"SELECT count(*) {waiting}").fetchone()[0]
    first = f"SELECT entity, op, payload {waiting} ORDER BY seq LIMIT ?"
    lacking = sum(not _can_be_sent(*row) for row in connection.execute(first, (MAX_PAYLOADS,)))
    return queued, aside, lacking


def _can_be_sent(entity: object, op: object, payload: object) -> bool:
    try:
        values = json.loads(text(payload))
        return op != UPSERT or is_complete(text(entity), values)
    except (ValueError, KeyError, AttributeError, RecursionError):
        return False


def _last_pull(
    connection: sqlite3.Connection, tables: Mapping[str, frozenset[str]], targets: Sequence[Row]
) -> datetime | None:
    """When changes were last taken from the server; None if the database does not say so.

    Engram notes no time of a pull: of July it has that of the last round, as long as nothing was
    queued after it, v3 that of the last success; both that of each chunk that was taken.
    """
    times = [from_iso(row.get("last_success_at")) for row in targets]
    times += [
        from_iso(row.get("updated_at")) for row in targets if row.get("lifecycle") == "healthy"
    ]
    if "sync_chunks" in tables:
        rows = connection.execute(
            "SELECT max(imported_at) FROM sync_chunks WHERE target_key LIKE ?",
            (f"{DEFAULT_TARGET}%",),
        )
        times += [from_iso(time) for (time,) in rows]
    return max((time for time in times if time is not None), default=None)
