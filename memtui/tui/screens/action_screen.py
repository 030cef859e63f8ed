"""What every screen has: acts by the id of the registry, refused with the reason."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, TypeVar

from textual.await_complete import AwaitComplete
from textual.reactive import var
from textual.screen import ModalScreen, Screen
from textual.widget import Widget

from memtui.tui import actions
from memtui.tui.action_context import ActionContext

if TYPE_CHECKING:
    from memtui.tui.app import MemtuiApp

Answer = TypeVar("Answer")
Result = TypeVar("Result")
ActionHandlers = Mapping[str, Callable[[], None]]


class Dialog(ModalScreen[Result]):
    """A screen over another; keys of the browse screen do not reach through. Answers once."""

    app: MemtuiApp
    _is_answered = False

    @property
    def is_open(self) -> bool:
        """It has not been answered, and the app goes on."""
        return not (self._is_answered or self.app.is_ending)

    def dismiss(self, result: Result | None = None) -> AwaitComplete:
        """Close the dialog, and what lies over it, with this result; without effect after that.

        Textual would close whatever is on top, so a second answer would close another screen.
        """
        stack = self.app.screen_stack
        if self._is_answered or self not in stack:
            return AwaitComplete()
        self._is_answered = True
        for above in reversed(stack[stack.index(self) + 1 :]):
            above.dismiss(None)
        return super().dismiss(result)

    def if_open(self, tell: Callable[[Answer], None]) -> Callable[[Answer], None]:
        """The callback, doing nothing when the answer of a worker finds the dialog closed."""

        def told(answer: Answer) -> None:
            if self.is_open:
                tell(answer)

        return told

    def keep_draft(self, *, last: bool = False) -> bool:
        """Keep what was written and is not saved yet; whether there is any. Raises SaveError.

        `last`: the app ends, so that another program may offer it.
        """
        return False

    def action_act(self, action_id: str) -> None:
        if action_id in ("escape", "quit"):
            self.dismiss(None)


class ActionScreen(Screen[None]):
    """Looks an act up by its id, asks the registry whether it is allowed, does it."""

    app: MemtuiApp
    focused: var[Widget | None] = var(None)
    """As in Textual, but a change of focus does not draw the whole screen (50 KB) anew: the two
    widgets that it is about draw themselves."""

    def acts(self) -> ActionHandlers:
        """Action id -> what does it."""
        raise NotImplementedError

    def situation(self) -> ActionContext:
        raise NotImplementedError

    def action_act(self, action_id: str) -> None:
        """Do it, or say why not."""
        if reason := self.refusal(action_id):
            self.app.notify(f"{reason[:1].upper()}{reason[1:]}.", timeout=3)
        elif action_id in (acts := self.acts()):
            acts[action_id]()

    def refusal(self, action_id: str) -> str:
        """Why this cannot be done now; empty when it can."""
        return actions.BY_ID[action_id].allowed(self.situation())
