"""The journal: records actions before they are made, and undoes, redoes, recovers and erases them.

One row of `actions` is one change a person made; one row of `writes` is one write of a file or
table row. Both are on disk before the file is touched. Several processes may use it at once.
"""

from __future__ import annotations

import sqlite3
import time
from collections.abc import Iterable, Sequence
from contextlib import suppress
from pathlib import Path
from types import TracebackType
from typing import Any

from memtui.changes import RowEdit, SidecarEdit, StoreEdits, TreeEdit, invert_edits
from memtui.errors import Refused, SaveError
from memtui.files import backups
from memtui.files.reading import real_path
from memtui.files.sidecar_lines import sidecar_path
from memtui.files.staging import clear_leftovers
from memtui.journal.action import (
    ActionState,
    EditHistory,
    JournalAction,
    Write,
    edit_histories,
    pack,
    pack_parts,
    unpack,
    unpack_parts,
)
from memtui.journal.database import (
    JournalDatabase,
    record_missing_folders,
    remove_folders,
)
from memtui.journal.recovery import RowDigest, WriteOutcome, clean_up, recover_write
from memtui.progress import Progress, Report, silent

MAX_ACTIONS = 10_000
"""Older actions are deleted at start."""

MAX_RECHECKED = 20
"""Newest actions whose files are checked at start for what a power cut has brought back."""

LARGEST_JUMP = 2 * 24 * 3600
"""Seconds by which a clock may have been ahead and its times still count for the order."""

_SELECT = "SELECT id, title, time, changed, state, parts, note FROM actions"
_PARTLY = "only a part of it reached the disk; undo takes that part back"
_PARTLY_BACK = "only a part of it was taken back; undo takes back the rest"


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
        self._report: Report = silent
        self._written: set[str] = set()
        self._total = 0
        self.action = action
        """Id of the action."""

    @property
    def state(self) -> Path:
        return self._journal.state

    def accepts_owner(self, path: Path) -> bool:
        return path in self._journal.owned

    def report_to(self, report: Report, parts: Sequence[StoreEdits]) -> None:
        """Report each file that is written, of those that these edits name."""
        self._report = report
        self._total = len(
            {
                edit.root if isinstance(edit, SidecarEdit) else edit.path
                for made in parts
                for edit in made.edits
            }
        )

    def intend(self, path: str, pre: str, post: str) -> None:
        self._before[path] = pre
        with self._database.writing() as db:
            db.execute(
                "INSERT INTO writes (action, path, pre, post) VALUES (?, ?, ?, ?)",
                (self.action, pack(path), pre, post),
            )

    def done(self, path: str) -> None:
        # The file is written; if this row is not, recovery compares the content.
        sql = "UPDATE writes SET done = 1 WHERE action = ? AND path = ?"
        self._try_to_write(sql, self.action, pack(path))
        self._written.add(path)
        if self._total > 1:
            self._report(Progress("saving", min(len(self._written), self._total), self._total))

    def failed(self, path: str) -> None:
        sql = "DELETE FROM writes WHERE action = ? AND path = ? AND NOT done"
        self._try_to_write(sql, self.action, pack(path))

    def made(self, parts: Sequence[StoreEdits]) -> None:
        """Replace the edits by those the stores made, where they differ."""
        sql = "UPDATE actions SET parts = ? WHERE id = ?"
        self._try_to_write(sql, pack_parts(tuple(parts)), self.action)

    def _try_to_write(self, sql: str, *values: object) -> None:
        with suppress(SaveError), self._database.writing() as db:
            db.execute(sql, values)

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
                self._journal.succeeded(self.action)
            else:
                # A database whose store raised has rolled back, so its rows are as before.
                self._journal.judge(self.action, self._before.get)


class Journal:
    """The journal of a state folder. Its file is created by the first action."""

    def __init__(self, state: Path, *, renames_damaged: bool = True) -> None:
        self.state = state
        self.owned: set[Path] = set()
        """Files of other owners that the person accepts to become their own by a save."""
        self._database = JournalDatabase(state, renames_damaged=renames_damaged)

    def close(self) -> None:
        """Close the file; it is opened again when needed."""
        self._database.close()

    @property
    def fault(self) -> str:
        """What became of a damaged file, as one line for the person; empty where it is whole."""
        return self._database.fault

    # ---- doing, undoing, redoing ------------------------------------------------------------

    def begin(self, title: str, parts: Sequence[StoreEdits]) -> Recording:
        """Record an action that is about to be made. Raises SaveError."""
        with self._database.writing() as db:
            cursor = db.execute(
                "INSERT INTO actions (title, time, changed, state, former, wanted, owner, parts)"
                " VALUES (?, ?, ?, 'intent', 'void', 'done', ?, ?)",
                (pack(title), time.time(), _next_time(db), self._database.owner,
                 pack_parts(tuple(parts))),
            )  # fmt: skip
            number = int(cursor.lastrowid or 0)
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
            db.execute("DELETE FROM writes WHERE action = ?", (action,))
            db.execute(
                "UPDATE actions SET state = 'intent', former = state, wanted = ?, owner = ?,"
                " changed = ? WHERE id = ?",
                (new_state, self._database.owner, _next_time(db), action),
            )
            if new_state is ActionState.DONE:
                record_missing_folders(db, action, _paths(self._parts(db, action)))
        return Recording(self, self._database, action)

    def succeeded(self, action: int) -> None:
        """Record that every edit of the current step is on disk."""
        with self._database.writing() as db:
            (requested,) = db.execute(
                "SELECT wanted FROM actions WHERE id = ?", (action,)
            ).fetchone()
            self._settle(db, action, ActionState(requested), "")

    def judge(self, action: int, row_digest: RowDigest = lambda _: None) -> ActionState:
        """Recover an interrupted step from the content of its files; returns the action's state."""
        found = self._rows("SELECT former, wanted, state FROM actions WHERE id = ?", (action,))
        if not found or found[0][2] != ActionState.INTENT:
            return ActionState(found[0][2]) if found else ActionState.VOID
        former, requested = ActionState(found[0][0]), ActionState(found[0][1])
        writes: dict[str, list[Write]] = {}
        for write in self.writes(action):
            writes.setdefault(write.path, []).append(write)
        full_action = self.get(action)
        edits = full_action.edits if full_action else ()
        paths = _paths(full_action.parts if full_action else ())
        edits = invert_edits(edits) if requested is ActionState.UNDONE else edits
        for edit in edits:
            if isinstance(edit, TreeEdit):
                clear_leftovers(Path(edit.path))  # first: it may complete the folder
        verdicts = [
            recover_write(path, steps, edits, self.state, row_digest)
            for path, steps in writes.items()
        ]
        outcomes = {verdict.outcome for verdict in verdicts}
        note = "; ".join(dict.fromkeys(verdict.note for verdict in verdicts if verdict.note))
        state = requested
        if WriteOutcome.UNSURE in outcomes:
            state = ActionState.UNSURE
            note = note or "it was cut short, and a file has been changed since"
        elif outcomes <= {WriteOutcome.NOT_WRITTEN}:
            state = former
        elif WriteOutcome.NOT_WRITTEN in outcomes or len(writes) < len(paths):
            state, note = (
                ActionState.DONE,
                _PARTLY if requested is ActionState.DONE else _PARTLY_BACK,
            )
        with self._database.writing() as db:
            self._settle(db, action, state, note)
        return state

    def _settle(self, db: sqlite3.Connection, action: int, state: ActionState, note: str) -> None:
        if (
            state is ActionState.DONE
        ):  # a new action ends what could be redone; a failed one does not
            new = "EXISTS (SELECT 1 FROM actions WHERE id = ? AND former = 'void')"
            db.execute(f"UPDATE actions SET redo = 0 WHERE redo AND {new}", (action,))
        last = "(SELECT max(redo) + 1 FROM actions)"  # a redo that failed changes no order
        redo = f"iif(former = 'undone', redo, {last})" if state is ActionState.UNDONE else "0"
        db.execute(
            f"UPDATE actions SET state = ?, note = ?, changed = ?, redo = {redo}"
            " WHERE id = ? AND state = 'intent'",
            (state, pack(note), _next_time(db), action),
        )
        if state in (ActionState.UNDONE, ActionState.VOID):
            remove_folders(db, lambda: _paths(self._parts(db, action)))

    def _parts(self, db: sqlite3.Connection, action: int) -> tuple[StoreEdits, ...]:
        (parts,) = db.execute("SELECT parts FROM actions WHERE id = ?", (action,)).fetchone()
        return unpack_parts(parts)

    def recover(self, row_digest: RowDigest = lambda _: None) -> list[JournalAction]:
        """Recover and return the actions that dead processes left unfinished. Called at start."""
        judged = []
        for action, owner in self._rows("SELECT id, owner FROM actions WHERE state = 'intent'"):
            if owner != self._database.owner and not self._database.is_alive(owner):
                self.judge(action, row_digest)
                judged.append(self.get(action))
        if self._database.exists:
            self._clean_up_recent()
            self._prune()
        return [action for action in judged if action is not None]

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
        with self._database.writing() as db:
            oldest = "(SELECT max(id) FROM actions) - ?"
            db.execute(f"DELETE FROM actions WHERE id <= {oldest}", (MAX_ACTIONS,))
            for table in ("writes", "folders"):
                db.execute(f"DELETE FROM {table} WHERE action NOT IN (SELECT id FROM actions)")

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
        rows = self._rows(
            "SELECT path, pre, post, done FROM writes WHERE action = ? ORDER BY rowid", (action,)
        )
        return [Write(unpack(path), pre, post, bool(done)) for path, pre, post, done in rows]

    def recent(self, since: float) -> list[EditHistory]:
        """Return the edits made since a time (Unix seconds) by target, newest first.

        For an undone action they are the inverted edits. `memtui.files.revert_detection`, or the
        format for table rows, tells whether another program has reverted them.
        """
        where = "changed >= ? AND state IN ('done', 'undone') ORDER BY changed DESC"
        return edit_histories(self._actions(where, (since,)))

    @property
    def mark(self) -> tuple[object, ...]:
        """Changes whenever an action has changed, here or in another process."""
        found = self._rows("SELECT count(*), max(id), max(changed) FROM actions")
        return tuple(found[0]) if found else ()

    def _actions(self, where: str, values: tuple[Any, ...]) -> list[JournalAction]:
        return [_action(row) for row in self._rows(f"{_SELECT} WHERE {where}", values)]

    def _rows(self, sql: str, values: tuple[Any, ...] = ()) -> list[Any]:
        if not self._database.exists:
            return []
        with self._database.reading() as db:
            return db.execute(sql, values).fetchall()

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
                for table, column in (
                    ("writes", "action"),
                    ("folders", "action"),
                    ("actions", "id"),
                ):
                    db.execute(f"DELETE FROM {table} WHERE {column} = ?", (action,))
        if self._database.exists:
            self._database.overwrite_deleted()


def _next_time(db: sqlite3.Connection) -> float:
    """Return the time, or one after the last change where the clock was set back."""
    now = time.time()
    sql = "SELECT coalesce(max(changed), 0) FROM actions WHERE changed < ?"
    (last,) = db.execute(sql, (now + LARGEST_JUMP,)).fetchone()
    return max(now, float(last) + 1e-6)


def _action(row: Sequence[Any]) -> JournalAction:
    number, title, begun, changed, state, parts, note = row
    return JournalAction(
        id=number,
        title=unpack(title),
        time=begun,
        changed=changed,
        state=ActionState(state),
        parts=unpack_parts(parts),
        note=unpack(note),
    )


def _paths(parts: Iterable[StoreEdits]) -> set[Path]:
    """Return the files these edits change."""
    edits = [edit for store_edits in parts for edit in store_edits.edits]
    roots = {edit.root for edit in edits if isinstance(edit, SidecarEdit)}
    paths = {edit.path for edit in edits if not isinstance(edit, SidecarEdit | RowEdit)}
    return {
        real_path(p) for p in (*(sidecar_path(Path(root)) for root in roots), *map(Path, paths))
    }
