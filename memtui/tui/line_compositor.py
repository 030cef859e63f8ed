"""Renders only the lines that changed.

For a change in two places Textual renders every widget between them, in its whole height: for a
step of the cursor in the list, and the memory beside it, the whole screen. Here a widget renders
the lines that are to be drawn and that no widget in front of it covers.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from itertools import pairwise
from typing import cast

from textual._compositor import ChopsUpdate, Compositor
from textual.geometry import Region
from textual.strip import Strip

Line = dict[int, Strip | None]
"""First column of each part of a line -> what is drawn there."""


class LineCompositor(Compositor):
    """Textual's compositor with a cheaper partial update."""

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
            for first, end in _runs(sorted(rows)):
                part = Region(left - region.x, first - region.y, shown.width, end - first)
                for y, strip in enumerate(widget.render_lines(part), first):
                    within = [cut for cut in cuts[y] if left <= cut <= right]
                    pieces = strip.divide([cut - left for cut in within[1:]])
                    for at, piece in zip(within, pieces, strict=False):
                        if lines[y].get(at) is None:
                            lines[y][at] = piece
                            parts[y].pop(at, None)
        return lines


def _runs(lines: Sequence[int]) -> Iterator[tuple[int, int]]:
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
