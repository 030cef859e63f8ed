"""Every format is recognised where it is and nowhere else, and read whole and exactly.

Looking changes nothing: not a byte, not a time, not a file more (P11).
"""

from __future__ import annotations

import ctypes
import json
import os
import sys
from collections.abc import Callable
from datetime import timedelta
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any

import pytest

from memtui.bundle.exporting import export_forms, export_memories
from memtui.changes import Act, Change
from memtui.errors import MemtuiError
from memtui.library import Library
from memtui.model import IMPORTANCES, KINDS, STATUSES, Memory, from_record, to_record
from memtui.query import parse_query
from memtui.stores.base import Store
from memtui.stores.format import Format
from memtui.stores.registry import detect_all, discover
from memtui.testing.fixtures import (
    FormatFixtures,
    every_path,
    fingerprint,
    forked,
    memories,
    open_library,
    root_of,
)


def _is_sound(memory: Memory, place: Path) -> None:
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


def opened_during(look: Callable[[], object], under: Path) -> list[str]:
    """The files whose path begins so that are opened meanwhile.

    Seen in a forked process: an audit hook cannot be removed, and slows what comes after it.
    """
    with forked(_note_opened, look, str(under)) as (_, connection):
        found: list[str] = connection.recv()
        return found


def _note_opened(connection: Connection, look: Callable[[], object], under: str) -> None:
    found: list[str] = []

    def note(event: str, arguments: tuple[object, ...]) -> None:
        if event in ("open", "sqlite3.connect") and isinstance(arguments[0], str | bytes):
            name = os.fsdecode(arguments[0])
            if under in name:
                found.append(name)

    sys.addaudithook(note)
    look()
    connection.send(list(found))


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
        is_writable = type(opened(known, place)).plan is not Store.plan
        assert bool(found.snapshot.stores[0].read_only) is not is_writable
        for memory in read:
            _is_sound(memory, place)

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

    def test_a_second_look_gives_the_same_stamps_and_reads_nothing(
        self, known: Format, place: Path
    ) -> None:
        store = opened(known, place)
        first = store.scan()
        assert opened_during(lambda: store.read(first.shards[0]), place), "it sees reading"
        assert opened_during(store.scan, place) == []
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


_VERSION_3 = 0x20080522
"""Version of the structures that capset(2) takes: two words of rights each."""


def look_at(place: Path, state: Path, cache: Path, *, keep_index: bool) -> Library:
    """Load, index, search, walk the lineage, count, check, export in every form, look again.

    The index is kept in the cache if it should be: its processes build it from there.
    """
    library = Library.open([place], state=state, cache=cache)
    library.load()
    library.index()
    if keep_index:
        library.save_index()
    library.back_up_files()
    now = library.now()
    for text in ("the", "status:all bell", '"in the" -of', "b* ~time", "since:400d type:decision"):
        found = library.find(parse_query(text, now))
        library.statistics(found)
        library.timeline(found)
        if found.slots and found.scores is not None:
            library.explain(found, 0)
    everything = list(memories(library).values())
    for memory in everything:
        library.resolve(memory.ref)
        library.lineage(memory)
        for act in Act:
            library.refusal(act, memory)
    library.lineage(everything[0], backlinks=True)
    library.check()
    for form, kind in export_forms().items():
        if kind.document and not kind.document.holds_other_formats:
            continue
        for chosen in (everything[:5], None):
            b"".join(export_memories(library, form, chosen).pieces)
    library.log()
    library.refresh()
    return library


def without_rights() -> None:
    """Give up what root may do beyond an owner; for anybody else nothing changes."""
    if os.geteuid() == 0 and sys.platform == "linux":
        header = (ctypes.c_uint32 * 2)(_VERSION_3, 0)
        nothing = (ctypes.c_uint32 * 6)()
        if ctypes.CDLL(None, use_errno=True).capset(header, nothing):
            raise OSError(ctypes.get_errno(), "capset")


def _try_to_write(library: Library) -> list[str]:
    """What each act answers that would write; empty where it did."""
    answers = []
    for memory in list(memories(library).values())[:3]:
        for act in (Act.EDIT, Act.RETIRE, Act.DELETE, Act.PIN):
            fields = {"content": f"{memory.content} too"} if act is Act.EDIT else {}
            change = Change(act, memory.store, memory.ref, fields, force=True)
            try:
                library.apply(library.plan([change]))
                answers.append("")
            except MemtuiError as error:
                answers.append(str(error))
    return answers


def look_without_rights(connection: Connection, place: Path, state: Path, cache: Path) -> None:
    """Look at a store and try to write to it without root's rights; send what was answered."""
    without_rights()
    library = look_at(place, state, cache, keep_index=False)
    store = library.snapshot.stores[0]
    connection.send(
        {
            "count": store.count,
            "read_only": store.read_only,
            "unreadable": [[fault.file, fault.reason] for fault in store.unreadable],
            "answers": _try_to_write(library),
        }
    )


class LookingTests(FormatFixtures):
    """Looking changes nothing: not a byte, not a time, not a file more (P11)."""

    def test_looking_changes_nothing(self, known: Format, place: Path, tmp_path: Path) -> None:
        before = fingerprint(place)
        library = look_at(place, tmp_path / "state", tmp_path / "cache", keep_index=False)
        assert library.snapshot.count
        assert fingerprint(place) == before

    def test_keeping_an_index_changes_nothing(
        self, known: Format, place: Path, tmp_path: Path
    ) -> None:
        before = fingerprint(place)
        for keep_index in (True, False):  # made by a process of its own, then read from the cache
            look_at(place, tmp_path / "state", tmp_path / "cache", keep_index=keep_index)
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
        for path in list(every_path(place)):
            closed(path, 0o555 if path.is_dir() else 0o444)
        before = fingerprint(place)
        with forked(look_without_rights, place, tmp_path / "s", tmp_path / "c") as (_, answer):
            message = answer.recv()
        assert message["unreadable"] == []
        assert message["count"] == count
        assert message["read_only"], "it says that nothing can be written, and why"
        assert message["read_only"].isprintable()
        assert all(message["answers"]), "whatever would write is refused"
        assert fingerprint(place) == before
