"""Questions: yes or no, a line, a time in the words of the query language, a file to write."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from functools import partial
from pathlib import Path

from textual import events, on
from textual.app import ComposeResult
from textual.binding import Binding
from textual.content import Content
from textual.widgets import Input, Static

from memtui import text
from memtui.errors import MemtuiError
from memtui.files.permissions import Protected
from memtui.files.staging import write_file
from memtui.query import TimeCondition, parse_time, parse_time_end
from memtui.tui.act_runner import ActApp
from memtui.tui.dialogs.dialog import FittingDialog, Result
from memtui.tui.widgets.text_window import OutcomeLine, OutcomeLines, Tone

EXAMPLES = "2026-03-01, 2026-03, yesterday, 7d, 24h, last month"


QUESTION_CELLS = 76
"""Columns of a question before its lines are wrapped."""


class ConfirmDialog(FittingDialog[str]):
    """A question answered with one key; dismissed with the key's label, None on escape."""

    def __init__(
        self,
        title: str,
        body: Sequence[OutcomeLine],
        replies: Mapping[str, str],
        cancel: str = "cancel",
    ) -> None:
        """`replies`: key -> label; `cancel`: the label of escape."""
        super().__init__()
        self.heading, self.leave = title, cancel
        self.summary, self._replies = body, replies

    def content(self) -> ComposeResult:
        return ()

    def keys(self) -> list[tuple[str, str]]:
        return list(self._replies.items())

    def fill(self) -> None:
        lines = [text.one_line(f"{line.head} {line.words}") for line in self.summary]
        keys = sum(len(key) + text.width(label) + 3 for key, label in self._replies.items())
        title = text.width(text.one_line(self.heading)) + 3
        most = max(*map(text.width, lines), keys + len(self.leave) + 7, title)
        self.fit(columns=min(QUESTION_CELLS, most + 1))

    def on_key(self, event: events.Key) -> None:
        for key, label in self._replies.items():
            if key in (event.key, event.character):
                event.stop()
                self.dismiss(label)


DISCARD = "discard"


def discard_question(other: str) -> ConfirmDialog:
    """Ask whether unsaved changes are discarded (`DISCARD`), or `s` does something `other`."""
    body = (OutcomeLine("You have unsaved changes."),)
    return ConfirmDialog("Discard changes?", body, {"y": DISCARD, "s": other}, "keep editing")


def replacing_question(error: Protected) -> ConfirmDialog:
    """Ask whether files without write permission are replaced or deleted; escape is no."""
    name = text.file_name(error.where)
    body = [OutcomeLine(f"{name}: {error.what}", Tone.WARNING), OutcomeLine(error.consequence)]
    return ConfirmDialog(
        "Write without permission?", [line for line in body if line.words], {"y": error.verb}
    )


class LineDialog(FittingDialog[Result]):
    """Asks for one line."""

    AUTO_FOCUS = "Input"
    BINDINGS = [Binding("enter", "submit", "save", priority=True)]

    def __init__(self, title: str, value: str, placeholder: str, accept: str) -> None:
        """`accept`: label of enter."""
        super().__init__()
        self.heading = title
        self._value, self._placeholder, self._accept = value, placeholder, accept

    def content(self) -> ComposeResult:
        yield Input(self._value, placeholder=self._placeholder, compact=True)

    def labels(self) -> Mapping[str, object]:
        return {"submit": self._accept}

    def action_submit(self) -> None:
        self.accept(self.query_one(Input).value.strip())

    @abstractmethod
    def accept(self, words: str) -> None:
        """Called with the line on enter."""


class PromptDialog(LineDialog[str]):
    """Dismissed with the line, None on escape or if it is empty."""

    def __init__(
        self,
        title: str,
        *,
        hint: str = "",
        value: str = "",
        placeholder: str = "Name",
        accept: str = "save",
    ) -> None:
        super().__init__(title, value, placeholder, accept)
        self._hint = hint

    def content(self) -> ComposeResult:
        if self._hint:
            yield Static(Content(text.one_line(self._hint)), classes="line", markup=False)
        yield from super().content()

    def accept(self, words: str) -> None:
        self.dismiss(words or None)


class TimePrompt(LineDialog[TimeCondition]):
    """Dismissed with the time; with one whose text is empty if nothing was written, where that is
    allowed; None on escape."""

    def __init__(
        self,
        title: str,
        *,
        value: str = "",
        empty: str = "",
        start: bool = False,
        accept: str = "show",
    ) -> None:
        """Ask for a time; relative ones are counted from now.

        `empty`: what an empty line means, which is not accepted without this. `start`: of a day,
        month or year take its start, not its end.
        """
        super().__init__(title, value, "a date, a month or a span", accept)
        self._now, self._empty = self.app.now(), empty
        self._parse = parse_time if start else parse_time_end

    def content(self) -> ComposeResult:
        yield from super().content()
        yield OutcomeLines()

    def on_mount(self) -> None:
        self._describe(self._value)

    @on(Input.Changed)
    def _changed(self, event: Input.Changed) -> None:
        self._describe(event.value)

    def _describe(self, words: str) -> None:
        self.say(self._describe_time(words.strip()))

    def _describe_time(self, words: str) -> OutcomeLine:
        if not words:
            return OutcomeLine(self._empty or f"such as {EXAMPLES}", Tone.QUIET)
        try:
            time = self._parse(words, self._now).time
        except MemtuiError as error:
            return OutcomeLine(str(error), Tone.WARNING)
        return OutcomeLine(f"{text.date(time)}, {text.ago(time, self._now)}", Tone.QUIET)

    def accept(self, words: str) -> None:
        if not words:
            if self._empty:
                self.dismiss(TimeCondition("", self._now))
            return
        with suppress(MemtuiError):  # the line below says why
            self.dismiss(self._parse(words, self._now))


def write_after_asking(app: ActApp, path: Path, write: Callable[[], object]) -> None:
    """Call `write`; if there is a file at the path already, only once that was confirmed."""
    if path.exists():
        body = (OutcomeLine(f"{text.file_name(str(path))} already exists."),)
        question = ConfirmDialog("Overwrite file?", body, {"y": "overwrite"})
        app.ask(question, lambda _: write())
    else:
        write()


def ask_file(
    app: ActApp,
    title: str,
    name: str,
    writers: Mapping[str, Callable[[], str]],
    hint: str = "",
) -> None:
    """Ask for a path and write a text there in a job; reports the result in a toast.

    `name` is proposed. `writers`: suffix -> makes the text; one alone takes any name.
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
        app.worker.start(
            "save",
            lambda _: write_file(path, [text.without_lone_surrogates(document).encode()]),
            lambda _: app.notify(f"Saved to {where}.", timeout=6),
            app.report_error,
        )

    app.ask(PromptDialog(title, hint=hint, value=str(Path.cwd() / name), placeholder="File"), named)
