"""With every action on another key, no sentence of the screen names a key of before."""

from __future__ import annotations

import ast
import re
import string
from collections.abc import Iterator
from pathlib import Path, PurePath

import pytest

from memtui.config import Settings
from memtui.tui import key_bindings
from memtui.tui.actions import ACTIONS, BY_ID
from tests.source_trees import walk_sources

from .stage import Stage, stage, write_store

SCREEN_KEYS = {"escape", "quit", "search", "mark"}
"""Actions that stay on their keys, because the tests press them."""
FREE = [
    f"{modifier}+{letter}"
    for modifier in ("alt", "ctrl+alt", "super", "hyper")
    for letter in string.ascii_lowercase + string.digits
]
OTHER_KEYS = {
    action.id: (key,)
    for action, key in zip(
        (a for a in ACTIONS if a.id not in SCREEN_KEYS and not a.id.startswith("move.")),
        FREE,
        strict=False,
    )
}
NAMED = re.compile(r"(?:[Pp]ress|[·;.,]|then|with) (\S+) [a-z]")
"""A key in a sentence: `Press U to list`, `· u undo`, `; D restores it`."""


WILDCARDS = "wildcards; ? is any one letter"
"""Of the search syntax: no key."""
WORDS = {"a", "space", "enter", "home", "end", "delete", "tab", "left", "right", "up", "down"}
"""Keys that are words of a sentence too."""


def settings() -> Settings:
    return Settings(theme="dusk", keys=OTHER_KEYS)


def old_keys() -> set[str]:
    """The default keys of the actions that have another one, as they are shown."""
    keys = {key_bindings.show_key(key) for name in OTHER_KEYS for key in BY_ID[name].keys}
    return keys - WORDS


def new_key(name: str) -> str:
    return key_bindings.spell_key(OTHER_KEYS[name][0])


def named(words: str) -> set[str]:
    return set(NAMED.findall(words))


def _toasts(on: Stage) -> str:
    return "\n".join(f"{toast.title} {toast.message}" for toast in on.app._notifications)


def _literals() -> Iterator[tuple[str, str]]:
    """Every piece of text in `memtui/tui` but docstrings, with its file."""
    for path, nodes in walk_sources().items():
        if not path.startswith("tui/"):
            continue
        docs = {
            id(node.value) for node in nodes if isinstance(node, ast.Expr)
        }  # docstrings, and the texts below constants
        for node in nodes:
            if id(node) in docs or not isinstance(node, ast.Constant):
                continue
            if isinstance(node.value, str):
                yield PurePath(path).name, node.value


def test_no_sentence_in_the_code_holds_a_key() -> None:
    keys = {key_bindings.show_key(key) for action in ACTIONS for key in action.keys}
    found = [(place, text) for place, text in _literals() if named(text) & (keys - WORDS)]
    assert found == [("help.py", WILDCARDS)]


def test_a_sentence_in_the_code_would_be_found() -> None:
    for text in ("Press U to list files.", "more · o open file", "it is so; D restores it"):
        assert named(text) & old_keys()


def test_there_are_other_keys_enough() -> None:
    moving = {action.id for action in ACTIONS if action.id.startswith("move.")}
    assert OTHER_KEYS.keys() | SCREEN_KEYS | moving == BY_ID.keys()


async def test_empty_stores_name_the_new_key(tmp_path: Path) -> None:
    root = write_store(tmp_path, {"nobody": []})
    async with stage(root, (80, 24), settings=settings()) as on:
        await on.sees("No memories yet.")
        await on.sees(f"Press {new_key('new')} to add one.")


@pytest.mark.slow
async def test_a_store_that_breaks_names_the_new_key(tmp_path: Path) -> None:
    root = write_store(tmp_path)
    items = root / "entities" / "shop-api" / "items.json"
    async with stage(root, settings=settings(), toasts=True) as on:
        items.write_bytes(items.read_bytes()[:-20])
        for _ in range(2):
            await on.press(OTHER_KEYS["reload"][0])
        assert f"Press {new_key('unreadable')} to list unreadable files." in _toasts(on)
        assert not named(_toasts(on)) & old_keys()


@pytest.mark.slow
async def test_what_every_key_says_names_no_old_key(tmp_path: Path) -> None:
    """The hints of refusals, toasts, dialogs and the footer."""
    leaves = {"quit", "suspend", "source", "edit.outside", "escape"}
    async with stage(write_store(tmp_path), (80, 24), settings=settings(), toasts=True) as on:
        for name, (key,) in OTHER_KEYS.items():
            if name in leaves:
                continue
            await on.press(key)
            # A dialog has keys of its own, which are no actions.
            said = on.text().splitlines()[-1] if on.app.screen is on.browse else ""
            assert not named(f"{said}\n{_toasts(on)}") & old_keys(), name
            for _ in range(4):
                if on.app.screen is on.browse:
                    break
                await on.press("escape")
            on.app.clear_notifications()


def test_an_action_without_a_key_is_not_named() -> None:
    keys = {**key_bindings.DEFAULT_KEYS, "new": ()}
    assert key_bindings.press(keys, ("new", "to add one")) == ""
    assert key_bindings.press(keys, ("new", "to add"), ("help", "for help")) == "Press ? for help."
