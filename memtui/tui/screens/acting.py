"""What every screen has: acts by the id of the registry, refused with the reason."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, TypeVar

from textual.reactive import var
from textual.screen import ModalScreen, Screen
from textual.widget import Widget

from memtui.tui import registry
from memtui.tui.situation import Situation

if TYPE_CHECKING:
    from memtui.tui.app import MemtuiApp

Result = TypeVar("Result")
Acts = Mapping[str, Callable[[], None]]


class Dialog(ModalScreen[Result]):
    """A screen over another; keys of the browse screen do not reach through."""

    app: MemtuiApp

    def action_act(self, action_id: str) -> None:
        if action_id in ("escape", "quit"):
            self.dismiss(None)


class ActingScreen(Screen[None]):
    """Looks an act up by its id, asks the registry whether it is allowed, does it."""

    app: MemtuiApp
    focused: var[Widget | None] = var(None)
    """As in Textual, but a change of focus does not draw the whole screen (50 KB) anew: the two
    widgets that it is about draw themselves."""

    def acts(self) -> Acts:
        """Action id -> what does it."""
        raise NotImplementedError

    def situation(self) -> Situation:
        raise NotImplementedError

    def action_act(self, action_id: str) -> None:
        """Do it, or say why not."""
        if reason := self.refusal(action_id):
            self.app.notify(f"{reason[:1].upper()}{reason[1:]}.", timeout=3)
        elif action_id in (acts := self.acts()):
            acts[action_id]()

    def refusal(self, action_id: str) -> str:
        """Why this cannot be done now; empty when it can."""
        return registry.BY_ID[action_id].allowed(self.situation())
