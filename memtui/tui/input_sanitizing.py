"""A store's text on its way through an input: shown harmless, given back to the last character.

What would act on the terminal, hide, or break a line where the widget would break one too many is
swapped for a character of a private plane; the widget draws the sign that stands for it. Saving
swaps back, so that a text which was not touched is not changed.
"""

from __future__ import annotations

from memtui import text
from memtui.tui.output_filter import DANGEROUS

_FIRST = 0xF0000
"""First code point of the private plane the stand-ins come from."""
_CRLF = "\r\n"


class InputSanitizer:
    """One text's stand-ins; knows its line ends too."""

    def __init__(self, *, lines: bool = True) -> None:
        self._keeps = "\n\t" if lines else ""
        self._lines = lines
        self._crlf = False
        self._stand_in: dict[str, str] = {}
        self._signs: dict[int, str] = {}

    def inward(self, raw: str) -> str:
        """The text as the widget may hold it."""
        if self._lines and _CRLF in raw and raw.count("\n") == raw.count(_CRLF):
            self._crlf, raw = True, raw.replace(_CRLF, "\n")
        if raw.isprintable() and raw.isascii():
            return raw
        return "".join(self._in(char) for char in raw)

    def outward(self, held: str) -> str:
        """The text as the store shall have it."""
        back = str.maketrans({stand_in: char for char, stand_in in self._stand_in.items()})
        held = held.translate(back)
        return held.replace("\n", _CRLF) if self._crlf else held

    def shown(self, held: str) -> str:
        """What is drawn: as many characters as are held."""
        return DANGEROUS.sub("·", held.translate(self._signs))

    def _in(self, char: str) -> str:
        if char in self._keeps:
            return char
        sign = "⏎" if char == "\n" else " " if char == "\t" else text.visible(char)
        if sign == char:
            return char
        if char not in self._stand_in:
            made = chr(_FIRST + len(self._stand_in))
            self._stand_in[char] = made
            self._signs[ord(made)] = sign[:1] or "·"
        return self._stand_in[char]
