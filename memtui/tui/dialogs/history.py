"""All versions of a memory, newest first, with what each changed against the one before."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from datetime import datetime
from difflib import SequenceMatcher
from typing import TYPE_CHECKING, ClassVar

from rich.segment import Segment
from rich.style import Style
from textual import on
from textual.app import ComposeResult
from textual.binding import Binding
from textual.containers import Vertical
from textual.content import Content

from memtui import text
from memtui.model import Memory
from memtui.tui import glyphs
from memtui.tui.dialogs.dialog import Dialog
from memtui.tui.widgets.footer import KeyLine
from memtui.tui.widgets.versions import Version, VersionList

if TYPE_CHECKING:
    from textual.binding import BindingType

    from memtui.insight.lineage import Lineage
    from memtui.tui.colours import Palette

LONGEST = 4_000
"""Characters of a version that are shown here."""
_PIECES = re.compile(r"\s+|\w+|[^\w\s]")


def difference(before: str, after: str) -> list[tuple[str, str]]:
    """Pieces of both texts: (`same` | `gone` | `new`, piece), word by word.

    A blank between two changes belongs to both, so that a changed phrase stays one phrase.
    """
    old, new = _PIECES.findall(before), _PIECES.findall(after)
    steps = SequenceMatcher(None, old, new, autojunk=False).get_opcodes()
    pieces: list[tuple[str, str]] = []
    gone = added = ""
    for at, (kind, a, b, c, d) in enumerate(steps):
        same = "".join(new[c:d])
        if kind == "equal" and not (same == " " and 0 < at < len(steps) - 1):
            pieces += _changed(gone, added)
            pieces.append(("same", same))
            gone = added = ""
            continue
        gone += "".join(old[a:b])
        added += same
    return pieces + _changed(gone, added)


def _changed(gone: str, added: str) -> list[tuple[str, str]]:
    between = [("same", " ")] if gone and added and not gone[-1:].isspace() else []
    pieces = [("gone", gone), *between, ("new", added)]
    return [(kind, piece) for kind, piece in pieces if piece]


class HistoryScreen(Dialog[str]):
    """Dismissed with the ref of the version that was chosen."""

    CSS_PATH = "dialogs.tcss"
    AUTO_FOCUS = "VersionList"
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("escape,q,H", "dismiss", show=False),
        Binding("enter", "choose", show=False),
    ]

    def __init__(self, lineage: Lineage, now: Callable[[], datetime]) -> None:
        super().__init__()
        self._lineage = lineage
        self._now = now

    def compose(self) -> ComposeResult:
        with Vertical(classes="box tall") as box:
            box.border_title = Content("History, newest first")
            yield VersionList()
            yield KeyLine(id="history-keys")

    def on_mount(self) -> None:
        self.query_one(KeyLine).show(
            [("↑↓", "version", ""), ("enter", "show it", ""), ("esc", "leave", "")]
        )
        self.call_after_refresh(self._fill)

    def on_resize(self) -> None:
        self.call_after_refresh(self._fill)

    def _fill(self) -> None:
        versions = self.query_one(VersionList)
        width = max(20, versions.size.width - 3)
        history = self._lineage.history
        blocks: list[Version] = []
        for index in range(len(history) - 1, -1, -1):
            relative = history[index]
            if relative.memory is None:
                words = text.cut(f"{text.one_line(relative.id)}: not in this store", width)
                line = [
                    Segment("○ ", versions.palette.faint),
                    Segment(words, versions.palette.faint),
                ]
                blocks.append(Version("", (line,)))
                continue
            before = history[index - 1].memory if index else None
            lines = self._version(relative.memory, before, versions.palette, width)
            blocks.append(Version(relative.memory.ref, tuple(lines)))
        here = next((i for i, b in enumerate(blocks) if b.ref == self._lineage.memory.ref), 0)
        versions.show(blocks, here)

    def _version(
        self, memory: Memory, before: Memory | None, palette: Palette, width: int
    ) -> list[Sequence[Segment]]:
        here = memory.ref == self._lineage.memory.ref
        when = f"{text.date(memory.when)}  {text.ago(memory.when, self._now())}"
        sign = glyphs.STATUS_SHOWN.get(memory.status, " ")
        mine = "  this one" if here else ""
        head = [
            Segment("● " if here else "○ ", palette.accent),
            Segment(text.cut(when, width // 2), palette.heading),
            Segment(f"  {sign} {memory.status}", palette.status(memory.status)),
            Segment(mine, palette.accent),
        ]
        body = self._changed(memory, before, palette, width - 2)
        return [head, *([Segment("│ ", palette.rule), *line] for line in body)]

    def _changed(
        self, memory: Memory, before: Memory | None, palette: Palette, width: int
    ) -> list[list[Segment]]:
        now = text.visible((memory.content or memory.title)[:LONGEST])
        if before is None:
            return [[Segment(line, palette.text)] for line in text.wrap(now, width)]
        then = text.visible((before.content or before.title)[:LONGEST])
        styles = {"same": palette.text, "gone": palette.removed, "new": palette.added}
        return wrapped_pieces([(styles[k], piece) for k, piece in difference(then, now)], width)

    @on(VersionList.Chosen)
    def action_choose(self) -> None:
        ref = self.query_one(VersionList).ref
        if ref:
            self.dismiss(ref)


def wrapped_pieces(pieces: Sequence[tuple[Style, str]], width: int) -> list[list[Segment]]:
    """Styled pieces on lines no wider than `width`."""
    lines: list[list[Segment]] = [[]]
    used = 0
    for style, piece in pieces:
        for word in re.findall(r"\n|[^\S\n]+|\S+", piece):
            for part in [word] if word.isspace() else text.wrap(word, width):
                if word == "\n" or (used + text.width(part) > width and used):
                    lines.append([])
                    used = 0
                if word == "\n" or (not used and part.isspace()):
                    continue
                lines[-1].append(Segment(part, style))
                used += text.width(part)
    return lines
