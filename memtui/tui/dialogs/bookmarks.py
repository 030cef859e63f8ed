"""Bookmarks dialog: press a letter to set a bookmark or to go to one."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, ClassVar

from textual import events
from textual.app import ComposeResult
from textual.binding import Binding
from textual.containers import Vertical
from textual.content import Content

from memtui import text
from memtui.tui.dialogs.dialog import FittingDialog
from memtui.tui.widgets.outcome import OutcomeLine, OutcomeLines, Tone
from memtui.tui.widgets.status_lines import KeyLine

if TYPE_CHECKING:
    from textual.binding import BindingType

LEAST_COLUMNS, MOST_COLUMNS = 44, 90


class BookmarkScreen(FittingDialog[str]):
    """Dismissed with the letter that was pressed."""

    BINDINGS: ClassVar[list[BindingType]] = [Binding("escape", "dismiss", show=False)]

    def __init__(self, title: str, bookmarks: Mapping[str, str]) -> None:
        """`bookmarks`: letter -> headline of its memory."""
        super().__init__()
        self._title, self._bookmarks = title, bookmarks

    def compose(self) -> ComposeResult:
        with Vertical(classes="box") as box:
            box.border_title = Content(self._title)
            yield OutcomeLines()
            yield KeyLine(id="bookmark-keys")

    def on_mount(self) -> None:
        said = [
            OutcomeLine(text.one_line(headline), Tone.PLAIN, letter)
            for letter, headline in sorted(self._bookmarks.items())
        ]
        self.query_one(OutcomeLines).say(
            *(said or [OutcomeLine("no bookmarks yet", Tone.QUIET)]),
        )
        self.query_one(KeyLine).show([("a–z", "choose a letter", "")], [("esc", "cancel", "")])

    def fill(self) -> None:
        said = self.query_one(OutcomeLines).said
        widest = max((text.width(line.words) + 4 for line in said), default=0)
        self.fit(columns=min(MOST_COLUMNS, max(LEAST_COLUMNS, widest)))

    def on_key(self, event: events.Key) -> None:
        letter = event.character or ""
        if len(letter) == 1 and letter.isalnum():
            event.stop()
            self.dismiss(letter)
