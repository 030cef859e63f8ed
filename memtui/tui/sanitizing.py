"""Keep control and hidden characters of stored text out of the terminal, inputs and clipboard.

Every string passes `memtui.text.visible` before a widget draws it; `OutputFilter` is the second
line of defence. `InputSanitizer` lets a text be edited without changing what it cannot show.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from rich.segment import Segment
from textual.color import Color
from textual.filter import LineFilter

from memtui import text

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

    def __init__(self) -> None:
        super().__init__()
        self.hits = 0

    def apply(self, segments: list[Segment], background: Color) -> list[Segment]:
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
