"""What memtui wrote and another program took back, and how it is done again."""

from __future__ import annotations

import logging
import os
import time
from collections.abc import Callable, Hashable, Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

from memtui.changes import Edit, Plan, RowEdit, SidecarEdit, StoreEdits
from memtui.errors import MemtuiError
from memtui.files.reading import file_stamp
from memtui.files.revert_detection import find_statuses
from memtui.journal import EditHistory, Journal, JournalAction
from memtui.library.planning import Planned
from memtui.stores import registry
from memtui.stores.base import Store
from memtui.upkeep.checks import Finding, FindingKind

log = logging.getLogger(__name__)

LOOKED_BACK = 7 * 86400.0
"""Seconds of changes that the commands compare with what the files say now."""
YOUNG = 0.1
"""Seconds after a change in which another one may leave the same file times."""


@dataclass(frozen=True, slots=True)
class RevertedEdit:
    """A record, value, file or row that is again as it was before memtui changed it."""

    action: JournalAction
    """The last one that changed what was taken back."""
    store: str
    """See `memtui.journal.StoreEdits.store`."""
    target: Hashable
    """What was changed."""
    again: Edit
    """Makes it again from what is there now; what the other program did besides stays."""
    added: bool = False
    """It was put there by memtui, and is gone."""

    @property
    def told(self) -> str:
        """What happened to it, for a person."""
        if self.added:
            return "another program has removed what was added"
        return "another program has put back what was there before"

    @property
    def path(self) -> str:
        """The file or database."""
        return str(getattr(self.again, "path", ""))


class Watch:
    """Looks again and again: in full only when the journal or one of the files has changed."""

    def __init__(self, journal: Journal, rescue: Callable[[Path], None]) -> None:
        self._journal = journal
        self._rescue = rescue
        self._mark: Hashable = None
        self._files: tuple[Path, ...] = ()
        self._databases: tuple[Path, ...] = ()
        self._trace = ""
        self._found: list[RevertedEdit] = []

    def look(self, since: float) -> list[RevertedEdit]:
        """What was taken back of all that was written since then (Unix seconds).

        Late writes into files that memtui has just replaced are rescued first.
        """
        mark = since, self._journal.mark
        if mark != self._mark:
            self._trace = ""
        elif self._trace and self._trace == self._traced():
            return list(self._found)
        trails = self._journal.recent(since)
        edits = [edit for trail in trails for edit in trail.edits]
        self._mark = mark
        self._files = _once(e.path for e in edits if not isinstance(e, RowEdit | SidecarEdit))
        self._databases = _once(e.path for e in edits if isinstance(e, RowEdit))
        self._trace = self._traced()
        self._found = overwritten(trails)
        return list(self._found)

    def _traced(self) -> str:
        """Changes when one of the files does; empty while one is so young that it need not."""
        for path in self._files:
            self._rescue(path)
        logs = [Path(f"{path}-wal") for path in self._databases]
        paths = [*self._files, *self._databases, *logs]
        newest = max((_changed(path) for path in paths), default=0.0)
        return file_stamp(paths) if abs(time.time() - newest) > YOUNG else ""


def _once(paths: Iterable[str]) -> tuple[Path, ...]:
    return tuple(Path(path) for path in dict.fromkeys(paths))


def _changed(path: Path) -> float:
    try:
        return path.stat().st_mtime
    except OSError:
        return 0.0


def overwritten(trails: Sequence[EditHistory]) -> list[RevertedEdit]:
    """Those of the trails whose end was taken back, in their order; a store that is gone says
    nothing."""
    here = [trail for trail in trails if os.path.lexists(trail.steps[0].store)]
    edits = [trail.edits for trail in here]
    rows = [each for each in edits if isinstance(each[0], RowEdit)]
    stands = [*find_statuses(edits), *registry.rows_standing(rows)]
    again = {id(each[0]): stand.reapply for each, stand in stands}
    found = []
    for trail in here:
        newest = trail.steps[0]
        edit = again.get(id(newest.edit))
        if edit is not None:
            action, added = _blamed(trail, edit), not edit.before or not newest.edit.before
            found.append(RevertedEdit(action, newest.store, trail.target, edit, added))
    return found


def _blamed(trail: EditHistory, again: Edit) -> JournalAction:
    """The newest action that set what is to be set again: of a row, its columns."""
    for step in trail.steps:
        edit = step.edit
        if not isinstance(edit, RowEdit) or not isinstance(again, RowEdit):
            break
        if not edit.after or not again.after or edit.after.keys() & again.after.keys():
            return step.action
    return trail.steps[0].action


def look_only(state: Path | None, stores: Iterable[Store]) -> list[RevertedEdit]:
    """What was taken back in these stores of all that was written in the time `LOOKED_BACK`.

    Writes nothing: no late write is rescued, no action that was cut short is settled. Empty where
    there is no journal, or none that can be read.
    """
    if state is None:
        return []
    roots = {os.path.realpath(store.root) for store in stores}
    journal = Journal(state)
    try:
        found = overwritten(journal.recent(time.time() - LOOKED_BACK))
    except MemtuiError as error:
        log.warning("what other programs took back could not be looked for: %s", error)
        return []
    finally:
        journal.close()
    return [each for each in found if os.path.realpath(each.store) in roots]


def findings(found: Iterable[RevertedEdit]) -> list[Finding]:
    """What `check` says of it: one finding for each file of an action."""
    return list(
        dict.fromkeys(
            Finding(
                FindingKind.OVERWRITTEN,
                each.path,
                None,
                "",
                f"{each.action.title} (number {each.action.id} in the log): {each.told}",
            )
            for each in found
        )
    )


def planned_again(found: Sequence[RevertedEdit]) -> Planned:
    """All of it as one thing to do, the oldest first."""
    by_store: dict[str, list[Edit]] = {}
    for each in reversed(found):
        by_store.setdefault(each.store, []).append(each.again)
    titles = list(dict.fromkeys(each.action.title for each in found))
    more = f" and {len(titles) - 1} more" if len(titles) > 1 else ""
    title = f"again: {titles[0].removeprefix('again: ')}{more}" if titles else ""
    parts = tuple(StoreEdits(store, tuple(edits)) for store, edits in by_store.items())
    return Planned(title, (Plan((), tuple(edit for part in parts for edit in part.edits)),), parts)
