"""Background jobs that open, read, refresh and query the library for the screen.

A job touches no widget: it calls the screen on the screen's thread. A newer job of a kind cancels
the one before.
"""

from __future__ import annotations

from abc import abstractmethod
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from datetime import datetime
from functools import partial
from importlib import import_module
from threading import Event, Thread
from time import monotonic, sleep, thread_time
from types import MappingProxyType
from typing import TYPE_CHECKING, TypeVar, Unpack

from msgspec.structs import replace

from memtui import query as queries
from memtui import text
from memtui.errors import EmbeddingBusy, MemtuiError, Refused, StoreError
from memtui.model import Memory
from memtui.progress import Cancelled, IsCancelled, Progress, Report, never, silent, stoppable
from memtui.query import Condition, Query, TimeCondition
from memtui.tui import view_state
from memtui.tui.jobs import Failed, FileWatcher, Job, JobOptions, JobRunner, call_soon
from memtui.tui.widgets.line_api import SelectingScreen

if TYPE_CHECKING:
    from memtui.insight.lineage import Lineage
    from memtui.insight.statistics import Statistics
    from memtui.insight.timeline import Timeline, Unit
    from memtui.library import Library, SearchResult
    from memtui.library.broken_files import LossDetector, StoreLosses
    from memtui.library.past_library import PastLibrary
    from memtui.library.queried_stores import QueriedStores
    from memtui.library.snapshot import Snapshot
    from memtui.library.time_views import TimeData
    from memtui.stores.queryable import Position
    from memtui.tui.completion import Vocabulary

Answer = TypeVar("Answer")
EDITING_MODULE = "memtui.tui.controllers.editing"
"""Everything that writes; it needs the whole library, so it is loaded after the first paint."""
MARKDOWN_MODULE = "memtui.tui.markdown_lines"
"""The renderer of Markdown with its parser and lexers."""
OPENING = "the stores are still being opened"
REFRESH_EVERY = 1.0
"""Seconds between two looks at the stores; the design asks for changes within two."""
REFRESH_PAUSES = 4
"""Two looks at the stores are so many times as far apart as one takes of the processor."""
LONGEST_WAIT = 1.0
"""But no more than this, in seconds."""
REFRESH_SHARE = 0.0015
"""Share of the processor that the looks take while nothing happens and the system reports changes:
a quarter of the budget of an idle screen, 6 ms/s. Main thread, watcher and the look for further
stores take 3 ms/s beside."""
SHORTEST_PAUSE, LONGEST_PAUSE = 5.0, 60.0
"""Seconds between two looks then: some file systems report no changes of other machines. A look at
12,000 files takes 0.2 s of the processor; when the terminal gets the focus, one comes at once."""
NO_ROWS: Mapping[int, int] = MappingProxyType({})
ALL = Query(conditions=(Condition("status", ("all",)),))
LONGEST_SHOWING = 1.0
"""Seconds for which reading waits until the screen shows what was read so far."""
TYPING_REST = 0.08
"""Seconds without a letter after which queried stores count what they found by day."""
FOLLOW_SECONDS, FOLLOW_PAUSE, RETRY_SECONDS = 1.0, 0.05, 2.0
"""For which a queried store is waited for to change, after which its thread ends with the screen;
between two changes; after a failure."""
READ_AT_ONCE = 1_024
"""Memories between two reports of progress."""
MAX_TAGGED = 500
"""Newest memories whose tags are offered: to read them all would cost a second at 100,000."""


def read_slots(
    rows: Sequence[Memory],
    slots: Sequence[int],
    report: Report = silent,
    cancelled: IsCancelled = never,
) -> list[Memory]:
    """Return the memories in these slots. Raises Cancelled."""
    found: list[Memory] = []
    for slot in stoppable(slots, cancelled):
        if len(found) % READ_AT_ONCE == 0:
            report(Progress("reading memories", len(found), len(slots)))
        found.append(rows[int(slot)])
    return found


class LibraryScreen(SelectingScreen[None]):
    """A screen that shows a library: what the jobs that read and search it call."""

    last_seen: datetime | None
    """When the stores were last open on the screen; None if unknown."""

    @abstractmethod
    def stores_opened(self) -> None: ...

    @abstractmethod
    def rows_changed(
        self, fresh: Collection[int] = (), again: Mapping[int, int] = NO_ROWS
    ) -> None: ...

    @abstractmethod
    def all_read(self) -> None: ...

    @abstractmethod
    def writing_ready(self) -> None: ...

    @abstractmethod
    def index_ready(self) -> None: ...

    @abstractmethod
    def links_ready(self) -> None: ...

    @abstractmethod
    def show_losses(self, reports: Sequence[StoreLosses]) -> None: ...

    @abstractmethod
    def show_found(self, number: int, found: SearchResult) -> None: ...

    @abstractmethod
    def show_counts(self, number: int) -> None: ...

    @abstractmethod
    def show_overview(
        self, number: int, statistics: Statistics, timeline: Timeline, times: TimeData
    ) -> None: ...

    @abstractmethod
    def search_failed(self, error: MemtuiError) -> None: ...

    @abstractmethod
    def show_written(self) -> None: ...

    @abstractmethod
    def update_keys(self) -> None: ...


class LibraryWorker(JobRunner):
    """Asks the library in background jobs."""

    def __init__(
        self,
        screen: LibraryScreen,
        open_library: Callable[[], Library],
        show_progress: Callable[[Progress | None], None],
        learn: Callable[[Vocabulary, Mapping[str, int]], None],
    ) -> None:
        """`open_library`: called in a job; `show_progress`: as for `JobRunner`; `learn`: offers
        values, and tags with their numbers, to complete what is typed."""
        super().__init__(screen, show_progress)
        self._screen: LibraryScreen = screen
        self._open_library, self._learn = open_library, learn
        self.present: Library | None = None
        """The open stores as they are now."""
        self.past: PastLibrary | None = None
        """What is shown instead: the stores as of a time. Nothing can be written then."""
        self.past_time: TimeCondition | None = None
        self._number = 0
        self._finding: Job | None = None
        """The last search."""
        self._is_closed = Event()
        self._watcher: FileWatcher | None = None
        self._is_refresh_due = False
        """A refresh is about to begin."""
        self._refreshed = 0.0
        """When the stores were last looked at, by the monotonic clock."""
        self._refresh_cost = 0.0
        """Seconds of processor time that it took."""
        self.has_links = False
        """The links have been indexed once: backlinks are shown too."""
        self.is_writing = False
        """A change of memtui's own is being written: it reads the stores again itself."""
        self._is_put_off = False
        """A refresh came meanwhile; what it was about may be newer than what the write has read."""
        self._last_memories: Snapshot | None = None
        """The memories that were there at the last look, whatever their status."""
        self.shown = Event()
        """Set when a search of the rows that were last announced is on the screen."""
        self._is_read = Event()
        """Opening has read all stores."""
        self._losses: LossDetector | None = None
        """Made once the stores have been read: what was unreadable then is no news."""
        self._looked: int | None = None
        """The revision of the memories when they were last kept as seen."""
        self._has_own_change = False
        """memtui has written since its files were backed up: the last good copy is older."""

    @property
    def library(self) -> Library | None:
        """The shown library: the stores as they are now, or as of a time."""
        return self.past or self.present

    def read_rows(self, slots: Iterable[int]) -> list[Memory]:
        """The memories in these slots, in their order, without those that must be asked for."""
        if self.library is None:
            return []
        refs = map(self.library.ref_of, sorted(slots))
        return [memory for ref in refs if (memory := self.library.seen(ref)) is not None]

    def reader(self, slots: Iterable[int]) -> Callable[..., list[Memory]]:
        """Return what reads the memories of these rows as they are now, in slot order.

        Reading thousands takes long, so it is done in a job; it takes `report` and `cancelled`.
        """
        library = self.library
        if library is None:
            return lambda *_, **__: []
        rows, wanted = library.snapshot.rows, sorted(slots)
        if library.queried:
            return lambda *_, **__: library.read(wanted)

        def read(report: Report = silent, cancelled: IsCancelled = never) -> list[Memory]:
            return read_slots(rows, wanted, report, cancelled)

        return read

    def find_memory(self, ref: str) -> Memory | None:
        """The memory with this ref, if it is here; None if there is none."""
        return self.library.seen(ref) if self.library is not None and ref else None

    # As of a time

    def read_past(self, at: TimeCondition, library: Library, job: Job) -> PastLibrary:
        """Read the stores as of a time; call it in a background job. Raises Cancelled."""
        from memtui.library.past_library import library_at

        self.wait_until_read(job)
        return library_at(library, at.time, job.is_cancelled)

    def show_past(self, past: PastLibrary | None, at: TimeCondition | None) -> None:
        """Show the stores as of a time; both None: as they are now."""
        self.past, self.past_time = past, at

    def wait_until_read(self, job: Job) -> None:
        """Wait until all stores are read; call it in this background job. Raises Cancelled."""
        while not self._is_read.wait(0.05):
            if job.is_cancelled():
                raise Cancelled

    # Opening and reading

    def open(self) -> None:
        """Open the stores, read their rows, build the index."""
        self.start("open", self._open, only_reads=True)

    def _open(self, job: Job) -> None:
        screen = self._screen
        try:
            library = self._open_library()
        except MemtuiError as error:
            self._is_read.set()  # nothing will be
            words = text.visible(str(error))
            job.call(partial(screen.app.exit, return_code=1, message=words))
            return
        self.present = library
        job.call(screen.stores_opened)

        def report(progress: Progress) -> None:
            job.report(progress)
            self.shown.clear()
            job.call(screen.rows_changed)
            self.shown.wait(LONGEST_SHOWING)  # to read on meanwhile would make a key wait longer

        try:
            library.queried.refresh()  # what changes from now on is followed
            library.load(report, job.is_cancelled)
            self._is_read.set()
            job.call(screen.all_read)
            self._last_memories = library.snapshot
            from memtui.library.broken_files import LossDetector

            self._losses = LossDetector()
            self._losses.begin(library)
            self._offer_vocabulary(library, job)
            for module in (EDITING_MODULE, MARKDOWN_MODULE):  # neither screen nor rows wait for it
                import_module(module)
            job.call(screen.writing_ready)
            library.index(job.report, job.is_cancelled)
        except MemtuiError as error:
            job.call(screen.app.report_error, error)
        self._is_read.set()  # as far as they could be
        job.call(job.end_progress)
        if not job.is_cancelled():
            job.call(screen.index_ready)
            # Nobody waits for what follows.
            library.links.build(job.rest)
            self.has_links = not job.is_cancelled()
            job.call(screen.links_ready)
            job.rest()
            library.save_index(cancelled=job.rest)
            self._keep_files(library, job)
            self._take_look(job.rest)
            self._embed(library, job)

    def _take_look(self, cancelled: IsCancelled = never) -> None:
        """Keep what the screen shows as seen, for `memtui status`."""
        from memtui.library import looks

        if self.present is not None:
            self._looked = self.present.snapshot.revision
            looks.take(self.present, cancelled)

    def keep_look(self) -> None:
        """The same when the screen is left, if memories came since."""
        is_other = self.present is not None and self._looked != self.present.snapshot.revision
        if self._looked is not None and is_other:
            self._take_look()

    def _embed(self, library: Library, job: Job) -> None:
        """Compute embeddings, after everything else that opening does."""
        if library.can_embed and not job.is_cancelled():
            try:
                library.embed(cancelled=job.rest)
            except EmbeddingBusy:
                return
            except (MemtuiError, OSError) as error:
                job.call(self._screen.app.report_error, error)

    def refresh(self) -> None:
        """Read what changed in the stores."""
        if not self._is_refresh_due:
            self._is_refresh_due = True
            self.start("refresh", self._refresh, only_reads=True)

    def _refresh(self, job: Job) -> None:
        due = self._refreshed + REFRESH_PAUSES * self._refresh_cost
        sleep(max(0.0, min(LONGEST_WAIT, due - monotonic())))  # some programs write all the time
        self._is_refresh_due = False
        self._is_put_off = True  # before the question: a write may end right now
        library = self.present
        if library is None or self.is_writing:
            return
        self._is_put_off = False
        begun = thread_time()
        if news := library.refresh():
            self._show_news(library, job)
        self._refreshed, self._refresh_cost = monotonic(), thread_time() - begun
        if self._losses is not None and (reports := self._losses.check(library)):
            self._keep_files(library, job)  # what is gone is known from then on
            named = [self._with_author(each, library) for each in reports]
            job.call(self._screen.show_losses, named)
        if news:
            job.rest()
            self._offer_vocabulary(library, job)
        if news or self._has_own_change:
            self._has_own_change = False
            self._keep_files(library, job)

    def _with_author(self, report: StoreLosses, library: Library) -> StoreLosses:
        """The losses of a store with who deleted them, where a program's sessions are read."""
        if report.is_listed:
            return report
        from memtui.library.time_views import describe_deletions

        # The next refresh does not stop it: a loss is reported once.
        since, stopped = self._screen.last_seen, self._is_closed.is_set
        return replace(report, by=describe_deletions(library, report.store, since, stopped))

    def _keep_files(self, library: Library, job: Job) -> None:
        """Keep what the files hold now, for the time after another program has changed them."""
        from memtui.library.text_looks import keep_texts

        library.back_up_files(job.rest)
        looked = keep_texts(library, self._screen.app.settings.history, job.rest)
        if looked.fault:
            app = self._screen.app
            job.call(partial(app.notify, looked.fault, title="History", severity="warning"))

    def _show_news(self, library: Library, job: Job) -> None:
        """Show the present rows, and which of them are new."""
        before, self._last_memories = self._last_memories, library.snapshot
        changed = library.queried.take_changed()
        gone, come = library.diff_memories(before, self._last_memories)
        removed = before.take(gone) if before is not None else {}
        added = self._last_memories.take(come)
        fresh = view_state.find_changed(removed, added) | changed
        again = view_state.map_replaced(removed, added)
        job.call(self._screen.rows_changed, fresh, again)

    def _offer_vocabulary(self, library: Library, job: Job) -> None:
        """Offer the values for completion: those of all memories, tags of the newest."""
        from memtui.tui.completion import Vocabulary

        everything = library.find(ALL)
        facets, rows = everything.facets, everything.rows
        tags = Counter(tag for slot in everything.slots[:MAX_TAGGED] for tag in rows[slot].tags)
        values: dict[str, Iterable[str]] = {
            "type": facets.type,
            "entity": facets.entity,
            "tag": tags,
        }
        values["store"] = [library.names.of(label) for label in facets.store]
        job.call(self._learn, Vocabulary.of(values), dict(tags.most_common()))

    def writing_ended(self) -> None:
        """Refresh if that was asked for while a change was written."""
        self.is_writing = False
        if self._is_put_off:
            self.refresh()

    def accept_own_change(self, job: Job) -> None:
        """Take the present memories as known, since memtui wrote them; call it in a job."""
        if self.present is not None:
            self._last_memories = self.present.snapshot
            self._has_own_change = True
            if self._losses is not None:
                self._losses.accept(self.present)
            self._offer_vocabulary(self.present, job)

    def watch(self, disconnected: Callable[[], None]) -> None:
        """Refresh as soon as the system reports a change in the stores; `disconnected` is called
        when a queried store is away."""
        if self.present is None or self._is_closed.is_set():
            return
        if self._watcher is None:
            queried = self.present.queried
            roots = [s.root for s in self.present.stores if s.label not in queried.stores]
            if roots:
                touched = lambda _: call_soon(self._screen, self.refresh)  # noqa: E731
                self._watcher = FileWatcher(roots, touched)
            for label in queried.stores:
                follow = partial(self._follow, queried, label, disconnected)
                Thread(target=follow, name=f"follow {label}", daemon=True).start()

    def _follow(self, queried: QueriedStores, label: str, disconnected: Callable[[], None]) -> None:
        """Look again when others change a queried store, and when it is back."""
        while not self._is_closed.wait(FOLLOW_PAUSE):
            was_away = label in queried.faults
            try:
                if queried.wait_for_change(label, FOLLOW_SECONDS) or was_away:
                    call_soon(self._screen, self.refresh)
            except StoreError:
                if not was_away:
                    call_soon(self._screen, disconnected)
                self._is_closed.wait(RETRY_SECONDS)

    def end_watching(self) -> None:
        """Stop watching: the system allows only a few watchers."""
        self._is_closed.set()
        if self._watcher is not None:
            self._watcher.end()

    def close(self) -> None:
        """Stop watching and close the journal, before other stores are opened."""
        self.end_watching()
        if self.library is not None:
            self.library.close()

    def refresh_if_due(self) -> None:
        """Refresh; where the system reports changes, less often the more it costs."""
        if monotonic() - self._refreshed >= self._pause:
            self.refresh()

    @property
    def _pause(self) -> float:
        """Seconds to wait after a refresh."""
        library = self.present
        is_read = library is not None and len(library.queried.stores) < len(library.stores)
        if is_read and (self._watcher is None or not self._watcher.is_watching):
            return 0.0
        if self._losses is not None and self._losses.is_unsure:
            return SHORTEST_PAUSE  # one more look decides
        return max(SHORTEST_PAUSE, min(LONGEST_PAUSE, self._refresh_cost / REFRESH_SHARE))

    # Queries

    def find(
        self, query: Query, unit: Unit | None, near: tuple[Position, int] | None = None
    ) -> int:
        """Search in a job, with an overview of the results; returns the search's number.

        `near`: where the list of queried stores is looked at.
        """
        self._number += 1
        number = self._number
        if self._finding is not None and not self._finding.ended.is_set() and self.library:
            self.library.queried.cancel()
        self._finding = self.start(
            "find",
            lambda job: self._find(query, unit, number, job, near),
            failed=self._screen.search_failed,
            only_reads=True,
        )
        return number

    def _find(
        self,
        query: Query,
        unit: Unit | None,
        number: int,
        job: Job,
        near: tuple[Position, int] | None = None,
    ) -> None:
        library = self.library
        if library is None:
            return
        found = library.find(query, job.is_cancelled, near)
        if job.is_cancelled():
            return
        _ = found.hint, len(found.types)  # counted here: the screen would wait for it
        job.call(self._screen.show_found, number, found)
        if not found.are_facets_here:
            sleep(TYPING_REST)  # more letters may follow, and millions are not counted at once
            if job.is_cancelled():
                return
            _ = found.facets
            job.call(self._screen.show_counts, number)
        # The timeline shows what lies outside the chosen bar too, so that another can be chosen.
        whole = found
        if query.since or query.until:
            whole = library.find(replace(query, since=None, until=None), job.is_cancelled)
        if job.is_cancelled():
            return
        statistics = library.statistics(found, counted=False)
        timeline = library.timeline(whole, unit)
        if not job.is_cancelled():
            from memtui.library.time_views import read_times

            times = read_times(whole)
            job.call(self._screen.show_overview, number, statistics, timeline, times)
            if library.embed_query(query, job.is_cancelled) and not job.is_cancelled():
                self._find(query, unit, number, job)  # with the query's embedding from a server

    def relate(self, memory: Memory, show: Callable[[Memory, Lineage], None]) -> None:
        """Find in a job what a memory refers to, then also what refers to it."""

        def work(library: Library, job: Job) -> None:
            if not (self.has_links and library.links.is_current):
                job.call(show, memory, library.lineage(memory))
            if self.has_links and not job.is_cancelled():
                job.call(show, memory, library.lineage(memory, backlinks=True))

        self.run("relate", work, only_reads=True)

    def count(self, asked: Mapping[str, Query], done: Callable[[Mapping[str, int]], None]) -> None:
        """Count in a job what each of these queries would show."""

        def work(library: Library, job: Job) -> Mapping[str, int]:
            return {
                name: library.count(query, job.is_cancelled).value for name, query in asked.items()
            }

        self.run("count", work, done)

    def count_first(
        self, steps: Sequence[queries.Relaxed], done: Callable[[Mapping[str, int]], None]
    ) -> None:
        """Count in a job what the queries of the first step that finds anything would show."""

        def work(library: Library, job: Job) -> Mapping[str, int]:
            return queries.count_first(steps, lambda q: library.count(q, job.is_cancelled).value)

        self.run("count first", work, done, only_reads=True)

    def run(
        self,
        group: str,
        work: Callable[[Library, Job], Answer],
        done: Callable[[Answer], object] = lambda _: None,
        failed: Failed | None = None,
        *,
        present: bool = False,
        **options: Unpack[JobOptions],
    ) -> Job | None:
        """Start a job with the library; None, and `failed` called, while there is none.

        As `start`; `present`: ask the stores as they are now, whatever is shown.
        """
        library = self.present if present else self.library
        if library is None:
            if failed is not None:
                failed(Refused(OPENING))
            return None
        return self.start(group, lambda job: work(library, job), done, failed, **options)
