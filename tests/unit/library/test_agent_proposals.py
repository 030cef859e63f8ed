"""Changes that agents propose: kept for the person, accepted as they were read or not at all."""

from __future__ import annotations

from datetime import timedelta
from pathlib import Path

import pytest

from memtui.changes import Act, Change
from memtui.errors import Conflict, MemtuiError, RefError, Refused
from memtui.journal import Author
from memtui.library import Library, agent_proposals
from memtui.library.agent_proposals import (
    EXPIRED,
    SECRET_DAYS,
    UNDONE,
    AgentProposals,
    answers_for,
    make_proposal,
)
from memtui.library.review import ReviewQueue
from memtui.library.review_files import Decision
from memtui.upkeep.proposals import Proposal, ProposalKind
from tests.secrets_for_tests import TOKEN

from .stores_for_tests import agent_memory

AGENT = Author("claude-code", "2.1", "s1")
FACTS = {"al": ["Al likes tea in the morning"], "bo": ["Bo leads the tide tables"]}


@pytest.fixture
def root(tmp_path: Path) -> Path:
    return agent_memory(tmp_path / "memory", FACTS)


def opened(tmp_path: Path, root: Path, *, label: str = "") -> Library:
    library = Library.open([root], state=tmp_path / "state", labels=[label] if label else ())
    library.load()
    return library


def about(library: Library, words: str) -> str:
    return next(m.ref for m in library.numbered_memories().values() if words in m.content)


def propose(library: Library, act: Act, words: str = "", **fields: object) -> str:
    """Propose a change of the memory with these words; returns the id."""
    label = library.stores[0].label
    change = Change(act, label, about(library, words) if words else "", fields)
    library.plan([change])
    made = make_proposal(AGENT, change, "the person said so", library)
    assert library.state_folder is not None
    return AgentProposals(library.state_folder).add(made, ReviewQueue(library).decisions).id


def waiting(library: Library) -> list[Proposal]:
    queue = ReviewQueue(library).scan([ProposalKind.AGENT])
    assert queue.from_agents == len(queue.proposals)
    return list(queue.proposals)


def accept(library: Library, proposal: Proposal) -> int:
    queue = ReviewQueue(library)
    action = library.apply(queue.plan([proposal]))
    queue.note_accepted([proposal], action.id)
    return action.id


def test_it_changes_nothing_until_a_person_accepts_it_under_any_label(
    tmp_path: Path, root: Path
) -> None:
    agent = opened(tmp_path, root, label="agents")
    before = {path: path.read_bytes() for path in root.rglob("*") if path.is_file()}
    id = propose(agent, Act.EDIT, "Al likes", content="Al likes coffee in the morning")
    assert {path: path.read_bytes() for path in root.rglob("*") if path.is_file()} == before

    person = opened(tmp_path, root)
    (one,) = waiting(person)
    assert one.id == id
    assert "claude-code 2.1: the person said so" in one.reason
    assert not one.is_hint
    number = accept(person, one)
    assert "coffee" in person.get(about(person, "Al likes")).content
    assert waiting(person) == []
    (answer,) = answers_for("claude-code", person)
    assert (answer.proposal.id, answer.decision, answer.action) == (id, Decision.ACCEPTED, number)
    AgentProposals(tmp_path / "state").mark_told(answer)
    assert answers_for("claude-code", person) == []
    person.undo()
    assert {path: path.read_bytes() for path in before} == before
    (answer,) = answers_for("claude-code", person)
    assert (answer.proposal.id, answer.decision) == (id, UNDONE)
    AgentProposals(tmp_path / "state").mark_told(answer)
    person.redo()
    (answer,) = answers_for("claude-code", person)
    assert answer.decision == Decision.ACCEPTED


@pytest.mark.parametrize(
    ("act", "words", "fields"),
    [
        (Act.ADD, "", {"content": "Cy rows on Sundays", "entity": "al"}),
        (Act.SUPERSEDE, "Al likes", {"content": "Al likes coffee since March"}),
        (Act.RETIRE, "Bo leads", {}),
        (Act.LINK, "Al likes", {"relation": "knows", "target": "bo"}),
    ],
    ids=str,
)
def test_each_kind_of_change_can_be_proposed_and_accepted(
    tmp_path: Path, root: Path, act: Act, words: str, fields: dict[str, object]
) -> None:
    library = opened(tmp_path, root)
    before = library.snapshot.revision
    propose(library, act, words, **fields)
    (one,) = waiting(library)
    accept(library, one)
    assert library.snapshot.revision != before
    assert waiting(library) == []


def test_what_was_accepted_and_is_undone_waits_again(tmp_path: Path, root: Path) -> None:
    library = opened(tmp_path, root)
    id = propose(library, Act.SUPERSEDE, "Al likes", content="Al likes coffee since March")
    accept(library, waiting(library)[0])
    assert waiting(library) == []
    library.undo()
    assert [each.id for each in waiting(library)] == [id]
    library.redo()
    assert waiting(library) == []


def test_a_memory_that_changed_since_is_a_conflict_and_stays_in_the_queue(
    tmp_path: Path, root: Path
) -> None:
    library = opened(tmp_path, root)
    propose(library, Act.EDIT, "Al likes", content="Al likes coffee")
    mine = Change(
        Act.EDIT, library.stores[0].label, about(library, "Al likes"), {"content": "Al likes maté"}
    )
    library.apply(library.plan([mine]))
    (one,) = waiting(library)
    with pytest.raises(Conflict, match="changed since the agent read it"):
        ReviewQueue(library).plan([one])
    ReviewQueue(library).decisions.decide([one], Decision.DECLINED)
    assert waiting(library) == []
    (answer,) = answers_for("claude-code", library)
    assert answer.decision == Decision.DECLINED
    assert answers_for("another", library) == []


def test_a_memory_that_is_gone_is_said(tmp_path: Path, root: Path) -> None:
    library = opened(tmp_path, root)
    ref = about(library, "Al likes")
    propose(library, Act.EDIT, "Al likes", content="Al likes coffee")
    library.apply(library.plan([Change(Act.DELETE, library.stores[0].label, ref, force=True)]))
    (one,) = waiting(library)
    with pytest.raises(RefError):
        ReviewQueue(library).plan([one])


def test_another_store_sees_none_and_a_damaged_file_is_left_out(tmp_path: Path, root: Path) -> None:
    library = opened(tmp_path, root)
    id = propose(library, Act.RETIRE, "Bo leads")
    other = opened(tmp_path, agent_memory(tmp_path / "other", FACTS))
    assert waiting(other) == []
    folder = tmp_path / "state" / agent_proposals.FOLDER
    assert folder.stat().st_mode & 0o777 == 0o700
    assert (folder / f"{id}.json").stat().st_mode & 0o777 == 0o600
    for name, text in (("a", "{"), ("b", "[]"), ("c", '{"id": 3}')):
        (folder / f"{name}.json").write_text(text)
    assert [one.id for one in waiting(library)] == [id]


def test_what_is_asked_again_waits_once(tmp_path: Path, root: Path) -> None:
    library = opened(tmp_path, root)
    first = propose(library, Act.EDIT, "Al likes", content="Al likes coffee")
    assert propose(library, Act.EDIT, "Al likes", content="Al likes coffee") == first
    assert propose(library, Act.EDIT, "Al likes", content="Al likes rum") != first
    assert len(waiting(library)) == 2
    declined = next(one for one in waiting(library) if one.id == first)
    ReviewQueue(library).decisions.decide([declined], Decision.DECLINED)
    assert propose(library, Act.EDIT, "Al likes", content="Al likes coffee") != first


def test_a_queue_that_nobody_answers_is_full_at_last(
    tmp_path: Path, root: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(agent_proposals, "MAX_WAITING", 2)
    library = opened(tmp_path, root)
    propose(library, Act.RETIRE, "Bo leads")
    propose(library, Act.RETIRE, "Al likes")
    with pytest.raises(Refused, match="wait for the person"):
        propose(library, Act.EDIT, "Bo leads", content="Bo leads the clocks")
    ReviewQueue(library).decisions.decide(waiting(library)[:1], Decision.DECLINED)
    propose(library, Act.EDIT, "Bo leads", content="Bo leads the clocks")


def test_what_a_store_refuses_is_not_proposed(tmp_path: Path, root: Path) -> None:
    library = opened(tmp_path, root)
    with pytest.raises(MemtuiError):
        propose(library, Act.ADD, content="short", entity="nowhere/at/all")
    assert waiting(library) == []


@pytest.mark.parametrize("way", ["accepted", "declined", "forgotten"])
def test_a_secret_is_kept_until_it_is_accepted_or_for_a_week(
    tmp_path: Path, root: Path, way: str
) -> None:
    library = opened(tmp_path, root)
    begun = library.now()
    propose(library, Act.EDIT, "Al likes", content=f"Al signs in with {TOKEN} at the harbour")
    propose(library, Act.EDIT, "Bo leads", content="Bo leads the tide tables and the pilots")

    def is_kept() -> bool:
        files = (tmp_path / "state" / "proposals").glob("*.json")
        return any(TOKEN in file.read_text() for file in files)

    (secret,) = (one for one in waiting(library) if "signs in" in str(one.changes))
    assert is_kept(), "it can be accepted as it was proposed"
    (copy,) = library.find_copies([TOKEN]).files
    assert copy.stem == secret.id
    if way == "accepted":
        accept(library, secret)
        assert TOKEN in library.get(about(library, "signs in")).content
    else:
        if way == "declined":
            ReviewQueue(library).decisions.decide([secret], Decision.DECLINED)
            ReviewQueue(library).decisions.reopen([secret.id])
            assert len(waiting(library)) == 2
        library.now = lambda: begun + timedelta(days=SECRET_DAYS, hours=1)
    (other,) = waiting(library)
    assert not is_kept()
    assert "pilots" in str(other.changes)
    (answer,) = answers_for("claude-code", library)
    assert answer.decision == (Decision.ACCEPTED if way == "accepted" else EXPIRED)
