"""Import from a file, or from the open stores: copying and moving memories between them.

Each shows what would be lost before it writes, and writes in one action. A file is imported into
open stores, memory by memory, or its whole stores into a new folder.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from functools import partial
from pathlib import Path

from textual import on
from textual.widget import Widget
from textual.widgets import Input

from memtui import text
from memtui.bundle.bundle_reader import ImportDocument, describe_importable_files, read_document
from memtui.bundle.import_plan import ImportPlan, plan_import
from memtui.bundle.restoring import Restoration, plan_restore
from memtui.changes import Act, Change
from memtui.errors import BundleError, MemtuiError
from memtui.files.reading import read_bytes
from memtui.journal import JournalAction
from memtui.library import Library
from memtui.library.planning import Planned, planned_import
from memtui.library.store_catalog import path_from_home
from memtui.model import Memory
from memtui.progress import IsCancelled, Progress, Report, never, silent
from memtui.stores.format import IncomingStore
from memtui.tui import change_worker
from memtui.tui.change_worker import ChangeWorker
from memtui.tui.dialogs.transfer import ReadMemories, TransferScreen, typed_path
from memtui.tui.widgets.inputs import ChoiceInput, LineInput
from memtui.tui.widgets.text_window import OutcomeLine, Tone

ORIGINAL_STORES = "original stores"
"""Each store of the file is imported to the open store of the same name and format."""
NEW_FOLDER = "new folder"
"""The stores of the file are restored there with the same files; they are not opened."""


def _describe_target(stores: Mapping[str, Path], label: str) -> list[OutcomeLine]:
    """Where the chosen store lies; nothing if none is chosen."""
    return [OutcomeLine(path_from_home(stores[label]), Tone.QUIET)] if label in stores else []


class ImportScreen(TransferScreen):
    """Dismissed with True when something was imported."""

    heading = "Import"
    AUTO_FOCUS = "LineInput"

    def __init__(self, writer: ChangeWorker, stores: Mapping[str, Path]) -> None:
        """`stores`: the folders of those that can be written, by label."""
        super().__init__(writer)
        self._stores = stores
        self._file = LineInput("", name="file", placeholder="file path")
        self._into = ChoiceInput(
            [ORIGINAL_STORES, *stores, NEW_FOLDER], ORIGINAL_STORES, name="into"
        )
        self._folder = LineInput("", name="folder", placeholder="path of a new or empty folder")
        self._plan: ImportPlan | Restoration | None = None

    def fields(self) -> list[tuple[str, Widget]]:
        return [("File", self._file), ("Into", self._into), ("Folder", self._folder)]

    def labels(self) -> Mapping[str, object]:
        return {**super().labels(), "go": "preview" if self._plan is None else "import"}

    def on_mount(self) -> None:
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
            self._import(self._plan)
            return
        path = typed_path(self._file)
        into = "" if self._into.raw == ORIGINAL_STORES else self._into.raw
        place = typed_path(self._folder) if self._into.raw == NEW_FOLDER else None
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

        self.work(plan, partial(self._planned, self._inputs))

    @property
    def _inputs(self) -> tuple[str, ...]:
        return self._file.raw, self._into.raw, self._folder.raw

    def _planned(self, inputs: tuple[str, ...], plan: ImportPlan | Restoration) -> None:
        if inputs != self._inputs:  # they were changed while the file was being read
            return
        self._plan = plan
        if isinstance(plan, Restoration):
            lines = change_worker.describe_restore(plan)
        else:
            lines = change_worker.describe_import(plan)
            if not plan.has_edits:
                self._plan = None
                lines.insert(0, OutcomeLine("No changes: nothing to add", Tone.WARNING))
        self.say(*lines)
        self.update_keys()

    def failed(self, error: MemtuiError) -> None:
        self._plan = None
        super().failed(error)

    def _import(self, plan: ImportPlan | Restoration) -> None:
        """Apply the plan as one action, which can be undone and is not cancelled half way."""
        self.start_writing()
        if isinstance(plan, Restoration):
            place = text.one_line(str(plan.place))
            words = f"Imported to {place}. Open with `memtui {place}`"
            done = partial(self._written, words, 8)
            self.writer.write(
                lambda library, report: library.restore(plan, report), done, self.failed
            )
        else:
            words = f"Imported {text.counted(plan.counts['new'], 'memory')}"
            for name, word in (("conflicts", "skipped"), ("refused", "rejected")):
                if count := plan.counts[name]:
                    words += f" · {text.number(count)} {word}"
            done = partial(self._written, words, 6)
            self.writer.apply(planned_import(plan), done, self.failed)

    def _written(self, words: str, timeout: float, _: JournalAction) -> None:
        self.finish(words, timeout)


COPY, MOVE = "copy", "move"


class CopyScreen(TransferScreen):
    """Dismissed with True when something was copied or moved."""

    heading = "Copy or move to another store"
    AUTO_FOCUS = "ChoiceInput"

    def __init__(
        self, writer: ChangeWorker, read: ReadMemories, targets: Mapping[str, Path]
    ) -> None:
        super().__init__(writer)
        self._targets = targets
        self._read = read
        self._to = ChoiceInput([*targets], next(iter(targets)), name="to")
        self._how = ChoiceInput([COPY, MOVE], COPY, name="how")
        self._plan: ImportPlan | None = None
        self._planned: Planned | None = None

    def fields(self) -> list[tuple[str, Widget]]:
        return [("To", self._to), ("How", self._how)]

    def labels(self) -> Mapping[str, object]:
        return {**super().labels(), "go": self._planned is not None and self._how.raw}

    def on_mount(self) -> None:
        self._plan_again()

    @on(ChoiceInput.Changed)
    def _plan_again(self) -> None:
        """Plan the copy again, each time the choice changes."""
        if self.working and self._job is None:  # it is being written
            return
        self._plan = self._planned = None
        target, moves = self._to.raw, self._how.raw == MOVE

        def plan(
            library: Library, report: Report, stopped: IsCancelled
        ) -> tuple[ImportPlan, Planned]:
            return _plan(self._read(report, stopped), target, moves, library, report, stopped)

        self.work(plan, self._planned_copy)

    def _planned_copy(self, found: tuple[ImportPlan, Planned]) -> None:
        plan, planned = found
        lines = change_worker.describe_import(plan)
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
            OutcomeLine(f"{text.counted(count, 'memory')} in {store}", Tone.WARNING, verb)
            for (verb, store), count in removed.items()
        ]
        self.say(*_describe_target(self._targets, self._to.raw), *lines)
        self.update_keys()

    def action_go(self) -> None:
        if self.working or self._planned is None or self._plan is None:
            return
        self.start_writing()
        self.writer.apply(self._planned, partial(self._done, self._plan), self.failed)

    def _done(self, plan: ImportPlan, _: JournalAction) -> None:
        word = "Moved" if self._how.raw == MOVE else "Copied"
        what = text.counted(plan.counts["new"], "memory")
        self.finish(f"{word} {what} to {text.one_line(self._to.raw)}")


def _plan(
    memories: Sequence[Memory],
    target: str,
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
    plan = plan_import(ImportDocument(Path(), "copy", incoming), library, target, report, stopped)
    count = plan.counts["new"]
    what = text.counted(count, "memory")
    title = f"{MOVE if moves else COPY} {what} to {target}"
    planned = planned_import(plan, title)
    if moves and count:
        new = [item.memory for part in plan.imports for item in part.new]
        away = library.plan([_removal_change(library, memory) for memory in new])
        planned = Planned(title, (*planned.plans, *away.plans), (*planned.parts, *away.parts))
    return plan, planned


def preview_copy(memory: Memory, target: str, library: Library) -> str:
    """Describe in a line what copying this memory would lose, or why there is nothing to copy."""
    plan, planned = _plan([memory], target, False, library, silent, never)
    if planned.has_edits:
        return f"loses {', '.join(plan.lost)}" if plan.lost else "loses nothing"
    (part,) = plan.imports
    why = [c.differs[0] for c in part.conflicts if not c.existing] + [r.why for r in part.refused]
    found = "another memory has its id" if part.conflicts else "it is there already"
    return f"not possible: {(why or [found])[0]}"


def copy_at_once(memory: Memory, target: str, library: Library) -> bool:
    """Plan and write the copy of one memory. Returns whether there was anything to write.

    Raises what planning and writing raise.
    """
    _, planned = _plan([memory], target, False, library, silent, never)
    if planned.has_edits:
        library.apply(planned)
    return planned.has_edits


def _file_readers(memories: Sequence[Memory]) -> dict[str, partial[bytes]]:
    """Readers of the whole files of documents and notes, by path."""
    kinds = ("document", "note")
    return {
        m.origin.file: partial(read_bytes, Path(m.origin.file)) for m in memories if m.kind in kinds
    }


def _removal_change(library: Library, memory: Memory) -> Change:
    act = Act.DELETE if library.refusal(Act.RETIRE, memory) else Act.RETIRE
    return Change(act, memory.store, memory.ref)
