"""Marks the tests of the suite for others that take long: it has no markers of its own."""

from __future__ import annotations

from pathlib import Path

import pytest

from memtui.testing.unreadable_tests import DAMAGE, NO_FILE
from tests.formats import EVERY_FORMAT, ONE_OF_EACH_ENGINE
from tests.long_run import count, is_long

HERE = Path(__file__).parent
"""Tests of other folders are collected with these."""
SLOW = (
    "test_every_act_that_is_allowed",
    "test_nothing_is_lost_on_either_side",
    "test_no_command_lets_it_act",
    "test_one_bad_file",
    "test_looking_changes_nothing",
    "test_keeping_an_index_changes_nothing",
    "test_any_text_is_kept_as_it_is",
    "test_lists_and_json_say_any_text",
    "test_any_text_may_be_a_title",
    "test_a_read_only_store_is_read_whole_and_left_alone",
)
OF_AN_ENGINE = (
    "test_nothing_is_lost_on_either_side",
    "test_no_command_lets_it_act",
    "test_lists_and_json_say_any_text",
    "test_keeping_an_index_changes_nothing",
)
"""What formats do not decide themselves: the usual run takes one of each engine."""
OF_EVERY_DAMAGE = "test_one_bad_file"
EVERY_DAMAGE = count(3, 1)
"""The usual run damages the files of a format in every third way, those of the next in others."""


def _is_left_out(item: pytest.Item) -> bool:
    if HERE not in item.path.parents or is_long():
        return False
    given = getattr(item, "callspec", None)
    params = given.params if given else {}
    known = params.get("known")
    if item.name.startswith(OF_AN_ENGINE):
        return known not in ONE_OF_EACH_ENGINE
    if item.name.startswith(OF_EVERY_DAMAGE):
        row = EVERY_FORMAT.index(known) if known else len(item.cls.__name__)
        column = [*DAMAGE, *NO_FILE].index(params["damage"])
        return bool((row + column) % EVERY_DAMAGE)
    return False


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    items[:] = [item for item in items if not _is_left_out(item)]
    for item in items:
        if item.name.startswith(SLOW):
            item.add_marker(pytest.mark.slow)
