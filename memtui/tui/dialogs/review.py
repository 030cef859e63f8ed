"""The review queue: groups of findings, the selected one in detail, what is asked to accept it."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING

from msgspec import Struct
from msgspec.structs import replace
from rich.segment import Segment
from rich.style import Style
from textual import on
from textual.app import ComposeResult
from textual.binding import Binding
from textual.containers import Container
from textual.content import Content

from memtui import text
from memtui.library.review_files import Queue, ReviewRow, queue_rows
from memtui.model import Memory
from memtui.progress import Progress
from memtui.tui.appearance import Palette, wrapped
from memtui.tui.dialogs.dialog import FittingDialog, TextDialog
from memtui.tui.dialogs.prompts import DISCARD, discard_question
from memtui.tui.diff_lines import DiffLine
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
from memtui.upkeep.model_requests import MODEL_KINDS
from memtui.upkeep.proposals import RULES, Proposal, ProposalKind

if TYPE_CHECKING:
    from memtui.tui.controllers.review import ReviewActions
    from memtui.upkeep.model_requests import ModelRequest

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
        ProposalKind.CONTRADICTION,
        ProposalKind.OPPOSED,
        ProposalKind.SUPERSEDED,
        ProposalKind.CLUSTER,
        ProposalKind.ACROSS,
        ProposalKind.DISAGREE,
    }
)
"""Findings whose two memories say something about each other, so that their difference is shown."""


class ReviewList(RowList[ReviewRow]):
    """Headings and proposals, one per line."""

    is_lit = False
    names_stores = False
    """The proposals are about several stores."""

    def draw_row(self, row: ReviewRow, width: int) -> Sequence[tuple[str, Style]]:
        palette = self.palette
        if row.proposal is None:
            noun = "hint" if row.is_hint else "proposal"
            count = f" {text.counted(row.count, noun)} "
            room = max(8, width - 3 - len(count))
            return [
                ("▾ " if row.is_open else "▸ ", palette.dim),
                (
                    text.pad(RULES[row.kind].heading, room),
                    palette.dim if row.is_hint else palette.heading,
                ),
                (count, palette.dim),
            ]
        sign = "·" if row.is_hint else "◆"
        names_store = self.names_stores and width >= STORE_FROM
        store = (
            text.cut_line(self.app.store_name(row.proposal.store), width // 4)
            if names_store
            else ""
        )
        room = max(8, width - 6 - text.width(store) - 1)
        return [
            (f"  {sign} ", palette.accent),
            (text.column(row.proposal.title, room), palette.dim if row.is_hint else palette.text),
            (f" {store} ", palette.faint),
        ]


def describe_group(row: ReviewRow, palette: Palette, width: int) -> list[list[Segment]]:
    """Describe a group of findings, and the source of its rule."""
    rule = RULES[row.kind]
    what = (
        "Hints only point to memories: there is nothing to accept."
        if row.is_hint
        else "Each is accepted on its own, or all of them after a preview."
    )
    lines: list[list[Segment]] = [[Segment(f" {rule.heading}", palette.heading)]]
    for style, words in (
        (palette.text, text.counted(row.count, "hint" if row.is_hint else "proposal")),
        (palette.text, rule.explanation),
        (palette.dim, what),
    ):
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
    proposal: Proposal, detail: ProposalDetail, palette: Palette, width: int
) -> list[list[Segment]]:
    """Everything a person needs to decide on one proposal."""
    memories, diff, problem = detail.memories, detail.diff, detail.problem
    room = max(8, width - 2)
    lines = wrapped(text.one_line(proposal.title), palette.heading, room)
    lines += wrapped(text.one_line(proposal.reason), palette.text, room)
    rule = RULES[proposal.kind]
    why = rule.about if rule.source in proposal.reason else rule.explanation
    lines += wrapped(text.one_line(why), palette.dim, room)
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
    elif not problem and not proposal.changes:
        lines += wrapped(text.one_line("A hint: nothing is changed by it."), palette.faint, room)
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

SCANNING = "Looking for what could be tidied …"
LISTED_HERE = (
    "Near-duplicates, contradictions, expired memories, secrets and more are listed here when a "
    "scan finds them."
)


def _is_pattern(proposal: Proposal) -> bool:
    """Whether a rule found it in a store, so that it can be told never to look there again."""
    return bool(proposal.store) and proposal.kind is not ProposalKind.AGENT


class ReviewScreen(FittingDialog[None]):
    """Shows the queue while proposals are decided; escape stops a scan asked for, else closes."""

    AUTO_FOCUS = "ReviewList"
    box_classes = "full"
    heading = "Review"
    BINDINGS = [
        ("escape", "leave"),
        ("q,V", "dismiss"),
        ("a", "accept(False)", "accept"),
        ("A", "accept(True)", "accept all"),
        ("e", "edit", "edit"),
        ("x,d", "decide(False)", "decline"),
        ("s", "decide(True)", "snooze"),
        ("enter", "open", "go to"),
        ("m", "model", "model"),
        ("space", "whole", "whole"),
        ("N", "never", "never here"),
        ("u", "undo", "undo"),
        ("f5,r", "scan", "scan"),
        ("left,h", "unfold(False)"),
        ("right,l", "unfold(True)"),
        ("tab", "app.focus_next"),
    ]

    def __init__(self, host: ReviewActions, ref: str = "") -> None:
        """Show the queue of a controller, at first the finding about the memory with this ref."""
        super().__init__()
        self._first_ref = ref
        self._host = host
        self._list = ReviewList()
        self._folded: set[tuple[ProposalKind, bool]] = set()
        self._detail: ProposalDetail | None = None
        self._is_whole = False

    def content(self) -> ComposeResult:
        with Container(id="review-body"):
            yield self._list
            yield TextWindow(id="review-detail")
        yield ProgressLine()

    def on_mount(self) -> None:
        self._list.empty = SCANNING
        self.show_queue(self._host.queue)
        self._host.scan(is_awaited=self._host.queue is None)

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

    # What the controller tells

    def show_queue(self, queue: Queue | None) -> None:
        """Show what a scan found, or what is left; the cursor stays on its line."""
        before = self._list.current
        proposals = queue.proposals if queue is not None else ()
        self._list.names_stores = len({one.store for one in proposals}) > 1
        rows = queue_rows(proposals, self._folded)
        cursor = next((at for at, row in enumerate(rows) if self._is_same(row, before)), -1)
        if cursor < 0 and queue is not None and before is not None and before.proposal is not None:
            latest = queue.latest(before.proposal)
            cursor = next((at for at, row in enumerate(rows) if row.proposal == latest), -1)
        if cursor < 0:
            first = 1 if len(rows) > 1 and before is None else self._list.cursor
            cursor = min(first, max(0, len(rows) - 1))
        if queue is not None and not rows:
            found = SCANNING if self._host.is_awaited else "Nothing to review."
            self._list.empty = f"{found}\n{LISTED_HERE}"
            if names := self._host.not_scanned:
                self._list.empty += (
                    f"\nThe memories of {names} are not scanned here; `memtui review` does."
                )
        self._list.show_rows(rows, cursor=cursor)
        if queue is not None:
            parts = [text.counted(queue.acceptable, "proposal"), text.counted(queue.hints, "hint")]
            parts += [f"{text.number(queue.declined)} declined"] if queue.declined else []
            parts += [f"{text.number(queue.snoozed)} snoozed"] if queue.snoozed else []
            if names := self._host.not_scanned:
                parts.append(f"{names} not scanned: `memtui review`")
            self.query_one(".box").border_subtitle = Content(" · ".join(parts))
        self._moved()

    def _is_same(self, row: ReviewRow, before: ReviewRow | None) -> bool:
        """Whether the row is the one that had the cursor, or initially the one to start at."""
        if before is None:
            return row.proposal is not None and self._first_ref in row.proposal.refs
        return (row.proposal, row.group) == (before.proposal, before.group)

    def show_progress(self, progress: Progress | None) -> None:
        """Show the progress of a scan; None if none runs."""
        line = self.query_one(ProgressLine)
        if progress is None:
            line.show("")
            if self._host.queue is None:
                self._list.empty = "Not scanned yet."
                self._list.show_rows(())
        else:
            line.show(progress.what, progress.done, progress.total)
        self.update_keys()

    def labels(self) -> Mapping[str, object]:
        row, proposal, host = self._list.current, self._proposal, self._host
        self.leave = "stop" if host.is_awaited else "back"
        is_one = proposal is not None
        can_accept, every = row and not row.is_hint, "" if is_one else " all"
        return {
            "accept(False)": is_one and can_accept,
            "accept(True)": can_accept and row and row.count > is_one,
            "edit": is_one and can_accept and proposal and host.can_edit(proposal),
            "decide(False)": row and f"decline{every}",
            "decide(True)": row and f"snooze{every}",
            "never": proposal is not None and _is_pattern(proposal),
            "open": row and ("go to" if is_one else "close" if row.is_open else "open"),
            "model": proposal and host.has_model and proposal.kind in MODEL_KINDS,
            "whole": is_one and ("queue" if self._is_whole else "whole"),
            "scan": not host.is_awaited,
        }

    def keys(self) -> list[tuple[str, str]]:
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
                    self.app.browse.transcripts.name_speaker(
                        detail.memories[0], self.if_open(named)
                    )

        def named(origin: str) -> None:
            if self._is_selected(proposal) and self._detail is not None and origin:
                self._detail = replace(self._detail, origin=origin)
                self._draw()

        self._host.look(proposal, self.if_open(seen))

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
            sheet.show(proposal_lines(row.proposal, detail, sheet.palette, width))

    def _selected(self) -> list[Proposal]:
        """The proposal under the cursor, or all of the group whose heading it is."""
        row = self._list.current
        if row is None:
            return []
        return [row.proposal] if row.proposal is not None else self._group(row)

    def _group(self, row: ReviewRow) -> list[Proposal]:
        return [one for one in self._proposals if (one.kind, one.is_hint) == row.group]

    @property
    def _proposals(self) -> Sequence[Proposal]:
        return self._host.queue.proposals if self._host.queue is not None else ()

    # Keys

    def action_leave(self) -> None:
        if self._host.is_awaited:
            self._host.stop()
        elif self._is_whole:
            self.action_whole()
        else:
            self.dismiss(None)

    @on(ReviewList.Opened)
    def action_open(self) -> None:
        if self._proposal is not None:
            self._host.open_memories(self._proposal)
        elif (row := self._list.current) is not None:
            self._set_open(row, not row.is_open)

    def action_unfold(self, is_open: bool) -> None:
        row = self._list.current
        if row is not None:
            self._set_open(row, is_open)

    def _set_open(self, row: ReviewRow, is_open: bool) -> None:
        (self._folded.discard if is_open else self._folded.add)(row.group)
        rows = queue_rows(self._proposals, self._folded)
        at = next(i for i, one in enumerate(rows) if one.group == row.group)
        self._list.show_rows(rows, cursor=at)
        self._moved()

    def action_accept(self, whole_group: bool) -> None:
        row = self._list.current
        if row is not None and not row.is_hint:
            proposals = self._group(row) if whole_group else self._selected()
            self._host.accept(proposals, preview=whole_group or row.proposal is None)

    def action_edit(self) -> None:
        if self._proposal is not None and not self._proposal.is_hint:
            self._host.edit(self._proposal)

    def action_model(self) -> None:
        if self._proposal is not None and self._proposal.kind in MODEL_KINDS:
            self._host.ask_model(self._proposal)

    def action_decide(self, snooze: bool) -> None:
        self._host.decide(self._selected(), snooze=snooze)

    def action_never(self) -> None:
        if self._proposal is not None and _is_pattern(self._proposal):
            self._host.never(self._proposal)

    def action_undo(self) -> None:
        self._host.undo()

    def action_scan(self) -> None:
        if not self._host.is_awaited:
            self._host.scan(is_awaited=True)

    def action_whole(self) -> None:
        """The proposal on the whole screen, or the queue again."""
        self._is_whole = not self._is_whole
        self.set_class(self._is_whole, "-whole")
        self.on_resize()
        (self.query_one("#review-detail") if self._is_whole else self._list).focus()


class ProposalTextScreen(FittingDialog[None]):
    """The text that a proposal writes; it stays open until the edited text is accepted."""

    AUTO_FOCUS = "TextInput"
    box_classes = "full"
    heading = "Edit, then accept"
    BINDINGS = [
        Binding("escape", "cancel", priority=True),
        Binding("ctrl+s", "preview", "preview", priority=True),
    ]

    def __init__(self, content: str, preview: Callable[[str], None]) -> None:
        super().__init__()
        self._content, self._preview = content, preview

    def content(self) -> ComposeResult:
        yield TextInput(self._content, name="content")

    def action_preview(self) -> None:
        self._preview(self.query_one(TextInput).raw)

    def action_cancel(self) -> None:
        if self.query_one(TextInput).raw == self._content:
            self.dismiss()
        else:
            self.app.ask(discard_question("preview"), self._answered)

    def _answered(self, reply: str) -> None:
        if reply == DISCARD:
            self.dismiss()
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
