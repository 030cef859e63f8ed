"""What export, import and copy have in common: a few fields, a long work, a bar, a way to stop."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, ClassVar, TypeVar

from textual.app import ComposeResult
from textual.binding import Binding
from textual.containers import Horizontal, Vertical
from textual.content import Content
from textual.widget import Widget
from textual.widgets import Static
from textual.worker import get_current_worker

from memtui.errors import MemtuiError
from memtui.progress import Cancelled, IsCancelled, Progress, Report
from memtui.tui import messages
from memtui.tui.change_worker import ChangeWorker
from memtui.tui.dialogs.dialog import FittingDialog
from memtui.tui.widgets.list_window import TextWindow
from memtui.tui.widgets.outcome import OutcomeLine, drawn
from memtui.tui.widgets.status_lines import KeyLine, ProgressLine

if TYPE_CHECKING:
    from textual.binding import BindingType

    from memtui.library import Library

Answer = TypeVar("Answer")


class TransferScreen(FittingDialog[bool]):
    """Dismissed with True when something was carried."""

    TITLE_WORDS: ClassVar[str] = ""
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("escape", "stop", show=False, priority=True),
        Binding("enter", "go", show=False, priority=True),
        Binding("ctrl+s", "go", show=False, priority=True),
        Binding("down", "app.focus_next", show=False),
        Binding("up", "app.focus_previous", show=False),
    ]

    def __init__(self, doing: ChangeWorker) -> None:
        super().__init__()
        self.doing = doing
        self.working = False
        """A worker is at it."""
        self._stopping = False
        self._said: list[OutcomeLine] = []

    def fields(self) -> list[tuple[str, Widget]]:
        """Label and widget of each field."""
        raise NotImplementedError

    def keys(self) -> list[tuple[str, str, str]]:
        """What the last line shows while nothing goes on."""
        raise NotImplementedError

    def action_go(self) -> None:
        """Do the next step."""
        raise NotImplementedError

    def compose(self) -> ComposeResult:
        with Vertical(classes="box full carry") as box:
            box.border_title = Content(self.TITLE_WORDS)
            for label, widget in self.fields():
                with Horizontal(classes="row"):
                    yield Static(Content(label), classes="label", markup=False)
                    yield widget
            yield TextWindow()
            yield ProgressLine()
            yield KeyLine(id="carry-keys")

    def on_mount(self) -> None:
        self.update_keys()

    def on_resize(self) -> None:
        self.call_after_refresh(self._draw)

    def say(self, *said: OutcomeLine) -> None:
        """Show these lines below the fields."""
        self._said = list(said)
        self._draw()

    def _draw(self) -> None:
        sheet = self.query_one(TextWindow)
        sheet.show(drawn(self._said, sheet.palette, max(20, sheet.size.width - 1)))

    def update_keys(self) -> None:
        if self.working:
            self.query_one(KeyLine).show([], [("esc", "stop", "")])
        else:
            self.query_one(KeyLine).show(self.keys(), [("esc", "leave", "")])

    def work(
        self,
        what: Callable[[Library, Report, IsCancelled], Answer],
        done: Callable[[Answer], None],
        failed: Callable[[MemtuiError], None],
    ) -> None:
        """Let a worker do something long; escape stops it."""
        library = self.doing.library
        if library is None or self.working:
            return
        self.working, self._stopping = True, False
        self.update_keys()

        def report(progress: Progress) -> None:
            self.post_message(messages.Answered(lambda: self._progress(progress)))

        def run() -> None:
            worker = get_current_worker()

            def stopped() -> bool:
                return worker.is_cancelled or self._stopping

            try:
                answer = what(library, report, stopped)
            except (MemtuiError, Cancelled) as error:
                reason = error if isinstance(error, MemtuiError) else MemtuiError(str(error))
                self.post_message(messages.Answered(lambda: self._ended(lambda: failed(reason))))
            else:
                self.post_message(messages.Answered(lambda: self._ended(lambda: done(answer))))

        self.run_worker(run, group="carry", exclusive=True, thread=True, name="carry")

    def _progress(self, progress: Progress) -> None:
        if self.working:
            self.query_one(ProgressLine).show(progress.what, progress.done, progress.total)

    def _ended(self, tell: Callable[[], None]) -> None:
        self.working = False
        self.query_one(ProgressLine).show("")
        self.update_keys()
        tell()

    def on_answered(self, event: messages.Answered) -> None:
        event.stop()
        if self.is_open:
            event.tell()

    def action_stop(self) -> None:
        """Stop the work; leave when there is none."""
        if self.working:
            self._stopping = True
            self.query_one(ProgressLine).show("stopping")
        else:
            self.dismiss(None)
