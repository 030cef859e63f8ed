"""History page: all versions of a memory, newest first, each as a diff against the previous."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterable, Sequence
from typing import TYPE_CHECKING

from rich.segment import Segment
from rich.style import Style
from textual import on

from memtui import text
from memtui.insight.versions import TextVersion, VersionHistory, VersionOrigin
from memtui.model import Memory
from memtui.tui import appearance
from memtui.tui.appearance import Palette, wrapped
from memtui.tui.dialogs.dialog import Key
from memtui.tui.dialogs.list_page import ListPage, PageText
from memtui.tui.widgets.diff_view import draw_text_diff
from memtui.tui.widgets.text_window import RowList

if TYPE_CHECKING:
    from memtui.library.planning import Planned

LONGEST = 4_000
"""Characters of a version that are shown here."""
DAY_CELLS, STATE_CELLS = 10, 13
NARROW = 50
"""Columns below which the state of a version is its sign alone."""


class VersionList(RowList[TextVersion | str]):
    """A line per version, newest first, and below them one for each reason why some are missing."""

    is_lit = False

    def __init__(self, history: VersionHistory) -> None:
        notes = [f"{text.one_line(id)}: not in this store" for id in history.missing]
        if history.left_out:
            notes.insert(0, f"not all versions, git: {text.one_line(history.left_out)}")
        versions = history.versions[::-1]
        super().__init__([*versions, *notes], title="Versions")
        self._own = history.lineage.memory.ref
        self.cursor = next((at for at, each in enumerate(versions) if self.is_own(each)), 0)

    def is_own(self, version: TextVersion) -> bool:
        """Whether it is the present text of the memory whose history this is."""
        return version.is_present and version.memory.ref == self._own

    def selectable(self, index: int) -> bool:
        return isinstance(self.rows[index], TextVersion)

    def draw_row(self, row: TextVersion | str, width: int) -> Sequence[tuple[str, Style]]:
        palette = self.palette
        if isinstance(row, str):
            return [("○ ", palette.faint), (text.cut(row, width - 4), palette.warning)]
        is_own, status = self.is_own(row), palette.faint
        if row.is_present:
            status = palette.status(row.memory.status)
        cells = STATE_CELLS if width >= NARROW else 1
        room = max(0, width - DAY_CELLS - cells - 6)
        by = text.cut("".join(f"{word}  " for word in provenance(row)), room // 2)
        words = row.memory.content or row.memory.title
        return [
            ("● " if is_own else "○ ", palette.accent),
            (text.column(text.date(row.time)[:DAY_CELLS], DAY_CELLS + 1), palette.heading),
            (f"{state_of(row)[:cells]:<{cells}} ", status),
            (by, palette.dim),
            (text.cut_line(words, room - text.width(by)), palette.text),
        ]


def state_of(version: TextVersion) -> str:
    """The status of a memory with its sign; `former text` if it has another text by now."""
    status = version.memory.status
    sign = appearance.VISIBLE_STATUS_GLYPHS.get(status, " ")
    return f"{sign} {status}" if version.is_present else "  former text"


def provenance(version: TextVersion) -> list[str]:
    """The author of a version, who says that there was one, and which number it has there."""
    is_of_store = version.origin in (VersionOrigin.STORE, VersionOrigin.KEPT)
    by = [version.author, "" if is_of_store else str(version.origin), version.note]
    return [text.one_line(word) for word in by if word]


class HistoryScreen(ListPage[TextVersion | str, "str | Planned"]):
    """Dismissed with the ref of the chosen version, or with what is to be written."""

    AUTO_FOCUS = "VersionList"
    rows: VersionList
    BINDINGS = [("H", "dismiss")]

    def __init__(
        self,
        history: VersionHistory,
        confirm: Callable[[Memory], Awaitable[Planned | None]] | None,
    ) -> None:
        """`confirm`: shows what giving the memory this former text would write, and returns that if
        the person confirms; None where its store cannot edit it."""
        super().__init__(VersionList(history))
        self._history, self._confirm = history, confirm

    def head(self) -> Iterable[str]:
        return ["History, newest first"]

    def text_of(
        self, row: TextVersion | str, seen: object, palette: Palette, width: int
    ) -> PageText:
        if isinstance(row, str):
            return PageText(())
        when = f"{text.date(row.time)}, {text.ago(row.time, self.app.now())}"
        this = ["this one"] * self.rows.is_own(row)
        parts = (when, state_of(row).strip(), *this, *provenance(row))
        lines = wrapped(" · ".join(parts), palette.dim, width)
        now = then = (row.memory.content or row.memory.title)[:LONGEST]
        before = self._history.previous(len(self._history.versions) - 1 - self.rows.cursor)
        if before is not None:
            then = (before.memory.content or before.memory.title)[:LONGEST]
        drawn = draw_text_diff(then, now, palette, width)
        return PageText([*lines, [], *([Segment(" "), *line] for line in drawn)])

    @property
    def _memory(self) -> Memory | None:
        """The memory with the text of the version under the cursor."""
        row = self.rows.current
        return row.memory if isinstance(row, TextVersion) else None

    @on(VersionList.Opened)
    def _choose(self) -> None:
        if (memory := self._memory) is not None:
            self.dismiss(memory.ref)

    def _has_other_text(self) -> bool:
        own, version = self._history.lineage.memory, self._memory
        if self._confirm is None or version is None:
            return False
        return (version.title, version.content) != (own.title, own.content)

    async def _restore(self) -> None:
        former, confirm = self._memory, self._confirm
        if former is not None and confirm is not None:
            planned = await confirm(former)
            if planned is not None:
                self.dismiss(planned)

    KEYS = (
        Key("enter", "open", _choose),
        Key("r", "restore this text", _restore, _has_other_text),
    )
