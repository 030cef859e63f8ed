"""The last line of defence: no control character of a store's text reaches the terminal.

Every string passes `memtui.text.visible` before it meets a widget. Should a call be missing, this
filter deletes what a terminal would act on from every rendered line, and cleans link targets,
which Textual writes raw. Deleting, not replacing: Textual reckons these characters as no cells
wide, so a sign in their place would shift the row.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from rich.segment import Segment
from textual.color import Color
from textual.filter import LineFilter

DANGEROUS = re.compile(
    "[\x00-\x1f\x7f-\x9f\u061c\u200b\u200c\u200e\u200f\u2028-\u202e\u2060-\u206f\ufeff"
    "\ufff9-\ufffb\ud800-\udfff\U000e0000-\U000e0fff]"
)
"""C0, DEL, C1, bidi and zero-width signs, separators, lone surrogates, tag characters."""


class OutputFilter(LineFilter):
    """Counts what it had to delete: anything above 0 is a missing call elsewhere."""

    def __init__(self) -> None:
        super().__init__()
        self.hits = 0

    def apply(self, segments: list[Segment], background: Color) -> list[Segment]:
        """The line without what a terminal would act on; clean lines come back as they are."""
        cleaned: list[Segment] | None = None
        for index in self._bad(segments):
            cleaned = cleaned or list(segments)
            text, style, control = segments[index]
            if style is not None and style.link and DANGEROUS.search(style.link):
                style = style.update_link(None)
            cleaned[index] = Segment(DANGEROUS.sub("", text), style, control)
            self.hits += 1
        return segments if cleaned is None else cleaned

    def _bad(self, segments: list[Segment]) -> Iterator[int]:
        for index, (text, style, _) in enumerate(segments):
            link = style.link if style is not None else None
            in_text = not text.isprintable() and DANGEROUS.search(text)
            if in_text or (link and DANGEROUS.search(link)):
                yield index
