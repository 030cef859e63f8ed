"""Every wait for a file, a lock or another process ends, whatever the other side does."""

from __future__ import annotations

import fcntl
import json
import os
import socket
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path
from threading import Event
from typing import Any

import pytest

from memtui import paths
from memtui.changes import Act, Change, Kind, record_edit, text_edit
from memtui.child_processes import run_worker
from memtui.errors import (
    Conflict,
    MemtuiError,
    ModelError,
    NotConnected,
    SaveError,
    WorkerError,
)
from memtui.files import save_hooks, save_transaction, staging
from memtui.files.locking import locked
from memtui.files.reading import TEMPORARY_MARK
from memtui.files.save_hooks import NullRecorder
from memtui.files.save_transaction import commit
from memtui.journal import recovery
from memtui.json_server import JsonServer
from memtui.library import Library
from memtui.paths import read_private
from memtui.progress import silent
from memtui.search.index import session_index, session_worker
from memtui.search.index.session_index import SessionIndex
from memtui.stores import accesses, registry
from memtui.stores.format import Format
from memtui.stores.values import utc_now
from memtui.testing.fixtures import sample, time_limit
from memtui.tui import jobs, terminal

SECONDS = 60.0
"""What hangs for longer fails, also on a machine that does much else."""


def format_named(name: str) -> Format:
    known = registry.format_of(name)
    assert known is not None
    return known


@pytest.fixture(autouse=True)
def limited() -> Iterator[None]:
    with time_limit(SECONDS):
        yield
    save_hooks.install(None)


def once_at(point: str, work: Callable[[], object]) -> None:
    """Call this when a save passes the point for the first time."""
    left = [work]

    def hook(passed: str) -> None:
        if passed == point and left:
            left.pop()()

    save_hooks.install(hook)


@pytest.mark.parametrize("ends_as", [None, '[{"id": "half'], ids=["gone", "half written"])
def test_a_file_that_is_left_unfinished_after_a_merge(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, ends_as: str | None
) -> None:
    path, recorder = tmp_path / "graph.jsonl", NullRecorder(tmp_path / "state")
    lines = [json.dumps({"type": "entity", "name": name, "observations": []}) for name in "abc"]
    path.write_text(lines[0] + "\n")
    edit = text_edit(str(path), lines[0] + "\n", "\n".join(lines[:2]) + "\n", Kind.GRAPH)
    once_at("exchange", lambda: path.write_text(f"{lines[0]}\n{lines[2]}\n"))
    pauses: list[float] = []

    def sleep(seconds: float) -> None:
        if not pauses:
            path.unlink()
            if ends_as is not None:
                path.write_text(ends_as)
        pauses.append(seconds)

    monkeypatch.setattr(save_transaction.time, "sleep", sleep)
    commit([edit], recorder)
    assert (path.read_text() if path.exists() else None) == ends_as, "it stays as the other left it"
    most = save_transaction.MAX_UNFINISHED + save_transaction.MAX_CHECKS
    assert len(pauses) <= most
    with locked(path, recorder.state, patience=0):
        pass


def clear_up_beside(monkeypatch: pytest.MonkeyPatch, times: int) -> None:
    """Let another memtui lock each folder of the next writes, as a leftover, once it is made."""
    mkdir, locks = os.mkdir, list[int]()

    def made_and_locked(path: str, mode: int = 0o777) -> None:
        mkdir(path, mode)
        if TEMPORARY_MARK in str(path) and len(locks) < times:
            locks.append(os.open(path, os.O_RDONLY))
            fcntl.flock(locks[-1], fcntl.LOCK_EX)

    monkeypatch.setattr(staging.os, "mkdir", made_and_locked)


def test_an_export_beside_a_memtui_that_clears_up(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    place = tmp_path / "export.json"
    clear_up_beside(monkeypatch, times=1)
    staging.write_file(place, [b"[]"])
    assert place.read_bytes() == b"[]"


def test_an_export_beside_a_memtui_that_never_ends_clearing_up(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    place = tmp_path / "export.json"
    clear_up_beside(monkeypatch, times=10_000)
    with pytest.raises(SaveError, match="busy") as caught:
        staging.write_file(place, [b"[]"])
    assert caught.value.where == str(place)
    assert not place.exists()


def test_a_file_that_a_program_writes_at_each_merge(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path, recorder = tmp_path / "graph.jsonl", NullRecorder(tmp_path / "state")
    line = json.dumps({"type": "entity", "name": "a", "observations": []}) + "\n"
    path.write_text(line)
    edit = text_edit(str(path), line, line + line.replace("a", "b", 1), Kind.GRAPH)
    numbers = iter(range(1_000_000))

    def hook(point: str) -> None:
        if point == "exchange":
            more = {"type": "entity", "name": f"n{next(numbers)}", "observations": []}
            path.write_text(line + json.dumps(more) + "\n")

    monkeypatch.setattr(save_transaction, "WATCH_SECONDS", 0.05)
    monkeypatch.setattr(save_transaction, "LONGEST_MERGING", 0.2)
    save_hooks.install(hook)
    with pytest.raises(SaveError, match="another program keeps writing"):
        commit([edit], recorder)
    save_hooks.install(None)
    with locked(path, recorder.state, patience=0):
        pass


def test_a_pipe_that_nobody_reads(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    monkeypatch.setattr(staging, "READER_SECONDS", 0.1)
    with pytest.raises(SaveError):
        staging.write_file(pipe, [b"x"])
    monkeypatch.setattr(staging, "READER_SECONDS", SECONDS)
    with ThreadPoolExecutor() as pool:
        written = pool.submit(staging.write_file, pipe, [b"x" * 200_000])
        assert len(pipe.read_bytes()) == 200_000
        written.result()


def test_a_pipe_in_place_of_a_small_file_of_memtuis_own(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "session.json")
    assert read_private(tmp_path / "session.json") == {}


class Dripping(BaseHTTPRequestHandler):
    """Answers byte by byte, without an end."""

    def do_POST(self) -> None:
        self.send_response(200)
        self.end_headers()
        with suppress(OSError):
            while True:
                self.wfile.write(b" ")
                self.wfile.flush()
                time.sleep(0.01)

    def log_message(self, *_: object) -> None:
        """Print nothing."""


def test_a_server_that_never_ends_its_answer() -> None:
    with HTTPServer(("127.0.0.1", 0), Dripping) as server, ThreadPoolExecutor() as pool:
        pool.submit(server.handle_request)
        url = f"http://127.0.0.1:{server.server_port}"
        asked = JsonServer(url, setting="model", error=ModelError, time_limit=0.2)
        with pytest.raises(ModelError, match="no answer"):
            asked.post("/x", {})


def test_a_log_that_is_written_again_at_each_attempt_to_recover_it(tmp_path: Path) -> None:
    path, recorder = tmp_path / "notes.md", NullRecorder(tmp_path / "state")
    path.write_text("one\n")
    with path.open("a") as opened:
        commit([text_edit(str(path), "one\n", "one\ntwo\n")], recorder)
        opened.write("late\n")
    numbers = iter(range(10_000))

    def hook(point: str) -> None:
        if point == "begin":
            path.write_text(f"{next(numbers)}\n")

    save_hooks.install(hook)
    (found,) = recovery.recover_late_writes(path, recorder)
    assert not found.is_recovered
    assert found.backup.read() == b"one\nlate\n"


def test_a_worker_that_says_nothing_more_and_does_not_end(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "lasting_worker.py").write_text(
        "import os, time\nos.close(1)\nos.close(2)\ntime.sleep(1000)\n"
    )
    monkeypatch.setenv("PYTHONPATH", str(tmp_path))
    monkeypatch.setattr("memtui.child_processes.ENDING_LIMIT", 0.01)
    with pytest.raises(WorkerError, match="ended early"):
        run_worker("lasting_worker")


# ---- named pipes that nobody writes to ----------------------------------------------------------


@pytest.mark.parametrize("suffix", ["-journal", "-wal"])
def test_a_pipe_in_place_of_a_log_of_a_database(tmp_path: Path, suffix: str) -> None:
    place = sample(format_named("engram"), tmp_path / "store")
    database = next(place.rglob("*.db"))
    before = database.read_bytes()
    os.mkfifo(f"{database}{suffix}")
    Path(f"{database}-shm").touch()
    library = Library.open([place], state=tmp_path / "state")
    library.load()
    (store,) = library.snapshot.stores
    found = library.memories(store.label)
    assert bool(found) != bool(store.unreadable), "without a log the database is read by itself"
    for memory in found[:1]:
        change = Change(Act.EDIT, store.label, memory.ref, {"content": "Gulls"})
        with pytest.raises(MemtuiError, match="is not a file"):
            library.apply(library.plan([change]))
    assert database.read_bytes() == before


def test_a_pipe_in_place_of_the_sidecar(tmp_path: Path) -> None:
    place = sample(format_named("hermes"), tmp_path / "store")
    library = Library.open([place], state=tmp_path / "state")
    library.load()
    memory = library.memories(library.stores[0].label)[0]
    sidecar = library.stores[0].root / ".memtui" / "sidecar.jsonl"
    sidecar.parent.mkdir(exist_ok=True)
    sidecar.unlink(missing_ok=True)
    os.mkfifo(sidecar)
    library.history(memory)


# ---- locks that another process never gives back -----------------------------------------------


def hold(path: Path) -> int:
    """Lock a file or folder, as another process would; returns its descriptor."""
    is_folder = path.is_dir()
    descriptor = os.open(path, os.O_RDONLY if is_folder else os.O_RDWR | os.O_CREAT)
    fcntl.flock(descriptor, fcntl.LOCK_EX)
    return descriptor


def test_a_folder_of_small_files_that_is_locked(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(paths, "LOCK_TRIES", 3)
    held = hold(tmp_path)
    with paths.sole_writer(tmp_path):
        (tmp_path / "written").touch()
    os.close(held)


def test_an_index_of_sessions_that_is_locked(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setattr(session_index, "LONGEST_WAIT", 0.2)
    monkeypatch.setattr(session_worker, "LONGEST_WAIT", 0.2)
    index = SessionIndex(tmp_path / "cache", "claude")
    assert index.update([]) is not None
    held = hold(index.home / "lock")
    index.forget("a session")
    done = session_worker.work([str(tmp_path / "cache"), "claude"], silent)
    assert done == {"files": 0, "messages": 0, "unreadable": []}
    os.close(held)


def test_a_file_that_stays_half_written(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(save_transaction, "SETTLING", 0.05)
    path = tmp_path / "items.json"
    path.write_text('[{"id": "1", "content": "a')
    edit = record_edit(str(path), (), "id", "1", '{"id": "1"}', '{"id": "1", "content": "b"}')
    with pytest.raises(MemtuiError):
        commit([edit], NullRecorder(tmp_path / "state"))
    assert path.read_text() == '[{"id": "1", "content": "a'


def test_counts_that_another_program_changes_each_time(tmp_path: Path) -> None:
    place = sample(format_named("hermes"), tmp_path / "store")
    library = Library.open([place], state=tmp_path / "state")
    library.load()
    store = library.stores[0]
    memory = library.memories(store.label)[0]
    tries = []

    class Changed:
        """A store whose counts are others whenever they are to be written."""

        label, root = store.label, store.root

        def plan_accesses(self, *_: object) -> list[object]:
            return [1]

        def apply(self, *_: object) -> None:
            tries.append(1)
            raise Conflict("the counts have changed")

    changed: Any = Changed()
    counted, faults = accesses.count_accesses(
        [memory.ref], [changed], library, utc_now(), tmp_path / "state"
    )
    assert counted == 0
    assert isinstance(faults[store.label], Conflict)
    assert len(tries) == accesses.MAX_TRIES


# ---- programs that do not end --------------------------------------------------------------------


def test_a_tool_for_copying_that_hangs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(terminal, "TOOL_SECONDS", 0.2)
    tool = tmp_path / "xclip"
    tool.write_text("#!/bin/sh\nexec sleep 1000\n")
    tool.chmod(0o755)
    environ = {"PATH": f"{tmp_path}:/usr/bin:/bin", "DISPLAY": ":9", "TERM": "linux"}
    assert not terminal.copy_with_tools("a", environ)


def test_a_watcher_that_never_begins(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    begun, may_end = Event(), Event()

    def watch(*_: object, **__: object) -> Iterator[object]:
        begun.set()
        may_end.wait(SECONDS)
        return iter(())

    monkeypatch.setattr(jobs, "LONGEST_BEGIN", 0.1)
    monkeypatch.setattr("watchfiles.watch", watch)
    watcher = jobs.FileWatcher([tmp_path], lambda _: None)
    assert begun.wait(SECONDS)
    watcher.wait_until_watching()
    may_end.set()
    watcher.end()


@pytest.mark.slow
def test_a_server_of_a_team_that_says_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """libpq waits for two seconds at least."""
    connection = pytest.importorskip("memtui.team.connection")
    with socket.create_server(("127.0.0.1", 0)) as silent_server:
        port = silent_server.getsockname()[1]
        services = tmp_path / "services.conf"
        services.write_text(f"[quiet]\nhost=127.0.0.1\nport={port}\ndbname=x\nuser=x\n")
        monkeypatch.setenv("PGSERVICEFILE", str(services))
        monkeypatch.setattr(connection, "CONNECT_SECONDS", 2)
        with pytest.raises(NotConnected):
            connection.open_connection("quiet")
