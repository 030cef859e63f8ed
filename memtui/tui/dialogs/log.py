"""Change log: everything memtui changed in the open stores, newest first; open, undo or redo it."""

from __future__ import annotations

import os
from collections.abc import Callable, Collection, Hashable, Iterator, Mapping, Sequence
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any, ClassVar

from rich.segment import Segment
from rich.style import Style
from textual import on
from textual.app import ComposeResult
from textual.binding import Binding
from textual.containers import Vertical
from textual.content import Content
from textual.geometry import Size
from textual.strip import Strip

from memtui import text
from memtui.changes import Edit, RecordEdit, RowEdit, SidecarEdit, TextEdit, TreeEdit, ValueEdit
from memtui.errors import MemtuiError
from memtui.files.save_transaction import FileDiff
from memtui.journal import ActionState, JournalAction
from memtui.tui.dialogs.dialog import FittingDialog
from memtui.tui.dialogs.diff import DiffScreen
from memtui.tui.diff_lines import DiffLine, diff_files, name_below
from memtui.tui.widgets.diff_view import DiffView
from memtui.tui.widgets.list_window import EntryList
from memtui.tui.widgets.outcome import OutcomeLine, Tone
from memtui.tui.widgets.status_lines import KeyLine

if TYPE_CHECKING:
    from textual.binding import BindingType

    from memtui.library import Library
    from memtui.model import Memory

_SIGNS = {
    ActionState.DONE: "●",
    ActionState.UNDONE: "↶",
    ActionState.VOID: "○",
    ActionState.UNSURE: "!",
    ActionState.INTENT: "…",
}
_WORDS = {
    ActionState.DONE: "done",
    ActionState.UNDONE: "undone",
    ActionState.VOID: "not applied",
    ActionState.UNSURE: "interrupted",
    ActionState.INTENT: "in progress",
}
_OVERWRITTEN = "! overwritten"
"""State of a change that another program has overwritten, in whole or in part."""
TIME_WIDTH = 5
STATE_WIDTH = 13
DIFF_FROM = 20
"""Screen rows from which the diff of the selected change is shown below the list."""


class ActionList(EntryList):
    """A list of changes, one per line."""

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

    def line_count(self) -> int:
        return len(self._actions)

    def get_content_height(self, container: Size, viewport: Size, width: int) -> int:
        return max(1, len(self._actions))

    def draw_key(self, index: int) -> Hashable:
        return index

    def draw_empty(self, y: int, width: int) -> Strip:
        words = text.cut(" No changes yet", width)
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

    AUTO_FOCUS = "ActionList"
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("escape,q,C", "dismiss", show=False),
        Binding("enter", "go", show=False),
        Binding("u", "undo", show=False, id="undo"),
        Binding("ctrl+r", "redo", show=False, id="redo"),
        Binding("space,d", "diff", show=False),
    ]

    def __init__(
        self,
        actions: Sequence[JournalAction],
        library: Library,
        now: Callable[[], datetime],
        overwritten: Collection[int] = (),
    ) -> None:
        """`overwritten`: ids of the actions that another program has overwritten."""
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
        lines = self._diff(action) if action else []
        self.query_one(DiffView).show(lines)
        keys = [("enter", "open", "")] if action else []
        if action and action.state in (ActionState.DONE, ActionState.UNSURE):
            keys.append((self._key("undo"), "undo", ""))
        if action and action.state is ActionState.UNDONE:
            keys.append((self._key("redo"), "redo", ""))
        if action:
            keys.append(("space", "diff", ""))
        self.query_one(KeyLine).show(keys, [("esc", "back", "")])

    def _diff(self, action: JournalAction) -> list[DiffLine]:
        roots = {store.label: store.root for store in self._library.stores}
        return diff_files(name_below(action_diffs(action), roots))

    def _key(self, action_id: str) -> str:
        return self.app.key_of(action_id)

    def action_go(self) -> None:
        action = self._list.action
        memories = changed_memories(action, self._library) if action else []
        if memories:
            self.dismiss(("go", memories[0].ref))
        else:
            self.app.notify("The changed memories no longer exist.", timeout=3)

    def action_undo(self) -> None:
        action = self._list.action
        if action and action.state in (ActionState.DONE, ActionState.UNSURE):
            self.dismiss(("undo", str(action.id)))
        elif action:
            self.app.notify(f"Cannot undo: {_WORDS[action.state]}.", timeout=3)

    def action_redo(self) -> None:
        action = self._list.action
        if action and action.state is ActionState.UNDONE:
            self.dismiss(("redo", str(action.id)))
        elif action:
            self.app.notify(f"Cannot redo: {_WORDS[action.state]}.", timeout=3)

    def action_diff(self) -> None:
        action = self._list.action
        if action:
            summary = [OutcomeLine(action.note, Tone.WARNING)] if action.note else []
            lines = self._diff(action)
            self.app.push_screen(DiffScreen(action.title, summary, lines))


def changed_memories(action: JournalAction, library: Library) -> list[Memory]:
    """The memories that an action changed and that still exist, in the order of its edits."""
    labels = {str(store.root): store.label for store in library.stores}
    found: dict[str, Memory] = {}
    for part in action.parts:
        label = labels.get(part.store)
        for edit in part.edits if label else ():
            for id in _ids(edit, part.store):
                try:
                    memory = library.get(f"{label}:{id}")
                except MemtuiError:
                    continue
                found.setdefault(memory.ref, memory)
                break
    return list(found.values())


def _ids(edit: Edit, root: str) -> Iterator[str]:
    """Possible ids of the memory that an edit changed."""
    if isinstance(edit, RecordEdit | SidecarEdit):
        yield edit.id
    elif isinstance(edit, RowEdit):
        for row in (edit.key, edit.after or {}, edit.before or {}):
            yield from (str(row[name]) for name in ("id", "rowid") if name in row)
    else:
        path = os.path.relpath(edit.path, root)
        yield path
        yield path.removesuffix(".md")


def action_diffs(action: JournalAction) -> list[FileDiff]:
    """Return the diff of each edit of an action, as text before and after."""
    return [diff for edit in action.edits for diff in _diffs(edit)]


def _diffs(edit: Edit) -> list[FileDiff]:
    if not isinstance(edit, TreeEdit):
        return [_diff(edit)]
    before, after = (_contents(tree) for tree in (edit.before, edit.after))
    return [
        FileDiff(os.path.join(edit.path, name), before.get(name), after.get(name))
        for name in dict.fromkeys([*before, *after])
    ]


def _contents(tree: Mapping[str, Any] | None) -> dict[str, str]:
    """The files of a folder as text, and of each database its number of rows."""
    if tree is None:
        return {}
    found = {name: text for name, (text, _) in tree["files"].items()}
    for name, (_, rows) in tree["databases"].items():
        found[name] = f"{text.counted(len(rows), 'row')}\n"
    return found


def _diff(edit: RecordEdit | ValueEdit | TextEdit | SidecarEdit | RowEdit) -> FileDiff:
    if isinstance(edit, RowEdit):
        key = ", ".join(f"{name}={value}" for name, value in edit.key.items())
        return FileDiff(f"{edit.path} {edit.table} {key}", _rows(edit.before), _rows(edit.after))
    if isinstance(edit, SidecarEdit):
        name = f"{edit.root}/.memtui: {edit.id}"
        return FileDiff(name, _rows(edit.before), _rows(edit.after))
    name = f"{edit.path} {edit.id}" if isinstance(edit, RecordEdit) else edit.path
    return FileDiff(name, edit.before, edit.after)


def _rows(values: object) -> str | None:
    if not isinstance(values, dict):
        return None if values is None else str(values)
    return "".join(f"{key}: {'' if value is None else value}\n" for key, value in values.items())
