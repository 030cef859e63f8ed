"""Keys and bindings of the registry's actions, and how they are shown."""

from __future__ import annotations

import string
from collections.abc import Mapping, Sequence

from textual.binding import Binding

from memtui.keymap import ALL_PANES, DIALOG, key_name
from memtui.tui.actions import (
    ACTIONS,
    ANYWHERE,
    BY_ID,
    EVERYWHERE,
    MOVING,
    PACK,
    Action,
    ActionContext,
)
from memtui.tui.layout import Pane


def default_keys() -> dict[str, tuple[str, ...]]:
    """Action id -> its keys, before any override from config.toml."""
    return {action.id: action.keys for action in ACTIONS}


def key_scopes() -> dict[str, str]:
    """Action id -> the one place where its keys work, to find clashes (see `keymap.resolve`)."""
    known: dict[tuple[str, ...], str] = {
        (EVERYWHERE,): "",
        (ANYWHERE,): ALL_PANES,
        (PACK,): DIALOG + PACK,
    }
    return {action.id: known.get(action.scopes, "+".join(action.scopes)) for action in ACTIONS}


def bindings(*scopes: str) -> list[Binding]:
    """Textual bindings of everything that works in one of these scopes."""
    return [_binding(action) for action in ACTIONS if not set(scopes).isdisjoint(action.scopes)]


def bindings_of(*action_ids: str) -> list[Binding]:
    """Textual bindings of these actions, for a screen that shares some with another."""
    return [_binding(BY_ID[action_id]) for action_id in action_ids]


def _binding(action: Action) -> Binding:
    return Binding(
        ",".join(action.keys),
        _textual_action(action),
        action.label,
        show=False,
        tooltip=action.tooltip,
        id=action.id,
        priority=EVERYWHERE in action.scopes,
    )


def _textual_action(action: Action) -> str:
    """Return the Textual action that a key of the action calls."""
    if MOVING in action.scopes:
        return f"move('{action.id}')"
    return f"{'app' if EVERYWHERE in action.scopes else 'screen'}.act('{action.id}')"


def for_footer(pane: Pane, now: ActionContext) -> list[Action]:
    """Return the actions that the footer of a pane shows: those that are possible now.

    First what belongs to the pane, then what works everywhere, and the filters last.
    """
    shown = [action for action in ACTIONS if pane in action.footer and not action.allowed(now)]
    if pane not in (Pane.MEMORIES, Pane.DETAIL):  # enter filters by what the cursor is on
        shown = [one._replace(label="filter") if one.id == "open" else one for one in shown]
    return sorted(shown, key=lambda action: _footer_rank(action, pane))


def _footer_rank(action: Action, pane: Pane) -> int:
    if action.id.startswith("filter.") or action.id == "order":
        return 2
    return 0 if pane in action.scopes or action.id == "search" else 1


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
    "shift+left": "⇧←",
    "shift+right": "⇧→",
}
_CHARACTERS = {key_name(character): character for character in string.punctuation}


def show_key(key: str) -> str:
    """A key as people read it: `/`, `^p`, `←`, `esc`."""
    if key in _SHOWN_KEYS:
        return _SHOWN_KEYS[key]
    if key.startswith("ctrl+"):
        return f"^{show_key(key[5:])}"
    return _CHARACTERS.get(key, key)


def spell_key(key: str) -> str:
    """A key as sentences name it: `ctrl+r`, where the footer has `^r`."""
    return f"ctrl+{spell_key(key[5:])}" if key.startswith("ctrl+") else show_key(key)


def spell_first_key(action_id: str, overrides: Mapping[str, Sequence[str]]) -> str:
    """The key of an action as sentences name it; empty when it has none."""
    keys = overrides.get(action_id, BY_ID[action_id].keys)
    return spell_key(keys[0]) if keys else ""


def press(overrides: Mapping[str, Sequence[str]], *purposes: tuple[str, str]) -> str:
    """Return a sentence that names keys: `Press / to search, ? for help.`; empty without keys.

    `purposes`: action id and what its key is for, each.
    """
    keys = [(spell_first_key(action_id, overrides), purpose) for action_id, purpose in purposes]
    words = ", ".join(f"{key} {purpose}" for key, purpose in keys if key)
    return f"Press {words}." if words else ""


def show_keys(action: Action, overrides: Mapping[str, Sequence[str]]) -> str:
    """All keys of an action, overrides included: `: ^p`."""
    return " ".join(map(show_key, overrides.get(action.id, action.keys)))
