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

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import lru_cache
from itertools import pairwise
from typing import cast

from rich._palettes import EIGHT_BIT_PALETTE
from rich.cells import cell_len
from rich.color import Color, ColorSystem, ColorType
from rich.console import Console
from rich.style import Style
from textual._compositor import ChopsUpdate, Compositor, CompositorUpdate, LayoutUpdate
from textual.geometry import Region
from textual.strip import Strip

FIXED_WIDTH = re.compile(
    "[ -~\xa0-\xac\xae-\u02ff\u0370-\u0377\u037a-\u0482\u048a-\u052f\u2010-\u2027\u2030-\u205e"
    "\u2190-\u2193\u2500-\u25fc]*"
)
"""Characters that are one cell wide in every terminal."""
_CERTAIN_PIECE = re.compile(f"({FIXED_WIDTH.pattern[:-1]}+)")
BLANK_TERMINAL = "\x0f\x1b(B\x1b[?6l\x1b[r\x1b[4l\x1b[?7l\x1b[?25l\x1b[0m\x1b[2J"
"""Resets what stray output may have changed (character set, scrolling region, insert mode,
wrapping, cursor, colours) and clears the screen."""
MAX_GAP = 4
"""Unchanged cells between two changes that are rewritten, since moving the cursor costs more."""
_ATTRIBUTES = (
    ("bold", "1"),
    ("dim", "2"),
    ("italic", "3"),
    ("underline", "4"),
    ("blink", "5"),
    ("blink2", "6"),
    ("reverse", "7"),
    ("conceal", "8"),
    ("strike", "9"),
    ("underline2", "21"),
    ("frame", "51"),
    ("encircle", "52"),
    ("overline", "53"),
)

Piece = tuple[int, int, Strip]
"""Column, line, and the strip to show from there."""
Cell = tuple[str, Style | None]
Codes = tuple[str, str, str]
"""SGR codes of attributes, text colour and background."""
PLAIN: Codes = ("", "39", "49")


class ScreenBuffer:
    """The cells that the terminal shows, as far as they were written."""

    def __init__(self) -> None:
        self._lines: dict[int, list[Cell | None]] = {}

    def forget(self) -> None:
        """Forget the cells, as another program may have written; rewrite the next frame."""
        self._lines.clear()

    def reduced(self, update: CompositorUpdate) -> CompositorUpdate:
        """Return the update without the cells that the terminal already shows."""
        if isinstance(update, LayoutUpdate | ChopsUpdate):
            return ChangedCellsUpdate(update, self)
        self.forget()
        return update

    def write(self, pieces: Iterator[Piece], console: Console) -> str:
        """Return the output that shows these pieces, and remember them as shown."""
        output = OutputBuilder(console._color_system or ColorSystem.TRUECOLOR)
        for x, y, strip in pieces:
            line = self._lines.setdefault(y, [])
            fresh, whole = _cells(strip)
            end = x + len(fresh)
            if len(line) < end:
                line.extend([None] * (end - len(line)))
            shown = line[x:end]
            if shown == fresh:
                continue
            line[x:end] = fresh
            if whole or not all(map(_is_certain, shown)):
                output.put_whole(x, y, strip)
            else:
                for first, last in _runs(shown, fresh):
                    output.put(x + first, y, fresh[first:last])
        return output.finish()


def draw_lines(lines: Sequence[Strip], console: Console) -> str:
    """Return the output that draws these lines from the first line of a blank screen on."""
    return ScreenBuffer().write(((0, y, line) for y, line in enumerate(lines)), console)


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


class OutputBuilder:
    """Builds the output, tracking the current SGR state of the terminal."""

    def __init__(self, colours: ColorSystem) -> None:
        self._colours = colours
        self._written: list[str] = []
        self._now = PLAIN

    def put(self, x: int, y: int, cells: Sequence[Cell | None]) -> None:
        """Write cells from a position."""
        self._written.append(f"\x1b[{y + 1};{x + 1}H")
        words: list[str] = []
        style: Style | None = None
        for cell in cells:
            if cell is None:
                continue
            if words and cell[1] is not style:
                self._put_words("".join(words), style)
                words = []
            words.append(cell[0])
            style = cell[1]
        self._put_words("".join(words), style)

    def put_whole(self, x: int, y: int, strip: Strip) -> None:
        """Write a strip whose width is uncertain.

        The cursor is placed anew behind each such character: where a terminal gives it more cells
        than we do, what follows covers them, and neither it nor the next pane is shifted.
        """
        self._written.append(f"\x1b[{y + 1};{x + 1}H")
        for words, style, control in strip:
            for piece in [words] if control else _CERTAIN_PIECE.split(words):
                cells = 0 if control else cell_len(piece)
                if control or FIXED_WIDTH.fullmatch(piece):
                    self._put_words(piece, style)
                else:
                    self._put_words(" " * cells, style)
                    self._written.append(f"\x1b[{x + 1}G")
                    self._put_words(piece, style)
                    self._written.append(f"\x1b[{x + cells + 1}G")
                x += cells

    def finish(self) -> str:
        """Return the output, with the SGR state reset at the end."""
        self._set_style(PLAIN)
        return "".join(self._written)

    def _put_words(self, words: str, style: Style | None) -> None:
        self._set_style(PLAIN if style is None else _codes(style, self._colours))
        self._written.append(words)

    def _set_style(self, codes: Codes) -> None:
        before, self._now = self._now, codes
        if codes == before:
            return
        if codes == PLAIN:
            self._written.append("\x1b[0m")
        elif codes[0] != before[0]:
            coloured = [code for code, plain in zip(codes, PLAIN, strict=True) if code != plain]
            self._written.append(f"\x1b[{';'.join(['0', *coloured])}m")
        else:
            changed = [new for new, old in zip(codes, before, strict=True) if new != old]
            self._written.append(f"\x1b[{';'.join(changed)}m")


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
            if not isinstance(strip, Strip) or x > stop or end <= start:
                continue
            inside = start <= x < stop and end <= stop
            yield x, y, strip if inside else strip.crop(0, min(end, stop) - x)


def _cells(strip: Strip) -> tuple[list[Cell | None], bool]:
    """Split a strip into one cell per column; True if it can only be written whole.

    The cells of such a strip all hold its whole content as their key.
    """
    cells: list[Cell | None] = []
    for words, style, control in strip:
        if control or not FIXED_WIDTH.fullmatch(words) or (style is not None and style.link):
            return _block(strip), True
        style = _ground_of(style) if words.isspace() else style
        cells.extend([(sign, style) for sign in words])
    return cells, False


def _block(strip: Strip) -> list[Cell | None]:
    width = sum(cell_len(segment.text) for segment in strip if not segment.control)
    key = "".join(f"\0{segment.text}\0{segment.style}" for segment in strip)
    return [(f"\0{at}{key}", None) for at in range(width)]


def _is_certain(cell: Cell | None) -> bool:
    return cell is None or not cell[0].startswith("\0")


def _runs(shown: Sequence[Cell | None], fresh: Sequence[Cell | None]) -> list[tuple[int, int]]:
    """Spans of cells that differ, near ones joined."""
    runs: list[tuple[int, int]] = []
    pairs = zip(shown, fresh, strict=True)
    for at in [at for at, (old, new) in enumerate(pairs) if old != new]:
        if runs and at - runs[-1][1] <= MAX_GAP:
            runs[-1] = (runs[-1][0], at + 1)
        else:
            runs.append((at, at + 1))
    return runs


@lru_cache(1024)
def _ground_of(style: Style | None) -> Style | None:
    """The visible part of a style on blank cells, usually only its background."""
    if style is None or style.underline or style.reverse or style.strike or style.overline:
        return style
    if style.underline2 or style.frame or style.encircle:
        return style
    return Style(bgcolor=style.bgcolor) if style.bgcolor is not None else None


@lru_cache(1024)
def _codes(style: Style, colours: ColorSystem) -> Codes:
    attributes = ";".join(code for name, code in _ATTRIBUTES if getattr(style, name))
    ink, ground = style.color, style.bgcolor
    return (
        attributes,
        ";".join(_downgrade(ink, colours).get_ansi_codes(True)) if ink else "39",
        ";".join(_downgrade(ground, colours).get_ansi_codes(False)) if ground else "49",
    )


@lru_cache(256)
def _downgrade(colour: Color, colours: ColorSystem) -> Color:
    """A colour as the terminal has it.

    Of 256 colours the nearest by the weighted distance of https://www.compuphase.com/cmetric.htm,
    greys included: Rich takes one of the 6 x 6 x 6 cube, where a dark blue grey becomes navy.
    """
    if colours is not ColorSystem.EIGHT_BIT or colour.type is not ColorType.TRUECOLOR:
        return colour.downgrade(colours)
    red, green, blue = colour.get_truecolor()

    def distance(number: int) -> float:
        other = EIGHT_BIT_PALETTE[number]
        mean = (red + other.red) / 2
        return (
            (2 + mean / 256) * (red - other.red) ** 2
            + 4 * (green - other.green) ** 2
            + (2 + (255 - mean) / 256) * (blue - other.blue) ** 2
        )

    return Color.from_ansi(min(range(16, 256), key=distance))


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
                    pieces = strip.divide([cut - left for cut in within[1:]])
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
