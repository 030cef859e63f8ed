"""The lists of the context screen: a pack, and two packs side by side."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from typing import NamedTuple

from rich.segment import Segment
from rich.style import Style
from textual.strip import Strip

from memtui import text
from memtui.context import Pack, PackEntry, Recipe
from memtui.tui.appearance import Palette, wrapped
from memtui.tui.context_packs import (
    BuiltPack,
    ComparedEntry,
    ItemKind,
    PackDifference,
    PackItem,
    PackRequest,
    find_next_left_out,
)
from memtui.tui.widgets.diff_view import draw_text_diff
from memtui.tui.widgets.statistics import bar
from memtui.tui.widgets.text_window import RowList

LONGEST = 20_000
"""Characters of an entry that are drawn; the pack has all of them."""
TOKENS_FROM = 50
"""Columns from which the tokens of each entry are shown."""
TOKENS_WIDTH = 6
STOP_EVERY = 8
"""Rows of a long entry from one stop of the cursor to the next."""
OUT_SIGN = "×"


class PackRow(NamedTuple):
    """One screen row of an item."""

    item: int
    words: str
    number: int
    """Number of the row within the item, from 0."""


class PackList(RowList[PackRow]):
    """The text of a pack in rows; the cursor stands on an item."""

    is_lit = False

    def __init__(self) -> None:
        super().__init__(id="pack")
        self.items: Sequence[PackItem] = ()
        self.folded: frozenset[str] = frozenset()
        """Titles of the sections of which only the heading is shown."""
        self._laid_out = 0
        self._current = -1

    @property
    def at(self) -> int:
        """Position of the item under the cursor; -1 without items."""
        return self.current.item if self.current else -1

    @property
    def item(self) -> PackItem | None:
        return self.items[self.at] if self.at >= 0 else None

    def show(
        self,
        items: Sequence[PackItem],
        empty: str,
        *,
        is_other: bool = False,
        is_folded: bool = False,
    ) -> None:
        """Show these items, or the words `empty`; the cursor stays on its memory, or in its place.

        `is_other`: they are of another task or recipe: the cursor goes to the first entry, and if
        `is_folded`, only the headings are shown where there are several.
        """
        before, row = self.item, self.cursor
        is_first = not self.items or is_other
        self.items, self.empty = items, empty
        if is_first:
            titles = [item.text for item in items if item.kind is ItemKind.SECTION]
            self.folded = frozenset(titles if is_folded and len(titles) > 1 else ())
            self.top = row = 0
        self._lay_out()
        at = None if is_first else _find_item(items, before)
        for number, one in enumerate(self.rows):
            item = items[one.item]
            if one.item == at or (is_first and item.entry and item.is_in):
                row = number
                break
        self.show_rows(self.rows, cursor=row)
        self._current = self.at
        self.post_message(self.Moved())

    def _lay_out(self) -> None:
        width = self.size.width
        self._laid_out = width
        tokens = TOKENS_WIDTH if width >= TOKENS_FROM else 0
        room = max(8, width - 3 - tokens)
        self.rows = []
        title = ""
        for number, item in enumerate(self.items):
            if item.kind is ItemKind.SECTION:
                title = item.text
            elif item.section is not None and title in self.folded:
                continue
            shown = text.visible(item.text[:LONGEST].removesuffix("\n"))
            if item.kind in (ItemKind.SECTION, ItemKind.NOTE):
                shown = text.one_line(item.text)
            lines = [part for line in shown.split("\n") for part in text.wrap(line, room) or [""]]
            if item.kind is ItemKind.SECTION:
                lines = lines[:1]
            if len(item.text) > LONGEST:
                lines.append(f"… {text.number(len(item.text) - LONGEST)} more characters")
            self.rows += [PackRow(number, line, at) for at, line in enumerate(lines)]

    def fold(self, title: str) -> None:
        """Hide what is in this section, or show it again."""
        self.folded ^= {title}
        self._lay_out_again()

    def on_resize(self) -> None:
        if self._laid_out != self.size.width:
            self._lay_out_again()
        self.reset(cursor=self.cursor, top=self.top)

    def _lay_out_again(self) -> None:
        at = self.at
        self._lay_out()
        row = next((n for n, one in enumerate(self.rows) if one.item == at), self.cursor)
        self.show_rows(self.rows, cursor=row)

    def cursor_moved(self) -> None:
        if self.at != self._current:
            self._current = self.at
            self.redraw()
            super().cursor_moved()

    def selectable(self, index: int) -> bool:
        row = self.rows[index]
        is_text = self.items[row.item].kind is not ItemKind.FRAME
        return is_text and row.number % STOP_EVERY == 0

    def draw_empty(self, y: int, width: int) -> Strip:
        lines = text.wrap(self.empty, max(8, width - 2))
        return Strip([Segment(f" {lines[y]}", self.palette.dim)] if y < len(lines) else [])

    def has_bar(self, index: int, *, selected: bool) -> bool:
        return self.rows[index].item == self._current

    def draw_row(self, row: PackRow, width: int) -> Sequence[tuple[str, Style]]:
        item, palette, is_first = self.items[row.item], self.palette, not row.number
        if item.kind is ItemKind.SECTION:
            return self._section(item, row.words, width - 1)
        if item.kind is ItemKind.NOTE:
            return [(("· " if is_first else "  ") + row.words, palette.warning)]
        style = palette.text if item.kind is ItemKind.ENTRY else palette.dim
        if not item.is_in:
            style = palette.removed if item.is_over_budget else palette.faint
        sign = OUT_SIGN if not item.is_in and item.entry and is_first else " "
        tokens = ""
        blank = len(item.text) - len(item.text.lstrip("\n"))  # nothing else between two memories
        if width >= TOKENS_FROM and row.number == blank and item.entry is not None:
            room = max(0, width - 2 - text.width(row.words) - TOKENS_WIDTH)
            tokens = f"{' ' * room}{text.number(item.entry.tokens):>{TOKENS_WIDTH - 1}} "
        return [(sign, palette.warning), (row.words, style), (tokens, palette.dim)]

    def _section(self, item: PackItem, words: str, width: int) -> list[tuple[str, Style]]:
        section, palette = item.section, self.palette
        counts = " left out "
        if item.is_in:
            memories, tokens = (len(section.refs), section.tokens) if section else (0, 0)
            counts = f" {text.number(memories)} · {text.number(tokens)} tokens "
            if text.width(words) > width - text.width(counts) - 5:
                counts = f" {text.number(tokens)} t "
        title = text.cut(words, max(4, width - text.width(counts) - 5))
        rule = "─" * max(1, width - text.width(title) - text.width(counts) - 4)
        sign = "▸" if item.text in self.folded else "▾"
        return [
            (f"{sign} ", palette.dim),
            (title, palette.heading if item.is_in else palette.faint),
            (f" {rule}", palette.rule),
            (counts, palette.dim),
        ]


def _find_item(items: Sequence[PackItem], before: PackItem | None) -> int | None:
    """Return the new index of the item that the cursor was on."""
    if before is None:
        return None
    for fields in (("ref", "text"), ("ref",)) if before.ref else (("kind", "text"),):
        for number, item in enumerate(items):
            if all(getattr(item, name) == getattr(before, name) for name in fields):
                return number
    return None


BESIDE_FROM = 90
"""Columns from which two packs stand side by side; below, one line says both."""


class PackComparisonList(RowList[ComparedEntry]):
    """The entries of two packs side by side, one line each."""

    empty = "Both packs are empty"
    is_lit = False

    def draw_row(self, row: ComparedEntry, width: int) -> Sequence[tuple[str, Style]]:
        palette = self.palette
        style = {
            PackDifference.SAME: palette.dim,
            PackDifference.CHANGED: palette.warning,
            PackDifference.MOVED: palette.text,
            PackDifference.ONLY_LEFT: palette.removed + Style(strike=False),
            PackDifference.ONLY_RIGHT: palette.added,
        }[row.difference]
        sign = f" {row.difference} "
        if width < BESIDE_FROM:
            return [(sign, style), (_cut(row.entry, width - 4), style)]
        cells = (width - 5) // 2
        left, right = text.pad(_cut(row.left, cells), cells), _cut(row.right, cells)
        return [(left, style), (sign, style), (right, style)]


def _cut(entry: PackEntry | None, cells: int) -> str:
    # A list's dash beside the sign of what only the left pack has would read as another sign.
    return "" if entry is None else text.cut_line(entry.text.strip().removeprefix("- "), cells)


# ---- what is said about it -----------------------------------------------------------------------


BAR_CELLS = 12
LONGEST_COMPARED = 4_000
"""Characters of a text of which the changed words are shown."""

Lines = list[list[Segment]]


def explain_item(
    items: Sequence[PackItem], at: int, palette: Palette, width: int, *, bars: bool
) -> Lines:
    """Explain why the item at this index is in or not, and which would come next.

    `bars`: draw the parts of scores as bars, a line each; else one line names them.
    """
    if not 0 <= at < len(items):
        return []
    item = items[at]
    lines = _explain_one(item, palette, width, bars)
    after = find_next_left_out(items, at)
    if after is not None and after.entry is not None and item.is_in:
        lines += _wrap(f"Next, not in: {after.reason}", palette.warning, width)
        lines += _wrap(text.cut_line(after.entry.text.strip(), 120), palette.dim, width)
        lines += _reasons(after.entry, palette, width, bars)
    return lines


def _explain_one(item: PackItem, palette: Palette, width: int, bars: bool) -> Lines:
    if item.kind is ItemKind.NOTE:
        return _wrap("A note about this pack; the agent does not get it.", palette.dim, width)
    if item.entry is not None and item.ref:
        word = "In" if item.is_in else "Not in"
        lines = _wrap(
            f"{word}: {item.ref} · {text.counted(item.entry.tokens, 'token')}",
            palette.heading,
            width,
        )
        if not item.is_in:
            lines += _wrap(item.reason, palette.warning, width)
        return [*lines, *_reasons(item.entry, palette, width, bars)]
    if item.section is None:
        return _wrap("Text around the sections, as its program writes it.", palette.dim, width)
    lines = _wrap(
        f"{item.section.title}: {text.counted(item.section.tokens, 'token')}",
        palette.heading,
        width,
    )
    return [*lines, *_wrap(item.section.rule, palette.dim, width)]


def _reasons(entry: PackEntry, palette: Palette, width: int, bars: bool) -> Lines:
    """The reason, and the parts of the score; as bars where they fit."""
    if len(entry.parts) < 2 or not bars:
        return _wrap(entry.why, palette.text, width)
    words = entry.why.partition("; score ")[0] if "; score " in entry.why else ""
    lines = _wrap(words, palette.text, width) if words else []
    most = max((abs(part.value) for part in entry.parts), default=0.0) or 1.0
    for part in entry.parts:
        name = text.cut_line(part.name, width - BAR_CELLS - 10)
        cells = bar(abs(part.value) / most, BAR_CELLS)
        lines.append(
            [
                Segment(f" {part.value:>7.3f} ", palette.text),
                Segment(cells, palette.warning if part.value < 0 else palette.bar),
                Segment(f" {name}", palette.dim),
            ]
        )
    total = f" {entry.score:>7.3f} = score"
    return [*lines, [Segment(total, palette.text)]]


def explain_compared(line: ComparedEntry | None, palette: Palette, width: int) -> Lines:
    """Explain how a line of two packs differs."""
    if line is None or line.entry is None:
        return []
    words = {
        PackDifference.SAME: "In both, the same",
        PackDifference.CHANGED: "In both, with another text",
        PackDifference.MOVED: "In both, at another place",
        PackDifference.ONLY_LEFT: "Only in the pack at the left",
        PackDifference.ONLY_RIGHT: "Only in the pack at the right",
    }[line.difference]
    lines = _wrap(f"{words}: {line.entry.ref or 'text'}", palette.heading, width)
    if (
        line.left is not None
        and line.right is not None
        and line.difference is PackDifference.CHANGED
    ):
        then, now = line.left.text[:LONGEST_COMPARED], line.right.text[:LONGEST_COMPARED]
        drawn = draw_text_diff(then, now, palette, width - 1)
        return [*lines, *([Segment(" "), *row] for row in drawn)]
    sides = [("left", line.left), ("right", line.right)]
    for name, entry in sides:
        if entry is not None:
            lines += _wrap(
                f"{name}: {text.counted(entry.tokens, 'token')}; {entry.why}", palette.text, width
            )
    return lines


def _wrap(words: str, style: Style, width: int) -> Lines:
    shown = text.one_line(words)
    return wrapped(shown, style, width - 1) if shown else []


def describe_empty(
    recipe: Recipe,
    request: PackRequest,
    built: BuiltPack | None,
    press: Callable[..., str],
) -> str:
    """Explain an empty pack: what to type, or what to change."""
    if built is None:
        return "Building…"
    if not request.task.strip() and recipe.takes == "task":
        return (
            "Type a task in plain words, as you would tell it to the agent: "
            "what it would be given for it appears here."
        )
    if request.budget is not None and built.whole.text:
        return f"Nothing fits this budget. {press(('pack.more', 'for more'))}"
    other = "task" if recipe.takes == "task" else "project"
    keys = press(("search", f"for another {other}"), ("pack.recipe.next", "for another recipe"))
    return f"This recipe finds nothing for it. {keys}"


def describe_pack(built: BuiltPack | None, before: Pack | None) -> str:
    """Size of a pack, and of the one before the stores changed."""
    if built is None:
        return ""
    count = len(built.pack.refs)
    words = (
        f"{text.counted(built.pack.tokens, 'token')} (estimated) · {text.counted(count, 'memory')}"
    )
    if built.request.types and built.request.recipe == "typed":
        words += f" · prefers {text.one_line(', '.join(built.request.types))}"
    if before is not None:
        words += f" · before the change {text.counted(before.tokens, 'token')}"
    return words


def describe_budget(pack: Pack, whole: Pack, out: int) -> str:
    """Size beside the budget; `out`: entries that are left out."""
    if pack.budget is None:
        return "no limit"
    words = f"{text.number(pack.budget)} of {text.counted(whole.tokens, 'token')}"
    return f"{words} · {text.number(out)} left out" if out else words


def describe_compared(
    lines: Sequence[ComparedEntry], names: tuple[str, str], tokens: tuple[int, int], *, wide: bool
) -> str:
    """Sizes of two packs, and how many entries are in both and in one."""
    count = Counter(line.difference for line in lines)
    moved = {
        line.entry.ref or line.entry.text
        for line in lines
        if line.difference is PackDifference.MOVED and line.entry
    }
    both = count[PackDifference.SAME] + count[PackDifference.CHANGED] + len(moved)
    only_left, only_right = count[PackDifference.ONLY_LEFT], count[PackDifference.ONLY_RIGHT]
    left, right = (f"{name} {text.number(n)}" for name, n in zip(names, tokens, strict=True))
    words = f"{left} · {right} tokens · {both} in both"
    return f"{words}, {only_left} only left, {only_right} only right" if wide else words
