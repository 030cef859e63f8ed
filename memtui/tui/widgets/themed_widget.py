"""Base of the widgets that draw their own lines in the colours of the theme."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rich.style import Style
from textual.content import Content
from textual.geometry import Region
from textual.theme import Theme
from textual.widget import Widget

from memtui.tui.appearance import Palette

if TYPE_CHECKING:
    from memtui.tui.app_interface import AppInterface


class ThemedWidget(Widget):
    """Has the palette of the theme, and redraws when the theme changes."""

    ALLOW_SELECT = False
    app: AppInterface

    _ground: Style | None = None

    @property
    def palette(self) -> Palette:
        return self.app.palette

    @property
    def ground(self) -> Style:
        """The background style.

        Cached, because Textual computes `rich_style` from all ancestors at every access.
        """
        if self._ground is None:
            self._ground = self.rich_style
        return self._ground

    def on_mount(self) -> None:
        self.app.theme_changed_signal.subscribe(self, self._theme_changed)

    def _theme_changed(self, _: Theme) -> None:
        self._ground = None
        self.recolour()

    def notify_style_update(self) -> None:
        self._ground = None
        super().notify_style_update()

    def say_below(self, words: Content) -> None:
        """Set the text in the lower border and redraw only that line.

        Textual's own setter redraws the whole widget: 13 KB for each step of the cursor.
        """
        if words == self._border_subtitle:
            return
        self._border_subtitle = words
        edge = self.gutter
        self.refresh(Region(-edge.left, self.size.height, self.outer_size.width, 1))

    def recolour(self) -> None:
        """Redraw with another palette."""
        self.refresh()
