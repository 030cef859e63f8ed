"""The journal: records actions before they are made, and undoes, redoes, recovers and erases them.

One row of `actions` is one change a person made, one row of `edits` is one edit of it; one row of
`writes` is one write of a file or table row. All are on disk before the file is touched. Several
processes may use it at once.
"""

from __future__ import annotations

import functools
import sqlite3
import time
from collections.abc import Callable, Collection, Hashable, Iterable, Sequence
from contextlib import suppress
from datetime import UTC, datetime
from pathlib import Path
from types import TracebackType
from typing import Any, TypeVar

from msgspec.structs import replace

from memtui.changes import Edit, Kind, StoreEdits, invert_edits
from memtui.errors import Refused, SaveError
from memtui.files import backups
from memtui.files.reading import real_path
from memtui.files.sidecar_lines import sidecar_paths
from memtui.files.staging import clear_leftovers
from memtui.journal import edit_rows
from memtui.journal.action import (
    ActionState,
    ActionStep,
    Author,
    EditHistory,
    JournalAction,
    StoredEdit,
    Write,
    edit_histories,
    pack,
)
from memtui.journal.database import (
    JournalDatabase,
    JournalSetAside,
    record_missing_folders,
    record_places,
    refuse_moved_stores,
    remove_folders,
)
from memtui.journal.edit_rows import Damaged, unpack
from memtui.journal.recovery import RowDigest, WriteOutcome, clean_up, group_by_save, recover_save
from memtui.progress import Progress, Report, silent

MAX_ACTIONS = 10_000
"""Older actions are deleted at start."""

MAX_BYTES = 64 << 20
"""Bytes of the journal above which its oldest actions are deleted. It holds the newest text of each
file that was changed, compressed, and of every change the difference: 10,000 changes of a word need
a tenth of it."""

MAX_RECHECKED = 20
"""Newest actions whose files are checked at start for what a power cut has brought back."""

LARGEST_JUMP = 2 * 24 * 3600
"""Seconds by which a clock may have been ahead and its times still count for the order."""

_SELECT = (
    "SELECT id, title, time, changed, state, stores, note, client, client_version, session"
    " FROM actions LEFT JOIN authors ON action = id"
)
_PARTLY = "only a part of it reached the disk; undo takes that part back"
_PARTLY_BACK = "only a part of it was taken back; undo takes back the rest"

_Result = TypeVar("_Result")


def as_last_made(steps: Sequence[ActionStep]) -> list[ActionStep]:
    """Return the edits that are in effect, and those that are undone as inverted ones."""
    return [
        replace(step, is_inverted=True) if step.action.state is ActionState.UNDONE else step
        for step in steps
        if step.stored.in_effect or step.action.state is not ActionState.DONE
    ]


class Recording:
    """Records one step of an action: doing, undoing or redoing it.

        with journal.begin("Retire 3 memories", parts) as recording:
            for part in parts:
                store_of(part).apply(part.edits, recording)

    When the block ends without an exception, the step has succeeded; else it is recovered.
    """

    def __init__(self, journal: Journal, database: JournalDatabase, action: int) -> None:
        self._journal = journal
        self._database = database
        self._before: dict[str, str] = {}
        self._times: dict[tuple[str, str], int] = {}
        """Path and digest of a file -> its time, not yet written."""
        self._report: Report = silent
        self._written: set[str] = set()
        self._unmarked: list[str] = []
        """Paths that are written, and whose rows do not say so yet."""
        self._total = 0
        self.action = action
        """Id of the action."""
        self.agent = ""

    @property
    def state(self) -> Path:
        return self._journal.state

    def report_to(self, report: Report, parts: Sequence[StoreEdits]) -> None:
        """Report each file that is written, of those that these edits name."""
        self._report = report
        self._total = len({edit.path for made in parts for edit in made.edits})

    def intend(self, path: str, pre: str, post: str) -> None:
        self._before[path] = pre
        with self._database.writing() as db:
            self._mark_done(db)
            db.execute(
                "INSERT INTO writes (action, path, pre, post) VALUES (?, ?, ?, ?)",
                (self.action, pack(path), pre, post),
            )

    def done(self, path: str) -> None:
        # Its row is marked with the next write or at the end; until then recovery compares the
        # content.
        self._unmarked.append(path)
        self._written.add(path)
        if self._total > 1:
            self._report(Progress("saving", min(len(self._written), self._total), self._total))

    def failed(self, path: str) -> None:
        with suppress(SaveError), self._database.writing() as db:
            self._mark_done(db)
            sql = "DELETE FROM writes WHERE action = ? AND path = ? AND NOT done"
            db.execute(sql, (self.action, pack(path)))

    def note_time(self, path: str, digest: str, time: int) -> None:
        self._times[path, digest] = time

    def noted_time(self, path: str, digest: str) -> int | None:
        return self._times.get((path, digest)) or self._journal.time_of(self.action, path, digest)

    def _mark_done(self, db: sqlite3.Connection) -> None:
        """Mark what is written, and keep the times of files that were noted."""
        sql = "UPDATE writes SET done = 1 WHERE action = ? AND path = ?"
        db.executemany(sql, [(self.action, pack(path)) for path in self._unmarked])
        self._unmarked.clear()
        sql = "INSERT OR REPLACE INTO times (action, path, digest, time) VALUES (?, ?, ?, ?)"
        times = self._times.items()
        db.executemany(sql, [(self.action, pack(p), digest, time) for (p, digest), time in times])

    def made(self, parts: Sequence[StoreEdits]) -> None:
        """Replace the edits by those the stores made, where they differ."""
        with suppress(SaveError), self._database.writing() as db:
            edit_rows.insert_edits(db, self.action, parts)

    def __enter__(self) -> Recording:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        with suppress(SaveError):
            if kind is None:
                self._journal.succeeded(self.action, self._mark_done)
            else:
                with suppress(SaveError), self._database.writing() as db:
                    self._mark_done(db)
                # A database whose store raised has rolled back, so its rows are as before.
                self._journal.judge(self.action, self._before.get)


class Journal:
    """The journal of a state folder. Its file is created by the first action."""

    def __init__(self, state: Path, *, renames_damaged: bool = True) -> None:
        self.state = state
        self._database = JournalDatabase(state, renames_damaged=renames_damaged)

    def close(self) -> None:
        """Close the file; it is opened again when needed."""
        self._database.close()

    @property
    def fault(self) -> str:
        """What became of a damaged file, as one line for the person; empty where it is whole."""
        return self._database.fault

    # ---- doing, undoing, redoing ------------------------------------------------------------

    def begin(
        self, title: str, parts: Sequence[StoreEdits], author: Author | None = None
    ) -> Recording:
        """Record an action that a person or this agent is about to make. Raises SaveError."""
        try:
            return self._begin(title, parts, author)
        except JournalSetAside:
            return self._begin(title, parts, author)

    def _begin(self, title: str, parts: Sequence[StoreEdits], author: Author | None) -> Recording:
        with self._database.writing() as db:
            cursor = db.execute(
                "INSERT INTO actions (title, time, changed, state, former, wanted, owner, stores)"
                " VALUES (?, ?, ?, 'intent', 'void', 'done', ?, ?)",
                (pack(title), time.time(), _next_time(db), self._database.owner,
                 pack([made.store for made in parts])),
            )  # fmt: skip
            number = int(cursor.lastrowid or 0)
            if author is not None:
                texts = map(pack, (author.client, author.version, author.session))
                db.execute("INSERT INTO authors VALUES (?, ?, ?, ?)", (number, *texts))
            edit_rows.insert_edits(db, number, parts)
            record_places(db, number, (made.store for made in parts))
            record_missing_folders(db, number, _paths(parts))
            return Recording(self, self._database, number)

    def undoing(self, action: int) -> Recording:
        """Return the recorder for undoing an action, by the edits of `JournalAction.inverted`.

        Raises Refused when another memtui has undone it already.
        """
        return self._step(action, (ActionState.DONE, ActionState.UNSURE), ActionState.UNDONE)

    def redoing(self, action: int) -> Recording:
        """Return the recorder for redoing an action, by the edits of `JournalAction.parts`."""
        return self._step(action, (ActionState.UNDONE,), ActionState.DONE)

    def _step(
        self, action: int, allowed: tuple[ActionState, ...], new_state: ActionState
    ) -> Recording:
        with self._database.writing() as db:
            row = db.execute("SELECT state FROM actions WHERE id = ?", (action,)).fetchone()
            if row is None or row[0] not in allowed:
                raise Refused("the action is not in a state to do this", do="look at the log")
            refuse_moved_stores(db, action)
            for table in ("writes", "declined"):
                db.execute(f"DELETE FROM {table} WHERE action = ?", (action,))
            db.execute(
                "UPDATE actions SET state = 'intent', former = state, wanted = ?, owner = ?,"
                " changed = ? WHERE id = ?",
                (new_state, self._database.owner, _next_time(db), action),
            )
            if new_state is ActionState.DONE:
                record_missing_folders(db, action, _paths(_parts(db, action)))
        return Recording(self, self._database, action)

    def succeeded(self, action: int, mark: Callable[[sqlite3.Connection], None]) -> None:
        """Record that every edit of the current step is on disk; `mark` the files that are."""
        with self._database.writing() as db:
            mark(db)
            sql = "SELECT wanted FROM actions WHERE id = ?"
            (requested,) = db.execute(sql, (action,)).fetchone()
            sql = "UPDATE edits SET in_effect = ? WHERE action = ?"
            db.execute(sql, (requested == ActionState.DONE, action))
            self._settle(db, action, ActionState(requested), "")
        self._make_room()

    def judge(self, action: int, row_digest: RowDigest = lambda _: None) -> ActionState:
        """Recover an interrupted step from the content of its files; returns the action's state."""
        rows = self._rows("SELECT former, wanted, state FROM actions WHERE id = ?", (action,))
        if not rows or rows[0][2] != ActionState.INTENT:
            return ActionState(rows[0][2]) if rows else ActionState.VOID
        former, requested = ActionState(rows[0][0]), ActionState(rows[0][1])
        is_undo = requested is ActionState.UNDONE
        edits: dict[int, Edit] = {}
        for stored in reversed(self._load(action)) if is_undo else self._load(action):
            if not is_undo:
                edits[stored.position] = stored.edit
            elif stored.in_effect:
                edits.update((stored.position, edit) for edit in invert_edits((stored.edit,)))
        for edit in edits.values():
            if edit.kind is Kind.FOLDER:
                clear_leftovers(Path(edit.path))  # first: it may complete the folder
        writes = self.writes(action)
        saves = [
            (save, recover_save(save, writes, self.state, row_digest))
            for save in group_by_save(edits)
        ]
        outcomes = {verdict.outcome for _, verdict in saves}
        note: str | None = "; ".join(dict.fromkeys(found.note for _, found in saves if found.note))
        state = requested
        if WriteOutcome.UNSURE in outcomes:
            state = ActionState.UNSURE
            note = note or "it was cut short, and a file has been changed since"
        elif outcomes <= {WriteOutcome.NOT_WRITTEN}:
            state, note = former, None
        elif WriteOutcome.NOT_WRITTEN in outcomes:
            state, note = ActionState.DONE, _PARTLY_BACK if is_undo else _PARTLY
        unmade = WriteOutcome.WRITTEN if is_undo else WriteOutcome.NOT_WRITTEN
        sql = "UPDATE edits SET in_effect = ? WHERE action = ? AND position = ?"
        with self._database.writing() as db:
            for save, verdict in saves:
                in_effect = verdict.outcome is not unmade
                db.executemany(sql, [(in_effect, action, at) for at in save.positions])
            self._settle(db, action, state, note)
        return state

    def _settle(
        self, db: sqlite3.Connection, action: int, state: ActionState, note: str | None
    ) -> None:
        """Set the state after a step; without a note the action keeps the one that it has."""
        if state is ActionState.DONE:
            # A new action ends what could be redone; a failed one does not.
            new = "EXISTS (SELECT 1 FROM actions WHERE id = ? AND former = 'void')"
            db.execute(f"UPDATE actions SET redo = 0 WHERE redo AND {new}", (action,))
        last = "(SELECT max(redo) + 1 FROM actions)"  # a redo that failed changes no order
        redo = f"iif(former = 'undone', redo, {last})" if state is ActionState.UNDONE else "0"
        db.execute(
            f"UPDATE actions SET state = ?, note = coalesce(?, note), changed = ?, redo = {redo}"
            " WHERE id = ? AND state = 'intent'",
            (state, None if note is None else pack(note), _next_time(db), action),
        )
        if state in (ActionState.UNDONE, ActionState.VOID):
            remove_folders(db, lambda: _paths(_parts(db, action)))

    def decline(self, reverted: Iterable[tuple[int, Hashable]]) -> None:
        """Record that these edits, which another program reverted, stay so until their action is
        undone or redone. Raises SaveError."""
        with self._database.writing() as db:
            rows = [(action, pack(str(target))) for action, target in reverted]
            db.executemany("INSERT OR IGNORE INTO declined VALUES (?, ?)", rows)

    def is_declined(self, action: int, target: Hashable) -> bool:
        """Whether a reverted edit stays so."""
        sql = "SELECT 1 FROM declined WHERE action = ? AND target = ?"
        return bool(self._rows(sql, (action, pack(str(target)))))

    def recover(self, row_digest: RowDigest = lambda _: None) -> list[JournalAction]:
        """Recover and return the actions that dead processes left unfinished. Called at start."""
        if not self._database.exists:
            return []
        try:
            judged = []
            for action, owner in self._rows("SELECT id, owner FROM actions WHERE state = 'intent'"):
                if owner != self._database.owner and not self._database.is_alive(owner):
                    self.judge(action, row_digest)
                    judged.append(self.get(action))
            self._clean_up_recent()
            self._prune()
            return [action for action in judged if action is not None]
        except JournalSetAside:
            return []

    def _clean_up_recent(self) -> None:
        writes: dict[str, list[Write]] = {}
        for action in self.log(MAX_RECHECKED):
            for write in self.writes(action.id):
                if write.done:
                    writes.setdefault(write.path, []).append(write)
        for path, steps in writes.items():
            clean_up(Path(path), steps, self.state)

    def _prune(self) -> None:
        backups.prune(self.state, time.time())
        self._database.forget_dead_owners()
        oldest = "SELECT id FROM actions WHERE id <= (SELECT max(id) FROM actions) - ?"
        if old := [number for (number,) in self._rows(oldest, (MAX_ACTIONS,))]:
            with self._database.writing() as db:
                _delete(db, old)
        old_writes = (
            "FROM writes WHERE action <= (SELECT max(id) FROM actions) - ?"
            " AND action NOT IN (SELECT id FROM actions WHERE state = 'intent')"
        )
        if self._rows(f"SELECT 1 {old_writes} LIMIT 1", (MAX_RECHECKED,)):
            with self._database.writing() as db:
                db.execute(f"DELETE {old_writes}", (MAX_RECHECKED,))
        self._make_room()

    def _make_room(self) -> None:
        """Delete the oldest actions while there is too much; never the newest, nor one at work."""
        old = (
            "SELECT id FROM actions WHERE state <> 'intent'"
            " AND id < (SELECT max(id) FROM actions) ORDER BY id LIMIT 10"
        )
        if self._database.size() <= MAX_BYTES:
            return
        with suppress(SaveError):
            with self._database.writing() as db:
                while self._database.size() > MAX_BYTES:
                    found = [number for (number,) in db.execute(old)]
                    if not found:
                        break
                    _delete(db, found)
            self._database.shrink()

    # ---- reading ----------------------------------------------------------------------------

    def log(self, limit: int = 100, *, void: bool = True) -> list[JournalAction]:
        """Return the newest actions, newest first; `void`: also those with nothing on disk."""
        return self._actions("(? OR state <> 'void') ORDER BY id DESC LIMIT ?", (void, limit))

    def undoable(self, limit: int = 1) -> list[JournalAction]:
        """Return actions that can be undone, in the order of `undo`."""
        return self._actions("state IN ('done', 'unsure') ORDER BY id DESC LIMIT ?", (limit,))

    def redoable(self, limit: int = 1) -> list[JournalAction]:
        """Return the actions undone since the last new one, in the order of `redo`."""
        where = "state = 'undone' AND redo ORDER BY redo DESC LIMIT ?"
        return self._actions(where, (limit,))

    def get(self, action: int) -> JournalAction | None:
        found = self._actions("id = ?", (action,))
        return found[0] if found else None

    def writes(self, action: int) -> list[Write]:
        """Return the writes of an action in order."""
        sql = "SELECT path, pre, post, done FROM writes WHERE action = ? ORDER BY rowid"

        def read(db: sqlite3.Connection) -> list[Write]:
            rows = db.execute(sql, (action,))
            return [Write(_text(path), pre, post, bool(done)) for path, pre, post, done in rows]

        return self._read(read, [])

    def time_of(self, action: int, path: str, digest: str) -> int | None:
        """The modification time (nanoseconds) that a file had with this content in an action."""
        sql = "SELECT time FROM times WHERE action = ? AND path = ? AND digest = ?"
        found = self._rows(sql, (action, pack(path), digest))
        return int(found[0][0]) if found else None

    def recent(self, since: float) -> list[EditHistory]:
        """Return the edits made since a time (Unix seconds) by target, newest first.

        For an undone action they are the inverted edits. `memtui.files.revert_detection`, or the
        format for table rows, tells whether another program has reverted them.
        """
        where = "changed >= ? AND state IN ('done', 'undone')"
        return edit_histories(self._steps(where, since, order="changed DESC"))

    def steps(
        self,
        choose: Callable[[Sequence[ActionStep]], Sequence[ActionStep]] = as_last_made,
        *,
        since: float = float("-inf"),
        files: Collection[str] = (),
    ) -> list[ActionStep]:
        """Return edits of the actions that left something on disk, newest first.

        Args:
            choose: returns those of the edits found that are wanted; only their texts are read.
            since: Unix seconds; only actions that were changed later.
            files: only edits of these files and databases; of all if empty.
        """
        return self._steps("state <> 'void' AND changed > ?", since, choose, files)

    def _steps(
        self,
        where: str,
        since: float,
        choose: Callable[[Sequence[ActionStep]], Sequence[ActionStep]] = as_last_made,
        files: Collection[str] = (),
        order: str = "id DESC",
    ) -> list[ActionStep]:
        def read(db: sqlite3.Connection) -> list[ActionStep]:
            of_actions = f"action IN (SELECT id FROM actions WHERE {where})"
            wanted, numbers = where, list[Any]([since])
            if files:
                of_files, names = edit_rows.of_files(files)
                of_actions, numbers = f"{of_actions} AND {of_files}", [*numbers, *names]
                wanted = f"{where} AND id IN (SELECT action FROM edits WHERE {of_files})"
            rows: dict[int, list[StoredEdit]] = {}
            for row in edit_rows.read_rows(db, of_actions, numbers):
                if row.edit.kind is not Kind.FOLDER:  # a new store is its programs' own
                    rows.setdefault(row.action, []).append(row)
            actions = self._actions_in(db, f"{wanted} ORDER BY {order}", tuple(numbers))
            for action in actions:
                _require_parts(action, rows.get(action.id, ()))
            steps = [
                ActionStep(action, row)
                for action in actions
                for row in reversed(rows.get(action.id, ()))
            ]
            reader = edit_rows.TextReader(db)
            found = []
            for step in choose(steps):
                stored = reader.with_texts(step.stored)
                edits = invert_edits((stored.edit,)) if step.is_inverted else (stored.edit,)
                found += [replace(step, stored=replace(stored, edit=edit)) for edit in edits]
            return found

        return self._read(read, [])

    @property
    def mark(self) -> tuple[object, ...]:
        """Changes whenever an action has changed, here or in another process."""
        found = self._rows("SELECT count(*), max(id), max(changed) FROM actions")
        return tuple(found[0]) if found else ()

    def _load(self, action: int) -> Sequence[StoredEdit]:
        def read(db: sqlite3.Connection) -> Sequence[StoredEdit]:
            rows = edit_rows.read_rows(db, "action = ?", (action,))
            for found in self._actions_in(db, "id = ?", (action,)):
                _require_parts(found, rows)
            return list(map(edit_rows.TextReader(db).with_texts, rows))

        return self._read(read, ())

    def _actions(self, where: str, values: tuple[Any, ...]) -> list[JournalAction]:
        return self._read(lambda db: self._actions_in(db, where, values), [])

    def _actions_in(
        self, db: sqlite3.Connection, where: str, values: tuple[Any, ...]
    ) -> list[JournalAction]:
        found = []
        for row in db.execute(f"{_SELECT} WHERE {where}", values):
            load = functools.cache(functools.partial(self._load, row[0]))
            found.append(_action(row, load))
        return found

    def _rows(self, sql: str, values: tuple[Any, ...] = ()) -> list[Any]:
        return self._read(lambda db: db.execute(sql, values).fetchall(), [])

    def _read(self, work: Callable[[sqlite3.Connection], _Result], nothing: _Result) -> _Result:
        return self._database.read(work) if self._database.exists else nothing

    # ---- erasing ----------------------------------------------------------------------------

    def forget(self, actions: Iterable[int]) -> None:
        """Erase actions and every backup of their files; they can no longer be undone.

        Deleted texts are overwritten in the journal's file.
        """
        for action in actions:
            found = self.get(action)
            for path in _paths(found.parts if found else ()):
                backups.delete_backups(path, self.state)
            with self._database.writing() as db:
                _delete(db, [action])
        if self._database.exists:
            self._database.shrink()
            self._database.overwrite_deleted()


def _delete(db: sqlite3.Connection, actions: Collection[int]) -> None:
    edit_rows.delete_edits(db, actions)
    for table in ("writes", "folders", "times", "authors", "places", "declined", "actions"):
        column = "id" if table == "actions" else "action"
        sql = f"DELETE FROM {table} WHERE {column} = ?"
        db.executemany(sql, [(action,) for action in actions])


def _parts(db: sqlite3.Connection, action: int) -> list[StoreEdits]:
    rows = edit_rows.read_rows(db, "action = ?", (action,))
    return [StoreEdits("", tuple(row.edit for row in rows))]


def _next_time(db: sqlite3.Connection) -> float:
    """Return the time, or one after the last change where the clock was set back."""
    now = time.time()
    sql = "SELECT coalesce(max(changed), 0) FROM actions WHERE changed < ?"
    (last,) = db.execute(sql, (now + LARGEST_JUMP,)).fetchone()
    return max(now, float(last) + 1e-6)


def _action(row: Sequence[Any], load: Callable[[], Sequence[StoredEdit]]) -> JournalAction:
    """The action of a row. Raises Damaged."""
    number, title, begun, changed, state, stores, note, *author = row
    try:
        for moment in (begun, changed):
            datetime.fromtimestamp(moment, UTC)
        return JournalAction(
            id=number,
            title=_text(title),
            time=begun,
            changed=changed,
            state=ActionState(state),
            stores=tuple(_text(pack(store)) for store in list(unpack(stores))),
            load=load,
            note=_text(note),
            author=None if author[0] is None else Author(*map(_text, author)),
        )
    except (TypeError, ValueError, OverflowError, OSError) as error:
        raise Damaged(f"action {number}: {error}") from error


def _require_parts(action: JournalAction, rows: Sequence[StoredEdit]) -> None:
    """Raise Damaged where an edit is of a store that the action does not name."""
    if any(not 0 <= row.part < len(action.stores) for row in rows):
        raise Damaged(f"action {action.id}")


def _text(packed: object) -> str:
    """The text of a column. Raises Damaged."""
    value = unpack(packed)
    if not isinstance(value, str):
        raise Damaged("it is no text")
    return value


def _paths(parts: Iterable[StoreEdits]) -> set[Path]:
    """Return the files these edits change."""
    edits = [edit for store_edits in parts for edit in store_edits.edits]
    roots = {edit.path for edit in edits if edit.kind is Kind.SIDECAR}
    others = {edit.path for edit in edits if edit.kind not in (Kind.SIDECAR, Kind.ROW)}
    sidecars = (path for root in roots for path in sidecar_paths(Path(root)))
    paths = (*sidecars, *map(Path, others))
    return {real_path(path) for path in paths}
