"""Base classes of dialogs: a modal screen that is answered once, and one that fits its box."""

from __future__ import annotations

from collections.abc import Callable
from typing import ClassVar, TypeVar

from textual.await_complete import AwaitComplete
from textual.screen import ModalScreen

from memtui.tui.app_interface import AppInterface

Answer = TypeVar("Answer")
Result = TypeVar("Result")
SMALL_WIDTH, SMALL_HEIGHT = 90, 26
"""Below either of them a frame around the dialog costs more than it shows."""


class Dialog(ModalScreen[Result]):
    """A screen over another; keys of the browse screen do not reach through. Answers once."""

    app: AppInterface
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


class FittingDialog(Dialog[Result]):
    """Marked `-small` where there is little room; what was told before does not lie over it."""

    CSS_PATH: ClassVar = ["dialogs.tcss", "changing.tcss"]

    def on_mount(self) -> None:
        self.app.clear_notifications()
        self._fit()

    def on_resize(self) -> None:
        self._fit()

    def _fit(self) -> None:
        width, height = self.app.size
        self.set_class(width < SMALL_WIDTH or height < SMALL_HEIGHT, "-small")
