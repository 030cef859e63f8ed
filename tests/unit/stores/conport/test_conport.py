"""ConPort's rows: what is read, and what a change leaves in the database that ConPort reads.

The sample was made by context-portal-mcp 0.3.13 itself.
"""

from __future__ import annotations

import json
import shutil
import sqlite3
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from memtui.changes import Act
from memtui.errors import Conflict, Refused
from memtui.library import Library
from memtui.stores.conport import FORMAT
from tests.samples import SAMPLES
from tests.unit.stores.json_stores.opened import LABEL, NOW, Opened


@pytest.fixture
def conport(tmp_path: Path) -> Opened:
    place = tmp_path / "towerd" / "context_portal"
    shutil.copytree(SAMPLES / "conport", place)
    root = FORMAT.detect(tmp_path / "towerd")
    assert root == place
    opened = Opened(FORMAT.open(root, LABEL), tmp_path / "state")
    opened.store.now = lambda: NOW  # type: ignore[attr-defined]
    return opened


def asked(conport: Opened, sql: str, *values: object) -> list[Any]:
    with closing(sqlite3.connect(conport.store.root / "context.db")) as connection:
        return connection.execute(sql, values).fetchall()


def found(conport: Opened, table: str, word: str) -> list[int]:
    """What ConPort's own search finds."""
    sql = f"SELECT rowid FROM {table}_fts WHERE {table}_fts MATCH ?"
    return [number for (number,) in asked(conport, sql, word)]


def test_what_the_rows_say(conport: Opened) -> None:
    decision = conport.by_id("decisions/1")
    assert decision.title == "Plans are keyed by instants"
    assert decision.content.endswith(
        "name.\n\n## Implementation details\n\n`shown_at` alone knows a zone."
    )
    assert (decision.entity, decision.tags) == ("decisions", ("planner", "time"))
    assert [(link.relation, link.target, link.note) for link in decision.links] == [
        ("implemented_by", "progress_entries/1", "keys")
    ]
    done, child = conport.by_id("progress_entries/1"), conport.by_id("progress_entries/2")
    assert (done.status, conport.by_id("progress_entries/3").status) == ("retired", "active")
    assert [(link.relation, link.target) for link in child.links] == [
        ("part_of", "progress_entries/1")
    ]
    limit = conport.by_id("custom_data/13")
    assert (limit.entity, limit.title) == ("custom/limits", "hammer")
    assert limit.content == '{\n  "stop": 70,\n  "go": 55\n}'
    assert conport.by_id("product_context/who").content == "Six people and a van."


def test_the_index_follows_an_edit_and_its_undo(conport: Opened) -> None:
    before = asked(conport, "SELECT * FROM decisions WHERE id = 2")
    plan = conport.do(Act.EDIT, "decisions/2", content="The felt hardens above 75 centigrade.")
    row = "SELECT rationale, implementation_details FROM decisions WHERE id = 2"
    assert asked(conport, row) == [("The felt hardens above 75 centigrade.", None)]
    assert found(conport, "decisions", "centigrade") == [2]
    conport.undo(plan)
    assert found(conport, "decisions", "centigrade") == []
    assert asked(conport, "SELECT * FROM decisions WHERE id = 2") == before


def test_a_deleted_row_comes_back_under_its_number_and_in_the_index(conport: Opened) -> None:
    before = asked(conport, "SELECT * FROM custom_data ORDER BY id")
    plan = conport.do(Act.DELETE, "custom_data/1")
    assert found(conport, "custom_data", "twice") == []
    conport.undo(plan)
    assert found(conport, "custom_data", "twice") == [1]
    assert asked(conport, "SELECT * FROM custom_data ORDER BY id") == before


def test_children_of_a_deleted_entry_are_planned_so_that_undo_knows_them(conport: Opened) -> None:
    plan = conport.do(Act.DELETE, "progress_entries/7")
    parents = "SELECT id, parent_id FROM progress_entries WHERE id IN (8, 9)"
    assert asked(conport, parents) == [(8, None), (9, None)]
    conport.undo(plan)
    assert asked(conport, parents) == [(8, 7), (9, 7)]


def test_what_is_json_stays_json_and_a_text_stays_a_text(conport: Opened) -> None:
    value = "SELECT value FROM custom_data WHERE id = ?"
    conport.do(Act.EDIT, "custom_data/13", content='{"stop": 71}')
    assert asked(conport, value, 13) == [('{"stop": 71}',)]
    conport.do(Act.EDIT, "custom_data/1", content='{"stop": 71}')
    assert asked(conport, value, 1) == [(json.dumps('{"stop": 71}'),)]
    conport.do(Act.EDIT, "custom_data/14", content="three, or four")
    assert asked(conport, value, 14) == [('"three, or four"',)]


def test_a_context_keeps_its_former_version_as_conport_does(conport: Opened) -> None:
    content = "SELECT content FROM active_context"
    before = asked(conport, content)[0][0]
    plan = conport.do(Act.EDIT, "active_context/focus", content="The frost.")
    assert json.loads(asked(conport, content)[0][0]) == {
        **json.loads(before),
        "focus": "The frost.",
    }
    history = "SELECT version, content, timestamp FROM active_context_history ORDER BY version"
    assert asked(conport, history)[-1] == (2, before, "2026-11-20T18:30:00+00:00")
    conport.undo(plan)
    assert asked(conport, content) == [(before,)]
    assert len(asked(conport, history)) == 1


def test_a_link_is_a_row_where_both_ends_are_items(conport: Opened) -> None:
    conport.do(Act.LINK, "decisions/5", relation="decided_with", target="system_patterns/4")
    new = asked(conport, "SELECT * FROM context_links ORDER BY id DESC LIMIT 1")[0]
    assert new[1:7] == (
        *("/home/marit/src/towerd", "decision", "5", "system_pattern", "4"),
        "decided_with",
    )
    conport.do(Act.UNLINK, "decisions/5", relation="decided_with", target="system_patterns/4")
    assert asked(conport, "SELECT count(*) FROM context_links") == [(7,)]


def test_progress_is_done_and_taken_up_again(conport: Opened) -> None:
    status = "SELECT status FROM progress_entries WHERE id = 6"
    conport.do(Act.RETIRE, "progress_entries/6")
    assert asked(conport, status) == [("DONE",)]
    conport.do(Act.RESTORE, "progress_entries/6")
    assert asked(conport, status) == [("TODO",)]
    with closing(sqlite3.connect(conport.store.root / "context.db")) as database, database:
        database.execute("UPDATE progress_entries SET status = 'IN_PROGRESS' WHERE id = 6")
    conport.reload()
    conport.do(Act.RETIRE, "progress_entries/6")
    assert asked(conport, status) == [("DONE",)]
    conport.do(Act.RESTORE, "progress_entries/6")
    assert asked(conport, status) == [("IN_PROGRESS",)], "the one it had"
    assert "progress only" in conport.store.refusal(Act.RETIRE, conport.by_id("decisions/1"))


def test_the_entity_says_into_which_table(conport: Opened) -> None:
    for entity, prefix in (
        ("", "decisions/"),
        ("progress", "progress_entries/"),
        ("patterns", "system_patterns/"),
        ("custom/bench", "custom_data/"),
        ("context/active", "active_context/"),
    ):
        plan = conport.do(Act.ADD, content="A lamp for the bench", title="Lamp", entity=entity)
        memory = conport.get(plan.refs[0])
        assert memory.id.startswith(prefix)
        assert (memory.content, memory.entity) == ("A lamp for the bench", entity or "decisions")
    with pytest.raises(Refused, match="this name already"):
        conport.plan(Act.EDIT, "system_patterns/1", title="Lamp")


def test_another_program_was_faster(conport: Opened) -> None:
    plan = conport.plan(Act.EDIT, "decisions/2", content="mine")
    with closing(sqlite3.connect(conport.store.root / "context.db")) as other, other:
        other.execute("UPDATE decisions SET rationale = 'theirs' WHERE id = 2")
    library = Library([conport.store], state=conport.state)
    library.load()
    from memtui.files.save_hooks import NullRecorder

    with pytest.raises(Conflict) as caught:
        conport.store.apply(plan.edits, NullRecorder(conport.state))
    assert "rationale: theirs" in str(caught.value.theirs)


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        ("DROP TRIGGER decisions_after_update", "decisions_after_update is missing"),
        ("CREATE TRIGGER own AFTER UPDATE ON decisions BEGIN SELECT 1; END", "'own'"),
        ("ALTER TABLE decisions DROP COLUMN tags", "lacks the column 'tags'"),
        ("ALTER TABLE decisions ADD COLUMN more TEXT", ""),
    ],
)
def test_a_schema_that_memtui_does_not_know_is_read_only(
    conport: Opened, change: str, reason: str
) -> None:
    assert not conport.store.read_only, "what is known of it holds for the file as it is"
    with closing(sqlite3.connect(conport.store.root / "context.db")) as other, other:
        if "DROP COLUMN" in change:
            for act in ("insert", "update", "delete"):
                other.execute(f"DROP TRIGGER decisions_after_{act}")
        other.execute(change)
    conport.reload()
    assert len(conport.memories) > 60
    assert bool(conport.store.read_only) == bool(reason)
    assert reason in conport.store.read_only
