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
store can do is asked of `Store.refusal`: every act that it allows is made, shown, undone
and redone.

`AskedConformance` is for a store that is asked; it needs a fixture `both` (`asked_tests.Both`).
"""

from __future__ import annotations

import pytest

_WITH_ASSERTIONS = ("reading", "unreadable", "act", "conversion", "hostile_text", "link", "asked")
pytest.register_assert_rewrite(*(f"memtui.testing.{name}_tests" for name in _WITH_ASSERTIONS))

from memtui.testing.act_tests import ActTests, NeighbourTests  # noqa: E402
from memtui.testing.asked_tests import AskedTests  # noqa: E402
from memtui.testing.conversion_tests import ConversionTests  # noqa: E402
from memtui.testing.hostile_text_tests import HostileTextTests  # noqa: E402
from memtui.testing.link_tests import LinkTests  # noqa: E402
from memtui.testing.reading_tests import LookingTests, ReadingTests  # noqa: E402
from memtui.testing.unreadable_tests import UnreadableFileTests  # noqa: E402

__all__ = ["AskedConformance", "StoreConformance", "WritableStoreConformance"]


class StoreConformance(ReadingTests, LookingTests, UnreadableFileTests):
    """A store is recognised, read whole, left alone, and read around a file that is damaged."""


class WritableStoreConformance(
    StoreConformance, ActTests, ConversionTests, HostileTextTests, LinkTests, NeighbourTests
):
    """Also: each act is undone to the byte, any text is kept, what an import loses is named, no
    link out of the store is written through, two programs write side by side."""


class AskedConformance(AskedTests):
    """Random queries, pages, facets and days are those of the same memories in memory."""
