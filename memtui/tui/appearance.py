"""Glyphs and colours: what importance, status and marks look like, in the styles of a theme.

A theme maps roles (`high`, `match`, `selection`) to styles; `Palette` names those that are drawn.
Every colour goes with a glyph or a word.
"""

from __future__ import annotations

from collections.abc import Sequence

from rich.segment import Segment
from rich.style import Style

from memtui import text
from memtui.model import IMPORTANCES, STATUSES
from memtui.tui.themes import Theme

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
        style = theme.styles.__getitem__
        self._theme = theme
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
        return self._theme.type_style(value)

    def product(self, colour: int) -> Style:
        """Style of a program's badge, by the number of its colour."""
        return self._theme.cycle[colour % len(self._theme.cycle)] + _STRONG

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
