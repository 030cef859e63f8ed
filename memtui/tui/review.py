"""The review: scans aside, shows what was found, and carries out what is decided."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection, Coroutine, Sequence
from contextlib import suppress
from functools import partial
from time import monotonic
from typing import TYPE_CHECKING, Any

from msgspec import Struct
from msgspec.structs import replace
from rich.segment import Segment
from rich.style import Style
from textual import on
from textual.app import ComposeResult
from textual.binding import Binding
from textual.containers import Container
from textual.content import Content
from textual.widgets import TextArea

from memtui import text
from memtui.changes import Act, Change
from memtui.errors import MemtuiError, Refused, SaveError, WorkerError
from memtui.files.drafts import DraftFile, FormDraft, new_form_draft
from memtui.library import Library
from memtui.library.agent_proposals import AgentProposals, declining
from memtui.library.planning import Planned
from memtui.library.review import ReviewQueue, describe_copies
from memtui.library.review_files import (
    Decision,
    Queue,
    ReviewRow,
    group_of,
    off_names,
    queue_rows,
)
from memtui.model import Memory
from memtui.progress import Progress, Report
from memtui.tui.actions import ActionHandlers
from memtui.tui.appearance import Palette, wrapped
from memtui.tui.change_log import JournalActions
from memtui.tui.controllers.changes import HEADLINE_CELLS, ChangeActions, WritingController
from memtui.tui.dialogs.dialog import FittingDialog, Key, TextDialog
from memtui.tui.dialogs.diff import DiffScreen
from memtui.tui.dialogs.prompts import DISCARD, ConfirmDialog, PromptDialog, discard_question
from memtui.tui.diff_lines import DiffLine
from memtui.tui.jobs import Job
from memtui.tui.previews import MAX_LISTED, Preview, describe_effects, preview_of
from memtui.tui.view_state import Choice
from memtui.tui.widgets.diff_view import (
    draw_diff,
    draw_side_by_side,
    draw_text,
    draw_text_diff,
    join_columns,
)
from memtui.tui.widgets.inputs import TextInput
from memtui.tui.widgets.status_lines import ProgressLine
from memtui.tui.widgets.text_window import OutcomeLine, RowList, TextWindow, Tone
from memtui.upkeep.checks import dangers_of
from memtui.upkeep.model_requests import MODEL_KINDS, ChatServer
from memtui.upkeep.proposals import RULES, Proposal, ProposalKind, badges_of, shown_sayings

if TYPE_CHECKING:
    from memtui.upkeep.model_requests import ModelRequest

# ---- what is drawn -------------------------------------------------------------------------------

STORE_FROM = 50
"""Columns of a row that names its store."""
SIDE_BY_SIDE_FROM = 60
"""Columns from which two texts, and the two sides of a diff, stand side by side."""
_LONGEST = 6_000
"""Characters of a memory that are shown."""
_MAX_MEMORIES = 20
COMPARED = frozenset(
    {
        ProposalKind.DUPLICATE,
        ProposalKind.CONFLICT,
        ProposalKind.SUPERSEDED,
        ProposalKind.CLUSTER,
    }
)
"""Findings whose two memories say something about each other, so that their difference is shown."""


class ReviewList(RowList[ReviewRow]):
    """Headings and proposals, one per line."""

    is_lit = False
    names_stores = False
    """The proposals are about several stores."""

    def __init__(self) -> None:
        super().__init__()
        self._warned: dict[str, bool] = {}
        """Id of a proposal that was drawn -> whether memtui warns of it: one may write thousands of
        texts, which takes 200 ms, and is drawn at every step of the cursor."""

    def _is_warned(self, proposal: Proposal) -> bool:
        if (known := self._warned.get(proposal.id)) is None:
            known = proposal.kind in DANGEROUS or bool(dangers_of(proposal))
            self._warned[proposal.id] = known
        return known

    def draw_row(self, row: ReviewRow, width: int) -> Sequence[tuple[str, Style]]:
        palette = self.palette
        if row.proposal is None:
            rule, count = row.rule, f" {text.number(row.count)} "
            room = max(8, width - 3 - len(count))
            heading = rule.heading if rule else f"Housekeeping of {self.app.store_name(row.store)}"
            return [
                ("▾ " if row.is_open else "▸ ", palette.dim),
                (text.pad(heading, room), palette.heading if rule else palette.dim),
                (count, palette.dim),
            ]
        is_quiet = row.proposal.is_hint or row.proposal.is_housekeeping
        sign, look = ("·" if row.proposal.is_hint else "◆"), palette.accent
        if self._is_warned(row.proposal):
            sign, look = "!", palette.warning
        names_store = self.names_stores and width >= STORE_FROM
        store = (
            text.cut_line(self.app.store_name(row.proposal.store), width // 4)
            if names_store
            else ""
        )
        room = max(8, width - 6 - text.width(store) - 1)
        return [
            (f"  {sign} ", look),
            (text.column(row.proposal.title, room), palette.dim if is_quiet else palette.text),
            (f" {store} ", palette.faint),
        ]


DANGEROUS = frozenset({ProposalKind.SECRET, ProposalKind.PLANTED})


def describe_group(row: ReviewRow, palette: Palette, width: int) -> list[list[Segment]]:
    """Describe a group of findings, and the source of its rule."""
    rule = row.rule
    heading, about = (
        (rule.heading, rule.explanation)
        if rule
        else (
            "Housekeeping",
            "What the program's own documents say of tidying. Nothing of it is wrong.",
        )
    )
    lines: list[list[Segment]] = [[Segment(f" {heading}", palette.heading)]]
    for style, words in ((palette.text, text.counted(row.count, "finding")), (palette.text, about)):
        lines += wrapped(words, style, width - 2)
    return lines


class ProposalDetail(Struct, frozen=True):
    """The details of one proposal."""

    memories: tuple[Memory, ...] = ()
    """Those of its memories that are there; what stays comes first."""
    diff: tuple[DiffLine, ...] = ()
    """What accepting does to the files; empty for a hint."""
    problem: str = ""
    """Why its changes cannot be planned."""
    effects: tuple[str, ...] = ()
    """What accepting means for the programs that own the stores."""
    origin: str = ""
    """Who said first what its first memory says; empty until that is known."""


def proposal_lines(
    proposal: Proposal,
    detail: ProposalDetail,
    palette: Palette,
    width: int,
    store_name: Callable[[str], str] = str,
) -> list[list[Segment]]:
    """Everything a person needs to decide on one proposal."""
    memories, diff, problem = detail.memories, detail.diff, detail.problem
    room = max(8, width - 2)
    lines = wrapped(text.one_line(proposal.title), palette.heading, room)
    lines += wrapped(text.one_line(proposal.reason), palette.text, room)
    rule = RULES[proposal.kind]
    why = rule.about if rule.source and rule.source in proposal.reason else rule.explanation
    lines += wrapped(text.one_line(why), palette.dim, room)
    lines += _draw_sayings(proposal, memories, palette, room, store_name)
    for danger in dangers_of(proposal):
        lines += wrapped(text.one_line(f"! {danger}"), palette.warning, room)
    if detail.origin:
        lines += wrapped(f"Origin: {detail.origin}", palette.accent, room)
    if problem:
        lines += wrapped(text.one_line(problem), palette.warning, room)
        lines += _draw_values(proposal, memories, palette, width)
    lines.append([])
    if len(memories) == 2 and proposal.kind in COMPARED:
        lines += _draw_comparison(memories[0], memories[1], palette, width)
    else:
        for memory in memories[:_MAX_MEMORIES]:
            lines += _draw_memory(memory, palette, width)
        if len(memories) > _MAX_MEMORIES:
            more = text.number(len(memories) - _MAX_MEMORIES)
            lines.append([Segment(f" … and {more} more", palette.faint)])
    if proposal.file and not memories:
        lines += wrapped(text.one_line(text.file_name(proposal.file)), palette.dim, room)
    if diff:
        lines.append([Segment(" Changes when accepted", palette.heading)])
        for effect in detail.effects:
            lines += wrapped(text.one_line(effect), palette.dim, room)
        if width >= SIDE_BY_SIDE_FROM:
            lines += draw_side_by_side(diff, palette, width)
        else:
            lines += [line for one in diff for line in draw_diff(one, palette, width)]
    return lines


def _draw_sayings(
    proposal: Proposal,
    memories: Sequence[Memory],
    palette: Palette,
    width: int,
    store_name: Callable[[str], str],
) -> list[list[Segment]]:
    """Who says what and since when, the newest first."""
    times = {memory.ref: memory.when for memory in memories}
    lines: list[list[Segment]] = [[]] if proposal.says else []
    shown, more = shown_sayings(proposal.says)
    for each in shown:
        time = times.get(each.ref)
        since = f"since {time:%Y-%m-%d}" if time is not None else "undated"
        head = f"{each.value}  {store_name(each.store)}, {since}: "
        lines += wrapped(text.one_line(head + each.text), palette.text, width)
    if more:
        lines += wrapped(text.and_more(more).strip(), palette.dim, width)
    return lines


def _draw_values(
    proposal: Proposal, memories: Sequence[Memory], palette: Palette, width: int
) -> list[list[Segment]]:
    """What a proposal would write that cannot be planned; a text beside that of now."""
    lines: list[list[Segment]] = []
    for name, value in (pair for change in proposal.changes for pair in change.fields.items()):
        lines.append([Segment(text.cut(f" Proposed {name}", width), palette.heading)])
        before = memories[0].content if memories and name == "content" else ""
        if before:
            drawn = draw_text_diff(before[:_LONGEST], str(value)[:_LONGEST], palette, width - 2)
            lines += [[Segment(" "), *line] for line in drawn]
        else:
            lines += wrapped(text.one_line(str(value)), palette.text, max(8, width - 2))
    return lines


def _heading_of(memory: Memory) -> str:
    day = f"{memory.created:%Y-%m-%d}" if memory.created else "undated"
    return text.one_line(f"{f'{memory.entity} · ' if memory.entity else ''}{day} · {memory.status}")


def _draw_memory(memory: Memory, palette: Palette, width: int) -> list[list[Segment]]:
    lines = [[Segment(text.cut(f" {_heading_of(memory)}", width), palette.dim)]]
    lines += [
        [Segment(" "), *line] for line in draw_text(memory.full_text[:_LONGEST], palette, width - 2)
    ]
    return [*lines, []]


def _draw_comparison(
    first: Memory, second: Memory, palette: Palette, width: int
) -> list[list[Segment]]:
    """Two memories with their differences marked, side by side where there is room."""
    texts = (second.full_text[:_LONGEST], first.full_text[:_LONGEST])
    beside = width >= SIDE_BY_SIDE_FROM
    column = (width - 3) // 2 if beside else width
    sides = []
    for memory, own in ((first, "new"), (second, "gone")):
        drawn = draw_text_diff(*texts, palette, column - 2, frozenset({own}))
        head = [Segment(text.cut(f" {_heading_of(memory)}", column), palette.dim)]
        sides.append([head, *([Segment(" "), *line] for line in drawn)])
    if beside:
        return [*join_columns(sides, column, palette), []]
    return [*sides[0], [], *sides[1], []]


WIDE_FROM = 120
"""Columns from which the proposal is shown beside the queue instead of below it."""
DETAIL_FROM = 16
"""Rows from which the proposal is shown with the queue; below, space shows it alone."""

SCANNING = "Looking for what is dangerous, outdated or said twice …"
LISTED_HERE = (
    "Secrets, planted text, memories that say otherwise, what is outdated and more are listed here "
    "when a scan finds them."
)


# ---- scanning ------------------------------------------------------------------------------------

LOOK_EVERY = 2.0
"""Seconds between two looks for new proposals of agents: one stat call."""
RESCAN_AFTER = 1.5
"""Seconds after a change of the stores before they are scanned again."""
LONGEST_RESCAN = 60.0
RESCAN_SHARE = 0.2
"""Share of the time that scans take while agents write without a pause."""


class ReviewScan(WritingController):
    """Keeps the queue, scans again after changes, and opens the screen."""

    def __init__(self, changes: ChangeActions, journal: JournalActions) -> None:
        super().__init__(changes)
        self.changes, self.journal = changes, journal
        self._review: ReviewQueue | None = None
        self._job: Job | None = None
        self._dialog: ReviewScreen | None = None
        self._is_due = False
        self._badges: dict[str, list[str]] = {}
        """Ref of a memory -> what was found about it."""
        self.queue: Queue | None = None
        self.is_scanning = self._is_own_scan = False
        self._seconds = 0.0
        """That the last scan took."""
        self._has_failed = False
        self._decided_meanwhile: set[str] = set()
        """Ids of proposals that were decided since the scan that runs began: it may find them."""
        self._mark = 0
        """Of the proposals of agents, as they were scanned last."""

    def handlers(self) -> ActionHandlers:
        return {"queue": self._open, "otherwise": self._open_conflict}

    def _open(self, first: str = "") -> None:
        memory = self._selection.current()
        self._dialog = ReviewScreen(self, first or (memory.ref if memory is not None else ""))
        self._screen.app.push_screen(self._dialog)

    def _open_conflict(self) -> None:
        """Show who says otherwise than the memory that is shown."""
        memory = self._selection.current()
        found = self.queue.proposals if self.queue is not None else ()
        if memory is None:
            return
        conflicts = (one for one in found if one.kind == "conflict" and memory.ref in one.refs)
        if (first := next(conflicts, None)) is not None:
            self._open(first.id)
        else:
            scanning = "; the scan is not finished" if self.is_scanning else ""
            self._screen.app.report_refusal(f"no memory says otherwise{scanning}")

    @property
    def not_scanned(self) -> str:
        """The names of open stores whose memories are not looked at, because they are asked."""
        library = self._screen.worker.library
        labels = library.queried.stores if library is not None else ()
        return ", ".join(map(self._screen.app.store_name, labels))

    def begin(self) -> None:
        """Scan for the first time, and from then on show at once what agents propose."""
        self.scan()
        self._screen.set_interval(LOOK_EVERY, self._look_for_proposals)

    def _look_for_proposals(self) -> None:
        library = self._screen.worker.library
        if self.is_scanning or library is None or library.state_folder is None:
            return  # a scan may have read them before: they are looked at again after it
        before, self._mark = self._mark, AgentProposals(library.state_folder).mark
        if self._mark != before:
            self.scan()

    @property
    def is_awaited(self) -> bool:
        return self.is_scanning and not self._is_own_scan

    def note_change(self) -> None:
        """Scan again shortly after the memories have changed."""
        if (self.queue is not None or self.is_scanning) and not self._is_due:
            self._is_due = True
            pause = min(LONGEST_RESCAN, self._seconds / RESCAN_SHARE)
            self._screen.set_timer(max(RESCAN_AFTER, pause), self._rescan)

    def _rescan(self) -> None:
        self._is_due = False
        if self._screen.worker.is_writing:
            self.note_change()
        else:
            self.scan()

    def scan(self, *, is_awaited: bool = False) -> None:
        """Scan in the background, in place of a scan that is running.

        `is_awaited`: a person waits for it, and may stop it; else it follows a change.
        """
        begun = monotonic()

        def work(library: Library, job: Job) -> Queue:
            review = self.queue_of(library)
            if self.queue is None and (last := review.last()) is not None:
                job.call(self._show, last)
            found = review.scan_aside(job.report, job.is_cancelled if is_awaited else job.rest)
            self._seconds = monotonic() - begun
            return found

        self.is_scanning, self._is_own_scan = True, not is_awaited
        self._decided_meanwhile = set()
        run, on_progress = self._screen.worker.run, self._progressed
        self._job = run(
            "review", work, self._scanned, self._stopped, only_reads=True, on_progress=on_progress
        )

    def stop(self) -> None:
        if self._job is not None:
            self._job.stop()

    def use_settings(self) -> None:
        """Scan again because the settings of the findings changed."""
        self.stop()
        self._review = None
        if self.queue is not None:
            self.scan()

    def queue_of(self, library: Library) -> ReviewQueue:
        """The queue of the present stores, whatever is shown."""
        if self._review is None:
            present = self._screen.worker.present or library
            self._review = ReviewQueue(present, self._screen.app.settings.review)
        return self._review

    def _scanned(self, queue: Queue) -> None:
        self.is_scanning = False
        self._show(queue.without(self._decided_meanwhile))
        if (dialog := self._open_dialog()) is not None:
            dialog.show_progress(None)

    def _stopped(self, error: MemtuiError) -> None:
        self.is_scanning = False
        if (dialog := self._open_dialog()) is not None:
            dialog.show_progress(None)
            self._screen.app.notify(f"Scan stopped: {error}", timeout=3)
        elif isinstance(error, WorkerError) and not self._has_failed:
            self._has_failed = True  # said once: each change would say it again
            self._changes.failed(error)

    def _progressed(self, progress: Progress) -> None:
        if (dialog := self._open_dialog()) is not None and self.is_scanning:
            dialog.show_progress(progress)

    def _show(self, queue: Queue) -> None:
        self.queue, badges = queue, badges_of(queue.proposals)
        if badges != self._badges:
            self._badges = badges
            self._screen.memories.show_findings(badges)
            self._screen.detail.show_findings(badges)
        self._screen.status_text.show_findings(queue)
        if (dialog := self._open_dialog()) is not None:
            dialog.show_queue(queue)

    def _open_dialog(self) -> ReviewScreen | None:
        """The dialog, once it has its widgets; until then it takes the queue when it gets them."""
        dialog = self._dialog
        is_shown = dialog is not None and dialog.is_open and dialog.is_mounted
        return dialog if is_shown else None

    def show_without(self, proposals: Sequence[Proposal], counted: Queue | None = None) -> None:
        """Show the queue without these proposals, with the postponed counts of `counted`."""
        decided = {one.id for one in proposals}
        self._decided_meanwhile |= decided
        if self.queue is not None:
            left = self.queue.without(decided).proposals
            self._show(replace(counted or self.queue, proposals=left))

    def look(self, proposal: Proposal, library: Library, _: Job) -> ProposalDetail:
        """Read the memories of a proposal and plan its changes, to be shown; in a job."""
        review = self.queue_of(library)
        memories = tuple(review.memories(proposal))
        if not proposal.changes:
            return ProposalDetail(memories)
        try:
            found = preview_of(review.plan([proposal]), library)
            return ProposalDetail(memories, found.lines, effects=found.planned.effects)
        except MemtuiError as error:
            return ProposalDetail(memories, problem=str(error))


# ---- the screen ----------------------------------------------------------------------------------


class ReviewScreen(FittingDialog[None]):
    """Shows the queue while proposals are decided; escape stops a scan asked for, else closes."""

    AUTO_FOCUS = "ReviewList"
    box_classes = "full"
    heading = "Review"

    def __init__(self, scan: ReviewScan, first: str = "") -> None:
        """Show the queue of this scan, at first the finding with this id or about the memory with
        this ref."""
        super().__init__()
        self._scan, self._first = scan, first
        self._list = ReviewList()
        self._toggled: set[str] = set()
        self._shows_hints = any(
            one.is_hint and first in (one.id, *one.refs) for one in self._proposals
        )
        self._is_whole = False
        self._detail: ProposalDetail | None = None
        self._decided: list[tuple[str, ...]] = []
        """What undo takes back: ids that were put aside, or () for a change."""

    def content(self) -> ComposeResult:
        with Container(id="review-body"):
            yield self._list
            yield TextWindow(id="review-detail")
        yield ProgressLine()

    def on_mount(self) -> None:
        self._list.empty = SCANNING
        self.show_queue(self._scan.queue)
        self._scan.scan(is_awaited=self._scan.queue is None)

    def on_resize(self) -> None:
        self._fit()
        width, height = self.app.size
        self.set_class(width >= WIDE_FROM, "-columns")
        small = height < DETAIL_FROM
        self.query_one("#review-detail").display = self._is_whole or not small
        self._list.display = not self._is_whole
        self.update_keys()
        self.call_after_refresh(self._draw)

    def fill(self) -> None:
        self.call_after_refresh(self._draw)  # the text has the colours of the theme

    def show_queue(self, queue: Queue | None) -> None:
        """Show what a scan found, or what is left; the cursor stays on its line, or goes to the
        nearest proposal that is left, of the same group if there is one."""
        before, rows_before, at = self._list.current, self._list.rows, self._list.cursor
        proposals = queue.proposals if queue is not None else ()
        self._list.names_stores = len({one.store for one in proposals}) > 1
        rows = queue_rows(proposals, self._toggled, hints=self._shows_hints)
        cursor = next((at for at, row in enumerate(rows) if self._is_same(row, before)), -1)
        if cursor < 0 and queue is not None and before is not None and before.proposal is not None:
            latest = queue.latest(before.proposal)
            cursor = next((at for at, row in enumerate(rows) if row.proposal == latest), -1)
        if cursor < 0:
            order = (*rows_before[at:], *reversed(rows_before[:at]))
            nearest = sorted(
                order, key=lambda row: before is not None and row.group != before.group
            )
            left = {row.proposal.id: number for number, row in enumerate(rows) if row.proposal}
            ids = (row.proposal.id for row in nearest if row.proposal)
            cursor = next((left[id] for id in ids if id in left), min(left.values(), default=0))
        if queue is not None and not rows:
            found = SCANNING if self._scan.is_awaited else "Nothing to review."
            self._list.empty = f"{found}\n{LISTED_HERE}"
            if names := self._scan.not_scanned:
                self._list.empty += (
                    f"\nThe memories of {names} are not scanned here; `memtui review` does."
                )
        self._list.show_rows(rows, cursor=cursor)
        if queue is not None:
            parts = [f"{text.number(queue.counted)} to review"]
            parts += [f"{text.number(queue.housekeeping)} housekeeping"] * bool(queue.housekeeping)
            parts += [text.counted(queue.hints, "hint")] * bool(queue.hints)
            parts += [f"{text.number(queue.declined)} declined"] if queue.declined else []
            parts += [f"{text.number(queue.snoozed)} snoozed"] if queue.snoozed else []
            if names := self._scan.not_scanned:
                parts.append(f"{names} not scanned: `memtui review`")
            self.query_one(".box").border_subtitle = Content(" · ".join(parts))
        self._moved()

    def _is_same(self, row: ReviewRow, before: ReviewRow | None) -> bool:
        """Whether the row is the one that had the cursor, or initially the one to start at."""
        if before is None:
            one = row.proposal
            return one is not None and self._first in (one.id, *one.refs)
        return (row.proposal, row.group) == (before.proposal, before.group)

    def show_progress(self, progress: Progress | None) -> None:
        """Show the progress of a scan; None if none runs."""
        line = self.query_one(ProgressLine)
        if progress is None:
            line.show("")
            if self._scan.queue is None:
                self._list.empty = "Not scanned yet."
                self._list.show_rows(())
        else:
            line.show(progress.what, progress.done, progress.total)
        self.update_keys()

    def keys(self) -> list[tuple[str, str]]:
        self.leave = "stop" if self._scan.is_awaited else "back"
        is_small = self.app.size.height < DETAIL_FROM  # nothing else shows the proposal
        return sorted(super().keys(), key=lambda key: is_small and key[0] != "space")

    # The selected line

    @on(ReviewList.Moved)
    def _moved(self) -> None:
        self._detail = None
        self.update_keys()
        if (proposal := self._proposal) is None:
            self._draw()
            return

        def seen(detail: ProposalDetail) -> None:
            if self._is_selected(proposal):
                self._detail = detail
                self._draw()
                if detail.memories:
                    name = self._scan.changes.screen.transcripts.name_speaker
                    name(detail.memories[0], self.if_open(named))

        def named(origin: str) -> None:
            if self._is_selected(proposal) and self._detail is not None and origin:
                self._detail = replace(self._detail, origin=origin)
                self._draw()

        look = partial(self._scan.look, proposal)
        self.worker.run("review-look", look, self.if_open(seen), self._scan.changes.failed)

    def _is_selected(self, proposal: Proposal) -> bool:
        return self._proposal is not None and self._proposal.id == proposal.id

    @property
    def _proposal(self) -> Proposal | None:
        """The one under the cursor; None on a heading."""
        return self._list.current.proposal if self._list.current else None

    def _draw(self) -> None:
        sheet, row = self.query_one("#review-detail", TextWindow), self._list.current
        width = max(20, sheet.size.width - 1)
        if row is None:
            sheet.show([])
        elif row.proposal is None:
            sheet.show(describe_group(row, sheet.palette, width))
        elif (detail := self._detail) is not None:
            name = self.app.store_name
            sheet.show(proposal_lines(row.proposal, detail, sheet.palette, width, name))

    def _selected(self) -> list[Proposal]:
        """The proposal under the cursor, or all of the group whose heading it is."""
        row = self._list.current
        if row is None:
            return []
        return [row.proposal] if row.proposal is not None else self._group(row)

    def _group(self, row: ReviewRow) -> list[Proposal]:
        return [
            one
            for one in self._proposals
            if group_of(one) == row.group and (self._shows_hints or not one.is_hint)
        ]

    @property
    def _proposals(self) -> Sequence[Proposal]:
        return self._scan.queue.proposals if self._scan.queue is not None else ()

    def _changing(self, *, whole_group: bool = False) -> list[Proposal]:
        """Those of the selected proposals, or of the whole group, that change something."""
        row = self._list.current
        proposals = self._group(row) if row is not None and whole_group else self._selected()
        return [one for one in proposals if one.changes]

    # What a key does

    def action_leave(self) -> None:
        if self._scan.is_awaited:
            self._scan.stop()
        elif self._is_whole:
            self._show_whole()
        else:
            self.dismiss(None)

    @on(ReviewList.Opened)
    def _opened(self) -> None:
        self.acts.start(self._open())

    async def _open(self) -> None:
        """Go to the memory of the proposal, of several the chosen one; or unfold the group."""
        row, proposal, library = self._list.current, self._proposal, self.worker.library
        if row is not None and proposal is None:
            self._unfold(not row.is_open)
        if proposal is None or library is None:
            return
        memories = self._scan.queue_of(library).memories(proposal)
        if not proposal.refs and proposal.changes:  # an agent proposes it
            raise Refused("there is no memory yet")
        ref: str | None = memories[0].ref if memories else ""
        if len(memories) > 1:
            choices = [
                Choice(one.ref, text.cut_line(one.headline, 60), note=text.one_line(one.entity))
                for one in memories
            ]
            ref = await self.acts.pick("Go to", choices)
        if ref is None:
            return
        self.dismiss(None)
        if ref:
            self._scan.changes.screen.go_to_memory(ref)
        else:
            # It shows the error and the last good copy.
            self._scan.changes.screen.action_act("unreadable")

    def _unfold(self, is_open: bool) -> None:
        if (row := self._list.current) is None:
            return
        is_toggled = is_open is (row.rule is None)
        (self._toggled.add if is_toggled else self._toggled.discard)(row.group)
        rows = queue_rows(self._proposals, self._toggled, hints=self._shows_hints)
        at = next(i for i, one in enumerate(rows) if one.group == row.group)
        self._list.show_rows(rows, cursor=at)
        self._moved()

    async def _accept(self, proposals: Sequence[Proposal], *, must_ask: bool = False) -> bool:
        """Apply these proposals as one action; return whether that was done.

        Its diff is confirmed first where it must be, and where memtui warns of what would be
        written.
        """
        self._check_writable()
        found = await self.acts.library(
            lambda library, _: preview_of(self._scan.queue_of(library).plan(proposals), library)
        )
        if not found.planned.has_edits:
            raise Refused(found.planned.reason or "nothing would change")
        warnings = [(one, danger) for one in proposals[:MAX_LISTED] for danger in dangers_of(one)]
        if (must_ask or warnings) and not await self._confirm(found, proposals, warnings):
            return False
        await self._write(found.planned, proposals)
        return True

    async def _confirm(
        self,
        found: Preview,
        proposals: Sequence[Proposal],
        warnings: Sequence[tuple[Proposal, str]] = (),
    ) -> bool:
        count = len(proposals)
        yes = "accept" if count == 1 else f"accept {text.number(count)}"
        lines = [
            OutcomeLine(danger if count == 1 else f"{danger} in “{one.title}”", Tone.BAD, "!")
            for one, danger in warnings
        ]
        lines += describe_effects(found.planned.plans)
        dialog = DiffScreen(found.planned.title, lines, found.lines, yes=yes)
        return await self.acts.show(dialog) is not None

    async def _write(self, planned: Planned, proposals: Sequence[Proposal]) -> None:
        library = self.worker.library
        removed = self._scan.queue_of(library).secrets_in(proposals) if library is not None else ()
        action = await self.acts.apply(planned)
        what = text.counted(len(proposals), "proposal")
        if len(proposals) == 1:
            what = text.cut_line(proposals[0].title, HEADLINE_CELLS)
        self.app.report(f"Accepted: {what}")
        self._decided.append(())
        self._scan.show_without(proposals)
        await self.acts.write(
            lambda library, _: self._scan.queue_of(library).note_accepted(proposals, action.id),
            to_stores=False,
        )
        self._scan.scan()
        if removed:
            await self._offer_purge(proposals, removed)

    async def _offer_purge(self, accepted: Sequence[Proposal], removed: Collection[str]) -> None:
        """Ask whether removed secrets are erased from what memtui itself keeps."""
        library = self.worker.library
        if library is None:
            return
        beyond = self._scan.queue_of(library).unreachable_copies(accepted)
        copies = await self.acts.library(
            lambda library, _: library.find_copies(removed), group="purge"
        )
        left = "; ".join([*map(str, copies.others), beyond])
        if not copies:
            self.app.notify(f"The secret may still be in: {left}.", timeout=8)
            return
        body = [
            OutcomeLine(describe_copies(copies), head="memtui has it in:"),
            OutcomeLine("These changes can then no longer be undone."),
            OutcomeLine(left, Tone.QUIET, "not erased:"),
        ]
        question = ConfirmDialog("Erase the secret from memtui too?", body, {"y": "erase"})
        if await self.acts.show(question) is not None:
            await self.acts.write(lambda library, _: library.purge(copies), to_stores=False)
            self._decided.clear()  # undo would find nothing
            self.app.notify("Erased from memtui's journal, backups and caches.", timeout=4)

    async def _agree(self) -> None:
        """Ask which value of a conflict holds, and preview what each store writes for it."""
        self._check_writable()
        proposal = self._proposal
        if proposal is None:
            return
        values = Counter(each.value for each in proposal.says if each.value)
        choices = [
            Choice(value, text.cut_line(value, 60), number=count)
            for value, count in values.most_common()
        ]
        choices.append(Choice("", "another value …"))
        value = await self.acts.pick(f"{proposal.message}: which holds?", choices)
        if value == "":
            prompt = PromptDialog("They shall all say", placeholder="Value", accept="preview")
            value = await self.acts.show(prompt)
        if not value:
            return
        found = await self.acts.library(
            lambda library, _: preview_of(
                self._scan.queue_of(library).plan_agreement(proposal, value), library
            )
        )
        if await self._confirm(found, [proposal]):
            await self._write(found.planned, [proposal])

    def _edit(self) -> None:
        """Edit the text that a proposal writes, then preview and accept it."""
        self._check_writable()
        proposal, library = self._proposal, self.worker.library
        if proposal is None or library is None:
            return
        review = self._scan.queue_of(library)
        before = review.proposed_text(proposal)
        if before is None:
            raise Refused("this proposal writes no text that could be edited")

        async def preview(edited: str) -> None:
            queue = self._scan.queue
            latest = queue.latest(proposal) if queue is not None else proposal
            if await self._accept([review.with_text(latest, edited)], must_ask=True):
                editor.finish()

        def make_draft(edited: str) -> FormDraft | None:
            """An edit of the memory that the text is for: the proposal may not be found again."""
            memory = next(iter(review.memories(proposal)), None)
            if memory is None:
                return None
            root = str(library.store(memory.store).root)
            values, now = {"content": edited}, {"content": memory.content}
            return FormDraft(Act.EDIT, root, ((root, memory.id),), values, now)

        state = self.app.launch.state
        file = new_form_draft(state) if state is not None else None
        editor = ProposalTextScreen(before, preview, file, make_draft)
        self.app.push_screen(editor)

    async def _retire(self) -> None:
        """Take the memory of a finding out of use, after a preview."""
        self._check_writable()
        proposal, library = self._proposal, self.worker.library
        if proposal is None or library is None:
            return
        act = self._scan.changes.selection.act
        changes = [
            Change(act("retire", memory), memory.store, memory.ref)
            for memory in self._scan.queue_of(library).memories(proposal)
        ]
        await self._scan.changes.make(changes)

    async def _decide(self, *, snooze: bool) -> None:
        """Decline findings for good, or snooze them for a week; ask first about a whole group."""
        proposals = self._selected()
        word = "snooze" if snooze else "decline"
        if self._proposal is None:
            body = [OutcomeLine(one.title, Tone.QUIET, "–") for one in proposals[:MAX_LISTED]]
            if more := text.and_more(len(proposals) - MAX_LISTED):
                body.append(OutcomeLine(more.strip(), Tone.QUIET))
            title = f"{word.capitalize()} {text.counted(len(proposals), 'finding')}?"
            if await self.acts.show(ConfirmDialog(title, body, {"y": word})) is None:
                return

        def work(library: Library, _: Report) -> Queue | None:
            review = self._scan.queue_of(library)
            if snooze:
                review.decisions.decide(proposals, Decision.SNOOZED)
            else:
                review.decline(proposals)
            return review.last()

        counted = await self.acts.write(work, to_stores=not snooze and bool(declining(proposals)))
        done = "Snoozed for a week" if snooze else "Declined"
        self.app.report(f"{done}: {text.counted(len(proposals), 'finding')}")
        self._decided.append(tuple(one.id for one in proposals))
        self._scan.show_without(proposals, counted)

    def _never(self) -> None:
        """Leave out what was found in this store from now on, by an entry of the settings."""
        if (proposal := self._proposal) is None:
            return
        name = max(off_names(proposal), key=len)
        settings = self.app.settings.review
        self.app.save_review(replace(settings, off=(*settings.off, name)))
        words = f"Never again: {text.one_line(name)}. It is in the settings, review.findings."
        self.app.notify(words)

    async def _undo(self) -> None:
        """Open again what was put aside last, or undo the last change."""
        ids = self._decided.pop() if self._decided else ()
        if not ids:
            self._check_writable()
            self._scan.journal.reverse("undo")
            return
        await self.acts.write(
            lambda library, _: self._scan.queue_of(library).decisions.reopen(ids), to_stores=False
        )
        self.app.notify(f"Undone: {text.counted(len(ids), 'finding')} open again")
        self._scan.scan()

    async def _ask_model(self) -> None:
        """Confirm what is sent to the model, let it write the text, and show the diff."""
        self._check_writable()
        proposal, library = self._proposal, self.worker.library
        if proposal is None or library is None:
            return
        review = self._scan.queue_of(library)
        server = ChatServer(self.app.settings.language_model)
        request = review.model_request(proposal)
        if request is None:
            raise Refused("there is no text for a model to write here")
        if not await self.acts.show(SendScreen(server.name, request)):
            return
        self.app.notify(f"Asking {server.name} …", timeout=30)
        changed = await self.acts.library(
            lambda *_: review.with_answer(proposal, server.complete(request)), group="review-model"
        )
        self.app.clear_notifications()
        await self._accept([changed], must_ask=True)

    def _check_writable(self) -> None:
        """Raise Refused where nothing can be written."""
        if reason := self._scan.changes.selection.can_write():
            raise Refused(reason)

    def _show_hints(self) -> None:
        self._shows_hints = not self._shows_hints
        self.show_queue(self._scan.queue)

    def _show_whole(self) -> None:
        """The proposal on the whole screen, or the queue again."""
        self._is_whole = not self._is_whole
        self.set_class(self._is_whole, "-whole")
        self.on_resize()
        (self.query_one("#review-detail") if self._is_whole else self._list).focus()

    def _label(self, word: str) -> str:
        """Of a key that decides on the proposal, or on all of the group; empty where none is."""
        one, row = self._proposal, self._list.current
        return "" if row is None else word if one is not None else f"{word} all"

    def _can_accept(self) -> bool:
        return self._proposal is not None and bool(self._changing())

    def _can_accept_group(self) -> bool:
        return bool(self._changing(whole_group=True))

    def _can_edit(self) -> bool:
        library, one = self.worker.library, self._proposal
        if library is None or one is None:
            return False
        return self._scan.queue_of(library).proposed_text(one) is not None

    def _can_retire(self) -> bool:
        """Whether a finding proposes nothing, so that retiring its one memory is a way."""
        one = self._proposal
        return one is not None and not one.changes and len(one.refs) == 1

    def _can_ask_model(self) -> bool:
        is_kind = self._proposal is not None and self._proposal.kind in MODEL_KINDS
        return is_kind and bool(self.app.settings.language_model.model)

    def _opens(self) -> str:
        row = self._list.current
        if row is None or row.proposal is not None:
            return "go to" * (row is not None)
        return "close" if row.is_open else "open"

    def _hints_label(self) -> str:
        has_hints = self._scan.queue is not None and self._scan.queue.hints
        return ("hide hints" if self._shows_hints else "hints") * bool(has_hints)

    def _whole_label(self) -> str:
        return ("queue" if self._is_whole else "whole") * (self._proposal is not None)

    # fmt: off
    KEYS = (
        Key("escape", "", action_leave),
        Key("q,V", "", lambda self: self.dismiss(None)),
        Key("a", "accept", lambda self: self._accept(self._changing()), _can_accept),
        Key("A", "accept all",
            lambda self: self._accept(self._changing(whole_group=True), must_ask=True),
            _can_accept_group),
        Key("e", "edit", _edit, _can_edit),
        Key("d", "retire", _retire, _can_retire),
        Key("x", "decline", lambda self: self._decide(snooze=False),
            lambda self: self._label("decline")),
        Key("s", "snooze", lambda self: self._decide(snooze=True),
            lambda self: self._label("snooze")),
        Key("enter", "go to", _open, _opens),
        Key("%,c", "make them agree", _agree,
            lambda self: self._proposal is not None and self._proposal.says),
        Key("t", "hints", _show_hints, _hints_label),
        Key("m", "model", _ask_model, _can_ask_model),
        Key("space", "whole", _show_whole, _whole_label),
        Key("N", "never here", _never,
            lambda self: self._proposal is not None and _is_pattern(self._proposal)),
        Key("u", "undo", _undo),
        Key("f5,r", "scan", lambda self: self._scan.scan(is_awaited=True),
            lambda self: not self._scan.is_awaited),
        Key("left,h", "", lambda self: self._unfold(False)),
        Key("right,l", "", lambda self: self._unfold(True)),
        Key("tab", "", lambda self: self.app.action_focus_next()),
    )
    # fmt: on


def _is_pattern(proposal: Proposal) -> bool:
    """Whether a rule found it in a store, so that it can be told never to look there again."""
    return bool(proposal.store) and proposal.kind is not ProposalKind.AGENT


class ProposalTextScreen(FittingDialog[None]):
    """The text that a proposal writes; it stays open until the edited text is accepted."""

    AUTO_FOCUS = "TextInput"
    box_classes = "full"
    heading = "Edit, then accept"
    BINDINGS = [
        Binding("escape", "cancel", priority=True),
        Binding("ctrl+s", "preview", "preview", priority=True),
    ]

    def __init__(
        self,
        content: str,
        preview: Callable[[str], Coroutine[Any, Any, None]],
        file: DraftFile | None = None,
        make_draft: Callable[[str], FormDraft | None] = lambda _: None,
    ) -> None:
        """`file`: the draft file that the edited text is kept in, for when the program ends;
        `make_draft` gives what is written there, an edit of the memory."""
        super().__init__()
        self._content, self._preview = content, preview
        self._file, self._make_draft = file, make_draft

    def content(self) -> ComposeResult:
        yield TextInput(self._content, name="content")

    @property
    def _text(self) -> str:
        return self.query_one(TextInput).raw

    @on(TextArea.Changed)
    def _typed(self) -> None:
        with suppress(SaveError):  # it is said where the text is saved, which needs the same disk
            self.keep_draft()

    def keep_draft(self, *, last: bool = False) -> bool:
        if self._file is None or not self.is_mounted:
            return False
        draft = self._make_draft(self._text) if self._text != self._content else None
        return self._file.keep(draft, last=last)

    def finish(self) -> None:
        """Close it: the text is accepted or given up."""
        if self._file is not None:
            self._file.discard()
        self.dismiss()

    def action_preview(self) -> None:
        self.acts.start(self._preview(self._text))

    def action_cancel(self) -> None:
        if self._text == self._content:
            self.finish()
        else:
            self.app.ask(discard_question("preview"), self._answered)

    def _answered(self, reply: str) -> None:
        if reply == DISCARD:
            self.finish()
        else:
            self.action_preview()


class SendScreen(TextDialog[bool]):
    """What would be sent to the language model; dismissed with True to send it."""

    heading = "Send this to the language model?"
    leave = "cancel"
    BINDINGS = [
        ("escape,q,n", "dismiss"),
        ("enter,y", "dismiss(True)", "send"),
    ]

    def __init__(self, server: str, request: ModelRequest) -> None:
        super().__init__()
        self._request = request
        count, masked = text.counted(len(request.text), "character"), request.masked
        secrets = f"{text.counted(masked, 'secret')} masked" if masked else "no secrets found"
        self.summary = (
            OutcomeLine(f"{server}: {count}"),
            OutcomeLine(secrets, Tone.WARNING if masked else Tone.QUIET),
        )

    def lines(self, width: int, palette: Palette) -> list[list[Segment]]:
        lines: list[list[Segment]] = []
        for style, words in (
            (palette.dim, self._request.prompt),
            (palette.text, self._request.text),
        ):
            for line in text.visible(words).split("\n"):
                lines += wrapped(line, style, width)
            lines.append([])
        return lines
