"""What is written to the terminal: only the parts of lines that differ from what it shows.

Textual writes every line of a redrawn widget, and the whole screen (40 KB and more) after a layout,
which is slow over a network. Here each part of a line is compared with what was written there last.

Every string passes `memtui.text.visible` before a widget draws it; `OutputFilter` is the second
line of defence. `InputSanitizer` lets a text be edited without changing what it cannot show.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from functools import lru_cache
from itertools import product

from rich.cells import cell_len
from rich.color import Color, ColorType
from rich.console import Console
from rich.segment import Segment
from rich.style import Style

# The updates that Textual hands to `App._display` have no public name.
from textual._compositor import ChopsUpdate, CompositorUpdate, LayoutUpdate
from textual.color import Color as TextualColor
from textual.filter import LineFilter
from textual.geometry import Region
from textual.strip import Strip

from memtui import text

__all__ = ["CompositorUpdate"]
RESET = "\x1b[0m"
BLANK_TERMINAL = "\x0f\x1b(B\x1b[?6l\x1b[r\x1b[4l\x1b[?7l\x1b[?25l\x1b[0m\x1b[2J"
"""Resets what stray output may have changed (character set, scrolling region, insert mode,
wrapping, cursor, colours) and clears the screen."""
FIXED_WIDTH = re.compile(
    "[ -~\xa0-\xac\xae-\u02ff\u0370-\u0377\u037a-\u0482\u048a-\u052f\u2010-\u2027\u2030-\u205e"
    "\u2190-\u2193\u2500-\u25fc]*"
)
"""Characters that are one cell wide in every terminal."""
Piece = tuple[int, int, Strip]
"""Column, line, and the strip to show from there."""


class ShownLines:
    """The parts of lines that the terminal shows, as far as they were written."""

    def __init__(self) -> None:
        self._lines: dict[int, dict[int, Strip]] = {}
        """Line -> column of each part -> what it shows."""
        self._region = Region()
        """The region of the last whole frame."""
        self._before = RESET

    def forget(self, before: str = RESET) -> None:
        """Write the next frame whole, as another program may have written; behind `before`."""
        self._lines.clear()
        self._before = before

    def reduced(self, update: CompositorUpdate) -> CompositorUpdate:
        """Return the update without the parts that the terminal already shows."""
        if isinstance(update, LayoutUpdate):
            if update.region != self._region:
                # A last frame for the size before may have been cut by the terminal's edge.
                self.forget(self._before)
                self._region = update.region
            return ChangedPieces(self, _pieces_of_layout(update))
        if isinstance(update, ChopsUpdate):
            return ChangedPieces(self, _pieces_of_chops(update))
        self.forget()
        return update

    def write(self, pieces: Iterator[Piece], console: Console) -> str:
        """Return the output that shows these pieces, and remember them as shown."""
        written, self._before = [self._before], ""
        for x, y, strip in pieces:
            line, end = self._lines.setdefault(y, {}), x + strip.cell_length
            shown = line.get(x)
            if shown == strip:
                continue
            for start in [at for at, old in line.items() if at < end and at + old.cell_length > x]:
                del line[start]
            line[x] = strip
            start, changed = _changed_part(shown, strip)
            written.append(draw_strip(changed, x + start, y, console))
        return "".join(written)


def _changed_part(shown: Strip | None, strip: Strip) -> tuple[int, Strip]:
    """The column within a strip from which it differs, and its part that does: what has the same
    style at its beginning and its end is left out."""
    if shown is None or shown.cell_length != strip.cell_length:
        return 0, strip.simplify()
    if not FIXED_WIDTH.fullmatch(shown.text + strip.text):
        return 0, strip
    before, after = (list(Segment.simplify(each)) for each in (shown, strip))
    start = end = 0
    while before and after and before[-1] == after[-1]:
        end += len(before.pop().text)
        after.pop()
    while before and after and before[0] == after[0]:
        start += len(before.pop(0).text)
        after.pop(0)
    return start, Strip(after, strip.cell_length - start - end)


class ChangedPieces(CompositorUpdate):
    """An update that writes what differs from the lines shown."""

    def __init__(self, shown: ShownLines, pieces: Iterator[Piece]) -> None:
        self._shown, self._pieces = shown, pieces

    def render_segments(self, console: Console) -> str:
        return self._shown.write(self._pieces, console)


def _pieces_of_layout(update: LayoutUpdate) -> Iterator[Piece]:
    for y, strips in enumerate(update.strips, update.region.y):
        x = update.region.x
        for strip in strips:
            yield x, y, strip
            x += strip.cell_length


def _pieces_of_chops(update: ChopsUpdate) -> Iterator[Piece]:
    """The parts that changed spans overlap, each whole: Textual has drawn them whole.

    The part behind the end of a span holds what lies below its widget, which was not drawn.
    """
    for y, start, stop in update.spans:
        for end, (x, strip) in zip(update.chop_ends[y], update.chops[y].items(), strict=False):
            # Where nothing has been drawn, Textual has None in place of a strip.
            if isinstance(strip, Strip) and x < stop and end > start:
                yield x, y, strip


def draw_strip(strip: Strip, x: int, y: int, console: Console) -> str:
    """Return the output that shows a strip from a column of a line on.

    Behind a character whose width differs between terminals (wide letters, emoji, joined
    characters) the cursor is placed anew, so that neither what follows nor the next pane is
    shifted; before it the cells are made blank.
    """
    if FIXED_WIDTH.fullmatch(strip.text):
        return f"\x1b[{y + 1};{x + 1}H{strip.render(console)}"
    written = []
    for words, style, control in strip:
        for part in [words] if control else re.split(f"({FIXED_WIDTH.pattern[:-1]}+)", words):
            cells = 0 if control else cell_len(part)
            place = f"\x1b[{y + 1};{x + 1}H"
            if not FIXED_WIDTH.fullmatch(part):
                written += [place, Strip([Segment(" " * cells, style)]).render(console)]
            if part:
                written += [place, Strip([Segment(part, style, control)]).render(console)]
            x += cells
    return "".join(written)


def draw_lines(lines: Sequence[Strip], console: Console) -> str:
    """Return the output that draws these lines from the first line of a screen on."""
    return "".join(draw_strip(line, 0, y, console) for y, line in enumerate(lines))


class NearestColours(LineFilter):
    """Gives a terminal of 256 colours the nearest ones, greys included.

    Rich takes one of the 6 x 6 x 6 cube, where a dark blue grey becomes navy.
    """

    def apply(self, segments: list[Segment], background: TextualColor) -> list[Segment]:
        return [
            Segment(words, style and _with_nearest_colours(style), control)
            for words, style, control in segments
        ]


@lru_cache(1024)
def _with_nearest_colours(style: Style) -> Style:
    front, back = (
        _nearest(colour) if colour and colour.type is ColorType.TRUECOLOR else None
        for colour in (style.color, style.bgcolor)
    )
    return style + Style(color=front, bgcolor=back) if front or back else style


_LEVELS = (0, 95, 135, 175, 215, 255)
_PALETTE = [*product(_LEVELS, repeat=3), *((grey, grey, grey) for grey in range(8, 248, 10))]
"""The colours of xterm from 16 on: the cube, then the greys."""


@lru_cache(256)
def _nearest(colour: Color) -> Color:
    """By the weighted distance of https://www.compuphase.com/cmetric.htm."""
    red, green, blue = colour.get_truecolor()

    def distance(number: int) -> float:
        other_red, other_green, other_blue = _PALETTE[number]
        mean = (red + other_red) / 2
        return (
            (2 + mean / 256) * (red - other_red) ** 2
            + 4 * (green - other_green) ** 2
            + (2 + (255 - mean) / 256) * (blue - other_blue) ** 2
        )

    return Color.from_ansi(16 + min(range(len(_PALETTE)), key=distance))


# ---- the last filter -----------------------------------------------------------------------------


DANGEROUS = re.compile(
    "[\x00-\x1f\x7f-\x9f\u061c\u200b\u200c\u200e\u200f\u2028-\u202e\u2060-\u206f\ufeff"
    "\ufff9-\ufffb\ud800-\udfff\U000e0000-\U000e0fff]"
)
"""C0, DEL, C1, bidi and zero-width signs, separators, lone surrogates, tag characters."""


class OutputFilter(LineFilter):
    """Deletes dangerous characters from every rendered line, and unsafe link targets.

    It deletes and does not replace: Textual counts these characters as zero cells wide, so a
    substitute would shift the row. `hits` above 0 means that a call of `visible` is missing.
    """

    hits = 0

    def apply(self, segments: list[Segment], background: TextualColor) -> list[Segment]:
        """Return the line without dangerous characters; a clean line is returned as it is."""
        cleaned: list[Segment] | None = None
        for index in self._unsafe_segments(segments):
            cleaned = cleaned or list(segments)
            words, style, control = segments[index]
            if style is not None and style.link and DANGEROUS.search(style.link):
                style = style.update_link(None)
            cleaned[index] = Segment(DANGEROUS.sub("", words), style, control)
            self.hits += 1
        return segments if cleaned is None else cleaned

    def _unsafe_segments(self, segments: list[Segment]) -> Iterator[int]:
        for index, (words, style, _) in enumerate(segments):
            link = style.link if style is not None else None
            in_text = not words.isprintable() and DANGEROUS.search(words)
            if in_text or (link and DANGEROUS.search(link)):
                yield index


_FIRST = 0xF0000
"""First code point of the private plane that placeholders come from."""
_CRLF = "\r\n"


class InputSanitizer:
    """Replaces unsafe characters of one text by placeholders while it is edited, reversibly.

    Characters that act on the terminal, hide, or would break a line become placeholders of a
    private plane, drawn as a visible sign. CR LF line ends are restored too, so that an untouched
    text is saved unchanged.
    """

    def __init__(self, *, lines: bool = True) -> None:
        self._keeps = "\n\t" if lines else ""
        self._lines = lines
        self._crlf = False
        self._placeholders: dict[str, str] = {}
        self._drawn_as: dict[int, str] = {}

    def encode(self, raw: str) -> str:
        """The text as the widget holds it."""
        if self._lines and _CRLF in raw and raw.count("\n") == raw.count(_CRLF):
            self._crlf, raw = True, raw.replace(_CRLF, "\n")
        if raw.isprintable() and raw.isascii():
            return raw
        return "".join(self._encode_char(char) for char in raw)

    def decode(self, encoded: str) -> str:
        """The text as it is saved."""
        back = str.maketrans(
            {placeholder: char for char, placeholder in self._placeholders.items()}
        )
        encoded = encoded.translate(back)
        return encoded.replace("\n", _CRLF) if self._crlf else encoded

    def display(self, encoded: str) -> str:
        """The text as it is drawn, with as many characters as `encoded`."""
        return DANGEROUS.sub("·", encoded.translate(self._drawn_as))

    def _encode_char(self, char: str) -> str:
        if char in self._keeps:
            return char
        sign = "⏎" if char == "\n" else " " if char == "\t" else text.escaped(char)
        if sign == char:
            return char
        if char not in self._placeholders:
            made = chr(_FIRST + len(self._placeholders))
            self._placeholders[char] = made
            self._drawn_as[ord(made)] = sign[:1] or "·"
        return self._placeholders[char]


def clean_text(words: str) -> tuple[str, int]:
    """Return text safe to paste into another program, and how many characters were removed.

    Control characters except newline and tab, and hidden characters, are removed; CR LF becomes
    a newline.
    """
    words = words.replace("\r\n", "\n")
    cleaned = "".join(c if c in "\n\t" else DANGEROUS.sub("", c) for c in words)
    return cleaned.strip("\n"), len(words) - len(cleaned)
