"""A page of the whole screen: a list, and beside or below it the text of its selected row."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from functools import partial
from typing import Any, Generic, NamedTuple

from rich.segment import Segment
from textual import on
from textual.app import ComposeResult
from textual.binding import Binding
from textual.containers import Container, Vertical
from textual.content import Content
from textual.widgets import Static

from memtui import text
from memtui.errors import MemtuiError
from memtui.library import Library
from memtui.tui.appearance import Palette, wrapped
from memtui.tui.dialogs.dialog import STYLE_SHEET, Dialog, Result
from memtui.tui.jobs import Job
from memtui.tui.widgets.list_window import ListWindow
from memtui.tui.widgets.status_lines import KeyLine
from memtui.tui.widgets.text_window import Row, RowList, TextWindow

WIDE_FROM = 110
"""Columns of the screen from which the text is beside the list, not below it."""
STACKED_FROM = 18
"""Rows of a narrower screen from which the text is shown below the list."""
MIN_TEXT_WIDTH = 20


class PageText(NamedTuple):
    """The text of a row."""

    lines: Sequence[Sequence[Segment]]
    at: int = 0
    """Number of the line that is in view at first."""
    title: str = ""
    """In the border."""


class ListPage(Dialog[Result], Generic[Row, Result]):
    """A line about the page, a list, the text of its row, the keys; `space` shows the text alone.

    What the text of a row is, a subclass says: `look` reads what it needs in a job, `text_of` lays
    it out.
    """

    CSS_PATH = STYLE_SHEET
    BINDINGS = [
        ("escape", "leave"),
        ("q", "dismiss"),
        ("space", "whole", "text"),
        Binding("right,l", "scroll_text(1)", "scroll text", key_display="←→"),
        ("left,h", "scroll_text(-1)"),
    ]
    leave = "back"

    def __init__(self, rows: RowList[Row], beside: ListWindow | None = None) -> None:
        """`beside`: shows the row in place of a text; `draw_text` is overridden for it."""
        super().__init__()
        self.rows, self.text = rows, beside or TextWindow()
        self.text.add_class("beside")
        self.text.can_focus = False
        self.is_whole = False
        """The text is shown alone."""
        self._seen: Any = None
        """What `look` has read of the row, or why that failed; None until it is known."""

    def compose(self) -> ComposeResult:
        with Vertical(classes="page"):
            yield from self.above()
            with Container(classes="split"):
                yield self.rows
                yield self.text
            yield KeyLine(id="dialog-keys")

    def above(self) -> ComposeResult:
        """The lines above the list."""
        yield Static("", classes="head", markup=False)

    def on_mount(self) -> None:
        self.app.clear_notifications()
        self.show_row()

    def on_resize(self) -> None:
        width, height = self.app.size
        is_narrow = width < WIDE_FROM
        self.set_class(is_narrow, "-stacked")
        self.rows.display = not self.is_whole
        self.text.display = self.is_whole or not is_narrow or height >= STACKED_FROM
        self.call_after_refresh(self.lay_out)  # these come first, which give the sizes

    # For subclasses

    @abstractmethod
    def head(self) -> Iterable[str]:
        """The parts of the first line."""

    def look(self, row: Row) -> Callable[[Library, Job], object] | None:
        """What reads the text of a row in a job; None where nothing has to be read."""
        return None

    def text_of(self, row: Row, seen: Any, palette: Palette, width: int) -> PageText:
        """The text of a row; `seen`: what `look` has read."""
        return PageText(())

    def text_without_rows(self, palette: Palette, width: int) -> PageText:
        """The text where there is no row."""
        return PageText(())

    # What is shown

    def lay_out(self) -> None:
        """Lay out everything for the sizes of now."""
        head = text.cut(" · ".join(self.head()), max(1, self.app.size.width - 2))
        self.query_one(".head", Static).update(Content(head))
        self.draw_text()

    def show_rows(self, rows: Sequence[Row], same: Callable[[Row], Hashable] | None = None) -> None:
        """Show other rows, as `RowList.show_rows`."""
        self.rows.show_rows(rows, same=same)
        self.lay_out()
        self.show_row()

    @on(RowList.Moved)
    def show_row(self) -> None:
        """Show the text of the row under the cursor."""
        row, self._seen = self.rows.current, None
        if row is None or (work := self.look(row)) is None:
            self._saw(row, ())
        else:
            saw = self.if_open(partial(self._saw, row))
            self.worker.run("page", work, saw, saw, present=True, only_reads=True)

    def _saw(self, row: Row | None, seen: object) -> None:
        if row is self.rows.current:
            self._seen = seen
            self.draw_text()

    @property
    def text_width(self) -> int:
        return max(MIN_TEXT_WIDTH, self.text.size.width - 2)

    def draw_text(self) -> None:
        """Lay out the text of the row for the width of now."""
        row, sheet, width = self.rows.current, self.text, self.text_width
        if not isinstance(sheet, TextWindow):
            return
        if isinstance(self._seen, MemtuiError):
            sheet.show(wrapped(str(self._seen), sheet.palette.warning, width))
        elif row is None or self._seen is not None:
            lines, at, title = (
                self.text_without_rows(sheet.palette, width)
                if row is None
                else self.text_of(row, self._seen, sheet.palette, width)
            )
            sheet.border_title = Content(text.one_line(title))
            sheet.show(lines)
            sheet.scroll_lines(max(0, at - sheet.page // 2))
        self.update_keys()

    # Keys

    def labels(self) -> Mapping[str, object]:
        is_cut = self.text.display and self.text.line_count() > self.text.page
        return {
            **super().labels(),
            "whole": "list" if self.is_whole else self.rows.current is not None,
            "scroll_text(1)": is_cut and not self.is_whole,
        }

    def action_whole(self) -> None:
        """Show the text alone, or with the list again."""
        if self.rows.current is not None or self.is_whole:
            self.show_whole(not self.is_whole)

    def show_whole(self, is_whole: bool) -> None:
        self.is_whole = self.text.can_focus = is_whole
        self.on_resize()
        self.set_focus(None)  # a text that is not cut takes none
        self.set_focus(self.text if is_whole else self.rows)

    def action_scroll_text(self, step: int) -> None:
        """Scroll the text by pages."""
        self.text.scroll_lines(step * max(1, self.text.page - 1))

    def action_leave(self) -> None:
        if self.is_whole:
            self.action_whole()
        else:
            self.dismiss(None)
