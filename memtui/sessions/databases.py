"""Sessions in the SQLite databases of Hermes and OpenCode.

A database is read with its program's locks and left as it is (`stores.sqlite.connection`).

Source: formats page of sessions, 3 (Hermes, `hermes_state.py`); OpenCode 1
`packages/opencode/src/session/session.sql.ts` and `message-v2.ts`; OpenCode 2 below.
"""

from __future__ import annotations

import sqlite3
from abc import abstractmethod
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from datetime import datetime
from pathlib import Path
from typing import Any, NamedTuple, TypeVar
from zlib import crc32

from msgspec.structs import replace

from memtui.errors import StoreError, UnreadableFile
from memtui.sessions.base import (
    TITLE_CHARS,
    Part,
    Transcripts,
    decode_value,
    joined_texts,
    list_of,
    make_call,
    make_message,
    make_result,
    make_texts,
    object_of,
    text_of,
)
from memtui.sessions.message import (
    Kind,
    Message,
    Place,
    Reading,
    Role,
    Session,
    parse_time,
)
from memtui.stores.sqlite.connection import read_or_raise

T = TypeVar("T")


class DatabaseTranscripts(Transcripts):
    """A program whose sessions are rows of a database."""

    session_columns: Sequence[str]
    """Columns of the table of sessions, `id` first; those that are missing are NULL."""
    session_table: str

    def files(self, root: Path) -> Iterator[Path]:
        """The database, if it is there."""
        return iter((root,) if root.is_file() else ())

    @abstractmethod
    def describe(self, row: Mapping[str, Any], file: Path) -> Session:
        """The session of a row."""

    @abstractmethod
    def read(
        self, session: Session, connection: sqlite3.Connection, reading: Reading
    ) -> Iterator[Message]:
        """The messages of a session."""

    def sessions(self, file: Path) -> Iterator[Session]:
        """The sessions in the database."""
        rows = read_database(file, lambda c: select(c, self.session_table, self.session_columns))
        size = share_of(file, len(rows))
        return (replace(self.describe(row, file), size=size) for row in rows)

    def messages(self, session: Session, reading: Reading, start: int = 0) -> Iterator[Message]:
        """See `Transcripts.messages`; rows may change, so an update reads all."""
        found = read_database(
            session.path, lambda connection: list(self.read(session, connection, reading))
        )
        return (message for message in found if message.place.offset > start)


def read_database(file: Path, work: Callable[[sqlite3.Connection], T]) -> T:
    """What `work` reads of a database, which is left as it is. Raises UnreadableFile."""
    try:
        return read_or_raise(file, work)
    except StoreError as error:
        raise UnreadableFile(error.what, where=str(file)) from None


def share_of(file: Path, sessions: int) -> int:
    """The bytes of a database for each of its sessions, since how large each is takes long to
    count."""
    try:
        return file.stat().st_size // max(1, sessions)
    except OSError:
        return 0


def select(
    connection: sqlite3.Connection,
    table: str,
    columns: Sequence[str],
    where: str = "",
    parameters: Sequence[Any] = (),
    reading: Reading | None = None,
) -> list[dict[str, Any]]:
    """Rows of a table as mappings; a column that this version of the program lacks is None.

    A row that is larger than SQLite may read here is counted in `reading`.
    """
    known = {"rowid", *(row[1] for row in connection.execute(f"PRAGMA table_info({table})"))}
    named = [column if column in known else f"NULL AS {column}" for column in columns]
    chosen = f"SELECT {', '.join(named)} FROM {table}"
    try:
        rows = connection.execute(f"{chosen} {where}", parameters).fetchall()
    except sqlite3.DataError:
        if reading is None:
            raise
        rows = []
        for (id,) in connection.execute(f"SELECT rowid FROM {table} {where}", parameters):
            try:
                rows += connection.execute(f"{chosen} WHERE rowid = ?", (id,))
            except sqlite3.DataError:
                reading.too_long += 1
    return [dict(zip(columns, row, strict=True)) for row in rows]


class Hermes(DatabaseTranscripts):
    """`state.db` of Hermes and of each profile. A compaction opens a session below the old one."""

    name = "hermes"
    title = "Hermes"
    session_table = "sessions"
    session_columns = (
        "id",
        "source",
        "title",
        "parent_session_id",
        "started_at",
        "ended_at",
        "cwd",
    )

    def roots(self, home: Path, variables: Mapping[str, str]) -> list[Path]:
        """The databases of the home and its profiles."""
        folder = Path(variables.get("HERMES_HOME") or home / ".hermes")
        profiles = sorted(folder.glob("profiles/*/state.db"))
        return [folder / "state.db", *profiles]

    def sessions(self, file: Path) -> Iterator[Session]:
        """The sessions in the database; `ended_at` is empty while one may be resumed."""
        query = "SELECT session_id, MAX(timestamp) FROM messages GROUP BY session_id"
        last = read_database(file, lambda connection: dict(connection.execute(query)))
        for session in super().sessions(file):
            time = parse_time(last.get(session.id))
            yield replace(session, changed=time) if time else session

    def describe(self, row: Mapping[str, Any], file: Path) -> Session:
        """See `DatabaseTranscripts.describe`; without a folder the source stands for it."""
        return Session(
            self.name,
            str(row["id"]),
            file,
            cwd=text_of(row["cwd"]) or text_of(row["source"]),
            title=text_of(row["title"])[:TITLE_CHARS],
            started=parse_time(row["started_at"]),
            changed=parse_time(row["ended_at"] or row["started_at"]),
            parent=text_of(row["parent_session_id"]),
        )

    def read(
        self, session: Session, connection: sqlite3.Connection, reading: Reading
    ) -> Iterator[Message]:
        """See `DatabaseTranscripts.read`."""
        columns = ("id", "role", "content", "tool_call_id", "tool_calls", "timestamp", "active")
        where = "WHERE session_id = ? ORDER BY id"
        for row in select(connection, "messages", columns, where, (session.id,), reading):
            if row["active"] == 0:  # taken back by /undo or /rewind
                continue
            time = parse_time(row["timestamp"])
            for number, part in enumerate(_hermes_parts(row)):
                id = f"{row['id']}#{number}" if number else str(row["id"])
                place = Place(str(session.path), int(row["id"]))
                yield make_message(session, part, place, id=id, time=time)


def _hermes_parts(row: Mapping[str, Any]) -> Iterator[Part]:
    role, text = text_of(row["role"]), joined_texts(row["content"])
    yield from make_texts(role, text)
    if role == "assistant":
        calls = decode_value(text_of(row["tool_calls"]).encode("utf-8", "replace"))
        for call in map(object_of, list_of(calls)):
            function = object_of(call.get("function"))
            arguments = _arguments(function.get("arguments"))
            yield make_call(function.get("name"), arguments, call.get("id"))
    elif role == "tool":
        yield make_result(text, row["tool_call_id"])


def _arguments(value: object) -> Mapping[str, Any]:
    if isinstance(value, str):
        return object_of(decode_value(value.encode("utf-8", "replace")))
    return object_of(value)


class Generation(NamedTuple):
    """The tables of one generation of OpenCode."""

    sessions: str
    messages: str
    """The table that has a row for each message or part."""
    stamps: str
    """What differs once a session has changed, after its id."""


GENERATIONS = (
    Generation("session_v2", "session_message", "MAX(seq), MAX(time_updated), COUNT(*)"),
    Generation("session", "part", "MAX(rowid), COUNT(*)"),
)
"""OpenCode 2 leaves the tables of OpenCode 1 as they were and takes some of their sessions over,
with their ids (anomalyco/opencode#41217; getagentseal/codeburn#1293, a schema of 2.0.3)."""


class OpenCode(DatabaseTranscripts):
    """`opencode.db`, or `opencode-<channel>.db`: messages with their parts."""

    name = "opencode"
    title = "OpenCode"
    session_columns = (
        *("id", "parent_id", "fork_session_id"),
        *("directory", "title", "time_created", "time_updated"),
    )

    def roots(self, home: Path, variables: Mapping[str, str]) -> list[Path]:
        """The databases in the folder of data."""
        folder = Path(variables.get("XDG_DATA_HOME") or home / ".local" / "share") / "opencode"
        return [folder / "opencode.db", *sorted(folder.glob("opencode-*.db"))]

    def sessions(self, file: Path) -> Iterator[Session]:
        """The sessions of both generations, with their stamps; one that is in both is the newer."""
        found = read_database(file, self._find)
        size = share_of(file, len(found))
        for row, stamp in found.values():
            session = self.describe(row, file)
            yield replace(session, size=size, stamp=f"{session.changed} {stamp}")

    def _find(self, connection: sqlite3.Connection) -> dict[str, tuple[dict[str, Any], object]]:
        found: dict[str, tuple[dict[str, Any], object]] = {}
        generations = generations_in(connection)
        for each in generations:
            query = f"SELECT session_id, {each.stamps} FROM {each.messages} GROUP BY session_id"
            stamps = {row[0]: tuple(row) for row in connection.execute(query)}
            for row in select(connection, each.sessions, self.session_columns):
                found.setdefault(row["id"], (row, stamps.get(row["id"])))
        if not generations:
            raise StoreError("it has no table of sessions that memtui knows")
        return found

    def describe(self, row: Mapping[str, Any], file: Path) -> Session:
        """See `DatabaseTranscripts.describe`. A session below another is a subagent's."""
        parent = text_of(row["parent_id"])
        return Session(
            self.name,
            str(row["id"]),
            file,
            cwd=text_of(row["directory"]),
            title=text_of(row["title"])[:TITLE_CHARS],
            started=parse_time(row["time_created"]),
            changed=parse_time(row["time_updated"]),
            parent=parent or text_of(row["fork_session_id"]),
            is_sidechain=bool(parent),
        )

    def read(
        self, session: Session, connection: sqlite3.Connection, reading: Reading
    ) -> Iterator[Message]:
        """See `DatabaseTranscripts.read`."""
        newest = GENERATIONS[0]
        is_new = newest in generations_in(connection) and select(
            connection, newest.sessions, ("id",), "WHERE id = ?", (session.id,)
        )
        rows = (_rows_of_2 if is_new else _rows_of_1)(session, connection, reading)
        counts: Counter[str] = Counter()
        for row in rows:
            for made in row.parts:
                counts[row.message] += 1
                # A fork copies messages with new ids, but with their times and texts.
                named = (
                    f"{row.created} {crc32(made.text.encode('utf-8', 'replace'))}"
                    if row.created
                    else row.message
                )
                id = f"{named}#{counts[row.message]}"
                place = Place(str(session.path), row.rowid)
                yield make_message(session, made, place, id=id, time=row.time)


def generations_in(connection: sqlite3.Connection) -> list[Generation]:
    """The generations whose tables the database has, the newest first."""
    names = {row[0] for row in connection.execute("SELECT name FROM sqlite_master")}
    return [each for each in GENERATIONS if {each.sessions, each.messages} <= names]


class _Row(NamedTuple):
    """What one row of messages or parts holds."""

    rowid: int
    message: str
    created: object
    """The time of the message, as it is written; a fork keeps it."""
    time: datetime | None
    parts: Iterable[Part]


def _rows_of_1(
    session: Session, connection: sqlite3.Connection, reading: Reading
) -> Iterator[_Row]:
    where = "WHERE session_id = ?"
    messages = select(connection, "message", ("id", "data"), where, (session.id,), reading)
    heads = {row["id"]: _arguments(row["data"]) for row in messages}
    columns, ordered = ("rowid", "message_id", "data"), f"{where} ORDER BY message_id, id"
    for row in select(connection, "part", columns, ordered, (session.id,), reading):
        message, part = row["message_id"], _arguments(row["data"])
        head = heads.get(message, {})
        created = object_of(head.get("time")).get("created")
        times = object_of(part.get("time") or object_of(part.get("state")).get("time"))
        time = parse_time(times.get("start")) or parse_time(created)
        yield _Row(row["rowid"], message, created, time, _opencode_parts(part, head))


def _rows_of_2(
    session: Session, connection: sqlite3.Connection, reading: Reading
) -> Iterator[_Row]:
    columns, where = ("rowid", "id", "type", "data", "time_created"), "WHERE session_id = ?"
    ordered = f"{where} ORDER BY seq"
    for row in select(connection, "session_message", columns, ordered, (session.id,), reading):
        data, kind = _arguments(row["data"]), text_of(row["type"])
        created = object_of(data.get("time")).get("created") or row["time_created"]
        if kind in _SAID_IN_2:
            parts = _opencode_2_parts(kind, data)
            yield _Row(row["rowid"], row["id"], created, parse_time(created), parts)
        elif kind not in _NOT_SAID_IN_2:
            reading.unknown[kind] += 1


def _opencode_parts(part: Mapping[str, Any], head: Mapping[str, Any]) -> Iterator[Part]:
    text, kind, role = text_of(part.get("text")).strip(), part.get("type"), head.get("role")
    if kind == "text" and part.get("synthetic") is not True:
        if role == "assistant" and text and head.get("summary") is True:
            yield Part(Role.SYSTEM, Kind.SUMMARY, text)
        else:
            yield from make_texts(role, text)
    elif kind == "tool":
        yield from _opencode_call(part.get("tool"), part.get("callID"), part.get("state"))


_SAID_IN_2 = ("user", "assistant", "compaction", "shell")
_NOT_SAID_IN_2 = frozenset(
    {"system", "synthetic", "agent-switched", "model-switched", "location-switched", "idle"}
)


def _opencode_2_parts(kind: str, data: Mapping[str, Any]) -> Iterator[Part]:
    """The parts of a row of OpenCode 2, whose type says whose it is. (anomalyco/opencode@08e3e1f,
    packages/core/src/session/message.ts; rows that others read: Dicklesworthstone/
    cross_agent_session_resumer#30.)"""
    if kind == "user":
        yield from make_texts("user", text_of(data.get("text")))
    elif kind == "compaction":
        if text := text_of(data.get("summary")).strip():
            yield Part(Role.SYSTEM, Kind.SUMMARY, text)
    elif kind == "shell":  # what the person ran
        state = {"input": {"command": data.get("command")}, "output": data.get("output")}
        yield from _opencode_call("shell", data.get("callID"), state)
    else:
        for part in map(object_of, list_of(data.get("content"))):
            if part.get("type") == "text" and part.get("synthetic") is not True:
                yield from make_texts("assistant", text_of(part.get("text")))
            elif part.get("type") == "tool":
                yield from _opencode_call(part.get("name"), part.get("id"), part.get("state"))


def _opencode_call(name: object, id: object, told: object) -> Iterator[Part]:
    """A call and its result, as the state of the tool has them."""
    state = object_of(told)
    yield make_call(name, _arguments(state.get("input")), id)
    failure = state.get("error")
    error = text_of(failure) or text_of(object_of(failure).get("message"))
    if output := error or text_of(state.get("output")) or joined_texts(state.get("content")):
        yield make_result(output, id, is_error=bool(error))
