"""Changing agent-memory: only the record changes, and undo gives the bytes back."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from memtui.changes import Act, Outcome
from memtui.errors import Conflict, Refused
from memtui.model import Link
from memtui.testing.fixtures import contents

from .opened import LABEL, Opened, files_below, open_agent_memory
from .programs import AgentMemoryPrograms


@pytest.fixture
def programs(tmp_path: Path) -> AgentMemoryPrograms:
    return AgentMemoryPrograms(tmp_path / "work")


def native(programs: AgentMemoryPrograms) -> dict[str, bytes]:
    """The store's own files, without what memtui keeps beside them."""
    return contents(programs.workspace)


def add(opened: Opened, content: str, entity: str = "people/alice", **fields: object) -> str:
    plan = opened.do(Act.ADD, content=content, entity=entity, **fields)
    assert plan.outcome in (Outcome.ADDED, Outcome.SUPERSEDED), plan.reason
    return plan.refs[0].removeprefix(f"{LABEL}:")


def test_an_edit_changes_one_value_and_undo_gives_the_bytes_back(
    programs: AgentMemoryPrograms,
) -> None:
    id = programs.add_fact("alice", "person", "Alice plays the viola", mood="calm")
    programs.add_edge("alice", "person", "Alice works at Acme", "works_at", "acme")
    before = native(programs)
    opened = open_agent_memory(programs.home)
    plan = opened.do(Act.EDIT, id, content="Alice plays the cello")
    old, new = before["memory/entities/alice/items.json"], programs.items("alice").read_bytes()
    assert new == old.replace(b"the viola", b"the cello")
    opened.undo(plan)
    assert native(programs) == before


def test_the_type_can_be_edited_and_other_fields_say_why_not(
    programs: AgentMemoryPrograms,
) -> None:
    id = programs.add_fact("atlas", "person", "Atlas is a ledger of bells")
    opened = open_agent_memory(programs.home)
    opened.do(Act.EDIT, id, type="project")
    assert opened.by_id(id).entity == "projects/atlas"
    with pytest.raises(Refused, match="importance"):
        opened.plan(Act.EDIT, id, importance="high")


def test_retyping_what_names_the_entity_says_where_the_others_go(
    programs: AgentMemoryPrograms,
) -> None:
    first = programs.add_fact("acme", "person", "Acme was founded in a garage")
    second = programs.add_fact("acme", "person", "Acme has forty people by now")
    opened = open_agent_memory(programs.home)
    warning = "people/acme becomes companies/acme: an entity goes by the type of its first fact"
    assert opened.plan(Act.RETYPE, second, type="company").warnings == ()
    assert opened.do(Act.RETYPE, first, type="company").warnings == (warning,)
    assert opened.by_id(second).entity == "companies/acme"
    assert opened.plan(Act.DELETE, first).warnings == (
        "companies/acme becomes people/acme: an entity goes by the type of its first fact",
    )


def test_a_form_may_hand_in_all_it_shows(programs: AgentMemoryPrograms) -> None:
    id = programs.add_fact("alice", "person", "Alice plays the viola")
    opened = open_agent_memory(programs.home)
    fact = opened.by_id(id)
    same = {"content": fact.content, "type": fact.type, "importance": fact.importance}
    plan = opened.plan(Act.EDIT, id, **same, entity=fact.entity, tags=[])
    assert plan.outcome is Outcome.NOTHING
    assert not plan.edits


def test_adding_writes_what_add_fact_writes(programs: AgentMemoryPrograms) -> None:
    programs.add_fact("alice", "person", "Alice plays the viola")
    opened = open_agent_memory(programs.home)
    id = add(opened, "Alice has two cats, 猫", type="person")
    expected = programs.facts("alice")
    assert list(expected[1]) == [
        "id", "content", "source", "sourceRef", "entityType", "createdAt", "status", "supersedes",
    ]  # fmt: skip
    assert expected[1] == {
        "id": id,
        "content": "Alice has two cats, 猫",
        "source": "manual",
        "sourceRef": "",
        "entityType": "person",
        "createdAt": "2026-11-20T18:30:00Z",
        "status": "active",
        "supersedes": None,
    }
    written = programs.items("alice").read_bytes()
    programs.write("alice", expected)
    assert programs.items("alice").read_bytes() == written


def test_a_new_entity_gets_its_folder_and_undo_takes_the_file_away(
    programs: AgentMemoryPrograms,
) -> None:
    opened = open_agent_memory(programs.home)
    before = native(programs)
    plan = opened.do(Act.ADD, content="Chioma runs the platform guild", entity="people/chioma")
    written = programs.items("chioma").read_bytes()
    programs.write("chioma", programs.facts("chioma"))
    assert programs.items("chioma").read_bytes() == written
    assert opened.memories[0].entity == "people/chioma"
    opened.undo(plan)
    assert native(programs) == before


@pytest.mark.parametrize("entity", ["", "a/b/c", "people/..", "people/.", "x\x1b[2J", "/"])
def test_an_entity_that_is_no_folder_name_is_refused(
    programs: AgentMemoryPrograms, entity: str
) -> None:
    opened = open_agent_memory(programs.home)
    with pytest.raises(Refused):
        opened.plan(Act.ADD, content="a fact that is long enough", entity=entity)


def test_the_four_outcomes_of_an_add(programs: AgentMemoryPrograms) -> None:
    opened = open_agent_memory(programs.home)
    first = add(opened, "Alice works at Acme as the lead engineer of payments")

    rejected = opened.plan(Act.ADD, content="Alice is tired", entity="alice")
    assert rejected.outcome is Outcome.REJECTED
    assert rejected.reason == "Fact too short (14 chars < 15 minimum)"

    again = "Alice works at Acme as the lead engineer of payments!"
    same = opened.plan(Act.ADD, content=again, entity="alice")
    assert (same.outcome, same.refs) == (Outcome.DEDUPE, (f"{LABEL}:{first}",))
    assert same.reason.startswith("New fact is 1.00 similar to existing: ")

    new = opened.plan(Act.ADD, content="Alice works at NewCorp now", entity="alice")
    assert (new.outcome, new.supersedes) == (Outcome.SUPERSEDED, (f"{LABEL}:{first}",))

    other = opened.plan(Act.ADD, content="Alice works at NewCorp now", entity="people/bob")
    assert other.outcome is Outcome.ADDED
    assert not rejected.edits
    assert not same.edits


def test_superseding_marks_the_old_historical_and_links_back(
    programs: AgentMemoryPrograms,
) -> None:
    old = programs.add_fact("alice", "person", "Alice works at Acme as lead")
    opened = open_agent_memory(programs.home)
    before = native(programs)
    plan = opened.do(Act.ADD, content="Alice works at NewCorp now", entity="people/alice")
    new = plan.refs[0].removeprefix(f"{LABEL}:")
    assert opened.in_state() == {old: "superseded", new: "active"}
    assert programs.facts("alice")[1]["supersedes"] == old
    assert programs.facts("alice")[0]["status"] == "historical"
    opened.undo(plan)
    assert native(programs) == before


def test_of_several_contradicted_facts_the_file_names_the_last_and_memtui_knows_all(
    programs: AgentMemoryPrograms,
) -> None:
    job = programs.add_fact("alice", "person", "Alice works at Acme as lead of payments")
    home = programs.add_fact("alice", "person", "Alice lives in Lisbon near the river")
    opened = open_agent_memory(programs.home)
    new = add(opened, "Alice works at NewCorp and lives in Porto")
    assert programs.facts("alice")[2]["supersedes"] == home
    assert set(opened.by_id(new).supersedes) == {job, home}
    assert opened.in_state() == {job: "superseded", home: "superseded", new: "active"}
    assert opened.by_id(job).superseded_by == (new,)


def test_force_overrides_the_rules_with_a_warning(programs: AgentMemoryPrograms) -> None:
    opened = open_agent_memory(programs.home)
    plan = opened.do(Act.ADD, content="Alice is tired", entity="alice", force=True)
    assert plan.outcome is Outcome.ADDED
    assert plan.warnings == ("forced: Fact too short (14 chars < 15 minimum)",)


def test_superseding_by_hand_keeps_type_and_reason(programs: AgentMemoryPrograms) -> None:
    old = programs.add_fact("alice", "person", "Alice plays the viola")
    opened = open_agent_memory(programs.home)
    before = native(programs)
    plan = opened.do(Act.SUPERSEDE, old, content="Alice gave up music for good")
    assert plan.outcome is Outcome.SUPERSEDED
    new = programs.facts("alice")[1]
    assert (new["supersedes"], new["entityType"], new["status"]) == (old, "person", "active")
    assert opened.by_id(old).status == "superseded"
    opened.undo(plan)
    assert native(programs) == before
    rejected = opened.plan(Act.SUPERSEDE, old, content="No more.")
    assert rejected.outcome is Outcome.REJECTED


def test_retire_and_restore_turn_the_status(programs: AgentMemoryPrograms) -> None:
    id = programs.add_fact("alice", "person", "Alice plays the viola")
    opened = open_agent_memory(programs.home)
    before = native(programs)
    opened.do(Act.RETIRE, id)
    assert opened.by_id(id).status == "retired"
    assert opened.store.refusal(Act.RETIRE, opened.by_id(id))
    opened.do(Act.RESTORE, id)
    assert native(programs) == before


@pytest.mark.parametrize("number", [0, 1, 2])
def test_delete_takes_one_record_and_undo_puts_it_where_it_was(
    programs: AgentMemoryPrograms, number: int
) -> None:
    ids = [programs.add_fact("alice", "person", f"Alice has fact number {n}") for n in range(3)]
    opened = open_agent_memory(programs.home)
    opened.do(Act.PIN, ids[number])
    before = files_below(programs.home / "entities")
    plan = opened.do(Act.DELETE, ids[number])
    left = [fact["id"] for fact in programs.facts("alice")]
    assert left == [id for id in ids if id != ids[number]]
    opened.undo(plan)
    assert files_below(programs.home / "entities") == before
    assert opened.by_id(ids[number]).pinned


def test_pins_tags_links_and_ratings_stay_out_of_the_store(
    programs: AgentMemoryPrograms,
) -> None:
    one = programs.add_fact("alice", "person", "Alice plays the viola")
    two = programs.add_fact("bob", "person", "Bob plays the bells")
    opened = open_agent_memory(programs.home)
    before = native(programs)
    opened.do(Act.PIN, one)
    opened.do(Act.TAG, one, tags=["music", "strings", "music"])
    opened.do(Act.LINK, one, relation="plays_with", target=f"{LABEL}:{two}")
    opened.do(Act.RATE, one, rating=4)
    opened.do(Act.REVIEW, one)
    assert native(programs) == before
    fact = opened.by_id(one)
    assert fact.pinned
    assert fact.tags == ("music", "strings")
    assert fact.links == (Link("plays_with", two),)
    assert fact.extra["rating"] == 4
    assert fact.extra["reviewed"] == "2026-11-20T18:30:00Z"
    opened.do(Act.UNLINK, one, relation="plays_with", target=two)
    opened.do(Act.UNPIN, one)
    assert opened.by_id(one).links == ()
    assert not opened.by_id(one).pinned
    assert opened.plan(Act.UNPIN, one).outcome is Outcome.NOTHING


def test_a_pin_makes_only_its_own_shard_stale(programs: AgentMemoryPrograms) -> None:
    id = programs.add_fact("alice", "person", "Alice plays the viola")
    programs.add_fact("bob", "person", "Bob plays the bells")
    opened = open_agent_memory(programs.home)
    before = {shard.key: shard.stamp for shard in opened.store.scan().shards}
    opened.do(Act.PIN, id)
    after = {shard.key: shard.stamp for shard in opened.store.scan().shards}
    assert {key for key in after if after[key] != before[key]} == {"entities/alice"}


def test_unlinking_an_edge_makes_it_null(programs: AgentMemoryPrograms) -> None:
    id = programs.add_edge("alice", "person", "Alice works at Acme", "works_at", "acme")
    opened = open_agent_memory(programs.home)
    before = native(programs)
    plan = opened.do(Act.UNLINK, id, relation="works_at", target="acme")
    assert programs.facts("alice")[0]["edge"] is None
    assert opened.by_id(id).links == ()
    opened.undo(plan)
    assert native(programs) == before


def test_moving_a_fact_takes_its_record_and_its_pin_along(
    programs: AgentMemoryPrograms,
) -> None:
    id = programs.add_fact("alice", "person", "Bob in truth plays the bells")
    programs.add_fact("bob", "person", "Bob has a brother")
    opened = open_agent_memory(programs.home)
    opened.do(Act.PIN, id)
    before = native(programs)
    plan = opened.do(Act.EDIT, id, entity="people/bob")
    assert [fact["id"] for fact in programs.facts("bob")][-1] == id
    assert programs.facts("alice") == []
    assert opened.by_id(id).entity == "people/bob"
    assert opened.by_id(id).pinned
    opened.undo(plan)
    assert json.loads(native(programs)["memory/entities/alice/items.json"])[0]["id"] == id
    assert (
        native(programs)["memory/entities/bob/items.json"]
        == before["memory/entities/bob/items.json"]
    )


def test_a_merge_keeps_one_and_remembers_the_others(programs: AgentMemoryPrograms) -> None:
    keep = programs.add_fact("alice", "person", "Alice plays the viola")
    away = programs.add_fact("alice", "person", "Alice plays a viola sometimes")
    opened = open_agent_memory(programs.home)
    before = native(programs)
    plan = opened.do(Act.MERGE, keep, others=[away], content="Alice plays the viola on Fridays")
    assert opened.in_state() == {keep: "active", away: "superseded"}
    assert opened.by_id(away).superseded_by == (keep,)
    assert opened.by_id(keep).supersedes == (away,)
    assert opened.by_id(keep).content == "Alice plays the viola on Fridays"
    opened.undo(plan)
    assert native(programs) == before


def test_a_note_is_edited_in_its_own_line_ends(programs: AgentMemoryPrograms) -> None:
    path = programs.daily("2026-11-18", "")
    path.write_bytes(b"\xef\xbb\xbf# Day\r\n\r\nold\r\n")
    opened = open_agent_memory(programs.home)
    note = opened.by_id("2026-11-18.md")
    plan = opened.do(Act.EDIT, note.id, content=note.content.replace("old", "new"))
    assert path.read_bytes() == b"\xef\xbb\xbf# Day\r\n\r\nnew\r\n"
    opened.undo(plan)
    assert path.read_bytes() == b"\xef\xbb\xbf# Day\r\n\r\nold\r\n"
    assert "without a status" in opened.store.refusal(Act.RETIRE, note)
    gone = opened.do(Act.DELETE, note.id)
    assert not path.exists()
    opened.undo(gone)
    assert path.read_bytes() == b"\xef\xbb\xbf# Day\r\n\r\nold\r\n"


def test_a_fact_that_another_program_changed_is_a_conflict(
    programs: AgentMemoryPrograms,
) -> None:
    id = programs.add_fact("alice", "person", "Alice plays the viola")
    opened = open_agent_memory(programs.home)
    programs.write("alice", [{**programs.facts("alice")[0], "content": "Alice plays the oboe"}])
    with pytest.raises(Conflict) as caught:
        opened.plan(Act.EDIT, id, content="Alice plays the cello")
    assert caught.value.base == "Alice plays the viola"
    assert caught.value.theirs == "Alice plays the oboe"
    assert caught.value.yours == "Alice plays the cello"


def test_a_record_that_cannot_be_named_cannot_be_changed(
    programs: AgentMemoryPrograms,
) -> None:
    programs.write("alice", [{"content": "a fact without any id"}])
    opened = open_agent_memory(programs.home)
    with pytest.raises(Refused, match="it has no id"):
        opened.plan(Act.EDIT, opened.memories[0].id, content="never written")


def test_an_importance_that_is_asked_for_is_said_not_to_be_kept(
    programs: AgentMemoryPrograms,
) -> None:
    programs.add_fact("alice", "person", "Alice plays the viola")
    opened = open_agent_memory(programs.home)
    asked = {"content": "Alice has two cats", "entity": "people/alice"}
    said = opened.plan(Act.ADD, **asked, importance="high").warnings
    assert said == ("agent-memory has no importance; it is derived from the fact",)
    assert opened.plan(Act.ADD, **asked).warnings == ()


def test_a_fact_is_not_merged_with_a_note(programs: AgentMemoryPrograms) -> None:
    id = programs.add_fact("alice", "person", "Alice plays the viola")
    (programs.items("alice").parent / "summary.md").write_text("# Alice\n\nShe plays.\n")
    opened = open_agent_memory(programs.home)
    (note,) = (memory.id for memory in opened.of(LABEL) if memory.kind == "note")
    with pytest.raises(Refused, match="a note is a file"):
        opened.plan(Act.MERGE, id, others=[note])


def test_a_fact_is_not_moved_onto_one_of_the_same_id(programs: AgentMemoryPrograms) -> None:
    id = programs.add_fact("alice", "person", "Alice lives in Lisbon", "meeting")
    programs.write("bob", programs.facts("alice"))
    opened = open_agent_memory(programs.home)
    memory = next(each for each in opened.memories if each.entity == "people/alice")
    assert memory.id == id
    with pytest.raises(Refused, match="already holds a fact with this id"):
        opened.plan(Act.EDIT, id, entity="people/bob")


def test_a_merge_of_a_fact_that_cannot_be_changed_is_refused(
    programs: AgentMemoryPrograms,
) -> None:
    kept = programs.add_fact("alice", "person", "Alice lives in Lisbon", "meeting")
    programs.add_fact("alice", "person", "Alice lives in the north of Lisbon", "meeting")
    facts = programs.facts("alice")
    del facts[1]["id"]
    programs.write("alice", facts)
    opened = open_agent_memory(programs.home)
    (other,) = (each for each in opened.memories if each.id != kept)
    with pytest.raises(Refused, match="it cannot be changed"):
        opened.plan(Act.MERGE, kept, others=[other.ref])
