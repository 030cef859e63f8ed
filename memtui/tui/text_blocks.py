"""A long text as blocks that are drawn when they are seen, so that its size does not matter.

A block ends at a blank line outside of fenced code. Where a block is not drawn yet, its height is
estimated; drawing it moves the lines below it, and `settle` keeps the view where it was.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Callable, Mapping, Sequence
from itertools import accumulate
from typing import Generic, NamedTuple, TypeVar

MAX_BLOCK_CHARS = 4_000
"""Characters of a block; a longer one is divided, so that no block takes long to draw."""
_FENCE = re.compile(r" {0,3}(`{3,}|~{3,})([^`\n]*)$")
_DEFINITION = re.compile(r"^ {0,3}\[([^\]\n]{1,200})\]:[ \t]*(\S{1,500})", re.MULTILINE)
_MARKDOWN = re.compile(
    r"^ {0,3}(#{1,6}[ \t]|[-*+][ \t]|\d{1,9}[.)][ \t]|>|`{3}|~{3}|\||-{3,}[ \t]*$|={3,}[ \t]*$)"
    r"|\*\*|__|~~|`|\]\(|\]\[|(?<!\w)\*\w|(?<!\w)_\w|\\[*_`\[]",
    re.MULTILINE,
)
MAX_LOOKED_AT = 100_000
"""Characters that are searched for signs of Markdown."""


class Block(NamedTuple):
    """A piece of a text, without the blank lines before it."""

    text: str
    blanks: int = 0
    """Blank lines before it."""
    fence: str = ""
    """The opening line of the fenced code that this block continues."""
    is_front_matter: bool = False
    is_cut: bool = False
    """It ends inside a line, which the next block continues."""


def is_markdown(content: str) -> bool:
    """Whether a text has any sign of Markdown; without one it is drawn as it is."""
    return _MARKDOWN.search(content, 0, MAX_LOOKED_AT) is not None


def link_definitions(content: str) -> Mapping[str, str]:
    """Return label (upper case) -> target of `[label]: target`, which other blocks refer to."""
    found = _DEFINITION.findall(content[:MAX_LOOKED_AT]) if "]:" in content else []
    return {" ".join(label.split()).upper(): target for label, target in found}


def split_blocks(content: str) -> list[Block]:
    """Split a text into blocks; joined with their blank lines they are the text again."""
    blocks: list[Block] = []
    lines = content.split("\n")
    part: list[str] = []
    size = blanks = 0
    fence = opened = ""
    """`fence`: the line that opened the code we are in; `opened`: of the block being built."""

    def close() -> None:
        nonlocal part, size, blanks, opened
        if part:
            blocks.append(Block("\n".join(part), blanks, opened))
            blanks = 0
        part, size, opened = [], 0, fence

    start = 0
    if lines[0].rstrip() == "---" and "---" in (line.rstrip() for line in lines[1:200]):
        start = next(n for n in range(1, len(lines)) if lines[n].rstrip() == "---") + 1
        blocks.append(Block("\n".join(lines[:start]), is_front_matter=True))
    for line in lines[start:]:
        if not fence and (not line or line.isspace()):
            close()
            blanks += 1
            continue
        if not part and blanks and line[0] in " \t" and blocks and not blocks[-1].fence:
            last = blocks[-1]  # an indented line belongs to the list item above it
            if len(last.text) < MAX_BLOCK_CHARS and not last.is_front_matter:
                del blocks[-1]
                part = [last.text, *[""] * blanks]
                size, blanks = len(last.text) + blanks, last.blanks
        if ("```" in line or "~~~" in line) and (found := _FENCE.match(line)):
            if not fence:
                if part and line[0] not in " \t":
                    close()
                fence = line
            elif found[1].startswith(_fence_sign(fence)) and not found[2].strip():
                fence = ""
                part.append(line)
                size += len(line)
                close()
                continue
        if len(line) > MAX_BLOCK_CHARS:
            close()
            before, blanks = blanks, 0
            cuts = range(0, len(line) - MAX_BLOCK_CHARS, MAX_BLOCK_CHARS)
            for at in cuts:
                blocks.append(Block(line[at : at + MAX_BLOCK_CHARS], before, opened, is_cut=True))
                before = 0
            line = line[cuts[-1] + MAX_BLOCK_CHARS :]
        part.append(line)
        size += len(line) + 1
        if size > MAX_BLOCK_CHARS:
            close()
    close()
    return blocks


def _fence_sign(line: str) -> str:
    found = _FENCE.match(line)
    return found[1] if found else "```"


Line = TypeVar("Line")


class LazyLines(Generic[Line]):
    """The lines of blocks; a block is drawn when one of its lines is needed."""

    def __init__(
        self, blocks: Sequence[Block], draw: Callable[[Block], list[Line]], width: int
    ) -> None:
        self._blocks, self._draw = blocks, draw
        self._drawn: dict[int, list[Line]] = {}
        self._heights = [
            max(1, block.blanks + 1 + block.text.count("\n") + len(block.text) // max(8, width))
            for block in blocks
        ]
        self._width = width
        self._ends: list[int] = []
        self._last_top = 0

    def __len__(self) -> int:
        return self._edges()[-1] if self._blocks else 0

    @property
    def block_count(self) -> int:
        return len(self._blocks)

    def __getitem__(self, index: int) -> Line:
        at = bisect_right(self._edges(), index)
        lines = self._lines(at)
        first = self._ends[at] - self._heights[at]
        return lines[min(index - first, len(lines) - 1)]

    def take_heights(self, before: LazyLines[Line]) -> None:
        """Take the heights of the same blocks as far as they are known for the same width."""
        if before._width != self._width:
            return
        known = dict(zip(before._blocks, before._heights, strict=True))
        self._heights = [
            known.get(block, height)
            for block, height in zip(self._blocks, self._heights, strict=True)
        ]
        self._ends = []

    def settle(self, top: int, rows: int) -> int:
        """Draw the blocks in view and return the top line at which the view stays.

        `top` may be negative or past the end; `rows`: lines in view.
        """
        is_up, self._last_top = top < self._last_top, top
        if not self._blocks or top >= len(self):
            return top
        if top > 0:
            at = bisect_right(self._edges(), top)
            below = self._ends[at] - top
            if at not in self._drawn:
                before = self._heights[at]
                after = len(self._lines(at))
                share = after - below if is_up else before - below
                top = self._edges()[at] - after + max(0, min(after - 1, share))
        while (line := self._undrawn(max(0, top), top + rows)) >= 0:
            self._lines(line)
        self._last_top = top
        return top

    def best_block(self, rate: Callable[[str], int], most: int) -> int:
        """The first block with the highest rating above 0 in the first `most` characters, or -1."""
        best, highest, chars_rated = -1, 0, 0
        for at, block in enumerate(self._blocks):
            if (rating := rate(block.text)) > highest:
                best, highest = at, rating
            if (chars_rated := chars_rated + len(block.text)) > most:
                break
        return best

    def find_line(
        self,
        start: int,
        step: int,
        in_block: Callable[[str], bool],
        in_line: Callable[[Line], bool],
    ) -> int:
        """The next line below (`step` 1) or above (-1) `start` that passes `in_line`, or -1.

        Only the blocks that pass `in_block` are drawn. `start` may be outside.
        """
        at = bisect_right(self._edges(), max(0, start))
        at = min(at, len(self._blocks) - 1)
        while 0 <= at < len(self._blocks):
            if in_block(self._blocks[at].text):
                first, lines = self.lines_of(at)
                found = [first + row for row, line in enumerate(lines) if in_line(line)]
                found = [row for row in found[::step] if (row - start) * step > 0]
                if found:
                    return found[0]
            at += step
        return -1

    def place_of(self, line: int) -> tuple[int, float]:
        """The block that a line belongs to, and its place in it from 0 to 1."""
        at = min(bisect_right(self._edges(), line), len(self._blocks) - 1)
        first, lines = self.lines_of(at)
        return at, (line - first) / len(lines)

    def lines_of(self, at: int) -> tuple[int, list[Line]]:
        """The first line of a block, and its lines."""
        lines = self._lines(at)
        return self._edges()[at] - len(lines), lines

    def _undrawn(self, first: int, end: int) -> int:
        """The first block in these lines that is not drawn; -1 if there is none."""
        edges = self._edges()
        at = bisect_right(edges, first)
        while at < len(edges) and edges[at] - self._heights[at] < end:
            if at not in self._drawn:
                return at
            at += 1
        return -1

    def _lines(self, at: int) -> list[Line]:
        lines = self._drawn.get(at)
        if lines is None:
            lines = self._drawn[at] = self._draw(self._blocks[at])
            if len(lines) != self._heights[at]:
                self._heights[at] = len(lines)
                self._ends = []
                self._edges()
        return lines

    def _edges(self) -> list[int]:
        """The number of lines up to the end of each block."""
        if not self._ends:
            self._ends = list(accumulate(self._heights))
        return self._ends
