"""Dialogs on the way to accepting a proposal: its text to edit, and what a model would be sent."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

from textual.app import ComposeResult
from textual.binding import Binding
from textual.containers import Vertical
from textual.content import Content

from memtui import text
from memtui.tui.dialogs.dialog import FittingDialog
from memtui.tui.widgets.list_window import TextWindow
from memtui.tui.widgets.outcome import OutcomeLine, OutcomeLines, Tone
from memtui.tui.widgets.status_lines import KeyLine
from memtui.tui.widgets.text_inputs import TextInput

if TYPE_CHECKING:
    from textual.binding import BindingType

    from memtui.upkeep.model_requests import ModelRequest


class ProposalTextScreen(FittingDialog[str]):
    """The text that a proposal writes; dismissed with the edited one, None on escape."""

    AUTO_FOCUS = "TextInput"
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("escape", "dismiss", show=False, priority=True),
        Binding("ctrl+s", "accept", show=False, priority=True),
    ]

    def __init__(self, title: str, content: str) -> None:
        super().__init__()
        self._title, self._content = title, content

    def compose(self) -> ComposeResult:
        with Vertical(classes="box full") as box:
            box.border_title = Content(text.one_line(self._title))
            yield TextInput(self._content, name="content")
            yield KeyLine(id="proposal-text-keys")

    def on_mount(self) -> None:
        super().on_mount()
        self.query_one(KeyLine).show([("^s", "preview", "")], [("esc", "cancel", "")])

    def action_accept(self) -> None:
        self.dismiss(self.query_one(TextInput).raw)


class SendScreen(FittingDialog[bool]):
    """What would be sent to the language model; dismissed with True to send it."""

    AUTO_FOCUS = "TextWindow"
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("escape,q,n", "dismiss", show=False),
        Binding("enter,y", "send", show=False),
    ]

    def __init__(self, server: str, request: ModelRequest) -> None:
        super().__init__()
        self._server, self._request = server, request

    def compose(self) -> ComposeResult:
        with Vertical(classes="box full") as box:
            box.border_title = Content("Send this to the language model?")
            yield OutcomeLines()
            yield TextWindow()
            yield KeyLine(id="send-keys")

    def on_mount(self) -> None:
        super().on_mount()
        count = text.counted(len(self._request.text), "character")
        masked = self._request.masked
        self.query_one(OutcomeLines).say(
            OutcomeLine(f"{self._server}: {count}"),
            OutcomeLine(
                f"{text.counted(masked, 'secret')} masked" if masked else "no secrets found",
                Tone.WARNING if masked else Tone.QUIET,
            ),
        )
        self.query_one(KeyLine).show(
            [("enter", "send", ""), ("↑↓", "scroll", "")], [("esc", "cancel", "")]
        )

    def fill(self) -> None:
        from rich.segment import Segment

        sheet = self.query_one(TextWindow)
        width = max(20, self.inner_width - 2)
        parts = [(sheet.palette.dim, self._request.order), (sheet.palette.text, self._request.text)]
        lines = []
        for style, words in parts:
            for line in text.visible(words).split("\n"):
                lines += [[Segment(f" {part}", style)] for part in text.wrap(line, width)]
            lines.append([])
        sheet.show(lines)
        self.fit_lines(len(lines))

    def action_send(self) -> None:
        self.dismiss(True)
