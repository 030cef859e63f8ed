"""What agents did, on the command line: the log names them, and a session is undone as a whole."""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path

import pytest

from memtui.changes import Act, Change
from memtui.journal import Author
from memtui.library import Library
from memtui.library.agent_proposals import AgentProposals, make_proposal
from memtui.library.review import ReviewQueue
from tests.printed_rows import printed_rows
from tests.unit.library.stores_for_tests import agent_memory

Call = Callable[..., int]
ONE, OTHER = Author("claude-code", "2.1", "s1"), Author("codex", "0.9", "s2")


@pytest.fixture
def root(tmp_path: Path) -> Path:
    return agent_memory(tmp_path / "memory", {"al": ["Al likes tea in the morning"]})


@pytest.fixture
def library(tmp_path: Path, root: Path) -> Library:
    library = Library.open([root], state=tmp_path / "state")
    library.load()
    return library


def edited(library: Library, content: str) -> Change:
    (memory,) = library.numbered_memories().values()
    return Change(Act.EDIT, memory.store, memory.ref, {"content": content})


def test_the_log_names_the_agent_and_all_of_its_session_is_undone_byte_for_byte(
    root: Path, library: Library, call: Call, capsys: pytest.CaptureFixture[str]
) -> None:
    before = {path: path.read_bytes() for path in root.rglob("*.json")}
    assert call("list", "--store", root) == 0  # a look
    capsys.readouterr()
    since = datetime.now(UTC).isoformat()
    for author, content in ((ONE, "coffee"), (ONE, "juice"), (None, "milk"), (OTHER, "water")):
        library.apply(library.plan([edited(library, f"Al likes {content}")]), author=author)
    assert call("log", "--by", "claude-code", "--json", "--store", root) == 0
    shown = printed_rows(capsys.readouterr().out)
    assert [(one["number"], one["by"]["session"]) for one in shown] == [(2, "s1"), (1, "s1")]
    assert call("log", "--store", root) == 0
    assert "by codex 0.9, session s2" in capsys.readouterr().out
    assert call("diff", "--since", since, "--store", root) == 0
    assert "codex 0.9" in capsys.readouterr().out, "since the last look names the agent"
    assert call("undo", "--session", "s2", "--store", root) == 0
    assert call("undo", "--session", "s2", "--store", root) == 1, "there is nothing left"
    assert call("undo", "--store", root) == 0, "of the person"
    assert call("undo", "--session", "s1", "--store", root) == 0
    assert {path: path.read_bytes() for path in before} == before


def test_what_memtui_warns_of_is_accepted_only_when_that_is_said(
    tmp_path: Path, root: Path, library: Library, call: Call, capsys: pytest.CaptureFixture[str]
) -> None:
    token = "ghp_" + "A1b2C3d4E5f6" * 3
    made = make_proposal(ONE, edited(library, f"Al keeps {token}"), "you said so", library)
    AgentProposals(tmp_path / "state").add(made, ReviewQueue(library).decisions)
    assert call("review", "accept", made.id, "--store", root) == 1
    assert "secret" in capsys.readouterr().err
    assert call("review", "accept", "--all", "--kind", "agent", "--store", root) == 1
    assert f"skipped {made.id}: secret" in capsys.readouterr().err
    assert not any(token.encode() in path.read_bytes() for path in root.rglob("*.json"))
    assert call("review", "accept", made.id, "--yes", "--store", root) == 0
    assert any(token.encode() in path.read_bytes() for path in root.rglob("*.json"))


def test_all_leaves_out_what_agents_propose_and_their_kind_takes_it(
    tmp_path: Path, root: Path, library: Library, call: Call, capsys: pytest.CaptureFixture[str]
) -> None:
    made = make_proposal(ONE, edited(library, "Al likes coffee"), "you said so", library)
    AgentProposals(tmp_path / "state").add(made, ReviewQueue(library).decisions)
    assert call("review", "--store", root) == 0
    assert "claude-code 2.1: you said so" in capsys.readouterr().out
    assert call("review", "accept", "--all", "--store", root) == 1
    assert call("review", "show", made.id, "--store", root) == 0
    assert "coffee" in capsys.readouterr().out
    assert call("review", "accept", "--all", "--kind", "agent", "--store", root) == 0
    assert any(b"coffee" in path.read_bytes() for path in root.rglob("*.json"))
