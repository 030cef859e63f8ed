"""The index over sessions: what was said is found, what is gone or secret is not."""

from __future__ import annotations

import json
import os
import resource
import sqlite3
import sys
import traceback
from collections.abc import Callable
from contextlib import closing
from datetime import UTC, datetime
from pathlib import Path

import pytest

from memtui import paths
from memtui.progress import Cancelled, Progress, silent
from memtui.query import parse_search
from memtui.search.index import session_index, session_worker
from memtui.search.index.session_index import Hit, Indexed, SessionIndex, read_message
from memtui.search.query_terms import analyze_terms
from memtui.search.session_search import find_said
from memtui.sessions import find_sessions
from tests.secrets_for_tests import TOKEN
from tests.unit.sessions.transcripts import (
    ANSWER,
    ROWS,
    SAID,
    STAMPS,
    WRITERS,
    claude_line,
    growing,
    write_lines,
)


class Home:
    """A home with sessions, and the index of one program over them."""

    def __init__(self, path: Path, program: str = "claude") -> None:
        self.path = path
        self.program = program
        self.cache = path / "cache"

    @property
    def index(self) -> SessionIndex:
        return SessionIndex(self.cache, self.program)

    def sessions(self) -> list[object]:
        return find_sessions([self.program], [], self.path, {}).sessions  # type: ignore[return-value]

    def update(self) -> Indexed:
        done = self.index.update(self.sessions())  # type: ignore[arg-type]
        assert done is not None
        return done

    def hits(self, text: str) -> list[Hit]:
        query = parse_search(text, datetime.now(UTC))
        terms = analyze_terms(query.terms)
        return self.index.search([*terms.optional, *terms.required], 50, query)

    def found(self, text: str) -> list[str]:
        messages = [read_message(hit, self.sessions()) for hit in self.hits(text)]  # type: ignore[arg-type]
        return [message.text if message else "changed" for message in messages]


def claude_file(home: Home, name: str = "5c0f") -> Path:
    return home.path / ".claude" / "projects" / "-srv-shop" / f"{name}.jsonl"


@pytest.mark.parametrize("name", WRITERS)
def test_words_of_every_program_are_found_and_read_at_their_place(
    tmp_path: Path, name: str
) -> None:
    home = Home(tmp_path, name)
    WRITERS[name](tmp_path)
    assert home.update().messages == 2
    assert home.found("invoice cent") == [SAID]
    assert home.found("integers") == [ANSWER]
    assert home.found("invoi") == [SAID]
    assert home.found('"euro cents"') == [SAID]
    assert home.found("git") == []
    assert home.update() == Indexed(0, 0)
    assert home.found("invoice cent") == [SAID]


def test_a_message_that_is_appended_is_found_without_reading_the_rest(tmp_path: Path) -> None:
    home = Home(tmp_path)
    file = WRITERS["claude"](tmp_path)
    home.update()
    with file.open("a", encoding="utf-8") as lines:
        lines.write(json.dumps(claude_line("user", "Ship on Fridays.", "u9", 9)) + "\n")
        lines.write('{"type": "user", "torn')
    assert home.update().messages == 1
    assert home.found("fridays") == ["Ship on Fridays."]
    assert home.found("invoices") == [SAID]


@pytest.mark.parametrize("name", WRITERS)
def test_an_index_that_follows_a_session_is_that_of_the_whole(tmp_path: Path, name: str) -> None:
    """Lines that replace, change or take back earlier ones included."""
    followed, whole = Home(tmp_path / "a", name), Home(tmp_path / "a", name)
    whole.cache = tmp_path / "whole"
    for _ in growing(WRITERS[name](followed.path)):
        followed.update()
    whole.update()
    for word in ("keep", "invoices", "noted", "wrong", "not", "expenses"):
        assert followed.hits(word) == whole.hits(word), word
    assert followed.found("noted") == [ANSWER]


@pytest.mark.parametrize("name", ["opencode", "openclaw"])
def test_of_a_database_only_the_sessions_that_changed_are_read_again(
    tmp_path: Path, name: str
) -> None:
    home = Home(tmp_path, name)
    file = WRITERS[name](tmp_path)
    table, column = ROWS[file.name]
    ((sessions, time),) = STAMPS[file.name]
    home.update()
    with closing(sqlite3.connect(file, isolation_level=None)) as program:
        program.execute(f"UPDATE {table} SET {column} = replace({column}, 'cents', 'pence')")
        home.update()
        assert home.hits("cents")  # the session does not say that it has changed
        program.execute(f"UPDATE {sessions} SET {time} = {time} + 1000")
        home.update()
        assert not home.hits("cents")
        assert home.found("pence integers") == [ANSWER.replace("cents", "pence")]
        program.execute(f"DELETE FROM {sessions}")
    home.update()
    assert not home.hits("pence")


def test_a_file_that_was_rewritten_or_removed_loses_its_old_words(tmp_path: Path) -> None:
    home = Home(tmp_path)
    WRITERS["claude"](tmp_path)
    other = claude_file(home, "ffff")
    write_lines(other, [claude_line("user", "Rounded to a cent.", "o1")])
    home.update()
    write_lines(claude_file(home), [claude_line("user", "Use dollars.", "u7")])
    other.unlink()
    home.update()
    assert home.found("euro") == home.found("rounded") == []
    assert home.found("dollars") == ["Use dollars."]


def test_a_hit_whose_file_changed_since_says_so(tmp_path: Path) -> None:
    home = Home(tmp_path)
    file = WRITERS["claude"](tmp_path)
    home.update()
    file.write_text(file.read_text("utf-8").replace("invoices", "expenses"), "utf-8")
    assert home.found("invoices") == ["changed"]


def test_the_copy_in_a_fork_is_found_once(tmp_path: Path) -> None:
    home = Home(tmp_path)
    file = WRITERS["claude"](tmp_path)
    home.update()
    fork = claude_file(home, "ffff")
    fork.write_bytes(file.read_bytes())
    assert home.update().messages == 0
    assert [hit.session for hit in home.hits("invoices")] == ["5c0f"]


def test_a_secret_is_in_no_byte_of_the_cache(tmp_path: Path) -> None:
    home = Home(tmp_path)
    text = f"The registry takes {TOKEN} as its token"
    write_lines(claude_file(home), [claude_line("user", text, "u1")])
    home.update()
    assert home.found("registry") == [text]
    written = b"".join(file.read_bytes() for file in home.cache.rglob("*") if file.is_file())
    for part in (TOKEN, TOKEN.lower(), TOKEN[4:], TOKEN[4:].lower()):
        assert part.encode() not in written
    assert home.found(TOKEN[4:]) == []


def test_what_is_forgotten_is_gone_for_good(tmp_path: Path) -> None:
    home = Home(tmp_path)
    file = WRITERS["claude"](tmp_path)
    home.update()
    before = file.read_bytes()
    home.index.forget("5c0f")
    assert home.found("invoices") == []
    written = b"".join(each.read_bytes() for each in home.cache.rglob("*.seg"))
    assert b"invoic" not in written
    assert file.read_bytes() == before


def test_the_folders_are_for_their_owner_only(tmp_path: Path) -> None:
    home = Home(tmp_path)
    WRITERS["claude"](tmp_path)
    home.update()
    for folder in (home.index.home, home.index.home / "whoosh"):
        assert folder.stat().st_mode & 0o077 == 0


@pytest.mark.parametrize("kind", ["*.seg", "*.toc", "files-*.json"])
def test_an_index_cut_at_any_byte_is_built_again(tmp_path: Path, kind: str) -> None:
    home = Home(tmp_path)
    WRITERS["claude"](tmp_path)
    home.update()
    (size,) = [file.stat().st_size for file in home.cache.rglob(kind)]
    for cut in range(0, size, max(1, size // 12)):
        (file,) = home.cache.rglob(kind)
        os.truncate(file, cut)
        home.hits("invoices")  # no error, whatever it finds
        home.update()
        assert home.found("invoices") == [SAID], cut


SPOILED: dict[str, Callable[[Path], object]] = {
    "grows": lambda file: _append(file, "Ship on Fridays."),
    "shrinks": lambda file: os.truncate(file, len(file.read_bytes()) // 2),
    "is replaced": lambda file: os.replace(_other(file), file),
    "is rewritten": lambda file: file.write_bytes(_other(file).read_bytes() * 9999),
    "is compressed": lambda file: file.rename(f"{file}.zst"),
    "is deleted": lambda file: file.unlink(),
    "becomes binary": lambda file: file.write_bytes(bytes(range(256)) * 64),
    "becomes a folder": lambda file: (file.unlink(), file.mkdir()),
}


@pytest.mark.parametrize("spoil", SPOILED.values(), ids=SPOILED)
@pytest.mark.parametrize("at", [1, 2])
def test_a_file_may_change_while_it_is_read(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, spoil: Callable[[Path], object], at: int
) -> None:
    """The next update has what the file holds by then, and of it everything."""
    monkeypatch.setattr(session_index, "ALIVE_EVERY", 1)
    home = Home(tmp_path)
    file = WRITERS["claude"](tmp_path)
    result = {"type": "tool_result", "tool_use_id": "t2", "content": "and so on " * 70_000}
    for number in range(3):  # more than is read at once
        _append(file, f"Message {number} of the shop.")
        _append(file, [result])
    write_lines(claude_file(home, "ffff"), [claude_line("user", "Of another session.", "o1")])
    sessions, calls = home.sessions(), 0

    def change(_: Progress) -> None:
        nonlocal calls
        calls += 1
        if calls == at:
            spoil(file)

    home.index.update(sessions, change)  # type: ignore[arg-type]
    home.update()
    assert home.found("another session") == ["Of another session."]
    followed = {word: home.hits(word) for word in ("shop", "invoices", "fridays", "elsewhere")}
    home.index.discard()
    home.update()
    for word, hits in followed.items():
        assert {hit.offset for hit in home.hits(word)} == {hit.offset for hit in hits}, word


def _append(file: Path, said: str | list[object]) -> None:
    with file.open("a", encoding="utf-8") as lines:
        id = said[:12] if isinstance(said, str) else "r"
        lines.write(json.dumps(claude_line("user", said, id, 9)) + "\n")


def _other(file: Path) -> Path:
    return write_lines(file.with_suffix(".new"), [claude_line("user", "Said elsewhere.", "e1")])


def test_notes_of_a_commit_that_never_came_do_not_count(tmp_path: Path) -> None:
    home = Home(tmp_path)
    file = WRITERS["claude"](tmp_path)
    home.update()
    with file.open("a", encoding="utf-8") as lines:
        lines.write(json.dumps(claude_line("user", "Ship on Fridays.", "u9", 9)) + "\n")
    notes = next(home.index.home.glob("files-*.json"))
    number = int(notes.stem.partition("-")[2])
    noted = json.loads(notes.read_text("ascii"))
    noted[str(file)][2] = file.stat().st_size
    noted[str(file)][3] = file.stat().st_mtime_ns
    (home.index.home / f"files-{number + 1}.json").write_text(json.dumps(noted), "ascii")
    home.update()
    assert home.found("fridays") == ["Ship on Fridays."]


def test_stopping_keeps_what_was_committed(tmp_path: Path) -> None:
    home = Home(tmp_path)
    WRITERS["claude"](tmp_path)
    home.update()
    write_lines(claude_file(home, "ffff"), [claude_line("user", "Ship on Fridays.", "o1")])
    with pytest.raises(Cancelled):
        home.index.update(home.sessions(), cancelled=lambda: True)  # type: ignore[arg-type]
    assert home.found("invoices") == [SAID]
    home.update()
    assert home.found("fridays") == ["Ship on Fridays."]


def test_of_two_writers_one_only_reads(tmp_path: Path) -> None:
    import fcntl

    home = Home(tmp_path)
    WRITERS["claude"](tmp_path)
    home.update()
    with (home.index.home / "lock").open("r+") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        assert home.index.update(home.sessions()) is None  # type: ignore[arg-type]
        assert home.found("invoices") == [SAID]


@pytest.mark.slow
def test_of_several_processes_each_sees_all_in_the_end(tmp_path: Path) -> None:
    home = Home(tmp_path)
    file = WRITERS["claude"](tmp_path)
    home.update()
    _append(file, "Ship on Fridays.")
    settings = tmp_path / "config.toml"
    settings.write_text('[sessions]\nprograms = ["claude"]\n', "utf-8")
    found = [_in_a_process(lambda: _update_and_find(home, settings)) for _ in range(3)]
    assert [os.waitstatus_to_exitcode(os.waitpid(each, 0)[1]) for each in found] == [0, 0, 0]
    assert home.found("fridays") == ["Ship on Fridays."]


def _update_and_find(home: Home, settings: Path) -> None:
    os.environ.update({"HOME": str(home.path), paths.CONFIG_VARIABLE: str(settings)})
    session_worker.work((str(home.cache), "claude"), silent)
    assert home.found("fridays") == ["Ship on Fridays."]


def _in_a_process(work: Callable[[], object]) -> int:
    """Its id; its status is 0 if the work raises nothing."""
    if process := os.fork():
        return process
    try:
        work()
    except BaseException:
        traceback.print_exc()
        os._exit(1)
    os._exit(0)


def test_times_of_the_query_count(tmp_path: Path) -> None:
    home = Home(tmp_path)
    WRITERS["claude"](tmp_path)
    home.update()
    assert home.hits("invoices since:2026-05-05") == []
    assert len(home.hits("invoices until:2026-05-05")) == 1


@pytest.mark.slow
def test_many_small_updates_leave_few_segments_and_every_message_once(tmp_path: Path) -> None:
    home = Home(tmp_path)
    said = [f"Invoice {number} is in cents." for number in range(20)]
    lines = [claude_line("user", text, f"u{at}", at) for at, text in enumerate(said)]
    for count in range(1, len(said) + 1):
        write_lines(claude_file(home), lines[:count])
        home.update()
    assert sorted(home.found("cents")) == sorted(said)
    assert len(list(home.cache.rglob("*.seg"))) <= 6


def test_a_rare_word_counts_more_than_a_frequent_one(tmp_path: Path) -> None:
    home = Home(tmp_path)
    often, rare = "cents cents cents cents taler", "cents taler taler"
    said = [*["only cents"] * 12, often, rare]
    lines = [claude_line("user", text, f"u{at}", at) for at, text in enumerate(said)]
    write_lines(claude_file(home), lines)
    home.update()
    assert home.found("cents taler") == [rare, often]
    assert len(home.hits("cents")) == len(said)
    assert home.found("cents")[0] == often


@pytest.mark.slow
def test_a_kill_at_any_point_of_indexing_leaves_nothing_half(tmp_path: Path) -> None:
    home = Home(tmp_path)
    WRITERS["claude"](tmp_path)
    home.update()
    later = [claude_line("user", f"Ship on day {n}.", f"o{n}", n) for n in range(4)]
    write_lines(claude_file(home, "ffff"), later)
    calls = 0
    while not _update_until(home, calls):
        calls += KILLED_EACH
        assert home.found("invoices") == [SAID]
        assert len(home.found("ship day")) in (0, len(later))
    home.update()
    assert home.found("invoices") == [SAID]
    assert len(home.found("ship day")) == len(later)


@pytest.mark.parametrize("stopped_at", [1, 3])
def test_a_large_file_is_written_in_parts_and_read_anew_if_it_was_not_finished(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, stopped_at: int
) -> None:
    home = Home(tmp_path)
    said = [f"Ship on day {number}." for number in range(6)]
    lines = [claude_line("user", text, "", at) for at, text in enumerate(said)]
    write_lines(claude_file(home), [{**line, "uuid": ""} for line in lines])
    for name, value in (("FIRST_COMMIT", 1), ("LAST_COMMIT", 1), ("ALIVE_EVERY", 1)):
        monkeypatch.setattr(session_index, name, value)
    calls = 0

    def stop(_: Progress) -> None:
        nonlocal calls
        calls += 1
        if calls > stopped_at + 1:
            raise Cancelled

    with pytest.raises(Cancelled):
        home.index.update(home.sessions(), stop)  # type: ignore[arg-type]
    assert len(home.found("ship day")) == stopped_at
    home.update()
    assert sorted(home.found("ship day")) == said


def test_only_the_files_that_changed_are_looked_at(tmp_path: Path) -> None:
    home = Home(tmp_path)
    file = WRITERS["claude"](tmp_path)
    home.update()
    other = write_lines(claude_file(home, "ffff"), [claude_line("user", "Ship it.", "o1")])
    found = find_sessions(["claude"], [], tmp_path, {}, only=[str(other)]).sessions
    assert [each.path for each in found] == [other]
    done = home.index.update(found, only=[str(other)])
    assert done == Indexed(1, 1)
    assert (home.found("ship"), home.found("invoices")) == (["Ship it."], [SAID])
    file.unlink()
    home.index.update([], only=[str(file)])
    assert (home.found("ship"), home.found("invoices")) == (["Ship it."], [])


def test_one_session_of_a_database_is_forgotten_by_the_next_update_too(tmp_path: Path) -> None:
    """As where the disk was full when it was to be forgotten."""
    home = Home(tmp_path, "hermes")
    WRITERS["hermes"](tmp_path)
    home.update()
    session = home.hits("invoices")[0].session
    left = [each for each in home.sessions() if each.id != session]  # type: ignore[attr-defined]
    home.index.update(left)  # type: ignore[arg-type]
    assert home.hits("invoices") == []
    assert b"invoic" not in b"".join(each.read_bytes() for each in home.cache.rglob("*.seg"))


@pytest.mark.slow
@pytest.mark.parametrize("room", [0, 100, 700])
def test_on_a_full_disk_nothing_is_half_and_the_next_run_goes_on(tmp_path: Path, room: int) -> None:
    home = Home(tmp_path)
    WRITERS["claude"](tmp_path)
    home.update()
    later = [claude_line("user", f"Ship on day {n}.", f"o{n}", n) for n in range(40)]
    write_lines(claude_file(home, "ffff"), later)
    assert _with_room_for(room, home.update) == "OSError"
    assert home.found("invoices") == [SAID]
    assert home.found("ship") == []
    assert _with_room_for(room, lambda: home.index.forget("5c0f")) == "OSError"
    assert home.found("invoices") == [SAID]
    home.update()
    assert len(home.found("ship day")) == len(later)
    home.index.forget("5c0f")
    assert home.found("invoices") == []


def _with_room_for(size: int, work: Callable[[], object]) -> str:
    """Work in a process that can write files of this size; returns the name of what it raised."""
    process = os.fork()
    if process == 0:
        resource.setrlimit(resource.RLIMIT_FSIZE, (size, size))
        try:
            work()
        except OSError:
            os._exit(1)
        except BaseException:
            os._exit(2)
        os._exit(0)
    return ("", "OSError", "another error")[os.waitstatus_to_exitcode(os.waitpid(process, 0)[1])]


KILLED_EACH = 1500


def _update_until(home: Home, calls: int) -> bool:
    """Update in a process that ends with this call of a function; whether it came to its end."""
    process = os.fork()
    if process == 0:
        left = calls

        def count(*_: object) -> None:
            nonlocal left
            left -= 1
            if left < 0:
                os._exit(9)

        sys.setprofile(count)
        home.update()
        os._exit(0)
    return os.waitpid(process, 0)[1] == 0


def test_a_phrase_is_found_behind_any_number_of_messages_with_its_words(tmp_path: Path) -> None:
    home = Home(tmp_path)
    many = [
        claude_line("user", "banana and apple, banana then apple", f"m{n}", n) for n in range(400)
    ]
    write_lines(claude_file(home), many)
    write_lines(claude_file(home, "77aa"), [claude_line("user", "one apple banana", "p1", 1)])
    home.update()
    for text in ('"apple banana"', "apple banana NOT then"):
        query = parse_search(text, datetime.now(UTC))
        said = find_said(home.cache, ["claude"], query, 20, home.sessions())  # type: ignore[arg-type]
        assert [message.text for _, message in said if message] == ["one apple banana"], text
