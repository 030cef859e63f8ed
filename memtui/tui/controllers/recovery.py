"""Undo, redo, the change log, changes that other programs overwrote, unreadable files."""

from __future__ import annotations

import time
from collections.abc import Callable, Hashable
from functools import partial
from typing import TYPE_CHECKING

from memtui import text
from memtui.files import backups
from memtui.journal import ActionState, JournalAction
from memtui.library import Library, broken_files
from memtui.library.broken_files import BrokenFile
from memtui.model import Place
from memtui.progress import Report
from memtui.tui import actions, terminal
from memtui.tui.controllers.changes import HEADLINE_CELLS, ChangeActions, WritingController
from memtui.tui.jobs import Job
from memtui.tui.previews import describe_effects, preview_of
from memtui.tui.widgets.text_window import OutcomeLine, Tone

if TYPE_CHECKING:
    from pathlib import Path

    from memtui.library.reverted_edits import RevertedEdit
    from memtui.stores.base import WritableStore
    from memtui.tui.actions import ActionHandlers
    from memtui.tui.dialogs.unreadable import Fault


LOOKBACK_SECONDS = 24 * 3600.0
"""Seconds before the start whose changes are checked too: agents may have reverted them."""
WATCH_SECONDS = 10 * 60.0
"""Seconds after a change during which it is checked for a revert by another program."""
LOOK_EVERY = 2.0
"""Seconds between two checks."""
LOOK_SHARE = 0.01
"""Share of the processor that the checks take: one after a change of thousands of files is long."""
LONGEST_PAUSE = 60.0
"""Seconds between two checks then."""
_LEFT = "Nothing is written: it stays as another program wrote it, and is not offered again."
MAX_LOGGED = 500
"""Actions in the log screen."""


def quoted(title: str) -> str:
    """An action's title for a toast: `edit "Alice lives in Lisbon"`."""
    verb, colon, name = text.one_line(title).partition(": ")
    return f'{verb} "{text.cut(name, HEADLINE_CELLS)}"' if colon else text.cut(verb, HEADLINE_CELLS)


class JournalActions(WritingController):
    """Carries out undo, redo, log and reapply."""

    def __init__(
        self, changes: ChangeActions, on_reversed: Callable[[JournalAction], object]
    ) -> None:
        """`on_reversed` is called after each undo and redo."""
        super().__init__(changes)
        self._on_reversed = on_reversed
        self._since = time.time() - LOOKBACK_SECONDS
        self._until = 0.0
        """When the checks end, by the monotonic clock: the other one may be put on or back. The
        first check comes when everything has been read."""
        self._looking: Job | None = None
        self._looked = self._look_cost = 0.0
        """When the last check ended, by the monotonic clock; seconds of the processor it took."""
        self._announced: set[tuple[int, Hashable]] = set()
        self._fault = ""
        self.overwritten: tuple[RevertedEdit, ...] = ()
        """Changes that were overwritten and have not been reapplied."""

    def handlers(self) -> ActionHandlers:
        return {
            "undo": partial(self.reverse, "undo"),
            "redo": partial(self.reverse, "redo"),
            "log": self._log,
            "again": self._reapply,
        }

    def refusal(self, action_id: str) -> str:
        """Return why the action is not possible now; empty if it is."""
        if why := self._selection.can_write():
            return why
        if action_id == "again" and not self.overwritten:
            return "none of your changes were overwritten"
        return ""

    # Undo and redo

    def reverse(self, action_id: str, number: int | None = None) -> None:
        """Undo the last change, redo the last undone one, or either for that with this number."""
        self._acts.start(self._reverse(action_id, number))

    async def _reverse(self, action_id: str, number: int | None) -> None:
        is_undo = action_id == "undo"

        def work(library: Library, report: Report) -> JournalAction:
            reverse = library.undo if is_undo else library.redo
            return reverse(number, report=report)

        action = await self._acts.write(work)
        word, title = actions.BY_ID[action_id].done, quoted(action.title)
        effects = "".join(f"\n{effect}" for effect in action.effects)
        self._screen.app.report(f"{word}: {title}{effects}", "redo" if is_undo else "undo")
        self._on_reversed(action)

    # The log

    async def _log(self) -> None:
        from memtui.tui.dialogs.log import LogScreen

        library = self._screen.worker.library
        changes = await self._acts.library(
            lambda library, _: library.log(MAX_LOGGED, void=False), group="log"
        )
        if library is None:
            return
        lost = {each.action.id for each in self.overwritten}
        answer = await self._acts.show(LogScreen(changes, library, lost))
        if answer is None:
            return
        what, value = answer
        if what == "go":
            self._screen.go_to_memory(value)
        else:
            await self._reverse(what, int(value))

    # Changes that agents reverted

    def watch(self) -> None:
        """After a change, check for some minutes whether another program reverted it."""
        self._until = time.monotonic() + WATCH_SECONDS

    def begin(self) -> None:
        """Check the changes of the last day once, then check after each change."""
        if not self._selection.can_write():
            self._until = time.monotonic() + LOOK_EVERY
            self._screen.set_interval(LOOK_EVERY, self._look_if_due)
            self.look()

    def _look_if_due(self) -> None:
        """Check, less often the more it costs."""
        if time.monotonic() - self._looked >= min(LONGEST_PAUSE, self._look_cost / LOOK_SHARE):
            self.look()

    def look(self) -> None:
        """Check whether other programs reverted memtui's edits, unless a check is running."""
        if time.monotonic() > self._until or self._screen.worker.is_writing:
            return
        if self._looking is not None and not self._looking.ended.is_set():
            return

        def found(library: Library, job: Job) -> tuple[RevertedEdit, ...]:
            job.rest()  # the first look opens the journal: SQLite is loaded for 30 ms
            begun = time.thread_time()
            reverted = tuple(library.find_reverted(self._since))
            self._looked, self._look_cost = time.monotonic(), time.thread_time() - begun
            return reverted

        self._looking = self._screen.worker.run(
            "overwritten", found, self._found, lambda _: self._announce_journal_fault()
        )

    def _announce_journal_fault(self) -> None:
        """Say once that the journal is damaged: what asks it in the background says nothing."""
        library = self._screen.worker.library
        fault = library.journal_fault if library is not None else ""
        if fault != self._fault:
            self._fault = fault
            if fault:
                self._screen.app.notify(fault, title="Journal", severity="error", timeout=15)

    def _announce_interrupted(self) -> None:
        """Say once what became of a change during which memtui was killed."""
        library = self._screen.worker.library
        if library is None or not library.interrupted:
            return
        interrupted, library.interrupted = library.interrupted, ()
        for action in interrupted:
            fates = {
                ActionState.VOID: "nothing of it was written",
                ActionState.UNDONE: "it is undone",
            }
            fate = fates.get(action.state, action.note or "it is complete")
            self._screen.app.notify(
                f"{quoted(action.title)}: {fate}{self._screen.app.hint('log')}",
                title="Interrupted change",
                severity="warning"
                if action.note or action.state is ActionState.VOID
                else "information",
                timeout=15,
            )

    def _found(self, overwritten: tuple[RevertedEdit, ...]) -> None:
        self._announce_journal_fault()
        self._announce_interrupted()
        before, self.overwritten = self.overwritten, overwritten
        if before != overwritten:
            self._screen.update_keys()
        new = [each for each in overwritten if (each.action.id, each.target) not in self._announced]
        self._announced = {(each.action.id, each.target) for each in overwritten}
        if new:
            title = text.cut_line(new[0].action.title, HEADLINE_CELLS)
            more = text.and_more(len(new) - 1)
            key = self._screen.app.hint("again")
            self._screen.app.notify(
                f"“{title}”{more}: {new[0].description}{key}",
                title="Your change was overwritten",
                severity="warning",
                timeout=15,
            )

    async def _reapply(self) -> None:
        """Show what applying reverted edits again would write; then do it, or leave them for
        good."""
        from memtui.library.reverted_edits import plan_reapply
        from memtui.tui.dialogs.diff import DiffScreen, Way

        reverted = self.overwritten
        planned = plan_reapply(reverted)
        found = await self._acts.library(lambda library, _: preview_of(planned, library))
        what = "; ".join(dict.fromkeys(each.description for each in reverted))
        summary = [OutcomeLine(what, Tone.WARNING), *describe_effects(found.planned.plans)]
        way = Way([OutcomeLine(_LEFT)], (), "leave it")
        dialog = DiffScreen(planned.title, summary, found.lines, yes="reapply", others=[way])
        number = await self._acts.show(dialog)
        if number is None:
            return
        if number == 1:
            await self._acts.apply(planned)
            what = text.cut_line(planned.title.removeprefix("again: "), HEADLINE_CELLS)
            self._screen.app.report(f"{actions.BY_ID['again'].done}: {what}")
        else:
            await self._acts.library(lambda library, _: library.decline_reapplying(reverted))
            self._screen.app.notify("Left as it is.")
        self.overwritten = ()


class RepairActions(WritingController):
    """Lists, shows, edits and restores files that cannot be read."""

    def handlers(self) -> ActionHandlers:
        return {"unreadable": self._list}

    def _list(self) -> None:
        from memtui.tui.dialogs.unreadable import UnreadableScreen

        library = self._screen.worker.library
        if library is not None:
            start = self._acts.start
            acts: dict[str, Callable[[Fault], None]] = {
                "show": lambda fault: start(self._show(fault)),
                "edit": self._edit,
                "restore": lambda fault: start(self._restore(fault)),
                "reveal": lambda fault: terminal.open_folder(self._screen.app, fault.path),
            }
            screen = UnreadableScreen(lambda: library.snapshot.stores, acts, self._has_copy)
            self._screen.app.push_screen(screen)

    def _has_copy(self, fault: Fault) -> bool:
        state = self._screen.app.launch.state
        if state is None or fault.store.read_only or broken_files.is_database(fault.path):
            return False
        return backups.last_good(fault.path, state) is not None

    def _edit(self, fault: Fault) -> None:
        self._open_source(fault.path, broken_files.fault_line(fault.item.reason))

    def _open_source(self, path: Path, line: int) -> None:
        terminal.open_source(self._screen.app, Place(str(path), max(1, line)))
        self._screen.worker.refresh()

    async def _inspect(self, fault: Fault) -> tuple[WritableStore, BrokenFile]:
        library, state = self._screen.worker.library, self._screen.app.launch.state
        assert library is not None, "it has said which files are unreadable"
        store = library.store(fault.store.label)
        broken = await self._acts.library(
            lambda *_: broken_files.inspect_file(store, fault.item.file, fault.item.reason, state),
            group="unreadable",
        )
        return store, broken

    async def _show(self, fault: Fault) -> None:
        from memtui.tui.dialogs.unreadable import BrokenScreen

        _, broken = await self._inspect(fault)
        answer = await self._acts.show(BrokenScreen(broken))
        if answer == "edit":
            self._open_source(broken.path, broken.line)
        elif answer is not None:
            await self._restore(fault)

    async def _restore(self, fault: Fault) -> None:
        """Show what restoring the last good copy of a file would write, then do it."""
        from memtui.tui.dialogs.diff import DiffScreen

        store, broken = await self._inspect(fault)
        state = self._screen.app.launch.state
        if state is None:
            return
        path = str(broken.path)
        found = await self._acts.library(
            lambda *_: preview_of(broken_files.plan_restore_copy(store, path, state))
        )
        effects = describe_effects(found.planned.plans)
        dialog = DiffScreen(found.planned.title, effects, found.lines, yes="restore")
        if await self._acts.show(dialog) is not None:
            await self._acts.apply(found.planned)
            undo = self._screen.app.hint("undo")
            self._screen.app.notify(f"Restored {broken.path.name}{undo}", timeout=4)
            self._screen.worker.refresh()
