"""Reader of a session: what was said, tools folded, with the memories that it wrote at the top."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from msgspec import Struct
from textual import on
from textual.app import ComposeResult
from textual.binding import Binding
from textual.containers import Vertical
from textual.content import Content
from textual.widgets import Input, Static

from memtui import text
from memtui.errors import MemtuiError
from memtui.library import Library
from memtui.sessions import PROGRAMS, Kind, Message, Reading, Session
from memtui.tui.actions import works_here
from memtui.tui.clipboard import copy_text
from memtui.tui.dialogs.dialog import Dialog
from memtui.tui.jobs import Job
from memtui.tui.session_search import Sessions
from memtui.tui.terminal import page_text
from memtui.tui.transcript_lines import Entry, HeadLine
from memtui.tui.widgets.status_lines import KeyLine
from memtui.tui.widgets.transcript_view import TranscriptView

FIRST_BATCH, BATCH = 200, 2_000
"""Messages that are passed on at once: the first soon, so that they can be read."""


class Passage(Struct, frozen=True):
    """Where a reader begins."""

    offset: int
    text: str = ""
    """Of the message, since several may be of one line."""
    words: tuple[str, ...] = ()
    """What was searched for: highlighted, and what n and N go through."""

    @classmethod
    def of(cls, message: Message, words: Sequence[str] = ()) -> Passage:
        """The place of a message."""
        return cls(message.place.offset, message.text, tuple(words))


def find_head(session: Session, sessions: Sessions, library: Library, job: Job) -> list[HeadLine]:
    """The memories that a session wrote, and its subagents; called in a job."""
    from memtui.library.session_memories import find_written

    head = []
    for each in find_written(library, session, job.rest):
        note = "written here" if each.is_current else "written here, changed since"
        offset, headline = each.call.place.offset, each.memory.headline
        head.append(HeadLine("●", headline, note, ref=each.memory.ref, offset=offset))
    for below in sessions.below(session):
        head.append(HeadLine("↳", below.title or "a subagent", "subagent", session=below.id))
    return head


class SessionReader(Dialog[str]):
    """Dismissed with the ref of a memory to go to."""

    CSS_PATH = "dialogs.tcss"
    AUTO_FOCUS = "TranscriptView"
    leave = "back"
    BINDINGS = [
        ("escape", "leave"),
        ("q", "dismiss"),
        ("enter", "choose", "open"),
        ("space", "unfold", "fold"),
        Binding(
            "right_square_bracket,right_curly_bracket", "person(1)", "your words", key_display="[ ]"
        ),
        Binding("left_square_bracket,left_curly_bracket", "person(-1)", show=False),
        ("slash", "search", "search"),
        Binding("n", "match(1)", "next", key_display="n N"),
        Binding("N", "match(-1)", show=False),
        ("t", "toggle_all", "all tools"),
        ("y", "copy", "copy"),
        Binding("dollar_sign", "page", "pager", key_display="$"),
    ]

    def __init__(
        self, session: Session, sessions: Sessions, passage: Passage | None = None
    ) -> None:
        """`sessions`: all that are known; `passage`: where it begins, None: at the beginning."""
        super().__init__()
        self.session, self._sessions = session, sessions
        self._passage = passage
        self._agent = PROGRAMS[session.program].title
        self._view = TranscriptView(self._agent)
        self._view.is_held = passage is not None
        self._reading: Reading | None = None
        """What was passed over; None while messages are being read."""
        self._job: Job | None = None
        self._head: Sequence[HeadLine] = ()
        self._matches: list[int] = []
        """The entries with a word that is searched for."""
        self._match = -1
        self._typed = ""
        self.working = True

    def compose(self) -> ComposeResult:
        with Vertical(classes="page"):
            yield Static("", classes="head", markup=False)
            yield self._view
            line = Input(placeholder="search in this session", compact=True, id="reader-search")
            line.display = False
            yield line
            yield KeyLine(id="dialog-keys")

    def on_mount(self) -> None:
        self.app.clear_notifications()
        self.update_keys()
        self._read()
        self.worker.run(
            "session-head",
            lambda library, job: find_head(self.session, self._sessions, library, job),
            self.if_open(self._show_head),
            lambda _: None,
            replaces=False,
            only_reads=True,
        )

    def on_unmount(self) -> None:
        if self._job is not None:
            self._job.stop()

    def fill(self) -> None:
        self._say_head()

    # Reading

    def _read(self) -> None:
        program = PROGRAMS[self.session.program]
        add = self.if_open(self._add)

        def work(job: Job) -> Reading:
            reading, batch, most = Reading(), list[Message](), FIRST_BATCH
            for message in program.messages(self.session, reading):
                batch.append(message)
                if len(batch) >= most:
                    job.call(add, batch)
                    batch, most = [], BATCH
                    if job.rest():
                        break
            job.call(add, batch)
            return reading

        def failed(error: MemtuiError) -> None:
            self.working = False
            self._view.explain(f"cannot be read: {text.one_line(str(error))}")
            self._say_head()

        self._job = self.worker.start(
            "session-read",
            work,
            self.if_open(self._read_all),
            self.if_open(failed),
            replaces=False,
            only_reads=True,
        )

    def _add(self, messages: Sequence[Message]) -> None:
        self._view.add(messages)
        if self._view.is_held and self._passage is not None:
            number = self._view.transcript.find(self._passage.offset, self._passage.text)
            if number >= 0:
                self._begin(number)
        self._say_head()

    def _begin(self, number: int) -> None:
        """Show the messages from the passage on."""
        passage, self._passage = self._passage, None
        self._view.show_from(number)
        if passage is not None and passage.words:
            self.acts.start(self._search(passage.words, moves=False))
        self.update_keys()

    def _read_all(self, reading: Reading) -> None:
        self._reading, self.working = reading, False
        if self._view.is_held:
            self.app.notify("This passage is no longer in the session.", severity="warning")
            self._begin(-1)
        self._view.explain("No messages.")
        self._say_head()
        self.update_keys()

    def _show_head(self, head: Sequence[HeadLine]) -> None:
        self._head = head
        self._view.set_head(head)
        self._say_head()
        self.update_keys()

    def _say_head(self) -> None:
        session, count = self.session, len(self._view.transcript.entries)
        title = text.one_line(session.title) or ("a subagent" if session.is_sidechain else "")
        memories = sum(1 for line in self._head if line.ref)
        parts = [
            self._agent,
            text.one_line(session.project),
            text.date(session.started) if session.started else "",
            text.counted(count, "message") if not self.working else "reading …",
            text.counted(memories, "memory") if memories else "",
            title,
        ]
        if self._reading is not None and self._reading.skipped:
            parts.insert(-1, f"{text.counted(self._reading.skipped, 'line')} not understood")
        room = self.app.size.width - 2
        place = ""
        if self._matches:
            place = f"match in {self._match + 1} of {text.counted(len(self._matches), 'message')}"
            if self._match < 0:
                place = f"match in {text.counted(len(self._matches), 'message')}"
        elif self._typed:
            place = "no match"
        shown = " · ".join(filter(None, parts))
        if place:
            shown = text.pad(
                text.cut(shown, max(1, room - text.width(place) - 2)), room - text.width(place)
            )
        self.query_one(".head", Static).update(Content(text.cut(shown + place, max(1, room))))

    # Keys

    def labels(self) -> Mapping[str, object]:
        head, entry = self._view.head_line, self._view.entry
        is_tool = entry is not None and entry.is_tool
        label: object = "unfold" if is_tool else False
        if is_tool and self._view.lines.is_unfolded(self._view.at + 1):
            label = "fold"
        written = head is not None and head.offset >= 0
        return {
            "choose": (head is not None and "open") or False,
            "unfold": "where it was written" if written else label,
            "match(1)": bool(self._matches),
            "copy": entry is not None,
            "page": works_here("pager"),
            "toggle_all": "fold all" if self._view.lines.all_unfolded else "all tools",
        }

    @on(TranscriptView.Moved)
    def _moved(self) -> None:
        self.update_keys()

    def action_leave(self) -> None:
        """Leave the search first, then the session."""
        line = self.query_one("#reader-search", Input)
        if line.display:
            self._close_search()
        elif self._typed:
            self.acts.start(self._search((), moves=False))
        else:
            self.dismiss(None)

    def action_act(self, action_id: str) -> None:
        if action_id == "escape":
            self.action_leave()

    def action_choose(self) -> None:
        """Open what the line of the head names; elsewhere fold or unfold."""
        head = self._view.head_line
        if head is None:
            self.action_unfold()
        elif head.ref:
            self.dismiss(head.ref)
        elif head.session and (below := self._sessions.get(head.session)) is not None:
            self.app.ask(SessionReader(below, self._sessions), self.dismiss)

    def action_unfold(self) -> None:
        """Fold or unfold the tool; of a memory in the head, go to where it was written."""
        head = self._view.head_line
        if head is None:
            self._view.toggle()
        elif head.offset >= 0 and (number := self._view.transcript.find(head.offset)) >= 0:
            self._view.go_to_entry(number)
        self.update_keys()

    def action_toggle_all(self) -> None:
        self._view.toggle_all()
        self.update_keys()

    def action_person(self, step: int) -> None:
        if not self._view.step_person(step):
            self.app.report_refusal(f"no {'later' if step > 0 else 'earlier'} words of yours")

    def action_copy(self) -> None:
        """Copy the message under the cursor, a call with its answer."""
        if (entry := self._view.entry) is not None:
            copy_text(self.app, _whole(entry), "the message")

    def action_page(self) -> None:
        """Show the whole session in the pager."""
        self.acts.start(self._page())

    async def _page(self) -> None:
        entries = list(self._view.transcript.entries)
        words = await self.acts.library(
            lambda *_: "\n\n".join(
                f"{_heading(each, self._agent)}\n{_whole(each)}" for each in entries
            ),
            group="session-page",
            only_reads=True,
        )
        page_text(self.app, words)

    # Searching

    def action_search(self) -> None:
        line = self.query_one("#reader-search", Input)
        line.display = True
        line.value = ""
        line.focus()
        self.update_keys()

    def keys(self) -> list[tuple[str, str]]:
        if self.query_one("#reader-search", Input).display:
            return [("enter", "search")]
        return super().keys()

    def _close_search(self) -> None:
        self.query_one("#reader-search", Input).display = False
        self._view.focus()
        self.update_keys()

    @on(Input.Submitted)
    def _submitted(self, event: Input.Submitted) -> None:
        self._close_search()
        self.acts.start(
            self._search((event.value.strip(),) if event.value.strip() else (), moves=True)
        )

    async def _search(self, words: tuple[str, ...], *, moves: bool) -> None:
        """Find the entries with these words in a job, and go to the next one if `moves`."""
        self._typed = " ".join(words)
        entries = list(self._view.transcript.entries)
        self._matches, self._match = [], -1
        self._view.highlight(words)

        def find(_: object, job: Job) -> list[int]:
            found = []
            for number, entry in enumerate(entries):
                if number % 500 == 0 and job.is_cancelled():
                    break
                if text.highlights(entry.shown_text, words):
                    found.append(number)
            return found

        if words:
            found = await self.acts.library(find, group="session-find", only_reads=True)
            self._matches, at = found, self._view.at
            self._match = found.index(at) if at in found else -1
            if moves:
                self.action_match(1)
        if self.is_open:
            self._say_head()
            self.update_keys()

    def action_match(self, step: int) -> None:
        """Go to the next or previous match."""
        if self._matches:
            self._match = self._view.step_match(self._matches, step)
            self._say_head()
            self.update_keys()


def _whole(entry: Entry) -> str:
    result = f"\n\n{entry.result.text}" if entry.result is not None else ""
    return f"{entry.message.text}{result}"


def _heading(entry: Entry, agent: str) -> str:
    message = entry.message
    who = "you" if message.is_from_person else agent
    if message.kind is Kind.SUMMARY:
        who = "summary"
    elif message.call is not None:
        who = message.call.name or "result"
    return f"{text.date(message.time)}  {who}" if message.time else who
