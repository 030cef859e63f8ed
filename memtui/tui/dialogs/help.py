"""Help: keys of the pane, keys that work everywhere, the search syntax; the command palette."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence

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
    Action,
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
IDS_FROM = 80
"""Width from which the ids of actions stand at the right; below it only a search shows them."""
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
    (" ".join(appearance.STATUS_GLYPHS[value] for value in STATUSES[1:]), ", ".join(STATUSES[1:])),
    (
        f"{appearance.PINNED_GLYPH} {appearance.MARKED_GLYPH} {appearance.NEW_GLYPH}",
        "pinned, marked, new since you last looked",
    ),
    (appearance.FINDING_GLYPH, "something about it waits in the review queue"),
    ("·  ␛", "replaces a hidden or control character"),
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

    def __init__(self, pane: Pane | str, keys: Mapping[str, Sequence[str]]) -> None:
        super().__init__()
        self.heading, self._pane = f"Help: {pane}", pane
        self._keys = keys
        self._search_text = ""

    def content(self) -> ComposeResult:
        yield FilterInput(placeholder="a key, a word, the id of an action", compact=True)
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
        has_ids = bool(parts) or width >= IDS_FROM
        for heading, rows in self._groups():
            found = [row for row in rows if all(part in text.fold(" ".join(row)) for part in parts)]
            if not found:
                continue
            if lines:
                lines.append([])
            lines.append([Segment(" "), Segment(heading, palette.heading)])
            for left, right, name in found:
                lines.extend(_row(left, right, name * has_ids, width, palette))
        return lines or [[Segment(" no matches", palette.faint)]]

    def _groups(self) -> Iterable[tuple[str, list[tuple[str, str, str]]]]:
        yield f"In the {self._pane}", self._rows(a for a in ACTIONS if self._pane in a.scopes)
        if self._pane is not Pane.TIMELINE:
            yield "Moving", self._rows(a for a in ACTIONS if MOVING in a.scopes)
        all_over = {ANYWHERE, EVERYWHERE}
        yield "Everywhere", self._rows(a for a in ACTIONS if not all_over.isdisjoint(a.scopes))
        typing = self._rows(a for a in ACTIONS if SEARCH in a.scopes)
        page = [("o", "open the page about the whole query language", "")] * works_here("pager")
        yield "In the search bar", [*typing, *((*row, "") for row in SYNTAX), *page]
        yield "Symbols", [(left, right, "") for left, right in MARKS]

    def _rows(self, listed_actions: Iterable[Action]) -> list[tuple[str, str, str]]:
        return [
            (key_bindings.show_keys(action, self._keys), action.tooltip, action.id)
            for action in listed_actions
            if works_here(action.id)
        ]


def _row(left: str, right: str, name: str, width: int, palette: Palette) -> Iterable[list[Segment]]:
    """Keys, what they do, and the action's id at the right, or below where there is no room."""
    least = KEYS_WIDTH if width >= NARROW else KEYS_WIDTH_NARROW
    column = min(max(least, text.width(left) + 2), max(least, width // 2))
    parts = text.wrap(right, max(8, width - column - 1))
    gap = width - column - 1 - text.width(parts[0]) - len(name)
    beside = bool(name) and len(parts) == 1 and gap >= 2
    yield [
        Segment(f" {text.pad(left, column)}", palette.key),
        Segment(parts[0], palette.text),
        *([Segment(" " * gap + name, palette.faint)] if beside else []),
    ]
    for part in parts[1:]:
        yield [Segment(" " * (column + 1) + part, palette.text)]
    if name and not beside:
        yield [Segment(" " * (column + 1) + text.cut(name, width - column - 1), palette.faint)]


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
            note=action.id,
            tail=key_bindings.show_keys(action, overrides),
        )
        for action in allowed
    ]


def with_recent(recent: Sequence[str], action_id: str) -> tuple[str, ...]:
    """`recent` with this action first."""
    return (action_id, *(name for name in recent if name != action_id))[:MAX_RECENT]
