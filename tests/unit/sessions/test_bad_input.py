"""Sessions on a disk that is not as it should be: what can be read is, and the rest is named."""

from __future__ import annotations

import os
import shutil
import sqlite3
from collections.abc import Callable
from contextlib import closing, suppress
from datetime import UTC, datetime
from pathlib import Path

import pytest

from memtui.errors import UnreadableFile
from memtui.query import parse_search
from memtui.search.index.session_index import SessionIndex
from memtui.search.query_terms import analyze_terms
from memtui.sessions import Message, Reading, find_program, find_sessions
from memtui.stores.sqlite import connection
from tests.unit.sessions.transcripts import (
    ROWS,
    SAID,
    WRITERS,
    change_texts,
    change_values,
    claude_line,
    write_lines,
)

NOW = datetime(2026, 11, 27, tzinfo=UTC)


def read(home: Path, name: str) -> list[Message]:
    session = find_sessions([name], [], home, {}).sessions[0]
    return list(find_program(name).messages(session, Reading()))


def _folder_loop(file: Path) -> None:
    (file.parent / "loop").symlink_to(file.parent.parent, target_is_directory=True)


def _file_loop(file: Path) -> None:
    (file.parent / "aaaa.jsonl").symlink_to(file.parent / "aaaa.jsonl")


def _pipe(file: Path) -> None:
    os.mkfifo(file.parent / "aaaa.jsonl")


def _binary(file: Path) -> None:
    (file.parent / "aaaa.jsonl").write_bytes(bytes(range(256)) * 64)


def _torn(file: Path) -> None:
    with file.open("ab") as end:
        end.write(b'{"type":"user","message":{"content":"half')


def _empty(file: Path) -> None:
    (file.parent / "aaaa.jsonl").touch()


@pytest.mark.parametrize(
    "spoil", [_folder_loop, _file_loop, _pipe, _binary, _torn, _empty], ids=lambda f: f.__name__
)
def test_what_can_be_read_is(tmp_path: Path, spoil: Callable[[Path], None]) -> None:
    file = WRITERS["claude"](tmp_path)
    spoil(file)
    sessions = find_sessions(["claude"], [], tmp_path, {}).sessions
    (session,) = [each for each in sessions if each.id == "5c0f"]
    texts = [each.text for each in find_program("claude").messages(session, Reading())]
    assert texts.count(SAID) == 1
    assert not any("half" in text for text in texts)


@pytest.mark.parametrize("name", WRITERS)
def test_half_a_character_and_broken_utf_8_cost_no_message(tmp_path: Path, name: str) -> None:
    """A program that cuts a text may cut a character, which JSON keeps as an escape."""
    file = WRITERS[name](tmp_path)
    before = len(read(tmp_path, name))
    change_texts(file, lambda text: text.replace("cents", "cents \ud83d"))
    if file.name not in ROWS:
        file.write_bytes(file.read_bytes().replace(b"euro", b"\xe9uro"))
    messages = read(tmp_path, name)
    assert len(messages) == before
    assert all("cents \ufffd" in each.text or "cents ?" in each.text for each in messages[:2])


@pytest.mark.parametrize("name", WRITERS)
def test_no_value_of_any_field_is_an_error(tmp_path: Path, name: str) -> None:
    values = [None, True, -1, 1e308, 10**30, "", "\0", "x" * 99, [], {}, [[None]], {"a": [{}]}]
    file = WRITERS[name](tmp_path)
    original = file.read_bytes()
    for number, value in enumerate(values):
        for every in (2, 3):
            file.write_bytes(original)
            change_values(file, value, lambda at: (at + number) % every == 0)  # noqa: B023
            for session in find_sessions([name], [], tmp_path, {}).sessions:
                with suppress(UnreadableFile):
                    list(find_program(name).messages(session, Reading()))
        if number % 3 == 0:
            index = SessionIndex(tmp_path / "cache", name)
            index.update(find_sessions([name], [], tmp_path, {}).sessions)


@pytest.mark.parametrize("name", WRITERS)
def test_a_file_cut_at_any_byte_or_of_other_bytes_is_read_or_named(
    tmp_path: Path, name: str
) -> None:
    file = WRITERS[name](tmp_path)
    original = file.read_bytes()
    cuts = [original[:cut] for cut in range(0, len(original), max(1, len(original) // 30))]
    for content in (*cuts, bytes(range(256)) * 64, original + b"\xff" * 99, original * 2):
        file.write_bytes(content)
        found = find_sessions([name], [], tmp_path, {})
        for session in found.sessions:
            with suppress(UnreadableFile):
                list(find_program(name).messages(session, Reading()))


@pytest.mark.parametrize("name", ["hermes", "opencode", "openclaw"])
def test_a_row_that_is_too_large_is_counted_and_the_others_read(tmp_path: Path, name: str) -> None:
    file = WRITERS[name](tmp_path)
    before = read(tmp_path, name)
    table, column = ROWS[file.name]
    with closing(sqlite3.connect(file, isolation_level=None)) as program:
        last = f"rowid = (SELECT MAX(rowid) FROM {table})"
        program.execute(
            f"UPDATE {table} SET {column} = ? WHERE {last}", ("x" * connection.MAX_VALUE_BYTES * 2,)
        )
    (session,) = find_sessions([name], [], tmp_path, {}).sessions
    reading = Reading()
    messages = list(find_program(name).messages(session, reading))
    assert [each.text for each in messages[:2]] == [each.text for each in before[:2]]
    assert reading.too_long == 1


def test_a_session_in_two_roots_is_one(tmp_path: Path) -> None:
    file = WRITERS["codex"](tmp_path)
    archive = tmp_path / ".codex" / "archived_sessions"
    archive.mkdir()
    shutil.copy(file, archive)
    sessions = find_sessions(["codex"], [], tmp_path, {}).sessions
    assert [each.id for each in sessions] == ["0199"]
    index = SessionIndex(tmp_path / "cache", "codex")
    index.update(sessions)
    query = parse_search("invoices", NOW)
    assert len(index.search(analyze_terms(query.terms).optional, 9, query)) == 1


def test_clocks_that_jump_keep_the_order_of_the_file(tmp_path: Path) -> None:
    times = ["2026-05-04T08:00:00Z", "2999-01-01T00:00:00Z", "1901-01-01T00:00:00Z", "", 1e300]
    lines = [
        claude_line("user", f"turn {number}", f"u{number}", timestamp=time)
        for number, time in enumerate(times)
    ]
    write_lines(tmp_path / ".claude" / "projects" / "p" / "5c0f.jsonl", lines)
    (session,) = find_sessions(["claude"], [], tmp_path, {}).sessions
    messages = list(find_program("claude").messages(session, Reading()))
    assert [each.text for each in messages] == [f"turn {number}" for number in range(5)]
    index = SessionIndex(tmp_path / "cache", "claude")
    index.update([session])
    for line, count in (("turn", 5), ("turn since:2026", 2), ("turn until:2025", 1)):
        query = parse_search(line, NOW)
        assert len(index.search(analyze_terms(query.terms).optional, 9, query)) == count


@pytest.mark.parametrize("mode", ["DELETE", "WAL"])
def test_a_database_that_its_program_has_locked_is_read(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, mode: str
) -> None:
    monkeypatch.setattr(connection, "BUSY_SECONDS", 0.05)
    file = WRITERS["hermes"](tmp_path)
    with closing(sqlite3.connect(file, isolation_level=None)) as program:
        program.execute(f"PRAGMA journal_mode = {mode}")
        program.execute("PRAGMA locking_mode = EXCLUSIVE")
        program.execute("BEGIN EXCLUSIVE")
        program.execute("UPDATE messages SET content = 'not committed'")
        before = sorted(path.name for path in file.parent.iterdir())
        (session,) = find_sessions(["hermes"], [], tmp_path, {}).sessions
        texts = [each.text for each in find_program("hermes").messages(session, Reading())]
        assert SAID in texts
        assert "not committed" not in texts
        assert sorted(path.name for path in file.parent.iterdir()) == before
        program.execute("ROLLBACK")


def test_what_cannot_be_read_for_now_stays_indexed(tmp_path: Path) -> None:
    file = WRITERS["hermes"](tmp_path)
    WRITERS["claude"](tmp_path)
    index = SessionIndex(tmp_path / "cache", "hermes")
    index.update(find_sessions(["hermes"], [], tmp_path, {}).sessions)
    file.write_bytes(b"not a database " * 99)
    broken = find_sessions(["hermes", "claude"], [], tmp_path, {})
    assert [each.program for each in broken.sessions] == ["claude"]
    assert [error.where for error in broken.unreadable] == [str(file)]
    index.update([], unreadable=[error.where for error in broken.unreadable])
    query = parse_search("invoices", NOW)
    assert len(index.search(analyze_terms(query.terms).optional, 9, query)) == 1
    index.update([])
    assert not index.search(analyze_terms(query.terms).optional, 9, query)
