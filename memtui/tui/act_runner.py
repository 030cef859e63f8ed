"""Runs acts: what a person does, each one coroutine that is read from top to bottom.

An act asks the library (`await library(…)`), shows dialogs (`await show(…)`) and writes
(`await write(…)`). The next keys wait until it is done or a dialog is open: they are decided on
what the act has made. Writes run one at a time, in the order in which they were asked for.
"""

from __future__ import annotations

import asyncio
from abc import abstractmethod
from collections.abc import Callable, Coroutine, Sequence
from contextvars import ContextVar
from math import inf
from typing import TYPE_CHECKING, Any, TypeVar, Unpack

from memtui.errors import MemtuiError
from memtui.progress import Cancelled, Report
from memtui.tui.app_base import AppBase
from memtui.tui.jobs import Job, JobOptions
from memtui.tui.key_queue import KeyHold
from memtui.tui.library_worker import LibraryScreen, LibraryWorker

if TYPE_CHECKING:
    from textual.screen import Screen

    from memtui.files.permissions import Protected
    from memtui.journal import JournalAction
    from memtui.library import Library
    from memtui.library.planning import Planned
    from memtui.tui.view_state import Choice

Answer = TypeVar("Answer")
Running = Coroutine[Any, Any, None]


_HOLD: ContextVar[KeyHold | None] = ContextVar("hold", default=None)
"""Of the act that runs in this context: it keeps the keys back, but not while a dialog is open."""


class ActRunner:
    """Runs the acts of a screen."""

    def __init__(self, screen: LibraryScreen, worker: LibraryWorker) -> None:
        self._screen, self._worker = screen, worker
        self._tasks: set[asyncio.Task[None]] = set()
        self._writing = asyncio.Lock()
        self.has_written = False
        """A change was written since the stores were opened."""
        self.on_written: Callable[[], object] = lambda: None
        """Called after each write that has changed memories."""
        self.question: Callable[[Protected], Screen[str]]
        """Makes the dialog that asks whether files without write permission are replaced."""
        self.failed: Callable[[MemtuiError], object] = screen.app.report_error
        """Says the error that has ended an act."""

    def start(self, act: Running) -> None:
        """Begin an act; an expected error that ends it is said in a toast."""
        hold = KeyHold(self._screen.app.key_queue)
        hold.take(inf)
        task = asyncio.create_task(self._run(act, hold), name="act")
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    def stop(self) -> None:
        """Drop the acts that wait for something: the app ends."""
        for task in self._tasks:
            task.cancel()

    async def _run(self, act: Running, hold: KeyHold) -> None:
        _HOLD.set(hold)
        try:
            await act
        except MemtuiError as error:
            self.failed(error)
        except Exception as error:
            self._screen.app.give_up(error)
        finally:
            hold.let_go()
            if not self._screen.app.is_ending:
                self._screen.update_keys()

    async def library(
        self,
        work: Callable[[Library, Job], Answer],
        *,
        group: str = "plan",
        present: bool = False,
        **options: Unpack[JobOptions],
    ) -> Answer:
        """Ask the library in a job, which escape stops.

        Args:
            work: Called in a thread, with the library and the job.
            group: Name of the kind of job; a newer one of it ends the act.
            present: Ask the stores as they are now, whatever is shown.
            options: As for `JobRunner.start`.

        Raises:
            MemtuiError: The work raised it, or was stopped.
        """

        def run(library: Library, job: Job) -> Answer:
            answer = work(library, job)
            if job.is_cancelled() and options.get("is_planning"):
                raise Cancelled
            return answer

        ended: asyncio.Future[Callable[[], Answer]] = asyncio.get_running_loop().create_future()

        def end(answer: Callable[[], Answer]) -> None:
            if not ended.done():
                ended.set_result(answer)

        def failed(error: MemtuiError) -> None:
            def fail() -> Answer:
                raise error

            end(fail)

        options.setdefault("is_planning", True)
        options["dropped"] = ended.cancel
        self._worker.run(
            group,
            run,
            lambda answer: end(lambda: answer),
            failed,
            present=present,
            **options,
        )
        return (await ended)()

    async def show(self, dialog: Screen[Answer]) -> Answer | None:
        """Open a dialog, which gets the keys; return its answer, None if it was left."""
        hold = _HOLD.get()
        answered: asyncio.Future[Answer | None] = asyncio.get_running_loop().create_future()

        def answer(given: Answer | None) -> None:
            if hold is not None:
                hold.take(inf)
            if not answered.done():
                answered.set_result(given)

        self._screen.app.push_screen(dialog, answer)
        if hold is not None:
            hold.let_go()
        return await answered

    async def pick(self, title: str, choices: Sequence[Choice], **labels: str) -> str | None:
        """Let the person choose one of these; return its value, None if none was chosen."""
        chosen = await self.show(self._screen.app.picker(title, choices, **labels))
        return chosen[0] if chosen else None

    async def write(
        self, work: Callable[[Library, Report], Answer], *, to_stores: bool = True
    ) -> Answer:
        """Write in a job, after all writes that were asked for before.

        Where it would replace files without write permission, the person is asked. `to_stores`: it
        changes memories, and not only what memtui itself keeps; then the rows are searched again,
        and the next keys wait for them. Raises what the work raises.
        """
        from memtui.files.permissions import Protected, replacing_protected

        try:
            return await self._write(work, to_stores)
        except Protected as error:
            if await self.show(self.question(error)) is None:
                error.do = ""  # it names an option of commands
                raise

        def replacing(library: Library, report: Report) -> Answer:
            with replacing_protected():
                return work(library, report)

        return await self._write(replacing, to_stores)

    async def _write(self, work: Callable[[Library, Report], Answer], to_stores: bool) -> Answer:
        worker = self._worker

        def run(library: Library, job: Job) -> Answer:
            answer = work(library, job.report)
            if to_stores:
                worker.accept_own_change(job)
            return answer

        async with self._writing:
            worker.is_writing = True
            try:
                answer = await self.library(run, group="write", replaces=False, is_planning=False)
            finally:
                worker.writing_ended()
                if to_stores:
                    self._screen.show_written()
        if to_stores:
            self.has_written = True
            self.on_written()
        return answer

    async def apply(self, planned: Planned) -> JournalAction:
        """Write what was planned; return the action of the journal."""
        return await self.write(lambda library, report: library.apply(planned, report))


class ActApp(AppBase):
    """The app as dialogs see it."""

    @property
    @abstractmethod
    def acts(self) -> ActRunner:
        """Runs what a key does until it is done."""

    @property
    @abstractmethod
    def worker(self) -> LibraryWorker:
        """Runs background jobs and asks the library in them."""
