"""The texts that the files of stores have had, kept whenever memtui looks and finds a change.

Agents rewrite their memory by themselves, and most formats keep no former text. One SQLite file in
the state folder holds each different text once, compressed. A row of `versions` says that a file
had a text from a time on, or that it was gone from then on. Secrets are masked in what is kept,
unless the person wants otherwise.

A look never stops anybody from reading or saving: with a full disk, with a lock that another
process holds, or with a damaged file it ends and says why.
"""

from __future__ import annotations

import logging
import os
import sqlite3
import time
import zlib
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from contextlib import closing, contextmanager, suppress
from datetime import UTC, datetime
from hashlib import sha256
from itertools import islice
from pathlib import Path

from msgspec import Struct, field

from memtui.config import HistorySettings
from memtui.files.reading import decode, encode
from memtui.paths import private_folder
from memtui.progress import IsCancelled, never
from memtui.text import mask_all_secrets

log = logging.getLogger(__name__)

FILE = "history.sqlite"
VERSION = 1
"""`user_version` of the file; one with another is left alone."""
LARGEST_TEXT = 8 << 20
"""Bytes; a larger text is not kept."""
PATIENCE = 2.0
"""Seconds to wait for another memtui that is writing the file."""
MAX_COMPARED = 64
"""Files that tell whether a store is one that was moved."""
BATCH = 256
"""Files of one transaction."""
DAY = 24 * 3600.0
_SCHEMA = """
CREATE TABLE stores (
    id INTEGER PRIMARY KEY,
    format TEXT NOT NULL,
    root TEXT NOT NULL,
    since REAL NOT NULL,   -- the first look
    mark TEXT NOT NULL DEFAULT '',   -- of the last look
    UNIQUE (format, root)
);
CREATE TABLE files (
    id INTEGER PRIMARY KEY,
    store INTEGER NOT NULL REFERENCES stores (id),
    name TEXT NOT NULL,   -- below the root
    stamp TEXT NOT NULL,   -- at the last look; '' if it was gone
    UNIQUE (store, name)
);
CREATE TABLE texts (
    id INTEGER PRIMARY KEY,
    digest BLOB NOT NULL UNIQUE,
    body BLOB NOT NULL,
    masked INTEGER NOT NULL   -- secrets in it are masked
);
CREATE TABLE versions (
    file INTEGER NOT NULL REFERENCES files (id),
    began REAL NOT NULL,
    text INTEGER REFERENCES texts (id),   -- NULL: the file was gone
    PRIMARY KEY (file, began)
) WITHOUT ROWID;
CREATE INDEX versions_by_text ON versions (text);
"""
_TABLES = frozenset({"stores", "files", "texts", "versions"})
_NEWEST = "SELECT file, max(began) AS began FROM versions GROUP BY file"
_DAMAGED = frozenset({sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB})
"""Errors of a file that is not as memtui wrote it; others are of the disk or of another process."""


class _DamagedHistory(Exception):
    """The file is not as memtui wrote it."""


class StoreKey(Struct, frozen=True):
    """Which store a look is of."""

    format: str
    root: str
    """With every link resolved."""


class KeptText(Struct, frozen=True):
    """What a file held from a time on."""

    began: datetime
    text: bytes | None
    """None: it was gone."""
    is_masked: bool = False
    """Whether secrets in it are masked: it cannot be given back as it was."""
    next: bytes | None = None
    """What followed it, as `KeptPast` has it; None: it was gone then."""


class KeptPast(Struct, frozen=True):
    """What is known of a store at a time."""

    files: Mapping[str, KeptText] = field(default_factory=dict)
    """Name of each file that has changed since -> its text of then. Those of which it is not known
    are left out."""
    is_whole: bool = False
    """Whether memtui had looked at the store by then, so that nothing is left out."""


Read = Callable[[str], tuple[bytes, float] | None]
"""Name -> the text of a file and its time of change in Unix seconds; None if it cannot be read."""


class TextHistory:
    """The history in one state folder; may be used from any thread and by several processes."""

    def __init__(self, state: Path | None) -> None:
        """`state`: the state folder; None: nothing is kept, and nothing is known."""
        self._file = None if state is None else state / FILE
        self.fault = ""
        """What became of a damaged file, as one line for the person."""

    def marks(self) -> dict[StoreKey, str]:
        """The mark of the last look at each store that came to its end."""
        with self._opened() as db:
            rows = db.execute("SELECT format, root, mark FROM stores") if db else ()
            return {StoreKey(format, root): mark for format, root, mark in rows}
        return {}

    def look(
        self,
        store: StoreKey,
        mark: str,
        stamps: Mapping[str, str],
        read: Read,
        settings: HistorySettings,
        now: float,
        cancelled: IsCancelled = never,
    ) -> int:
        """Keep the text of each file that is new or has changed, and note those that are gone.

        Args:
            store: The store that was looked at.
            mark: A value that differs after any change of the store.
            stamps: Name of each of its files -> a value that differs after any change.
            read: Reads one of them.
            settings: What is kept, and for how long.
            now: Unix seconds.
            cancelled: Asked between batches; what is left is done by the next look.

        Returns:
            How many files were found new, changed or gone.
        """
        changed = 0
        with self._opened(creates=True) as db:
            if db is None:
                return 0
            number, known = _known_files(db, store, stamps, read, settings, now)
            lost = {name: file for name, file in known.items() if name not in stamps and file.stamp}
            due = [name for name, stamp in stamps.items() if known.get(name, _NONE).stamp != stamp]
            for start in range(0, len(due), BATCH):
                if cancelled():
                    return changed
                with _transaction(db):
                    for name in due[start : start + BATCH]:
                        found = read(name)
                        if found is None or len(found[0]) > LARGEST_TEXT:
                            continue
                        text = _keep_text(db, found[0], settings)
                        file = known.get(name) or _moved_file(lost, text)
                        file = file or _new_file(db, number, name)
                        changed += _note(db, file, name, stamps[name], text, found[1], now)
            with _transaction(db):
                for name, file in lost.items():
                    changed += _note(db, file, name, "", None, now, now)
                db.execute("UPDATE stores SET mark = ? WHERE id = ?", (mark, number))
                if changed:
                    _prune(db, settings, now)
            if changed:
                db.execute("PRAGMA incremental_vacuum").fetchall()
        return changed

    def versions(self, store: StoreKey, name: str) -> list[KeptText]:
        """The texts that a file has had, newest first."""
        with self._opened() as db:
            if db is None:
                return []
            rows = db.execute(
                "SELECT began, body, masked FROM versions"
                " JOIN files ON files.id = file JOIN stores ON stores.id = store"
                " LEFT JOIN texts ON texts.id = text"
                " WHERE format = ? AND root = ? AND name = ? ORDER BY began DESC",
                (store.format, store.root, name),
            )
            return [_kept(*row) for row in rows]
        return []

    def changed_since(self, store: StoreKey, at: float) -> KeptPast:
        """What the files that have changed since a time (Unix seconds) held then.

        For a time before the first look it is the first text that is known.
        """
        with self._opened() as db:
            if db is None:
                return KeptPast()
            row = db.execute(
                "SELECT id, since <= ? FROM stores WHERE format = ? AND root = ?",
                (at, store.format, store.root),
            ).fetchone()
            if row is None:
                return KeptPast()
            number, is_later = row
            following = (
                "(SELECT body FROM versions AS later LEFT JOIN texts ON texts.id = later.text"
                " WHERE later.file = files.id AND later.began > former.began"
                " ORDER BY later.began LIMIT 1)"
            )
            rows = db.execute(
                f"SELECT name, former.began, body, masked, {following} FROM files"
                " JOIN (SELECT file, coalesce(max(CASE WHEN began <= ? THEN began END),"
                " CASE WHEN ? THEN NULL ELSE min(began) END) AS began"
                " FROM versions GROUP BY file) AS last ON last.file = files.id"
                f" JOIN ({_NEWEST}) AS newest ON newest.file = files.id"
                " AND newest.began > last.began"
                " JOIN versions AS former"
                " ON former.file = files.id AND former.began = last.began"
                " LEFT JOIN texts ON texts.id = former.text WHERE store = ?",
                (at, is_later, number),
            )
            found = {name: _kept(*columns) for name, *columns in rows}
            new = db.execute(
                "SELECT name, min(versions.began) AS first FROM files JOIN versions"
                " ON file = files.id WHERE store = ? GROUP BY file HAVING first > ?",
                (number, at),
            )
            for name, began in new if is_later else ():  # it was not there yet
                found[name] = KeptText(datetime.fromtimestamp(began, UTC), None)
            return KeptPast(found, bool(is_later))
        return KeptPast()

    def forget(self, store: StoreKey | None = None) -> bool:
        """Delete what is kept of a store, or of all; returns whether there was anything."""
        with self._opened() as db:
            if db is None:
                return False
            rows = db.execute("SELECT id, format, root FROM stores").fetchall()
            stores = [n for n, *key in rows if store is None or StoreKey(*key) == store]
            with _transaction(db):
                for number in stores:
                    files = "SELECT id FROM files WHERE store = ?"
                    db.execute(f"DELETE FROM versions WHERE file IN ({files})", (number,))
                    db.execute("DELETE FROM files WHERE store = ?", (number,))
                    db.execute("DELETE FROM stores WHERE id = ?", (number,))
                _drop_unused(db)
            db.execute("PRAGMA incremental_vacuum").fetchall()
            db.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchall()
            return bool(stores)
        return False

    def names_with(self, store: StoreKey, is_meant: Callable[[str], bool]) -> set[str]:
        """The names of the files of a store that have had one of the texts that are meant."""
        texts = self.find_texts(is_meant)
        with self._opened() as db:
            rows = (
                db.execute(
                    "SELECT name, text FROM versions JOIN files ON files.id = file"
                    " JOIN stores ON stores.id = store WHERE format = ? AND root = ?",
                    (store.format, store.root),
                )
                if db
                else ()
            )
            return {name for name, text in rows if text in texts}
        return set()

    def find_texts(self, is_meant: Callable[[str], bool]) -> frozenset[int]:
        """The numbers of the texts that are meant, such as those that hold a secret."""
        with self._opened() as db:
            rows = db.execute("SELECT id, body FROM texts") if db else ()
            return frozenset(id for id, body in rows if is_meant(decode(_decompressed(body))))
        return frozenset()

    def erase(self, texts: Collection[int]) -> None:
        """Delete texts, and that any file had them."""
        with self._opened() as db:
            if db is None or not texts:
                return
            with _transaction(db):
                for statement in (
                    # The next look takes what is there now for changed.
                    "UPDATE files SET stamp = 'erased' WHERE stamp <> '' AND id IN"
                    " (SELECT file FROM versions WHERE text = ?)",
                    "DELETE FROM versions WHERE text = ?",
                    "DELETE FROM texts WHERE id = ?",
                ):
                    db.executemany(statement, [(number,) for number in texts])
                db.execute("UPDATE stores SET mark = ''")
                _drop_unused(db)
            db.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchall()

    @contextmanager
    def _opened(self, *, creates: bool = False) -> Iterator[sqlite3.Connection | None]:
        """The database; None if there is none, or if it cannot be used now.

        An error in the block ends it. A damaged file gets another name, and the next look begins a
        new one.
        """
        if self._file is None or not (creates or self._file.exists()):
            yield None
            return
        try:
            db = _connect(self._file)
        except (sqlite3.Error, OSError, _DamagedHistory) as error:
            self._note_fault(error)
            yield None
            return
        try:
            with closing(db):
                yield db
        except (sqlite3.Error, OSError, _DamagedHistory) as error:
            self._note_fault(error)

    def _note_fault(self, error: Exception) -> None:
        """Give a damaged file another name; what else is at fault may be over at the next look."""
        log.warning("the history of texts cannot be used: %s", error)
        code = getattr(error, "sqlite_errorcode", 0) & 0xFF
        if code not in _DAMAGED and not isinstance(error, _DamagedHistory):
            return
        name = f"{self._file}.damaged-{time.time_ns()}"
        for suffix in ("", "-wal", "-shm"):
            with suppress(OSError):
                os.rename(f"{self._file}{suffix}", f"{name}{suffix}")
        self.fault = f"the history of texts was damaged and is now {os.path.basename(name)}"


def _connect(file: Path) -> sqlite3.Connection:
    private_folder(file.parent)
    flags = os.O_RDWR | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW
    os.close(os.open(file, flags, 0o600))
    db = sqlite3.connect(file, timeout=PATIENCE, isolation_level=None, check_same_thread=False)
    try:
        for pragma in (
            "auto_vacuum=INCREMENTAL",  # while the file is empty
            "trusted_schema=OFF",
            "secure_delete=ON",
            "foreign_keys=ON",  # what is forgotten during a look is not noted by it
            "journal_mode=WAL",
            "synchronous=NORMAL",
        ):
            db.execute(f"PRAGMA {pragma}").fetchone()
        (version,) = db.execute("PRAGMA user_version").fetchone()
        found = {name for (name,) in db.execute("SELECT name FROM sqlite_master")}
        if version > VERSION:
            raise OSError("it was written by a newer memtui")
        if not found:
            db.executescript(f"BEGIN IMMEDIATE;{_SCHEMA}PRAGMA user_version={VERSION};COMMIT;")
        elif version != VERSION or not found >= _TABLES:
            raise _DamagedHistory("a table is missing")
    except BaseException:
        db.close()
        raise
    return db


class _File(Struct, frozen=True):
    """What is known of a file."""

    id: int = 0
    stamp: str = ""
    text: int | None = None
    """The text of its newest version."""


_NONE = _File()


@contextmanager
def _transaction(db: sqlite3.Connection) -> Iterator[None]:
    db.execute("BEGIN IMMEDIATE")
    try:
        yield
        db.execute("COMMIT")
    except BaseException:
        with suppress(sqlite3.Error):
            db.execute("ROLLBACK")
        raise


def _known_files(
    db: sqlite3.Connection,
    store: StoreKey,
    names: Iterable[str],
    read: Read,
    settings: HistorySettings,
    now: float,
) -> tuple[int, dict[str, _File]]:
    """The number of a store and what is known of its files, by name; a store that was moved here
    keeps its history."""
    key = (store.format, store.root)
    row = db.execute("SELECT id FROM stores WHERE format = ? AND root = ?", key).fetchone()
    if row is not None:
        return row[0], _files_of(db, row[0])
    others = db.execute("SELECT id, root FROM stores WHERE format = ?", (store.format,))
    for number, root in others.fetchall():
        if not os.path.lexists(root):
            known = _files_of(db, number)
            if _has_same_texts(db, known, names, read, settings):
                db.execute("UPDATE stores SET root = ? WHERE id = ?", (store.root, number))
                return number, known
    columns = "(format, root, since) VALUES (?, ?, ?)"
    db.execute(f"INSERT OR IGNORE INTO stores {columns}", (*key, now))
    row = db.execute("SELECT id FROM stores WHERE format = ? AND root = ?", key).fetchone()
    return row[0], {}


def _files_of(db: sqlite3.Connection, store: int) -> dict[str, _File]:
    rows = db.execute(
        "SELECT name, files.id, stamp, text FROM files"
        f" LEFT JOIN ({_NEWEST}) AS newest ON newest.file = files.id"
        " LEFT JOIN versions ON versions.file = files.id AND versions.began = newest.began"
        " WHERE store = ?",
        (store,),
    )
    return {name: _File(*columns) for name, *columns in rows}


def _has_same_texts(
    db: sqlite3.Connection,
    known: Mapping[str, _File],
    names: Iterable[str],
    read: Read,
    settings: HistorySettings,
) -> bool:
    """Whether half of the files that a store had, of as many as are compared, have these texts."""
    compared = list(islice((name for name in names if name in known), MAX_COMPARED))
    same = 0
    for name in compared:
        if (found := read(name)) is not None:
            same += _find_text(db, _masked(found[0], settings)) == known[name].text
    there = sum(bool(file.stamp) for file in known.values())
    return same > 0 and 2 * same >= min(MAX_COMPARED, there)


def _masked(data: bytes, settings: HistorySettings) -> bytes:
    """A text as it is kept."""
    return data if settings.secrets else encode(mask_all_secrets(decode(data)))


def _find_text(db: sqlite3.Connection, kept: bytes) -> int | None:
    digest = sha256(kept).digest()
    row = db.execute("SELECT id FROM texts WHERE digest = ?", (digest,)).fetchone()
    return None if row is None else int(row[0])


def _keep_text(db: sqlite3.Connection, data: bytes, settings: HistorySettings) -> int:
    """Keep a text if no equal one is there; returns its number."""
    kept = _masked(data, settings)
    number = _find_text(db, kept)
    if number is None:
        values = (sha256(kept).digest(), zlib.compress(kept), kept != data)
        columns = "(digest, body, masked) VALUES (?, ?, ?)"
        number = db.execute(f"INSERT INTO texts {columns}", values).lastrowid
    return number or 0


def _moved_file(lost: dict[str, _File], text: int) -> _File | None:
    """The one file that is gone from its place and had this text: it was moved."""
    names = [name for name, file in lost.items() if file.text == text]
    return lost.pop(names[0]) if len(names) == 1 else None


def _new_file(db: sqlite3.Connection, store: int, name: str) -> _File:
    """A file that was not known at the beginning of the look; another process may know it now."""
    db.execute("INSERT OR IGNORE INTO files (store, name, stamp) VALUES (?, ?, '')", (store, name))
    row = db.execute("SELECT id FROM files WHERE store = ? AND name = ?", (store, name)).fetchone()
    return _File(row[0])


def _note(
    db: sqlite3.Connection,
    file: _File,
    name: str,
    stamp: str,
    text: int | None,
    changed: float,
    now: float,
) -> bool:
    """Note what a file holds from its change on; returns whether that is new.

    The time of the change counts if it lies between the last one known and now. The last one is
    asked for here: another process may have noted one since the look began.
    """
    db.execute("UPDATE files SET name = ?, stamp = ? WHERE id = ?", (name, stamp, file.id))
    newest = "SELECT began, text FROM versions WHERE file = ? ORDER BY began DESC LIMIT 1"
    last, former = db.execute(newest, (file.id,)).fetchone() or (0.0, None)
    if last and former == text:
        return False
    began = changed if last < changed <= now else max(now, last + 1e-3)
    db.execute("INSERT INTO versions VALUES (?, ?, ?)", (file.id, began, text))
    return True


def _prune(db: sqlite3.Connection, settings: HistorySettings, now: float) -> None:
    """Delete former texts that are too old, and the oldest above the size.

    What a file holds now is kept, or nothing would be known of it at the next change.
    """
    former = (
        f"SELECT versions.file, versions.began FROM versions JOIN ({_NEWEST}) AS newest"
        " ON newest.file = versions.file"
        " WHERE (versions.began < newest.began OR text IS NULL)"
    )
    # A text is former from the time on at which the next one began.
    follows = (
        "(SELECT min(next.began) FROM versions AS next"
        " WHERE next.file = versions.file AND next.began > versions.began)"
    )
    oldest = now - settings.days * DAY
    db.execute(
        f"DELETE FROM versions WHERE (file, began) IN ({former}"
        f" AND coalesce({follows}, versions.began) < ?)",
        (oldest,),
    )
    _drop_unused(db)
    most = settings.megabytes << 20
    while (size := _size(db)) > most:
        rows = db.execute(f"{former} ORDER BY versions.began LIMIT 64").fetchall()
        if not rows:
            log.info("the texts of today take %d bytes, more than may be kept", size)
            return
        db.executemany("DELETE FROM versions WHERE file = ? AND began = ?", rows)
        _drop_unused(db)


def _size(db: sqlite3.Connection) -> int:
    """Bytes of the texts."""
    return int(db.execute("SELECT coalesce(sum(length(body)), 0) FROM texts").fetchone()[0])


def _drop_unused(db: sqlite3.Connection) -> None:
    db.execute("DELETE FROM texts WHERE id NOT IN (SELECT text FROM versions WHERE text NOT NULL)")
    db.execute("DELETE FROM files WHERE id NOT IN (SELECT file FROM versions)")


def _kept(
    began: float, body: bytes | None, masked: int | None, next: bytes | None = None
) -> KeptText:
    text, following = (None if each is None else _decompressed(each) for each in (body, next))
    return KeptText(datetime.fromtimestamp(began, UTC), text, bool(masked), following)


def _decompressed(body: bytes) -> bytes:
    """Raises _DamagedHistory, also for one that is longer than any text that is kept."""
    stream = zlib.decompressobj()
    try:
        text = stream.decompress(body, LARGEST_TEXT + 1)
    except zlib.error:
        text = b""
    if not stream.eof:
        raise _DamagedHistory("a text cannot be read")
    return text
