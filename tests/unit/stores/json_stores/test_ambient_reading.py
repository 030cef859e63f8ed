"""Reading Ambient: every event once however many files hold it, and projects Ambient overlooks."""

from __future__ import annotations

from datetime import UTC, datetime
from hashlib import sha256
from pathlib import Path

import pytest

from memtui.stores.ambient import FORMAT

from .opened import open_ambient
from .programs import START, AmbientProgram, uuid

SHOP = "4d3a12e5f267cd60"
NOTES = "a4c30794048813bc"


@pytest.fixture
def ambient(tmp_path: Path) -> AmbientProgram:
    return AmbientProgram(tmp_path / "home")


@pytest.mark.parametrize("below", ["", ".ambient", ".ambient/memory", ".ambient/memory/projects"])
def test_the_store_is_found_from_home_and_from_within(ambient: AmbientProgram, below: str) -> None:
    ambient.project(SHOP, "shop", ambient.event("Postgres for everything"))
    assert FORMAT.detect(ambient.home / below) == ambient.root


def test_a_folder_of_other_projects_is_no_store(tmp_path: Path) -> None:
    (tmp_path / "projects" / "website").mkdir(parents=True)
    assert FORMAT.detect(tmp_path) is None


def test_an_event_in_two_files_is_one_memory_in_two_places(ambient: AmbientProgram) -> None:
    event = ambient.event("Postgres for everything")
    project = ambient.project(SHOP, "shop", event)
    task = ambient.branch(SHOP, "feat/auth", ambient.event("other"), event)
    opened = open_ambient(ambient.root)
    memory = opened.by_id(event["id"])
    assert len(opened.memories) == 2
    assert (memory.origin.file, memory.origin.key) == (str(project), "events[0]")
    assert [(place.file, place.key) for place in memory.also] == [(str(task), "events[1]")]
    assert (memory.entity, memory.also_entities) == ("shop", ("shop/feat/auth",))
    assert memory.extra["branches"] == ["feat/auth"]
    assert "differs" not in memory.extra


def test_an_event_says_all_that_its_record_says(ambient: AmbientProgram) -> None:
    metadata = {"source": "passive", "file": "src/a.ts"}
    event = ambient.event(
        "a.ts was read", type="file-context", importance="low", metadata=metadata, mood="calm"
    )
    ambient.project(SHOP, "shop")
    ambient.branch(SHOP, "fix/cart#412", event)
    memory = open_ambient(ambient.root).by_id(event["id"])
    assert (memory.kind, memory.type, memory.importance) == ("event", "file-context", "low")
    assert memory.entity == "shop/fix/cart#412"
    assert memory.created == datetime.fromtimestamp(event["timestamp"] / 1000, UTC)
    assert memory.source == "passive"
    assert memory.extra["metadata"] == metadata
    assert memory.extra["mood"] == "calm"
    assert memory.extra["timestamp"] == event["timestamp"]


def test_copies_that_differ_keep_the_projects_text_and_list_the_other(
    ambient: AmbientProgram,
) -> None:
    event = ambient.event("the text of the project")
    ambient.project(SHOP, "shop", event)
    task = ambient.branch(SHOP, "main", {**event, "content": "the text of the branch"})
    memory = open_ambient(ambient.root).by_id(event["id"])
    assert memory.content == "the text of the project"
    assert memory.extra["differs"] == [{"file": str(task), "content": "the text of the branch"}]


def test_a_project_without_project_json_is_shown(ambient: AmbientProgram) -> None:
    event = ambient.event("only the branch knows", importance="medium")
    ambient.branch(SHOP, "main", event)
    assert open_ambient(ambient.root).by_id(event["id"]).entity == "4d3a12e5/main"


def test_what_only_an_archived_branch_holds_is_tagged(ambient: AmbientProgram) -> None:
    both, only = ambient.event("in both places"), ambient.event("in the archive only")
    ambient.project(SHOP, "shop", both)
    ambient.branch(SHOP, "old", both, only, folder="archived")
    opened = open_ambient(ambient.root)
    assert opened.by_id(both["id"]).tags == ()
    archived = opened.by_id(only["id"])
    assert (archived.tags, archived.status, archived.entity) == (
        ("archived",),
        "active",
        "shop/old",
    )
    assert archived.extra["archived"] is True


def test_half_a_character_is_read(ambient: AmbientProgram) -> None:
    event = ambient.event("cut in the middle \ud83d")
    path = ambient.project(NOTES, "notes", event)
    assert b"\\ud83d" in path.read_bytes()
    assert open_ambient(ambient.root).by_id(event["id"]).content == "cut in the middle \ud83d"


def test_unknown_words_are_kept(ambient: AmbientProgram) -> None:
    event = ambient.event("odd", type="prophecy", importance="urgent", status="whispered")
    ambient.project(SHOP, "shop", event)
    memory = open_ambient(ambient.root).by_id(event["id"])
    assert (memory.type, memory.importance, memory.status) == ("prophecy", "medium", "active")
    assert memory.extra["importance"] == "urgent"
    assert memory.extra["status"] == "whispered"


def test_a_file_idle_for_90_days_is_said_to_be_expired(ambient: AmbientProgram) -> None:
    old, new = ambient.event("long ago"), ambient.event("just now")
    path = ambient.project(SHOP, "shop", old)
    ambient.write(path, {**ambient.load(path), "lastActive": START})
    ambient.project(NOTES, "notes", new)
    opened = open_ambient(ambient.root)
    assert opened.by_id(old["id"]).extra["expired"] is True
    assert opened.by_id(old["id"]).extra["expires"] == "2026-11-18T09:00:00Z"
    assert "expired" not in opened.by_id(new["id"]).extra


def test_files_of_the_format_before_projects_are_named_and_not_read(
    ambient: AmbientProgram,
) -> None:
    (ambient.root / "0123456789abcdef.json").write_text('{"facts": ["the tenor is cracked"]}')
    (ambient.root / "fedcba9876543210.json.migrated").write_text("{}")
    opened = open_ambient(ambient.root)
    assert opened.memories == []
    (remark,) = opened.store.remarks()
    assert remark.text.startswith("1 file of Ambient's format before projects: not read")


@pytest.mark.parametrize(
    ("data", "reason"),
    [
        (b"", "the file is empty"),
        (b'{"projectKey": "4d3a12e5f267cd60", "events": [{"id": "1"', "not valid JSON at line 1"),
        (b"[]", "it does not hold a JSON object"),
        (b'{"events": {}}', "no list named 'events'"),
        (b"{}", "no list named 'events'"),
        (b"\xff\xfe{\x00}\x00", "UTF-16"),
    ],
)
def test_a_file_that_cannot_be_read_stops_nothing(
    ambient: AmbientProgram, data: bytes, reason: str
) -> None:
    event = ambient.event("safe in the branch")
    path = ambient.project(SHOP, "shop", event)
    ambient.branch(SHOP, "main", event)
    path.write_bytes(data)
    opened = open_ambient(ambient.root)
    assert [memory.id for memory in opened.memories] == [event["id"]]
    assert [fault.file for fault in opened.unreadable] == [str(path)]
    assert reason in opened.unreadable[0].reason


def test_bad_records_are_named_and_the_others_shown(ambient: AmbientProgram) -> None:
    good = ambient.event("sound")
    path = ambient.project(SHOP, "shop", good)
    ambient.write(path, {**ambient.load(path), "events": [7, good, {"content": "no id"}]})
    opened = open_ambient(ambient.root)
    assert [memory.content for memory in opened.memories] == ["sound", "no id"]
    assert "record events[0] at line 8 is not an object" in opened.unreadable[0].reason


@pytest.mark.parametrize("timestamp", [None, "yesterday", True, 10**30, -1.5e300, float("nan")])
def test_a_time_that_is_none_is_no_time(ambient: AmbientProgram, timestamp: object) -> None:
    path = ambient.project(SHOP, "shop", ambient.event("when?", timestamp=timestamp))
    ambient.write(path, {**ambient.load(path), "lastActive": timestamp})
    assert open_ambient(ambient.root).memories[0].created is None


def test_one_id_twice_in_one_file_is_one_memory_that_cannot_be_changed(
    ambient: AmbientProgram,
) -> None:
    event = ambient.event("twice")
    ambient.project(SHOP, "shop", event, event)
    opened = open_ambient(ambient.root)
    assert [memory.id for memory in opened.memories] == [event["id"]]
    assert "more than once" in opened.memories[0].extra["unaddressable"]


def test_a_number_as_id_is_shown_and_not_changed(ambient: AmbientProgram) -> None:
    ambient.project(SHOP, "shop", {**ambient.event("numbered"), "id": 12})
    memory = open_ambient(ambient.root).by_id("12")
    assert memory.extra["unaddressable"] == "its id is a number, not a text"
    assert uuid(1) != memory.id


def test_a_project_without_a_name_is_called_by_its_folder_where_events_prove_it(
    ambient: AmbientProgram,
) -> None:
    """The key is the hash of the folder; a hash that nothing explains stays one."""
    key = sha256(b"/home/mira/src/pigeon-post").hexdigest()[:16]
    metadata = {"file": "/home/mira/src/pigeon-post/src/loft.ts"}
    proven = ambient.event("the loft is heated", metadata=metadata)
    ambient.branch(key, "main", proven)
    other = ambient.event("another loft", metadata=metadata)
    ambient.branch(NOTES, "main", other)
    opened = open_ambient(ambient.root)
    assert opened.by_id(proven["id"]).entity == "pigeon-post/main"
    assert opened.by_id(other["id"]).entity == f"{NOTES[:8]}/main"


@pytest.mark.parametrize("below", [".", SHOP])
def test_a_link_below_the_store_is_named_and_neither_read_nor_written(
    ambient: AmbientProgram, tmp_path: Path, below: str
) -> None:
    """The folder of all projects is under the same rule as one project."""
    ambient.project(SHOP, "shop", ambient.event("Postgres for everything"))
    folder = ambient.root / "projects" / below
    outside = tmp_path / "outside"
    folder.rename(outside)
    folder.symlink_to(outside)
    opened = open_ambient(ambient.root)
    assert opened.memories == []
    (fault,) = opened.unreadable
    assert fault.file == str(folder)
    assert "symbolic link to a place outside the store" in fault.reason


def test_a_store_whose_folder_is_a_link_is_read(ambient: AmbientProgram, tmp_path: Path) -> None:
    ambient.project(SHOP, "shop", ambient.event("Postgres for everything"))
    shared = tmp_path / "shared"
    (ambient.home / ".ambient").rename(shared)
    (ambient.home / ".ambient").symlink_to(shared)
    opened = open_ambient(ambient.root)
    assert [memory.content for memory in opened.memories] == ["Postgres for everything"]
    assert opened.unreadable == []
