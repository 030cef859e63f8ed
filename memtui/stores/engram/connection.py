"""Open an Engram database for reading without changing a file, or for one transaction.

Nothing here (or anywhere in memtui) opens the database or its `-shm` with `open()`: closing such a
handle would drop the locks SQLite holds in this process. It holds none on the `-wal`
(unixOpen sets UNIXFILE_NOLOCK for everything but the main database).

Measured with SQLite 3.40 on Linux, each time comparing names, sizes, inodes and times of the
whole folder before and after a read:

| what lies there | `mode=ro` | what is used here | effect |
| --- | --- | --- | --- |
| no `-wal`, or nothing in it | makes `-wal` and `-shm`, leaves them | `immutable=1` | none |
| `-wal`, `-shm` (a program runs, or v3 keeps them) | writes to `-shm` | `readonly_shm=1` | none |
| `-wal` alone (a copy, a crash) | makes `-shm`, leaves it | `vfs=unix-none`, exclusive | none |

What is in a `-wal` is decided by its content (`has_commit`), not by its size: with `readonly_shm=1`
SQLite tries for ten seconds to read a `-wal` that ends with its header, and `unix-none` deletes one
without a whole transaction when it closes. Where the first transaction is too long to be checked,
`mode=ro` is used, which makes a `-shm`. Beside a database of no byte or one every way but
`immutable=1` deletes the `-wal`, so nothing else is used there.

`immutable=1` takes no lock and does not see a `-wal`, so what it returned counts only if the
files are still the same afterwards and no `-wal` has appeared; otherwise the read is repeated
the way that fits now. `readonly_shm=1` sees every committed row of a running Engram. Exclusive
locking keeps the index of the `-wal` in memory; without a `-shm` nobody can be using it. Where
SQLite knows none of these (another platform), plain `mode=ro` is the last resort. As root, SQLite
sets the owner of `-wal` and `-shm` whenever it opens them: their ctime moves, and nothing else.

A crash, or a copy that is still going on, leaves a `-wal` of any length. SQLite (walIndexRecover)
takes it for empty unless its header is sound and the frames after it are a chain of checksums up to
a frame that commits. See https://www.sqlite.org/fileformat2.html#walformat.
"""

from __future__ import annotations

import os
import sqlite3
import struct
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from enum import Enum
from pathlib import Path
from typing import BinaryIO, TypeVar
from urllib.parse import quote

from memtui.dataclass import dataclass
from memtui.errors import Refused, SaveError, StoreError
from memtui.files.save_hooks import failpoint
from memtui.stores.engram.schema import database_error_text

BUSY_SECONDS = 5.0
"""How long SQLite itself waits for a lock; Engram's own busy_timeout."""
BUSY_ROUNDS = 4
"""How often a whole transaction is begun again after that."""
EXCLUSIVE_WAIT_MS = 1000
"""How long to wait for other programs to let go of a database that shall be taken away."""
READ_LIMIT_SECONDS = 60.0
"""A single read that takes longer than this is stopped: a hostile file may never end."""
TICK_NANOSECONDS = 50_000_000
"""Well above the step of file times on Linux (4 ms) and of clocks elsewhere (16 ms)."""
FAILPOINTS = ("begin", "lock", "commit", "done")
"""Where a test may kill a transaction (see `files.save_hooks`)."""
SMALLEST_DATABASE = 512
"""Bytes: the smallest SQLite page; a shorter file holds no table."""
_STEPS = 1_000_000
"""Instructions of SQLite between two looks at the time."""
_WRITE = "mode=rw"
_TRIES = 5
"""Reads of a database that changes meanwhile, before it is read with locks."""

T = TypeVar("T")
FileStamps = tuple[tuple[int, ...] | None, ...]


class OpenMode(Enum):
    """Ways to open for reading; the value is the query of the URI."""

    IMMUTABLE = "immutable=1"
    READ_ONLY_SHM = "mode=ro&readonly_shm=1"
    NO_LOCKS = "mode=ro&vfs=unix-none"
    READ_ONLY = "mode=ro"


_locks: dict[str, threading.RLock] = {}
_locks_guard = threading.Lock()


@contextmanager
def _database_lock(path: Path) -> Iterator[None]:
    """Hold the lock that allows one connection of this process per database.

    A read-only `-shm` is shared by all connections of a process and would make a writer fail,
    and the lockless way of reading would drop the locks of another connection.
    """
    real = os.path.realpath(path)
    with _locks_guard:
        turn = _locks.setdefault(real, threading.RLock())
    with turn:
        yield


def file_stamps(path: Path) -> FileStamps:
    """Stat of the database, its `-wal` and `-journal`, and whether there is a `-shm`.

    The first three change whenever a change may have been committed.
    """
    real = os.path.realpath(path)
    found: list[tuple[int, ...] | None] = []
    for suffix in ("", "-wal", "-journal"):
        try:
            info = os.stat(real + suffix)
        except OSError:
            found.append(None)
        else:
            # Not ctime beside the database: as root, SQLite gives these files their owner anew.
            changed = 0 if suffix else info.st_ctime_ns
            found.append((info.st_mtime_ns, changed, info.st_size, info.st_ino))
    found.append((1,) if os.path.exists(real + "-shm") else None)
    return tuple(found)


def is_settled(stamps: FileStamps) -> bool:
    """Whether a further change would alter the stamps: file times move in steps of a few ms."""
    now = time.time_ns()
    return all(each is None or abs(now - each[0]) > TICK_NANOSECONDS for each in stamps[:3])


def _open_mode(path: Path, stamps: FileStamps) -> OpenMode:
    database, wal, journal, shm = stamps
    if database is None or database[2] < SMALLEST_DATABASE:
        return OpenMode.IMMUTABLE
    if journal is not None and journal[2]:
        return OpenMode.READ_ONLY
    if wal is None or not wal[2]:
        return OpenMode.IMMUTABLE
    log = Path(os.path.realpath(path) + "-wal")
    if shm:
        return OpenMode.READ_ONLY_SHM if has_frames(log) else OpenMode.IMMUTABLE
    commit = has_commit(log)
    if commit is None:
        # Nothing can be deleted from a folder that is not writable, and no -shm be made there.
        return OpenMode.READ_ONLY if os.access(log.parent, os.W_OK) else OpenMode.NO_LOCKS
    return OpenMode.NO_LOCKS if commit else OpenMode.IMMUTABLE


def run_read(path: Path, work: Callable[[sqlite3.Connection], T]) -> T:
    """Run `work` in one read transaction, leaving the folder as it was.

    Raises sqlite3.Error: the file is locked, damaged, gone or no database.
    """
    with _database_lock(path):
        for _ in range(_TRIES):
            stamps = file_stamps(path)
            mode = _open_mode(path, stamps)
            try:
                result = _read(path, mode, work)
            except sqlite3.Error as error:
                if file_stamps(path) != stamps:
                    continue
                if mode is OpenMode.IMMUTABLE and not is_settled(stamps):
                    # A whole transaction may have passed within one step of the file times, and
                    # what was read is of two states: look again when the times can tell.
                    time.sleep(TICK_NANOSECONDS / 1e9)
                    continue
                if mode in (OpenMode.READ_ONLY_SHM, OpenMode.NO_LOCKS) and _is_mode_unsupported(
                    error
                ):
                    return _read(path, OpenMode.READ_ONLY, work)
                raise
            if mode in (OpenMode.READ_ONLY_SHM, OpenMode.READ_ONLY) or file_stamps(path) == stamps:
                return result
        return _read(path, OpenMode.READ_ONLY, work)


def read_or_raise(path: Path, work: Callable[[sqlite3.Connection], T]) -> T:
    """`run_read`, whose errors become StoreError."""
    try:
        return run_read(path, work)
    except sqlite3.Error as error:
        raise StoreError(f"SQLite: {error}", where=str(path)) from error


def _is_mode_unsupported(error: sqlite3.Error) -> bool:
    """Whether SQLite cannot read in this mode here, as opposed to a damaged database."""
    code = getattr(error, "sqlite_errorcode", 0) & 0xFF
    codes = (sqlite3.SQLITE_CANTOPEN, sqlite3.SQLITE_PROTOCOL, sqlite3.SQLITE_READONLY)
    return code in codes or "no such vfs" in str(error)


def _read(path: Path, mode: OpenMode, work: Callable[[sqlite3.Connection], T]) -> T:
    with closing(_connect(path, mode.value)) as connection:
        deadline = time.monotonic() + READ_LIMIT_SECONDS
        connection.set_progress_handler(lambda: int(time.monotonic() > deadline), _STEPS)
        connection.execute("BEGIN")
        return work(connection)


@contextmanager
def transaction(path: Path) -> Iterator[sqlite3.Connection]:
    """Run one BEGIN IMMEDIATE transaction: committed at the end, rolled back on an exception.

    Waits for other writers as Engram does. Raises SaveError when the database stays locked.
    The journal mode, the page size and the schema are left as they are, and a `-wal` that was
    there stays the same file: Engram v3 stops when it is replaced.
    """
    failpoint("begin")
    with _database_lock(path), _preserved_wal(path), closing(_connect(path, _WRITE)) as connection:
        connection.execute("PRAGMA foreign_keys = ON")
        failpoint("lock")
        _begin(connection, path)
        try:
            yield connection
            failpoint("commit")
            connection.execute("COMMIT")
            failpoint("done")
        except BaseException:
            if connection.in_transaction:
                connection.execute("ROLLBACK")
            raise


@contextmanager
def exclusive_access(path: Path) -> Iterator[sqlite3.Connection]:
    """Hold a connection while no other program has one; nothing is written. Raises Refused if
    another has one, sqlite3.Error.

    In exclusive mode SQLite takes the lock that every connection to a database in WAL mode shares.
    """
    with _database_lock(path), closing(_connect(path, _WRITE)) as connection:
        connection.execute(f"PRAGMA busy_timeout = {EXCLUSIVE_WAIT_MS}")
        connection.execute("PRAGMA locking_mode = EXCLUSIVE")
        try:
            connection.execute("BEGIN EXCLUSIVE")
        except sqlite3.OperationalError as error:
            if not is_busy(error):
                raise
            raise Refused(
                "another program has the database open; nothing was removed",
                where=str(path),
                do="quit that program and try again",
            ) from error
        try:
            yield connection
        finally:
            connection.execute("ROLLBACK")


@contextmanager
def _preserved_wal(path: Path) -> Iterator[None]:
    """Let a read-only connection close last, which leaves `-wal` and `-shm` in place.

    A writer that closes last checkpoints and unlinks them; that is right, and all that happens,
    where there was no `-wal` before.
    """
    if file_stamps(path)[1] is None:
        yield
        return
    with closing(_connect(path, OpenMode.READ_ONLY.value)) as keeper:
        keeper.execute("SELECT count(*) FROM sqlite_master").fetchone()
        yield


def _begin(connection: sqlite3.Connection, path: Path) -> None:
    for round_ in range(BUSY_ROUNDS):
        try:
            connection.execute("BEGIN IMMEDIATE")
            return
        except sqlite3.OperationalError as error:
            if not is_busy(error) or round_ == BUSY_ROUNDS - 1:
                advice = "; try again when the other program is done" if is_busy(error) else ""
                why = f"the database cannot be written ({database_error_text(error, path)})"
                do = f"nothing was changed{advice}"
                raise SaveError(why, where=str(path), do=do) from error


def is_busy(error: sqlite3.Error) -> bool:
    code: int = getattr(error, "sqlite_errorcode", 0)
    return code & 0xFF in (sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED)


def _connect(path: Path, query: str) -> sqlite3.Connection:
    """Open the database. Raises sqlite3.Error also for a file of one byte or none: SQLite would
    delete its `-wal`, and somebody may be copying both."""
    database = file_stamps(path)[0]
    if query != OpenMode.IMMUTABLE.value and database and database[2] < SMALLEST_DATABASE:
        raise sqlite3.DatabaseError("the file is shorter than any database")
    uri = "file:" + quote(os.fsencode(os.path.realpath(path))) + "?" + query
    connection = sqlite3.connect(uri, uri=True, isolation_level=None, timeout=BUSY_SECONDS)
    connection.text_factory = _text
    connection.row_factory = sqlite3.Row
    try:
        if query == OpenMode.NO_LOCKS.value:
            # Before anything else is asked: the first page read would already make a -shm.
            connection.execute("PRAGMA locking_mode = EXCLUSIVE")
        if query != _WRITE:
            # Not for writing: SQLite before 3.44 then lets no trigger write to an FTS5 table.
            connection.execute("PRAGMA trusted_schema = OFF")
        connection.execute("PRAGMA cell_size_check = ON")
    except BaseException:
        connection.close()
        raise
    return connection


def _text(raw: bytes) -> str:
    """Decode a column; July's Engram cuts texts by bytes, so it may hold half a character."""
    return raw.decode("utf-8", "surrogateescape")


# ---- what a -wal holds ---------------------------------------------------------------------------

WAL_HEADER_SIZE = 32
FRAME_HEADER_SIZE = 24
MAX_SEARCHED_BYTES = 2_000_000
"""Bytes in which a first commit is looked for, which takes about a tenth of a second."""
_MAGIC = 0x377F0682
"""Its lowest bit says that checksums are over big-endian words."""
_PAGE_SIZES = frozenset(1 << bit for bit in range(9, 17))
_WORD = 0xFFFFFFFF
"""The largest word of 32 bits."""

Checksum = tuple[int, int]


@dataclass(frozen=True, slots=True)
class WalHeader:
    """The header of a log, which its frames are checked against."""

    page_size: int
    words: struct.Struct
    """Two words of a checksum, in the order of bytes that the log uses."""
    salts: bytes
    checksum: Checksum


def has_frames(path: Path) -> bool:
    """Whether bytes follow a valid header. True if the file cannot be read: SQLite says why.

    Without that, SQLite with `readonly_shm=1` and a `-shm` that nobody holds never learns the salts
    of the log, compares them with what the log says, and tries again for ten seconds a read.
    """
    try:
        with open(path, "rb") as file:
            return _header(file) is not None and bool(file.read(1))
    except OSError:
        return True


def has_commit(path: Path) -> bool | None:
    """Whether the log holds a whole transaction; None if none ends within LONGEST_SEARCH bytes, or
    the log cannot be read."""
    try:
        with open(path, "rb") as file:
            header = _header(file)
            return header is not None and _commits(file, header)
    except OSError:
        return None


def _header(file: BinaryIO) -> WalHeader | None:
    raw = file.read(WAL_HEADER_SIZE)
    if len(raw) < WAL_HEADER_SIZE:
        return None
    magic, _, page_size, _ = struct.unpack_from(">4I", raw)
    if magic & ~1 != _MAGIC or page_size not in _PAGE_SIZES:
        return None
    words = struct.Struct(">2I" if magic & 1 else "<2I")
    checksum = _add(words, (0, 0), raw[:24])
    if checksum != struct.unpack_from(">2I", raw, 24):
        return None
    return WalHeader(page_size, words, raw[16:24], checksum)


def _commits(file: BinaryIO, header: WalHeader) -> bool | None:
    """Follow the frames until one of them commits."""
    size = FRAME_HEADER_SIZE + header.page_size
    checksum = header.checksum
    for _ in range(MAX_SEARCHED_BYTES // size):
        frame = file.read(size)
        if len(frame) < size or frame[8:16] != header.salts:
            return False
        checksum = _add(header.words, checksum, frame[:8])
        checksum = _add(header.words, checksum, frame[FRAME_HEADER_SIZE:])
        page, pages_after_commit = struct.unpack_from(">2I", frame)
        if not page or checksum != struct.unpack_from(">2I", frame, 16):
            return False
        if pages_after_commit:
            return True
    return None


def _add(words: struct.Struct, checksum: Checksum, data: bytes) -> Checksum:
    """SQLite's walChecksumBytes; the length of the data is a multiple of eight."""
    first, second = checksum
    for even, odd in words.iter_unpack(data):
        first = (first + even + second) & _WORD
        second = (second + odd + first) & _WORD
    return first, second
