"""Doing what was planned, taking it back, doing it again; and noticing when an agent undoes it."""

from __future__ import annotations

import logging
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from memtui.changes import StoreEdits, TreeEdit
from memtui.errors import MemtuiError, Refused
from memtui.files.late_writes import recover_late_writes
from memtui.files.write_recorder import NullRecorder
from memtui.journal import Journal, JournalAction, Recording
from memtui.library import opening
from memtui.library.planning import Planned
from memtui.library.reverted_edits import RevertedEdit, Watch
from memtui.progress import Report, silent
from memtui.stores.base import Store, Written

if TYPE_CHECKING:
    from memtui.bundle.restoring import Restoration

log = logging.getLogger(__name__)

LOOKED_AT = 1000
"""Actions among which those of the open stores are looked for."""


class Changing:
    """The one way to write: every edit of every store goes through the journal here."""

    def __init__(self, journal: Journal, stores: Sequence[Store]) -> None:
        self._journal = journal
        self._stores: dict[str, Store] = {str(store.root): store for store in stores}
        self._watch = Watch(journal, self._rescue)
        self._made: set[str] = set()
        """Roots of stores that were brought into empty places, and are not open."""

    def close(self) -> None:
        """Let go of the journal's file."""
        self._journal.close()

    def apply(self, planned: Planned) -> JournalAction:
        """Make the planned edits. Raises Conflict or SaveError.

        Then nothing was changed; or, where several stores take part, what the first ones did is in
        the journal and can be undone.
        """
        with self._journal.begin(planned.title, planned.parts) as recording:
            refs = self._make_all(planned.parts, recording)
        return replace(self._action(recording.action), refs=refs)

    def restore(self, restoration: Restoration, report: Report = silent) -> JournalAction:
        """Bring a document into an empty place; `undo` knows of it as of an open store.

        Raises Refused, SaveError or BundleError, with nothing left behind.
        """
        with self._journal.begin(restoration.title, restoration.parts) as recording:
            self._make_all(restoration.parts, recording, report)
        self._made.update(part.store for part in restoration.parts)
        return self._action(recording.action)

    def accept_ownership(self, path: Path) -> None:
        """The person agrees that this file of another owner becomes their own by a save."""
        self._journal.owned.add(path)

    def undo(self, number: int | None = None, *, anywhere: bool = False) -> JournalAction:
        """Take back an action: the one with this number, else the last one in the open stores.

        `anywhere`: the last one in any store. Raises Refused where there is none, Conflict when
        something it wrote was changed since.
        """
        action = self._chosen(number, self._journal.undoable(LOOKED_AT), anywhere, "undo")
        with self._journal.undoing(action.id) as recording:
            for part in action.inverted():
                self._make(part, recording)
        return self._action(action.id)

    def redo(self, number: int | None = None, *, anywhere: bool = False) -> JournalAction:
        """Do an action again that was taken back. Raises as `undo` does."""
        action = self._chosen(number, self._journal.redoable(LOOKED_AT), anywhere, "redo")
        with self._journal.redoing(action.id) as recording:
            refs = self._make_all(action.parts, recording)
        return replace(self._action(action.id), refs=refs)

    def log(self, limit: int, *, anywhere: bool = False, void: bool = True) -> list[JournalAction]:
        """The newest actions of the open stores (or of any), newest first; if asked without those
        of which nothing is on disk."""
        if anywhere:
            return self._journal.log(limit, void=void)
        actions = self._journal.log(max(limit, LOOKED_AT), void=void)
        return [action for action in actions if self._is_open(action)][:limit]

    def overwritten(self, since: float) -> list[RevertedEdit]:
        """What memtui wrote since then (Unix seconds) and another program has taken back.

        Happens when an agent read the file before memtui wrote it, and wrote it whole afterwards.
        What a program wrote at the very moment of a save, into the file that was just replaced, is
        brought back first. Ask a moment after a change, again soon after, and at start.
        """
        return self._watch.look(since)

    def _rescue(self, path: Path) -> None:
        try:
            late = recover_late_writes(path, NullRecorder(self._journal.state))
        except MemtuiError as error:
            log.warning("a late write into %s could not be looked at: %s", path, error)
            return
        for write in late:
            if not write.is_recovered:
                log.warning("a late write into %s is kept in %s", path, write.backup.file)

    def _chosen(
        self, number: int | None, actions: Sequence[JournalAction], anywhere: bool, doing: str
    ) -> JournalAction:
        if number is not None:
            found = self._journal.get(number)
            if found is None:
                raise Refused(f"the log has no number {number}", do="memtui log shows them")
            return found
        for action in actions:
            if anywhere or self._is_open(action):
                return action
        raise Refused(f"there is nothing to {doing}")

    def _is_open(self, action: JournalAction) -> bool:
        return any(part.store in self._stores or part.store in self._made for part in action.parts)

    def _make_all(
        self, parts: Sequence[StoreEdits], recording: Recording, report: Report = silent
    ) -> dict[str, str]:
        """Make the edits of every store, and keep in the journal what was made.

        Returns the refs that differ from the planned ones.
        """
        made, refs = [], dict[str, str]()
        for part in parts:
            written = self._make(part, recording, report)
            if written is not None:
                refs |= written.refs
                part = replace(part, edits=written.edits)
            made.append(part)
        if refs:
            recording.made(made)
        return refs

    def _make(
        self, part: StoreEdits, recording: Recording, report: Report = silent
    ) -> Written | None:
        """Make the edits of one store. One that a restoration makes need not be there."""
        edits = tuple(edit for edit in part.edits if not isinstance(edit, TreeEdit))
        for edit in part.edits:
            if isinstance(edit, TreeEdit):
                from memtui.bundle import store_install

                store_install.apply(edit, recording, report)
        written = self._store(part.store).apply(edits, recording) if edits else None
        return written if len(edits) == len(part.edits) else None

    def _action(self, number: int) -> JournalAction:
        action = self._journal.get(number)
        assert action is not None, "an action stays in the journal"
        return action

    def _store(self, root: str) -> Store:
        """The store at this root, opened for the occasion where it is not open."""
        if root not in self._stores:
            found = opening.found_at(Path(root))
            self._stores[root] = found.format.open(found.root, found.format.name)
        return self._stores[root]
