"""Each program's sessions are read as one stream, and are not touched."""

from __future__ import annotations

import json
import os
import sqlite3
from pathlib import Path

import pytest

from memtui.errors import UnreadableFile
from memtui.sessions import PROGRAMS, Kind, Message, Reading, Role, find_sessions, survey
from tests.unit.sessions.transcripts import (
    ANSWER,
    PROJECT,
    RESULT,
    SAID,
    WITHOUT_CALLS,
    WRITERS,
    claude_line,
    cline_cli,
    openclaw_lines,
    opencode_2,
    write_lines,
)

every_program = pytest.mark.parametrize("name", WRITERS)


def read(home: Path, name: str) -> tuple[list[Message], Reading]:
    session = find_sessions([name], [], home, {}).sessions[0]
    reading = Reading()
    return list(PROGRAMS[name].messages(session, reading)), reading


def test_every_program_has_an_invented_session() -> None:
    assert set(WRITERS) == set(PROGRAMS)


@every_program
def test_a_session_is_one_stream_of_messages(tmp_path: Path, name: str) -> None:
    WRITERS[name](tmp_path)
    messages, reading = read(tmp_path, name)
    told = [(message.role, message.kind, message.text) for message in messages]
    expected = [(Role.USER, Kind.TEXT, SAID), (Role.ASSISTANT, Kind.TEXT, ANSWER)]
    if name not in WITHOUT_CALLS:
        expected.append((Role.ASSISTANT, Kind.CALL, "git diff"))
    assert told == [*expected, (Role.TOOL, Kind.RESULT, RESULT)]
    assert [message.is_from_person for message in messages] == [True, *[False] * len(told[1:])]
    assert reading.skipped == 0


@every_program
def test_a_result_names_its_call(tmp_path: Path, name: str) -> None:
    WRITERS[name](tmp_path)
    calls = [message.call for message in read(tmp_path, name)[0] if message.call]
    if name not in WITHOUT_CALLS:
        assert [call.id for call in calls] == ["t1", "t1"]
        assert calls[0].arguments == {"command": "git diff"}


@every_program
def test_the_list_says_project_and_first_words(tmp_path: Path, name: str) -> None:
    WRITERS[name](tmp_path)
    session = find_sessions([name], [], tmp_path, {}).sessions[0]
    assert (session.cwd, session.project) == (PROJECT, "shop")
    assert session.title == SAID or name in ("hermes", "opencode")
    assert session.size > 0
    if name != "cline":  # its messages carry no time
        assert session.started is not None


@every_program
def test_reading_changes_no_file_and_makes_none(tmp_path: Path, name: str) -> None:
    def state() -> dict[str, tuple[int, bytes]]:
        files = (file for file in tmp_path.rglob("*") if file.is_file())
        return {str(file): (file.stat().st_mtime_ns, file.read_bytes()) for file in files}

    WRITERS[name](tmp_path)
    before = state()
    read(tmp_path, name)
    assert state() == before


@every_program
def test_a_survey_counts_without_reading(tmp_path: Path, name: str) -> None:
    file = WRITERS[name](tmp_path)
    size = file.stat().st_size
    file.chmod(0)
    held = survey(PROGRAMS[name], tmp_path, {})
    assert (held.files, held.size) == (1, size)


@every_program
def test_a_link_to_itself_and_a_second_root_change_nothing(tmp_path: Path, name: str) -> None:
    file = WRITERS[name](tmp_path)
    (file.parent / "circle").symlink_to(file.parent)
    assert len(find_sessions([name, name], [], tmp_path, {}).sessions) in (1, 2)
    assert len(find_sessions([name], [], tmp_path, {}).sessions) == 1


def test_only_what_is_turned_on_is_read_and_a_project_is_left_out(tmp_path: Path) -> None:
    for name in ("claude", "codex"):
        WRITERS[name](tmp_path)
    assert find_sessions([], [], tmp_path, {}).sessions == []
    assert [s.program for s in find_sessions(["codex"], [], tmp_path, {}).sessions] == ["codex"]
    for pattern in ("shop", "/srv/*", PROJECT):
        assert find_sessions(["claude", "codex"], [pattern], tmp_path, {}).sessions == []


def test_a_pipe_in_place_of_a_session_is_named_and_never_waited_for(tmp_path: Path) -> None:
    file = WRITERS["claude"](tmp_path)
    file.unlink()
    os.mkfifo(file)
    found = find_sessions(["claude"], [], tmp_path, {})
    assert found.sessions == []
    assert isinstance(found.unreadable[0], UnreadableFile)


FAILED = {
    "claude": ('"type": "tool_result",', '"type": "tool_result", "is_error": true,'),
    "cline": ('"type": "tool_result",', '"type": "tool_result", "is_error": true,'),
    "pi": ('"role": "toolResult",', '"role": "toolResult", "isError": true,'),
    "gemini": ('"id": "t1",', '"id": "t1", "status": "error",'),
    "qwen": ('{"output": ', '{"error": '),
    "copilot": ('"result": {"content": ', '"error": {"message": '),
}
"""Program -> how its transcript changes when a call fails."""


@pytest.mark.parametrize("name", FAILED)
def test_the_result_of_a_call_that_failed_says_so(tmp_path: Path, name: str) -> None:
    file = WRITERS[name](tmp_path)
    file.write_text(file.read_text("utf-8").replace(*FAILED[name]), "utf-8")
    assert read(tmp_path, name)[0][-1].text == f"error: {RESULT}"


def test_compressed_sessions_are_counted_unless_they_are_there_uncompressed(tmp_path: Path) -> None:
    file = WRITERS["codex"](tmp_path)
    for name in (f"{file.name}.zst", "rollout-1.jsonl.zst", "rollout-2.jsonl.zst"):
        (file.parent / name).write_bytes(b"(\xb5/\xfd")
    found = find_sessions(["codex"], [], tmp_path, {})
    assert len(found.sessions) == 1
    assert [str(each) for each in found.unreadable] == [
        f"{tmp_path}/.codex/sessions: 2 sessions are compressed with zstd, and not read"
    ]


# ---- Claude Code --------------------------------------------------------------------------------


def claude_messages(home: Path, lines: list[object]) -> list[Message]:
    write_lines(home / ".claude" / "projects" / "-srv-shop" / "5c0f.jsonl", lines)
    return read(home, "claude")[0]


def test_a_streamed_text_counts_once_in_its_longest_form(tmp_path: Path) -> None:
    def streamed(text: str, uuid: str) -> dict[str, object]:
        content = [{"type": "text", "text": text}]
        return claude_line("assistant", content, uuid, message={"id": "msg_1"})

    lines = [streamed("No", "a"), streamed("Noted", "b"), streamed("Noted.", "c")]
    messages = claude_messages(tmp_path, lines)
    assert [(message.text, message.id) for message in messages] == [("Noted.", "a")]


def test_a_summary_is_never_what_a_person_said(tmp_path: Path) -> None:
    lines = [
        claude_line("user", SAID, "u1"),
        {"type": "system", "subtype": "compact_boundary", "uuid": "s"},
        claude_line("user", "The person wants cents.", "u2", isCompactSummary=True),
    ]
    messages = claude_messages(tmp_path, lines)
    assert [message.kind for message in messages] == [Kind.TEXT, Kind.SUMMARY]
    assert [message.text for message in messages if message.is_from_person] == [SAID]


def test_the_user_of_a_subagent_is_no_person(tmp_path: Path) -> None:
    folder = tmp_path / ".claude" / "projects" / "-srv-shop" / "5c0f" / "subagents"
    write_lines(folder / "agent-1.jsonl", [claude_line("user", "Look.", "u", isSidechain=True)])
    session = find_sessions(["claude"], [], tmp_path, {}).sessions[0]
    assert (session.parent, session.is_sidechain) == ("5c0f", True)
    assert not next(iter(PROGRAMS["claude"].messages(session, Reading()))).is_from_person


# ---- Codex ---------------------------------------------------------------------------------------


def test_the_copy_that_a_fork_begins_with_has_the_same_ids(tmp_path: Path) -> None:
    original = WRITERS["codex"](tmp_path)
    lines = original.read_text("utf-8").splitlines(keepends=True)
    fork = original.with_name("rollout-2026-05-05T08-15-00-0200.jsonl")
    meta = lines[0].replace('"0199"', '"0200", "forked_from_id": "0199"')
    fork.write_text("".join((meta, *lines)), "utf-8")
    found = {each.id: each for each in find_sessions(["codex"], [], tmp_path, {}).sessions}
    assert found["0200"].parent == "0199"
    ids = [
        [message.id for message in PROGRAMS["codex"].messages(session, Reading())]
        for session in found.values()
    ]
    assert ids[0] == ids[1]
    assert all(ids[0])


def test_the_answer_that_is_a_summary_is_told_once_as_a_summary(tmp_path: Path) -> None:
    file = WRITERS["codex"](tmp_path)
    content = [{"type": "output_text", "text": "They want cents."}]
    message = {"type": "message", "role": "assistant", "content": content}
    with file.open("a", encoding="utf-8") as lines:
        for kind, payload in (
            ("response_item", message),
            ("event_msg", {"type": "token_count"}),
            ("compacted", {"message": "A model made this summary:\nThey want cents."}),
            ("response_item", message),
        ):
            lines.write(json.dumps({"type": kind, "payload": payload}) + "\n")
    last = read(tmp_path, "codex")[0][-3:]
    assert [message.kind for message in last] == [Kind.RESULT, Kind.SUMMARY, Kind.TEXT]


def test_a_command_of_several_words_is_shown_as_one(tmp_path: Path) -> None:
    file = WRITERS["codex"](tmp_path)
    words = r'"arguments": "{\"command\": [\"git\", \"diff\"]}"'
    file.write_text(
        file.read_text("utf-8").replace(r'"arguments": "{\"command\": \"git diff\"}"', words),
        "utf-8",
    )
    calls = [message for message in read(tmp_path, "codex")[0] if message.kind is Kind.CALL]
    assert [(call.text, call.call and call.call.arguments) for call in calls] == [
        ("git diff", {"command": ["git", "diff"]})
    ]


def test_the_copied_history_of_a_compaction_is_not_read(tmp_path: Path) -> None:
    file = WRITERS["codex"](tmp_path)
    with file.open("a", encoding="utf-8") as lines:
        lines.write(
            '{"type": "compacted", "payload": {"message": "They want cents.", '
            '"replacement_history": [{"type": "message", "role": "user", "content": "No"}]}}\n'
        )
    assert [(m.kind, m.text) for m in read(tmp_path, "codex")[0]][-1] == (
        Kind.SUMMARY,
        "They want cents.",
    )


# ---- others --------------------------------------------------------------------------------------


def test_a_session_of_clines_command_line_is_read_without_its_nudges(tmp_path: Path) -> None:
    cline_cli(tmp_path)
    session = find_sessions(["cline"], [], tmp_path, {}).sessions[0]
    assert (session.id, session.cwd, session.title) == ("1777882500000_ab1cd", PROJECT, "Cents")
    assert [message.text for message in read(tmp_path, "cline")[0]] == [SAID, ANSWER]


def test_openclaw_may_keep_files_a_database_or_both(tmp_path: Path) -> None:
    WRITERS["openclaw"](tmp_path)
    folder = tmp_path / ".openclaw" / "agents" / "main" / "sessions"
    for name in ("oc0.jsonl", "oc0.checkpoint.1.jsonl", "oc2.jsonl.deleted.2026"):
        write_lines(folder / name, openclaw_lines())
    found = find_sessions(["openclaw"], [], tmp_path, {}).sessions
    assert sorted(each.id for each in found) == ["oc0", "oc1"]
    assert {each.title for each in found} == {SAID}


def test_a_subagent_of_openclaw_is_below_what_spawned_it(tmp_path: Path) -> None:
    with sqlite3.connect(WRITERS["openclaw"](tmp_path)) as database:
        database.execute(
            "INSERT INTO session_windows VALUES"
            " ('oc2', 'agent:main:subagent:7', NULL, 1, 1, NULL, 'agent:main:main')"
        )
    database.close()
    found = {each.id: each for each in find_sessions(["openclaw"], [], tmp_path, {}).sessions}
    assert (found["oc2"].parent, found["oc2"].is_sidechain) == ("oc1", True)


def test_a_row_of_openclaw_that_is_compressed_is_read_or_counted(tmp_path: Path) -> None:
    """Python takes zstd apart from 3.14 on, and where `backports.zstd` is installed."""
    with sqlite3.connect(WRITERS["openclaw"](tmp_path)) as database:
        for id, text in database.execute(
            "SELECT rowid, event_json FROM transcript_events WHERE seq = 1"
        ).fetchall():
            raw = text.encode().ljust(256)
            block = (len(raw) << 3 | 1).to_bytes(3, "little") + raw  # the last, as it is
            frame = b"(\xb5/\xfd" + b"\x60" + (len(raw) - 256).to_bytes(2, "little") + block
            database.execute(
                "UPDATE transcript_events SET event_json = NULL, event_zstd = ? WHERE rowid = ?",
                (frame, id),
            )
    database.close()
    messages, reading = read(tmp_path, "openclaw")
    texts = [message.text for message in messages]
    assert (texts[0] == SAID) != (reading.unknown == {"compressed with zstd": 1})
    assert ANSWER in texts


def test_a_fork_of_opencode_has_the_ids_and_times_of_what_it_copies(tmp_path: Path) -> None:
    with sqlite3.connect(WRITERS["opencode"](tmp_path)) as database:
        for table, columns in (
            ("session", "'f' || id, parent_id, directory, title, time_created, time_updated"),
            ("message", "'f' || id, 'f' || session_id, data"),
            ("part", "'f' || id, 'f' || message_id, 'f' || session_id, time_created + 9, data"),
        ):
            database.execute(f"INSERT INTO {table} SELECT {columns} FROM {table}")
    database.close()
    one, other = (
        [(each.id, each.time, each.text) for each in PROGRAMS["opencode"].messages(s, Reading())]
        for s in find_sessions(["opencode"], [], tmp_path, {}).sessions
    )
    assert one == other


def test_a_session_of_opencode_2_is_read_from_its_own_tables(tmp_path: Path) -> None:
    opencode_2(tmp_path)
    (session,) = find_sessions(["opencode"], [], tmp_path, {}).sessions
    assert (session.id, session.cwd, session.title) == ("n1", PROJECT, "")
    messages, reading = read(tmp_path, "opencode")
    assert [(message.role, message.kind, message.text) for message in messages] == [
        (Role.USER, Kind.TEXT, SAID),
        (Role.ASSISTANT, Kind.TEXT, ANSWER),
        (Role.ASSISTANT, Kind.CALL, "git diff"),
        (Role.TOOL, Kind.RESULT, RESULT),
    ]
    assert [call.id for call in (message.call for message in messages) if call] == ["t1", "t1"]
    assert reading.skipped == 0


def test_both_generations_of_opencode_are_listed_and_what_was_taken_over_once(
    tmp_path: Path,
) -> None:
    file = WRITERS["opencode"](tmp_path)
    opencode_2(tmp_path)
    opencode_2(tmp_path, "opencode-beta.db")
    with sqlite3.connect(file) as database:
        database.execute("INSERT INTO session SELECT 'n1', NULL, '/old', '', 1, 1")
    database.close()
    found = find_sessions(["opencode"], [], tmp_path, {})
    assert not found.unreadable
    assert sorted((each.id, each.path.name, each.cwd) for each in found.sessions) == [
        ("n1", "opencode-beta.db", PROJECT),
        ("n1", "opencode.db", PROJECT),
        ("o1", "opencode.db", PROJECT),
    ]
    for session in found.sessions:
        texts = [each.text for each in PROGRAMS["opencode"].messages(session, Reading())]
        assert texts == [SAID, ANSWER, "git diff", RESULT]


def test_the_table_of_opencode_2_counts_only_beside_its_sessions(tmp_path: Path) -> None:
    """OpenCode 1 wrote it, too, for itself (xiufengsun/TokenTracker#501)."""
    file = opencode_2(tmp_path)
    with sqlite3.connect(file) as database:
        database.execute("DROP TABLE session_v2")
    database.close()
    found = find_sessions(["opencode"], [], tmp_path, {})
    assert [each.what for each in found.unreadable] == [
        "it has no table of sessions that memtui knows"
    ]
    first = WRITERS["opencode"](tmp_path / "other")
    with sqlite3.connect(first) as database:
        database.execute("CREATE TABLE session_message (id TEXT PRIMARY KEY, session_id TEXT)")
    database.close()
    found = find_sessions(["opencode"], [], tmp_path / "other", {})
    assert [each.id for each in found.sessions] == ["o1"]


@pytest.mark.parametrize(
    "change",
    [
        "UPDATE session_message SET time_updated = time_updated + 1 WHERE type = 'assistant'",
        "INSERT INTO session_message VALUES ('e0', 'n1', 'user', 9, 1, 1, '{\"text\": \"More\"}')",
        "DELETE FROM session_message WHERE type = 'synthetic'",
    ],
)
def test_a_session_of_opencode_2_that_changed_says_so(tmp_path: Path, change: str) -> None:
    file = opencode_2(tmp_path)
    before = find_sessions(["opencode"], [], tmp_path, {}).sessions[0].stamp
    with sqlite3.connect(file) as database:
        database.execute(change)
    database.close()
    assert find_sessions(["opencode"], [], tmp_path, {}).sessions[0].stamp != before


def test_a_compaction_of_opencode_is_a_summary(tmp_path: Path) -> None:
    with sqlite3.connect(WRITERS["opencode"](tmp_path)) as database:
        database.execute("UPDATE message SET data = json_set(data, '$.summary', json('true'))")
    database.close()
    kinds = [message.kind for message in read(tmp_path, "opencode")[0]]
    assert kinds[:2] == [Kind.TEXT, Kind.SUMMARY]


def test_a_session_of_hermes_was_changed_with_its_last_message(tmp_path: Path) -> None:
    WRITERS["hermes"](tmp_path)
    session = find_sessions(["hermes"], [], tmp_path, {}).sessions[0]
    assert session.changed == read(tmp_path, "hermes")[0][-1].time
