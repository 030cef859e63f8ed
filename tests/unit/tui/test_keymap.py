"""A person's keys replace the defaults; what is wrong or taken from another action is named."""

from __future__ import annotations

import string

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memtui.tui.key_bindings import key_name, resolve

DEFAULTS = {"search": ("slash",), "quit": ("q",), "undo": ("u", "ctrl+z"), "retire": ("d",)}
NOWHERE: dict[str, str] = {}
"""All actions work in one place."""


def test_without_overrides_the_defaults_hold_as_textual_writes_them() -> None:
    keymap = resolve({})
    assert keymap.keys["search"] == ("slash",)
    assert keymap.problems == ()


def test_an_override_replaces_all_keys_of_its_action() -> None:
    keymap = resolve({"undo": ["Ctrl+Y"], "quit": []}, DEFAULTS, NOWHERE)
    assert keymap.keys["undo"] == ("ctrl+y",)
    assert keymap.keys["quit"] == ()
    assert keymap.problems == ()


def test_two_actions_can_swap_their_keys() -> None:
    keymap = resolve({"quit": ["d"], "retire": ["q"]}, DEFAULTS, NOWHERE)
    assert keymap.keys["quit"] == ("d",)
    assert keymap.keys["retire"] == ("q",)
    assert keymap.problems == ()


def test_an_unknown_action_is_named_with_the_nearest() -> None:
    (problem,) = resolve({"serach": ["x"]}, DEFAULTS, NOWHERE).problems
    assert str(problem) == ("config.toml: keys: there is no action 'serach' (did you mean search?)")


def test_a_key_is_taken_from_the_action_that_had_it_which_is_named() -> None:
    keymap = resolve({"quit": ["u"]}, DEFAULTS, NOWHERE)
    assert (keymap.keys["quit"], keymap.keys["undo"]) == (("u",), ("ctrl+z",))
    (problem,) = keymap.problems
    assert "keys.quit: takes the key u from undo" in str(problem)


def test_the_same_key_may_do_different_things_in_different_places() -> None:
    scopes = {"quit": "list", "undo": "log", "retire": "list"}
    assert resolve({"quit": ["u"]}, DEFAULTS, scopes).problems == ()
    assert resolve({"quit": ["d"]}, DEFAULTS, scopes).problems
    assert resolve({"quit": ["/"]}, DEFAULTS, scopes).problems


def test_what_is_not_a_key_is_told_and_the_good_ones_are_used() -> None:
    keymap = resolve({"quit": ["x", "hyperspace"]}, DEFAULTS, NOWHERE)
    assert keymap.keys["quit"] == ("x",)
    assert "'hyperspace' is not a key" in str(keymap.problems[0])


@pytest.mark.parametrize(
    ("written", "name"),
    [
        ("/", "slash"),
        ("?", "question_mark"),
        ("+", "plus"),
        ("ctrl++", "ctrl+plus"),
        ("Ctrl+R", "ctrl+r"),
        ("PgDn", "pagedown"),
        ("shift+a", "A"),
        ("shift+tab", "shift+tab"),
        (" ", "space"),
        ("F5", "f5"),
        ("f25", None),
        ("", None),
        ("ctrl+", None),
        ("what+a", None),
        ("\x1b", None),
    ],
)
def test_how_keys_are_written(written: str, name: str | None) -> None:
    assert key_name(written) == name


def test_signs_are_called_what_textual_calls_them() -> None:
    from textual.keys import _character_to_key

    for sign in string.punctuation:
        assert _character_to_key(sign) == key_name(sign)


keys = st.sampled_from(["a", "b", "c", "/", "ctrl+a", "nope"])
actions = st.sampled_from([*DEFAULTS, "unknown"])


@given(st.dictionaries(actions, st.lists(keys, max_size=2)))
def test_no_two_actions_ever_share_a_key(overrides: dict[str, list[str]]) -> None:
    keymap = resolve(overrides, DEFAULTS, NOWHERE)
    used = [key for wanted in keymap.keys.values() for key in wanted]
    assert len(used) == len(set(used))
    assert set(keymap.keys) == set(DEFAULTS)
