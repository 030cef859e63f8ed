"""History dialog: all versions of a memory, newest first, each as a diff against the previous."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from typing import TYPE_CHECKING

from rich.segment import Segment
from rich.style import Style
from textual import on
from textual.app import ComposeResult

from memtui import text
from memtui.insight.versions import TextVersion, VersionHistory, VersionOrigin
from memtui.model import Memory
from memtui.tui import appearance
from memtui.tui.appearance import Palette
from memtui.tui.dialogs.dialog import FittingDialog, Key
from memtui.tui.widgets.diff_view import draw_text, draw_text_diff
from memtui.tui.widgets.text_window import RowList

if TYPE_CHECKING:
    from memtui.library.planning import Planned

LONGEST = 4_000
"""Characters of a version that are shown here."""


VersionLine = tuple[Sequence[Segment], int]
"""A line, and on the first one of a version its number among those shown; -1 on the others."""


class VersionList(RowList[VersionLine]):
    """Blocks of lines, one per version; the cursor moves from block to block."""

    ALLOW_SELECT = True

    @property
    def number(self) -> int:
        """Number of the version under the cursor; -1 if there is none."""
        return self.current[1] if self.current else -1

    def selectable(self, index: int) -> bool:
        return self.rows[index][1] >= 0

    def _step(self, lines: int) -> None:
        """Scroll within a version that is longer than the window: by pages, and line by line where
        no other version follows."""
        heads = [at for at in range(self.cursor + 1, len(self.rows)) if self.selectable(at)]
        end = heads[0] if heads else len(self.rows)
        hidden = max(0, end - self.top - self.page if lines > 0 else self.top - self.cursor)
        is_last = lines > 0 and not heads
        if is_last or (hidden and lines != 1 and abs(lines) < len(self.rows)):
            self.top += max(-hidden, min(lines, hidden))
            self.refresh()
        else:
            super()._step(lines)

    def draw_row(self, row: VersionLine, width: int) -> Sequence[tuple[str, Style]]:
        return [(segment.text, segment.style or Style.null()) for segment in row[0]]


class HistoryScreen(FittingDialog["str | Planned"]):
    """Dismissed with the ref of the chosen version, or with what is to be written."""

    AUTO_FOCUS = "VersionList"
    box_classes = "tall"
    heading = "History, newest first"
    leave = "back"
    BINDINGS = [("escape,q,H", "dismiss")]

    def __init__(
        self,
        history: VersionHistory,
        confirm: Callable[[Memory], Awaitable[Planned | None]] | None,
    ) -> None:
        """`confirm`: shows what giving the memory this former text would write, and returns that if
        the person confirms; None where its store cannot edit it."""
        super().__init__()
        self._history, self._confirm = history, confirm

    def content(self) -> ComposeResult:
        yield VersionList()

    def keys(self) -> list[tuple[str, str]]:
        several = len(self._history.versions) > 1
        moves = [("↑↓", "version" if several else "scroll")][: several or self.is_cut]
        return [*moves, *super().keys()]

    @property
    def _former_version(self) -> Memory | None:
        """Return the version under the cursor if it has another text, which can be restored."""
        number = self.query_one(VersionList).number
        if self._confirm is None or number < 0:
            return None
        version = self._history.versions[-1 - number]
        own = self._history.lineage.memory
        texts = (version.memory.title, version.memory.content)
        return None if texts == (own.title, own.content) else version.memory

    async def _restore(self) -> None:
        former, confirm = self._former_version, self._confirm
        if former is not None and confirm is not None:
            planned = await confirm(former)
            if planned is not None:
                self.dismiss(planned)

    def fill(self) -> None:
        """Lay out the versions; the cursor stays on its version, and begins on the memory's own."""
        number = self.query_one(VersionList).number
        found, palette = self._history, self.app.palette
        width = max(20, self.inner_width - 3)
        rows: list[VersionLine] = []
        first_lines = []
        for shown_number, version in enumerate(reversed(found.versions)):
            before = found.previous(len(found.versions) - 1 - shown_number)
            rows += [((), -1)] if rows else []
            first_lines.append(len(rows))
            head, *body = self._draw_version(version, before, palette, width)
            rows += [(head, shown_number), *((line, -1) for line in body)]
        notes = [(f"{text.one_line(id)}: not in this store", palette.faint) for id in found.missing]
        if found.left_out:
            words = f"not all versions, git: {text.one_line(found.left_out)}"
            notes.insert(0, (words, palette.warning))
        for words, style in notes:
            note = (Segment("○ ", palette.faint), Segment(text.cut(words, width), style))
            rows += [((), -1), (note, -1)]
        own, shown = found.lineage.memory.ref, reversed(found.versions)
        own_number = next(
            (i for i, v in enumerate(shown) if v.memory.ref == own and v.is_present), 0
        )
        cursor = first_lines[number if number >= 0 else own_number] if first_lines else 0
        self.query_one(VersionList).show_rows(rows, cursor=cursor)
        self.fit(rows=len(rows))
        self.update_keys()

    def _draw_version(
        self, version: TextVersion, before: TextVersion | None, palette: Palette, width: int
    ) -> list[Sequence[Segment]]:
        memory = version.memory
        is_own = version.is_present and memory.ref == self._history.lineage.memory.ref
        if version.is_present:
            sign = appearance.VISIBLE_STATUS_GLYPHS.get(memory.status, " ")
            status = Segment(f"  {sign} {memory.status}", palette.status(memory.status))
        else:
            status = Segment("  former text", palette.faint)
        is_of_store = version.origin in (VersionOrigin.STORE, VersionOrigin.KEPT)
        by = ["" if is_of_store else str(version.origin), version.note, version.author]
        provenance = "  ".join(text.one_line(word) for word in by if word)
        tail: list[Segment] = [
            status,
            Segment("  this one" if is_own else "", palette.accent),
            Segment(text.cut(f"  {provenance}", width // 3) if provenance else "", palette.faint),
        ]
        date = text.date(version.time)
        dates = (f"{date}  {text.ago(version.time, self.app.now())}", date, date.split(" ")[0])
        room = width - 2 - sum(text.width(part.text) for part in tail)
        when = next((words for words in dates if text.width(words) <= room), dates[-1])
        dot = Segment("● " if is_own else "○ ", palette.accent)
        head = [dot, Segment(when, palette.heading), *tail]
        body = self._draw_changes(version, before, palette, width - 2)
        return [head, *([Segment("│ ", palette.rule), *line] for line in body)]

    def _draw_changes(
        self, version: TextVersion, before: TextVersion | None, palette: Palette, width: int
    ) -> list[list[Segment]]:
        memory = version.memory
        now = (memory.content or memory.title)[:LONGEST]
        if before is None:
            return draw_text(now, palette, width)
        former = before.memory
        then = (former.content or former.title)[:LONGEST]
        return draw_text_diff(then, now, palette, width)

    @on(VersionList.Opened)
    def _choose(self) -> None:
        number = self.query_one(VersionList).number
        if number >= 0:
            self.dismiss(self._history.versions[-1 - number].memory.ref)

    KEYS = (
        Key("enter", "open", _choose),
        Key("r", "restore this text", _restore, lambda self: self._former_version is not None),
    )
