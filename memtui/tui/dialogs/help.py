"""Help: keys of the focused pane, keys that work everywhere, and the search syntax."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, ClassVar

from rich.segment import Segment
from textual.binding import Binding

from memtui import text
from memtui.model import STATUSES
from memtui.tui import appearance, key_bindings
from memtui.tui.actions import ACTIONS, ANYWHERE, EVERYWHERE, MOVING, SEARCH, Action
from memtui.tui.dialogs.dialog import TextDialog
from memtui.tui.layout import Pane

if TYPE_CHECKING:
    from textual.binding import BindingType

    from memtui.tui.appearance import Palette

KEYS_WIDTH, KEYS_WIDTH_NARROW = 16, 10
NARROW = 48
"""Width below which the column of keys is narrower."""
SYNTAX = (
    ("auth login", "both words rank first, then either"),
    ('"exact words"', "exact phrase"),
    ("-redis", "without this word"),
    ("conf*  w?rd", "prefix; ? is any one letter"),
    ("rember~", "fuzzy"),
    ("type:decision,bug", "any of these types; untyped = no type"),
    ("importance:high", "high, medium, low"),
    ("status:all", "active, proposed, superseded, retired, deleted, all"),
    ("entity:alice", "this entity and its children"),
    ("since:7d  until:2026-03-01", "30m, 24h, 7d, 2w, 1y, or a date"),
    ("store:  kind:  tag:  pinned:", "by store, kind, tag, pin"),
    ("sort:old", "new, old, importance, priority, relevance"),
    ("-type:bug", "a minus excludes; works with every filter"),
)
MARKS = (
    ("◆ ◇ ·", "importance high, medium, low"),
    (" ".join(appearance.STATUS_GLYPHS[value] for value in STATUSES[1:]), ", ".join(STATUSES[1:])),
    (
        f"{appearance.PINNED_GLYPH} {appearance.MARKED_GLYPH} {appearance.NEW_GLYPH}",
        "pinned, marked, new since you last looked",
    ),
    ("·  ␛", "replaces a hidden or control character"),
)


class HelpScreen(TextDialog):
    """Help for a pane, with key overrides applied."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("escape,question_mark,q,enter", "dismiss", show=False)
    ]

    def __init__(self, pane: Pane, keys: Mapping[str, Sequence[str]]) -> None:
        super().__init__()
        self._pane = pane
        self._keys = keys

    def box_title(self) -> str:
        return f"Help: {self._pane}"

    def lines(self, width: int, palette: Palette) -> list[list[Segment]]:
        lines: list[list[Segment]] = []
        for heading, rows in self._groups():
            if lines:
                lines.append([])
            lines.append([Segment(" "), Segment(heading, palette.heading)])
            for left, right in rows:
                lines.extend(_row(left, right, width, palette))
        return lines

    def _groups(self) -> Iterable[tuple[str, list[tuple[str, str]]]]:
        yield f"In the {self._pane}", self._rows(a for a in ACTIONS if self._pane in a.scopes)
        if self._pane is not Pane.TIMELINE:
            yield "Moving", self._rows(a for a in ACTIONS if MOVING in a.scopes)
        all_over = {ANYWHERE, EVERYWHERE}
        yield "Everywhere", self._rows(a for a in ACTIONS if not all_over.isdisjoint(a.scopes))
        typing = self._rows(a for a in ACTIONS if SEARCH in a.scopes)
        yield "In the search bar", [*typing, *SYNTAX]
        yield "Symbols", list(MARKS)

    def _rows(self, wanted: Iterable[Action]) -> list[tuple[str, str]]:
        return [(key_bindings.show_keys(action, self._keys), action.tooltip) for action in wanted]


def _row(left: str, right: str, width: int, palette: Palette) -> Iterable[list[Segment]]:
    least = KEYS_WIDTH if width >= NARROW else KEYS_WIDTH_NARROW
    column = min(max(least, text.width(left) + 2), max(least, width // 2))
    parts = text.wrap(right, max(8, width - column - 1))
    yield [
        Segment(f" {text.pad(left, column)}", palette.key),
        Segment(parts[0], palette.text),
    ]
    for part in parts[1:]:
        yield [Segment(" " * (column + 1) + part, palette.text)]
