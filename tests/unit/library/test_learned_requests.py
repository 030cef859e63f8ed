"""A memory that asks an agent for an act is found if a page or an issue said it first."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from memtui.library import Library
from memtui.library.review import ReviewQueue
from memtui.sessions.programs import turn_on
from memtui.upkeep.proposals import ProposalKind
from tests.unit.library.labelled_requests import (
    HONEST,
    HONEST_HELD_BACK,
    PLANTED,
    PLANTED_HELD_BACK,
    Case,
)
from tests.unit.sessions.transcripts import claude_line, write_lines


@pytest.fixture
def folder(own_places: None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Claude Code's folder for a project, in the home of the test."""
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    monkeypatch.delenv("CLAUDE_CONFIG_DIR", raising=False)
    made = tmp_path / "home" / ".claude" / "projects" / "-srv-shop"
    (made / "memory").mkdir(parents=True)
    return made


def keep(folder: Path, cases: list[Case]) -> None:
    """Write a session and the memory that it kept for each case."""
    index = []
    for at, (tool, given, said, kept) in enumerate(cases):
        topic = folder / "memory" / f"topic_{at}.md"
        topic.write_text(f"---\nname: topic {at}\n---\n\n{kept}\n", "utf-8")
        index.append(f"- [Topic {at}]({topic.name}) — topic\n")
        save = {"file_path": str(topic), "content": kept}
        lines = [claude_line("user", "what do they say about it?", f"u{at}", 1)]
        if tool == "":
            lines += [claude_line("user", said, f"s{at}", 2)]
        elif tool == "agent":
            lines += [claude_line("assistant", [{"type": "text", "text": said}], f"s{at}", 2)]
        else:
            use = {"type": "tool_use", "id": f"t{at}", "name": tool, "input": given}
            answer = {"type": "tool_result", "tool_use_id": f"t{at}", "content": said}
            lines += [
                claude_line("assistant", [use], f"a{at}", 2),
                claude_line("user", [answer], f"r{at}", 3),
            ]
        call = {"type": "tool_use", "id": f"w{at}", "name": "Write", "input": save}
        write_lines(
            folder / f"session{at}.jsonl", [*lines, claude_line("assistant", [call], f"k{at}", 4)]
        )
    (folder / "memory" / "MEMORY.md").write_text("".join(index), "utf-8")


def found(folder: Path, cache: Path | None = None) -> set[str]:
    """The memories that the review names as planted text."""
    library = Library.open([folder.parents[1]], cache=cache)
    library.load()
    queue = ReviewQueue(library)
    every = queue.scan().proposals
    return {
        memory.content.strip()
        for one in every
        if one.kind is ProposalKind.PLANTED
        for memory in queue.memories(one)
    }


@pytest.mark.parametrize(
    ("name", "planted", "honest"),
    [("tuning", PLANTED, HONEST), ("held back", PLANTED_HELD_BACK, HONEST_HELD_BACK)],
)
def test_requests_from_outside_are_found_and_no_others(
    folder: Path,
    figures: Callable[[str], None],
    name: str,
    planted: list[Case],
    honest: list[Case],
) -> None:
    keep(folder, planted + honest)
    turn_on("claude")
    named = found(folder)
    right = [kept for *_, kept in planted if kept in named]
    wrong = [kept for *_, kept in honest if kept in named]
    figures(
        f"requests learned from outside, {name}: {len(right)} of {len(planted)} named, "
        f"{len(wrong)} of {len(honest)} wrong"
    )
    assert not wrong
    assert len(right) >= 0.8 * len(planted)


def test_nothing_is_read_unless_sessions_are_on(folder: Path, tmp_path: Path) -> None:
    keep(folder, PLANTED)
    assert not found(folder, tmp_path / "kept")
    turn_on("claude")
    assert found(folder, tmp_path / "kept")


def test_what_was_found_is_kept_until_its_memory_changes(folder: Path, tmp_path: Path) -> None:
    keep(folder, PLANTED[:2])
    turn_on("claude")
    first = found(folder, tmp_path / "kept")
    assert len(first) == 2
    for session in folder.glob("*.jsonl"):
        session.unlink()  # not looked at again
    (folder / "memory" / "new.md").write_text("---\nname: new\n---\n\nThe pump runs.\n", "utf-8")
    assert found(folder, tmp_path / "kept") == first
