"""What agents propose, on the screen: it arrives while it is open, and is answered there."""

from __future__ import annotations

from pathlib import Path

import pytest

from memtui.changes import Act, Change
from memtui.journal import Author
from memtui.library import Library
from memtui.library.agent_proposals import AgentProposals, answers_for, make_proposal
from memtui.library.review import ReviewQueue
from memtui.library.review_files import Decision
from memtui.tui.review import ReviewScreen

from .stage import Stage, fact, stage, write_store

FACTS = {"people/alice": [fact(1, "Alice prefers tea in the morning", "2026-01-02")]}


def propose(root: Path, state: Path, content: str) -> str:
    """What another process does: an agent proposes another text of the first fact."""
    library = Library.open([root], state=state)
    library.load()
    memory = next(iter(library.numbered_memories().values()))
    change = Change(Act.EDIT, memory.store, memory.ref, {"content": content})
    made = make_proposal(Author("claude-code", "2.1", "s1"), change, "you said so", library)
    AgentProposals(state).add(made, ReviewQueue(library).decisions)
    return made.id


async def review(on: Stage) -> ReviewScreen:
    await on.until(lambda: isinstance(on.app.screen, ReviewScreen), "the review opens")
    await on.settle()
    screen = on.app.screen
    assert isinstance(screen, ReviewScreen)
    return screen


@pytest.mark.slow
async def test_a_proposal_arrives_is_read_with_reason_and_diff_and_answered(tmp_path: Path) -> None:
    root, state = write_store(tmp_path / "home", FACTS), tmp_path / "state"
    before = {path: path.read_bytes() for path in root.rglob("*.json")}
    async with stage(root, (140, 40), state=state) as on:
        await on.still()
        first = propose(root, state, "Alice drinks coffee at noon")
        await on.sees("1 from agents")
        assert {path: path.read_bytes() for path in before} == before
        await on.press("V")
        await review(on)
        await on.sees("Changes when accepted")
        shown = on.text()
        for words in ("Proposed by agents", "claude-code 2.1: you said so", "coffee at noon"):
            assert words in shown
        await on.press("a")
        await on.until(
            lambda: answers(root, state) == [(first, Decision.ACCEPTED)], "it is answered"
        )
        assert any(b"coffee at noon" in path.read_bytes() for path in before)
        second = propose(root, state, "Alice drinks nothing")
        await on.sees('nothing",')
        await on.press("x")
        await on.until(lambda: len(answers(root, state)) == 2, "it is answered")
        assert (second, Decision.DECLINED) in answers(root, state)
        assert not any(b"drinks nothing" in path.read_bytes() for path in before)
        propose(root, state, "Alice drinks cocoa")
        file = next(root.rglob("items.json"))
        file.write_text(file.read_text().replace("coffee", "water"))
        await on.sees("changed since the agent read it")
        await on.sees("Proposed content")
        assert "cocoa" in on.text(), "the person can make the change"


def answers(root: Path, state: Path) -> list[tuple[str, str]]:
    found = answers_for("claude-code", Library.open([root], state=state))
    return [(each.proposal.id, each.decision) for each in found]
