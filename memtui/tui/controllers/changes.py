"""Changes that need no text: which memories they are for, planning, confirming, writing."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial
from itertools import islice
from typing import TYPE_CHECKING

from memtui import text
from memtui.changes import DESTRUCTIVE, Act, Change
from memtui.errors import Conflict, MemtuiError, Refused
from memtui.model import Memory
from memtui.tui import actions, appearance, change_worker, key_bindings
from memtui.tui.change_worker import ChangeWorker, Preview
from memtui.tui.widgets.outcome import OutcomeLine, Tone

if TYPE_CHECKING:
    from memtui.journal import JournalAction
    from memtui.library import Library
    from memtui.library.planning import Planned
    from memtui.tui.actions import ActionHandlers
    from memtui.tui.screen_interface import ScreenInterface


LOOKED_AT = 200
"""Marked memories that are asked about before a key is shown; planning asks about all."""


class Selection:
    """The marked memories, or the one that is shown."""

    def __init__(self, screen: ScreenInterface) -> None:
        self._screen = screen
        self.subject: Memory | None = None
        """What acts are about while a screen lies over the list; None: what the list says."""

    @property
    def library(self) -> Library | None:
        return self._screen.worker.library

    def current(self) -> Memory | None:
        """Return the memory in the detail: under the cursor, or reached by a reference."""
        return self.subject or self._screen.detail.memory

    def find(self, ref: str) -> Memory | None:
        """Return the memory with this ref; None if there is none."""
        try:
            return self.library.get(ref) if self.library is not None and ref else None
        except MemtuiError:
            return None

    def memories(self) -> list[Memory]:
        """Return the marked memories, else the current one."""
        marked = [] if self.subject else self._screen.marked_memories()
        current = self.current()
        return marked or ([current] if current is not None else [])

    def can_write(self) -> str:
        """Return why nothing at all can be changed; empty if something can."""
        if self.library is None:
            return "the stores are still being opened"
        if self._screen.app.launch.state is None:
            return "this session only reads"
        return ""

    def all_read_only(self) -> str:
        """Return why no store can be written; empty if one can."""
        stores = self.library.stores if self.library else []
        reasons = [store.read_only for store in stores]
        return reasons[0] if reasons and all(reasons) else ""

    def refusal(self, action_id: str) -> str:
        """Return why the action is possible for none of the memories; empty if it is for one."""
        if why := self.can_write():
            return why
        if action_id == "edit" and len(self._screen.memories.marked) > 1:
            return ""  # the form says what cannot be changed
        if actions.BY_ID[action_id].single:
            current = self.current()
            memories = [current] if current is not None else []
        else:
            memories = self.some()
        if not memories:
            return "no memory is selected"
        if action_id == "merge" and len(memories) < 2:
            return "mark two or more memories to merge them"
        first = ""
        for memory in memories:
            reason = self.refused(action_id, memory)
            if not reason:
                return ""
            first = first or reason
        return first

    def some(self) -> list[Memory]:
        """Return the first memories, for a quick check: 100,000 may be marked."""
        marked, library = self._screen.memories.marked, self.library
        if self.subject or not marked or library is None:
            return self.memories()
        return list(library.snapshot.rows.with_serials(islice(marked, LOOKED_AT)).values())

    def refused(self, action_id: str, memory: Memory) -> str:
        """Return why this action is not possible for this memory."""
        library = self.library
        if library is None:
            return "the stores are still being opened"
        act = self.act(action_id, memory)
        if action_id == "retire" and memory.status in appearance.INACTIVE_STATUSES:
            restore = key_bindings.hint("restore", self._screen.app.key_overrides)
            return f"it is {memory.status} already{restore}"
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
        """Return the act that retires a memory, DELETE if the store cannot retire."""
        library = self.library
        if library is None or not library.refusal(Act.RETIRE, memory):
            return Act.RETIRE
        return Act.RETIRE if library.refusal(Act.DELETE, memory) else Act.DELETE

    def able(self, action_id: str) -> tuple[list[Memory], str]:
        """Return the memories that the action is possible for, and why not for the others."""
        able, reason = [], ""
        for memory in self.memories():
            why = self.refused(action_id, memory)
            if why:
                reason = reason or why
            else:
                able.append(memory)
        return able, reason


SHOWN = 50
"""Cells of a headline in a toast."""


class ChangeActions:
    """Retire, restore, delete, pin, accept, decline, review: on one memory or all marked ones."""

    def __init__(self, screen: ScreenInterface, writer: ChangeWorker, selection: Selection) -> None:
        self._screen = screen
        self._writer = writer
        self._selection = selection

    def handlers(self) -> ActionHandlers:
        plain = ("retire", "restore", "delete", "pin", "review", "decline")
        return {action_id: partial(self.do, action_id) for action_id in plain}

    def do(self, action_id: str) -> None:
        """Plan the act for every memory that allows it; confirm before something is deleted."""
        able, reason = self._selection.able(action_id)
        if not able:
            self.show_refusal(reason)
            return
        acts = [self._selection.act(action_id, memory) for memory in able]
        if action_id == "pin" and Act.PIN in acts:
            able = [memory for memory in able if not memory.pinned]
            acts = [Act.PIN] * len(able)
        changes = [
            Change(act, memory.store, memory.ref) for act, memory in zip(acts, able, strict=True)
        ]
        left = len(self._selection.memories()) - len(able) if reason else 0
        notes = [OutcomeLine(f"{left} left out: {reason}", Tone.WARNING)] if left else []
        self.plan(changes, notes)

    def plan(self, changes: Sequence[Change], notes: Sequence[OutcomeLine] = ()) -> None:
        """Plan these changes and write them, after a confirmation where one is needed."""
        self._screen.search_bar.set_activity("planning …" if len(changes) > 20 else "")

        def planned(found: Preview) -> None:
            self._screen.search_bar.set_activity("")
            confirm = actions.for_act(changes[0].act).confirm
            must_ask = (
                bool(confirm)
                or len(changes) > 1
                or bool(found.planned.supersedes)
                or any(change.act in DESTRUCTIVE for change in changes)
            )
            self.carry_out(found, notes, must_ask, confirm or "apply")

        def failed(error: MemtuiError) -> None:
            self._screen.search_bar.set_activity("")
            is_delete = all(change.act is Act.DELETE and not change.force for change in changes)
            if is_delete and isinstance(error, Refused):
                self._offer_force(changes, error)
            else:
                self.failed(error)

        self._writer.ask(
            lambda library: change_worker.preview(library, changes),
            planned,
            failed,
            "plan",
            opens=True,
        )

    def _offer_force(self, changes: Sequence[Change], refused: Refused) -> None:
        """Offer a forced delete, showing why the store refused, if one can be planned."""
        forced = [replace(change, force=True) for change in changes]
        notes = [
            OutcomeLine(f"{refused.what}.", Tone.BAD, "force:"),
            *([OutcomeLine(refused.do, Tone.QUIET, "better:")] if refused.do else []),
        ]
        self._writer.ask(
            lambda library: change_worker.preview(library, forced),
            lambda found: self.carry_out(found, notes, True, "delete by force"),
            lambda _: self.failed(refused),
            "plan",
            opens=True,
        )

    def restore_text(self, memory: Memory, former: Memory) -> None:
        """Restore an earlier text of a memory, or of its lineage, after a preview."""
        self._writer.ask(
            lambda library: change_worker.preview_of(
                library.plan_restore_text(memory, former), library
            ),
            lambda found: self.carry_out(found, (), True, "restore"),
            self.failed,
            "plan",
            opens=True,
        )

    def carry_out(self, found: Preview, notes: Sequence[OutcomeLine], ask: bool, yes: str) -> None:
        """Apply a plan; with `ask`, show its diff and confirm first."""
        from memtui.tui.dialogs.diff import DiffScreen

        planned, library = found.planned, self._writer.library
        if library is None:
            return
        if not planned.has_edits:
            self.show_refusal(planned.reason or "nothing would change")
        elif ask:
            summary = (*change_worker.describe_plan(planned, library.get), *notes)
            if len(planned.plans) > 1 and not planned.supersedes:
                summary = (*summary, *change_worker.describe_targets(planned, library.get))
            self._screen.app.push_screen(
                DiffScreen(planned.title, summary, found.lines, found.texts, yes=yes),
                lambda answer: self.apply(planned) if answer else None,
            )
        else:
            self.apply(planned)

    def apply(self, planned: Planned, then: Callable[[], None] | None = None) -> None:
        """Write a plan, report it in a toast and clear the marks."""

        words = done_words(planned, self._name)

        def done(action: JournalAction) -> None:
            self.report_written(planned.with_written_refs(action.refs), words)
            if then is not None:
                then()

        self._writer.apply(planned, done, self.failed)

    def report_written(self, planned: Planned, words: str = "") -> None:
        """Report a finished write in a toast and move the cursor to what it created."""
        screen = self._screen
        if screen.memories.marked:
            screen.memories.unmark()
        words = words or done_words(planned, self._name)
        screen.app.clear_notifications()
        screen.app.notify(
            f"{words}{key_bindings.hint('undo', screen.app.key_overrides)}", timeout=4
        )
        if planned.refs:
            screen.await_memory(planned.refs[0])

    def _name(self, ref: str) -> str:
        library = self._writer.library
        try:
            return library.get(ref).headline[:400] if library else ref
        except MemtuiError:
            return ref

    def failed(self, error: MemtuiError) -> None:
        """Report why nothing was changed, and refresh what another program changed."""
        from memtui.tui.dialogs.diff import THEIRS, ConflictScreen

        if isinstance(error, Conflict) and (error.base, error.theirs) != (None, None):
            self._screen.worker.refresh()
            choices = ((THEIRS, "keep the version on disk"),)
            self._screen.app.push_screen(ConflictScreen(error, choices=choices))
        else:
            self._screen.app.notify(f"No changes. {error}", severity="error", timeout=8)

    def show_refusal(self, reason: str) -> None:
        """Show in a toast why an act cannot be done."""
        self._screen.app.notify(f"{reason[:1].upper()}{reason[1:]}.", timeout=4)


class WritingController:
    """Base of the controllers whose actions end in a change."""

    def __init__(
        self,
        screen: ScreenInterface,
        writer: ChangeWorker,
        selection: Selection,
        changes: ChangeActions,
    ) -> None:
        self._screen = screen
        self._writer = writer
        self._selection = selection
        self._changes = changes


def done_words(planned: Planned, name: Callable[[str], str]) -> str:
    """Return the toast of a change: `Retired: Alice lives in Porto`, `Retired 3 memories`."""
    changes = [change for plan in planned.plans for change in plan.changes]
    acts = list(dict.fromkeys(change.act for change in changes))
    word = actions.done_word(acts[0]) if len(acts) == 1 else "Changed"
    count = len({change.ref or number for number, change in enumerate(changes)})
    if count != 1:
        return f"{word} {text.counted(count, 'memory')}"
    change: Change = changes[0]
    title = name(change.ref) if change.ref else str(change.fields.get("content", ""))
    return f"{word}: {text.cut(text.one_line(title, 400), SHOWN)}"


def of_one_store(memories: Sequence[Memory]) -> str:
    """Return why these memories cannot be changed together; empty if they can."""
    same = len({memory.store for memory in memories}) == 1
    return "" if same else "these memories lie in different stores"
