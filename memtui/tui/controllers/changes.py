"""Changes that need no text: which memories they are for, planning, confirming, writing."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from functools import partial
from itertools import islice
from typing import TYPE_CHECKING

from msgspec.structs import replace

from memtui import text
from memtui.changes import DESTRUCTIVE, Act, Change
from memtui.config.settings import RETIRING
from memtui.errors import Conflict, MemtuiError, Refused
from memtui.library.planning import count_memories
from memtui.model import Memory
from memtui.progress import IsCancelled, Report, never, silent
from memtui.tui import actions, appearance, change_worker
from memtui.tui.change_worker import ChangeWorker, Preview
from memtui.tui.widgets.text_window import OutcomeLine, Tone

if TYPE_CHECKING:
    from memtui.journal import JournalAction
    from memtui.library import Library
    from memtui.library.planning import Planned
    from memtui.tui.actions import ActionHandlers
    from memtui.tui.jobs import Job
    from memtui.tui.screens.browse import BrowseScreen


MAX_CHECKED = 200
"""Marked memories that are asked about before a key is shown; planning asks about all."""


class Selection:
    """The marked memories, or the one that is shown."""

    def __init__(self, screen: BrowseScreen) -> None:
        self._screen = screen
        self.subject: Memory | None = None
        """What acts are about while a screen lies over the list; None: what the list says."""

    def current(self) -> Memory | None:
        """Return the memory in the detail: under the cursor, or reached by a reference."""
        return self.subject or self._screen.detail.memory

    def reader(self) -> Callable[..., list[Memory]]:
        """Return what reads the marked memories, else the current one, as they are marked now.

        Reading thousands takes long, so it is done in a job; it takes `report` and `cancelled`.
        """
        marked = frozenset[int]() if self.subject else frozenset(self._screen.memories.marked)
        current, read_marked = self.current(), self._screen.worker.reader(marked)

        def read(report: Report = silent, cancelled: IsCancelled = never) -> list[Memory]:
            found = read_marked(report, cancelled)
            return found or ([current] if current is not None else [])

        return read

    def can_write(self) -> str:
        """Return why nothing at all can be changed; empty if something can."""
        if self._screen.worker.library is None:
            return "the stores are still being opened"
        if self._screen.app.launch.state is None:
            return "this session only reads"
        return ""

    def all_read_only(self) -> str:
        """Return why no store can be written; empty if one can."""
        library = self._screen.worker.library
        reasons = [store.read_only for store in library.stores] if library is not None else []
        return (reasons or ["no store is open"])[0] if all(reasons) else ""

    def refusal(self, action_id: str) -> str:
        """Return why the action is possible for none of the memories; empty if it is for one."""
        if why := self.can_write():
            return why
        if action_id == "edit" and len(self._screen.memories.marked) > 1:
            return ""  # the form offers what can be changed
        memories = self.some(only_current=actions.BY_ID[action_id].single)
        if not memories:
            return self._screen.memories.why_none
        if action_id == "merge" and len(memories) < 2:
            return "mark two or more memories to merge them"
        first = ""
        for memory in memories:
            if not (reason := self.refused(action_id, memory)):
                return ""
            first = first or reason
        return first

    def some(self, *, only_current: bool = False) -> list[Memory]:
        """Return the first memories, for a quick check: 100,000 may be marked."""
        marked = self._screen.memories.marked
        if only_current or self.subject or not marked:
            current = self.current()
            return [current] if current is not None else []
        return self._screen.worker.read_rows(islice(marked, MAX_CHECKED))

    def refused(self, action_id: str, memory: Memory) -> str:
        """Return why this action is not possible for this memory."""
        library = self._screen.worker.library
        if library is None:
            return "the stores are still being opened"
        act = self.act(action_id, memory)
        if action_id == "retire" and memory.status in appearance.INACTIVE_STATUSES:
            restore = self._screen.app.hint("restore")
            return f"already {memory.status}{restore}"
        return library.refusal(act, memory)

    def act(self, action_id: str, memory: Memory) -> Act:
        """Return the act that the action performs on this memory."""
        if action_id == "retire":
            return self._retiring_act(memory)
        if action_id == "pin" and memory.pinned:
            return Act.UNPIN
        act = actions.BY_ID[action_id].act
        assert act is not None, f"{action_id} makes no change"
        return act

    def _retiring_act(self, memory: Memory) -> Act:
        """Return the act that retires a memory; where the store cannot, that which hides or
        deletes it."""
        library = self._screen.worker.library
        for act in (Act.RETIRE, Act.HIDE, Act.DELETE):
            if library is not None and not library.refusal(act, memory):
                return act
        return Act.RETIRE

    def able(self, action_id: str, memories: Sequence[Memory]) -> tuple[list[Memory], Counter[str]]:
        """Return those of the memories that the action is possible for, and why not for others,
        with their numbers."""
        reasons = [(memory, self.refused(action_id, memory)) for memory in memories]
        able = [memory for memory, why in reasons if not why]
        return able, Counter(why for _, why in reasons if why)


CREATING = frozenset({Act.ADD, Act.SUPERSEDE, Act.MERGE})
"""Acts whose result is a memory that was not there before."""

HEADLINE_CELLS = 50
"""Cells of a headline or a draft's text in a toast."""


class ChangeActions:
    """Retire, restore, delete, pin, accept, decline, review: on one memory or all marked ones."""

    def __init__(self, screen: BrowseScreen, writer: ChangeWorker) -> None:
        self.screen = screen
        self.writer = writer
        self.selection = Selection(screen)

    def handlers(self) -> ActionHandlers:
        plain = ("retire", "restore", "delete", "pin", "review", "decline")
        return {action_id: partial(self.do, action_id) for action_id in plain}

    def do(self, action_id: str) -> None:
        """Plan the act for every memory that allows it; confirm before something is deleted."""
        read = self.selection.reader()
        self.writer.plan(
            lambda *_: self._possible(action_id, read()),
            lambda found: self.plan(*found),
            lambda error: self.screen.app.report_refusal(str(error)),
        )

    def _possible(
        self, action_id: str, memories: Sequence[Memory]
    ) -> tuple[list[Change], list[OutcomeLine]]:
        """The changes of the memories that allow the act, and what is left out.

        Raises:
            Refused: None of them allows it.
        """
        able, reasons = self.selection.able(action_id, memories)
        if not able:
            raise Refused(next(iter(reasons)))
        acts = [self.selection.act(action_id, memory) for memory in able]
        if action_id == "pin" and Act.PIN in acts:
            able = [memory for memory in able if not memory.pinned]
            acts = [Act.PIN] * len(able)
        changes = [
            Change(act, memory.store, memory.ref) for act, memory in zip(acts, able, strict=True)
        ]
        return changes, change_worker.describe_left_out(reasons)

    def plan(self, changes: Sequence[Change], notes: Sequence[OutcomeLine] = ()) -> None:
        """Plan these changes and write them, after a confirmation where one is needed."""

        def planned(ways: tuple[Preview, Preview | None]) -> None:
            found, other = ways
            confirm = actions.for_act(changes[0].act).confirm
            must_ask = (
                bool(confirm)
                or len(changes) > 1
                or bool(found.planned.supersedes)
                or any(change.act in DESTRUCTIVE for change in changes)
            )
            self.carry_out(found, notes, must_ask, confirm or "apply", other=other)

        def look(library: Library, job: Job) -> tuple[Preview, Preview | None]:
            found = change_worker.preview(library, changes, job)
            return found, _deleting(found.planned, library, job)

        def failed(error: MemtuiError) -> None:
            is_delete = all(change.act is Act.DELETE and not change.force for change in changes)
            if is_delete and isinstance(error, Refused):
                self._offer_force(changes, error)
            else:
                self.failed(error)

        self.writer.plan(look, planned, failed)

    def _offer_force(self, changes: Sequence[Change], refused: Refused) -> None:
        """Offer a forced delete, showing why the store refused, if one can be planned."""
        forced = [replace(change, force=True) for change in changes]
        better = refused.do.removesuffix(", or force")
        notes = [
            OutcomeLine(f"{refused.what}.", Tone.BAD, "force:"),
            *([OutcomeLine(better, Tone.QUIET, "better:")] if better else []),
        ]
        self.writer.plan(
            lambda library, job: change_worker.preview(library, forced, job),
            lambda found: self.carry_out(found, notes, True, "delete by force"),
            lambda _: self.failed(refused),
        )

    def restore_text(self, memory: Memory, former: Memory, confirmed: Callable[[], object]) -> None:
        """Restore an earlier text of a memory, or of its lineage, after a preview.

        `confirmed` is called before it is written.
        """
        self.writer.plan(
            lambda library, _: change_worker.preview_of(
                library.plan_restore_text(memory, former), library
            ),
            lambda found: self.carry_out(found, (), True, "restore", confirmed),
            self.failed,
        )

    def carry_out(
        self,
        found: Preview,
        notes: Sequence[OutcomeLine],
        ask: bool,
        yes: str,
        confirmed: Callable[[], object] = lambda: None,
        *,
        other: Preview | None = None,
    ) -> None:
        """Apply a plan; with `ask`, show its diff and confirm first, then call `confirmed`.

        `other`: the plan that deletes what this one only hides. Both are offered, first the one
        that was chosen the last time.
        """
        from memtui.tui.dialogs.diff import DiffScreen, Way

        app, planned = self.screen.app, found.planned
        if not planned.has_edits:
            app.report_refusal(planned.reason or "nothing would change")
        elif other is not None:
            summary, away = self._summary(found, notes), self._summary(other, notes)
            way = Way(away, other.lines, "delete there")
            first = 1 + RETIRING.index(app.settings.retire)
            title = planned.title.replace(str(Act.HIDE), str(Act.RETIRE), 1)
            dialog = DiffScreen(
                title, summary, found.lines, yes="hide here", others=[way], first=first
            )

            def chosen(number: int) -> None:
                app.remember_retiring(RETIRING[number - 1])
                self.apply((found, other)[number - 1].planned)

            app.ask(dialog, chosen)
        elif ask:
            dialog = DiffScreen(planned.title, self._summary(found, notes), found.lines, yes=yes)

            def answered(_: int) -> None:
                confirmed()
                self.apply(planned)

            app.ask(dialog, answered)
        else:
            self.apply(planned)

    def _summary(self, found: Preview, notes: Sequence[OutcomeLine]) -> Sequence[OutcomeLine]:
        planned, find = found.planned, self.writer.worker.find_memory
        summary = (*change_worker.describe_plan(planned, find), *notes)
        if len(planned.plans) > 1 and not planned.supersedes:
            summary = (*summary, *change_worker.describe_targets(planned, find))
        return summary

    def apply(self, planned: Planned) -> None:
        """Write a plan, report it in a toast and clear the marks."""
        words = self._done_words(planned)

        def done(action: JournalAction) -> None:
            self.report_written(planned.with_written_refs(action.refs), words)

        self.writer.apply(planned, done, self.failed)

    def report_written(self, planned: Planned, words: str = "") -> None:
        """Report a finished write in a toast and move the cursor to what it created.

        After a change of the marked memories the cursor stays, unless they became one.
        """
        was_marked = bool(self.screen.memories.marked)
        if was_marked:
            self.screen.memories.unmark()
        self.screen.app.report(words or self._done_words(planned))
        acts = {change.act for change in planned.changes}
        if planned.refs and (not was_marked or acts & CREATING):
            self.screen.await_memory(planned.refs[0])

    def _done_words(self, planned: Planned) -> str:
        """Return the toast of a change: `Retired: Alice lives in Porto`, `Retired 3 memories`."""
        changes = planned.changes
        acts = list(dict.fromkeys(change.act for change in changes))
        word = actions.done_word(acts[0]) if len(acts) == 1 else "Changed"
        if (count := count_memories(changes)) != 1:
            return f"{word} {text.counted(count, 'memory')}"
        change = changes[0]
        memory = self.screen.worker.find_memory(change.ref)
        title = memory.headline if memory else change.ref or str(change.fields.get("content", ""))
        return f"{word}: {text.cut_line(title, HEADLINE_CELLS)}"

    def failed(self, error: MemtuiError) -> None:
        """Report why nothing was changed, and refresh what another program changed."""
        from memtui.tui.dialogs.diff import THEIRS, ConflictScreen

        if isinstance(error, Conflict) and (error.base, error.theirs) != (None, None):
            self.screen.worker.refresh()
            choices = ((THEIRS, "keep the version on disk"),)
            self.screen.app.push_screen(ConflictScreen(error, choices=choices))
        else:
            self.screen.app.notify(f"No changes: {error}", severity="error", timeout=8)


def _deleting(planned: Planned, library: Library, job: Job) -> Preview | None:
    """Plan to delete what this plan only hides; None if it hides nothing, or that is refused."""
    if not planned.only_hides:
        return None
    changes = [
        replace(change, act=Act.DELETE) if plan.only_hides else change
        for plan in planned.plans
        for change in plan.changes
    ]
    try:
        return change_worker.preview(library, changes, job)
    except Refused:
        return None


class WritingController:
    """Base of the controllers whose actions end in a change."""

    def __init__(self, changes: ChangeActions) -> None:
        self._changes = changes
        self._screen, self._writer = changes.screen, changes.writer
        self._selection = changes.selection


def of_one_store(memories: Sequence[Memory]) -> str:
    """Return why these memories cannot be changed together; empty if they can."""
    same = len({memory.store for memory in memories}) == 1
    return "" if same else "these memories lie in different stores"
