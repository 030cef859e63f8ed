"""Every format is recognised where it is and nowhere else, and read whole and exactly."""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Callable
from datetime import timedelta
from functools import cache
from pathlib import Path

import pytest

from memtui.model import IMPORTANCES, KINDS, STATUSES, Memory, from_record, to_record
from memtui.stores.base import Store, is_writable
from memtui.stores.format import Format
from memtui.stores.registry import detect_all, discover
from memtui.testing.fixtures import FormatFixtures
from memtui.testing.samples import memories, open_library, root_of


def _is_sound(memory: Memory, known: Format, place: Path) -> None:
    assert memory.ref == f"{memory.store}:{memory.id}"
    assert memory.kind in KINDS
    assert memory.importance in IMPORTANCES
    assert memory.status in STATUSES
    assert memory.headline.strip()
    for time in (memory.created, memory.updated):
        assert time is None or time.utcoffset() == timedelta(0)
    assert memory.confidence is None or 0 <= memory.confidence <= 1
    json.dumps(memory.extra, allow_nan=False)
    assert from_record(json.loads(json.dumps(to_record(memory)))) == memory
    for origin in (memory.origin, *memory.also):
        file = Path(origin.file)
        assert file.is_file()
        assert file.is_relative_to(place)
        if origin.line is not None:
            assert 1 <= origin.line <= file.read_bytes().count(b"\n") + 1


def opened(known: Format, place: Path) -> Store:
    return known.open(root_of(known, place), known.name)


class Watch:
    """Notes every file under one folder that is opened while it is on."""

    def __init__(self) -> None:
        self.under = ""
        self.opened: list[str] = []
        sys.addaudithook(self._hook)

    def _hook(self, event: str, arguments: tuple[object, ...]) -> None:
        if self.under and event in ("open", "sqlite3.connect"):
            name = os.fsdecode(arguments[0]) if isinstance(arguments[0], str | bytes) else ""
            if self.under in name:
                self.opened.append(name)

    def during(self, folder: Path, look: Callable[[], object]) -> list[str]:
        self.under, self.opened = str(folder), []
        try:
            look()
        finally:
            self.under = ""
        return self.opened


@cache
def the_watch() -> Watch:
    """An audit hook cannot be removed, so there is one."""
    return Watch()


class ReadingTests(FormatFixtures):
    """Every format is recognised where it is and nowhere else, and read whole and exactly."""

    def test_the_store_is_recognised_at_its_root(self, known: Format, place: Path) -> None:
        root = root_of(known, place)
        assert known.detect(root) == root
        assert (known, root) in detect_all(place)

    def test_the_store_is_recognised_from_the_folder_it_lies_in(
        self, known: Format, tmp_path: Path
    ) -> None:
        for number, near in enumerate(known.nearby):
            work = tmp_path / f"work{number}"
            root = root_of(known, self.copy_sample(known, work / near if near != "." else work))
            assert (known, root) in discover(work, tmp_path / "nobody", {})

    def test_no_other_format_takes_the_store_for_its_own(self, known: Format, place: Path) -> None:
        assert [found.name for found, _ in detect_all(place)] == [known.name]
        assert [found.name for found, _ in detect_all(root_of(known, place))] == [known.name]

    def test_what_is_no_store_is_not_recognised(self, known: Format, tmp_path: Path) -> None:
        empty = tmp_path / "empty"
        empty.mkdir()
        (tmp_path / "file.txt").write_text("text")
        os.mkfifo(tmp_path / "pipe")
        (tmp_path / "circle").symlink_to(tmp_path / "circle")
        (tmp_path / "photos" / "2026").mkdir(parents=True)
        for name in (
            "empty",
            "file.txt",
            "pipe",
            "circle",
            "photos",
            "missing",
            "nul\0",
            "x" * 300,
        ):
            assert known.detect(tmp_path / name) is None, name

    def test_every_memory_says_what_the_model_promises(self, known: Format, place: Path) -> None:
        found = open_library(place)
        all_of_them = memories(found)
        read = [found.snapshot.rows[slot] for slot in range(len(found.snapshot.rows))]
        assert len(read) == len(all_of_them) == found.snapshot.count, "refs are unique"
        assert found.snapshot.stores[0].unreadable == ()
        assert bool(found.snapshot.stores[0].read_only) is not is_writable(opened(known, place))
        for memory in read:
            _is_sound(memory, known, place)

    def test_reading_again_says_the_same(self, known: Format, place: Path) -> None:
        first, second = open_library(place), open_library(place)
        assert memories(first) == memories(second)
        assert list(memories(first)) == list(memories(second)), "in the same order"

    def test_a_shard_is_told_by_its_own_files(self, known: Format, place: Path) -> None:
        """A shard is read again if its stamp changed, so its files must be all it depends on."""
        store = opened(known, place)
        scan = store.scan()
        assert len({shard.key for shard in scan.shards}) == len(scan.shards)
        for shard in scan.shards:
            for memory in store.read(shard).memories:
                assert memory.origin.file in shard.files

    @pytest.fixture
    def watch(self) -> Watch:
        return the_watch()

    def test_a_second_look_gives_the_same_stamps_and_reads_nothing(
        self, known: Format, place: Path, watch: Watch
    ) -> None:
        store = opened(known, place)
        first = store.scan()
        assert watch.during(place, lambda: store.read(first.shards[0])), "the watch sees reading"
        assert watch.during(place, store.scan) == []
        assert store.scan() == first
        assert opened(known, place).scan() == first

    def test_a_change_on_disk_changes_a_stamp(self, known: Format, place: Path) -> None:
        if known.database is not None:
            return  # its rows are stamped, not its file
        store = opened(known, place)
        before = {shard.key: shard.stamp for shard in store.scan().shards}
        file = Path(store.scan().shards[0].files[0])
        data = file.read_bytes()
        file.write_bytes(data)  # the same bytes, at another time
        assert {shard.key: shard.stamp for shard in store.scan().shards} != before
