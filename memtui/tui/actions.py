"""Every act a person can do on the screen, in one place.

Key bindings, footer, help, command palette, key overrides and the documentation are all derived
from this registry. An action says where it works, when it is allowed, and if not, why not.
"""

from __future__ import annotations

import string
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass

from textual.binding import Binding

from memtui.keymap import key_name
from memtui.tui.layout import Pane

ANYWHERE = "anywhere"
EVERYWHERE = "everywhere"
MOVING = "moving"
SEARCH = "search"
_PANES = tuple(Pane)
_ON_MEMORY = (Pane.MEMORIES, Pane.DETAIL)


@dataclass(frozen=True, slots=True)
class Situation:
    """What an action may ask about the moment it is pressed in. Values only."""

    focus: Pane = Pane.MEMORIES
    has_memory: bool = False
    """The cursor of the list stands on a memory."""
    marked: int = 0
    filtered: bool = False
    searching: bool = False
    """There are words in the search line."""
    ranked: bool = False
    """The list is ordered by relevance, and the cursor stands on a hit."""
    fresh: int = 0
    """Memories that are new since the last look."""
    targets: int = 0
    """References in the detail that can be followed."""
    zoomed: bool = False
    can_go_back: bool = False
    refused: Callable[[str], str] = lambda _: "nothing can be changed now"
    """Why the action with this id, which changes something, cannot be done; empty when it can."""


Allowed = Callable[[Situation], str]


def _always(_: Situation) -> str:
    return ""


def _memory(now: Situation) -> str:
    return "" if now.has_memory else "no memory is selected"


def _filters(now: Situation) -> str:
    return "" if now.filtered else "no filter is set"


def _fresh(now: Situation) -> str:
    return "" if now.fresh else "nothing is new since you last looked"


def _ranked(now: Situation) -> str:
    return "" if now.ranked else "only a hit of a search, best match first, has reasons to show"


def _targets(now: Situation) -> str:
    return "" if now.targets else "this memory refers to no other"


def _back(now: Situation) -> str:
    return "" if now.can_go_back else "there is nowhere to go back to"


def _change(id: str) -> Allowed:
    """Allowed where the store, and the memories that it is about, let it be done."""
    return lambda now: now.refused(id)


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
    allowed: Allowed = _always
    """The reason why it cannot be done now; empty when it can."""
    palette: bool = True


def _act(
    id: str,
    keys: str,
    words: str,
    tooltip: str,
    scopes: Iterable[str] = (ANYWHERE,),
    footer: Iterable[str] = (),
    allowed: Allowed = _always,
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
    return _act(id, keys, words, tooltip, scopes, footer, _change(id))


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
    _act("filter.clear", "F", "clear", "Take all filters away", footer=_PANES, allowed=_filters),
    _act("order", "v", "order", "Order by time, importance or priority", footer=_ON_MEMORY),
    _act(
        "mark",
        "space",
        "mark",
        "Mark this memory, or take the mark away",
        (Pane.MEMORIES,),
        (Pane.MEMORIES,),
        _memory,
    ),
    _act("mark.all", "a", "mark all", "Mark all shown, or none", (Pane.MEMORIES,), (), _memory),
    _act(
        "follow",
        "]",
        "next reference",
        "Go to the next memory this one refers to",
        (Pane.DETAIL,),
        (Pane.DETAIL,),
        _targets,
    ),
    _act(
        "follow.back",
        "[",
        "previous reference",
        "Go to the previous reference",
        (Pane.DETAIL,),
        (),
        _targets,
    ),
    _act(
        "back",
        "backspace",
        "back",
        "Back to the memory you came from",
        _ON_MEMORY,
        (Pane.DETAIL,),
        _back,
    ),
    _act(
        "history",
        "H",
        "history",
        "What it replaced, and what replaced it",
        _ON_MEMORY,
        _ON_MEMORY,
        _memory,
    ),
    _act(
        "source",
        "o",
        "source",
        "Open its file at the line in $EDITOR",
        _ON_MEMORY,
        _ON_MEMORY,
        _memory,
    ),
    _act("similar", "M", "alike", "More like this", _ON_MEMORY, (Pane.DETAIL,), _memory),
    _act(
        "why",
        "w",
        "why",
        "Why this hit is here, and why above the next",
        _ON_MEMORY,
        _ON_MEMORY,
        _ranked,
    ),
    _act("copy", "y", "copy", "Copy the text of the memory", _ON_MEMORY, _ON_MEMORY, _memory),
    _act("fresh", "N", "next new", "Jump to the next memory that is new", allowed=_fresh),
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


def default_keys() -> dict[str, tuple[str, ...]]:
    """Action id -> its keys, before any override from config.toml."""
    return {action.id: action.keys for action in ACTIONS}


def key_scopes() -> dict[str, str]:
    """Action id -> the one place where its keys work, to find clashes; empty = everywhere."""
    all_over = {(ANYWHERE,), (EVERYWHERE,)}
    return {
        action.id: "" if action.scopes in all_over else "+".join(action.scopes)
        for action in ACTIONS
    }


def bindings(*scopes: str) -> list[Binding]:
    """Textual bindings of everything that works in one of these scopes."""
    return [
        Binding(
            ",".join(action.keys),
            _binds(action),
            action.words,
            show=False,
            tooltip=action.tooltip,
            id=action.id,
            priority=EVERYWHERE in action.scopes,
        )
        for action in ACTIONS
        if not set(scopes).isdisjoint(action.scopes)
    ]


def _binds(action: Action) -> str:
    """What Textual calls when a key of the action is pressed."""
    if MOVING in action.scopes:
        return f"move('{action.id}')"
    return f"{'app' if EVERYWHERE in action.scopes else 'screen'}.act('{action.id}')"


def for_footer(pane: Pane, now: Situation) -> list[Action]:
    """What the footer of a pane shows, in order: what can be done at this moment."""
    return [action for action in ACTIONS if pane in action.footer and not action.allowed(now)]


_SHOWN_KEYS = {
    "escape": "esc",
    "pagedown": "pgdn",
    "pageup": "pgup",
    "backspace": "⌫",
    "space": "space",
    "left": "←",
    "right": "→",
    "up": "↑",
    "down": "↓",
    "shift+tab": "⇧tab",
}
_CHARACTERS = {key_name(character): character for character in string.punctuation}


def show_key(key: str) -> str:
    """A key as people read it: `/`, `^p`, `←`, `esc`."""
    if key in _SHOWN_KEYS:
        return _SHOWN_KEYS[key]
    if key.startswith("ctrl+"):
        return f"^{show_key(key[5:])}"
    return _CHARACTERS.get(key, key)


def first_key(action: Action, overrides: Mapping[str, Sequence[str]]) -> str:
    """The key to show for an action in the footer; empty when it has none."""
    keys = overrides.get(action.id, action.keys)
    return show_key(keys[0]) if keys else ""


def show_keys(action: Action, overrides: Mapping[str, Sequence[str]]) -> str:
    """All keys of an action, overrides included: `: ^p`."""
    return " ".join(map(show_key, overrides.get(action.id, action.keys)))
