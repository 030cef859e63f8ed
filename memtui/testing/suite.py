"""The suites that a test class inherits from."""

from __future__ import annotations

from memtui.testing.act_tests import ActTests
from memtui.testing.hostile_text_tests import HostileTextTests
from memtui.testing.looking_tests import LookingTests
from memtui.testing.neighbour_tests import NeighbourTests
from memtui.testing.reading_tests import ReadingTests
from memtui.testing.unreadable_tests import UnreadableFileTests


class StoreConformance(ReadingTests, LookingTests, UnreadableFileTests):
    """A store is recognised, read whole, left alone, and read around a file that is damaged."""


class WritableStoreConformance(StoreConformance, ActTests, HostileTextTests, NeighbourTests):
    """Also: each act is undone to the byte, any text is kept, two programs write side by side."""
