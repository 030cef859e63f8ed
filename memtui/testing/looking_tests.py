"""Looking changes nothing: not a byte, not a time, not a file more (P11)."""

from __future__ import annotations

import ctypes
import os
import sys
from collections.abc import Callable
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any

import pytest

from memtui.bundle.exporting import export_forms, export_memories
from memtui.changes import Act, Change
from memtui.errors import MemtuiError
from memtui.library import Library
from memtui.query import parse_query
from memtui.stores.format import Format
from memtui.testing.fixtures import FormatFixtures, forked
from memtui.testing.samples import memories, open_library
from memtui.testing.trees import fingerprint, paths

_VERSION_3 = 0x20080522
"""Of the structures that capset(2) takes: two words of rights each."""


def look_at(place: Path, state: Path, cache: Path) -> Library:
    """Load, index, search, walk the lineage, count, check, export in every form, look again."""
    library = Library.open([place], state=state, cache=cache)
    library.load()
    library.index()
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
    library = look_at(place, state, cache)
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
