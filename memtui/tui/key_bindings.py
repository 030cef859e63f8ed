"""Keys of actions: bindings, how keys are shown, and keys that `[keys]` of the settings changes.

An override for an unknown action is reported. One with a key that another action has in the same
place takes the key from it, which is reported too.
"""

from __future__ import annotations

import re
import string
import unicodedata
from collections.abc import Iterable, Mapping, Sequence
from itertools import islice
from typing import NamedTuple

from textual.binding import Binding
from textual.keys import KEY_NAME_REPLACEMENTS, Keys

from memtui.errors import ConfigError, did_you_mean
from memtui.tui.actions import (
    ACTIONS,
    ANYWHERE,
    BY_ID,
    EVERYWHERE,
    FOOTER,
    FOOTER_ROOM,
    MOVING,
    Action,
    ActionContext,
    refusal_of,
)
from memtui.tui.layout import Pane

WHERE = "config.toml"

_NAMES = {
    "esc": "escape",
    "return": "enter",
    "del": "delete",
    "ins": "insert",
    "pgup": "pageup",
    "pgdn": "pagedown",
    "pgdown": "pagedown",
    "bksp": "backspace",
    " ": "space",
}


def _name_sign(sign: str) -> str:
    """What Textual calls a sign."""
    name = unicodedata.name(sign).lower().replace("-", "_").replace(" ", "_")
    return KEY_NAME_REPLACEMENTS.get(name, name)


_SIGNS = {sign: _name_sign(sign) for sign in string.punctuation}
NO_KEY = "unbound"
"""Bound to actions that have no key unless config.toml gives them one; no terminal sends it."""
ALL_PANES = "*"
"""Scope of keys that work in every pane, but in no dialog."""
_MODIFIERS = ("ctrl", "alt", "shift", "super", "meta", "hyper")
_NAMED = {key.value for key in Keys if key.value.isalnum()} | {"space", *_SIGNS.values()}


class Keymap(NamedTuple):
    """The keys of every action, and the faults of the overrides."""

    keys: Mapping[str, tuple[str, ...]]
    """Action id -> its keys as Textual writes them; empty: the action has no key."""
    problems: tuple[ConfigError, ...] = ()


def key_name(key: str) -> str | None:
    """Return the key as Textual writes it (`slash`, `ctrl+r`); None when it is no key."""
    *modifiers, last = re.split(r"\+(?!$)", key.strip() or key)
    modifiers = [modifier.strip().lower() for modifier in modifiers]
    if any(modifier not in _MODIFIERS for modifier in modifiers):
        return None
    last = last.strip() or last
    last = _SIGNS.get(last, last)
    last = _NAMES.get(last.lower(), last)
    if len(last) > 1:
        last = last.lower()
        if last not in _NAMED:
            return None
    elif not last.isalnum():
        return None
    elif modifiers == ["shift"]:  # a terminal sends the capital, not shift and the letter
        return last.upper()
    elif modifiers:
        last = last.lower()
    return "+".join([*sorted(set(modifiers), key=_MODIFIERS.index), last])


def _known(key_names: Iterable[str]) -> tuple[tuple[str, ...], list[str]]:
    """The keys of a list as Textual writes them, and what is no key."""
    names = [(key, key_name(key)) for key in key_names]
    good = tuple(dict.fromkeys(name for _, name in names if name is not None))
    return good, [key for key, name in names if name is None]


DEFAULT_KEYS = {action.id: _known(action.keys)[0] for action in ACTIONS}
"""Action id -> its keys as Textual writes them, before any override from config.toml."""
_PLACES: Mapping[tuple[str, ...], str] = {
    (EVERYWHERE,): "",
    (ANYWHERE,): ALL_PANES,
}
SCOPES = {action.id: _PLACES.get(action.scopes, "+".join(action.scopes)) for action in ACTIONS}
"""Action id -> the one place where its keys work, to find what an override takes a key from."""


def resolve(
    overrides: Mapping[str, Iterable[str]],
    keys: Mapping[str, tuple[str, ...]] = DEFAULT_KEYS,
    scopes: Mapping[str, str] = SCOPES,
) -> Keymap:
    """Return the keys to use: `keys` (action id -> keys) with the valid `overrides`.

    `scopes` names the place where an action's keys work. An override takes its keys from the other
    actions of the same place, those of `ALL_PANES` from every pane's, those of the place ""
    (everywhere) from all. Never raises.
    """
    accepted: dict[str, tuple[str, ...]] = {}
    problems: list[ConfigError] = []
    for action, action_keys in overrides.items():
        if action not in keys:
            problems.append(_unknown(action, keys))
            continue
        accepted[action], bad = _known(action_keys)
        for key in bad:
            problems.append(
                ConfigError(
                    f"{key!r} is not a key",
                    where=f"{WHERE}: keys.{action}",
                    do="write it like a, A, ctrl+a, f5, slash, pagedown",
                )
            )
        if bad and not accepted[action]:
            del accepted[action]
    used = {**keys, **accepted}
    for action in accepted:
        for other in used:
            if other == action or not _overlap(scopes.get(action, ""), scopes.get(other, "")):
                continue
            for key in sorted(set(used[action]).intersection(used[other])):
                used[other] = tuple(each for each in used[other] if each != key)
                problems.append(
                    ConfigError(
                        f"takes the key {key} from {other}",
                        where=f"{WHERE}: keys.{action}",
                        do=f"give {other} other keys, or [] for none",
                    )
                )
    return Keymap(used, tuple(problems))


def _unknown(action: str, known: Iterable[str]) -> ConfigError:
    return ConfigError(
        f"there is no action {action!r}",
        where=f"{WHERE}: keys",
        do=did_you_mean(action, known, "the help in memtui names all actions"),
    )


def _overlap(scope: str, other: str) -> bool:
    if scope == other or not scope or not other:
        return True
    return ALL_PANES in (scope, other)


def bindings(*scopes: str) -> list[Binding]:
    """Textual bindings of everything that works in one of these scopes."""
    return [_binding(action) for action in ACTIONS if not set(scopes).isdisjoint(action.scopes)]


def _binding(action: Action) -> Binding:
    return Binding(
        ",".join(action.keys) or NO_KEY,
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
    """Return the actions that the footer of a pane shows: the first that are possible now."""
    range_first = ("mark.range",) if now.is_marking else ()
    listed = (*range_first, *FOOTER[pane])
    shown = [BY_ID[each] for each in listed if each != "undo" or now.has_written]
    possible = islice((action for action in shown if not refusal_of(action, now)), FOOTER_ROOM)
    labels = {"mark.range": "end range"} if now.is_marking else {}
    if now.offers:
        labels["open"] = "drop"
    elif pane not in (Pane.MEMORIES, Pane.DETAIL):  # enter filters by what the cursor is on
        labels["open"] = "filter"
    return [one._replace(label=labels.get(one.id, one.label)) for one in possible]


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
    "shift+up": "⇧↑",
    "shift+down": "⇧↓",
    "insert": "ins",
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
