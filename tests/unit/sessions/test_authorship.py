"""Who changed a file: only a call that names it and lies in the time says so."""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path

import pytest

from memtui.sessions import Call, find_sessions
from memtui.sessions.authorship import SeenChange, changed_paths, describe_author, find_authors
from tests.unit.sessions.test_origin import session_with

FILE = "/m/money.md"
BEFORE = "Amounts are integers of euro cents, never floats."
AFTER = "Amounts are decimals with two digits behind the point."
MINUTE = datetime(2026, 5, 4, 8, 15, tzinfo=UTC)
"""The calls of `session_with` are in this minute, after its beginning."""


def gone(file: str = FILE, since: datetime = MINUTE, until: datetime | None = None) -> SeenChange:
    return SeenChange(file, BEFORE, "", since, until or MINUTE.replace(minute=16))


def authors(home: Path, *changes: SeenChange) -> list[str]:
    sessions = find_sessions(["claude"], [], home, {}).sessions
    return [each.session.id if each else "" for each in find_authors(changes, sessions)]


@pytest.mark.parametrize(
    ("command", "paths"),
    [
        ("rm /m/a.md b.md", {"/m/a.md", "/w/b.md"}),
        ("cd /m && rm -f a.md 'b c.md'; cat /m/x.md > /dev/null", {"/m/a.md", "/m/b c.md"}),
        ("cat > /m/a.md <<'EOF'\nrm /m/x.md\nEOF\nrm /m/b.md", {"/m/a.md", "/m/b.md"}),
        ("sed -i '' 's/a;b/c/' /m/a.md", {"/m/a.md"}),
        ("bash -lc 'rm /m/a.md'", {"/m/a.md"}),
        ("git rm --cached /m/a.md | tee /m/b.md", {"/m/a.md", "/m/b.md"}),
        ("FORCE=1 sudo mv /m/a.md /m/b.md", {"/m/a.md", "/m/b.md"}),
        ("cp /m/c.md /m/d.md", {"/m/d.md"}),
        ("cat /m/a.md | grep x 2>&1", set()),
        ("sed -n 1p /m/a.md; ls /m; git diff /m/a.md", set()),
        ("echo 'not ended > /m/a.md", set()),
    ],
)
def test_the_files_that_a_command_writes_or_removes(command: str, paths: set[str]) -> None:
    found = changed_paths(Call("Bash", {"command": command}), "/w")
    assert {path for path in found if path.endswith(".md")} == paths


def test_the_files_of_a_patch_lie_below_the_working_folder() -> None:
    patch = "*** Begin Patch\n*** Delete File: memories/a.md\n*** Update File: /m/b.md\n+x\n"
    given = {"cmd": ["bash", "-lc", f"apply_patch <<'E'\n{patch}E"], "workdir": "/h"}
    assert changed_paths(Call("exec_command", given)) == {"/h/memories/a.md", "/m/b.md"}
    assert changed_paths(Call("Read", {"file_path": FILE})) == set()


@pytest.mark.parametrize(
    ("tool", "given", "result", "is_known"),
    [
        ("Bash", {"command": f"rm {FILE}"}, "", True),
        ("Bash", {"command": f"cat {FILE}"}, BEFORE, False),
        ("Bash", {"command": "rm -r /m"}, "", False),  # it names no file
        ("Write", {"file_path": FILE, "content": "# Money"}, "ok", True),
        ("Write", {"file_path": "/m/other.md", "content": FILE}, "ok", False),
        ("Write", {"file_path": FILE, "content": "# Money"}, "<tool_use_error>no", False),
        ("memory", {"action": "remove", "target": "money", "old_text": "euro cents"}, "ok", True),
        ("memory", {"action": "remove", "target": "user", "old_text": "euro cents"}, "ok", False),
        ("memory", {"action": "add", "content": BEFORE}, "ok", False),
        ("Edit", {"file_path": "/n/a.md", "old_string": BEFORE, "new_string": ""}, "ok", False),
        ("mcp__kg__delete_observations", {"deletions": [{"observations": [BEFORE]}]}, "ok", True),
    ],
)
def test_a_call_that_removed_a_text(
    tmp_path: Path, tool: str, given: dict[str, object], result: str, *, is_known: bool
) -> None:
    session_with(tmp_path, (tool, given, result))
    assert authors(tmp_path, gone()) == (["5c0f"] if is_known else [""])


def test_a_call_outside_the_time_says_nothing(tmp_path: Path) -> None:
    session_with(tmp_path, ("Bash", {"command": f"rm {FILE}"}, ""))
    hour = MINUTE.replace(hour=9)
    early = MINUTE.replace(hour=7)
    assert authors(tmp_path, gone(since=hour, until=hour.replace(hour=10))) == [""]
    assert authors(tmp_path, gone(since=early.replace(hour=6), until=early)) == [""]


def test_of_two_sessions_that_wrote_the_file_the_one_with_the_text_counts(tmp_path: Path) -> None:
    change = SeenChange(FILE, BEFORE, AFTER, MINUTE, MINUTE.replace(minute=16))
    own = ("Edit", {"file_path": FILE, "old_string": BEFORE, "new_string": AFTER}, "ok")
    other = ("Write", {"file_path": FILE, "content": "something else"}, "ok")
    look = ("Read", {"file_path": FILE}, BEFORE)  # each call has an id of its own
    session_with(tmp_path, other, name="aaaa")
    session_with(tmp_path, look, other, name="bbbb")
    assert authors(tmp_path, change) == [""]  # either may have been it
    session_with(tmp_path, look, look, own, name="cccc")
    assert authors(tmp_path, change) == ["cccc"]


def test_an_author_is_a_program_and_a_session(tmp_path: Path) -> None:
    session_with(tmp_path, ("Bash", {"command": f"rm {FILE}"}, ""))
    sessions = find_sessions(["claude"], [], tmp_path, {}).sessions
    (author,) = find_authors([gone()], sessions)
    assert author is not None
    assert describe_author(author) == "Claude Code, session 5c0f"
