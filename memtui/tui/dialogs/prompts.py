"""Prompts for a time in the words of the query language, and for a file to write to."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING, ClassVar

from textual import on
from textual.app import ComposeResult
from textual.binding import Binding
from textual.containers import Vertical
from textual.content import Content
from textual.widgets import Input

from memtui import text
from memtui.errors import MemtuiError
from memtui.query import TimeCondition, parse_time, parse_time_end
from memtui.tui.dialogs.dialog import ConfirmDialog, FittingDialog, PromptDialog, Reply
from memtui.tui.widgets.outcome import OutcomeLine, OutcomeLines, Tone
from memtui.tui.widgets.status_lines import KeyLine

if TYPE_CHECKING:
    from textual.binding import BindingType

    from memtui.tui.app_interface import AppInterface


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


def ask_file(
    app: AppInterface,
    title: str,
    name: str,
    writers: Mapping[str, Callable[[], str]],
    hint: str = "",
) -> None:
    """Ask for a path and write the text there; reports the result in a toast.

    Args:
        app: Shows the dialogs.
        title: Of the first dialog.
        name: Proposed name of the file, in the folder the program was started in.
        writers: Suffix -> makes the text.
        hint: What the suffixes mean.
    """

    def write(path: Path) -> None:
        from memtui.bundle.exporting import write_file

        try:
            write_file(path, [writers[path.suffix]().encode()])
        except OSError as error:
            where = text.file_name(str(path))
            app.notify(f"{where}: nothing was written: {error.strerror}", severity="error")
        else:
            app.notify(f"Saved {text.file_name(str(path))}.", timeout=6)

    def named(words: str | None) -> None:
        if words is None:
            return
        path = Path(words).expanduser()
        if path.suffix not in writers or path.is_dir():
            app.notify(f"The name must end in {' or '.join(writers)}.", severity="warning")
        elif path.exists():
            body = (OutcomeLine(f"{text.file_name(str(path))} already exists."),)
            app.push_screen(
                ConfirmDialog("Overwrite file?", body, (Reply("y", "overwrite", "yes"),)),
                lambda reply: write(path) if reply else None,
            )
        else:
            write(path)

    app.push_screen(PromptDialog(title, hint=hint, value=str(Path.cwd() / name)), named)
