"""Reading a Simple Memory: every record once, no key lost, nothing in the way."""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path

import pytest

from memtui.model import Link

from .simple_memories import EPISODES, FACTS, SCHEMA, detected, make, opened, put


@pytest.fixture
def root(tmp_path: Path) -> Path:
    return make(tmp_path)


@pytest.mark.parametrize("name", ["", "facts.json", "schema.json"])
def test_two_of_the_files_make_a_store(root: Path, name: str) -> None:
    (root / "episodes.json").unlink()
    assert detected(root / name) == root


@pytest.mark.parametrize(
    ("name", "text"), [("facts.json", None), ("schema.json", '{"$schema": "x"}')]
)
def test_other_folders_with_such_a_file_do_not(root: Path, name: str, text: str | None) -> None:
    (root / "episodes.json").unlink()
    if text is None:
        (root / name).unlink()
    else:
        put(root, name, text)
    assert detected(root) is None
    assert detected(root / "missing") is None


def test_every_record_is_one_memory(root: Path) -> None:
    store = opened(root)
    ids = [record["id"] for record in (*FACTS, *EPISODES, *SCHEMA)]
    assert [memory.id for memory in store.memories] == ids
    assert store.unreadable == []


def test_a_fact_reads_as_a_sentence(root: Path) -> None:
    fact = opened(root).by_id("fact_0a2")
    assert (fact.kind, fact.type, fact.content) == ("fact", "", "Noor swims_km_week 3.5")
    assert (fact.entity, fact.confidence, fact.pinned) == ("health/swimming", 0.9, True)
    assert fact.created == datetime(2026, 5, 8, tzinfo=UTC)
    assert fact.source == "log_1, log_2"
    assert fact.tags == ("swims_km_week",)
    assert fact.links == (Link("impacts", "sch_1"),)
    lines = (root / "facts.json").read_text().split("\n")
    assert '"fact_0a2"' in lines[fact.origin.line or 0]
    assert {key: fact.extra[key] for key in ("s", "p", "o", "time", "hits")} == {
        "s": "Noor",
        "p": "swims_km_week",
        "o": "3.5",
        "time": "2026-05-08",
        "hits": 3,
    }


def test_a_fact_without_domain_and_with_a_number_reads_too(root: Path) -> None:
    fact = opened(root).by_id("fact_0a3")
    assert (fact.content, fact.entity, fact.extra["o"]) == ("Noor has_cats 2", "", 2)


def test_an_episode_has_its_title_its_time_and_its_facts(root: Path) -> None:
    episode = opened(root).by_id("ep_1")
    assert (episode.title, episode.content) == ("Storm at the pool", "Left early; slept badly.")
    assert episode.created == datetime(2026, 6, 9, 21, 30, tzinfo=UTC)
    assert episode.extra["start"] == "2026-06-09T21:30:00"
    assert episode.extra["participants"] == ["Noor", "Ida"]
    assert episode.links == (Link("fact", "fact_0a1"), Link("fact", "fact_gone"))


def test_a_schema_item_has_kind_version_evidence_and_status(root: Path) -> None:
    store = opened(root)
    item = store.by_id("sch_1")
    assert (item.type, item.content, item.created) == ("policy", "No swimming after nine.", None)
    assert (item.extra["version"], item.extra["status"]) == (3, "confirmed")
    assert item.links == (Link("evidence", "ep_1"), Link("evidence", "fact_0a1"))
    states = store.in_state()
    assert [states[id] for id in ("sch_1", "sch_2", "sch_3")] == ["active", "proposed", "retired"]


@pytest.mark.parametrize(
    ("keys", "importance"),
    [
        ({}, "medium"),
        ({"importance": "High"}, "high"),
        ({"importance": "low"}, "low"),
        ({"importance": "odd"}, "medium"),
        ({"importance": 0.9}, "high"),
        ({"importance": 0.5}, "medium"),
        ({"importance": 0.1}, "low"),
        ({"importance": 5}, "high"),
        ({"importance": 3}, "medium"),
        ({"importance": 2}, "low"),
        ({"importance": True}, "medium"),
        ({"affect": {"valence": 0.9}}, "high"),
        ({"affect": {"valence": -0.2}}, "medium"),
        ({"affect": "bad"}, "medium"),
    ],
)
def test_importance_is_what_is_said_else_inferred(
    root: Path, keys: dict[str, object], importance: str
) -> None:
    put(root, "facts.json", [{**FACTS[0], **keys}])
    assert opened(root).by_id("fact_0a1").importance == importance


def test_a_goal_is_important(root: Path) -> None:
    assert opened(root).by_id("sch_2").importance == "high"


def test_no_key_is_lost_whatever_it_holds(root: Path) -> None:
    odd = {
        "id": "fact_1",
        "s": ["not", "text"],
        "p": None,
        "o": {"deep": 1},
        "time": 17,
        "confidence": "sure",
        "domain": 3,
        "links": [{"rel": "a", "to": "b", "since": 2020}, "odd"],
        "mood": "blue",
        "pinned": "yes",
    }
    put(root, "facts.json", [odd])
    fact = opened(root).by_id("fact_1")
    assert fact.extra == {key: value for key, value in odd.items() if key != "id"}
    assert (fact.pinned, fact.confidence, fact.created) == (False, None, None)
    assert fact.links == (Link("a", "b"),)


def test_an_unknown_status_is_active_and_stays_visible(root: Path) -> None:
    put(root, "schema.json", [{**SCHEMA[0], "status": "dormant", "kind": "habit"}])
    item = opened(root).by_id("sch_1")
    assert (item.status, item.extra["status"], item.type) == ("active", "dormant", "habit")


def test_records_that_share_an_id_are_all_shown_and_none_is_changed(root: Path) -> None:
    put(root, "facts.json", [FACTS[0], {**FACTS[0], "o": "4"}])
    put(root, "episodes.json", [{**EPISODES[0], "id": "fact_0a1"}])
    store = opened(root)
    twins = [memory for memory in store.memories if memory.id.startswith("fact_0a1")]
    assert [memory.id for memory in twins] == ["fact_0a1", "fact_0a1#2", "fact_0a1#3"]
    assert all("more than once" in memory.extra["unaddressable"] for memory in twins)


BROKEN = {
    "empty": b"",
    "cut off": b'[{"id": "fact_1", "s": "No',
    "not a list": b'{"id": "fact_1"}',
    "nul bytes": b"\0" * 40,
    "trailing comma": b'[{"id": "fact_1"},]',
    "too deep": b"[" * 200_000,
}


@pytest.mark.parametrize("data", BROKEN.values(), ids=BROKEN.keys())
def test_a_broken_file_is_named_and_the_others_are_read(root: Path, data: bytes) -> None:
    put(root, "facts.json", data)
    store = opened(root)
    assert [Path(bad.file).name for bad in store.unreadable] == ["facts.json"]
    assert len(store.memories) == len(EPISODES) + len(SCHEMA)


def test_one_bad_record_does_not_hide_its_neighbours(root: Path) -> None:
    put(root, "facts.json", ["text", {"s": "Noor", "p": "has", "o": "no id"}, FACTS[0], 7, None])
    store = opened(root)
    assert store.by_id("fact_0a1").content == "Noor swims_km_week 3.5"
    assert any(memory.content == "Noor has no id" for memory in store.memories)
    assert len(store.unreadable) == 4


@pytest.mark.parametrize(
    "text",
    [
        '\ufeff[\r\n{"id":"fact_1","s":"a","p":"b","o":"caf\\u00e9 \\ud83d"}]',
        '[{"id":"fact_1","s":"a","p":"b","o":"x","n":1e400,"i":123456789012345678901234567890}]',
    ],
)
def test_odd_spellings_of_json_are_read(root: Path, text: str) -> None:
    put(root, "facts.json", text)
    store = opened(root)
    assert store.by_id("fact_1").content.startswith("a b ")
    assert store.unreadable == []
