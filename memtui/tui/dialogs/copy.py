"""Copy dialog: copy or move memories to another store, with a preview of what would be lost."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, ClassVar

from textual import on
from textual.widget import Widget

from memtui import text
from memtui.bundle.bundle_reader import ImportDocument
from memtui.bundle.import_plan import ImportPlan, plan_import
from memtui.changes import Act, Change
from memtui.errors import MemtuiError
from memtui.files.reading import read_bytes
from memtui.library.planning import Planned, planned_import
from memtui.model import Memory
from memtui.progress import IsCancelled, Report, never, silent
from memtui.stores.format import IncomingStore
from memtui.tui import key_bindings, plan_summary
from memtui.tui.change_worker import ChangeWorker
from memtui.tui.dialogs.transfer import TransferScreen
from memtui.tui.widgets.outcome import OutcomeLine, Tone
from memtui.tui.widgets.text_inputs import ChoiceInput

if TYPE_CHECKING:
    from memtui.journal import JournalAction
    from memtui.library import Library

COPY, MOVE = "copy", "move"


class CopyScreen(TransferScreen):
    """Dismissed with True when something was copied or moved."""

    TITLE_WORDS = "Copy or move to another store"
    AUTO_FOCUS: ClassVar[str] = "ChoiceInput"

    def __init__(
        self, writer: ChangeWorker, memories: Sequence[Memory], targets: Sequence[str]
    ) -> None:
        super().__init__(writer)
        self._memories = list(memories)
        self._to = ChoiceInput(list(targets), targets[0], name="to")
        self._how = ChoiceInput([COPY, MOVE], COPY, name="how")
        self._plan: ImportPlan | None = None
        self._planned: Planned | None = None
        self._is_outdated = False
        """The choice changed while a plan was being computed."""

    def fields(self) -> list[tuple[str, Widget]]:
        return [("To", self._to), ("How", self._how)]

    def keys(self) -> list[tuple[str, str, str]]:
        go = [("enter", self._how.raw, "")] if self._planned else []
        return [*go, ("←→", "choose", ""), ("⇥", "next field", "")]

    def on_mount(self) -> None:
        self._plan_again()

    @on(ChoiceInput.Changed)
    def _plan_again(self) -> None:
        """Plan the copy again, each time the choice changes."""
        if self.working:
            self._is_outdated = True
            return
        self._is_outdated = False
        self._plan = self._planned = None
        self.work(
            partial(_plan, self._memories, self._to.raw, self._how.raw == MOVE),
            self._planned_copy,
            self._failed,
        )

    def _planned_copy(self, found: tuple[ImportPlan, Planned]) -> None:
        if self._is_outdated:
            self._plan_again()
            return
        plan, planned = found
        lines = plan_summary.describe_import(plan)
        if planned.has_edits:
            self._plan, self._planned = plan, planned
        else:
            lines.insert(0, OutcomeLine("No changes: nothing to add there", Tone.WARNING))
        if self._how.raw == MOVE and plan.counts["new"]:
            lines.insert(
                0,
                OutcomeLine(
                    "copied memories are retired here, or deleted if they cannot be retired",
                    Tone.WARNING,
                    MOVE,
                ),
            )
        self.say(*lines)
        self.update_keys()

    def _failed(self, error: MemtuiError) -> None:
        if self._is_outdated:
            self._plan_again()
            return
        self.say(OutcomeLine(str(error), Tone.BAD, "error:"))
        self.update_keys()

    def action_go(self) -> None:
        if self.working or self._planned is None or self._plan is None:
            return
        self.working = True
        self.update_keys()
        self.writer.apply(self._planned, partial(self._done, self._plan), self._write_failed)

    def _done(self, plan: ImportPlan, _: JournalAction) -> None:
        self.working = False
        count = plan.counts["new"]
        word = "Moved" if self._how.raw == MOVE else "Copied"
        what = text.counted(count, "memory")
        undo = key_bindings.hint("undo", self.app.key_overrides)
        self.app.notify(f"{word} {what} to {text.one_line(self._to.raw)}{undo}")
        self.dismiss(True)

    def _write_failed(self, error: MemtuiError) -> None:
        self.working = False
        self._failed(error)


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
