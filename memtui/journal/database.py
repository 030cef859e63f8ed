"""The SQLite file of the journal, and the liveness of the memtui processes that use it.

A process holds the lock of its own file in `owners/` while it lives, so that others recover only
what a dead process left.
"""

from __future__ import annotations

import fcntl
import os
import secrets
import sqlite3
import threading
import time
from collections.abc import Callable, Collection, Iterable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TypeVar

from memtui.errors import Refused, SaveError
from memtui.files.locking import locked
from memtui.journal import edit_rows
from memtui.journal.action import pack
from memtui.journal.edit_rows import Damaged, unpack
from memtui.paths import private_folder, real_root

FILE = "journal.sqlite"
VERSION = 2
"""`user_version` of the file; a higher one was written by a newer memtui. Version 1 had all edits
of an action as one JSON text."""
CONVERTED = 64 << 20
"""Bytes of the newest actions of a journal of version 1 that are converted, which takes seconds;
older ones can no longer be undone."""
PATIENCE = 10.0
"""Seconds to wait for the lock of another memtui that is writing the journal."""

_TIMES = """\
CREATE TABLE IF NOT EXISTS times (   -- of files, by their content
    action INTEGER NOT NULL,
    path TEXT NOT NULL,
    digest TEXT NOT NULL,
    time INTEGER NOT NULL,   -- nanoseconds
    PRIMARY KEY (action, path, digest)
) WITHOUT ROWID;
"""
"""Missing from a journal that an older memtui has made."""
_AUTHORS = """\
CREATE TABLE IF NOT EXISTS authors (   -- of actions that an agent made
    action INTEGER PRIMARY KEY,
    client TEXT NOT NULL,
    client_version TEXT NOT NULL,
    session TEXT NOT NULL
);
"""
"""As `_TIMES`."""
_PLACES = """\
CREATE TABLE IF NOT EXISTS places (   -- where the root of a store led, through links
    action INTEGER NOT NULL,
    store TEXT NOT NULL,
    place TEXT NOT NULL,
    PRIMARY KEY (action, store)
) WITHOUT ROWID;
"""
"""As `_TIMES`."""
_DECLINED = """\
CREATE TABLE IF NOT EXISTS declined (   -- edits that another program reverted, and that stay so
    action INTEGER NOT NULL,
    target TEXT NOT NULL,
    PRIMARY KEY (action, target)
) WITHOUT ROWID;
"""
"""As `_TIMES`."""
_SCHEMA = f"""
CREATE TABLE actions (
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
    stores TEXT NOT NULL
);
CREATE TABLE writes (   -- of the newest actions only
    action INTEGER NOT NULL,
    path TEXT NOT NULL,
    pre TEXT NOT NULL,
    post TEXT NOT NULL,
    done INTEGER NOT NULL DEFAULT 0
);
CREATE TABLE folders (   -- were missing when the action began
    action INTEGER NOT NULL,
    path TEXT NOT NULL
);
{_TIMES}{_AUTHORS}{_PLACES}{_DECLINED}CREATE INDEX writes_by_file ON writes(action, path);
CREATE INDEX folders_by_action ON folders(action);
CREATE INDEX actions_by_state ON actions(state, id);
CREATE INDEX actions_by_change ON actions(changed);
{edit_rows.SCHEMA}
"""
_TABLES = frozenset({"actions", "writes", "folders", "targets", "texts", "edits"})
_PRAGMAS = (
    "auto_vacuum=INCREMENTAL",  # while the file is empty
    "trusted_schema=OFF",
    "secure_delete=ON",
    "journal_mode=WAL",
    "synchronous=FULL",
    f"journal_size_limit={4 << 20}",
)
_CREATE = os.O_RDWR | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW


_DAMAGE = frozenset(
    {
        sqlite3.SQLITE_CORRUPT,
        sqlite3.SQLITE_NOTADB,
        sqlite3.SQLITE_ERROR,  # a table or a column is missing: the statements are memtui's own
        sqlite3.SQLITE_CONSTRAINT,
        sqlite3.SQLITE_MISMATCH,
    }
)
"""Errors of a file that is not as memtui wrote it; others are of the disk or of another process."""

_Result = TypeVar("_Result")


class JournalSetAside(SaveError):
    """The journal was damaged and has another name now; the next call begins a new one."""


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
                db.execute("COMMIT")
            except BaseException:
                with suppress(sqlite3.Error):  # there is none where the database is damaged
                    db.execute("ROLLBACK")
                raise

    def read(self, work: Callable[[sqlite3.Connection], _Result]) -> _Result:
        """Return what `work` reads, all of it from one state of the journal.

        From a damaged journal it is read again after a new one was begun. Raises SaveError.
        """
        try:
            return self._read(work)
        except JournalSetAside:
            return self._read(work)

    def _read(self, work: Callable[[sqlite3.Connection], _Result]) -> _Result:
        with self._lock, self._save_errors("read", ""):
            db = self._open_database()
            if db.in_transaction:
                return work(db)
            db.execute("BEGIN")
            try:
                return work(db)
            finally:
                with suppress(sqlite3.Error):
                    db.execute("ROLLBACK")

    def overwrite_deleted(self) -> None:
        """Remove deleted content from the write-ahead log too."""
        with self._lock, self._save_errors("written", ""):
            self._open_database().execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchone()

    def size(self) -> int:
        """Bytes of the file that are in use."""

        def pages(db: sqlite3.Connection) -> int:
            values = [db.execute(f"PRAGMA {name}").fetchone()[0] for name in
                      ("page_count", "freelist_count", "page_size")]  # fmt: skip
            return int(values[0] - values[1]) * int(values[2])

        return self.read(pages)

    def shrink(self) -> None:
        """Give unused pages back to the disk."""
        with self._lock, self._save_errors("written", ""):
            self._open_database().executescript("PRAGMA incremental_vacuum")  # a page each step

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
        Returns one line that says why not; empty when it was renamed.
        """
        self.close()
        if not self._renames_damaged:
            return "the journal is damaged"
        with locked(self._file, self._state):
            if self._identity() != self._opened:
                return "the journal was damaged, and another memtui has begun a new one; try again"
            if any(map(self.is_alive, self._other_owners())):
                return "the journal is damaged, and another memtui has it open; quit every memtui"
            now = time.time_ns()
            date = time.strftime("%Y-%m-%d", time.localtime(now / 1e9))
            name = f"{self._file}.damaged-{date}-{now}"
            for suffix in ("", "-wal", "-shm"):
                try:
                    os.rename(f"{self._file}{suffix}", f"{name}{suffix}")
                except FileNotFoundError:
                    continue
                except OSError as error:
                    return f"the journal is damaged and cannot be renamed: {error.strerror}"
        name = os.path.basename(name)
        self.fault = (
            f"the journal was damaged and is now {name}; what was done before cannot be undone"
        )
        return ""

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
        where = str(self._file)
        try:
            yield
        except (sqlite3.Error, OSError, ValueError, KeyError, TypeError, Damaged) as error:
            if self._is_damage(error):
                what = self._set_aside()
                if not what:
                    raise JournalSetAside(self.fault, where=where, do=advice) from error
                self.fault = what
                raise SaveError(what, where=where, do=advice) from error
            reason = error.strerror if isinstance(error, OSError) else ""
            raise SaveError(
                f"the journal cannot be {subject}: {reason or error}", where=where, do=advice
            ) from error

    def _is_damage(self, error: Exception) -> bool:
        """Whether the file, and not the disk or another process, is at fault."""
        if isinstance(error, Damaged | UnicodeDecodeError):
            return True
        if not isinstance(error, sqlite3.Error):
            return False
        code = getattr(error, "sqlite_errorcode", None)
        if code is None:  # text that is not UTF-8; or a statement that cannot be
            return isinstance(error, sqlite3.OperationalError | sqlite3.DataError)
        if code & 0xFF in (sqlite3.SQLITE_CANTOPEN, sqlite3.SQLITE_PERM):
            return not self._is_usable()
        if code & 0xFF == sqlite3.SQLITE_READONLY:  # as its header says, where the disk is not
            is_writable = os.access(self._file, os.W_OK) and os.access(self._state, os.W_OK)
            return is_writable or not self._is_usable()
        return code & 0xFF in _DAMAGE

    def _is_usable(self) -> bool:
        """Whether there are regular files at its names, which may be read and written."""
        for suffix in ("", "-wal", "-shm"):
            name = f"{self._file}{suffix}"
            if os.path.lexists(name) and not os.path.islink(name):
                if not os.path.isfile(name):
                    return False
                if not os.access(name, os.R_OK | os.W_OK) and os.access(self._state, os.W_OK):
                    return False
        return True

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
            raise SaveError("the journal was written by a newer memtui", where=str(file))
        found = {name for (name,) in db.execute("SELECT name FROM sqlite_master")}
        if version == 1:
            _convert(db, found)
        elif version == 0 and not found:
            db.executescript(f"BEGIN IMMEDIATE; {_SCHEMA} PRAGMA user_version = {VERSION}; COMMIT;")
        elif version != VERSION or not found >= _TABLES:
            raise Damaged("a table is missing")
        elif not found >= {"times", "authors", "places", "declined"}:
            for table in (_TIMES, _AUTHORS, _PLACES, _DECLINED):
                db.execute(table)
    except BaseException:
        db.close()
        raise
    return db


def _convert(db: sqlite3.Connection, found: Collection[str]) -> None:
    """Convert the newest actions of a journal of version 1, once.

    An older memtui that still has it open can write nothing to it any more, and says so.
    """
    tables = [table for table in ("actions", "writes", "folders") if table in found]
    renaming = "".join(f"ALTER TABLE {table} RENAME TO old_{table};" for table in tables)
    names = ("writes_by_file", "actions_by_state")
    dropping = "".join(f"DROP INDEX IF EXISTS {name};" for name in names)
    db.execute("PRAGMA secure_delete=OFF")  # VACUUM leaves nothing of it
    db.executescript(f"BEGIN EXCLUSIVE; {renaming} {dropping} {_SCHEMA}")
    columns = "id, title, time, changed, state, former, wanted, owner, note, redo"
    db.execute(f"INSERT INTO actions ({columns}, stores) SELECT {columns}, '[]' FROM old_actions")
    db.execute("INSERT INTO writes SELECT action, path, pre, post, done FROM old_writes")
    if "folders" in tables:
        db.execute("INSERT INTO folders SELECT action, path FROM old_folders")
    last = "SELECT id, sum(length(parts)) OVER (ORDER BY id DESC) AS total, state FROM old_actions"
    too_old = f"SELECT id FROM ({last}) WHERE total > {CONVERTED} AND state <> 'intent'"
    for table, column in (("actions", "id"), ("writes", "action"), ("folders", "action")):
        db.execute(f"DELETE FROM {table} WHERE {column} IN ({too_old})")
    kept = "SELECT id, parts FROM old_actions WHERE id IN (SELECT id FROM actions) ORDER BY id"
    for id, parts in db.execute(kept):
        made = edit_rows.unpack_parts(parts)
        edit_rows.insert_edits(db, id, made)
        roots = pack([each.store for each in made])
        db.execute("UPDATE actions SET stores = ? WHERE id = ?", (roots, id))
    db.execute(
        "UPDATE edits SET in_effect = 1 WHERE action IN (SELECT id FROM actions"
        " WHERE state IN ('done', 'unsure') OR (state = 'intent' AND wanted = 'undone'))"
    )
    for table in tables:
        db.execute(f"DROP TABLE old_{table}")
    db.execute(f"PRAGMA user_version = {VERSION}")
    db.execute("COMMIT")
    db.execute("VACUUM")
    db.execute("PRAGMA secure_delete=ON")


# ---- where stores lie ----------------------------------------------------------------------------


def record_places(db: sqlite3.Connection, action: int, stores: Iterable[str]) -> None:
    """Record where the roots of stores lead as an action begins."""
    rows = [(action, pack(store), pack(real_root(store))) for store in dict.fromkeys(stores)]
    db.executemany("INSERT INTO places VALUES (?, ?, ?)", rows)


def refuse_moved_stores(db: sqlite3.Connection, action: int) -> None:
    """Raise Refused where a store of an action is at another place than when it was changed."""
    for store, place in db.execute("SELECT store, place FROM places WHERE action = ?", (action,)):
        refuse_moved(unpack(store), unpack(place), "changed")


def refuse_moved(store: str, place: str | None, when: str) -> None:
    """Raise Refused where the root of a store does not lead to this place any more, so that a
    folder that became a link meanwhile is not written through. None: the place is not known."""
    now = real_root(store)
    if place not in (None, now):
        raise Refused(f"it was {place} when it was {when}, and leads to {now} now", where=store)


# ---- folders that an action makes ----------------------------------------------------------------


def record_missing_folders(db: sqlite3.Connection, action: int, paths: Iterable[Path]) -> None:
    """Record which folders of these files are not there yet: the action is about to make them."""
    missing = []
    for folder in {path.parent for path in paths}:
        while not os.path.lexists(folder):
            missing.append(folder)
            folder = folder.parent
    rows = [(action, pack(str(folder))) for folder in dict.fromkeys(missing)]
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
    found = [(Path(unpack(path)), row) for row, path in db.execute(sql)]
    parents = {parent for path in paths() for parent in path.parents} if found else set()
    for folder, row in sorted(found, key=lambda each: len(each[0].parts), reverse=True):
        if folder not in parents:
            continue
        with suppress(OSError):
            os.rmdir(folder)
        if not os.path.lexists(folder):
            db.execute("DELETE FROM folders WHERE rowid = ?", (row,))
