"""Prompts for a time in the words of the query language, and for a file to write to."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from datetime import datetime
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, ClassVar

from textual import on
from textual.app import ComposeResult
from textual.binding import Binding
from textual.containers import Vertical
from textual.content import Content
from textual.widgets import Input

from memtui import text
from memtui.errors import MemtuiError, SaveError
from memtui.query import TimeCondition, parse_time, parse_time_end
from memtui.tui.dialogs.dialog import ConfirmDialog, FittingDialog, PromptDialog, Reply
from memtui.tui.widgets.outcome import OutcomeLine, OutcomeLines, Tone
from memtui.tui.widgets.status_lines import KeyLine

if TYPE_CHECKING:
    from textual.binding import BindingType

    from memtui.tui.app_interface import AppInterface
    from memtui.tui.jobs import JobRunner


EXAMPLES = "2026-03-01, 2026-03, yesterday, 7d, 24h, last month"


class TimePrompt(FittingDialog[TimeCondition]):
    """Dismissed with the time; with one whose text is empty if nothing was written, where that is
    allowed; None on escape."""

    AUTO_FOCUS = "Input"
    BINDINGS: ClassVar[list[BindingType]] = [Binding("escape", "dismiss", show=False)]

    def __init__(
        self,
        title: str,
        now: datetime,
        *,
        value: str = "",
        empty: str = "",
        start: bool = False,
        accept: str = "show",
    ) -> None:
        """
        Args:
            title: What the time is for.
            now: What relative times are counted from.
            value: What stands in the line at first.
            empty: What an empty line means; it is not accepted without this.
            start: Of a day, month or year take its start, not its end.
            accept: Label of enter.
        """
        super().__init__()
        self._title, self._now, self._value, self._empty = title, now, value, empty
        self._parse = parse_time if start else parse_time_end
        self._accept = accept

    def compose(self) -> ComposeResult:
        with Vertical(classes="box") as box:
            box.border_title = Content(self._title)
            yield Input(self._value, placeholder="a date, a month or a span", compact=True)
            yield OutcomeLines()
            yield KeyLine(id="time-keys")

    def on_mount(self) -> None:
        self.query_one(KeyLine).show([("enter", self._accept, "")], [("esc", "cancel", "")])
        self._describe(self._value)

    @on(Input.Changed)
    def _changed(self, event: Input.Changed) -> None:
        self._describe(event.value)

    def _describe(self, words: str) -> OutcomeLine:
        line = self._describe_time(words.strip())
        self.query_one(OutcomeLines).say(line)
        return line

    def _describe_time(self, words: str) -> OutcomeLine:
        if not words:
            return OutcomeLine(self._empty or f"such as {EXAMPLES}", Tone.QUIET)
        try:
            time = self._parse(words, self._now).time
        except MemtuiError as error:
            return OutcomeLine(str(error), Tone.WARNING)
        return OutcomeLine(f"{text.date(time)}, {text.ago(time, self._now)}", Tone.QUIET)

    @on(Input.Submitted)
    def _submitted(self, event: Input.Submitted) -> None:
        words = event.value.strip()
        if not words:
            if self._empty:
                self.dismiss(TimeCondition("", self._now))
            return
        try:
            found = self._parse(words, self._now)
        except MemtuiError:
            return  # the line below says why
        self.dismiss(found)


def write_after_asking(app: AppInterface, path: Path, write: Callable[[], object]) -> None:
    """Call `write`; if there is a file at the path already, only once that was confirmed."""
    if path.exists():
        body = (OutcomeLine(f"{text.file_name(str(path))} already exists."),)
        replies = (Reply("y", "overwrite", "yes"),)
        app.ask(ConfirmDialog("Overwrite file?", body, replies), lambda _: write())
    else:
        write()


def ask_file(
    app: AppInterface,
    jobs: JobRunner,
    title: str,
    name: str,
    writers: Mapping[str, Callable[[], str]],
    hint: str = "",
) -> None:
    """Ask for a path and write a text there in a job; reports the result in a toast.

    Args:
        app: Shows the dialogs.
        jobs: Runs the job.
        title: Of the first dialog.
        name: Proposed name of the file, in the folder the program was started in.
        writers: Suffix -> makes the text. Where there is one only, any name will do.
        hint: What is written.
    """

    def named(words: str) -> None:
        path = Path(words).expanduser()
        make = writers.get(path.suffix) if len(writers) > 1 else next(iter(writers.values()))
        if path.is_dir():
            app.report_refusal("enter the name of a file, not of a folder")
        elif make is None:
            app.notify(f"The name must end in {' or '.join(writers)}.", severity="warning")
        else:
            write_after_asking(app, path, partial(write, path, make()))

    def write(path: Path, document: str) -> None:
        where = text.file_name(str(path))
        jobs.start(
            "save",
            lambda _: _write_file(path, document),
            lambda _: app.notify(f"Saved to {where}.", timeout=6),
            app.report_error,
        )

    app.ask(PromptDialog(title, hint=hint, value=str(Path.cwd() / name), placeholder="File"), named)


def _write_file(path: Path, document: str) -> None:
    from memtui.bundle.exporting import write_file

    try:
        write_file(path, [text.without_lone_surrogates(document).encode()])
    except OSError as error:
        raise SaveError(f"nothing was saved: {error.strerror}", where=str(path)) from error
