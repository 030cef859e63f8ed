"""Transfer dialogs: what export, import and copy have in common, and the export dialog."""

from __future__ import annotations

import os
from abc import abstractmethod
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import TypeVar

from textual import on
from textual.app import ComposeResult
from textual.binding import Binding
from textual.widget import Widget
from textual.widgets import Input

from memtui import text
from memtui.bundle import exporting
from memtui.errors import MemtuiError
from memtui.files.staging import write_file
from memtui.library import Library
from memtui.model import Memory
from memtui.progress import IsCancelled, Progress, Report
from memtui.tui.change_worker import ChangeWorker
from memtui.tui.dialogs.dialog import FittingDialog, labelled_row
from memtui.tui.dialogs.prompts import write_after_asking
from memtui.tui.jobs import Job
from memtui.tui.widgets.inputs import ChoiceInput, LineInput
from memtui.tui.widgets.status_lines import ProgressLine
from memtui.tui.widgets.text_window import OutcomeLine, TextWindow, Tone, drawn

Answer = TypeVar("Answer")
ReadMemories = Callable[..., list[Memory]]
"""Reads the memories of a choice in a job; takes `report` and `cancelled`."""


class TransferScreen(FittingDialog[bool]):
    """Base of the transfer dialogs; dismissed with True if anything was transferred."""

    box_classes = "full carry"
    BINDINGS = [
        Binding("escape", "stop", priority=True),
        Binding("enter", "go", "export", priority=True),
        Binding("ctrl+s", "go", priority=True),
        ("down", "app.focus_next"),
        ("up", "app.focus_previous"),
        ("pagedown", "move('move.page_down')", "more"),
        ("pageup", "move('move.page_up')"),
    ]

    def __init__(self, writer: ChangeWorker) -> None:
        super().__init__()
        self.writer = writer
        self.working = False
        """A job runs, and the fields wait for it."""
        self._job: Job | None = None
        self._outcome_lines: list[OutcomeLine] = []

    @abstractmethod
    def fields(self) -> list[tuple[str, Widget]]:
        """Label and widget of each field."""

    @abstractmethod
    def action_go(self) -> None:
        """Preview or start the transfer."""

    def content(self) -> ComposeResult:
        for label, widget in self.fields():
            yield labelled_row(label, widget)
        yield TextWindow()
        yield ProgressLine()

    def keys(self) -> list[tuple[str, str]]:
        self.leave = "stop" if self.working else "cancel"
        if self.working:
            return []
        return [*super().keys(), ("⇥", "next field")]

    def labels(self) -> Mapping[str, object]:
        return {"move('move.page_down')": self.query_one(TextWindow).allow_focus()}

    def action_move(self, action_id: str) -> None:
        self.query_one(TextWindow).action_move(action_id)

    def fill(self) -> None:
        self._draw()

    def say(self, *lines: OutcomeLine) -> None:
        """Show these lines below the fields."""
        self._outcome_lines = list(lines)
        self._draw()

    def _draw(self) -> None:
        sheet = self.query_one(TextWindow)
        lines = drawn(self._outcome_lines, sheet.palette, max(20, self.inner_width - 1))
        sheet.show(lines)
        self.call_after_refresh(self.update_keys)  # only then it is known what is cut

    def work(
        self,
        what: Callable[[Library, Report, IsCancelled], Answer],
        done: Callable[[Answer], None],
    ) -> None:
        """Start a job, in place of one that runs; escape stops it."""
        self.working = True
        self.update_keys()
        self._job = self.writer.worker.run(
            "transfer",
            lambda library, job: what(library, job.report, job.is_cancelled),
            self.if_open(lambda answer: self._ended(lambda: done(answer))),
            self.if_open(lambda error: self._ended(lambda: self.failed(error))),
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

    def start_writing(self) -> None:
        """Note that a write runs, which cannot be stopped."""
        self.working, self._job = True, None
        self.update_keys()

    def finish(self, words: str, timeout: float = 5) -> None:
        """Say what was transferred, with the key that undoes it, and close."""
        self.working = False
        self.app.notify(f"{words}{self.app.hint('undo')}", timeout=timeout)
        self.dismiss(True)

    def failed(self, error: MemtuiError) -> None:
        """Show why planning or writing failed."""
        self.working = False
        self.say(OutcomeLine(str(error), Tone.BAD, "error:"))
        self.update_keys()

    def action_stop(self) -> None:
        """Stop the job, or close the dialog if none runs."""
        if self.working:
            if self._job is not None:
                self._job.stop()
            self.query_one(ProgressLine).show("stopping")
        else:
            self.dismiss(None)


ALL_STORES = "all stores, complete"


def typed_path(line: LineInput) -> Path:
    """The path in an input."""
    return Path(os.path.expanduser(line.raw.strip()))


class ExportScreen(TransferScreen):
    """Dismissed with True when a file was written."""

    heading = "Export"
    AUTO_FOCUS = "ChoiceInput"

    def __init__(
        self,
        writer: ChangeWorker,
        groups: Sequence[tuple[str, ReadMemories | None]],
        day: str,
        *,
        is_past: bool = False,
    ) -> None:
        """`groups`: name of each choice and what reads its memories; None = all stores, complete.

        `is_past`: the stores are shown as of a time, which no form that takes whole stores holds.
        """
        super().__init__(writer)
        self._groups = dict(groups)
        self._day = day
        self._what = ChoiceInput(list(self._groups), next(iter(self._groups)), name="what")
        self._forms = {
            name: form
            for name, form in exporting.export_forms().items()
            if not (is_past and form.takes_whole_stores)
        }
        first = next(iter(self._forms)) if is_past else "bundle"
        self._form = ChoiceInput(list(self._forms), first, name="form")
        path = Path.cwd() / f"memtui-{day}{self._forms[first].ending}"
        self._file = LineInput(str(path), name="file")
        self._losses: Sequence[str] = ()
        """What the chosen form would leave out of the chosen memories, once it is known."""

    def fields(self) -> list[tuple[str, Widget]]:
        return [("What", self._what), ("Format", self._form), ("File", self._file)]

    def on_mount(self) -> None:
        self._find_losses()

    @on(ChoiceInput.Changed)
    def _chosen(self) -> None:
        """Change the end of the file's name with the format, if it is that of another format."""
        forms, name = self._forms.values(), self._file.raw
        endings = sorted({end for form in forms for end in (form.ending, form.suffix)})
        ending = next((end for end in endings if name.endswith(end)), "")
        if ending:
            self._file.value = name.removesuffix(ending) + self._forms[self._form.raw].ending
            self._file.cursor_position = len(self._file.value)
        self._find_losses()

    def _find_losses(self) -> None:
        """Prepare the export in a job, to say before what it leaves out; a bundle holds all."""
        form, what = self._form.raw, self._what.raw
        read = self._groups[what]
        self._losses = ()
        self._update_notes()

        def found(losses: Sequence[str]) -> None:
            if (form, what) == (self._form.raw, self._what.raw):
                self._losses = losses
                self._update_notes()

        def prepare(library: Library, job: Job) -> Sequence[str]:
            stopped = job.is_cancelled
            chosen = None if read is None else read(cancelled=stopped)
            return exporting.export_memories(library, form, chosen, cancelled=stopped).notes

        if form != "bundle":
            failed = self.if_open(lambda error: found([str(error)]))
            run, done = self.writer.worker.run, self.if_open(found)
            run("losses", prepare, done, failed, only_reads=True)

    @on(Input.Changed)
    def _typed(self) -> None:
        self._update_notes()

    def _update_notes(self) -> None:
        memories = self._groups[self._what.raw]
        form = self._form.raw
        lines = [OutcomeLine(self._forms[form].description, Tone.QUIET, form)]
        if memories is None:
            words = "every status, with memtui's own metadata"
            if form == "bundle":
                words += "; importing to a new folder restores identical files"
            lines.append(OutcomeLine(words, Tone.QUIET))
        library = self.writer.library
        lines += [OutcomeLine(loss, Tone.WARNING, "!") for loss in self._losses]
        unreadable = [library.unreadable(s.label) for s in library.stores] if library else []
        if not self._losses and (count := sum(map(len, unreadable))):
            words = f"{text.counted(count, 'unreadable file')}, whose memories are left out"
            lines.append(OutcomeLine(words, Tone.WARNING, "!"))
        if typed_path(self._file).exists():
            lines.append(OutcomeLine("exists; you will be asked before overwriting", Tone.WARNING))
        self.say(*lines)

    def action_go(self) -> None:
        path = typed_path(self._file)
        if self.working:
            return
        if not self._file.raw.strip() or path.is_dir():
            self.say(OutcomeLine("enter a file name", Tone.WARNING))
        else:
            write_after_asking(self.app, path, partial(self._start, path))

    def _start(self, path: Path) -> None:
        form, read = self._form.raw, self._groups[self._what.raw]

        def export(
            library: Library, report: Report, stopped: IsCancelled
        ) -> tuple[exporting.Export, str]:
            chosen = None if read is None else read(report, stopped)
            made = exporting.export_memories(library, form, chosen, report, stopped)
            write_file(path, made.pieces)
            return made, "" if chosen is None else f" {text.counted(len(chosen), 'memory')}"

        self.work(export, partial(self._done, path))

    def _done(self, path: Path, found: tuple[exporting.Export, str]) -> None:
        made, what = found
        name = text.file_name(str(path))
        lines = [f"Exported{what} to {name}", *(text.one_line(note) for note in made.notes)]
        if made.is_incomplete:
            self.app.notify("\n".join(lines), severity="warning", timeout=15)
        else:
            self.app.notify("\n".join(lines), timeout=8)
        self.dismiss(True)

    def failed(self, error: MemtuiError) -> None:
        self.say(OutcomeLine(str(error), Tone.BAD, "export failed:"))
