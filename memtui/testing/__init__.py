"""Conformance tests for a store format, run with pytest.

A package that brings a format proves it with a test module of a few lines:

    from pathlib import Path
    from memtui.testing import StoreConformance
    from jotter import FORMAT

    class TestJotter(StoreConformance):
        format = FORMAT
        sample_store = Path(__file__).parent / "sample"

`StoreConformance` is for a store that is only read, `WritableStoreConformance` for one that is also
changed. The sample is a folder that holds a small store; each test works on a copy of it. What a
store can do is asked of `WritableStore.refusal`: every act that it allows is made, shown, undone
and redone.
"""

from __future__ import annotations

import pytest

_WITH_ASSERTIONS = ("reading", "looking", "unreadable", "act", "hostile_text", "neighbour")
pytest.register_assert_rewrite(*(f"memtui.testing.{name}_tests" for name in _WITH_ASSERTIONS))

from memtui.testing.suite import StoreConformance, WritableStoreConformance  # noqa: E402

__all__ = ["StoreConformance", "WritableStoreConformance"]
