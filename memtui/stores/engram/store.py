"""The Engram store: finding the database, and one door to reading, planning and writing it."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Any

from msgspec.structs import replace

from memtui.changes import Act, Change, Edit, Kind, Plan
from memtui.errors import Refused
from memtui.model import Memory
from memtui.stores.accesses import (
    MEMORIES,
    AccessKey,
)
from memtui.stores.base import (
    LoadedText,
    ReadTime,
    Scan,
    StoreView,
    SyncState,
    WriteRecorder,
    Written,
)
from memtui.stores.engram import DATABASE, NAME, database_file, rules
from memtui.stores.engram import records as read
from memtui.stores.engram.importing import convert
from memtui.stores.engram.planning import Planner, refusal, why_beside
from memtui.stores.engram.records import (
    DatabasePlace,
    count_of,
    project_names,
    session_context,
    upkeep_rules,
)
from memtui.stores.engram.row_writing import apply, number_of
from memtui.stores.engram.rows import TABLES, find_row_statuses
from memtui.stores.engram.schema import Schema, inspect
from memtui.stores.engram.sync_log import DEFAULT_TARGET, UPSERT, is_complete
from memtui.stores.format import FormatSupport, TransferSupport
from memtui.stores.plans import SidecarEntry, plan_sidecar_act, planned_before, requested_link
from memtui.stores.sidecar import entry_links
from memtui.stores.sqlite.connection import (
    describe_error,
    read_or_raise,
    run_read,
)
from memtui.stores.sqlite.rows import text
from memtui.stores.sqlite.tables import (
    DatabaseStore,
    columns_of,
    database_support,
    existing_file,
    holds_tables,
)
from memtui.stores.sqlite.writing import WritableDatabase, digest_of
from memtui.stores.values import from_iso
from memtui.text import counted


def is_engram(file: Path) -> bool:
    """Whether the tables of Engram are in this file; an `engram.db` that cannot be read, because
    it is locked or damaged, is still opened, and says why."""
    needed = {"observations": "id session_id type title content", "sessions": "id"}
    return holds_tables(file, needed, by_name=file.name == DATABASE)


def open_store(root: Path, label: str) -> EngramStore:
    """Open the store at a detected root. Raises StoreError when there is no database."""
    return EngramStore(root, label, existing_file(database_file(root)))


@dataclass
class EngramRows(DatabaseStore):
    """The rows of one Engram database, see `records` for what is read."""

    format = NAME
    _schema: Schema | None = None
    faults = (sqlite3.Error, ValueError, KeyError)

    def schema(self) -> Schema:
        """The schema as of the last scan; writing looks again. Raises sqlite3.Error."""
        if self._schema is None:
            self._schema = run_read(self.file, inspect)
        return self._schema

    def scan(self) -> Scan:
        scan = super().scan()
        if scan.unreadable:
            self._schema = None
        return scan

    def marks(self, connection: sqlite3.Connection) -> Mapping[str, str]:
        self._schema = inspect(connection)
        return read.stamps(connection, self._schema)

    def memories(self, connection: sqlite3.Connection, key: str) -> tuple[Memory, ...]:
        schema = self._schema or inspect(connection)
        return read.memories(connection, schema, DatabasePlace(self.label, str(self.file)), key)


class EngramStore(WritableDatabase):
    """One Engram database; the sidecar has the links that are no relations of Engram's, and
    accesses are counted beside the database, which has no column for them."""

    format = NAME
    row_store = EngramRows
    rows: EngramRows

    @property
    def read_only(self) -> str:
        """Why nothing can be written: the schema is unknown, or the files may not be changed."""
        if why := self.explain_closed():
            return why
        try:
            return self.rows.schema().refusal
        except sqlite3.Error as error:
            return f"the database cannot be read ({describe_error(error)})"

    @property
    def editable(self) -> frozenset[str]:
        """The entity can be edited as far as it is a project and a scope."""
        return frozenset({"content", "title", "type", "entity"})

    reads = ReadTime.AT_ONCE  # every call asks the database

    @property
    def relations(self) -> tuple[str, ...]:
        """The relations that a link can have."""
        return rules.RELATIONS

    def access_key(self, memory: Memory) -> AccessKey | None:
        """Observations are counted, prompts and sessions are not."""
        if not memory.id.isdecimal():
            return None
        return AccessKey(MEMORIES, memory.id, read.shard_of_observation(int(memory.id)))

    def plan_accesses(self, memories: Sequence[Memory], now: datetime) -> Sequence[Edit]:
        """The edits that count one access of each observation, also of a database that is only
        read. Raises Refused."""
        keys = list(filter(None, map(self.access_key, memories)))
        return self.accesses.plan(keys, now) if keys else ()

    reads_superseded = True
    """A `supersedes` verdict changes only memory_relations: the old row is hidden nowhere (formats
    page of Engram, 3.4)."""

    def session_start(self, view: StoreView, entity: str, now: datetime) -> Sequence[LoadedText]:  # noqa: ARG002
        """What the SessionStart hook asks for: the context of the project that the entity is in."""
        project, file = entity.partition("/")[0], str(self.file)

        def read(connection: sqlite3.Connection) -> tuple[LoadedText, ...]:
            schema = self.rows.schema()
            names = [project] if project else project_names(connection)
            found = (session_context(connection, schema, self.label, file, name) for name in names)
            return tuple(text for text in found if text is not None)

        try:
            return run_read(self.file, read)
        except (sqlite3.Error, ValueError):
            return ()

    def sync_state(self) -> SyncState | None:
        """As the database notes it; None also where it cannot be read, which `scan` reports."""
        try:
            return run_read(self.file, read_sync_state)
        except (sqlite3.Error, ValueError):
            return None

    def refusal(self, act: Act, memory: Memory | None) -> str:
        """Why this act cannot be done on this memory; empty when it can."""
        return self.read_only or refusal(self.rows.schema(), act, memory)

    def plan(self, change: Change, view: StoreView) -> Plan:
        """Work out the rows that would change. Raises Refused, RefError, StoreError."""
        if blocked := self.read_only:
            raise Refused(blocked, where=str(self.file))
        if change.act in (Act.LINK, Act.UNLINK) and (found := self._plan_beside(change, view)):
            return found

        def work(connection: sqlite3.Connection) -> Plan:
            schema = inspect(connection)
            arguments = (str(self.file), self.label, connection, schema, self.now())
            planner = Planner(*arguments, ahead=self._planned(view))
            return planner.plan(change, view)

        return read_or_raise(self.file, work)

    def _plan_beside(self, change: Change, view: StoreView) -> Plan | None:
        """The plan of a link that Engram cannot keep; None if it can. Raises Refused."""
        memory = view.get(change.ref)
        shard = ""
        if memory.kind == "observation":
            shard = read.shard_of_observation(int(memory.id))
        entry = SidecarEntry(memory, self.root, self.sidecar.current(), shard)
        if change.act is Act.UNLINK:
            sidecar_links = entry_links(entry.sidecar.entry(memory.id))
            is_kept = requested_link(change, memory) in {
                (link.relation, link.target) for link in sidecar_links
            }
            return plan_sidecar_act(change, entry, self.now()) if is_kept else None
        why = why_beside(change, memory, view, self.rows.schema())
        if not why:
            return None
        plan = plan_sidecar_act(change, entry, self.now())
        return replace(plan, reason=plan.reason or f"kept beside the database: {why}")

    def take_rules(self, other: EngramStore) -> None:
        """Use the sidecar of this other store; for a copy of its database."""
        self.sidecar = other.sidecar

    def _planned(self, view: StoreView) -> int:
        """New observations of the same action that are planned and not made yet."""
        edits = (edit for plan in planned_before(view) for edit in plan.edits)
        return sum(
            edit.kind is Kind.ROW
            and (edit.path, edit.table) == (str(self.file), "observations")
            and edit.before is None
            for edit in edits
        )

    def apply(self, edits: Sequence[Edit], recorder: WriteRecorder) -> Written | None:
        """Make the edits, of rows and of the sidecar, all or none.

        Raises Conflict, Refused or SaveError.
        """
        rows = [edit for edit in edits if edit.kind is Kind.ROW]
        beside = [edit for edit in edits if edit.kind is not Kind.ROW]
        if not rows:
            return super().apply(beside, recorder)
        written = apply(self.file, self.root, rows, recorder, self.now, beside)
        refs = {
            f"{self.label}:{number_of(planned)}": f"{self.label}:{number_of(edit)}"
            for planned, edit in zip(rows, written, strict=True)
            if number_of(edit) != number_of(planned)
        }
        new_rows = iter(written)
        every = (next(new_rows) if edit.kind is Kind.ROW else edit for edit in edits)
        return Written(tuple(every), refs)


SUPPORT = FormatSupport(
    open_store,
    transfer=TransferSupport(identity="sync_id", convert=convert),
    upkeep=upkeep_rules(),
    database=database_support(
        DATABASE, database_file, lambda name: digest_of(name, TABLES), find_row_statuses
    ),
)


# ---- the state of its synchronisation ------------------------------------------------------------

# Engram sends the changes of the projects that a person has enrolled to a server, and takes what
# others changed from there. What it did, and what stops it, is in `sync_state`: a row `cloud`,
# and a row `cloud:<project>` for each project. Sources: `ListPendingSyncMutations`,
# `MarkSyncBlocked` and `ApplyPulledMutation` in internal/store/store.go, the reason codes in
# internal/cloud/constants/constants.go (smavodev/engram be4b613).


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
        max((count_of(row.get("last_pulled_seq")) for row in targets), default=0),
    )


def _was_tried(row: Row) -> bool:
    """Whether Engram ever tried to synchronise this target; changes are queued before, too."""
    numbers = ("last_acked_seq", "last_pulled_seq", "consecutive_failures")
    is_waiting = row.get("lifecycle") in ("idle", "pending")
    return not is_waiting or any(count_of(row.get(name)) for name in numbers)


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
