"""Marks the tests of the suite for others that take long: it has no markers of its own."""

from __future__ import annotations

import pytest

SLOW = (
    "test_nothing_is_lost_on_either_side",
    "test_no_command_lets_it_act",
    "test_one_bad_file",
    "test_looking_changes_nothing",
    "test_any_text_may_be_a_title",
)


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    for item in items:
        if item.name.startswith(SLOW):
            item.add_marker(pytest.mark.slow)
