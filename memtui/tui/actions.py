"""The table of actions: one entry for everything a person can do, by key or by command.

Key bindings, footer, help, command palette, key overrides, docs/keys.md, the words of toasts and
questions, and the lines of `memtui --help` are derived from it. An entry says where an action
works, when it is allowed and why not, which `Act` it makes, what it asks and what is said once it
is done. Controllers carry it out by its id.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any, NamedTuple

from memtui.acts import Act
from memtui.paths import served_mode
from memtui.tui.layout import Pane

ANYWHERE = "anywhere"
EVERYWHERE = "everywhere"
MOVING = "moving"
SEARCH = "search"
ActionHandlers = Mapping[str, Callable[[], object]]
"""Action id -> what carries it out; a coroutine is run as an act."""
_PANES = tuple(Pane)
_ON_MEMORY = (Pane.MEMORIES, Pane.DETAIL)


class ActionContext(NamedTuple):
    """What an action may ask about the moment it is pressed in. Values only."""

    has_memories: bool = True
    """The open stores hold a memory, whether it is shown or not."""
    has_memory: bool = False
    """The cursor of the list stands on a memory."""
    why_none: str = "no memory is selected"
    """Said where it does not."""
    openable: bool = True
    """The focused pane has something that can be opened or chosen."""
    marked: int = 0
    is_marking: bool = False
    """A range is being marked."""
    filtered: bool = False
    has_match: bool = False
    """The detail is in view and shows a match of the search."""
    ranked: bool = False
    """The list is ordered by relevance, and the cursor stands on a hit."""
    offers: int = 0
    """Ways to find something that the list shows, where nothing matches."""
    fresh: int = 0
    """Memories that are new since the last look."""
    has_written: bool = False
    """A change was written since the stores were opened: the footer names its undo."""
    targets: int = 0
    """References in the detail that can be followed."""
    can_go_back: bool = False
    can_go_forward: bool = False
    is_dated: bool = True
    """There is a dated memory."""
    has_learned: bool = False
    """A session is known that taught the memory that is shown."""
    stores: int = 2
    """How many stores are open; a library that is still being opened counts as one."""
    no_past: str = ""
    """Why no open store can be shown as of a time; empty if one can."""
    past: str = ""
    """Why nothing can be written: the stores are shown as of a time. Empty at present."""
    refused: Callable[[str], str] = lambda _: "nothing can be changed now"
    """Why the action with this id, which changes something, cannot be done; empty when it can."""


Allowed = Callable[[ActionContext], str]
"""Returns why an action is not possible now; empty if it is."""


def _always(_: ActionContext) -> str:
    return ""


NOT_SERVED = frozenset({"source", "edit.outside", "pager", "suspend", "settings"})
"""Actions that lend the terminal to a program, start one, or stop memtui: not from a browser."""


def works_here(action_id: str) -> bool:
    """Return whether what the action needs is there: a terminal, or a browser is enough."""
    return not (served_mode() and action_id in NOT_SERVED)


def refusal_of(action: Action, now: ActionContext) -> str:
    """Return why an action is not possible now; empty if it is."""
    if not works_here(action.id):
        return "that works on a terminal only, not in a browser"
    return action.allowed(now)


class Action(NamedTuple):
    """One thing to do, by key, palette, mouse or command."""

    id: str
    """Its name under [keys] in config.toml."""
    keys: tuple[str, ...]
    """Textual key names; the first is the one shown."""
    label: str
    """One or two words for the footer and for hints in toasts."""
    tooltip: str
    """One sentence for help, palette and docs/keys.md."""
    scopes: tuple[str, ...] = (ANYWHERE,)
    """Panes where it works, or `ANYWHERE` (every pane), `EVERYWHERE` (every pane and dialog),
    `MOVING` (every list), `SEARCH` (the search line)."""
    allowed: Allowed = _always
    """The reason why it cannot be done now; empty when it can."""
    palette: bool = True
    done: str = ""
    """The toast's first word once it is done."""
    act: Act | None = None
    """The act of the `Change` it makes."""
    inverse: Act | None = None
    """The act it makes where the memory is that way already: unpin for pin."""
    inverse_done: str = ""
    single: bool = False
    """It is about the memory under the cursor only, whatever is marked."""
    confirm: str = ""
    """Label of the key that confirms; empty: asked only where more than one memory or something
    that agents would be told goes away."""
    command: str = ""
    """The command of `memtui` that does the same."""
    command_help: str = ""
    """Its line in `memtui --help`."""
    group: str = ""
    """Heading under which help and docs/keys.md list it."""


def _needs(field: str, reason: str) -> Allowed:
    """Allow an action where a field of the context is set."""
    return lambda now: "" if getattr(now, field) else reason


_HAS_STORES = _needs("stores", "no store is open")
_HAS_MEMORIES = _needs("has_memories", "there are no memories yet")
_HAS_TARGETS = _needs("targets", "this memory refers to no other")


def _has_memory(now: ActionContext) -> str:
    return "" if now.has_memory else now.why_none


def _is_present(now: ActionContext) -> str:
    return now.past or _has_memory(now)


_HAS_MATCH = _needs("has_match", "the detail shows no match of a search")
_IS_DATED = _needs("is_dated", "none of these memories has a date")


def _has_pair(now: ActionContext) -> str:
    is_pair = now.marked == 2 or (now.marked == 1 and now.has_memory)
    marked = f", {now.marked} are marked" if now.marked > 1 else ""
    return "" if is_pair else f"mark two memories to compare them{marked}"


def _action(
    id: str,
    keys: str,
    label: str,
    tooltip: str,
    scopes: Iterable[str] = (ANYWHERE,),
    allowed: Allowed = _always,
    **more: Any,
) -> Action:
    return Action(id, tuple(keys.split()), label, tooltip, tuple(scopes), allowed, **more)


def _change(
    id: str,
    keys: str,
    label: str,
    tooltip: str,
    scopes: Iterable[str] = _ON_MEMORY,
    **more: Any,
) -> Action:
    """An action that writes: the library is asked whether it can be done."""
    return _action(id, keys, label, tooltip, scopes, lambda now: now.refused(id), **more)


def _group(heading: str, *actions: Action) -> list[Action]:
    return [action._replace(group=heading) for action in actions]


# fmt: off
ACTIONS: tuple[Action, ...] = (
    *_group("Find",
        _action("search", "/", "search", "Search as you type", allowed=_HAS_STORES),
        _action("everywhere", "\\ ctrl+e", "everywhere",
            "Search everywhere: memories, former versions, and what was said in sessions"),
        _action("match.next", "n", "next match", "Next match, if the detail shows one", _ON_MEMORY,
            _HAS_MATCH),
        _action("match.previous", "N", "previous match", "Previous match, if the detail shows one",
            _ON_MEMORY, _HAS_MATCH),
        _action("filter.type", "t", "type", "Filter by type", allowed=_HAS_MEMORIES),
        _action("filter.importance", "i", "importance", "Filter by importance",
            allowed=_HAS_MEMORIES),
        _action("filter.recency", "r", "recency", "Filter by recency", allowed=_HAS_MEMORIES),
        _action("filter.status", "s", "status", "Filter by status", allowed=_HAS_MEMORIES),
        _action("filter.saved", "f", "saved", "Saved filters: apply one, save the current one"),
        _action("filter.clear", "F", "clear", "Clear all filters",
            allowed=_needs("filtered", "no filter is set")),
        _action("order", "b", "order", "Choose the order of the list", allowed=_HAS_MEMORIES),
        _action("order.then", "ctrl+v", "then by", "Sort by a further key"),
        _action("changed", "R", "what changed",
            "What changed since I last looked, or between two times"),
        _action("fresh", "ctrl+n", "next new", "Go to the next new memory",
            allowed=_needs("fresh", "nothing is new since you last looked")),
        _action("as_of", "@", "as of", "As of a time: show what was believed then, or the present",
            allowed=lambda now: now.no_past),
        _action("similar", "M", "similar", "Similar memories", _ON_MEMORY, _has_memory),
        _action("otherwise", "%", "otherwise",
            "Who says otherwise: other values in memories of any program", _ON_MEMORY,
            _has_memory),
        _action("why", "w", "why", "Explain the rank of this match", _ON_MEMORY,
            _needs("ranked", "search first: only matches, best match first, have a rank")),
    ),
    *_group("Read",
        _action("open", "enter", "open", "Open the memory, or filter by the value under the cursor",
            _PANES, _needs("openable", "there is nothing to open here"), palette=False),
        _action("back", "backspace ctrl+o", "previous", "Back to the memory shown before", _PANES,
            _needs("can_go_back", "there is nowhere to go back to")),
        _action("forward", "", "forward", "Forward again, after going back", _PANES,
            _needs("can_go_forward", "there is nowhere to go forward to")),
        _action("follow", "", "next reference", "Go to the next reference", (Pane.DETAIL,),
            _HAS_TARGETS),
        _action("follow.back", "", "previous reference", "Go to the previous reference",
            (Pane.DETAIL,), _HAS_TARGETS),
        _action("history", "H", "history", "History: earlier and later versions", _ON_MEMORY,
            _has_memory),
        _action("graph", "O", "links", "Links: show what this memory or entity is linked to",
            (Pane.ENTITIES, *_ON_MEMORY), _has_memory),
        _action("learned", "J", "learned",
            "Learned: go to the words in a session that taught this memory", _ON_MEMORY,
            _needs("has_learned", "no session is known that taught this memory")),
        _action("source", "o", "source", "Open its file in $EDITOR", _ON_MEMORY, _is_present),
        _action("pager", "$", "pager", "Read its text in $PAGER", _ON_MEMORY, _has_memory),
        _action("copy", "y", "copy", "Copy text without hidden characters, secrets as shown",
            _ON_MEMORY, _has_memory),
        _action("copy.exact", "Y", "copy exactly",
            "Copy text exactly, hidden characters and secrets included", _ON_MEMORY, _has_memory),
        _action("copy.as", "ctrl+y", "copy as", "Copy as text, Markdown, JSON or reference",
            _ON_MEMORY, _has_memory),
        _action("compare", "|", "compare", "Compare two marked memories side by side", _ON_MEMORY,
            _has_pair),
        _action("detail.raw", "=", "raw", "Show the text as it is written / with Markdown rendered",
            _ON_MEMORY, _has_memory),
        _action("detail.fields", ".", "raw fields", "Show / hide the raw fields", _ON_MEMORY,
            _has_memory),
        _action("secrets", "!", "secrets", "Show secrets / mask them again"),
    ),
    *_group("Mark",
        _action("mark", "space", "mark", "Mark / unmark", (Pane.MEMORIES,), _has_memory),
        _action("mark.range", "v", "range", "Mark a range with the cursor; again to end it",
            (Pane.MEMORIES,), _has_memory),
        _action("mark.down", "shift+down", "mark down", "Mark a range downwards", (Pane.MEMORIES,),
            _has_memory),
        _action("mark.up", "shift+up", "mark up", "Mark a range upwards", (Pane.MEMORIES,),
            _has_memory),
        _action("mark.all", "*", "mark all", "Mark all / none", (Pane.MEMORIES,), _has_memory),
    ),
    *_group("Change",
        _change("edit", "e", "edit", "Edit", act=Act.EDIT, done="Saved", single=True,
            command="edit",
            command_help="Edit a memory's text, title, type, entity, importance or tags."),
        _change("edit.outside", "E", "$EDITOR", "Edit in $EDITOR", act=Act.EDIT, single=True),
        _change("new", "m insert", "new", "Add a memory", (ANYWHERE,), act=Act.ADD, done="Added",
            command="add", command_help="Add a memory by the rules of its store."),
        _change("supersede", "S", "supersede", "Supersede with a new version", act=Act.SUPERSEDE,
            done="Superseded", single=True, command="supersede",
            command_help="Supersede a memory with a new version."),
        _change("retire", "d", "retire", "Retire (hide or delete where the store cannot)",
            act=Act.RETIRE, done="Retired", inverse=Act.HIDE, inverse_done="Hidden",
            confirm="retire", command="retire", command_help="Take a memory out of use."),
        _change("restore", "D", "restore", "Restore", act=Act.RESTORE, done="Restored",
            command="restore", command_help="Restore a retired, superseded or deleted memory."),
        _change("delete", "delete", "delete", "Delete (undo restores it)", act=Act.DELETE,
            done="Deleted", confirm="delete", command="delete",
            command_help="Delete a memory from its store."),
        _change("accept", "a", "accept", "Accept a proposal, after editing it if needed",
            act=Act.ACCEPT, done="Accepted", single=True, command="accept",
            command_help="Accept a proposal."),
        _change("decline", "X", "decline", "Decline a proposal", act=Act.DECLINE, done="Declined",
            confirm="decline", command="decline", command_help="Decline a proposal."),
        _change("pin", "p", "pin", "Pin / unpin", act=Act.PIN, done="Pinned", inverse=Act.UNPIN,
            inverse_done="Unpinned", command="pin", command_help="Pin or unpin a memory."),
        _change("tag", "#", "tags", "Change tags", act=Act.TAG, done="Tagged"),
        _change("link", "L", "link", "Link to another memory", act=Act.LINK, done="Linked",
            inverse=Act.UNLINK, inverse_done="Unlinked", single=True, command="link",
            command_help="Link a memory to another memory or to an entity."),
        _change("merge", "&", "merge", "Merge the marked memories", act=Act.MERGE, done="Merged",
            command="merge", command_help="Merge memories into one."),
        _change("replace", "~", "replace", "Replace a word or value in the marked memories",
            act=Act.EDIT, done="Saved", command="replace",
            command_help="Replace a word or value in every memory that holds it."),
        _change("retype", "ctrl+t", "type", "Change type (documents: also by path pattern)",
            act=Act.RETYPE, done="Retyped"),
        _change("rate", "", "rate", "Rate from 1 to 5", act=Act.RATE, done="Rated", command="rate",
            command_help="Rate a memory from 1 to 5."),
        _change("review", "", "reviewed", "Mark as reviewed today", act=Act.REVIEW,
            done="Marked as reviewed", command="mark-reviewed",
            command_help="Mark a memory as reviewed today."),
        _change("promote", "B", "promote", "Promote: for all projects of its program, or for one",
            act=Act.ADD, done="Promoted", single=True, command="promote",
            command_help="Make a memory hold for all projects of its program, or for one."),
        _change("copy.to", "c", "copy to", "Copy or move to another store"),
        _change("undo", "u", "undo", "Undo the last change", (ANYWHERE,), done="Undone",
            command="undo", command_help="Undo the last change."),
        _change("redo", "ctrl+r", "redo", "Redo the last undone change", (ANYWHERE,), done="Redone",
            command="redo", command_help="Redo the last undone change."),
        _change("log", "C", "changes", "Change log: view, undo, redo", (ANYWHERE,)),
        _change("again", "W", "reapply", "Reapply my overwritten change", (ANYWHERE,),
            done="Reapplied"),
        _change("drafts", "K", "draft", "Open an unsaved draft", (ANYWHERE,)),
    ),
    *_group("Review and context",
        _action("queue", "V", "review", "Review queue: what could be tidied, to accept or decline",
            (ANYWHERE,), lambda now: now.refused("queue")),
        _change("context", "P", "context", "Context: what an agent would be given for a task",
            (ANYWHERE,)),
        _change("unreadable", "U", "unreadable",
            "Unreadable files: show and edit them, restore the last good copy; the open stores",
            (ANYWHERE,)),
    ),
    *_group("Stores and files",
        _action("stores", "0", "stores", "Choose the stores that are open"),
        _change("export", "x", "export", "Export memories to a file", (ANYWHERE,)),
        _change("import", "I", "import", "Import from a bundle, a backup or JSON lines",
            (ANYWHERE,)),
        _action("reload", "f5", "reload", "Reload from disk"),
    ),
    *_group("Panes",
        _action("pane.entities", "1", "entities", "Go to the agents and entities"),
        _action("pane.memories", "2", "memories", "Go to the memories"),
        _action("pane.detail", "3", "detail", "Go to the detail"),
        _action("pane.timeline", "4", "timeline", "Go to the timeline"),
        _action("pane.statistics", "5", "statistics", "Go to the statistics"),
        _action("pane.next", "tab", "next pane", "Go to the next pane", palette=False),
        _action("pane.previous", "shift+tab", "previous pane", "Go to the previous pane",
            palette=False),
        _action("right", "right l", "detail", "Go to the detail", (Pane.MEMORIES,), palette=False),
        _action("left", "left h", "list", "Go to the list", (Pane.DETAIL,), palette=False),
        _action("zoom", "z", "zoom", "Toggle zoom (full screen)", allowed=_HAS_STORES),
        _action("detail.size", "Z", "detail size",
            "Detail: half of the screen, all of it, normal size"),
        _action("pane.larger", "", "larger", "Resize: make the pane larger"),
        _action("pane.smaller", "", "smaller", "Resize: make the pane smaller"),
        _action("collapse", "left h", "collapse", "Collapse, or go to the parent", (Pane.ENTITIES,),
            palette=False),
        _action("expand", "right l", "expand", "Expand", (Pane.ENTITIES,), palette=False),
        _action("flatten", "", "flat", "Entities of all agents in one tree, or by agent",
            (Pane.ENTITIES,), lambda now: "" if now.stores > 1 else "one store is open"),
    ),
    *_group("Timeline",
        _action("bar.previous", "left h", "earlier", "Previous bar", (Pane.TIMELINE,), _IS_DATED,
            palette=False),
        _action("bar.next", "right l", "later", "Next bar", (Pane.TIMELINE,), _IS_DATED,
            palette=False),
        _action("bar.first", "home g", "first", "First bar", (Pane.TIMELINE,), palette=False),
        _action("bar.last", "end G", "last", "Last bar", (Pane.TIMELINE,), palette=False),
        _action("bar.brush_back", "shift+left", "select", "Select a range, towards earlier",
            (Pane.TIMELINE,), _IS_DATED, palette=False),
        _action("bar.brush_on", "shift+right", "select", "Select a range, towards later",
            (Pane.TIMELINE,), _IS_DATED, palette=False),
        _action("bar.finer", "+", "finer", "Shorter bars: years, months, weeks, days",
            (Pane.TIMELINE,), _IS_DATED),
        _action("bar.coarser", "-", "coarser", "Longer bars: days, weeks, months, years",
            (Pane.TIMELINE,), _IS_DATED),
    ),
    *_group("Move",
        _action("move.down", "down j", "down", "Down", (MOVING,), palette=False),
        _action("move.up", "up k", "up", "Up", (MOVING,), palette=False),
        _action("move.page_down", "pagedown ctrl+f", "page down", "Page down", (MOVING,),
            palette=False),
        _action("move.page_up", "pageup ctrl+b", "page up", "Page up", (MOVING,), palette=False),
        _action("move.half_down", "ctrl+d", "half down", "Half page down", (MOVING,),
            palette=False),
        _action("move.half_up", "ctrl+u", "half up", "Half page up", (MOVING,), palette=False),
        _action("move.first", "home g", "first", "First (gg too)", (MOVING,), palette=False),
        _action("move.last", "end G", "last", "Last", (MOVING,), palette=False),
    ),
    *_group("Search line",
        _action("complete", "tab", "accept", "Accept suggestion", (SEARCH,), palette=False),
    ),
    *_group("memtui",
        _action("help", "?", "help", "Help: keys and search syntax"),
        _action("palette", ": ctrl+p", "commands", "All commands", palette=False),
        _action("theme", "T", "theme", "Change theme"),
        _action("settings", "comma", "settings", "Settings: open config.toml in $EDITOR"),
        _action("redraw", "ctrl+l", "redraw", "Redraw screen", (EVERYWHERE,)),
        _action("suspend", "ctrl+z", "suspend", "Suspend (fg resumes)"),
        _action("escape", "escape", "back", "Back: leave search, zoom, or clear the query",
            palette=False),
        _action("quit", "q ctrl+c", "quit", "Quit"),
    ),
)
# fmt: on
FOOTER: Mapping[Pane, tuple[str, ...]] = {
    Pane.ENTITIES: ("search", "open", "expand", "filter.clear", "graph", "undo", "everywhere"),
    Pane.MEMORIES: (
        *("match.next", "compare", "merge", "accept", "search", "open", "edit", "retire"),
        *("restore", "mark", "filter.clear", "undo", "history", "everywhere"),
    ),
    Pane.DETAIL: (
        *("match.next", "back", "accept", "search", "open", "edit", "retire", "restore"),
        *("history", "source", "learned", "copy", "undo"),
    ),
    Pane.TIMELINE: (
        *("search", "open", "bar.previous", "bar.next", "bar.brush_back", "bar.finer"),
        *("bar.coarser", "filter.clear"),
    ),
    Pane.STATISTICS: ("search", "open", "filter.clear", "filter.type", "filter.status", "undo"),
}
"""What the footer of each pane shows, as far as it can be done now, what matters most first."""
FOOTER_ROOM = 6
"""Actions in a footer, beside help and quit."""
BY_ID = {action.id: action for action in ACTIONS}
_BY_ACT = {action.act: action for action in reversed(ACTIONS) if action.act is not None} | {
    action.inverse: action for action in ACTIONS if action.inverse is not None
}


def for_act(act: Act) -> Action:
    """The action that makes changes of this act."""
    return _BY_ACT[act]


def done_word(act: Act) -> str:
    """Return the first word of the toast for a completed act: `Retired`."""
    action = for_act(act)
    return action.inverse_done if act is action.inverse else action.done
