"""Marks the tests that take seconds each."""

from __future__ import annotations

import pytest


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    for item in items:
        if item.name.startswith("test_nothing_is_lost_on_either_side"):
            item.add_marker(pytest.mark.slow)
