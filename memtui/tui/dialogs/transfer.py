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

from memtui.errors import MemtuiError
from memtui.progress import IsCancelled, Progress, Report
from memtui.tui.change_worker import ChangeWorker
from memtui.tui.dialogs.dialog import FittingDialog
from memtui.tui.widgets.list_window import TextWindow
from memtui.tui.widgets.outcome import OutcomeLine, drawn
from memtui.tui.widgets.status_lines import KeyLine, ProgressLine

if TYPE_CHECKING:
    from textual.binding import BindingType

    from memtui.library import Library
    from memtui.tui.jobs import Job

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

    def __init__(self, writer: ChangeWorker) -> None:
        super().__init__()
        self.writer = writer
        self.working = False
        """A job runs, and the fields wait for it."""
        self._job: Job | None = None
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

    def fill(self) -> None:
        self._draw()

    def say(self, *said: OutcomeLine) -> None:
        """Show these lines below the fields."""
        self._said = list(said)
        self._draw()

    def _draw(self) -> None:
        sheet = self.query_one(TextWindow)
        sheet.show(drawn(self._said, sheet.palette, max(20, self.inner_width - 1)))

    def update_keys(self) -> None:
        if self.working:
            self.query_one(KeyLine).show([], [("esc", "stop", "")])
        else:
            self.query_one(KeyLine).show(self.keys(), [("esc", "cancel", "")])

    def work(
        self,
        what: Callable[[Library, Report, IsCancelled], Answer],
        done: Callable[[Answer], None],
        failed: Callable[[MemtuiError], None],
    ) -> None:
        """Start a job; escape stops it."""
        if self.working:
            return
        self.working = True
        self.update_keys()
        self._job = self.writer.worker.run(
            "transfer",
            lambda library, job: what(library, job.report, job.is_cancelled),
            self.if_open(lambda answer: self._ended(lambda: done(answer))),
            self.if_open(lambda error: self._ended(lambda: failed(error))),
            on_progress=self.if_open(self._progress),
        )

    def _progress(self, progress: Progress) -> None:
        if self.working:
            self.query_one(ProgressLine).show(progress.what, progress.done, progress.total)

    def _ended(self, tell: Callable[[], None]) -> None:
        self.working = False
        self.query_one(ProgressLine).show("")
        self.update_keys()
        tell()

    def action_stop(self) -> None:
        """Stop the work; leave when there is none."""
        if self.working:
            if self._job is not None:
                self._job.stop()
            self.query_one(ProgressLine).show("stopping")
        else:
            self.dismiss(None)
