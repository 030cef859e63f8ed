"""The review queue as a list of groups and proposals, and one proposal as lines to read."""

from __future__ import annotations

from collections.abc import Sequence

from rich.segment import Segment
from rich.style import Style

from memtui import text
from memtui.dataclass import dataclass
from memtui.library.review_files import ReviewRow
from memtui.model import Memory
from memtui.tui.appearance import Palette, wrapped
from memtui.tui.diff_lines import DiffLine
from memtui.tui.widgets.diff_view import (
    draw_diff,
    draw_side_by_side,
    draw_text,
    draw_text_diff,
    join_columns,
)
from memtui.tui.widgets.text_window import RowList
from memtui.upkeep.proposals import RULES, Proposal

STORE_FROM = 50
"""Columns of a row that names its store."""
SIDE_BY_SIDE_FROM = 60
"""Columns from which two texts, and the two sides of a diff, stand side by side."""
_LONGEST = 6_000
"""Characters of a memory that are shown."""
_MAX_MEMORIES = 20


class ReviewList(RowList[ReviewRow]):
    """Headings and proposals, one per line."""

    is_lit = False
    names_stores = False
    """The proposals are about several stores."""

    def draw_row(self, row: ReviewRow, width: int) -> Sequence[tuple[str, Style]]:
        palette = self.palette
        if row.proposal is None:
            noun = "hint" if row.is_hint else "proposal"
            count = f" {text.counted(row.count, noun)} "
            room = max(8, width - 3 - len(count))
            return [
                ("▾ " if row.is_open else "▸ ", palette.dim),
                (
                    text.pad(RULES[row.kind].heading, room),
                    palette.dim if row.is_hint else palette.heading,
                ),
                (count, palette.dim),
            ]
        sign = "·" if row.is_hint else "◆"
        names_store = self.names_stores and width >= STORE_FROM
        store = text.cut_line(row.proposal.store, width // 4) if names_store else ""
        room = max(8, width - 6 - text.width(store) - 1)
        return [
            (f"  {sign} ", palette.accent),
            (text.column(row.proposal.title, room), palette.dim if row.is_hint else palette.text),
            (f" {store} ", palette.faint),
        ]


def describe_group(row: ReviewRow, palette: Palette, width: int) -> list[list[Segment]]:
    """Describe a group of findings, and the source of its rule."""
    rule = RULES[row.kind]
    what = (
        "Hints only point to memories: there is nothing to accept."
        if row.is_hint
        else "Each is accepted on its own, or all of them after a preview."
    )
    lines: list[list[Segment]] = [[Segment(f" {rule.heading}", palette.heading)]]
    for style, words in (
        (palette.text, text.counted(row.count, "hint" if row.is_hint else "proposal")),
        (palette.text, rule.explanation),
        (palette.dim, what),
    ):
        lines += wrapped(words, style, width - 2)
    return lines


@dataclass(frozen=True, slots=True)
class ProposalDetail:
    """The details of one proposal."""

    memories: tuple[Memory, ...] = ()
    """Those of its memories that are there; what stays comes first."""
    diff: tuple[DiffLine, ...] = ()
    """What accepting does to the files; empty for a hint."""
    problem: str = ""
    """Why its changes cannot be planned."""


def proposal_lines(
    proposal: Proposal, detail: ProposalDetail, palette: Palette, width: int
) -> list[list[Segment]]:
    """Everything a person needs to decide on one proposal."""
    memories, diff, problem = detail.memories, detail.diff, detail.problem
    room = max(8, width - 2)
    lines = wrapped(text.one_line(proposal.title), palette.heading, room)
    lines += wrapped(text.one_line(proposal.reason), palette.text, room)
    rule = RULES[proposal.kind]
    why = rule.about if rule.source in proposal.reason else rule.explanation
    lines += wrapped(text.one_line(why), palette.dim, room)
    if problem:
        lines += wrapped(text.one_line(problem), palette.warning, room)
    lines.append([])
    if len(memories) == 2:
        lines += _draw_comparison(memories[0], memories[1], palette, width)
    else:
        for memory in memories[:_MAX_MEMORIES]:
            lines += _draw_memory(memory, palette, width)
        if len(memories) > _MAX_MEMORIES:
            more = text.number(len(memories) - _MAX_MEMORIES)
            lines.append([Segment(f" … and {more} more", palette.faint)])
    if proposal.file and not memories:
        lines += wrapped(text.one_line(text.file_name(proposal.file)), palette.dim, room)
    if diff:
        lines.append([Segment(" Changes when accepted", palette.heading)])
        if width >= SIDE_BY_SIDE_FROM:
            lines += draw_side_by_side(diff, palette, width)
        else:
            lines += [line for one in diff for line in draw_diff(one, palette, width)]
    elif not problem and not proposal.changes:
        lines += wrapped(text.one_line("A hint: nothing is changed by it."), palette.faint, room)
    return lines


def _heading_of(memory: Memory) -> str:
    day = f"{memory.created:%Y-%m-%d}" if memory.created else "undated"
    return text.one_line(f"{memory.entity or memory.store} · {day} · {memory.status}")


def _draw_memory(memory: Memory, palette: Palette, width: int) -> list[list[Segment]]:
    lines = [[Segment(text.cut(f" {_heading_of(memory)}", width), palette.dim)]]
    lines += [
        [Segment(" "), *line] for line in draw_text(memory.full_text[:_LONGEST], palette, width - 2)
    ]
    return [*lines, []]


def _draw_comparison(
    first: Memory, second: Memory, palette: Palette, width: int
) -> list[list[Segment]]:
    """Two memories with their differences marked, side by side where there is room."""
    texts = (second.full_text[:_LONGEST], first.full_text[:_LONGEST])
    beside = width >= SIDE_BY_SIDE_FROM
    column = (width - 3) // 2 if beside else width
    sides = []
    for memory, own in ((first, "new"), (second, "gone")):
        drawn = draw_text_diff(*texts, palette, column - 2, frozenset({own}))
        head = [Segment(text.cut(f" {_heading_of(memory)}", column), palette.dim)]
        sides.append([head, *([Segment(" "), *line] for line in drawn)])
    if beside:
        return [*join_columns(sides, column, palette), []]
    return [*sides[0], [], *sides[1], []]
