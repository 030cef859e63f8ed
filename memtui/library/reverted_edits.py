"""Find edits of memtui that other programs have reverted, and plan to reapply them."""

from __future__ import annotations

import logging
import os
import time
from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from pathlib import Path
from threading import Lock

from msgspec import Struct

from memtui.changes import TEXTS, Edit, Kind, Plan, StoreEdits
from memtui.errors import MemtuiError
from memtui.files import backups
from memtui.files.reading import file_stamp, real_path
from memtui.files.revert_detection import find_statuses
from memtui.journal import EditHistory, Journal, JournalAction
from memtui.library.planning import Planned
from memtui.stores import registry
from memtui.stores.base import Store
from memtui.text import and_more
from memtui.upkeep.checks import file_proposal
from memtui.upkeep.proposals import Proposal, ProposalKind

log = logging.getLogger(__name__)

LOOKBACK_SECONDS = 7 * 86400.0
"""Seconds of history in which commands look for reverted edits: seven days."""
TIMESTAMP_RESOLUTION = 0.1
"""Seconds after a change in which another one may leave the same file times."""


class RevertedEdit(Struct, frozen=True):
    """An edit of memtui whose record, value, file or row another program has put back."""

    action: JournalAction
    """The newest action that changed it."""
    store: str
    """Path of the store's root."""
    target: Hashable
    """Identifies what was changed."""
    reapply: Edit
    """Makes the change again, and keeps what else the other program wrote."""
    added: bool = False
    """Whether memtui had added it; now it is gone."""

    @property
    def description(self) -> str:
        """What happened, in words for a person."""
        if self.added:
            return "another program has removed what was added"
        return "another program has put back what was there before"

    @property
    def path(self) -> str:
        """Path of the file or database."""
        return self.reapply.path


class RevertWatcher:
    """Finds reverted edits repeatedly; reads the journal, the files and their backups again only if
    one of them has changed. May be used from any thread."""

    def __init__(
        self, journal: Journal, recover: Callable[[Path, Sequence[Edit]], None] | None = None
    ) -> None:
        """`recover` recovers what another program wrote into a backup; None: nothing does."""
        self._journal = journal
        self._recover = recover
        self._lock = Lock()
        self._mark: Hashable = None
        self._since = 0.0
        self._watched: tuple[str, ...] = ()
        """The files and databases of the edits, and the backups of the files."""
        self._fingerprint = ""
        self._found: list[RevertedEdit] = []

    def find(self, since: float) -> list[RevertedEdit]:
        """Return the edits since then (Unix seconds) that were reverted.

        First calls `recover` for each file, which recovers writes made during a save.
        """
        with self._lock:
            mark = self._journal.mark
            if (
                mark != self._mark
                or since < self._since
                or not self._fingerprint
                or self._fingerprint != _fingerprint(self._watched)
            ):
                histories = self._journal.recent(since)
                edits = [edit for history in histories for edit in history.edits]
                files: dict[str, list[Edit]] = {}
                for edit in edits:
                    if edit.kind not in (Kind.ROW, Kind.SIDECAR):
                        files.setdefault(edit.path, []).append(edit)
                databases = dict.fromkeys(e.path for e in edits if e.kind is Kind.ROW)
                copies: list[str] = []
                for name, ours in files.items():
                    path = Path(name)
                    if self._recover is not None:
                        self._recover(path, ours)
                        of_file = backups.list_backups(real_path(path), self._journal.state)
                        copies += [str(backup.file) for backup in of_file]
                logs = [f"{path}-wal" for path in databases]
                self._watched = (*files, *databases, *logs, *copies)
                self._fingerprint = _fingerprint(self._watched)
                self._found = find_reverted(histories)
                self._mark, self._since = mark, since
            found = [each for each in self._found if each.action.changed >= since]
            is_declined = self._journal.is_declined
            return [each for each in found if not is_declined(each.action.id, each.target)]

    def close(self) -> None:
        """Close the journal; it is opened again when needed."""
        self._journal.close()


def _fingerprint(paths: Sequence[str]) -> str:
    """Differs after a change of any file; empty while a file is so new that it may not."""
    newest = max(map(_changed, paths), default=0.0)
    return file_stamp(paths) if abs(time.time() - newest) > TIMESTAMP_RESOLUTION else ""


def _changed(path: str) -> float:
    try:
        return os.stat(path).st_mtime
    except OSError:
        return 0.0


def find_reverted(histories: Sequence[EditHistory]) -> list[RevertedEdit]:
    """Return the edits among these histories that were reverted, in their order; stores that no
    longer exist are skipped."""
    present = [history for history in histories if os.path.lexists(history.steps[0].store)]
    edits = [history.edits for history in present]
    rows = [each for each in edits if each[0].kind is Kind.ROW]
    statuses = [*find_statuses(edits), *registry.find_row_statuses(rows)]
    by_edit = {id(each[0]): status for each, status in statuses}
    found = []
    for history in present:
        newest = history.steps[0]
        status = by_edit.get(id(newest.edit))
        edit = status.reapply if status is not None else None
        if status is not None and edit is not None:
            action = _responsible_action(history, edit)
            added = status.is_added or not edit.before or not newest.edit.before
            target = edit.path if edit.kind in TEXTS else history.target
            found.append(RevertedEdit(action, newest.store, target, edit, added))
    return found


def _responsible_action(history: EditHistory, reapply: Edit) -> JournalAction:
    """The newest action that set what is to be reapplied; for a row, the same columns."""
    for step in history.steps:
        edit = step.edit
        if edit.kind is not Kind.ROW or reapply.kind is not Kind.ROW:
            break
        if not edit.after or not reapply.after or edit.after.keys() & reapply.after.keys():
            return step.action
    return history.steps[0].action


def watch_unchanged(state: Path) -> RevertWatcher:
    """Return a watcher that writes nothing: it recovers no late write and settles no interrupted
    action."""
    return RevertWatcher(Journal(state, renames_damaged=False))


def peek_reverted(watcher: RevertWatcher, stores: Iterable[Store]) -> list[RevertedEdit]:
    """Return the reverted edits of these stores from the last `LOOKBACK_SECONDS` seconds; [] where
    the journal is missing or cannot be read."""
    roots = {os.path.realpath(store.root) for store in stores}
    try:
        found = watcher.find(time.time() - LOOKBACK_SECONDS)
    except MemtuiError as error:
        log.warning("reverted edits could not be looked for: %s", error)
        return []
    finally:
        watcher.close()
    return [each for each in found if os.path.realpath(each.store) in roots]


def findings(found: Iterable[RevertedEdit], labels: Mapping[str, str]) -> list[Proposal]:
    """Findings for `Library.check`: one for each file of an action.

    Args:
        found: The edits.
        labels: Real path of each store's root -> its label.
    """
    overwritten = (
        file_proposal(
            ProposalKind.OVERWRITTEN,
            each.path,
            f"{each.action.title} (number {each.action.id} in the log): {each.description}",
            store=labels.get(os.path.realpath(each.store), ""),
        )
        for each in found
    )
    return list({one.id: one for one in overwritten}.values())


def plan_reapply(found: Sequence[RevertedEdit]) -> Planned:
    """Plan to reapply all of these edits as one action, oldest first."""
    by_store: dict[str, list[Edit]] = {}
    for each in reversed(found):
        by_store.setdefault(each.store, []).append(each.reapply)
    titles = list(dict.fromkeys(each.action.title for each in found))
    more = and_more(len(titles) - 1)
    title = f"again: {titles[0].removeprefix('again: ')}{more}" if titles else ""
    parts = tuple(StoreEdits(store, tuple(edits)) for store, edits in by_store.items())
    return Planned(
        title,
        (Plan((), tuple(edit for store_edits in parts for edit in store_edits.edits)),),
        parts,
    )
