"""`links` and `traverse` on the sample stores, against expectations worked out by hand.

In the items.json files of the sample five edges have the object `quarterbell`: Anselm advises it,
Inês leads it, and Kirigane, Porto Candeias and Wendelau are clients of it.
"""

from __future__ import annotations

import json
import shutil
import sqlite3
from collections.abc import Callable
from contextlib import closing
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from tests.printed_rows import printed_rows
from tests.samples import SAMPLES
from tests.unit.library.stores_for_tests import fact, write_facts

Call = Callable[..., int]
Ask = Callable[..., Any]

ANSELM = "agent-memory:a504f1a1-74c5-43f6-bbcd-2d9525843155"
QUARTERBELL = "companies/quarterbell"


@pytest.fixture
def sample(tmp_path: Path) -> Path:
    return Path(shutil.copytree(SAMPLES, tmp_path / "sample"))


@pytest.fixture
def ask(call: Call, capsys: pytest.CaptureFixture[str]) -> Ask:
    """Runs a command with --json and returns its document."""

    def run(*arguments: object) -> Any:
        capsys.readouterr()
        assert call(*arguments, "--json") == 0, capsys.readouterr().err
        return printed_rows(capsys.readouterr().out)

    return run


def test_links_of_an_entity_are_the_edges_that_lead_to_it(ask: Ask, sample: Path) -> None:
    found = ask("links", "quarterbell", "--store", sample / "agent-memory")
    assert found["node"] == {"kind": "entity", "name": QUARTERBELL}
    assert found["outgoing"] == []
    assert sorted((e["relation"], e["from"]["name"][13:21]) for e in found["incoming"]) == [
        ("advises", "a504f1a1"),
        ("client_of", "164932fd"),
        ("client_of", "b839361e"),
        ("client_of", "ff416566"),
        ("leads", "1b6ddbf6"),
    ]


@pytest.mark.slow
def test_traverse_tells_each_path(ask: Ask, sample: Path) -> None:
    found = ask("traverse", "a504f1a1", "--depth", 2, "--store", sample / "agent-memory")
    assert found["start"]["name"] == ANSELM
    assert [(each["distance"], each["kind"]) for each in found["reached"]] == [
        (1, "entity"),
        *[(2, "entity")] * 4,
    ]
    paths = {each["name"]: each["path"] for each in found["reached"]}
    assert paths[QUARTERBELL] == [
        {
            "relation": "advises",
            "direction": "out",
            "to": {"kind": "entity", "name": QUARTERBELL},
            "stated_by": ANSELM,
        }
    ]
    evidence = "agent-memory:1b6ddbf6-16dc-4aa8-af60-3c6d040379ae"
    (leads,) = [path for path in paths.values() if path and path[-1]["stated_by"] == evidence]
    assert [(step["relation"], step["direction"]) for step in leads] == [
        ("advises", "out"),
        ("leads", "in"),
    ]
    only = ask(
        "traverse", "quarterbell", "--rel", "leads,advises", "--direction", "in",
        "--store", sample / "agent-memory",
    )  # fmt: skip
    assert len(only["reached"]) == 2


@pytest.mark.slow
def test_traverse_at_a_date_leaves_out_what_was_not_known_then(ask: Ask, sample: Path) -> None:
    def clients(at: str) -> int:
        found = ask(
            "traverse", "quarterbell", "--rel", "client_of", "--at", at,
            "--store", sample / "agent-memory",
        )  # fmt: skip
        return len(found["reached"])

    # Porto Candeias is known from 2 March, Kirigane from 14 May; Wendelau's edge came last.
    assert [clients(day) for day in ("2026-03-01", "2026-03-03", "2026-05-15")] == [0, 1, 2]
    assert clients("2026-11-21") == 3


def test_a_chain_of_three_and_a_circle(ask: Ask, tmp_path: Path) -> None:
    ids = [f"{number:08x}-0000-4000-8000-000000000000" for number in range(1, 4)]
    write_facts(
        tmp_path / "m",
        "bo",
        [
            fact(1, "Bo has one boat", status="historical", supersedes=ids[2]),
            fact(2, "Bo has two boats", status="historical", supersedes=ids[0]),
            fact(3, "Bo has three boats", supersedes=ids[1]),
        ],
    )
    found = ask("traverse", ids[2], "--direction", "out", "--depth", 9, "--store", tmp_path / "m")
    assert [each["name"].partition(":")[2] for each in found["reached"]] == [ids[1], ids[0]]
    assert len(found["edges"]) == 3


def test_the_link_of_a_superseded_fact_is_followed_to_its_end(
    call: Call, ask: Ask, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    ids = [f"{number:08x}-0000-4000-8000-000000000000" for number in (1, 2)]

    def works_at(name: str) -> dict[str, str]:
        return {"subject": "bo", "predicate": "works_at", "object": name}

    write_facts(
        tmp_path / "m",
        "bo",
        [
            fact(1, "Bo works at the mill", edge=works_at("mill"), status="historical"),
            fact(2, "Bo works at the yard", edge=works_at("yard"), supersedes=ids[0]),
        ],
    )
    write_facts(tmp_path / "m", "mill", [fact(3, "The mill grinds rye")])
    write_facts(tmp_path / "m", "yard", [fact(4, "The yard builds boats")])
    store = ("--store", tmp_path / "m")

    def employers(*when: str) -> list[str]:
        found = ask("traverse", "bo", "--rel", "works_at", "--depth", 1, *when, *store)
        return [one["name"] for one in found["reached"]]

    assert employers() == ["people/yard"]
    assert employers("--at", "2026-03-02T12:00:00Z") == ["people/mill"]
    assert employers("--at", "2026-03-03T12:00:00Z") == ["people/yard"]
    found = ask("links", ids[0], *store)["outgoing"]
    assert [(one["holds"], one["valid_to"]) for one in found] == [(False, "2026-03-03T10:00:00Z")]
    call("links", "mill", *store)
    assert "… to 2026-03-03" in capsys.readouterr().out


def judged(sample: Path) -> list[tuple[str, str, str]]:
    """Source, relation and target of Engram's relations, read from its database."""
    with closing(sqlite3.connect(sample / "engram" / "engram.db")) as db:
        return db.execute(
            "SELECT 'engram:' || a.id, r.relation, 'engram:' || b.id FROM memory_relations r"
            " JOIN observations a ON a.sync_id = r.source_id"
            " JOIN observations b ON b.sync_id = r.target_id"
            " WHERE r.judgment_status = 'judged'"
        ).fetchall()


@pytest.mark.slow
def test_links_are_the_relations_of_engrams_database(ask: Ask, sample: Path) -> None:
    store = ("--store", sample / "engram")
    expected = judged(sample)
    for ref in ("engram:58", "engram:65", "engram:23"):
        found = ask("links", ref, *store)
        edges = {
            (edge["from"]["name"], edge["relation"], edge["to"]["name"])
            for edge in (*found["outgoing"], *found["incoming"])
            if edge["relation"] not in ("from", "pending")
        }
        assert edges == {row for row in expected if ref in (row[0], row[2])}
    # 58 is related to 24 and in conflict with 23; 24 is in conflict with 23 too.
    two = ask("traverse", "engram:58", "--rel", "conflicts_with,related", "--depth", 2, *store)
    steps = {each["name"]: each["distance"] for each in two["reached"]}
    assert (steps["engram:23"], steps["engram:24"]) == (1, 1)


def test_links_of_simple_memory_are_its_evidence_facts_and_replacements(
    ask: Ask, sample: Path
) -> None:
    """In schema.json sch_11 rests on ep_101, ep_112 and fact_221; ep_101 states fact_200."""
    store = ("--store", sample / "simple-memory")
    found = ask("links", "sch_11", *store)
    assert [(edge["relation"], edge["to"]["name"]) for edge in found["outgoing"]] == [
        ("evidence", "simple-memory:ep_101"),
        ("evidence", "simple-memory:ep_112"),
        ("evidence", "simple-memory:fact_221"),
    ]
    found = ask("traverse", "sch_11", "--direction", "out", "--depth", 2, *store)
    ways = {each["name"]: [step["relation"] for step in each["path"]] for each in found["reached"]}
    assert ways["simple-memory:fact_200"] == ["evidence", "fact"]
    # fact_1a3 replaced fact_1a0 on 1 July: the older one lives in Leipzig.
    replaced = ask("history", "fact_1a3", *store)["versions"]
    assert [one["ref"] for one in replaced][-1] == "simple-memory:fact_1a3"
    for day, there in (("2026-06-30", "fact_1a0"), ("2026-07-01", "fact_1a3")):
        listed = ask("search", "lives_in", "--as-of", day, *store)
        assert there in {memory["id"] for memory in listed if "Inês" in memory["content"]}


@pytest.mark.slow
def test_what_ambient_added_between_two_dates_is_what_its_files_have(
    ask: Ask, sample: Path
) -> None:
    born = {
        event["id"]: event["timestamp"] / 1000
        for file in (sample / "ambient").rglob("*.json")
        for event in json.loads(file.read_text(encoding="utf-8")).get("events", ())
    }
    first, last = (datetime(2026, month, 1, tzinfo=UTC).timestamp() for month in (9, 10))
    store = ("--store", sample / "ambient")
    days = ("--since", "2026-09-01", "--until", "2026-09-30")
    found = ask("diff", *days, *store)["differences"]
    added = {one["ref"].partition(":")[2] for one in found if one["kind"] == "added"}
    assert added == {id for id, at in born.items() if first < at < last}
    assert added


def test_a_link_to_a_deleted_memory_dangles_until_it_is_back(
    call: Call, ask: Ask, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    for name, number in (("bo", 1), ("ida", 2)):
        write_facts(tmp_path / "m", name, [fact(number, f"{name} has a boat")])
    store = ("--store", tmp_path / "m")
    one, other = (f"{number:08x}-0000-4000-8000-000000000000" for number in (1, 2))
    assert call("link", one, "built_by", f"agent-memory:{other}", *store) == 0

    def end() -> tuple[str, str]:
        (edge,) = ask("links", one, *store)["outgoing"]
        return edge["to"]["kind"], edge["to"]["name"].rpartition(":")[2]

    assert end() == ("memory", other)
    assert call("delete", other, "--force", *store) == 0
    kind = end()[0]
    call("check", *store)
    listed = "built_by" in capsys.readouterr().out
    assert (kind, listed) == ("unknown", True)
    assert ask("search", "has:links", *store)
    assert call("undo", *store) == 0
    assert end() == ("memory", other)


@pytest.mark.slow
def test_what_is_reached_is_drawn_as_a_tree(
    call: Call, sample: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    arguments = ("quarterbell", "--format", "tree", "--store", sample / "agent-memory")
    assert call("traverse", *arguments) == 0
    assert capsys.readouterr().out.startswith("companies/quarterbell\n├─◀advises─")


@pytest.mark.slow
def test_what_is_not_there_is_an_error_and_an_ambiguous_name_lists_its_entities(
    call: Call, sample: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert call("links", "nobody-there", "--store", sample / "agent-memory") == 1
    assert "no entity has that name" in capsys.readouterr().err
    stores = ("--store", sample / "agent-memory", "--store", sample / "simple-memory")
    assert call("links", "quarterbell", *stores) == 1
    assert "names companies/quarterbell, work/quarterbell" in capsys.readouterr().err


@pytest.mark.slow
def test_linked_in_the_query_has_both_ends_and_the_memories_that_say_so(
    ask: Ask, call: Call, sample: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    store = ("--store", sample / "agent-memory")
    found = ask("search", "linked:quarterbell", *store)
    assert sorted(memory["id"][:8] for memory in found) == [
        "164932fd", "1b6ddbf6", "a504f1a1", "b839361e", "ff416566",
    ]  # fmt: skip
    # The chain of carillon-score: the middle one is linked to both others, which are not current.
    found = ask("search", "linked:a59fe3d8", "status:all", *store)
    assert sorted(memory["id"][:8] for memory in found) == ["41fc1ac1", "d768edf2"]
    # The whole id of a note is not that of the observations in it, whose ids begin so.
    store = ("--store", sample / "markdown-folder")
    found = ask("search", "linked:bells/salva-terra.md", *store)
    assert (
        len([memory for memory in found if memory["id"].startswith("bells/salva-terra.md#")]) == 3
    )
    call("search", "linked:nobody-there", *store)
    assert "no entity is called" in capsys.readouterr().err


def test_a_link_in_the_sidecar_leads_to_another_store(call: Call, ask: Ask, tmp_path: Path) -> None:
    one, other = tmp_path / "one", tmp_path / "other"
    write_facts(one, "bo", [fact(1, "Bo has one boat")])
    write_facts(other, "ida", [fact(2, "Ida built it")])
    source = "00000001-0000-4000-8000-000000000000"
    target = "other:00000002-0000-4000-8000-000000000000"
    (one / ".memtui").mkdir()
    link = {"relation": "built_by", "target": target, "valid_to": "2026-06-01T00:00:00+00:00"}
    line = {"id": source, "set": {"shard": "entities/bo", "links": [link]}}
    (one / ".memtui" / "sidecar.jsonl").write_text(json.dumps(line) + "\n")
    stores = ("--store", one, "--store", other)
    labels = {each["path"]: each["label"] for each in ask("stores", *stores)}
    link["target"] = f"{labels[str(other)]}:{target.partition(':')[2]}"
    (one / ".memtui" / "sidecar.jsonl").write_text(json.dumps(line) + "\n")
    (edge,) = ask("links", source, *stores)["outgoing"]
    assert (edge["relation"], edge["to"]["label"]) == ("built_by", "Ida built it")
    assert len(ask("traverse", link["target"], "--at", "2026-05-01", *stores)["reached"]) == 1
    assert ask("traverse", link["target"], "--at", "2026-06-02", *stores)["reached"] == []
    assert call("check", *stores) == 0


@pytest.mark.slow
def test_a_memory_is_linked_to_one_of_another_store_and_unlinked(
    call: Call, ask: Ask, sample: Path
) -> None:
    places = ("--store", sample / "agent-memory", "--store", sample / "simple-memory")
    items = sample / "agent-memory/memory/entities/anselm-pfitzner/items.json"
    facts = items.read_bytes()
    assert call("link", ANSELM, "relates_to", "simple-memory:fact_1a0", *places) == 0
    (edge,) = [
        e for e in ask("links", "fact_1a0", *places)["incoming"] if e["relation"] == "relates_to"
    ]
    assert edge["from"]["name"] == ANSELM
    reached = ask("traverse", ANSELM, "--rel", "relates_to", *places)["reached"]
    assert [one["name"] for one in reached] == ["simple-memory:fact_1a0"]
    assert call("unlink", ANSELM, "relates_to", "simple-memory:fact_1a0", *places) == 0
    assert ask("traverse", ANSELM, "--rel", "relates_to", *places)["reached"] == []
    assert call("undo", *places) == 0
    assert len(ask("traverse", ANSELM, "--rel", "relates_to", *places)["reached"]) == 1
    assert (
        sample / "agent-memory/memory/entities/anselm-pfitzner/items.json"
    ).read_bytes() == facts


@pytest.mark.slow
def test_an_ended_link_is_followed_as_of_a_time_when_it_held(
    call: Call, ask: Ask, sample: Path
) -> None:
    place = ("--store", sample / "agent-memory")
    other = "agent-memory:4605b4e4-b494-4371-aed8-05adc59a6e17"
    assert call("link", ANSELM, "relates_to", other, *place) == 0
    assert call("unlink", ANSELM, "relates_to", other, *place) == 0
    before = ask("traverse", ANSELM, "--rel", "relates_to", "--at", "2026-06-01", *place)["reached"]
    assert [one["name"] for one in before] == [other]
    assert ask("traverse", ANSELM, "--rel", "relates_to", *place)["reached"] == []
    assert [link["target"] for link in ask("show", ANSELM, *place)["links"]] == ["quarterbell"]


@pytest.mark.slow
def test_engram_keeps_a_link_to_another_store_beside_its_database(
    call: Call, ask: Ask, capsys: pytest.CaptureFixture[str], sample: Path
) -> None:
    places = ("--store", sample / "engram", "--store", sample / "simple-memory")
    assert call("link", "engram:1", "related", "simple-memory:fact_1a0", *places) == 0
    assert "its own observations only" in capsys.readouterr().out
    reached = ask("traverse", "engram:1", "--rel", "related", "--depth", 1, *places)["reached"]
    assert "simple-memory:fact_1a0" in [one["name"] for one in reached]
    assert call("unlink", "engram:1", "related", "simple-memory:fact_1a0", *places) == 0
    (edge,) = [
        edge
        for edge in ask("links", "fact_1a0", *places)["incoming"]
        if edge["from"]["name"] == "engram:1"
    ]
    assert edge["valid_to"] is not None
