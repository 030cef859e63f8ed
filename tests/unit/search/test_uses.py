"""Where a memory was used: as its store counts it, and in the sessions that cite or read it."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from memtui.model import Memory, Place
from memtui.search.uses import UseKind, find_used, find_uses
from memtui.sessions import Session, find_sessions
from tests.unit.search.test_mentions import KEPT, answer_of, memory, write
from tests.unit.sessions.transcripts import PROJECT, write_lines


def cite(home: Path, entries: str, ids: str = "", name: str = "01") -> Path:
    """A session of Codex whose answer ends with a citation."""
    block = (
        f"<oai-mem-citation>\n<citation_entries>\n{entries}\n</citation_entries>\n"
        f"<rollout_ids>\n{ids}\n</rollout_ids>\n</oai-mem-citation>"
    )
    content = [{"type": "output_text", "text": f"Amounts are cents.\n{block}"}]
    message = {"type": "message", "role": "assistant", "content": content}
    time = f"2026-05-{name}T08:00:00Z"
    return write_lines(
        home / ".codex" / "sessions" / "2026" / f"rollout-{name}.jsonl",
        [
            {"type": "session_meta", "timestamp": time, "payload": {"id": name, "cwd": PROJECT}},
            {
                "type": "response_item",
                "timestamp": time,
                "payload": message,
            },
        ],
    )


def sessions(home: Path, *names: str) -> list[Session]:
    return find_sessions(names or ("codex", "claude"), [], home, {}).sessions


def fact(home: Path, line: int) -> Memory:
    return memory(origin=Place(f"{home}/.codex/memories/MEMORY.md", line))


@pytest.mark.parametrize(
    ("entries", "line", "is_cited"),
    [
        ("MEMORY.md:10-12|note=[money]", 11, True),
        ("./MEMORY.md:11|note=[money]", 11, True),
        ("MEMORY.md:10-12|note=[money]", 13, False),
        ("other/MEMORY.md:10-12|note=[money]", 11, False),
        ("MEMORY.md:ten|note=[money]", 11, False),
        ("MEMORY.md:10-12|no", 11, True),
        ("", 11, False),
    ],
)
def test_codex_cites_lines_of_its_memory(
    tmp_path: Path, entries: str, line: int, is_cited: bool
) -> None:
    cite(tmp_path, entries)
    used = find_uses(fact(tmp_path, line), sessions(tmp_path))
    assert [use.kind for use in used.uses] == [UseKind.CITED] * is_cited


def test_codex_cites_the_session_of_a_summary_and_the_last_use_comes_first(tmp_path: Path) -> None:
    cite(tmp_path, "", ids="0199-thread", name="02")
    cite(tmp_path, "rollout_summaries/a.md:3-4|note=[x]", name="05")
    place = Place(f"{tmp_path}/.codex/memories/rollout_summaries/a.md", 1)
    of = memory(kind="episode", origin=place, source="thread 0199-thread")
    used = find_uses(of, sessions(tmp_path))
    assert [use.session.id for use in used.uses] == ["05", "02"]
    assert used.last is not None
    assert used.last.day == 5


@pytest.mark.parametrize(
    ("tool", "given", "result", "is_use"),
    [
        ("Read", {"file_path": f"{PROJECT}/CLAUDE.md"}, f"1→# Notes\n2→{KEPT}", True),
        ("Bash", {"command": "cat CLAUDE.md"}, KEPT, True),
        ("mcp__x__search_memory", {"query": "port"}, json.dumps({"hits": [KEPT]}), True),
        ("Read", {"file_path": f"{PROJECT}/CLAUDE.md"}, "other lines", False),
        ("Read", {"file_path": f"{PROJECT}/README.md"}, KEPT, False),
        ("Write", {"file_path": f"{PROJECT}/CLAUDE.md"}, KEPT, False),
    ],
)
def test_a_session_that_read_a_memory_used_it(
    tmp_path: Path, tool: str, given: dict[str, object], result: str, is_use: bool
) -> None:
    write(tmp_path, answer_of(tool, given, result))
    (session,) = sessions(tmp_path, "claude")
    assert [use.kind for use in find_used([memory()], session)] == [UseKind.READ] * is_use


def test_what_the_store_counts_is_told_apart(tmp_path: Path) -> None:
    extra = {"access_count": 3, "last_accessed": "2026-05-06T08:00:00Z"}
    used = find_uses(memory(extra=extra), sessions(tmp_path))
    assert (used.uses, used.counted) == ((), 3)
    assert used.last is not None
    assert used.last.day == 6
