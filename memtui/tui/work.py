"""Everything slow: thread workers that ask the library and post what they learn.

A worker touches no widget. Each runs exclusively in its group, so a newer request of a kind
cancels the older one, which notices at its next look at `is_cancelled`.
"""

from __future__ import annotations

import contextlib
from collections import Counter
from collections.abc import Callable, Collection, Mapping
from dataclasses import replace
from importlib import import_module
from time import monotonic
from typing import TYPE_CHECKING, TypeVar

from textual.message import Message
from textual.worker import get_current_worker

from memtui.errors import EmbeddingBusy, MemtuiError
from memtui.model import Memory
from memtui.progress import Cancelled, Progress
from memtui.query import Condition, Query
from memtui.tui import cursor_restore, messages
from memtui.tui.completion import Vocabulary
from memtui.tui.file_watcher import FileWatcher

if TYPE_CHECKING:
    from textual.screen import Screen

    from memtui.insight.timeline import Unit
    from memtui.library import Library
    from memtui.library.losses import LossDetector
    from memtui.library.snapshot import MemorySet

Post = Callable[[Message], bool]
Answer = TypeVar("Answer")
CHANGING = "memtui.tui.controllers.editing"
"""Everything that writes; it needs the whole library, so it is loaded after the first paint."""
REFRESH_EVERY = 1.0
"""Seconds between two looks at the stores; the design asks for changes within two."""
WORD = 0.5
"""Seconds after a letter in which the next one is expected, and no such look is taken."""
ALL = Query(conditions=(Condition("status", ("all",)),))
TAGS_FROM = 500
"""Newest memories whose tags are offered: to read them all would cost a second at 100,000."""
BACKLINKS_UP_TO = 5_000
"""Memories up to which the whole store is looked through for links to one of them."""


class Workers:
    """The screen's workers; `open_library` is called in one of them."""

    def __init__(self, open_library: Callable[[], Library]) -> None:
        self._screen: Screen[None]
        self._open_library = open_library
        self.library: Library | None = None
        self._number = 0
        self._asked = 0.0
        """When a search was last asked for, by the monotonic clock."""
        self._watcher: FileWatcher | None = None
        self.holding = False
        """A change of our own is being written: it is read again when it is done."""
        self._present: MemorySet | None = None
        """The memories that were there at the last look, whatever their status."""
        self._losses: LossDetector | None = None
        """Made once the stores have been read: what was unreadable then is no news."""

    def serve(self, screen: Screen[None]) -> None:
        """The screen that gets the answers."""
        self._screen = screen

    def _run(self, work: Callable[[], None], group: str) -> None:
        def safely() -> None:
            try:
                work()
            except Exception as error:
                if not isinstance(error, Cancelled):  # a fault: told once the screen is gone
                    self._screen.post_message(messages.Faulted(error))

        self._screen.run_worker(safely, group=group, exclusive=True, thread=True, name=group)

    # Opening and reading

    def open(self) -> None:
        """Open the stores, read their rows, make the index; post as it goes."""
        self._run(self._open, "open")

    def _open(self) -> None:
        post = self._screen.post_message
        worker = get_current_worker()
        try:
            library = self._open_library()
        except MemtuiError as error:
            post(messages.LibraryFailed(str(error)))
            return
        self.library = library
        post(messages.LibraryOpened(library))

        def report(progress: Progress) -> None:
            post(messages.Progressed(progress))
            post(messages.RowsChanged())

        def cancelled() -> bool:
            return worker.is_cancelled

        try:
            library.load(report, cancelled)
            post(messages.RowsChanged(complete=True))
            self._present = library.current_memories()
            self._losses = self._loss_detector(library)
            self._learn(library)
            import_module(CHANGING)  # here, so that neither the screen nor the rows wait for it
            post(messages.WritingReady())
            library.index(lambda progress: _ignore(post(messages.Progressed(progress))), cancelled)
        except MemtuiError as error:
            post(messages.WorkFailed(str(error)))
        post(messages.Progressed(None))
        if not worker.is_cancelled:
            post(messages.IndexReady())
            library.save_index(cancelled=cancelled)
            library.back_up_files(cancelled)
            self._embed(library, cancelled)

    def _loss_detector(self, library: Library) -> LossDetector:
        from memtui.library.losses import LossDetector

        detector = LossDetector()
        detector.accept(library)
        return detector

    def _embed(self, library: Library, cancelled: Callable[[], bool]) -> None:
        """Last of all, for nothing waits for it: vectors for search by meaning."""
        if library.can_embed and not cancelled():
            try:
                library.embed(cancelled=cancelled)
            except EmbeddingBusy:
                return
            except (MemtuiError, OSError) as error:
                self._screen.post_message(messages.WorkFailed(str(error)))

    def refresh(self, touched: Collection[str] = ()) -> None:
        """Look whether the stores changed, at the `touched` files first."""
        self._run(lambda: self._refresh(touched), "refresh")

    def _refresh(self, touched: Collection[str]) -> None:
        library = self.library
        if library is None or self.holding:
            return
        try:
            news = bool(touched) and library.refresh_files(touched)
            if news:
                self._show_news(library)
            if library.refresh():
                self._show_news(library)
                news = True
        except MemtuiError as error:
            self._screen.post_message(messages.WorkFailed(str(error)))
            return
        if self._losses is not None and (reports := self._losses.check(library)):
            self._screen.post_message(messages.LossesSeen(reports))
        if news:
            self._learn(library)
            worker = get_current_worker()
            library.back_up_files(lambda: worker.is_cancelled)

    def _show_news(self, library: Library) -> None:
        """Have the list show what there is now, and what of it is new."""
        before, self._present = self._present, library.current_memories()
        went, came = library.diff_memories(before, self._present)
        gone = before.rows.with_serials(went) if before is not None else {}
        come = self._present.rows.with_serials(came)
        fresh, again = (
            cursor_restore.find_changed(gone, come),
            cursor_restore.map_replaced(gone, come),
        )
        self._screen.post_message(messages.RowsChanged(complete=True, fresh=fresh, again=again))

    def _learn(self, library: Library) -> None:
        """What there is to complete to: values of all memories, tags of the newest."""
        everything = library.find(ALL)
        facets, rows = everything.facets, everything.rows
        tags = Counter(tag for slot in everything.slots[:TAGS_FROM] for tag in rows[slot].tags)
        values = {"type": facets.type, "entity": facets.entity, "store": facets.store, "tag": tags}
        learned = messages.Learned(Vocabulary.of(values), dict(tags.most_common()))
        self._screen.post_message(learned)

    def hold(self) -> None:
        """Do not look at the stores while we write ourselves."""
        self.holding = True

    def release(self) -> None:
        self.holding = False

    def know(self) -> None:
        """In a worker: what is there now is no news, we wrote it ourselves."""
        if self.library is not None:
            self._present = self.library.current_memories()
            if self._losses is not None:
                self._losses.accept(self.library)
            self._learn(self.library)

    def watch(self) -> None:
        """Look again every so often, and at once when the system tells of a change."""
        if self.library is not None and self._watcher is None:
            roots = [store.root for store in self.library.stores]
            self._watcher = FileWatcher(roots, self._touched)
            self._screen.set_interval(REFRESH_EVERY, self._refresh_unless_asked)

    def _refresh_unless_asked(self) -> None:
        """Not in the middle of a word: a look at 100,000 memories takes a fifth of a second."""
        if monotonic() - self._asked > WORD:
            self.refresh()

    def _touched(self, files: Collection[str]) -> None:
        with contextlib.suppress(RuntimeError):  # the app has ended meanwhile
            self._screen.app.call_from_thread(self.refresh, files)

    # Asking

    def find(self, query: Query, unit: Unit | None) -> int:
        """Ask for what the query finds and the overview of it; returns the search's number."""
        self._number += 1
        self._asked = monotonic()
        number = self._number
        self._run(lambda: self._find(query, unit, number), "find")
        return number

    def _find(self, query: Query, unit: Unit | None, number: int) -> None:
        library, worker = self.library, get_current_worker()
        if library is None:
            return

        def cancelled() -> bool:
            return worker.is_cancelled

        found = library.find(query, cancelled)
        if worker.is_cancelled:
            return
        self._screen.post_message(messages.FoundMemories(found, number))
        # The timeline shows what lies outside the chosen bar too, so that another can be chosen.
        whole = found
        if query.since or query.until:
            whole = library.find(replace(query, since=None, until=None), cancelled)
        if worker.is_cancelled:
            return
        statistics = library.statistics(found, counted=False)
        timeline = library.timeline(whole, unit)
        if not worker.is_cancelled:
            overview = messages.Overview(statistics, timeline)
            self._screen.post_message(messages.Overviewed(overview, number))
            if library.embed_query(query, cancelled) and not worker.is_cancelled:
                self._find(query, unit, number)  # a server has said what it means

    def find_fresh(self, query: Query) -> None:
        """Ask which memories came since the stores were last looked at."""
        self._run(lambda: self._find_fresh(query), "fresh")

    def _find_fresh(self, query: Query) -> None:
        if self.library is not None:
            found = self.library.find(query)
            serials = frozenset(map(found.rows.serial, found.slots))
            self._screen.post_message(messages.FreshFound(serials))

    def relate(self, memory: Memory) -> None:
        """Ask what a memory refers to."""
        self._run(lambda: self._relate(memory), "relate")

    def _relate(self, memory: Memory) -> None:
        if self.library is not None:
            small = self.library.snapshot.count <= BACKLINKS_UP_TO
            lineage = self.library.lineage(memory, backlinks=small)
            self._screen.post_message(messages.Related(memory, lineage))

    def count(
        self, queries: Mapping[str, Query], done: Callable[[Mapping[str, int]], None]
    ) -> None:
        """Count what each of these queries would show; `done` is called on the screen's thread."""
        self._run(lambda: self._count(queries, done), "count")

    def _count(
        self, queries: Mapping[str, Query], done: Callable[[Mapping[str, int]], None]
    ) -> None:
        library, worker = self.library, get_current_worker()
        if library is None:
            return
        counts = {}
        for name, query in queries.items():
            counts[name] = library.find(query, lambda: worker.is_cancelled).total
            if worker.is_cancelled:
                return
        self._screen.post_message(messages.Answered(lambda: done(counts)))

    def ask(
        self, group: str, question: Callable[[Library], Answer], done: Callable[[Answer], None]
    ) -> None:
        """Ask the library something; `done` gets the answer on the screen's thread."""

        def work() -> None:
            library, worker = self.library, get_current_worker()
            if library is None:
                return
            try:
                answer = question(library)
            except MemtuiError as error:
                self._screen.post_message(messages.WorkFailed(str(error)))
                return
            if not worker.is_cancelled:
                self._screen.post_message(messages.Answered(lambda: done(answer)))

        self._run(work, group)


def _ignore(_: object) -> None:
    return None
