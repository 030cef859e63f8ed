"""Export dialog: which memories, in which format, to which file."""

from __future__ import annotations

import os
from collections.abc import Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, ClassVar

from textual import on
from textual.widget import Widget
from textual.widgets import Input

from memtui import text
from memtui.bundle import exporting
from memtui.errors import MemtuiError, SaveError
from memtui.model import Memory
from memtui.progress import IsCancelled, Report
from memtui.tui.change_worker import ChangeWorker
from memtui.tui.dialogs.dialog import ConfirmDialog, Reply
from memtui.tui.dialogs.transfer import TransferScreen
from memtui.tui.widgets.outcome import OutcomeLine, Tone
from memtui.tui.widgets.text_inputs import ChoiceInput, LineInput

if TYPE_CHECKING:
    from memtui.library import Library

WHOLE = "all stores, complete"


def default_name(day: str, form: str) -> str:
    """Default path of an export."""
    return str(Path.cwd() / f"memtui-{day}{exporting.export_forms()[form].suffix}")


class ExportScreen(TransferScreen):
    """Dismissed with True when a file was written."""

    TITLE_WORDS = "Export"
    AUTO_FOCUS: ClassVar[str] = "ChoiceInput"

    def __init__(
        self, writer: ChangeWorker, groups: Sequence[tuple[str, Sequence[Memory] | None]], day: str
    ) -> None:
        """`groups`: name and memories of each choice; None = all stores, complete."""
        super().__init__(writer)
        self._groups = dict(groups)
        self._day = day
        self._what = ChoiceInput(list(self._groups), next(iter(self._groups)), name="what")
        self._forms = exporting.export_forms()
        self._form = ChoiceInput(list(self._forms), "bundle", name="form")
        self._file = LineInput(default_name(day, "bundle"), name="file")

    def fields(self) -> list[tuple[str, Widget]]:
        return [("What", self._what), ("Format", self._form), ("File", self._file)]

    def keys(self) -> list[tuple[str, str, str]]:
        return [("enter", "export", ""), ("←→", "choose", ""), ("⇥", "next field", "")]

    def on_mount(self) -> None:
        self._update_notes()

    @on(ChoiceInput.Changed)
    def _chosen(self) -> None:
        """Change the file's suffix with the format, if it is that of another format."""
        path = Path(self._file.raw)
        if path.suffix in {form.suffix for form in self._forms.values()}:
            self._file.value = str(path.with_suffix(self._forms[self._form.raw].suffix))
        self._update_notes()

    @on(Input.Changed)
    def _typed(self) -> None:
        self._update_notes()

    def _update_notes(self) -> None:
        memories = self._groups[self._what.raw]
        form = self._form.raw
        said = [OutcomeLine(self._forms[form].description, Tone.QUIET, form)]
        if memories is None:
            words = "every status, with memtui's own metadata"
            if form == "bundle":
                words += "; importing to a new folder restores identical files"
            said.append(OutcomeLine(words, Tone.QUIET))
        elif form != "bundle":
            said.append(OutcomeLine("only a bundle holds everything", Tone.QUIET))
        if self._path().exists():
            said.append(OutcomeLine("exists; you will be asked before overwriting", Tone.WARNING))
        self.say(*said)

    def _path(self) -> Path:
        return Path(os.path.expanduser(self._file.raw.strip()))

    def action_go(self) -> None:
        path = self._path()
        if self.working:
            return
        if not self._file.raw.strip() or path.is_dir():
            self.say(OutcomeLine("enter a file name", Tone.WARNING))
        elif path.exists():
            replies = (Reply("y", "overwrite", "yes"),)
            said = (OutcomeLine(f"{text.file_name(str(path))} already exists."),)
            self.app.push_screen(
                ConfirmDialog("Overwrite file?", said, replies),
                lambda reply: self._start(path) if reply else None,
            )
        else:
            self._start(path)

    def _start(self, path: Path) -> None:
        form, chosen = self._form.raw, self._groups[self._what.raw]

        def export(library: Library, report: Report, stopped: IsCancelled) -> tuple[str, ...]:
            made = exporting.export_memories(library, form, chosen, report, stopped)
            try:
                exporting.write_file(path, made.pieces)
            except OSError as error:
                raise SaveError(
                    f"nothing was exported: {error.strerror}", where=str(path)
                ) from error
            return made.notes

        self.work(export, partial(self._done, path), self._failed)

    def _done(self, path: Path, said: tuple[str, ...]) -> None:
        name = text.file_name(str(path))
        more = f" {'; '.join(text.one_line(one) for one in said)}." if said else ""
        self.app.notify(f"Exported to {name}.{more}", timeout=8)
        self.dismiss(True)

    def _failed(self, error: MemtuiError) -> None:
        self.say(OutcomeLine(str(error), Tone.BAD, "export failed:"))
