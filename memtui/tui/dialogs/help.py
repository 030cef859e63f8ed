"""Help: keys of the pane, keys that work everywhere, the search syntax; the command palette."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from itertools import groupby
from operator import attrgetter

from rich.segment import Segment
from textual import on
from textual.app import ComposeResult
from textual.widgets import Input

from memtui import text
from memtui.errors import MemtuiError
from memtui.model import STATUSES
from memtui.paths import bundled_folder
from memtui.tui import appearance, key_bindings, terminal
from memtui.tui.actions import (
    ACTIONS,
    ANYWHERE,
    EVERYWHERE,
    MOVING,
    SEARCH,
    works_here,
)
from memtui.tui.appearance import Palette
from memtui.tui.dialogs.dialog import TextDialog
from memtui.tui.layout import Pane
from memtui.tui.view_state import Choice
from memtui.tui.widgets.inputs import FilterInput
from memtui.tui.widgets.text_window import TextWindow

KEYS_WIDTH, KEYS_WIDTH_NARROW = 16, 10
NARROW = 70
"""Width below which the column of keys is narrower."""
SYNTAX = (
    ("auth login", "both words rank first, then either"),
    ('"exact words"', "exactly this, with its punctuation"),
    ("-redis  NOT redis", "without this word"),
    ("a OR b  a AND b", "operators in upper case; ( ) group"),
    ("conf*  *part*  w?rd", "wildcards; ? is any one letter"),
    ("/lea[sk]e/", "regular expression"),
    ("rember~  ~mood", "fuzzy; similar meaning"),
    ("type:decision,bug", "any of these types"),
    ("importance:>=medium", "high, medium, low"),
    ("status:all", "active, proposed, superseded, retired, deleted, all"),
    ("entity:alice", "this entity and its children"),
    ("since:7d  until:2026-03", "30m, 24h, 7d, 2w, 3mo, 1y, yesterday, a date or month"),
    ("created:2026-05..2026-06", "also updated: before: after: with < <= > >="),
    ("is:stale  has:links", "pinned stale superseded linked marked; tags history secret outdated"),
    ("title:  content:  file:  id:", "text in this field; source: too"),
    ("store:  kind:  tag:  pinned:", "by store, kind, tag, pin; confidence:>0.7"),
    ("sort:importance,-new", "new, old, importance, priority, salience, used, relevance"),
    ("prefer:decision", "this type ranks higher"),
    ("-type:bug", "a minus excludes; works with every filter"),
)
QUERY_PAGE = "search.md"
MARKS = (
    ("◆ ◇ ·", "importance high, medium, low"),
    *((appearance.STATUS_GLYPHS[value], value) for value in STATUSES[1:]),
    (appearance.PINNED_GLYPH, "pinned"),
    (appearance.MARKED_GLYPH, "marked"),
    (appearance.NEW_GLYPH, "new since you last looked"),
    (appearance.FINDING_GLYPH, "something about it waits in the review"),
    ("~", "the time of its file"),
    ("␛", "a hidden or control character"),
)


class HelpScreen(TextDialog[None]):
    """Help for a pane, with key overrides applied."""

    box_classes = "tall"
    BINDINGS = [
        ("escape", "leave"),
        ("question_mark,q,enter", "dismiss"),
        ("slash", "search", "search"),
        ("o", "open_page"),
    ]

    def __init__(
        self,
        pane: Pane | str,
        keys: Mapping[str, Sequence[str]],
        badges: Iterable[tuple[str, str]] = (),
    ) -> None:
        """`keys`: of every action; `badges`: of the programs whose stores are open, and their
        names."""
        super().__init__()
        self.heading, self._pane = f"Help: {pane}", pane
        self._keys, self._badges = keys, badges
        self._search_text = ""

    def content(self) -> ComposeResult:
        yield FilterInput(placeholder="a key or a word", compact=True)
        yield from super().content()

    def on_mount(self) -> None:
        self.query_one(FilterInput).display = False

    def labels(self) -> Mapping[str, object]:
        return {"search": not self.query_one(FilterInput).has_focus}

    def keys(self) -> list[tuple[str, str]]:
        is_typing = self.query_one(FilterInput).has_focus  # `enter` lets other keys scroll
        return [*super().keys(), *[("enter", "done")] * (is_typing and self.is_cut)]

    def action_search(self) -> None:
        line = self.query_one(FilterInput)
        line.display = True
        line.focus()
        self.fill()

    def fit(self, *, columns: int = 0, rows: int = 0) -> None:
        super().fit(columns=columns, rows=rows + self.query_one(FilterInput).display)

    def action_open_page(self) -> None:
        """Show the page about the query language in the pager."""
        try:
            page = bundled_folder("docs") / QUERY_PAGE
            words = page.read_text(encoding="utf-8")
        except OSError as error:
            self.app.report_error(MemtuiError(str(error)))
            return
        terminal.page_text(self.app, words)

    def action_leave(self) -> None:
        """Leave the search first, then the help."""
        line = self.query_one(FilterInput)
        if line.display:
            line.value = ""
            line.display = False
            self.query_one(TextWindow).focus()
            self.fill()
        else:
            self.dismiss(None)

    @on(Input.Changed)
    def _narrow(self, event: Input.Changed) -> None:
        self._search_text = event.value
        self.fill()

    @on(Input.Submitted)
    def _searched(self) -> None:
        self.query_one(TextWindow).focus()

    def lines(self, width: int, palette: Palette) -> list[list[Segment]]:
        lines: list[list[Segment]] = []
        parts = text.fold(self._search_text).split()
        for heading, rows in self._groups(width):
            found = [row for row in rows if all(part in text.fold(" ".join(row)) for part in parts)]
            if not found:
                continue
            if lines:
                lines.append([])
            lines.append([Segment(" "), Segment(heading, palette.heading)])
            for left, right in found:
                lines.extend(_row(left, right, width, palette))
        return lines or [[Segment(" no matches", palette.faint)]]

    def _groups(self, width: int) -> Iterable[tuple[str, Sequence[tuple[str, str]]]]:
        badges = _pack("  ".join(f"{badge} {name}" for badge, name in self._badges), width - 2)
        signs = _pack("  ".join(f"{sign} {words}" for sign, words in MARKS), width - 2)
        yield "Signs", [(row, "") for row in (*badges, *signs) if row]
        page = [("o", "open the page about the whole query language")] * works_here("pager")
        scopes = {self._pane, ANYWHERE, EVERYWHERE, MOVING, SEARCH}
        for group, actions in groupby(ACTIONS, attrgetter("group")):
            rows = [
                (key_bindings.show_keys(action, self._keys), action.tooltip)
                for action in actions
                if self._keys[action.id] and works_here(action.id)
                if not scopes.isdisjoint(action.scopes)
            ]
            yield group, [*rows, *SYNTAX, *page] if group == "Search line" else rows


def _row(left: str, right: str, width: int, palette: Palette) -> Iterable[list[Segment]]:
    """Keys and what they do, or one text in the whole width."""
    if not right:
        yield [Segment(f" {left}", palette.text)]
        return
    least = KEYS_WIDTH if width >= NARROW else KEYS_WIDTH_NARROW
    column = min(max(least, text.width(left) + 2), max(least, width // 2))
    first, *more = text.wrap(right, max(8, width - column - 1))
    yield [Segment(f" {text.pad(left, column)}", palette.key), Segment(first, palette.text)]
    for part in more:
        yield [Segment(" " * (column + 1) + part, palette.text)]


def _pack(words: str, room: int) -> list[str]:
    """Fill rows of this many cells with the pieces of a line, which are two blanks apart."""
    rows = [""]
    for piece in (text.cut(each, max(1, room)) for each in words.split("  ")):
        row = f"{rows[-1]}  {piece}".strip()
        rows = [*rows[:-1], row] if text.width(row) <= room else [*rows, piece]
    return rows


MAX_RECENT = 20
"""Commands that are remembered as used."""


def command_choices(
    refusal: Callable[[str], str], overrides: Mapping[str, Sequence[str]], recent: Sequence[str]
) -> list[Choice]:
    """Return the actions that are possible, with their keys; those in `recent` first."""
    allowed = [action for action in ACTIONS if action.palette and not refusal(action.id)]
    rank = {name: at for at, name in enumerate(recent)}
    allowed.sort(key=lambda action: rank.get(action.id, len(rank)))
    return [
        Choice(
            action.id,
            action.tooltip,
            note=action.group,
            tail=key_bindings.show_keys(action, overrides),
        )
        for action in allowed
    ]


def with_recent(recent: Sequence[str], action_id: str) -> tuple[str, ...]:
    """`recent` with this action first."""
    return (action_id, *(name for name in recent if name != action_id))[:MAX_RECENT]
