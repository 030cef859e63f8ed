"""Glyphs and colours: what importance, status and marks look like, in the styles of a theme.

A theme file maps roles (`high`, `match`, `selection`) to styles. `Palette` holds them as Rich
styles; `ThemeRegistry` also converts themes for Textual. Every colour goes with a glyph or a word.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import fields
from pathlib import Path

from rich.segment import Segment
from rich.style import Style
from textual.theme import Theme as TextualTheme

from memtui import text, themes
from memtui.errors import ConfigError, MemtuiError
from memtui.model import IMPORTANCES, STATUSES
from memtui.themes import Theme

IMPORTANCE_GLYPHS = {"high": "◆", "medium": "◇", "low": "·"}
STATUS_GLYPHS = {"active": " ", "proposed": "?", "superseded": "↻", "retired": "–", "deleted": "×"}
VISIBLE_STATUS_GLYPHS = {**STATUS_GLYPHS, "active": "●"}
"""For legends and counts, where a blank would be unclear."""
MARKED_GLYPH = "✓"
NEW_GLYPH = "•"
PINNED_GLYPH = "★"
FINDING_GLYPH = "!"
INACTIVE_STATUSES = frozenset({"superseded", "retired", "deleted"})
"""Statuses drawn faintly, since agents are not given these memories."""


_CODE_TYPES = {
    "inline": "company",
    "keyword": "event",
    "string": "goal",
    "number": "decision",
    "name": "company",
    "builtin": "fact",
}
"""Kind of token in code -> the type whose colour it has."""
_UPRIGHT, _SLANTED, _STRONG = Style(bold=False), Style(italic=True), Style(bold=True)


class Palette:
    """The Rich styles of one theme, one per role."""

    def __init__(self, theme: Theme) -> None:
        def style(meaning: str) -> Style:
            return Style.parse(theme.style(meaning) or "none")

        self._theme = theme
        self._types: dict[str, Style] = {}
        self._products = [Style.parse(paint.style or "none") for paint in theme.cycle]
        self.text = style("text")
        self.dim = style("muted")
        """For times, counts and labels."""
        self.faint = style("faint")
        """For entities in rows and for placeholders."""
        self.rule = style("border")
        self.accent = style("border-focus")
        self.title = style("title")
        self.heading = style("heading")
        self.match = style("match") + Style(dim=False)  # it stands in dim text too
        """Added to another style."""
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
        """Background of the cursor line."""
        return self._cursor if focused else self._cursor_blurred

    def importance(self, value: str) -> Style:
        return self._importances.get(value, self.dim)

    def status(self, value: str) -> Style:
        return self._statuses.get(value, self.dim)

    def type(self, value: str) -> Style:
        """Style of a type's name, always the same for the same name."""
        style = self._types.get(value)
        if style is None:
            paint = self._theme.type_paint(value)
            style = self._types[value] = Style.parse(paint.style or "none")
        return style

    def product(self, colour: int) -> Style:
        """Style of a program's badge, by the number of its colour."""
        return self._products[colour % len(self._products)] + _STRONG

    def code(self, kind: str) -> Style:
        """Style of a kind of token in code: the colours of types, which a theme sets apart."""
        if kind in _CODE_TYPES:
            return self.type(_CODE_TYPES[kind]) + _UPRIGHT
        changed = {"added": self.added, "removed": self.removed + Style(strike=False)}
        others = {"comment": self.faint + _SLANTED, "operator": self.dim, **changed}
        return others.get(kind, self.text)

    def glyph(self, field: str, value: str) -> Style:
        """Style of the glyph before a filter value."""
        if field == "importance":
            return self.importance(value)
        return self.status(value) if field == "status" else self.dim

    def value_bar(self, field: str, value: str) -> Style:
        """Style of a value's bar in the statistics."""
        if field == "type":
            return self.type(value)
        if field in ("importance", "status"):
            return self.glyph(field, value)
        return self.bar


class ThemeRegistry:
    """The available themes, each as a palette and as a Textual theme."""

    def __init__(self, folders: Sequence[Path]) -> None:
        self._themes = themes.load_all(folders)
        self._palettes: dict[str, Palette] = {}
        self.problems: list[MemtuiError] = list(self._themes.problems)

    def palette(self, name: str) -> Palette:
        """Return the palette of a theme, or of the monochrome one if there is no such theme."""
        if name not in self._palettes:
            by_name = self._themes.by_name
            self._palettes[name] = Palette(by_name.get(name) or by_name[themes.MONO])
        return self._palettes[name]

    def choices(self) -> list[tuple[str, str]]:
        """Return (name, description) of every theme."""
        return [(name, theme.about) for name, theme in self._themes.by_name.items()]

    def best(self, name: str, *, sixteen_colours: bool = False) -> str:
        """Return the name of the theme to use for `name`.

        Honours NO_COLOR; where the terminal has sixteen colours, a theme of others is not used.
        """
        theme, problem = themes.choose(name, self._themes, os.environ)
        if problem:
            self.problems.append(ConfigError(problem, where="theme", do="T shows all themes"))
        if sixteen_colours and not theme.ansi and themes.TERMINAL in self._themes.by_name:
            return themes.TERMINAL
        return theme.name

    def textual_themes(self) -> list[TextualTheme]:
        known = {field.name for field in fields(TextualTheme)}  # `ansi` since Textual 8.2.5
        each = map(themes.textual_values, self._themes.by_name.values())
        return [
            TextualTheme(**{name: value for name, value in values.items() if name in known})
            for values in each
        ]

    def is_ansi(self, name: str) -> bool:
        """Whether a theme uses the terminal's own colours."""
        return name in self._themes.by_name and self._themes.by_name[name].ansi


def wrapped(words: str, style: Style, width: int) -> list[list[Segment]]:
    """Wrap a visible text to lines of `width` cells behind a blank."""
    return [[Segment(f" {line}", style)] for line in text.wrap(words, width)]


def marked_segments(line: str, words: Sequence[str], style: Style, match: Style) -> list[Segment]:
    """Split a visible line into segments, with the matches of `words` highlighted."""
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
