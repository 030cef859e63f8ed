"""What the context screen says: why an entry is in a pack or not, sizes, and what to do next."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence

from rich.segment import Segment
from rich.style import Style

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
