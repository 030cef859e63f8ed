"""Sessions of a person beside the small store, for tests of the screens that show them."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from unittest.mock import patch

from memtui import config, paths
from memtui.config import Settings
from memtui.sessions.programs import turn_on
from tests.secrets_for_tests import TOKEN
from tests.unit.sessions.transcripts import claude_line, write_lines

from .stage import NOW

WORDS = "from now on deploys happen on tuesdays, never on a friday"
"""What a person said before the agent wrote the memory `Deploys happen on Tuesdays`."""
SESSION, OTHER = "5c0f", "77aa"


def _call(id: str, name: str, **given: str) -> list[dict[str, Any]]:
    return [{"type": "tool_use", "id": id, "name": name, "input": given}]


def _result(id: str, words: str) -> list[dict[str, Any]]:
    return [{"type": "tool_result", "tool_use_id": id, "content": words}]


def write_sessions(home: Path, store: Path) -> None:
    """Two sessions of Claude Code, one with a subagent; the newest wrote a memory of the store."""
    folder = home / ".claude" / "projects" / "-srv-shop"
    items = str(store / "entities" / "shop-api" / "items.json")
    said = [
        claude_line("user", "why is the deploy job red?", "u1", 1),
        claude_line("assistant", _call("t1", "Bash", command="make deploy"), "a1", 2),
        claude_line("user", _result("t1", "error: frozen\nno deploys on fridays"), "u2", 3),
        claude_line("assistant", "The job refuses: it is **Friday**.", "a2", 4),
        claude_line("user", WORDS, "u3", 5),
        claude_line(
            "assistant",
            _call("t2", "Write", file_path=items, content="Deploys happen on Tuesdays"),
            "a3",
            6,
        ),
        claude_line("user", _result("t2", "File written"), "u4", 7),
        claude_line("assistant", f"I wrote it down. The token {TOKEN} is not needed.", "a4", 8),
    ]
    below = [
        claude_line("user", "find the deploy job", "s1", 2, isSidechain=True),
        claude_line("assistant", "It is in the Makefile.", "s2", 3, isSidechain=True),
    ]
    files = [
        write_lines(folder / f"{SESSION}.jsonl", said),
        write_lines(folder / SESSION / "subagents" / "agent-1.jsonl", below),
        write_lines(
            folder / f"{OTHER}.jsonl",
            [claude_line("user", "rename the tea service", "v1", 0, sessionId=OTHER)],
        ),
    ]
    for at, file in enumerate(reversed(files)):  # sessions are in the order of their words instead
        os.utime(file, (NOW.timestamp() - 3600 * at, NOW.timestamp() - 3600 * at))


@contextmanager
def person(home: Path, *programs: str) -> Iterator[Settings]:
    """A person with this home, settings and cache, and these programs turned on."""
    own = {
        "HOME": str(home),
        paths.CONFIG_VARIABLE: str(home / "config"),
        paths.CACHE_VARIABLE: str(home / "cache"),
        paths.STATE_VARIABLE: str(home / "state"),
    }
    moved = ("CLAUDE_CONFIG_DIR", "CODEX_HOME", "HERMES_HOME", "GEMINI_CLI_HOME", "XDG_DATA_HOME")
    with patch.dict(os.environ, own):
        for name in moved:
            os.environ.pop(name, None)
        for program in programs:
            turn_on(program)
        yield config.load(paths.config_file()).settings
