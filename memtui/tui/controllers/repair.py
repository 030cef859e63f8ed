"""Unreadable files: list, show and edit them, restore the last good copy."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING

from memtui.files import backups
from memtui.library import repair
from memtui.library.repair import BrokenFile
from memtui.model import Place
from memtui.tui import key_bindings, terminal
from memtui.tui.change_worker import ChangeWorker, Preview, preview_of
from memtui.tui.controllers.changes import ChangeActions

if TYPE_CHECKING:
    from memtui.journal import JournalAction
    from memtui.library.planning import Planned
    from memtui.stores.base import WritableStore
    from memtui.tui.actions import ActionHandlers
    from memtui.tui.dialogs.unreadable import Fault
    from memtui.tui.screen_interface import ScreenInterface


class RepairActions:
    """Lists, shows, edits and restores files that cannot be read."""

    def __init__(
        self, screen: ScreenInterface, writer: ChangeWorker, changes: ChangeActions
    ) -> None:
        self._screen = screen
        self._writer = writer
        self._changes = changes

    def handlers(self) -> ActionHandlers:
        return {"unreadable": self._list}

    def _list(self) -> None:
        from memtui.tui.dialogs.unreadable import FaultActs, UnreadableScreen

        library = self._writer.library
        if library is None:
            return
        acts = FaultActs(
            self._edit, self._inspect_fault, self._restore_fault, self._reveal, self._has_copy
        )
        screen = UnreadableScreen(lambda: library.snapshot.stores, acts)
        self._screen.app.push_screen(screen)

    def _store_of(self, fault: Fault) -> WritableStore:
        library = self._writer.library
        assert library is not None, "it has said which files are unreadable"
        return library.store(fault.store.label)

    def _has_copy(self, fault: Fault) -> bool:
        state = self._screen.app.launch.state
        if state is None or fault.store.read_only or repair.is_database(fault.path):
            return False
        return backups.last_good(fault.path, state) is not None

    def _edit(self, fault: Fault) -> None:
        line = repair.fault_line(fault.item.reason)
        terminal.open_source(self._screen.app, Place(fault.item.file, max(1, line)))
        self._screen.worker.refresh()

    def _reveal(self, fault: Fault) -> None:
        terminal.open_folder(self._screen.app, fault.path)

    def _inspect_fault(self, fault: Fault) -> None:
        self._inspect(fault, partial(self._show, self._store_of(fault)))

    def _restore_fault(self, fault: Fault) -> None:
        self._inspect(fault, partial(self._restore, self._store_of(fault)))

    def _inspect(self, fault: Fault, done: Callable[[BrokenFile], None]) -> None:
        store, state = self._store_of(fault), self._screen.app.launch.state
        self._writer.ask(
            lambda _: repair.inspect_file(store, fault.item.file, fault.item.reason, state),
            done,
            self._changes.failed,
            "unreadable",
            opens=True,
        )

    def _show(self, store: WritableStore, broken: BrokenFile) -> None:
        from memtui.tui.dialogs.unreadable import BrokenScreen

        def answered(restore: bool | None) -> None:
            if restore:
                self._restore(store, broken)

        self._screen.app.push_screen(BrokenScreen(broken, self._screen.now), answered)

    def _restore(self, store: WritableStore, broken: BrokenFile) -> None:
        from memtui.tui.dialogs.diff import DiffScreen

        state = self._screen.app.launch.state
        if state is None:
            return

        def done(_: JournalAction) -> None:
            undo = key_bindings.hint("undo", self._screen.app.key_overrides)
            self._screen.app.notify(f"Restored {broken.path.name}{undo}", timeout=4)
            self._screen.worker.refresh()

        def planned(found: Preview) -> None:
            def answered(yes: bool | None) -> None:
                if yes:
                    self._writer.apply(found.planned, done, self._changes.failed)

            screen = DiffScreen(found.planned.title, (), found.lines, yes="restore")
            self._screen.app.push_screen(screen, answered)

        def plan(_: object) -> Preview:
            planned: Planned = repair.plan_restore_copy(store, str(broken.path), state)
            return preview_of(planned)

        self._writer.ask(plan, planned, self._changes.failed, "plan", opens=True)
