"""Looking changes nothing: not a byte, not a time, not a file more (P11)."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from memtui.stores.format import Format
from memtui.testing.fixtures import FormatFixtures, forked
from memtui.testing.looking import look_at, look_without_rights
from memtui.testing.samples import memories, open_library
from memtui.testing.trees import fingerprint, paths


class LookingTests(FormatFixtures):
    """Looking changes nothing: not a byte, not a time, not a file more (P11)."""

    def test_looking_changes_nothing(self, known: Format, place: Path, tmp_path: Path) -> None:
        before = fingerprint(place)
        library = look_at(place, tmp_path / "state", tmp_path / "cache")
        assert library.snapshot.count
        assert fingerprint(place) == before
        look_at(place, tmp_path / "state", tmp_path / "cache")  # now from the cache
        assert fingerprint(place) == before

    @pytest.fixture
    def closed(self) -> Any:
        """Takes rights away, and gives them back when the test is over."""
        touched: list[tuple[Path, int]] = []

        def close(path: Path, mode: int) -> None:
            touched.append((path, path.stat().st_mode))
            path.chmod(mode)

        yield close
        for path, mode in reversed(touched):
            path.chmod(mode)

    def test_a_read_only_store_is_read_whole_and_left_alone(
        self, known: Format, place: Path, tmp_path: Path, closed: Callable[[Path, int], None]
    ) -> None:
        count = len(memories(open_library(place)))
        for path in list(paths(place)):
            closed(path, 0o555 if path.is_dir() else 0o444)
        before = fingerprint(place)
        with forked(look_without_rights, place, tmp_path / "s", tmp_path / "c") as (_, answer):
            said = answer.recv()
        assert said["unreadable"] == []
        assert said["count"] == count
        assert said["read_only"], "it says that nothing can be written, and why"
        assert said["read_only"].isprintable()
        assert all(said["answers"]), "whatever would write is refused"
        assert fingerprint(place) == before
