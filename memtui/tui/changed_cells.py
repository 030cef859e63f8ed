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

_SHOWN_ON_BLANKS = frozenset({"4", "7", "9", "21", "51", "52", "53"})
"""Codes of the attributes that can be seen where there is no letter."""

Piece = tuple[int, int, Strip]
"""Column, line, and the strip to show from there."""
Codes = tuple[str, str, str]
"""SGR codes of attributes, text colour and background. No text colour: a blank, of any."""
Cell = tuple[str, Codes]
PLAIN: Codes = ("", "39", "49")
BLANK: Codes = ("", "", "49")


class ScreenBuffer:
    """The cells that the terminal shows, as far as they were written."""

    def __init__(self) -> None:
        self._lines: dict[int, list[Cell | None]] = {}
        self._uncertain: set[int] = set()
        """Lines with cells of strips that were written whole."""
        self._region = Region(0, 0, 0, 0)
        """The region of the last whole frame."""

    def forget(self) -> None:
        """Forget the cells, as another program may have written; rewrite the next frame."""
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
        output = OutputBuilder(console._color_system or ColorSystem.TRUECOLOR)
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
                output.put(x, y, shown, fresh)
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
    """Builds the output of a frame, tracking the current SGR state of the terminal.

    The cells are written by their look, not from top to bottom: a colour takes up to 19 bytes, a
    move of the cursor 4 to 8, and most lines of a frame have the same few colours.
    """

    def __init__(self, colours: ColorSystem) -> None:
        self.colours = colours
        self._written: list[str] = []
        self._spans: dict[Codes, list[tuple[int, int, str]]] = {}
        """Look -> line, column and words of what is to be written in it."""
        self._now = PLAIN

    def put(self, x: int, y: int, shown: Sequence[Cell | None], fresh: Sequence[Cell]) -> None:
        """Note the cells of a line that differ from those that are shown; near ones are joined."""
        words: list[str] = []
        look, start, end = PLAIN, 0, -1 - MAX_GAP
        pairs = zip(shown, fresh, strict=True)
        for at in [at for at, (old, new) in enumerate(pairs) if old != new]:
            joined: Codes | None = None
            if at - end <= MAX_GAP:
                joined = look
                for _, between in fresh[end : at + 1]:
                    if between is not joined and joined is not None:
                        joined = _common_look(joined, between)
            if joined is None:
                self._note(look, y, x + start, words)
                words, start, end, joined = [], at, at, fresh[at][1]
            words += [sign for sign, _ in fresh[end : at + 1]]
            look, end = joined, at + 1
        self._note(look, y, x + start, words)

    def _note(self, look: Codes, y: int, x: int, words: Sequence[str]) -> None:
        if words:
            self._spans.setdefault(look, []).append((y, x, "".join(words)))

    def put_whole(self, x: int, y: int, strip: Strip) -> None:
        """Write a strip whose width is uncertain, before what is beside it.

        The cursor is placed anew behind each such character: where a terminal gives it more cells
        than we do, what follows covers them, and neither it nor the next pane is shifted.
        """
        self._written.append(f"\x1b[{y + 1};{x + 1}H")
        for words, style, control in strip:
            codes = PLAIN if style is None else _codes(style, self.colours)
            for piece in [words] if control else _CERTAIN_PIECE.split(words):
                cells = 0 if control else cell_len(piece)
                self._set_look(codes)
                if control or FIXED_WIDTH.fullmatch(piece):
                    self._written.append(piece)
                else:
                    self._written.append(" " * cells)
                    self._written.append(f"\x1b[{x + 1}G")
                    self._written.append(piece)
                    self._written.append(f"\x1b[{x + cells + 1}G")
                x += cells

    def finish(self) -> str:
        """Return the output, with the SGR state reset at the end."""
        spans = self._spans
        for look in [look for look in spans if not look[1]]:  # blanks go with any of their ground
            same = (other for other in spans if other[1] and _common_look(look, other))
            if (host := next(same, None)) is not None:
                spans[host] += spans.pop(look)
        while spans:
            look = min(spans, key=lambda look: len(self._code_of(look)))
            self._set_look(look)
            line = end = -1
            for y, x, words in sorted(spans.pop(look)):
                if y != line or x < end:
                    self._written.append(f"\x1b[{y + 1};{x + 1}H")
                elif x > end:
                    self._written.append(f"\x1b[{x - end}C")
                self._written.append(words)
                line, end = y, x + len(words)
        self._set_look(PLAIN)
        return "".join(self._written)

    def _set_look(self, look: Codes) -> None:
        self._written.append(self._code_of(look))
        self._now = (look[0], look[1] or self._now[1], look[2])

    def _code_of(self, look: Codes) -> str:
        """The sequence that changes the present look to this one."""
        before = self._now
        look = (look[0], look[1] or before[1], look[2])
        if look == before:
            return ""
        if look == PLAIN:
            return "\x1b[0m"
        if look[0] != before[0] and before[0]:
            coloured = [code for code, plain in zip(look, PLAIN, strict=True) if code != plain]
            return f"\x1b[{';'.join(['0', *coloured])}m"
        changed = [new for new, old in zip(look, before, strict=True) if new != old]
        return f"\x1b[{';'.join(changed)}m"


@lru_cache(1024)
def _common_look(one: Codes, other: Codes) -> Codes | None:
    """The look in which cells of both can be written; None if they differ visibly."""
    if one == other:
        return one
    blank, inked = (other, one) if one[1] else (one, other)
    can_join = not blank[1] and blank[2] == inked[2]
    return inked if can_join and _SHOWN_ON_BLANKS.isdisjoint(inked[0].split(";")) else None


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


def _cells(strip: Strip, colours: ColorSystem) -> tuple[list[Cell], bool]:
    """Split a strip into one cell per column; True if it can only be written whole.

    The cells of such a strip all hold its whole content as their key.
    """
    cells: list[Cell] = []
    for words, style, control in strip:
        if control or not FIXED_WIDTH.fullmatch(words) or (style is not None and style.link):
            return _block(strip), True
        look, blank = (PLAIN, BLANK) if style is None else _looks(style, colours)
        cells.extend([(sign, blank if sign == " " else look) for sign in words])
    return cells, False


def _block(strip: Strip) -> list[Cell]:
    width = sum(cell_len(segment.text) for segment in strip if not segment.control)
    key = "".join(f"\0{segment.text}\0{segment.style}" for segment in strip)
    return [(f"\0{at}{key}", PLAIN) for at in range(width)]


def _is_certain(cell: Cell | None) -> bool:
    return cell is None or not cell[0].startswith("\0")


@lru_cache(1024)
def _looks(style: Style, colours: ColorSystem) -> tuple[Codes, Codes]:
    """The codes of a style, and those of a blank in it: usually only its background."""
    codes = _codes(style, colours)
    if _SHOWN_ON_BLANKS.isdisjoint(codes[0].split(";")):
        return codes, ("", "", codes[2])
    return codes, codes


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
