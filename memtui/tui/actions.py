"""Every act a person can do on the screen, in one place.

Key bindings, footer, help, command palette, key overrides and the documentation are all derived
from this registry. An action says where it works, when it is allowed, and if not, why not. What
it does, the controllers know by its id.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass

from memtui.tui import action_context
from memtui.tui.action_context import Allowed
from memtui.tui.layout import Pane

ANYWHERE = "anywhere"
EVERYWHERE = "everywhere"
MOVING = "moving"
SEARCH = "search"
ActionHandlers = Mapping[str, Callable[[], None]]
"""Action id -> what carries it out."""
_PANES = tuple(Pane)
_ON_MEMORY = (Pane.MEMORIES, Pane.DETAIL)


@dataclass(frozen=True, slots=True)
class Action:
    """One thing to do, by key, by palette or by mouse."""

    id: str
    """How config.toml names it under [keys]."""
    keys: tuple[str, ...]
    """Textual key names; the first is the one shown."""
    words: str
    """One or two words for the footer."""
    tooltip: str
    """One sentence for help and palette."""
    scopes: tuple[str, ...] = (ANYWHERE,)
    """Panes where it works, or `ANYWHERE` (every pane), `EVERYWHERE` (every pane and dialog),
    `MOVING` (every list), `SEARCH` (the search line)."""
    footer: tuple[str, ...] = ()
    """Panes whose footer shows it."""
    allowed: Allowed = action_context.always
    """The reason why it cannot be done now; empty when it can."""
    palette: bool = True


def _act(
    id: str,
    keys: str,
    words: str,
    tooltip: str,
    scopes: Iterable[str] = (ANYWHERE,),
    footer: Iterable[str] = (),
    allowed: Allowed = action_context.always,
    palette: bool = True,
) -> Action:
    return Action(
        id,
        tuple(keys.split()),
        words,
        tooltip,
        tuple(scopes),
        tuple(footer),
        allowed,
        palette=palette,
    )


def _changing(
    id: str,
    keys: str,
    words: str,
    tooltip: str,
    footer: Iterable[str] = (),
    scopes: Iterable[str] = _ON_MEMORY,
) -> Action:
    """An act that changes memories: the store is asked whether it can be done."""
    return _act(id, keys, words, tooltip, scopes, footer, lambda now: now.refused(id))


ACTIONS: tuple[Action, ...] = (
    _act("search", "/", "search", "Search as you type", footer=_PANES),
    _act(
        "open",
        "enter",
        "open",
        "Open: go on to the detail, or choose what the cursor stands on",
        _PANES,
        footer=_PANES,
        palette=False,
    ),
    _changing(
        "again",
        "W",
        "apply again",
        "Apply again what another program took back",
        _PANES,
        (ANYWHERE,),
    ),
    _changing(
        "drafts",
        "K",
        "draft",
        "Open a draft that an earlier run left unsaved",
        _PANES,
        (ANYWHERE,),
    ),
    _changing("edit", "e", "edit", "Edit here", _ON_MEMORY),
    _changing("edit.outside", "E", "$EDITOR", "Edit in $EDITOR"),
    _changing("new", "n", "new", "Write a new memory", _ON_MEMORY, (ANYWHERE,)),
    _changing("supersede", "S", "supersede", "Write the successor", _ON_MEMORY),
    _changing("retire", "d", "retire", "Retire, or delete where there is no other way", _ON_MEMORY),
    _changing("restore", "D", "restore", "Bring back what was retired or deleted", _ON_MEMORY),
    _changing("accept", "A", "accept", "Accept a proposal, edited or as it is", _ON_MEMORY),
    _changing("decline", "X", "decline", "Decline a proposal", _ON_MEMORY),
    _changing("pin", "p", "pin", "Pin, or no longer", _ON_MEMORY),
    _changing("tag", "#", "tags", "Change the tags"),
    _changing("link", "L", "link", "Link to another memory"),
    _changing("merge", "&", "merge", "Merge the marked memories into one", _ON_MEMORY),
    _changing("retype", "ctrl+t", "give type", "Give another type, to documents by pattern too"),
    _changing("rate", "*", "rate", "Rate from 1 to 5"),
    _changing("review", "R", "reviewed", "Mark as reviewed today"),
    _changing("copy.to", "c", "copy to", "Copy or move to another store"),
    _changing("delete", "delete", "delete", "Delete for good; undo still brings it back"),
    _act("filter.type", "t", "type", "Filter by type", footer=_ON_MEMORY),
    _act("filter.importance", "i", "importance", "Filter by importance", footer=_ON_MEMORY),
    _act("filter.recency", "r", "recency", "Filter by how recent it is", footer=_ON_MEMORY),
    _act("filter.status", "s", "status", "Filter by status", footer=_ON_MEMORY),
    _act("filter.saved", "f", "saved", "Saved filters: use one, keep the current one"),
    _act(
        "filter.clear",
        "F",
        "clear",
        "Take all filters away",
        footer=_PANES,
        allowed=action_context.filters,
    ),
    _act("order", "v", "order", "Order by time, importance or priority", footer=_ON_MEMORY),
    _act(
        "mark",
        "space",
        "mark",
        "Mark this memory, or take the mark away",
        (Pane.MEMORIES,),
        (Pane.MEMORIES,),
        action_context.memory,
    ),
    _act(
        "mark.all",
        "a",
        "mark all",
        "Mark all shown, or none",
        (Pane.MEMORIES,),
        (),
        action_context.memory,
    ),
    _act(
        "follow",
        "]",
        "next reference",
        "Go to the next memory this one refers to",
        (Pane.DETAIL,),
        (Pane.DETAIL,),
        action_context.targets,
    ),
    _act(
        "follow.back",
        "[",
        "previous reference",
        "Go to the previous reference",
        (Pane.DETAIL,),
        (),
        action_context.targets,
    ),
    _act(
        "back",
        "backspace",
        "back",
        "Back to the memory you came from",
        _ON_MEMORY,
        (Pane.DETAIL,),
        action_context.back,
    ),
    _act(
        "history",
        "H",
        "history",
        "What it replaced, and what replaced it",
        _ON_MEMORY,
        _ON_MEMORY,
        action_context.memory,
    ),
    _act(
        "source",
        "o",
        "source",
        "Open its file at the line in $EDITOR",
        _ON_MEMORY,
        _ON_MEMORY,
        action_context.memory,
    ),
    _act(
        "similar", "M", "alike", "More like this", _ON_MEMORY, (Pane.DETAIL,), action_context.memory
    ),
    _act(
        "why",
        "w",
        "why",
        "Why this hit is here, and why above the next",
        _ON_MEMORY,
        _ON_MEMORY,
        action_context.ranked,
    ),
    _act(
        "copy",
        "y",
        "copy",
        "Copy the text of the memory, without hidden characters",
        _ON_MEMORY,
        _ON_MEMORY,
        action_context.memory,
    ),
    _act(
        "copy.exact",
        "Y",
        "copy exactly",
        "Copy the text of the memory to the last character, hidden ones too",
        _ON_MEMORY,
        (),
        action_context.memory,
    ),
    _act(
        "fresh",
        "N",
        "next new",
        "Jump to the next memory that is new",
        allowed=action_context.fresh,
    ),
    _act(
        "collapse",
        "left h",
        "fold",
        "Fold the branch, or go to its parent",
        (Pane.ENTITIES,),
        palette=False,
    ),
    _act(
        "expand",
        "right l",
        "unfold",
        "Unfold the branch",
        (Pane.ENTITIES,),
        (Pane.ENTITIES,),
        palette=False,
    ),
    _act(
        "bar.previous",
        "left h",
        "earlier",
        "The bar before",
        (Pane.TIMELINE,),
        (Pane.TIMELINE,),
        palette=False,
    ),
    _act(
        "bar.next",
        "right l",
        "later",
        "The bar after",
        (Pane.TIMELINE,),
        (Pane.TIMELINE,),
        palette=False,
    ),
    _act("bar.first", "home g", "first", "The first bar", (Pane.TIMELINE,), palette=False),
    _act("bar.last", "end G", "last", "The last bar", (Pane.TIMELINE,), palette=False),
    _act("bar.finer", "+ =", "finer", "Shorter bars: days", (Pane.TIMELINE,), (Pane.TIMELINE,)),
    _act("bar.coarser", "-", "coarser", "Longer bars: months", (Pane.TIMELINE,), (Pane.TIMELINE,)),
    _act("right", "right l", "detail", "On to the detail", (Pane.MEMORIES,), palette=False),
    _act("left", "left h", "list", "Back to the list", (Pane.DETAIL,), palette=False),
    _act("pane.entities", "1", "entities", "Go to the entities"),
    _act("pane.memories", "2", "memories", "Go to the memories"),
    _act("pane.detail", "3", "detail", "Go to the detail"),
    _act("pane.timeline", "4", "timeline", "Go to the timeline"),
    _act("pane.statistics", "5", "statistics", "Go to the statistics"),
    _act("pane.next", "tab", "next pane", "Go to the next pane", palette=False),
    _act("pane.previous", "shift+tab", "previous pane", "Go to the pane before", palette=False),
    _act("zoom", "z", "zoom", "Give the whole screen to this pane, and back", footer=_PANES),
    _changing("undo", "u", "undo", "Undo the last change", (), (ANYWHERE,)),
    _changing("redo", "ctrl+r", "redo", "Redo what was undone", (), (ANYWHERE,)),
    _changing("export", "x", "export", "Export memories to a file", (), (ANYWHERE,)),
    _changing("import", "I", "import", "Import a bundle, a backup or JSON lines", (), (ANYWHERE,)),
    _changing(
        "broken",
        "B",
        "broken",
        "Broken files: look at the fault, restore the last good copy",
        (),
        (ANYWHERE,),
    ),
    _changing("log", "C", "changes", "All changes: go to them, take them back", (), (ANYWHERE,)),
    _act("theme", "T", "theme", "Choose the colours"),
    _act("reload", "f5", "reload", "Read what changed on disk, now"),
    _act("redraw", "ctrl+l", "redraw", "Draw the whole screen anew", (EVERYWHERE,)),
    _act("suspend", "ctrl+z", "suspend", "Back to the shell for a while; fg comes back here"),
    _act("unreadable", "U", "unreadable", "Files that could not be read, and why"),
    _act("palette", ": ctrl+p", "commands", "All commands", palette=False),
    _act("help", "?", "help", "The keys that work here, and the search words"),
    _act("escape", "escape", "back", "Back: leave the search, the zoom, the words", palette=False),
    _act("quit", "q ctrl+c", "quit", "Leave memtui"),
    _act("complete", "tab", "take", "Take what is offered in grey", (SEARCH,), palette=False),
    _act("move.down", "down j", "down", "Down", (MOVING,), palette=False),
    _act("move.up", "up k", "up", "Up", (MOVING,), palette=False),
    _act("move.page_down", "pagedown ctrl+f", "page down", "Page down", (MOVING,), palette=False),
    _act("move.page_up", "pageup ctrl+b", "page up", "Page up", (MOVING,), palette=False),
    _act("move.half_down", "ctrl+d", "half down", "Half a page down", (MOVING,), palette=False),
    _act("move.half_up", "ctrl+u", "half up", "Half a page up", (MOVING,), palette=False),
    _act("move.first", "home g", "first", "To the first", (MOVING,), palette=False),
    _act("move.last", "end G", "last", "To the last", (MOVING,), palette=False),
)
BY_ID = {action.id: action for action in ACTIONS}
