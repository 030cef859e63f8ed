"""Planning and doing changes in workers: one write at a time, answers told on the screen's thread.

Planning may be asked for again and again while a person types; a newer question of a kind replaces
an older one. Writes wait for each other in the order in which they were asked for.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, TypeVar

from textual.worker import get_current_worker

from memtui import text
from memtui.changes import Change
from memtui.errors import ForeignOwner, MemtuiError, Refused
from memtui.tui import messages
from memtui.tui.diff_lines import DiffLine, diff_files

if TYPE_CHECKING:
    from memtui.journal import JournalAction
    from memtui.library import Library
    from memtui.library.planning import Planned
    from memtui.tui.screen_interface import ScreenInterface

Answer = TypeVar("Answer")
Told = Callable[[Answer], None]
Failed = Callable[[MemtuiError], None]


@dataclass(frozen=True, slots=True)
class Preview:
    """A plan and what it does to each file, ready to be shown."""

    planned: Planned
    lines: tuple[DiffLine, ...]


def preview(library: Library, changes: Sequence[Change], title: str = "") -> Preview:
    """Plan these changes and work out their diffs. Raises what planning raises."""
    return previewed(library.plan(changes, title))


def previewed(planned: Planned) -> Preview:
    return Preview(planned, tuple(diff_files(planned.diffs())))


class ChangeWorker:
    """The screen's hands: everything that plans or writes goes through here."""

    def __init__(self, screen: ScreenInterface) -> None:
        self._screen = screen
        self._waiting: deque[Callable[[], None]] = deque()
        self._writing = False
        self.on_written: Callable[[], None] = _nothing
        """Called after each write that succeeded."""

    @property
    def library(self) -> Library | None:
        return self._screen.work.library

    def ask(
        self,
        work: Callable[[Library], Answer],
        done: Told[Answer],
        failed: Failed,
        group: str,
        *,
        opens: bool = False,
    ) -> None:
        """Let a worker find something out; `done` or `failed` is called with what it found.

        With `opens` the answer opens or closes a dialog, for which the keys typed next are meant:
        they wait for it.
        """
        library = self.library
        if library is None:
            failed(Refused("the stores are still being opened"))
            return
        release = self._screen.app.key_queue.hold() if opens else _nothing

        def tell(told: Callable[[], None]) -> None:
            told()
            release()

        def run() -> None:
            worker = get_current_worker()
            try:
                answer = work(library)
            except MemtuiError as error:
                reason = error
                if not worker.is_cancelled:
                    self._tell(lambda: tell(lambda: failed(reason)))
            else:
                if not worker.is_cancelled:
                    self._tell(lambda: tell(lambda: done(answer)))

        self._screen.run_worker(run, group=group, exclusive=True, thread=True, name=group)

    def write(self, work: Callable[[Library], Answer], done: Told[Answer], failed: Failed) -> None:
        """Let a worker write, after all writes that were asked for before."""
        self._waiting.append(lambda: self._write(work, done, failed))
        self._next()

    def apply(self, planned: Planned, done: Told[JournalAction], failed: Failed) -> None:
        """Do what was planned, through the one way to write."""
        self.write(lambda library: library.apply(planned), done, failed)

    def _next(self) -> None:
        if self._waiting and not self._writing:
            self._writing = True
            self._screen.work.hold()
            self._waiting.popleft()()

    def _write(self, work: Callable[[Library], Answer], done: Told[Answer], failed: Failed) -> None:
        def ended(tell: Callable[[], None]) -> None:
            self._writing = False
            self._screen.work.release()
            self._screen.search_again()
            tell()
            self._next()

        library = self.library
        if library is None:
            ended(lambda: failed(Refused("the stores are still being opened")))
            return

        def succeeded(answer: Answer) -> None:
            self.on_written()
            done(answer)

        def run() -> None:
            try:
                answer = work(library)
            except ForeignOwner as error:
                foreign = error
                self._tell(lambda: ended(lambda: self._ask_owner(foreign, work, done, failed)))
            except MemtuiError as error:
                reason = error
                self._tell(lambda: ended(lambda: failed(reason)))
            else:
                self._screen.work.know()
                self._tell(lambda: ended(lambda: succeeded(answer)))

        self._screen.run_worker(run, group="write", exclusive=False, thread=True, name="write")

    def _ask_owner(
        self,
        error: ForeignOwner,
        work: Callable[[Library], Answer],
        done: Told[Answer],
        failed: Failed,
    ) -> None:
        """Write it after all, if the person agrees that a file gets another owner."""
        from memtui.tui.dialogs.dialog import ConfirmDialog, Reply
        from memtui.tui.widgets.outcome import OutcomeLine, Tone

        def answered(answer: str | None) -> None:
            if answer is None or self.library is None:
                failed(error)
                return
            self.library.accept_ownership(error.path)
            self.write(work, done, failed)

        name = text.file_name(str(error.path))
        said = (
            OutcomeLine(name),
            OutcomeLine(f"{error.what[:1].upper()}{error.what[1:]}.", Tone.WARNING),
        )
        replies = (Reply("y", "change it and save", "yes"),)
        self._screen.app.push_screen(
            ConfirmDialog("Change the owner of the file?", said, replies, "do not save"), answered
        )

    def _tell(self, tell: Callable[[], None]) -> None:
        self._screen.post_message(messages.Answered(tell))


def _nothing() -> None:
    return None
