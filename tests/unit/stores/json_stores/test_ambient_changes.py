"""Changing Ambient: every file that holds an id changes together, written as Ambient writes."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from memtui.changes import Act, Outcome
from memtui.errors import Refused
from memtui.stores.ambient.adding import find_superseded, keywords, overlap, upkeep_rules
from memtui.stores.ambient.records import (
    EventRules,
    fit_content,
    task_key,
)

from .opened import LABEL, NOW_MS, Opened, files_below, open_ambient
from .programs import AmbientProgram

SHOP = "4d3a12e5f267cd60"
OTHER = "013b1d8a56ed1609"
RULES = EventRules()


@pytest.fixture
def ambient(tmp_path: Path) -> AmbientProgram:
    return AmbientProgram(tmp_path / "home")


def native(ambient: AmbientProgram) -> dict[str, bytes]:
    return files_below(ambient.root / "projects")


def ids(ambient: AmbientProgram, path: Path) -> list[str]:
    return [event["id"] for event in ambient.load(path)["events"]]


def as_written_by_ambient(ambient: AmbientProgram) -> bool:
    """Whether Ambient, writing every file again, would not change a byte."""
    return all(
        ambient.load(path) is not None and path.read_bytes() == _again(ambient, path)
        for path in (ambient.root / "projects").rglob("*.json")
    )


def _again(ambient: AmbientProgram, path: Path) -> bytes:
    copy = path.with_suffix(".again")
    ambient.write(copy, ambient.load(path))
    data = copy.read_bytes()
    copy.unlink()
    return data


def added(opened: Opened, **fields: object) -> str:
    plan = opened.do(Act.ADD, **fields)
    assert plan.outcome in (Outcome.ADDED, Outcome.SUPERSEDED)
    return plan.refs[0].removeprefix(f"{LABEL}:")


# ---- rules: the document versus the program -----------------------------------------------------


def test_the_documents_own_example_does_not_supersede() -> None:
    new, old = "Use JWT with refresh tokens for auth", "Use session cookies for auth"
    assert overlap(keywords(new, RULES), keywords(old, RULES)) == pytest.approx(1 / 6)
    assert find_superseded(new, [("old", {"type": "decision", "content": old})], RULES) is None


def test_keywords_are_those_of_the_program() -> None:
    text = "Remember: use the Café-API v2, it is x-1 and not_this!"
    assert keywords(text, RULES) == {"caf", "-api", "x-1", "not", "this"} - {"not", "this"}


def test_only_decisions_are_superseded_and_the_best_match_goes() -> None:
    events = [
        ("update", {"type": "task-update", "content": "retry payments through outbox table"}),
        ("close", {"type": "decision", "content": "payments outbox table polling worker"}),
        ("best", {"type": "decision", "content": "retry payments through outbox table daily"}),
    ]
    found = find_superseded("retry payments through outbox table hourly", events, RULES)
    assert found is not None
    assert found[0] == "best"
    assert find_superseded("outbox", events, RULES) is None


def test_a_long_text_is_refused_or_cut_without_halving_a_character() -> None:
    text = "x" * 999 + "😀"
    with pytest.raises(Refused, match="1001"):
        fit_content(text, RULES, force=False)
    assert fit_content(text, RULES, force=True)[0] == "x" * 999


@pytest.mark.parametrize(
    ("branch", "key"),
    [
        ("feat/auth", "feat--auth"),
        ("fix/cart-rounding#412", "fix--cart-rounding412"),
        ("a b", "ab"),
    ],
)
def test_the_file_name_of_a_branch(branch: str, key: str) -> None:
    assert task_key(branch) == key
    assert len(task_key("x" * 300)) == 100


# ---- edit, delete -------------------------------------------------------------------------------


def test_an_edit_reaches_every_file_that_holds_the_id(ambient: AmbientProgram) -> None:
    event = ambient.event("Postgres for everything", metadata={"file": "a.ts"})
    files = [
        ambient.project(SHOP, "shop", event),
        ambient.branch(SHOP, "main", ambient.event("x"), event),
        ambient.branch(SHOP, "old", event, folder="archived"),
    ]
    elsewhere = ambient.branch(OTHER, "main", ambient.event("another project"))
    opened = open_ambient(ambient.root)
    before, untouched = native(ambient), elsewhere.read_bytes()
    plan = opened.do(Act.EDIT, event["id"], content="SQLite for everything")
    for path in files:
        found = next(e for e in ambient.load(path)["events"] if e["id"] == event["id"])
        assert found == {**event, "content": "SQLite for everything"}
    active = [ambient.load(path)["lastActive"] for path in files]
    assert active[:2] == [NOW_MS, NOW_MS]
    assert active[2] != NOW_MS
    assert elsewhere.read_bytes() == untouched
    assert as_written_by_ambient(ambient)
    opened.undo(plan)
    assert native(ambient) == before


def test_a_delete_takes_every_copy_and_leaves_last_active(ambient: AmbientProgram) -> None:
    event, other = ambient.event("Postgres for everything"), ambient.event("other")
    files = [ambient.project(SHOP, "shop", event), ambient.branch(SHOP, "main", event, other)]
    opened = open_ambient(ambient.root)
    before = native(ambient)
    plan = opened.do(Act.DELETE, event["id"])
    assert [ids(ambient, path) for path in files] == [[], [other["id"]]]
    assert all(ambient.load(path)["lastActive"] != NOW_MS for path in files)
    assert as_written_by_ambient(ambient)
    assert event["id"] not in opened.in_state()
    opened.undo(plan)
    assert native(ambient) == before


def test_half_a_character_survives_an_edit_of_its_neighbour(ambient: AmbientProgram) -> None:
    half, event = ambient.event("cut \ud83d"), ambient.event("to be edited")
    path = ambient.project(SHOP, "shop", half, event)
    opened = open_ambient(ambient.root)
    opened.do(Act.EDIT, event["id"], content="edited 😀")
    assert b"cut \\ud83d" in path.read_bytes()
    assert "edited 😀".encode() in path.read_bytes()


def test_raising_to_high_writes_it_to_the_project_too(ambient: AmbientProgram) -> None:
    event = ambient.event("flags are rows in Postgres", importance="medium")
    project = ambient.project(SHOP, "shop")
    task = ambient.branch(SHOP, "main", event)
    opened = open_ambient(ambient.root)
    before = native(ambient)
    plan = opened.do(Act.EDIT, event["id"], importance="high", type="session-summary")
    raised = {**event, "importance": "high", "type": "session-summary"}
    assert ambient.load(project)["events"] == [raised]
    assert ambient.load(task)["events"] == [raised]
    assert as_written_by_ambient(ambient)
    opened.undo(plan)
    assert native(ambient) == before


# ---- retire, restore, supersede -----------------------------------------------------------------


def test_retire_keeps_the_event_with_memtui_and_restore_puts_it_back(
    ambient: AmbientProgram,
) -> None:
    event = ambient.event("Postgres \ud83d", metadata={"file": "a.ts"})
    files = [
        ambient.project(SHOP, "shop", event, ambient.event("other")),
        ambient.branch(SHOP, "main", ambient.event("x"), event),
    ]
    opened = open_ambient(ambient.root)
    order = [ids(ambient, path) for path in files]
    opened.do(Act.RETIRE, event["id"])
    assert all(event["id"] not in ids(ambient, path) for path in files)
    kept = opened.by_id(event["id"])
    assert (kept.status, kept.content) == ("retired", "Postgres \ud83d")
    assert kept.extra["kept"] is True
    assert "restore it first" in opened.store.refusal(Act.EDIT, kept)
    opened.do(Act.RESTORE, event["id"])
    assert [ids(ambient, path) for path in files] == order
    assert opened.by_id(event["id"]).status == "active"
    assert as_written_by_ambient(ambient)


def test_a_superseded_decision_leaves_the_files_and_stays_in_history(
    ambient: AmbientProgram,
) -> None:
    old = ambient.event("retry payments through outbox table daily")
    unlike = ambient.event("Catalog search uses trigrams")
    project = ambient.project(SHOP, "shop", old, unlike)
    main = ambient.branch(SHOP, "main", old)
    opened = open_ambient(ambient.root)
    before = native(ambient)
    plan = opened.do(
        Act.ADD, content="retry payments through outbox table hourly", entity="shop/main"
    )
    new = plan.refs[0].removeprefix(f"{LABEL}:")
    assert plan.outcome is Outcome.SUPERSEDED
    assert plan.supersedes == (f"{LABEL}:{old['id']}",)
    assert ids(ambient, project) == [unlike["id"], new]
    assert ids(ambient, main) == [new]
    assert opened.in_state() == {old["id"]: "superseded", unlike["id"]: "active", new: "active"}
    assert opened.by_id(old["id"]).superseded_by == (new,)
    assert opened.by_id(new).supersedes == (old["id"],)
    assert as_written_by_ambient(ambient)
    opened.undo(plan)
    assert native(ambient) == before
    assert opened.in_state()[old["id"]] == "active"


@pytest.mark.parametrize(
    ("importance", "left"),
    [("low", ["project.json", "feat--x.json"]), ("high", ["feat--x.json"])],
)
def test_a_new_decision_supersedes_only_in_the_files_it_is_written_to(
    ambient: AmbientProgram, importance: str, left: list[str]
) -> None:
    """As store.ts does: a copy in another file stays, so the old decision stays active there."""
    old = ambient.event("retry payments through outbox table daily")
    paths = [
        ambient.project(SHOP, "shop", old),
        ambient.branch(SHOP, "feat/x", old),
        ambient.branch(SHOP, "main", old),
    ]
    opened = open_ambient(ambient.root)
    before = native(ambient)
    plan = opened.do(
        Act.ADD,
        content="retry payments through outbox table hourly",
        entity="shop/main",
        importance=importance,
    )
    new = plan.refs[0].removeprefix(f"{LABEL}:")
    assert [path.name for path in paths if old["id"] in ids(ambient, path)] == left
    assert ids(ambient, paths[2]) == [new]
    assert (plan.outcome, plan.supersedes) == (Outcome.ADDED, ())
    assert f"{old['id']} stays active: {', '.join(left)} still holds it" in plan.warnings
    assert opened.in_state() == {old["id"]: "active", new: "active"}
    assert opened.by_id(new).supersedes == ()
    assert as_written_by_ambient(ambient)
    opened.undo(plan)
    assert native(ambient) == before


def test_superseding_by_hand_writes_the_successor_where_the_old_one_stood(
    ambient: AmbientProgram,
) -> None:
    old = ambient.event("Use session cookies for auth", importance="medium", type="task-update")
    project = ambient.project(SHOP, "shop")
    main = ambient.branch(SHOP, "main", old)
    opened = open_ambient(ambient.root)
    before = native(ambient)
    plan = opened.do(Act.SUPERSEDE, old["id"], content="Use JWT for auth")
    new = plan.refs[0].removeprefix(f"{LABEL}:")
    assert ids(ambient, main) == [new]
    assert ids(ambient, project) == []
    event = ambient.load(main)["events"][0]
    assert (event["type"], event["importance"]) == ("task-update", "medium")
    assert opened.by_id(old["id"]).status == "superseded"
    opened.undo(plan)
    assert native(ambient) == before


def test_a_kept_event_can_be_forgotten_for_good(ambient: AmbientProgram) -> None:
    event = ambient.event("Postgres for everything")
    ambient.project(SHOP, "shop", event)
    opened = open_ambient(ambient.root)
    opened.do(Act.RETIRE, event["id"])
    plan = opened.do(Act.DELETE, event["id"])
    assert opened.memories == []
    opened.undo(plan)
    assert opened.by_id(event["id"]).status == "retired"


def test_a_merge_keeps_one_event_and_remembers_the_others(ambient: AmbientProgram) -> None:
    keep, away = ambient.event("outbox for payments"), ambient.event("payments use an outbox")
    path = ambient.project(SHOP, "shop", keep, away)
    opened = open_ambient(ambient.root)
    before = native(ambient)
    plan = opened.do(Act.MERGE, keep["id"], others=[away["id"]], content="payments: outbox")
    assert ids(ambient, path) == [keep["id"]]
    assert opened.by_id(away["id"]).superseded_by == (keep["id"],)
    assert opened.by_id(keep["id"]).supersedes == (away["id"],)
    opened.undo(plan)
    assert native(ambient) == before


# ---- add ----------------------------------------------------------------------------------------


def test_a_high_event_goes_to_the_project_and_the_branch_under_one_id(
    ambient: AmbientProgram,
) -> None:
    project = ambient.project(SHOP, "shop")
    main = ambient.branch(SHOP, "main", ambient.event("x", importance="low"))
    opened = open_ambient(ambient.root)
    new = added(opened, content="Flags are rows in Postgres", entity="shop/main")
    event = ambient.load(project)["events"][0]
    assert event == ambient.load(main)["events"][1]
    assert list(event.items()) == [
        ("id", new),
        ("type", "decision"),
        ("timestamp", NOW_MS),
        ("content", "Flags are rows in Postgres"),
        ("importance", "high"),
    ]
    assert ambient.load(project)["lastActive"] == NOW_MS
    assert as_written_by_ambient(ambient)


def test_a_medium_event_goes_to_its_branch_alone(ambient: AmbientProgram) -> None:
    project = ambient.project(SHOP, "shop")
    main = ambient.branch(SHOP, "main")
    opened = open_ambient(ambient.root)
    new = added(opened, content="half done", entity="shop/main", importance="medium")
    assert ids(ambient, main) == [new]
    assert ids(ambient, project) == []


def test_a_new_branch_gets_its_file_as_ambient_makes_it(ambient: AmbientProgram) -> None:
    ambient.project(SHOP, "shop")
    opened = open_ambient(ambient.root)
    before = native(ambient)
    plan = opened.do(
        Act.ADD, content="begun", entity="shop/feat/new#1", importance="low", type="task-update"
    )
    made = ambient.load(ambient.path(SHOP, "feat/new1"))
    assert list(made) == [
        "branchKey", "branchName", "projectKey", "createdAt", "lastActive", "archived", "events",
    ]  # fmt: skip
    assert (made["branchKey"], made["branchName"]) == ("feat--new1", "feat/new#1")
    assert as_written_by_ambient(ambient)
    assert opened.memories[0].entity == "shop/feat/new#1"
    opened.undo(plan)
    assert native(ambient) == before


def test_an_unknown_project_is_made_with_a_warning(ambient: AmbientProgram) -> None:
    opened = open_ambient(ambient.root)
    plan = opened.do(Act.ADD, content="a first decision", entity="bells/main")
    assert "new to Ambient" in plan.warnings[0]
    assert opened.memories[0].entity == "bells"
    assert opened.memories[0].extra["branches"] == ["main"]
    assert as_written_by_ambient(ambient)


def test_what_is_not_high_needs_a_branch(ambient: AmbientProgram) -> None:
    ambient.project(SHOP, "shop")
    ambient.branch(SHOP, "main")
    only = open_ambient(ambient.root)
    assert only.plan(Act.ADD, content="half done", entity="shop", importance="low").edits
    ambient.branch(SHOP, "feat/x")
    several = open_ambient(ambient.root)
    with pytest.raises(Refused, match="feat/x, main"):
        several.plan(Act.ADD, content="half done", entity="shop", importance="low")


def test_two_projects_of_one_name_are_told_apart_by_key(ambient: AmbientProgram) -> None:
    ambient.project(SHOP, "shop")
    ambient.project(OTHER, "shop")
    opened = open_ambient(ambient.root)
    with pytest.raises(Refused, match="2 projects"):
        opened.plan(Act.ADD, content="which one?", entity="shop")
    new = added(opened, content="this one", entity=OTHER)
    assert ids(ambient, ambient.path(OTHER)) == [new]


def test_an_unreadable_file_is_not_written_and_its_copies_are_mentioned(
    ambient: AmbientProgram,
) -> None:
    event = ambient.event("Postgres for everything")
    ambient.project(SHOP, "shop", event)
    broken = ambient.branch(SHOP, "main", event)
    broken.write_bytes(broken.read_bytes()[:50])
    opened = open_ambient(ambient.root)
    with pytest.raises(Refused, match="not written"):
        opened.plan(Act.ADD, content="never", entity="shop/main")
    plan = opened.plan(Act.EDIT, event["id"], content="SQLite")
    assert any("cannot be read" in warning for warning in plan.warnings)


@pytest.mark.parametrize("text", ["{", "[]", '{"events": 7}', ""])
@pytest.mark.parametrize("importance", ["high", "medium"])
def test_nothing_is_added_to_a_file_that_cannot_be_read(
    ambient: AmbientProgram, text: str, importance: str
) -> None:
    ambient.project(SHOP, "shop", ambient.event("Postgres for everything"))
    ambient.branch(SHOP, "main", ambient.event("Ring at nine")).write_text(text)
    opened, before = open_ambient(ambient.root), native(ambient)
    with pytest.raises(Refused, match="not written"):
        opened.plan(Act.ADD, entity="shop/main", content="Ring at ten", importance=importance)
    assert native(ambient) == before


@pytest.mark.parametrize("branch", ["feat--auth", "feat/auth!", "!?"])
def test_two_branches_never_share_a_file(ambient: AmbientProgram, branch: str) -> None:
    ambient.project(SHOP, "shop", ambient.event("Postgres for everything"))
    ambient.branch(SHOP, "feat/auth", ambient.event("Ring at nine"))
    opened, before = open_ambient(ambient.root), native(ambient)
    with pytest.raises(Refused, match="no file of its own"):
        opened.plan(Act.ADD, entity=f"shop/{branch}", content="Ring at ten", importance="medium")
    assert native(ambient) == before


def test_tags_do_not_repeat_the_archive(ambient: AmbientProgram) -> None:
    event = ambient.event("long done")
    ambient.branch(SHOP, "old", event, folder="archived")
    opened = open_ambient(ambient.root)
    opened.do(Act.TAG, event["id"], tags=["archived", "keep"])
    assert opened.by_id(event["id"]).tags == ("archived", "keep")
    lines = (ambient.root / ".memtui" / "sidecar.jsonl").read_text().splitlines()
    assert json.loads(lines[0])["set"]["tags"] == ["keep"]


def test_decisions_with_more_than_the_limit_in_common_replace_each_other(
    ambient: AmbientProgram,
) -> None:
    texts = ("alpha bravo carol delta eagle", "alpha bravo carol delta falcon", "alpha bravo")
    events = [ambient.event(text) for text in texts]
    other = ambient.event(texts[0], type="task-update", importance="high")
    ambient.project(SHOP, "shop", *events, other)
    opened = open_ambient(ambient.root)
    rules = upkeep_rules(EventRules())
    first, second, third = (opened.by_id(event["id"]) for event in events)
    update = opened.by_id(other["id"])
    assert rules.replaces is not None
    assert rules.replaces(first, second) == "67% of the keywords of two decisions are the same"
    assert rules.replaces(first, third) == ""
    assert rules.replaces(first, update) == rules.replaces(update, first) == ""


# ---- archiving, and what has no place --------------------------------------------------------


def test_archiving_a_branch_promotes_its_high_decisions_once(ambient: AmbientProgram) -> None:
    known = ambient.event("The vault signs with ed25519", importance="high")
    high = ambient.event("Tides come from the harbour office", importance="high")
    high["metadata"] = {"source": "alice"}
    medium = ambient.event("Retries back off", importance="medium")
    task = {**ambient.event("Alice winds the clocks", importance="high"), "type": "task-update"}
    again = {**known, "id": "a-copy"}
    ambient.project(SHOP, "shop-api", known)
    ambient.branch(SHOP, "feat/gnss", high, medium, task, again)
    opened = open_ambient(ambient.root)
    plan = opened.do(Act.ARCHIVE, medium["id"])
    assert "archived feat/gnss, 4 events" in plan.reason
    assert "1 decisions copied" in plan.reason
    events = ambient.load(ambient.root / "projects" / SHOP / "project.json")["events"]
    assert events[0] == known
    (promoted,) = events[1:]
    assert promoted == {
        **high,
        "id": promoted["id"],
        "metadata": {"source": "alice", "promotedFrom": "feat/gnss"},
    }
    assert promoted["id"] != high["id"]
    name = f"{task_key('feat/gnss')}.json"
    folder = ambient.root / "projects" / SHOP
    assert not (folder / "tasks" / name).exists()
    moved = ambient.load(folder / "archived" / name)
    assert moved["archived"] is True
    assert [event["id"] for event in moved["events"]] == [
        each["id"] for each in (high, medium, task, again)
    ]
    opened.undo(plan)
    assert (folder / "tasks" / name).exists()


def test_a_branch_is_not_archived_over_another(ambient: AmbientProgram) -> None:
    event = ambient.event("Retries back off", importance="medium")
    ambient.branch(SHOP, "feat/gnss", event)
    ambient.branch(SHOP, "feat/gnss", ambient.event("Older"), folder="archived")
    opened = open_ambient(ambient.root)
    with pytest.raises(Refused, match="already archived"):
        opened.plan(Act.ARCHIVE, event["id"])


def test_an_event_without_files_to_go_back_to_cannot_be_restored(ambient: AmbientProgram) -> None:
    event = ambient.event("Retries back off", importance="medium")
    path = ambient.branch(SHOP, "feat/gnss", event, ambient.event("Another"))
    ambient.branch(SHOP, "main", ambient.event("Elsewhere"))
    opened = open_ambient(ambient.root)
    opened.do(Act.RETIRE, event["id"])
    path.unlink()
    opened.reload()
    with pytest.raises(Refused, match="none of its files exists"):
        opened.plan(Act.RESTORE, event["id"])


def test_a_full_branch_warns_that_ambient_drops_its_oldest(ambient: AmbientProgram) -> None:
    limit = RULES.task_limit
    events = [ambient.event(f"Event {number}", importance="medium") for number in range(limit - 1)]
    ambient.branch(SHOP, "main", *events)
    opened = open_ambient(ambient.root)
    entity = opened.memories[0].entity

    def warnings() -> str:
        plan = opened.do(Act.ADD, content="One more", entity=entity, importance="medium")
        return " ".join(plan.warnings)

    assert "drops the oldest" not in warnings()
    assert f"holds {limit} events: Ambient drops the oldest" in warnings()


def test_a_high_event_of_a_project_without_its_file_goes_to_the_branch(
    ambient: AmbientProgram,
) -> None:
    ambient.branch(SHOP, "main", ambient.event("Retries back off"))
    opened = open_ambient(ambient.root)
    entity = opened.memories[0].entity
    plan = opened.do(Act.ADD, content="Tides come from the office", entity=entity)
    assert any("no project.json: written to the branch only" in each for each in plan.warnings)
    assert not (ambient.root / "projects" / SHOP / "project.json").exists()
