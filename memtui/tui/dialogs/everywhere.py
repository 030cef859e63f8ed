"""Search everywhere: memories, their former versions and what was said in sessions, in one list."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from time import monotonic, sleep
from typing import Any

from msgspec.structs import replace
from rich.segment import Segment
from textual import on
from textual.app import ComposeResult
from textual.containers import Horizontal
from textual.widgets import Input, Static

from memtui import paths, text
from memtui.errors import ConfigError, MemtuiError
from memtui.library import Library
from memtui.model import Memory
from memtui.progress import Progress
from memtui.query import Sort, parse_query
from memtui.sessions import PROGRAMS, Message, Session, survey
from memtui.sessions.programs import Holdings, turn_off, turn_on
from memtui.tui.appearance import Palette, wrapped
from memtui.tui.dialogs.dialog import Key
from memtui.tui.dialogs.diff import CompareScreen
from memtui.tui.dialogs.list_page import ListPage, PageText
from memtui.tui.dialogs.prompts import ConfirmDialog
from memtui.tui.dialogs.session_programs import (
    Heading,
    Note,
    ProgramRow,
    ProgramsScreen,
    ResultList,
    Row,
    draw_terms,
    turning_on_question,
)
from memtui.tui.dialogs.session_reader import Passage, SessionReader
from memtui.tui.jobs import FileWatcher, Job, call_soon
from memtui.tui.key_queue import KeyHold
from memtui.tui.memory_detail import MemoryDetail
from memtui.tui.session_search import (
    Result,
    ResultKind,
    Results,
    Sessions,
    add_former,
    describe_session,
    search_everywhere,
    update_index,
)
from memtui.tui.transcript_lines import Transcript, TranscriptLines
from memtui.tui.widgets.diff_view import draw_text_diff
from memtui.tui.widgets.inputs import FilterInput
from memtui.tui.widgets.search_bar import CompletedInput
from memtui.tui.widgets.status_lines import ProgressLine
from memtui.tui.widgets.text_window import OutcomeLine, Tone

PLACEHOLDER = 'words, "a phrase", begin*, project:shop role:user session:1f program:codex since:7d'
SEARCH_WHILE_INDEXING = 2.0
"""Seconds between two searches of an index that grows."""
LOOK_AGAIN = 5.0
"""Seconds between two looks at the sessions where the system reports no changes of files."""
FORMER_PAUSE = 0.2
"""Seconds without another letter before former texts are searched: git is asked for them."""
MAX_COMPARED = 8_000
"""Characters of a former version that are compared in the preview."""
NOUNS = {
    ResultKind.MEMORY: "memory",
    ResultKind.FORMER: "former version",
    ResultKind.MESSAGE: "message",
}
INTRODUCTION = (
    "What you and your agents said is kept by the programs as sessions. memtui can search it, read "
    "it, and show the words that taught a memory. It reads no word of a session before you turn "
    "its program on here, and never changes one."
)
NOTHING_SAID = "Type to search memories, former versions and sessions."


class EverywhereInput(CompletedInput):
    """The search line; up and down move in the results."""

    BINDINGS = FilterInput.BINDINGS


class EverywhereScreen(ListPage[Row, str]):
    """Dismissed with the ref of a memory to go to."""

    AUTO_FOCUS = "EverywhereInput"
    rows: ResultList

    def __init__(self, sessions: Sessions, listed: CompletedInput, line: str = "") -> None:
        """`listed`: the search line of the list, whose words are offered here too; `line`: what is
        searched for at first."""
        super().__init__(ResultList())
        self._sessions, self._listed = sessions, listed
        self.line = line
        self._progress = ProgressLine()
        self._results = Results(())
        self._fault = ""
        """Why the last search found nothing; empty if it did not fail."""
        self._kept: dict[str, Holdings] = {}
        """What each program keeps here."""
        self._is_newest = False
        self._is_entered = False
        """The line is not being typed any more."""
        self._indexing: Job | None = None
        self._due: frozenset[str] | None = None
        """Files to look at after this update, all if empty; None: no other is due."""
        self._searched_at = 0.0
        self._watcher: FileWatcher | None = None
        self._key_hold = KeyHold(self.app.key_queue)
        self._unreadable: Sequence[str] = ()
        self.working = True

    def above(self) -> ComposeResult:
        with Horizontal(classes="query"):
            yield Static("everywhere \\", classes="prompt", markup=False)
            yield EverywhereInput(self.line, PLACEHOLDER)
        yield from super().above()
        yield self._progress

    @property
    def _on(self) -> tuple[str, ...]:
        """The programs whose sessions are read."""
        return tuple(n for n in self.app.settings.session_programs if n in PROGRAMS)

    def on_mount(self) -> None:
        self._progress.display = False
        self.rows.empty = "…"
        self._survey()
        self._update()
        self.set_interval(LOOK_AGAIN, self._look_again)

    def on_unmount(self) -> None:
        if self._indexing is not None:
            self._indexing.stop()
        if self._watcher is not None:
            self._watcher.end()
        self._key_hold.let_go()

    def lay_out(self) -> None:
        super().lay_out()
        self.show_row()  # a passage is laid out where it is read

    # The sessions and their index

    def _survey(self) -> None:
        """Count what the programs keep, without opening a file."""

        def count(_: Job) -> dict[str, Holdings]:
            return {name: survey(each, Path.home(), os.environ) for name, each in PROGRAMS.items()}

        def show(kept: dict[str, Holdings]) -> None:
            self._kept = kept
            self._show()

        self.worker.start("session-survey", count, self.if_open(show), only_reads=True)

    def _update(self, only: frozenset[str] = frozenset()) -> None:
        """Look for sessions and bring the index up to date, in processes of their own; `only`: the
        files that changed, unless all are looked at."""
        programs = self._on
        if self._indexing is not None:
            due = self._due if self._due is not None else only
            self._due = due | only if due and only else frozenset()
            return
        if not programs:
            self._sessions.clear()
            self.working = False
            self._search()
            return

        self._watch()  # before the sessions are read: what is written meanwhile is read after that
        if only:
            programs = tuple(name for name in programs if _keeps(name, only))
        else:
            self._progress.display = self.working
            self._progress.show("looking for sessions")

        watcher = self._watcher

        def work(job: Job) -> list[str]:
            if watcher is not None:
                watcher.wait_until_watching()
            self._sessions.look(only or None)
            if not only:
                job.call(self.if_open(lambda _: self._search()), None)
            return update_index(programs, job.report, job.is_cancelled, only)

        def done(unreadable: list[str]) -> None:
            unread = [str(each) for each in self._sessions.found.unreadable]
            self._unreadable = list(dict.fromkeys([*unreadable, *unread]))
            ended()

        def failed(error: MemtuiError) -> None:
            ended()
            self.app.report_error(error)

        def ended() -> None:
            self._indexing, self.working = None, False
            self._progress.display = False
            self._search()
            if self._due is not None:
                due, self._due = self._due, None
                self._update(due)

        self._indexing = self.worker.start(
            "session-index",
            work,
            self.if_open(done),
            self.if_open(failed),
            on_progress=self.if_open(self._show_progress),
            only_reads=True,
        )

    def _look_again(self) -> None:
        is_watched = self._watcher is not None and self._watcher.is_watching
        if self._on and self._indexing is None and not is_watched:
            self._update()

    def _show_progress(self, progress: Progress) -> None:
        if self._indexing is None:
            return
        self._progress.display = True
        self._progress.show(progress.what, progress.done, progress.total)
        if monotonic() - self._searched_at >= SEARCH_WHILE_INDEXING:
            self._search()

    def _watch(self) -> None:
        """Update the index when a program writes on."""
        roots = [root for name in self._on for root in _roots(name) if root.exists()]
        if self._watcher is None and roots:
            touched = self.if_open(self._update)
            self._watcher = FileWatcher(roots, lambda files: call_soon(self, touched, files))

    # Searching

    def _search(self) -> None:
        line, programs, newest = self.line, self._on, self._is_newest and bool(self.line.strip())
        sessions, now, typing = self._sessions, self.app.now(), not self._is_entered
        self._searched_at = monotonic()

        show = self.if_open(self._found)

        def search(library: Library, job: Job) -> Results:
            query = parse_query(line, now=now, typing=typing)
            if newest:
                query = replace(query, sort=Sort.NEW)
            found = search_everywhere(library, query, programs, sessions, job.is_cancelled)
            job.call(lambda: None if job.is_replaced else show(found))
            sleep(FORMER_PAUSE)
            return add_former(library, query, found, job.rest)

        def failed(error: MemtuiError) -> None:
            self._key_hold.let_go()
            self._results, self._fault = Results(()), text.one_line(str(error))
            self._show(stays=False)

        self.worker.run(
            "everywhere", search, self.if_open(self._found), self.if_open(failed), only_reads=True
        )

    def _found(self, results: Results) -> None:
        self._results, self._fault = results, ""
        line, listed = self.query_one(EverywhereInput), self._listed
        sessions = self._sessions.found.sessions
        line.vocabulary = listed.vocabulary
        line.counts = {
            **listed.counts,
            "project": Counter(each.project for each in sessions if each.project),
            "program": dict.fromkeys(self._on, 1),
            "session": Counter(each.id for each in sessions),
        }
        self._show(stays=self.rows.cursor > 1)
        self._key_hold.let_go()

    def _show(self, *, stays: bool = True) -> None:
        """Show the results, and what else can be done where no program is on."""
        if not self.is_mounted:
            return
        self.rows.empty = "no matches" if self.line.strip() else NOTHING_SAID
        self.rows.show(self._rows(), self._results.words, stays=stays)
        self.lay_out()

    def _rows(self) -> list[Row]:
        rows: list[Row] = [Note(self._fault)] if self._fault else []
        for kind in ResultKind:
            found = [each for each in self._results.found if each.kind is kind]
            if not found:
                continue
            total = max(len(found), self._results.totals.get(kind, 0))
            note = text.number(total)
            if total > len(found):
                note = f"the first {len(found)} of {text.number(total)}"
            title = str(kind).capitalize()
            if kind is ResultKind.MESSAGE and self.line.strip():
                title = "Said in sessions"
            rows += [Note("")] * bool(rows)
            rows += [Heading(title, note), *found]
        if not self._on and self._kept:
            rows += [Note("")] * bool(rows)
            rows += [Heading("Sessions", "no program is on")]
            width = max(20, min(100, self.rows.size.width - 4))
            rows += [Note(line) for line in text.wrap(INTRODUCTION, width)]
            rows.append(Note(""))
            here = [ProgramRow(n, k, False) for n, k in self._kept.items() if k.files]
            rows += here or [Note("No sessions of a known program are on this machine.")]
        return rows

    def head(self) -> Iterable[str]:
        counts = [
            text.counted(total, NOUNS[kind])
            for kind, total in self._results.totals.items()
            if total
        ]
        if not self.line.strip() and self._on:
            counts = [text.counted(len(self._sessions.found.sessions), "session")]
        order = "newest first" if self._is_newest else "best first"
        parts = [*counts, *([order] if self.line.strip() else [])]
        if self._on:
            parts.append(", ".join(PROGRAMS[name].title for name in self._on))
        if self._unreadable:
            parts.append(text.counted(len(self._unreadable), "file") + " cannot be read")
        parts += [text.one_line(hint) for hint in self._results.hints]
        return parts

    @on(Input.Changed)
    def _typed(self, event: Input.Changed) -> None:
        self.line, self._is_entered = event.value, False
        self.update_keys()
        self.rows.cursor = 0
        self._search()

    @on(Input.Submitted)
    def _entered(self) -> None:
        """Go to the results; the next keys are for those of the line as it is now."""
        self._is_entered = True
        self.rows.focus()
        self._key_hold.take()
        self._search()

    # The passage

    def look(self, row: Row) -> Callable[[Library, Job], PageText] | None:
        """What reads the messages around the one that was found."""
        if not isinstance(row, Result) or row.memory is not None or row.session is None:
            return None
        session, message, words = row.session, row.message, self._results.words
        palette, width = self.app.palette, self.text_width
        head = wrapped(describe_session(session), palette.heading, width)
        if row.is_gone:
            gone = wrapped("This message has changed since it was indexed.", palette.dim, width)
            return lambda *_: PageText([*head, [], *gone])

        def read(_: Library, job: Job) -> PageText:
            lines, at = _read_passage(session, message, words, palette, width, job)
            return PageText([*head, [], *lines], len(head) + 1 + at)

        return read

    def text_of(self, row: Row, seen: Any, palette: Palette, width: int) -> PageText:
        if isinstance(seen, PageText):
            return seen
        if isinstance(row, ProgramRow):
            return PageText(draw_terms(row, palette, width))
        if isinstance(row, Result) and row.memory is not None:
            return PageText(self._draw_memory(row.memory, self._current(row), width))
        return PageText(())

    def _draw_memory(
        self, memory: Memory, current: Memory | None, width: int
    ) -> list[list[Segment]]:
        """A memory; of a former version what is said now, with the differences marked."""
        palette = self.app.palette
        if current is None:
            detail = MemoryDetail(
                memory,
                (),
                self._results.words,
                palette,
                self.app.now(),
                width,
                store_name=self.app.store_name(memory.store),
            ).lines()
            detail.draw_all()
            return [list(detail[at].segments) for at in range(len(detail))]
        lines = wrapped("as it was, and what is said now", palette.dim, width)
        before, after = memory.full_text[:MAX_COMPARED], current.full_text[:MAX_COMPARED]
        drawn = draw_text_diff(before, after, palette, width - 1)
        return [*lines, [], *([Segment(" "), *line] for line in drawn)]

    def _current(self, row: Result) -> Memory | None:
        """What a former version was replaced by."""
        if row.kind is not ResultKind.FORMER or row.memory is None or row.current is not None:
            return row.current
        names = (f"{row.memory.store}:{id}" for id in row.memory.superseded_by)
        return next(filter(None, map(self.worker.find_memory, names)), None)

    # Keys

    @property
    def _is_typing(self) -> bool:
        return self.query_one(EverywhereInput).has_focus

    def _opens(self) -> str:
        row = self.rows.current
        if isinstance(row, ProgramRow):
            return "turn on"
        if isinstance(row, Result):
            return "compare" if row.kind is ResultKind.FORMER else "open"
        return ""

    def _orders(self) -> str:
        return ("best first" if self._is_newest else "newest first") * bool(self.line.strip())

    def _forgets(self) -> bool:
        row = self.rows.current
        return isinstance(row, Result) and row.session is not None

    def keys(self) -> list[tuple[str, str]]:
        if self._is_typing:
            first, others = self.query_one(EverywhereInput).offered(self.app.key_of("complete"))
            return [*first, ("enter", "to the results"), ("↑↓", "choose"), *others]
        return super().keys()

    def _go_to_line(self) -> None:
        self.query_one(EverywhereInput).focus()

    def _order(self) -> None:
        self._is_newest = not self._is_newest
        self._search()

    @on(ResultList.Opened)
    def _open(self) -> None:
        """Open what the cursor is on."""
        row = self.rows.current
        if isinstance(row, ProgramRow):
            self.app.ask(turning_on_question(row), lambda _: self._turn(row.name))
        elif not isinstance(row, Result):
            return
        elif row.memory is not None:
            if (current := self._current(row)) is not None:
                self.app.push_screen(CompareScreen(row.memory, current))
            else:
                self.dismiss(row.memory.ref)
        elif row.session is not None:
            passage = None
            if row.message is not None:
                passage = Passage.of(row.message, self._results.words)
            self.app.ask(SessionReader(row.session, self._sessions, passage), self.dismiss)

    def _programs(self) -> None:
        self.app.push_screen(ProgramsScreen(self._kept, self._turn))

    def _turn(self, name: str, *, on: bool = True) -> None:
        """Turn a program on or off, and search anew."""
        try:
            if on:
                turn_on(name)
            else:
                turn_off(name)
        except ConfigError as error:
            self.app.report_error(error)
            return
        self.app.reload_settings()
        if not on:

            def discard(_: Job) -> None:
                from memtui.search.index.session_index import SessionIndex

                SessionIndex(paths.cache_folder(), name).discard()

            self.worker.start("session-discard", discard, replaces=False)
        if self._watcher is not None:
            self._watcher.end()
            self._watcher = None
        self.app.report(
            f"Sessions of {PROGRAMS[name].title} are {'read' if on else 'not read any more'}",
            "",
        )
        self.working = True
        self._update()
        self._show()

    def _forget(self) -> None:
        """Ask whether to leave a session out from now on."""
        row = self.rows.current
        if not isinstance(row, Result) or row.session is None:
            return
        session = row.session
        body = (
            OutcomeLine(text.one_line(session.title) or text.one_line(session.id)),
            OutcomeLine(describe_session(session), Tone.QUIET),
            OutcomeLine(
                "Lists and searches leave it out, and its words are removed from the index."
            ),
            OutcomeLine(
                "Its transcript is not changed; `memtui sessions recall` takes this back.",
                Tone.QUIET,
            ),
        )

        def forget_it(_: str) -> None:
            def work(_: Job) -> None:
                from memtui.search.session_search import forget_session

                forget_session(paths.cache_folder(), session)
                self._sessions.look()

            def done(_: None) -> None:
                self.app.report("The session is left out from now on", "")
                self._search()

            self.worker.start("session-forget", work, self.if_open(done))

        self.app.ask(ConfirmDialog("Forget this session?", body, {"y": "forget"}), forget_it)

    KEYS = (
        Key("enter", "open", _open, _opens),
        Key("slash", "search", _go_to_line),
        Key("s", "newest first", _order, _orders),
        Key("p", "programs", _programs),
        Key("d", "forget session", _forget, _forgets),
    )


def _read_passage(
    session: Session,
    message: Message | None,
    words: tuple[str, ...],
    palette: Palette,
    width: int,
    job: Job,
) -> tuple[list[list[Segment]], int]:
    """The messages around one, or the beginning of a session, laid out, and the line to look at."""
    from memtui.search.session_search import read_beginning, read_neighbours

    before = list[Message]()
    if message is not None:
        before, behind = read_neighbours(session, message, job.is_cancelled)
        said = [*before, message, *behind]
    else:
        said = read_beginning(session, job.is_cancelled)
    transcript = Transcript()
    transcript.add(said)
    lines = TranscriptLines(transcript, (), PROGRAMS[session.program].title, palette, width)
    lines.highlight(words)
    for block in range(len(transcript.entries) + 1):
        lines.lay_out(block)
    at = 0
    if message is not None:
        at = lines.body_of(len(before) + 1)
        found = lines.find_highlight(len(before) + 1, -1, 1)
        at = lines.line_at((len(before) + 1, found)) if found >= 0 else at
    return [list(lines.line(number)) for number in range(len(lines))], at


def _roots(program: str) -> list[Path]:
    return PROGRAMS[program].roots(Path.home(), os.environ)


def _keeps(program: str, files: Iterable[str]) -> bool:
    """Whether one of the files is a program's."""
    roots = tuple(map(str, _roots(program)))
    return any(file.startswith(roots) for file in files)
