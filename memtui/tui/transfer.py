"""Transfer dialogs: export; import from a file; copying and moving between the open stores.

Each shows what would be lost before it writes, and writes in one action. A file is imported into
open stores, memory by memory, or its whole stores into a new folder.
"""

from __future__ import annotations

import os
from abc import abstractmethod
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import TypeVar

from msgspec import Struct
from textual import on
from textual.app import ComposeResult
from textual.binding import Binding
from textual.widget import Widget
from textual.widgets import Input

from memtui import text
from memtui.bundle import exporting
from memtui.bundle.bundle_reader import ImportDocument, describe_importable_files, read_document
from memtui.bundle.import_plan import ImportPlan, plan_import
from memtui.bundle.restoring import Restoration, plan_restore, restore
from memtui.changes import Act, Change
from memtui.errors import AmbiguousPlace, BundleError, MemtuiError
from memtui.files.git_repository import find_repository
from memtui.files.reading import read_bytes
from memtui.files.staging import write_file
from memtui.library import Library
from memtui.library.planning import Planned, planned_import
from memtui.library.store_catalog import path_from_home
from memtui.model import Memory
from memtui.progress import IsCancelled, Progress, Report
from memtui.stores.format import IncomingStore
from memtui.tui import previews
from memtui.tui.actions import ActionHandlers
from memtui.tui.controllers.changes import WritingController
from memtui.tui.dialogs.dialog import FittingDialog, labelled_row
from memtui.tui.dialogs.prompts import write_after_asking
from memtui.tui.jobs import Job
from memtui.tui.library_worker import read_slots
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

    def __init__(self) -> None:
        super().__init__()
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
        self._job = self.worker.run(
            "transfer",
            lambda library, job: what(library, job.report, job.is_cancelled),
            self.if_open(lambda answer: self._ended(lambda: done(answer))),
            self.if_open(lambda error: self._ended(lambda: self.failed(error))),
            on_progress=self.if_open(self._progress),
        )

    async def write(
        self, work: Callable[[Library, Report], object], *, to_stores: bool = True
    ) -> bool:
        """Write; return whether that was done, else the dialog says why not."""
        try:
            await self.acts.write(work, to_stores=to_stores)
        except MemtuiError as error:
            self.failed(error)
            return False
        return True

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

    def finish(self, words: str, timeout: float = 5, *, is_undoable: bool = True) -> None:
        """Say what was transferred, with the key that undoes it, and close."""
        self.working = False
        self.app.notify(words + (self.app.hint("undo") if is_undoable else ""), timeout=timeout)
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
LEAVE_OUT, IN_CLEAR = "left out", "written in clear"


class _Preparation(Struct, frozen=True):
    """What is known of an export before it is made."""

    choice: tuple[str, str]
    """Its form, and which memories."""
    holders: int
    """Memories with secrets, which the form would write in clear."""
    losses: Sequence[str]
    """What the form leaves out."""


def typed_path(line: LineInput) -> Path:
    """The path in an input."""
    return Path(os.path.expanduser(line.raw.strip()))


class ExportScreen(TransferScreen):
    """Dismissed with True when a file was written."""

    heading = "Export"
    AUTO_FOCUS = "ChoiceInput"

    def __init__(
        self,
        groups: Sequence[tuple[str, ReadMemories | None]],
        day: str,
        *,
        is_past: bool = False,
    ) -> None:
        """`groups`: name of each choice and what reads its memories; None = all stores, complete.

        `is_past`: the stores are shown as of a time, which no form that takes whole stores holds.
        """
        super().__init__()
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
        self._secrets = ChoiceInput([LEAVE_OUT, IN_CLEAR], self._proposal(), name="secrets")
        self._proposed = self._secrets.raw
        """What becomes of memories with secrets, unless the person chooses the other."""
        self._found: _Preparation | None = None
        """What is known of the choice; None while it is looked at."""
        self._is_wanted = False
        """The person wants to export before that is known."""

    def fields(self) -> list[tuple[str, Widget]]:
        return [
            ("What", self._what),
            ("Format", self._form),
            ("File", self._file),
            ("Secrets", self._secrets),
        ]

    def on_mount(self) -> None:
        self._prepare()

    @on(ChoiceInput.Changed)
    def _chosen(self) -> None:
        """Change the end of the file's name with the format, if it is that of another format."""
        forms, name = self._forms.values(), self._file.raw
        endings = sorted({end for form in forms for end in (form.ending, form.suffix)})
        ending = next((end for end in endings if name.endswith(end)), "")
        if ending:
            self._file.value = name.removesuffix(ending) + self._forms[self._form.raw].ending
            self._file.cursor_position = len(self._file.value)
        if self._found is None or self._found.choice != (self._form.raw, self._what.raw):
            self._prepare()
        else:
            self._update_notes()

    def _prepare(self) -> None:
        """Look in a job at what the export leaves out, and which memories hold secrets."""
        choice = form, what = self._form.raw, self._what.raw
        read = self._groups[what]
        self._found, self._is_wanted = None, False
        self._update_notes()

        def found(preparation: _Preparation) -> None:
            if choice == (self._form.raw, self._what.raw):
                self._found = preparation
                self._update_notes()
                if self._is_wanted and not preparation.holders:
                    self.action_go()

        def prepare(library: Library, job: Job) -> _Preparation:
            stopped = job.is_cancelled
            chosen = None if read is None else read(cancelled=stopped)
            is_masked = self._forms[form].masks_secrets
            holders = 0 if is_masked else len(exporting.find_secret_holders(library, chosen))
            losses: Sequence[str] = ()
            if form != "bundle":  # which holds all
                made = exporting.export_memories(library, form, chosen, cancelled=stopped)
                losses = made.notes
            return _Preparation(choice, holders, losses)

        def failed(error: MemtuiError) -> None:
            found(_Preparation(choice, 0, [str(error)]))

        run, done = self.worker.run, self.if_open(found)
        run("losses", prepare, done, self.if_open(failed), only_reads=True)

    def _work_tree(self) -> Path | None:
        """The git work tree in which the file will lie; None if it lies in none."""
        return find_repository(typed_path(self._file).absolute().parent)

    def _proposal(self) -> str:
        return IN_CLEAR if self._work_tree() is None else LEAVE_OUT

    @on(Input.Changed)
    def _typed(self) -> None:
        if self._secrets.raw == self._proposed:
            self._secrets.raw = self._proposal()
            self._secrets.refresh()
        self._proposed = self._proposal()
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
        library = self.worker.library
        losses = self._found.losses if self._found else ()
        lines += self._describe_secrets()
        lines += [OutcomeLine(loss, Tone.WARNING, "!") for loss in losses]
        unreadable = [library.unreadable(s.label) for s in library.stores] if library else []
        if not losses and (count := sum(map(len, unreadable))):
            words = f"{text.counted(count, 'unreadable file')}, whose memories are left out"
            lines.append(OutcomeLine(words, Tone.WARNING, "!"))
        if typed_path(self._file).exists():
            lines.append(OutcomeLine("exists; you will be asked before overwriting", Tone.WARNING))
        self.say(*lines)

    def _describe_secrets(self) -> list[OutcomeLine]:
        """How many memories with secrets are left out, or go where; shows or hides the field."""
        row, count = self._secrets.parent, self._found.holders if self._found else 0
        if isinstance(row, Widget):
            row.display = bool(count)
        if not count:
            return []
        tree = self._work_tree()
        where = f"in the git work tree {path_from_home(tree)}" if tree else ""
        if self._secrets.raw == IN_CLEAR:
            fate = f"{IN_CLEAR} to {path_from_home(typed_path(self._file))}{where and f', {where}'}"
            return [OutcomeLine(exporting.describe_secret_holders(count, fate), Tone.BAD, "!")]
        fate = LEAVE_OUT + (where and f", because the file is {where}")
        lines = [OutcomeLine(exporting.describe_secret_holders(count, fate), Tone.WARNING)]
        if self._form.raw == "bundle" and self._groups[self._what.raw] is None:
            words = "the bundle then holds memories, not the files of the stores"
            lines.append(OutcomeLine(words, Tone.WARNING))
        return lines

    def action_go(self) -> None:
        path = typed_path(self._file)
        if self.working:
            return
        if not self._file.raw.strip() or path.is_dir():
            self.say(OutcomeLine("enter a file name", Tone.WARNING))
        elif self._found is None:
            self._is_wanted = True
        else:
            write_after_asking(self.app, path, partial(self._start, path))

    def _start(self, path: Path) -> None:
        form, read = self._form.raw, self._groups[self._what.raw]
        leaves_out = self._secrets.raw == LEAVE_OUT and not self._forms[form].masks_secrets

        def export(
            library: Library, report: Report, stopped: IsCancelled
        ) -> tuple[exporting.Export, str]:
            chosen = None if read is None else read(report, stopped)
            without = exporting.find_secret_holders(library, chosen) if leaves_out else ()
            made = exporting.export_memories(
                library, form, chosen, report, stopped, without=without
            )
            write_file(path, made.pieces)
            count = 0 if chosen is None else len(chosen) - len(without)
            return made, "" if chosen is None else f" {text.counted(count, 'memory')}"

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


ORIGINAL_STORES = "original stores"
"""Each store of the file is imported to the open store of the same name and format."""
NEW_FOLDER = "new folder"
"""The stores of the file are restored there with the same files; they are not opened."""


AS_NAMED = "as each memory says"
CHOOSE = "choose"


class ProjectFields:
    """The fields for the project of the target that gets the memories, and its branch.

    They are shown once it is known that there are several.
    """

    def __init__(self) -> None:
        self.project = ChoiceInput([AS_NAMED], AS_NAMED, name="project")
        self.branch = ChoiceInput([CHOOSE], CHOOSE, name="branch")
        self._projects: Mapping[str, Sequence[str]] = {}

    @property
    def rows(self) -> list[tuple[str, Widget]]:
        return [("Project", self.project), ("Branch", self.branch)]

    @property
    def raw(self) -> tuple[str, str]:
        return self.project.raw, self.branch.raw

    @property
    def entity(self) -> str | None:
        """What is chosen, for `plan_import`; None: the branch is not chosen yet."""
        if self.project.raw == AS_NAMED:
            return ""
        if not self._branches:
            return self.project.raw
        return None if self.branch.raw == CHOOSE else f"{self.project.raw}/{self.branch.raw}"

    @property
    def _branches(self) -> Sequence[str]:
        return self._projects.get(self.project.raw, ())

    def offer(self, projects: Mapping[str, Sequence[str]]) -> None:
        """Show the projects of another target, or none."""
        self._projects = projects
        self.project.offer([AS_NAMED, *projects])
        self.update()

    def update(self) -> None:
        """Offer the branches of the chosen project, and show what there is to choose."""
        branches = self._branches
        self.branch.offer(branches if len(branches) == 1 else [CHOOSE, *branches])
        for field, is_shown in (
            (self.project, len(self._projects) > 1),
            (self.branch, bool(branches)),
        ):
            if isinstance(field.parent, Widget):
                field.parent.display = is_shown


MAX_PLACES = 5
"""Projects that are listed with the number of memories that each gets."""


def _describe_places(plan: ImportPlan, projects: Mapping[str, object]) -> list[OutcomeLine]:
    """The projects that get the memories, the most frequent first."""
    if not projects:
        return []
    only = next(iter(projects)) if len(projects) == 1 else ""
    new = [item.change.fields for part in plan.imports for item in part.new]
    found = Counter(only or str(fields.get("entity") or "") for fields in new)
    lines = [
        OutcomeLine(f"{text.counted(count, 'memory')} to {text.one_line(name)}", Tone.GOOD)
        for name, count in found.most_common(MAX_PLACES)
    ]
    more = text.and_more(len(found) - MAX_PLACES).strip()
    return [*lines, *([OutcomeLine(more, Tone.QUIET)] if more else [])]


_CHOOSE_PROJECT = OutcomeLine("choose the project that gets them", Tone.WARNING)
_CHOOSE_BRANCH = OutcomeLine("choose the branch that gets them", Tone.WARNING)


def _describe_target(stores: Mapping[str, Path], label: str) -> list[OutcomeLine]:
    """Where the chosen store lies; nothing if none is chosen."""
    return [OutcomeLine(path_from_home(stores[label]), Tone.QUIET)] if label in stores else []


class ImportScreen(TransferScreen):
    """Dismissed with True when something was imported."""

    heading = "Import"
    AUTO_FOCUS = "LineInput"

    def __init__(self, stores: Mapping[str, Path]) -> None:
        """`stores`: the folders of those that can be written, by label."""
        super().__init__()
        self._stores = stores
        self._file = LineInput("", name="file", placeholder="file path")
        self._into = ChoiceInput(
            [ORIGINAL_STORES, *stores, NEW_FOLDER],
            ORIGINAL_STORES,
            name="into",
            shown=self.app.store_name,
        )
        self._folder = LineInput("", name="folder", placeholder="path of a new or empty folder")
        self._place = ProjectFields()
        self._offered = self._into.raw
        """The target whose projects can be chosen."""
        self._plan: ImportPlan | Restoration | None = None

    def fields(self) -> list[tuple[str, Widget]]:
        return [
            ("File", self._file),
            ("Into", self._into),
            *self._place.rows,
            ("Folder", self._folder),
        ]

    def labels(self) -> Mapping[str, object]:
        return {**super().labels(), "go": "preview" if self._plan is None else "import"}

    def on_mount(self) -> None:
        self._place.update()
        self._show_folder()
        self._advise()

    def _show_folder(self) -> None:
        row = self._folder.parent
        if isinstance(row, Widget):
            row.display = self._into.raw == NEW_FOLDER

    @on(Input.Changed)
    @on(ChoiceInput.Changed)
    def _changed(self) -> None:
        """Discard the plan, which was for another file or target."""
        self._show_folder()
        if self._into.raw != self._offered:
            self._offered = self._into.raw
            self._place.offer({})
        self._place.update()
        if self._plan is not None:
            self._plan = None
            self.update_keys()
        self._advise()

    def _advise(self) -> None:
        advice = "existing memories are not changed; enter shows a preview first"
        self.say(
            *_describe_target(self._stores, self._into.raw),
            OutcomeLine(describe_importable_files(), Tone.QUIET),
            OutcomeLine(advice, Tone.QUIET),
        )

    def action_go(self) -> None:
        if self.working:
            return
        if self._plan is not None:
            self.acts.start(self._import(self._plan))
            return
        path = typed_path(self._file)
        into = "" if self._into.raw == ORIGINAL_STORES else self._into.raw
        place = typed_path(self._folder) if self._into.raw == NEW_FOLDER else None
        if place is not None and not self._folder.raw.strip():
            self.say(OutcomeLine("enter a new or empty folder", Tone.WARNING))
            return
        entity = self._place.entity
        if entity is None:
            self.say(_CHOOSE_BRANCH)
            return

        def plan(
            library: Library, report: Report, stopped: IsCancelled
        ) -> tuple[ImportPlan | Restoration | None, Mapping[str, Sequence[str]]]:
            try:
                report(Progress("reading the file"))
                document = read_document(path)
            except OSError as error:
                reason = error.strerror or "it cannot be read"
                raise BundleError(reason, where=str(path)) from error
            if place is not None:
                return plan_restore(document, place, stopped), {}
            projects = library.store(into).projects if into else {}
            try:
                found = plan_import(document, library, into, report, stopped, entity=entity)
            except AmbiguousPlace:
                return None, projects
            return found, projects

        self.work(plan, partial(self._planned, self._inputs))

    @property
    def _inputs(self) -> tuple[str, ...]:
        return self._file.raw, self._into.raw, self._folder.raw, *self._place.raw

    def _planned(
        self,
        inputs: tuple[str, ...],
        found: tuple[ImportPlan | Restoration | None, Mapping[str, Sequence[str]]],
    ) -> None:
        if inputs != self._inputs:  # they were changed while the file was being read
            return
        plan, projects = found
        self._place.offer(projects)
        self._plan = plan
        if plan is None:
            self.say(_CHOOSE_PROJECT)
            self.update_keys()
            return
        if isinstance(plan, Restoration):
            lines = previews.describe_restore(plan)
        else:
            effects = previews.describe_effects(plan.plans)
            lines = [*effects, *previews.describe_import(plan, self.app.store_name)]
            if not plan.has_edits:
                self._plan = None
                lines.insert(0, OutcomeLine("No changes: nothing to add", Tone.WARNING))
        self.say(*lines)
        self.update_keys()

    def failed(self, error: MemtuiError) -> None:
        self._plan = None
        super().failed(error)

    async def _import(self, plan: ImportPlan | Restoration) -> None:
        """Apply the plan as a whole; it is not cancelled half way."""
        self.start_writing()
        if isinstance(plan, Restoration):
            place = text.one_line(str(plan.place))
            words = f"Imported to {place}. Open with `memtui {place}`; delete it to take it back"
            if await self.write(lambda _, report: restore(plan, report), to_stores=False):
                self.finish(words, 8, is_undoable=False)
        else:
            words = f"Imported {text.counted(plan.counts['new'], 'memory')}"
            for name, word in (("conflicts", "skipped"), ("refused", "rejected")):
                if count := plan.counts[name]:
                    words += f" · {text.number(count)} {word}"
            planned = planned_import(plan)
            if await self.write(lambda library, report: library.apply(planned, report)):
                self.finish(words, 6)


COPY, MOVE = "copy", "move"


class CopyScreen(TransferScreen):
    """Dismissed with True when something was copied or moved."""

    heading = "Copy or move to another store"
    AUTO_FOCUS = "ChoiceInput"

    def __init__(self, read: ReadMemories, targets: Mapping[str, Path]) -> None:
        super().__init__()
        self._targets = targets
        self._read = read
        first = next(iter(targets))
        self._to = ChoiceInput([*targets], first, name="to", shown=self.app.store_name)
        self._how = ChoiceInput([COPY, MOVE], COPY, name="how")
        self._place = ProjectFields()
        self._offered = first
        """The target whose projects can be chosen."""
        self._plan: ImportPlan | None = None
        self._planned: Planned | None = None

    def fields(self) -> list[tuple[str, Widget]]:
        return [("To", self._to), *self._place.rows, ("How", self._how)]

    def labels(self) -> Mapping[str, object]:
        return {**super().labels(), "go": self._planned is not None and self._how.raw}

    def on_mount(self) -> None:
        self._place.update()
        self._plan_again()

    @on(ChoiceInput.Changed)
    def _plan_again(self) -> None:
        """Plan the copy again, each time the choice changes."""
        if self.working and self._job is None:  # it is being written
            return
        self._plan = self._planned = None
        target, moves = self._to.raw, self._how.raw == MOVE
        if target != self._offered:
            self._offered = target
            self._place.offer({})
        self._place.update()
        entity = self._place.entity
        if entity is None:
            self.say(_CHOOSE_BRANCH)
            self.update_keys()
            return

        def plan(
            library: Library, report: Report, stopped: IsCancelled
        ) -> tuple[tuple[ImportPlan, Planned] | None, Mapping[str, Sequence[str]]]:
            memories, projects = self._read(report, stopped), library.store(target).projects
            try:
                found = _plan(memories, target, entity, moves, library, report, stopped)
            except AmbiguousPlace:
                return None, projects
            return found, projects

        self.work(plan, self._planned_copy)

    def _planned_copy(
        self,
        found: tuple[tuple[ImportPlan, Planned] | None, Mapping[str, Sequence[str]]],
    ) -> None:
        planned_copy, projects = found
        self._place.offer(projects)
        if planned_copy is None:
            self.say(_CHOOSE_PROJECT)
            self.update_keys()
            return
        plan, planned = planned_copy
        lines = previews.describe_import(plan, self.app.store_name)
        if planned.has_edits:
            self._plan, self._planned = plan, planned
        else:
            lines.insert(0, OutcomeLine("No changes: nothing to add there", Tone.WARNING))
        removed = Counter(
            (f"{change.act}s", change.store)
            for change in planned.changes
            if change.act in (Act.RETIRE, Act.DELETE)
        )
        lines[:0] = [
            OutcomeLine(
                f"{text.counted(count, 'memory')} in {self.app.store_name(store)}",
                Tone.WARNING,
                verb,
            )
            for (verb, store), count in removed.items()
        ]
        effects = previews.describe_effects(planned.plans)
        where = [*_describe_target(self._targets, self._to.raw), *_describe_places(plan, projects)]
        self.say(*effects, *where, *lines)
        self.update_keys()

    def action_go(self) -> None:
        if self.working or self._planned is None or self._plan is None:
            return
        self.acts.start(self._copy(self._planned, self._plan))

    async def _copy(self, planned: Planned, plan: ImportPlan) -> None:
        self.start_writing()
        if not await self.write(lambda library, report: library.apply(planned, report)):
            return
        word = "Moved" if self._how.raw == MOVE else "Copied"
        what = text.counted(plan.counts["new"], "memory")
        target = text.one_line(self.app.store_name(self._to.raw))
        self.finish(f"{word} {what} to {target}")


def _plan(
    memories: Sequence[Memory],
    target: str,
    entity: str,
    moves: bool,
    library: Library,
    report: Report,
    stopped: IsCancelled,
) -> tuple[ImportPlan, Planned]:
    """Plan a copy, as an import from the stores that the memories are in."""
    formats = {store.label: store.format for store in library.stores}
    by_store: dict[str, list[Memory]] = {}
    for memory in memories:
        by_store.setdefault(memory.store, []).append(memory)
    incoming = tuple(
        IncomingStore(label, formats[label], found, files=_file_readers(found))
        for label, found in by_store.items()
    )
    document = ImportDocument(Path(), "copy", incoming)
    plan = plan_import(document, library, target, report, stopped, entity=entity)
    count = plan.counts["new"]
    what = text.counted(count, "memory")
    title = f"{MOVE if moves else COPY} {what} to {target}"
    planned = planned_import(plan, title)
    if moves and count:
        new = [item.memory for part in plan.imports for item in part.new]
        away = library.plan([_removal_change(library, memory) for memory in new])
        planned = Planned(title, (*planned.plans, *away.plans), (*planned.parts, *away.parts))
    return plan, planned


def _file_readers(memories: Sequence[Memory]) -> dict[str, partial[bytes]]:
    """Readers of the whole files of documents and notes, by path."""
    kinds = ("document", "note")
    return {
        m.origin.file: partial(read_bytes, Path(m.origin.file)) for m in memories if m.kind in kinds
    }


def _removal_change(library: Library, memory: Memory) -> Change:
    act = Act.DELETE if library.refusal(Act.RETIRE, memory) else Act.RETIRE
    return Change(act, memory.store, memory.ref)


# ---- what opens them -----------------------------------------------------------------------------


class TransferActions(WritingController):
    """Exports, imports, and copies memories between stores."""

    def handlers(self) -> ActionHandlers:
        return {
            "export": self._export,
            "import": self._import,
            "copy.to": self._copy,
        }

    def refusal(self, action_id: str) -> str:
        """Return why the action is not possible now; empty if it is."""
        if action_id == "export":
            return "" if self._screen.worker.library else "the stores are still being opened"
        if why := self._selection.can_write():
            return why
        if action_id == "copy.to":
            if self._selection.current() is None and not self._screen.memories.marked:
                return self._screen.memories.why_none
            if not self._targets():
                more = self._screen.app.press(("stores", "to open more"))
                return f"no other store is open that could take it. {more}"
        return ""

    def _targets(self) -> dict[str, Path]:
        """Writable stores, with folders, other than the one that all selected memories are in."""
        library = self._screen.worker.library
        source_stores = {memory.store for memory in self._selection.some()}
        stores = library.stores if library else ()
        return {s.label: s.root for s in stores if not s.read_only and source_stores != {s.label}}

    def _export(self) -> None:
        screen, library = self._screen, self._screen.worker.library
        if library is None:
            return
        groups: list[tuple[str, ReadMemories | None]] = []
        if marked := frozenset(screen.memories.marked):
            name = f"{text.number(len(marked))} marked"
            groups.append((name, screen.worker.reader(marked)))
        if (found := screen.found) is not None and found.slots:
            name = f"{text.number(len(found.slots))} shown"
            groups.append((name, partial(read_slots, found.rows, found.slots)))
        past = screen.worker.past
        if past is None:
            groups.append((ALL_STORES, None))
        elif not groups:
            screen.app.notify("Nothing is shown that could be exported.", severity="warning")
            return
        day = (past.at if past else screen.now()).astimezone().date().isoformat()
        screen.app.push_screen(ExportScreen(groups, day, is_past=past is not None))

    def _import(self) -> None:
        library = self._screen.worker.library
        if library is not None:
            stores = {store.label: store.root for store in library.stores if not store.read_only}
            self._screen.app.push_screen(ImportScreen(stores))

    def _copy(self) -> None:
        def copied(_: bool) -> None:
            if self._screen.memories.marked:
                self._screen.memories.unmark()

        read = self._selection.reader()
        self._screen.app.ask(CopyScreen(read, self._targets()), copied)
