"""Find how memories were at a time, from memtui's journal and from git, for `Library.as_of`."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace
from datetime import datetime

from memtui.changes import Edit, RecordEdit, RowEdit, SidecarEdit, TextEdit
from memtui.errors import RefError
from memtui.files.git_history import GitHistory
from memtui.insight.as_of import FormerStates
from memtui.journal.action import JournalAction, last_steps
from memtui.library import former_database
from memtui.library.former_versions import (
    FormerReader,
    read_actions,
    record_file,
    with_former_text,
)
from memtui.library.library import Library
from memtui.model import CURRENT, Memory
from memtui.progress import IsCancelled, never
from memtui.stores.base import Store


def find_former_states(
    library: Library, at: datetime, cancelled: IsCancelled = never
) -> FormerStates:
    """Find what journal and git know of a time; where both know, the journal counts.

    Args:
        library: The present.
        at: The time.
        cancelled: Asked while git is read.
    """
    memories: dict[str, Memory] = {}
    absent: set[str] = set()
    later = [a for a in read_actions(library.state_folder) if a.changed > at.timestamp()]
    for store in library.stores:
        reader = FormerReader(store)
        journal = _JournalStates(library, store, reader)
        journal.read(later)
        if reader.is_possible:
            for ref, memory in _from_git(library, store, reader, at, cancelled).items():
                if ref not in journal.known and ref not in journal.absent:
                    memories[ref] = memory
        memories.update(journal.known)
        absent.update(journal.absent)
    return FormerStates(memories, frozenset(absent))


# ---- the journal --------------------------------------------------------------------------------


class _JournalStates:
    """How the memories of one store were before memtui changed them."""

    def __init__(self, library: Library, store: Store, reader: FormerReader) -> None:
        self.known: dict[str, Memory] = {}
        """Ref -> the memory before."""
        self.absent: set[str] = set()
        """Refs of memories that memtui has added."""
        self._library = library
        self._store = store
        self._reader = reader

    def read(self, actions: Iterable[JournalAction]) -> None:
        """Read the earliest edit of each record, row, file and sidecar entry in these actions,
        which come newest first. Later ones of the same target say nothing more."""
        root = str(self._store.root)
        edits = [step.edit for step in last_steps(actions, lambda _: True) if step.store == root]
        earliest: dict[tuple[str, ...], Edit] = {_target(edit): edit for edit in edits}
        rows = [edit for edit in edits if isinstance(edit, RowEdit)]
        if rows:
            self._read_rows(rows)
        for edit in earliest.values():
            if isinstance(edit, TextEdit):
                self._read_file(edit)
        for edit in earliest.values():
            if isinstance(edit, RecordEdit):
                self._read_record(edit)
        for edit in earliest.values():
            if isinstance(edit, SidecarEdit):
                self._read_sidecar(edit)

    def _read_file(self, edit: TextEdit) -> None:
        """All memories of a file that memtui made, replaced or removed."""
        before = {}
        if edit.before is not None and self._reader.is_possible:
            content = edit.before.encode("utf-8", "surrogateescape")
            before = self._reader.read([(edit.path, content)])
        for memory in self._library.memories(self._store.label):
            if memory.origin.file == edit.path and memory.id not in before:
                self.absent.add(memory.ref)
        for former in before.values():
            self.known[former.ref] = former

    def _read_record(self, edit: RecordEdit) -> None:
        ref = f"{self._store.label}:{edit.id}"
        if edit.before is None:
            self.absent.add(ref)
            return
        former = self._reader.read([(edit.path, record_file(edit, edit.before))]).get(edit.id)
        if former is None or ref in self.absent:
            return
        memory = _get(self._library, ref)
        self.known[ref] = former if memory is None else _with_former_state(memory, former)

    def _read_rows(self, edits: Sequence[RowEdit]) -> None:
        """Rows of a database; a sidecar entry that stayed is laid over them again."""
        found = former_database.read_before(self._store, edits)
        if found is None:
            return
        for ref, former in found[0].items():
            memory = _get(self._library, ref)
            pinned = former.pinned or (memory is not None and memory.pinned)
            self.known[ref] = replace(former, pinned=pinned)
        self.absent |= found[1]

    def _read_sidecar(self, edit: SidecarEdit) -> None:
        """An entry that gave the memory another status, or kept it when the store removed it."""
        ref = f"{self._store.label}:{edit.id}"
        memory = self.known.get(ref) or _get(self._library, ref)
        before, after = edit.before or {}, edit.after or {}
        if memory is None or ref in self.absent:
            return
        if before.get("status") != after.get("status") or ("kept" in before) != ("kept" in after):
            status = str(before.get("status") or "active")
            self.known[ref] = replace(memory, status=status, superseded_by=())


def _target(edit: Edit) -> tuple[str, ...]:
    """What an edit changes, so that two edits of the same thing are found."""
    if isinstance(edit, RecordEdit):
        return "record", edit.path, edit.id
    if isinstance(edit, SidecarEdit):
        return "sidecar", edit.id
    return type(edit).__name__, edit.path


def _with_former_state(memory: Memory, former: Memory) -> Memory:
    """A memory with its former text and status.

    A record that is read alone does not show its successor: one that was not in use then keeps the
    present word for that.
    """
    made = replace(with_former_text(memory, former), entity=former.entity)
    if former.status in CURRENT:
        return replace(made, status=former.status, superseded_by=())
    return made if memory.status not in CURRENT else replace(made, status=former.status)


def _get(library: Library, ref: str) -> Memory | None:
    try:
        return library.get(ref)
    except RefError:
        return None


# ---- git ----------------------------------------------------------------------------------------


def _from_git(
    library: Library, store: Store, reader: FormerReader, at: datetime, cancelled: IsCancelled
) -> dict[str, Memory]:
    """Memories whose file was different in the last commit by then: ref -> the memory of then."""
    git = GitHistory.of(store.root, cancelled)
    files = git.files_at(store.root, at) if git is not None else None
    if not files:
        return {}
    found: dict[str, Memory] = {}
    versions = [(str(path), version.text) for path, version in files.items()]
    for former in reader.read(versions).values():
        ref = f"{store.label}:{former.id}"
        memory = _get(library, ref)
        if memory is None:
            found[ref] = former
        elif memory.updated is None or memory.updated > at:
            same = (former.content, former.title, former.status)
            if same != (memory.content, memory.title, memory.status):
                found[ref] = _with_former_state(memory, former)
    return found
