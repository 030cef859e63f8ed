"""Undo, redo, the change log, and changes that other programs have overwritten."""

from __future__ import annotations

import time
from collections.abc import Callable, Collection, Hashable, Iterable, Sequence
from datetime import UTC, datetime
from functools import partial
from typing import TYPE_CHECKING

from rich.style import Style

from memtui import text
from memtui.changes import edit_diffs
from memtui.errors import RefError, Refused
from memtui.journal import ActionState, JournalAction
from memtui.journal.action import changed_memories
from memtui.library import Library
from memtui.library.planning import name_below
from memtui.progress import Report
from memtui.tui import actions
from memtui.tui.appearance import Palette, wrapped
from memtui.tui.controllers.changes import HEADLINE_CELLS, ChangeActions, WritingController
from memtui.tui.dialogs.dialog import Key
from memtui.tui.dialogs.diff import DiffScreen, Way
from memtui.tui.dialogs.list_page import ListPage, PageText
from memtui.tui.diff_lines import DiffLine, diff_files
from memtui.tui.jobs import Job
from memtui.tui.previews import describe_effects, preview_of
from memtui.tui.widgets.diff_view import draw_diff
from memtui.tui.widgets.text_window import OutcomeLine, RowList, Tone

if TYPE_CHECKING:
    from memtui.library.reverted_edits import RevertedEdit
    from memtui.tui.actions import ActionHandlers

# ---- the page ------------------------------------------------------------------------------------

_STATES = {
    ActionState.DONE: "● done",
    ActionState.UNDONE: "↶ undone",
    ActionState.VOID: "○ not applied",
    ActionState.UNSURE: "! interrupted",
    ActionState.INTENT: "… in progress",
}
_OVERWRITTEN = "! overwritten"
"""State of a change that another program has overwritten, in whole or in part."""
TIME_WIDTH = 5
STATE_WIDTH = 13
NARROW = 50
"""Columns below which the state of a change is its sign alone."""


class ActionList(RowList[JournalAction]):
    """A list of changes, one per line."""

    empty = "No changes yet.\nWhat you change with memtui is listed here, to undo and redo it."
    is_lit = False

    def __init__(self, rows: Sequence[JournalAction], overwritten: Collection[int]) -> None:
        super().__init__(rows, title="Changes")
        self._overwritten = overwritten

    def state_of(self, row: JournalAction) -> str:
        return _OVERWRITTEN if row.id in self._overwritten else _STATES[row.state]

    def draw_row(self, row: JournalAction, width: int) -> Sequence[tuple[str, Style]]:
        palette, state = self.palette, self.state_of(row)
        quiet = row.state not in (ActionState.DONE, ActionState.UNSURE)
        when = text.short_ago(_time(row), self.app.now())
        columns = STATE_WIDTH if width >= NARROW else 1
        room = max(8, width - TIME_WIDTH - columns - 6)
        return [
            (f"{when:>{TIME_WIDTH}}  ", palette.dim),
            (text.column(row.title, room), palette.faint if quiet else palette.text),
            (f"  {state[:columns]:<{columns}} ", _tone(state, palette)),
        ]


def _time(action: JournalAction) -> datetime:
    return datetime.fromtimestamp(action.time, UTC)


def _tone(state: str, palette: Palette) -> Style:
    return palette.warning if state.startswith("!") else palette.dim


class LogPage(ListPage[JournalAction, tuple[str, str]]):
    """Dismissed with (`go`, ref), (`undo`, number) or (`redo`, number)."""

    AUTO_FOCUS = "ActionList"
    rows: ActionList
    BINDINGS = [("C", "dismiss")]

    def __init__(self, actions: Sequence[JournalAction], overwritten: Collection[int] = ()) -> None:
        """`overwritten`: ids of the actions that another program has overwritten."""
        super().__init__(ActionList(actions, overwritten))

    def head(self) -> Iterable[str]:
        return ["Changes, newest first"]

    def look(self, row: JournalAction) -> Callable[[Library, Job], Sequence[DiffLine]]:
        """What computes the diff of an action: that of thousands of files takes long."""

        def diff(library: Library, _: Job) -> Sequence[DiffLine]:
            diffs = [diff for edit in row.edits for diff in edit_diffs(edit)]
            return diff_files(name_below(diffs, library))

        return diff

    def text_of(
        self, row: JournalAction, seen: Sequence[DiffLine], palette: Palette, width: int
    ) -> PageText:
        state = self.rows.state_of(row)
        lines = [
            *wrapped(text.one_line(row.title), palette.heading, width),
            *wrapped(f"{text.date(_time(row))} · {state}", _tone(state, palette), width),
            *(wrapped(text.one_line(row.note), palette.warning, width) if row.note else ()),
        ]
        diff = [part for line in seen for part in draw_diff(line, palette, width)]
        return PageText([*lines, [], *diff])

    def _go(self) -> None:
        action, library = self.rows.current, self.worker.library
        if action is None or library is None:
            return
        labels = {str(store.root): store.label for store in library.stores}
        memories = changed_memories(action, labels, library.get)
        if not memories:
            raise Refused("the changed memories no longer exist")
        self.dismiss(("go", memories[0].ref))

    def _reversal(self) -> str:
        """What can be done with the change: `undo` or `redo`; empty for none."""
        action = self.rows.current
        if action is None:
            return ""
        if action.state is ActionState.UNDONE:
            return "redo"
        return "undo" if action.state in (ActionState.DONE, ActionState.UNSURE) else ""

    def _reverse(self, name: str) -> None:
        """Undo or redo the change under the cursor."""
        if (action := self.rows.current) is not None:
            self.dismiss((name, str(action.id)))

    # fmt: off
    KEYS = (
        Key("enter", "open", _go, lambda self: self.rows.current),
        Key("u", "undo", lambda self: self._reverse("undo"),
            lambda self: self._reversal() == "undo",
            why="nothing of this change can be undone", id="undo"),
        Key("ctrl+r", "redo", lambda self: self._reverse("redo"),
            lambda self: self._reversal() == "redo",
            why="this change was not undone", id="redo"),
        Key("d", "", lambda self: self.action_whole()),
    )
    # fmt: on


# ---- what its keys do ----------------------------------------------------------------------------

LOOKBACK_SECONDS = 24 * 3600.0
"""Seconds before the start whose changes are checked too: agents may have reverted them."""
WATCH_SECONDS = 10 * 60.0
"""Seconds after a change during which it is checked for a revert by another program."""
LOOK_EVERY = 2.0
"""Seconds between two checks."""
LOOK_SHARE = 0.01
"""Share of the processor that the checks take: one after a change of thousands of files is long."""
LONGEST_PAUSE = 60.0
"""Seconds between two checks then."""
_LEFT = "Nothing is written: it stays as another program wrote it, and is not offered again."
MAX_LOGGED = 500
"""Actions in the log screen."""


def quoted(title: str) -> str:
    """An action's title for a toast: `edit "Alice lives in Lisbon"`."""
    verb, colon, name = text.one_line(title).partition(": ")
    return f'{verb} "{text.cut(name, HEADLINE_CELLS)}"' if colon else text.cut(verb, HEADLINE_CELLS)


class JournalActions(WritingController):
    """Carries out undo, redo, log and reapply."""

    def __init__(
        self, changes: ChangeActions, on_reversed: Callable[[JournalAction], object]
    ) -> None:
        """`on_reversed` is called after each undo and redo."""
        super().__init__(changes)
        self._on_reversed = on_reversed
        self._since = time.time() - LOOKBACK_SECONDS
        self._until = 0.0
        """When the checks end, by the monotonic clock: the other one may be put on or back. The
        first check comes when everything has been read."""
        self._looking: Job | None = None
        self._looked = self._look_cost = 0.0
        """When the last check ended, by the monotonic clock; seconds of the processor it took."""
        self._announced: set[tuple[int, Hashable]] = set()
        self._fault = ""
        self.overwritten: tuple[RevertedEdit, ...] = ()
        """Changes that were overwritten and have not been reapplied."""

    def handlers(self) -> ActionHandlers:
        return {
            "undo": partial(self.reverse, "undo"),
            "redo": partial(self.reverse, "redo"),
            "log": self._log,
            "again": self._reapply,
        }

    def refusal(self, action_id: str) -> str:
        """Return why the action is not possible now; empty if it is."""
        if why := self._selection.can_write():
            return why
        if action_id == "again" and not self.overwritten:
            return "none of your changes were overwritten"
        return ""

    # Undo and redo

    def reverse(self, action_id: str, number: int | None = None) -> None:
        """Undo the last change, redo the last undone one, or either for that with this number."""
        self._acts.start(self._reverse(action_id, number))

    async def _reverse(self, action_id: str, number: int | None) -> None:
        is_undo = action_id == "undo"
        selected = self._screen.memories.memory

        def work(library: Library, report: Report) -> tuple[JournalAction, str]:
            before = library.snapshot
            action = (library.undo if is_undo else library.redo)(number, report=report)
            try:  # its id may be that of another text now
                return action, library.follow(selected, before).ref if selected else ""
            except RefError:
                return action, ""

        action, ref = await self._acts.write(work)
        self._screen.await_memory(ref)
        word, title = actions.BY_ID[action_id].done, quoted(action.title)
        effects = "".join(f"\n{effect}" for effect in action.effects)
        self._screen.app.report(f"{word}: {title}{effects}", "redo" if is_undo else "undo")
        self._on_reversed(action)

    # The log

    async def _log(self) -> None:
        changes = await self._acts.library(
            lambda library, _: library.log(MAX_LOGGED, void=False), group="log"
        )
        lost = {each.action.id for each in self.overwritten}
        answer = await self._acts.show(LogPage(changes, lost))
        if answer is None:
            return
        what, value = answer
        if what == "go":
            self._screen.go_to_memory(value)
        else:
            await self._reverse(what, int(value))

    # Changes that agents reverted

    def watch(self) -> None:
        """After a change, check for some minutes whether another program reverted it."""
        self._until = time.monotonic() + WATCH_SECONDS

    def begin(self) -> None:
        """Check the changes of the last day once, then check after each change."""
        if not self._selection.can_write():
            self._until = time.monotonic() + LOOK_EVERY
            self._screen.set_interval(LOOK_EVERY, self._look_if_due)
            self.look()

    def _look_if_due(self) -> None:
        """Check, less often the more it costs."""
        if time.monotonic() - self._looked >= min(LONGEST_PAUSE, self._look_cost / LOOK_SHARE):
            self.look()

    def look(self) -> None:
        """Check whether other programs reverted memtui's edits, unless a check is running."""
        if time.monotonic() > self._until or self._screen.worker.is_writing:
            return
        if self._looking is not None and not self._looking.ended.is_set():
            return

        def found(library: Library, job: Job) -> tuple[RevertedEdit, ...]:
            job.rest()  # the first look opens the journal: SQLite is loaded for 30 ms
            begun = time.thread_time()
            reverted = tuple(library.find_reverted(self._since))
            self._looked, self._look_cost = time.monotonic(), time.thread_time() - begun
            return reverted

        self._looking = self._screen.worker.run(
            "overwritten", found, self._found, lambda _: self._announce_journal_fault()
        )

    def _announce_journal_fault(self) -> None:
        """Say once that the journal is damaged: what asks it in the background says nothing."""
        library = self._screen.worker.library
        fault = library.journal_fault if library is not None else ""
        if fault != self._fault:
            self._fault = fault
            if fault:
                self._screen.app.notify(fault, title="Journal", severity="error", timeout=15)

    def _announce_interrupted(self) -> None:
        """Say once what became of a change during which memtui was killed."""
        library = self._screen.worker.library
        if library is None or not library.interrupted:
            return
        interrupted, library.interrupted = library.interrupted, ()
        for action in interrupted:
            fates = {
                ActionState.VOID: "nothing of it was written",
                ActionState.UNDONE: "it is undone",
            }
            fate = fates.get(action.state, action.note or "it is complete")
            self._screen.app.notify(
                f"{quoted(action.title)}: {fate}{self._screen.app.hint('log')}",
                title="Interrupted change",
                severity="warning"
                if action.note or action.state is ActionState.VOID
                else "information",
                timeout=15,
            )

    def _found(self, overwritten: tuple[RevertedEdit, ...]) -> None:
        self._announce_journal_fault()
        self._announce_interrupted()
        before, self.overwritten = self.overwritten, overwritten
        if before != overwritten:
            self._screen.update_keys()
        new = [each for each in overwritten if (each.action.id, each.target) not in self._announced]
        self._announced = {(each.action.id, each.target) for each in overwritten}
        if new:
            title = text.cut_line(new[0].action.title, HEADLINE_CELLS)
            more = text.and_more(len(new) - 1)
            key = self._screen.app.hint("again")
            self._screen.app.notify(
                f"“{title}”{more}: {new[0].description}{key}",
                title="Your change was overwritten",
                severity="warning",
                timeout=15,
            )

    async def _reapply(self) -> None:
        """Show what applying reverted edits again would write; then do it, or leave them for
        good."""
        from memtui.library.reverted_edits import plan_reapply

        reverted = self.overwritten
        planned = plan_reapply(reverted)
        found = await self._acts.library(lambda library, _: preview_of(planned, library))
        what = "; ".join(dict.fromkeys(each.description for each in reverted))
        summary = [OutcomeLine(what, Tone.WARNING), *describe_effects(found.planned.plans)]
        way = Way([OutcomeLine(_LEFT)], (), "leave it")
        dialog = DiffScreen(planned.title, summary, found.lines, yes="reapply", others=[way])
        number = await self._acts.show(dialog)
        if number is None:
            return
        if number == 1:
            await self._acts.apply(planned)
            what = text.cut_line(planned.title.removeprefix("again: "), HEADLINE_CELLS)
            self._screen.app.report(f"{actions.BY_ID['again'].done}: {what}")
        else:
            await self._acts.library(lambda library, _: library.decline_reapplying(reverted))
            self._screen.app.notify("Left as it is.")
        self.overwritten = ()
