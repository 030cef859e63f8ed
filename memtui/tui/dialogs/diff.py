"""Diff and conflict dialogs: a planned change file by file, and a change that met another one."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import NamedTuple

from rich.segment import Segment
from textual.app import ComposeResult
from textual.content import Content

from memtui import text
from memtui.errors import Conflict
from memtui.model import Memory
from memtui.tui.appearance import Palette
from memtui.tui.dialogs.dialog import FittingDialog, Key, TextDialog
from memtui.tui.diff_lines import DiffLine, count_lines
from memtui.tui.previews import Preview
from memtui.tui.widgets.diff_view import DiffView, draw_diff, draw_text_diff, join_columns
from memtui.tui.widgets.text_window import OutcomeLine, Tone

MAX_SUMMARY = 5
"""Lines above a diff; a long one is wrapped."""


class Way(NamedTuple):
    """One of the ways in which a change can be made."""

    summary: Sequence[OutcomeLine]
    diff: Sequence[DiffLine]
    yes: str
    """Label of the key that confirms it."""

    def fitted(self) -> Way:
        """The way with the lines of a long summary at the top of the diff, which can be scrolled:
        all lines above it would leave the diff no room."""
        if len(self.summary) <= MAX_SUMMARY:
            return self
        shown, rest = self.summary[: MAX_SUMMARY - 1], self.summary[MAX_SUMMARY - 1 :]
        more = OutcomeLine(f"and {len(rest)} more lines below", Tone.QUIET)
        moved = [
            DiffLine("said", text.visible(f"{each.head} {each.words}".strip())) for each in rest
        ]
        return self._replace(summary=(*shown, more), diff=(*moved, *self.diff))


class DiffScreen(FittingDialog[int]):
    """Shows a diff; dismissed with the number of the way that is confirmed, the first is 1.

    `yes` is the label of the confirming key; without it the dialog is read-only. `others`: other
    ways to make the change; `first` is shown first.
    """

    AUTO_FOCUS = "DiffView"
    box_classes = "full"
    BINDINGS = [("escape,q,n", "dismiss")]

    def __init__(
        self,
        title: str,
        summary: Sequence[OutcomeLine],
        diff: Sequence[DiffLine],
        *,
        yes: str = "",
        others: Sequence[Way] = (),
        first: int = 1,
    ) -> None:
        super().__init__()
        self.heading = title[:1].upper() + title[1:]
        self.leave = "cancel" if yes else "back"
        self._ways = [way.fitted() for way in (Way(summary, diff, yes), *others)]
        self._at = first - 1
        self.summary = self._ways[self._at].summary

    def has_summary(self) -> bool:
        return any(way.summary for way in self._ways)

    def content(self) -> ComposeResult:
        yield DiffView(self._ways[self._at].diff)

    def _label(self, step: int) -> str:
        """Of the way that is shown, or the one after it; empty for none."""
        if step >= len(self._ways):
            return ""
        label = self._ways[(self._at + step) % len(self._ways)].yes
        is_short = len(self._ways) > 1 and self.app.size.width < SHORT_KEYS_BELOW
        return label.partition(" ")[0] if is_short else label

    def on_mount(self) -> None:
        self._count()

    def _count(self) -> None:
        diff = self._ways[self._at].diff
        files, added, removed = count_lines(diff)
        places = f"{text.counted(files, 'change')}  +{text.number(added)} -{text.number(removed)}"
        self.query_one(".box").border_subtitle = Content(places if diff else "")

    def _swap(self) -> None:
        """Show the next way."""
        self._at = (self._at + 1) % len(self._ways)
        self.query_one(DiffView).show(self._ways[self._at].diff)
        self.say(*self._ways[self._at].summary)
        self._count()
        self.fill()

    def keys(self) -> list[tuple[str, str]]:
        return [*super().keys(), *[("↑↓", "scroll")] * self.is_cut]

    def fill(self) -> None:
        view = self.query_one(DiffView)
        self.fit(rows=len(view.laid_out(max(12, self.inner_width - 1))))
        self.update_keys()

    KEYS = (
        Key("enter,y", "yes", lambda self: self.dismiss(self._at + 1), lambda self: self._label(0)),
        Key("tab", "other", _swap, lambda self: self._label(1), first=True),
    )


SIDE_BY_SIDE_FROM = 96
"""Columns from which the three texts are shown side by side."""
COMPARED_SIDE_BY_SIDE_FROM = 70
"""Columns from which two texts are shown side by side."""
SHORT_KEYS_BELOW = 70
"""Columns below which the footer shows one word per key."""
MAX_COMPARED_CHARS = 20_000
"""Characters of each text that are compared."""
NOT_THERE = "(deleted)"

THEIRS, MINE, BOTH = "theirs", "mine", "both"


CONFLICT_CHOICES = ((THEIRS, "use theirs"), (MINE, "keep mine"), (BOTH, "edit both"))


class ConflictScreen(TextDialog[str]):
    """Shows base, theirs and ours of a conflicting edit; nothing is chosen by default.

    Dismissed with `theirs`, `mine` or `both`; None leaves the conflict open, without losing text.
    """

    heading = "Conflict: changed meanwhile"
    BINDINGS = [("escape,q", "dismiss")]

    def __init__(
        self,
        conflict: Conflict,
        *,
        choices: Sequence[tuple[str, str]] = CONFLICT_CHOICES,
    ) -> None:
        super().__init__()
        self._conflict = conflict
        self._choices = dict(choices)
        where = text.file_name(conflict.where)
        self.summary = (
            OutcomeLine(conflict.what, Tone.WARNING),
            *([OutcomeLine(where, Tone.QUIET)] if where else []),
        )

    def fill(self) -> None:
        self.leave = "cancel" if self.inner_width >= 40 else ""
        super().fill()

    def _label(self, value: str) -> str:
        label = self._choices.get(value, "")
        return value if label and self.app.size.width < SHORT_KEYS_BELOW else label

    # fmt: off
    KEYS = (
        Key("t", THEIRS, lambda self: self.dismiss(THEIRS), lambda self: self._label(THEIRS)),
        Key("m", MINE, lambda self: self.dismiss(MINE), lambda self: self._label(MINE)),
        Key("b", BOTH, lambda self: self.dismiss(BOTH), lambda self: self._label(BOTH)),
    )
    # fmt: on

    def lines(self, width: int, palette: Palette) -> list[list[Segment]]:
        base = self._conflict.base
        texts = [
            ("As you opened it", base, None),
            ("Theirs, as it is now", self._conflict.theirs, base),
            ("Yours", self._conflict.yours, base),
        ]
        if width >= SIDE_BY_SIDE_FROM:
            column = (width - 4) // 3
            columns = [_column(*one, palette, column) for one in texts]
            return join_columns(columns, column, palette)
        # What was changed comes before what it was: else it is found only by scrolling.
        return [line for one in (*texts[1:], texts[0]) for line in _column(*one, palette, width)]


def _column(
    heading: str, now: str | None, base: str | None, palette: Palette, width: int
) -> list[list[Segment]]:
    """One text under its heading, with its differences from the base marked."""
    lines = [[Segment(text.cut(f" {heading}", width), palette.heading)]]
    if now is None:
        return [*lines, [Segment(f" {NOT_THERE}", palette.faint)], []]
    shown = now[:MAX_COMPARED_CHARS]
    drawn = draw_text_diff(
        shown if base is None else base[:MAX_COMPARED_CHARS], shown, palette, width - 2
    )
    lines += [[Segment(" "), *line] for line in drawn]
    return [*lines, []]


class CompareScreen(TextDialog[None]):
    """Two memories side by side, one below the other where there is no room, differences marked."""

    heading = "Compare"
    BINDINGS = [("escape,q,enter", "dismiss")]

    def __init__(self, left: Memory, right: Memory) -> None:
        super().__init__()
        self._left, self._right = left, right

    def lines(self, width: int, palette: Palette) -> list[list[Segment]]:
        return draw_compared(self._left, self._right, palette, width, self.app.store_name)


def draw_compared(
    left: Memory,
    right: Memory,
    palette: Palette,
    width: int,
    store_name: Callable[[str], str],
    *,
    is_merge: bool = False,
) -> list[list[Segment]]:
    """Two memories side by side, or one below the other, with their differences marked.

    `store_name`: the name under which the store with a label is shown; `is_merge`: the left one
    stays, the right one goes.
    """
    same = frozenset(name for name in FIELDS if getattr(left, name) == getattr(right, name))
    beside = width >= COMPARED_SIDE_BY_SIDE_FROM
    column = (width - 2) // 2 if beside else width
    sides = ((left, "new", "Stays: "), (right, "gone", "Goes: "))
    if not is_merge:
        sides = ((left, "gone", ""), (right, "new", ""))
    before, after = (
        memory.content[:MAX_COMPARED_CHARS]
        for memory, *_ in sorted(sides, key=lambda side: side[1])
    )
    columns = []
    for memory, own, word in sides:
        head = text.cut_line(f"{word}{memory.headline}", column - 1)
        lines = [[Segment(f" {head}", palette.heading)]]
        for name in FIELDS:
            if beside or name not in same:
                style = palette.dim if name in same else palette.text
                lines.append([Segment(_field(memory, name, column, store_name), style)])
        drawn = draw_text_diff(before, after, palette, column - 2, frozenset({own}))
        columns.append([*lines, [], *([Segment(" "), *line] for line in drawn), []])
    if beside:
        return join_columns(columns, column, palette)
    shared = (_field(left, name, width, store_name) for name in FIELDS if name in same)
    both = [[Segment(words, palette.dim)] for words in shared]
    return [*columns[0], *columns[1], [Segment(" Same in both", palette.heading)], *both]


FIELDS = ("store", "entity", "type", "importance", "status", "tags", "created")
"""What is compared beside the texts."""


def _field(memory: Memory, name: str, width: int, store_name: Callable[[str], str]) -> str:
    value = getattr(memory, name)
    if name == "created":
        value = text.date(value)
    elif name == "store":
        value = store_name(value)
    words = ", ".join(value) if isinstance(value, tuple) else str(value)
    return text.cut(f" {name:<11}{text.one_line(words) or 'none'}", width)


# ---- merging -------------------------------------------------------------------------------------


MERGE, EDIT = "merge", "edit"


class MergeWay(NamedTuple):
    """A merge that keeps the first of these memories."""

    memories: Sequence[Memory]
    preview: Preview
    summary: Sequence[OutcomeLine]


class MergeScreen(TextDialog[tuple[str, int]]):
    """Dismissed with `MERGE`, or `EDIT` to edit the text first, and the number of the way."""

    leave = "cancel"
    BINDINGS = [("escape,q", "dismiss")]

    def __init__(self, ways: Sequence[MergeWay]) -> None:
        super().__init__()
        self._ways, self._at = ways, 0
        self.heading = f"Merge {text.counted(len(ways[0].memories), 'memory')}"
        self.summary = ways[0].summary

    def _swap(self) -> None:
        """Keep the next memory instead."""
        self._at = (self._at + 1) % len(self._ways)
        self.say(*self._ways[self._at].summary)
        self.fill()

    KEYS = (
        Key("enter", "merge", lambda self: self.dismiss((MERGE, self._at))),
        Key("e", "edit text", lambda self: self.dismiss((EDIT, self._at))),
        Key("tab", "keep the other", _swap, lambda self: len(self._ways) > 1, first=True),
    )

    def lines(self, width: int, palette: Palette) -> list[list[Segment]]:
        way = self._ways[self._at]
        kept, *others = way.memories
        lines: list[list[Segment]] = []
        for other in others:
            lines += draw_compared(kept, other, palette, width, self.app.store_name, is_merge=True)
            before, after = other.content[:MAX_COMPARED_CHARS], kept.content[:MAX_COMPARED_CHARS]
            lines.append([Segment(" What goes becomes what stays, word by word", palette.heading)])
            drawn = draw_text_diff(before, after, palette, width - 2)
            lines += [*([Segment(" "), *line] for line in drawn), []]
        lines.append([Segment(" Changes in files", palette.heading)])
        lines += [part for line in way.preview.lines for part in draw_diff(line, palette, width)]
        return lines
