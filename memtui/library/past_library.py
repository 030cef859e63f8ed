"""The library as of a time: it reads and searches like the present one, and refuses to write."""

from __future__ import annotations

import logging
import sqlite3
import tempfile
from collections.abc import Collection, Mapping, Sequence
from contextlib import closing, suppress
from datetime import datetime
from pathlib import Path
from threading import RLock
from typing import TYPE_CHECKING, NoReturn

from msgspec.structs import replace

from memtui.changes import TEXTS, Act, Change, Edit, Kind
from memtui.errors import Refused, StoreError
from memtui.files.git_history import GitHistory
from memtui.insight import versions
from memtui.insight.link_statements import find_end
from memtui.insight.versions import FormerStates
from memtui.journal import ActionStep, as_last_made
from memtui.library.former_versions import (
    FormerReader,
    open_like,
    read_steps,
    record_file,
    with_former_text,
)
from memtui.library.held_stores import memories_at
from memtui.library.library import Library
from memtui.library.links import StoreLinks
from memtui.library.loaded_stores import LoadedStores
from memtui.library.queried_stores import QueriedStores
from memtui.library.snapshot import Rows, Snapshot
from memtui.model import CURRENT, Memory
from memtui.progress import IsCancelled, Report, never, silent
from memtui.search import columns as columns_of
from memtui.stores import registry
from memtui.stores.base import LimitUse, Shard, Store, StoreView
from memtui.text import date

if TYPE_CHECKING:
    from memtui.library.planning import Planned


def library_at(
    library: Library, at: datetime, cancelled: IsCancelled = never, *, with_asked: bool = True
) -> PastLibrary:
    """Return the library as it was at a time: what was believed then, in the texts of then.

    Former states come from memtui's journal, from the versions the stores keep, and from git. It
    reads all memories, and git takes up to some seconds per repository: call it from a background
    job.

    Args:
        library: The present.
        at: The time; aware.
        cancelled: Asked while git is read; what it knows is left out then.
        with_asked: Ask the stores that are asked, too.

    Raises:
        StoreError: All stores are asked, and none can say what it was then.
        Cancelled: An asked store was being read.
    """
    former = find_former_states(library, at, cancelled)
    memories, faults = dict(former.memories), dict[str, StoreError]()
    for label, store in library.queried.stores.items() if with_asked else ():
        try:
            memories.update(memories_at(store, at, cancelled))
        except StoreError as error:
            faults[label] = error
            if len(faults) == len(library.stores):
                raise
    former = replace(former, memories=memories)
    past = PastLibrary(library, _snapshot_at(library.snapshot, at, former), at)
    past.queried.faults = faults
    return past


def _snapshot_at(present: Snapshot, at: datetime, former: FormerStates) -> Snapshot:
    """The snapshot of a former time.

    Memories that had the text of today keep their slots; those that had another come behind them.
    """
    others = dict(former.memories)
    rows = Rows(present.rows)
    slot_of: dict[str, int] = {}
    for ref, slot in present.slot_of.items():
        memory = rows[slot]
        if ref in former.absent or ref in others or not versions.was_there(memory, at):
            continue
        then = versions.text_at(memory, at)
        end = find_end(memory, present.find)
        if then is not memory:
            others[ref] = versions.with_status_at(then, at, end)
            continue
        still = versions.with_status_at(memory, at, end)
        rows[slot] = versions.with_later_text(versions.with_times_at(still, at), memory.updated)
        slot_of[ref] = slot
    for ref, memory in others.items():
        slot_of[ref] = len(rows)
        rows.append(versions.with_times_at(memory, at))
    columns = columns_of.build(rows)
    columns = columns.without(sorted({*range(len(rows))}.difference(slot_of.values())))
    return Snapshot(rows, columns, slot_of, present.stores, present.revision)


class PastStores(LoadedStores):
    """The stores with the memories of a former time; nothing is loaded."""

    def __init__(self, present: LoadedStores, snapshot: Snapshot) -> None:
        self.lock = RLock()
        self.caches = present.caches
        self.snapshot = snapshot

    def limit_uses(self, view: StoreView, now: datetime) -> tuple[LimitUse, ...]:  # noqa: ARG002
        """Return (): how much was loaded at that time is not known."""
        return ()


class PastLibrary(Library):
    """The library as of a time; every method that would write raises Refused.

    Texts are searched by the index of the present and that of the former texts; the vectors are
    those of the present texts, so there is no search by meaning.
    """

    def __init__(self, library: Library, snapshot: Snapshot, at: datetime) -> None:
        super().__init__(library.stores, state=None, now=lambda: at, weights=library.weights)
        self.at = at
        self.queried = QueriedStores((), self.now)  # they answer of the present
        self.loaded = PastStores(library.loaded, snapshot)
        self._links = StoreLinks(self.loaded, library.state_folder, is_past=True)
        if library.index_state.snapshot is not None:
            self._index.share(library.index_state)
            self._index.extend_to(snapshot)

    def load(self, report: Report = silent, cancelled: IsCancelled = never) -> None:
        """Do nothing: the past does not change."""

    def refresh(self, cancelled: IsCancelled = never) -> bool:  # noqa: ARG002
        return False

    def refresh_files(self, paths: Collection[str]) -> bool:  # noqa: ARG002
        return False

    @property
    def refused(self) -> str:
        """Why nothing can be written."""
        return f"the library is shown as of {date(self.at)}; nothing can be changed there"

    def index(self, report: Report = silent, cancelled: IsCancelled = never) -> None:
        """Do nothing: the index of the present is used."""

    def save_index(self, cancelled: IsCancelled = never) -> None:
        """Do nothing: the caches are those of the present."""

    def embed(
        self,
        report: Report = silent,  # noqa: ARG002
        cancelled: IsCancelled = never,  # noqa: ARG002
    ) -> NoReturn:
        raise Refused(self.refused, do="go back to the present first")

    def refusal(self, act: Act, memory: Memory) -> str:  # noqa: ARG002
        return self.refused

    def plan(
        self,
        changes: Sequence[Change],  # noqa: ARG002
        title: str = "",  # noqa: ARG002
        report: Report = silent,  # noqa: ARG002
        cancelled: IsCancelled = never,  # noqa: ARG002
    ) -> Planned:
        raise Refused(self.refused, do="go back to the present first")

    @property
    def _change_writer(self) -> NoReturn:
        raise Refused(self.refused, do="go back to the present first")


def find_former_states(
    library: Library, at: datetime, cancelled: IsCancelled = never
) -> FormerStates:
    """Find what journal and git know of a time; where both know, the journal counts. A database is
    read from a copy in which the later row edits are undone.

    Args:
        library: The present.
        at: The time.
        cancelled: Asked while git is read.
    """
    memories: dict[str, Memory] = {}
    absent: set[str] = set()
    moment = at.timestamp()
    steps = read_steps(library.state_folder, lambda found: _earliest(found, moment), since=moment)
    for store in library.stores:
        if store.label in library.queried.stores:
            continue  # it keeps its own
        reader = FormerReader(store)
        journal = _from_journal(library, store, reader, steps)
        if reader.is_possible:
            for ref, memory in _from_git(library, store, reader, at, cancelled).items():
                if ref not in journal.memories and ref not in journal.absent:
                    memories[ref] = memory
        memories.update(journal.memories)
        absent.update(journal.absent)
    made_since = {ref for ref, former in memories.items() if former.created and former.created > at}
    known = {ref: former for ref, former in memories.items() if ref not in made_since}
    return FormerStates(known, frozenset(absent | made_since))


# ---- the journal --------------------------------------------------------------------------------


def _earliest(steps: Sequence[ActionStep], moment: float) -> list[ActionStep]:
    """For each target, find the edit since the moment that shows how it was then; of a
    database every edit."""
    # What was done since found how it was, also if it is undone now.
    since = [step for step in steps if step.action.time > moment]
    # What was undone since left how it was, also if it is redone now; the newest was undone first.
    undone = [
        replace(step, is_inverted=True)
        for step in as_last_made(steps)
        if step.action.time <= moment
    ]
    newest_first = [*since, *sorted(undone, key=lambda step: step.action.time)]
    chosen: dict[tuple[object, ...], ActionStep] = {}
    for number, step in enumerate(newest_first):
        outline = step.edit
        is_row = outline.kind is Kind.ROW
        chosen[(step.store, number) if is_row else (step.store, *_target(outline))] = step
    return list(chosen.values())


def _from_journal(
    library: Library, store: Store, reader: FormerReader, steps: Sequence[ActionStep]
) -> FormerStates:
    """Read the memories of one store as they were before memtui changed them.

    Args:
        steps: those that show how records, rows, files and sidecar entries were; those of rows come
            newest first.
    """
    edits = [step.edit for step in steps if step.store == str(store.root)]
    known: dict[str, Memory] = {}
    absent: set[str] = set()
    find = library.snapshot.find
    rows = [edit for edit in edits if edit.kind is Kind.ROW]
    if rows and (found := read_before(store, rows)) is not None:
        for ref, former in found[0].items():  # an entry of the sidecar that stayed counts again
            now = find(store.label, former.id)
            known[ref] = replace(former, pinned=former.pinned or (now is not None and now.pinned))
        absent |= found[1]
    # The memories of all files that memtui made, replaced or removed, read together.
    texts = {edit.path: edit.before for edit in edits if edit.kind in TEXTS}
    if texts:
        before: dict[str, Memory] = {}
        if reader.is_possible:
            files = reader.read_beside(texts)
            for path, text in texts.items():
                if text is not None:
                    files.append((path, text.encode("utf-8", "surrogateescape")))
            before = reader.read(files)
        for memory in library.memories(store.label):
            if memory.origin.file in texts and memory.id not in before:
                absent.add(memory.ref)
        known |= {m.ref: m for m in before.values() if m.origin.file in texts}
    for edit in edits:
        ref = f"{store.label}:{edit.id}" if edit.kind is Kind.RECORD else ""
        if ref and edit.before is None:
            absent.add(ref)
        elif ref and ref not in absent:
            read = reader.read([(edit.path, record_file(edit, edit.before))])
            if (before_edit := read.get(edit.id)) is not None:
                now = find(store.label, edit.id)
                known[ref] = before_edit if now is None else _with_former_state(now, before_edit)
    for edit in edits:
        if edit.kind is Kind.SIDECAR:  # it gave another status, or kept what the store removed
            ref = f"{store.label}:{edit.id}"
            was, then = edit.before or {}, edit.after or {}
            is_of_status = was.get("status") != then.get("status")
            memory_now = known.get(ref) or find(store.label, edit.id)
            if memory_now is None or ref in absent:
                continue
            if is_of_status or ("kept" in was) != ("kept" in then):
                status = str(was.get("status") or "active")
                known[ref] = replace(memory_now, status=status, superseded_by=())
    return FormerStates(known, frozenset(absent))


def _target(edit: Edit) -> tuple[str, ...]:
    """What an edit changes, so that two edits of the same thing are found."""
    if edit.kind is Kind.RECORD:
        return "record", edit.path, edit.id
    if edit.kind is Kind.SIDECAR:
        return "sidecar", edit.id
    return type(edit).__name__, edit.path


def _with_former_state(memory: Memory, former: Memory) -> Memory:
    """A memory with its former text and status.

    A record that is read alone does not show its successor, so a memory that was not in use then
    keeps its present status.
    """
    former_memory = replace(with_former_text(memory, former), entity=former.entity)
    if former.status in CURRENT:
        return replace(former_memory, status=former.status, superseded_by=())
    if memory.status in CURRENT:
        return replace(former_memory, status=former.status)
    return former_memory


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
        memory = library.snapshot.find(store.label, former.id)
        if memory is None:
            found[ref] = former
        elif memory.updated is None or memory.updated > at:
            former_values = (former.content, former.title, former.status)
            if former_values != (memory.content, memory.title, memory.status):
                found[ref] = _with_former_state(memory, former)
    return found


log = logging.getLogger(__name__)

MAX_DATABASE_BYTES = 512 * 1024 * 1024
"""Bytes of a database that is copied."""


def read_before(store: Store, edits: Sequence[Edit]) -> tuple[dict[str, Memory], set[str]] | None:
    """Read the memories that differ from the present.

    Args:
        store: A store in one database.
        edits: Row edits of it, newest first.

    Returns:
        Ref -> the memory before, and the refs of those that were not there; None if the database
        cannot be copied.
    """
    known = registry.format_of(store.format)
    file = Path(edits[0].path)
    with tempfile.TemporaryDirectory(prefix="memtui-former-") as folder:
        copy = Path(folder).resolve() / file.name
        try:
            if known is None or known.database is None:
                return None
            if file.stat().st_size > MAX_DATABASE_BYTES:
                return None
            known.database.copy(file, copy)
            _undo(copy, edits)
            root = known.detect(copy) or known.detect(copy.parent)
            if root is None:
                return None
            former = open_like(store, known, root)
            present = {shard.key: shard for shard in store.scan().shards}
            past = {shard.key: shard for shard in former.scan().shards}
            changed = [key for key in {**present, **past} if _differ(present, past, key)]
            now = _memories(store, [present[key] for key in changed if key in present])
            former_memories = _memories(former, [past[key] for key in changed if key in past])
        except Exception as error:  # a damaged database may fail in any way, a format too
            log.warning("the database as it was cannot be read: %r", error)
            return None
    placed = {
        ref: replace(memory, origin=replace(memory.origin, file=str(file)))
        for ref, memory in former_memories.items()
    }
    differing = {ref: memory for ref, memory in placed.items() if memory != now.get(ref)}
    return differing, now.keys() - placed.keys()


def _differ(present: Mapping[str, Shard], past: Mapping[str, Shard], key: str) -> bool:
    now, before = present.get(key), past.get(key)
    return now is None or before is None or now.stamp != before.stamp


def _memories(store: Store, shards: Sequence[Shard]) -> dict[str, Memory]:
    return {memory.ref: memory for shard in shards for memory in store.read(shard).memories}


def _undo(copy: Path, edits: Sequence[Edit]) -> None:
    """Undo the edits in the copy, without running the triggers of the schema: it is untrusted."""
    with closing(sqlite3.connect(copy)) as db, db:
        db.execute("PRAGMA trusted_schema = OFF")
        triggers = db.execute("SELECT name FROM sqlite_master WHERE type = 'trigger'").fetchall()
        for (name,) in triggers:
            db.execute(f"DROP TRIGGER {_quoted(name)}")
        for edit in edits:
            with suppress(sqlite3.IntegrityError):
                _undo_row(db, edit)


def _undo_row(db: sqlite3.Connection, edit: Edit) -> None:
    table = _quoted(edit.table)
    where = " AND ".join(f"{_quoted(name)} IS ?" for name in edit.row)
    keys = list(edit.row.values())
    if edit.before is None:
        db.execute(f"DELETE FROM {table} WHERE {where}", keys)
        return
    columns = {
        name: value
        for name, value in edit.before.items()
        if value is None or isinstance(value, str | int | float)
    }
    if not columns:
        return
    if edit.after is None:
        names = ", ".join(map(_quoted, columns))
        marks = ", ".join("?" * len(columns))
        db.execute(f"INSERT INTO {table} ({names}) VALUES ({marks})", list(columns.values()))
        return
    sets = ", ".join(f"{_quoted(name)} = ?" for name in columns)
    db.execute(f"UPDATE {table} SET {sets} WHERE {where}", [*columns.values(), *keys])


def _quoted(name: str) -> str:
    escaped = name.replace('"', '""')
    return f'"{escaped}"'
