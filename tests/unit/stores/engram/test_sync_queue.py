"""What is queued for Engram's synchronisation: what Engram can deliver, and when it queues it."""

from __future__ import annotations

import json
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from memtui.changes import Act, Change, Kind, invert_edits
from memtui.stores.engram.exchange import plan_import
from memtui.stores.engram.store import EngramStore

from .invented import (
    SCHEMAS,
    Told,
    build,
    change,
    connect,
    enroll,
    everything,
    open_store,
    put,
    sql,
)

_ROW = {"type": "t", "title": "t", "content": "c", "created_at": "2026-01-02 03:04:05"}


@pytest.fixture(params=SCHEMAS)
def folder(request: pytest.FixtureRequest, tmp_path: Path) -> Path:
    return build(tmp_path / ".engram", request.param)


@pytest.fixture
def v3(tmp_path: Path) -> Path:
    return build(tmp_path / ".engram", "v3")


def do(store: EngramStore, wanted: Change) -> tuple[Any, ...]:
    edits = store.plan(wanted, everything(store)).edits
    store.apply(edits, Told())
    return edits


def queued(folder: Path) -> list[tuple[str, str]]:
    return [
        (entity, op)
        for entity, op in sql(folder, "SELECT entity, op FROM sync_mutations ORDER BY seq")
    ]


def sessions(folder: Path, id: str) -> dict[str, Any]:
    with closing(connect(folder)) as connection:
        found = connection.execute("SELECT * FROM sessions WHERE id = ?", (id,)).fetchone()
        return dict(found)


def add(project: str, text: str = "Ropes are hemp") -> Change:
    return change(Act.ADD, content=text, entity=project)


# -- sessions have a directory ----------------------------------------------------------------


def test_a_save_gives_its_session_the_directory_of_the_project(folder: Path) -> None:
    enroll(folder)
    do(open_store(folder), add("belfry"))
    assert sessions(folder, "manual-save-belfry")["directory"] == "/home/ringer/belfry"
    (payload,) = sql(folder, "SELECT payload FROM sync_mutations WHERE entity = 'session'")
    assert json.loads(payload[0])["directory"] == "/home/ringer/belfry"


def test_a_save_into_a_new_project_gives_its_session_the_current_directory(
    folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    enroll(folder, "tower")
    monkeypatch.chdir(tmp_path)
    do(open_store(folder), add("tower"))
    assert sessions(folder, "manual-save-tower")["directory"] == str(tmp_path)
    assert queued(folder) == [("session", "upsert"), ("observation", "upsert")]


def test_a_save_completes_a_session_without_a_directory(folder: Path) -> None:
    """Memtui 0.1 made such sessions; Engram's own next save completes them too."""
    enroll(folder)
    with closing(connect(folder)) as connection:
        put(connection, "sessions", id="manual-save-belfry", project="belfry", directory="")
    store = open_store(folder)
    edits = do(store, add("belfry"))
    assert sessions(folder, "manual-save-belfry")["directory"] == "/home/ringer/belfry"
    assert queued(folder) == [("session", "upsert"), ("observation", "upsert")]
    store.apply(invert_edits(edits), Told())
    assert sessions(folder, "manual-save-belfry")["directory"] == "/home/ringer/belfry"
    assert queued(folder)[2:] == [("observation", "delete")]


def test_what_a_program_gave_a_session_meanwhile_stays(folder: Path) -> None:
    with closing(connect(folder)) as connection:
        put(connection, "sessions", id="manual-save-belfry", project="belfry", directory="")
    store = open_store(folder)
    edits = store.plan(add("belfry"), everything(store)).edits
    sql(folder, "UPDATE sessions SET directory = '/theirs' WHERE id = 'manual-save-belfry'")
    store.apply(edits, Told())
    assert sessions(folder, "manual-save-belfry")["directory"] == "/theirs"


def test_no_import_queues_a_session_without_a_directory(folder: Path) -> None:
    enroll(folder)
    document = {
        "version": "0.2.0",
        "sessions": [{"id": "bare", "project": "belfry", "directory": " "}],
        "observations": [
            {**_ROW, "session_id": "bare", "project": "belfry"},
            {**_ROW, "session_id": "unknown", "project": "belfry", "content": "d"},
        ],
    }
    store = open_store(folder)
    store.apply(plan_import(store, json.dumps(document)).edits, Told())
    payloads = sql(folder, "SELECT payload FROM sync_mutations WHERE entity = 'session'")
    named = {row["id"]: row["directory"] for row in (json.loads(text) for (text,) in payloads)}
    assert named == {"unknown": "/home/ringer/belfry"}
    assert sessions(folder, "bare")["directory"] == " "


def test_a_stand_in_for_an_unknown_session_has_ended(folder: Path) -> None:
    """Else Engram takes it for the session that an agent works in now."""
    extra = {
        "sync_id": "obs-77",
        "session_id": "elsewhere",
        "project": "belfry",
        "scope": "project",
    }
    do(open_store(folder), change(Act.ADD, id="77", content="Pears", title="P", extra=extra))
    made = sessions(folder, "elsewhere")
    assert made["ended_at"] == made["started_at"]
    assert made["directory"] == "/home/ringer/belfry"


def test_nothing_is_queued_that_engram_refuses_to_deliver(folder: Path) -> None:
    """A row without a title (Engram issue 459) would stop its whole project."""
    enroll(folder)
    sql(folder, "UPDATE observations SET title = ' ' WHERE id = 1")
    do(open_store(folder), change(Act.EDIT, 1, content="The clapper weighs 40 kg"))
    assert queued(folder) == []
    do(open_store(folder), change(Act.EDIT, 1, title="Clapper"))
    assert queued(folder) == [("observation", "upsert")]


# -- v3 queues enrolled projects only ---------------------------------------------------------

_ACTS = {
    "edit": change(Act.EDIT, 2, content="Stays are beech"),
    "retire": change(Act.RETIRE, 1),
    "restore": change(Act.RESTORE, 7),
    "delete": change(Act.DELETE, 5, force=True),
    "delete a prompt": change(Act.DELETE, "prompts/1"),
    "supersede": change(Act.SUPERSEDE, 1, content="The clapper weighs 41 kg now"),
    "link": change(Act.LINK, 1, relation="related", target="2"),
    "add": add("belfry"),
    "import": change(Act.ADD, id="99", content="Pears", title="P", entity="belfry"),
}

_QUEUED = {
    "edit": [("observation", "upsert")],
    "retire": [("observation", "delete")],
    "restore": [("observation", "upsert")],
    "delete": [("observation", "delete")],
    "delete a prompt": [("prompt", "delete")],
    "supersede": [("session", "upsert"), ("observation", "upsert"), ("relation", "upsert")],
    "link": [("relation", "upsert")],
    "add": [("session", "upsert"), ("observation", "upsert")],
    "import": [("session", "upsert"), ("observation", "upsert")],
}
"""What each act tells other machines, oldest first."""


@pytest.mark.parametrize("name", _ACTS)
def test_v3_queues_nothing_of_a_project_that_is_not_enrolled(v3: Path, name: str) -> None:
    """Enrolling queues what the database holds then, and skips what is queued already."""
    store = open_store(v3)
    edits = do(store, _ACTS[name])
    store.apply(invert_edits(edits), Told())
    assert queued(v3) == []
    assert sql(v3, "SELECT * FROM sync_state") == []


@pytest.mark.parametrize("name", _ACTS)
def test_v3_queues_what_is_enrolled_and_july_queues_all(tmp_path: Path, name: str) -> None:
    july, v3 = build(tmp_path / "july", "july"), build(tmp_path / "v3", "v3")
    enroll(july)
    enroll(v3)
    for folder in (july, v3):
        do(open_store(folder), _ACTS[name])
    assert queued(v3) == queued(july) == _QUEUED[name]


def test_v3_queues_what_has_no_project(v3: Path) -> None:
    sql(v3, "UPDATE observations SET project = NULL WHERE id = 1")
    sql(v3, "UPDATE sessions SET project = ''")
    do(open_store(v3), change(Act.EDIT, 1, content="The clapper weighs 40 kg"))
    assert sql(v3, "SELECT target_key, project FROM sync_mutations") == [("cloud", "")]


def test_v3_stamps_whose_a_new_session_is(v3: Path) -> None:
    enroll(v3)
    store = open_store(v3)
    do(store, add("belfry"))
    made = sessions(v3, "manual-save-belfry")
    assert (made["ownership_mode"], made["local_creation_project"]) == ("project_owned", "belfry")
    (payload,) = sql(v3, "SELECT payload FROM sync_mutations WHERE entity = 'session'")
    assert list(json.loads(payload[0])) == [
        "id",
        "project",
        "ownership_mode",
        "directory",
        "started_at",
    ]
    document = {
        "version": "0.2.0",
        "sessions": [
            {"id": "said", "project": "p", "ownership_mode": "project_owned", "directory": "/p"},
            {"id": "unsaid", "project": "p", "directory": "/p"},
        ],
    }
    store.apply(plan_import(store, json.dumps(document)).edits, Told())
    assert sessions(v3, "said")["ownership_mode"] == "project_owned"
    assert sessions(v3, "unsaid")["ownership_mode"] == "shared"
    assert sessions(v3, "unsaid")["local_creation_project"] is None


def test_v3_retires_what_waits_for_something_deleted_since(v3: Path) -> None:
    """As Engram's own delete does where the project is not enrolled any more."""
    enroll(v3)
    store = open_store(v3)
    do(store, change(Act.EDIT, 2, content="Stays are beech"))
    sql(v3, "DELETE FROM sync_enrolled_projects")
    do(store, change(Act.RETIRE, 2))
    noted = "SELECT op, disposition, disposition_reason, disposition_evidence FROM sync_mutations"
    assert sql(v3, noted) == [
        (
            "upsert",
            "superseded",
            "local_entity_deleted",
            '{"entity":"observation","entity_key":"obs-0000000000000002","project":"belfry",'
            '"trigger":"local_delete"}',
        )
    ]
    states = sql(v3, "SELECT target_key, lifecycle FROM sync_state ORDER BY 1")
    assert states == [("cloud", "healthy"), ("cloud:belfry", "healthy")]


def test_v3_keeps_one_waiting_upsert_of_a_session(v3: Path) -> None:
    enroll(v3)
    with closing(connect(v3)) as connection:
        put(connection, "sessions", id="manual-save-belfry", project="belfry", directory="")
        put(connection, "sync_state", target_key="cloud")
        put(
            connection,
            "sync_mutations",
            target_key="cloud",
            entity="session",
            entity_key="manual-save-belfry",
            op="upsert",
            payload='{"id":"manual-save-belfry","project":"belfry","directory":""}',
            project="belfry",
        )
    do(open_store(v3), add("belfry"))
    waiting = "SELECT json_extract(payload, '$.directory') FROM sync_mutations WHERE entity = ?"
    assert sql(v3, waiting, "session") == [("/home/ringer/belfry",)]


def test_v3_notes_a_hard_deletion_also_where_nothing_is_queued(v3: Path) -> None:
    store = open_store(v3)
    edits = do(store, change(Act.DELETE, 5, force=True))
    marks = "SELECT entity, entity_key, project, active, last_mutation_seq FROM "
    assert sql(v3, marks + "sync_delete_tombstones") == [
        ("observation", "obs-0000000000000005", "belfry", 1, 0)
    ]
    assert all(edit.kind is Kind.ROW for edit in edits)
    store.apply(invert_edits(edits), Told())
    assert sql(v3, "SELECT active FROM sync_delete_tombstones") == [(0,)]
