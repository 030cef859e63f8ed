"""Marks the tests of the suite for others that take long: it has no markers of its own."""

from __future__ import annotations

from pathlib import Path

import pytest

from memtui.changes import Act
from memtui.stores.plans import SIDECAR_ACTS
from memtui.testing.unreadable_tests import DAMAGE, NO_FILE
from tests.formats import EVERY_FORMAT
from tests.long_run import count

HERE = Path(__file__).parent
"""Tests of other folders are collected with these."""
SLOW = (
    "test_nothing_is_lost_on_either_side",
    "test_no_command_lets_it_act",
    "test_json_is_ascii_and_says_it_all",
    "test_one_bad_file",
    "test_looking_changes_nothing",
    "test_any_text_is_kept_as_it_is",
    "test_any_text_may_be_a_title",
    "test_a_read_only_store_is_read_whole_and_left_alone",
)
OF_EVERY_ACT = "test_every_act_that_is_allowed"
FAST_ACT = Act.EDIT
OF_EVERY_DAMAGE = "test_one_bad_file"
EVERY_DAMAGE = count(3, 1)
"""The usual run damages the files of a format in every third way, those of the next in others."""
EVERY_SIDECAR_ACT = count(3, 1)
"""Likewise of the acts that most formats leave to memtui's file beside the store."""


def _is_left_out(item: pytest.Item) -> bool:
    given = getattr(item, "callspec", None)
    if given is None or "known" not in given.params or HERE not in item.path.parents:
        return False
    row = EVERY_FORMAT.index(given.params["known"])
    if item.name.startswith(OF_EVERY_DAMAGE):
        column = [*DAMAGE, *NO_FILE].index(given.params["damage"])
        return bool((row + column) % EVERY_DAMAGE)
    if item.name.startswith(OF_EVERY_ACT) and given.params["act"] in SIDECAR_ACTS:
        return bool((row + sorted(SIDECAR_ACTS).index(given.params["act"])) % EVERY_SIDECAR_ACT)
    return False


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    items[:] = [item for item in items if not _is_left_out(item)]
    for item in items:
        given = getattr(item, "callspec", None)
        act = given.params.get("act") if given else None
        if item.name.startswith(SLOW) or (
            item.name.startswith(OF_EVERY_ACT) and act is not FAST_ACT
        ):
            item.add_marker(pytest.mark.slow)
