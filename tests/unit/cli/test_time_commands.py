"""`history`, `--as-of` and `diff` on the sample stores, against expectations worked out by hand."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from memtui.config import session
from tests.unit.cli.test_link_commands import ask as ask
from tests.unit.cli.test_link_commands import sample as sample

Call = Callable[..., int]
Ask = Callable[..., Any]

# carillon-score's input format in items.json: d768edf2 (25 February) was replaced by a59fe3d8
# (2 April), and that by 41fc1ac1 (20 August).
CHAIN = ("d768edf2", "a59fe3d8", "41fc1ac1")
SCORE = "projects/carillon-score"


def ids(memories: Any) -> list[str]:
    return [memory["id"][:8] for memory in memories]


@pytest.mark.slow
def test_history_has_the_chain_newest_first_with_word_diffs(ask: Ask, sample: Path) -> None:
    found = ask("history", "a59fe3d8", "--store", sample / "agent-memory")
    assert [v["ref"][13:21] for v in found["versions"]] == list(reversed(CHAIN))
    assert [v["number"] for v in found["versions"]] == [3, 2, 1]
    assert [v["follows"] for v in found["versions"]] == [2, 1, None]
    times = [v["time"][:16] for v in found["versions"]]
    assert times == ["2026-08-20T02:00", "2026-04-02T01:30", "2026-02-25T02:00"]
    last = found["versions"][0]
    after = "".join(text for kind, text in last["diff"] if kind != "gone")
    assert after.split() == last["content"].split()
    assert found["complete"] is True


@pytest.mark.slow
def test_a_former_text_is_restored_as_a_new_change(call: Call, ask: Ask, sample: Path) -> None:
    store = ("--store", sample / "agent-memory")
    before = ask("show", "41fc1ac1", *store)["content"]
    assert call("edit", "41fc1ac1", "--content", "carillon-score reads nothing", *store) == 0
    versions = ask("history", "41fc1ac1", *store)["versions"]
    assert [v["origin"] for v in versions] == ["memtui", "store", "store", "store"]
    assert call("history", "41fc1ac1", "--restore", 3, "--dry-run", *store) == 0
    assert ask("show", "41fc1ac1", *store)["content"] == "carillon-score reads nothing"
    assert call("history", "41fc1ac1", "--restore", 3, *store) == 0
    assert ask("show", "41fc1ac1", *store)["content"] == before
    assert call("undo", *store) == 0
    assert ask("show", "41fc1ac1", *store)["content"] == "carillon-score reads nothing"
    assert call("history", "41fc1ac1", "--restore", 99, *store) == 1


@pytest.mark.parametrize(
    ("day", "there"),
    [
        ("2026-02-24", []),
        ("2026-02-25", ["d768edf2"]),
        ("2026-04-01", ["d768edf2"]),
        ("2026-04-02", ["a59fe3d8"]),
        ("2026-08-19", ["a59fe3d8"]),
        ("2026-08-20", ["41fc1ac1"]),
        ("2026-11-21", ["41fc1ac1"]),
    ],
)
def test_list_as_of_has_the_link_of_the_chain_that_was_believed_then(
    ask: Ask, sample: Path, day: str, there: list[str]
) -> None:
    store = ("--store", sample / "agent-memory")
    found = ask("list", "--entity", SCORE, "--as-of", day, *store, "--limit", 100)
    assert [name for name in ids(found) if name in CHAIN] == there
    assert {memory["status"] for memory in found} <= {"active"}


@pytest.mark.slow
def test_as_of_in_search_show_stats_and_export(
    call: Call, ask: Ask, sample: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    then = ("--as-of", "2026-05-01", "--store", sample / "agent-memory")
    assert ids(ask("search", "compiles", "format", "--entity", SCORE, *then))[0] == "a59fe3d8"
    assert ask("show", "a59fe3d8", *then)["status"] == "active"
    assert ask("stats", "--entity", SCORE, *then)["status"] == {"active": 1, "superseded": 1}
    capsys.readouterr()
    file = sample / "then.jsonl"
    assert call("export", "--format", "jsonl", "-o", file, "--entity", SCORE, *then) == 0
    assert "a59fe3d8" in file.read_text()
    assert call("show", "41fc1ac1", *then) == 1
    assert call("export", "--format", "bundle", "-o", sample / "x.zip", *then) == 1
    assert "as they are now" in capsys.readouterr().err
    assert call("retire", "a59fe3d8", *then) == 2  # no command that writes takes the option


@pytest.mark.slow
def test_diff_between_two_dates_of_the_sample(ask: Ask, sample: Path) -> None:
    """Between 17 and 20 November agent-memory got two facts on Quarterbell: the freeze (19th), and
    214 towers (20th), which replaced the 212 of October."""
    only = ("--entity", "companies/quarterbell", "--store", sample / "agent-memory")
    found = ask("diff", "--since", "2026-11-17", "--until", "2026-11-20", *only)["differences"]
    assert [(d["kind"], d["ref"][13:21]) for d in found] == [
        ("superseded", "08ca8055"),
        ("added", "af7c30bf"),
        ("added", "18223da1"),
    ]
    assert found[1]["by"] == "conversation session-0716"
    assert found[0]["superseded_by"] == ["af7c30bf-5eb6-4333-8e6c-fb28d605fe68"]
    same = ask("diff", "--since", "2026-11-20T12:00", "--until", "2026-11-20", *only)
    assert same["differences"] == []


@pytest.mark.slow
def test_diff_tells_what_memtui_changed_with_the_text_before(
    call: Call, ask: Ask, sample: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    store = ("--store", sample / "agent-memory")
    assert call("edit", "af7c30bf", "--content", "Quarterbell looks after *no* towers", *store) == 0
    assert call("retire", "18223da1", *store) == 0
    only = ("--since", "1h", "--entity", "companies/quarterbell", *store)
    removed, changed = ask("diff", *only)["differences"]
    assert (changed["kind"], changed["fields"], changed["by"]) == ("changed", ["content"], "memtui")
    assert changed["before"].startswith("Quarterbell looks after 214 towers")
    assert "214" in "".join(text for kind, text in changed["diff"] if kind == "gone")
    assert (removed["kind"], removed["ref"][13:21]) == ("removed", "18223da1")
    assert call("diff", "--markdown", *only) == 0
    report = capsys.readouterr().out
    assert "## Changed" in report
    assert "~~214" in report
    assert r"\*no\*" in report


@pytest.mark.slow
def test_diff_since_last_needs_a_session_and_takes_its_time(
    call: Call, ask: Ask, sample: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    store = sample / "agent-memory"
    assert call("diff", "--since", "last", "--store", store) == 1
    assert "have not been open" in capsys.readouterr().err
    seen = session.Session(seen="2026-11-20T00:00:00+00:00")
    session.update(tmp_path / "state", session.key_for([store]), lambda _: seen)
    found = ask("diff", "--since", "last", "--store", store)
    assert found["since"] == "2026-11-20T00:00:00Z"
    assert "af7c30bf" in str(found)
