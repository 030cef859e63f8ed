"""Resolve the keys of actions: their defaults, overridden by `[keys]` of the settings.

Here an action is an id and its keys. An override for an unknown action, or with a key that another
action has in the same place, is reported, and the default stays.
"""

from __future__ import annotations

import re
import string
import unicodedata
from collections.abc import Iterable, Mapping
from typing import NamedTuple

from memtui.errors import ConfigError, did_you_mean

Keys = tuple[str, ...]
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
_RENAMED = {
    "solidus": "slash",
    "reverse_solidus": "backslash",
    "commercial_at": "at",
    "hyphen_minus": "minus",
    "plus_sign": "plus",
    "low_line": "underscore",
}
"""`textual.keys.KEY_NAME_REPLACEMENTS`."""


def _name_sign(sign: str) -> str:
    """What Textual calls a sign, as `textual.keys._character_to_key` makes it."""
    name = unicodedata.name(sign).lower().replace("-", "_").replace(" ", "_")
    return _RENAMED.get(name, name)


_SIGNS = {sign: _name_sign(sign) for sign in string.punctuation}
ALL_PANES = "*"
"""Scope of keys that work in every pane, but in no dialog."""
DIALOG = "dialog:"
"""How the scope of keys begins that work in one dialog only."""
_MODIFIERS = ("ctrl", "alt", "shift", "super", "meta", "hyper")
_NAMED = frozenset(
    (
        *("escape", "enter", "tab", "space", "backspace", "delete", "insert"),
        *("home", "end", "pageup", "pagedown", "up", "down", "left", "right"),
        *(f"f{n}" for n in range(1, 25)),
        *_SIGNS.values(),
    )
)


class Keymap(NamedTuple):
    """The keys of every action, and the faults of the overrides."""

    keys: Mapping[str, Keys]
    """Action id -> its keys as Textual writes them; empty: the action has no key."""
    problems: tuple[ConfigError, ...] = ()


def key_name(key: str) -> str | None:
    """Return the key as Textual writes it (`slash`, `ctrl+r`); None when it is no key."""
    if key in _SIGNS:
        return _SIGNS[key]
    if len(key) == 1:
        return _NAMES.get(key, key if key.isalnum() else None)
    *modifiers, last = re.split(r"\+(?!$)", key.strip())
    modifiers = [modifier.strip().lower() for modifier in modifiers]
    last = last.strip()
    if any(modifier not in _MODIFIERS for modifier in modifiers):
        return None
    if last in _SIGNS:
        last = _SIGNS[last]
    elif len(last) > 1:
        last = last.lower()
        last = _NAMES.get(last, last)
        if last not in _NAMED:
            return None
    elif not last.isalnum():
        return None
    elif modifiers == ["shift"]:  # a terminal sends the capital, not shift and the letter
        return last.upper()
    elif modifiers:
        last = last.lower()
    return "+".join([*sorted(set(modifiers), key=_MODIFIERS.index), last])


def resolve(
    defaults: Mapping[str, Iterable[str]],
    overrides: Mapping[str, Iterable[str]],
    *,
    scopes: Mapping[str, str] | None = None,
) -> Keymap:
    """Return the keys to use: `defaults` (action id -> keys) with the valid `overrides`.

    `scopes` names the place where an action's keys work; only actions of one place can clash,
    those of `ALL_PANES` with every pane's, those of the place "" (everywhere) with all. An
    override takes a key away from no other action: give that one another key in the same file.
    Never raises.
    """
    scopes = scopes or {}
    keys = {action: _known(action_keys)[0] for action, action_keys in defaults.items()}
    accepted: dict[str, Keys] = {}
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
    # A refused override gives its action the default keys back, which may be what another
    # override took, so look again until nothing clashes.
    while clash := _clash({**keys, **accepted}, accepted, scopes):
        loser, other, key = clash
        del accepted[loser]
        problems.append(
            ConfigError(
                f"the key {key} already belongs to {other}",
                where=f"{WHERE}: keys.{loser}",
                do=f"choose another key, or give {other} another one too",
            )
        )
    return Keymap({**keys, **accepted}, tuple(problems))


def _known(key_names: Iterable[str]) -> tuple[Keys, list[str]]:
    names = [(key, key_name(key)) for key in key_names]
    good = tuple(dict.fromkeys(name for _, name in names if name is not None))
    return good, [key for key, name in names if name is None]


def _unknown(action: str, known: Iterable[str]) -> ConfigError:
    return ConfigError(
        f"there is no action {action!r}",
        where=f"{WHERE}: keys",
        do=did_you_mean(action, known, "the help in memtui names all actions"),
    )


def _clash(
    keys: Mapping[str, Keys], accepted: Mapping[str, Keys], scopes: Mapping[str, str]
) -> tuple[str, str, str] | None:
    """The first override that takes another action's key: (override, other action, key)."""
    for action in reversed(list(accepted)):
        for other, other_keys in keys.items():
            if other == action or not _overlap(scopes.get(action, ""), scopes.get(other, "")):
                continue
            for key in keys[action]:
                if key in other_keys:
                    return action, other, key
    return None


def _overlap(scope: str, other: str) -> bool:
    if scope == other or not scope or not other:
        return True
    return ALL_PANES in (scope, other) and not (scope + other).count(DIALOG)
