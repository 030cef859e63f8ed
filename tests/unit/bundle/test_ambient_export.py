"""The Ambient document is byte for byte what Ambient's own export prints of the same files.

What is expected here was printed by Ambient cfdfe1d (`memories export`) over these very files.
"""

from __future__ import annotations

import json
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from memtui.changes import Act, Change
from memtui.library import Library
from memtui.model import CURRENT, Memory
from memtui.stores.ambient import backup as ambient
from memtui.stores.ambient.backup import ARCHIVED, EXPIRED, NO_PROJECT, NOT_HELD, UNREADABLE
from memtui.stores.format import ExportRequest

NOW = datetime(2026, 11, 20, tzinfo=UTC)
NOW_MS = 1_795_132_800_000
LIVE = NOW_MS - 90 * 86_400_000
IDLE = LIVE - 1
SHOP, GONE, HEADLESS = "a" * 16, "b" * 16, "c" * 16

BYTES = (
    b'{"lastActive": %d, "big": 1e400, "f": 1.0, "g": 1E5, "s": 12.5, "events": [{"id":"b1",'
    b'"content":"bad \xff\xfe \xe2\x82 \xf0\x9f\x98 \xed\xa0\xbd \xc0\xaf end '
    b'\\ud83d \\udc80 \\u007f \\u2028 \\/ \\b"}]}'
)
PRINTED = (
    '"bytes":{"lastActive":%d,"big":null,"f":1,"g":100000,"s":12.5,"events":[{"id":"b1",'
    '"content":"bad \ufffd\ufffd \ufffd \ufffd \ufffd\ufffd\ufffd \ufffd\ufffd end '
    '\\ud83d \\udc80 \x7f \u2028 / \\b"}]}'
)


def _event(id: str, **more: Any) -> dict[str, Any]:
    return {"id": id, "type": "decision", "content": f"says {id}", "importance": "high", **more}


def _write(path: Path, value: Any) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    data = value if isinstance(value, bytes) else json.dumps(value, ensure_ascii=False).encode()
    path.write_bytes(data)


@pytest.fixture
def library(tmp_path: Path) -> Library:
    """Three projects: one that Ambient reads, one that is expired, one without a project.json."""
    root = tmp_path / "ambient" / "memory"
    shop, gone, headless = (root / "projects" / key for key in (SHOP, GONE, HEADLESS))
    head = {"projectKey": SHOP, "projectName": "shop", "origin": "o", "lastActive": LIVE}
    _write(shop / "project.json", {**head, "mine": 1, "events": [_event("both")]})
    numbered = {"7": "a", "404": "b", "z": "c"}
    tasks: dict[str, Any] = {
        "10": {"lastActive": LIVE, "events": [_event("ten", metadata=numbered)]},
        "9": {"lastActive": LIVE, "events": [_event("nine"), {"no": "id"}, "text"]},
        "bytes": BYTES % LIVE,
        "empty": {"lastActive": LIVE, "events": []},
        "main": {"branchName": "main", "events": [_event("both")]},
        "mark": b"\xef\xbb\xbf" + json.dumps({"events": [_event("marked")]}).encode(),
        "null": {"lastActive": None, "events": [_event("zero")]},
        "old": {"lastActive": IDLE, "events": [_event("old")]},
        "torn": b'{"events": [',
    }
    for branch, task in tasks.items():
        _write(shop / "tasks" / f"{branch}.json", task)
    _write(shop / "archived" / "x.json", {"lastActive": LIVE, "events": [_event("archived")]})
    _write(gone / "project.json", {**head, "lastActive": IDLE, "events": [_event("gone")]})
    _write(gone / "tasks" / "main.json", {"lastActive": LIVE, "events": [_event("gone with it")]})
    _write(headless / "tasks" / "main.json", {"lastActive": LIVE, "events": [_event("headless")]})
    opened = Library.open([root], state=tmp_path / "state")
    opened.load()
    return opened


def _all(library: Library) -> list[Memory]:
    return [m for m in library.memories(library.stores[0].label) if m.status in CURRENT]


def _ids(document: dict[str, Any]) -> list[str]:
    found = []
    for project in document["projects"].values():
        for part in (project["project"], *project["tasks"].values()):
            found += [event["id"] for event in part["events"]]
    return sorted(found)


def test_live_events_are_exported_as_ambient_exports_them(library: Library) -> None:
    made = ambient.backup(
        ExportRequest(_all(library), library.stores, NOW, whole=True, every=False)
    )
    metadata = '"metadata":{"7":"a","404":"b","z":"c"}'
    event = '{"id":"%s","type":"decision","content":"says %s","importance":"high"%s}'
    both, ten, nine = (
        event % (id, id, more) for id, more in (("both", ""), ("ten", f",{metadata}"), ("nine", ""))
    )
    expected = (
        '{"version":1,"exportedAt":"2026-11-20T00:00:00.000Z","projects":{"aaaaaaaaaaaaaaaa":'
        '{"project":{"projectKey":"aaaaaaaaaaaaaaaa","projectName":"shop","origin":"o",'
        f'"lastActive":{LIVE},"mine":1,"events":[{both}]}},"tasks":{{'
        f'"9":{{"lastActive":{LIVE},"events":[{nine},{{"no":"id"}},"text"]}},'
        f'"10":{{"lastActive":{LIVE},"events":[{ten}]}},'
        f'{PRINTED % LIVE},"empty":{{"lastActive":{LIVE},"events":[]}},'
        f'"main":{{"branchName":"main","events":[{both}]}}}}}}}}}}\n'
    )
    assert ambient.dumps(made.document, pretty=False).encode() == expected.encode()
    assert made.left_out == {ARCHIVED: 1, EXPIRED: 4, NO_PROJECT: 1, UNREADABLE: 1}


def test_expired_events_are_exported_when_every_status_is_asked_for(library: Library) -> None:
    made = ambient.backup(ExportRequest(_all(library), library.stores, NOW, every=True))
    of_shop = ["b1", "both", "both", "marked", "nine", "old", "ten", "zero"]
    assert _ids(made.document) == sorted([*of_shop, "gone", "gone with it", "headless"])
    assert made.left_out == {ARCHIVED: 1}


def test_a_project_keeps_its_name_when_only_events_of_a_branch_are_chosen(library: Library) -> None:
    chosen = [memory for memory in _all(library) if memory.id == "ten"]
    made = ambient.backup(ExportRequest(chosen, library.stores, NOW, every=False))
    (project,) = made.document["projects"].values()
    assert (project["project"]["projectName"], project["project"]["events"]) == ("shop", [])
    assert list(project["tasks"]) == ["10"]


def test_one_project_of_two_stores_holds_the_events_of_both(
    library: Library, tmp_path: Path
) -> None:
    other = tmp_path / "other" / "memory" / "projects" / SHOP
    _write(other / "project.json", {"lastActive": LIVE, "events": [_event("elsewhere")]})
    _write(other / "tasks" / "9.json", {"lastActive": LIVE, "events": [_event("nine too")]})
    both = Library.open([library.stores[0].root, other.parents[1]])
    both.load()
    memories = [m for store in both.stores for m in both.memories(store.label)]
    made = ambient.backup(ExportRequest(memories, both.stores, NOW, every=False))
    ids = _ids(made.document)
    assert {"both", "elsewhere", "nine", "nine too"} <= set(ids)


def test_what_only_memtui_keeps_is_counted_as_left_out(library: Library) -> None:
    label = library.stores[0].label
    library.apply(library.plan([Change(Act.RETIRE, label, f"{label}:ten")]))
    retired = [m for m in library.memories(label) if m.id == "ten"]
    made = ambient.backup(ExportRequest(retired, library.stores, NOW))
    assert (made.document["projects"], made.left_out) == ({}, {NOT_HELD: 1})
