"""Files that another program broke: look at them, put the last good copy back."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from memtui.library import repair
from memtui.library.repair import BrokenFile
from memtui.tui import key_bindings
from memtui.tui.change_worker import ChangeWorker, Preview, preview_of
from memtui.tui.controllers.changes import ChangeActions

if TYPE_CHECKING:
    from memtui.journal import JournalAction
    from memtui.library.planning import Planned
    from memtui.stores.base import Unreadable, WritableStore
    from memtui.tui.actions import ActionHandlers
    from memtui.tui.screen_interface import ScreenInterface


class RepairActions:
    """BrokenFile files, opened read-only."""

    def __init__(
        self, screen: ScreenInterface, writer: ChangeWorker, changes: ChangeActions
    ) -> None:
        self._screen = screen
        self._writer = writer
        self._changes = changes

    def handlers(self) -> ActionHandlers:
        return {"broken": self._pick}

    def refusal(self) -> str:
        """Why there is nothing to look at; empty when there is."""
        return "" if self._broken() else "every file could be read"

    def _broken(self) -> list[tuple[str, Unreadable]]:
        """Store label and fault of each file."""
        library = self._writer.library
        states = library.snapshot.stores if library else ()
        return [(state.label, fault) for state in states for fault in state.unreadable]

    def _pick(self) -> None:
        from memtui.tui.dialogs.picker import Choice, Picker

        broken = self._broken()
        choices = []
        for number, (label, fault) in enumerate(broken):
            root = str(self._store(label).root)
            name = os.path.relpath(fault.file, root) if fault.file.startswith(root) else fault.file
            choices.append(Choice(str(number), name, note=fault.reason))
        if len(broken) == 1:
            self._look(*broken[0])
            return

        def picked(values: tuple[str, ...] | None) -> None:
            if values:
                self._look(*broken[int(values[0])])

        self._screen.app.push_screen(Picker("BrokenFile files", choices, several=False), picked)

    def _store(self, label: str) -> WritableStore:
        library = self._writer.library
        assert library is not None, "it has said which files are broken"
        return library.store(label)

    def _look(self, label: str, fault: Unreadable) -> None:
        store, state = self._store(label), self._screen.app.launch.state
        self._writer.ask(
            lambda _: repair.inspect_file(store, fault.file, fault.reason, state),
            lambda broken: self._show(store, broken),
            self._changes.failed,
            "broken",
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
