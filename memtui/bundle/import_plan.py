"""An import into stores that exist, planned memory by memory before anything is done.

Each memory is new, the same as one that is there, in conflict with one that is there (it is
skipped and listed), or refused by the format. Nothing that is there is ever changed, superseded or
deleted. All of it is one action of the journal.
"""

from __future__ import annotations

import tempfile
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from datetime import datetime
from pathlib import Path

from memtui.bundle.bundle_reader import ImportDocument
from memtui.bundle.import_matching import MappedMemory, count_lost, guess_format, map_memory
from memtui.bundle.open_stores import OpenStores
from memtui.changes import Edit, Outcome, Plan, SidecarEdit, StoreEdits, TextEdit
from memtui.errors import MemtuiError, RefError, Refused
from memtui.files.reading import decode, encode
from memtui.model import Memory
from memtui.progress import Cancelled, IsCancelled, Progress, Report, never, silent
from memtui.stores.base import WritableStore
from memtui.stores.format import ExportRequest, Format, IncomingStore
from memtui.stores.registry import format_of

_COMPARED = ("content", "title", "type", "entity", "status", "created")
"""Fields that make two memories of one id the same."""
STEP = 50
"""Memories between two looks at whether the person has stopped it."""


@dataclass(frozen=True, slots=True)
class ImportConflict:
    """A memory that is skipped, because the store holds another under its id."""

    memory: Memory
    existing: str
    """Ref of what is there."""
    differs: tuple[str, ...]
    """The fields in which they differ."""


@dataclass(frozen=True, slots=True)
class RefusedMemory:
    """A memory that the store has no place for."""

    memory: Memory
    why: str


@dataclass(frozen=True, slots=True)
class StoreImport:
    """What one store of the file brings to one open store."""

    source: str
    """Label in the file."""
    target: str
    """Label of the open store."""
    new: tuple[MappedMemory, ...] = ()
    same: tuple[Memory, ...] = ()
    conflicts: tuple[ImportConflict, ...] = ()
    refused: tuple[RefusedMemory, ...] = ()
    reason: str = ""
    """The store's own words, where it plans the whole import itself."""

    @property
    def lost(self) -> dict[str, int]:
        """What the target cannot hold, and for how many memories."""
        return count_lost(self.new)


@dataclass(frozen=True, slots=True)
class ImportPlan:
    """All that an import would do."""

    title: str
    """How the log and the undo message name it."""
    imports: tuple[StoreImport, ...]
    plans: tuple[Plan, ...]
    parts: tuple[StoreEdits, ...]
    """The edits of each store, without repetitions."""

    @property
    def has_edits(self) -> bool:
        return bool(self.parts)

    @property
    def warnings(self) -> tuple[str, ...]:
        return tuple(dict.fromkeys(warning for plan in self.plans for warning in plan.warnings))

    @property
    def counts(self) -> dict[str, int]:
        names = ("new", "same", "conflicts", "refused")
        return {name: sum(len(getattr(i, name)) for i in self.imports) for name in names}

    @property
    def lost(self) -> dict[str, int]:
        return count_lost(item for part in self.imports for item in part.new)


def plan_import(
    document: ImportDocument,
    library: OpenStores,
    into: str = "",
    report: Report = silent,
    cancelled: IsCancelled = never,
) -> ImportPlan:
    """Plan it; nothing is written. `into`: label of the store that takes all of it.

    Without it each store of the file goes to the open store of its label and format, or the only
    one of its format. Raises Refused when there is none, Cancelled.
    """
    work = _Work(library, report, cancelled)
    imports = []
    for incoming in document.stores:
        target = library.store(into) if into else _target_of(incoming, library)
        if target.read_only:
            raise Refused(target.read_only, where=target.label)
        imports.append(work.one(incoming, target))
    count = sum(len(part.new) for part in imports)
    return ImportPlan(f"import {count} memories", tuple(imports), tuple(work.plans), work.parts)


def _target_of(incoming: IncomingStore, library: OpenStores) -> WritableStore:
    format = incoming.format or guess_format(incoming.label)
    alike = [store for store in library.stores if store.format == format]
    named = [store for store in alike if store.label == incoming.label]
    chosen = named or alike
    if len(chosen) == 1:
        return chosen[0]
    several = "several open stores are" if chosen else "no open store is"
    raise Refused(
        f"{several} of the format of {incoming.label} ({format or 'unknown'})",
        do="say where to with --into STORE",
    )


@dataclass(slots=True)
class _Work:
    """The edits gathered so far, each file made once."""

    library: OpenStores
    report: Report
    cancelled: IsCancelled
    plans: list[Plan] = field(default_factory=list)
    edits: dict[str, list[Edit]] = field(default_factory=dict)
    _made: dict[str, str | None] = field(default_factory=dict)
    _noted: dict[tuple[str, str], SidecarEdit] = field(default_factory=dict)

    @property
    def parts(self) -> tuple[StoreEdits, ...]:
        roots = {store.label: str(store.root) for store in self.library.stores}
        return tuple(
            StoreEdits(roots[label], tuple(edits)) for label, edits in self.edits.items() if edits
        )

    def one(self, incoming: IncomingStore, target: WritableStore) -> StoreImport:
        if incoming.format == target.format and (own := self._own_way(incoming, target)):
            return own
        there = _There(self.library, target)
        format = incoming.format or guess_format(incoming.label)
        new, same, conflicts, refused = [], [], [], []
        for number, memory in enumerate(incoming.memories):
            if number % STEP == 0:
                self._pause(f"planning {incoming.label}", number, len(incoming.memories))
            item = map_memory(memory, format, target, _document(incoming, memory))
            found = there.find(item)
            if found is not None:
                differs = _differences(item, found)
                if differs:
                    conflicts.append(ImportConflict(memory, found.ref, differs))
                else:
                    same.append(memory)
                continue
            try:
                plan = target.plan(item.change, self.library)
                self._take(target.label, plan)
            except MemtuiError as error:
                refused.append(RefusedMemory(memory, error.what))
                continue
            if plan.outcome is Outcome.DEDUPE or not plan.edits:
                conflicts.append(
                    ImportConflict(memory, "", (plan.reason or "it is there already",))
                )
            else:
                there.add(item)
                new.append(item)
        return StoreImport(
            incoming.label, target.label, tuple(new), tuple(same), tuple(conflicts), tuple(refused)
        )

    def _pause(self, what: str, done: int, total: int) -> None:
        if self.cancelled():
            raise Cancelled("stopped; nothing was imported")
        self.report(Progress(what, done, total))

    def _take(self, label: str, plan: Plan) -> None:
        """Add the plan's edits. Raises Refused when they do not go with those before."""
        fresh = [edit for edit in plan.edits if not self._is_made(edit)]
        for edit in fresh:
            if isinstance(edit, TextEdit) and edit.after is not None:
                encode(edit.after)
        for edit in fresh:
            if isinstance(edit, TextEdit):
                self._made[edit.path] = edit.after
            elif isinstance(edit, SidecarEdit):
                self._noted[edit.root, edit.id] = edit
        self.plans.append(plan)
        self.edits.setdefault(label, []).extend(fresh)

    def _is_made(self, edit: Edit) -> bool:
        """Whether a memory before this one asks for the same file or note already."""
        if isinstance(edit, SidecarEdit):
            known = self._noted.get((edit.root, edit.id))
            if known is not None and known != edit:
                raise Refused("another memory of the import has the same id")
            return known is not None
        if not isinstance(edit, TextEdit) or edit.path not in self._made:
            return False
        if self._made[edit.path] != edit.after:
            raise Refused("another memory of the import goes to the same file", where=edit.path)
        return True

    def _own_way(self, incoming: IncomingStore, target: WritableStore) -> StoreImport | None:
        """The import that the store plans itself, rows and relations included."""
        known = format_of(target.format)
        if known is None or known.document is None or known.document.plan_import is None:
            return None
        text = incoming.document or _exported(incoming, known, self.library.now())
        if not text:
            return None
        self._pause(f"planning {incoming.label}", 0, 0)
        plan = known.document.plan_import(target, text)
        self._take(target.label, plan)
        there = _There(self.library, target)
        found = [(item, there.find(item)) for item in _all_mapped(incoming, target)]
        return StoreImport(
            incoming.label,
            target.label,
            new=tuple(item for item, known in found if known is None),
            same=tuple(i.memory for i, k in found if k is not None and not _differences(i, k)),
            conflicts=tuple(
                ImportConflict(item.memory, known.ref, differs)
                for item, known in found
                if known is not None and (differs := _differences(item, known))
            ),
            reason=plan.reason,
        )


def _all_mapped(incoming: IncomingStore, target: WritableStore) -> Iterable[MappedMemory]:
    return (map_memory(memory, incoming.format, target) for memory in incoming.memories)


def _exported(incoming: IncomingStore, known: Format, now: datetime) -> str:
    """The export that the store's own program would make of these rows; empty without rows."""
    if incoming.rows is None or known.database is None or known.document is None:
        return ""
    with tempfile.TemporaryDirectory(prefix="memtui-import-") as folder:
        known.database.rebuild(incoming.rows(), Path(folder) / known.database.name)
        store = known.open(Path(folder), known.name)
        request = ExportRequest((), (store,), now, complete=(store.label,), whole=True)
        return known.document.export(request).text


def _document(incoming: IncomingStore, memory: Memory) -> str | None:
    """The text of the file that is this memory, where a memory is a file."""
    if memory.kind not in ("document", "note") or memory.origin.file not in incoming.files:
        return None
    return decode(incoming.files[memory.origin.file]())


class _There:
    """The memories of a store by all that they can be found again by."""

    def __init__(self, library: OpenStores, store: WritableStore) -> None:
        self._library = library
        self._store = store
        known = format_of(store.format)
        self._identity = known.transfer.identity if known and known.transfer else ""
        self._by_name: dict[str, Memory] = {}
        self._added: set[str] = set()
        if self._identity:
            for memory in library.memories(store.label):
                name = memory.extra.get(self._identity)
                if isinstance(name, str):
                    self._by_name[name] = memory

    def find(self, item: MappedMemory) -> Memory | None:
        """The memory that is there under the id (or the name) that this one would get."""
        fields = item.change.fields
        extra = fields.get("extra")
        name = extra.get(self._identity) if isinstance(extra, Mapping) else None
        if self._identity and isinstance(name, str):
            return self._by_name.get(name)
        id = str(fields.get("id") or "")
        if id in self._added:
            return item.memory
        try:
            return self._library.get(f"{self._store.label}:{id}") if id else None
        except RefError:
            return None

    def add(self, item: MappedMemory) -> None:
        """It will be there once the import is done."""
        self._added.add(str(item.change.fields.get("id") or ""))


def _differences(item: MappedMemory, there: Memory) -> tuple[str, ...]:
    """The fields in which what would be added differs from what is there."""
    if item.memory is there:
        return ()
    if item.native:
        return tuple(n for n in _COMPARED if getattr(item.memory, n) != getattr(there, n))
    wanted = str(item.change.fields.get("content") or "").strip()
    return () if wanted in there.content else ("content",)
