"""One question, answered by one key."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

from textual import events
from textual.app import ComposeResult
from textual.binding import Binding
from textual.containers import Vertical
from textual.content import Content

from memtui import text
from memtui.tui.dialogs.dialog import FittingDialog
from memtui.tui.widgets.footer import KeyLine
from memtui.tui.widgets.outcome import OutcomeLine, OutcomeLines

if TYPE_CHECKING:
    from textual.binding import BindingType


@dataclass(frozen=True, slots=True)
class Reply:
    """A key and what it means."""

    key: str
    words: str
    value: str


class ConfirmDialog(FittingDialog[str]):
    """Dismissed with the value of the key that was pressed; None with escape."""

    BINDINGS: ClassVar[list[BindingType]] = [Binding("escape", "dismiss", show=False)]

    def __init__(
        self,
        title: str,
        said: Sequence[OutcomeLine],
        replies: Sequence[Reply],
        leave: str = "go on",
    ) -> None:
        super().__init__()
        self._title, self._said, self._replies = title, said, replies
        self._leave = leave

    def compose(self) -> ComposeResult:
        with Vertical(classes="box") as box:
            box.border_title = Content(text.one_line(self._title))
            yield OutcomeLines()
            yield KeyLine(id="question-keys")

    def on_mount(self) -> None:
        self.query_one(OutcomeLines).say(*self._said)
        keys = [(reply.key, reply.words, "") for reply in self._replies]
        self.query_one(KeyLine).show(keys, [("esc", self._leave, "")])

    def on_key(self, event: events.Key) -> None:
        for reply in self._replies:
            if event.key == reply.key or event.character == reply.key:
                event.stop()
                self.dismiss(reply.value)
