"""What looks at all memories of a team, or at those of a former time; and how much it looks at."""

from __future__ import annotations

import json
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path

import pytest

from memtui.changes import Act
from memtui.context import draft_pack, find_recipe, task_query
from memtui.errors import Refused
from memtui.library import Library, held_stores
from memtui.library.past_library import library_at
from memtui.library.time_views import compare_times
from memtui.query import Query, parse_query
from tests.postgres import Server
from tests.team_fixtures import Team, add, do
from tests.tui.stage import fact, stage, write_store

from .test_faces import PLANTED, SECRET, call
from .test_langgraph import TABLES

__all__ = ["call"]


def opened(place: str, tmp_path: Path) -> Library:
    """A library of the team and of a store on this disk."""
    mine = tmp_path / "mine"
    write_store(mine, {"shop-api": [fact(1, "The till prints in Helvetica", "2026-03-02")]})
    library = Library.open([Path(place), mine], state=tmp_path / "state", cache=tmp_path / "cache")
    library.load()
    return library


@pytest.mark.slow
def test_a_check_and_a_review_look_at_the_team(
    team: Team, call: Callable[..., int], capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:  # fmt: skip
    anna = team.open("anna")
    refs = [add(anna, text, entity="shop-api") for text in ("Tea at four", SECRET, PLANTED)]
    place = f"postgres:{anna.connection.service}"

    def printed(*arguments: str, code: int) -> str:
        assert call(*arguments) == code, capsys.readouterr()
        return "".join(capsys.readouterr())

    found = printed("check", place, code=1)
    assert "GitHub token" in found
    assert "asks an agent to send" in found
    assert "2 findings" in found
    review = json.loads(printed("review", place, "--json", code=0))["proposals"]
    (secret,) = [each for each in review if each["kind"] == "secret"]
    printed("review", "accept", secret["id"], "--store", place, code=0)
    assert "[REDACTED]" in anna.get(refs[1:2])[0].content
    assert anna.former(refs[1].partition(":")[2])[0].who == "anna"
    assert "a bundle" in printed("export", "-o", "all.bundle", place, code=1)
    monkeypatch.setattr(held_stores, "MAX_HELD", 2)
    found = printed("check", place, code=1)
    assert "only 2 of its 3 memories were looked at, the newest first" in found
    assert "1 finding" not in found.split("\n")
    assert "only 2 of its 3" in printed("review", place, code=3)


def test_a_pack_takes_memories_of_the_team(
    team: Team, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    anna = team.open("anna")
    for number in range(3):
        add(anna, f"Policy {number}: deploy the shop on day {number}", type="policy")
    last = add(anna, "The till is green", type="policy", importance="high")
    now = datetime.now(UTC)
    present = opened(f"postgres:{anna.connection.service}", tmp_path)

    def given(task: str) -> tuple[str, list[str]]:
        library = present.hold(task_query(task))
        assert library is not present
        recipe = find_recipe("plan")
        drafted = draft_pack(recipe, task, library, now, remarks=library.unheld)
        pack = drafted.pack(None)
        return pack.text, list(pack.notes)

    text, notes = given("deploy")
    assert "Policy 2" in text
    assert "till is green" in text
    assert not [note for note in notes if "looked at" in note]
    monkeypatch.setattr(held_stores, "MAX_HELD", 2)
    text, notes = given("day 1")
    assert "Policy 1" in text, "it has the words"
    assert "till is green" in text, "it is important"
    assert any("only 2 of its 4 memories" in note for note in notes)
    assert last not in present.snapshot.slot_of, "the present library holds nothing of it"
    assert not any(b"till is green" in file.read_bytes()
                   for file in (tmp_path / "cache").rglob("*") if file.is_file())  # fmt: skip


def test_the_team_as_of_a_time_and_what_changed_since(
    team: Team, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    anna, bert = team.open("anna"), team.open("bert")
    kept = add(anna, "Tea at four", entity="shop-api")
    gone = add(anna, "Coffee at five", entity="shop-api")
    edited = add(bert, "Deploys on Tuesdays", entity="shop-api")
    (at,) = team.execute("select clock_timestamp()")[0]
    assert isinstance(at, datetime)
    do(bert, Act.DELETE, gone)
    do(anna, Act.EDIT, edited, content="Deploys on Mondays")
    do(bert, Act.EDIT, edited, content="Deploys on Fridays")
    with team.server.connect(team.database, "anna") as connection:  # notes no time of the change
        connection.execute("update memtui.memories set title = 'Tea' where content like 'Tea%'")
    new = add(anna, "Said today", entity="shop-api")
    present = opened(f"postgres:{anna.connection.service}", tmp_path)
    label = anna.connection.service

    def named(ref: str) -> str:
        return f"{label}:{ref.partition(':')[2]}"

    past = library_at(present, at)
    assert {memory.content for memory in past.memories(label)} == {
        "Tea at four", "Coffee at five", "Deploys on Tuesdays",
    }  # fmt: skip
    assert past.get(named(edited)).content == "Deploys on Tuesdays"
    assert len(past.find(parse_query("deploys", at)).slots) == 1
    with pytest.raises(Refused):
        past.plan([])

    found = {each.memory.ref: each for each in compare_times(present, at)}
    assert {ref: (str(each.kind), each.by) for ref, each in found.items()} == {
        named(kept): ("changed", "anna"),
        named(gone): ("removed", "bert"),
        named(edited): ("changed", "bert"),
        named(new): ("added", "anna"),
    }
    assert found[named(edited)].text_diff()
    only = compare_times(present, at, query=parse_query("deploys", at))
    assert [each.memory.ref for each in only] == [named(edited)]
    monkeypatch.setattr(held_stores, "MAX_HELD", 2)
    with pytest.raises(Refused, match="more than 2 changes"):
        compare_times(present, at)
    past = library_at(present, at)
    assert [each.what for each in past.queried.faults.values()] == [
        "more than 2 changes since then"
    ]
    assert len(past.find(Query()).slots) == 1, "the store on this disk"


def test_a_table_without_history_refuses_the_past(server: Server, tmp_path: Path) -> None:
    server.execute("postgres", "create database forgetful")
    server.execute("forgetful", *TABLES.split(";"))
    service = server.add_service("forgetful", "forgetful", "postgres")
    library = Library.open([Path(f"langgraph:{service}")], state=tmp_path / "state")
    for ask in (library_at, compare_times):
        with pytest.raises(Refused, match="keeps no former values"):
            ask(library, datetime.now(UTC))


@pytest.mark.slow
async def test_the_screen_shows_the_team_as_of_a_time(team: Team, tmp_path: Path) -> None:
    bert = team.open("bert")
    ref = add(bert, "Deploys on Tuesdays", created=datetime(2026, 1, 5, 9, tzinfo=UTC))
    do(bert, Act.EDIT, ref, content="Deploys on Fridays")
    place = f"postgres:{team.service('anna')}"
    state = tmp_path / "state"
    async with stage(
        tmp_path, (110, 30), state=state, open_library=lambda: opened(place, tmp_path)
    ) as on:
        await on.ready()
        await on.sees("Deploys on Fridays")
        await on.press("@")
        await on.type("2026-06-01")
        await on.press("enter")
        await on.sees("AS OF 2026-06-01")
        await on.sees("Deploys on Tuesdays")
        assert "Fridays" not in on.text()
        await on.press("@")
        await on.sees("Deploys on Fridays")


@pytest.mark.slow
async def test_the_screen_says_why_it_cannot_go_back(
    team: Team, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    bert = team.open("bert")
    add(bert, "Deploys on Tuesdays")
    add(bert, "Tea at four")
    monkeypatch.setattr(held_stores, "MAX_HELD", 1)
    place = Path(f"postgres:{team.service('anna')}")
    state = tmp_path / "state"
    async with stage(
        tmp_path, (110, 30), state=state, open_library=lambda: Library.open([place], state=state)
    ) as on:
        await on.ready()
        await on.press("@")
        await on.type("1d")
        await on.press("enter")
        await on.until(
            lambda: any("more than 1 memories" in each.message for each in on.app._notifications),
            "the refusal",
        )
        assert "going back" not in on.text()
        assert "AS OF" not in on.text()
