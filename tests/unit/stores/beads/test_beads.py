"""Issues as bd writes them: what is read of a line, and what a change makes of it."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from memtui.changes import Act, FileDiff, edit_diffs, mask_diff
from memtui.errors import Refused
from memtui.stores.beads import FORMAT
from tests.unit.stores.json_stores.opened import LABEL, Opened
from tests.unit.stores.json_stores.opened import NOW as NOW_TIME

NOW = "2026-11-20T18:30:00Z"
"""The clock of the test's store, as `updated_at` has it."""
EPIC = {"id": "bd-e", "title": "Ship it / 2.0", "status": "open", "priority": 1}
TASK = {
    "id": "bd-a",
    "title": "Sign the wheel",
    "description": "Before upload.",
    "notes": "Key is in the safe.",
    "status": "open",
    "priority": 0,
    "issue_type": "task",
    "created_at": "2026-01-02T03:04:05Z",
    "updated_at": "2026-01-03T00:00:00Z",
    "labels": ["release"],
    "dependencies": [
        {"issue_id": "bd-a", "depends_on_id": "bd-e", "type": "parent-child"},
        {"issue_id": "bd-a", "depends_on_id": "bd-x", "type": "blocks"},
    ],
    "own_key": {"x": 1},
}
DONE = {"id": "bd-d", "title": "Old way", "status": "closed", "closed_at": "2026-01-01T00:00:00Z"}
KEPT = {"_type": "memory", "key": "where", "value": "The key is in the safe."}


@pytest.fixture
def issues(tmp_path: Path) -> Opened:
    return opened(tmp_path, {**EPIC, "issue_type": "epic"}, TASK, DONE, KEPT)


def opened(tmp_path: Path, *lines: Any) -> Opened:
    file = tmp_path / "p" / ".beads" / "issues.jsonl"
    file.parent.mkdir(parents=True)
    texts = (each if isinstance(each, str) else json.dumps(each) for each in lines)
    file.write_text("".join(f"{text}\n" for text in texts))
    root = FORMAT.detect(tmp_path / "p")
    assert root == file.parent
    store = Opened(FORMAT.open(root, LABEL), tmp_path / "state")
    store.store.now = lambda: NOW_TIME  # type: ignore[attr-defined]
    return store


def line(store: Opened, id: str) -> dict[str, Any]:
    text = (store.store.root / "issues.jsonl").read_text()
    found = (json.loads(each) for each in text.splitlines() if each.startswith("{"))
    value: dict[str, Any] = next(each for each in found if each.get("id", each.get("key")) == id)
    return value


def test_what_an_issue_says(issues: Opened) -> None:
    task = issues.by_id("bd-a")
    assert task.content == "Before upload.\n\n## Notes\n\nKey is in the safe."
    assert (task.title, task.type, task.importance) == ("Sign the wheel", "task", "high")
    assert (task.entity, task.tags) == ("Ship it / 2.0", ("release",))
    assert [(link.relation, link.target) for link in task.links] == [
        ("parent-child", "bd-e"),
        ("blocks", "bd-x"),
    ]
    assert task.extra["own_key"] == {"x": 1}
    assert issues.store.entity_levels(task.entity) == ("Ship it / 2.0",)
    assert issues.by_id("bd-d").status == "retired"
    assert issues.by_id("memory/where").content == "The key is in the safe."


def test_an_edit_changes_the_part_below_its_heading_and_the_time(issues: Opened) -> None:
    text = issues.by_id("bd-a").content.replace("the safe", "the drawer")
    issues.do(Act.EDIT, "bd-a", content=text)
    assert line(issues, "bd-a") == {
        **TASK,
        "notes": "Key is in the drawer.",
        "updated_at": NOW,
    }
    issues.do(Act.EDIT, "bd-a", content="Before upload.\n\n## Design\n\nBy hand.")
    assert "notes" not in line(issues, "bd-a")
    assert line(issues, "bd-a")["design"] == "By hand."


def test_a_field_that_holds_such_a_heading_itself_is_not_taken_apart(tmp_path: Path) -> None:
    own = {**TASK, "description": "First.\n\n## Notes\n\nOf the description."}
    issues = opened(tmp_path, own)
    with pytest.raises(Refused, match="cannot be told apart"):
        issues.plan(Act.EDIT, "bd-a", content="Something else")
    issues.do(Act.EDIT, "bd-a", title="Sign the sdist")
    assert line(issues, "bd-a") == {**own, "title": "Sign the sdist", "updated_at": NOW}


def test_closing_and_reopening_keep_closed_at_in_step(issues: Opened) -> None:
    issues.do(Act.RETIRE, "bd-a")
    closed = line(issues, "bd-a")
    assert (closed["status"], closed["closed_at"], closed["close_reason"]) == (
        "closed",
        NOW,
        "Closed",
    )
    issues.do(Act.RESTORE, "bd-a")
    assert line(issues, "bd-a") == {**TASK, "updated_at": NOW}


def test_a_successor_and_a_duplicate_are_named_as_bd_names_them(issues: Opened) -> None:
    plan = issues.do(Act.SUPERSEDE, "bd-a", content="At upload.")
    new = plan.refs[0].partition(":")[2]
    old = line(issues, "bd-a")
    assert old["status"] == "closed"
    edge = old["dependencies"][-1]
    assert (edge["issue_id"], edge["depends_on_id"], edge["type"]) == ("bd-a", new, "supersedes")
    assert issues.by_id("bd-a").superseded_by == (new,)
    assert issues.by_id(new).supersedes == ("bd-a",)
    assert (issues.by_id(new).title, issues.by_id(new).entity) == (
        "Sign the wheel",
        "Ship it / 2.0",
    )
    assert line(issues, new)["description"] == "At upload."
    issues.do(Act.MERGE, "bd-e", others=[new])
    assert line(issues, new)["dependencies"][-1]["type"] == "duplicates"


def test_a_new_issue_looks_like_the_others(issues: Opened) -> None:
    plan = issues.do(Act.ADD, content="Ask Dayo.\nHe has the key.", entity="Ship it / 2.0")
    added = line(issues, plan.refs[0].partition(":")[2])
    assert added["id"].startswith("bd-")
    assert (added["title"], added["description"]) == ("Ask Dayo.", "Ask Dayo.\nHe has the key.")
    assert (added["status"], added["priority"], added["issue_type"]) == ("open", 2, "task")
    assert added["created_at"] == added["updated_at"] == NOW
    assert [each["depends_on_id"] for each in added["dependencies"]] == ["bd-e"]
    elsewhere = issues.do(Act.ADD, content="Of the mill", entity="mill")
    assert line(issues, elsewhere.refs[0].partition(":")[2])["labels"] == ["mill"]


def test_what_bd_would_refuse_is_refused(issues: Opened) -> None:
    with pytest.raises(Refused, match="500"):
        issues.plan(Act.EDIT, "bd-a", title="x" * 501)
    with pytest.raises(Refused, match="lower-case"):
        issues.plan(Act.EDIT, "bd-a", type="Not a type")
    assert "no status" in issues.store.refusal(Act.RETIRE, issues.by_id("memory/where"))


def test_headers_tombstones_and_conflict_marks(tmp_path: Path) -> None:
    issues = opened(
        tmp_path,
        {"_schema": "beads-jsonl/1", "_sort": "stable-v1"},
        {**TASK, "status": "tombstone", "original_type": "bug"},
        "<<<<<<< HEAD",
        {**TASK, "id": "bd-b"},
        {**TASK, "id": "bd-b", "title": "Theirs"},
    )
    assert [memory.id for memory in issues.memories] == ["bd-a", "bd-b", "bd-b#2"]
    assert issues.by_id("bd-a").status == "deleted"
    assert [fault.reason for fault in issues.unreadable] == ["line 3 is no issue of Beads"]
    issues.do(Act.DELETE, "bd-a")
    text = (issues.store.root / "issues.jsonl").read_text()
    assert text.startswith('{"_schema"')
    assert "<<<<<<< HEAD\n" in text


def test_a_file_that_begins_with_a_mark_of_a_merge_is_found(tmp_path: Path) -> None:
    """A conflict in the first issue hid the whole file (gastownhall/beads#158, #590)."""
    file = tmp_path / ".beads" / "issues.jsonl"
    file.parent.mkdir()
    text = json.dumps({**TASK, "title": "Sign"})
    file.write_text(f"<<<<<<< HEAD\n{text}\n=======\n{text}\n>>>>>>> x\n")
    assert FORMAT.detect(tmp_path) == file.parent
    file.write_text("<<<<<<< HEAD\nnothing\n")
    assert FORMAT.detect(tmp_path) is None


def test_a_change_of_a_long_line_is_shown_by_members(issues: Opened) -> None:
    plan = issues.plan(Act.RETIRE, "bd-a")
    (diff,) = edit_diffs(plan.edits[0])
    shown = mask_diff(diff)
    before, after = (shown.before or "").split("\n"), (shown.after or "").split("\n")
    assert "status: open" in before
    assert "status: closed" in after
    assert "labels:" in before
    assert "  - release" in before
    assert not any("Old way" in line for line in before), "what stays is left out"
    whole = FileDiff("x/issues.jsonl", None, diff.after)
    assert mask_diff(whole) == whole, "a new file is shown as it is"


def test_the_last_issue_takes_the_file_along_as_bd_does(tmp_path: Path) -> None:
    issues = opened(tmp_path, TASK)
    file = issues.store.root / "issues.jsonl"
    before = file.read_bytes()
    plan = issues.do(Act.DELETE, "bd-a")
    assert not file.exists()
    assert (issues.memories, issues.unreadable) == ([], [])
    issues.do(Act.ADD, content="A first one")
    assert len(issues.memories) == 1
    issues.do(Act.DELETE, issues.memories[0].id)
    issues.undo(plan)
    assert file.read_bytes() == before
