"""Base classes of stores made of files: of any files, of text files.

A format lists its shards, reads one of them, gives the context of planning and the handlers of its
acts (`ActionSupport`). `FileStore` does the rest: stamps, the sidecar laid over the memories, acts
whose result lies only in the sidecar, refusals, saving.
"""

from __future__ import annotations

import os
from abc import abstractmethod
from collections.abc import Callable, Collection, Iterable, Sequence
from datetime import datetime
from pathlib import Path
from typing import Any, ClassVar

from memtui.changes import TEXTS, Act, Change, Edit, Plan
from memtui.errors import Refused, UnreadableFile
from memtui.files.locking import make_foreign_lock
from memtui.files.permissions import has_write_permission
from memtui.files.reading import (
    IS_EMPTY,
    read_text_file,
)
from memtui.model import HIDDEN, Memory
from memtui.stores import accesses, plans
from memtui.stores.base import (
    Reading,
    Scan,
    Shard,
    Store,
    StoreView,
    Unreadable,
    WriteRecorder,
    Written,
)
from memtui.stores.importing import is_import
from memtui.stores.scanning import (
    FoundShard,
    LastRead,
    SidecarReader,
    as_unreadable,
    build_scan,
    dated_by_file,
    stamp_shards,
)
from memtui.stores.sidecar import KEPT_SHARD, Sidecar, apply_overlay, read_kept_shard
from memtui.stores.values import utc_now

NO_PROPOSALS = "its program has no proposals to decide on"


class FileStore(Store):
    """A store made of files, at a root, under a label."""

    format: str
    acts: plans.ActionSupport
    context: ClassVar[type[plans.PlanContext]] = plans.PlanContext
    """What planning starts from."""
    has_no_times: ClassVar[bool] = False
    """Whether its memories have no times of their own, so that their files' are taken. Where some
    have, the file's time is that of the newest of them."""
    locked_files: Collection[str] = ()
    """Names of the files beside which the program locks a `NAME.lock` while it writes them."""
    rescans = False
    """Whether the stamp of a shard depends on other files too, so that `look_again` must scan."""

    def __init__(self, root: Path, label: str, now: Callable[[], datetime] = utc_now) -> None:
        self.root = root
        self.label = label
        self.now = now
        self.sidecar = SidecarReader(root)
        self.accesses = self.access_file()
        self.last: LastRead[Any] = LastRead()
        """What was read to plan the last change."""

    # ---- implemented by a format --------------------------------------------------------------

    @abstractmethod
    def find_shards(self) -> Iterable[FoundShard | Unreadable]:
        """List the shards on disk, in reading order, by stat calls only."""

    @abstractmethod
    def read_files(self, shard: Shard, sidecar: Sidecar) -> Reading:
        """The memories of one shard as its files have them."""

    def access_file(self) -> accesses.AccessFile:
        """The file of access counts; overridden by formats that have one of their own."""
        return accesses.sidecar_access_file(self.root)

    def access_key(self, memory: Memory) -> accesses.AccessKey | None:
        """Key of a memory's access count; None if it cannot be counted."""
        return accesses.AccessKey(accesses.MEMORIES, memory.id, self.acts.shard_of(memory))

    # ---- common to all formats ----------------------------------------------------------------

    @property
    def read_only(self) -> str:
        """Why nothing can be written in this folder; empty when it can."""
        return explain_read_only(self.root)

    @property
    def boundary(self) -> Path:
        """What nothing that is written leaves, whatever links lead there: the root, or its folder
        where that is a file."""
        return self.root

    @property
    def editable(self) -> frozenset[str]:
        """The fields that EDIT can change."""
        return self.acts.editable

    def plan_context(self, view: StoreView) -> Any:
        """The context of planning a change now."""
        return self.context(self, view, self.sidecar.current(), self.now())

    def scan(self) -> Scan:
        """The shards of `find_shards`, and one for memories that only the sidecar still holds."""
        scan = build_scan(self.root, self.sidecar.current(), self.find_shards(), self.owns_shard)
        return accesses.mark_scan(scan, self.accesses.current())

    def owns_shard(self, key: str) -> bool:
        """Whether a shard that this store does not list was of it: stores of two formats at one
        root share a sidecar. What lies in hidden folders is mostly rules, of another store."""
        return not key.startswith(".")

    def look_again(self, shards: Sequence[Shard]) -> Sequence[Shard]:
        """Stamp these shards as `scan` would; those with a missing file are left out."""
        if self.rescans:
            return super().look_again(shards)
        existing = [shard for shard in shards if all(map(os.path.exists, shard.files))]
        found = [
            FoundShard(shard.key, shard.files) for shard in existing if shard.key != KEPT_SHARD
        ]
        if not found:
            return []
        return accesses.mark_shards(
            stamp_shards(self.sidecar.current(), found), self.accesses.current()
        )

    def sidecar_read(self) -> Sidecar:
        """The sidecar that `read` lays over the memories."""
        return self.sidecar.current()

    def read(self, shard: Shard) -> Reading:
        """The memories of one shard, with what memtui keeps about them."""
        sidecar = self.sidecar_read()
        if shard.key == KEPT_SHARD:
            others = [other for other in self.scan().shards if other.key != KEPT_SHARD]
            return read_kept_shard(sidecar, others, self.label, self.owns_shard)
        reading = self.read_files(shard, sidecar)
        found = reading.memories
        if self.has_no_times:
            found = tuple(dated_by_file(found))
        memories = apply_overlay(found, sidecar, shard.key, self.label)
        log = self.accesses.current()
        if log.counts:
            memories = tuple(self._with_accesses(memory, log) for memory in memories)
        return Reading(memories, reading.unreadable)

    def _with_accesses(self, memory: Memory, log: accesses.AccessLog) -> Memory:
        key = self.access_key(memory)
        return memory if key is None else accesses.with_accesses(memory, log, key.group, key.key)

    def plan_accesses(self, memories: Sequence[Memory], now: datetime) -> Sequence[Edit]:
        """The edits that count one access of each memory. Raises Refused."""
        if self.read_only:
            raise Refused(self.read_only, where=str(self.root))
        keys = [key for memory in memories if (key := self.access_key(memory)) is not None]
        return self.accesses.plan(keys, now) if keys else ()

    def refusal(self, act: Act, memory: Memory | None) -> str:
        """Why this act cannot be done; empty when it can."""
        if why := self.read_only or self._refusal_of_format(act, memory):
            return why
        if memory is None or act is Act.ADD or act in plans.SIDECAR_ACTS:
            return ""
        is_only_hidden = act is Act.RESTORE and HIDDEN in memory.extra
        return "" if is_only_hidden else explain_read_only_file(memory)

    def _refusal_of_format(self, act: Act, memory: Memory | None) -> str:
        """Why this act cannot be done whatever may be written."""
        if act is Act.ADD:
            return self.acts.unsupported.get(act, "")
        if act is Act.RESTORE and memory is not None and HIDDEN in memory.extra:
            return ""
        if act not in self.acts.handlers and act not in plans.SIDECAR_ACTS:
            is_decision = act in (Act.ACCEPT, Act.DECLINE)
            other = NO_PROPOSALS if is_decision else "this format has no way to do it"
            return self.acts.unsupported.get(act, other)
        if memory is None:
            return ""
        if act is Act.HIDE:
            if memory.status != "active":
                return f"it is {memory.status} already"
            can_retire = not self._refusal_of_format(Act.RETIRE, memory)
            return "its format can retire it" if can_retire else ""
        return self.acts.not_on(act, memory)

    def plan(self, change: Change, view: StoreView) -> Plan:
        """The exact edits of a change. Raises Refused, Conflict or RefError; writes nothing."""
        memory = None if change.act is Act.ADD else view.get(change.ref)
        why = self.refusal(change.act, memory)
        if why:
            raise Refused(why, where=change.ref or str(self.root))
        context = self.plan_context(view)
        if memory is None:
            add = self.acts.add_imported if is_import(change) else None
            plan = (add or self.acts.add)(change, context)
            return plan if is_import(change) else plans.with_succession(plan, change, context)
        doing = self.acts.handlers.get(change.act)
        if change.act is Act.RESTORE and HIDDEN in memory.extra:
            doing = None
        if plans.leads_to_other_store(change, memory, view):
            doing = None  # no format holds a link to another store: it lies in the sidecar
        done = None if doing is None else doing(change, memory, context)
        if done is None:
            native_tags, entry = self.acts.native_tags(memory), context.sidecar_entry(memory)
            return plans.plan_sidecar_act(change, entry, context.now, native_tags)
        if change.act is Act.MERGE and done.edits:
            done = plans.with_moved_references(done, memory, context)
        return plans.with_succession(done, change, context)

    def apply(self, edits: Sequence[Edit], recorder: WriteRecorder) -> Written | None:
        """Make the edits. Raises Conflict or SaveError."""
        from memtui.files.save_transaction import commit

        for path in {edit.path for edit in edits if edit.kind in TEXTS}:
            if os.path.basename(path) in self.locked_files:
                make_foreign_lock(Path(path))
        commit(edits, recorder, self.check_written, root=self.boundary)
        return None

    def check_written(self, path: Path, before: str | None, after: str | None) -> None:
        """Raise Refused where the store's program would refuse a text, just before it is written.

        Another program may have changed the file since the edit was planned.
        """


# ---- text files ---------------------------------------------------------------------------------


class TextFileStore(FileStore):
    """A store whose shards are one text file each, read whole; a format parses the text."""

    @abstractmethod
    def read_text(self, key: str, path: Path, text: str, sidecar: Sidecar) -> Reading:
        """The memories in the text of a shard's file."""

    def is_cut_off(self, key: str, text: str) -> bool:  # noqa: ARG002
        """Whether a file with this text is unreadable, because its program never writes one."""
        return False

    @property
    def folder(self) -> Path:
        """The root, or its folder if it is a file; symbolic links must not lead out of it."""
        return self.root if self.root.is_dir() else self.root.parent

    def read_files(self, shard: Shard, sidecar: Sidecar) -> Reading:
        path = Path(shard.files[0])
        try:
            text = read_text_file(path, self.folder)
            if self.is_cut_off(shard.key, text):
                raise UnreadableFile(IS_EMPTY)
            return self.read_text(shard.key, path, text, sidecar)
        except UnreadableFile as error:
            return Reading((), (as_unreadable(error, path),))

    def text_of(self, path: str) -> str | None:
        """The text of a file, named relative to the root; None if it cannot be read."""
        try:
            return read_text_file(self.root / path, self.root)
        except UnreadableFile:
            return None


def explain_read_only_file(memory: Memory) -> str:
    """Return why the file of a memory cannot be replaced; empty when it can, or is gone."""
    file = memory.origin.file
    folder = os.path.dirname(os.path.realpath(file) if os.path.islink(file) else file)
    is_closed = os.path.isdir(folder) and not has_write_permission(folder)
    return "the folder of its file has no write permission" if is_closed else ""


def explain_read_only(folder: Path) -> str:
    """Return why nothing can be written in this folder; empty when it can."""
    if has_write_permission(folder):
        return ""
    return "the folder has no write permission" if folder.is_dir() else "the folder is gone"
