"""Turn changes into exact edits of files and rows, to be shown and applied."""

from __future__ import annotations

import os
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from contextlib import suppress
from typing import TYPE_CHECKING, Any, Protocol

from msgspec import Struct
from msgspec.structs import replace

from memtui.changes import (
    TEXTS,
    Act,
    Change,
    Edit,
    FileDiff,
    Kind,
    Outcome,
    Plan,
    StoreEdits,
    describe_entry,
    edit_diffs,
    effects_of,
)
from memtui.errors import Conflict, MemtuiError, RefError, Refused
from memtui.files.json.editing import put_member
from memtui.files.json.locating import load
from memtui.files.merging import apply_record_change
from memtui.files.save_transaction import preview
from memtui.files.sidecar_lines import sidecar_paths
from memtui.model import Memory
from memtui.progress import IsCancelled, Progress, Report, never, silent, stoppable
from memtui.stores.base import Store, StoreView
from memtui.stores.plans import BatchView, named_refs, repeated_change
from memtui.stores.sidecar import parse_sidecar
from memtui.text import counted, cut, has_mask_of, mask_secrets, masked_always, one_line
from memtui.text.secrets import DOT

if TYPE_CHECKING:
    from memtui.bundle.import_plan import ImportPlan
    from memtui.library.reader import LibraryReader

_TITLE_CELLS = 60


class Planned(Struct, frozen=True):
    """One action before it is done: the plan of each change, and all edits."""

    title: str
    """Its name in the log and the undo message: `retire 3 memories`."""
    plans: tuple[Plan, ...]
    parts: tuple[StoreEdits, ...]
    """The edits of each store, without repetitions."""
    agent: str = ""
    """The agents that proposed it; "" if none did. Untrusted text."""

    @property
    def changes(self) -> list[Change]:
        """All changes, in the order of the plans."""
        return [change for plan in self.plans for change in plan.changes]

    @property
    def has_edits(self) -> bool:
        return any(store_edits.edits for store_edits in self.parts)

    @property
    def refs(self) -> tuple[str, ...]:
        """Refs of all changed and new memories."""
        return _joined(plan.refs for plan in self.plans)

    @property
    def supersedes(self) -> tuple[str, ...]:
        """Refs of other memories that would stop being current."""
        own = {change.ref for change in self.changes}
        retired = {Act.RETIRE, Act.HIDE, Act.DELETE, Act.DECLINE}
        return _joined(
            tuple(
                ref
                for ref in plan.supersedes
                if ref not in own or plan.changes[0].act not in retired
            )
            for plan in self.plans
        )

    @property
    def effects(self) -> tuple[str, ...]:
        """What it means for each program."""
        return tuple(effects_of(self.plans))

    @property
    def only_hides(self) -> bool:
        """Whether a memory would be hidden by memtui only, and still be read by its program."""
        return any(plan.only_hides for plan in self.plans)

    @property
    def warnings(self) -> tuple[str, ...]:
        return _joined(plan.warnings for plan in self.plans)

    @property
    def outcome(self) -> Outcome:
        """Outcome of the first change; in an import the others may differ."""
        return self.plans[0].outcome if self.plans else Outcome.NOTHING

    @property
    def reason(self) -> str:
        return self.plans[0].reason if self.plans else ""

    def with_written_refs(self, refs: Mapping[str, str]) -> Planned:
        """Return this with the refs that were written (see `JournalAction.refs`)."""
        plans = (
            replace(plan, refs=tuple(refs.get(ref, ref) for ref in plan.refs))
            for plan in self.plans
        )
        return replace(self, plans=tuple(plans)) if refs else self

    def diffs(self, report: Report = silent, cancelled: IsCancelled = never) -> list[FileDiff]:
        """Return each file and row before and after. Raises Conflict if one changed since.

        `report` is called with the files compared; Cancelled is raised when `cancelled` is true.
        """
        edits = [edit for store_edits in self.parts for edit in store_edits.edits]
        files = [edit for edit in edits if edit.kind is not Kind.ROW]
        rows = [diff for edit in edits if edit.kind is Kind.ROW for diff in edit_diffs(edit)]
        return [*preview(files, report, cancelled), *rows]


def planned_import(plan: ImportPlan, title: str = "") -> Planned:
    """Convert an import plan for `Library.apply`, under its own title or this one."""
    return Planned(title or plan.title, plan.plans, plan.parts)


def _joined(groups: Iterable[tuple[str, ...]]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(item for group in groups for item in group))


_REPORT_EVERY = 256
"""Changes planned between two reports: a tenth of a second."""


def plan(
    changes: Sequence[Change],
    stores: Mapping[str, Store],
    view: StoreView,
    title: str = "",
    report: Report = silent,
    cancelled: IsCancelled = never,
) -> Planned:
    """Plan each change in its store; see `Library.plan`.

    Args:
        changes: planned in this order.
        stores: the open stores by label.
        view: the memories as they are now.
        title: made from the changes unless given.
        report: called with the changes planned.
        cancelled: asked as often.

    Raises:
        Cancelled: `cancelled` became true.
        Refused: no such store, or it cannot do the change.
        Conflict: a file changed since it was read.
        RefError: a ref names no memory.
    """
    plans: list[Plan] = []
    edits: dict[str, _StoreEdits] = {}
    together = BatchView(view, plans)
    for number, change in enumerate(stoppable(changes, cancelled, _REPORT_EVERY)):
        if number and number % _REPORT_EVERY == 0:
            report(Progress("planning", number, len(changes)))
        store = stores.get(change.store)
        if store is None:
            raise Refused(f"no open store is called {change.store!r}")
        if why := store.read_only:
            raise Refused(why, where=str(store.root))
        _refuse_masks(change, view)
        planned = repeated_change(change, plans)
        if planned is None:
            _refuse_second(change, plans)
            _refuse_circle(change, view)
            try:
                planned = store.plan(change, together)
            except Conflict:
                _refuse_second(change, plans, at_all=True)  # it is not another program's change
                raise
        plans.append(planned)
        edits.setdefault(change.store, _StoreEdits()).add(planned.edits)
    parts = tuple(
        StoreEdits(str(stores[label].root), tuple(found.edits))
        for label, found in edits.items()
        if found.edits
    )
    return Planned(title or _title(changes, view.get), tuple(plans), parts)


def _refuse_masks(change: Change, view: StoreView) -> None:
    """Raise Refused where a text was copied from the screen with its secrets masked."""
    texts = [value for value in change.fields.values() if isinstance(value, str) and DOT in value]
    if texts and change.ref:
        memory = view.get(change.ref)
        for text in texts:
            if any(has_mask_of(text, before) for before in (memory.title, memory.content)):
                raise Refused(
                    "the new text has a mask where the memory has a secret",
                    where=change.ref,
                    do="copy the text with its secrets shown",
                )


_ENDING = frozenset(
    {
        *(Act.SUPERSEDE, Act.RETIRE, Act.RESTORE, Act.HIDE, Act.DELETE, Act.MERGE),
        *(Act.ACCEPT, Act.DECLINE),
    }
)
"""Acts after which a memory is no longer what another change of the same action was made for."""
_SETS = {
    Act.TAG: ("tags",),
    Act.RETYPE: ("type",),
    Act.RATE: ("rating",),
    Act.PIN: ("pinned",),
    Act.UNPIN: ("pinned",),
}
"""What an act sets, where its fields do not name it."""


def _refuse_second(change: Change, plans: Iterable[Plan], *, at_all: bool = False) -> None:
    """Raise Refused where an earlier change of this action ends the memory, or sets the same; or
    changes it `at_all`.

    Some formats would see the earlier change, some would drop one of the two without a word.
    """
    named = named_refs(change)
    for earlier in (known for plan in plans for known in plan.changes):
        both = named & named_refs(earlier)
        if not both:
            continue
        ends = {change.act, earlier.act} & _ENDING
        acts = {change.act, earlier.act}
        fields = set() if Act.LINK in acts or Act.UNLINK in acts else _set_by(change)
        if at_all or ends or fields & _set_by(earlier):
            raise Refused(
                f"one action changes it twice: {earlier.act} and {change.act}",
                where=min(both),
                do="make one change, then the other",
            )


def _set_by(change: Change) -> set[str]:
    """The fields that a change sets."""
    return set(_SETS.get(change.act, change.fields))


def _refuse_circle(change: Change, view: StoreView) -> None:
    """Raise Refused where a memory would take the place of one that has taken its own place."""
    if change.act is not Act.MERGE:
        return
    others, seen = named_refs(change) - {change.ref}, {change.ref}
    left = [change.ref]
    while left:
        for id in view.get(left.pop()).superseded_by:
            ref = f"{change.store}:{id}"
            if ref in others:
                raise Refused(
                    f"{id} has taken its place already",
                    where=change.ref,
                    do=f"merge it into {id} instead",
                )
            if ref not in seen:
                seen.add(ref)
                with suppress(RefError):
                    view.get(ref)
                    left.append(ref)


class _StoreEdits:
    """The edits of one store, without repetitions.

    An edit of a whole file or value is made only once: two memories added to a new entity create
    its file once. Two edits of one record, row or entry of the sidecar that were planned from the
    same values, as when a memory is tagged and pinned, become one edit with both values.
    """

    def __init__(self) -> None:
        self.edits: list[Edit] = []
        self._seen: set[Edit] = set()
        self._places: dict[tuple[object, ...], int] = {}

    def add(self, edits: Iterable[Edit]) -> None:
        for edit in edits:
            if edit.kind in TEXTS or edit.kind in (Kind.VALUE, Kind.COUNTER):
                if edit in self._seen:
                    continue
                self._seen.add(edit)
            elif edit.kind in (Kind.SIDECAR, Kind.ROW):
                at = self._places.setdefault(edit.target, len(self.edits))
                if at < len(self.edits) and _is_joinable(self.edits[at], edit):
                    self.edits[at] = _joined_edits(self.edits[at], edit)
                    continue
            elif edit.kind is Kind.RECORD and edit.before is not None:
                at = self._places.setdefault((*edit.target, edit.before), len(self.edits))
                if at < len(self.edits):
                    self.edits[at] = _joined_records(self.edits[at], edit)
                    continue
            self.edits.append(edit)


def _joined_records(first: Edit, second: Edit) -> Edit:
    """One edit of a record that makes the changes of both; a removal is all that is left of two.
    What both add to or take from a list, such as links, is all added and taken."""
    if first.after is None or second.after is None:
        return replace(first, after=None)
    after = apply_record_change(first.after, first.before, second.after)
    old, one, other = (load(raw) for raw in (first.before, first.after, second.after))
    for name in one.keys() & other.keys():
        lists = (old.get(name, []), one[name], other[name])
        if all(isinstance(each, list) for each in lists) and lists[0] not in lists[1:]:
            after = put_member(after, name, _joined_list(*lists))
    return replace(first, after=after)


def _joined_list(old: list[Any], one: list[Any], other: list[Any]) -> list[Any]:
    """The list with what one and the other version of it have added and taken."""
    left = [each for each in one if each in other or each not in old]
    return left + [each for each in other if each not in old and each not in left]


def _is_joinable(first: Edit, second: Edit) -> bool:
    """Whether both change one entry or row: neither removes it, and no row is new."""
    if first.kind is Kind.ROW and (first.before is None or second.before is None):
        return False
    return first.after is not None and second.after is not None


def _joined_edits(first: Edit, second: Edit) -> Edit:
    """One edit that makes the changes of both; of the same value, that of the second. What both
    add to or take from a list of the sidecar, such as links, is all added and taken."""
    before, after = dict(first.before or {}), dict(first.after or {})
    was, now = second.before or {}, second.after or {}
    for name, value in now.items():
        old, other = was.get(name), after.get(name)
        if old == value:
            continue
        after[name] = value
        if first.kind is Kind.SIDECAR and isinstance(value, list) and isinstance(other, list):
            after[name] = _joined_list(old or [], other, value)
    for name in was.keys() - now.keys():
        after.pop(name, None)
    if first.kind is Kind.SIDECAR:
        return replace(first, after=after)
    return replace(first, before={**was, **before}, after={**now, **after})


def in_words(diffs: Iterable[FileDiff], library: LibraryReader) -> list[FileDiff]:
    """Replace the lines of memtui's own sidecars by what they say of which memory."""
    labels = {
        str(path): store.label for store in library.stores for path in sidecar_paths(store.root)
    }
    return [
        _in_words(diff, labels[diff.path], library) if diff.path in labels else diff
        for diff in diffs
    ]


def _in_words(diff: FileDiff, label: str, library: LibraryReader) -> FileDiff:
    def name(id: str) -> str:
        try:
            title = mask_secrets(library.get(f"{label}:{id}").headline)  # before it is cut
        except RefError:  # gone, or new
            return id
        return f"\u201c{cut(title, _TITLE_CELLS)}\u201d"

    before, after = (parse_sidecar(text or "").entries for text in (diff.before, diff.after))
    changed = [id for id in {**before, **after} if before.get(id) != after.get(id)]

    def lines(entries: Mapping[str, Mapping[str, Any]]) -> str:
        known = ((id, entries.get(id, {})) for id in changed)
        words = (
            f"{name(id)} {each}" for id, entry in known for each in describe_entry(entry, name)
        )
        return "\n".join(words)

    return replace(
        diff,
        before=None if diff.before is None else lines(before),
        after=None if diff.after is None else lines(after),
    )


def name_below(diffs: Iterable[FileDiff], library: LibraryReader | None) -> list[FileDiff]:
    """Name each file from the folder of its store, and the store where there are several.

    Memtui's sidecars are shown in words.
    """
    diffs = in_words(diffs, library) if library else diffs
    stores = library.stores if library else ()
    roots = {library.names.of(store.label): store.root for store in stores} if library else {}
    folders = sorted(roots.items(), key=lambda item: len(str(item[1])), reverse=True)
    found = []
    for diff in diffs:
        label, root = next(
            (each for each in folders if diff.path.startswith(f"{each[1]}{os.sep}")), ("", "")
        )
        found.append((label, diff, diff.path[len(f"{root}{os.sep}") :] if root else diff.path))
    several = len({label for label, _, _ in found}) > 1
    return [
        replace(diff, path=f"{label}: {path}" if several and label else path)
        for label, diff, path in found
    ]


def count_memories(changes: Sequence[Change]) -> int:
    """Return how many memories these changes are of; each that has no ref yet is one."""
    return len({change.ref or number for number, change in enumerate(changes)})


def _title(changes: Sequence[Change], get: Callable[[str], Memory]) -> str:
    if not changes:
        return "nothing"
    verb = changes[0].act
    if (count := count_memories(changes)) > 1:
        return f"{verb} {counted(count, 'memory')}"
    change = changes[0]
    text = get(change.ref).headline if change.ref else str(change.fields.get("content", ""))
    with masked_always():  # it is kept in the journal
        return cut(f"{verb}: {one_line(text)}", _TITLE_CELLS)


class ChangePlanner(Protocol):
    """The methods of `Library` that plan changes; see there."""

    def refusal(self, act: Act, memory: Memory) -> str: ...

    def plan(self, changes: Sequence[Change]) -> Planned: ...


_TRIED = {
    "title": ("Other", "Title"),
    "importance": ("low", "high"),
    "entity": ("other", "entity"),
    "kind": ("note", "fact"),
}
"""Fields without an act of their own, and values to try; stores refuse some in some memories."""


def possible_fields(library: ChangePlanner, memory: Memory, among: Iterable[str]) -> frozenset[str]:
    """Those of these fields that can be changed in a memory; `pin` counts as one."""
    acts = {"content": Act.EDIT, "type": Act.RETYPE, "tags": Act.TAG}
    acts["pin"] = Act.UNPIN if memory.pinned else Act.PIN

    def is_possible(name: str) -> bool:
        if name in acts:
            return not library.refusal(acts[name], memory)
        value = next(value for value in _TRIED[name] if value != getattr(memory, name))
        try:
            library.plan([Change(Act.EDIT, memory.store, memory.ref, {name: value})])
        except Refused:
            return False
        except MemtuiError:  # of this moment, or of this value
            pass
        return True

    return frozenset(filter(is_possible, among))


def list_able(
    library: ChangePlanner, memories: Sequence[Memory], fields: Collection[str]
) -> dict[str, list[Memory]]:
    """Field -> the memories that it can be changed in. Fields are tried once a store and kind."""
    able: dict[str, list[Memory]] = {name: [] for name in fields}
    tried: dict[tuple[str, str], frozenset[str]] = {}
    untried = [name for name in fields if name not in _TRIED]
    for memory in memories:
        key = (memory.store, memory.kind)
        if not library.refusal(Act.EDIT, memory):
            if key not in tried:
                tried[key] = possible_fields(library, memory, _TRIED.keys() & fields)
            names = tried[key] | possible_fields(library, memory, untried)
        else:
            names = possible_fields(library, memory, untried)
        for name in names:
            able[name].append(memory)
    return able
