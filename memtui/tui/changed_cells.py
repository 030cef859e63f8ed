"""Render only the lines that changed, and write only the cells that changed to the terminal.

For a change in two places Textual renders every widget between them, in its whole height: for a
step of the cursor in the list, and the memory beside it, the whole screen. Here a widget renders
the lines that are to be drawn and that no widget in front of it covers.

Textual writes every line of a redrawn widget, and the whole screen (40 KB and more) after a layout,
which is slow over a network. Here every frame is compared with what the terminal shows; a step of
the cursor then takes a few hundred bytes.

A strip with characters whose width differs between terminals (wide letters, emoji, joined
characters) is written whole or not at all, with the cursor placed anew behind each of them.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import pairwise
from typing import cast

from rich.cells import cell_len
from rich.color import ColorSystem
from rich.console import Console
from textual._compositor import ChopsUpdate, Compositor, CompositorUpdate, LayoutUpdate
from textual.geometry import Region
from textual.strip import Strip

from memtui.tui.terminal_output import (
    BLANK,
    FIXED_WIDTH,
    PLAIN,
    RESET,
    Cell,
    Codes,
    OutputBuilder,
    looks,
)

BLANK_TERMINAL = "\x0f\x1b(B\x1b[?6l\x1b[r\x1b[4l\x1b[?7l\x1b[?25l\x1b[0m\x1b[2J"
"""Resets what stray output may have changed (character set, scrolling region, insert mode,
wrapping, cursor, colours) and clears the screen."""
Piece = tuple[int, int, Strip]
"""Column, line, and the strip to show from there."""


class ScreenBuffer:
    """The cells that the terminal shows, as far as they were written."""

    def __init__(self, *, erases: bool = False) -> None:
        """Begin with an unknown screen; `erases` as in `OutputBuilder`."""
        self._erases = erases
        self._look: Codes | None = None
        """What the terminal writes in; it is not reset after a frame, which would take 40 bytes."""
        self._lines: dict[int, list[Cell | None]] = {}
        self._uncertain: set[int] = set()
        """Lines with cells of strips that were written whole."""
        self._region = Region(0, 0, 0, 0)
        """The region of the last whole frame."""

    def forget(self) -> None:
        """Forget the cells, as another program may have written; rewrite the next frame."""
        self._look = None
        self._lines.clear()
        self._uncertain.clear()

    def reduced(self, update: CompositorUpdate) -> CompositorUpdate:
        """Return the update without the cells that the terminal already shows."""
        if isinstance(update, LayoutUpdate) and update.region != self._region:
            # A last frame for the size before may have been cut by the terminal's edge.
            self.forget()
            self._region = update.region
        if isinstance(update, LayoutUpdate | ChopsUpdate):
            return ChangedCellsUpdate(update, self)
        self.forget()
        return update

    def write(self, pieces: Iterator[Piece], console: Console) -> str:
        """Return the output that shows these pieces, and remember them as shown."""
        colours = console._color_system or ColorSystem.TRUECOLOR
        output = OutputBuilder(colours, self._look, erases=self._erases)
        for x, y, strip in pieces:
            line = self._lines.setdefault(y, [])
            fresh, whole = _cells(strip, output.colours)
            end = x + len(fresh)
            if len(line) < end:
                line.extend([None] * (end - len(line)))
            shown = line[x:end]
            if shown == fresh:
                continue
            line[x:end] = fresh
            if whole or (y in self._uncertain and not all(map(_is_certain, shown))):
                self._uncertain.add(y)
                output.put_whole(x, y, strip)
            else:
                output.put(x, y, shown, fresh, len(line))
        written = output.finish()
        self._look = output.look
        return written


def draw_lines(lines: Sequence[Strip], console: Console) -> str:
    """Return the output that draws these lines from the first line of a blank screen on."""
    return ScreenBuffer().write(((0, y, line) for y, line in enumerate(lines)), console) + RESET


class ChangedCellsUpdate(CompositorUpdate):
    """An update that writes what differs from the buffer."""

    def __init__(self, update: LayoutUpdate | ChopsUpdate, buffer: ScreenBuffer) -> None:
        self._update = update
        self._buffer = buffer

    def render_segments(self, console: Console) -> str:
        update = self._update
        if isinstance(update, LayoutUpdate):
            return self._buffer.write(_pieces_of_layout(update), console)
        return self._buffer.write(_pieces_of_chops(update), console)


def _pieces_of_layout(update: LayoutUpdate) -> Iterator[Piece]:
    for y, strips in enumerate(update.strips, update.region.y):
        x = update.region.x
        for strip in strips:
            yield x, y, strip
            x += strip.cell_length


def _pieces_of_chops(update: ChopsUpdate) -> Iterator[Piece]:
    for y, start, stop in update.spans:
        for end, (x, strip) in zip(update.chop_ends[y], update.chops[y].items(), strict=False):
            # Where nothing has been drawn, Textual has None in place of a strip.
            if isinstance(strip, Strip) and x <= stop and end > start:
                yield x, y, strip


def _cells(strip: Strip, colours: ColorSystem) -> tuple[list[Cell], bool]:
    """Split a strip into one cell per column; True if it can only be written whole.

    The cells of such a strip all hold its whole content as their key.
    """
    cells: list[Cell] = []
    for words, style, control in strip:
        if control or not FIXED_WIDTH.fullmatch(words) or (style is not None and style.link):
            return _block(strip), True
        look, blank = (PLAIN, BLANK) if style is None else looks(style, colours)
        cells.extend([(sign, blank if sign == " " else look) for sign in words])
    return cells, False


def _block(strip: Strip) -> list[Cell]:
    width = sum(cell_len(segment.text) for segment in strip if not segment.control)
    key = "".join(f"\0{segment.text}\0{segment.style}" for segment in strip)
    return [(f"\0{at}{key}", PLAIN) for at in range(width)]


def _is_certain(cell: Cell | None) -> bool:
    return cell is None or not cell[0].startswith("\0")


Line = dict[int, Strip | None]
"""First column of each part of a line -> what is drawn there."""


class LineCompositor(Compositor):
    """Textual's compositor, which renders no line of a widget where others cover it.

    Textual renders them all: of 290 lines of a first frame 180 are those of containers.
    """

    def render_partial_update(self) -> ChopsUpdate | None:
        """Render the dirty regions; None if there are none."""
        regions = self._dirty_regions.copy()
        self._dirty_regions.clear()
        if not regions:
            return None
        height = len(self.cuts)
        spans = [span for span in self._regions_to_spans(regions) if 0 <= span[0] < height]
        chops = cast("Sequence[Mapping[int, Strip]]", self._render_spans(spans))
        return ChopsUpdate(chops, spans, [cuts[1:] for cuts in self.cuts])

    def _render_chops(
        self, crop: Region, is_rendered_line: Callable[[int], bool]
    ) -> Sequence[Mapping[int, Strip]]:
        lines = (y for y in crop.line_range if 0 <= y < len(self.cuts) and is_rendered_line(y))
        spans = [(y, crop.x, crop.right) for y in lines]
        return cast("Sequence[Mapping[int, Strip]]", self._render_spans(spans))

    def _render_spans(self, spans: Sequence[tuple[int, int, int]]) -> list[Line]:
        cuts = self.cuts
        lines: list[Line] = [{} for _ in cuts]
        parts: dict[int, dict[int, int]] = {}
        """Line -> start and end of each part of it that is to be drawn and is not yet."""
        for y, start, end in spans:
            lines[y] = lines[y] or dict.fromkeys(cuts[y][:-1])
            inside = {at: to for at, to in pairwise(cuts[y]) if at < end and to > start}
            parts.setdefault(y, {}).update(inside)
        # Widgets in front come first, and what they draw stays.
        for widget, (region, clip) in self.visible_widgets.items():
            shown = region.intersection(clip)
            left, right = shown.column_span
            rows = [
                y
                for y in parts.keys() & set(shown.line_range)
                if any(at < right and to > left for at, to in parts[y].items())
            ]
            for first, end in _line_runs(sorted(rows)):
                part = Region(left - region.x, first - region.y, shown.width, end - first)
                for y, strip in enumerate(widget.render_lines(part), first):
                    within = [cut for cut in cuts[y] if left <= cut <= right]
                    ends = [cut - left for cut in within[1:]]
                    # Divided by its own width a strip would hold itself, and so be garbage that
                    # only the collector finds: nine tenths of all, 70 strips a step.
                    is_whole = ends == [strip.cell_length]
                    pieces = (strip,) if is_whole else strip.divide(ends)
                    for at, piece in zip(within, pieces, strict=False):
                        if lines[y].get(at) is None:
                            lines[y][at] = piece
                            parts[y].pop(at, None)
        return lines


def _line_runs(lines: Sequence[int]) -> Iterator[tuple[int, int]]:
    """First and end of each run of consecutive lines."""
    first = at = -1
    for line in lines:
        if line != at:
            if at > first:
                yield first, at
            first = line
        at = line + 1
    if at > first:
        yield first, at
