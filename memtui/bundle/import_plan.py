"""Plan an import into open stores, memory by memory.

Each memory is new, the same as an existing one, in conflict with an existing one or an earlier one
of the file (then it is skipped and listed), or rejected by the store. An import never changes,
supersedes or deletes existing memories. It is one action of the journal.

Within a format every field is kept; across formats the target's `TransferSupport.convert` decides.
The id is kept where possible, and a converted memory names the ref it came from, so that a second
import finds it again.
"""

from __future__ import annotations

import tempfile
from collections import Counter
from collections.abc import Mapping
from contextlib import suppress
from datetime import datetime
from pathlib import Path

from msgspec import Struct, field
from msgspec.structs import replace

from memtui.bundle.bundle_reader import ImportDocument, has_database, place_database
from memtui.changes import SHARED_TEXTS, TEXTS, Act, Change, Edit, Kind, Outcome, Plan, StoreEdits
from memtui.errors import AmbiguousPlace, MemtuiError, RefError, Refused
from memtui.files.reading import encode
from memtui.model import Memory
from memtui.progress import Cancelled, IsCancelled, Progress, Report, never, silent
from memtui.stores import registry
from memtui.stores.base import OpenStores, Store
from memtui.stores.format import ExchangeDocument, ExportRequest, Format, IncomingStore
from memtui.stores.plans import BatchView
from memtui.stores.registry import format_of
from memtui.text import counted, cut_line
from memtui.upkeep.checks import find_dangers

_NOT_IMPORTED = frozenset({"ref", "store", "origin", "also", "also_entities"})
"""Fields that say where the memory was stored."""
_PLACES = frozenset({"branches"})
"""Keys of `extra` that say where in its project a memory is."""
_COMPARED = ("content", "title", "type", "entity", "status", "created")
"""Fields in which two memories of one id must be equal to count as the same."""


class MappedMemory(Struct, frozen=True):
    """A memory of the file and the change that adds it to the target."""

    memory: Memory
    change: Change
    native: bool
    """Whether it comes from the same format, with all its fields."""
    lost: tuple[str, ...] = ()
    """Names of what the target cannot store."""


def guess_format(label: str) -> str:
    """Return the format that a store's label suggests; "" if none."""
    for known in registry.formats():
        if label == known.name or label.startswith(f"{known.name}-"):
            return known.name
    return ""


def map_memory(
    memory: Memory, format: str, target: Store, document: str | None = None, entity: str = ""
) -> MappedMemory:
    """Return a memory of the file with the change that adds it to the target.

    Args:
        memory: of the file.
        format: name of the format it comes from.
        target: the store that gets it.
        document: the text of its whole file, where the memory is a file.
        entity: the project that gets it, with its branch; empty: as the memory says.
    """
    known = format_of(target.format)
    convert = known.transfer.convert if known else None
    lost: tuple[str, ...] = ()
    native = (format == target.format and entity in ("", memory.entity)) or convert is None
    if native or convert is None:
        names = memory.__struct_fields__
        values = {name: getattr(memory, name) for name in names if name not in _NOT_IMPORTED}
        if document is not None:
            values["document"] = document
    else:
        converted = convert(memory)
        values, lost = dict(converted.fields), converted.lost
        if entity:
            extra = values.get("extra") or {}
            values["extra"] = {k: v for k, v in extra.items() if k not in _PLACES}
            values["entity"] = entity
            lost = tuple(name for name in lost if not name.startswith("entity "))
            if memory.entity not in ("", entity):
                lost += (f"entity (becomes {entity})",)
    change = Change(Act.ADD, target.label, "", values, force=True)
    return MappedMemory(memory, change, native, lost)


class ExistingMemories:
    """Finds the memory of a store, or of the file, that an imported one would duplicate."""

    def __init__(self, library: OpenStores, store: Store) -> None:
        self._library = library
        self._label = store.label
        known = format_of(store.format)
        self._identity = known.transfer.identity if known else ""
        self._known: dict[tuple[str, str], Memory] = {}
        for memory in library.memories(store.label) if self._identity else ():
            if isinstance(name := memory.extra.get(self._identity), str):
                self._known[self._identity, name] = memory

    def _key(self, item: MappedMemory) -> tuple[str, str]:
        """`TransferSupport.identity` and its value, or "" and the id that the memory would get."""
        extra = item.change.fields.get("extra")
        name = extra.get(self._identity) if isinstance(extra, Mapping) else None
        if self._identity and isinstance(name, str):
            return self._identity, name
        return "", str(item.change.fields.get("id") or "")

    def find(self, item: MappedMemory) -> Memory | None:
        """Return the memory with the id (or `TransferSupport.identity`) that this one would get."""
        identity, id = key = self._key(item)
        if key not in self._known and id and not identity:
            with suppress(RefError):
                return self._library.get(f"{self._label}:{id}")
        return self._known.get(key)

    def add(self, item: MappedMemory) -> None:
        """Count this memory of the file as existing: an earlier part of the import adds it."""
        if any(key := self._key(item)):
            self._known[key] = item.memory


def list_differences(item: MappedMemory, existing: Memory) -> tuple[str, ...]:
    """Names of the fields in which the imported `item` differs from the `existing` memory."""
    if _is_comparable(item, existing):
        return tuple(n for n in _COMPARED if getattr(item.memory, n) != getattr(existing, n))
    imported = str(item.change.fields.get("content") or "").strip()
    return () if imported in existing.content else ("content",)


def _is_comparable(item: MappedMemory, existing: Memory) -> bool:
    """Whether both are as one format has them: of the same format, or both of the file."""
    return item.native or existing.ref == item.memory.ref


MEMORIES_PER_REPORT = 50
"""Memories between two progress reports."""


class ImportConflict(Struct, frozen=True):
    """A memory that is skipped, because the store or the file has another one with its id."""

    memory: Memory
    existing: str
    """Ref of the other memory; empty where the store found a duplicate by itself."""
    differs: tuple[str, ...]
    """Names of the fields in which they differ, or the store's reason."""


class RefusedMemory(Struct, frozen=True):
    """A memory that the store rejects."""

    memory: Memory
    why: str


class StoreImport(Struct, frozen=True):
    """What one store of the file adds to one open store."""

    source: str
    """Label in the file."""
    target: str
    """Label of the open store."""
    new: tuple[MappedMemory, ...] = ()
    same: tuple[Memory, ...] = ()
    conflicts: tuple[ImportConflict, ...] = ()
    refused: tuple[RefusedMemory, ...] = ()
    reason: str = ""
    """The store's own summary, where it plans the whole import itself."""
    is_published: bool = False
    """The target is read by other people."""

    @property
    def dangers(self) -> dict[str, tuple[str, ...]]:
        """Headline of each memory that would be published and should not be before somebody has
        looked at it -> its secrets and planted instructions."""
        memories = [item.memory for item in self.new] if self.is_published else []
        found = ((cut_line(each.headline, 60), find_dangers(each)) for each in memories)
        return {name: tuple(dangers) for name, dangers in found if dangers}


class ImportPlan(Struct, frozen=True):
    """Everything that an import would do."""

    title: str
    """Its name in the log and the undo message."""
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
        """How many memories are `new`, `same`, in `conflicts` and `refused`."""
        names = ("new", "same", "conflicts", "refused")
        return {name: sum(len(getattr(i, name)) for i in self.imports) for name in names}

    @property
    def lost(self) -> dict[str, int]:
        """Name of each thing the targets cannot store -> how many memories lose it, the most
        frequent first."""
        items = (item for store_import in self.imports for item in store_import.new)
        found = Counter(name for item in items for name in item.lost)
        return dict(sorted(found.items(), key=lambda pair: (-pair[1], pair[0])))


def plan_import(
    document: ImportDocument,
    library: OpenStores,
    into: str = "",
    report: Report = silent,
    cancelled: IsCancelled = never,
    *,
    entity: str = "",
) -> ImportPlan:
    """Return the plan of importing a document; nothing is written.

    Args:
        document: see `read_document`.
        library: the open stores.
        into: label of the store that gets everything; else each store of the document goes to the
            open store of its label and format, or to the only one of its format.
        report: called with the memories planned.
        cancelled: asked every `MEMORIES_PER_REPORT` memories.
        entity: the project that gets them all, with its branch; empty: as each memory says.

    Raises:
        AmbiguousPlace: the store has several projects, and a memory names none of them.
        Refused: there is no such store, or it is read-only.
        Cancelled: `cancelled` returned True.
    """
    planner = _Planner(library, report, cancelled, entity)
    imports = []
    for incoming in document.stores:
        target = library.store(into) if into else _find_target(incoming, library)
        if target.read_only:
            raise Refused(target.read_only, where=target.label)
        imports.append(planner.plan_store(incoming, target))
    count = sum(len(store_import.new) for store_import in imports)
    return ImportPlan(
        f"import {counted(count, 'memory')}", tuple(imports), tuple(planner.plans), planner.parts
    )


def _find_target(incoming: IncomingStore, library: OpenStores) -> Store:
    format = incoming.format or guess_format(incoming.label)
    alike = [store for store in library.stores if store.format == format]
    named = [store for store in alike if store.label == incoming.label]
    chosen = named or alike
    if len(chosen) == 1:
        return chosen[0]
    which = "several open stores have" if chosen else "no open store has"
    raise Refused(
        f"{which} the format of {incoming.label}{f', {format}' * (format != incoming.label)}",
        do="choose the store to import into",
    )


class _Planner(Struct):
    """Collects the plans and edits of an import, each edit once."""

    library: OpenStores
    report: Report
    cancelled: IsCancelled
    entity: str
    plans: list[Plan] = field(default_factory=list)
    edits: dict[str, list[Edit]] = field(default_factory=dict)
    _files: dict[str, str | None] = field(default_factory=dict)
    _sidecar_edits: dict[tuple[str, str], Edit] = field(default_factory=dict)

    @property
    def parts(self) -> tuple[StoreEdits, ...]:
        roots = {store.label: str(store.root) for store in self.library.stores}
        return tuple(
            StoreEdits(roots[label], tuple(edits)) for label, edits in self.edits.items() if edits
        )

    def plan_store(self, incoming: IncomingStore, target: Store) -> StoreImport:
        is_own = incoming.format == target.format and not self.entity
        if is_own and (own := self._plan_by_store(incoming, target)):
            return own
        existing = ExistingMemories(self.library, target)
        format = incoming.format or guess_format(incoming.label)
        new, unchanged, conflicts, refused = [], [], [], []
        for number, memory in enumerate(incoming.memories):
            if number % MEMORIES_PER_REPORT == 0:
                self._report(f"planning {incoming.label}", number, len(incoming.memories))
            item = map_memory(memory, format, target, incoming.text_of(memory), self.entity)
            found = existing.find(item)
            differs = () if found is None else list_differences(item, found)
            if found is not None and (_is_comparable(item, found) or not differs):
                if differs:
                    conflicts.append(ImportConflict(memory, found.ref, differs))
                else:
                    unchanged.append(memory)
                continue
            try:
                plan = target.plan(item.change, BatchView(self.library, self.plans))
                self._add_plan(target.label, plan)
            except AmbiguousPlace:
                raise
            except MemtuiError as error:
                refused.append(RefusedMemory(memory, error.what))
                continue
            if plan.outcome is Outcome.DEDUPE or not plan.edits:
                if conflict := self._conflict(item, plan, found):
                    conflicts.append(conflict)
                else:
                    unchanged.append(memory)
            else:
                existing.add(item)
                new.append(replace(item, lost=(*item.lost, *plan.lost)))
        source, label, differing = incoming.label, target.label, tuple(conflicts)
        lists = tuple(new), tuple(unchanged), differing, tuple(refused)
        return StoreImport(source, label, *lists, is_published=target.is_shared)

    def _conflict(
        self, item: MappedMemory, plan: Plan, found: Memory | None
    ) -> ImportConflict | None:
        """The conflict of a memory that the store takes for one it has; None if it is the same.

        A ref that does not exist yet is of a memory that this import adds with the same text.
        """
        if found is None and plan.refs:
            try:
                found = self.library.get(plan.refs[0])
            except RefError:
                return None
        differs = list_differences(item, found) if found is not None else ()
        if found is not None and plan.refs and not differs:
            return None
        reason = plan.reason or "it already exists"
        return ImportConflict(item.memory, found.ref if found else "", differs or (reason,))

    def _report(self, subject: str, done: int, total: int) -> None:
        if self.cancelled():
            raise Cancelled("stopped; nothing was imported")
        self.report(Progress(subject, done, total))

    def _add_plan(self, label: str, plan: Plan) -> None:
        """Add the plan's edits. Raises Refused when they contradict earlier ones."""
        new_edits = [edit for edit in plan.edits if not self._is_planned(edit)]
        for edit in new_edits:
            if edit.kind in TEXTS and edit.after is not None:
                encode(edit.after)
        for edit in new_edits:
            if edit.kind in TEXTS:
                self._files[edit.path] = edit.after
            elif edit.kind is Kind.SIDECAR:
                self._sidecar_edits[edit.path, edit.id] = edit
        self.plans.append(plan)
        self.edits.setdefault(label, []).extend(new_edits)

    def _is_planned(self, edit: Edit) -> bool:
        """Whether an earlier memory makes this edit. Raises Refused when it makes another one."""
        if edit.kind is Kind.SIDECAR:
            known = self._sidecar_edits.get((edit.path, edit.id))
            if known is not None and known != edit:
                raise Refused("another memory of the import has the same id")
            return known is not None
        if edit.kind not in TEXTS or edit.path not in self._files:
            return False
        if edit.kind in SHARED_TEXTS and edit.before == self._files[edit.path]:
            return False  # it adds to what earlier memories have written there
        if self._files[edit.path] != edit.after:
            raise Refused("another imported memory has the same file", where=edit.path)
        return True

    def _plan_by_store(self, incoming: IncomingStore, target: Store) -> StoreImport | None:
        """Let the store plan the import by its program's own keys, if it can; else None."""
        known = format_of(target.format)
        document = known.document if known else None
        if known is None or document is None or document.plan_import is None:
            return None
        text = incoming.document or _export_database(incoming, known, document, self.library.now())
        if not text:
            return None
        self._report(f"planning {incoming.label}", 0, 0)
        plan = document.plan_import(target, text)
        self._add_plan(target.label, plan)
        existing = ExistingMemories(self.library, target)
        new, unchanged, conflicts = [], [], []
        for memory in incoming.memories:
            item = map_memory(memory, incoming.format, target)
            found = existing.find(item)
            if found is None:
                new.append(item)
            elif differs := list_differences(item, found):
                conflicts.append(ImportConflict(memory, found.ref, differs))
            else:
                unchanged.append(memory)
        lists = (tuple(new), tuple(unchanged), tuple(conflicts))
        return StoreImport(incoming.label, target.label, *lists, reason=plan.reason)


def _export_database(
    incoming: IncomingStore, known: Format, document: ExchangeDocument, now: datetime
) -> str:
    """Build the exchange document of the store's own program; empty without a database."""
    if not has_database(incoming):
        return ""
    with tempfile.TemporaryDirectory(prefix="memtui-import-") as folder:
        place_database(incoming, Path(folder))
        store = known.open(Path(folder), known.name)
        request = ExportRequest((), (store,), now, complete=(store.label,), whole=True)
        return document.export(request).text
