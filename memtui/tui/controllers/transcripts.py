"""Search everywhere, the reader of sessions, and from a memory to the words that taught it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from time import monotonic
from typing import TYPE_CHECKING, TypeVar

from memtui.progress import Cancelled
from memtui.tui.view_state import Choice

if TYPE_CHECKING:
    from memtui.model import Memory
    from memtui.sessions import Session
    from memtui.sessions.origin import Origin
    from memtui.tui.actions import ActionHandlers
    from memtui.tui.jobs import Job
    from memtui.tui.screens.browse import BrowseScreen
    from memtui.tui.session_search import Learned, Sessions

Found = TypeVar("Found")
LOOK_AGAIN = 60.0
"""Seconds after which sessions are looked for again, for what a memory was learned in."""
SHORTEST_WORD = 4
"""Letters of a word of a memory that is highlighted in what it looks like."""
MOST_KEPT = 200
"""Memories whose origin is kept."""


class TranscriptActions:
    """Opens what shows the sessions of agents. Their modules are imported when first needed."""

    def __init__(self, screen: BrowseScreen) -> None:
        self._screen = screen
        self._known: Sessions | None = None
        self._looked = -LOOK_AGAIN
        """When sessions were looked for."""
        self._line = ""
        """What was searched for last."""
        self._learned: dict[tuple[str, ...], Learned] = {}
        self._speakers: dict[tuple[str, ...], str] = {}
        """Of memories with a finding who said first what they say; empty if nobody is known."""

    def handlers(self) -> ActionHandlers:
        return {"everywhere": self._search, "learned": self._go_to_learned}

    @property
    def _sessions(self) -> Sessions:
        if self._known is None:
            from memtui.tui.session_search import Sessions

            self._known = Sessions()
        return self._known

    def _search(self) -> None:
        from memtui.tui.dialogs.everywhere import EverywhereScreen

        screen = self._screen
        line = self._line or screen.view.text.strip()
        dialog = EverywhereScreen(self._sessions, screen.search_bar.line, line)

        def closed(ref: str | None) -> None:
            self._line = dialog.line
            self._learned.clear()
            self._speakers.clear()
            if ref:
                self._go_to(ref)
            if screen.detail.memory is not None:
                self.learn(screen.detail.memory)
            screen.update_keys()

        screen.app.push_screen(dialog, closed)

    def _go_to(self, ref: str) -> None:
        """Go to a memory at its place in the list, which then shows everything."""
        from memtui.model import CURRENT
        from memtui.tui.view_state import ViewState

        screen = self._screen
        memory = screen.worker.find_memory(ref)
        if screen.go_to(ref) or memory is None:
            return
        if memory.status in CURRENT:
            screen.set_view(ViewState(""))
            screen.await_memory(ref)
        else:
            screen.go_to_memory(ref)

    # Learned

    @property
    def has_learned(self) -> bool:
        """Whether a session is known that taught the memory that is shown."""
        memory = self._screen.detail.memory
        known = self._learned.get(_key(memory)) if memory is not None else None
        return known is not None and bool(known.origins)

    def learn(self, memory: Memory) -> None:
        """Find in a job where a memory was learned, unless that is known; nothing is read where no
        program is on."""
        screen = self._screen
        if not screen.app.settings.session_programs:
            return
        if (known := self._learned.get(_key(memory))) is not None:
            self._show_learned(memory, known)
            return

        def find(job: Job) -> Learned:
            from memtui.tui.session_search import find_learned

            return find_learned(memory, self._look(job), job.rest)

        def show(found: Learned) -> None:
            _keep(self._learned, memory, found)
            self._show_learned(memory, found)
            screen.update_keys()

        screen.worker.start("learned", find, show, lambda _: None, only_reads=True)

    def sessions(self, job: Job) -> Sequence[Session]:
        """The sessions of the programs that are on, as of now: one that has just begun may have
        changed something. Called in a job. Raises Cancelled."""
        self._looked = -LOOK_AGAIN
        return self._look(job)

    def _look(self, job: Job) -> Sequence[Session]:
        """The sessions where a program is on, as of the last minute."""
        if job.rest():
            raise Cancelled
        if monotonic() - self._looked >= LOOK_AGAIN:
            self._sessions.look()
            self._looked = monotonic()
        return self._sessions.found.sessions

    def name_speaker(self, memory: Memory, done: Callable[[str], None]) -> None:
        """Find in a job who said first what a memory says; `done` gets it in words, if it is known
        and a program is on."""
        screen = self._screen
        if not screen.app.settings.session_programs:
            return
        if (known := self._speakers.get(_key(memory))) is not None:
            done(known)
            return

        def find(job: Job) -> str:
            from memtui.search.mentions import candidates, find_speakers

            sessions = candidates([memory], self._look(job))
            speakers = find_speakers([memory], sessions, job.rest).values()
            return next((each.describe() for each in speakers), "")

        def show(found: str) -> None:
            _keep(self._speakers, memory, found)
            done(found)

        screen.worker.start("speaker", find, show, lambda _: None, only_reads=True)

    def _show_learned(self, memory: Memory, known: Learned) -> None:
        """Show where a memory was learned, with the key that goes there."""
        key = self._screen.app.key_of("learned") if known.origins else ""
        words = f"{known.words} · {key} reads it" if key else known.words
        self._screen.detail.show_learned(memory.ref, words, known.used)

    async def _go_to_learned(self) -> None:
        """Read the session that taught the memory, from the words that did."""
        memory = self._screen.detail.memory
        known = self._learned.get(_key(memory)) if memory is not None else None
        if known is None or memory is None:
            return
        if len(known.origins) == 1:
            self._read(known.origins[0], memory)
            return
        from memtui.tui.session_search import describe_origin

        choices = [Choice(str(n), describe_origin(each)) for n, each in enumerate(known.origins)]
        number = await self._screen.acts.pick("Learned", choices, accept="read")
        if number is not None:
            self._read(known.origins[int(number)], memory)

    def _read(self, origin: Origin, memory: Memory) -> None:
        from memtui.search.analysis import QUESTION_WORDS, list_words
        from memtui.tui.dialogs.session_reader import Passage, SessionReader

        message = origin.words or origin.call
        words: list[str] = []
        if origin.strength is not None:  # its words are among others in that message
            words = [each for each in list_words(memory.full_text) if each not in QUESTION_WORDS]
            words = [each for each in words if len(each) >= SHORTEST_WORD]
        passage = Passage.of(message, words) if message is not None else None
        self._screen.app.ask(SessionReader(origin.session, self._sessions, passage), self._go_to)


def _keep(found: dict[tuple[str, ...], Found], memory: Memory, value: Found) -> None:
    """Keep what was found of a memory, in place of the oldest if it is much."""
    while len(found) >= MOST_KEPT:
        del found[next(iter(found))]
    found[_key(memory)] = value


def _key(memory: Memory) -> tuple[str, ...]:
    return memory.ref, memory.title, memory.content
