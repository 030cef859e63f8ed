"""The sequences that show cells on a terminal: colours, moves of the cursor, erased blanks.

Only what every terminal of today has: ECMA-48 (SGR, CUP, CUF, CUB, CHA, ECH) and the control
characters of the VT100, whose vertical tab goes down a line in the same column, as in xterm
(`ctlseqs`, "VT"), tmux, GNU screen (`ansi.c`, `Special`) and the Linux console, and which, unlike a
line feed, no terminal driver turns into two characters.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from functools import lru_cache
from typing import NamedTuple

from rich._palettes import EIGHT_BIT_PALETTE
from rich.cells import cell_len
from rich.color import Color, ColorSystem, ColorType
from rich.style import Style
from textual.strip import Strip

FIXED_WIDTH = re.compile(
    "[ -~\xa0-\xac\xae-\u02ff\u0370-\u0377\u037a-\u0482\u048a-\u052f\u2010-\u2027\u2030-\u205e"
    "\u2190-\u2193\u2500-\u25fc]*"
)
"""Characters that are one cell wide in every terminal."""
_CERTAIN_PIECE = re.compile(f"({FIXED_WIDTH.pattern[:-1]}+)")
RESET = "\x1b[0m"
MAX_GAP = 4
"""Unchanged cells between two changes that are rewritten, since moving the cursor costs more."""
MAX_DOWN = 3
"""Lines that are gone down one by one."""
MAX_BACK = 3
"""Columns that are gone back one by one."""
MIN_ERASED = 5
"""Blanks that are erased instead of written: `ESC [ 5 X` has four characters."""
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
_ENDS = {"1": "22", "2": "22", "5": "25", "6": "25", "4": "24", "21": "24", "51": "54", "52": "54"}
_ENDS |= {"3": "23", "7": "27", "8": "28", "9": "29", "53": "55"}
"""Code of an attribute -> the one that ends it (ECMA-48, 8.3.117)."""
_SHOWN_ON_BLANKS = frozenset({"4", "7", "9", "21", "51", "52", "53"})
"""Codes of the attributes that can be seen where there is no letter."""

Codes = tuple[str, str, str]
"""SGR codes of attributes, text colour and background. No text colour: a blank, of any."""
Cell = tuple[str, Codes]
PLAIN: Codes = ("", "39", "49")
BLANK: Codes = ("", "", "49")
ERASING = re.compile("xterm|linux|alacritty|foot|kitty|konsole|rxvt|vte|putty|wezterm|ghostty|st-")
"""Beginnings of TERM whose descriptions in terminfo say that what is erased gets the background
(`bce`); those of tmux and GNU screen do not."""


def erases_background(environ: Mapping[str, str]) -> bool:
    """Whether the terminal gives cells that are erased (ECH) the present background.

    GNU screen gives them its own, whatever TERM says, unless `defbce` is on; tmux has given them
    the present one since 2.4, and is named in TERM_PROGRAM since 3.2.
    """
    if environ.get("STY"):
        return False
    known = ERASING.match(environ.get("TERM", "")) is not None
    return known or environ.get("TERM_PROGRAM") == "tmux"


class LookSpan(NamedTuple):
    """Words in one look."""

    y: int
    x: int
    words: str


class OutputBuilder:
    """Builds the output of a frame, tracking the look and the cursor of the terminal.

    The cells are written by their look, not from top to bottom: a colour takes up to 19 bytes, a
    move of the cursor 2 to 8, and most lines of a frame have the same few colours.
    """

    def __init__(
        self, colours: ColorSystem, look: Codes | None = None, *, erases: bool = False
    ) -> None:
        """Begin a frame.

        Args:
            colours: What the terminal has.
            look: What the terminal writes in now; None if that is not known.
            erases: Blanks may be erased, as `erases_background` says.
        """
        self.colours = colours
        self.look = look
        self._erases = erases
        self._written: list[str] = []
        self._spans: dict[Codes, list[LookSpan]] = {}
        """Look -> what is to be written in it."""
        self._edges: dict[int, int] = {}
        """Line -> the column behind its last cell."""
        self._x = self._y = -1
        """Where the cursor is; -1 if that is not known."""

    def put(
        self, x: int, y: int, shown: Sequence[Cell | None], fresh: Sequence[Cell], edge: int
    ) -> None:
        """Note the cells of a line that differ from those that are shown; near ones are joined.

        Behind the cell before `edge`, which may be the last of the line, terminals disagree about
        the cursor's column.
        """
        self._edges[y] = edge
        words: list[str] = []
        look, start, end = PLAIN, 0, -1 - MAX_GAP
        pairs = zip(shown, fresh, strict=True)
        for at in [at for at, (old, new) in enumerate(pairs) if old != new]:
            if at == end and fresh[at][1] is look:  # most cells
                words.append(fresh[at][0])
                end += 1
                continue
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
            self._spans.setdefault(look, []).append(LookSpan(y, x, "".join(words)))

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
        self._y = self._x = -1

    def finish(self) -> str:
        """Return the output; `look` is what the terminal writes in after it."""
        spans = self._spans
        for look in [look for look in spans if not look[1]]:  # blanks go with any of their ground
            same = (other for other in spans if other[1] and _common_look(look, other))
            if (host := next(same, None)) is not None:
                spans[host] += spans.pop(look)
        for group in spans.values():
            group.sort()
        while spans:
            look = min(spans, key=lambda look: self._cost(look, spans[look][0]))
            self._set_look(look)
            is_erased = self._erases and _SHOWN_ON_BLANKS.isdisjoint(look[0].split(";"))
            for span in spans.pop(look):
                self._write(span, is_erased=is_erased)
        return "".join(self._written)

    def _cost(self, look: Codes, first: LookSpan) -> int:
        return len(_change_look(self.look, look)[0]) + len(self._move_to(first.y, first.x))

    def _set_look(self, look: Codes) -> None:
        sequence, self.look = _change_look(self.look, look)
        self._written.append(sequence)

    def _write(self, span: LookSpan, *, is_erased: bool) -> None:
        y, x, words = span
        self._written.append(self._move_to(y, x))
        shown = words.rstrip(" ") if is_erased else words
        if (blanks := len(words) - len(shown)) < MIN_ERASED:
            shown, blanks = words, 0
        self._written.append(f"{shown}\x1b[{blanks}X" if blanks else shown)
        end = x + len(shown)
        self._y, self._x = y, end if end < self._edges[y] else -1

    def _move_to(self, y: int, x: int) -> str:
        """The shortest sequence that moves the cursor there."""
        place = f"\x1b[{y + 1};{x + 1}H"
        down = y - self._y
        if self._y < 0 or not 0 <= down <= MAX_DOWN:
            return place
        across = f"\x1b[{x + 1}G"
        if (step := x - self._x) == 0:
            across = ""
        elif step > 0 <= self._x:
            across = min(across, f"\x1b[{step}C", key=len)
        elif self._x >= 0:
            back = "\b" * -step if -step <= MAX_BACK else f"\x1b[{-step}D"
            across = min(across, back, key=len)
        return min(place, "\v" * down + across, key=len)


@lru_cache(4096)
def _change_look(before: Codes | None, look: Codes) -> tuple[str, Codes]:
    """The sequence that changes one look to another, and the look then."""
    if before is None:
        look = (look[0], look[1] or PLAIN[1], look[2])
        codes = [code for code, plain in zip(look, PLAIN, strict=True) if code != plain]
        return f"\x1b[{';'.join(['0', *codes])}m", look
    look = (look[0], look[1] or before[1], look[2])
    if look in (before, PLAIN):
        return RESET if look != before else "", look
    before_codes, codes = before[0].split(";"), look[0].split(";")
    ended = {_ENDS[code] for code in before_codes if code and code not in codes}
    begun = [code for code in codes if code and (code not in before_codes or _ENDS[code] in ended)]
    colours = [new for new, old in zip(look[1:], before[1:], strict=True) if new != old]
    return f"\x1b[{';'.join([*sorted(ended), *begun, *colours])}m", look


@lru_cache(1024)
def _common_look(one: Codes, other: Codes) -> Codes | None:
    """The look in which cells of both can be written; None if they differ visibly."""
    if one == other:
        return one
    blank, inked = (other, one) if one[1] else (one, other)
    can_join = not blank[1] and blank[2] == inked[2]
    return inked if can_join and _SHOWN_ON_BLANKS.isdisjoint(inked[0].split(";")) else None


@lru_cache(1024)
def looks(style: Style, colours: ColorSystem) -> tuple[Codes, Codes]:
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
