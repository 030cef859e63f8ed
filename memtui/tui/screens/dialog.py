"""A dialog that takes the whole screen where the screen is small."""

from __future__ import annotations

from typing import ClassVar, TypeVar

from memtui.tui.screens.action_screen import Dialog

Result = TypeVar("Result")
SMALL_WIDTH, SMALL_HEIGHT = 90, 26
"""Below either of them a frame around the dialog costs more than it shows."""


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
