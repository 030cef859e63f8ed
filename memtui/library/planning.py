"""From changes to what they would do to every file and row, shown before anything is done."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from memtui.changes import (
    Act,
    Change,
    Edit,
    Outcome,
    Plan,
    RowEdit,
    StoreEdits,
    TextEdit,
    ValueEdit,
)
from memtui.errors import Refused
from memtui.files.save_transaction import FileDiff, preview
from memtui.model import Memory
from memtui.stores.base import StoreView, WritableStore
from memtui.stores.plans import BatchView, repeated_add
from memtui.text import cut, one_line

if TYPE_CHECKING:
    from memtui.bundle.import_plan import ImportPlan

_TITLE_CELLS = 60

_DOING = {
    Act.ADD: "add",
    Act.EDIT: "edit",
    Act.SUPERSEDE: "supersede",
    Act.RETIRE: "retire",
    Act.RESTORE: "restore",
    Act.DELETE: "delete",
    Act.PIN: "pin",
    Act.UNPIN: "unpin",
    Act.TAG: "tag",
    Act.LINK: "link",
    Act.UNLINK: "unlink",
    Act.RETYPE: "retype",
    Act.MERGE: "merge",
    Act.RATE: "rate",
    Act.REVIEW: "review",
    Act.ACCEPT: "accept",
    Act.DECLINE: "decline",
}


@dataclass(frozen=True, slots=True)
class Planned:
    """One thing a person is about to do: a plan for each of its changes."""

    title: str
    """What the log and the undo message call it: `retire 3 memories`."""
    plans: tuple[Plan, ...]
    parts: tuple[StoreEdits, ...]
    """The edits by store, each edit once."""

    @property
    def has_edits(self) -> bool:
        return any(part.edits for part in self.parts)

    @property
    def refs(self) -> tuple[str, ...]:
        """Every memory that is touched, new ones included."""
        return _joined(plan.refs for plan in self.plans)

    @property
    def supersedes(self) -> tuple[str, ...]:
        """Other memories that would stop being current."""
        own = {change.ref for plan in self.plans for change in plan.changes}
        retired = {Act.RETIRE, Act.DELETE}
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
        """Of the first change; changes of one action share it in all but imports."""
        return self.plans[0].outcome if self.plans else Outcome.NOTHING

    @property
    def reason(self) -> str:
        return self.plans[0].reason if self.plans else ""

    def as_written(self, refs: Mapping[str, str]) -> Planned:
        """The same with the refs that were written (see `Action.refs`)."""
        plans = (
            replace(plan, refs=tuple(refs.get(ref, ref) for ref in plan.refs))
            for plan in self.plans
        )
        return replace(self, plans=tuple(plans)) if refs else self

    def diffs(self) -> list[FileDiff]:
        """Every file and row as it is and as it would be. Raises Conflict if that changed."""
        edits = [edit for part in self.parts for edit in part.edits]
        files = [edit for edit in edits if not isinstance(edit, RowEdit)]
        rows = [_row_diff(edit) for edit in edits if isinstance(edit, RowEdit)]
        return [*preview(files), *rows]


def planned_import(plan: ImportPlan, title: str = "") -> Planned:
    """The import as something that `Library.apply` takes, under its own title or this one."""
    return Planned(title or plan.title, plan.plans, plan.parts)


def _joined(groups: Iterable[tuple[str, ...]]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(item for group in groups for item in group))


def plan(
    changes: Sequence[Change], stores: Mapping[str, WritableStore], view: StoreView, title: str = ""
) -> Planned:
    """Plan each change in its store. Raises Refused, Conflict or RefError."""
    plans: list[Plan] = []
    edits: dict[str, list[Edit]] = {}
    together = BatchView(view, plans)
    for change in changes:
        store = stores.get(change.store)
        if store is None:
            raise Refused(f"no open store is called {change.store!r}")
        if why := store.read_only:
            raise Refused(why, where=change.store)
        made = repeated_add(change, plans) or store.plan(change, together)
        plans.append(made)
        _add(edits.setdefault(change.store, []), made.edits)
    parts = tuple(
        StoreEdits(str(stores[label].root), tuple(found)) for label, found in edits.items() if found
    )
    return Planned(title or _title(changes, view.get), tuple(plans), parts)


def _add(known: list[Edit], edits: Iterable[Edit]) -> None:
    """Keep each edit of a whole file or value once: two memories added to a new entity make its
    file once, two edits in one Ambient file set its time once."""
    seen = {edit for edit in known if isinstance(edit, TextEdit | ValueEdit)}
    for edit in edits:
        if isinstance(edit, TextEdit | ValueEdit):
            if edit in seen:
                continue
            seen.add(edit)
        known.append(edit)


def _title(changes: Sequence[Change], get: Callable[[str], Memory]) -> str:
    if not changes:
        return "nothing"
    doing = _DOING[changes[0].act]
    if len(changes) > 1:
        return f"{doing} {len(changes)} memories"
    change = changes[0]
    text = get(change.ref).headline if change.ref else str(change.fields.get("content", ""))
    return cut(f"{doing}: {one_line(text)}", _TITLE_CELLS)


def _row_diff(edit: RowEdit) -> FileDiff:
    """A table row as lines, so that it is shown like a file."""
    key = ", ".join(f"{name}={value}" for name, value in edit.key.items())
    return FileDiff(f"{edit.path} {edit.table} {key}", _lines(edit.before), _lines(edit.after))


def _lines(row: Mapping[str, object] | None) -> str | None:
    if row is None:
        return None
    return "".join(f"{name}: {'' if value is None else value}\n" for name, value in row.items())
