"""Everything on the screen that changes memories, put together: one `Doing`, many acts."""

from __future__ import annotations

from typing import TYPE_CHECKING

from memtui.tui.controllers.carrying import CarryActs
from memtui.tui.controllers.changing import ChangeActs
from memtui.tui.controllers.drafts import DraftActs
from memtui.tui.controllers.journalling import JournalActs
from memtui.tui.controllers.mending import MendActs
from memtui.tui.controllers.selecting import Selection
from memtui.tui.controllers.writing import WriteActs
from memtui.tui.doing import Doing

if TYPE_CHECKING:
    from memtui.tui.screens.acting import Acts
    from memtui.tui.screens.browse import BrowseScreen

_OF_ANY = frozenset({"new"})
"""Actions that are about no memory in particular."""
_OF_CARRYING = frozenset({"export", "import", "copy.to"})
_OF_JOURNAL = frozenset({"undo", "redo", "log", "again"})


class Hands:
    """What the browse screen needs to know of changing."""

    def __init__(self, screen: BrowseScreen) -> None:
        self.doing = Doing(screen)
        self.selection = Selection(screen)
        self.changing = ChangeActs(screen, self.doing, self.selection)
        self.writing = WriteActs(screen, self.doing, self.selection, self.changing)
        self.drafts = DraftActs(screen, self.doing, self.selection, self.writing)
        self.journalling = JournalActs(screen, self.doing, self.selection, self.changing)
        self.mending = MendActs(screen, self.doing, self.changing)
        self.carrying = CarryActs(screen, self.doing, self.selection, self.changing)

    def acts(self) -> Acts:
        """Action id -> what does it."""
        return {
            **self.changing.acts(),
            **self.writing.acts(),
            **self.drafts.acts(),
            **self.journalling.acts(),
            **self.carrying.acts(),
            **self.mending.acts(),
        }

    def refusal(self, action_id: str) -> str:
        """Why this action cannot be done now; empty when it can."""
        if action_id in _OF_JOURNAL:
            return self.journalling.refusal(action_id)
        if action_id == "broken":
            return self.mending.refusal()
        if action_id == "drafts":
            return self.drafts.refusal()
        if action_id in _OF_CARRYING:
            return self.carrying.refusal(action_id)
        if action_id in _OF_ANY:
            return self.selection.can_write()
        return self.selection.refusal(action_id)

    def begin(self) -> None:
        """Everything has been read."""
        self.journalling.begin()
        self.drafts.begin()
