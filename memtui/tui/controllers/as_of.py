"""As of a time: the whole screen shows what was believed then, and nothing can be written."""

from __future__ import annotations

from typing import TYPE_CHECKING

from memtui import text
from memtui.tui import key_bindings
from memtui.tui.actions import BY_ID

if TYPE_CHECKING:
    from memtui.query import TimeCondition
    from memtui.tui.actions import ActionHandlers
    from memtui.tui.screen_interface import ScreenInterface


class AsOfActions:
    """Asks for a time, goes there, and comes back."""

    def __init__(self, screen: ScreenInterface) -> None:
        self._screen = screen

    def handlers(self) -> ActionHandlers:
        return {"as_of": self._toggle}

    def _toggle(self) -> None:
        if self._screen.worker.past is not None:
            self._screen.leave_past()
        else:
            self._ask()

    def _ask(self) -> None:
        from memtui.tui.dialogs.time_prompt import TimePrompt

        screen = self._screen
        screen.worker.prepare_past()

        def chosen(time: TimeCondition | None) -> None:
            if time is not None:
                screen.search_bar.set_activity("going back …")
                screen.worker.go_to(time, lambda _: self._arrived(time))

        screen.app.push_screen(TimePrompt("As of", screen.now()), chosen)

    def _arrived(self, time: TimeCondition) -> None:
        screen = self._screen
        screen.search_bar.set_activity("")
        overrides = screen.app.key_overrides
        key = key_bindings.first_key(BY_ID["as_of"], overrides)
        back = f"{key} leave" if key else ""
        words = (
            f"AS OF {text.date(time.time)}",
            text.ago(time.time, screen.now()),
            "read only",
            back,
        )
        screen.show_past([word for word in words if word])
