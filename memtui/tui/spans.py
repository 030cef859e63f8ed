"""Text with its matched words set off, as Rich segments."""

from __future__ import annotations

from collections.abc import Sequence

from rich.segment import Segment
from rich.style import Style

from memtui import text


def marked_segments(line: str, words: Sequence[str], style: Style, match: Style) -> list[Segment]:
    """A visible line in `style`, the parts that `words` match in `match` on top of it."""
    if not words:
        return [Segment(line, style)]
    segments: list[Segment] = []
    at = 0
    for start, end in text.highlights(line, words):
        if start > at:
            segments.append(Segment(line[at:start], style))
        segments.append(Segment(line[start:end], style + match))
        at = end
    if at < len(line):
        segments.append(Segment(line[at:], style))
    return segments
