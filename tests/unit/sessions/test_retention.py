"""A program deletes its sessions, which is said before they are gone, and after."""

from __future__ import annotations

import json
import os
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from click.testing import CliRunner

from memtui.cli.group import memtui
from memtui.sessions import PROGRAMS, find_sessions
from memtui.sessions.retention import find_deleted, find_deletions, kept_days
from tests.printed_rows import printed_rows
from tests.unit.sessions.transcripts import WRITERS, write_lines

SETTINGS = {
    "claude": ".claude/settings.json",
    "gemini": ".gemini/settings.json",
    "openclaw": ".openclaw/openclaw.json",
}


@pytest.mark.parametrize(
    ("name", "settings", "days"),
    [
        ("claude", None, 30),
        ("claude", {"cleanupPeriodDays": 99999}, 99999),
        ("claude", {"cleanupPeriodDays": 0}, None),
        ("claude", {"cleanupPeriodDays": "soon"}, 30),
        ("claude", ["not", "settings"], 30),
        ("gemini", {"general": {"sessionRetention": {"maxAge": "2w"}}}, 14),
        ("gemini", {"general": {"sessionRetention": {"enabled": False}}}, None),
        ("gemini", {"general": "?"}, 30),
        ("openclaw", {"session": {"maintenance": {"pruneAfter": "12h"}}}, 0.5),
        ("openclaw", {"session": {"maintenance": {"mode": "warn"}}}, None),
        ("codex", None, None),
    ],
)
def test_the_programs_own_settings_say_how_long_it_keeps_sessions(
    tmp_path: Path, name: str, settings: object, days: float | None
) -> None:
    if settings is not None:
        file = tmp_path / SETTINGS[name]
        file.parent.mkdir(parents=True)
        file.write_text(json.dumps(settings), "utf-8")
    assert kept_days(PROGRAMS[name], tmp_path, {}) == days


def test_a_session_is_deleted_so_long_after_its_last_change(tmp_path: Path) -> None:
    file = WRITERS["claude"](tmp_path)
    time = datetime(2026, 11, 3, 12, tzinfo=UTC)
    os.utime(file, (time.timestamp(), time.timestamp()))
    sessions = find_sessions(["claude"], [], tmp_path, {}).sessions
    deletion = find_deletions(sessions, tmp_path, {})[file]
    assert deletion.describe(time) == "deleted by Claude Code on 3 Dec (cleanupPeriodDays)"
    assert "2026" in deletion.describe(time + timedelta(days=400))


def test_the_history_says_what_was_typed_in_a_deleted_session(tmp_path: Path) -> None:
    at = datetime(2026, 11, 3, 12, tzinfo=UTC)
    prompt = {"timestamp": at.timestamp() * 1000, "sessionId": "gone", "display": "Use cents."}
    write_lines(
        tmp_path / ".claude" / "history.jsonl",
        [prompt, {**prompt, "sessionId": "other"}, {**prompt, "timestamp": "x"}, ["torn"]],
    )
    deletion, prompts = find_deleted("gone", at + timedelta(days=31), tmp_path, {})
    assert [each.text for each in prompts] == ["Use cents."]
    assert deletion is not None
    assert deletion.at == at + timedelta(days=30)
    assert find_deleted("gone", at + timedelta(days=29), tmp_path, {})[0] is None
    assert find_deleted("never", at, tmp_path, {}) == (None, [])


def test_the_list_warns_before(
    own_places: None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    monkeypatch.delenv("CLAUDE_CONFIG_DIR", raising=False)
    file = WRITERS["claude"](tmp_path / "home")

    def run(*arguments: str) -> str:
        return CliRunner().invoke(memtui, ["sessions", *arguments]).stderr

    run("on", "claude", "--yes")
    assert "cleanupPeriodDays" not in run()
    old = (datetime.now(UTC) - timedelta(days=26)).timestamp()
    os.utime(file, (old, old))
    assert "5c0f will be deleted by Claude Code on" in run()
    assert "(cleanupPeriodDays)" in run()
    records = printed_rows(CliRunner().invoke(memtui, ["sessions", "--json"]).stdout)
    assert records[0]["deleted_at"] is not None
