"""The merge dialog: what stays beside what goes, the words that differ, what else is rewritten."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple

from rich.segment import Segment
from textual.binding import Binding

from memtui import text
from memtui.model import Memory
from memtui.tui.appearance import Palette
from memtui.tui.change_worker import Preview
from memtui.tui.dialogs.dialog import TextDialog
from memtui.tui.dialogs.diff import MAX_COMPARED_CHARS, draw_compared
from memtui.tui.widgets.diff_view import draw_diff, draw_text_diff
from memtui.tui.widgets.text_window import OutcomeLine

MERGE, EDIT = "merge", "edit"


class MergeWay(NamedTuple):
    """A merge that keeps the first of these memories."""

    memories: Sequence[Memory]
    preview: Preview
    summary: Sequence[OutcomeLine]


class MergeScreen(TextDialog[tuple[str, int]]):
    """Dismissed with `MERGE`, or `EDIT` to edit the text first, and the number of the way."""

    leave = "cancel"
    BINDINGS = [
        ("escape,q", "dismiss"),
        ("enter", f"choose('{MERGE}')", "merge"),
        ("e", f"choose('{EDIT}')", "edit text"),
        Binding("tab", "swap", "swap", priority=True),
    ]

    def __init__(self, ways: Sequence[MergeWay]) -> None:
        super().__init__()
        self._ways, self._at = ways, 0
        self.heading = f"Merge {text.counted(len(ways[0].memories), 'memory')}"
        self.summary = ways[0].summary

    def labels(self) -> Mapping[str, object]:
        return {"swap": len(self._ways) > 1 and "keep the other"}

    def keys(self) -> list[tuple[str, str]]:
        return sorted(super().keys(), key=lambda pair: pair[0] == "tab")

    def action_choose(self, answer: str) -> None:
        self.dismiss((answer, self._at))

    def action_swap(self) -> None:
        """Keep the next memory instead."""
        self._at = (self._at + 1) % len(self._ways)
        self.say(*self._ways[self._at].summary)
        self.fill()

    def lines(self, width: int, palette: Palette) -> list[list[Segment]]:
        way = self._ways[self._at]
        kept, *others = way.memories
        lines: list[list[Segment]] = []
        for other in others:
            lines += draw_compared(kept, other, palette, width, self.app.store_name, is_merge=True)
            before, after = other.content[:MAX_COMPARED_CHARS], kept.content[:MAX_COMPARED_CHARS]
            lines.append([Segment(" What goes becomes what stays, word by word", palette.heading)])
            drawn = draw_text_diff(before, after, palette, width - 2)
            lines += [*([Segment(" "), *line] for line in drawn), []]
        lines.append([Segment(" Changes in files", palette.heading)])
        lines += [part for line in way.preview.lines for part in draw_diff(line, palette, width)]
        return lines
