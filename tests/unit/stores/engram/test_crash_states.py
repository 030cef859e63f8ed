"""What a crash, or a copy that is still going on, leaves beside a database is read at once.

A read that SQLite cannot begin takes it ten seconds each time; on a machine that has halted for as
long it takes less the next time.
"""

from __future__ import annotations

import shutil
import sqlite3
import subprocess
import sys
import time
from collections.abc import Callable
from contextlib import closing
from pathlib import Path

import pytest

from memtui.changes import Act
from memtui.stores.engram import FORMAT
from memtui.stores.sqlite.connection import has_frames

from .invented import SCHEMAS, Told, build, change, connect, everything, folder_state, open_store

pytestmark = pytest.mark.slow

LIMIT = 8.0
"""Seconds; a read here takes a hundredth of one."""
CHECKPOINTED, LOGGED = "The tenor clapper weighs 38 kg", "only in the log"
SIZES = (0, 1, 31, 32, 33, 56, 4151)
"""Lengths of a `-wal`: its header has 32 bytes, a frame 24 and a page of 4096."""
with_and_without_shm = pytest.mark.parametrize("shm", [True, False], ids=["shm", "no shm"])
on_both_schemas = pytest.mark.parametrize("schema", SCHEMAS)


def crashed(tmp_path: Path, schema: str, *, shm: bool, content: str = LOGGED) -> Path:
    """A folder as a killed Engram leaves it: one transaction is in the `-wal` alone."""
    living = build(tmp_path / "living", schema)
    folder = tmp_path / "crashed"
    with closing(connect(living)) as connection:
        connection.execute("UPDATE observations SET content = ? WHERE id = 1", (content,))
        shutil.copytree(living, folder)
    if not shm:
        (folder / "engram.db-shm").unlink()
    return folder


def log_of(folder: Path) -> Path:
    return folder / "engram.db-wal"


def at_once(work: Callable[[], object]) -> None:
    for _ in range(3):
        started = time.monotonic()
        work()
        if time.monotonic() - started < LIMIT:
            return
    pytest.fail("SQLite waits until it can begin to read")


def reads_at_once(folder: Path, content: str) -> None:
    """Finding and reading it takes no time, gives this content and changes nothing."""
    before, log = folder_state(folder), log_of(folder).read_bytes()

    def read() -> None:
        assert FORMAT.detect(folder) == folder
        assert everything(open_store(folder)).get("bells:1").content == content

    at_once(read)
    assert folder_state(folder) == before
    assert log_of(folder).read_bytes() == log


@on_both_schemas
@with_and_without_shm
@pytest.mark.parametrize("size", SIZES)
def test_a_log_cut_at_any_size_is_read_at_once(
    tmp_path: Path, schema: str, shm: bool, size: int
) -> None:
    folder = crashed(tmp_path, schema, shm=shm)
    log_of(folder).write_bytes(log_of(folder).read_bytes()[:size])
    reads_at_once(folder, CHECKPOINTED)


@on_both_schemas
@with_and_without_shm
def test_a_whole_log_is_read_at_once(tmp_path: Path, schema: str, shm: bool) -> None:
    reads_at_once(crashed(tmp_path, schema, shm=shm), LOGGED)


DAMAGE = {
    "magic": (0, b"\0"),
    "page size": (8, b"\0\0\0\7"),
    "salts": (16, b"\0" * 8),
    "checksum of the header": (24, b"\0" * 8),
    "page number of a frame": (32, b"\0" * 4),
    "salts of a frame": (40, b"\0" * 8),
    "checksum of a frame": (48, b"\0" * 8),
    "page of a frame": (56, b"\1" * 64),
}


@with_and_without_shm
@pytest.mark.parametrize("place", DAMAGE)
def test_an_unsound_log_is_read_at_once(tmp_path: Path, place: str, shm: bool) -> None:
    """A crash of the machine leaves pages of the log out, or a log that was begun anew."""
    folder = crashed(tmp_path, "july", shm=shm)
    at, planted = DAMAGE[place]
    whole = log_of(folder).read_bytes()
    log_of(folder).write_bytes(whole[:at] + planted + whole[at + len(planted) :])
    reads_at_once(folder, CHECKPOINTED)


@with_and_without_shm
@pytest.mark.parametrize("size", [0, 32, 4151, None])
def test_an_edit_after_a_crash_is_made_and_keeps_the_log(
    tmp_path: Path, shm: bool, size: int | None
) -> None:
    folder = crashed(tmp_path, "v3", shm=shm)
    log_of(folder).write_bytes(log_of(folder).read_bytes()[:size])
    inode = log_of(folder).stat().st_ino
    store = open_store(folder)
    edits = store.plan(change(Act.EDIT, 2, content="Stays are ash"), everything(store)).edits
    store.apply(edits, Told())
    seen = everything(store)
    assert seen.get("bells:2").content == "Stays are ash"
    assert seen.get("bells:1").content == (LOGGED if size is None else CHECKPOINTED)
    assert log_of(folder).stat().st_ino == inode


@pytest.mark.parametrize("missing", [0, 1], ids=["whole", "cut"])
def test_a_long_log_is_read_and_stays(tmp_path: Path, missing: int) -> None:
    """Its only transaction, of two megabytes, may be whole or not."""
    text = "long " * 500_000
    folder = crashed(tmp_path, "july", shm=False, content=text)
    log = log_of(folder).read_bytes()
    log_of(folder).write_bytes(log[: len(log) - missing])
    reads_at_once(folder, CHECKPOINTED if missing else text)


@with_and_without_shm
@pytest.mark.parametrize("size", [0, 1, 512, 4096, 20_000])
def test_a_database_that_is_being_copied_keeps_its_log(
    tmp_path: Path, shm: bool, size: int
) -> None:
    """An open store looks while somebody copies the database over it, byte by byte."""
    folder = crashed(tmp_path, "july", shm=shm)
    store = open_store(folder)
    everything(store)
    whole = (folder / "engram.db").read_bytes()
    (folder / "engram.db").write_bytes(whole[:size])
    before, log = folder_state(folder), log_of(folder).read_bytes()
    at_once(lambda: [store.read(shard) for shard in store.scan().shards])
    assert folder_state(folder) == before
    assert log_of(folder).read_bytes() == log
    (folder / "engram.db").write_bytes(whole)
    assert everything(store).get("bells:1").content == LOGGED


@pytest.mark.parametrize("content", [b"", b"notes, no database" * 100])
def test_what_is_no_database_keeps_what_lies_beside_it(tmp_path: Path, content: bytes) -> None:
    folder = crashed(tmp_path, "july", shm=False)
    (folder / "engram.db").rename(folder / "notes.db")
    (folder / "notes.db").write_bytes(content)
    log_of(folder).rename(folder / "notes.db-wal")
    before = folder_state(folder)
    assert FORMAT.detect(folder / "notes.db") is None
    assert folder_state(folder) == before


_BEGINS = """
import sqlite3, sys
sqlite3.connect(sys.argv[1], timeout=0).execute("BEGIN IMMEDIATE")
"""


def test_reading_a_log_drops_no_lock(tmp_path: Path) -> None:
    """Closing the database or its -shm would let another program write beside us."""
    folder = build(tmp_path / ".engram", "july")
    with closing(connect(folder)) as connection:
        connection.execute("UPDATE observations SET pinned = 1 WHERE id = 1")
        connection.execute("BEGIN IMMEDIATE")
        assert has_frames(log_of(folder))
        command = [sys.executable, "-c", _BEGINS, str(folder / "engram.db")]
        other = subprocess.run(command, capture_output=True, text=True)
        assert sqlite3.OperationalError.__name__ in other.stderr
        assert "locked" in other.stderr


def test_where_the_log_cannot_be_shared_a_copy_is_read(tmp_path: Path) -> None:
    """SQLite does not open a `-shm` that is a link, as on a file system without shared memory."""
    folder = crashed(tmp_path, "v3", shm=True)
    shared = (folder / "engram.db-shm").rename(tmp_path / "shared")
    (folder / "engram.db-shm").symlink_to(shared)
    reads_at_once(folder, LOGGED)
