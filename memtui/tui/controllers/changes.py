"""Changes that need no text: which memories they are for, planning, confirming, writing."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection, Sequence
from datetime import datetime
from functools import partial
from itertools import islice
from typing import TYPE_CHECKING

from msgspec.structs import replace

from memtui import text
from memtui.changes import DESTRUCTIVE, Act, Change
from memtui.config.settings import RETIRING
from memtui.errors import AlreadyThere, Conflict, MemtuiError, Refused
from memtui.library.planning import count_memories
from memtui.model import Memory
from memtui.progress import IsCancelled, Report, never, silent
from memtui.tui import actions, appearance, previews
from memtui.tui.previews import Preview
from memtui.tui.view_state import Choice
from memtui.tui.widgets.text_window import OutcomeLine, Tone

if TYPE_CHECKING:
    from memtui.library import Library
    from memtui.library.planning import Planned
    from memtui.library.restoring import NotRestored
    from memtui.tui.actions import ActionHandlers
    from memtui.tui.jobs import Job
    from memtui.tui.screens.browse import BrowseScreen


MAX_CHECKED = 200
"""Marked memories that are asked about before a key is shown; planning asks about all."""


class Selection:
    """The marked memories, or the one that is shown."""

    def __init__(self, screen: BrowseScreen) -> None:
        self._screen = screen

    def current(self) -> Memory | None:
        """Return the memory in the detail: under the cursor, or reached by a reference."""
        return self._screen.detail.memory

    def reader(self) -> Callable[..., list[Memory]]:
        """Return what reads the marked memories, else the current one, as they are marked now.

        Reading thousands takes long, so it is done in a job; it takes `report` and `cancelled`.
        """
        marked = frozenset(self._screen.memories.marked)
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
        if only_current or not marked:
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

    def __init__(self, screen: BrowseScreen) -> None:
        self.screen, self.acts = screen, screen.acts
        self.selection = Selection(screen)

    def handlers(self) -> ActionHandlers:
        plain = ("retire", "restore", "delete", "pin", "review", "decline")
        found = {action_id: partial(self.do, action_id) for action_id in plain}
        return {**found, "replace": self.replace_words, "promote": self.promote}

    async def promote(self) -> None:
        """Make the memory hold for all projects of its program, or for one, after a preview."""
        from memtui.tui.dialogs.prompts import PromptDialog

        memory, library = self.selection.current(), self.screen.worker.library
        if memory is None or library is None:
            return
        part = ""
        if parts := library.store(memory.store).parts_of(memory):
            choices = [Choice(each, text.one_line(each)) for each in parts]
            if not (part := await self.acts.pick("Which part of its file", choices) or ""):
                return

        def look(project: str, library: Library, job: Job) -> Preview:
            return previews.preview_of(library.plan_rescope(memory, project, part), library, job)

        try:
            found = await self.acts.library(partial(look, ""))
        except AlreadyThere:  # so it is the other way
            title = f"Of which project is {text.cut(text.one_line(part or memory.headline), 40)}"
            project = await self.acts.show(
                PromptDialog(title, placeholder="Project", accept="next")
            )
            if not project:
                return
            found = await self.acts.library(partial(look, project))
        if await self.confirm(found, (), "promote"):
            action = await self.acts.apply(found.planned)
            headline = text.cut_line(part or memory.headline, HEADLINE_CELLS)
            words = f"{actions.BY_ID['promote'].done}: {headline}"
            self.report_written(found.planned.with_written_refs(action.refs), words)

    async def replace_words(self) -> None:
        """Replace a word or value in the marked memories, in the text of each, after a preview."""
        from memtui.tui.dialogs.prompts import PromptDialog
        from memtui.upkeep.claims import changes_of_words

        read = self.selection.reader()
        old = await self.acts.show(
            PromptDialog("Replace", placeholder="Word or value", accept="next")
        )
        if not old:
            return
        new = await self.acts.show(
            PromptDialog(f"Replace {text.one_line(old)} by", placeholder="", accept="preview")
        )
        if not new:
            return

        def look(library: Library, job: Job) -> Preview:
            can = lambda act, memory: not library.refusal(act, memory)  # noqa: E731
            changes = list(changes_of_words(read(), old, new, can))
            if not changes:
                raise Refused(f"no memory that can be changed has {text.one_line(old)}")
            return previews.preview(library, changes, job)

        found = await self.acts.library(look)
        if await self.confirm(found, (), "replace"):
            await self.apply(found.planned)

    async def do(self, action_id: str) -> None:
        """Plan the act for every memory that allows it; confirm before something is deleted."""
        read = self.selection.reader()
        changes, notes = await self.acts.library(lambda *_: self._possible(action_id, read()))
        await self.make(changes, notes)

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
        return changes, previews.describe_left_out(reasons)

    async def make(self, changes: Sequence[Change], notes: Sequence[OutcomeLine] = ()) -> None:
        """Plan these changes and write them, after a confirmation where one is needed.

        Of several, those that only planning finds impossible are left out.
        """
        may_force = any(change.act is Act.DELETE and not change.force for change in changes)
        leave_out = len(changes) > 1 and not may_force
        plan = previews.preview_possible if leave_out else previews.preview

        def look(library: Library, job: Job) -> tuple[Preview, Preview | None]:
            found = plan(library, changes, job)
            return found, _deleting(found.planned, library, job)

        try:
            found, other = await self.acts.library(look)
        except Refused as error:
            if not may_force:
                raise
            await self._force(changes, error)
            return
        notes = [*notes, *previews.describe_left_out(found.left_out)]
        if not found.planned.has_edits:
            raise Refused(found.planned.reason or "nothing would change")
        if other is not None:
            await self._hide_or_delete(found, other, notes)
        else:
            await self.write(found, notes)

    async def write(self, found: Preview, notes: Sequence[OutcomeLine] = ()) -> None:
        """Write what was planned, after a confirmation where one is needed."""
        changes = found.planned.changes
        confirm = actions.for_act(changes[0].act).confirm
        retires = found.planned.supersedes or any(c.act in DESTRUCTIVE for c in changes)
        must_ask = confirm or retires or len(changes) > 1
        if not must_ask or await self.confirm(found, notes, confirm or "apply"):
            await self.apply(found.planned)

    async def _force(self, changes: Sequence[Change], refused: Refused) -> None:
        """Offer a forced delete, showing why the store refused, if one can be planned."""
        forced = [replace(change, force=True) for change in changes]
        better = refused.do.removesuffix(", or force")
        notes = [
            OutcomeLine(f"{refused.what}.", Tone.BAD, "force:"),
            *([OutcomeLine(better, Tone.QUIET, "better:")] if better else []),
        ]
        try:
            found = await self.acts.library(
                lambda library, job: previews.preview(library, forced, job)
            )
        except MemtuiError:
            raise refused from None
        if await self.confirm(found, notes, "delete by force"):
            await self.apply(found.planned)

    async def _hide_or_delete(
        self, hiding: Preview, deleting: Preview, notes: Sequence[OutcomeLine]
    ) -> None:
        """Offer both ways to be rid of a memory, first the one that was chosen the last time."""
        from memtui.tui.dialogs.diff import DiffScreen, Way

        app = self.screen.app
        away = Way(self._summary(deleting, notes), deleting.lines, "delete there")
        first = 1 + RETIRING.index(app.settings.retire)
        title = hiding.planned.title.replace(str(Act.HIDE), str(Act.RETIRE), 1)
        summary = self._summary(hiding, notes)
        dialog = DiffScreen(
            title, summary, hiding.lines, yes="hide here", others=[away], first=first
        )
        if (number := await self.acts.show(dialog)) is not None:
            app.remember_retiring(RETIRING[number - 1])
            await self.apply((hiding, deleting)[number - 1].planned)

    async def confirm_former_text(self, memory: Memory, former: Memory) -> Planned | None:
        """Show what giving a memory, or its lineage, an earlier text would write; return it if the
        person confirms."""
        found = await self.acts.library(
            lambda library, _: previews.preview_of(
                library.plan_restore_text(memory, former), library
            )
        )
        if not found.planned.has_edits:
            raise Refused(found.planned.reason or "nothing would change")
        return found.planned if await self.confirm(found, (), "restore") else None

    async def confirm_past(self, at: datetime, refs: Collection[str] | None) -> Planned | None:
        """Show what giving back memories as they were at a time would write, all that are gone if
        `refs` is None; return it if the person confirms."""

        def look(library: Library, job: Job) -> tuple[Preview, Sequence[NotRestored], list[str]]:
            from memtui.library.change_authors import authors_of, describe_authors
            from memtui.library.past_library import library_at
            from memtui.library.restoring import plan_restore

            past = library_at(library, at, job.is_cancelled, with_asked=False)
            found = plan_restore(
                library, past, refs, only_deleted=refs is None, cancelled=job.is_cancelled
            )
            if not found.planned.has_edits:
                raise Refused(found.refused[0].reason if found.refused else "nothing would change")
            sessions = self.screen.transcripts.sessions(job)
            authors = authors_of(library, found.changes, sessions, job.is_cancelled)
            preview = previews.preview_of(found.planned, library, job)
            return preview, found.refused, describe_authors(authors)

        found, refused, authors = await self.acts.library(look)
        notes = [OutcomeLine(words, Tone.QUIET, "was changed:") for words in authors]
        if refused:
            words = f"{text.counted(len(refused), 'memory')}: {refused[0].reason}"
            notes.append(OutcomeLine(words, Tone.BAD, "left out:"))
        return found.planned if await self.confirm(found, notes, "restore") else None

    async def confirm(self, found: Preview, notes: Sequence[OutcomeLine], yes: str) -> bool:
        """Show the diff of a plan; return whether it is to be written."""
        from memtui.tui.dialogs.diff import DiffScreen

        summary = self._summary(found, notes)
        dialog = DiffScreen(found.planned.title, summary, found.lines, yes=yes)
        return await self.acts.show(dialog) is not None

    def _summary(self, found: Preview, notes: Sequence[OutcomeLine]) -> Sequence[OutcomeLine]:
        planned, find = found.planned, self.screen.worker.find_memory
        summary = (*previews.describe_plan(planned, find), *notes)
        if len(planned.plans) > 1 and not planned.supersedes:
            summary = (*summary, *previews.describe_targets(planned, find))
        return summary

    async def apply(self, planned: Planned) -> None:
        """Write a plan, report it in a toast and clear the marks."""
        words = self._done_words(planned)
        action = await self.acts.apply(planned)
        self.report_written(planned.with_written_refs(action.refs), words)

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
        named, _, what = planned.title.partition(" ")
        if named in {*Act}.difference(acts):  # the changes are only how it is done
            return f"{actions.done_word(Act(named))} {what}"
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

        if isinstance(error, Refused) and not isinstance(error, Conflict):
            self.screen.app.report_refusal(str(error))
        elif isinstance(error, Conflict) and (error.base, error.theirs) != (None, None):
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
        return previews.preview(library, changes, job)
    except Refused:
        return None


class WritingController:
    """Base of the controllers whose actions end in a change."""

    def __init__(self, changes: ChangeActions) -> None:
        self._changes = changes
        self._screen, self._acts = changes.screen, changes.acts
        self._selection = changes.selection


def of_one_store(memories: Sequence[Memory]) -> str:
    """Return why these memories cannot be changed together; empty if they can."""
    same = len({memory.store for memory in memories}) == 1
    return "" if same else "these memories lie in different stores"
