"""One connection to a team's Postgres: opened when first asked, opened again where it broke.

What the server says is raised as errors of memtui, which hold no
password: it is in the person's service or password file, and nowhere here.
"""

from __future__ import annotations

import re
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from threading import RLock
from typing import Any

from memtui.errors import MemtuiError, NotConnected, QueryStopped, StoreError
from memtui.team.compiler import Sql
from memtui.text import one_line

try:
    import psycopg
    from psycopg import errors as pg
except ImportError as error:
    do = 'pip install ".[team]" in a checkout of memtui'
    raise StoreError("a team's Postgres needs the package psycopg", do=do) from error

SCHEMA_VERSION = 1
"""Of the tables that this memtui knows."""
STATEMENT_MS = 5_000
"""After so long the server stops a question."""
CONNECT_SECONDS = 5
_SERVICE = re.compile(r"[\w.-]+")
_SETTINGS = (
    # A search is planned anew each time: a plan for any word takes 400 times as long for some.
    "set timezone = 'UTC'; set jit = off; set plan_cache_mode = force_custom_plan;"
    f" set statement_timeout = {STATEMENT_MS}; set idle_in_transaction_session_timeout = 30000"
)


def check_service(name: str) -> str:
    """The name of a service, as it is in `pg_service.conf`.

    Raises:
        StoreError: It is an address; it is not named, because it may hold a password.
    """
    if not _SERVICE.fullmatch(name):
        raise StoreError(
            "postgres: takes the name of a service, no address",
            do="put host, dbname and user into ~/.pg_service.conf, the password into ~/.pgpass",
        )
    return name


def open_connection(service: str) -> psycopg.Connection[Any]:
    """Connect to a service. Raises NotConnected."""
    try:
        return psycopg.connect(
            f"service={check_service(service)}",
            autocommit=True,
            prepare_threshold=None,
            connect_timeout=CONNECT_SECONDS,
            application_name="memtui",
            keepalives_idle=10,
            tcp_user_timeout=10_000,
        )
    except psycopg.Error as error:
        raise to_error(error, service) from None


def to_error(error: psycopg.Error, service: str) -> MemtuiError:
    """The error of the server as one line for the person."""
    where = f"postgres:{service}"
    said = one_line(error.diag.message_primary or str(error).split("\n")[0])
    match error:
        case pg.QueryCanceled() if "statement timeout" in said:
            seconds = STATEMENT_MS // 1000
            do = "ask for less: a longer word, a type, an entity"
            return QueryStopped(f"the question took longer than {seconds} s", where=where, do=do)
        case pg.QueryCanceled():
            return QueryStopped("the question was cancelled", where=where)
        case pg.InsufficientPrivilege():
            do = "ask its owner: grant memtui_reader or memtui_writer to you, and add you to a team"
            return StoreError(f"you have no right to this ({said})", where=where, do=do)
        case pg.UndefinedTable() | pg.InvalidSchemaName():
            do = f"memtui team init {service}; LangGraph's table opens as langgraph:{service}"
            return StoreError("there are no tables of memtui in this database", where=where, do=do)
        case pg.UndefinedFunction() | pg.UndefinedObject() | pg.UndefinedColumn():
            do = f"memtui team init {service} --run adds what is missing"
            return StoreError(f"its schema is not whole ({said})", where=where, do=do)
        case pg.ReadOnlySqlTransaction():
            return StoreError("this server is a replica, which can only be read", where=where)
        case psycopg.OperationalError() | psycopg.InterfaceError():
            return NotConnected(f"the server cannot be reached ({said})", where=where)
    return StoreError(f"Postgres: {said}", where=where)


class Connection:
    """A connection that is shared by threads; questions are answered one at a time."""

    def __init__(self, service: str) -> None:
        self.service = check_service(service)
        self.rows = -1.0
        """About how many memories the table has; -1: not known."""
        self.read_only = f"not connected to {service}"
        """Why nothing can be written; "" if it can."""
        self._lock = RLock()
        self._open: psycopg.Connection[Any] | None = None
        self._listening: psycopg.Connection[Any] | None = None
        self._question = 0
        self._stopped = 0

    def connect(self) -> None:
        """Connect where that has not happened, so that `read_only` is known. Raises as `ask`."""
        if self._open is None:
            self.ask()

    def ask(self, *questions: Sql) -> list[list[tuple[Any, ...]]]:
        """The rows that answer each question, all in one round trip.

        Raises NotConnected, QueryStopped or StoreError.
        """
        with self._lock:
            for is_last in (False, True):
                self._question += 1
                try:
                    return self._ask(questions)
                except pg.QueryCanceled as error:
                    # A cancel that was meant for the question before is not for this one.
                    if is_last or self._stopped == self._question or "timeout" in str(error):
                        raise to_error(error, self.service) from None
                except psycopg.Error as error:
                    if is_last or not self._is_broken():
                        raise to_error(error, self.service) from None
                    self._drop()  # it may have been idle when the server was restarted
        raise AssertionError("not reached")

    def _ask(self, questions: Sequence[Sql]) -> list[list[tuple[Any, ...]]]:
        connection = self._connected()
        if not questions:
            return []
        if len(questions) == 1:
            return [connection.execute(questions[0].text, questions[0].values).fetchall()]
        with connection.pipeline():
            cursors = [connection.execute(each.text, each.values) for each in questions]
        return [cursor.fetchall() for cursor in cursors]  # not before: it would wait once more

    @contextmanager
    def transaction(self) -> Iterator[psycopg.Connection[Any]]:
        """A transaction, which is committed at the end. Raises psycopg.Error and MemtuiError."""
        with self._lock:
            if self._open is not None:
                try:
                    self._open.execute("select 1")
                except psycopg.Error:
                    self._drop()
            connection = self._connected()
            try:
                with connection.transaction():
                    yield connection
            finally:
                if self._is_broken():
                    self._drop()

    def _connected(self) -> psycopg.Connection[Any]:
        if self._open is not None and not self._open.closed:
            return self._open
        connection = open_connection(self.service)
        try:
            connection.execute(_SETTINGS)
            (self.rows, self.read_only) = self._look(connection)
        except (psycopg.Error, MemtuiError):
            connection.close()
            raise
        self._open = connection
        return connection

    def _look(self, connection: psycopg.Connection[Any]) -> tuple[float, str]:
        """How many rows the table has, about, and why nothing can be written.

        Raises StoreError where this is not a schema that is known, and psycopg.Error.
        """
        (found,) = connection.execute(
            "select (select max(version) from memtui.schema_version),"
            " (select reltuples from pg_class where oid = 'memtui.memories'::regclass),"
            " (select count(*) from pg_extension where extname = 'pg_trgm'), pg_is_in_recovery(),"
            " has_table_privilege('memtui.memories', 'insert, update, delete')"
        ).fetchall()
        version, rows, extensions, is_replica, may_write = found
        where = f"postgres:{self.service}"
        if (version or 0) > SCHEMA_VERSION:
            what = f"its schema is of version {version}; this memtui knows {SCHEMA_VERSION}"
            raise StoreError(what, where=where, do="update memtui")
        if not extensions:
            what, do = "the extension pg_trgm is missing", "create extension pg_trgm"
            raise StoreError(what, where=where, do=do)
        if is_replica:
            return rows, "this server is a replica, which can only be read"
        return rows, "" if may_write else "you may only read this memory (role memtui_reader)"

    def _is_broken(self) -> bool:
        return self._open is not None and (self._open.closed or self._open.broken)

    def _drop(self) -> None:
        if self._open is not None:
            with suppress(psycopg.Error):
                self._open.close()
        self._open, self.read_only = None, f"not connected to {self.service}"

    def cancel(self) -> None:
        """Stop the question that is being answered, from any thread."""
        connection, self._stopped = self._open, self._question
        if connection is not None:
            with suppress(psycopg.Error, OSError):
                connection.cancel_safe(timeout=2)

    def wait(self, seconds: float) -> bool:
        """Wait until somebody changes something; whether that may have happened.

        Raises NotConnected or StoreError.
        """
        try:
            if self._listening is None or self._listening.closed:
                self._listening = open_connection(self.service)
                self._listening.execute("listen memtui")
                return True
            return any(True for _ in self._listening.notifies(timeout=seconds, stop_after=1))
        except psycopg.Error as error:
            connection, self._listening = self._listening, None
            if connection is not None:
                connection.close()
            if isinstance(error, psycopg.OperationalError):
                raise to_error(error, self.service) from None
            time.sleep(min(seconds, 1.0))  # a pooler that cannot listen: the table is asked
            return True

    def close(self) -> None:
        """Close the connections; the next question opens them again."""
        with self._lock:
            self._drop()
        if self._listening is not None:
            self._listening.close()
            self._listening = None
