"""What memtui wrote and another program took back, and how it is done again."""

from __future__ import annotations

import os
from collections.abc import Hashable, Sequence
from dataclasses import dataclass

from memtui.changes import Edit, Plan, RowEdit
from memtui.files.standing import standing
from memtui.journal import Action, Part, Trail
from memtui.library.planning import Planned
from memtui.stores import registry


@dataclass(frozen=True, slots=True)
class Overwritten:
    """A record, value, file or row that is again as it was before memtui changed it."""

    action: Action
    """The last one that changed what was taken back."""
    store: str
    """See `memtui.journal.Part.store`."""
    target: Hashable
    """What was changed."""
    again: Edit
    """Makes it again from what is there now; what the other program did besides stays."""


def overwritten(trails: Sequence[Trail]) -> list[Overwritten]:
    """Those of the trails whose end was taken back, in their order; a store that is gone says
    nothing."""
    here = [trail for trail in trails if os.path.lexists(trail.steps[0].store)]
    edits = [trail.edits for trail in here]
    rows = [each for each in edits if isinstance(each[0], RowEdit)]
    stands = [*standing(edits), *registry.rows_standing(rows)]
    again = {id(each[0]): stand.again for each, stand in stands}
    return [
        Overwritten(_blamed(trail, edit), trail.steps[0].store, trail.target, edit)
        for trail in here
        if (edit := again.get(id(trail.steps[0].edit))) is not None
    ]


def _blamed(trail: Trail, again: Edit) -> Action:
    """The newest action that set what is to be set again: of a row, its columns."""
    for step in trail.steps:
        edit = step.edit
        if not isinstance(edit, RowEdit) or not isinstance(again, RowEdit):
            break
        if not edit.after or not again.after or edit.after.keys() & again.after.keys():
            return step.action
    return trail.steps[0].action


def planned_again(found: Sequence[Overwritten]) -> Planned:
    """All of it as one thing to do, the oldest first."""
    by_store: dict[str, list[Edit]] = {}
    for each in reversed(found):
        by_store.setdefault(each.store, []).append(each.again)
    titles = list(dict.fromkeys(each.action.title for each in found))
    more = f" and {len(titles) - 1} more" if len(titles) > 1 else ""
    title = f"again: {titles[0].removeprefix('again: ')}{more}" if titles else ""
    parts = tuple(Part(store, tuple(edits)) for store, edits in by_store.items())
    return Planned(title, (Plan((), tuple(edit for part in parts for edit in part.edits)),), parts)
