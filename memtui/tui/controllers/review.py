"""The review queue on the screen: scans in the background, accepts and remembers decisions."""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from time import monotonic
from typing import TYPE_CHECKING

from msgspec.structs import asdict, replace

from memtui import text
from memtui.errors import MemtuiError, WorkerError
from memtui.tui.change_worker import Preview, describe_effects, preview_of
from memtui.tui.controllers.changes import HEADLINE_CELLS, ChangeActions, WritingController
from memtui.tui.controllers.recovery import JournalActions
from memtui.tui.view_state import Choice

if TYPE_CHECKING:
    from memtui.journal import JournalAction
    from memtui.journal.purging import OwnCopies
    from memtui.library import Library
    from memtui.library.planning import Planned
    from memtui.library.review import ReviewQueue
    from memtui.library.review_files import Queue
    from memtui.progress import Progress
    from memtui.tui.actions import ActionHandlers
    from memtui.tui.dialogs.review import ProposalDetail, ReviewScreen
    from memtui.tui.jobs import Job
    from memtui.upkeep.proposals import Proposal


LOOK_EVERY = 2.0
"""Seconds between two looks for new proposals of agents: one stat call."""
RESCAN_AFTER = 1.5
"""Seconds after a change of the stores before they are scanned again."""
LONGEST_RESCAN = 60.0
RESCAN_SHARE = 0.2
"""Share of the time that scans take while agents write without a pause."""


ReviewState = tuple["Queue", dict[str, list[str]]]
"""A queue, and what it says about each memory."""
Then = Callable[[], object]
"""Called once a change is written."""


class ReviewActions(WritingController):
    """Opens the review queue and carries out its actions."""

    def __init__(self, changes: ChangeActions, journal: JournalActions) -> None:
        super().__init__(changes)
        self._journal = journal
        self._review: ReviewQueue | None = None
        self._job: Job | None = None
        self._dialog: ReviewScreen | None = None
        self._is_due = False
        self._badges: dict[str, list[str]] = {}
        """Ref of a memory -> what was found about it."""
        self.queue: Queue | None = None
        self.is_scanning = False
        self._is_own_scan = False
        self._seconds = 0.0
        """That the last scan took."""
        self._has_failed = False
        self._mark = 0
        """Of the proposals of agents, as they were scanned last."""
        self._decided: list[tuple[str, ...]] = []
        """What undo takes back in this dialog: ids that were put aside, or () for a change."""

    def handlers(self) -> ActionHandlers:
        return {"queue": self._open}

    @property
    def has_model(self) -> bool:
        return bool(self._screen.app.settings.language_model.model)

    @property
    def not_scanned(self) -> str:
        """The names of open stores whose memories are not looked at, because they are asked."""
        library = self._screen.worker.library
        labels = library.queried.stores if library is not None else ()
        return ", ".join(map(self._screen.app.store_name, labels))

    # Scanning

    def begin(self) -> None:
        """Scan for the first time, and from then on show at once what agents propose."""
        self.scan()
        self._screen.set_interval(LOOK_EVERY, self._look_for_proposals)

    def _look_for_proposals(self) -> None:
        from memtui.library.agent_proposals import AgentProposals

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

        def work(library: Library, job: Job) -> ReviewState:
            review = self._queue_of(library)
            if self.queue is None and (last := review.last()) is not None:
                job.call(self._show, _with_badges(last))
            found = review.scan_aside(job.report, job.is_cancelled if is_awaited else job.rest)
            self._seconds = monotonic() - begun
            return _with_badges(found)

        self.is_scanning, self._is_own_scan = True, not is_awaited
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

    def _queue_of(self, library: Library) -> ReviewQueue:
        from memtui.library.review import ReviewQueue

        if self._review is None:
            present = self._screen.worker.present or library  # whatever is shown
            self._review = ReviewQueue(present, self._screen.app.settings.review)
        return self._review

    def _scanned(self, found: ReviewState) -> None:
        self.is_scanning = False
        self._show(found)
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

    def _show(self, found: ReviewState) -> None:
        self.queue, badges = found
        queue = self.queue
        if badges != self._badges:
            self._badges = badges
            self._screen.memories.show_findings(badges)
            self._screen.detail.show_findings(badges)
        self._screen.chips.set_review(queue.acceptable, queue.hints, queue.from_agents)
        if (dialog := self._open_dialog()) is not None:
            dialog.show_queue(queue)

    def _open_dialog(self) -> ReviewScreen | None:
        """The dialog, once it has its widgets; until then it takes the queue when it gets them."""
        dialog = self._dialog
        is_shown = dialog is not None and dialog.is_open and dialog.is_mounted
        return dialog if is_shown else None

    def _open(self) -> None:
        from memtui.tui.dialogs.review import ReviewScreen

        self._decided.clear()
        memory = self._selection.current()
        self._dialog = ReviewScreen(self, memory.ref if memory is not None else "")
        self._screen.app.push_screen(self._dialog)

    # One proposal

    def look(self, proposal: Proposal, done: Callable[[ProposalDetail], None]) -> None:
        """Read the memories of a proposal and plan its changes, to be shown."""

        def work(library: Library, _: Job) -> ProposalDetail:
            from memtui.tui.dialogs.review import ProposalDetail

            review = self._queue_of(library)
            memories = tuple(review.memories(proposal))
            if not proposal.changes:
                return ProposalDetail(memories)
            try:
                found = preview_of(review.plan([proposal]), library)
                return ProposalDetail(memories, found.lines, effects=found.planned.effects)
            except MemtuiError as error:
                return ProposalDetail(memories, problem=str(error))

        self._screen.worker.run("review-look", work, done, self._changes.failed)

    def open_memories(self, proposal: Proposal) -> None:
        """Go to the memory of a proposal; with several, ask which."""
        library = self._screen.worker.library
        if library is None:
            return
        memories = self._queue_of(library).memories(proposal)
        if not proposal.refs and proposal.changes:  # an agent proposes it
            self._screen.app.report_refusal("there is no memory yet")
        elif not memories:
            if self._dialog is not None:
                self._dialog.dismiss(None)
            self._screen.action_act("unreadable")  # shows the error and the last good copy
        elif len(memories) == 1:
            self._close_and_go_to(memories[0].ref)
        else:
            choices = [
                Choice(one.ref, text.cut_line(one.headline, 60), note=text.one_line(one.entity))
                for one in memories
            ]
            self._screen.app.pick("Go to", choices, self._close_and_go_to)

    def _close_and_go_to(self, ref: str) -> None:
        if self._dialog is not None:
            self._dialog.dismiss(None)
        self._screen.go_to_memory(ref)

    # Decisions

    def accept(
        self, proposals: Sequence[Proposal], *, preview: bool, then: Then = lambda: None
    ) -> None:
        """Apply these proposals as one action; with `preview`, confirm its diff first."""
        if not proposals or self._refused():
            return

        def planned(found: Preview) -> None:
            if not found.planned.has_edits:
                self._screen.app.report_refusal(found.planned.reason or "nothing would change")
            elif preview:
                self._ask(found, proposals, then)
            else:
                self._write(found.planned, proposals, then)

        def plan(library: Library, _: Job) -> Preview:
            return preview_of(self._queue_of(library).plan(proposals), library)

        self._screen.worker.run("plan", plan, planned, self._changes.failed, holds_keys=preview)

    def _ask(self, found: Preview, proposals: Sequence[Proposal], then: Then) -> None:
        from memtui.tui.dialogs.diff import DiffScreen

        count = len(proposals)
        yes = "accept" if count == 1 else f"accept {text.number(count)}"
        effects = describe_effects(found.planned.plans)
        dialog = DiffScreen(found.planned.title, effects, found.lines, yes=yes)
        self._screen.app.ask(dialog, lambda _: self._write(found.planned, proposals, then))

    def _write(self, planned: Planned, proposals: Sequence[Proposal], then: Then) -> None:
        def done(action: JournalAction) -> None:
            then()
            what = (
                text.cut_line(proposals[0].title, HEADLINE_CELLS)
                if len(proposals) == 1
                else text.counted(len(proposals), "proposal")
            )
            self._screen.app.report(f"Accepted: {what}")
            self._decided.append(())
            self._show_without(proposals)
            self._screen.worker.run(
                "review-decide",
                lambda library, _: self._queue_of(library).note_accepted(proposals, action.id),
                lambda _: self.scan(),
                self._changes.failed,
                replaces=False,
            )
            if removed:
                self._offer_purge(proposals, removed)

        library = self._screen.worker.library
        removed = self._queue_of(library).secrets_in(proposals) if library is not None else ()
        self._writer.apply(planned, done, self._changes.failed)

    def _offer_purge(self, accepted: Sequence[Proposal], removed: Collection[str]) -> None:
        """Ask whether removed secrets are erased from what memtui itself keeps."""
        from memtui.library.review import describe_copies
        from memtui.tui.dialogs.prompts import ConfirmDialog
        from memtui.tui.widgets.text_window import OutcomeLine, Tone

        app, run = self._screen.app, self._screen.worker.run
        library = self._screen.worker.library
        if library is None:
            return
        beyond = self._queue_of(library).unreachable_copies(accepted)

        def ask(copies: OwnCopies) -> None:
            left = "; ".join([*map(str, copies.others), beyond])
            if not copies:
                app.notify(f"The secret may still be in: {left}.", timeout=8)
                return
            found = describe_copies(copies)
            body = [
                OutcomeLine(found, head="memtui has it in:"),
                OutcomeLine("These changes can then no longer be undone."),
                OutcomeLine(left, Tone.QUIET, "not erased:"),
            ]

            def erase(_: str) -> None:
                run("purge", lambda library, _: library.purge(copies), erased, self._changes.failed)

            title = "Erase the secret from memtui too?"
            app.ask(ConfirmDialog(title, body, {"y": "erase"}), erase)

        def erased(_: None) -> None:
            self._decided.clear()  # undo would find nothing
            app.notify("Erased from memtui's journal, backups and caches.", timeout=4)

        run("purge", lambda library, _: library.find_copies(removed), ask, self._changes.failed)

    def _show_without(self, proposals: Sequence[Proposal], counted: Queue | None = None) -> None:
        """Show the queue without these proposals, with the postponed counts of `counted`."""
        if self.queue is not None:
            removed_ids = {one.id for one in proposals}
            left = tuple(one for one in self.queue.proposals if one.id not in removed_ids)
            self._show(_with_badges(replace(counted or self.queue, proposals=left)))

    def can_edit(self, proposal: Proposal) -> bool:
        library = self._screen.worker.library
        return library is not None and self._queue_of(library).proposed_text(proposal) is not None

    def edit(self, proposal: Proposal) -> None:
        """Edit the text that a proposal writes, then preview and accept it."""
        from memtui.tui.dialogs.review import ProposalTextScreen

        library = self._screen.worker.library
        if library is None or self._refused():
            return
        review = self._queue_of(library)
        before = review.proposed_text(proposal)
        if before is None:
            self._screen.app.report_refusal("this proposal writes no text that could be edited")
            return

        def preview(edited: str) -> None:
            latest = self.queue.latest(proposal) if self.queue is not None else proposal
            try:
                changed = review.with_text(latest, edited)
            except MemtuiError as error:
                self._changes.failed(error)
            else:
                self.accept([changed], preview=True, then=editor.dismiss)

        editor = ProposalTextScreen(before, preview)
        self._screen.app.push_screen(editor)

    def decide(self, proposals: Sequence[Proposal], *, snooze: bool) -> None:
        """Decline findings for good, or snooze them for a week."""
        from memtui.library.review_files import Decision

        if not proposals:
            return
        decision = Decision.SNOOZED if snooze else Decision.DECLINED
        word = "Snoozed for a week" if snooze else "Declined"

        def done(counted: Queue | None) -> None:
            what = text.counted(len(proposals), "finding")
            self._screen.app.report(f"{word}: {what}")
            self._decided.append(tuple(one.id for one in proposals))
            self._show_without(proposals, counted)

        def work(library: Library, _: Job) -> Queue | None:
            review = self._queue_of(library)
            review.decisions.decide(proposals, decision)
            return review.last()

        run = self._screen.worker.run
        run("review-decide", work, done, self._changes.failed, replaces=False)

    def never(self, proposal: Proposal) -> None:
        """Leave out what was found in this store from now on, by an entry of the settings."""
        from memtui.config import SCHEMA
        from memtui.library.review_files import off_names

        app = self._screen.app
        name = max(off_names(proposal), key=len)
        settings = app.settings.review
        table = {
            field: value
            for field, value in asdict(settings).items()
            if value != getattr(type(settings)(), field)
        }
        setting = next(one for one in SCHEMA if one.key == "review.findings")
        try:
            app.save_setting(setting, {**table, "off": [*settings.off, name]})
        except MemtuiError as error:
            self._changes.failed(error)
            return
        app.notify(f"Never again: {text.one_line(name)}. It is in the settings, review.findings.")

    def undo(self) -> None:
        """Open again what was put aside last, or undo the last change."""
        if ids := self._decided.pop() if self._decided else ():
            self._reopen(ids)
        elif not self._refused():
            self._journal.reverse("undo")

    def _reopen(self, ids: Sequence[str]) -> None:
        def work(library: Library, _: Job) -> None:
            self._queue_of(library).decisions.reopen(ids)

        def done(_: None) -> None:
            self._screen.app.notify(f"Undone: {text.counted(len(ids), 'finding')} open again")
            self.scan()

        run = self._screen.worker.run
        run("review-decide", work, done, self._changes.failed, replaces=False)

    def _refused(self) -> bool:
        reason = self._selection.can_write()
        if reason:
            self._screen.app.report_refusal(reason)
        return bool(reason)

    # The language model

    def ask_model(self, proposal: Proposal) -> None:
        """Confirm what is sent to the model, let it write the text, and show the diff."""
        from memtui.tui.dialogs.review import SendScreen
        from memtui.upkeep.model_requests import ChatServer

        library = self._screen.worker.library
        if library is None or self._refused():
            return
        review = self._queue_of(library)
        try:
            server = ChatServer(self._screen.app.settings.language_model)
            request = review.model_request(proposal)
        except MemtuiError as error:
            self._changes.failed(error)
            return
        if request is None:
            self._screen.app.report_refusal("there is no text for a model to write here")
            return

        def send(_: bool) -> None:
            self._screen.app.notify(f"Asking {server.name} …", timeout=30)
            self._screen.worker.run(
                "review-model",
                lambda *_: review.with_answer(proposal, server.complete(request)),
                written,
                self._changes.failed,
                holds_keys=True,
            )

        def written(changed: Proposal) -> None:
            self._screen.app.clear_notifications()
            self.accept([changed], preview=True)

        self._screen.app.ask(SendScreen(server.name, request), send)


def _with_badges(queue: Queue) -> ReviewState:
    from memtui.upkeep.proposals import badges_of

    return queue, badges_of(queue.proposals)
