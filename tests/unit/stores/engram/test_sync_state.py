"""What the database says of Engram's synchronisation, and how memtui shows it."""

from __future__ import annotations

import json
from contextlib import closing
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from memtui.cli.main import run
from memtui.stores.base import SyncState

from .invented import SCHEMAS, build, connect, enroll, open_store, put, sql

PAYLOAD = {
    "sync_id": "obs-1", "session_id": "s", "type": "note", "title": "t", "content": "c",
    "scope": "project",
}  # fmt: skip


@pytest.fixture(params=SCHEMAS)
def folder(request: pytest.FixtureRequest, tmp_path: Path) -> Path:
    return build(tmp_path / ".engram", request.param)


def target(folder: Path, key: str = "cloud", **columns: Any) -> None:
    with closing(connect(folder)) as connection:
        put(connection, "sync_state", target_key=key, **columns)


def queue(folder: Path, project: str = "belfry", **columns: Any) -> None:
    row = {"entity": "observation", "entity_key": "obs-1", "op": "upsert"}
    row |= {"payload": json.dumps(PAYLOAD), "target_key": "cloud", "project": project}
    with closing(connect(folder)) as connection:
        put(connection, "sync_mutations", **(row | columns))


def state_of(folder: Path) -> SyncState:
    found = open_store(folder).sync_state()
    assert found is not None
    return found


def test_a_database_that_was_never_synchronised_has_no_state(folder: Path) -> None:
    assert open_store(folder).sync_state() is None
    target(folder, lifecycle="pending", last_enqueued_seq=1)  # July queues every change
    queue(folder)
    assert open_store(folder).sync_state() is None


def test_what_waits_of_enrolled_projects_is_queued(folder: Path) -> None:
    enroll(folder)
    target(folder, lifecycle="pending")
    queue(folder)
    queue(folder, project="")
    queue(folder, project="another, which stays here")
    queue(folder, acked_at="2026-11-20 09:00:00")
    assert state_of(folder) == SyncState("queued", 2, 0, (), None, 0)
    sql(folder, "UPDATE sync_mutations SET acked_at = '2026-11-20 10:00:00'")
    sql(folder, "UPDATE sync_state SET lifecycle = 'healthy', last_pulled_seq = 41,"
        " updated_at = '2026-11-20 10:00:01'")  # fmt: skip
    pulled = datetime(2026, 11, 20, 10, 0, 1, tzinfo=UTC)
    assert state_of(folder) == SyncState("up to date", 0, 0, (), pulled, 41)


@pytest.mark.parametrize(
    ("code", "state"),
    [
        ("paused", "paused"),
        ("auth_required", "refused"),
        ("policy_forbidden", "refused"),
        ("non_enrolled_pending_mutations", "blocked"),
        ("transport_failed", "failing"),
        ("a code of tomorrow", "failing"),
    ],
)
def test_what_stops_it_is_named(folder: Path, code: str, state: str) -> None:
    enroll(folder)
    target(folder, lifecycle="healthy")
    target(folder, "cloud:belfry", lifecycle="degraded", reason_code=code,
           reason_message="ask the bell ringer", backoff_until="2026-11-21T08:30:00Z")  # fmt: skip
    found = state_of(folder)
    assert found.state == state
    assert found.reasons == ("belfry: ask the bell ringer, tried again at 2026-11-21 08:30 UTC",)


def test_the_plainest_of_several_reasons_is_the_state(folder: Path) -> None:
    target(folder, lifecycle="degraded", reason_code="transport_failed", last_error="no route")
    target(folder, "cloud:a", lifecycle="degraded", reason_code="paused")
    target(folder, "local", lifecycle="degraded", reason_message="of git, not of the cloud")
    assert state_of(folder)[:4] == ("paused", 0, 0, ("no route", "a: paused"))


def test_a_change_that_engram_cannot_send_blocks(folder: Path) -> None:
    enroll(folder)
    target(folder)
    queue(folder, payload=json.dumps({**PAYLOAD, "title": " "}))
    queue(folder, payload="[" * 100)
    queue(folder)
    found = state_of(folder)
    assert (found.state, found.queued) == ("blocked", 3)
    assert found.reasons == ("2 queued changes without what Engram needs to send it",)


def test_what_was_set_aside_is_refused(tmp_path: Path) -> None:
    folder = build(tmp_path / ".engram", "v3")
    enroll(folder)
    target(folder, lifecycle="pending")
    for disposition in ("pending", "superseded", "rejected"):
        queue(folder, disposition=disposition)
    sql(folder, "CREATE TABLE sync_apply_deferred (sync_id TEXT PRIMARY KEY, apply_status TEXT)")
    sql(folder, "INSERT INTO sync_apply_deferred VALUES ('a', 'dead'), ('b', 'deferred')")
    assert state_of(folder)[:3] == ("queued", 1, 2)


def test_the_list_of_stores_says_it(
    folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:  # fmt: skip
    for name in ("CONFIG", "STATE", "CACHE"):
        monkeypatch.setenv(f"MEMTUI_{name}", str(tmp_path / name.lower()))
    enroll(folder)
    secret = "ghp_" + "a1B2c3D4" * 4 + "e5F6"
    target(folder, lifecycle="degraded", reason_code="paused", last_pulled_seq=7,
           reason_message=f"by \x1b[31mits owner {secret}")  # fmt: skip
    queue(folder)

    def printed(*arguments: str) -> str:
        assert run(["stores", str(folder), *arguments]) == 0
        return capsys.readouterr().out

    said = printed()
    assert "sync  paused, 1 change queued, pulled up to change 7: by" in said
    (record,) = json.loads(printed("--json"))["stores"]
    assert record["sync"]["state"] == "paused"
    assert record["sync"]["queued"] == 1
    assert record["sync"]["last_pull"] is None
    for shown in (said, str(record)):
        assert secret not in shown
        assert "\x1b" not in shown
