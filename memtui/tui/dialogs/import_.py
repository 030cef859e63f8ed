"""Import dialog: choose a file, preview, then import in one action.

Into open stores, memory by memory; or whole stores into a new folder.
"""

from __future__ import annotations

import os
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, ClassVar

from textual import on
from textual.widget import Widget
from textual.widgets import Input

from memtui import text
from memtui.bundle.bundle_reader import ImportDocument, describe_importable_files, read_document
from memtui.bundle.import_plan import ImportPlan, plan_import
from memtui.bundle.restoring import Restoration, plan_restore
from memtui.errors import BundleError, MemtuiError
from memtui.library.planning import planned_import
from memtui.progress import IsCancelled, Progress, Report
from memtui.tui import key_bindings, plan_summary
from memtui.tui.change_worker import ChangeWorker
from memtui.tui.dialogs.transfer import TransferScreen
from memtui.tui.widgets.outcome import OutcomeLine, Tone
from memtui.tui.widgets.text_inputs import ChoiceInput, LineInput

if TYPE_CHECKING:
    from memtui.journal import JournalAction
    from memtui.library import Library

ORIGINAL_STORES = "original stores"
"""Each store of the file is imported to the open store of the same name and format."""
NEW_FOLDER = "new folder"
"""The stores of the file are restored there with the same files; they are not opened."""


def _advice() -> tuple[OutcomeLine, ...]:
    return (
        OutcomeLine(describe_importable_files(), Tone.QUIET),
        OutcomeLine("existing memories are not changed; enter shows a preview first", Tone.QUIET),
    )


class ImportScreen(TransferScreen):
    """Dismissed with True when something was imported."""

    TITLE_WORDS = "Import"
    AUTO_FOCUS: ClassVar[str] = "LineInput"

    def __init__(self, writer: ChangeWorker, stores: list[str], path: str = "") -> None:
        super().__init__(writer)
        self._file = LineInput(path, name="file", placeholder="file path")
        self._into = ChoiceInput(
            [ORIGINAL_STORES, *stores, NEW_FOLDER], ORIGINAL_STORES, name="into"
        )
        self._folder = LineInput("", name="folder", placeholder="path of a new or empty folder")
        self._plan: ImportPlan | Restoration | None = None
        self._document: ImportDocument | None = None

    def fields(self) -> list[tuple[str, Widget]]:
        return [("File", self._file), ("Into", self._into), ("Folder", self._folder)]

    def keys(self) -> list[tuple[str, str, str]]:
        go = "preview" if self._plan is None else "import"
        return [("enter", go, ""), ("⇥", "next field", ""), ("←→", "choose", "")]

    def on_mount(self) -> None:
        self._show_folder()
        self.say(*_advice())

    def _show_folder(self) -> None:
        row = self._folder.parent
        if isinstance(row, Widget):
            row.display = self._into.raw == NEW_FOLDER

    @on(Input.Changed)
    @on(ChoiceInput.Changed)
    def _changed(self) -> None:
        """Discard the plan, which was for another file or target."""
        self._show_folder()
        if self._plan is not None:
            self._plan = None
            self.say(*_advice())
            self.update_keys()

    def action_go(self) -> None:
        if self.working:
            return
        if self._plan is not None:
            self._import(self._plan)
            return
        path = _path(self._file)
        into = "" if self._into.raw == ORIGINAL_STORES else self._into.raw
        place = _path(self._folder) if self._into.raw == NEW_FOLDER else None
        if place is not None and not self._folder.raw.strip():
            self.say(OutcomeLine("enter a new or empty folder", Tone.WARNING))
            return

        def plan(
            library: Library, report: Report, stopped: IsCancelled
        ) -> ImportPlan | Restoration:
            try:
                report(Progress("reading the file"))
                document = read_document(path)
            except OSError as error:
                reason = error.strerror or "it cannot be read"
                raise BundleError(reason, where=str(path)) from error
            if place is not None:
                return plan_restore(document, place, stopped)
            return plan_import(document, library, into, report, stopped)

        self.work(plan, self._planned, self._failed)

    def _planned(self, plan: ImportPlan | Restoration) -> None:
        if isinstance(plan, Restoration):
            lines = plan_summary.describe_restore(plan)
            self._plan = plan
            self.say(*lines)
            self.update_keys()
            return
        lines = plan_summary.describe_import(plan)
        if plan.has_edits:
            self._plan = plan
        else:
            lines.insert(
                0, OutcomeLine("No changes: the stores already have every memory", Tone.WARNING)
            )
        self.say(*lines)
        self.update_keys()

    def _failed(self, error: MemtuiError) -> None:
        self._plan = None
        self.say(OutcomeLine(str(error), Tone.BAD, "error:"))
        self.update_keys()

    def _import(self, plan: ImportPlan | Restoration) -> None:
        """Apply the plan as one action, which can be undone and is not cancelled half way."""
        self.working = True
        self.update_keys()
        if isinstance(plan, Restoration):
            restoration = plan
            done = partial(self._restored, restoration)
            self.writer.write(
                lambda library: library.restore(restoration), done, self._write_failed
            )
        else:
            self.writer.apply(
                planned_import(plan), partial(self._imported, plan), self._write_failed
            )

    def _restored(self, restoration: Restoration, _: JournalAction) -> None:
        self.working = False
        place = text.one_line(str(restoration.place))
        undo = key_bindings.hint("undo", self.app.key_overrides)
        self.app.notify(f"Imported to {place}. Open with `memtui {place}`{undo}", timeout=8)
        self.dismiss(True)

    def _imported(self, plan: ImportPlan, _: JournalAction) -> None:
        self.working = False
        count = text.counted(plan.counts["new"], "memory")
        undo = key_bindings.hint("undo", self.app.key_overrides)
        self.app.notify(f"Imported {count}{undo}", timeout=6)
        self.dismiss(True)

    def _write_failed(self, error: MemtuiError) -> None:
        self.working = False
        self._failed(error)


def _path(line: LineInput) -> Path:
    return Path(os.path.expanduser(line.raw.strip()))
