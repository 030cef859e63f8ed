"""From a memory to the session that taught it, and to no other."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from click.testing import CliRunner

from memtui.cli.group import memtui
from memtui.library import Library
from memtui.model import Memory, Place
from memtui.progress import never
from memtui.sessions import find_sessions
from memtui.sessions.origin import Origin, OriginKind, find_origins
from memtui.tui.session_search import find_learned
from tests.printed_rows import printed_rows
from tests.unit.sessions.transcripts import SAID, claude_line, write_lines

TEXT = "Amounts are integers of euro cents, never floats."


def memory(file: str = "/m/money.md", **fields: object) -> Memory:
    values = {"ref": "s:1", "id": "1", "store": "s", "kind": "fact", "content": TEXT, **fields}
    return Memory(origin=Place(file), **values)  # type: ignore[arg-type]


def session_with(
    home: Path, *calls: tuple[str, dict[str, object], str], name: str = "5c0f"
) -> None:
    """A session of Claude Code in which a person speaks before each call (name, input, result)."""
    lines: list[object] = []
    for number, (tool, given, result) in enumerate(calls):
        use = {"type": "tool_use", "id": f"t{number}", "name": tool, "input": given}
        answer = {"type": "tool_result", "tool_use_id": f"t{number}", "content": result}
        lines += [
            claude_line("user", f"{SAID} ({number})", f"u{number}", 3 * number),
            claude_line("assistant", [use], f"a{number}", 3 * number + 1),
            claude_line("user", [answer], f"r{number}", 3 * number + 2),
        ]
    write_lines(home / ".claude" / "projects" / "-srv-shop" / f"{name}.jsonl", lines)


def origins(home: Path, of: Memory) -> list[Origin]:
    return find_origins([of], find_sessions(["claude"], [], home, {}).sessions)[0]


@pytest.mark.parametrize(
    ("tool", "given"),
    [
        ("Write", {"file_path": "/m/money.md", "content": f"# Money\n\n{TEXT}\n"}),
        ("Edit", {"file_path": "/m/../m/money.md", "old_string": "x", "new_string": f"- {TEXT}"}),
        ("MultiEdit", {"file_path": "/m/money.md", "edits": [{"new_string": TEXT}]}),
        ("Bash", {"command": f"echo '{TEXT}' >> /m/money.md"}),
        ("apply_patch", {"input": f"*** Update File: /m/money.md\n+{TEXT}\n"}),
        ("memory", {"action": "add", "target": "user", "content": TEXT}),
        ("mcp__memory__add_observations", {"observations": [{"contents": [TEXT]}]}),
        ("mcp__engram__mem_save", {"title": "Money", "content": f"{TEXT}\nWhy: rounding."}),
    ],
)
def test_the_call_that_wrote_it_is_shown_with_the_words_before_it(
    tmp_path: Path, tool: str, given: dict[str, object]
) -> None:
    session_with(tmp_path, ("Read", {"file_path": "/m/money.md"}, TEXT), (tool, given, "ok"))
    found = origins(tmp_path, memory())
    assert [origin.kind for origin in found] == [OriginKind.WRITTEN]
    assert found[0].words is not None
    assert found[0].words.text == f"{SAID} (1)"


@pytest.mark.parametrize(
    ("tool", "given", "result"),
    [
        ("Read", {"file_path": "/m/money.md"}, TEXT),
        ("Write", {"file_path": "/elsewhere/money.md", "content": TEXT}, "ok"),
        ("Write", {"file_path": "/m/money.md", "content": "Other words."}, "ok"),
        ("Write", {"file_path": "/m/money.md", "content": TEXT}, "<tool_use_error>no"),
        ("memory", {"action": "add", "content": TEXT}, "Error: memory is full"),
        ("memory", {"action": "add", "content": TEXT}, '{"success": false, "error": "full"}'),
        ("memory", {"action": "add", "content": TEXT}, '{"error": "full", "success":false}'),
        ("Grep", {"pattern": TEXT, "path": "/m/money.md"}, "1 match"),
    ],
)
def test_a_session_that_only_mentions_it_is_no_origin(
    tmp_path: Path, tool: str, given: dict[str, object], result: str
) -> None:
    session_with(tmp_path, (tool, given, result))
    assert origins(tmp_path, memory()) == []


def test_a_short_text_must_be_the_whole_of_what_was_written(tmp_path: Path) -> None:
    session_with(tmp_path, ("memory", {"content": "Use tabs, not spaces, in Go."}, "ok"))
    assert origins(tmp_path, memory(content="Use tabs")) == []
    session_with(tmp_path, ("memory", {"content": "Use tabs"}, "ok"))
    assert len(origins(tmp_path, memory(content="Use tabs"))) == 1


@pytest.mark.parametrize(
    "fields",
    [
        {"source": "session 5c0f"},
        {"source": "5c0f"},
        {"extra": {"transcript": "/old/home/5c0f.jsonl"}},
        {"extra": {"metadata": {"originSessionId": "5c0f"}}},
        {"extra": {"rollout_path": "/x/5c0f.jsonl.zst"}},
    ],
)
def test_an_id_that_the_memory_keeps_comes_first(tmp_path: Path, fields: dict[str, object]) -> None:
    write = {"file_path": "/m/money.md", "content": TEXT}
    session_with(tmp_path, ("Write", write, "ok"), name="aaaa")
    session_with(tmp_path, name="5c0f")
    kinds = [(each.kind, each.session.id) for each in origins(tmp_path, memory(**fields))]
    assert kinds == [(OriginKind.RECORDED, "5c0f"), (OriginKind.WRITTEN, "aaaa")]


def test_the_copy_in_a_fork_is_not_told_again(tmp_path: Path) -> None:
    write = {"file_path": "/m/money.md", "content": TEXT}
    session_with(tmp_path, ("Write", write, "ok"))
    session_with(tmp_path, ("Write", write, "ok"), name="ffff")
    assert len(origins(tmp_path, memory())) == 1


def test_the_command_goes_from_a_memory_to_its_session(
    own_places: None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    home = tmp_path / "home"
    monkeypatch.setenv("HOME", str(home))
    monkeypatch.delenv("CLAUDE_CONFIG_DIR", raising=False)
    folder = home / ".claude" / "projects" / "-srv-shop" / "memory"
    folder.mkdir(parents=True)
    file = folder / "project_money.md"
    file.write_text(f"---\nname: money\noriginSessionId: gone-1\n---\n\n{TEXT}\n", "utf-8")
    (folder / "MEMORY.md").write_text(f"- [Money]({file.name}) — cents\n", "utf-8")
    session_with(home, ("Write", {"file_path": str(file), "content": TEXT}, "ok"))

    def run(*arguments: str) -> str:
        return CliRunner().invoke(memtui, list(arguments)).output

    run("sessions", "on", "claude", "--yes")
    listed = printed_rows(run("list", "--json", "--store", str(home / ".claude")))
    ref = next(each["ref"] for each in listed if TEXT in each["content"])
    told = run("origin", ref, "--store", str(home / ".claude"))
    assert f"you: {SAID} (0)" in told
    assert "recorded  session gone-1, not found\n" in told
    record = json.loads(run("origin", ref, "--json", "--store", str(home / ".claude")))
    assert record["not_found"] == ["gone-1"]
    library = Library.open([home / ".claude"])
    library.load()
    assert find_learned(library.get(ref), [], never).words == (
        "in session gone-1 (not found): recorded"
    )
    assert record["origins"][0]["kind"] == "written here"
