"""Import: name a file, read what it would come to, then do it in one action."""

from __future__ import annotations

import os
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, ClassVar

from textual import on
from textual.widget import Widget
from textual.widgets import Input

from memtui.bundle.merging import ImportPlan, plan_import
from memtui.bundle.unpacking import Document, read_document
from memtui.errors import BundleError, MemtuiError
from memtui.tui import telling_imports
from memtui.tui.doing import Doing
from memtui.tui.screens.carrying import CarryScreen, Report, Stopped
from memtui.tui.widgets.verdict import Said, Tone
from memtui.tui.widgets.writing import Line, OneOf

if TYPE_CHECKING:
    from memtui.journal import Action
    from memtui.library import Library

BY_ITSELF = "where it belongs"
"""Each store of the file goes to the open store of its name and format."""
_START = (
    Said("a bundle, an Ambient backup, an Engram export or JSON lines", Tone.QUIET),
    Said("nothing that is there is changed; enter shows the plan first", Tone.QUIET),
)


class ImportScreen(CarryScreen):
    """Dismissed with True when something was imported."""

    TITLE_WORDS = "Import"
    AUTO_FOCUS: ClassVar[str] = "Line"

    def __init__(self, doing: Doing, stores: list[str], path: str = "") -> None:
        super().__init__(doing)
        self._file = Line(path, name="file", placeholder="path of the file")
        self._into = OneOf([BY_ITSELF, *stores], BY_ITSELF, name="into")
        self._plan: ImportPlan | None = None
        self._document: Document | None = None

    def fields(self) -> list[tuple[str, Widget]]:
        return [("File", self._file), ("Into", self._into)]

    def keys(self) -> list[tuple[str, str, str]]:
        go = "show the plan" if self._plan is None else "import"
        return [("enter", go, ""), ("⇥", "next", ""), ("←→", "choose", "")]

    def on_mount(self) -> None:
        self.say(*_START)

    @on(Input.Changed)
    @on(OneOf.Changed)
    def _changed(self) -> None:
        """Another file or place: the plan is no longer that of what stands there."""
        if self._plan is not None:
            self._plan = None
            self.say(*_START)
            self.update_keys()

    def action_go(self) -> None:
        if self.working:
            return
        if self._plan is not None:
            self._import(self._plan)
            return
        path = Path(os.path.expanduser(self._file.raw.strip()))
        into = "" if self._into.raw == BY_ITSELF else self._into.raw

        def plan(library: Library, report: Report, stopped: Stopped) -> ImportPlan:
            try:
                report("reading the file", 0, 0)
                document = read_document(path)
            except OSError as error:
                reason = error.strerror or "it cannot be read"
                raise BundleError(reason, where=str(path)) from error
            return plan_import(document, library, into, report, stopped)

        self.work(plan, self._planned, self._failed)

    def _planned(self, plan: ImportPlan) -> None:
        said = telling_imports.told(plan)
        if plan.planned.does_something:
            self._plan = plan
        else:
            said.insert(0, Said("nothing in it is new", Tone.WARNING))
        self.say(*said)
        self.update_keys()

    def _failed(self, error: MemtuiError) -> None:
        self._plan = None
        self.say(Said(str(error), Tone.BAD, "not possible:"))
        self.update_keys()

    def _import(self, plan: ImportPlan) -> None:
        """Writing is not stopped half way: it is one action, and undo takes it back."""
        self.working = True
        self.update_keys()
        self.doing.apply(plan.planned, partial(self._imported, plan), self._stuck)

    def _imported(self, plan: ImportPlan, _: Action) -> None:
        self.working = False
        count = plan.counts["new"]
        word = "memory" if count == 1 else "memories"
        self.app.notify(f"Imported {count} {word}. u takes all of it back.", timeout=6)
        self.dismiss(True)

    def _stuck(self, error: MemtuiError) -> None:
        self.working = False
        self._failed(error)
