"""Base of the widgets that draw their own lines in the colours of the theme."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

from rich.segment import Segment
from rich.style import Style
from textual._styles_cache import StylesCache
from textual.content import Content
from textual.css.styles import StylesBase
from textual.geometry import Region, Size
from textual.strip import Strip
from textual.theme import Theme
from textual.widget import Widget

from memtui.tui.appearance import Palette

if TYPE_CHECKING:
    from memtui.tui.app_interface import AppInterface


class BorderedLines(StylesCache):
    """Textual's cache of a widget's lines, which finds out the border once and not for each line.

    For the widgets here only: borders and padding, no outline, tint or opacity.
    """

    _edges: tuple[Sequence[Segment], Sequence[Segment]] | None = None
    """What stands left and right of the content in each line."""

    def clear(self) -> None:
        super().clear()
        self._edges = None

    def render_line(
        self,
        styles: StylesBase,
        y: int,
        size: Size,
        content_size: Size,
        padding: Any,
        base_background: Any,
        background: Any,
        render_content_line: Callable[[int], Strip],
        *others: Any,
    ) -> Strip:
        gutter = styles.gutter
        is_content = gutter.top <= y < gutter.top + content_size.height
        if is_content and self._edges is not None:
            content = render_content_line(y - gutter.top)
            if content.cell_length == content_size.width:
                left, right = self._edges
                return Strip([*left, *content, *right], size.width)
        line = super().render_line(
            styles,
            y,
            size,
            content_size,
            padding,
            base_background,
            background,
            render_content_line,
            *others,
        )
        if is_content:
            self._edges = (
                list(line.crop(0, gutter.left)),
                list(line.crop(size.width - gutter.right)),
            )
        return line


class ThemedWidget(Widget):
    """Has the palette of the theme, and redraws when the theme changes."""

    ALLOW_SELECT = False
    app: AppInterface

    _ground: Style | None = None

    def __init__(self, *, id: str | None = None, name: str | None = None) -> None:
        super().__init__(id=id, name=name)
        self._styles_cache = BorderedLines()

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
