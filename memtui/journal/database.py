"""The SQLite file of the journal, and the liveness of the memtui processes that use it.

A process holds the lock of its own file in `owners/` while it lives, so that others recover only
what a dead process left.
"""

from __future__ import annotations

import fcntl
import json
import os
import secrets
import sqlite3
import threading
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from memtui.errors import SaveError
from memtui.files.locking import locked
from memtui.paths import private_folder

FILE = "journal.sqlite"
VERSION = 1
"""`user_version` of the file; a higher one was written by a newer memtui."""
PATIENCE = 10.0
"""Seconds to wait for another memtui that is writing the journal."""

_SCHEMA = f"""
CREATE TABLE IF NOT EXISTS actions (
    id INTEGER PRIMARY KEY AUTOINCREMENT,
    title TEXT NOT NULL,
    time REAL NOT NULL,
    changed REAL NOT NULL,
    state TEXT NOT NULL,
    former TEXT NOT NULL,   -- its state when nothing of the current step is on disk
    wanted TEXT NOT NULL,   -- its state when the current step succeeded
    owner TEXT NOT NULL,
    note TEXT NOT NULL DEFAULT '""',
    redo INTEGER NOT NULL DEFAULT 0,   -- order of undoing; 0 = cannot be redone
    parts TEXT NOT NULL
);
CREATE TABLE IF NOT EXISTS writes (
    action INTEGER NOT NULL,
    path TEXT NOT NULL,
    pre TEXT NOT NULL,
    post TEXT NOT NULL,
    done INTEGER NOT NULL DEFAULT 0
);
CREATE TABLE IF NOT EXISTS folders (   -- were missing when the action began
    action INTEGER NOT NULL,
    path TEXT NOT NULL
);
CREATE INDEX IF NOT EXISTS writes_by_file ON writes(action, path);
CREATE INDEX IF NOT EXISTS actions_by_state ON actions(state, id);
PRAGMA user_version = {VERSION};
"""
_IS_COMPLETE = "SELECT 1 FROM sqlite_master WHERE name = 'writes_by_file'"
"""The table `folders` and this index came later than version 1; a memtui that does not know them
needs nothing of them."""
_PRAGMAS = ("trusted_schema=OFF", "secure_delete=ON", "journal_mode=WAL", "synchronous=FULL")
_CREATE = os.O_RDWR | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW


_DAMAGE = (sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB)


class JournalDatabase:
    """One connection, shared by the threads of a process; opened when first needed."""

    def __init__(self, state: Path, *, renames_damaged: bool = True) -> None:
        self._state = state
        self._renames_damaged = renames_damaged
        self._file = state / FILE
        self._lock = threading.RLock()
        self._db: sqlite3.Connection | None = None
        self._owner_file = -1
        self.owner = ""
        """Name of this process in the journal; empty before the file is opened."""
        self.fault = ""
        """What became of a damaged file, as one line for the person."""
        self._opened = (0, 0)

    @property
    def exists(self) -> bool:
        return self._db is not None or self._file.exists()

    def close(self) -> None:
        with self._lock:
            if self._db is not None:
                self._db.close()
            if self.owner:
                self._owner_path(self.owner).unlink(missing_ok=True)
                os.close(self._owner_file)
            self._db, self.owner, self._owner_file = None, "", -1

    @contextmanager
    def writing(self) -> Iterator[sqlite3.Connection]:
        """Run one transaction, on disk at the end of the block. Raises SaveError."""
        with self._lock, self._save_errors("written", "nothing was changed"):
            db = self._open_database()
            db.execute("BEGIN IMMEDIATE")
            try:
                yield db
            except BaseException:
                with suppress(sqlite3.Error):  # there is none where the database is damaged
                    db.execute("ROLLBACK")
                raise
            db.execute("COMMIT")

    @contextmanager
    def reading(self) -> Iterator[sqlite3.Connection]:
        """Yield the connection, for SELECTs only. Raises SaveError."""
        with self._lock, self._save_errors("read", ""):
            yield self._open_database()

    def overwrite_deleted(self) -> None:
        """Remove deleted content from the write-ahead log too."""
        with self.reading() as db:
            db.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchone()

    # ---- opening ----------------------------------------------------------------------------

    def _open_database(self) -> sqlite3.Connection:
        if self._db is None:
            private_folder(self._state)
            with locked(self._file, self._state):
                self._take_ownership()
                try:
                    self._create_file()
                    self._opened = self._identity()
                    self._db = _connect(self._file)
                except BaseException:
                    self.close()
                    raise
        return self._db

    def _set_aside(self) -> str:
        """Rename a damaged journal, so that it does not stop a person from editing.

        Not while another memtui has it open: that would go on to write into the renamed file.
        Returns one line that says what became of it.
        """
        self.close()
        if not self._renames_damaged:
            return "the journal is damaged"
        with locked(self._file, self._state):
            if self._identity() != self._opened:
                return "the journal was damaged, and another memtui has begun a new one; try again"
            if self._others_alive():
                return "the journal is damaged, and another memtui has it open; quit every memtui"
            name = f"{self._file}.damaged-{time.time_ns()}"
            for suffix in ("", "-wal", "-shm"):
                with suppress(FileNotFoundError):
                    os.rename(f"{self._file}{suffix}", f"{name}{suffix}")
        name = os.path.basename(name)
        return f"the journal was damaged and is now {name}; what was done before cannot be undone"

    def _identity(self) -> tuple[int, int]:
        """Which file has the name now; zeros where there is none."""
        with suppress(FileNotFoundError):
            status = self._file.stat()
            return status.st_dev, status.st_ino
        return 0, 0

    def _create_file(self) -> None:
        """Create the file, private, where there is none; one that is there is never opened.

        To close it would drop the locks that SQLite holds in this process for another `Journal` of
        the same file: https://www.sqlite.org/howtocorrupt.html, 2.2. Another memtui that ends would
        then take itself for the last one, and delete the `-wal` that this one still writes to.
        """
        try:
            os.close(os.open(self._file, _CREATE | os.O_EXCL, 0o600))
        except FileExistsError:
            if self._file.is_symlink():
                raise

    @contextmanager
    def _save_errors(self, subject: str, advice: str) -> Iterator[None]:
        try:
            yield
        except (sqlite3.Error, OSError, ValueError, KeyError, TypeError) as error:
            if getattr(error, "sqlite_errorcode", 0) & 0xFF in _DAMAGE:
                self.fault = self._set_aside()
                raise SaveError(self.fault, where=str(self._file), do=advice) from error
            reason = error.strerror if isinstance(error, OSError) else ""
            raise SaveError(
                f"the journal cannot be {subject}: {reason or error}",
                where=str(self._file),
                do=advice,
            ) from error

    # ---- processes ---------------------------------------------------------------------------

    def is_alive(self, owner: str) -> bool:
        """Whether the process that began an action still holds its lock."""
        try:
            descriptor = os.open(self._owner_path(owner), os.O_RDWR | os.O_CLOEXEC | os.O_NOFOLLOW)
        except OSError:
            return False
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            return True
        finally:
            os.close(descriptor)
        return False

    def forget_dead_owners(self) -> None:
        for name in self._other_owners():
            if not self.is_alive(name):
                self._owner_path(name).unlink(missing_ok=True)

    def _others_alive(self) -> bool:
        return any(map(self.is_alive, self._other_owners()))

    def _other_owners(self) -> list[str]:
        with suppress(OSError):
            return [name for name in os.listdir(self._state / "owners") if name != self.owner]
        return []

    def _owner_path(self, owner: str) -> Path:
        return self._state / "owners" / owner

    def _take_ownership(self) -> None:
        folder = private_folder(self._state / "owners")
        name = secrets.token_hex(8)
        descriptor = os.open(folder / f".{name}", _CREATE | os.O_EXCL, 0o600)
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        # It gets its name once it is locked, so that nobody takes it for a dead one.
        os.rename(folder / f".{name}", self._owner_path(name))
        self.owner, self._owner_file = name, descriptor


def _connect(file: Path) -> sqlite3.Connection:
    db = sqlite3.connect(file, timeout=PATIENCE, isolation_level=None, check_same_thread=False)
    try:
        for pragma in _PRAGMAS:
            db.execute(f"PRAGMA {pragma}").fetchone()
        (version,) = db.execute("PRAGMA user_version").fetchone()
        if version > VERSION:
            raise sqlite3.OperationalError("it was written by a newer memtui")
        if version < VERSION or not db.execute(_IS_COMPLETE).fetchone():
            db.executescript(f"BEGIN IMMEDIATE; {_SCHEMA} COMMIT;")
    except BaseException:
        db.close()
        raise
    return db


# ---- folders that an action makes ----------------------------------------------------------------


def record_missing_folders(db: sqlite3.Connection, action: int, paths: Iterable[Path]) -> None:
    """Record which folders of these files are not there yet: the action is about to make them."""
    missing = []
    for folder in {path.parent for path in paths}:
        while not os.path.lexists(folder):
            missing.append(folder)
            folder = folder.parent
    rows = [(action, json.dumps(str(folder))) for folder in dict.fromkeys(missing)]
    db.executemany("INSERT INTO folders (action, path) VALUES (?, ?)", rows)


def remove_folders(db: sqlite3.Connection, paths: Callable[[], Iterable[Path]]) -> None:
    """Remove folders of these files that actions made which are undone, where they are empty.

    One that another action or program has put something into stays, and is looked at again when
    that is undone too.
    """
    sql = (
        "SELECT folders.rowid, path FROM folders JOIN actions ON actions.id = action"
        " WHERE state IN ('undone', 'void')"
    )
    found = [(Path(json.loads(path)), row) for row, path in db.execute(sql)]
    parents = {parent for path in paths() for parent in path.parents} if found else set()
    for folder, row in sorted(found, key=lambda each: len(each[0].parts), reverse=True):
        if folder not in parents:
            continue
        with suppress(OSError):
            os.rmdir(folder)
        if not os.path.lexists(folder):
            db.execute("DELETE FROM folders WHERE rowid = ?", (row,))
