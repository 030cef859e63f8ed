"""Changing a Simple Memory: only the record changes, nothing is lost, undo gives the bytes back."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from memtui.changes import Act, Outcome
from memtui.errors import Refused
from memtui.model import Link
from memtui.testing.fixtures import contents

from .json_stores.opened import LABEL, Opened
from .simple_memories import EPISODES, FACTS, SCHEMA, make, opened, put, records


@pytest.fixture
def root(tmp_path: Path) -> Path:
    return make(tmp_path)


@pytest.fixture
def store(root: Path) -> Opened:
    return opened(root)


# ---- every change, and back ---------------------------------------------------------------------

CHANGES = {
    "edit fact": (Act.EDIT, "fact_0a1", {"content": "Noor swims_km_week 4"}),
    "edit episode": (Act.EDIT, "ep_1", {"content": "Left late.", "title": "Calm"}),
    "edit schema": (Act.EDIT, "sch_1", {"content": "No swimming after ten."}),
    "edit fields": (Act.EDIT, "fact_0a1", {"entity": "body/pool", "importance": "high"}),
    "retype": (Act.RETYPE, "sch_1", {"type": "value"}),
    "accept": (Act.ACCEPT, "sch_2", {}),
    "decline": (Act.DECLINE, "sch_2", {}),
    "retire schema": (Act.RETIRE, "sch_1", {}),
    "retire fact": (Act.RETIRE, "fact_0a1", {}),
    "restore": (Act.RESTORE, "sch_3", {}),
    "pin": (Act.PIN, "fact_0a1", {}),
    "unpin": (Act.UNPIN, "fact_0a2", {}),
    "rate": (Act.RATE, "fact_0a1", {"rating": 5}),
    "tag": (Act.TAG, "ep_1", {"tags": ["weather"]}),
    "link": (Act.LINK, "fact_0a1", {"relation": "impacts", "target": "sch_2"}),
    "native link": (Act.LINK, "fact_0a2", {"relation": "impacts", "target": "sch_2"}),
    "unlink": (Act.UNLINK, "fact_0a2", {"relation": "impacts", "target": "sch_1"}),
    "evidence": (Act.LINK, "sch_1", {"relation": "evidence", "target": "fact_0a2"}),
    "no evidence": (Act.UNLINK, "sch_1", {"relation": "evidence", "target": "ep_1"}),
    "review": (Act.REVIEW, "fact_0a1", {}),
    "merge": (Act.MERGE, "fact_0a1", {"others": ["fact_0a2"]}),
    "supersede fact": (Act.SUPERSEDE, "fact_0a1", {"content": "Noor swims_km_week 6"}),
    "supersede schema": (Act.SUPERSEDE, "sch_1", {"content": "Swim early."}),
    "delete": (Act.DELETE, "fact_0a2", {}),
    "delete first": (Act.DELETE, "fact_0a1", {}),
    "delete only": (Act.DELETE, "ep_1", {}),
    "add fact": (Act.ADD, "", {"content": "Ida | likes | rain", "entity": "people/ida"}),
    "add schema": (Act.ADD, "", {"content": "Rest on Sundays", "type": "policy"}),
    "add episode": (Act.ADD, "", {"content": "It rained.", "title": "Rain", "entity": "work"}),
}

STYLES = {
    "indented": lambda value: json.dumps(value, indent=2) + "\n",
    "tabs and crlf": lambda value: json.dumps(value, indent="\t").replace("\n", "\r\n"),
    "one line": lambda value: json.dumps(value),
    "compact with a mark": lambda value: "\ufeff" + json.dumps(value, separators=(",", ":")),
}


def styled(root: Path, style: str) -> Opened:
    for name, value in (("facts", FACTS), ("episodes", EPISODES), ("schema", SCHEMA)):
        put(root, f"{name}.json", STYLES[style](value).encode())
    return opened(root)


@pytest.mark.parametrize("style", STYLES)
@pytest.mark.parametrize(("act", "id", "fields"), CHANGES.values(), ids=CHANGES.keys())
def test_a_change_touches_nothing_else_and_undo_gives_the_bytes_back(
    root: Path, style: str, act: Act, id: str, fields: dict[str, object]
) -> None:
    store = styled(root, style)
    before = contents(root)
    memories = {memory.id: memory for memory in store.memories}
    plan = store.do(act, id, **fields)
    touched = {ref.removeprefix(f"{LABEL}:") for ref in plan.refs}
    assert plan.has_edits
    assert store.unreadable == []
    after = {memory.id: memory for memory in store.memories}
    for other in memories.keys() - touched:
        assert after[other].content == memories[other].content
        assert after[other].extra == memories[other].extra
        assert after[other].status == memories[other].status
    store.undo(plan)
    assert contents(root) == before
    assert {memory.id: memory for memory in store.memories} == memories


@pytest.mark.slow
@settings(max_examples=30)
@given(text=st.text(min_size=1).filter(str.strip), key=st.sampled_from(["ep_1", "sch_1"]))
def test_any_text_that_is_written_reads_back_and_leaves_the_rest(
    root: Path, text: str, key: str
) -> None:
    make(root.parent)
    for file in root.glob(".memtui/*"):
        file.unlink()
    store = opened(root)
    store.do(Act.EDIT, key, content=text)
    assert store.by_id(key).content == text
    assert records(root, "facts.json") == {value["id"]: value for value in FACTS}


# ---- schema -------------------------------------------------------------------------------------


def test_an_edited_schema_item_gets_a_version_and_keeps_its_former_text(
    root: Path, store: Opened
) -> None:
    store.do(Act.EDIT, "sch_1", content="No swimming after ten.")
    store.do(Act.EDIT, "sch_1", content="No swimming after eleven.")
    item, second, first = (store.by_id(id) for id in ("sch_1", "sch_1@v4", "sch_1@v3"))
    assert records(root, "schema.json")["sch_1"]["version"] == 5
    assert [item.content, second.content, first.content] == [
        "No swimming after eleven.",
        "No swimming after ten.",
        "No swimming after nine.",
    ]
    assert (item.supersedes, second.supersedes) == (("sch_1@v4",), ("sch_1@v3",))
    assert (first.status, first.superseded_by) == ("superseded", ("sch_1",))


def test_a_former_text_cannot_be_changed(store: Opened) -> None:
    store.do(Act.EDIT, "sch_1", content="No swimming after ten.")
    former = store.by_id("sch_1@v3")
    for act in (Act.EDIT, Act.RETIRE, Act.DELETE, Act.PIN):
        assert store.store.refusal(act, former)
        with pytest.raises(Refused):
            store.plan(act, former.id, content="x")


def test_accepting_confirms_and_may_change_the_words(root: Path, store: Opened) -> None:
    store.do(Act.ACCEPT, "sch_2", content="Swim 4 km a week.")
    item = records(root, "schema.json")["sch_2"]
    assert (item["status"], item["text"], item["version"]) == ("confirmed", "Swim 4 km a week.", 2)


def test_declining_and_retiring_keep_the_item_out_of_sight(root: Path, store: Opened) -> None:
    assert store.do(Act.DECLINE, "sch_2").supersedes == (f"{LABEL}:sch_2",)
    store.do(Act.RETIRE, "sch_1")
    assert {store.by_id(id).status for id in ("sch_1", "sch_2")} == {"retired"}
    assert records(root, "schema.json")["sch_2"]["status"] == "outdated"
    store.do(Act.RESTORE, "sch_1")
    assert records(root, "schema.json")["sch_1"]["status"] == "confirmed"


@pytest.mark.parametrize(
    ("act", "id"),
    [
        (Act.ACCEPT, "sch_1"),
        (Act.DECLINE, "fact_0a1"),
        (Act.RETIRE, "sch_3"),
        (Act.RESTORE, "sch_1"),
        (Act.RETYPE, "fact_0a1"),
        (Act.SUPERSEDE, "ep_1"),
        (Act.MERGE, "sch_1"),
    ],
)
def test_what_makes_no_sense_is_refused_with_a_reason(store: Opened, act: Act, id: str) -> None:
    assert store.store.refusal(act, store.by_id(id))
    with pytest.raises(Refused):
        store.plan(act, id, type="goal", content="a b c", others=["fact_0a1"])


# ---- facts --------------------------------------------------------------------------------------


def test_editing_a_fact_changes_its_object_and_keeps_a_number_a_number(
    root: Path, store: Opened
) -> None:
    store.do(Act.EDIT, "fact_0a1", content="Noor swims_km_week about 4")
    store.do(Act.EDIT, "fact_0a3", content="Noor has_cats 3")
    facts = records(root, "facts.json")
    assert (facts["fact_0a1"]["o"], facts["fact_0a3"]["o"]) == ("about 4", 3)


@pytest.mark.parametrize("content", ["Ida swims_km_week 4", "Noor swims_km_week ", "Noor", ""])
def test_what_a_fact_is_about_cannot_be_edited_away(store: Opened, content: str) -> None:
    with pytest.raises(Refused):
        store.plan(Act.EDIT, "fact_0a1", content=content)


@pytest.mark.parametrize(
    ("id", "fields"),
    [
        ("fact_0a1", {"title": "T"}),
        ("fact_0a1", {"type": "goal"}),
        ("fact_0a1", {"confidence": 2}),
        ("fact_0a1", {"tags": ["other"]}),
        ("fact_0a1", {"source": "me"}),
        ("sch_1", {"type": "habit"}),
        ("sch_1", {"importance": "huge"}),
    ],
)
def test_a_field_that_cannot_hold_it_is_refused(
    store: Opened, id: str, fields: dict[str, object]
) -> None:
    with pytest.raises(Refused):
        store.plan(Act.EDIT, id, **fields)


def test_a_rating_is_an_importance_and_the_other_way_round(root: Path, store: Opened) -> None:
    before = contents(root)
    store.do(Act.RATE, "fact_0a1", rating=1)
    assert store.by_id("fact_0a1").importance == "low"
    store.do(Act.EDIT, "fact_0a1", importance="high")
    assert store.by_id("fact_0a1").extra["rating"] == 5
    assert contents(root) == before


def test_an_importance_of_its_own_is_written_in_its_own_terms(root: Path) -> None:
    values = {"fact_1": "low", "fact_2": 0.2, "fact_3": 2}
    put(root, "facts.json", [{"id": id, "importance": it} for id, it in values.items()])
    store = opened(root)
    for id in values:
        store.do(Act.EDIT, id, importance="high")
        assert store.by_id(id).importance == "high"
    written = [value["importance"] for value in records(root, "facts.json").values()]
    assert written == ["high", 0.9, 5]


def test_merging_keeps_sources_hits_and_the_lineage(root: Path, store: Opened) -> None:
    plan = store.do(Act.MERGE, "fact_0a1", others=["fact_0a2"])
    fact = records(root, "facts.json")["fact_0a1"]
    assert fact["source_ids"] == ["log_1", "log_2"]
    assert (fact["hits"], fact["confidence"], fact["pinned"]) == (5, 0.9, True)
    assert "fact_0a2" not in records(root, "facts.json")
    kept, merged = store.by_id("fact_0a1"), store.by_id("fact_0a2")
    assert (kept.supersedes, merged.superseded_by) == (("fact_0a2",), ("fact_0a1",))
    assert merged.status == "superseded"
    assert plan.supersedes == (f"{LABEL}:fact_0a2",)
    assert plan.warnings == ()


def test_a_merge_moves_every_reference_and_leaves_none_to_itself(root: Path) -> None:
    """Also where one record names the fact that goes in two of its lists."""
    to_gone = {"rel": "about", "to": "fact_0a2"}
    for name, id, more in (
        ("episodes.json", "ep_1", {"facts": ["fact_0a2"], "links": [to_gone]}),
        ("facts.json", "fact_0a1", {"links": [to_gone, {"rel": "impacts", "to": "sch_2"}]}),
        ("facts.json", "fact_0a2", {"links": [{"rel": "same", "to": "fact_0a1"}]}),
    ):
        every = json.loads((root / name).read_text())
        changed = [{**each, **(more if each["id"] == id else {})} for each in every]
        (root / name).write_text(json.dumps(changed, indent=2))
    opened(root).do(Act.MERGE, "fact_0a1", others=["fact_0a2"])
    episode = records(root, "episodes.json")["ep_1"]
    assert episode["facts"] == ["fact_0a1"]
    assert episode["links"] == [{"rel": "about", "to": "fact_0a1"}]
    assert records(root, "facts.json")["fact_0a1"]["links"] == [{"rel": "impacts", "to": "sch_2"}]


def test_merging_facts_that_differ_warns(store: Opened) -> None:
    plan = store.plan(Act.MERGE, "fact_0a1", others=["fact_0a3", f"{LABEL}:fact_0a2"])
    assert len(plan.warnings) == 1
    assert "fact_0a3" in plan.warnings[0]


@pytest.mark.parametrize("others", [[], "fact_0a2", ["fact_0a1"], ["sch_1"]])
def test_a_merge_needs_other_facts(store: Opened, others: object) -> None:
    with pytest.raises(Refused):
        store.plan(Act.MERGE, "fact_0a1", others=others)


def test_pins_lie_in_the_record_that_has_a_place_for_them(root: Path, store: Opened) -> None:
    before = contents(root)
    store.do(Act.PIN, "fact_0a1")
    assert contents(root) == before
    store.do(Act.UNPIN, "fact_0a2")
    assert records(root, "facts.json")["fact_0a2"]["pinned"] is False
    assert [store.by_id(id).pinned for id in ("fact_0a1", "fact_0a2")] == [True, False]


def test_a_link_lies_in_the_record_that_has_a_list_of_them(root: Path, store: Opened) -> None:
    store.do(Act.LINK, "fact_0a1", relation="impacts", target="sch_2")
    store.do(Act.LINK, "fact_0a2", relation="impacts", target=f"{LABEL}:sch_2")
    assert "links" not in records(root, "facts.json")["fact_0a1"]
    assert {"rel": "impacts", "to": "sch_2"} in records(root, "facts.json")["fact_0a2"]["links"]
    for id in ("fact_0a1", "fact_0a2"):
        assert Link("impacts", "sch_2") in store.by_id(id).links
        store.do(Act.UNLINK, id, relation="impacts", target="sch_2")
        assert Link("impacts", "sch_2") not in store.by_id(id).links


def test_deleting_says_who_still_names_it(store: Opened) -> None:
    assert store.plan(Act.DELETE, "fact_0a1").warnings == (
        "ep_1 names it and will point nowhere",
        "sch_1 names it and will point nowhere",
    )
    assert store.plan(Act.DELETE, "fact_0a3").warnings == ()


# ---- new ----------------------------------------------------------------------------------------


def test_new_records_look_like_their_neighbours(root: Path, store: Opened) -> None:
    plan = store.do(Act.ADD, content="Ida | likes | rain", entity="people/ida")
    assert plan.outcome is Outcome.ADDED
    new = records(root, "facts.json")[plan.refs[0].removeprefix(f"{LABEL}:")]
    assert list(new)[1:] == [
        "s",
        "p",
        "o",
        "time",
        "source_ids",
        "confidence",
        "domain",
        "topic",
    ]
    assert (new["s"], new["p"], new["o"], new["time"]) == ("Ida", "likes", "rain", "2026-11-20")
    assert (root / "facts.json").read_text() == json.dumps([*FACTS, new], indent=2) + "\n"


def test_what_is_added_becomes_what_it_brings_along(store: Opened) -> None:
    kinds = {}
    for fields in (
        {"content": "Ida likes rain"},
        {"content": "Rest on Sundays", "type": "policy"},
        {"content": "It rained.", "title": "Rain"},
        {"content": "Be kind", "kind": "schema"},
    ):
        plan = store.do(Act.ADD, **fields)
        memory = store.get(plan.refs[0])
        kinds[memory.content] = (memory.kind, memory.type, memory.status)
    assert kinds == {
        "Ida likes rain": ("fact", "", "active"),
        "Rest on Sundays": ("schema", "policy", "active"),
        "It rained.": ("episode", "", "active"),
        "Be kind": ("schema", "preference", "active"),
    }


def test_new_memories_planned_side_by_side_do_not_collide(root: Path, store: Opened) -> None:
    plans = [store.plan(Act.ADD, content=f"Ida counts {number}") for number in range(40)]
    store.do_edits(tuple(edit for plan in plans for edit in plan.edits))
    assert len(records(root, "facts.json")) == len(FACTS) + 40


@pytest.mark.parametrize("content", ["", "Ida", "Ida likes", "a | b |", "| | |"])
def test_a_fact_needs_three_parts(store: Opened, content: str) -> None:
    with pytest.raises(Refused):
        store.plan(Act.ADD, content=content)


def test_a_missing_file_is_made(root: Path) -> None:
    (root / "episodes.json").unlink()
    store = opened(root)
    plan = store.do(Act.ADD, content="It rained.", title="Rain")
    assert [value["title"] for value in records(root, "episodes.json").values()] == ["Rain"]
    store.undo(plan)
    assert not (root / "episodes.json").exists()


def test_superseding_keeps_both_and_says_so(root: Path, store: Opened) -> None:
    plan = store.do(Act.SUPERSEDE, "sch_1", content="Swim early.")
    new = store.get(plan.refs[0])
    assert (new.supersedes, store.by_id("sch_1").superseded_by) == (("sch_1",), (new.id,))
    assert records(root, "schema.json")["sch_1"]["status"] == "outdated"
    fact = store.do(Act.SUPERSEDE, "fact_0a1", content="Noor swims_km_week 6")
    assert store.by_id("fact_0a1").status == "superseded"
    assert records(root, "facts.json")["fact_0a1"] == FACTS[0]
    assert store.get(fact.refs[0]).content == "Noor swims_km_week 6"


def test_a_successor_has_the_importance_and_the_tags_that_are_asked_for(store: Opened) -> None:
    store.do(Act.EDIT, "fact_0a1", tags=[*store.by_id("fact_0a1").tags, "lido"])
    content = "Noor swims_km_week 6"
    plan = store.do(Act.SUPERSEDE, "fact_0a1", content=content, importance="high")
    new = store.get(plan.refs[0])
    assert (new.importance, "lido" in new.tags) == ("high", True)
    plan = store.do(Act.SUPERSEDE, new.id, content="Noor swims_km_week 7", tags=["pool"])
    assert {"pool"} <= set(store.get(plan.refs[0]).tags)
    assert "lido" not in store.get(plan.refs[0]).tags


# ---- other programs -----------------------------------------------------------------------------


def test_records_that_cannot_be_told_apart_are_not_changed(root: Path) -> None:
    put(root, "facts.json", [FACTS[0], {**FACTS[0], "o": "4"}])
    store = opened(root)
    for id in ("fact_0a1", "fact_0a1#2"):
        assert "more than once" in store.store.refusal(Act.EDIT, store.by_id(id))
        with pytest.raises(Refused):
            store.plan(Act.DELETE, id)


def test_a_new_id_is_one_that_the_store_neither_has_nor_names(root: Path, store: Opened) -> None:
    def new() -> str:
        fields = {"content": "Noor has_cats 4", "entity": "home/cats"}
        return store.plan(Act.ADD, **fields).refs[0].partition(":")[2]

    first = new()
    store.do(Act.LINK, "fact_0a1", relation="impacts", target=first)
    second = new()
    store.do(Act.ADD, id=second, kind="fact", content="Ida has_cats 1")
    third = new()
    assert len({first, second, third}) == 3
    assert third.startswith(second[:-1])
    assert second.startswith(first[:-1])
    assert new() == third, "it does not depend on chance"
