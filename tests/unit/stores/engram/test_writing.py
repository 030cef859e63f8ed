"""Changing an Engram database: only the person's columns, Engram's book-keeping, and back again."""

from __future__ import annotations

import json
import sqlite3
import subprocess
import sys
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from memtui.changes import Act, Change, Edit, Kind, Outcome, Plan, invert_edits, row_edit
from memtui.errors import Conflict, Refused, SaveError
from memtui.stores import registry
from memtui.stores.engram.rules import content_hash
from memtui.stores.engram.store import EngramStore
from memtui.stores.sqlite import connection as connecting
from memtui.stores.sqlite.connection import database_error_text
from tests.long_run import count

from .invented import (
    NOW,
    SCHEMAS,
    Told,
    build,
    change,
    connect,
    enroll,
    everything,
    observation,
    open_store,
    relation,
    sql,
)

_NOW = NOW.strftime("%Y-%m-%d %H:%M:%S")
_BOOKKEEPING = ("updated_at", "revision_count", "normalized_hash")


@pytest.fixture(params=SCHEMAS)
def folder(request: pytest.FixtureRequest, tmp_path: Path) -> Path:
    return build(tmp_path / ".engram", request.param)


@pytest.fixture
def july(tmp_path: Path) -> Path:
    return build(tmp_path / ".engram", "july")


@pytest.fixture
def v3(tmp_path: Path) -> Path:
    return build(tmp_path / ".engram", "v3")


def plan(store: EngramStore, wanted: Change) -> Plan:
    return store.plan(wanted, everything(store))


def do(store: EngramStore, wanted: Change) -> Plan:
    """Plan and apply, as the library does."""
    planned = plan(store, wanted)
    store.apply(planned.edits, Told())
    return planned


def row(folder: Path, number: int) -> dict[str, Any]:
    with closing(connect(folder)) as connection:
        found = connection.execute("SELECT * FROM observations WHERE id = ?", (number,)).fetchone()
        return dict(found) if found else {}


def person_columns(folder: Path) -> dict[str, list[tuple[Any, ...]]]:
    """Every table that holds memories, without what moves on by itself.

    A relation's number is local and names nothing: its sync_id does.
    """
    tables: dict[str, list[tuple[Any, ...]]] = {}
    with closing(connect(folder)) as connection:
        for table in ("observations", "memory_relations", "sessions", "user_prompts"):
            ignored = {*_BOOKKEEPING, *(["id"] if table == "memory_relations" else [])}
            tables[table] = [
                tuple(value for name, value in dict(row).items() if name not in ignored)
                for row in connection.execute(f"SELECT * FROM {table} ORDER BY 1")
            ]
    return tables


def mutations(folder: Path) -> list[dict[str, Any]]:
    with closing(connect(folder)) as connection:
        return [dict(row) for row in connection.execute("SELECT * FROM sync_mutations")]


def healthy(folder: Path) -> None:
    with closing(connect(folder)) as connection:
        assert connection.execute("PRAGMA integrity_check").fetchone()[0] == "ok"
        assert connection.execute("PRAGMA foreign_key_check").fetchall() == []
        for index in ("observations_fts", "prompts_fts"):
            connection.execute(f"INSERT INTO {index}({index}) VALUES ('integrity-check')")


def found(folder: Path, word: str) -> list[int]:
    return [
        number
        for (number,) in sql(
            folder, "SELECT rowid FROM observations_fts WHERE observations_fts MATCH ?", word
        )
    ]


# -- edit ------------------------------------------------------------------------------------


def test_an_edit_does_what_engram_would_do_and_nothing_else(folder: Path) -> None:
    store = open_store(folder)
    others = sql(folder, "SELECT * FROM observations WHERE id <> 2")
    settings = [sql(folder, f"PRAGMA {name}") for name in ("user_version", "journal_mode")]
    do(store, change(Act.EDIT, 2, content="Stays are <beech> & iron"))

    after = row(folder, 2)
    assert after["content"] == "Stays are <beech> & iron"
    assert after["revision_count"] == 3
    assert after["updated_at"] == _NOW
    assert after["normalized_hash"] == content_hash("Stays are <beech> & iron")
    assert sql(folder, "SELECT * FROM observations WHERE id <> 2") == others
    assert [sql(folder, f"PRAGMA {name}") for name in ("user_version", "journal_mode")] == settings
    assert found(folder, "beech") == [2]
    assert found(folder, "oak") == []
    healthy(folder)


def test_an_edit_is_noted_for_sync_in_engrams_own_form(folder: Path) -> None:
    enroll(folder)
    do(open_store(folder), change(Act.EDIT, 2, content="Stays are <beech> & iron"))
    (noted,) = mutations(folder)
    assert noted["payload"] == (
        '{"sync_id":"obs-0000000000000002","session_id":"bells-2026-10-01","type":"decision",'
        '"title":"Stays","content":"Stays are \\u003cbeech\\u003e \\u0026 iron","project":"belfry",'
        '"scope":"project","topic_key":"decision/stays","revision_count":3,"duplicate_count":1,'
        '"last_seen_at":"2026-10-03 09:00:00","created_at":"2026-10-03 09:00:00",'
        f'"updated_at":"{_NOW}"}}'
    )
    assert (noted["target_key"], noted["entity"], noted["op"], noted["source"]) == (
        "cloud",
        "observation",
        "upsert",
        "local",
    )
    assert (noted["project"], noted["acked_at"]) == ("belfry", None)
    states = sql(folder, "SELECT target_key, lifecycle, last_enqueued_seq FROM sync_state")
    assert states == [("cloud", "pending", 1), ("cloud:belfry", "pending", 1)]


def test_v3_keeps_the_former_text_as_a_version(v3: Path) -> None:
    store = open_store(v3)
    do(store, change(Act.EDIT, 2, content="Stays are beech"))
    do(store, change(Act.RETYPE, 2, type="policy"))
    versions = sql(
        v3, "SELECT version, title, content FROM observation_versions WHERE observation_id = 2"
    )
    assert versions == [(1, "Old title", "Stays of ash"), (2, "Stays", "Stays are oak from now on")]


def test_title_type_and_scope_can_be_edited(folder: Path) -> None:
    do(
        open_store(folder),
        change(Act.EDIT, 1, title="The clapper", type="learning", entity="belfry/personal"),
    )
    after = row(folder, 1)
    assert (after["title"], after["type"], after["scope"]) == (
        "The clapper",
        "learning",
        "personal",
    )
    assert after["revision_count"] == 2


def test_the_project_moves_in_july_and_stays_in_v3(tmp_path: Path) -> None:
    july, v3 = build(tmp_path / "july", "july"), build(tmp_path / "v3", "v3")
    do(open_store(july), change(Act.EDIT, 1, entity="Tower/global"))
    assert (row(july, 1)["project"], row(july, 1)["scope"]) == ("tower", "global")
    with pytest.raises(Refused, match="v3"):
        plan(open_store(v3), change(Act.EDIT, 1, entity="tower/global"))


def test_moving_into_and_out_of_a_family_sets_the_topic_key(folder: Path) -> None:
    store = open_store(folder)
    moved = do(store, change(Act.EDIT, 1, entity="belfry/architecture"))
    assert row(folder, 1)["topic_key"] == "architecture/clapper-weight"
    assert everything(store).get("bells:1").entity == "belfry/architecture"
    assert moved.warnings
    do(store, change(Act.EDIT, 1, entity="belfry/project"))
    assert row(folder, 1)["topic_key"] is None


def test_a_form_with_unchanged_fields_changes_nothing(folder: Path) -> None:
    store = open_store(folder)
    memory = everything(store).get("bells:1")
    planned = plan(
        store,
        change(
            Act.EDIT,
            1,
            content=memory.content,
            title=memory.title,
            type=memory.type,
            entity=memory.entity,
            importance=memory.importance,
            tags=(),
        ),
    )
    assert planned.outcome is Outcome.NOTHING
    assert not planned.has_edits


@pytest.mark.parametrize(
    ("fields", "reason"),
    [
        ({"content": "x" * 50_001}, "50,000"),
        ({"content": " \n "}, "needs a text"),
        ({"title": ""}, "needs a title"),
        ({"content": "half \ud83d"}, "half a character"),
        ({"importance": "low"}, "importance"),
    ],
)
def test_what_engram_would_cut_or_refuse_is_refused(
    folder: Path, fields: dict[str, str], reason: str
) -> None:
    with pytest.raises(Refused, match=reason):
        plan(open_store(folder), change(Act.EDIT, 1, **fields))


def test_private_passages_are_not_stored(folder: Path) -> None:
    planned = do(
        open_store(folder), change(Act.EDIT, 1, content="Key is <Private>under\nthe mat</private> ")
    )
    assert row(folder, 1)["content"] == "Key is [REDACTED]"
    assert "private" in planned.warnings[0]


# -- undo: every act and back ----------------------------------------------------------------

_ACTS = {
    "edit": change(Act.EDIT, 2, content="Stays are beech", title="New stays"),
    "retype": change(Act.RETYPE, 1, type="policy"),
    "retire": change(Act.RETIRE, 1),
    "restore": change(Act.RESTORE, 7),
    "reinstate": change(Act.RESTORE, 4),
    "delete": change(Act.DELETE, 5, force=True),
    "delete with versions": change(Act.DELETE, 2, force=True),
    "delete a prompt": change(Act.DELETE, "prompts/1"),
    "pin": change(Act.PIN, 1),
    "unpin": change(Act.UNPIN, 3),
    "review": change(Act.REVIEW, 2),
    "supersede": change(Act.SUPERSEDE, 1, content="The clapper weighs 41 kg now"),
    "link": change(Act.LINK, 1, relation="related", target="2"),
    "judge": change(Act.LINK, 6, relation="compatible", target="3"),
    "unlink": change(Act.UNLINK, 5, relation="supersedes", target="4"),
    "add": change(Act.ADD, content="Ropes are hemp", entity="belfry"),
    "add by topic": change(
        Act.ADD, content="Stays are beech", entity="belfry", topic_key="Decision/Stays"
    ),
}


@pytest.mark.parametrize("name", _ACTS)
def test_every_act_can_be_undone_and_redone(folder: Path, name: str) -> None:
    store = open_store(folder)
    before = person_columns(folder)
    versions = _versions(folder)
    planned = do(store, _ACTS[name])
    done = person_columns(folder)
    assert done != before
    healthy(folder)
    store.apply(invert_edits(planned.edits), Told())
    assert person_columns(folder) == before
    assert versions <= _versions(folder)
    healthy(folder)
    store.apply(planned.edits, Told())
    assert person_columns(folder) == done
    store.apply(invert_edits(planned.edits), Told())
    assert person_columns(folder) == before
    healthy(folder)


def _versions(folder: Path) -> set[tuple[Any, ...]]:
    with closing(connect(folder)) as connection:
        tables = connection.execute(
            "SELECT 1 FROM sqlite_master WHERE name = 'observation_versions'"
        ).fetchall()
    return set(sql(folder, "SELECT * FROM observation_versions")) if tables else set()


def test_undoing_an_edit_is_a_further_revision(folder: Path) -> None:
    enroll(folder)
    store = open_store(folder)
    planned = do(store, change(Act.EDIT, 2, content="Stays are beech"))
    store.apply(invert_edits(planned.edits), Told())
    after = row(folder, 2)
    assert (after["content"], after["revision_count"]) == ("Stays are oak from now on", 4)
    assert [json.loads(each["payload"])["revision_count"] for each in mutations(folder)] == [3, 4]
    assert found(folder, "oak") == [2]


def test_an_edit_and_its_plan_survive_the_journal(folder: Path) -> None:
    """Edits are kept as JSON between doing and undoing."""
    sql(folder, "UPDATE observations SET embedding = x'00ff10' WHERE id = 5")
    store = open_store(folder)
    planned = do(store, _ACTS["delete"])
    kept: list[Edit] = []
    for edit in planned.edits:
        assert edit.kind is Kind.ROW
        columns = json.loads(json.dumps([edit.row, edit.before, edit.after]))
        kept.append(row_edit(edit.path, edit.table, *columns))
    store.apply(invert_edits(tuple(kept)), Told())
    assert row(folder, 5)["embedding"] == b"\x00\xff\x10"


# -- the other acts --------------------------------------------------------------------------


def test_retiring_is_engrams_soft_delete(folder: Path) -> None:
    enroll(folder)
    do(open_store(folder), change(Act.RETIRE, 1))
    after = row(folder, 1)
    assert (after["deleted_at"], after["updated_at"], after["revision_count"]) == (_NOW, _NOW, 1)
    (noted,) = mutations(folder)
    assert noted["op"] == "delete"
    assert noted["payload"] == (
        '{"sync_id":"obs-0000000000000001","session_id":"bells-2026-10-01","type":"","title":"",'
        '"content":"","project":"belfry","scope":"","revision_count":0,"duplicate_count":0,'
        f'"deleted":true,"deleted_at":"{_NOW}"}}'
    )


def test_restoring_what_engram_cannot_restore(folder: Path) -> None:
    enroll(folder)
    store = open_store(folder)
    do(store, change(Act.RESTORE, 7))
    assert row(folder, 7)["deleted_at"] is None
    assert mutations(folder)[0]["op"] == "upsert"
    assert everything(store).get("bells:7").status == "active"
    do(store, change(Act.RESTORE, 4))
    assert everything(store).get("bells:4").status == "active"


def test_pins_and_reviews_stay_local(folder: Path) -> None:
    store = open_store(folder)
    dated = row(folder, 1)["updated_at"]
    do(store, change(Act.PIN, 1))
    assert (row(folder, 1)["pinned"], row(folder, 1)["updated_at"]) == (1, dated)
    do(store, change(Act.REVIEW, 2))
    assert (row(folder, 2)["review_after"], row(folder, 2)["updated_at"]) == (
        "2027-05-20 18:30:00",
        _NOW,
    )
    assert mutations(folder) == []
    assert plan(store, change(Act.PIN, 1)).outcome is Outcome.NOTHING


def test_deleting_needs_force_and_orphans_relations(folder: Path) -> None:
    enroll(folder)
    store = open_store(folder)
    with pytest.raises(Refused, match="permanently"):
        plan(store, change(Act.DELETE, 5))
    do(store, change(Act.DELETE, 5, force=True))
    assert row(folder, 5) == {}
    assert found(folder, "sacristy") == []
    statuses = sql(folder, "SELECT judgment_status FROM memory_relations ORDER BY id")
    assert statuses == [("orphaned",), ("orphaned",), ("pending",), ("orphaned",)]
    noted = json.loads(mutations(folder)[0]["payload"])
    assert (noted["deleted"], noted["hard_delete"]) == (True, True)


def test_v3_remembers_what_was_deleted_for_good_until_it_is_back(v3: Path) -> None:
    store = open_store(v3)
    planned = do(store, change(Act.DELETE, 5, force=True))
    ask = "SELECT entity_key, active FROM sync_delete_tombstones"
    assert sql(v3, ask) == [("obs-0000000000000005", 1)]
    store.apply(invert_edits(planned.edits), Told())
    assert sql(v3, ask) == [("obs-0000000000000005", 0)]


def test_a_prompt_can_be_deleted_and_leaves_its_tombstone(folder: Path) -> None:
    enroll(folder)
    do(open_store(folder), change(Act.DELETE, "prompts/1"))
    assert sql(folder, "SELECT count(*) FROM user_prompts") == [(0,)]
    assert sql(folder, "SELECT sync_id FROM prompt_tombstones") == [("prompt-1",)]
    assert mutations(folder)[0]["entity"] == "prompt"


def test_a_successor_supersedes_by_a_judged_relation(folder: Path) -> None:
    store = open_store(folder)
    planned = do(store, change(Act.SUPERSEDE, 1, content="The clapper weighs 41 kg now"))
    seen = everything(store)
    new = seen.get(planned.refs[0])
    assert (new.content, new.supersedes, new.entity) == (
        "The clapper weighs 41 kg now",
        ("1",),
        "belfry/project",
    )
    assert seen.get("bells:1").status == "superseded"
    assert row(folder, 1)["content"] == "The tenor clapper weighs 38 kg"
    judged = sql(
        folder,
        "SELECT judgment_status, marked_by_actor, marked_by_kind FROM memory_relations"
        " ORDER BY id DESC LIMIT 1",
    )
    assert judged == [("judged", "user", "human")]


def test_a_successor_that_was_superseded_itself_is_restored_alone(folder: Path) -> None:
    """What it supersedes stays superseded: only the verdict against it is taken back."""
    store = open_store(folder)
    newest = do(store, change(Act.SUPERSEDE, 5, content="Muffles live in the tower")).refs[0]
    assert everything(store).get("bells:5").status == "superseded"
    planned = do(store, change(Act.RESTORE, 5))
    assert planned.reason == f"takes back that it is superseded by {newest.partition(':')[2]}"
    seen = everything(store)
    assert (seen.get("bells:5").status, seen.get("bells:4").status) == ("active", "superseded")


def test_links_are_verdicts_of_the_six_kinds_within_one_project(folder: Path) -> None:
    store = open_store(folder)
    for fields, reason in (
        ({"relation": "implements", "target": "2"}, "no relation implements"),
        ({"relation": "related", "target": "8"}, "one project"),
        ({"relation": "related", "target": "prompts/1"}, "own observations"),
        ({"relation": "related", "target": "belfry/project"}, "own observations"),
    ):
        planned = plan(store, change(Act.LINK, 1, **fields))
        assert reason in planned.reason
        assert [type(edit) for edit in planned.edits] == [Edit]
    do(store, change(Act.LINK, 1, relation="scoped", target="2"))
    assert [link.relation for link in everything(store).get("bells:1").links] == ["scoped"]
    again = change(Act.LINK, 1, relation="scoped", target="2")
    assert plan(store, again).outcome is Outcome.NOTHING
    do(store, change(Act.UNLINK, 1, relation="scoped", target="2"))
    assert everything(store).get("bells:1").links == ()


def test_a_link_to_what_is_no_row_here_can_be_removed(folder: Path) -> None:
    with closing(connect(folder)) as connection, connection:
        relation(connection, 1, 999, relation="related")
    store = open_store(folder)
    (link,) = everything(store).get("bells:1").links
    do(store, change(Act.UNLINK, 1, relation="related", target=link.target))
    assert everything(store).get("bells:1").links == ()


def test_a_pending_relation_is_judged_and_not_doubled(folder: Path) -> None:
    store = open_store(folder)
    count = sql(folder, "SELECT count(*) FROM memory_relations")
    do(store, change(Act.LINK, 6, relation="compatible", target="3"))
    assert sql(folder, "SELECT count(*) FROM memory_relations") == count
    (link,) = everything(store).get("bells:6").links
    assert (link.relation, link.target) == ("compatible", "3")


def test_relations_are_synchronised_where_the_project_is_enrolled(folder: Path) -> None:
    store = open_store(folder)
    do(store, change(Act.LINK, 1, relation="related", target="2"))
    assert mutations(folder) == []
    sql(folder, "INSERT INTO sync_enrolled_projects VALUES ('belfry', '2026-10-01')")
    planned = do(store, change(Act.LINK, 1, relation="scoped", target="2"))
    (noted,) = mutations(folder)
    payload = json.loads(noted["payload"])
    assert list(payload) == [
        "sync_id",
        "source_id",
        "target_id",
        "relation",
        "judgment_status",
        "marked_by_actor",
        "marked_by_kind",
        "project",
        "created_at",
        "updated_at",
    ]
    store.apply(invert_edits(planned.edits), Told())
    assert [link.relation for link in everything(store).get("bells:1").links] == ["related"]
    store.apply(planned.edits, Told())
    assert [link.relation for link in everything(store).get("bells:1").links] == [
        "related",
        "scoped",
    ]


@pytest.mark.parametrize(
    ("act", "number", "reason"),
    [
        (Act.EDIT, "sessions/bells-2026-10-01", "session summaries"),
        (Act.EDIT, "prompts/1", "as they were typed"),
        (Act.EDIT, 7, "restore it first"),
        (Act.RESTORE, 1, "neither deleted nor superseded"),
        (Act.TAG, 1, "no tags"),
        (Act.MERGE, 1, "cannot merge"),
        (Act.RATE, 1, "no ratings"),
    ],
)
def test_what_the_format_cannot_do_is_refused_with_the_reason(
    folder: Path, act: Act, number: int | str, reason: str
) -> None:
    store = open_store(folder)
    memory = everything(store).get(f"bells:{number}")
    assert reason in store.refusal(act, memory)
    with pytest.raises(Refused, match=reason):
        plan(store, change(act, number, content="x"))


# -- add -------------------------------------------------------------------------------------


def test_a_new_text_becomes_an_observation_as_engram_saves_it(folder: Path) -> None:
    enroll(folder)
    store = open_store(folder)
    planned = do(
        store, change(Act.ADD, content="Use hemp ropes\nbecause", entity="Belfry", type="decision")
    )
    assert (planned.outcome, planned.refs) == (Outcome.ADDED, ("bells:9",))
    new = row(folder, 9)
    assert (new["title"], new["project"], new["scope"], new["session_id"]) == (
        "Use hemp ropes",
        "belfry",
        "project",
        "manual-save-belfry",
    )
    assert new["review_after"] == "2027-05-20 18:30:00"
    assert new["sync_id"].startswith("obs-")
    assert len(new["sync_id"]) == 20
    assert (new["revision_count"], new["duplicate_count"], new["created_at"]) == (1, 1, _NOW)
    assert [(each["entity"], each["op"]) for each in mutations(folder)] == [
        ("session", "upsert"),
        ("observation", "upsert"),
    ]
    assert found(folder, "hemp") == [9]


def test_the_same_text_within_a_quarter_of_an_hour_counts_once(folder: Path) -> None:
    store = open_store(folder)
    again = change(Act.ADD, content="Ropes are hemp", entity="belfry")
    do(store, again)
    planned = do(
        store, change(Act.ADD, content="Ropes  are HEMP", title="Ropes are hemp", entity="belfry")
    )
    assert planned.outcome is Outcome.DEDUPE
    assert row(folder, 9)["duplicate_count"] == 2
    assert sql(folder, "SELECT count(*) FROM observations") == [(9,)]
    sql(folder, "UPDATE observations SET created_at = '2026-11-20 18:14:59' WHERE id = 9")
    assert plan(store, again).outcome is Outcome.ADDED


def test_the_same_topic_key_overwrites_in_place(folder: Path) -> None:
    planned = do(
        open_store(folder),
        change(
            Act.ADD,
            content="Stays are beech",
            entity="belfry",
            type="decision",
            topic_key="decision/STAYS",
        ),
    )
    assert (planned.outcome, planned.supersedes) == (Outcome.SUPERSEDED, ("bells:2",))
    after = row(folder, 2)
    assert (after["content"], after["revision_count"], after["last_seen_at"]) == (
        "Stays are beech",
        3,
        _NOW,
    )


def test_an_entity_of_another_store_reads_back_as_it_was(folder: Path) -> None:
    store = open_store(folder)
    planned = do(store, change(Act.ADD, content="Likes tea", title="Tea", entity="people/alice"))
    assert everything(store).get(planned.refs[0]).entity == "people/alice"


def test_adding_needs_a_project(folder: Path) -> None:
    with pytest.raises(Refused, match="project"):
        plan(open_store(folder), change(Act.ADD, content="Where?"))


def test_several_additions_planned_together_all_arrive(folder: Path) -> None:
    store = open_store(folder)
    seen = everything(store)
    edits: list[Edit] = []
    for text in ("one", "two", "three"):
        edits += store.plan(change(Act.ADD, content=text, entity="belfry"), seen).edits
    store.apply(edits, Told())
    assert sql(folder, "SELECT content FROM observations WHERE id > 8 ORDER BY id") == [
        ("one",),
        ("two",),
        ("three",),
    ]


def test_a_session_stays_while_something_else_is_in_it(folder: Path) -> None:
    store = open_store(folder)
    first = do(store, change(Act.ADD, content="first", entity="belfry"))
    do(store, change(Act.ADD, content="second", entity="belfry"))
    store.apply(invert_edits(first.edits), Told())
    assert sql(folder, "SELECT content FROM observations WHERE id > 8") == [("second",)]
    assert sql(folder, "SELECT count(*) FROM sessions WHERE id = 'manual-save-belfry'") == [(1,)]
    healthy(folder)


# -- beside other programs -------------------------------------------------------------------


def test_a_row_that_changed_meanwhile_is_a_conflict_with_all_three_texts(folder: Path) -> None:
    store = open_store(folder)
    planned = plan(store, change(Act.EDIT, 1, content="mine"))
    sql(folder, "UPDATE observations SET content = 'theirs' WHERE id = 1")
    with pytest.raises(Conflict) as caught:
        store.apply(planned.edits, Told())
    assert (caught.value.base, caught.value.theirs, caught.value.yours) == (
        "The tenor clapper weighs 38 kg",
        "theirs",
        "mine",
    )
    assert row(folder, 1)["content"] == "theirs"


def test_a_row_that_is_gone_is_a_conflict(folder: Path) -> None:
    store = open_store(folder)
    planned = plan(store, change(Act.EDIT, 8, content="mine"))
    sql(folder, "DELETE FROM observations WHERE id = 8")
    with pytest.raises(Conflict) as caught:
        store.apply(planned.edits, Told())
    assert caught.value.theirs is None


def test_retiring_a_text_nobody_saw_is_a_conflict(folder: Path) -> None:
    store = open_store(folder)
    planned = plan(store, change(Act.RETIRE, 1))
    sql(folder, "UPDATE observations SET content = 'rewritten' WHERE id = 1")
    with pytest.raises(Conflict):
        store.apply(planned.edits, Told())


def test_another_column_of_the_same_row_may_change_meanwhile(folder: Path) -> None:
    store = open_store(folder)
    planned = plan(store, change(Act.EDIT, 1, title="mine"))
    sql(folder, "UPDATE observations SET content = 'theirs', revision_count = 7 WHERE id = 1")
    store.apply(planned.edits, Told())
    after = row(folder, 1)
    assert (after["title"], after["content"], after["revision_count"]) == ("mine", "theirs", 8)
    assert after["normalized_hash"] == content_hash("theirs")


def test_all_edits_or_none(folder: Path) -> None:
    store = open_store(folder)
    edits = [
        *plan(store, change(Act.EDIT, 1, content="first")).edits,
        *plan(store, change(Act.EDIT, 2, content="second")).edits,
    ]
    sql(folder, "UPDATE observations SET content = 'theirs' WHERE id = 2")
    before = person_columns(folder)
    with pytest.raises(Conflict):
        store.apply(edits, Told())
    assert person_columns(folder) == before
    assert mutations(folder) == []


def test_the_recorder_hears_of_every_row_before_it_is_committed(folder: Path) -> None:
    class Careful(Told):
        def intend(self, path: str, pre: str, post: str) -> None:
            assert row(folder, 1)["content"] == "The tenor clapper weighs 38 kg"
            super().intend(path, pre, post)

    told = Careful()
    store = open_store(folder)
    store.apply(plan(store, change(Act.EDIT, 1, content="new")).edits, told)
    ((name, pre, post),) = told.intents
    assert name in told.finished
    assert "observations" in name
    assert len({pre, post, ""}) == 3


def test_a_recorder_that_fails_stops_the_change(folder: Path) -> None:
    class Full(Told):
        def intend(self, path: str, pre: str, post: str) -> None:
            raise SaveError("the journal is full")

    store = open_store(folder)
    with pytest.raises(SaveError):
        store.apply(plan(store, change(Act.EDIT, 1, content="new")).edits, Full())
    assert row(folder, 1)["content"] == "The tenor clapper weighs 38 kg"


_DYING = """
import os, signal, sys
from pathlib import Path
from memtui.changes import row_edit
from memtui.stores.engram import FORMAT

class Last:
    def intend(self, path, pre, post):
        print(path, pre, post, sep="\\n", flush=True)
        if sys.argv[2] == "intend":
            os.kill(os.getpid(), signal.SIGKILL)
    def done(self, path):
        os.kill(os.getpid(), signal.SIGKILL)

folder = Path(sys.argv[1])
edits = [
    row_edit(str(folder / "engram.db"), "observations", {"id": n}, {"pinned": 0}, {"pinned": 1})
    for n in (1, 2)
]
FORMAT.open(folder, "bells").apply(edits, Last())
"""


@pytest.mark.parametrize("moment", ["intend", "done"])
def test_after_a_crash_the_row_itself_tells_what_became_of_it(folder: Path, moment: str) -> None:
    command = [sys.executable, "-c", _DYING, str(folder), moment]
    died = subprocess.run(command, capture_output=True, text=True, check=False)
    assert died.returncode == -9
    name, pre, post = died.stdout.split("\n")[:3]
    assert registry.row_digest(name) == (pre if moment == "intend" else post)
    assert registry.row_digest("/elsewhere.db#observations{}") is None
    assert registry.row_digest(f'{folder / "engram.db"}#observations{{"nothing": 1}}') is None
    pinned = (0,) if moment == "intend" else (1,)
    assert sql(folder, "SELECT pinned FROM observations WHERE id < 3") == [pinned, pinned]
    healthy(folder)


def test_an_edit_for_another_table_or_file_is_refused(folder: Path) -> None:
    store = open_store(folder)
    path = str(folder / "engram.db")
    pins: tuple[dict[str, Any], dict[str, Any]] = ({"pinned": 0}, {"pinned": 1})
    for edit, fault in (
        (row_edit(path, "sqlite_master", {"name": "x"}, {"sql": "a"}, {"sql": "b"}), "."),
        (row_edit("/elsewhere.db", "observations", {"id": 1}, *pins), "."),
        (row_edit(path, "observations", {'id" = 1 --': 1}, *pins), "has no column 'id\" = 1 --'"),
        (row_edit(path, "observations", {"id": 1}, {"a": 0}, {"b": 1}), "has no column 'a'"),
        (row_edit(path, "observations", {}, *pins), "has no row without a key"),
    ):
        with pytest.raises(Refused, match=fault):
            store.apply([edit], Told())


_ADDER = """
import sys
from pathlib import Path
from memtui.changes import Act, Change
from memtui.errors import Conflict
from memtui.stores.engram import FORMAT

class Nobody:
    def intend(self, path, pre, post): pass
    def done(self, path): pass

class One:
    def __init__(self, memory): self.memory = memory
    def get(self, ref): return self.memory

mark, count, folder = sys.argv[1], int(sys.argv[2]), Path(sys.argv[3])
store = FORMAT.open(folder, "bells")
done = 0
while done < count:
    (memory,) = [m for s in store.scan().shards if s.key.startswith("obs")
                 for m in store.read(s).memories if m.id == "1"]
    change = Change(Act.EDIT, "bells", "bells:1", {"content": f"{memory.content} {mark}{done}"})
    try:
        store.apply(store.plan(change, One(memory)).edits, Nobody())
        done += 1
    except Conflict:
        pass
"""


@pytest.mark.slow
def test_two_writers_lose_nothing(folder: Path) -> None:
    edits = count(10, 100)
    commands = [
        [sys.executable, "-c", _ADDER, mark, str(edits), str(folder)] for mark in ("a", "b")
    ]
    writers = [subprocess.Popen(command) for command in commands]
    assert [writer.wait() for writer in writers] == [0, 0]
    words = row(folder, 1)["content"].split()[6:]
    assert sorted(words) == sorted(f"{mark}{n}" for mark in "ab" for n in range(edits))
    assert row(folder, 1)["revision_count"] == 1 + 2 * edits
    healthy(folder)


_KILLED = """
import os, sqlite3, sys
c = sqlite3.connect(sys.argv[1], isolation_level=None)
c.execute("UPDATE observations SET pinned = 1 WHERE id = 2")
os._exit(0)
"""


def test_a_wal_that_was_there_stays_the_same_file(v3: Path) -> None:
    """Engram v3 keeps its -wal, and every process of it stops when that becomes another file."""
    command = [sys.executable, "-c", _KILLED, str(v3 / "engram.db")]
    subprocess.run(command, check=True)
    names = ("engram.db", "engram.db-wal", "engram.db-shm")
    before = [(v3 / name).stat().st_ino for name in names]
    store = open_store(v3)
    do(store, change(Act.EDIT, 1, content="new"))
    assert [(v3 / name).stat().st_ino for name in names] == before
    assert everything(store).get("bells:1").content == "new"
    assert everything(store).get("bells:2").pinned


def test_without_a_wal_none_is_left(folder: Path) -> None:
    do(open_store(folder), change(Act.EDIT, 1, content="new"))
    assert [path.name for path in folder.iterdir()] == ["engram.db"]


_HOLDER = """
import sqlite3, sys, time
c = sqlite3.connect(sys.argv[1], isolation_level=None)
c.execute("BEGIN IMMEDIATE")
c.execute("UPDATE observations SET content = 'held' WHERE id = 1")
print("held", flush=True)
if sys.argv[2] == "for ever":
    sys.stdin.readline()
    c.execute("ROLLBACK")
else:
    time.sleep(float(sys.argv[2]))
    c.execute("COMMIT")
"""


def _hold(folder: Path, how_long: str) -> subprocess.Popen[str]:
    holder = subprocess.Popen(
        [sys.executable, "-c", _HOLDER, str(folder / "engram.db"), how_long],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )
    assert holder.stdout is not None
    assert holder.stdout.readline() == "held\n"
    return holder


def test_a_lock_held_for_a_second_is_waited_for(july: Path) -> None:
    store = open_store(july)
    planned = plan(store, change(Act.EDIT, 2, content="after the wait"))
    with _hold(july, "1"):
        store.apply(planned.edits, Told())
    assert (row(july, 1)["content"], row(july, 2)["content"]) == ("held", "after the wait")


def test_a_lock_that_is_never_let_go_is_reported(
    july: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(connecting, "BUSY_SECONDS", 0.05)
    store = open_store(july)
    planned = plan(store, change(Act.EDIT, 2, content="in vain"))
    with _hold(july, "for ever") as holder:
        with pytest.raises(SaveError, match="locked"):
            store.apply(planned.edits, Told())
        holder.communicate("\n")
    assert row(july, 2)["content"] == "Stays are oak from now on"


@pytest.mark.slow
def test_thousands_of_edits_in_one_go(july: Path) -> None:
    rows = count(400, 2_000)
    with closing(connect(july)) as connection:
        connection.execute("BEGIN")
        for number in range(9, 9 + rows):
            observation(connection, number)
        connection.execute("COMMIT")
    path = str(july / "engram.db")
    edits = [
        row_edit(path, "observations", {"id": number}, {"title": old}, {"title": new})
        for number in range(9, 9 + rows)
        for old, new in [(f"Title {number}", "a"), *zip("abcd", "bcde", strict=True)]
    ]
    assert len(edits) == 5 * rows
    open_store(july).apply(edits, Told())
    ask = "SELECT DISTINCT title, revision_count FROM observations WHERE id > 8"
    assert sql(july, ask) == [("e", 6)]
    healthy(july)


def test_a_relation_between_rows_with_one_sync_id_counts_for_the_newest(july: Path) -> None:
    """Old exports doubled rows; Engram then takes the newest."""
    with closing(connect(july)) as connection:
        observation(connection, 9, sync_id=f"obs-{1:016x}")
        relation(connection, 8, 1, source_id=f"obs-{2:016x}", relation="related")
    assert everything(open_store(july)).get("bells:2").links[0].target == "9"


def test_a_full_disk_is_called_so_and_nothing_is_changed(july: Path) -> None:
    """SQLite counts the pages it may use; the largest number stands for a full disk."""
    with closing(sqlite3.connect(july / "engram.db")) as database:
        pages = database.execute("PRAGMA page_count").fetchone()[0]
        database.execute(f"PRAGMA max_page_count = {pages}")
        with pytest.raises(sqlite3.OperationalError) as full:
            database.execute("CREATE TABLE large AS SELECT zeroblob(1000000)")
    assert database_error_text(full.value, july / "engram.db") == "the disk is full"
    other = sqlite3.OperationalError("no such table: x")
    assert database_error_text(other, july / "engram.db") == "no such table: x"


@pytest.mark.parametrize(
    ("key", "before", "after", "says"),
    [
        ({"type": "decision"}, {"title": "x"}, {"title": "y"}, "several rows"),
        ({"id": 1}, {"title": "x"}, {"title": "half \ud800"}, "half a character"),
        ({"id": 1}, {"title": "half \ud800"}, {"title": "y"}, "half a character"),
        ({"id": 1}, {"colour": "x"}, {"colour": "y"}, "no column 'colour'"),
        ({}, {"title": "x"}, {"title": "y"}, "no row without a key"),
        ({"id": 1}, {"title": "what nobody saw"}, {"title": "y"}, "changed since"),
        ({"id": 99_999}, {"title": "x"}, {"title": "y"}, "the row is gone"),
    ],
)
def test_an_edit_that_fits_no_single_row_writes_nothing(
    folder: Path, key: dict[str, Any], before: dict[str, Any], after: dict[str, Any], says: str
) -> None:
    store = open_store(folder)
    for _ in range(2):  # two rows of the type, then three
        do(store, change(Act.ADD, content=f"Row {_}", type="decision", entity="belfry"))
        held = sql(folder, "SELECT * FROM observations")
        edit = row_edit(str(store.file), "observations", key, before, after)
        with pytest.raises((Conflict, Refused), match=says):
            store.apply((edit,), Told())
        assert sql(folder, "SELECT * FROM observations") == held
    healthy(folder)


def test_a_log_whose_index_cannot_be_opened_is_read_from_a_copy(
    folder: Path, tmp_path: Path
) -> None:
    """As on a file system without shared memory."""
    other = tmp_path / "other" / ".engram"
    other.mkdir(parents=True)
    with closing(connect(folder)) as writer:
        writer.execute("PRAGMA journal_mode = WAL")
        writer.execute("UPDATE observations SET title = 'in the log' WHERE id = 1")
        writer.commit()
        for name in ("engram.db", "engram.db-wal"):
            (other / name).write_bytes((folder / name).read_bytes())
    (other / "engram.db-shm").mkdir()
    titles = [memory.title for memory in everything(open_store(other)).held.values()]
    assert "in the log" in titles
    assert (other / "engram.db-wal").stat().st_size
