"""Apply, undo and redo planned edits through the journal."""

from __future__ import annotations

import logging
import os
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from pathlib import Path

from msgspec.structs import replace

from memtui.changes import TEXTS, Edit, Kind, StoreEdits
from memtui.errors import Conflict, MemtuiError, Refused, SaveError, StoreError
from memtui.files.reading import decode, read_bytes
from memtui.files.save_hooks import NullRecorder
from memtui.files.save_transaction import commit
from memtui.journal import Author, Journal, JournalAction, Recording
from memtui.journal.database import refuse_moved
from memtui.journal.recovery import recover_late_writes
from memtui.library import opening
from memtui.library.guarded_store import effect_of, guarded
from memtui.library.planning import Planned
from memtui.library.reverted_edits import RevertedEdit, RevertWatcher
from memtui.model import Memory
from memtui.progress import Report, silent
from memtui.stores.base import Store, Written

log = logging.getLogger(__name__)

MAX_SEARCHED = 1000
"""Newest actions of the journal among which those of the open stores are searched."""


class ChangeWriter:
    """Writes every edit of every store, and records it in the journal first."""

    def __init__(
        self, journal: Journal, stores: Sequence[Store], places: Mapping[str, str]
    ) -> None:
        """`places`: root of each store -> where it led when it was opened."""
        self._journal = journal
        self._places = places
        self._stores: dict[str, Store] = {str(store.root): store for store in stores}
        self._watcher = RevertWatcher(journal, self._recover_late_writes)

    def apply(
        self, planned: Planned, report: Report = silent, author: Author | None = None
    ) -> JournalAction:
        """Make the planned edits. Raises Conflict or SaveError.

        `report` is called with the files written. `author`: the agent that makes them.

        On an error nothing was changed; or, with several stores, what was done to the first ones is
        in the journal and can be undone.
        """
        with self._journal.begin(planned.title, planned.parts, author) as recording:
            recording.agent = planned.agent if author is None else str(author)
            recording.report_to(report, planned.parts)
            refs, warnings = self._apply_parts(planned.parts, recording)
        return replace(self._action(recording.action), refs=refs, warnings=warnings)

    def undo(
        self, number: int | None = None, *, anywhere: bool = False, report: Report = silent
    ) -> JournalAction:
        """Undo the action with this number, else the newest one of the open stores (`anywhere`: of
        any store). Raises Refused where there is none, Conflict, SaveError."""
        action = self._select_action(number, self._journal.undoable, anywhere, "undo")
        parts = action.inverted()
        for store_edits in parts:
            self._refuse_moved(store_edits)
        with self._journal.undoing(action.id) as recording:
            recording.report_to(report, action.parts)
            written = [self._apply_part(each, recording) for each in parts]
        effects = self._effects(action, parts, is_undo=True)
        return replace(self._action(action.id), warnings=_warnings(written), effects=effects)

    def redo(
        self, number: int | None = None, *, anywhere: bool = False, report: Report = silent
    ) -> JournalAction:
        """Redo an undone action. Raises as `undo` does."""
        action = self._select_action(number, self._journal.redoable, anywhere, "redo")
        with self._journal.redoing(action.id) as recording:
            recording.report_to(report, action.parts)
            refs, warnings = self._apply_parts(action.parts, recording)
        effects = self._effects(action, action.parts)
        done = self._action(action.id)
        return replace(done, refs=refs, warnings=warnings, effects=effects)

    def _effects(
        self, action: JournalAction, parts: Sequence[StoreEdits], *, is_undo: bool = False
    ) -> tuple[str, ...]:
        """What the edits of each store mean for its program."""
        found: dict[str, None] = {}
        for part in parts:
            with suppress(StoreError):  # its last file may be gone
                store = self._store(part.store)
                if effect := effect_of(action.act, part.edits, store, is_undo=is_undo):
                    found[effect.words(1 + action.is_of_several)] = None
        return tuple(found)

    def log(self, limit: int, *, anywhere: bool = False, void: bool = True) -> list[JournalAction]:
        """The newest actions of the open stores (`anywhere`: of any store), newest first; without
        `void` not those that left nothing on disk."""
        if anywhere:
            return self._journal.log(limit, void=void)
        actions = self._journal.log(max(limit, MAX_SEARCHED), void=void)
        return [action for action in actions if self._is_open(action)][:limit]

    def find_reverted(self, since: float) -> list[RevertedEdit]:
        """Return memtui's edits since then (Unix seconds) that other programs have reverted.

        It happens when an agent reads a file, memtui writes it, and the agent writes all of it
        back. Writes that another program made during a save are recovered first.
        """
        return self._watcher.find(since)

    def _recover_late_writes(self, path: Path, ours: Sequence[Edit]) -> None:
        try:
            late = recover_late_writes(path, NullRecorder(self._journal.state), ours)
        except MemtuiError as error:
            log.warning("late writes into %s could not be read: %s", path, error)
            return
        for write in late:
            if not write.is_recovered:
                log.warning("a late write into %s is kept in %s", path, write.backup.file)

    def _select_action(
        self,
        number: int | None,
        find: Callable[[int], Sequence[JournalAction]],
        anywhere: bool,
        verb: str,
    ) -> JournalAction:
        if number is not None:
            found = self._journal.get(number)
            if found is None:
                raise Refused(f"the log has no action {number}", do="memtui log shows them")
            return found
        for action in find(MAX_SEARCHED):
            if (anywhere or self._is_open(action)) and not _restored_folder(action.edits):
                return action
        raise Refused(f"there is nothing to {verb}")

    def _is_open(self, action: JournalAction) -> bool:
        return any(root in self._stores for root in action.stores)

    def _refuse_moved(self, store_edits: StoreEdits) -> None:
        """Raise Conflict if a file that the edits would empty was moved within its store.

        A file that is gone needs no undoing, but one that somebody moved holds the memory still.
        """
        removed = [edit for edit in store_edits.edits if edit.after is None]
        emptied = [edit for edit in removed if edit.kind in TEXTS | {Kind.RECORD}]
        missing = [edit for edit in emptied if not os.path.lexists(edit.path)]
        if not missing or not os.path.isdir(store_edits.store):
            return
        touched = {e.path for e in store_edits.edits if e.kind is not Kind.SIDECAR}
        store = self._store(store_edits.store)
        for shard in store.scan().shards:
            for memory in store.read(shard).memories:
                if memory.origin.file in touched:
                    continue
                if any(_holds(edit, memory) for edit in missing):
                    raise Conflict(
                        f"nothing is undone: the memory was moved to {memory.origin.file}",
                        where=missing[0].path,
                        do="delete the memory there, or move its file back",
                    )

    def _apply_parts(
        self, parts: Sequence[StoreEdits], recording: Recording
    ) -> tuple[dict[str, str], tuple[str, ...]]:
        """Make the edits of every store, and record them in the journal as they were made.

        Returns planned ref -> written ref, where they differ; and the warnings of the stores.
        """
        all_written, refs = [], dict[str, str]()
        for store_edits in parts:
            written = self._apply_part(store_edits, recording)
            all_written.append(written)
            if written is not None:
                refs |= written.refs
        made = [
            replace(part, edits=written.edits) if written is not None else part
            for part, written in zip(parts, all_written, strict=True)
        ]
        if made != list(parts):
            recording.made(made)
        return refs, _warnings(all_written)

    def _apply_part(self, store_edits: StoreEdits, recording: Recording) -> Written | None:
        """Make the edits of one store."""
        refuse_moved(store_edits.store, self._places.get(store_edits.store), "opened")
        edits = store_edits.edits
        if folder := _restored_folder(edits):
            raise Refused(
                "a restored folder is no longer removed or made again",
                where=folder,
                do="delete the folder yourself, or import the bundle again",
            )
        return self._write(store_edits.store, edits, recording) if edits else None

    def _write(self, root: str, edits: Sequence[Edit], recording: Recording) -> Written | None:
        try:
            store = self._store(root)
        except StoreError:
            if not os.path.isdir(root) or any(edit.kind is Kind.ROW for edit in edits):
                raise
            # No format is recognised where the last file was deleted.
            commit(edits, recording, root=Path(root))
            return None
        return store.apply(edits, recording)

    def _action(self, number: int) -> JournalAction:
        action = self._journal.get(number)
        if action is None:  # the journal was damaged meanwhile, and a new one was begun
            raise SaveError("it was done, but the journal was damaged: it cannot be undone")
        return action

    def _store(self, root: str) -> Store:
        """The store at this root; opened now if it is not open yet."""
        if root not in self._stores:
            found = opening.detect_store_at(Path(root))
            self._stores[root] = guarded(found.format.open(found.root, found.format.name))
        return self._stores[root]


def _warnings(written: Iterable[Written | None]) -> tuple[str, ...]:
    return tuple(words for each in written if each is not None for words in each.warnings)


def _holds(edit: Edit, memory: Memory) -> bool:
    """Whether the memory is what the edit would remove, at another place."""
    if edit.kind is Kind.RECORD:
        return memory.id == edit.id
    path = Path(memory.origin.file)
    if path.name != Path(edit.path).name or not path.is_file():
        return False
    return bool(decode(read_bytes(path)) == edit.before)


def _restored_folder(edits: Iterable[Edit]) -> str:
    """The folder that an action of an earlier memtui restored; empty if it restored none."""
    return next((edit.path for edit in edits if edit.kind is Kind.FOLDER), "")
