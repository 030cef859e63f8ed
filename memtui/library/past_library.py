"""The library as of a time: it reads and searches like the present one, and refuses to write."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from datetime import datetime
from threading import RLock
from typing import TYPE_CHECKING, NoReturn

from msgspec.structs import replace

from memtui.changes import Act, Change, Kind
from memtui.errors import RefError, Refused, StoreError
from memtui.files.git_history import GitHistory
from memtui.insight import versions
from memtui.insight.comparison import COMPARED
from memtui.insight.link_statements import find_end
from memtui.insight.versions import FormerStates
from memtui.journal import ActionStep, as_last_made
from memtui.library import kept_texts
from memtui.library.former_versions import (
    FormerReader,
    read_present,
    read_steps,
    with_former_text,
)
from memtui.library.held_stores import memories_at
from memtui.library.kept_texts import KeptState
from memtui.library.library import Library
from memtui.library.links import StoreLinks
from memtui.library.loaded_stores import LoadedStores
from memtui.library.queried_stores import QueriedStores
from memtui.library.snapshot import Rows, Snapshot
from memtui.model import CURRENT, Memory
from memtui.progress import IsCancelled, Report, never, silent
from memtui.search import columns as columns_of
from memtui.stores.base import LimitUse, Store, StoreView
from memtui.stores.values import as_moment
from memtui.text import date, is_mask_of, mask_all_secrets, one_line
from memtui.text.secrets import DOT

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
    at = as_moment(at)  # a memory of exactly this midnight had been made by then
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
    past = PastLibrary(library, _snapshot_at(library.snapshot, at, former), at, former.same)
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

    def __init__(
        self, library: Library, snapshot: Snapshot, at: datetime, same: frozenset[str]
    ) -> None:
        super().__init__(library.stores, state=None, now=lambda: at, weights=library.weights)
        self.at = at
        self._present = library
        self.same = same
        """Refs of memories that are known to be the same today."""
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

    def resolve(self, text: str) -> Memory:
        try:
            return super().resolve(text)
        except RefError as error:
            try:
                now = self._present.resolve(text)
            except RefError:
                raise error from None
            if now.store in self._present.queried.stores or now.ref in self.snapshot.slot_of:
                raise
            begun = now.created or now.updated
            is_later = begun is not None and begun > self.at
            raise RefError(
                f"{one_line(now.ref)} was not known at {date(self.at)}",
                do=f"give a time after {date(begun)}" if is_later else "give a later time",
            ) from None

    @property
    def refused(self) -> str:
        """Why nothing can be written."""
        return f"the library is shown as of {date(self.at)}; nothing can be changed there"

    def index(self, report: Report = silent, cancelled: IsCancelled = never) -> None:
        """Do nothing: the index of the present is used."""

    def save_index(self, cancelled: IsCancelled = never, share: float = 0.0) -> None:
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
    """Find what is known of a time: by what memtui kept when it looked, and, for a time before the
    first look, by git; the status that memtui's own notes gave is told by the journal.

    Args:
        library: The present.
        at: The time.
        cancelled: Asked while git is read.
    """
    memories: dict[str, Memory] = {}
    absent: set[str] = set()
    same: set[str] = set()
    seen: set[str] = set()
    """Refs of memories that were there for certain, whatever their times say: those of files."""
    moment = at.timestamp()
    steps = read_steps(library.state_folder, lambda found: _earliest(found, moment), since=moment)
    for store in library.stores:
        if store.label in library.queried.stores:
            continue  # it keeps its own
        reader = FormerReader(store)
        state = kept_texts.state_at(store, library.state_folder, at)
        noted = dict(_statuses_at(library, store, steps))
        found = _from_kept(library, store, reader, state, noted.keys())
        memories.update(found.memories)
        absent |= found.absent
        same |= found.same
        seen |= found.memories.keys() if state.is_whole else set()
        if reader.is_possible and not state.is_whole:  # git may know an older text
            older = _from_git(library, store, reader, at, cancelled)
            memories.update(older)
            same -= older.keys()
        for ref, status in noted.items():
            then = memories.get(ref) or replace(library.get(ref), status="active")
            if ref not in absent:
                memories[ref] = replace(then, status=status or then.status, superseded_by=())
    made_since = {
        ref
        for ref, former in memories.items()
        if ref not in seen and former.created and former.created > at
    }
    known = {ref: former for ref, former in memories.items() if ref not in made_since}
    return FormerStates(known, frozenset(absent | made_since), frozenset(same))


# ---- memtui's own notes -------------------------------------------------------------------------


def _statuses_at(
    library: Library, store: Store, steps: Iterable[ActionStep]
) -> Iterator[tuple[str, str]]:
    """The refs of memories to which memtui's own notes have given another status since, each with
    the status that they gave it then; "" for none.

    Args:
        library, store: The present.
        steps: For each note the edit since the time that shows how it was.
    """
    for step in steps:
        edit, was, then = step.edit, step.edit.before or {}, step.edit.after or {}
        changes_status = was.get("status") != then.get("status")
        if changes_status or ("kept" in was) != ("kept" in then):
            memory = library.snapshot.find(store.label, edit.id)
            if step.store == str(store.root) and memory is not None:
                yield memory.ref, str(was.get("status") or "")


def _earliest(steps: Sequence[ActionStep], moment: float) -> list[ActionStep]:
    """For each note of a memory the edit since the moment that shows how it was then."""
    notes = [step for step in steps if step.edit.kind is Kind.SIDECAR]
    # What was done since found how it was, also if it is undone now.
    since = [step for step in notes if step.action.time > moment]
    # What was undone since left how it was, also if it is redone now; the newest was undone first.
    undone = [
        replace(step, is_inverted=True)
        for step in as_last_made(notes)
        if step.action.time <= moment
    ]
    newest_first = [*since, *sorted(undone, key=lambda step: step.action.time)]
    return list({(step.store, step.edit.id): step for step in newest_first}.values())


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


# ---- what was kept at each look -----------------------------------------------------------------


def _from_kept(
    library: Library,
    store: Store,
    reader: FormerReader,
    state: KeptState,
    noted: Collection[str],
) -> FormerStates:
    """What was kept of a time. `noted`: refs whose status is told by memtui's own notes."""
    then = dict(state.memories)
    absent = {f"{store.label}:{id}" for id in state.absent}
    read_now: Mapping[str, Memory] = {}
    files = state.files if reader.is_possible else {}
    if files:
        texts = {file: kept.text for file, kept in files.items() if kept.text is not None}
        beside = reader.read_beside(texts)
        read = reader.read([*beside, *texts.items()])
        then |= {id: memory for id, memory in read.items() if memory.origin.file in texts}
        read_now = reader.read([*beside, *read_present(texts)])
    present = library.memories(store.label)
    _unmask(then, present)
    absent |= {m.ref for m in present if m.origin.file in files and m.id not in then}
    found: dict[str, Memory] = {}
    same: set[str] = set()
    for id, former in then.items():
        ref, now = f"{store.label}:{id}", library.snapshot.find(store.label, id)
        if now is None:
            found[ref] = former
            continue
        found[ref] = _with_former_state(now, former)
        is_noted_still = id in read_now and read_now[id].status == former.status
        if is_noted_still and ref not in noted:
            found[ref] = replace(found[ref], status=now.status, superseded_by=now.superseded_by)
        # A memory that was taken out of its file is retired today, and has its text still.
        if all(getattr(now, name) == getattr(found[ref], name) for name in (*COMPARED, "status")):
            same.add(ref)
    return FormerStates(found, frozenset(absent), frozenset(same))


def _unmask(then: dict[str, Memory], present: Iterable[Memory]) -> None:
    """Give memories that were kept with secrets masked, and have these texts still, those of now.

    A list of texts names each by its text, so a masked one has another id.
    """
    masked = {(m.origin.file, m.full_text): id for id, m in then.items() if DOT in m.full_text}
    for now in present if masked else ():
        id = now.id
        if id not in then:
            id = masked.get((now.origin.file, mask_all_secrets(now.full_text)), "")
        if (former := then.pop(id, None)) is not None:
            texts = {
                name: text
                for name in ("title", "content")
                if is_mask_of(getattr(former, name), text := getattr(now, name))
            }
            then[now.id] = replace(former, id=now.id, ref=now.ref, **texts)


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
