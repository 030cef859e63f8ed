"""Change log: everything memtui changed in the open stores, newest first; open, undo or redo it."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from datetime import UTC, datetime
from functools import partial

from rich.style import Style
from textual import on
from textual.app import ComposeResult
from textual.binding import Binding

from memtui import text
from memtui.changes import edit_diffs
from memtui.errors import SaveError
from memtui.journal import ActionState, JournalAction
from memtui.journal.action import changed_memories
from memtui.library import Library
from memtui.library.planning import name_below
from memtui.tui.dialogs.dialog import FittingDialog
from memtui.tui.dialogs.diff import DiffScreen
from memtui.tui.diff_lines import DiffLine, diff_files
from memtui.tui.widgets.diff_view import DiffView
from memtui.tui.widgets.text_window import OutcomeLine, RowList, Tone

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
DIFF_FROM = 20
"""Screen rows from which the diff of the selected change is shown below the list."""


class ActionList(RowList[JournalAction]):
    """A list of changes, one per line."""

    empty = "No changes yet.\nWhat you change with memtui is listed here, to undo and redo it."
    is_lit = False

    def __init__(
        self,
        actions: Sequence[JournalAction],
        overwritten: Collection[int],
    ) -> None:
        super().__init__(actions)
        self._overwritten = overwritten

    def draw_row(self, row: JournalAction, width: int) -> Sequence[tuple[str, Style]]:
        palette = self.palette
        quiet = row.state not in (ActionState.DONE, ActionState.UNSURE)
        when = text.short_ago(datetime.fromtimestamp(row.time, UTC), self.app.now())
        lost = row.id in self._overwritten
        state = _OVERWRITTEN if lost else _STATES[row.state]
        tone = palette.warning if lost or row.state is ActionState.UNSURE else palette.dim
        columns = STATE_WIDTH if width >= NARROW else 1
        room = max(8, width - TIME_WIDTH - columns - 6)
        title = text.cut_line(row.title, room)
        return [
            (f"{when:>{TIME_WIDTH}}  ", palette.dim),
            (text.pad(title, room), palette.faint if quiet else palette.text),
            (f"  {state[:columns]:<{columns}} ", tone),
        ]


class LogScreen(FittingDialog[tuple[str, str]]):
    """Dismissed with (`go`, ref), (`undo`, number) or (`redo`, number)."""

    AUTO_FOCUS = "ActionList"
    box_classes = "full"
    heading = "Changes, newest first"
    leave = "back"
    BINDINGS = [
        ("escape,q,C", "dismiss"),
        ("enter", "go", "open"),
        Binding("u", "reverse('undo')", "undo", id="undo"),
        Binding("ctrl+r", "reverse('redo')", "redo", id="redo"),
        ("space,d", "diff", "diff"),
    ]

    def __init__(
        self,
        actions: Sequence[JournalAction],
        library: Library,
        overwritten: Collection[int] = (),
    ) -> None:
        """`overwritten`: ids of the actions that another program has overwritten."""
        super().__init__()
        self._library = library
        self._list = ActionList(actions, overwritten)
        if not actions:
            self.box_classes = "wide"

    def content(self) -> ComposeResult:
        yield self._list
        yield DiffView(())

    def on_mount(self) -> None:
        self._moved()

    def on_resize(self) -> None:
        has_room = self.app.size.height >= DIFF_FROM
        self.set_class(has_room and self._list.current is not None, "-with-diff")

    def fill(self) -> None:
        if self._list.current is None:
            self.fit(rows=len(self._list.empty_lines(self.inner_width)))

    @on(ActionList.Moved)
    def _moved(self) -> None:
        action = self._list.current
        self.update_keys()
        if action is None:
            self.query_one(DiffView).show([])
        else:
            read, show = partial(self._read_diff, action), self.if_open(self._show_diff)
            self.worker.start("log-diff", read, show, only_reads=True)

    def _show_diff(self, lines: Sequence[DiffLine]) -> None:
        self.query_one(DiffView).show(lines)

    def labels(self) -> Mapping[str, object]:
        action = self._list.current
        reversal = action and _reversal(action)
        return {
            **dict.fromkeys(("go", "diff"), action),
            **{f"reverse('{name}')": reversal == name for name in ("undo", "redo")},
        }

    def _read_diff(self, action: JournalAction, *_: object) -> Sequence[DiffLine]:
        """Compute the diff of an action, in a job: that of thousands of files takes long."""
        diffs = [diff for edit in action.edits for diff in edit_diffs(edit)]
        return diff_files(name_below(diffs, self._library))

    def action_go(self) -> None:
        action, library = self._list.current, self._library
        labels = {str(store.root): store.label for store in library.stores}
        try:
            memories = changed_memories(action, labels, library.get) if action else []
        except SaveError as error:
            self.app.notify(str(error), severity="error", markup=False)
            return
        if memories:
            self.dismiss(("go", memories[0].ref))
        else:
            self.app.notify("The changed memories no longer exist.", timeout=3)

    def action_reverse(self, name: str) -> None:
        """Undo or redo the change under the cursor."""
        action = self._list.current
        if action and _reversal(action) == name:
            self.dismiss((name, str(action.id)))
        elif action:
            self.app.notify(f"Cannot {name}: {_STATES[action.state][2:]}.", timeout=3)

    def action_diff(self) -> None:
        action = self._list.current
        if action:
            self.acts.start(self._open_diff(action))

    async def _open_diff(self, action: JournalAction) -> None:
        read = partial(self._read_diff, action)
        lines = await self.acts.library(read, group="log-diff", only_reads=True)
        summary = [OutcomeLine(action.note, Tone.WARNING)] if action.note else []
        await self.acts.show(DiffScreen(action.title, summary, lines))


def _reversal(action: JournalAction) -> str:
    """What can be done with a change: `undo` or `redo`; empty for none."""
    if action.state is ActionState.UNDONE:
        return "redo"
    return "undo" if action.state in (ActionState.DONE, ActionState.UNSURE) else ""
