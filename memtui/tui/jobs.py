"""Slow work in background threads, with results on the screen's thread; watching folders."""

from __future__ import annotations

import contextlib
import threading
from collections.abc import Callable, Sequence
from math import inf
from pathlib import Path
from threading import Event
from time import monotonic, sleep
from typing import TYPE_CHECKING, Any, TypedDict, TypeVar

from textual.worker import get_current_worker

from memtui.errors import MemtuiError
from memtui.progress import Cancelled, Progress
from memtui.tui.key_queue import KEY_REST
from memtui.tui.widgets.line_api import SelectingScreen

if TYPE_CHECKING:
    from textual.worker import Worker


Answer = TypeVar("Answer")
Failed = Callable[[MemtuiError], None]
REST_STEP = 0.05
"""Poll interval while paused, in seconds."""
LONGEST_REST = 1.0
"""Seconds after which a piece of it is done all the same: a held key does not stop it forever."""


class Job:
    """One piece of slow work: its function reports to it and asks it whether to go on."""

    def __init__(
        self,
        screen: SelectingScreen[None],
        on_progress: Callable[[Progress], None] | None,
        show_progress: Callable[[Progress | None], None],
    ) -> None:
        """`show_progress`: shows it where there is no `on_progress`, and ends that with None."""
        self._screen = screen
        self._on_progress, self._in_line = on_progress, show_progress
        self._progress: Progress | None = None
        """Reported, and not shown yet."""
        self._is_shown = False
        """The search line shows its progress."""
        self._is_stopped = False
        self._is_replaced = False
        self._worker: Worker[None] | None = None
        self.ended = Event()
        """Set when its thread has nothing more to do."""

    def is_cancelled(self) -> bool:
        """Whether a newer job replaced it or the user stopped it."""
        return self._is_stopped or self.is_replaced

    @property
    def is_replaced(self) -> bool:
        """Whether nobody waits for the result: a newer job of its group began, or the app ends."""
        return self._is_replaced or (self._worker is not None and self._worker.is_cancelled)

    def replace(self) -> None:
        """Drop its result, even one that is on its way to the screen's thread."""
        self._is_replaced = True

    def rest(self) -> bool:
        """Wait while the user presses keys; returns `is_cancelled`.

        Work that nobody waits for calls it between two pieces, in the place of `is_cancelled`: it
        would take the interpreter from the screen, which needs it for two to four times as long.
        """
        until = monotonic() + LONGEST_REST
        while not self.is_cancelled():
            now = monotonic()
            left = min(self._screen.app.key_queue.last_input + KEY_REST, until) - now
            if left <= 0:
                return False
            sleep(min(left, REST_STEP))
        return True

    def stop(self) -> None:
        """Request cancellation; `failed` gets what the work raises then."""
        self._is_stopped = True

    def report(self, progress: Progress) -> None:
        """Report the progress of the work; of several reports that wait only the last is shown."""
        is_waiting, self._progress = self._progress is not None, progress
        if not is_waiting:
            self.call(self._show_progress)

    def _show_progress(self) -> None:
        progress, self._progress = self._progress, None
        if progress is not None and self._on_progress is not None:
            self._on_progress(progress)
        elif progress is not None:
            self._is_shown = True
            self._in_line(progress)

    def end_progress(self) -> None:
        """Show nothing of it in the search line any more; on the screen's thread."""
        if self._is_shown:
            self._is_shown = False
            self._in_line(None)

    def call(self, function: Callable[..., object], *arguments: object) -> None:
        """Call a function on the screen's thread, unless the app ends."""
        call_soon(self._screen, function, *arguments)


def call_soon(
    screen: SelectingScreen[Any], function: Callable[..., object], *arguments: object
) -> None:
    """Call a function on the screen's thread, from any thread, unless the app ends."""

    def call() -> None:
        if not screen.app.is_ending:
            function(*arguments)

    with contextlib.suppress(RuntimeError):  # the app has ended meanwhile
        screen.call_later(call)


class JobOptions(TypedDict, total=False):
    """The options of `JobRunner.start`."""

    replaces: bool
    is_planning: bool
    on_progress: Callable[[Progress], None] | None
    only_reads: bool
    dropped: Callable[[], object] | None


class JobRunner:
    """Starts jobs, and handles their results and errors.

    A result goes to `done`, an expected error (MemtuiError) to `failed` or into a toast, and a
    programming error ends the app, which prints it as one line.
    """

    def __init__(
        self, screen: SelectingScreen[None], show_progress: Callable[[Progress | None], None]
    ) -> None:
        """`show_progress`: shows that of a job in the search line; None at its end."""
        self._screen, self._show_progress = screen, show_progress
        self._needed: set[Job] = set()
        """Jobs that run and must come to their end."""
        self._latest: dict[str, Job] = {}
        """Group -> its last job that replaced others."""

    def start(
        self,
        group: str,
        work: Callable[[Job], Answer],
        done: Callable[[Answer], object] | None = None,
        failed: Failed | None = None,
        *,
        replaces: bool = True,
        is_planning: bool = False,
        on_progress: Callable[[Progress], None] | None = None,
        only_reads: bool = False,
        dropped: Callable[[], object] | None = None,
    ) -> Job:
        """Run `work` in a thread.

        Args:
            group: Name of the kind of job.
            work: Called in the thread, with its job.
            done: Gets the result, on the screen's thread.
            failed: Gets an expected error, or that the work was stopped; default: a toast.
            replaces: Cancel the jobs of the group that still run; their results are dropped.
            is_planning: It plans a change: keep the keys back until the end; escape stops it.
            on_progress: Gets the progress; default: the end of the search line.
            only_reads: It writes nothing but the cache, so the program may end in its midst.
            dropped: Called in the place of `done` and `failed` where a newer job of the group, or
                `replace`, has taken its place.
        """
        app = self._screen.app
        job = Job(self._screen, on_progress, self._show_progress)
        if not only_reads:
            self._needed = {other for other in self._needed if not other.ended.is_set()} | {job}
        if replaces:
            if group in self._latest:
                self._latest[group].replace()
            self._latest[group] = job
        release = app.key_queue.hold(inf, job.stop) if is_planning else None

        def end(tell: Callable[..., object] | None, *arguments: object) -> None:
            job.end_progress()
            if job.is_replaced:
                tell, arguments = dropped, ()
            if tell is not None:
                tell(*arguments)
            if release is not None:
                release()

        def run() -> None:
            job._worker = get_current_worker()
            try:
                answer = work(job)
            except Cancelled as error:
                job.call(end, failed, MemtuiError(str(error) or "stopped"))
            except MemtuiError as error:
                job.call(end, failed or app.report_error, error)
            except Exception as error:
                job.call(app.give_up, error)
            else:
                job.call(end, done, answer)
            finally:
                job.ended.set()

        self._screen.run_worker(run, group=group, exclusive=replaces, thread=True, name=group)
        return job

    def wait(self) -> None:
        """Wait, after the app has ended, for all jobs that may write."""
        for job in self._needed:
            if job._worker is not None:  # its thread has begun
                job.ended.wait()


SETTLE_MS = 100
"""Changes this close together are reported once."""
WAKE_MS = 500
"""After so long the watcher returns to Python though nothing changed."""


LONGEST_BEGIN = 10.0
"""Seconds that are waited for the system to watch."""


class FileWatcher:
    """Calls `touched` with the files' paths, from a daemon thread, which never keeps the program
    from ending."""

    def __init__(self, roots: Sequence[Path], touched: Callable[[frozenset[str]], None]) -> None:
        self._folders = sorted({root if root.is_dir() else root.parent for root in roots})
        self._touched = touched
        self._ended = threading.Event()
        self.is_watching = True
        """False once the system reports no changes."""
        self._begun = threading.Event()
        threading.Thread(target=self._watch, name="watch", daemon=True).start()

    def end(self) -> None:
        self._ended.set()

    def wait_until_watching(self) -> None:
        """Wait until no change is missed any more, or it is clear that none is reported."""
        self._begun.wait(LONGEST_BEGIN)

    def _watch(self) -> None:
        from watchfiles import watch

        try:
            for changes in watch(
                *self._folders,
                step=SETTLE_MS,
                stop_event=self._ended,
                rust_timeout=WAKE_MS,
                yield_on_timeout=True,
                raise_interrupt=False,
            ):
                self._begun.set()
                if changes:
                    self._touched(frozenset(path for _, path in changes))
        except (OSError, RuntimeError):
            self.is_watching = False
            self._begun.set()
            return  # no inotify, too many watches, a folder gone: the re-scan sees it anyway
