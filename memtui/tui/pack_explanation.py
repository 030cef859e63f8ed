"""Lines that say why an entry is in a pack, and why the next one is not."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from rich.segment import Segment

from memtui import text
from memtui.text.word_diff import diff_words
from memtui.tui.pack_rows import ComparedEntry, Difference, ItemKind, PackItem, find_next_left_out
from memtui.tui.widgets.diff_view import wrap_pieces
from memtui.tui.widgets.statistics import bar

if TYPE_CHECKING:
    from rich.style import Style

    from memtui.context import PackEntry
    from memtui.tui.appearance import Palette

BAR_CELLS = 12
LONGEST_COMPARED = 4_000
"""Characters of a text of which the changed words are shown."""

Lines = list[list[Segment]]


def explain_item(
    items: Sequence[PackItem], at: int, palette: Palette, width: int, *, bars: bool
) -> Lines:
    """Say why the item at this place is in or not, and which comes next and is not.

    Args:
        items: Of the list.
        at: Position of the item.
        palette: Of the theme.
        width: Cells of a line.
        bars: Draw the parts of scores as bars, a line each; else one line names them.
    """
    if not 0 <= at < len(items):
        return []
    item = items[at]
    lines = _explain_one(item, palette, width, bars)
    after = find_next_left_out(items, at)
    if after is not None and after.entry is not None and item.is_in:
        lines += _wrap(f"Next, not in: {after.reason}", palette.warning, width)
        lines += _wrap(_headline(after.entry), palette.dim, width)
        lines += _reasons(after.entry, palette, width, bars)
    return lines


def _explain_one(item: PackItem, palette: Palette, width: int, bars: bool) -> Lines:
    if item.kind is ItemKind.NOTE:
        return _wrap("A note about this pack; the agent does not get it.", palette.dim, width)
    if item.entry is not None and item.ref:
        word = "In" if item.is_in else "Not in"
        lines = _wrap(f"{word}: {item.ref} · {_size(item.entry)}", palette.heading, width)
        if not item.is_in:
            lines += _wrap(item.reason, palette.warning, width)
        return [*lines, *_reasons(item.entry, palette, width, bars)]
    if item.section is None:
        return _wrap("Text around the sections, as its program writes it.", palette.dim, width)
    lines = _wrap(f"{item.section.title}: {_tokens(item.section.tokens)}", palette.heading, width)
    return [*lines, *_wrap(item.section.rule, palette.dim, width)]


def _reasons(entry: PackEntry, palette: Palette, width: int, bars: bool) -> Lines:
    """The reason, and the parts of the score; as bars where they fit."""
    if len(entry.parts) < 2 or not bars:
        return _wrap(entry.why, palette.text, width)
    words = entry.why.partition("; score ")[0] if "; score " in entry.why else ""
    lines = _wrap(words, palette.text, width) if words else []
    most = max((abs(part.value) for part in entry.parts), default=0.0) or 1.0
    for part in entry.parts:
        name = text.cut(text.one_line(part.name), width - BAR_CELLS - 10)
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
    """Say how a line of two packs differs."""
    if line is None or line.entry is None:
        return []
    words = {
        Difference.SAME: "In both, the same",
        Difference.CHANGED: "In both, with another text",
        Difference.MOVED: "In both, at another place",
        Difference.ONLY_LEFT: "Only in the pack at the left",
        Difference.ONLY_RIGHT: "Only in the pack at the right",
    }[line.difference]
    lines = _wrap(f"{words}: {line.entry.ref or 'text'}", palette.heading, width)
    if line.left is not None and line.right is not None and line.difference is Difference.CHANGED:
        then = text.visible(line.left.text[:LONGEST_COMPARED])
        now = text.visible(line.right.text[:LONGEST_COMPARED])
        styles: dict[str, Style] = {
            "same": palette.text,
            "gone": palette.removed,
            "new": palette.added,
        }
        pieces = [(styles[kind], piece) for kind, piece in diff_words(then, now)]
        return [*lines, *([Segment(" "), *part] for part in wrap_pieces(pieces, width - 1))]
    sides = [("left", line.left), ("right", line.right)]
    for name, entry in sides:
        if entry is not None:
            lines += _wrap(f"{name}: {_size(entry)}; {entry.why}", palette.text, width)
    return lines


def _headline(entry: PackEntry) -> str:
    return text.cut(text.one_line(entry.text.strip()[:400]), 120)


def _size(entry: PackEntry) -> str:
    return _tokens(entry.tokens)


def _tokens(count: int) -> str:
    return f"{text.number(count)} token{'' if count == 1 else 's'}"


def _wrap(words: str, style: Style, width: int) -> Lines:
    shown = text.one_line(words)
    return [[Segment(f" {line}", style)] for line in text.wrap(shown, width - 1)] if shown else []
