"""The colours of a theme by what they mean on screen, as Rich styles.

A theme file speaks of meanings (`high`, `match`, `selection`); here each becomes the style that
lines are drawn with, and the theme becomes the one Textual wants for the frame around them.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path

from rich.segment import Segment
from rich.style import Style
from textual.theme import Theme as TextualTheme

from memtui import text, themes
from memtui.errors import ConfigError, MemtuiError
from memtui.model import IMPORTANCES, STATUSES, UNTYPED
from memtui.themes import Theme


class Palette:
    """One style a meaning; made once for each theme."""

    def __init__(self, theme: Theme) -> None:
        def style(meaning: str) -> Style:
            return Style.parse(theme.style(meaning) or "none")

        self._theme = theme
        self._types: dict[str, Style] = {}
        self.text = style("text")
        self.dim = style("muted")
        """Second to the text: times, counts, labels."""
        self.faint = style("faint")
        """Third: entities in rows, placeholders."""
        self.rule = style("border")
        self.accent = style("border-focus")
        self.title = style("title")
        self.heading = style("heading")
        self.match = style("match")
        """Laid over another style."""
        self.link = style("link")
        self.key = style("key")
        self.chosen = style("chosen")
        self.marked = style("mark")
        self.pin = style("pin")
        self.fresh = style("fresh")
        self.badge = style("badge")
        self.warning = style("warning")
        self.chip = style("chip")
        self.chip_label = style("chip-label")
        self.thumb = style("thumb")
        self.thumb_focused = style("thumb-focus")
        self.bar = style("bar")
        self.bar_cursor = style("bar-cursor")
        self.removed = style("removed") + Style(strike=True)
        self.added = style("added")
        self._cursor = style("selection")
        self._cursor_blurred = style("selection-blurred")
        self.cursor_text = style("selection-text")
        self._importances = {value: style(value) for value in IMPORTANCES}
        self._statuses = {value: style(value) for value in STATUSES}

    def cursor(self, *, focused: bool) -> Style:
        """The ground of the line with the cursor."""
        return self._cursor if focused else self._cursor_blurred

    def importance(self, value: str) -> Style:
        return self._importances.get(value, self.dim)

    def status(self, value: str) -> Style:
        return self._statuses.get(value, self.dim)

    def type(self, value: str) -> Style:
        """The colour of a type's name, always the same for the same word."""
        style = self._types.get(value)
        if style is None:
            paint = self._theme.type_paint("" if value == UNTYPED else value)
            style = self._types[value] = Style.parse(paint.style or "none")
        return style

    def sign(self, field: str, value: str) -> Style:
        """The sign before a value of a filter."""
        if field == "importance":
            return self.importance(value)
        return self.status(value) if field == "status" else self.dim

    def value_bar(self, field: str, value: str) -> Style:
        """The bar of a value in the statistics."""
        if field == "type":
            return self.type(value)
        if field in ("importance", "status"):
            return self.sign(field, value)
        return self.bar


class Colours:
    """The themes there are, each as a palette and as a Textual theme."""

    def __init__(self, folders: Sequence[Path]) -> None:
        self._themes = themes.load_all(folders)
        self._palettes: dict[str, Palette] = {}
        self.problems: list[MemtuiError] = list(self._themes.problems)

    def palette(self, name: str) -> Palette:
        """The palette of a theme; of the plain one when there is no such theme."""
        if name not in self._palettes:
            by_name = self._themes.by_name
            self._palettes[name] = Palette(by_name.get(name) or by_name[themes.MONO])
        return self._palettes[name]

    def choices(self) -> list[tuple[str, str]]:
        """Name and description of every theme."""
        return [(name, theme.about) for name, theme in self._themes.by_name.items()]

    def best(self, name: str) -> str:
        """The theme of this name, or what there is in its place; NO_COLOR is honoured."""
        theme, problem = themes.choose(name, self._themes, os.environ)
        if problem:
            self.problems.append(ConfigError(problem, where="theme"))
        return theme.name

    def textual_themes(self) -> list[TextualTheme]:
        return [
            TextualTheme(**themes.textual_values(theme)) for theme in self._themes.by_name.values()
        ]


def marked_segments(line: str, words: Sequence[str], style: Style, match: Style) -> list[Segment]:
    """A visible line in `style`, the parts that `words` match in `match` on top of it."""
    if not words:
        return [Segment(line, style)]
    segments: list[Segment] = []
    at = 0
    for start, end in text.highlights(line, words):
        if start > at:
            segments.append(Segment(line[at:start], style))
        segments.append(Segment(line[start:end], style + match))
        at = end
    if at < len(line):
        segments.append(Segment(line[at:], style))
    return segments
