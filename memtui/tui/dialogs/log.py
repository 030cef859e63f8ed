"""Everything memtui changed in the open stores, newest first; go there, or take it back."""

from __future__ import annotations

from collections.abc import Callable, Collection, Hashable, Sequence
from datetime import UTC, datetime
from typing import TYPE_CHECKING, ClassVar

from rich.segment import Segment
from rich.style import Style
from textual import on
from textual.app import ComposeResult
from textual.binding import Binding
from textual.containers import Vertical
from textual.content import Content
from textual.geometry import Size
from textual.message import Message
from textual.strip import Strip

from memtui import text
from memtui.journal import ActionState, JournalAction
from memtui.tui.dialogs.dialog import FittingDialog
from memtui.tui.dialogs.diff import DiffScreen
from memtui.tui.diff_lines import lines_of
from memtui.tui.journal_entries import diffs_of, memories_of
from memtui.tui.widgets.diff_view import DiffView
from memtui.tui.widgets.footer import KeyLine
from memtui.tui.widgets.list_window import ListWindow
from memtui.tui.widgets.outcome import OutcomeLine, Tone

if TYPE_CHECKING:
    from textual.binding import BindingType

    from memtui.library import Library

_SIGNS = {
    ActionState.DONE: "●",
    ActionState.UNDONE: "↶",
    ActionState.VOID: "○",
    ActionState.UNSURE: "!",
    ActionState.INTENT: "…",
}
_WORDS = {
    ActionState.DONE: "done",
    ActionState.UNDONE: "taken back",
    ActionState.VOID: "not done",
    ActionState.UNSURE: "cut short",
    ActionState.INTENT: "at work",
}
_OVERWRITTEN = "! lost"
"""Of an action that another program has taken back, all or part of it."""
TIME_WIDTH = 5
STATE_WIDTH = 11
DIFF_FROM = 20
"""Rows from which the change under the cursor is shown below the list."""


class ActionList(ListWindow):
    """One line an action."""

    class Moved(Message):
        """The cursor stands on another action."""

    def __init__(
        self,
        actions: Sequence[JournalAction],
        now: Callable[[], datetime],
        overwritten: Collection[int],
    ) -> None:
        super().__init__()
        self._actions = actions
        self._now = now
        self._overwritten = overwritten

    @property
    def action(self) -> JournalAction | None:
        return self._actions[self.cursor] if self.cursor < len(self._actions) else None

    def cursor_moved(self) -> None:
        self.post_message(self.Moved())

    def line_count(self) -> int:
        return len(self._actions)

    def get_content_height(self, container: Size, viewport: Size, width: int) -> int:
        return max(1, len(self._actions))

    def draw_key(self, index: int) -> Hashable:
        return index

    def draw_empty(self, y: int, width: int) -> Strip:
        words = text.cut(" nothing was changed here yet", width)
        return Strip([Segment(words, self.palette.faint)] if not y else [])

    def draw(self, index: int, width: int, *, selected: bool) -> Strip:
        action, palette = self._actions[index], self.palette
        ground = palette.cursor(focused=self.has_focus) if selected else Style.null()
        quiet = action.state not in (ActionState.DONE, ActionState.UNSURE)
        when = text.short_ago(datetime.fromtimestamp(action.time, UTC), self._now())
        lost = action.id in self._overwritten
        state = _OVERWRITTEN if lost else f"{_SIGNS[action.state]} {_WORDS[action.state]}"
        tone = palette.warning if lost or action.state is ActionState.UNSURE else palette.dim
        room = max(8, width - TIME_WIDTH - STATE_WIDTH - 6)
        title = text.cut(text.one_line(action.title), room)
        return Strip(
            [
                Segment("▌" if selected else " ", palette.accent + ground),
                Segment(f"{when:>{TIME_WIDTH}}  ", palette.dim + ground),
                Segment(text.pad(title, room), (palette.faint if quiet else palette.text) + ground),
                Segment(f"  {state:<{STATE_WIDTH}} ", tone + ground),
            ]
        )


class LogScreen(FittingDialog[tuple[str, str]]):
    """Dismissed with (`go`, ref), (`undo`, number) or (`redo`, number)."""

    CSS_PATH: ClassVar = ["dialogs.tcss", "changing.tcss", "log.tcss"]
    AUTO_FOCUS = "ActionList"
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("escape,q,C", "dismiss", show=False),
        Binding("enter", "go", show=False),
        Binding("u", "undo", show=False),
        Binding("ctrl+r,r", "redo", show=False),
        Binding("space,d", "diff", show=False),
    ]

    def __init__(
        self,
        actions: Sequence[JournalAction],
        library: Library,
        now: Callable[[], datetime],
        overwritten: Collection[int] = (),
    ) -> None:
        """`overwritten`: numbers of the actions that another program has taken back."""
        super().__init__()
        self._library = library
        self._list = ActionList(actions, now, overwritten)

    def compose(self) -> ComposeResult:
        with Vertical(classes="box full") as box:
            box.border_title = Content("Changes, newest first")
            yield self._list
            yield DiffView(())
            yield KeyLine(id="log-keys")

    def on_mount(self) -> None:
        self._moved()

    def on_resize(self) -> None:
        self.query_one(DiffView).display = self.app.size.height >= DIFF_FROM

    @on(ActionList.Moved)
    def _moved(self) -> None:
        action = self._list.action
        lines = lines_of(diffs_of(action)) if action else []
        self.query_one(DiffView).show(lines)
        keys = [("enter", "go to it", "")] if action else []
        if action and action.state in (ActionState.DONE, ActionState.UNSURE):
            keys.append(("u", "take it back", ""))
        if action and action.state is ActionState.UNDONE:
            keys.append(("^r", "do it again", ""))
        if action:
            keys.append(("space", "diff", ""))
        self.query_one(KeyLine).show(keys, [("esc", "leave", "")])

    def action_go(self) -> None:
        action = self._list.action
        memories = memories_of(action, self._library) if action else []
        if memories:
            self.dismiss(("go", memories[0].ref))
        else:
            self.app.notify("What it touched is not there now.", timeout=3)

    def action_undo(self) -> None:
        action = self._list.action
        if action and action.state in (ActionState.DONE, ActionState.UNSURE):
            self.dismiss(("undo", str(action.id)))
        elif action:
            self.app.notify(f"It is {_WORDS[action.state]}.", timeout=3)

    def action_redo(self) -> None:
        action = self._list.action
        if action and action.state is ActionState.UNDONE:
            self.dismiss(("redo", str(action.id)))
        elif action:
            self.app.notify(f"It is {_WORDS[action.state]}.", timeout=3)

    def action_diff(self) -> None:
        action = self._list.action
        if action:
            said = [OutcomeLine(action.note, Tone.WARNING)] if action.note else []
            lines = lines_of(diffs_of(action))
            self.app.push_screen(DiffScreen(action.title, said, lines))
