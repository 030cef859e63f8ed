"""Turn changes into exact edits of files and rows, to be shown and applied; show past edits."""

from __future__ import annotations

import os
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Protocol

from memtui.changes import (
    Act,
    Change,
    Edit,
    Outcome,
    Plan,
    RecordEdit,
    RowEdit,
    SidecarEdit,
    StoreEdits,
    TextEdit,
    TreeEdit,
    ValueEdit,
)
from memtui.dataclass import dataclass, replace
from memtui.errors import MemtuiError, Refused
from memtui.files.save_transaction import FileDiff, preview
from memtui.model import Memory
from memtui.progress import IsCancelled, Progress, Report, never, silent, stoppable
from memtui.stores.base import Store, StoreView, WritableStore
from memtui.stores.plans import BatchView, repeated_add
from memtui.text import counted, cut, one_line

if TYPE_CHECKING:
    from memtui.bundle.import_plan import ImportPlan
    from memtui.journal import JournalAction

_TITLE_CELLS = 60


@dataclass(frozen=True, slots=True)
class Planned:
    """One action before it is done: the plan of each change, and all edits."""

    title: str
    """Its name in the log and the undo message: `retire 3 memories`."""
    plans: tuple[Plan, ...]
    parts: tuple[StoreEdits, ...]
    """The edits of each store, without repetitions."""

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
        retired = {Act.RETIRE, Act.DELETE, Act.DECLINE}
        return _joined(
            tuple(
                ref
                for ref in plan.supersedes
                if ref not in own or plan.changes[0].act not in retired
            )
            for plan in self.plans
        )

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
        files = [edit for edit in edits if not isinstance(edit, RowEdit)]
        rows = [_row_diff(edit) for edit in edits if isinstance(edit, RowEdit)]
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
    stores: Mapping[str, WritableStore],
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
            raise Refused(why, where=change.store)
        planned = repeated_add(change, plans) or store.plan(change, together)
        plans.append(planned)
        edits.setdefault(change.store, _StoreEdits()).add(planned.edits)
    parts = tuple(
        StoreEdits(str(stores[label].root), tuple(found.edits))
        for label, found in edits.items()
        if found.edits
    )
    return Planned(title or _title(changes, view.get), tuple(plans), parts)


class _StoreEdits:
    """The edits of one store, without repetitions.

    An edit of a whole file or value is made only once: two memories added to a new entity create
    its file once. Two edits of one row or one entry of the sidecar, as when a memory is tagged and
    pinned, become one edit with both values.
    """

    def __init__(self) -> None:
        self.edits: list[Edit] = []
        self._seen: set[Edit] = set()
        self._places: dict[tuple[object, ...], int] = {}

    def add(self, edits: Iterable[Edit]) -> None:
        for edit in edits:
            if isinstance(edit, TextEdit | ValueEdit):
                if edit in self._seen:
                    continue
                self._seen.add(edit)
            elif isinstance(edit, SidecarEdit | RowEdit):
                place = _place(edit)
                at = self._places.setdefault(place, len(self.edits))
                if at < len(self.edits):
                    known = self.edits[at]
                    if isinstance(known, SidecarEdit | RowEdit) and _is_joinable(known, edit):
                        self.edits[at] = _joined_edits(known, edit)
                        continue
            self.edits.append(edit)


def _place(edit: SidecarEdit | RowEdit) -> tuple[object, ...]:
    if isinstance(edit, SidecarEdit):
        return edit.root, edit.id
    return edit.path, edit.table, *sorted(edit.key.items())


def _is_joinable(first: SidecarEdit | RowEdit, second: SidecarEdit | RowEdit) -> bool:
    """Whether both were planned from the same values and neither removes the entry."""
    before, other = first.before or {}, second.before or {}
    is_equal = all(before[name] == other[name] for name in before.keys() & other.keys())
    if isinstance(first, RowEdit) and (first.before is None or second.before is None):
        return False
    return is_equal and first.after is not None and second.after is not None


def _joined_edits(
    first: SidecarEdit | RowEdit, second: SidecarEdit | RowEdit
) -> SidecarEdit | RowEdit:
    """One edit that makes the changes of both; of the same value, that of the second. What both
    add to or take from a list of the sidecar, such as links, is all added and taken."""
    before, after = dict(first.before or {}), dict(first.after or {})
    was, now = second.before or {}, second.after or {}
    for name, value in now.items():
        old, other = was.get(name), after.get(name)
        if old == value:
            continue
        after[name] = value
        if isinstance(first, SidecarEdit) and isinstance(value, list) and isinstance(other, list):
            removed = [each for each in old or () if each not in value]
            new = [each for each in value if each not in (old or ())]
            left = [each for each in other if each not in removed]
            after[name] = left + [each for each in new if each not in left]
    for name in was.keys() - now.keys():
        after.pop(name, None)
    if isinstance(first, SidecarEdit):
        return replace(first, after=after)
    return replace(first, before={**was, **before}, after={**now, **after})


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
    return cut(f"{verb}: {one_line(text)}", _TITLE_CELLS)


# ---- what the edits of an action did ------------------------------------------------------------


def changed_memories(
    action: JournalAction, stores: Iterable[Store], get: Callable[[str], Memory]
) -> list[Memory]:
    """Return the memories that an action changed and that exist, in the order of its edits."""
    labels = {str(store.root): store.label for store in stores}
    found: dict[str, Memory] = {}
    for part in action.parts:
        label = labels.get(part.store)
        for edit in part.edits if label else ():
            for id in _possible_ids(edit, part.store):
                try:
                    memory = get(f"{label}:{id}")
                except MemtuiError:
                    continue
                found.setdefault(memory.ref, memory)
                break
    return list(found.values())


def _possible_ids(edit: Edit, root: str) -> Iterator[str]:
    if isinstance(edit, RecordEdit | SidecarEdit):
        yield edit.id
    elif isinstance(edit, RowEdit):
        for row in (edit.key, edit.after or {}, edit.before or {}):
            yield from (str(row[name]) for name in ("id", "rowid") if name in row)
    else:
        path = os.path.relpath(edit.path, root)
        yield path
        yield path.removesuffix(".md")


def action_diffs(action: JournalAction) -> list[FileDiff]:
    """Return the values before and after each edit of an action, as text."""
    return [diff for edit in action.edits for diff in _edit_diffs(edit)]


def _edit_diffs(edit: Edit) -> Iterator[FileDiff]:
    if isinstance(edit, TreeEdit):
        before, after = _tree_texts(edit.before), _tree_texts(edit.after)
        for name in dict.fromkeys([*before, *after]):
            yield FileDiff(os.path.join(edit.path, name), before.get(name), after.get(name))
    elif isinstance(edit, RowEdit):
        yield _row_diff(edit)
    elif isinstance(edit, SidecarEdit):
        name = f"{edit.root}/.memtui: {edit.id}"
        yield FileDiff(name, _lines(edit.before), _lines(edit.after))
    else:
        name = f"{edit.path} {edit.id}" if isinstance(edit, RecordEdit) else edit.path
        yield FileDiff(name, edit.before, edit.after)


def _tree_texts(tree: Mapping[str, Any] | None) -> dict[str, str]:
    """Return the files of a folder as text, and the number of rows of each of its databases."""
    if tree is None:
        return {}
    found = {name: text for name, (text, _) in tree["files"].items()}
    for name, (_, rows) in tree["databases"].items():
        found[name] = f"{counted(len(rows), 'row')}\n"
    return found


def _row_diff(edit: RowEdit) -> FileDiff:
    """Format a table row as lines, so that it is shown like a file."""
    key = ", ".join(f"{name}={value}" for name, value in edit.key.items())
    return FileDiff(f"{edit.path} {edit.table} {key}", _lines(edit.before), _lines(edit.after))


def _lines(row: object) -> str | None:
    if not isinstance(row, Mapping):
        return None if row is None else str(row)
    return "".join(f"{name}: {'' if value is None else value}\n" for name, value in row.items())


class ChangePlanner(Protocol):
    """What a `Library` says about changes; see there."""

    def refusal(self, act: Act, memory: Memory) -> str: ...

    def plan(self, changes: Sequence[Change]) -> Planned: ...


_TRIED = {"title": ("Other", "Title"), "importance": ("low", "high"), "entity": ("other", "entity")}
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
