"""What can go wrong between memtui and a team's server; each is one clear line, and passes."""

from __future__ import annotations

import re
import socket
import threading
import time
from collections.abc import Callable
from contextlib import suppress
from datetime import UTC, datetime
from pathlib import Path

import psycopg
import pytest

from memtui.errors import MemtuiError, NotConnected, QueryStopped, StoreError
from memtui.query import parse_query
from memtui.team.compiler import Sql
from memtui.team.setup import run_schema
from memtui.team.store import TeamStore
from tests.postgres import Server, prepare, read_schema
from tests.team_fixtures import PEOPLE, Team, add

EVERY = parse_query("", datetime.now(UTC))
SECRET = "geheim-4711"


def error_of(ask: Callable[[], object]) -> MemtuiError:
    with pytest.raises(MemtuiError) as caught:
        ask()
    assert "\n" not in str(caught.value)
    assert SECRET not in str(caught.value)
    return caught.value


@pytest.mark.slow
def test_server_stopped_within_a_page_and_within_a_search(tmp_path: Path) -> None:
    server = Server()
    try:
        prepare(server, PEOPLE)
        store = TeamStore(
            Path(f"postgres:{server.add_service('stopped', 'memtui_empty', 'anna')}"), "t"
        )
        add(store, "still here")
        page = store.find(EVERY, None, 1)
        searching: list[MemtuiError] = []
        thread = threading.Thread(
            target=lambda: searching.append(
                error_of(lambda: store.connection.ask(Sql("select pg_sleep(30)")))
            )
        )
        thread.start()
        asked = "select count(*) from pg_stat_activity where wait_event = 'PgSleep'"
        while not server.execute("postgres", asked)[0][0]:
            time.sleep(0.02)
        server.stop()
        thread.join(60)
        assert isinstance(searching[0], NotConnected)
        assert "not connected" in store.read_only
        assert isinstance(error_of(lambda: store.find(EVERY, page.positions[0], 1)), NotConnected)
        assert isinstance(error_of(lambda: store.wait_for_change(1)), NotConnected)
        server.start()
        assert store.find(EVERY, None, 1) == page
        assert store.read_only == ""
        store.close()
    finally:
        server.close()


class Counting:
    """A socket before that of the server which counts how often an answer is waited for."""

    def __init__(self, server: Server, folder: Path) -> None:
        self.folder = folder
        self.asked: list[bytes] = []
        self._behind = str(server.folder / ".s.PGSQL.5432")
        self._socket = socket.socket(socket.AF_UNIX)
        self._socket.bind(str(folder / ".s.PGSQL.5432"))
        self._socket.listen()
        threading.Thread(target=self._accept, daemon=True).start()

    def round_trips(self) -> int:
        """How often since the last call messages that ask for answers were sent: Query, Sync and
        Flush, of which a Sync may be followed by a Flush."""
        data, at, kinds = b"".join(self.asked), 0, b""
        self.asked.clear()
        while at < len(data):
            kinds += data[at : at + 1]
            at += 1 + int.from_bytes(data[at + 1 : at + 5], "big")
        return len(re.findall(rb"[QSH]+", kinds))

    def _accept(self) -> None:
        while True:
            try:
                near = self._socket.accept()[0]
            except OSError:
                return
            far = socket.socket(socket.AF_UNIX)
            far.connect(self._behind)
            for source, target, seen in ((near, far, self.asked.append), (far, near, len)):
                threading.Thread(target=_forward, args=(source, target, seen), daemon=True).start()

    def close(self) -> None:
        self._socket.shutdown(socket.SHUT_RDWR)  # which `accept` notices
        self._socket.close()


def _forward(source: socket.socket, target: socket.socket, seen: Callable[[bytes], object]) -> None:
    with suppress(OSError):
        while data := source.recv(1 << 16):
            seen(data)
            target.sendall(data)
        target.shutdown(socket.SHUT_RDWR)


def test_a_keystroke_waits_for_one_round_trip(
    team: Team, server: Server, tmp_path_factory: pytest.TempPathFactory
) -> None:
    add(team.open(), "deploy on Fridays")
    between = Counting(server, tmp_path_factory.mktemp("s"))
    try:
        store = team.open("anna", str(between.folder))
        store.find(EVERY, None, 1)
        for words in ("deploy type:untyped", "deploy sort:new"):
            between.round_trips()
            answer = store.answer(parse_query(words, datetime.now(UTC)), 50, 1_000)
            assert answer.count.value == 1
            assert between.round_trips() == 1
    finally:
        between.close()


def test_a_question_that_takes_too_long_is_stopped(
    team: Team, monkeypatch: pytest.MonkeyPatch
) -> None:
    limit = "set statement_timeout = 1000"  # the next question takes less, however busy it is
    monkeypatch.setattr("memtui.team.connection._SETTINGS", limit)
    store = team.open()
    error = error_of(lambda: store.connection.ask(Sql("select pg_sleep(60)")))
    assert isinstance(error, QueryStopped)
    assert "took longer" in error.what
    assert store.find(EVERY, None, 1).memories == ()


def test_where_an_answer_takes_too_long_the_newest_hits_come_alone(
    team: Team, monkeypatch: pytest.MonkeyPatch
) -> None:
    store = team.open()
    add(store, "deploy on Fridays")
    team.execute(
        "create function public.stopped() returns bigint language plpgsql as $$ begin raise"
        " query_canceled using message = 'canceling statement due to statement timeout'; end $$"
    )
    stopped = Sql("select public.stopped()")
    monkeypatch.setattr(TeamStore, "_count", lambda *_: stopped)
    answer = store.answer(parse_query("deploy sort:new", datetime.now(UTC)), 100, 1_000)
    assert len(answer.page.memories) == 1


def test_a_question_is_cancelled_and_the_next_one_is_not(team: Team) -> None:
    store = team.open()
    store.find(EVERY, None, 1)
    stopped: list[MemtuiError] = []
    thread = threading.Thread(
        target=lambda: stopped.append(
            error_of(lambda: store.connection.ask(Sql("select pg_sleep(30)")))
        )
    )
    thread.start()
    while thread.is_alive():  # the question may not have been asked yet
        store.cancel()
        thread.join(0.1)
    assert isinstance(stopped[0], QueryStopped)
    store.cancel()  # nothing runs
    assert store.find(EVERY, None, 1).memories == ()


def test_a_missing_right_is_named(team: Team) -> None:
    team.execute("drop role if exists nora", "create role nora login")
    error = error_of(lambda: team.open("nora").find(EVERY, None, 1))
    assert "no right" in error.what
    assert "grant memtui_reader" in error.do


def test_a_missing_extension_is_named(team: Team) -> None:
    team.execute("drop extension pg_trgm cascade")
    error = error_of(lambda: team.open().find(EVERY, None, 1))
    assert "pg_trgm" in error.what


def test_missing_tables_are_named(team: Team) -> None:
    team.execute("drop schema memtui cascade")
    error = error_of(lambda: team.open().find(EVERY, None, 1))
    assert "no tables" in error.what
    assert "memtui team init" in error.do


def test_a_missing_column_is_named(team: Team) -> None:
    store = team.open()
    team.execute("alter table memtui.memories drop column source")
    assert "source" in error_of(lambda: store.find(EVERY, None, 1)).what


def test_a_newer_schema_is_refused(team: Team) -> None:
    team.execute("update memtui.schema_version set version = 99")
    error = error_of(lambda: team.open().find(EVERY, None, 1))
    assert "99" in error.what
    assert error.do == "update memtui"


def test_an_unknown_service_is_named(team: Team) -> None:
    error = error_of(lambda: TeamStore(Path("postgres:nowhere"), "t").find(EVERY, None, 1))
    assert isinstance(error, NotConnected)
    assert "nowhere" in str(error)


def test_a_password_is_never_printed(team: Team) -> None:
    for address in (
        f"postgres://anna:{SECRET}@host/memory",
        f"postgres:anna:{SECRET}@host",
        f"postgres:host=x password={SECRET}",
    ):
        error = error_of(lambda address=address: TeamStore(Path(address), "t"))  # type: ignore[misc]
        assert isinstance(error, StoreError)
        assert "service" in error.what
    name = team.service()
    with open(team.server.services, "a") as file:
        file.write(f"[{name}-wrong]\nhost={team.server.folder}\ndbname=none\nuser=anna\n"
                   f"password={SECRET}\n")  # fmt: skip
    store = TeamStore(Path(f"postgres:{name}-wrong"), "t")
    assert isinstance(error_of(lambda: store.find(EVERY, None, 1)), NotConnected)


def test_a_connection_that_the_server_closed_is_opened_again(team: Team) -> None:
    store = team.open()
    add(store, "still here")
    team.execute("select pg_terminate_backend(pid) from pg_stat_activity where usename = 'anna'")
    assert len(store.find(EVERY, None, 9).memories) == 1
    team.execute("select pg_terminate_backend(pid) from pg_stat_activity where usename = 'anna'")
    add(store, "written at once")
    assert len(store.find(EVERY, None, 9).memories) == 2


def test_the_schema_may_be_run_again(team: Team) -> None:
    ref = add(team.open(), "kept")
    team.execute(read_schema())
    assert team.open().get([ref])


def test_without_a_superuser_init_says_what_to_do(server: Server) -> None:
    server.execute("postgres", "drop role if exists hoster", "create role hoster login createrole",
                   "create database hosted owner hoster")  # fmt: skip
    service = server.add_service("hosted", "hosted", "hoster")
    error = error_of(lambda: run_schema(service, read_schema()))
    assert "superuser" in str(error)
    run_schema(service, read_schema(one_team=True))
    store = TeamStore(Path(f"postgres:{service}"), "t")
    ref = add(store, "a team of its own")
    assert store.get([ref])
    store.close()
    with psycopg.connect(f"service={service}") as connection:
        connection.execute("drop schema memtui cascade")
