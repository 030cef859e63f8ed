"""The last line: the keys that work here, from the registry of actions."""

from __future__ import annotations

from collections.abc import Sequence

from rich.segment import Segment
from textual import events
from textual.strip import Strip

from memtui import text
from memtui.tui.widgets.themed_widget import ThemedWidget


class KeyLine(ThemedWidget):
    """Key and word, as many as fit; a click does the act."""

    def __init__(self, *, id: str = "keys") -> None:
        super().__init__(id=id)
        self._keys: Sequence[tuple[str, str, str]] = ()
        self._always: Sequence[tuple[str, str, str]] = ()
        self._spans: list[tuple[int, int, str]] = []

    def show(
        self,
        keys: Sequence[tuple[str, str, str]],
        always: Sequence[tuple[str, str, str]] = (),
    ) -> None:
        """Triples of key, word and action id; `always` stand at the right and never give way."""
        if (keys, always) != (self._keys, self._always):
            self._keys, self._always = keys, always
            self.refresh()

    def render_line(self, y: int) -> Strip:
        width = self.size.width
        tail = sum(len(key) + len(word) + 3 for key, word, _ in self._always)
        segments: list[Segment] = [Segment(" ")]
        used, spans = 1, []

        def put(key: str, word: str, action_id: str) -> None:
            nonlocal used
            segments.append(Segment(key, self.palette.key))
            segments.append(Segment(f" {word}", self.palette.dim))
            segments.append(Segment("  "))
            cells = text.width(key) + text.width(word) + 1
            spans.append((used, used + cells, action_id))
            used += cells + 2

        for key, word, action_id in self._keys:
            if used + text.width(key) + text.width(word) + 3 + tail > width:
                break
            put(key, word, action_id)
        if tail and used + tail <= width:
            segments.append(Segment(" " * (width - used - tail)))
            used = width - tail
            for key, word, action_id in self._always:
                put(key, word, action_id)
        self._spans = spans
        return Strip(segments).adjust_cell_length(width).apply_style(self.ground)

    async def on_click(self, event: events.Click) -> None:
        for start, end, action_id in self._spans:
            if start <= event.x < end and action_id:
                await self.run_action(f"screen.act('{action_id}')")
