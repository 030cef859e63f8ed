"""Codex's own files are read whole and never written; what is asked for stands in a note."""

from __future__ import annotations

import os
import shutil
import sqlite3
from datetime import UTC, datetime
from pathlib import Path

import pytest

from memtui.changes import Act, Change
from memtui.errors import Refused
from memtui.library import Library
from memtui.model import Memory
from memtui.search.salience import count_accesses, find_last_access
from memtui.sessions.origin import recorded_ids
from memtui.stores.codex import detect
from memtui.testing.fixtures import contents, differences
from tests.samples import SAMPLES

NOTES = "extensions/ad_hoc/notes/"


@pytest.fixture
def root(tmp_path: Path) -> Path:
    return Path(shutil.copytree(SAMPLES / "codex", tmp_path / ".codex")) / "memories"


@pytest.fixture
def library(root: Path) -> Library:
    library = Library.open([root], state=root.parent.parent / "state")
    library.load()
    return library


def one(library: Library, text: str) -> Memory:
    label = library.stores[0].label
    return next(memory for memory in library.memories(label) if text in memory.content)


def test_items_know_their_task_group_and_summaries_their_thread(library: Library) -> None:
    fact = one(library, "takes the night as a date")
    assert (fact.entity, fact.type) == ("towerd plan signing", "knowledge")
    assert fact.extra["cwd"] == "/home/dayo/src/towerd"
    rollout = one(library, "14 tests")
    assert rollout.source == "thread 019a4c1e-77b2-7d10-9a53-2f6f0c1d8e01"
    assert rollout.extra["rollout_path"].endswith("rollout-2026-11-03T09-12-44-019a4c1e.jsonl")
    linked = one(library, f"{rollout.id} (cwd=")
    assert [(link.relation, link.target) for link in linked.links] == [("drawn_from", rollout.id)]
    assert linked.source == rollout.source


@pytest.mark.parametrize("act", [Act.SUPERSEDE, Act.RETIRE])
def test_a_change_of_what_codex_wrote_is_a_note_that_asks(
    library: Library, root: Path, act: Act
) -> None:
    before = contents(root)
    memory = one(library, "takes the night as a date")
    fields = {"content": "It takes a Night"} if act is Act.SUPERSEDE else {}
    library.apply(library.plan([Change(act, memory.store, memory.ref, fields)]))
    changed = differences(before, contents(root))
    assert len(changed) == 1
    assert changed[0].startswith(NOTES)
    text = (root / changed[0]).read_text()
    assert "> `plan::verify` takes the night as a date" in text
    assert ("It takes a Night" in text) is (act is Act.SUPERSEDE)
    now = library.get(memory.ref)
    assert now.status == ("superseded" if act is Act.SUPERSEDE else "retired")
    asked = "being replaced" if act is Act.SUPERSEDE else "being forgotten"
    assert now.extra["pending"] == f"{asked}, pending until Codex consolidates"
    assert now.shown_status == asked  # Codex still has it
    note = library.get(f"{memory.store}:{changed[0]}")
    asked = "It takes a Night" if act is Act.SUPERSEDE else "Forget: plan::verify takes the night"
    assert note.headline.startswith(asked)
    assert note.headline.endswith("(asked, not yet done)")
    assert now.superseded_by == ((changed[0],) if act is Act.SUPERSEDE else ())
    library.apply(library.plan([Change(Act.RESTORE, memory.store, memory.ref)]))
    assert contents(root) == before
    assert library.get(memory.ref).status == "active"


@pytest.mark.parametrize("act", [Act.EDIT, Act.DELETE, Act.MERGE, Act.RETYPE])
def test_everything_else_is_refused_with_the_reason(library: Library, act: Act) -> None:
    memory = one(library, "takes the night as a date")
    with pytest.raises(Refused, match="Codex"):
        library.plan([Change(act, memory.store, memory.ref, {"content": "x", "type": "y"})])


def test_a_note_is_pending_until_codex_has_written(library: Library, root: Path) -> None:
    label = library.stores[0].label
    add = Change(Act.ADD, label, "", {"content": "A gullfeather", "entity": "towerd"})
    library.apply(library.plan([add]))
    note = one(library, "A gullfeather")
    assert (note.type, "This is about towerd." in note.content) == ("pending", True)
    file = root / "MEMORY.md"
    later = Path(note.origin.file).stat().st_mtime_ns + 10**9
    os.utime(file, ns=(later, later))
    library.refresh()
    assert one(library, "A gullfeather").type == "ad-hoc"


def test_other_folders_are_left_alone(root: Path) -> None:
    assert detect(root.parent) == detect(root) == root
    (root / "memory_summary.md").unlink()
    assert detect(root) is None
    for sample in SAMPLES.iterdir():
        assert sample.name == "codex" or detect(sample) is None, sample.name


def test_a_skill_that_leads_out_of_the_store_is_named(tmp_path: Path) -> None:
    root, outside = tmp_path / "memories", tmp_path / "outside"
    for folder in (root / "skills", outside):
        folder.mkdir(parents=True)
    (outside / "SKILL.md").write_text("# Elsewhere\n")
    for name in ("memory_summary.md", "MEMORY.md"):
        (root / name).write_text("- a\n")
    (root / "skills" / "away").symlink_to(outside)
    library = Library.open([root], state=tmp_path / "state")
    library.load()
    (fault,) = library.snapshot.stores[0].unreadable
    assert (fault.file, "outside the store" in fault.reason) == (str(root / "skills/away"), True)


def test_a_memory_file_without_task_groups_is_read(tmp_path: Path) -> None:
    root = tmp_path / "memories"
    root.mkdir()
    for name in ("memory_summary.md", "MEMORY.md"):
        (root / name).write_text(f"- of {name}\n")
    library = Library.open([root], state=tmp_path / "state")
    library.load()
    assert library.snapshot.stores[0].unreadable == ()
    assert {memory.content for memory in library.snapshot.rows} == {
        "of memory_summary.md",
        "of MEMORY.md",
    }


@pytest.mark.parametrize(
    ("text", "name"), [("Gates close at six", "gates-close-at-six"), ("?!", "note")]
)
def test_a_note_is_named_after_its_text(library: Library, root: Path, text: str, name: str) -> None:
    label = library.stores[0].label
    before = contents(root)
    add = Change(Act.ADD, label, "", {"content": text})
    library.apply(library.plan([add]))
    (note,) = {*contents(root)} - {*before}
    assert note.lower().endswith(f"-{name}.md")


def test_a_session_is_given_the_summary_of_the_version_that_codex_writes(
    library: Library, root: Path
) -> None:
    (store,) = library.stores
    summary = root / "memory_summary.md"
    now = library.now()
    (root.parent / "config.toml").write_text("[features]\nmemories = true\n")
    (given,) = store.session_start(library, "", now)
    assert given.text == summary.read_text()
    summary.write_text("v0\n" + summary.read_text())
    assert store.session_start(library, "", now) == ()
    summary.unlink()
    assert store.session_start(library, "", now) == ()


def test_notes_that_codex_does_not_read_are_counted(root: Path, library: Library) -> None:
    assert library.stores[0].remarks() == []
    (root / "mine").mkdir()
    for number in range(5):
        (root / "mine" / f"{number}.md").write_text("The port is 8081\n")
    (remark,) = library.stores[0].remarks()
    assert remark.text == (
        "5 notes below memories/ are no program's memory: mine/0.md, mine/1.md, mine/2.md "
        "and 2 more"
    )


TWO_TASKS = """# Task Group: towerd

## Task 1: parse the plan, success

### rollout_summary_files

- rollout_summaries/2026-11-01T09-00-00-ab.md (cwd=/src/towerd, thread_id=019a-one, usable)

## Task 2: ring the bell, success

### rollout_summary_files

- rollout_summaries/2026-11-02T09-00-00-cd.md (cwd=/src/towerd)

## Reusable knowledge

- Plans are signed [Task 1]
- The bell is silent at night [Task 1, 2]
- Nobody said where this is from
"""


def test_an_item_has_the_threads_of_its_tasks(tmp_path: Path) -> None:
    """Those of the tasks that it names, by their lines or else by the rollout summaries."""
    root = tmp_path / "memories"
    (root / "rollout_summaries").mkdir(parents=True)
    (root / "memory_summary.md").write_text("v1\n")
    (root / "MEMORY.md").write_text(TWO_TASKS)
    second = root / "rollout_summaries" / "2026-11-02T09-00-00-cd.md"
    second.write_text("thread_id: 019a-two\ncwd: /src/towerd\n\n# Bell\n")
    library = Library.open([root], state=tmp_path / "state")
    library.load()
    signed, silent = one(library, "Plans are signed"), one(library, "silent at night")
    assert (signed.source, recorded_ids(signed)) == ("thread 019a-one", ("019a-one",))
    assert recorded_ids(silent) == ("019a-one", "019a-two")
    assert [link.target for link in silent.links][1] == f"rollout_summaries/{second.name}"
    assert one(library, "Nobody said").source == ""
    (root / "MEMORY.md").write_text(TWO_TASKS.replace("## Task 2", "## Other"))
    library.refresh()
    assert one(library, "Nobody said").source == "thread 019a-one", "the group has one task"


THREAD = "019a4c1e-77b2-7d10-9a53-2f6f0c1d8e01"


def count_uses(root: Path, count: int, last: int | None) -> None:
    """As Codex counts the uses of a thread, in a database that it may be writing to."""
    with sqlite3.connect(root.parent / "memories_1.sqlite") as database:
        database.execute("PRAGMA journal_mode = WAL")
        database.execute(
            "CREATE TABLE IF NOT EXISTS stage1_outputs (thread_id TEXT PRIMARY KEY,"
            " raw_memory TEXT, usage_count INTEGER, last_usage INTEGER)"
        )
        row = (THREAD, "", count, last)
        database.execute("INSERT OR REPLACE INTO stage1_outputs VALUES (?, ?, ?, ?)", row)
    database.close()


def test_the_uses_that_codex_counts_are_those_of_the_rollout_summary(root: Path) -> None:
    count_uses(root, 3, 1_762_600_000)
    library = Library.open([root], state=root.parent.parent / "state")
    library.load()
    rollout = one(library, "14 tests")
    assert count_accesses(rollout) == 3
    assert find_last_access(rollout) == datetime(2025, 11, 8, 11, 6, 40, tzinfo=UTC)
    assert [m.ref for m in library.memories(rollout.store) if count_accesses(m)] == [rollout.ref]
    count_uses(root, 4, None)
    library.refresh()
    again = library.get(rollout.ref)
    assert (count_accesses(again), find_last_access(again)) == (4, None)


@pytest.mark.parametrize("data", [b"", b"not a database", b"SQLite format 3\0"])
def test_a_database_without_counts_costs_nothing_else(root: Path, data: bytes) -> None:
    (root.parent / "memories_1.sqlite").write_bytes(data)
    library = Library.open([root], state=root.parent.parent / "state")
    library.load()
    assert not library.snapshot.stores[0].unreadable
    assert count_accesses(one(library, "14 tests")) == 0


def test_what_an_extension_gives_to_codex_is_read_and_changed_by_a_note(root: Path) -> None:
    folder = root / "extensions" / "calendar"
    (folder / "resources").mkdir(parents=True)
    (folder / "instructions.md").write_text("Read the resources.\n")
    (folder / "resources" / "team-days.md").write_text("The team meets on Tuesdays.\n")
    library = Library.open([root], state=root.parent.parent / "state")
    library.load()
    (resource,) = (m for m in library.memories(library.stores[0].label) if "Tuesdays" in m.content)
    assert (resource.kind, resource.type, resource.entity) == ("document", "resource", "calendar")
    assert (resource.title, resource.importance) == ("team-days", "low")
    assert not [remark for remark in library.stores[0].remarks() if "team-days" in remark.text]
    before = contents(root)
    with pytest.raises(Refused, match="supersede it"):
        library.plan([Change(Act.EDIT, resource.store, resource.ref, {"content": "x"})])
    library.apply(library.plan([Change(Act.RETIRE, resource.store, resource.ref)]))
    (note,) = differences(before, contents(root))
    assert "> The team meets on Tuesdays." in (root / note).read_text()
    library.undo()
    assert contents(root) == before
