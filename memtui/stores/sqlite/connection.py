"""Open a database of another program for reading without changing a file, or for one transaction.

A reader must change nothing in the folder, and must never have a `-wal` that another program may be
using opened without locks: SQLite checkpoints and deletes the log when the last connection closes,
and a connection without locks always takes itself for the last one.

| what lies there | how it is read |
| --- | --- |
| `-wal` with frames, and `-shm`: a program runs, or has left both | in place, with SQLite's locks |
| `-wal` with frames and no `-shm`, or a `-journal`: a crash, a copy | a private copy |
| neither: nothing is written but the database | in place, the file alone |

The last two take no lock, because SQLite cannot lock such a database without making files beside
it. Their result counts only if the files had not been written to for some time before and were the
same afterwards. A database that is just being closed by its last user passes through the second
state (SQLite removes the `-shm` first), and leaves it again within the time that is waited for.

With locks: `readonly_shm=1` never makes a `-shm`, and `mode=ro` cannot take the lock that deleting
a log requires. A private copy is removed from its folder as soon as it is open. Reading the file
alone is `immutable=1`, which never opens a `-wal`.

Closing any handle of a file drops all POSIX locks that this process holds on it. So one connection
to a database may be open in a process (`_database_lock`), and none while files are copied.

The schema may come from a stranger. The programs' statements, and memtui's, need no view, no
recursion and few functions; whatever else a schema would have computed is refused (`_authorizer`).
"""

from __future__ import annotations

import os
import shutil
import sqlite3
import struct
import tempfile
import threading
import time
from collections.abc import Callable, Collection, Iterator
from contextlib import closing, contextmanager, suppress
from pathlib import Path
from typing import TypeVar
from urllib.parse import quote

from memtui.errors import Refused, SaveError, StoreError, UnreadableFile
from memtui.files.reading import decode, open_regular, path_within, real_path
from memtui.files.save_hooks import failpoint

BUSY_SECONDS = 5.0
"""How long SQLite itself waits for a lock, as Engram and claude-mem do. A read waits as long for a
database that keeps changing to be still."""
BUSY_ROUNDS = 4
"""How often a whole transaction is begun again after that."""
READ_LIMIT_SECONDS = 20.0
"""A single read that takes longer than this is stopped: a hostile file may never end."""
MAX_VALUE_BYTES = 8 << 20
"""A longer text, blob or row is refused."""
MAX_SQL_BYTES = 1 << 20
"""A longer statement in the schema is refused."""
MAX_PATTERN_BYTES = 1000
"""A longer pattern of LIKE or GLOB is refused: it may take its length times that of the text."""
TICK_NANOSECONDS = 20_000_000
"""Above the step of file times on Linux (at most 10 ms) and of clocks elsewhere (16 ms)."""
FAILPOINTS = ("begin", "lock", "commit", "done")
"""Where a test may kill a transaction (see `files.save_hooks`)."""
SMALLEST_ROOM = 1 << 16
"""Free bytes below which an I/O error comes from a full disk: a `-shm` grows by 32 KiB."""
SMALLEST_DATABASE = 512
"""Bytes: the smallest SQLite page; a shorter file holds no table."""
_STEPS = 100_000
"""Instructions of SQLite between two looks at the time."""
_PAUSE = 0.005
"""Seconds between two looks at a database that is being written."""

_IN_PLACE_ALONE = "immutable=1"
_WITH_LOCKS = "mode=ro&readonly_shm=1"
_READ_ONLY = "mode=ro"
_WRITE = "mode=rw"

T = TypeVar("T")
FileStamps = tuple[tuple[int, ...] | None, ...]

_locks: dict[str, threading.RLock] = {}
_locks_guard = threading.Lock()
_copies: dict[str, tuple[FileStamps, sqlite3.Connection]] = {}
"""The private copy of a database that was read last, and the state that it is a copy of."""


@contextmanager
def _database_lock(path: Path) -> Iterator[None]:
    """Hold the lock that allows one connection of this process per database.

    A read-only `-shm` is shared by all connections of a process and would make a writer fail,
    and closing a file that was read without locks would drop the locks of another connection.
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


def is_settled(stamps: FileStamps, nanoseconds: int = TICK_NANOSECONDS) -> bool:
    """Whether a further change would alter the stamps: file times move in steps of a few ms."""
    now = time.time_ns()
    return all(each is None or abs(now - each[0]) > nanoseconds for each in stamps[:3])


# ---- reading -------------------------------------------------------------------------------------


def run_read(path: Path, work: Callable[[sqlite3.Connection], T]) -> T:
    """Run `work` in one read transaction, leaving the folder as it was.

    Raises sqlite3.Error: the file is locked, damaged, gone or no database, or keeps changing.
    """
    with _database_lock(path):
        until = time.monotonic() + BUSY_SECONDS
        while True:
            stamps = file_stamps(path)
            is_in_use = _is_in_use(path, stamps)
            is_still = is_settled(stamps)
            try:
                if is_in_use:
                    return _read(_connect(path, _WITH_LOCKS), work)
                if is_still:
                    result = _read_still(path, stamps, work)
                    if file_stamps(path) == stamps:
                        return result
            except sqlite3.Error as error:
                if is_still and file_stamps(path) == stamps:
                    if is_in_use and _is_mode_unsupported(error):
                        return _read_copy(path, stamps, work)
                    raise
            if time.monotonic() > until:
                raise sqlite3.OperationalError("other programs keep changing the database")
            time.sleep(_PAUSE)


def read_or_raise(path: Path, work: Callable[[sqlite3.Connection], T]) -> T:
    """`run_read`, whose errors become StoreError."""
    try:
        return run_read(path, work)
    except sqlite3.Error as error:
        raise StoreError(f"SQLite: {describe_error(error)}", where=str(path)) from error


def copy_database(path: Path, target: Path) -> None:
    """Copy the database, with what is in its log, into a new file. Raises sqlite3.Error."""
    with closing(sqlite3.connect(target)) as copy:
        run_read(path, lambda connection: connection.backup(copy))


def read_compact(path: Path) -> bytes:
    """The database, with what is in its log and without deleted rows, as the bytes of one file.

    Raises StoreError: it is locked or damaged.
    """
    with tempfile.TemporaryDirectory(prefix="memtui-copy-") as folder:
        copy, compact = Path(folder, "copy"), Path(folder, "compact")
        try:
            copy_database(path, copy)
            with closing(sqlite3.connect(copy, isolation_level=None)) as connection:
                if connection.execute("PRAGMA quick_check(1)").fetchone()[0] != "ok":
                    raise sqlite3.DatabaseError("database disk image is malformed")
                connection.execute("VACUUM INTO ?", (str(compact),))
        except sqlite3.Error as error:
            raise StoreError(f"SQLite: {describe_error(error)}", where=str(path)) from error
        return compact.read_bytes()


def _is_in_use(path: Path, stamps: FileStamps) -> bool:
    """Whether the log holds something and has an index, without which it is not in use."""
    database, wal, _, shm = stamps
    is_database = database is not None and database[2] >= SMALLEST_DATABASE
    return bool(is_database and wal and shm and has_frames(Path(os.path.realpath(path) + "-wal")))


def _is_mode_unsupported(error: sqlite3.Error) -> bool:
    """Whether SQLite cannot read with locks here, as opposed to a damaged database."""
    return result_code(error) in (
        sqlite3.SQLITE_CANTOPEN,
        sqlite3.SQLITE_PROTOCOL,
        sqlite3.SQLITE_READONLY,
    )


def _read(connection: sqlite3.Connection, work: Callable[[sqlite3.Connection], T]) -> T:
    with closing(connection):
        return _read_open(connection, work)


def _read_open(connection: sqlite3.Connection, work: Callable[[sqlite3.Connection], T]) -> T:
    deadline = time.monotonic() + READ_LIMIT_SECONDS
    connection.set_progress_handler(lambda: int(time.monotonic() > deadline), _STEPS)
    connection.execute("BEGIN")
    try:
        return work(connection)
    finally:
        if connection.in_transaction:
            connection.rollback()


def _read_still(path: Path, stamps: FileStamps, work: Callable[[sqlite3.Connection], T]) -> T:
    """Read a database that nobody has written to for a moment. The caller looks whether the files
    are still the same."""
    database, wal, journal, shm = stamps
    has_log = bool(wal and wal[2] and not shm) or bool(journal and journal[2])
    if has_log and database and database[2] >= SMALLEST_DATABASE:
        return _read_copy(path, stamps, work)
    return _read(_connect(path, _IN_PLACE_ALONE), work)


def _read_copy(path: Path, stamps: FileStamps, work: Callable[[sqlite3.Connection], T]) -> T:
    """Read a private copy; it is kept open for the reads that follow, until the files change."""
    real = os.path.realpath(path)
    known = _copies.get(real)
    if known is None or known[0] != stamps:
        if known is not None:
            del _copies[real]
            known[1].close()
        known = _copies[real] = stamps, _copied(real)
    return _read_open(known[1], work)


def _copied(real: str) -> sqlite3.Connection:
    """A connection to a copy that has no name any more, so nothing is left of it after a kill."""
    with tempfile.TemporaryDirectory(prefix="memtui-copy-") as folder:
        copy = Path(folder).resolve() / "copy.db"
        try:
            for suffix in ("", "-wal", "-journal"):
                with suppress(FileNotFoundError):
                    shutil.copyfile(real + suffix, f"{copy}{suffix}")
        except OSError as error:
            raise sqlite3.OperationalError(f"it cannot be copied ({error.strerror})") from error
        connection = _connect(copy, _WRITE)
        try:
            # Moves the log into the copy, so that no file beside it is looked for again.
            connection.execute("PRAGMA journal_mode = DELETE").fetchone()
            connection.execute("PRAGMA query_only = ON")
        except BaseException:
            connection.close()
            raise
        return connection


# ---- writing -------------------------------------------------------------------------------------


@contextmanager
def transaction(
    path: Path, root: Path, triggers: Collection[str] = ()
) -> Iterator[sqlite3.Connection]:
    """Run one BEGIN IMMEDIATE transaction, which `commit` ends; else it is rolled back.

    `root`: of the store, in whose folder the database must lie. `triggers`: names of those that may
    keep a full-text index; any other makes the write fail.
    Waits for other writers as the programs do. Raises SaveError when the database stays locked.
    The journal mode, the page size and the schema are left as they are, and a `-wal` that was
    there stays the same file: Engram v3 stops when it is replaced.
    """
    failpoint("begin")
    path = path_within(path, root)
    with (
        _database_lock(path),
        _preserved_wal(path),
        closing(_connect(path, _WRITE, triggers)) as connection,
    ):
        connection.execute("PRAGMA foreign_keys = ON")
        failpoint("lock")
        _begin(connection, path)
        try:
            _refuse_moved(connection, path)
            yield connection
        finally:
            if connection.in_transaction:
                connection.execute("ROLLBACK")


def _refuse_moved(connection: sqlite3.Connection, path: Path) -> None:
    """Raise Refused where what was opened is no longer at this (resolved) path."""
    opened = connection.execute("PRAGMA database_list").fetchone()["file"]
    if str(real_path(path)) != str(path) or not os.path.samefile(opened, path):
        why = "it, or a folder of it, has just become a symbolic link"
        raise Refused(why, where=str(path), do="nothing was saved")


def commit(connection: sqlite3.Connection) -> None:
    """Commit the transaction, or raise sqlite3.Error and roll it back."""
    try:
        failpoint("commit")
        connection.execute("COMMIT")
    except BaseException:
        if connection.in_transaction:
            connection.execute("ROLLBACK")
        raise


@contextmanager
def _preserved_wal(path: Path) -> Iterator[None]:
    """Let a read-only connection close last, which leaves `-wal` and `-shm` in place.

    A writer that closes last checkpoints and unlinks them; that is right, and all that happens,
    where there was no `-wal` before.
    """
    if file_stamps(path)[1] is None:
        yield
        return
    with closing(_connect(path, _READ_ONLY)) as keeper:
        keeper.execute("SELECT count(*) FROM sqlite_master").fetchone()
        yield


def _begin(connection: sqlite3.Connection, path: Path) -> None:
    for more in reversed(range(BUSY_ROUNDS)):
        try:
            connection.execute("BEGIN IMMEDIATE")
            return
        except sqlite3.OperationalError as error:
            if not is_busy(error) or not more:
                advice = "; try again when the other program is done" if is_busy(error) else ""
                why = f"the database cannot be written ({database_error_text(error, path)})"
                do = f"nothing was changed{advice}"
                raise SaveError(why, where=str(path), do=do) from error


def result_code(error: BaseException) -> int:
    """SQLite's primary result code; that of success for an error that is not SQLite's."""
    extended: int = getattr(error, "sqlite_errorcode", sqlite3.SQLITE_OK)
    return extended & 0xFF


def is_busy(error: sqlite3.Error) -> bool:
    return result_code(error) in (sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED)


# ---- connecting ----------------------------------------------------------------------------------


def _connect(path: Path, query: str, triggers: Collection[str] = ()) -> sqlite3.Connection:
    """Open the database. Raises sqlite3.Error also for a file of one byte or none: SQLite would
    delete its `-wal`, and somebody may be copying both."""
    database = file_stamps(path)[0]
    if query != _IN_PLACE_ALONE and database and database[2] < SMALLEST_DATABASE:
        raise sqlite3.DatabaseError("the file is shorter than any database")
    real = os.path.realpath(path)
    for name in (f"{real}-journal", f"{real}-wal"):
        if os.path.exists(name) and not os.path.isfile(name):  # SQLite would wait for a pipe
            raise sqlite3.DatabaseError(f"{os.path.basename(name)} is not a file")
    uri = "file:" + quote(os.fsencode(real)) + "?" + query
    connection = sqlite3.connect(
        uri, uri=True, isolation_level=None, timeout=BUSY_SECONDS, check_same_thread=False
    )
    connection.text_factory = decode  # a text cut by bytes may end in half a character
    connection.row_factory = sqlite3.Row
    try:
        connection.setlimit(sqlite3.SQLITE_LIMIT_LENGTH, MAX_VALUE_BYTES)
        connection.setlimit(sqlite3.SQLITE_LIMIT_SQL_LENGTH, MAX_SQL_BYTES)
        connection.setlimit(sqlite3.SQLITE_LIMIT_LIKE_PATTERN_LENGTH, MAX_PATTERN_BYTES)
        connection.set_authorizer(_authorizer(triggers))
        if query != _WRITE:
            # Not for writing: SQLite before 3.44 then lets no trigger write to an FTS5 table.
            connection.execute("PRAGMA trusted_schema = OFF")
        connection.execute("PRAGMA cell_size_check = ON")
    except BaseException:
        connection.close()
        raise
    return connection


_FUNCTIONS = frozenset(
    {"char", "coalesce", "count", "datetime", "ifnull", "length", "like", "match"}
)
_FUNCTIONS |= {"max", "memtui_sum", "nullif", "total", "trim"}
"""The functions in memtui's statements and in the programs' default values."""
_TRIGGER_WRITES = frozenset({sqlite3.SQLITE_INSERT, sqlite3.SQLITE_DELETE})
_REFUSED = frozenset({sqlite3.SQLITE_ATTACH, sqlite3.SQLITE_DETACH, sqlite3.SQLITE_RECURSIVE})


def _authorizer(
    triggers: Collection[str],
) -> Callable[[int, str | None, str | None, str | None, str | None], int]:
    """Refuses what a schema would compute, but for triggers of these names that keep an index."""

    def authorize(
        action: int, first: str | None, second: str | None, _: str | None, source: str | None
    ) -> int:
        """`source` is the view or trigger that asks."""
        if source is not None:
            is_index = action in _TRIGGER_WRITES and str(first).endswith("_fts")
            is_known = is_index or action in (sqlite3.SQLITE_READ, sqlite3.SQLITE_FUNCTION)
            if source not in triggers or not is_known:
                return sqlite3.SQLITE_DENY
        if action == sqlite3.SQLITE_FUNCTION and str(second).lower() not in _FUNCTIONS:
            return sqlite3.SQLITE_DENY
        return sqlite3.SQLITE_DENY if action in _REFUSED else sqlite3.SQLITE_OK

    return authorize


_LIMITS = {
    sqlite3.SQLITE_AUTH: "its schema computes something, which its program's does not",
    sqlite3.SQLITE_INTERRUPT: f"reading it takes longer than {READ_LIMIT_SECONDS:.0f} seconds",
    sqlite3.SQLITE_TOOBIG: f"it holds a value of more than {MAX_VALUE_BYTES >> 20} MiB",
}
"""By the code of SQLite's error: what a database did that none of a known program does."""


def is_over_limit(error: sqlite3.Error) -> bool:
    """Whether reading the same files again would end the same way."""
    return result_code(error) in _LIMITS


def describe_error(error: sqlite3.Error) -> str:
    """SQLite's message, and what it means where one of memtui's limits was reached."""
    reason = _LIMITS.get(result_code(error))
    return f"{reason} ({error})" if reason else str(error)


def database_error_text(error: sqlite3.Error, path: Path) -> str:
    """Say why the database could not be written.

    On a full disk SQLite reports SQLITE_FULL, or SQLITE_IOERR where it cannot enlarge the `-shm`
    (https://www.sqlite.org/rescode.html).
    """
    code = result_code(error)
    is_full = code == sqlite3.SQLITE_FULL
    if code == sqlite3.SQLITE_IOERR:
        with suppress(OSError):
            room = os.statvfs(path.parent)
            is_full = room.f_bavail * room.f_frsize < SMALLEST_ROOM
    return "the disk is full" if is_full else str(error)


# ---- the log -------------------------------------------------------------------------------------

_WAL_HEADER = struct.Struct(">8I")
_WAL_MAGIC = 0x377F0682
"""Its lowest bit says that checksums are over big-endian words."""


def has_frames(log: Path) -> bool:
    """Whether bytes follow a valid header. True if the file cannot be read: SQLite says why.

    Without them there is nothing to read, and with `readonly_shm=1` SQLite would try for ten
    seconds. See https://www.sqlite.org/fileformat2.html#walformat. (SQLite holds no lock on a
    `-wal`, so it may be opened and closed.)
    """
    try:
        descriptor, _ = open_regular(log)
        with os.fdopen(descriptor, "rb") as file:
            raw = file.read(_WAL_HEADER.size + 1)
    except (OSError, UnreadableFile):
        return True
    if len(raw) <= _WAL_HEADER.size:
        return False
    magic, *_, first, second = _WAL_HEADER.unpack(raw[:-1])
    sums = [0, 0]
    for even, odd in struct.iter_unpack(">2I" if magic & 1 else "<2I", raw[:24]):
        sums[0] = (sums[0] + even + sums[1]) & 0xFFFFFFFF
        sums[1] = (sums[1] + odd + sums[0]) & 0xFFFFFFFF
    return magic & ~1 == _WAL_MAGIC and sums == [first, second]
